#!/bin/sh
# Versions: Scrapy 2.19.0, Protego 0.7.0.
# Scrapy 2.19.0 and Protego 0.7.0: LinkExtractor(canonicalize=True) sorts the parameters of a query. So
# the rule "Disallow: /*?sort=" applies to the link as the page has it, and not to the extracted link.
# Seen: /list?sort=price&page=2 is disallowed; the extracted /list?page=2&sort=price is allowed.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'scrapy==2.19.0' 'protego==0.7.0'
cat > finding.py <<'PY'
from protego import Protego
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

page = HtmlResponse(
    "https://shop.example/",
    body=b'<a href="/list?sort=price&amp;page=2">By price</a>',
    encoding="utf-8",
)
rules = Protego.parse("User-agent: *\nDisallow: /*?sort=\n")
allowed = {}
for canonicalize in (False, True):
    (link,) = LinkExtractor(canonicalize=canonicalize).extract_links(page)
    allowed[link.url] = rules.can_fetch(link.url, "mybot")
print(allowed)
assert allowed == {
    "https://shop.example/list?sort=price&page=2": False,
    "https://shop.example/list?page=2&sort=price": True,
}
PY
v/bin/python finding.py
