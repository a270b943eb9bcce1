"""What an entry means over time, and when to ask again: each ladder over simulated weeks."""

import math
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.policy.outages import (
    DAY,
    HOUR,
    LADDERS,
    MINUTE,
    Copy,
    Decision,
    Entry,
    Kind,
    Outage,
    Policy,
    State,
    date_of,
    decide,
    is_to_be_confirmed,
    lacks_a_part,
    renew,
    span,
)
from scrapy_gbot_robots.policy.outcome import (
    Failure,
    Fetched,
    Outcome,
    Unavailable,
    Unreachable,
    after_redirect,
    failed,
)

from ..support.entries import ENTRIES
from ..support.rows import row, table

NOW = 1_700_000_000.0
URL = "https://example.com/robots.txt"
BODY = b"User-agent: *\nDisallow: /private\n"
DISALLOW, ALLOW, RULES = State.FULL_DISALLOW, State.FULL_ALLOW, State.RULES
GOOGLE = Policy()
DOWN = Unreachable("HTTP 500", 500)
CUT = Fetched(200, URL, BODY, cut=True)


def after(*outcomes: Outcome, at: float = NOW, policy: Policy = GOOGLE) -> Entry:
    """What is known after outcomes, all at one time."""
    entry = None
    for outcome in outcomes:
        entry = renew(entry, outcome, at, policy)
    assert entry is not None
    return entry


SERVED = after(Fetched(200, URL, BODY), at=NOW - 2 * DAY)  # stale by the time the outage begins
MISSING = after(Unavailable(404, URL, "HTTP 404"), at=NOW - 2 * DAY)


# Definite answers


@table(
    "outcomes, state, why",
    row("S2.3-fetched", [CUT], RULES, "HTTP 200"),
    row("S2.11-unavailable", [Unavailable(403, URL, "HTTP 403")], ALLOW, "HTTP 403"),
    row("S2.15-after-an-outage", [DOWN, DOWN, CUT], RULES, "HTTP 200"),
    row("gone", [Fetched(200, URL, BODY), Unavailable(404, URL, "HTTP 404")], ALLOW, "HTTP 404"),
)
def test_last_definite_answer_decides(outcomes: list[Outcome], state: State, why: str) -> None:
    entry = after(*outcomes)
    decision = decide(entry, NOW, GOOGLE)
    assert (decision.state, decision.why, decision.temporary) == (state, why, False)
    assert entry.outage is None
    if state is RULES:
        assert decision.copy == Copy(Kind.RULES, 200, URL, BODY, True, "HTTP 200", NOW, NOW + DAY)


def test_nothing_is_allowed_before_robots_txt_was_asked() -> None:
    decision = decide(None, NOW, GOOGLE)
    assert (decision.state, decision.temporary, decision.ask_at) == (DISALLOW, True, NOW)
    assert decide(Entry(), NOW, GOOGLE) == decision


# The ladders of S2.24: ages of an outage at which nothing is allowed, at which the copy counts, or else
# all is allowed, and at which all is allowed (S2.23)

SWITCH = 12 * HOUR
WEEKS: dict[str, dict[State, list[float]]] = {
    "google": {DISALLOW: [0, 30 * DAY - 1], RULES: [30 * DAY + 1, 400 * DAY]},
    "google-2026": {
        DISALLOW: [0, SWITCH - 1],
        RULES: [SWITCH + 1, 30 * DAY + SWITCH - 1],
        ALLOW: [30 * DAY + SWITCH + 1],
    },
    "rfc9309": {DISALLOW: [29 * DAY], RULES: [31 * DAY]},
    "allow": {RULES: [0, 31 * DAY]},
}
ROWS = [
    row(f"S2.24-{ladder}-{age / DAY:.2f}d", ladder, age, rung)
    for ladder in LADDERS
    for rung, ages in WEEKS[ladder].items()
    for age in ages
]


@pytest.mark.parametrize(("ladder", "age", "rung"), ROWS)
@pytest.mark.parametrize(
    "outcome", [DOWN, Unreachable("HTTP 429", 429), failed(Failure.DNS)], ids=["500", "429", "dns"]
)
def test_ladder_over_weeks(ladder: str, age: float, rung: State, outcome: Outcome) -> None:
    policy = Policy(ladder)
    for entry, by_copy in ((SERVED, RULES), (None, ALLOW), (MISSING, ALLOW)):
        decision = decide(renew(entry, outcome, NOW, policy), NOW + age, policy)
        assert (decision.state, decision.temporary) == (by_copy if rung is RULES else rung, True)
        assert (decision.copy is not None) == (rung is RULES and entry is not None)


