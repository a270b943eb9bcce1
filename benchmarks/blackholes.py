"""How much origins that never answer delay the others: `python -m benchmarks.blackholes`.

Of 200 origins, 100 never answer a request for their robots.txt. The run prints when the last page of the healthy origins
was crawled: with this plugin, with Scrapy alone, and with this plugin without the bad origins.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from twisted.internet import asyncioreactor

if TYPE_CHECKING:
    from scrapy.http import Response

ORIGINS = 100  # of each kind
PAGES = 10  # of each origin
TIMEOUTS = {"DOWNLOAD_TIMEOUT": 3, "GBOT_ROBOTS_TIMEOUT_SECS": 3, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 10}


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

    began = time.monotonic()
    crawler = await crawl(Clocked, {**TIMEOUTS, **settings}, addon=addon, urls=urls)
    spider = crawler.spider
    assert isinstance(spider, Clocked)
    secs = spider.last - began
    closed = time.monotonic() - began
    print(f"{label:32} {spider.pages:5} pages, the last after {secs:6.2f} s, closed after {closed:6.2f} s", flush=True)
    return secs


async def main() -> None:
    from tests.fetching.scenarios import raw
    from tests.support.web import Site

    with (
        Site({"/robots.txt": b"", "*": b"ok"}, host="0.0.0.0") as alive,
        Site({"*": raw(60.0)}, host="0.0.0.0") as dead,
    ):
        hosts = [f"127.0.1.{number}" for number in range(1, ORIGINS + 1)]
        good = [f"http://{host}:{alive.port}/{page}" for page in range(PAGES) for host in hosts]
        bad = [f"http://{host}:{dead.port}/{page}" for page in range(PAGES) for host in hosts]
        mixed = good + bad
        random.Random(1).shuffle(mixed)
        alone = await measure("here, healthy origins only", good, {}, addon=True)
        ours = await measure("here, half of them black holes", mixed, {}, addon=True)
        stock = await measure("Scrapy, half of them black holes", mixed, {"ROBOTSTXT_OBEY": True}, addon=False)
    print(f"black holes cost here {ours / alone:.2f}x, with Scrapy alone {stock / alone:.1f}x")


if __name__ == "__main__":
    asyncioreactor.install()  # type: ignore[no-untyped-call]
    from twisted.internet.defer import Deferred
    from twisted.internet.task import react

    react(lambda _: Deferred.fromCoroutine(main()))
