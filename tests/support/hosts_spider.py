"""A RobotsSitemapSpider that remembers what became of its hosts and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_gbot_robots import RobotsSitemapSpider

from .crawls import stats
from .sitemap_web import Remembers

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Hosts(Remembers, RobotsSitemapSpider):
    name = "hosts"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.without: dict[str, str] = {}

    def host_without_sitemap(self, host: str, why: str) -> None:
        super().host_without_sitemap(host, why)
        self.without[host] = why


def without(crawler: Crawler) -> dict[str, str]:
    assert isinstance(crawler.spider, Hosts)
    return crawler.spider.without


def host_stats(crawler: Crawler) -> dict[str, int]:
    return {name.rpartition("/")[2]: count for name, count in stats(crawler, "gbot_robots/hosts/").items()}
