#!/bin/sh
# Versions: robots-parser 3.0.1, Protego 0.7.0.
# robots-parser 3.0.1 (npm) and Protego 0.7.0: "Disallow: /%7Eann/", as older sites write a home directory, means /~ann/, because RFC 9309
# (2.2.2) has an escaped character that needs no escape compared unescaped. Protego disallows /~ann/, robots-parser allows it. Both disallow
# /%7Eann/, and both take an escaped ü for the ü.
# Seen: robots-parser: /~ann/ true, /%7Eann/ false, /%C3%BC false; Protego: false for all three.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . 'robots-parser@3.0.1' > /dev/null
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'protego==0.7.0'
cat > parser.cjs <<'JS'
const robotsParser = require("robots-parser");
const robots = robotsParser("https://example.org/robots.txt", "User-agent: *\nDisallow: /%7Eann/\nDisallow: /ü\n");
console.log(["/~ann/", "/%7Eann/", "/%C3%BC"].map((path) => robots.isAllowed("https://example.org" + path, "mybot")).join(" "));
JS
node parser.cjs | tee node.txt
[ "$(cat node.txt)" = "true false false" ]
cat > finding.py <<'PY'
from protego import Protego

robots = Protego.parse("User-agent: *\nDisallow: /%7Eann/\nDisallow: /ü\n")
seen = [robots.can_fetch("https://example.org" + path, "mybot") for path in ("/~ann/", "/%7Eann/", "/%C3%BC")]
print(seen)
assert seen == [False, False, False]
PY
v/bin/python finding.py
