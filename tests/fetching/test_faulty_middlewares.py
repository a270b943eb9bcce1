"""A fault in a middleware of the project is told as such, and not as an outage of the site, and nothing waits for it."""

import logging
import sqlite3
from pathlib import Path
from typing import Any, ClassVar

import pytest
from scrapy import Request
from scrapy.http import Response
from twisted.internet.defer import CancelledError

from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.crawls import Pages, crawl, in_reactor, in_sqlite, pages, stats
from ..support.web import Site, raw
from .scenarios import RULES


class Faulty:
    """Fails on each request for a robots.txt, as a middleware does that only knows pages."""

    error: ClassVar[Exception]

    def process_request(self, request: Request) -> None:
        if request.url.endswith("/robots.txt"):
            raise self.error


class LacksAKey(Faulty):
    """Looks for a meta key that pages have."""

    def process_request(self, request: Request) -> None:
        request.headers["X-Kind"] = request.meta["kind"]


class HasNoDatabase(Faulty):
    """Keeps its proxies in a database, which fails."""

    error = sqlite3.OperationalError("no such table: proxies")


class GetsNoToken(Faulty):
    """Asks a service of its own for a token, which does not answer."""

    error = TimeoutError("no token")


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


def faults(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.ERROR]


def for_pages(*urls: str) -> list[Request]:
    return [Request(url, meta={"kind": "page"}, dont_filter=True) for url in urls]


@pytest.mark.parametrize(
    ("middleware", "kind", "why"),
    [
        pytest.param(LacksAKey, KeyError, "KeyError: 'kind'", id="key-error"),
        pytest.param(
            HasNoDatabase,
            sqlite3.OperationalError,
            "OperationalError: no such table: proxies",
            id="error-whose-class-derives-from-one-named-Error",
        ),
        pytest.param(GetsNoToken, TimeoutError, "TimeoutError: no token", id="timeout-of-its-own"),
        pytest.param(ReturnsAText, None, "must return None, Response or", id="wrong-type"),
        pytest.param(FailsAtFailures, AttributeError, "AttributeError: proxy", id="at-a-failure"),
    ],
)
@in_reactor
async def test_fault_of_a_middleware_is_an_error_with_its_trace_and_is_not_waited_for(
    middleware: type,
    kind: type[Exception] | None,
    why: str,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    path = tmp_path / "robots.sqlite"
    robots = raw(reset=True) if middleware is FailsAtFailures else RULES
    with (
        Site({"/robots.txt": robots, "*": b"ok"}) as first,
        Site({"/robots.txt": robots, "*": b"ok"}) as second,
    ):
        settings = {
            **in_sqlite(path),
            "DOWNLOADER_MIDDLEWARES": {middleware: 600},
            "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 10,
        }
        urls = [first.url("/free"), second.url("/free")]
        crawler = await crawl(Pages, settings, urls=for_pages(*urls))
        assert set(pages(crawler).refused) == set(urls)
        for error in pages(crawler).refused.values():
            assert isinstance(error, ForbiddenByRobotsTxt)
            assert "robots.txt unreachable: another middleware failed" in str(error.verdict)
            assert why in str(error.verdict)
        assert stats(crawler)["gbot_robots/dropped"] == 2
        (record,) = faults(caplog)  # of two
        assert why in record.getMessage()
        assert record.exc_info is not None
        assert kind is None or record.exc_info[0] is kind
        counted = stats(crawler, "robotstxt/exception_count/")
        assert counted == {f"robotstxt/exception_count/{record.exc_info[0]}": 2}
    storage = SqliteStorage(path)
    assert [storage.get(site.url("").rstrip("/")) for site in (first, second)] == [None, None]
    storage.close()


@in_reactor
async def test_fault_at_a_response_is_logged_and_the_response_counts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl(
            Pages,
            {"DOWNLOADER_MIDDLEWARES": {FailsAtResponses: 600}},
            urls=[site.url("/page"), site.url("/free")],
        )
        assert set(pages(crawler).crawled) == {site.url("/free")}
    (record,) = faults(caplog)
    assert "ZeroDivisionError: of no bytes" in record.getMessage()


class TimesOut(Faulty):
    """Ends a request as a download may end."""

    error = type("DownloadTimeoutError", (Exception,), {})("no proxy was free")  # as Scrapy's


class OwnDownloads:
    """A download handler with exceptions that no table knows."""

    lazy = True
    error: ClassVar[Exception] = type("BannedError", (Exception,), {})("try again later")

    async def download_request(self, request: Request) -> Response:
        raise self.error

    async def close(self) -> None: ...


class CancelledDownloads(OwnDownloads):
    """A download handler that is cancelled."""

    error = CancelledError()


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"DOWNLOADER_MIDDLEWARES": {TimesOut: 600}}, id="middleware-times-out"),
        pytest.param({"DOWNLOAD_HANDLERS": {"http": OwnDownloads}}, id="handler-of-ones-own"),
        pytest.param({"DOWNLOAD_HANDLERS": {"http": CancelledDownloads}}, id="cancelled"),
    ],
)
@in_reactor
async def test_failed_download_is_no_fault(
    settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with Site({}) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/free")])
        assert set(pages(crawler).refused) == {site.url("/free")}
    assert not faults(caplog)
    assert "gbot_robots/dropped" not in stats(crawler)
