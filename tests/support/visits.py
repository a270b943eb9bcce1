"""Run crawls during which a test acts, and watch the crawl and its sites meanwhile."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from socket import socket
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from typing_extensions import Self

from .crawls import Pages, begin, together, under_way
from .until import until
from .web import Reply, Site

CLOSED = "user-agent: *\ndisallow: /"


class Visitor(Spider):
    """A spider that requests nothing itself, and runs until `leaves` is true.

    If `closes` is true, it then closes the crawl.
    """

    name = "visitor"
    has_come = leaves = closes = False

    async def start(self) -> AsyncIterator[Request]:
        self.has_come = True
        await until(lambda: self.leaves)
        if self.closes:
            assert self.crawler.engine
            under_way(self.crawler.engine.close_spider_async(reason="enough"))
        return
        yield  # This statement makes the method a generator.

    def parse(self, response: Response, **kwargs: Any) -> None: ...

    def schedule(self, *urls: str) -> None:
        assert self.crawler.engine
        for url in urls:
            self.crawler.engine.crawl(Request(url))

    async def may(self, url: str, user_agent: str = "testbot") -> bool:
        """Request a page. Return False if the request is ignored, and True otherwise."""
        assert self.crawler.engine
        try:
            request = Request(url, headers={"User-Agent": user_agent})
            await self.crawler.engine.download_async(request)
        except IgnoreRequest:
            return False
        return True


@asynccontextmanager
async def visiting(**settings: Any) -> AsyncIterator[Visitor]:
    """Run a crawl that only does what the test does with its spider during the block."""
    crawler, ended = begin(Visitor, settings)
    await until(lambda: ended.called or getattr(crawler.spider, "has_come", False))
    assert isinstance(crawler.spider, Visitor)
    try:
        yield crawler.spider
    finally:
        crawler.spider.leaves = True
        await together(ended)


class Gate:
    """A page with a robots.txt that is not sent before the gate is opened."""

    def __init__(self, robotstxt: str) -> None:
        self._reply = Reply(200, robotstxt.encode())
        self._opened = threading.Event()

    def open(self, crawler: Crawler | None = None) -> None:
        self._opened.set()

    def __call__(self, connection: socket) -> None:
        self._opened.wait()
        self._reply(connection)


def fetches(site: Site) -> int:
    return site.paths().count("/robots.txt")


class Watched(Pages):
    """A spider that counts its requests.

    Attributes:
        scheduled: the number of requests that were scheduled.
        under_way: the number of pages in the downloader now, by host and under "all".
        most: the greatest number of pages in the downloader so far, in the same way.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scheduled, self.under_way, self.most = 0, Counter[str](), Counter[str]()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.reached, signals.request_reached_downloader)
        crawler.signals.connect(spider.left, signals.request_left_downloader)
        crawler.signals.connect(spider.was_scheduled, signals.request_scheduled)
        return spider

    def was_scheduled(self) -> None:
        self.scheduled += 1

    def reached(self, request: Request) -> None:
        if not request.url.endswith("/robots.txt"):
            self.under_way.update(["all", request.url.split("/")[2]])
            self.most |= self.under_way

    def left(self, request: Request) -> None:
        if not request.url.endswith("/robots.txt"):
            self.under_way.subtract(["all", request.url.split("/")[2]])


def hosts(number: int, site: Site) -> list[str]:
    return [f"http://127.0.1.{last}:{site.port}" for last in range(1, number + 1)]
