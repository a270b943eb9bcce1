"""The outcome of one answer, by its status code, or of one failure."""

from collections.abc import Iterable
from functools import partial

import pytest

from scrapy_gbot_robots.policy.outcome import (
    Failure,
    Fetched,
    Outcome,
    Unavailable,
    Unreachable,
    after_redirect,
    failed,
    outcome_of,
)

from ..support.rows import row, table

URL = "https://example.com/robots.txt"
BODY = b"User-agent: *\nDisallow: /\n"
NOT_FOUND_PAGE = b"<title>Page not found</title>"
FOUR_DIGITS = "not an HTTP answer (a status code of more than three digits)"
SAYS_NOT_FOUND = 'HTTP 500 that says "not found", as 404'
meant = partial(outcome_of, soft_404=True, proxied=False, headers={})


@table(
    "statuses, outcome",
    row("S2.3-S2.27", range(200, 300), Fetched),
    row("S2.9-redirect-that-is-not-followed", {*range(300, 400)} - {304}, Unavailable),
    row("S2.11-407-without-a-proxy-too", {*range(400, 500)} - {429}, Unavailable),
    row("S2.12", [429], Unreachable),
    row("S2.14", range(500, 600), Unreachable),
    row("S2.26", [-404, *range(200), 304, *range(600, 1001), 2**64], Unreachable),
)
def test_status_code_decides(statuses: Iterable[int], outcome: type[Outcome]) -> None:
    assert {type(meant(status, URL, BODY)) for status in statuses} == {outcome}


@table(
    "outcome, expected",
    (meant(200, URL, BODY, cut=True, max_age=60.0), Fetched(200, URL, BODY, True, 60.0)),
    (meant(200, URL, b""), Fetched(200, URL, b"")),  # S2.27
    (meant(403, URL, BODY, max_age=60.0), Unavailable(403, URL, "HTTP 403", 60.0)),
    (meant(503, URL, BODY, retry_after=60.0), Unreachable("HTTP 503", 503, 60.0)),
    (meant(2**64, URL, BODY), Unreachable(FOUR_DIGITS, failure=Failure.INVALID)),
    (meant(500, URL, NOT_FOUND_PAGE), Unavailable(500, URL, SAYS_NOT_FOUND)),
    (meant(500, URL, NOT_FOUND_PAGE, soft_404=False), Unreachable("HTTP 500", 500)),
)
def test_outcome_carries_what_is_known_of_the_answer(outcome: Outcome, expected: Outcome) -> None:
    assert outcome == expected


def test_only_a_5xx_that_says_not_found_is_a_404() -> None:  # S2.19
    assert {type(meant(status, URL, NOT_FOUND_PAGE)) for status in range(500, 600)} == {Unavailable}
    for status in (200, 304, 429, 600):
        assert type(meant(status, URL, NOT_FOUND_PAGE)) is type(meant(status, URL, BODY))


def test_proxy_that_wants_credentials_is_no_answer_of_the_site() -> None:  # S2.11, S2.20
    outcome = meant(407, URL, b"", proxied=True)
    assert isinstance(outcome, Unreachable)
    assert (outcome.failure, outcome.why) == (Failure.PROXY, "the proxy failed (HTTP 407)")


@pytest.mark.parametrize("failure", [row(f"S2.20-{failure.name}", failure) for failure in Failure])
def test_every_failure_is_unreachable(failure: Failure) -> None:
    assert failed(failure) == Unreachable(failure.value, failure=failure)
    at = "http://b.example/r.txt"
    outcome = after_redirect(failed(failure, "in the error's own words"), at)
    assert (outcome.failure, outcome.redirected_to) == (failure, at)
    assert outcome.why == f"{failure.value} (in the error's own words), redirected to {at}"


def test_status_after_a_redirect_is_told_as_it_is() -> None:
    outcome = after_redirect(Unreachable("HTTP 503", 503), "http://b.example/r.txt")
    assert (outcome.why, outcome.redirected_to) == ("HTTP 503", "http://b.example/r.txt")


def test_failure_carries_the_errors_own_words_on_one_short_printable_line() -> None:
    odd = failed(Failure.OTHER, "a\x1b[31m\x9b1m\u202eb\r\nc")
    assert odd.why == r"the fetch failed (a\x1b[31m\x9b1m\u202eb c)"
    outcome = failed(Failure.DNS, "no such\nhost: " + "x" * 10_000)
    assert outcome.why.startswith("the host name does not resolve (no such host: xxx")
    assert len(outcome.why) < 300
