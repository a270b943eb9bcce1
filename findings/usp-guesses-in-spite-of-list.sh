#!/bin/sh
# Versions: ultimate-sitemap-parser 1.8.1.
# ultimate-sitemap-parser 1.8.1: it asks for 14 guessed sitemaps although robots.txt lists one, and although
# robots.txt disallows everything for everybody.
# Seen: 16 requests: robots.txt, the listed sitemap, and 14 others, such as /admin/config/search/xmlsitemap.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'ultimate-sitemap-parser==1.8.1'
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
import logging

from usp.tree import sitemap_tree_for_homepage
from web import serve

logging.disable(logging.CRITICAL)
paths = []
XML = '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">%s</urlset>'


def answer(request):
    paths.append(request.path)
    home = f"http://127.0.0.1:{server.server_port}"
    if request.path == "/robots.txt":
        rules = f"User-agent: *\nDisallow: /\nSitemap: {home}/list.xml\n"
        return 200, {"Content-Type": "text/plain"}, rules.encode()
    if request.path == "/list.xml":
        body = XML % f"<url><loc>{home}/a</loc></url>"
        return 200, {"Content-Type": "application/xml"}, body.encode()
    return 404, {}, b""


server = serve(answer)
tree = sitemap_tree_for_homepage(f"http://127.0.0.1:{server.server_port}/")
print(len(paths), sorted(paths))
assert len(list(tree.all_pages())) == 1
assert len(paths) == 16
assert "/admin/config/search/xmlsitemap" in paths
PY
v/bin/python finding.py
