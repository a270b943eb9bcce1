"""Reads the settings of a Scrapy project, and runs a crawl that fetches files for sub-commands.

In this package, only this module and `scrapy_command` import Scrapy.

Sub-commands fetch robots.txt files and sitemaps, but no pages, in a crawl. This crawl has the
project's downloader middlewares, download handlers and add-ons, but not its pipelines, feeds,
extensions and scheduler. It uses the same fetcher, storage and settings as the other crawls of the
project, so status codes, redirects and outages have the same meaning as in those crawls. Ctrl-C and
SIGTERM end the crawl at once.
"""

from __future__ import annotations

import signal
import time
from asyncio import CancelledError
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from concurrent.futures import Future
from contextlib import suppress
from http import HTTPStatus
from typing import Any, TypeVar

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.misc import load_object
from twisted.internet.defer import Deferred, gatherResults
from twisted.python.failure import Failure as TwistedFailure
from typing_extensions import Self

from ..addon import Addon
from ..answers.events import logger as robots_logger
from ..concurrency import pause
from ..core.crawlers import UserAgent
from ..core.named_user_agent import NamedUserAgent
from ..core.urls import Origin
from ..fetching.fetcher import Fetcher
from ..meta import SITEMAP
from ..obeying.identity import of_project
from ..policy.outages import decide, lacks_a_part, renew
from ..policy.overrides import read_overrides
from ..settings import GbotSettings, Words, is_enabled
from ..sitemaps.middlewares import check_request
from ..sitemaps.reader import MAX_BYTES
from ..sitemaps.urls import Skipped, UrlCheck
from ..storage.base import Storage, StorageError
from ..storage.client import StorageClient, choice_of
from ..storage.memory import MemoryStorage
from .ending import CommandError
from .sites import RobotsState
from .spiders import ADD_ON_PATHS, without_add_on
from .world import RobotsFiles, SitemapSkipped, World

_T = TypeVar("_T")

_ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"

# These settings switch off the parts of a crawl that a sub-command must not use, or does not need.
_NOTHING_ELSE: dict[str, Any] = {
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "EXTENSIONS": {},
    "EXTENSIONS_BASE": {},  # Scrapy's own extensions, such as feeds, are off.
    "HTTPCACHE_ENABLED": False,  # A cached response may be out of date.
    "ITEM_PIPELINES": {},
    "JOBDIR": None,
    "LOG_STDOUT": False,
    "ROBOTSTXT_OBEY": False,  # Sub-commands fetch robots.txt files themselves.
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "SPIDER_MIDDLEWARES": {},
    "SPIDER_MODULES": [],
    "STATS_CLASS": "scrapy.statscollectors.MemoryStatsCollector",
    "STATS_DUMP": False,
}

_OFF = (
    "GBOT_ROBOTS_ENABLED is False, so a crawl of this project does not use the plugin, unless its "
    "spider sets it to True. It may allow and forbid other URLs"
)


class ProjectWorld(World):
    """Gives a sub-command the settings of a Scrapy project, and the user agent of the project."""

    def _sender(self) -> NamedUserAgent:
        sent = of_project(_settings_of(self.words))
        return NamedUserAgent(UserAgent.of(sent.text), sent.source, sent.text)

    def mistakes(self) -> Iterable[str]:
        """Yield a sentence for each probable mistake in the settings of the project or a spider."""
        yield from super().mistakes()
        settings = _settings_of(self.words)
        add_ons = settings.getdict("ADDONS")
        if not add_ons.keys().isdisjoint((Addon, *ADD_ON_PATHS)):
            if _is_off(settings):
                yield _OFF
            yield from without_add_on(settings.getlist("SPIDER_MODULES"))


def world_of(settings: Settings, given: Words) -> World:
    """Return the `World` of a project.

    Args:
        settings: the settings of the project.
        given: the settings that the user has given with `-s`. They replace the project's settings.
    """
    settings.setdict(given, "cmdline")
    return ProjectWorld(settings)


def _is_off(settings: Settings) -> bool:
    """Return whether `GBOT_ROBOTS_ENABLED` is False."""
    with suppress(ValueError):  # `GbotSettings.of` reports an invalid value.
        return not is_enabled(settings)
    return False


def _settings_of(words: Words) -> Settings:
    """Return all settings for a run of the command.

    Without a project, Scrapy's default settings are added. If the storage is SQLite, but its path
    is not set, the storage is changed to memory. Otherwise the command `gbot-robots` would use the
    storage of a project in the working directory. Only `scrapy robots` may use this storage.

    Args:
        words: the settings of a project. Without a project, only the settings that the user has
            given with `-s`.
    """
    if isinstance(words, Settings):
        return words
    settings = Settings()
    settings.setdict({"LOG_LEVEL": "WARNING", **words}, "cmdline")
    gbot = GbotSettings.of(settings)
    if gbot.storage == "sqlite" and gbot.sqlite_path is None:
        settings.set("GBOT_ROBOTS_STORAGE", "memory", "cmdline")
    return settings


