"""A fault in a middleware of the project is told as such, and not as an outage of the site, and nothing waits for it."""

import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.logformatter import LogFormatter
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from typing_extensions import Self

from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.crawls import Pages, crawl, in_reactor, in_sqlite, pages, stats
from ..support.rows import row, table
from ..support.web import Reply, Site, raw, redirect
from .scenarios import RULES


def failing(error: Exception) -> type:
    """A middleware that fails on each request for a robots.txt: it knows pages only."""

    class Failing:
        def process_request(self, request: Request) -> None:
            if request.url.endswith("/robots.txt"):
                raise error

    return Failing


class ReturnsAText:
    """Returns what no middleware may return."""

    def process_request(self, request: Request) -> Any:
        return "no" if request.url.endswith("/robots.txt") else None


class FailsAtFailures:
    """Fails when the download has failed."""

    def process_exception(self, request: Request, exception: Exception) -> None:
        if request.url.endswith("/robots.txt"):
            raise AttributeError("proxy")


class FailsAtResponses:
    """Fails when the response is there."""

    def process_response(self, request: Request, response: Response) -> Response:
        if request.url.endswith("/robots.txt"):
            raise ZeroDivisionError("of no bytes")
        return response


async def assert_rules_are_obeyed(site: Site, middleware: type) -> None:
    """Crawl /page, which RULES forbid, and /free; only that is crawled."""
    settings = {"DOWNLOADER_MIDDLEWARES": {middleware: 600}}
    crawler = await crawl(Pages, settings, urls=[site.url("/page"), site.url("/free")])
    assert set(pages(crawler).crawled) == {site.url("/free")}


def faults(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.ERROR]


# Its class derives from one that is named Error.
NO_TABLE = sqlite3.OperationalError("no such table: proxies")


@table(
    "middleware, kind, why",
    row("key-error", failing(KeyError("kind")), KeyError, "KeyError: 'kind'"),
    row("class-of-an-Error", failing(NO_TABLE), type(NO_TABLE), "OperationalError: no such table"),
    row("timeout-of-its-own", failing(TimeoutError("x")), TimeoutError, "TimeoutError: x"),
    row("wrong-type", ReturnsAText, None, "must return None, Response or"),
    row("at-a-failure", FailsAtFailures, AttributeError, "AttributeError: proxy"),
)
@in_reactor
async def test_fault_of_a_middleware_is_an_error_with_its_trace_and_is_not_waited_for(
    middleware: type, kind: Any, why: str, caplog: Any, tmp_path: Path
) -> None:
    path = tmp_path / "robots.sqlite"
    robots = raw(reset=True) if middleware is FailsAtFailures else RULES
    with Site({"/robots.txt": robots, "*": b"ok"}) as first, Site(first.pages) as second:
        faulty = {"DOWNLOADER_MIDDLEWARES": {middleware: 600}}
        settings = {**in_sqlite(path), **faulty, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 10}
        urls = [first.url("/free"), second.url("/free")]
        crawler = await crawl(Pages, settings, urls=urls)
        assert set(pages(crawler).refused) == set(urls)
        for error in pages(crawler).refused.values():
            assert isinstance(error, ForbiddenByRobotsTxt)
            assert "robots.txt unreachable: another middleware failed" in str(error.verdict)
            assert why in str(error.verdict)
        assert stats(crawler)["gbot_robots/fetches/dropped"] == 2
        (record,) = faults(caplog)  # of two
        assert why in record.getMessage()
        assert record.exc_info is not None
        assert kind is None or record.exc_info[0] is kind
        counted = stats(crawler, "robotstxt/exception_count/")
        assert counted == {str(record.exc_info[0]): 2}
    storage = SqliteStorage(path)
    assert [storage.get(site.url("").rstrip("/")) for site in (first, second)] == [None, None]
    storage.close()


@in_reactor
async def test_response_at_which_a_fault_happens_counts(
    caplog: pytest.LogCaptureFixture, site: Site
) -> None:
    await assert_rules_are_obeyed(site, FailsAtResponses)
    (record,) = faults(caplog)
    assert "ZeroDivisionError: of no bytes" in record.getMessage()


class NeedsAKey(LogFormatter):
    """The log formatter of a project. All of its spider's requests have the meta key."""

    def crawled(self, request: Request, response: Response, spider: Any) -> Any:
        return {"level": logging.INFO, "msg": request.meta["shop"], "args": ()}


@in_reactor
async def test_fault_of_a_log_formatter_is_told_once_and_blames_no_middleware(caplog: Any) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as first, Site(first.pages) as second:
        urls = [site.url(path) for site in (first, second) for path in ("/page", "/free")]
        requests = [Request(url, meta={"shop": "shop"}) for url in urls]
        crawler = await crawl(Pages, {"LOG_FORMATTER": NeedsAKey}, urls=requests)
    assert set(pages(crawler).crawled) == {first.url("/free"), second.url("/free")}
    assert stats(crawler)["response_received_count"] == 4
    (record,) = faults(caplog)
    assert record.getMessage() in {
        f"LOG_FORMATTER failed on the response for {site.url('/robots.txt')}"
        for site in (first, second)
    }
    assert record.exc_info is not None
    assert record.exc_info[0] is KeyError


class Replaces:
    """A middleware that puts a response of its own in the place of a failed one."""

    def process_exception(self, request: Request, exception: Exception) -> Response | None:
        if isinstance(exception, ForbiddenByRobotsTxt):
            return None
        return Response(request.url, 200, body=b"sorry")


