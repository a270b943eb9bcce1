#!/bin/sh
# Versions: datasette 0.65.5, datasette-sitemap 1.0, datasette-block-robots 1.1.1.
# datasette-sitemap 1.0 (datasette 0.65.5): a path with `&` makes a sitemap that is no XML, because `&` is not
# escaped, so an XML parser reads no page of the file. With datasette-block-robots 1.1.1 the robots.txt disallows
# the whole site above its Sitemap line, so crawlers that obey cannot read the sitemap either.
# Seen: "not well-formed (invalid token)"; Disallow: / and Sitemap: https://example.org/sitemap.xml.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'datasette==0.65.5' 'datasette-block-robots==1.1.1' 'datasette-sitemap==1.0'
cat > metadata.json <<'JSON'
{"plugins": {"datasette-sitemap": {"base_url": "https://example.org", "sql": "select '/tea?sort=name&page=2' as path"}}}
JSON
v/bin/datasette --memory -m metadata.json --get /sitemap.xml > sitemap.xml
v/bin/datasette --memory -m metadata.json --get /robots.txt > robots.txt
cat robots.txt
grep -qx 'Disallow: /' robots.txt
grep -qx 'Sitemap: https://example.org/sitemap.xml' robots.txt
cat > finding.py <<'PY'
from xml.etree import ElementTree

try:
    ElementTree.parse("sitemap.xml")
except ElementTree.ParseError as error:
    print(error)
else:
    raise SystemExit("the sitemap is XML")
PY
v/bin/python finding.py
