"""What is known of one origin's robots.txt, what that means now, and when to ask again.

An entry has the last definite answer, and the outage that goes on now, if any. It has facts only,
never a verdict: crawlers of different names share it (Google's page, "Caching"). `renew` makes
entries, `decide` reads them, `storage` keeps them.

Pure: `now` (seconds since the epoch) comes from outside and may jump. A definite answer is fresh
for a day, or for as long as its headers say. Without a fresh answer a ladder decides, by the time
since the first failure.

In order of time: a copy is `fetched_at`, refreshed in the background from `refresh_at` on,
`fresh_until`; an outage lasts `since` its first failure, and the next fetch is due at `retry_at`;
requests wait for a fetch from `ask_at` on.
Sources: Google's page, "Handling of errors and HTTP status codes" and "Caching"; RFC 9309 2.3.1 and
2.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from enum import Enum
from hashlib import sha256

from .outcome import NO_SERVER, Failure, Fetched, Outcome, Unavailable, Unreachable

MINUTE = 60.0
HOUR = 3600.0
DAY = 86400.0
_UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"))
# How long a storage keeps an entry. The ladders decide by outages of 30 days and more, and by the
# copy from before the outage: a crawl that runs once a month must still find both.
KEEP_DAYS = 100

_SKEW = 5.0  # clocks of processes that share a storage may differ by so many seconds
_MIN_AGE = MINUTE  # a shorter max-age counts as this: no header may cause a fetch for each request
# wait after the first failure; it doubles with each further one, up to the next two
_FIRST_RETRY = 1.0
_BUSY_RETRY = 5 * MINUTE  # longest wait after a 503 or 429
_SLOW_RETRY = HOUR  # longest wait after any other failure
_RETRY_AFTER = DAY  # longest wait that a Retry-After header can ask for
# For this long after a fetch is due, an answer that allows counts without waiting for it.
_GRACE = HOUR
# An answer in use is refreshed this long before it goes stale: a share of its lifetime, at most.
_REFRESH_SHARE = 0.1
_REFRESH_MOST = HOUR
# With these statuses a site refuses, and does not say that a file is missing.
REFUSALS = (401, 402, 403, 451)
# Statuses of a server that is only busy: it is asked again more often.
_OFTEN = frozenset({429, 503})


class Kind(Enum):
    """What a definite answer was."""

    RULES = "rules"  # a robots.txt, maybe an empty one
    OTHER = "other data"  # in its place, such as a web page, with no line for crawlers
    NONE = "none"  # that there is none
    WALL = "wall"  # a bot wall's, in place of the site's


@dataclass(frozen=True, slots=True)
class Copy:
    """The last definite answer."""

    kind: Kind
    status: int
    url: str  # the URL that gave it, after redirects
    body: bytes  # content-decoded; empty if there is no robots.txt
    cut: bool  # whether the server sent more than `body`
    why: str  # such as "HTTP 404"
    fetched_at: float
    fresh_until: float

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of a robots.txt, or of what came in its place; None if there is none."""
        if self.kind not in {Kind.RULES, Kind.OTHER}:
            return None
        return sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which no definite answer came."""

    since: float  # the first failure
    failures: int
    status: int | None  # of the last failure; None: no response came at all
    why: str  # of the last failure, for people
    retry_at: float  # when to ask again
    # What the last fetch failed of; None: the status says it.
    failure: Failure | None = None
    alike: int = 1  # so many of the last failures in a row were of this kind
    failed_at: float = 0.0  # the last failure; 0.0: not known
    redirected_to: str = ""  # the URL that the last fetch ended at, if a redirect led there

    @property
    def cause(self) -> str:
        """What the last fetch failed of, in a few words."""
        if self.failure is not None:
            return self.failure.value
        return self.why


@dataclass(frozen=True, slots=True)
class Entry:
    """All that storage keeps for one origin: a copy, an outage, or a copy and the outage since."""

    copy: Copy | None = None
    outage: Outage | None = None


class State(Enum):
    """The three possible outcomes of Google's page."""

    FULL_ALLOW = "full allow"
    FULL_DISALLOW = "full disallow"
    RULES = "rules"


