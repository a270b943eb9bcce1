#!/bin/sh
# Versions: crawlerdetect 0.4.2.
# crawlerdetect 0.4.2 (PyPI): a crawler that says who it is, "NAME/1.0 (+URL)", counts as a browser unless some word in
# the header, be it in the path of the URL, contains "bot", "crawl", "spider" or the like. npm isbot 5.2.3 takes all three for bots.
# Seen: True for the header whose URL ends in /crawler-info, False for the two others.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'crawlerdetect==0.4.2'
cat > finding.py <<'PY'
from crawlerdetect import CrawlerDetect

detect = CrawlerDetect()
headers = (
    "Mozilla/5.0 (compatible; examplething/1.0; +https://shop.example/crawler-info)",
    "Mozilla/5.0 (compatible; examplething/1.0; +https://shop.example)",
    "examplething/1.0 (+https://shop.example)",
)
seen = [detect.isCrawler(header) for header in headers]
print(dict(zip(headers, seen)))
assert seen == [True, False, False]
PY
v/bin/python finding.py
