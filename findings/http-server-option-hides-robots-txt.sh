#!/bin/sh
# Versions: http-server 14.1.1.
# http-server 14.1.1 (npm): with its option `robots` (-r), which serves a robots.txt, a file robots.txt in the served folder is hidden:
# crawlers get "Disallow: /" whatever the file contains. Without the option they get the file.
# Seen: the file has "Allow: /"; with the option: "User-agent: *" and "Disallow: /"; without: the file.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . 'http-server@14.1.1' > /dev/null
cat > finding.cjs <<'JS'
const assert = require("assert");
const { mkdirSync, writeFileSync } = require("fs");
const httpServer = require("http-server");

mkdirSync("public");
writeFileSync("public/robots.txt", "User-agent: *\nAllow: /\n");
const ask = (options) =>
  new Promise((resolve) => {
    const site = httpServer.createServer({ root: "public", ...options });
    site.listen(0, "127.0.0.1", async () => {
      const response = await fetch(`http://127.0.0.1:${site.server.address().port}/robots.txt`);
      resolve(await response.text());
    });
  });
(async () => {
  const seen = [await ask({}), await ask({ robots: true })];
  console.log(seen);
  assert.deepStrictEqual(seen, ["User-agent: *\nAllow: /\n", "User-agent: *\nDisallow: /"]);
  process.exit(0);
})();
JS
node finding.cjs
