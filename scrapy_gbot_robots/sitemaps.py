"""Sitemap lines become crawled pages: what each robots.txt lists is collected and fed to a running SitemapSpider.

Listens to `robotstxt_known` and knows nothing of the middleware that sends it. Source: Google's page, "sitemap".
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.exceptions import NotConfigured
from scrapy.spiders import SitemapSpider
from scrapy.spiders.sitemap import regex

from .settings import GbotSettings
from .signals import robotstxt_known

if TYPE_CHECKING:
    import re

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from .core.robots import RobotsTxt
    from .core.urls import Origin

META_KEY = "gbot_robots_sitemap"  # request.meta: the robots.txt that listed the sitemap, and the line

logger = logging.getLogger(__name__)


class SitemapDiscovery:
    """The extension. `GBOT_ROBOTS_SITEMAPS` says whether what is found is fed, only collected, or nothing is done.

    Attributes:
        found: sitemap URLs by the URL of the robots.txt that listed them.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._follow: list[re.Pattern[str]] = []
        self._feed = False
        self._seen: set[str] = set()
        self.found: dict[str, list[str]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension.

        Raises:
            NotConfigured: GBOT_ROBOTS_SITEMAPS is "off".
        """
        settings = GbotSettings.of(crawler.settings)
        if settings.sitemaps == "off":
            raise NotConfigured
        discovery = cls(crawler, settings)
        crawler.signals.connect(discovery._spider_opened, signals.spider_opened)
        crawler.signals.connect(discovery._robotstxt_known, robotstxt_known)
        return discovery

    def _spider_opened(self, spider: Spider) -> None:
        self._feed = self._settings.sitemaps == "feed" and isinstance(spider, SitemapSpider)
        if isinstance(spider, SitemapSpider):
            self._follow = [regex(pattern) for pattern in spider.sitemap_follow]

    def _robotstxt_known(self, origin: Origin, robotstxt: RobotsTxt) -> None:
        stats = self._crawler.stats
        for number, line in enumerate(entry for entry in robotstxt.sitemap_lines if entry.url is not None):
            assert line.url is not None  # noqa: S101  for the type checker
            if line.url in self._seen:
                continue
            self._seen.add(line.url)
            stats.inc_value("gbot_robots/sitemaps/found")
            self.found.setdefault(origin.robots_url, []).append(line.url)
            if number >= self._settings.sitemaps_max:
                stats.inc_value("gbot_robots/sitemaps/capped")
            elif self._feed and any(pattern.search(line.url) for pattern in self._follow):
                self._schedule(line.url, {"robotstxt": origin.robots_url, "line": line.line})

    def _schedule(self, url: str, source: dict[str, str | int]) -> None:
        """Feed a sitemap to the spider as if the spider itself had listed it."""
        engine, spider = self._crawler.engine, self._crawler.spider
        assert engine is not None  # noqa: S101
        assert isinstance(spider, SitemapSpider)  # noqa: S101
        meta = {"is_start_request": True, META_KEY: source}
        try:
            request = Request(url, callback=spider._parse_sitemap, meta=meta)  # noqa: SLF001  Scrapy has no other name for it
        except ValueError as error:
            self._crawler.stats.inc_value("gbot_robots/sitemaps/refused")
            logger.debug("Sitemap refused: %s (%s)", error, source)
            return
        self._crawler.stats.inc_value("gbot_robots/sitemaps/fed")
        engine.crawl(request)
