#!/bin/sh
# Versions: express 5.3.0, robots-parser 3.0.1.
# Express 5.3.0 (npm): routes ignore case and a final slash, and robots.txt rules do not. So each page has
# addresses that a rule for the written one does not match, and /ROBOTS.TXT is served like /robots.txt.
# Seen: 200 for /Drafts/page, /drafts/page, /DRAFTS/PAGE/ and /ROBOTS.TXT. The rule "Disallow: /Drafts/" matches
# only the first.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . 'express@5.3.0' 'robots-parser@3.0.1' >/dev/null
cat > finding.mjs <<'JS'
import assert from "node:assert";
import express from "express";
import robotsParser from "robots-parser";

const rules = "User-agent: *\nDisallow: /Drafts/\n";
const app = express();
app.get("/robots.txt", (request, response) => response.type("text/plain").send(rules));
app.get("/Drafts/page", (request, response) => response.send("a draft"));
const server = app.listen(0, "127.0.0.1", async () => {
  const home = `http://127.0.0.1:${server.address().port}`;
  const robots = robotsParser(`${home}/robots.txt`, rules);
  const seen = {};
  for (const path of ["/Drafts/page", "/drafts/page", "/DRAFTS/PAGE/", "/ROBOTS.TXT"]) {
    seen[path] = [(await fetch(home + path)).status, robots.isAllowed(home + path, "mybot")];
  }
  server.close();
  console.log(seen);
  assert.deepEqual(Object.values(seen), [[200, false], [200, true], [200, true], [200, true]]);
});
JS
node finding.mjs
