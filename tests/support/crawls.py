"""Run crawls with a real Scrapy engine, in the same reactor in which the tests run."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pytest
import pytest_twisted
from _pytest.mark.structures import ParameterSet
from pydispatch import dispatcher
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred, gatherResults, maybeDeferred
from twisted.python.failure import Failure

from .rows import row
from .until import until

_P = ParamSpec("_P")
_T = TypeVar("_T")

ADDON: dict[str, Any] = {
    "ADDONS": {"scrapy_gbot_robots.Addon": 500},
    "GBOT_ROBOTS_STORAGE": "memory",
    "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0,
}
QUIET: dict[str, Any] = {
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "RETRY_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "CONCURRENT_ITEMS": 8,  # Scrapy starts so many tasks for each response.
    "USER_AGENT": "testbot (+https://example.com)",
}

# Scrapy's download handlers for http and https. The option `--download-handler` selects one of them
# for all tests.
_HANDLERS = "scrapy.core.downloader.handlers"
DOWNLOAD_HANDLERS = {
    "http11": f"{_HANDLERS}.http11.HTTP11DownloadHandler",
    "aiohttp": f"{_HANDLERS}._aiohttp.AiohttpDownloadHandler",
    "httpx": f"{_HANDLERS}._httpx.HttpxDownloadHandler",
}

# The modules that a download handler needs. One module of each list is enough.
_NEEDS = {"aiohttp": ["aiohttp"], "httpx": ["httpx2", "httpx"]}


def download_with(handler: str) -> None:
    """Let all crawls of this run use the download handler that `DOWNLOAD_HANDLERS` calls `handler`."""
    QUIET["DOWNLOAD_HANDLERS"] = dict.fromkeys(("http", "https"), DOWNLOAD_HANDLERS[handler])


def handler_in_use() -> str:
    """Return the name, in `DOWNLOAD_HANDLERS`, of the handler that all crawls of this run use."""
    handlers = {name: handler for handler, name in DOWNLOAD_HANDLERS.items()}
    return handlers[QUIET.get("DOWNLOAD_HANDLERS", {}).get("https", DOWNLOAD_HANDLERS["http11"])]


def by_each_handler() -> list[ParameterSet]:
    """Return parameters for a test: the settings for each download handler of Scrapy.

    The first settings are empty. With them, a crawl uses Scrapy's default handler, or the handler
    that `--download-handler` selects.
    """
    cases = [row("default", {})]
    # The tests run in another reactor, without asyncio. The other handlers need asyncio.
    if "TWISTED_REACTOR" in QUIET:
        return cases
    for name, needs in _NEEDS.items():
        handler = DOWNLOAD_HANDLERS[name]
        is_there = find_spec(handler.rpartition(".")[0]) and any(map(find_spec, needs))
        lacks = f"this Scrapy has no {name} handler, or it lacks {' or '.join(needs)}"
        settings = {"DOWNLOAD_HANDLERS": dict.fromkeys(("http", "https"), handler)}
        lacking = pytest.mark.skipif(not is_there, reason=lacks)
        cases.append(row(name, settings, marks=lacking))
    return cases


def in_reactor(test: Callable[_P, Coroutine[Any, Any, None]]) -> Callable[_P, None]:
    """Turn a coroutine that awaits crawls into a test. `pytest -m crawl` runs only these tests."""
    run: Callable[_P, None] = pytest.mark.crawl(pytest_twisted.ensureDeferred(test))
    return run


def as_scrapy_runs_it(test: Callable[_P, Coroutine[Any, Any, None]]) -> Callable[_P, None]:
    """Turn a coroutine into a test. It may await everything that coroutines of Scrapy may await."""

    @wraps(test)
    async def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        await deferred_from_coro(test(*args, **kwargs))

    return in_reactor(run)


def under_way(work: Coroutine[Any, Any, _T]) -> Deferred[_T]:
    """Start `work`, which then runs at the same time as the test, in any reactor.

    The result fires with the result of `work`, and can be cancelled.
    """

    def forget(failure: Failure) -> None:
        failure.trap(CancelledError, asyncio.CancelledError)  # type: ignore[no-untyped-call]

    running: Deferred[_T] = deferred_from_coro(work)
    running.addErrback(forget)
    return running


async def together(*works: Deferred[_T]) -> list[_T]:
    """Wait until all `works` have ended, and return their results."""
    return await maybe_deferred_to_future(gatherResults(works))


class Pages(Spider):
    """A spider that requests given URLs.

    Attributes:
        crawled: the response for each URL that had a response.
        refused: the exception for each URL that failed or was forbidden.
    """

    name = "pages"

    def __init__(self, urls: Iterable[str | Request] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.urls = list(urls)
        self.crawled: dict[str, Response] = {}
        self.refused: dict[str, Exception] = {}

    async def start(self) -> AsyncIterator[Request]:
        for url in self.urls:
            request = url if isinstance(url, Request) else Request(url, dont_filter=True)
            yield request.replace(callback=self.parse, errback=self.failed)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request] | None:
        self.crawled[response.url] = response
        return None

    def failed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        assert isinstance(failure.value, Exception)
        self.refused[request.url] = failure.value


def begin(
    spider: type[Spider],
    settings: dict[str, Any] | None = None,
    *,
    addon: bool = True,
    hears: dict[object, Callable[..., Any]] | None = None,
    **arguments: Any,
) -> tuple[Crawler, Deferred[Crawler]]:
    """Begin a crawl. Return its `Crawler`, and a Deferred for the end of the crawl.

    `hears` contains a function for each signal. The function is called when the signal is sent.
    """
    # No CrawlerRunner: it would copy all settings, to look up spiders by their names.
    crawler = Crawler(spider, {**QUIET, **(ADDON if addon else {}), **(settings or {})})
    for signal, receiver in (hears or {}).items():
        crawler.signals.connect(receiver, signal, weak=False)
    return crawler, maybeDeferred(crawler.crawl, **arguments).addCallback(lambda _: crawler)


def crawl(*settings: Any, **more: Any) -> Deferred[Crawler]:
    """Run a crawl to its end, with the arguments of `begin`. Return its `Crawler`."""
    return begin(*settings, **more)[1]


async def crawl_until(
    is_so: Callable[[Crawler], object],
    then: Callable[[Crawler], object],
    *settings: Any,
    **more: Any,
) -> Crawler:
    """Run a crawl to its end, and call `then` as soon as `is_so` returns true."""
    crawler, ended = begin(*settings, **more)
    await until(lambda: crawler.engine and is_so(crawler))
    then(crawler)
    await together(ended)
    return crawler


def waiting(number: int) -> Callable[[Crawler], bool]:
    """Return a function that tests whether at least `number` requests wait for a robots.txt."""
    return lambda crawler: stats(crawler).get("gbot_robots/waiting", 0) >= number


def has_crawled(number: int) -> Callable[[Crawler], bool]:
    """Return a function that tests whether `Pages` has crawled at least `number` pages."""
    return lambda crawler: len(pages(crawler).crawled) >= number


def stop(crawler: Crawler) -> None:
    """Let a crawl close, as after Ctrl-C."""
    under_way(crawler.stop_async())


def stats(crawler: Crawler, prefix: str = "") -> dict[str, Any]:
    """Return the stats whose names begin with `prefix`. The keys are the rest of the names."""
    assert crawler.stats is not None
    every = crawler.stats.get_stats().items()
    return {name.removeprefix(prefix): value for name, value in every if name.startswith(prefix)}


def in_sqlite(path: Path) -> dict[str, Any]:
    """Return the settings with which robots.txt files are stored in the SQLite file `path`."""
    return {"GBOT_ROBOTS_STORAGE": "sqlite", "GBOT_ROBOTS_SQLITE_PATH": str(path)}


def warnings_and_worse(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return all warnings and errors in the log.

    The warnings of Scrapy's download handlers that they are experimental are left out.
    """

    def counts(record: logging.LogRecord) -> bool:
        is_of_handler = record.name.startswith(_HANDLERS)
        return not is_of_handler or "is experimental" not in record.getMessage()

    return [each for each in caplog.records if each.levelno >= logging.WARNING and counts(each)]


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the messages of all errors in the log."""
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]


def own_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the plugin's own warnings in the log."""
    of_ours = (record for record in caplog.records if record.name.startswith("scrapy_gbot_robots."))
    return [record.getMessage() for record in of_ours if record.levelno == logging.WARNING]


def pages(crawler: Crawler) -> Pages:
    assert isinstance(crawler.spider, Pages)
    return crawler.spider


async def items(spider: type[Spider], settings: dict[str, Any], *, addon: bool) -> list[Any]:
    """Return the items of a crawl, as its pipelines have left them, sorted by their `repr`."""
    kept: list[Any] = []

    def keep(item: Any) -> None:
        kept.append(item)

    dispatcher.connect(keep, signals.item_scraped)  # This receives the items of every crawl.
    await crawl(spider, settings, addon=addon)
    return sorted(kept, key=repr)
