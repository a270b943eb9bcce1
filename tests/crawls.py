"""Crawls for tests: a real Scrapy engine in the reactor that the tests run in."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import pytest_twisted
from scrapy import Request, Spider
from scrapy.crawler import CrawlerRunner
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred, maybeDeferred

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

_P = ParamSpec("_P")

ADDON: dict[str, Any] = {
    "ADDONS": {"scrapy_gbot_robots.Addon": 500},
    "GBOT_ROBOTS_STORAGE": "memory",
    "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0,
}
QUIET: dict[str, Any] = {
    "TELNETCONSOLE_ENABLED": False,
    "RETRY_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "USER_AGENT": "testbot (+https://example.com)",
}


def in_reactor(test: Callable[_P, Coroutine[Any, Any, None]]) -> Callable[_P, None]:
    """Let a test be a coroutine that awaits crawls."""
    run: Callable[_P, None] = pytest_twisted.ensureDeferred(test)
    return run


def as_scrapy_runs_it(test: Callable[_P, Coroutine[Any, Any, None]]) -> Callable[_P, None]:
    """Let a test be a coroutine that awaits what a coroutine of Scrapy's may await in this reactor."""

    @wraps(test)
    async def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        await deferred_from_coro(test(*args, **kwargs))

    return in_reactor(run)


class Pages(Spider):
    """Asks for the URLs it is given, and remembers what became of each."""

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


def crawl(
    spider: type[Spider], settings: dict[str, Any] | None = None, *, addon: bool = True, **arguments: Any
) -> Deferred[Crawler]:
    """Run a crawl to its end; fires with its crawler (`crawler.spider` and `crawler.stats` tell what happened)."""
    runner = CrawlerRunner({**QUIET, **(ADDON if addon else {}), **(settings or {})})
    crawler = runner.create_crawler(spider)
    return maybeDeferred(runner.crawl, crawler, **arguments).addCallback(lambda _: crawler)


def stats(crawler: Crawler, prefix: str = "") -> dict[str, Any]:
    assert crawler.stats is not None
    return {name: value for name, value in crawler.stats.get_stats().items() if name.startswith(prefix)}


def pages(crawler: Crawler) -> Pages:
    assert isinstance(crawler.spider, Pages)
    return crawler.spider
