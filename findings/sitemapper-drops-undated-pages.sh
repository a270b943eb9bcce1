#!/bin/sh
# Versions: sitemapper 4.1.6.
# sitemapper 4.1.6 (npm): its option `lastmod` is the oldest date of the pages to return. A page without <lastmod>, which sitemaps.org
# allows, is left out, whatever the date, and so is a page that has the year alone. So a crawl of what is new misses each new page of a
# site that writes no dates.
# Seen: with lastmod 1 January 2000, of four pages (day, month, year, none) the first two; without the option, all four.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --prefix . 'sitemapper@4.1.6' > /dev/null
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

page = "<url><loc>https://example.org/{}</loc>{}</url>"
dates = {"day": "2026-01-02", "month": "2026-01", "year": "2026", "none": ""}
urls = "".join(page.format(name, date and f"<lastmod>{date}</lastmod>") for name, date in dates.items())
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
import Sitemapper from "sitemapper";

const url = `http://127.0.0.1:${readFileSync("port", "utf8").trim()}/sitemap.xml`;
const names = async (options) => {
  const { sites } = await new Sitemapper({ timeout: 10000, ...options }).fetch(url);
  return sites.map((site) => site.split("/").pop());
};
const all = await names({});
const since = await names({ lastmod: Date.parse("2000-01-01") });
console.log(all, since);
assert.deepStrictEqual(all, ["day", "month", "year", "none"]);
assert.deepStrictEqual(since, ["day", "month"]);
JS
node finding.mjs
