#!/bin/sh
# Versions: Scrapy 2.19.0.
# Scrapy 2.19.0: a cookie that the server sets with robots.txt is sent with all pages of the crawl.
# Seen: robots.txt answers with Set-Cookie: visit=robots, and the first page is requested with
# "Cookie: visit=robots".
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
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess
from web import serve

cookies = {}


def answer(request):
    cookies[request.path] = request.headers.get("Cookie")
    if request.path == "/robots.txt":
        headers = {"Content-Type": "text/plain", "Set-Cookie": "visit=robots; Path=/"}
        return 200, headers, b"User-agent: *\nDisallow: /private/\n"
    return 200, {"Content-Type": "text/html"}, b"<html>page</html>"


server = serve(answer)


class Pages(Spider):
    name = "pages"
    start_urls = [f"http://127.0.0.1:{server.server_port}/page"]

    def parse(self, response):
        pass


process = AsyncCrawlerProcess(
    {"ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False}
)
process.crawl(Pages)
process.start()
print(cookies)
assert cookies == {"/robots.txt": None, "/page": "visit=robots"}
PY
v/bin/python finding.py
