"""The robots.txt request itself: what it carries, and that nothing in Scrapy or in a user's project gets in its way."""

import asyncio
import contextlib
import errno
import gzip
import json
import logging
import random
import threading
import zlib
from contextlib import ExitStack
from importlib.util import find_spec
from inspect import iscoroutinefunction
from pathlib import Path
from socket import socket
from typing import Any, ClassVar

import pytest
from _pytest.mark.structures import ParameterSet
from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request, signals
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http import Response, TextResponse
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import CancelledError, fail
from twisted.python.failure import Failure as TwistedFailure

from scrapy_gbot_robots.answers.events import DECIDED
from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.engine import LISTENER, Overhearing
from scrapy_gbot_robots.fetching import exchange
from scrapy_gbot_robots.fetching.fetcher import most_under_way
from scrapy_gbot_robots.policy.decoding import decoded
from scrapy_gbot_robots.policy.outcome import Failure, outcome_of

from ..support.crawls import (
    Pages,
    by_each_handler,
    crawl,
    handler_in_use,
    in_reactor,
    own_warnings,
    pages,
    stats,
)
from ..support.http2 import Http2Site, Reply2
from ..support.rows import row, table
from ..support.web import Content, Reply, Site, raw, redirect
from .scenarios import (
    BIG,
    DISALLOW,
    ELSEWHERE,
    OBEY,
    RULES,
    SCENARIOS,
    ZIPPED,
    Scenario,
    coded,
    hops,
    run_all,
)


@in_reactor
async def test_odd_server_gets_what_google_gives_it() -> None:
    """All odd servers of `scenarios` in one crawl, by the download handler that the tests use."""
    assert await run_all(SCENARIOS) == {each.id: each.expected_here for each in SCENARIOS}


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
        if not request.url.endswith("/robots.txt"):
            return None
        return TextResponse(request.url, body=RULES)


class MakingUp:
    """A user's middleware that makes an empty page of a failure."""

    def process_exception(self, request: Request, exception: Exception) -> Response | None:
        return TextResponse(request.url) if request.url.endswith("/robots.txt") else None


class Heading:
    """A user's middleware that wants no body of any robots.txt."""

    def process_request(self, request: Request) -> Request | None:
        if request.method == "HEAD" or not request.url.endswith("/robots.txt"):
            return None
        return request.replace(method="HEAD")


class Copying:
    """A user's middleware that sends a copy of each request. The meta of the copy has been JSON."""

    def process_request(self, request: Request) -> Request | None:
        if "copied" in request.meta:
            return None
        meta = {**json.loads(json.dumps(request.meta)), "copied": True}
        return request.replace(meta=meta, dont_filter=True)


class Slow:
    """A user's middleware that takes its time over each robots.txt."""

    async def process_request(self, request: Request) -> None:
        await self._wait(request)

    async def process_response(self, request: Request, response: Response) -> Response:
        await self._wait(request)
        return response

    async def _wait(self, request: Request) -> None:
        if request.url.endswith("/robots.txt"):
            await pause(1.2)


class Patient:
    """A user's middleware that gives download handlers more time than a robots.txt has."""

    def process_request(self, request: Request) -> None:
        request.meta["download_timeout"] = 60


