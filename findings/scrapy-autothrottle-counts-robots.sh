#!/bin/sh
# Versions: Scrapy 2.19.0.
# Scrapy 2.19.0: AutoThrottle counts the latency of robots.txt like that of a page.
# Seen: a robots.txt that takes 3 s raises the delay of the site's slot from 0.1 s to over 1 s, though
# each page takes milliseconds. With a quick robots.txt the delay of the first page is below 0.3 s.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'scrapy==2.19.0'
cat > web.py <<'PY'
import http.server
import threading


def serve(answer):
    """Serve `answer(path)` -> (status, headers, body) on a free loopback port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, headers, body = answer(self)
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
    return server
PY
cat > finding.py <<'PY'
import sys
import time

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess
from web import serve

secs = float(sys.argv[1])


def answer(request):
    if request.path == "/robots.txt":
        time.sleep(secs)
        return 200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /private/\n"
    return 200, {"Content-Type": "text/html"}, b"<html>page</html>"


server = serve(answer)


class Pages(Spider):
    name = "pages"
    start_urls = [f"http://127.0.0.1:{server.server_port}/{n}" for n in range(3)]
    delays = []

    def parse(self, response):
        (slot,) = self.crawler.engine.downloader.slots.values()
        self.delays.append(slot.delay)


process = AsyncCrawlerProcess(
    {
        "ROBOTSTXT_OBEY": True,
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": 0.1,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }
)
process.crawl(Pages)
process.start()
print(f"robots.txt after {secs:g} s: delay {Pages.delays[0]:.2f} s at the first page")
sys.exit(Pages.delays[0] > 1 if secs == 0 else Pages.delays[0] < 1)
PY
v/bin/python finding.py 0
v/bin/python finding.py 3
