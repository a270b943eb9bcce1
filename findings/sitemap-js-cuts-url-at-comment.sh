#!/bin/sh
# Versions: sitemap 9.0.1, sitemapper 4.1.6.
# sitemap 9.0.1 (npm), `parseSitemap`: an XML comment within <loc> ends the URL, and what follows the comment is dropped with a warning that
# "cup" is not a URL. The result is the URL of another page. sitemapper 4.1.6 (npm) joins the two parts, as an XML parser does.
# Seen: <loc>https://example.org/tea<!-- green -->cup</loc>: sitemap: https://example.org/tea; sitemapper: https://example.org/teacup.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . 'sitemapper@4.1.6' 'sitemap@9.0.1' > /dev/null
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

loc = "https://example.org/tea<!-- green -->cup"
body = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>{loc}</loc></url></urlset>'.encode()
print(serve(lambda path: (200, {"Content-Type": "application/xml"}, body)), flush=True)
time.sleep(60)
PY
python3 site.py > port & site=$!
trap 'kill $site; rm -rf "$dir"' EXIT
while [ ! -s port ]; do sleep 0.1; done
cat > finding.mjs <<'JS'
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { parseSitemap } from "sitemap";
import Sitemapper from "sitemapper";

const url = `http://127.0.0.1:${readFileSync("port", "utf8").trim()}/sitemap.xml`;
const { sites } = await new Sitemapper({ timeout: 10000 }).fetch(url);
const text = await (await fetch(url)).text();
const entries = await parseSitemap(Readable.from([Buffer.from(text)]));
const other = entries.map((entry) => entry.url);
console.log(other, sites);
assert.deepStrictEqual(other, ["https://example.org/tea"]);
assert.deepStrictEqual(sites, ["https://example.org/teacup"]);
JS
node finding.mjs
