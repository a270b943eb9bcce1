"""A crawl without pages, for sub-commands that must know what robots.txt files say.

What is asked for goes through the project's own engine, downloader middlewares, storage and policy, by the `Lookup` and
the `Fetcher` that a crawl uses: status codes, redirects and outages mean here what they mean there. What else a project
does in a crawl (pipelines, feeds, extensions, its scheduler) stays out.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from inspect import isclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.exceptions import StopDownload
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.misc import load_object
from twisted.internet.defer import Deferred

from ..addon import Addon
from ..fetch import Fetcher
from ..lookup import Lookup
from ..lookup import logger as lookup_logger
from ..middleware import GbotRobotsTxtMiddleware
from ..policy.ladder import State, decide, renew
from ..settings import GbotSettings
from ..store import Store, driver_for
from . import CommandError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import Settings

    from ..answer import Answer
    from ..core.agents import Crawler as Agent
    from ..core.urls import Origin
    from ..policy.entry import Entry
    from ..policy.ladder import Decision

_T = TypeVar("_T")

# What a project's crawls do and this one must not.
_NOTHING_ELSE: dict[str, Any] = {
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "EXTENSIONS": {},
    "EXTENSIONS_BASE": {},  # consoles, feeds, limits, statistics
    "ITEM_PIPELINES": {},
    "JOBDIR": None,
    "LOG_STDOUT": False,
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "SPIDER_MIDDLEWARES": {},
    "SPIDER_MODULES": [],
    "STATS_CLASS": "scrapy.statscollectors.MemoryStatsCollector",
    "STATS_DUMP": False,
}

# Of a request for a status: its answer comes as it is, and without its body.
_STATUS_ONLY = {
    "dont_cache": True,
    "dont_obey_robotstxt": True,  # who asks has looked
    "dont_redirect": True,
    "dont_retry": True,
    "gbot_robots_status_only": True,
}


@dataclass(frozen=True)
class Known:
    """What is known of one origin's robots.txt.

    Attributes:
        answer: what requests get that are made now by the crawler it was looked up for.
        fetched: whether it was asked for just now; otherwise it comes from the storage.
        hops: status and URL of each answer on the way, if it was asked for just now.
    """

    origin: Origin
    entry: Entry
    decision: Decision
    answer: Answer
    fetched: bool
    hops: tuple[tuple[int, str], ...]

    @property
    def body(self) -> bytes | None:
        """The robots.txt whose rules decide; None where none does."""
        return self.decision.copy.body if self.decision.state is State.RULES and self.decision.copy else None

    @property
    def missing(self) -> bool:
        """Whether there is no definite answer, not even an old one."""
        return self.decision.temporary and self.decision.copy is None


class Visit:
    """What the work of a sub-command has at hand while the crawl runs."""

    def __init__(self, crawler: Crawler, fetcher_cls: type[Fetcher]) -> None:
        self.crawler = crawler
        self.settings = GbotSettings.of(crawler.settings)
        self._store = Store(driver_for(self.settings, crawler), crawler.stats)
        self._fetcher = fetcher_cls(crawler, self.settings)
        self._lookup = Lookup(crawler, self.settings, self._store, self._fetcher)
        self._hops: list[tuple[int, str]] = []
        crawler.signals.connect(self._headers_received, signals.headers_received)
        crawler.signals.connect(self._response_downloaded, signals.response_downloaded)

    async def known(self, origin: Origin, agent: Agent, *, fresh: bool = False) -> Known:
        """What is known of `origin`: stored and good for now, or else fetched; with `fresh` fetched in any case."""
        self._hops.clear()
        key = str(origin)
        if fresh:
            entry = await self._store.get(key)
            outcome = await self._fetcher.fetch(origin)
            await self._store.put(key, renew(entry, outcome, time.time(), self.settings.policy))
        answer = await self._lookup.ask(origin, agent)
        entry = await self._store.get(key)
        if entry is None:
            raise CommandError(f"{origin.robots_url}: what was learnt could not be kept")
        decision = decide(entry, time.time(), self.settings.policy)
        return Known(origin, entry, decision, answer, fresh or bool(self._hops), tuple(self._hops))

    async def answer(self, origin: Origin, agent: Agent) -> Answer:
        """The answer that requests of `origin` would get in a crawl."""
        return await self._lookup.ask(origin, agent)

    async def answers(self, wanted: Iterable[tuple[Origin, Agent]]) -> dict[tuple[Origin, Agent], Answer]:
        """The answers for many origins and crawlers, asked at the same time as far as the settings allow."""
        keys = list(wanted)
        known = [self._lookup.known(*key) for key in keys]
        unknown = [key for key, answer in zip(keys, known, strict=True) if answer is None]
        found: dict[tuple[Origin, Agent], Answer] = dict(
            zip(unknown, await self.together(self._lookup.ask(*key) for key in unknown), strict=True)
        )
        return found | {key: answer for key, answer in zip(keys, known, strict=True) if answer is not None}

    async def together(self, works: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
        """Do works at the same time, and return their results in order. If some fail, raise the first one's error."""
        errors: list[Exception] = []

        async def finished(work: Coroutine[Any, Any, _T]) -> list[_T]:
            try:
                return [await work]
            except Exception as error:
                errors.append(error)
                return []

        results: list[_T] = []
        for each in [deferred_from_coro(finished(work)) for work in works]:
            done = await maybe_deferred_to_future(each)
            results += done
        if errors:
            raise errors[0]
        return results

    async def status(self, url: str) -> tuple[int, bytes | None]:
        """Ask for `url`, following no redirect: its status, and its Location.

        Raises:
            Exception: whatever the download handler raises.
        """
        engine = self.crawler.engine
        assert engine is not None  # noqa: S101  for the type checker: the crawl is running
        request = Request(url, callback=NO_CALLBACK, dont_filter=True, meta=dict(_STATUS_ONLY))
        response = await maybe_deferred_to_future(deferred_from_coro(engine.download_async(request)))
        return response.status, response.headers.get("Location")

    @staticmethod
    def _headers_received(request: Request) -> None:
        if _STATUS_ONLY.items() <= request.meta.items():
            raise StopDownload(fail=False)

    async def close(self) -> None:
        """Give up what is under way, and close the storage."""
        await self._lookup.close()

    def _response_downloaded(self, response: Response, request: Request) -> None:
        self._hops.append((response.status, request.url))


