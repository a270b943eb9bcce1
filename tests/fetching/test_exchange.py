"""What is noted of one request for a robots.txt, when its download is stopped, and what its response means.

A response means something by its status, its flags, its headers and its body, however the body ended.
"""

from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings

from scrapy_gbot_robots.fetching.exchange import Exchange
from scrapy_gbot_robots.policy.outcome import (
    Failure,
    Fetched,
    Outcome,
    Unavailable,
    Unreachable,
    failed,
)
from scrapy_gbot_robots.settings import GbotSettings

from ..support.crawls import as_scrapy_runs_it
from ..support.rows import row, table

URL = "https://example.com/robots.txt"
RULES = b"user-agent: *\ndisallow: /private\n"


def outcome(
    body: bytes = RULES,
    status: int = 200,
    *flags: str,
    stopped: bool = False,
    headers: Any = None,
    **settings: Any,
) -> Outcome:
    exchange = Exchange(Request(URL), 512_000)
    exchange.stopped = stopped
    exchange.keep_response(response := Response(URL, status, headers, body, [*flags]))
    return exchange.outcome(response, URL, GbotSettings.of(Settings(settings)))


@table(
    "flags, stopped",
    row("connection-ended", ["dataloss"], False),
    row("and-we-stopped", ["dataloss", "download_stopped"], True),
    row("another-stopped", ["download_stopped"], False),
)
@pytest.mark.parametrize("body", [RULES, b""], ids=["some", "none"])
def test_part_of_a_body_is_no_robots_txt(body: bytes, flags: list[str], stopped: bool) -> None:
    assert outcome(body, 200, *flags, stopped=stopped) == failed(Failure.TRUNCATED)


@table(
    "length, by, status, is_truncated",
    row("http-2", "40", "h2", 200, True),
    row("httpx-name", "40", "HTTP/2", 200, True),
    row("twice", "0040, 0040", "h2", 200, True),
    row("zero", "00", "h2", 200, False),
    row("no-number", "x", "h2", 200, False),
    row("status-without-body", "40", "h2", 204, False),
    row("reset-content", "40", "h2", 205, True),
    # The handler compares lengths itself, and may have decoded the body: a gzip body has 20 bytes
    # if the file in it is empty.
    row("http-1", "20", "HTTP/1.1", 200, False),
    row("handler-names-none", "20", None, 200, False),
    row("from-a-cache", "40", "a middleware", 200, True),
)
def test_empty_body_is_truncated_if_a_length_was_declared_and_nobody_has_compared(
    length: str, by: str | None, status: int, is_truncated: bool
) -> None:
    headers = {"Content-Length": length}

    def outcome_of(body: bytes) -> Outcome:
        exchange = Exchange(Request(URL), 512_000)
        response = Response(URL, status, headers, body)
        if by != "a middleware":
            exchange.request = exchange.robots_request
            response = response.replace(protocol=by)
        exchange.keep_response(response)
        return exchange.outcome(response, URL, GbotSettings.of(Settings()))

    empty = Fetched(status, URL, b"", False, None)
    assert outcome_of(b"") == (failed(Failure.TRUNCATED) if is_truncated else empty)
    # A handler or a cache may have decoded the body, so it may have another length.
    assert outcome_of(RULES) == Fetched(status, URL, RULES, False, None)


def test_body_that_is_cut_at_the_limit_is_good_and_known_to_be_cut() -> None:
    cut = outcome(RULES, 200, "download_stopped", stopped=True)
    assert cut == Fetched(200, URL, RULES, True, None)
    assert outcome(GBOT_ROBOTS_MAX_BYTES=len(RULES)) == Fetched(200, URL, RULES, False, None)
    assert outcome(GBOT_ROBOTS_MAX_BYTES=20) == Fetched(200, URL, RULES[:20], True, None)


@pytest.mark.parametrize("coding", ["gzip, chunked", "chunked, gzip", "GZIP", "x"])
def test_transfer_coding_that_was_not_undone_makes_a_body_unreadable(coding: str) -> None:
    headers = {"Transfer-Encoding": coding}  # RFC 9112 6.1
    found = outcome(headers=headers)
    assert isinstance(found, Unreachable)
    detail = f"Transfer-Encoding {coding.lower()!r} was not decoded"
    assert found.why == f"the body cannot be decompressed ({detail})"
    assert outcome(RULES, 404, headers=headers) == Unavailable(404, URL, "HTTP 404")
    undone = outcome(headers={"Transfer-Encoding": "Chunked"})
    assert undone == Fetched(200, URL, RULES, False, None)


