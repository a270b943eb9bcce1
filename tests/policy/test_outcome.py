"""The outcome of one answer, or of one failure."""

from __future__ import annotations

import pytest

from scrapy_gbot_robots.policy.outcome import Failure, Fetched, Unreachable, failed, recalled

URL = "http://e.com/robots.txt"


@pytest.mark.parametrize("failure", [pytest.param(failure, id=f"S2.20-{failure.name}") for failure in Failure])
def test_every_failure_is_unreachable(failure: Failure) -> None:
    assert failed(failure) == Unreachable(failure.value)


def test_failure_carries_the_errors_own_words_on_one_short_line() -> None:
    outcome = failed(Failure.DNS, "no such\nhost: " + "x" * 10_000)
    assert outcome.why.startswith("the host name does not resolve (no such host: xxx")
    assert len(outcome.why) < 300


def test_foreign_error_message_becomes_printable() -> None:
    assert failed(Failure.OTHER, "a\x1b[31m\x9b1m\u202eb\r\nc").why == r"the fetch failed (a\x1b[31m\x9b1m\u202eb c)"


def test_answer_from_an_http_cache_is_good_for_no_longer_than_any_must_be() -> None:
    fetched = Fetched(200, URL, b"", max_age=86_400.0)
    assert recalled(fetched) == Fetched(200, URL, b"", max_age=0.0, recalled=True)
    assert recalled(Unreachable("HTTP 503", 503)) == Unreachable("HTTP 503", 503, recalled=True)
