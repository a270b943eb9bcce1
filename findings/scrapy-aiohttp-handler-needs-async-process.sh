#!/bin/sh
# Versions: Scrapy 2.19.0, aiohttp 3.14.5.
# Scrapy 2.19.0 and aiohttp 3.14.5: the aiohttp download handler loads under AsyncCrawlerProcess. Under CrawlerProcess, with the
# same asyncio reactor, it does not: "RuntimeError: no running event loop", and each request fails.
# Seen: AsyncCrawlerProcess: 1 response; CrawlerProcess: 0 responses, exception NotSupported.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'scrapy==2.19.0' 'aiohttp==3.14.5'
cat > finding.py <<'PY'
import http.server
import sys
import threading

import scrapy.crawler
from scrapy import Spider


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()


class Pages(Spider):
    name = "pages"
    start_urls = [f"http://127.0.0.1:{server.server_port}/"]

    def parse(self, response):
        pass


kind = sys.argv[1]
handler = "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler"
process = getattr(scrapy.crawler, kind)(
    {
        "DOWNLOAD_HANDLERS": {"http": handler, "https": handler},
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
    }
)
crawler = process.create_crawler(Pages)
process.crawl(crawler)
process.start()
stats = crawler.stats.get_stats()
responses = stats.get("response_received_count", 0)
print(kind, responses, [name for name in stats if "exception" in name])
sys.exit(responses != (kind == "AsyncCrawlerProcess"))
PY
v/bin/python finding.py AsyncCrawlerProcess
v/bin/python finding.py CrawlerProcess
