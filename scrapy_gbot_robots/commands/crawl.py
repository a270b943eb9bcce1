"""A crawl without pages: it runs the work of a sub-command in an engine of Scrapy's, and returns the result.

It has the project's downloader middlewares, download handlers and add-ons, but not its pipelines, feeds, extensions and
scheduler. Ctrl-C ends the work at once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from inspect import isclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.utils.misc import load_object
from twisted.internet.defer import Deferred

from ..addon import Addon
from ..fetching.fetcher import Fetcher
from ..obeying.middleware import GbotRobotsTxtMiddleware
from ..obeying.telling import logger as robots_logger
from .exits import CommandError
from .session import Visit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from scrapy.settings import Settings

_T = TypeVar("_T")

# What this crawl must not do, though the project's crawls may.
_NOTHING_ELSE: dict[str, Any] = {
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "EXTENSIONS": {},
    "EXTENSIONS_BASE": {},  # consoles, feeds, limits, statistics
    "HTTPCACHE_ENABLED": False,  # the question is what servers say now
    "ITEM_PIPELINES": {},
    "JOBDIR": None,
    "LOG_STDOUT": False,
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "SPIDER_MIDDLEWARES": {},
    "SPIDER_MODULES": [],
    "STATS_CLASS": "scrapy.statscollectors.MemoryStatsCollector",
    "STATS_DUMP": False,
}


@dataclass
class _Errand(Generic[_T]):
    """The work of such a crawl, and its result."""

    work: Callable[[Visit], Awaitable[_T]]
    fetcher_cls: type[Fetcher]
    results: list[_T] = field(default_factory=list)
    error: BaseException | None = None

    def cannot_run(self, error: BaseException | None) -> None:
        """Note that the crawl itself failed."""
        if error is not None:
            self.error = CommandError(f"the crawl cannot run: {error}")


class _ErrandSpider(Spider):
    """Does the work, and yields no request."""

    name = "robots"

    def __init__(self, errand: _Errand[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._errand = errand

    async def start(self) -> AsyncIterator[Any]:
        try:
            visit = Visit(self.crawler, self._errand.fetcher_cls)
        except Exception as error:
            self._errand.cannot_run(error)
            return
        try:
            self._errand.results.append(await self._errand.work(visit))
        except (Exception, KeyboardInterrupt) as error:  # `during_a_visit` raises it
            self._errand.error = error
        finally:  # also if Ctrl-C cancels this
            await visit.close()
        return
        yield  # makes this an iterator


def during_a_visit(settings: Settings, work: Callable[[Visit], Awaitable[_T]]) -> _T:
    """Run `work` in a crawl with the project's settings, and return its result.

    Raises:
        CommandError: the crawl cannot run.
        KeyboardInterrupt: Ctrl-C.
        Exception: whatever `work` raises.
    """
    robots_logger.setLevel(logging.ERROR)  # the sub-command gives the warnings in its own words
    try:
        settings, fetcher_cls = _for_a_visit(settings)
        process = _process(settings)
    except Exception as error:
        raise CommandError(f"a crawl with the project's settings cannot start: {error}") from error
    errand = _Errand(work, fetcher_cls)
    crawling: Any = process.crawl(_ErrandSpider, errand=errand)
    if isinstance(crawling, Deferred):
        crawling.addErrback(lambda failure: errand.cannot_run(failure.value))
    else:
        crawling.add_done_callback(lambda task: errand.cannot_run(None if task.cancelled() else task.exception()))
    process.start()
    if errand.error is not None:
        raise errand.error
    if not errand.results:
        raise KeyboardInterrupt
    return errand.results[0]


def _process(settings: Settings) -> CrawlerProcess | AsyncCrawlerProcess:
    if settings.getbool("TWISTED_REACTOR_ENABLED", True):  # a setting of newer Scrapy
        return CrawlerProcess(settings)
    return AsyncCrawlerProcess(settings)


def _for_a_visit(settings: Settings) -> tuple[Settings, type[Fetcher]]:
    """Return the project's settings without what a visit must not do, and the class that fetches robots.txt files."""
    settings = settings.copy()
    settings.setdict(_NOTHING_ELSE, "cmdline")
    addons = {name: at for name, at in settings.getdict("ADDONS").items() if load_object(name) is not Addon}
    settings.set("ADDONS", addons, "cmdline")
    configured = {name: load_object(name) for name in settings.getdict("DOWNLOADER_MIDDLEWARES")}
    ours = {name: cls for name, cls in configured.items() if isclass(cls) and issubclass(cls, GbotRobotsTxtMiddleware)}
    others = {name: at for name, at in settings.getdict("DOWNLOADER_MIDDLEWARES").items() if name not in ours}
    settings.set("DOWNLOADER_MIDDLEWARES", others, "cmdline")
    return settings, next((cls.fetcher_cls for cls in ours.values()), Fetcher)