def test_unknown_words_are_refused() -> None:
    ladders = "google, google-2026, rfc9309, allow"
    with pytest.raises(ValueError, match=f"unreachable must be one of {ladders}, got 'open'"):
        Policy("open")
    with pytest.raises(
        ValueError, match="access_denied must be one of allow, disallow, got 'Disallow'"
    ):
        Policy(access_denied="Disallow")


@table(
    "age, words",
    row("s", 0, ": HTTP 500"),
    row("min", 90, " for 1 min: HTTP 500"),
    row("h", 3 * HOUR, " for 3 h: HTTP 500"),
    row("d-and-a-copy", 33 * DAY, " for 33 d: HTTP 500; the last answer counts"),
)
def test_decision_says_why_and_for_how_long(age: float, words: str) -> None:
    decision = decide(renew(SERVED, DOWN, NOW, GOOGLE), NOW + age, GOOGLE)
    assert decision.why == f"robots.txt unreachable{words}"


def test_outage_has_the_last_failure_as_data() -> None:
    refused = Unreachable("words", failure=Failure.REFUSED, redirected_to="http://b.example/r.txt")
    first = renew(SERVED, DOWN, NOW, GOOGLE)
    assert first.outage is not None
    assert first.outage.cause == "HTTP 500"
    entry = renew(first, refused, NOW + 5, GOOGLE)
    last = (None, "words", NOW + 6, Failure.REFUSED, 1, NOW + 5, "http://b.example/r.txt")
    outage = Outage(NOW, 2, *last)
    assert entry == Entry(SERVED.copy, outage)
    assert outage.cause == "connection refused"
    for ladder in LADDERS:
        for days in (0, 1, 40):
            assert decide(entry, NOW + days * DAY, Policy(ladder)).outage == outage
    assert decide(SERVED, NOW, GOOGLE).outage is None


def test_outage_counts_the_last_failures_that_are_alike() -> None:
    lost, unknown = failed(Failure.REFUSED), failed(Failure.DNS)
    for outcomes, alike in (
        ([lost], 1),
        ([lost, lost, lost], 3),
        ([DOWN, DOWN, lost, lost], 2),
        ([lost, lost, unknown], 1),
        ([lost, lost, DOWN], 1),
        ([lost, lost, DOWN, lost], 1),
    ):
        outage = after(*outcomes).outage
        assert outage is not None
        assert (outage.alike, outage.failures) == (alike, len(outcomes))


@table(
    "entry, expected",
    row("no-address", after(failed(Failure.DNS)), True),
    row("no-server", after(failed(Failure.REFUSED)), True),
    row("slow", after(failed(Failure.TIMEOUT)), False),
    row("proxy", after(failed(Failure.PROXY)), False),
    row("an-answer", after(DOWN), False),
    row("no-address-since-an-answer", after(DOWN, failed(Failure.DNS)), True),
    row("stale-copy", renew(SERVED, failed(Failure.DNS), NOW, GOOGLE), True),
    row("fresh-copy", after(Fetched(200, URL, BODY), failed(Failure.DNS)), False),
    row("no-outage", SERVED, False),
)
def test_next_run_sees_for_itself_that_there_is_no_server(entry: Entry, expected: bool) -> None:
    assert is_to_be_confirmed(decide(entry, NOW + 1, GOOGLE), began_at=NOW + 1) is expected
    if entry.outage and entry.outage.failed_at:
        assert not is_to_be_confirmed(decide(entry, NOW + 1, GOOGLE), began_at=NOW)


def test_copy_that_counts_after_a_month_is_used_without_a_try() -> None:
    entry = renew(SERVED, failed(Failure.DNS), NOW, GOOGLE)
    assert not is_to_be_confirmed(decide(entry, NOW + 31 * DAY, GOOGLE), began_at=NOW + 31 * DAY)


# Asking again


@table(
    "outcome, kept, at_last",
    row("ever-more-slowly", DOWN, [1, 2, 4, 8], HOUR),
    row("S2.16-503-fairly-often", Unreachable("HTTP 503", 503), [1, 2, 4, 8], 5 * MINUTE),
    row("S2.12-429-fairly-often", Unreachable("HTTP 429", 429), [1, 2, 4, 8], 5 * MINUTE),
    row("asked-for", Unreachable("HTTP 503", 503, 120.0), [120], 120),
    row("asked-for-beyond-back-off", Unreachable("HTTP 503", 503, 7200.0), [7200], 7200),
    row("asked-for-haste", Unreachable("HTTP 503", 503, 0.0), [1, 2, 4, 8, 16], MINUTE),
    row("asked-for-years", Unreachable("HTTP 503", 503, 2.0**31), [DAY], DAY),
)
def test_failures_are_asked_again_as_the_server_wants_within_bounds(
    outcome: Outcome, kept: list[float], at_last: float
) -> None:
    entry, waits = None, []
    for _ in range(100):
        entry = renew(entry, outcome, NOW, GOOGLE)
        waits.append(decide(entry, NOW, GOOGLE).ask_at - NOW)
    assert waits[: len(kept)] == kept
    assert waits[-1] == at_last


