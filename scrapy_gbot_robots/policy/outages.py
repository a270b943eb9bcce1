"""Decides what one origin's robots.txt means now, also during an outage, and when to ask again.

An entry contains the last definite answer and, while the robots.txt is unreachable, the outage. It
contains facts and no verdicts, because crawls with different user agents share it (Google's page,
"Caching"). `renew` makes entries, `decide` reads them, and the package `storage` keeps them.

Pure: the caller passes in `now` (seconds since the epoch), which may jump. A definite answer is
fresh for a day, or for the time that its headers set. If there is no fresh answer during an outage,
a ladder decides by the time since the first failure.

The times of a copy, in their order: it was fetched at `fetched_at`, the crawl refreshes it in the
background from `refresh_at` on, and it is fresh until `fresh_until`. An outage began at `since`,
with its first failure, and the next fetch is due at `retry_at`. From `ask_at` on, requests wait for
a fetch.
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
# A storage keeps an entry for this long. The ladders need the outage for 30 days and more, and the
# copy from before the outage. A crawl that runs once a month must still find both.
KEEP_DAYS = 100

_SKEW = 5.0  # Seconds by which the clocks of processes that share a storage may differ.
# A shorter max-age counts as this, because no header may cause a fetch for each request.
_MIN_AGE = MINUTE
# The crawl waits this long after the first failure. Each further failure doubles the wait, up to
# the longest wait for its kind.
_FIRST_RETRY = 1.0
_BUSY_RETRY = 5 * MINUTE  # The longest wait after a 503 or 429.
_SLOW_RETRY = HOUR  # The longest wait after any other failure.
_RETRY_AFTER = DAY  # The longest wait that a Retry-After header can demand.
# If an outage does not forbid requests, they go on without waiting for the next fetch until it is
# overdue by this time.
_GRACE = HOUR
# A copy in use is refreshed before it goes stale: by this share of its lifetime, but at most by
# _REFRESH_MOST.
_REFRESH_SHARE = 0.1
_REFRESH_MOST = HOUR
# With these statuses a server denies access to a robots.txt. They do not mean that it is missing.
REFUSALS = (401, 402, 403, 451)
# A server with these statuses is only busy, so the crawl asks it again more often.
_OFTEN = frozenset({429, 503})


class Kind(Enum):
    """The kinds of definite answers."""

    RULES = "rules"  # A robots.txt, which may be empty.
    OTHER = "other data"  # A body without a line for crawlers, such as a web page.
    NONE = "none"  # There is no robots.txt.
    WALL = "wall"  # A bot wall has answered in place of the site.


@dataclass(frozen=True, slots=True)
class Copy:
    """The last definite answer."""

    kind: Kind
    status: int
    url: str  # The URL that sent the answer, after redirects.
    body: bytes  # Without content codings; empty if there is no robots.txt.
    cut: bool  # Whether the server sent more than `body`.
    why: str  # Such as "HTTP 404".
    fetched_at: float
    fresh_until: float

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of `body` in hex digits; None unless the answer is rules or other data."""
        if self.kind not in {Kind.RULES, Kind.OTHER}:
            return None
        return sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which no definite answer came, in seconds since the epoch."""

    since: float  # The time of the first failure.
    failures: int
    status: int | None  # The status of the last failure; None if no response came at all.
    why: str  # The reason of the last failure, for people.
    retry_at: float  # The time to ask again.
    failure: Failure | None = None  # The kind of the last failure; None if the status is the cause.
    alike: int = 1  # How many failures in a row, up to the last one, have this kind.
    failed_at: float = 0.0  # The time of the last failure; 0.0 if it is not known.
    redirected_to: str = ""  # The last URL of the last fetch, if a redirect led there; else "".

    @property
    def cause(self) -> str:
        """The cause of the last failure, in a few words."""
        if self.failure is not None:
            return self.failure.value
        return self.why


@dataclass(frozen=True, slots=True)
class Entry:
    """The facts that a storage keeps for one origin: the last copy, and the outage after it."""

    copy: Copy | None = None
    outage: Outage | None = None


class State(Enum):
    """The three possible outcomes of Google's page."""

    FULL_ALLOW = "full allow"
    FULL_DISALLOW = "full disallow"
    RULES = "rules"