def opened_storage(words: Words) -> tuple[Storage, str]:
    """Open the storage that the settings choose. Return it, and its description for the output.

    Raises:
        CommandError: nothing is stored between runs, or the storage cannot be opened.
    """
    settings = _settings_of(words)
    gbot = GbotSettings.of(settings)
    try:
        # The path in the settings may be mistyped, so no file and no tables are created.
        choice = choice_of(gbot, Crawler(Spider, settings), creates=False)
        if choice.file is not None and not choice.file.exists():
            raise StorageError(f"{choice.file} does not exist")  # noqa: TRY301  It is handled below.
        storage = choice.opens()
    except Exception as error:
        what = f"the storage {gbot.storage} cannot be opened: {error}"
        if advice := getattr(error, "advice", ""):
            what = f"{what}. {advice}"
        raise CommandError(what) from error
    if isinstance(storage, MemoryStorage):
        raise CommandError(
            'nothing is stored between runs: GBOT_ROBOTS_STORAGE is "memory", or there is no '
            "project. Use `scrapy robots` in one, or name a file: -s GBOT_ROBOTS_SQLITE_PATH=FILE"
        )
    return storage, choice.words


def run_in_crawl(words: Words, work: Callable[[RobotsFiles], Awaitable[_T]]) -> _T:
    """Run `work` in a crawl with the project's settings, and return its result.

    Raises:
        CommandError: the crawl cannot run.
        KeyboardInterrupt: the user has pressed Ctrl-C, or the process got SIGTERM. After a SIGTERM,
            the argument of the exception is the number of this signal.
        Exception: `work` has raised this exception.
    """
    # The plugin's warnings are not logged, because sub-commands write them in their own words.
    robots_logger.setLevel("ERROR")
    try:
        settings, fetcher_cls = _for_errands(_settings_of(words))
        process = _process_of(settings)
    except Exception as error:
        raise CommandError(f"a crawl with these settings cannot start: {error}") from error
    result: Future[_T] = Future()
    terminated_by: list[int] = []

    async def errand(crawler: Crawler) -> None:
        # Scrapy ends the crawl after Ctrl-C and after a SIGTERM. To tell the two cases apart at the
        # end of the crawl, `note_and_end` notes a SIGTERM.
        end_crawl: Any = signal.getsignal(signal.SIGTERM)

        def note_and_end(number: int, frame: object) -> None:
            terminated_by.append(number)
            end_crawl(number, frame)

        signal.signal(signal.SIGTERM, note_and_end)
        try:
            crawl = ProjectCrawl(crawler, fetcher_cls)
            try:
                result.set_result(await work(crawl))
            finally:  # The storage is closed even if Ctrl-C has cancelled the work.
                await crawl.close()
        except (Exception, KeyboardInterrupt) as error:
            result.set_exception(error)

    def ended(failure: TwistedFailure) -> None:
        if not result.done() and not isinstance(failure.value, CancelledError):
            result.set_exception(CommandError(f"the crawl cannot run: {failure.value}"))

    crawling: Any = process.crawl(_ErrandSpider, errand=errand)
    if not isinstance(crawling, Deferred):
        crawling = Deferred.fromFuture(crawling)
    crawling.addErrback(ended)
    process.start()
    if not result.done():
        raise KeyboardInterrupt(*terminated_by)
    return result.result()


class _ErrandSpider(Spider):
    """A spider that runs the work of a sub-command, and makes no requests itself.

    Attributes:
        errand: the function that does the work.
    """

    name = "robots"
    errand: Callable[[Crawler], Awaitable[None]]

    async def start(self) -> AsyncIterator[Any]:
        # The work begins when the reactor is running and Scrapy's signal handlers are in place.
        await pause(0)
        await self.errand(self.crawler)
        return
        yield  # Because of this line, the method is an asynchronous generator.


class _SitemapCheck:
    """A downloader middleware that checks the URLs of sitemaps as a crawl does.

    When Scrapy follows a redirect, the middleware also gets the new request. So the target URLs of
    redirects are checked, too.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._settings = GbotSettings.of(crawler.settings)
        self._check = UrlCheck.of(self._settings, crawler.settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware."""
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """Raise Skipped if the request is for a sitemap that a crawl would not request."""
        if SITEMAP in request.meta:
            await check_request(request, self._check, self._settings.timeout_secs)


