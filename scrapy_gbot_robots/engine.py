"""Every private or changing part of Scrapy's engine that the plugin uses, and nothing else.

When Scrapy changes one of them, this is the only module that has to change.
Source: Scrapy's own code, 2.14 to 2.19.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.http.request import CallbackT
    from scrapy.spiders import SitemapSpider

_FETCH_ONE_PAGE = ("scrapy.commands.fetch", "scrapy.commands.parse")  # `scrapy view` is a kind of `scrapy fetch`


def is_for_one_page(crawler: Crawler) -> bool:
    """Whether one of Scrapy's commands runs this crawl for one page that a person waits for: shell, fetch, view, parse.

    The shell alone of them sets a dupefilter; the others put a `start` of their own into the spider.
    """
    if crawler.settings.getpriority("DUPEFILTER_CLASS") == SETTINGS_PRIORITIES["command"]:
        return True
    return getattr(getattr(crawler.spidercls, "start", None), "__module__", None) in _FETCH_ONE_PAGE


@contextmanager
def uncounted(crawler: Crawler) -> Iterator[None]:
    """Let the downloader take one request more than CONCURRENT_REQUESTS, for one that it holds and that only waits."""
    engine = crawler.engine
    if engine is None or engine.downloader.total_concurrency <= 0:  # no limit
        yield
        return
    engine.downloader.total_concurrency += 1
    slot = getattr(engine, "_slot", None)
    if slot is not None:
        slot.nextcall.schedule()  # fill the place now, and not only at the engine's next heartbeat, seconds later
    try:
        yield
    finally:
        engine.downloader.total_concurrency -= 1


def spider_middlewares(crawler: Crawler) -> tuple[Any, ...]:
    """The spider middlewares of a crawl whose engine runs, the one nearest to the engine first."""
    assert crawler.engine is not None  # noqa: S101  for the type checker
    middlewares: tuple[Any, ...] = crawler.engine.scraper.spidermw.middlewares
    return middlewares


def is_idle(crawler: Crawler) -> bool:
    """Whether no request is scheduled or being downloaded, so that no response will come."""
    engine: Any = crawler.engine
    slot = engine._slot  # noqa: SLF001  Scrapy 2.19 has `engine.scheduler`, 2.14 nothing else
    return slot is None or not (engine.downloader.active or slot.scheduler.has_pending_requests())


def sitemap_callback(spider: SitemapSpider) -> CallbackT:
    """The method with which a SitemapSpider reads a sitemap file."""
    return spider._parse_sitemap  # noqa: SLF001  Scrapy has no other name for it


def follows_sitemap(spider: SitemapSpider, url: str) -> bool:
    """Whether `sitemap_follow` of a SitemapSpider matches the URL of a sitemap."""
    return any(pattern.search(url) for pattern in spider._follow)  # noqa: SLF001  compiled once, by Scrapy


def page_callback(spider: SitemapSpider, url: str) -> CallbackT | None:
    """The callback that `sitemap_rules` of a SitemapSpider give the URL of a page; None if no rule matches it."""
    return next((callback for pattern, callback in spider._cbs if pattern.search(url)), None)  # noqa: SLF001