@table(
    "status, protocol, headers, is_flagged",
    row("nothing", 200, "HTTP/1.1", {}, True),
    row("connection-close", 200, "HTTP/1.0", {"Connection": "close"}, True),
    row("identity", 200, "HTTP/1.1", {"Transfer-Encoding": "identity"}, True),
    row("chunks", 200, "HTTP/1.1", {"Transfer-Encoding": "Chunked"}, False),
    row("length", 200, "HTTP/1.1", {"Content-Length": "0"}, False),
    row("status-without-body", 204, "HTTP/1.1", {}, False),
    row("http-2", 200, "HTTP/2", {}, False),
)
def test_body_is_of_unknown_length_if_nothing_says_where_it_ends(  # RFC 9112 6.3
    status: int, protocol: str, headers: dict[str, str], is_flagged: bool
) -> None:
    exchange = Exchange(Request(URL), 512_000)
    exchange.keep_response(response := Response(URL, status, headers, protocol=protocol))
    exchange.flag_unknown_length()
    assert response.flags == ["partial"] * is_flagged


def test_text_in_the_page_of_a_browser_is_read_as_served() -> None:
    page = b"<html><head></head><body><pre>a: &lt;b&gt;</pre></body></html>"
    assert outcome(page, 200, "playwright") == Fetched(200, URL, b"a: <b>", False, None)
    assert outcome(page) == Fetched(200, URL, page, False, None, instead="a web page")


def test_headers_say_for_how_long_an_answer_is_fresh_and_when_to_come_again() -> None:
    headers = {"Cache-Control": "max-age=300", "Age": "100", "Retry-After": "120"}
    assert outcome(headers=headers) == Fetched(200, URL, RULES, False, 200.0)
    assert outcome(b"", 404, headers=headers) == Unavailable(404, URL, "HTTP 404", 200.0)
    assert outcome(b"", 503, headers=headers) == Unreachable("HTTP 503", 503, 120.0)


async def sent(
    exchange: Exchange, request: Request, response: Response, *received: bytes
) -> list[bool]:
    """Let a download handler have `request`; whether it was told to go on after its headers, and after each piece."""
    told: list[bool] = []

    async def send(_: Request) -> Response:
        told.extend(exchange.goes_on(data) for data in (b"", *received))
        return response

    assert await exchange.sent(send, request) is response
    return told


@as_scrapy_runs_it
async def test_download_goes_on_until_one_byte_more_is_there_than_is_read() -> None:
    exchange = Exchange(Request(URL), 10)
    pieces = [b"x" * size for size in (4, 6, 0, 1, 1)]
    told = await sent(exchange, Request(URL), Response(URL), *pieces)
    assert told == [True, True, True, True, False, False]
    assert exchange.stopped


@as_scrapy_runs_it
async def test_headers_that_are_never_sent_are_taken_out_and_no_others() -> None:
    request = Request(URL, headers={"Accept": "text/plain"})
    conditions = "If-Match If-Modified-Since If-None-Match If-Unmodified-Since"
    for name in ["Authorization", "Cookie", *conditions.split(), "Range", "Referer"]:
        request.headers.setlist(name, [])
    request.headers["Cookie"] = "of=a-middleware"
    await sent(Exchange(Request(URL), 10), request, Response(URL))
    assert {*request.headers} == {b"Accept", b"Cookie"}


@as_scrapy_runs_it
async def test_request_that_is_sent_again_begins_anew() -> None:
    exchange, second = Exchange(Request(URL), 10), Request(URL)
    assert await sent(exchange, Request(URL), Response(URL), b"x" * 11) == [True, False]
    assert await sent(exchange, second, Response(URL), b"x" * 10) == [True, True]
    assert (exchange.request, exchange.stopped) == (second, False)


@as_scrapy_runs_it
async def test_middlewares_see_a_response_that_needs_no_decoding() -> None:
    exchange = Exchange(Request(URL), 10)
    response = Response(URL, headers={"Content-Encoding": "gzip", "Age": "1"})
    await sent(exchange, Request(URL), response)
    assert exchange.response is response
    assert {*response.headers} == {b"Age"}
    assert {*exchange.headers} == {b"Content-Encoding", b"Age"}
