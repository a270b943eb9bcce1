"""The robots.txt request itself: what it carries, and that nothing in Scrapy or in a user's project gets in its way."""

from __future__ import annotations

import asyncio
import gzip
import random
import threading
import time
from contextlib import ExitStack
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request, signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http import TextResponse
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred, fail
from twisted.python.failure import Failure as TwistedFailure

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.fetching import fetcher
from scrapy_gbot_robots.fetching.fetcher import Fetcher
from scrapy_gbot_robots.policy.decoding import decoded

from ..support.crawls import Pages, crawl, in_reactor, pages, stats
from ..support.web import Reply, Site, raw, redirect
from .scenarios import ALLOW, BIG, DISALLOW, OBEY, RULES, ZIPPED, Scenario, coded, head, hops, run, run_all

if TYPE_CHECKING:
    from socket import socket

    from scrapy.crawler import Crawler
    from scrapy.http import Response


class Dropping:
    """A user's middleware that drops what it does not know."""

    def process_request(self, request: Request) -> None:
        if request.url.endswith("/robots.txt"):
            raise IgnoreRequest("not on my list")


class Picky:
    """A user's middleware that drops answers that it does not like."""

    def process_response(self, request: Request, response: Response) -> Response:
        if response.status != 200:
            raise IgnoreRequest("not a page")
        return response


class Rewriting:
    """A user's middleware that changes bodies."""

    def process_response(self, request: Request, response: Response) -> Response:
        return response.replace(body=b"user-agent: *\ndisallow: /")


class Serving:
    """A user's middleware that answers by itself."""

    def process_request(self, request: Request) -> Response | None:
        from scrapy.http import TextResponse

        return TextResponse(request.url, body=RULES) if request.url.endswith("/robots.txt") else None


if iscoroutinefunction(HTTP11DownloadHandler.download_request):

    class HangingHandler(HTTP11DownloadHandler):
        """A download handler that does not keep to the time-out."""

        def hang(self) -> Deferred[Response] | None:
            return Deferred()

        async def download_request(self, request: Request) -> Response:
            if request.url.endswith("/robots.txt") and (hanging := self.hang()):
                await maybe_deferred_to_future(hanging)
            return await super().download_request(request)

else:  # before Scrapy 2.15

    class HangingHandler(HTTP11DownloadHandler):  # type: ignore[no-redef]
        """A download handler that does not keep to the time-out."""

        def hang(self) -> Deferred[Response] | None:
            return Deferred()

        def download_request(self, request: Request, spider: Any) -> Deferred[Response]:  # type: ignore[override]
            if request.url.endswith("/robots.txt") and (hanging := self.hang()):
                return hanging
            return super().download_request(request, spider)  # type: ignore[call-arg, return-value]


WITH_SETTINGS: list[tuple[dict[str, Any], list[Scenario]]] = [
    (
        {"REDIRECT_ENABLED": False, "COMPRESSION_ENABLED": False, "CONCURRENT_REQUESTS": 1},
        [Scenario("redirect", OBEY, redirect("/1"), hops(1)), Scenario("gzip", OBEY, coded("gzip", ZIPPED))],
    ),
    (
        {
            "REDIRECT_MAX_TIMES": 0,
            "METAREFRESH_ENABLED": True,
            "DOWNLOAD_MAXSIZE": 100,
            "DOWNLOAD_TIMEOUT": 1,
            "GBOT_ROBOTS_TIMEOUT_SECS": 20,
            "DOWNLOAD_FAIL_ON_DATALOSS": False,
            "RETRY_ENABLED": True,
        },
        [
            Scenario("redirect", OBEY, redirect("/1"), hops(1)),
            Scenario("big", OBEY, BIG),
            Scenario("gzip", OBEY, coded("gzip", ZIPPED)),
            Scenario("slow", OBEY, Reply(200, RULES, after_secs=1.2)),
            Scenario("data-loss", DISALLOW, Reply(200, RULES, {"Content-Length": "99"})),
        ],
    ),
    (
        {"DOWNLOADER_MIDDLEWARES": {Rewriting: 50, Picky: 600}},
        [Scenario("rules", OBEY, RULES), Scenario("503", DISALLOW, Reply(503))],
    ),
    ({"DOWNLOADER_MIDDLEWARES": {Dropping: 600}}, [Scenario("dropped", DISALLOW, RULES)]),
    ({"DOWNLOADER_MIDDLEWARES": {Serving: 600}}, [Scenario("served", OBEY, Reply(503))]),
    (
        {"DOWNLOAD_HANDLERS": {"http": HangingHandler}, "GBOT_ROBOTS_TIMEOUT_SECS": 0.2},
        [Scenario("handler-without-time-out", DISALLOW, RULES)],
    ),
]


