"""Crawls that note how many pages are under way at a time."""

from collections import Counter
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from typing_extensions import Self

from .crawls import Pages
from .web import Site


class Watched(Pages):
    """Counts requests that are scheduled, and notes the most pages that were under way in the downloader, by their hosts."""

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