def test_stored_soft_404_does_not_count_if_the_setting_is_off() -> None:
    entry = after(Unavailable(500, URL, "HTTP 500, as 404"))
    assert decide(entry, NOW, GOOGLE).state is State.FULL_ALLOW
    assert decide(entry, NOW, Policy(soft_404=False)).state is State.FULL_DISALLOW
    missing = after(Unavailable(404, URL, "HTTP 404"))
    assert decide(missing, NOW, Policy(soft_404=False)).state is State.FULL_ALLOW


def test_request_does_not_wait_for_each_attempt_where_it_may_go_on() -> None:
    policy = Policy("allow")
    entry = renew(None, DOWN, NOW, policy)
    decision = decide(entry, NOW + MINUTE, policy)
    assert decision.refresh_at <= NOW + MINUTE < decision.ask_at
    assert decide(entry, NOW + DAY, policy).ask_at <= NOW + DAY


# Freshness


@table(
    "max_age, cap, lifetime",
    row("S3.1-a-day", None, DAY, DAY),
    row("S3.5-max-age-shortens", HOUR, DAY, HOUR),
    row("S3.5-floor", 5.0, DAY, MINUTE),
    row("S3.5-max-age-does-not-lengthen", 7 * DAY, DAY, DAY),
    row("S3.5-lengthens-to-a-raised-cap", 7 * DAY, 3 * DAY, 3 * DAY),
    row("S3.5-lengthens-below-a-raised-cap", 2 * DAY, 3 * DAY, 2 * DAY),
    row("S3.5-a-raised-cap-alone-does-not-lengthen", None, 3 * DAY, DAY),
    row("lowered-cap", None, HOUR, HOUR),
    row("cap-below-the-floor", 0.0, 10.0, 10.0),
)
@pytest.mark.parametrize("kind", ["rules", "none"])
def test_lifetime(max_age: float | None, cap: float, lifetime: float, kind: str) -> None:
    answers: dict[str, Outcome] = {
        "rules": Fetched(200, URL, BODY, max_age=max_age),
        "none": Unavailable(404, URL, "HTTP 404", max_age),
    }
    before = Policy(max_age_secs=max(cap, DAY))  # a cap that was lowered since then counts, too
    entry = after(answers[kind], policy=before)
    assert decide(entry, NOW, Policy(max_age_secs=cap)).ask_at == NOW + lifetime


@table("max_age, ahead", row("an-hour-at-most", None, HOUR), row("a-tenth", 10 * MINUTE, MINUTE))
def test_answer_is_refreshed_just_before_it_runs_out(max_age: float | None, ahead: float) -> None:
    decision = decide(after(Fetched(200, URL, BODY, max_age=max_age)), NOW, GOOGLE)
    assert decision.ask_at - decision.refresh_at == pytest.approx(ahead)


def test_early_refresh_that_fails_takes_nothing_from_a_fresh_answer() -> None:
    entry = after(Fetched(200, URL, BODY))
    early = decide(entry, NOW, GOOGLE).refresh_at
    entry = renew(entry, Unreachable("HTTP 503", 503, 60.0), early, GOOGLE)
    decision = decide(entry, early, GOOGLE)
    assert (decision.state, decision.temporary, decision.ask_at) == (RULES, False, NOW + DAY)
    assert decision.refresh_at == early + 60
    assert decide(entry, NOW + DAY, GOOGLE).state is DISALLOW


# Clocks that jump


@pytest.mark.parametrize(("ahead", "fresh"), [(4, True), (365 * DAY, False)])
def test_answer_from_the_future_is_not_fresh(ahead: float, *, fresh: bool) -> None:
    entry = after(Fetched(200, URL, BODY), at=NOW + ahead)
    assert (decide(entry, NOW, GOOGLE).ask_at > NOW) is fresh


@pytest.mark.parametrize("ahead", [4 * MINUTE, HOUR, 12 * HOUR, 365 * DAY])
def test_outage_from_the_future_is_asked_at_once_and_begins_now(ahead: float) -> None:
    entry = after(DOWN, at=NOW + ahead)
    decision = decide(entry, NOW, GOOGLE)
    assert (decision.state, decision.ask_at) == (DISALLOW, NOW)
    outage = renew(entry, DOWN, NOW, GOOGLE).outage
    assert outage is not None
    assert outage.since == NOW


# Whatever is stored and however time goes

TIMES = st.floats(0, 4e9)
FAILURES = st.builds(
    Unreachable, st.just("x"), st.none() | st.sampled_from([429, 500, 503]), st.floats(0, 2**31)
)


