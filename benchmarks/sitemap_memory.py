"""What a crawl of one sitemap of 50,000 URLs and 50 MB costs: `python -m benchmarks.sitemap_memory`.

Another process serves the sitemap and its pages, so that only the crawl is measured. `--gzip` serves the sitemap
gzipped; `--stock` crawls with Scrapy's SitemapSpider and without the plugin; `--jobdir` keeps pending requests on disk;
`--pages N` stops after N pages: with 1, little is measured except reading and scheduling.

It measures how long the reactor works between two ticks of a coroutine that only ticks: the processor time of the reactor's
thread, so that a busy machine does not count. Garbage collection is part of it, and is also printed by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import gzip
import multiprocessing
import resource
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import CloseSpider
from scrapy.spiders import SitemapSpider

from scrapy_gbot_robots import RobotsSitemapSpider

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

URLS, BYTES = 50_000, 52_428_800
HEAD, TAIL = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n', b"</urlset>\n"
ENTRY = b"<url><loc>%s</loc></url>\n"


def serve(said: Connection, *, gzipped: bool) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = files.get(self.path, b"<title>A page</title>")
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header(
                "Content-Type", "application/xml" if self.path == "/sitemap.xml" else "text/html"
            )
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = f"http://127.0.0.1:{server.server_port}"
    chars = (BYTES - len(HEAD) - len(TAIL)) // URLS - len(ENTRY % b"")
    urls = (f"{site}/{number}?".ljust(chars, "x").encode() for number in range(URLS))
    sitemap = HEAD + b"".join(ENTRY % url for url in urls) + TAIL
    files = {
        "/robots.txt": f"Sitemap: {site}/sitemap.xml".encode(),
        "/sitemap.xml": gzip.compress(sitemap, 1) if gzipped else sitemap,
    }
    said.send((site, len(sitemap)))
    server.serve_forever()


class Held:
    """How long the reactor's thread worked without a break, and how long garbage collection did, in seconds."""

    def __init__(self) -> None:
        self.stretches: list[float] = []
        self.collections: list[float] = []
        self._collecting = 0.0

    async def tick(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.001)
            self.stretches.append(time.thread_time() - before)

    def collecting(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._collecting = time.thread_time()
        else:
            self.collections.append(time.thread_time() - self._collecting)

    def __str__(self) -> str:
        ordered = sorted(self.stretches)
        shares = (
            f"{name} {ordered[int(share * (len(ordered) - 1))] * 1000:.1f}"
            for name, share in SHARES
        )
        garbage = f"{max(self.collections) * 1000:.0f}, {sum(self.collections):.1f} s in all"
        return f"{sum(ordered):.1f} s of work; its stretches in ms: {', '.join(shares)} (garbage collection: {garbage})"


SHARES = (("median", 0.5), ("90 %", 0.9), ("99 %", 0.99), ("99.9 %", 0.999), ("at most", 1))


class Measured:
    name = "measured"
    most_pages = 1000

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pages = 0
        self.seconds = 0.0
        self.known_at_first_page = 0
        self.receiving, self.reading = Held(), Held()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.open_eyes, signals.spider_opened)
        crawler.signals.connect(spider.received, signals.response_received)
        crawler.signals.connect(spider.close_eyes, signals.spider_closed)
        return spider

    def open_eyes(self) -> None:
        self.watch(self.receiving)

    def close_eyes(self) -> None:
        self.watching.cancel()
        gc.callbacks.clear()

    def watch(self, held: Held) -> None:
        self.watching = asyncio.ensure_future(held.tick())
        gc.callbacks[:] = [held.collecting]

    def received(self, response: Response) -> None:
        if response.url.endswith("/sitemap.xml"):
            self.seconds = -time.monotonic()
            self.watching.cancel()
            self.watch(self.reading)

    def parse(self, response: Response) -> None:
        if not self.pages:
            self.seconds += time.monotonic()
            self.known_at_first_page = self.crawler.stats.get_value("scheduler/enqueued")
        self.pages += 1
        if self.pages >= self.most_pages:
            raise CloseSpider("enough")


class Ours(Measured, RobotsSitemapSpider):
    pass


class Stock(Measured, SitemapSpider):
    pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--stock", action="store_true")
    parser.add_argument("--jobdir", action="store_true")
    parser.add_argument("--pages", type=int, default=1000)
    options = parser.parse_args()
    said, saying = multiprocessing.Pipe()
    server = multiprocessing.Process(
        target=serve, args=(saying,), kwargs={"gzipped": options.gzip}, daemon=True
    )
    server.start()
    site, size = said.recv()
    settings = {
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "GBOT_ROBOTS_STORAGE": "memory",
        "ADDONS": {} if options.stock else {"scrapy_gbot_robots.Addon": 500},
    }
    job = tempfile.TemporaryDirectory()
    if options.jobdir:
        settings["JOBDIR"] = job.name
    process = AsyncCrawlerProcess(settings)
    where = {"sitemap_urls": [f"{site}/sitemap.xml"]} if options.stock else {"hosts": site}
    crawler = process.create_crawler(Stock if options.stock else Ours)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    process.crawl(crawler, most_pages=options.pages, **where)
    process.start()
    server.kill()
    job.cleanup()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spider: Any = crawler.spider
    print(f"sitemap of {URLS:,} URLs and {size:,} bytes; {spider.pages:,} pages crawled")
    print(
        f"first page {spider.seconds:.2f} s after the sitemap, when {spider.known_at_first_page:,} requests were scheduled"
    )
    print(f"peak memory {peak / 1024:.0f} MB, {before / 1024:.0f} MB of it before the crawl")
    print(f"until the sitemap was there: {spider.receiving}")
    print(f"after that: {spider.reading}")


if __name__ == "__main__":
    main()