_THIRTY_DAYS = ((30 * DAY, State.FULL_DISALLOW), (math.inf, State.RULES))
# What an outage means until it is so many seconds old. RULES are those of the last good copy;
# without a copy it is full allow.
LADDERS: dict[str, tuple[tuple[float, State], ...]] = {
    "google": _THIRTY_DAYS,  # Google's page of 2019 to 2025
    "google-2026": (  # Google's page of 2026
        (12 * HOUR, State.FULL_DISALLOW),
        (12 * HOUR + 30 * DAY, State.RULES),
        # "If the site is available", says the page: one that is not serves nothing anyway.
        (math.inf, State.FULL_ALLOW),
    ),
    # RFC 9309 2.3.1.4, which names 30 days as an example and a copy as one of two ways
    "rfc9309": _THIRTY_DAYS,
    # as stock Scrapy: fails open, yet rules once read stay in force
    "allow": ((math.inf, State.RULES),),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """The parameters, all times in seconds.

    Raises ValueError for another word than those that are allowed.
    """

    unreachable: str = "google"  # a key of `LADDERS`
    # no answer is fresh for longer; max-age can lengthen a day only if this is above a day
    max_age_secs: float = DAY
    soft_404: bool = True  # for `outcome_of`
    # what a refusal (`REFUSALS`) and a wall mean: "allow", as by Google, or "disallow"
    access_denied: str = "allow"

    def __post_init__(self) -> None:
        for name, word, words in (
            ("unreachable", self.unreachable, LADDERS),
            ("access_denied", self.access_denied, ("allow", "disallow")),
        ):
            if word not in words:
                raise ValueError(f"{name} must be one of {', '.join(words)}, got {word!r}")


@dataclass(frozen=True, slots=True)
class Decision:
    """What applies to an origin now, and until when; times are seconds since the epoch."""

    state: State
    why: str
    temporary: bool  # robots.txt is unreachable, and the ladder decided
    refresh_at: float  # from then on, the crawl fetches robots.txt again in the background
    ask_at: float  # from then on, requests wait for that fetch
    copy: Copy | None = None  # the definite answer that this rests on
    outage: Outage | None = None  # the outage for which this is temporary, if there is one


def renew(entry: Entry | None, outcome: Outcome, now: float, policy: Policy) -> Entry:
    """Return `entry` brought up to date with a fetch that ended at `now`.

    A definite answer ends an outage.
    """
    if isinstance(outcome, Unreachable):
        if entry is None:
            entry = Entry()
        return replace(entry, outage=_prolonged(entry.outage, outcome, now))
    lifetime = DAY
    if outcome.max_age is not None:
        lifetime = max(outcome.max_age, _MIN_AGE)
    if isinstance(outcome, Unavailable) and outcome.may_be_a_proxys:
        lifetime = min(lifetime, HOUR)
    times = (now, now + min(lifetime, policy.max_age_secs))
    if isinstance(outcome, Fetched):
        kind = Kind.RULES
        body = outcome.body
        cut = outcome.cut
        why = f"HTTP {outcome.status}"
        if outcome.instead:
            kind = Kind.OTHER
            why += f"; no rules: it is {outcome.instead}"
    else:
        kind = Kind.NONE
        if outcome.wall:
            kind = Kind.WALL
        body = b""
        cut = False
        why = outcome.why
    return Entry(Copy(kind, outcome.status, outcome.url, body, cut, why, *times))


def _prolonged(before: Outage | None, outcome: Unreachable, now: float) -> Outage:
    """Return the outage after one more failure.

    `before` is the outage until then, if there was one.
    """
    if before is None:
        before = Outage(since=now, failures=0, status=None, why="", retry_at=now, alike=0)
    alike = 0
    if outcome.failure is before.failure:
        alike = before.alike
    # no server is burdened by a try to find it: the pauses begin anew when it disappears
    tries = before.failures
    if outcome.failure in NO_SERVER:
        tries = alike
    return Outage(
        since=min(before.since, now),
        failures=before.failures + 1,
        status=outcome.status,
        why=outcome.why,
        retry_at=now + _wait(outcome, tries),
        failure=outcome.failure,
        alike=alike + 1,
        failed_at=now,
        redirected_to=outcome.redirected_to,
    )


def _wait(outcome: Unreachable, tries: int) -> float:
    """Return for how many seconds to leave a server alone after so many failures before this."""
    doubled = _FIRST_RETRY * 2.0 ** min(tries, 32)
    if outcome.retry_after is not None:
        # waits grow also for a server that says "1 second" each time
        return min(max(outcome.retry_after, min(doubled, MINUTE)), _RETRY_AFTER)
    if outcome.status in _OFTEN:
        return min(doubled, _BUSY_RETRY)
    return min(doubled, _SLOW_RETRY)


def decide(entry: Entry | None, now: float, policy: Policy) -> Decision:
    """Return what an entry means at `now`, in seconds since the epoch.

    Nothing known means full disallow until robots.txt has been fetched. A failed early refresh
    changes nothing while the copy is still fresh.
    """
    if entry is None:
        entry = Entry()
    copy = entry.copy
    outage = entry.outage
    fresh_until = now
    # A copy from the future is not fresh at all: a clock was wrong.
    if copy is not None and copy.fetched_at <= now + _SKEW:
        fresh_until = min(copy.fresh_until, copy.fetched_at + policy.max_age_secs)
    if outage and fresh_until <= now:
        return _on_ladder(outage, copy, now, policy)
    if copy is None:
        return Decision(State.FULL_DISALLOW, "robots.txt not asked yet", True, now, now)
    lifetime = max(0.0, fresh_until - copy.fetched_at)
    refresh_at = fresh_until - min(_REFRESH_SHARE * lifetime, _REFRESH_MOST)
    if outage:
        refresh_at = min(max(refresh_at, _retry_at(outage, now)), fresh_until)
    state = _state_by(copy, policy)
    return Decision(state, copy.why, False, refresh_at, fresh_until, copy)


def _retry_at(outage: Outage, now: float) -> float:
    """When to ask again.

    That is now if the stored times are impossible (in the future, or too long a wait): a clock
    was wrong.
    """
    if outage.since > now + _SKEW or outage.retry_at > now + _RETRY_AFTER + _SKEW:
        return now
    return outage.retry_at


def _state_by(copy: Copy, policy: Policy) -> State:
    """Return what a definite answer means."""
    if policy.access_denied == "disallow" and (copy.kind is Kind.WALL or copy.status in REFUSALS):
        return State.FULL_DISALLOW
    if copy.kind is Kind.RULES:
        return State.RULES
    return State.FULL_ALLOW


def _on_ladder(outage: Outage, copy: Copy | None, now: float, policy: Policy) -> Decision:
    """Decide by the rung for the outage's age.

    Requests that may go on do not wait for each further attempt.
    """
    age = max(0.0, now - outage.since)
    state = next(state for until, state in LADDERS[policy.unreachable] if age < until)
    why = f"robots.txt unreachable: {outage.why}"
    if age >= MINUTE:
        why = f"robots.txt unreachable for {span(age)}: {outage.why}"
    retry_at = _retry_at(outage, now)
    ask_at = retry_at
    if state is not State.FULL_DISALLOW:
        ask_at += _GRACE
    if state is not State.RULES:
        copy = None
    elif copy is None:
        state = State.FULL_ALLOW
    else:
        state = _state_by(copy, policy)
        why += "; the last answer counts"
    return Decision(state, why, True, retry_at, ask_at, copy, outage)


def is_to_be_confirmed(decision: Decision, began_at: float) -> bool:
    """Whether a run that began at `began_at` should try a missing server though it is early.

    One try burdens no server, and shows at once that a host is back.
    """
    outage = decision.outage
    if outage is None or decision.state is not State.FULL_DISALLOW:
        return False
    return outage.failure in NO_SERVER and outage.failed_at < began_at


def span(secs: float) -> str:
    """Return a length of time in its largest unit, rounded down; `secs` are seconds."""
    for size, unit in _UNITS:
        if secs >= size:
            return f"{secs // size:.0f} {unit}"
    return f"{secs // 1:.0f} s"


def date_of(secs: float) -> datetime | None:
    """Return a time, in seconds since the epoch, as a date in UTC; None if it has no date.

    A time from a storage may have none, since others may write there.
    """
    try:
        return datetime.fromtimestamp(secs, tz=timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None
