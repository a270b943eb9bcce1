"""Feeds found sitemaps: handlers see a sitemap first, then it is scheduled as if the spider had listed it.

Scrapy's duplicate filter makes sure that each sitemap is requested once, also across a JOBDIR and a fleet.
"""

from __future__ import annotations

import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spiders import SitemapSpider
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.spider import DefaultSpider

from ..engine import follows_sitemap, sitemap_callback, spider_middlewares
from ..meta import SITEMAP
from ..signals import sitemap_found

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy.crawler import Crawler

    from ..settings import GbotSettings
    from .urls import FoundSitemap

_NO_META: Mapping[str, Any] = MappingProxyType({})
_ANY_SPIDER = (Spider, DefaultSpider)  # a crawler with one of these may get a spider of another class later

STATS = "gbot_robots/sitemaps/"

logger = logging.getLogger(__name__)


class SitemapStats:
    """Counts what became of sitemaps. docs/sitemaps.md names the stats."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def count(self, name: str, count: int = 1) -> None:
        """Add `count` to the stat `name` below `STATS`."""
        if count:
            self._crawler.stats.inc_value(STATS + name, count)

    def refused(self, reason: str, count: int = 1) -> None:
        """Count URLs that are not followed: in total and by `reason`."""
        self.count("refused", count)
        self.count(f"refused/{reason}", count)


class SitemapFeed:
    """Feeds sitemaps to the SitemapSpider of one crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = SitemapStats(crawler)
        self._scheduling: Request | None = None
        crawler.signals.connect(self._request_dropped, signals.request_dropped)

    async def feed(self, sitemaps: Iterable[FoundSitemap], more_meta: Mapping[str, Any] = _NO_META) -> list[str]:
        """Schedule requests for `sitemaps`, with `more_meta` in their meta. The spider must be a SitemapSpider.

        Returns:
            The URLs that were scheduled. URLs that were refused, or requested before, are not among them.
        """
        spider = self._crawler.spider
        assert isinstance(spider, SitemapSpider)  # noqa: S101  for the type checker
        fed: list[str] = []
        for sitemap in sitemaps:
            if not follows_sitemap(spider, sitemap.url):
                self._stats.refused("follow")
                continue
            meta = {
                "is_start_request": True,
                "allow_offsite": True,  # for the sitemap; allowed_domains hold for the pages that it lists
                SITEMAP: {"robotstxt": sitemap.robotstxt, "line": sitemap.line},
                **more_meta,
            }
            request = await self.show(sitemap, Request(sitemap.url, sitemap_callback(spider), meta=meta))
            if request is None:
                self._stats.refused("vetoed")
            elif (processed := self._processed(request)) is None:
                self._stats.refused("middleware")
            elif self._schedule(processed):
                fed.append(processed.url)
        return fed

    async def show(self, sitemap: FoundSitemap, request: Request | None) -> Request | None:
        """Show a found sitemap to the handlers of `sitemap_found` and to the spider's method of that name.

        Returns:
            The request to schedule, which a handler may have replaced; None if a handler vetoed it.
        """
        spider: Any = self._crawler.spider
        answered = await self._crawler.signals.send_catch_log_async(
            sitemap_found, sitemap=sitemap, request=request, spider=spider, dont_log=IgnoreRequest
        )
        answers = [answer for _, answer in answered]
        if hasattr(spider, "sitemap_found"):
            try:
                answers.append(await ensure_awaitable(spider.sitemap_found(sitemap, request)))
            except IgnoreRequest as veto:
                answers.append(veto)
            except Exception as error:
                logger.exception("%s.sitemap_found failed for %s", type(spider).__name__, sitemap.url)
                answers.append(error)
        if any(answer is False or isinstance(answer, Exception) for answer in answers):
            return None
        return next((answer for answer in reversed(answers) if isinstance(answer, Request)), request)

    def _processed(self, request: Request) -> Request | None:
        """Pass a request through the spider middlewares that take start requests one by one; None if one drops it.

        A middleware that overrides `process_start` itself is left out: Scrapy calls that once, for all start requests.
        """
        processed: Request | None = request
        for middleware in reversed(spider_middlewares(self._crawler)):  # in the order in which start requests pass
            if processed is not None and isinstance(middleware, BaseSpiderMiddleware):
                try:
                    processed = middleware.get_processed_request(processed, None)
                except Exception:
                    logger.exception("%s failed for %s", type(middleware).__name__, request.url)
                    return None
        return processed

    def _schedule(self, request: Request) -> bool:
        """Schedule a request; return False if the duplicate filter dropped it."""
        assert self._crawler.engine is not None  # noqa: S101  for the type checker
        self._scheduling = request
        self._crawler.engine.crawl(request)
        scheduled, self._scheduling = self._scheduling is not None, None
        self._stats.count("fed" if scheduled else "duplicate")
        return scheduled

    def _request_dropped(self, request: Request) -> None:
        if request is self._scheduling:
            self._scheduling = None


def may_read_sitemaps(crawler: Crawler) -> bool:
    """Whether the spider may read sitemap files: a SitemapSpider, or a spider with `feeds_itself`.

    True as well while the spider's class is not known.
    """
    spider = crawler.spider
    if spider is None and crawler.spidercls in _ANY_SPIDER:
        return True
    kind = crawler.spidercls if spider is None else type(spider)
    return issubclass(kind, SitemapSpider) or feeds_itself(spider or kind)


def feeds_itself(spider: object) -> bool:
    """Whether a spider requests the sitemaps of its hosts itself, as RobotsSitemapSpider does."""
    return bool(getattr(spider, "feeds_itself", False))


def fed_spider(crawler: Crawler, settings: GbotSettings) -> SitemapSpider | None:
    """The spider of an open crawl if found sitemaps are fed to it, else None."""
    spider = crawler.spider
    if settings.sitemaps != "feed" or not isinstance(spider, SitemapSpider) or feeds_itself(spider):
        return None
    return spider
