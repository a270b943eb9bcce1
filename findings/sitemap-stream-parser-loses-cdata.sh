#!/bin/sh
# Versions: sitemap-stream-parser 1.7.0.
# sitemap-stream-parser 1.7.0 (npm): a URL that is in a CDATA section, as some generators write each <loc>, is left out, and the callback
# gets no error. A file with nothing else in it has no pages.
# Seen: of two URLs, the second of them in CDATA, the first.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . 'sitemap-stream-parser@1.7.0' > /dev/null
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
cat > site.py <<'PY'
import time

from web import serve

locs = ("https://example.org/tea", "<![CDATA[https://example.org/list?sort=name&page=2]]>")
urls = "".join(f"<url><loc>{loc}</loc></url>" for loc in locs)
body = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'.encode()
print(serve(lambda path: (200, {"Content-Type": "application/xml"}, body)), flush=True)
time.sleep(60)
PY
python3 site.py > port & site=$!
trap 'kill $site; rm -rf "$dir"' EXIT
while [ ! -s port ]; do sleep 0.1; done
cat > finding.cjs <<'JS'
const assert = require("assert");
const { readFileSync } = require("fs");
const { parseSitemaps } = require("sitemap-stream-parser");

const found = [];
const url = `http://127.0.0.1:${readFileSync("port", "utf8").trim()}/sitemap.xml`;
parseSitemaps([url], (page) => found.push(page), (error) => {
  console.log(found, error);
  assert.ok(!error);
  assert.deepStrictEqual(found, ["https://example.org/tea"]);
});
JS
node finding.cjs