LATE = Reply(200, b"", after_secs=3)
WITH_SETTINGS: list[tuple[dict[str, Any], list[Scenario]]] = [
    (
        {"REDIRECT_ENABLED": False, "COMPRESSION_ENABLED": False, "CONCURRENT_REQUESTS": 1},
        [
            Scenario("redirect", OBEY, redirect("/1"), hops(1)),
            Scenario("gzip", OBEY, coded("gzip", ZIPPED)),
        ],
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
    ({"DOWNLOADER_MIDDLEWARES": {Serving: 600}}, [Scenario("served", OBEY, Reply(503))]),
    ({"DOWNLOADER_MIDDLEWARES": {MakingUp: 600}}, [Scenario("made-up", DISALLOW, raw())]),
    ({"DOWNLOADER_MIDDLEWARES": {Heading: 600}}, [Scenario("no-body", DISALLOW, RULES)]),
    (
        {"DOWNLOADER_MIDDLEWARES": {Copying: 610}},
        [
            Scenario("rules", OBEY, RULES),
            Scenario("redirect", OBEY, redirect("/1"), hops(1)),
            Scenario("big", OBEY, BIG),
            Scenario("gzip", OBEY, coded("gzip", ZIPPED)),
        ],
    ),
    (  # time spent in the downloader's queue is not the server's
        {"DOWNLOAD_DELAY": 0.6, "GBOT_ROBOTS_TIMEOUT_SECS": 1},
        [Scenario("redirects", OBEY, redirect("/1"), hops(2))],
    ),
    (  # nor is time that other middlewares take, up to the time-out before and after
        {"DOWNLOADER_MIDDLEWARES": {Slow: 600}, "GBOT_ROBOTS_TIMEOUT_SECS": 2},
        [Scenario("slow", OBEY, RULES)],
    ),
    (
        {"DOWNLOADER_MIDDLEWARES": {Patient: 600}, "GBOT_ROBOTS_TIMEOUT_SECS": 0.2},
        [Scenario("handler-without-time-out", DISALLOW, Reply(200, RULES, after_secs=4))],
    ),
    (  # what hangs has used the time: what it redirects to has no more than a look at a status
        {"GBOT_ROBOTS_TIMEOUT_SECS": 4},
        [
            Scenario("hangs", DISALLOW, raw(ELSEWHERE, 5.0), hops(1, LATE)),
            # a second look has half of the time: several in a row end, too
            Scenario("slow-and-hangs", DISALLOW, raw(2.8, ELSEWHERE, 5.0), hops(1, b"")),
        ],
    ),
    (
        {"GBOT_ROBOTS_SOFT_404": False},
        [Scenario("S2.19-switched-off", DISALLOW, Reply(500, b"<title>Page not found</title>"))],
    ),
]


@table("settings, scenarios", *(row(", ".join(each[0]), *each) for each in WITH_SETTINGS))
@in_reactor
async def test_nothing_gets_in_the_way(settings: dict[str, Any], scenarios: list[Scenario]) -> None:
    found = await run_all(scenarios, **settings)
    assert found == {each.id: each.expected for each in scenarios}


@in_reactor
async def test_rules_behind_a_redirect_count_for_the_origin_that_was_asked_alone() -> None:
    own = b"user-agent: *\nallow: /"
    with (
        Site({"/robots.txt": own, "/rules": RULES, "*": b"ok"}) as far,
        Site({"/robots.txt": redirect(far.url("/rules")), "*": b"ok"}, host="127.0.0.2") as near,
    ):
        urls = [near.url("/page"), near.url("/free"), far.url("/page")]
        settings = {"CONCURRENT_REQUESTS": 1}
        # The redirect is followed though it leads offsite.
        crawler = await crawl(Pages, settings, urls=urls, allowed_domains=["127.0.0.2"])
        assert set(pages(crawler).crawled) == {near.url("/free"), far.url("/page")}
        assert far.paths().count("/robots.txt") == 1


NEVER_SENT = {  # as HTTP spells them
    *("authorization", "cookie", "referer", "range"),
    *("if-match", "if-modified-since", "if-none-match", "if-unmodified-since"),
}


@in_reactor
async def test_robots_txt_is_asked_for_without_credentials_cookies_or_conditions() -> None:
    first = Reply(302, b"", {"Location": "/1", "Set-Cookie": "session=9", "ETag": '"x"'})
    page = Reply(200, b"ok", {"Set-Cookie": "id=7"})
    with Site({"/robots.txt": first, **hops(1), "*": page}) as site:
        defaults = {**dict.fromkeys(NEVER_SENT, '"x"'), "Accept-Language": "en"}
        settings = {
            "DEFAULT_REQUEST_HEADERS": defaults,
            "HTTPCACHE_ENABLED": True,
            "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        }
        own: Any = {"cookies": {"mine": "1"}, "headers": {"X-Own": "1"}}
        await crawl(Pages, settings, urls=[Request(site.url("/free"), **own, dont_filter=True)])
        asked = [request for request in site.asked if request.path in {"/robots.txt", "/1"}]
        assert len(asked) == 2
        for headers in (request.headers for request in asked):
            assert headers.keys().isdisjoint(NEVER_SENT)
            assert headers["accept-language"] == "en"
            assert headers["user-agent"].startswith("testbot")
        free = next(request for request in site.asked if request.path == "/free")
        codings = [request.headers["accept-encoding"] for request in (*asked, free)]
        assert codings == [codings[0]] * 3  # those that Scrapy asks for with a page
        assert codings[0].startswith("gzip, deflate")
        assert "session=9" not in free.headers.get("cookie", "")
        assert {"authorization", "referer", "range"} <= free.headers.keys()  # the page has them


class AsksForABeginning:
    """A user's middleware that asks for the first bytes of each file."""

    def process_request(self, request: Request) -> None:
        request.headers["Range"] = "bytes=0-9"


@table("order", row("before-ours", 50), row("after-ours", 900))
@in_reactor
async def test_whole_robots_txt_is_asked_for_though_a_middleware_asks_for_a_part(
    order: int,
) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        settings = {"DOWNLOADER_MIDDLEWARES": {AsksForABeginning: order}}
        await crawl(Pages, settings, urls=[site.url("/free")])
        robots, page = site.asked
    assert "range" not in robots.headers
    assert page.headers["range"] == "bytes=0-9"


class Signing:
    """A user's middleware that signs requests, as Web Bot Auth does."""

    def process_request(self, request: Request) -> None:
        request.headers["Signature-Agent"] = '"https://crawler.example"'
        request.headers["Signature-Input"] = 'sig1=("@target-uri");tag="web-bot-auth"'
        request.headers["Signature"] = f"sig1=:{request.url}:"


@in_reactor
async def test_middleware_that_signs_requests_signs_a_robots_txt_and_each_hop_anew() -> None:
    with Site({"/robots.txt": redirect("/1"), **hops(2), "*": b"ok"}) as site:
        settings = {"DOWNLOADER_MIDDLEWARES": {Signing: 600}}
        crawler = await crawl(Pages, settings, urls=[site.url("/free")])
        assert set(pages(crawler).crawled) == {site.url("/free")}
        assert site.paths() == ["/robots.txt", "/1", "/2", "/free"]
        for asked in site.asked:
            assert asked.headers["signature"] == f"sig1=:{site.url(asked.path)}:"
            assert {"signature-agent", "signature-input"} <= asked.headers.keys()


@in_reactor
async def test_odd_host_name_is_asked_under_that_name_through_the_proxy_of_its_request() -> None:
    hosts = ("a_b.example", "_x.example", "example.com.", "a-.example", "xn--exmple-cua.com")
    with Site({**{f"http://{host}/robots.txt": RULES for host in hosts}, "*": b"ok"}) as proxy:
        urls = [f"http://{host}/{name}" for host in hosts for name in ("page", "free")]
        requests = [Request(url, meta={"proxy": proxy.url("")}) for url in urls]
        crawler = await crawl(Pages, urls=requests)
        asked = {f"http://{host}/{name}": host for host in hosts for name in ("robots.txt", "free")}
        if handler_in_use() == "aiohttp":  # it leaves the dot at the end out of the Host header
            asked = {url: host.removesuffix(".") for url, host in asked.items()}
        assert {each.path: each.headers["host"] for each in proxy.asked} == asked
        assert set(pages(crawler).crawled) == {f"http://{host}/free" for host in hosts}


@pytest.mark.parametrize("fail", [True, False])
@pytest.mark.parametrize("signal", ["headers_received", "bytes_received"])
@in_reactor
async def test_crawl_that_stops_downloads_reads_each_robots_txt_whole(
    signal: str, fail: bool, site: Site
) -> None:
    def stop() -> None:
        raise StopDownload(fail=fail)

    hears = {getattr(signals, signal): stop}
    crawler = await crawl(Pages, hears=hears, urls=[site.url("/page"), site.url("/free")])
    assert set(site.paths()) == {"/robots.txt", "/free"}
    found = pages(crawler)
    assert fail or "download_stopped" in found.crawled[site.url("/free")].flags
    assert not fail or isinstance(found.refused[site.url("/free")], StopDownload)


@in_reactor
async def test_nothing_listens_to_the_pages_of_a_crawl(site: Site) -> None:
    heard: list[object] = []
    of_downloads = "headers_received bytes_received request_reached_downloader".split()

    def look(request: Request, spider: Any) -> None:
        if request.url.endswith("/robots.txt"):
            return
        for name in of_downloads:
            receivers = liveReceivers(getAllReceivers(spider.crawler, getattr(signals, name)))
            heard.append([each for each in receivers if "gbot_robots" in str(each.__module__)])
        heard.append(LISTENER in request.meta)

    # without it the first requests are looked at, for the User-Agent that they have
    known = {"ROBOTSTXT_USER_AGENT": "testbot"}
    hears: dict[object, Any] = {signals.request_left_downloader: look}
    await crawl(Pages, known, hears=hears, urls=[site.url("/free")])
    assert heard == [[], [], [], False]


class ReasonsError(Exception):
    """As Twisted's ResponseFailed: of HTTP/2's reasons the value may be a text."""

    reasons: ClassVar = [TwistedFailure("Remote peer sent RST_STREAM", ValueError)]  # type: ignore[no-untyped-call]


@table(
    "open_files, most",
    row("macos", 256, 64),
    row("few", 20, 8),
    row("usual", 1024, 256),
    row("many", 4096, 1024),
    row("very-many", 1_000_000, 2048),
    row("unlimited", -1, 256),
    row("windows", 0, 256),
)
def test_fetches_leave_most_of_the_open_files_to_pages(open_files: int, most: int) -> None:
    assert most_under_way(open_files) == most


class Raising(HTTP11DownloadHandler):
    """A download handler that raises one of its errors for each of the first requests for a robots.txt."""

    errors: ClassVar[list[BaseException]]

    def download_request(self, request: Request, *spider: Any) -> Any:
        if request.url.endswith("/robots.txt") and Raising.errors:
            return fail(Raising.errors.pop())
        if iscoroutinefunction(HTTP11DownloadHandler.download_request):  # Scrapy 2.15 and newer
            spider = ()
        return deferred_from_coro(super().download_request(request, *spider))


class Cancelling:
    """A user's middleware that is cancelled over the first request for a robots.txt."""

    has_been = False

    async def process_request(self, request: Request) -> None:
        if request.url.endswith("/robots.txt") and not self.has_been:
            self.has_been = True
            raise asyncio.CancelledError


@pytest.mark.filterwarnings("ignore:.* is not a coroutine function")
@in_reactor
async def test_exception_of_a_handler_or_middleware_is_a_network_failure_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errors = [ReasonsError(), CancelledError(), asyncio.CancelledError(), RuntimeError("x" * 9999)]
    errors.append(OSError(errno.EMFILE, "Too many open files"))
    Raising.errors = [*errors]
    settings: dict[str, Any] = {
        "DOWNLOAD_HANDLERS": {"http": Raising},
        "DOWNLOADER_MIDDLEWARES": {Cancelling: 600},
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 20,
    }
    with ExitStack() as stack:
        usual = {"/robots.txt": RULES, "*": b"ok"}
        sites = [stack.enter_context(Site(usual)) for _ in ("cancelled", *errors)]
        urls = [site.url(path) for site in sites for path in ("/page", "/free")]
        crawler = await crawl(Pages, settings, urls=urls)
    assert set(pages(crawler).crawled) == {site.url("/free") for site in sites}
    assert stats(crawler)["gbot_robots/unreachable"] == len(sites)
    assert "gbot_robots/fetches/dropped" not in stats(crawler), "a failed download is no fault"
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@in_reactor
async def test_robots_txt_has_the_priority_of_scrapys() -> None:
    priorities: dict[str, int] = {}

    def hear(request: Request) -> None:
        priorities[request.url] = request.priority

    hears: dict[object, Any] = {signals.request_reached_downloader: hear}
    with Site({"/robots.txt": redirect("/1"), **hops(1), "*": b"ok"}) as site:
        await crawl(Pages, hears=hears, urls=[site.url("/free")])
    assert [*priorities.values()] == [1000, 1000, 0]  # the file, its redirect, and the page
    assert RobotsTxtMiddleware.DOWNLOAD_PRIORITY == 1000


RANDOM = random.Random(1).randbytes(20_000).hex().encode()
TWICE = gzip.compress(gzip.compress(RULES))


@table(
    "coding, body, in_thread",
    row("short", "gzip", gzip.compress(RULES + RANDOM[:200]), False),
    row("long", "gzip", gzip.compress(RULES + RANDOM), True),
    row("long-before-it-is-decoded", "gzip", gzip.compress(RULES + RANDOM[:20_000]), True),
    row("short-that-becomes-long", "gzip", gzip.compress(RULES + b"#" * 500_000), True),
    row("bomb", "gzip", gzip.compress(RULES + b"#" * 5_000_000), True),
    row("two-codings", "gzip, gzip", TWICE, True),
    row("plain", "", RULES + b"#" + RANDOM[:20_000], False),
    row("long-plain", "", RULES + b"#" + RANDOM, True),
)
@in_reactor
async def test_long_body_is_examined_in_a_thread(
    coding: str, body: bytes, in_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = threading.current_thread()
    threads: list[bool] = []
    lengths_here: list[int] = []

    def examined(*arguments: Any, **more: Any) -> Any:
        threads.append(threading.current_thread() is not here)
        return outcome_of(*arguments, **more)

    def noted(*arguments: Any, **more: Any) -> tuple[bytes, bool]:
        out, is_cut = decoded(*arguments, **more)
        if threading.current_thread() is here:
            lengths_here.append(len(out))
        return out, is_cut

    monkeypatch.setattr(exchange, "outcome_of", examined)
    monkeypatch.setattr(exchange, "decoded", noted)
    sent = coded(coding, body) if coding else body
    assert await run_all([Scenario("", OBEY, sent)]) == {"": OBEY}
    assert threads == [in_thread]
    assert max(lengths_here, default=0) <= 40_000


@in_reactor
async def test_failure_and_the_end_of_redirects_are_known_as_data() -> None:
    outages: list[Any] = []

    def hear(answer: Any) -> None:
        if answer.outage is not None:
            outages.append(answer.outage)

    with (
        Site({"/robots.txt": redirect("/1"), "/1": Reply(503)}) as busy,
        Site({"/robots.txt": redirect("http://no.invalid/")}) as lost,
    ):
        urls = [busy.url("/page"), lost.url("/page")]
        await crawl(Pages, hears={DECIDED: hear}, urls=urls)
        facts = {(each.status, each.failure, each.redirected_to) for each in outages}
        lost_at = "http://no.invalid/"
        assert facts == {(503, None, busy.url("/1")), (None, Failure.DNS, lost_at)}


# Scrapy's HTTP cache: an old file in it never decides, and a replay asks for the one of today.

ETAG = {
    "ETag": '"1"',
    "Cache-Control": "max-age=86400",
    "Last-Modified": "Mon, 16 Nov 2026 08:00:00 GMT",
}


@table(
    "settings",
    row("dummy-policy", {}),
    row("rfc2616-policy", {"HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy"}),
    row("no-server-is-asked-for-pages", {"HTTPCACHE_IGNORE_MISSING": True}),
)
@in_reactor
async def test_robots_txt_is_neither_put_into_scrapys_http_cache_nor_taken_from_it(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    with Site({"/robots.txt": Reply(200, b"", ETAG), "*": Reply(200, b"ok", ETAG)}) as site:
        urls = [site.url("/page"), site.url("/free")]
        # Scrapy alone, with its own robots.txt, fills the cache.
        first = await crawl(Pages, {**cache, "ROBOTSTXT_OBEY": True}, addon=False, urls=urls)
        assert set(pages(first).crawled) == set(urls)
        stored = {path.read_text() for path in tmp_path.rglob("response_body")}
        site.pages["/robots.txt"] = Reply(200, RULES, ETAG)
        site.asked.clear()
        second = await crawl(Pages, {**cache, **settings}, urls=urls)
        assert set(pages(second).crawled) == {site.url("/free")}
        assert "cached" in pages(second).crawled[site.url("/free")].flags
        assert site.paths() == ["/robots.txt"]
        assert "if-none-match" not in site.asked[0].headers
        assert {path.read_text() for path in tmp_path.rglob("response_body")} == stored


@table(
    "coding, decoded_body, is_readable",
    # requests, httpx and curl_cffi decode a body and leave its coding in the headers.
    row("decoded-gzip", "gzip", RULES, True),
    row("decoded-brotli", "br", RULES, True),
    row("decoded-twice", "gzip, zstd", RULES, True),
    # As raw deflate, the first byte "#" begins a block, so it may be inflated to something else.
    row("decoded-deflate", "deflate", "# Straße\n".encode() + RULES, True),
    row("as-it-came", "gzip", gzip.compress(RULES), True),
    row("as-it-came-and-broken", "gzip", gzip.compress(RULES)[:-9] + b"123456789", False),
    row("ends-early", "gzip", gzip.compress(RULES)[:30], False),
    row("ends-while-it-looks-like-text", "deflate", zlib.compress(RULES, 2)[:2], False),
    row("unknown-coding", "compress", b"\x1f\x9d" + RULES, False),
)
@in_reactor
async def test_body_of_a_middleware_that_downloads_by_itself_is_read(
    coding: str, decoded_body: bytes, is_readable: bool
) -> None:
    class Downloads:
        def process_request(self, request: Request) -> Response:
            body = decoded_body if request.url.endswith("/robots.txt") else b"ok"
            return TextResponse(request.url, headers={"Content-Encoding": coding}, body=body)

    settings = {
        "COMPRESSION_ENABLED": False,
        "DOWNLOADER_MIDDLEWARES": {Downloads: 543},
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0,
    }
    urls = ["http://site.example/page", "http://site.example/free"]
    crawler = await crawl(Pages, settings, urls=urls)
    assert set(pages(crawler).crawled) == ({urls[1]} if is_readable else set())


def endless(sent: list[int]) -> Content:
    """A body of at most 100 MB; `sent` gets the number of bytes that the client took."""

    def send(connection: socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + RULES)
        with contextlib.suppress(OSError):
            for _ in range(1_000):
                connection.sendall(b"#" * 99_999 + b"\n")
                sent.append(100_000)

    return send


@in_reactor
async def test_body_has_a_bound_of_scrapys_if_it_does_not_tell_of_bytes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Overhearing, "listening", lambda _: contextlib.nullcontext())
    sent: list[int] = []
    pages_of_hostile: dict[str, Content] = {"/robots.txt": endless(sent), "*": b"page"}
    with Site({"/robots.txt": RULES, "*": b"page"}) as site, Site(pages_of_hostile) as hostile:
        urls = [site.url("/page"), site.url("/free"), hostile.url("/free")]
        crawler = await crawl(Pages, urls=urls)
    assert set(pages(crawler).crawled) == {site.url("/free")}
    assert sum(sent) < 40 * 2**20  # with what sockets hold
    told = [each for each in own_warnings(caplog) if "has not signalled the headers" in each]
    assert len(told) == 1


@in_reactor
async def test_file_longer_than_that_bound_is_cut_and_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sent: list[int] = []
    with Site({"/robots.txt": endless(sent), "*": b"page"}) as site:
        crawler = await crawl(Pages, urls=[site.url("/page"), site.url("/free")])
    assert set(pages(crawler).crawled) == {site.url("/free")}
    assert sum(sent) < 16 * 2**20
    assert not any("has not signalled" in each for each in own_warnings(caplog))


def huge(sent: list[int]) -> Content:
    """A body of 100 MB with a Content-Length; `sent` gets the number of bytes that the client took."""

    def send(connection: socket) -> None:
        length = len(RULES) + 100_000_000
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode() + RULES)
        with contextlib.suppress(OSError):
            for _ in range(1_000):
                connection.sendall(b"#" * 99_999 + b"\n")
                sent.append(100_000)

    return send


@pytest.mark.parametrize("settings", by_each_handler())
@in_reactor
async def test_file_that_declares_a_length_above_that_bound_is_cut_and_read(
    settings: dict[str, Any],
) -> None:
    sent: list[int] = []
    with Site({"/robots.txt": huge(sent), "*": b"page"}) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/page"), site.url("/free")])
    assert set(pages(crawler).crawled) == {site.url("/free")}
    assert sum(sent) < 40 * 2**20  # with what sockets hold
    assert stats(crawler)["gbot_robots/files/cut"] == 1


@pytest.mark.parametrize("settings", by_each_handler())
@in_reactor
async def test_that_bound_stays_if_other_code_may_keep_signals_back(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Overhearing, "listening", lambda _: contextlib.nullcontext())
    sent: list[int] = []
    with Site({"/robots.txt": huge(sent), "*": b"page"}) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/free")])
    assert set(pages(crawler).refused) == {site.url("/free")}
    assert sum(sent) < 40 * 2**20


@in_reactor
async def test_file_that_declares_a_length_above_that_bound_is_read_by_http2() -> None:
    pytest.importorskip("h2")
    if find_spec("scrapy.core._http2") is None:
        pytest.skip("the HTTP/2 handler of this Scrapy sends no signals")

    def answer(_: str, path: str) -> Reply2:
        if path != "/robots.txt":
            return Reply2(200, b"page")
        body = RULES + b"\n" + b"#" * 20_000  # It is the beginning of a longer file.
        return Reply2(200, body, [("content-length", "20000000")], end="reset")

    handler = "scrapy.core.downloader.handlers.http2.H2DownloadHandler"
    settings = {"DOWNLOAD_HANDLERS": {"https": handler}, "GBOT_ROBOTS_MAX_BYTES": len(RULES)}
    with Http2Site(answer) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/page"), site.url("/free")])
    assert set(pages(crawler).crawled) == {site.url("/free")}


def by_each_http2_handler() -> list[ParameterSet]:
    """Return parameters for a test: the settings for each handler of Scrapy that has HTTP/2."""
    handler = "scrapy.core.downloader.handlers.http2.H2DownloadHandler"
    cases = [row("twisted", {"DOWNLOAD_HANDLERS": {"https": handler}})]
    for case in by_each_handler():
        if case.id == "httpx":
            settings: Any = case.values[0]
            settings = {**settings, "HTTPX_HTTP2_ENABLED": True}
            cases.append(row("httpx", settings, marks=case.marks))
    return cases


@table(
    "length, coding, is_truncated",
    row("some", "40", [], True),
    row("some-of-gzip", "40", [("content-encoding", "gzip")], True),
    row("none", "0", [], False),
    row("none-of-gzip", "0", [("content-encoding", "gzip")], False),
)
@pytest.mark.parametrize("settings", by_each_http2_handler())
@in_reactor
async def test_http2_answer_that_ends_with_its_headers_must_not_declare_a_body(  # RFC 9113 8.1.1
    settings: dict[str, Any], length: str, coding: list[tuple[str, str]], is_truncated: bool
) -> None:
    pytest.importorskip("h2", reason="h2 is not installed")
    if find_spec("scrapy.core._http2") is None:
        pytest.skip("the HTTP/2 handler of this Scrapy waits for data after the headers")

    def answer(_: str, path: str) -> Reply2:
        if path != "/robots.txt":
            return Reply2(200, b"page")
        return Reply2(200, b"", [("content-length", length), *coding], end="headers")

    with Http2Site(answer) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/page")])
    assert bool(pages(crawler).crawled) != is_truncated
    reasons = [str(why).rpartition(": ")[2] for why in pages(crawler).refused.values()]
    assert reasons == ["the body ended early"] * is_truncated