@dataclass
class _Errand(Generic[_T]):
    """The work that a crawl is for, and what came of it."""

    work: Callable[[Visit], Awaitable[_T]]
    fetcher_cls: type[Fetcher]
    results: list[_T] = field(default_factory=list)
    error: BaseException | None = None

    def cannot_start(self, error: BaseException | None) -> None:
        """Take note that the crawl itself failed."""
        if error is not None:
            self.error = CommandError(f"the crawl cannot run: {error}")


class _ErrandSpider(Spider):
    """Does the errand and yields no request."""

    name = "robots"

    def __init__(self, errand: _Errand[Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._errand = errand

    async def start(self) -> AsyncIterator[Any]:
        visit = Visit(self.crawler, self._errand.fetcher_cls)
        try:
            self._errand.results.append(await self._errand.work(visit))
        except Exception as error:  # told to who waits for the result
            self._errand.error = error
        finally:  # also when Ctrl-C cancels this
            await visit.close()
        return
        yield  # what makes this an iterator


def during_a_visit(settings: Settings, work: Callable[[Visit], Awaitable[_T]]) -> _T:
    """Run `work` inside a crawl with a project's settings, and return what it returns.

    Raises:
        CommandError: the crawl cannot start.
        KeyboardInterrupt: Ctrl-C.
        Exception: whatever `work` raises.
    """
    lookup_logger.setLevel(logging.ERROR)  # what it warns of, the sub-command says in its own words
    try:
        settings, fetcher_cls = _for_a_visit(settings)
        process = _process(settings)
    except Exception as error:
        raise CommandError(f"the project's settings do not work: {error}") from error
    errand = _Errand(work, fetcher_cls)
    crawling: Any = process.crawl(_ErrandSpider, errand=errand)
    if isinstance(crawling, Deferred):
        crawling.addErrback(lambda failure: errand.cannot_start(failure.value))
    else:
        crawling.add_done_callback(lambda task: errand.cannot_start(task.exception()))
    process.start()
    if errand.error is not None:
        raise errand.error
    if not errand.results:
        raise KeyboardInterrupt
    return errand.results[0]


def _process(settings: Settings) -> CrawlerProcess | AsyncCrawlerProcess:
    if settings.getbool("TWISTED_REACTOR_ENABLED", True):  # a setting of newer Scrapy; CrawlerProcess runs any reactor
        return CrawlerProcess(settings)
    return AsyncCrawlerProcess(settings)


def _for_a_visit(settings: Settings) -> tuple[Settings, type[Fetcher]]:
    """Return a project's settings without what a visit must not do, and the class it fetches robots.txt files with."""
    settings = settings.copy()
    settings.setdict(_NOTHING_ELSE, "cmdline")
    addons = {name: at for name, at in settings.getdict("ADDONS").items() if load_object(name) is not Addon}
    settings.set("ADDONS", addons, "cmdline")
    configured = {name: load_object(name) for name in settings.getdict("DOWNLOADER_MIDDLEWARES")}
    ours = {name: cls for name, cls in configured.items() if isclass(cls) and issubclass(cls, GbotRobotsTxtMiddleware)}
    others = {name: at for name, at in settings.getdict("DOWNLOADER_MIDDLEWARES").items() if name not in ours}
    settings.set("DOWNLOADER_MIDDLEWARES", others, "cmdline")
    return settings, next((cls.fetcher_cls for cls in ours.values()), Fetcher)
