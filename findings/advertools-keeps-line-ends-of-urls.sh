#!/bin/sh
# Versions: advertools 0.18.0.
# advertools 0.18.0, `sitemap_to_df`: if a <loc> has its URL on a line of its own, as indented files have it, the URL in the table keeps
# the line ends and the blanks around it. The W3C's XML Schema type of <loc> (anyURI) drops them. The same page in another file of the
# index is then another page, and a join with a log finds nothing.
# Seen: "https://example.org/cake", and a line end, two blanks, "https://example.org/tea", a line end.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv v
v/bin/pip install -q --disable-pip-version-check 'advertools==0.18.0'
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
import logging

logging.disable(logging.CRITICAL)

import advertools

from web import serve

body = b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>https://example.org/cake</loc></url>
<url><loc>
  https://example.org/tea
</loc></url>
</urlset>"""
port = serve(lambda path: (200, {"Content-Type": "application/xml"}, body))
urls = sorted(advertools.sitemap_to_df(f"http://127.0.0.1:{port}/sitemap.xml")["loc"], key=len)
print(urls)
assert urls == ["https://example.org/cake", "\n  https://example.org/tea\n"]
PY
v/bin/python finding.py