@pytest.mark.parametrize(
    ("settings", "scenarios"), WITH_SETTINGS, ids=[", ".join(settings) for settings, _ in WITH_SETTINGS]
)
@in_reactor
async def test_nothing_gets_in_the_way(settings: dict[str, Any], scenarios: list[Scenario]) -> None:
    found = await run_all(scenarios, **settings)
    assert found == {each.id: each.expected for each in scenarios}


@in_reactor
async def test_time_spent_in_the_downloaders_queue_is_not_the_servers() -> None:
    with Site({"/robots.txt": redirect("/1"), **hops(2), "/free": b"ok"}) as site:
        settings = {"DOWNLOAD_DELAY": 0.6, "GBOT_ROBOTS_TIMEOUT_SECS": 1}
        crawler = await crawl(Pages, settings, urls=[site.url("/free")])
        assert set(pages(crawler).crawled) == {site.url("/free")}
        assert site.paths() == ["/robots.txt", "/1", "/2", "/free"]


@in_reactor
async def test_offsite_redirect_is_followed_though_the_spider_may_not_go_there() -> None:
    with (
        Site({"*": RULES}) as far,
        Site({"/robots.txt": redirect(far.url("/rules")), "*": b"ok"}, host="127.0.0.2") as near,
    ):

        class Near(Pages):
            name = "near"
            allowed_domains: ClassVar = ["127.0.0.2"]

        crawler = await crawl(Near, urls=[near.url("/page"), near.url("/free")])
        assert set(pages(crawler).crawled) == {near.url("/free")}
        assert far.paths() == ["/rules"]


@in_reactor
async def test_handle_httpstatus_list_of_the_spider_changes_nothing() -> None:
    class Handling(Pages):
        name = "handling"
        handle_httpstatus_list: ClassVar = [404, 503]

    with Site({"/robots.txt": Reply(404), "*": b"ok"}) as absent, Site({"/robots.txt": Reply(503), "*": b"ok"}) as ill:
        crawler = await crawl(Handling, urls=[absent.url("/page"), ill.url("/page")])
        assert set(pages(crawler).crawled) == {absent.url("/page")}


