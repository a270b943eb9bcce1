"""How long a broad crawl blocks the reactor: `python -m benchmarks.reactor --origins 1000 --per-second 100`.

The crawls are real: origins on loopback (127.x.y.z), three pages each, with their server in another process. The run prints
pages per second, and how late a coroutine that only sleeps wakes up: for Scrapy without robots.txt, for Scrapy with its own
middleware, and for this plugin with each storage. Delays that all of them have are Scrapy's own.

If the pace leaves the processor idle time, the figures are the lengths of single pieces of work.
Without a pace, work piles up.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider

from .broad import Hat, Ticker, memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response

PAGES = 3  # of each origin
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
KINDS = ("no robots.txt", "Scrapy's own", "memory", "sqlite", "redis")


class Broad(Spider):
    """Crawls some pages of many origins, each origin's pages one after the other."""

    name = "broad"

    def __init__(self, origins: int, per_second: float, port: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        hosts = [
            f"127.{1 + number // 62500}.{number // 250 % 250}.{1 + number % 250}"
            for number in range(origins)
        ]
        self.urls = [f"http://{host}:{port}/{page}" for page in range(PAGES) for host in hosts]
        self.per_second = per_second
        self.pages = 0

    async def start(self) -> AsyncIterator[Request]:
        began = time.monotonic()
        for asked, url in enumerate(self.urls):
            if self.per_second:
                await asyncio.sleep(max(0.0, began + asked / self.per_second - time.monotonic()))
            yield Request(url)

    def parse(self, response: Response, **kwargs: Any) -> None:
        self.pages += 1


def crawl(kind: str, origins: int, per_second: float, port: str) -> None:
    from twisted.internet import asyncioreactor

    asyncioreactor.install()  # type: ignore[no-untyped-call]
    from twisted.internet.defer import Deferred
    from twisted.internet.task import react

    from tests.support.crawls import QUIET

    settings: dict[str, Any] = {**QUIET, "CONCURRENT_REQUESTS": 32, "LOG_ENABLED": False}
    with ExitStack() as stack:
        if kind == "Scrapy's own":
            settings["ROBOTSTXT_OBEY"] = True
        elif kind != "no robots.txt":
            settings |= {"ADDONS": {"scrapy_gbot_robots.Addon": 500}, "GBOT_ROBOTS_STORAGE": kind}
            settings["GBOT_ROBOTS_SQLITE_PATH"] = (
                stack.enter_context(tempfile.TemporaryDirectory()) + "/robots.sqlite"
            )
        if kind == "redis":
            from tests.support.redis_server import redis_server

            settings["REDIS_URL"] = stack.enter_context(redis_server()).url

        async def run() -> None:
            from scrapy.crawler import CrawlerRunner

            runner = CrawlerRunner(settings)
            crawler = runner.create_crawler(Broad)
            crawling = runner.crawl(crawler, origins=origins, per_second=per_second, port=port)
            await asyncio.sleep(1)  # the start does not count
            ticker = Ticker()
            ticking = asyncio.ensure_future(ticker.tick())
            began = time.monotonic()
            await crawling.asFuture(asyncio.get_running_loop())
            secs = time.monotonic() - began
            ticking.cancel()
            assert isinstance(crawler.spider, Broad)
            rate = f"{crawler.spider.pages:6,} pages, {crawler.spider.pages / secs:4.0f}/s, {memory() / 2**20:4.0f} MiB"
            print(f"{kind:14} {rate}; late: {ticker.lateness()}", flush=True)

        react(lambda _: Deferred.fromFuture(asyncio.ensure_future(run())))


async def serve() -> None:
    bodies = Hat().bodies

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                host = head.lower().partition(b"host: ")[2].partition(b"\r\n")[0]
                body = b"<html>" + b"x" * 2000
                if head.startswith(b"GET /robots.txt"):
                    body = bodies[hash(host) % len(bodies)]
                writer.write(HEAD % len(body) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    # for all of 127.0.0.0/8
    server = await asyncio.start_server(answer, "0.0.0.0", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--origins", type=int, default=1000)
    options.add_argument(
        "--per-second", type=float, default=0, help="pages; 0: as fast as possible"
    )
    chosen = options.parse_args()
    command = [sys.executable, "-m", __spec__.name]
    with subprocess.Popen([*command, "serve"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        port = server.stdout.readline().strip()
        try:
            for kind in KINDS:
                subprocess.run(
                    [*command, "crawl", kind, str(chosen.origins), str(chosen.per_second), port],
                    check=True,
                )
        finally:
            server.kill()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve"]:
            asyncio.run(serve())
        case ["crawl", kind, origins, per_second, port]:
            crawl(kind, int(origins), float(per_second), port)
        case _:
            main()
