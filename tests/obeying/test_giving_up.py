"""How long requests wait for an unreachable robots.txt, and when its host is dead or gone: over seconds and over days."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.obeying.giving_up import Patience, Trouble
from scrapy_gbot_robots.policy.outages import DAY, HOUR, Entry, Outage, Policy, renew
from scrapy_gbot_robots.policy.outcome import Failure, Outcome, Unreachable, failed

WAIT = 60.0
A, B, C = (Origin.of(f"http://{name}.example/") for name in "abc")
REFUSED, UNKNOWN = failed(Failure.REFUSED), failed(Failure.DNS)
BUSY, BROKEN = Unreachable("HTTP 503", 503), Unreachable("HTTP 500", 500)


def outage_after(*outcomes: Outcome) -> Outage:
    entry = Entry()
    for outcome in outcomes:
        entry = renew(entry, outcome, 0.0, Policy())
    assert entry.outage is not None
    return entry.outage


class Story:
    """One origin whose robots.txt fails at each fetch, and requests that wait for it. The clock is the story's own."""

    def __init__(self, wait_secs: float, outcome: Outcome, *earlier: Outcome) -> None:
        self.patience = Patience(wait_secs)
        self.outcome = outcome
        self.entry = Entry()
        if earlier:
            self.entry = Entry(None, outage_after(*earlier))

    def given_up(
        self, requests: int, meanwhile: Callable[[float], object]
    ) -> list[tuple[float, int]]:
        """When how many of the requests are given up, if `meanwhile` happens before each look at the origin."""
        given_up: list[tuple[float, int]] = []
        now, waiting_since, due = 0.0, 0.0, 0.0
        while requests:
            meanwhile(now)
            outage = self.entry.outage
            if outage is None or now >= min(outage.retry_at, due):
                self.entry = renew(self.entry, self.outcome, now, Policy())
                outage = self.entry.outage
            assert outage is not None
            due = outage.retry_at
            trouble = Trouble(A, 0.0, outage)
            self.patience.note(trouble, now)
            if self.patience.is_over(trouble, now):
                return [*given_up, (now, requests)]
            left = self.patience.secs_left(trouble, waiting_since, due - now, now)
            if left <= 0:
                number = min(requests, self.patience.given_up_at_once(trouble, now))
                requests -= number
                given_up.append((now, number))
                if not self.patience.is_long(trouble, now):
                    waiting_since = now
                left = self.patience.secs_left(trouble, now, due - now, now)
            now += left
        return given_up


def nothing(_: float) -> None: ...


@pytest.mark.parametrize(
    ("wait_secs", "outcome", "requests", "given_up"),
    [
        pytest.param(0, BUSY, 100, [(0, 100)], id="no-wait"),
        pytest.param(
            60, BUSY, 100, [(63, 64), (127, 4), (187, 4), (255, 4), (300, 24)], id="a-busy-server"
        ),
        pytest.param(60, BUSY, 10, [(63, 10)], id="few-requests"),
        pytest.param(
            60,
            Unreachable("HTTP 503", 503, 3600.0),
            80,
            [(60, 64), (120, 4), (180, 4), (240, 4), (300, 4)],
            id="retry-after-an-hour",
        ),
        pytest.param(
            DAY,
            BROKEN,
            400,
            [(86_895, 64), *((86_895 + HOUR * n, 4) for n in range(24, 96)), (5 * DAY, 48)],
            id="days-of-a-broken-server",
        ),
        pytest.param(60, UNKNOWN, 100, [(3, 100)], id="gone-after-three-tries"),
        pytest.param(60, REFUSED, 100, [(3, 100)], id="refused-three-times"),
        pytest.param(DAY, UNKNOWN, 100, [(3, 100)], id="gone-however-long-the-wait"),
        pytest.param(2, UNKNOWN, 100, [(3, 100)], id="gone-however-short-the-wait"),
        pytest.param(
            60,
            failed(Failure.DNS, "", "http://b.example/"),
            10,
            [(63, 10)],
            id="redirected-to-a-host-that-does-not-resolve",
        ),
        pytest.param(60, failed(Failure.PROXY), 10, [(63, 10)], id="a-proxy-that-is-gone"),
        pytest.param(60, failed(Failure.TIMEOUT), 10, [(63, 10)], id="no-answer"),
    ],
)
def test_requests_are_given_up_over_time(
    wait_secs: float, outcome: Outcome, requests: int, given_up: list[tuple[float, int]]
) -> None:
    assert Story(wait_secs, outcome).given_up(requests, nothing) == given_up


