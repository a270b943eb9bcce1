#!/bin/sh
# Versions: lighthouse 12.8.2.
# Lighthouse 12.8.2 (npm): its robots.txt audit fails for lines that Google's own robots.txt parser reads:
# "disalow", "useragent", and a field without a colon. It fails for "Content-Signal" and "License", too,
# which parsers ignore. A byte order mark, and CR alone as line end, pass.
# Seen: score 0 for the first five, 1 for the last two. Google's parser: github.com/google/robotstxt, which
# accepts these misspellings and the missing colon (kAllowFrequentTypos).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . 'lighthouse@12.8.2' >/dev/null
cat > finding.mjs <<'JS'
import assert from "node:assert";
import audit from "./node_modules/lighthouse/core/audits/seo/robots-txt.js";

const files = {
  "misspelt disallow": "User-agent: *\nDisalow: /a\n",
  "useragent in one word": "useragent: *\nDisallow: /a\n",
  "no colon": "User-agent *\nDisallow /a\n",
  "Content-Signal": "User-agent: *\nContent-Signal: search=yes\nAllow: /\n",
  "License": "License: https://shop.example/licence.xml\nUser-agent: *\nAllow: /\n",
  "byte order mark": "\ufeffUser-agent: *\nDisallow: /a\n",
  "CR alone": "User-agent: *\rDisallow: /a\r",
};
const scores = {};
for (const [name, content] of Object.entries(files)) {
  scores[name] = (await audit.audit({ RobotsTxt: { status: 200, content } })).score;
}
console.log(scores);
assert.deepEqual(Object.values(scores), [0, 0, 0, 0, 0, 1, 1]);
JS
node finding.mjs