@in_reactor
async def test_response_in_place_of_a_failure_is_no_fault_of_scrapy(caplog: Any) -> None:
    with Site({"*": raw(reset=True)}) as site:
        settings = {
            "DOWNLOADER_MIDDLEWARES": {Replaces: 545},
            "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0,
        }
        crawler = await crawl(Pages, settings, urls=[site.url("/page")])
    assert set(pages(crawler).refused) == {site.url("/page")}
    assert "has not signalled" not in caplog.text


class OfCrawl:
    """Is made for a crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def asks_for(self, url: str) -> Response:
        assert self.crawler.engine is not None
        return await self.crawler.engine.download_async(Request(url))


class WaitsForAPage(OfCrawl):
    """Gets a token from the site before it asks for anything there."""

    async def process_request(self, request: Request) -> None:
        if request.url.endswith("/robots.txt"):
            await self.asks_for(request.url.replace("/robots.txt", "/free"))


class WaitsForItself(OfCrawl):
    """Sends each robots.txt request by a request of its own."""

    async def process_request(self, request: Request) -> Response | None:
        if not request.url.endswith("/robots.txt"):
            return None
        return await self.asks_for(request.url)


class WaitsForEver:
    """Waits for what never comes, such as a free proxy."""

    async def process_request(self, request: Request) -> None:
        if request.url.endswith("/robots.txt"):
            await maybe_deferred_to_future(Deferred())


class KeepsResponses(OfCrawl):
    """Looks at a page of the site before it gives anything of it away."""

    async def process_response(self, request: Request, response: Response) -> Response:
        if request.url.endswith("/robots.txt"):
            await self.asks_for(request.url.replace("/robots.txt", "/free"))
        return response


class SendsAgainForEver:
    """Takes each status but 200 for a ban, and never gives up."""

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if response.status == 200:
            return response
        return request.replace(dont_filter=True)


@pytest.mark.parametrize("middleware", [WaitsForAPage, WaitsForItself, WaitsForEver])
@in_reactor
async def test_middleware_that_waits_for_what_waits_for_the_robots_txt_is_at_fault(
    middleware: type, caplog: pytest.LogCaptureFixture, site: Site
) -> None:
    times = {"GBOT_ROBOTS_TIMEOUT_SECS": 0.5, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60}
    settings = {**times, "DOWNLOADER_MIDDLEWARES": {middleware: 600}}
    urls = [site.url("/free"), site.url("/other")]
    crawler = await crawl(Pages, settings, urls=urls)
    assert set(pages(crawler).refused) == set(urls)
    for error in pages(crawler).refused.values():
        assert "another middleware failed (TimeoutError: the downloader" in str(error)
    (record,) = faults(caplog)
    assert "the downloader middlewares have kept it for 0.5 s" in record.getMessage()


@table(
    "middleware, robots, allowed, asked, why",
    (KeepsResponses, Reply(404), True, 1, "have kept it for 0.5 s"),
    (KeepsResponses, Reply(200, RULES), False, 1, "have kept it for 0.5 s"),
    (SendsAgainForEver, Reply(404), True, 25, "has sent it again 25 times"),
)
@in_reactor
async def test_response_counts_that_a_middleware_does_not_pass_on(
    middleware: type, robots: Reply, allowed: bool, asked: int, why: str, caplog: Any
) -> None:
    with Site({"/robots.txt": robots, "*": b"ok"}) as site:
        settings = {"DOWNLOADER_MIDDLEWARES": {middleware: 600}, "GBOT_ROBOTS_TIMEOUT_SECS": 0.5}
        crawler = await crawl(Pages, settings, urls=[site.url("/page")])
        assert (site.url("/page") in pages(crawler).crawled) is allowed
        assert site.paths().count("/robots.txt") == asked
    (record,) = faults(caplog)
    assert why in record.getMessage()


class SendsOnAnother:
    """Puts a request of its own in the place of each."""

    def process_request(self, request: Request) -> Request | None:
        if request.meta.get("mine"):
            return None
        return Request(
            request.url, meta={"mine": True}, callback=request.callback, dont_filter=True
        )


@in_reactor
async def test_robots_txt_request_without_its_meta_is_still_one() -> None:
    with Site({"/robots.txt": redirect("/1"), "/1": RULES, "*": b"ok"}) as site:
        await assert_rules_are_obeyed(site, SendsOnAnother)
        assert site.paths() == ["/robots.txt", "/1", "/free"]


@in_reactor
async def test_middleware_that_ends_a_request_as_a_download_may_end_is_not_at_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended = type("DownloadTimeoutError", (Exception,), {})("no proxy was free")  # as Scrapy's
    with Site({}) as site:
        settings = {"DOWNLOADER_MIDDLEWARES": {failing(ended): 600}}
        crawler = await crawl(Pages, settings, urls=[site.url("/free")])
        assert set(pages(crawler).refused) == {site.url("/free")}
    assert not faults(caplog)
    assert "gbot_robots/fetches/dropped" not in stats(crawler)


@in_reactor
async def test_scheme_without_a_download_handler_is_not_waited_for() -> None:
    settings = {"DOWNLOAD_HANDLERS": {"http": None}, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60}
    crawler = await crawl(Pages, settings, urls=["http://127.0.0.1/free"])
    assert "no download handler" in str(pages(crawler).refused["http://127.0.0.1/free"])
    assert stats(crawler)["gbot_robots/fetches/dropped"] == 1
    assert "gbot_robots/requests/held" not in stats(crawler)
