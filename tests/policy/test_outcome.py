"""The outcome of one answer, by its status code, or of one failure."""

from __future__ import annotations

from functools import partial

import pytest

from scrapy_gbot_robots.policy.outcome import (
    Failure,
    Fetched,
    Outcome,
    Unavailable,
    Unreachable,
    failed,
    failure_in,
    outcome_of,
    recalled,
)

URL = "https://example.com/robots.txt"
BODY = b"User-agent: *\nDisallow: /\n"
NOT_FOUND_PAGE = b"<title>Page not found</title>"
meant = partial(outcome_of, soft_404=True, proxied=False, headers={})


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        pytest.param(200, Fetched, id="S2.3-200"),
        pytest.param(203, Fetched, id="S2.3-203"),
        pytest.param(204, Fetched, id="S2.27-204"),
        pytest.param(206, Fetched, id="S2.3-206"),
        pytest.param(299, Fetched, id="S2.3-299"),
        pytest.param(300, Unavailable, id="S2.9-300"),
        pytest.param(301, Unavailable, id="S2.9-301-not-followed"),
        pytest.param(304, Unreachable, id="S2.26-304"),
        pytest.param(305, Unavailable, id="S2.9-305"),
        pytest.param(306, Unavailable, id="S2.9-306"),
        pytest.param(399, Unavailable, id="S2.9-399"),
        pytest.param(400, Unavailable, id="S2.11-400"),
        pytest.param(401, Unavailable, id="S2.11-401"),
        pytest.param(403, Unavailable, id="S2.11-403"),
        pytest.param(404, Unavailable, id="S2.11-404"),
        pytest.param(407, Unavailable, id="S2.11-407-without-a-proxy"),
        pytest.param(410, Unavailable, id="S2.11-410"),
        pytest.param(428, Unavailable, id="S2.11-428"),
        pytest.param(429, Unreachable, id="S2.12-429"),
        pytest.param(430, Unavailable, id="S2.11-430"),
        pytest.param(451, Unavailable, id="S2.11-451"),
        pytest.param(499, Unavailable, id="S2.11-499"),
        pytest.param(500, Unreachable, id="S2.14-500"),
        pytest.param(503, Unreachable, id="S2.14-503"),
        pytest.param(599, Unreachable, id="S2.14-599"),
        pytest.param(600, Unreachable, id="S2.26-600"),
        pytest.param(999, Unreachable, id="S2.26-999"),
        pytest.param(100, Unreachable, id="S2.26-100"),
        pytest.param(199, Unreachable, id="S2.26-199"),
        pytest.param(0, Unreachable, id="S2.26-0"),
        pytest.param(-404, Unreachable, id="S2.26-negative"),
    ],
)
def test_status_code_decides(status: int, outcome: type[Outcome]) -> None:
    assert type(meant(status, URL, BODY)) is outcome


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (meant(200, URL, BODY, cut=True, max_age=60.0), Fetched(200, URL, BODY, cut=True, max_age=60.0)),
        (meant(200, URL, b""), Fetched(200, URL, b"")),  # S2.27
        (meant(403, URL, BODY, max_age=60.0), Unavailable(403, URL, "HTTP 403", 60.0)),
        (meant(503, URL, BODY, retry_after=60.0), Unreachable("HTTP 503", 503, 60.0)),
        (meant(2**64, URL, BODY), Unreachable("not an HTTP answer (a status code of more than three digits)")),
        (meant(500, URL, NOT_FOUND_PAGE), Unavailable(500, URL, 'HTTP 500 that says "not found", as 404')),
        (meant(500, URL, NOT_FOUND_PAGE, soft_404=False), Unreachable("HTTP 500", 500)),
    ],
)
def test_outcome_carries_what_is_known_of_the_answer(outcome: Outcome, expected: Outcome) -> None:
    assert outcome == expected


def test_only_a_5xx_that_says_not_found_is_a_404() -> None:  # S2.19
    as_said = {status: type(meant(status, URL, NOT_FOUND_PAGE)) for status in range(1000)}
    changed = {status for status, outcome in as_said.items() if outcome is not type(meant(status, URL, BODY))}
    assert changed - {202} == set(range(500, 600))  # a 202 without rules is a wall's
    assert {as_said[status] for status in changed} == {Unavailable}


def test_proxy_that_wants_credentials_is_no_answer_of_the_site() -> None:  # S2.11, S2.20
    outcome = meant(407, URL, b"", proxied=True)
    assert isinstance(outcome, Unreachable)
    assert Failure.PROXY.value in outcome.why


@pytest.mark.parametrize("failure", [pytest.param(failure, id=f"S2.20-{failure.name}") for failure in Failure])
def test_every_failure_is_unreachable(failure: Failure) -> None:
    assert failed(failure) == Unreachable(failure.value)
    assert failure_in(failed(failure, "in the error's own words").why) is failure


def test_answer_of_a_server_names_no_failure() -> None:
    assert failure_in("status 503") is None


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