_THIRTY_DAYS = ((30 * DAY, State.FULL_DISALLOW), (math.inf, State.RULES))
# Each row gives an age of an outage in seconds, and the state until that age. RULES means the rules
# of the last copy, or full allow if there is no copy.
LADDERS: dict[str, tuple[tuple[float, State], ...]] = {
    "google": _THIRTY_DAYS,  # Google's page of 2019 to 2025
    "google-2026": (  # Google's page of 2026
        (12 * HOUR, State.FULL_DISALLOW),
        (12 * HOUR + 30 * DAY, State.RULES),
        # The page adds "if the site is available". An unavailable site serves nothing anyway.
        (math.inf, State.FULL_ALLOW),
    ),
    # RFC 9309 2.3.1.4 gives 30 days as an example, and allows a copy or full allow after them.
    "rfc9309": _THIRTY_DAYS,
    # As stock Scrapy, this fails open. But rules that were read before the outage stay in force.
    "allow": ((math.inf, State.RULES),),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """The parameters of a crawl; times are in seconds.

    Raises:
        ValueError: `unreachable` is not a key of `LADDERS`, or `access_denied` is neither "allow"
            nor "disallow".
    """

    unreachable: str = "google"
    # No answer is fresh for longer. A max-age above a day counts only if this is above a day.
    max_age_secs: float = DAY
    soft_404: bool = True  # A parameter of `outcome_of`.
    # The meaning of a denied access (`REFUSALS`) and of a bot wall. "allow" is Google's.
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
    """The state of an origin now, and until when it holds; times are seconds since the epoch."""

    state: State
    why: str
    temporary: bool  # Whether robots.txt is unreachable or not yet fetched.
    refresh_at: float  # From this time on, the crawl fetches robots.txt again in the background.
    ask_at: float  # From this time on, requests wait for that fetch.
    copy: Copy | None = None  # The definite answer that decided; None if none did.
    outage: Outage | None = None  # The outage that decided; None if none did.


def renew(entry: Entry | None, outcome: Outcome, now: float, policy: Policy) -> Entry:
    """Return the entry after a fetch.

    A definite answer replaces the copy and ends the outage. A failure begins or prolongs an outage,
    and keeps the copy.

    Args:
        entry: the entry before the fetch; None if there was none.
        outcome: the outcome of the fetch.
        now: the end of the fetch, in seconds since the epoch.
        policy: its `max_age_secs` limits the time for which an answer is fresh.
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

    `before` is the outage before this failure; None if this is its first failure.
    """
    if before is None:
        before = Outage(since=now, failures=0, status=None, why="", retry_at=now, alike=0)
    alike = 0
    if outcome.failure is before.failure:
        alike = before.alike
    # Without a server, a try burdens nobody. So when a server disappears, the waits begin anew.
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
    """Return for how many seconds to wait after a failure that `tries` failures came before."""
    doubled = _FIRST_RETRY * 2.0 ** min(tries, 32)
    if outcome.retry_after is not None:
        # Waits grow up to a minute even if the server asks for 1 second each time.
        return min(max(outcome.retry_after, min(doubled, MINUTE)), _RETRY_AFTER)
    if outcome.status in _OFTEN:
        return min(doubled, _BUSY_RETRY)
    return min(doubled, _SLOW_RETRY)


def decide(entry: Entry | None, now: float, policy: Policy) -> Decision:
    """Return the decision that an entry leads to at `now`, in seconds since the epoch.

    Without a copy and an outage, the decision is full disallow until robots.txt has been fetched.
    A failed early refresh changes nothing while the copy is still fresh.
    """
    if entry is None:
        entry = Entry()
    copy = entry.copy
    outage = entry.outage
    fresh_until = now
    # A copy from the future is not fresh, because a clock was wrong.
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
    """Return when to ask again.

    The result is `now` if the stored times are impossible because a clock was wrong: the outage
    begins in the future, or the wait is too long.
    """
    if outage.since > now + _SKEW or outage.retry_at > now + _RETRY_AFTER + _SKEW:
        return now
    return outage.retry_at


def _state_by(copy: Copy, policy: Policy) -> State:
    """Return the state that follows from a definite answer."""
    if policy.access_denied == "disallow" and (copy.kind is Kind.WALL or copy.status in REFUSALS):
        return State.FULL_DISALLOW
    if copy.kind is Kind.RULES:
        return State.RULES
    return State.FULL_ALLOW


def _on_ladder(outage: Outage, copy: Copy | None, now: float, policy: Policy) -> Decision:
    """Return the decision by the row of the ladder for the outage's age.

    Requests wait for the next fetch only under full disallow, or if the fetch is overdue by
    `_GRACE`.
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
    """Return whether a crawl should ask again at once, before the retry is due.

    It should if there was no server (`NO_SERVER`), the origin is under full disallow, and the last
    failure came before the crawl began at `began_at` (seconds since the epoch). One try burdens
    nobody if there is no server, and it shows at once whether the host is back.
    """
    outage = decision.outage
    if outage is None or decision.state is not State.FULL_DISALLOW:
        return False
    return outage.failure in NO_SERVER and outage.failed_at < began_at


def span(secs: float) -> str:
    """Return `secs` seconds in words, in the largest unit and rounded down, such as "33 d"."""
    for size, unit in _UNITS:
        if secs >= size:
            return f"{secs // size:.0f} {unit}"
    return f"{secs // 1:.0f} s"


def date_of(secs: float) -> datetime | None:
    """Return a time, in seconds since the epoch, as a date in UTC; None if it is out of range.

    A storage may contain times out of range, because other programs may write there.
    """
    try:
        return datetime.fromtimestamp(secs, tz=timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None