@in_reactor
async def test_robots_txt_is_asked_for_without_credentials_cookies_or_conditions() -> None:
    with Site({"/robots.txt": redirect("/1"), **hops(1), "*": Reply(200, b"ok", {"Set-Cookie": "id=7"})}) as site:
        site.pages["/robots.txt"] = Reply(302, b"", {"Location": "/1", "Set-Cookie": "session=9", "ETag": '"x"'})
        settings = {
            "HTTPAUTH_USER": "me",
            "HTTPAUTH_PASS": "secret",
            "HTTPAUTH_DOMAIN": None,
            "DEFAULT_REQUEST_HEADERS": {
                "Authorization": "Bearer x",
                "Cookie": "a=b",
                "If-None-Match": '"x"',
                "Accept-Language": "en",
            },
            "HTTPCACHE_ENABLED": True,
            "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        }
        first = Request(site.url("/free"), cookies={"mine": "1"}, headers={"X-Own": "1"}, dont_filter=True)
        await crawl(Pages, settings, urls=[first])
        asked = [request for request in site.asked if request.path in {"/robots.txt", "/1"}]
        assert len(asked) == 2
        for request in asked:
            assert not {"authorization", "cookie", "if-none-match", "if-modified-since", "referer"} & set(
                request.headers
            )
            assert request.headers["accept-encoding"] == "gzip, deflate"
            assert request.headers["accept-language"] == "en"
            assert request.headers["user-agent"].startswith("testbot")
        page = next(request for request in site.asked if request.path == "/free")
        assert "session=9" not in page.headers.get("cookie", "")


class Signing:
    """A user's middleware that signs requests, as Web Bot Auth does."""

    def process_request(self, request: Request) -> None:
        request.headers["Signature-Agent"] = '"https://crawler.example"'
        request.headers["Signature-Input"] = 'sig1=("@target-uri");tag="web-bot-auth"'
        request.headers["Signature"] = f"sig1=:{request.url}:"


@in_reactor
async def test_middleware_that_signs_requests_signs_a_robots_txt_and_each_of_its_hops_anew() -> None:
    with Site({"/robots.txt": redirect("/1"), **hops(2), "*": b"ok"}) as site:
        crawler = await crawl(Pages, {"DOWNLOADER_MIDDLEWARES": {Signing: 600}}, urls=[site.url("/free")])
        assert set(pages(crawler).crawled) == {site.url("/free")}
        signed = [(request.path, request.headers["signature"]) for request in site.asked]
        assert signed == [(path, f"sig1=:{site.url(path)}:") for path in ("/robots.txt", "/1", "/2", "/free")]
        assert all({"signature-agent", "signature-input"} <= set(request.headers) for request in site.asked)


@in_reactor
async def test_retry_middleware_leaves_a_robots_txt_alone() -> None:
    with Site({"/robots.txt": Reply(503)}) as site:
        await crawl(Pages, {"RETRY_ENABLED": True, "RETRY_TIMES": 5}, urls=[site.url("/page")])
        assert site.paths() == ["/robots.txt"]


@in_reactor
async def test_proxy_of_the_request_is_inherited_and_other_meta_is_not() -> None:
    with Site({"*": RULES}) as proxy:
        request = Request("http://far.example/page", meta={"proxy": proxy.url(""), "depth": 7, "cookiejar": 3})
        crawler = await crawl(Pages, urls=[request])
        assert [asked.path for asked in proxy.asked] == ["http://far.example/robots.txt"]
        assert set(pages(crawler).refused) == {"http://far.example/page"}


@pytest.mark.parametrize("host", ["a_b.example", "_x.example", "example.com.", "a-.example", "xn--exmple-cua.com"])
@in_reactor
async def test_odd_host_name_is_asked_under_that_name(host: str) -> None:
    with Site({f"http://{host}/robots.txt": RULES, "*": b"ok"}) as proxy:
        meta = {"proxy": proxy.url("")}
        crawler = await crawl(Pages, urls=[Request(f"http://{host}/{name}", meta=meta) for name in ("page", "free")])
        assert set(proxy.paths()) == {f"http://{host}/robots.txt", f"http://{host}/free"}
        assert {asked.headers["host"] for asked in proxy.asked} == {host}
        assert set(pages(crawler).crawled) == {f"http://{host}/free"}


@in_reactor
async def test_download_stops_at_the_limit_though_the_body_never_ends() -> None:
    sent: list[int] = []

    def endless(connection: Any) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + RULES)
        while True:
            connection.sendall(b"#" * 65536)
            sent.append(65536)

    with Site({"/robots.txt": endless, "*": b"ok"}) as site:
        began = time.monotonic()
        crawler = await crawl(Pages, {"GBOT_ROBOTS_TIMEOUT_SECS": 20}, urls=[site.url("/page"), site.url("/free")])
        assert set(pages(crawler).crawled) == {site.url("/free")}
        assert stats(crawler)["gbot_robots/cut"] == 1
        assert time.monotonic() - began < 10  # it did not wait for the time-out
        assert sum(sent) < 50_000_000


class Stopping:
    """A user's extension that stops downloads early, as crawls of headers do."""

    def __init__(self, crawler: Crawler) -> None:
        self.fail = crawler.settings.getbool("TEST_FAIL")
        crawler.signals.connect(self.stop, getattr(signals, crawler.settings["TEST_SIGNAL"]))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Stopping:
        return cls(crawler)

    def stop(self) -> None:
        raise StopDownload(fail=self.fail)