@pytest.mark.parametrize(
    ("earlier", "gone_at"),
    [
        pytest.param([], 3, id="no-earlier-run"),
        pytest.param([UNKNOWN], 2, id="once-before"),
        pytest.param([UNKNOWN] * 2, 2, id="twice-before"),
        pytest.param([UNKNOWN] * 40, 2, id="for-days"),
        pytest.param([BUSY] * 40, 3, id="but-it-was-busy-before"),
        pytest.param([UNKNOWN] * 40 + [BUSY], 3, id="but-it-answered-last-time"),
        pytest.param([REFUSED] * 40, 3, id="but-it-had-an-address-before"),
    ],
)
def test_host_that_was_gone_in_the_last_run_is_soon_gone_again(
    earlier: list[Outcome], gone_at: float
) -> None:
    story = Story(WAIT, UNKNOWN, *earlier)
    assert story.given_up(5, nothing) == [(gone_at, 5)]


def test_host_is_gone_at_once_if_it_was_before_and_a_server_answers_meanwhile() -> None:
    patience = Patience(WAIT)
    trouble = Trouble(A, 100.0, outage_after(*[REFUSED] * 4))
    patience.note(trouble, 100.0)
    assert not patience.is_gone(trouble, 100.1)
    assert patience.secs_left(trouble, 100.0, 8.0, 100.5) == 1.5
    patience.server_answered(100.6)
    assert patience.is_gone(trouble, 100.7)
    assert patience.is_over(trouble, 100.7)


def test_hosts_that_fail_together_are_waited_for_over_days_until_any_server_answers() -> None:
    def others_fail(now: float) -> None:
        for origin in (B, C):
            story.patience.note(Trouble(origin, 0.0, outage_after(UNKNOWN)), now)

    story = Story(DAY, UNKNOWN)
    at_a_time = story.given_up(400, others_fail)
    assert at_a_time[0] == (86_895, 64)
    assert at_a_time[-1] == (5 * DAY, 48)

    def network_is_back(now: float) -> None:
        others_fail(now)
        if now > 7200:
            story.patience.server_answered(now)

    story = Story(DAY, UNKNOWN)
    assert story.given_up(400, network_is_back) == [(7695, 400)]


@pytest.mark.parametrize(
    ("noted_at", "is_gone"),
    [
        pytest.param({B: 95.0}, False, id="another-failed-lately"),
        pytest.param({A: 99.0}, True, id="only-itself"),
        pytest.param({B: 89.0}, True, id="long-ago"),
        pytest.param({B: 95.0, A: 96.0, C: 80.0}, True, id="the-last-two-count"),
    ],
)
def test_other_hosts_count_for_ten_seconds(noted_at: dict[Origin, float], is_gone: bool) -> None:
    patience = Patience(WAIT)
    for origin, at in noted_at.items():
        patience.note(Trouble(origin, at, outage_after(REFUSED)), at)
    assert patience.is_gone(Trouble(A, 90.0, outage_after(*[REFUSED] * 3)), 100.0) is is_gone


@pytest.mark.parametrize(
    ("waiting_since", "secs_until_asked", "now", "left"),
    [
        pytest.param(0, 4, 10, 4, id="until-it-may-be-asked"),
        pytest.param(0, -3, 10, 0.1, id="asked-at-once"),
        pytest.param(0, 110, 10, 110, id="asked-within-another-wait"),
        pytest.param(0, 111, 10, 50, id="asked-too-late"),
        pytest.param(0, 4, 60, 0, id="over"),
        pytest.param(0, 4, 61, -1, id="long-over"),
        pytest.param(270, 40, 290, 10, id="dead-before-that"),
        pytest.param(290, 1, 301, -1, id="dead"),
    ],
)
def test_request_waits_until_its_robots_txt_may_be_asked_or_its_time_is_over(
    waiting_since: float, secs_until_asked: float, now: float, left: float
) -> None:
    trouble = Trouble(A, 0.0, outage_after(BUSY))
    assert Patience(WAIT).secs_left(trouble, waiting_since, secs_until_asked, now) == left


def test_look_up_that_a_bug_ended_is_waited_for() -> None:
    trouble = Trouble(A, 0.0, None)
    patience = Patience(WAIT)
    patience.note(trouble, 0.0)
    assert not patience.is_over(trouble, 299.0)
    assert patience.is_over(trouble, 300.0)
