"""Every HTTP answer has an outcome, and every outcome leads to a state, whatever the bytes and the clock."""

from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.fetching.exchange import Exchange
from scrapy_gbot_robots.policy import outages, outcome
from scrapy_gbot_robots.policy.outages import Entry, Kind, Outage, Policy, State, decide, renew
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.storage.codec import decode, encode

from ..support.entries import ENTRIES
from ..support.strategies import HTTP_ANSWERS, LOCATIONS

URL = "https://example.com/robots.txt"
MOST_SECONDS = 2.0**31
MOST_FAILURES = 2**32 - 1  # that a storage has room for
MOST_HOPS = 5
MAX_BYTES = 200
SETTINGS = GbotSettings.of(get_crawler(settings_dict={"GBOT_ROBOTS_MAX_BYTES": MAX_BYTES}).settings)
CLOCKS = st.floats(0, 4e9)  # of machines: the years 1970 to 2096
POLICIES = st.builds(Policy, st.sampled_from(sorted(outages.LADDERS)))


@given(
    st.sampled_from(sorted(outcome.REDIRECTS)),
    st.lists(LOCATIONS, min_size=1, max_size=MOST_HOPS + 2),
)
def test_any_trail_goes_on_over_http_or_ends_as_404(status: int, locations: list[bytes]) -> None:
    asked = [URL]
    for location in locations:
        hop = outcome.next_hop(status, location, asked)
        if isinstance(hop, outcome.Unavailable):
            assert (hop.status, hop.url) == (status, asked[-1])
            return
        assert hop.startswith(("http://", "https://"))
        assert hop not in asked
        assert "@" not in hop.split("/")[2]
        assert not any(char < " " for char in hop)
        with suppress(ValueError):
            request = Request(hop)
            if hop.isascii():  # Scrapy reads other hosts by IDNA 2003, as no browser does any more
                assert Origin.of(request.url) == Origin.of(hop)
        asked.append(hop)
    assert len(asked) <= MOST_HOPS + 1


def outcome_after(answer: Response) -> outcome.Outcome:
    """The outcome of an answer after which a fetch asks nothing more."""
    if answer.status in outcome.REDIRECTS:
        asked = [*(f"{URL}?{hop}" for hop in range(MOST_HOPS)), URL]
        hop = outcome.next_hop(answer.status, answer.headers.get("Location"), asked)
        assert isinstance(hop, outcome.Unavailable)
        return hop
    exchange = Exchange(Request(URL), MAX_BYTES)
    exchange.keep_response(answer)
    return exchange.outcome(answer, URL, SETTINGS)


@given(HTTP_ANSWERS)
def test_any_answer_has_the_outcome_that_its_status_names(answer: Response) -> None:
    came_to = outcome_after(answer)
    seconds = came_to.retry_after if isinstance(came_to, outcome.Unreachable) else came_to.max_age
    assert seconds is None or 0.0 <= seconds <= MOST_SECONDS
    if isinstance(came_to, outcome.Fetched):
        assert 200 <= answer.status < 300
        assert len(came_to.body) <= MAX_BYTES
    elif isinstance(came_to, outcome.Unavailable):
        assert came_to.why
        assert came_to.status == answer.status
        assert answer.status != 429
        assert 300 <= answer.status < 500 or "not found" in came_to.why
    else:
        assert came_to.why
        assert not 300 <= answer.status < 429 or answer.status == 304
        assert came_to.status in {answer.status, None}
        assert (
            came_to.status == answer.status
            or 200 <= answer.status < 300
            or answer.status not in range(1000)
        )


OUTCOMES = HTTP_ANSWERS.map(outcome_after) | st.builds(
    outcome.failed, st.sampled_from(outcome.Failure), st.text(max_size=300)
)
AT_THE_MOST = Entry(None, Outage(0.0, MOST_FAILURES, None, "x", 0.0))
MOST_ALIKE = Entry(
    None, Outage(0.0, 1, None, "x", 0.0, failure=outcome.Failure.RESET, alike=MOST_FAILURES)
)


@example(AT_THE_MOST, [(outcome.failed(outcome.Failure.RESET), 1.0)], Policy())
@example(MOST_ALIKE, [(outcome.failed(outcome.Failure.RESET), 1.0)], Policy())
@given(st.none() | ENTRIES, st.lists(st.tuples(OUTCOMES, CLOCKS), min_size=1, max_size=3), POLICIES)
def test_any_outcomes_come_to_a_state_and_can_be_kept(
    entry: Entry | None, outcomes: list[tuple[outcome.Outcome, float]], policy: Policy
) -> None:
    """This holds for any stored entry, also one that an attacker wrote, and with a clock that jumps."""
    for came_to, now in outcomes:
        if entry is not None:
            before = decide(entry, now, policy)
            assert before.refresh_at <= before.ask_at
        entry = renew(entry, came_to, now, policy)
        kept = decode(encode(entry))
        assert kept is not None
        if kept != entry:
            assert kept.outage is not None
            assert MOST_FAILURES in {kept.outage.failures, kept.outage.alike}
        entry = kept
        decision = decide(entry, now, policy)
        assert decision.why or entry.copy  # a copy may have no words
        assert decision.temporary == isinstance(came_to, outcome.Unreachable) or decision.copy
        assert decision.refresh_at <= decision.ask_at
        if decision.state is State.RULES:
            assert decision.copy is not None
            assert decision.copy.kind is Kind.RULES
        if isinstance(came_to, outcome.Fetched):
            state = State.FULL_ALLOW if came_to.instead else State.RULES
            assert (decision.state, decision.temporary) == (state, False)
        if isinstance(came_to, outcome.Unavailable):
            assert (decision.state, decision.temporary) == (State.FULL_ALLOW, False)
