"""How long requests wait for an unreachable robots.txt, and when its host is dead or gone: over seconds and over days."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.obeying.patience import Patience
from scrapy_gbot_robots.policy.outages import DAY, HOUR, Entry, Outage, Policy, renew
from scrapy_gbot_robots.policy.outcome import Failure, Outcome, Unreachable, after_redirect, failed

from ..support.rows import row, table

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


def trouble(
    origin: Origin,
    outage: Outage | None,
    since: float = 0.0,
    asked_at: float = 0.0,
    ask_at: float = 9e9,
) -> Any:
    """The answer for an unreachable robots.txt, as far as patience depends on it."""
    case = SimpleNamespace(origin=origin, outage=outage, since=since, temporary=True)
    case.monotonic_given_at, case.monotonic_ask_at = max(since, asked_at), ask_at
    return case


class Story:
    """One origin whose robots.txt fails at each fetch, and requests that wait for it. The clock is the story's own."""

    def __init__(self, wait_secs: float, outcome: Outcome, *earlier: Outcome) -> None:
        self.patience = Patience(wait_secs)
        self.outcome = outcome
        self.entry = Entry()
        if earlier:
            self.entry = Entry(None, outage_after(*earlier))

    def given_up(
        self, requests: int, meanwhile: Callable[[float], object] = lambda _: None
    ) -> list[tuple[float, int]]:
        """When how many of the requests are given up, if `meanwhile` happens before each look at the origin."""
        given_up: list[tuple[float, int]] = []
        now = 0.0
        case = trouble(A, None, ask_at=0.0)
        while True:
            meanwhile(now)
            if now >= case.monotonic_ask_at:
                self.entry = renew(self.entry, self.outcome, now, Policy())
                case.outage = self.entry.outage
                case.monotonic_given_at, case.monotonic_ask_at = now, case.outage.retry_at
            self.patience.note(case, now)
            if self.patience.is_over(case, now):
                return [*given_up, (now, requests)]
            number = 0
            while number < requests and self.patience.gives_up(case, now):
                self.patience.give_up(case)
                number += 1
            if number:
                given_up.append((now, number))
            requests -= number
            if not requests:
                return given_up
            now = self.patience.look_again_at(case, now)


IN_AN_HOUR = Unreachable("HTTP 503", 503, 3600.0)
REDIRECTED = after_redirect(failed(Failure.DNS), "http://b.example/")
PORTIONS = [(63, 64), (127, 64), (255, 64), (300, 108)]
PORTIONS_OF_DAYS = [*((86_895 + DAY * n, 64) for n in range(4)), (5 * DAY, 144)]


@table(
    "wait_secs, outcome, requests, given_up",
    row("no-wait", 0, BUSY, 100, [(0, 100)]),
    row("a-busy-server", 60, BUSY, 300, PORTIONS),
    row("few-requests", 60, BUSY, 10, [(63, 10)]),
    row("retry-after-an-hour", 60, IN_AN_HOUR, 80, [(60, 64), (300, 16)]),
    row("days-of-a-broken-server", DAY, BROKEN, 400, PORTIONS_OF_DAYS),
    row("gone-after-three-tries", 60, UNKNOWN, 100, [(3, 100)]),
    row("refused-three-times", 60, REFUSED, 100, [(3, 100)]),
    row("gone-however-long-the-wait", DAY, UNKNOWN, 100, [(3, 100)]),
    row("gone-however-short-the-wait", 2, UNKNOWN, 100, [(3, 100)]),
    row("redirected-to-a-host-without-an-address", 60, REDIRECTED, 10, [(63, 10)]),
    row("a-proxy-that-is-gone", 60, failed(Failure.PROXY), 10, [(63, 10)]),
    row("no-answer", 60, failed(Failure.TIMEOUT), 10, [(63, 10)]),
)
def test_requests_are_given_up_over_time(
    wait_secs: float, outcome: Outcome, requests: int, given_up: list[tuple[float, int]]
) -> None:
    assert Story(wait_secs, outcome).given_up(requests) == given_up


@table(
    "earlier, gone_at",
    row("no-earlier-run", [], 3),
    row("once-before", [UNKNOWN], 2),
    row("twice-before", [UNKNOWN] * 2, 2),
    row("for-days", [UNKNOWN] * 40, 2),
    row("but-it-was-busy-before", [BUSY] * 40, 3),
    row("but-it-answered-last-time", [UNKNOWN] * 40 + [BUSY], 3),
    row("but-it-had-an-address-before", [REFUSED] * 40, 3),
)
def test_host_gone_in_the_last_run_is_soon_gone_again(
    earlier: list[Outcome], gone_at: float
) -> None:
    story = Story(WAIT, UNKNOWN, *earlier)
    assert story.given_up(5) == [(gone_at, 5)]


