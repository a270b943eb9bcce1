#!/bin/sh
# Versions: crawlee 1.11.0 (Python).
# Crawlee for Python 1.11.0 with respect_robots_txt_file=True: a robots.txt that is answered with 429 allows
# everything, like a 404, although the server asks for fewer requests. One that is answered with 503 ends in
# no page. Google's page treats 429 like a 5xx.
# Seen: 429: the page is fetched; 503: it is not; 200 with "Disallow: /": it is not.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'crawlee[parsel]==1.11.0'
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
import asyncio

from crawlee.crawlers import HttpCrawler
from web import serve

RULES = b"User-agent: *\nDisallow: /\n"


async def fetches_the_page(status):
    paths = []

    def answer(request):
        paths.append(request.path)
        if request.path == "/robots.txt":
            return status, {"Content-Type": "text/plain"}, RULES
        return 200, {"Content-Type": "text/html"}, b"<html>page</html>"

    server = serve(answer)
    crawler = HttpCrawler(
        respect_robots_txt_file=True, max_request_retries=0, configure_logging=False
    )

    @crawler.router.default_handler
    async def handle(context):
        pass

    await crawler.run([f"http://127.0.0.1:{server.server_port}/page"])
    assert "/robots.txt" in paths
    return "/page" in paths


async def main():
    seen = {status: await fetches_the_page(status) for status in (200, 429, 503)}
    print(seen)
    assert seen == {200: False, 429: True, 503: False}


asyncio.run(main())
PY
v/bin/python finding.py 2>/dev/null