@pytest.mark.parametrize("fail", [True, False])
@pytest.mark.parametrize("signal", ["headers_received", "bytes_received"])
@in_reactor
async def test_crawl_that_stops_its_downloads_early_reads_each_robots_txt_to_its_end(signal: str, fail: bool) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        settings = {"EXTENSIONS": {Stopping: 0}, "TEST_SIGNAL": signal, "TEST_FAIL": fail}
        crawler = await crawl(Pages, settings, urls=[site.url("/page"), site.url("/free")])
        assert set(site.paths()) == {"/robots.txt", "/free"}
        found = pages(crawler)
        assert fail or "download_stopped" in found.crawled[site.url("/free")].flags
        assert not fail or isinstance(found.refused[site.url("/free")], StopDownload)


@in_reactor
async def test_nothing_listens_to_the_pages_of_a_crawl() -> None:
    heard: list[str] = []

    class Listening(Pages):
        name = "listening"

        def parse(self, response: Response, **kwargs: Any) -> None:
            super().parse(response, **kwargs)
            heard.extend(
                f"{signal}: {receiver}"
                for signal in (signals.headers_received, signals.bytes_received, signals.request_reached_downloader)
                for receiver in liveReceivers(getAllReceivers(self.crawler, signal))
                if "scrapy_gbot_robots" in (getattr(receiver, "__module__", "") or "")
            )
            if self.crawler.signals.send_catch_log.__func__ is not SignalManager.send_catch_log:  # type: ignore[attr-defined]
                heard.append("all signals")

    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl(Listening, urls=[site.url("/free")])
        assert pages(crawler).crawled
        assert not heard


class MakingUp:
    """A user's middleware that makes an empty page of a failure."""

    def process_exception(self, request: Request, exception: Exception) -> Response:
        return TextResponse(request.url)


@in_reactor
async def test_response_that_a_middleware_makes_of_a_failure_is_not_the_servers() -> None:
    with Site({"/robots.txt": raw(), "*": b"ok"}) as site:
        crawler = await crawl(Pages, {"DOWNLOADER_MIDDLEWARES": {MakingUp: 600}}, urls=[site.url("/free")])
        assert site.paths() == ["/robots.txt"]
        assert stats(crawler)["gbot_robots/unreachable"] == 1


class Slow:
    """A user's middleware that takes its time over each robots.txt."""

    SECS = 0.8

    async def process_request(self, request: Request) -> None:
        await self._wait(request)

    async def process_response(self, request: Request, response: Response) -> Response:
        await self._wait(request)
        return response

    async def _wait(self, request: Request) -> None:
        if request.url.endswith("/robots.txt"):
            await pause(self.SECS)


@in_reactor
async def test_time_that_other_middlewares_take_is_not_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "GRACE_SECS", 0.0)
    settings: dict[str, Any] = {"DOWNLOADER_MIDDLEWARES": {Slow: 600}, "GBOT_ROBOTS_TIMEOUT_SECS": 0.5}
    got, _ = await run(Scenario("", OBEY, RULES), **settings)
    assert got == OBEY


@in_reactor
async def test_download_handler_has_its_whole_time_and_some_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "GRACE_SECS", 4.5)
    got, _ = await run(Scenario("", OBEY, Reply(200, RULES, after_secs=1.0)), GBOT_ROBOTS_TIMEOUT_SECS=5)
    assert got == OBEY


class ReasonsError(Exception):
    """As Twisted's ResponseFailed: of HTTP/2's reasons the value may be a text."""

    reasons: ClassVar = [TwistedFailure("Remote peer sent RST_STREAM", ValueError)]  # type: ignore[no-untyped-call]


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError


class Raising(HangingHandler):
    """A download handler that raises one of its errors for each of the first requests for a robots.txt."""

    errors: ClassVar[list[BaseException]]

    def hang(self) -> Deferred[Response] | None:
        return fail(Raising.errors.pop()) if Raising.errors else None


