#!/bin/sh
# Versions: ultimate-sitemap-parser 1.8.1.
# ultimate-sitemap-parser 1.8.1: a `lastmod` may be a year, or a year and a month (the W3C's date format, which sitemaps.org
# names). The reader fills in what is missing from the day on which it runs, so the same file has another date each day, and a date
# that lies in the future of the page.
# Seen (on 28 November): 2026-01 becomes 28 January 2026, and 2025 becomes 28 November 2025.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'ultimate-sitemap-parser==1.8.1'
cat > finding.py <<'PY'
import datetime

from usp.fetch_parse import XMLSitemapParser
from usp.web_client.requests_client import RequestsWebClient

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
text = f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="{NAMESPACE}">
<url><loc>https://example.org/month</loc><lastmod>2026-01</lastmod></url>
<url><loc>https://example.org/year</loc><lastmod>2025</lastmod></url>
</urlset>"""
today = datetime.date.today()
parser = XMLSitemapParser(
    url="https://example.org/sitemap.xml", content=text, recursion_level=0, web_client=RequestsWebClient(), parent_urls=set()
)
dates = [page.last_modified.date() for page in parser.sitemap().all_pages()]
print(today, [str(date) for date in dates])
assert (dates[0].year, dates[0].month, dates[0].day) == (2026, 1, today.day)
assert (dates[1].year, dates[1].month, dates[1].day) == (2025, today.month, min(today.day, 28 if today.month == 2 else 31))
PY
v/bin/python finding.py
