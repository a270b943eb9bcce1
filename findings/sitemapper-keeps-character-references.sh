#!/bin/sh
# Versions: sitemapper 4.1.6, sitemap 9.0.1.
# sitemapper 4.1.6 (npm): it decodes `&amp;` in a <loc>, and leaves the numeric references `&#38;` and `&#x26;`, which mean the same. All
# after the first parameter is then a fragment, which a client does not send: another page is requested. sitemap 9.0.1 (npm) decodes all.
# Seen: sitemapper: /a?x=1&y=2, /b?x=1&#38;y=2, /c?x=1&#x26;y=2; sitemap: `&` in all three.
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

paths = ("/a?x=1&amp;y=2", "/b?x=1&#38;y=2", "/c?x=1&#x26;y=2")
urls = "".join(f"<url><loc>https://example.org{path}</loc></url>" for path in paths)
body = f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'.encode()
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
const short = (found) => found.map((one) => one.replace("https://example.org", ""));
const one = short((await new Sitemapper({ timeout: 10000 }).fetch(url)).sites);
const text = await (await fetch(url)).text();
const other = short((await parseSitemap(Readable.from([Buffer.from(text)]))).map((entry) => entry.url));
console.log(one, other);
assert.deepStrictEqual(one, ["/a?x=1&y=2", "/b?x=1&#38;y=2", "/c?x=1&#x26;y=2"]);
assert.deepStrictEqual(other, ["/a?x=1&y=2", "/b?x=1&y=2", "/c?x=1&y=2"]);
JS
node finding.mjs
