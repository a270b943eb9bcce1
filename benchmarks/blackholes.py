"""How much origins that never answer delay the others: `python -m benchmarks.blackholes`.

Of 200 origins, 100 never answer a request for their robots.txt. The run prints when the last page of the healthy origins
was crawled, and the processor time: with this plugin, with Scrapy alone, and with this plugin without the bad origins.

`--healthy 40 --dead 2000 --dead-pages 1` is a crawl in which nearly all hosts are dead. Scrapy alone then takes minutes.
"""

from __future__ import annotations

import argparse
import random
import socket
import time
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from twisted.internet import asyncioreactor

if TYPE_CHECKING:
    from scrapy.http import Response

PAGES = 10  # of each healthy origin
MOST_DEAD = 4096  # connections that the kernel takes; it drops others, which is no better
TIMEOUTS = {
    "DOWNLOAD_TIMEOUT": 3,
    "GBOT_ROBOTS_TIMEOUT_SECS": 3,
    "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 10,
}


class Clocked(Spider):
    """Crawls the pages it is given and remembers when the last one arrived."""

    name = "clocked"

    def __init__(self, urls: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = urls
        self.pages = 0
        self.last = 0.0

    def parse(self, response: Response, **kwargs: Any) -> None:
        self.pages += 1
        self.last = time.monotonic()


async def measure(label: str, urls: list[str], settings: dict[str, Any], *, addon: bool) -> float:
    from tests.support.crawls import crawl

    began, cpu = time.monotonic(), time.process_time()
    crawler = await crawl(Clocked, {**TIMEOUTS, **settings}, addon=addon, urls=urls)
    spider = crawler.spider
    assert isinstance(spider, Clocked)
    secs = spider.last - began
    closed, cpu = time.monotonic() - began, time.process_time() - cpu
    print(
        f"{label:32} {spider.pages:5} pages, the last after {secs:6.2f} s, closed after {closed:6.2f} s, CPU {cpu:6.2f} s",
        flush=True,
    )
    return secs


def addresses(net: int, number: int) -> list[str]:
    return [f"127.{net}.{each // 250}.{each % 250 + 1}" for each in range(number)]


async def main(options: argparse.Namespace) -> None:
    from tests.support.web import Site

    with (
        Site({"/robots.txt": b"", "*": b"ok"}, host="0.0.0.0") as alive,
        # the kernel takes connections; nobody answers
        socket.create_server(("0.0.0.0", 0), backlog=MOST_DEAD) as dead,
    ):
        good = [
            f"http://{host}:{alive.port}/{page}"
            for page in range(PAGES)
            for host in addresses(1, options.healthy)
        ]
        bad = [
            f"http://{host}:{dead.getsockname()[1]}/{page}"
            for page in range(options.dead_pages)
            for host in addresses(2, options.dead)
        ]
        mixed = good + bad
        random.Random(1).shuffle(mixed)
        alone = await measure("here, healthy origins only", good, {}, addon=True)
        ours = await measure("here, with black holes", mixed, {}, addon=True)
        print(f"black holes cost here {ours / alone:.2f}x", flush=True)
        stock = await measure(
            "Scrapy, with black holes", mixed, {"ROBOTSTXT_OBEY": True}, addon=False
        )
    print(f"black holes cost Scrapy alone {stock / alone:.1f}x")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--healthy", type=int, default=100, help="origins that answer")
    parser.add_argument("--dead", type=int, default=100, help="origins that never answer")
    parser.add_argument(
        "--dead-pages", type=int, default=PAGES, help="of each origin that never answers"
    )
    chosen = parser.parse_args()
    asyncioreactor.install()  # type: ignore[no-untyped-call]
    from twisted.internet.defer import Deferred
    from twisted.internet.task import react

    react(lambda _: Deferred.fromCoroutine(main(chosen)))
