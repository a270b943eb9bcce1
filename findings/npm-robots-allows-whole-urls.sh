#!/bin/sh
# Versions: robots 0.10.1 (npm).
# npm robots 0.10.1: `canFetchSync(userAgent, url)` compares the whole URL with the rules' paths. Given a URL, as its
# documentation says, it allows all that is disallowed; given a path, it is right.
# Seen: /private/a: false; https://example.org/private/a: true.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund robots@0.10.1 > /dev/null
cat > finding.js <<'JS'
const assert = require("assert");
const { RobotsParser } = require("robots");
const robots = new RobotsParser();
robots.parse(["User-agent: *", "Disallow: /private/"]);
const seen = ["/private/a", "https://example.org/private/a"].map((url) => robots.canFetchSync("mybot", url));
console.log(seen);
assert.deepStrictEqual(seen, [false, true]);
JS
node finding.js