def test_host_is_gone_at_once_if_it_was_before_and_a_server_answers_meanwhile() -> None:
    patience = Patience(WAIT)
    case = trouble(A, outage_after(*[REFUSED] * 4), 100.0, ask_at=108.0)
    patience.note(case, 100.0)
    assert not patience.is_gone(case, 100.1)
    assert patience.look_again_at(case, 100.5) == 102.0
    patience.answered_at = 100.6
    assert patience.is_gone(case, 100.7)
    assert patience.is_over(case, 100.7)


def test_hosts_that_fail_together_are_waited_for_over_hours_until_any_server_answers() -> None:
    def others_fail(now: float) -> None:
        for origin in (B, C):
            story.patience.note(trouble(origin, outage_after(UNKNOWN)), now)

    story = Story(HOUR, UNKNOWN)
    at_a_time = story.given_up(400, others_fail)
    assert at_a_time[0] == (4095, 64)
    assert at_a_time[-1] == (5 * HOUR, 144)

    def network_is_back(now: float) -> None:
        others_fail(now)
        if now > 1200:
            story.patience.answered_at = now

    story = Story(HOUR, UNKNOWN)
    assert story.given_up(400, network_is_back) == [(1201, 400)]


@table(
    "noted_at, is_gone",
    row("another-failed-lately", {B: 95.0}, False),
    row("only-itself", {A: 99.0}, True),
    row("long-ago", {B: 89.0}, True),
    row("the-last-two-count", {B: 95.0, A: 96.0, C: 80.0}, True),
)
def test_other_hosts_count_for_ten_seconds(noted_at: dict[Origin, float], is_gone: bool) -> None:
    patience = Patience(WAIT)
    for origin, at in noted_at.items():
        patience.note(trouble(origin, outage_after(REFUSED), at), at)
    assert patience.is_gone(trouble(A, outage_after(*[REFUSED] * 3), 90.0), 100.0) is is_gone


def test_in_doubt_whether_a_host_is_gone_it_is_looked_at_each_two_seconds() -> None:
    patience = Patience(WAIT)
    patience.note(trouble(B, outage_after(REFUSED), 0.0), 9.0)
    case = trouble(A, outage_after(*[REFUSED] * 3), 0.0, ask_at=40.0)
    assert not patience.is_gone(case, 9.5)
    assert patience.look_again_at(case, 9.5) == 11.5
    assert patience.is_gone(case, 19.0)


@table(
    "asked_at, ask_at, ends",
    row("with-the-look-up-after-it", 31, 63, 63),
    row("with-one-as-late-as-twice-the-wait", 0, 120, 120),
    row("at-once-if-that-comes-too-late", 0, 121, 60),
    row("at-once-if-the-look-up-is-not-made", 0, 30, 60),
    row("it-is-over-with-the-look-up", 63, 70, 60),
)
def test_wait_ends(asked_at: float, ask_at: float, ends: float) -> None:
    case = trouble(A, outage_after(BUSY), 0.0, asked_at, ask_at)
    patience = Patience(WAIT)
    assert patience.is_first_wait(case, ends - 0.1)
    assert not patience.is_first_wait(case, ends)


@table(
    "asked_at, ask_at, now, at",
    row("when-it-may-be-asked", 3, 7, 3, 7),
    row("soon-if-it-might-have-been-asked-before", 3, 7, 9, 9.1),
    row("within-another-wait", 0, 111, 10, 111),
    row("when-the-wait-is-over", 0, 131, 10, 60),
    row("not-again-when-the-wait-is-over", 0, 131, 60, 131),
    row("when-it-is-dead", 280, 900, 280, 300),
)
def test_origin_is_looked_at_again(asked_at: float, ask_at: float, now: float, at: float) -> None:
    case = trouble(A, outage_after(BUSY), 0.0, asked_at, ask_at)
    assert Patience(WAIT).look_again_at(case, now) == at


def test_origin_has_one_portion_in_a_wait_whatever_its_answers() -> None:
    def given_up(case: Any) -> int:
        number = 0
        while number < 1000 and patience.gives_up(case, 100.0):
            patience.give_up(case)
            number += 1
        return number

    patience = Patience(WAIT)
    answers = [trouble(A, outage_after(BUSY)) for _ in range(2)]  # another one of the same outage
    for answer in answers:
        patience.note(answer, 100.0)
    assert [given_up(answer) for answer in answers] == [64, 0]
    other = trouble(B, outage_after(BUSY))
    patience.note(other, 100.0)
    assert given_up(other) == 64
    patience.note(SimpleNamespace(origin=A, outage=None, temporary=False), 100.0)  # type: ignore[arg-type]
    patience.note(answers[0], 100.0)  # the next outage
    assert given_up(answers[0]) == 64


def test_look_up_that_a_bug_ended_is_waited_for() -> None:
    case = trouble(A, None)
    patience = Patience(WAIT)
    patience.note(case, 0.0)
    assert not patience.is_over(case, 299.0)
    assert patience.is_over(case, 300.0)
