"""The way of a found sitemap into the crawl: shown to who wants to see it, and scheduled as if the spider listed it.

That a sitemap is asked for once is the duplicate filter's work, here as everywhere in Scrapy, so that it holds across a
JOBDIR and a fleet.
"""

from __future__ import annotations

import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spiders import SitemapSpider
from scrapy.utils.defer import ensure_awaitable

from ..meta import SITEMAP
from ..signals import sitemap_found
from .urls import Choosing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from ..settings import GbotSettings
    from .urls import FoundSitemap

_NO_META: Mapping[str, Any] = MappingProxyType({})

STATS = "gbot_robots/sitemaps/"

logger = logging.getLogger(__name__)


class SitemapStats:
    """The stats of what became of sitemaps; `STATS` and the docs' page on sitemaps name them."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def count(self, name: str, count: int = 1) -> None:
        """Add to one of the stats below `STATS`."""
        if count:
            self._crawler.stats.inc_value(STATS + name, count)

    def refused(self, reason: str, count: int = 1) -> None:
        """Count what is not followed, all in all and by its reason."""
        self.count("refused", count)
        self.count(f"refused/{reason}", count)


class SitemapFeed:
    """Feeds sitemaps to the spider of one crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = SitemapStats(crawler)
        self._scheduling: Request | None = None
        crawler.signals.connect(self._request_dropped, signals.request_dropped)

    async def feed(self, sitemaps: Iterable[FoundSitemap], more_meta: Mapping[str, Any] = _NO_META) -> None:
        """Schedule requests for `sitemaps`, with `more_meta` in their meta; the spider must be a SitemapSpider."""
        spider = self._crawler.spider
        assert isinstance(spider, SitemapSpider)  # noqa: S101  for the type checker
        for sitemap in sitemaps:
            if not any(pattern.search(sitemap.url) for pattern in spider._follow):  # noqa: SLF001  as it does itself
                self._stats.refused("follow")
                continue
            meta = {
                "is_start_request": True,
                "allow_offsite": True,  # for the sitemap; what it lists is subject to the spider's allowed_domains
                SITEMAP: {"robotstxt": sitemap.robotstxt, "line": sitemap.line},
                **more_meta,
            }
            callback = spider._parse_sitemap  # noqa: SLF001  Scrapy has no other name for it
            request = await self.show(sitemap, Request(sitemap.url, callback=callback, meta=meta))
            if request is None:
                self._stats.refused("vetoed")
            elif (processed := self._processed(request)) is None:
                self._stats.refused("middleware")
            else:
                self._schedule(processed)

    async def show(self, sitemap: FoundSitemap, request: Request | None) -> Request | None:
        """Show a discovery to whoever wants to see it; the request as it may have been changed, None if vetoed."""
        spider: Any = self._crawler.spider
        said = await self._crawler.signals.send_catch_log_async(
            sitemap_found, sitemap=sitemap, request=request, spider=spider, dont_log=IgnoreRequest
        )
        answers = [answer for _, answer in said]
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
        """The request as the spider middlewares make it that look at each start request for itself; None if one drops it.

        A `process_start` of another kind is not run: it is made to run once, over all that the spider starts with.
        """
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101  for the type checker
        processed: Request | None = request
        for middleware in reversed(engine.scraper.spidermw.middlewares):  # as start requests pass them
            if processed is not None and isinstance(middleware, BaseSpiderMiddleware):
                try:
                    processed = middleware.get_processed_request(processed, None)
                except Exception:
                    logger.exception("%s failed for %s", type(middleware).__name__, request.url)
                    return None
        return processed

    def _schedule(self, request: Request) -> None:
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101  for the type checker
        self._scheduling = request
        engine.crawl(request)
        self._stats.count("duplicate" if self._scheduling is None else "fed")
        self._scheduling = None

    def _request_dropped(self, request: Request) -> None:
        if request is self._scheduling:
            self._scheduling = None


def choosing_by(gbot: GbotSettings, settings: BaseSettings) -> Choosing:
    """By what sitemaps are chosen in a crawl with these settings."""
    return Choosing(followed_schemes(settings), gbot.sitemaps_hosts, gbot.sitemaps_max, gbot.refuse_private)


def followed_schemes(settings: BaseSettings) -> frozenset[str]:
    """The schemes of sitemaps and pages that are followed: ftp only where Scrapy has a handler for it."""
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    return frozenset(scheme for scheme in ("http", "https", "ftp") if handlers.get(scheme))
