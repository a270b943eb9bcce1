"""What a response means: by its status, its flags, its headers and its body, however the body ended."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from scrapy.http import Headers, Response
from scrapy.settings import Settings

from scrapy_gbot_robots.fetching.exchange import Exchange
from scrapy_gbot_robots.fetching.reading import content_encoding, outcome_of_response
from scrapy_gbot_robots.policy.outcome import Failure, Fetched, Outcome, Unavailable, Unreachable
from scrapy_gbot_robots.settings import GbotSettings

URL = "https://example.com/robots.txt"
RULES = b"user-agent: *\ndisallow: /private\n"


def outcome(
    body: bytes = RULES, status: int = 200, *flags: str, stopped: bool = False, headers: Any = None, **settings: Any
) -> Outcome:
    exchange = Exchange(512_000)
    exchange.stopped = stopped
    response = Response(URL, status, headers, body, [*flags])
    return outcome_of_response(response, URL, exchange, GbotSettings.of(Settings(settings)))


def test_whole_body_is_what_was_fetched() -> None:
    assert outcome() == Fetched(200, URL, RULES, False, None)


@pytest.mark.parametrize(
    ("flags", "stopped", "failure"),
    [
        pytest.param(["dataloss"], False, Failure.TRUNCATED, id="connection-ended"),
        pytest.param(["dataloss", "download_stopped"], True, Failure.TRUNCATED, id="and-we-stopped"),
        pytest.param(["download_stopped"], False, Failure.STOPPED, id="another-stopped"),
    ],
)
@pytest.mark.parametrize("body", [RULES, b""], ids=["some", "none"])
def test_part_of_a_body_is_no_robots_txt(body: bytes, flags: list[str], stopped: bool, failure: Failure) -> None:
    assert outcome(body, 200, *flags, stopped=stopped) == Unreachable(failure.value)


@pytest.mark.parametrize("flags", [["dataloss"], ["download_stopped"], ["partial"]], ids=lambda flags: flags[0])
@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_status_that_says_all_needs_no_body(flags: list[str], encoding: str) -> None:  # S2.11, S2.14
    headers = {"Content-Encoding": encoding}
    assert outcome(RULES, 404, *flags, headers=headers) == Unavailable(404, URL, "HTTP 404")
    assert outcome(RULES, 503, *flags, headers=headers) == Unreachable("HTTP 503", 503)


def test_body_that_we_cut_is_good_and_known_to_be_cut() -> None:
    assert outcome(RULES, 200, "download_stopped", stopped=True) == Fetched(200, URL, RULES, True, None)


def test_no_more_of_a_body_counts_than_the_setting_says() -> None:
    assert outcome(GBOT_ROBOTS_MAX_BYTES=len(RULES)) == Fetched(200, URL, RULES, False, None)
    assert outcome(GBOT_ROBOTS_MAX_BYTES=20) == Fetched(200, URL, RULES[:20], True, None)


def test_body_is_decoded_and_a_broken_one_is_no_robots_txt() -> None:
    packed, headers = gzip.compress(RULES), {"Content-Encoding": "gzip"}
    assert outcome(packed, headers=headers) == Fetched(200, URL, RULES, False, None)
    for broken in (RULES, packed[:-1]):
        found = outcome(broken, headers=headers)
        assert isinstance(found, Unreachable)
        assert found.why.startswith(f"{Failure.BAD_CONTENT.value} (the gzip body ")


def test_body_of_no_bytes_is_an_empty_file_unless_the_connection_ended() -> None:
    headers = {"Content-Encoding": "gzip"}
    assert outcome(b"", headers=headers) == Fetched(200, URL, b"", False, None)
    assert isinstance(outcome(b"", 200, "partial", headers=headers), Unreachable)


def test_text_in_the_page_of_a_browser_is_read_as_served() -> None:
    page = b"<html><head></head><body><pre>a: &lt;b&gt;</pre></body></html>"
    assert outcome(page, 200, "playwright") == Fetched(200, URL, b"a: <b>", False, None)
    assert outcome(page) == Fetched(200, URL, page, False, None)


def test_headers_say_for_how_long_an_answer_is_fresh_and_when_to_come_again() -> None:
    headers = {"Cache-Control": "max-age=300", "Age": "100", "Retry-After": "120"}
    assert outcome(headers=headers) == Fetched(200, URL, RULES, False, 200.0)
    assert outcome(b"", 404, headers=headers) == Unavailable(404, URL, "HTTP 404", 200.0)
    assert outcome(b"", 503, headers=headers) == Unreachable("HTTP 503", 503, 120.0)


def test_error_page_that_says_not_found_is_a_404_unless_the_setting_is_off() -> None:
    page = b"<title>Page not found</title>"
    assert isinstance(outcome(page, 500), Unavailable)
    assert isinstance(outcome(page, 500, GBOT_ROBOTS_SOFT_404=False), Unreachable)


def test_coding_that_was_taken_out_for_the_middlewares_is_known() -> None:
    response, exchange = Response(URL, headers={"Content-Encoding": ["gzip", "br"]}), Exchange(1)
    assert content_encoding(response, exchange) == "gzip,br"
    exchange.headers = Headers({"Content-Encoding": "deflate"})
    assert content_encoding(response, exchange) == "deflate"
    assert content_encoding(Response(URL), Exchange(1)) == ""