@given(st.none() | ENTRIES, FAILURES, TIMES)
def test_failure_never_makes_an_outage_younger_nor_touches_the_copy(
    entry: Entry | None, outcome: Outcome, now: float
) -> None:
    renewed = renew(entry, outcome, now, GOOGLE)
    assert renewed.outage is not None
    assert renewed.outage.since <= now < renewed.outage.retry_at <= now + DAY
    assert renewed.copy == (entry.copy if entry else None)
    if entry and entry.outage:
        assert renewed.outage.since <= entry.outage.since
        assert renewed.outage.failures == entry.outage.failures + 1


@given(st.lists(FAILURES, min_size=1, max_size=30), st.floats(0, 30 * DAY - 1))
def test_google_disallows_for_30_days_whatever_fails(outcomes: list[Outcome], age: float) -> None:
    entry = renew(SERVED, outcomes[0], NOW, GOOGLE)
    for outcome in outcomes[1:]:
        entry = renew(entry, outcome, NOW + age, GOOGLE)
    assert decide(entry, NOW + age, GOOGLE).state is DISALLOW


# Times for people


@table(
    "cut, kind, outage, max_bytes, lacks",
    (True, Kind.RULES, None, 11, True),
    (True, Kind.RULES, None, 10, False),
    (False, Kind.RULES, None, 11, False),
    (True, Kind.OTHER, None, 11, False),  # a web page, of which nothing counts
    (True, Kind.RULES, Outage(NOW, 1, 503, "HTTP 503", NOW), 11, False),
)
def test_copy_that_a_smaller_limit_has_cut_lacks_a_part(
    cut: bool, kind: Kind, outage: Outage | None, max_bytes: int, lacks: bool
) -> None:
    copy = Copy(kind, 200, "https://a.example/robots.txt", b"disallow:/", cut, "", NOW, NOW + DAY)
    assert lacks_a_part(Entry(copy, outage), max_bytes) is lacks
    assert not lacks_a_part(Entry(None, outage), max_bytes)


def test_span_is_told_in_its_largest_unit_rounded_down() -> None:
    times = (0, 59.9, 60, HOUR - 1, HOUR, DAY - 1, DAY, 3 * DAY - 1, 8e6)
    words = "0 s, 59 s, 1 min, 59 min, 1 h, 23 h, 1 d, 2 d, 92 d"
    assert ", ".join(map(span, times)) == words


def test_time_that_is_no_date_gives_none() -> None:
    assert date_of(NOW) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)
    for secs in (math.nan, math.inf, 1e17, -1e17):  # as another program may write to a storage
        assert date_of(secs) is None


@table("value", Copy, Outage, Entry, Policy, Decision, Fetched, Unavailable, Unreachable)
def test_what_the_memory_storage_gives_to_all_that_ask_cannot_change(value: type) -> None:
    assert value.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert "__dict__" not in dir(value)


def test_text_that_counts_has_a_hash() -> None:
    of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180
    hashes = {kind: Copy(kind, 200, URL, b"abc", False, "", NOW, NOW).sha256 for kind in Kind}
    assert hashes == {Kind.RULES: of_abc, Kind.OTHER: of_abc, Kind.NONE: None, Kind.WALL: None}


def test_denial_that_may_be_a_proxys_counts_for_an_hour_at_most() -> None:
    denied = Unavailable(403, URL, "HTTP 403", may_be_a_proxys=True)
    for max_age, secs in ((None, 3600), (86_400, 3600), (600, 600)):
        decision = decide(after(replace(denied, max_age=max_age)), NOW, GOOGLE)
        assert decision.ask_at == NOW + secs


@table(
    "outcomes, tries",
    row("refused-once", (failed(Failure.REFUSED),), 1),
    row("refused-three-times", (failed(Failure.REFUSED),) * 3, 3),
    row("no-files-three-times", (failed(Failure.NO_FILES),) * 3, 0),
    row("another-failure-before", (DOWN, failed(Failure.REFUSED)), 1),
    row("a-server-answered", (failed(Failure.REFUSED), DOWN), 0),
    row("redirected", (after_redirect(failed(Failure.REFUSED), "http://b.example/r.txt"),), 0),
)
def test_tries_that_found_no_server_are_counted(outcomes: tuple[Outcome, ...], tries: int) -> None:
    outage = after(*outcomes).outage
    assert outage is not None
    assert outage.tries_without_server == tries


def test_outage_has_its_age_in_words_from_a_minute_on() -> None:
    outage = after(DOWN).outage
    assert outage is not None
    assert outage.in_words(NOW + 59) == "HTTP 500"
    assert outage.in_words(NOW + 120) == "HTTP 500, unreachable for 2 min"
