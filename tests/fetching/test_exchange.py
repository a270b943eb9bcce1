"""What is noted of one request for a robots.txt, and when its download is stopped."""

from __future__ import annotations

import time

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_gbot_robots.fetching.exchange import NEVER_SENT, Exchange

URL = "https://example.com/robots.txt"


def test_download_goes_on_until_one_byte_more_is_there_than_is_read() -> None:
    exchange = Exchange(10)
    assert exchange.headers_received()
    assert [exchange.bytes_received(b"x" * size) for size in (4, 6, 0, 1, 1)] == [True, True, True, False, False]
    assert exchange.stopped


def test_download_for_the_status_alone_stops_at_once() -> None:
    exchange = Exchange(10, status_only=True)
    assert not exchange.headers_received()
    assert exchange.stopped
    assert not exchange.bytes_received(b"")


def test_headers_that_are_never_sent_are_taken_out_and_no_others() -> None:
    request = Request(URL, headers={"Accept": "text/plain"})
    for name in NEVER_SENT:
        request.headers.setlist(name, [])
    request.headers["Cookie"] = "of=a-middleware"
    Exchange(10).reached_downloader(request)
    assert {*request.headers} == {b"Accept", b"Cookie"}


def test_request_that_is_sent_again_begins_anew() -> None:
    exchange = Exchange(10)
    first, second = Request(URL), Request(URL)
    exchange.reached_downloader(first)
    exchange.headers_received()
    assert not exchange.bytes_received(b"x" * 11)
    exchange.response_downloaded(Response(URL))
    exchange.reached_downloader(second)
    assert (exchange.request, exchange.headers_at, exchange.stopped, exchange.response) == (second, None, False, None)
    assert exchange.headers_received()
    assert exchange.bytes_received(b"x" * 10)


def test_middlewares_see_a_response_that_needs_no_decoding() -> None:
    exchange, response = Exchange(10), Response(URL, headers={"Content-Encoding": "gzip", "Age": "1"})
    exchange.response_downloaded(response)
    assert exchange.response is response
    assert {*response.headers} == {b"Age"}
    assert exchange.headers is not None
    assert {*exchange.headers} == {b"Content-Encoding", b"Age"}


def test_time_is_that_of_the_server() -> None:
    exchange, request = Exchange(10), Request(URL)
    assert (exchange.latency, exchange.secs) == (None, 0.0)
    exchange.reached_downloader(request)
    assert exchange.latency is None
    request.meta["download_latency"] = 1.5
    exchange.headers_received()
    assert exchange.headers_at is not None
    exchange.headers_at -= 2  # the body has taken two seconds
    before = time.monotonic()
    exchange.response_downloaded(Response(URL))
    assert exchange.secs == pytest.approx(3.5, abs=time.monotonic() - before + 1)
