"""The small web that the `demo` spider crawls: two sites on loopback, served by the spider's own process."""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

SHOP_ROBOTS_TXT = """\
# A shop that has opinions about robots
User-agent: googlebot
Disallow: /only-for-others/

User-agent: examplebot/2.0     # the version is ignored: this is examplebot
Disallow: /cart/
Disallow: /*?sort=             # any URL with this parameter
Disallow: /*.pdf$              # any URL that ends with .pdf
Disallow: /menü                # non-ASCII, as people write it
Allow: /menü/today             # longer, so it wins
Crawl-delay: 10                # Google ignores this line

User-agent: *
Disallow: /

Sitemap: {shop}/sitemap-index.xml
"""

LINKS = [
    "/cart/checkout",
    "/shoes?sort=price",
    "/shoes?size=42",
    "/terms.pdf",
    "/terms.pdf.html",
    "/menü",
    "/menü/today",
]

INDEX = """<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <sitemap><loc>{shop}/sitemap-new.xml</loc></sitemap>
  <sitemap><loc>{shop}/sitemap-old.xml</loc></sitemap>
</sitemapindex>"""

URLSET = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
  <url><loc>{shop}/{page}</loc></url>
  <url><loc>{shop}/cart/{page}</loc></url>
</urlset>"""


class DemoWeb:
    """Two sites: `shop` has rules and sitemaps; the robots.txt of `ill` is a 503.

    Use it as a context manager; both attributes are URLs without a trailing slash.
    """

    def __init__(self) -> None:
        self._shop_server = _server(8765)
        self._ill_server = _server(8766)
        self.shop = f"http://127.0.0.1:{self._shop_server.server_address[1]}"
        self.ill = f"http://127.0.0.1:{self._ill_server.server_address[1]}"
        links = "".join(f'<a href="{link}">{link}</a>\n' for link in [*LINKS, f"{self.ill}/news"])
        self._shop_server.pages = {
            "/robots.txt": (200, "text/plain", SHOP_ROBOTS_TXT.format(shop=self.shop)),
            "/": (200, "text/html", f"<title>Shop</title>\n{links}"),
            "/sitemap-index.xml": (200, "application/xml", INDEX.format(shop=self.shop)),
            "/sitemap-new.xml": (
                200,
                "application/xml",
                URLSET.format(shop=self.shop, page="sandals"),
            ),
            "/sitemap-old.xml": (
                200,
                "application/xml",
                URLSET.format(shop=self.shop, page="clogs"),
            ),
        }
        self._ill_server.pages = {"/robots.txt": (503, "text/plain", "come back later")}

    def __enter__(self) -> DemoWeb:
        for server in (self._shop_server, self._ill_server):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        for server in (self._shop_server, self._ill_server):
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    pages: dict[str, tuple[int, str, str]]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        page = (200, "text/html", "<title>A page</title>")
        status, content_type, text = self.server.pages.get(unquote(self.path), page)
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{content_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Leave the terminal to the spider."""


def _server(port: int) -> _Server:
    """A server on `port`, or on any other if that one is taken."""
    with contextlib.suppress(OSError):
        return _Server(("127.0.0.1", port), _Handler)
    return _Server(("127.0.0.1", 0), _Handler)
