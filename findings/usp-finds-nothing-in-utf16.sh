#!/bin/sh
# Versions: ultimate-sitemap-parser 1.8.1, Scrapy 2.19.0.
# ultimate-sitemap-parser 1.8.1: it finds no page in a sitemap that is in UTF-16, with a byte order mark and an XML declaration, as the
# XML standard requires each parser to read. It takes the file for a list of URLs, logs each line as one that is not a URL, and
# returns a sitemap without pages. Scrapy 2.19.0 reads the same file.
# Seen: usp: 0 pages; Scrapy: 2. The same text in UTF-8: 2 and 2.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'ultimate-sitemap-parser==1.8.1' 'scrapy==2.19.0'
cat > web.py <<'PY'
import http.server
import threading


def serve(answer):
    """Serve `answer(path)` -> (status, headers, body) on a free loopback port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port
PY
cat > finding.py <<'PY'
from scrapy.utils.sitemap import Sitemap
from usp.fetch_parse import SitemapFetcher
from usp.web_client.requests_client import RequestsWebClient

from web import serve

TEXT = """<?xml version="1.0" encoding="{}"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://example.org/tea</loc></url>
<url><loc>https://example.org/cake</loc></url>
</urlset>"""
files = {f"/{name}.xml": TEXT.format(name.upper()).encode(name) for name in ("utf-8", "utf-16")}
port = serve(lambda path: (200, {"Content-Type": "application/xml"}, files[path]))
seen = {}
for path, body in files.items():
    fetcher = SitemapFetcher(url=f"http://127.0.0.1:{port}{path}", recursion_level=0, web_client=RequestsWebClient())
    seen[path] = len([*fetcher.sitemap().all_pages()]), len([*Sitemap(body)])
print(seen)
assert seen == {"/utf-8.xml": (2, 2), "/utf-16.xml": (0, 2)}
PY
v/bin/python finding.py