@in_reactor
async def test_exception_of_a_download_handler_is_a_network_failure_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors = [ReasonsError(), UnspeakableError(), CancelledError(), asyncio.CancelledError(), RuntimeError("x" * 9999)]
    Raising.errors = [*errors]
    settings: dict[str, Any] = {"DOWNLOAD_HANDLERS": {"http": Raising}, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 20}
    with ExitStack() as stack:
        sites = [stack.enter_context(Site({"/robots.txt": RULES, "*": b"ok"})) for _ in errors]
        urls = [site.url(path) for site in sites for path in ("/page", "/free")]
        crawler = await crawl(Pages, settings, urls=urls)
    assert set(pages(crawler).crawled) == {site.url("/free") for site in sites}
    assert stats(crawler)["gbot_robots/unreachable"] == len(errors)
    assert "looking up" not in caplog.text


class Cancelling:
    """A user's middleware that is cancelled over the first request for a robots.txt."""

    left: ClassVar[int]

    async def process_request(self, request: Request) -> None:
        if request.url.endswith("/robots.txt"):
            Cancelling.left -= 1
            if Cancelling.left >= 0:
                raise asyncio.CancelledError


@in_reactor
async def test_middleware_that_is_cancelled_is_a_network_failure_and_tried_again() -> None:
    Cancelling.left = 1
    settings: dict[str, Any] = {"DOWNLOADER_MIDDLEWARES": {Cancelling: 600}, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 20}
    got, crawler = await run(Scenario("", OBEY, RULES), **settings)
    assert got == OBEY
    assert stats(crawler)["gbot_robots/unreachable"] == 1


def test_pages_wait_for_a_robots_txt_with_the_priority_that_scrapy_gives_it() -> None:
    assert fetcher.PRIORITY == RobotsTxtMiddleware.DOWNLOAD_PRIORITY


class LateTheSecondTime:
    """A 404 whose body hangs; the second time its headers take a while."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, connection: socket) -> None:
        self.asked += 1
        time.sleep(0.4 if self.asked > 1 else 0.0)
        connection.sendall(head("Content-Length: 9", status="404 No"))
        time.sleep(2)


@in_reactor
async def test_second_request_for_the_status_has_time_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:  # S2.11
    monkeypatch.setattr(fetcher, "_STATUS_SECS", 20.0)
    monkeypatch.setattr(fetcher, "GRACE_SECS", 0.0)
    got, _ = await run(Scenario("", ALLOW, LateTheSecondTime()), GBOT_ROBOTS_TIMEOUT_SECS=1.5)
    assert got == ALLOW


@pytest.mark.parametrize(("size", "off"), [(100, False), (20_000, True)], ids=["short", "long"])
@in_reactor
async def test_long_body_is_decoded_off_the_reactor(size: int, off: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[threading.Thread] = []

    def noted(*arguments: Any, **more: Any) -> tuple[bytes, bool]:
        seen.append(threading.current_thread())
        return decoded(*arguments, **more)

    monkeypatch.setattr(fetcher, "decoded", noted)
    packed = gzip.compress(RULES + b"#" + random.Random(1).randbytes(size).hex().encode())
    got, _ = await run(Scenario("", OBEY, coded("gzip", packed)))
    assert got == OBEY
    assert [thread is not threading.current_thread() for thread in seen] == [off]


@in_reactor
async def test_subclass_may_change_the_request() -> None:
    from scrapy_gbot_robots import GbotRobotsTxtMiddleware

    class Browser(Fetcher):
        def robots_request(self, url: str, request: Request | None) -> Request:
            own = super().robots_request(url, request)
            own.headers["X-Browser"] = "yes"
            return own

    class BrowserMiddleware(GbotRobotsTxtMiddleware):
        fetcher_cls = Browser

    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        settings = {
            "ROBOTSTXT_OBEY": True,
            "GBOT_ROBOTS_STORAGE": "memory",
            "DOWNLOADER_MIDDLEWARES": {
                "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
                BrowserMiddleware: 100,
            },
        }
        crawler = await crawl(Pages, settings, addon=False, urls=[site.url("/page"), site.url("/free")])
        assert set(pages(crawler).crawled) == {site.url("/free")}
        assert site.asked[0].headers["x-browser"] == "yes"