def _process_of(settings: Settings) -> CrawlerProcess | AsyncCrawlerProcess:
    """Return the object that runs the crawl.

    Some download handlers need a running asyncio loop when they are made. Therefore the object is
    an `AsyncCrawlerProcess` if the crawl uses the asyncio reactor, or no reactor.
    """
    # Older versions of Scrapy lack the setting TWISTED_REACTOR_ENABLED.
    has_reactor = settings.getbool("TWISTED_REACTOR_ENABLED", True)
    if settings["TWISTED_REACTOR"] == _ASYNCIO or not has_reactor:
        return AsyncCrawlerProcess(settings)
    return CrawlerProcess(settings)


def _for_errands(settings: Settings) -> tuple[Settings, type[Fetcher]]:
    """Return the settings for a sub-command's crawl, and the class of the project's fetcher."""
    settings = settings.copy()
    settings.setdict(_NOTHING_ELSE, "cmdline")
    addons = settings.getdict("ADDONS").items()
    others = {name: order for name, order in addons if load_object(name) is not Addon}
    settings.set("ADDONS", others, "cmdline")
    settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", _SitemapCheck, 90)
    fetcher_cls = Fetcher
    # A subclass of this plugin's middleware may use a fetcher of another class.
    for path in settings.getdict("DOWNLOADER_MIDDLEWARES"):
        fetcher_cls = getattr(load_object(path), "fetcher_cls", fetcher_cls)
    return settings, fetcher_cls


class ProjectCrawl:
    """Fetches robots.txt files and sitemaps for a sub-command while the crawl runs."""

    def __init__(self, crawler: Crawler, fetcher_cls: type[Fetcher]) -> None:
        self._crawler = crawler
        self._settings = GbotSettings.of(crawler.settings)
        self._overrides = read_overrides(self._settings.overrides, self._settings.parse)
        self._storage = StorageClient.of(self._settings, crawler)
        self._fetcher = fetcher_cls(crawler, self._settings)

    async def states_of(
        self, origins: Collection[Origin], *, fresh: bool = False
    ) -> dict[Origin, RobotsState]:
        """Look up the robots.txt files of `origins` at the same time, and return their states.

        If `fresh`, fetch each file. Otherwise fetch only files that are not in the storage, or
        whose entry in the storage is too old.
        """
        lookups = [deferred_from_coro(self._look_up(origin, fresh=fresh)) for origin in origins]
        states = await maybe_deferred_to_future(gatherResults(lookups, consumeErrors=True))
        await pause(0)  # Return to the reactor for a moment, because it handles Ctrl-C.
        return dict(zip(origins, states, strict=True))

    async def _look_up(self, origin: Origin, *, fresh: bool) -> RobotsState:
        """Look up the robots.txt of `origin` in the storage, and return its state.

        The file is fetched and stored if `fresh` is True, if the storage has no entry for `origin`,
        or if the entry is incomplete or too old.
        """
        policy = self._settings.policy
        entry = await self._storage.get(str(origin))
        # The name of the storage from which the entry comes; None if the file is fetched now.
        storage: str | None = self._settings.storage
        if entry is not None and lacks_a_part(entry, self._settings.max_bytes):
            fresh = True
        if fresh or entry is None or time.time() >= decide(entry, time.time(), policy).ask_at:
            entry = renew(entry, await self._fetcher.fetch(origin), time.time(), policy)
            # No lease was taken before this fetch, so `store_and_release` only stores the entry.
            await self._storage.store_and_release(str(origin), entry)
            storage = None
        decision = decide(entry, time.time(), policy)
        if entry.outage is not None and decision.copy is not None:
            # The fetch has failed, so the decision is based on the copy in the storage.
            storage = self._settings.storage
        override = self._overrides.of(origin, time.time())
        return RobotsState(origin.robots_url, decision, entry, origin, override, storage)

    async def body_of(self, url: str, listed_at: str | None) -> bytes:
        """Fetch a sitemap, and return its bytes. See `RobotsFiles.body_of`."""
        meta = {
            "download_maxsize": 2 * MAX_BYTES,
            "dont_obey_robotstxt": True,
            SITEMAP: {"index": listed_at},
        }
        engine: Any = self._crawler.engine
        try:
            response = await engine.download_async(Request(url, meta=meta, dont_filter=True))
        except Skipped as skipped:
            raise SitemapSkipped(f"{url}: {skipped}") from None
        except Exception as error:
            raise CommandError(f"{url}: {error or type(error).__name__}") from error
        if response.status != HTTPStatus.OK:
            raise CommandError(f"{url}: HTTP {response.status}")
        body: bytes = response.body
        return body

    async def close(self) -> None:
        """Close the storage."""
        await self._storage.close()
