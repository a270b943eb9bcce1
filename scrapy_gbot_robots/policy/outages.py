"""Decide what the robots.txt of one origin means now, even while it cannot be fetched.

The package `storage` keeps an `Entry` for each origin. After each fetch of the robots.txt, `renew`
makes the new entry. From an entry, `decide` makes a `Decision`: everything is allowed, nothing is
allowed, or the rules of the robots.txt decide. Crawls with different user agents share an entry
(Google's page, "Caching"), so an entry contains facts and no verdicts. It has two parts:

* The *copy* (class `Copy`) is the last definite answer. A *definite answer* is a response that
  shows what the site wants: a robots.txt, or a response such as a 404, which means that there is no
  robots.txt.
* The *outage* (class `Outage`) is a period in which every fetch fails, for example with a timeout
  or a 503. It ends with the next definite answer. During an outage, the robots.txt is
  *unreachable*.

A copy is fresh for a day, or for the time that the headers of the response set. While the copy is
fresh, it decides. During an outage, when the copy is no longer fresh, a *ladder* decides. A ladder
(`LADDERS`) is a table that contains a state for each age of an outage.

A `Decision` also contains two times. From `refresh_at` on, the crawl fetches the robots.txt again
in the background. From `ask_at` on, requests wait until the robots.txt has been fetched. All times
are in seconds since the epoch.

The sources are Google's page, "Handling of errors and HTTP status codes" and "Caching"; and RFC
9309 2.3.1 and 2.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from enum import Enum
from hashlib import sha256

from .outcome import NO_SERVER, SERVER_ERRORS, Failure, Fetched, Outcome, Unavailable, Unreachable

MINUTE = 60.0
HOUR = 3600.0
DAY = 86400.0
_UNITS = ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"))
# A storage keeps an entry for this number of days. The number must be greater than 30, because some
# crawls run only once a month, and because `LADDERS` contains ages of more than 30 days.
KEEP_DAYS = 100

_SKEW = 5.0  # The clocks of processes that share a storage may differ by this many seconds.
# The minimum max-age in seconds. A lower value in a header is raised to this one. Otherwise the
# robots.txt might be fetched again for each request.
_MIN_AGE = MINUTE
# The wait after the first failure, in seconds. Each further failure doubles the wait, until it
# reaches the longest wait for this kind of failure.
_FIRST_RETRY = 1.0
_BUSY_RETRY = 5 * MINUTE  # the longest wait after a 503 or 429
_SLOW_RETRY = HOUR  # the longest wait after any other failure
_RETRY_AFTER = DAY  # the longest wait that a Retry-After header can cause
# During an outage, requests wait for the next fetch if everything is disallowed. If some pages are
# allowed, requests wait only if the fetch is late by more than this number of seconds.
_GRACE = HOUR
# A copy is refreshed in the background before it is out of date. The refresh begins when a tenth of
# the fresh time of the copy is left. If a tenth is more than an hour, the refresh begins when an
# hour is left.
_REFRESH_SHARE = 0.1
_REFRESH_MOST = HOUR
# If this many fetches in a row find no server, requests no longer wait for the robots.txt.
GONE_AFTER = 3
# A server that sends one of these statuses denies access to its robots.txt.
REFUSALS = (401, 402, 403, 451)
# A server that sends one of these statuses is only busy. So the next fetch is due sooner than after
# other failures.
_OFTEN = frozenset({429, 503})


class Kind(Enum):
    """The kinds of responses that show what a site wants (definite answers)."""

    RULES = "rules"  # The server sent a robots.txt, which may be empty.
    OTHER = "other data"  # The server sent a web page or other data.
    NONE = "none"  # There is no robots.txt.
    WALL = "wall"  # A bot wall, such as DDoS-Guard, has answered in place of the site.


@dataclass(frozen=True, slots=True)
class Copy:
    """The last response that showed what the site wants, such as a robots.txt or a 404.

    Times are in seconds since the epoch.
    """

    kind: Kind
    status: int
    url: str  # The URL of the response, after redirects.
    body: bytes  # The bytes of the robots.txt, decompressed; b"" if there is no robots.txt.
    cut: bool  # Whether the server sent more bytes than `body`.
    why: str  # What the server answered, in words for people, such as "HTTP 404".
    fetched_at: float
    fresh_until: float

    @property
    def is_soft_404(self) -> bool:
        """Whether the response was a 5xx with a "not found" page, which was treated as a 404."""
        return self.kind is Kind.NONE and self.status in SERVER_ERRORS

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of `body` in hexadecimal digits; None if there is no file."""
        if self.kind not in {Kind.RULES, Kind.OTHER}:
            return None
        return sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True)
class Outage:
    """A period in which every fetch of a robots.txt failed.

    Times are in seconds since the epoch.
    """

    since: float  # The time of the first failure.
    failures: int  # The number of failures in this outage.
    status: int | None  # The HTTP status of the last failure; None if no response came.
    why: str  # The reason for the last failure, as human-readable text.
    retry_at: float  # The time at which the next fetch is due.
    # The kind of the last failure; None if the server sent a response, such as a 503.
    failure: Failure | None = None
    alike: int = 1  # How many of the last failures in a row were of the same kind.
    failed_at: float = 0.0  # The time of the last failure; 0.0 if it is not known.
    redirected_to: str = ""  # The URL to which the last fetch was redirected; "" if it was not.

    @property
    def cause(self) -> str:
        """The cause of the last failure, for people, such as "connection refused" or "HTTP 503"."""
        if self.failure is not None:
            return self.failure.value
        return self.why

    @property
    def tries_without_server(self) -> int:
        """The number of fetches in a row, up to the last one, that found no server.

        In these fetches, the host name did not resolve, or the connection was refused. The number
        is 0 if the last fetch failed for another reason, or after a redirect.
        """
        if self.redirected_to or self.failure not in NO_SERVER:
            return 0
        return self.alike

    def in_words(self, now: float) -> str:
        """Return the reason for the last failure, and the age of the outage at `now`.

        An age of less than a minute is left out.
        """
        age = now - self.since
        if age < MINUTE:
            return self.why
        return f"{self.why}, unreachable for {span(age)}"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a storage keeps for an origin: a `Copy`, and an `Outage` while fetches fail."""

    copy: Copy | None = None
    outage: Outage | None = None


class State(Enum):
    """What a robots.txt means for requests now (Google's page, "HTTP status codes")."""

    FULL_ALLOW = "full allow"  # Every URL of the origin is allowed.
    FULL_DISALLOW = "full disallow"  # Every URL of the origin is disallowed.
    RULES = "rules"  # The rules in the robots.txt decide for each URL.


_THIRTY_DAYS = ((30 * DAY, State.FULL_DISALLOW), (math.inf, State.RULES))
# For each value of the setting GBOT_ROBOTS_UNREACHABLE, what a robots.txt means while it is
# unreachable. Each row contains an age of the outage in seconds, and the state that applies until
# the outage has this age. The state RULES means the rules of the last copy of the robots.txt, or
# full allow if there is no copy.
LADDERS: dict[str, tuple[tuple[float, State], ...]] = {
    "google": _THIRTY_DAYS,  # as on Google's page from 2019 to 2025
    "google-2026": (  # as on Google's page in 2026
        (12 * HOUR, State.FULL_DISALLOW),
        (12 * HOUR + 30 * DAY, State.RULES),
        # After these 30 days, Google's page allows everything "if the site is available". This
        # condition is not checked, because an unavailable site serves no pages.
        (math.inf, State.FULL_ALLOW),
    ),
    # If a robots.txt is unreachable for a long time ("for example, 30 days"), a crawler may use its
    # copy, or treat everything as allowed (RFC 9309 2.3.1.4).
    "rfc9309": _THIRTY_DAYS,
    # As in Scrapy's own RobotsTxtMiddleware, everything is allowed while the robots.txt is
    # unreachable. But if there is a copy, its rules apply.
    "allow": ((math.inf, State.RULES),),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """The values of the settings that determine what a robots.txt means. Times are in seconds.

    Raises:
        ValueError: `unreachable` is not a key of `LADDERS`, or `access_denied` is neither "allow"
            nor "disallow".
    """

    unreachable: str = "google"  # A key of `LADDERS`.
    # The longest time for which a copy is fresh, even if a response has a longer max-age. A
    # response without a max-age is fresh for a day at most.
    max_age_secs: float = DAY
    soft_404: bool = True  # Whether a 5xx with a "not found" page is treated as a 404.
    # Whether a site is allowed or disallowed if it denies access to its robots.txt (`REFUSALS`), or
    # if a bot wall answers in place of the site. Google's choice is "allow".
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
    """What the robots.txt of an origin means now, and the times of the next fetches.

    Times are in seconds since the epoch.
    """

    state: State
    why: str
    temporary: bool  # Whether the robots.txt is unreachable, or could not be looked up.
    refresh_at: float  # From this time on, the crawl fetches the robots.txt in the background.
    ask_at: float  # From this time on, requests wait until the robots.txt has been fetched.
    copy: Copy | None = None  # The copy on which the state is based; None if there is none.
    outage: Outage | None = None  # The outage on which the state is based, if any.


def renew(entry: Entry | None, outcome: Outcome, now: float, policy: Policy) -> Entry:
    """Return the new entry after a fetch.

    A definite answer, such as a robots.txt or a 404, replaces the copy and ends the outage. A
    failure, such as a timeout, begins an outage or prolongs the current one, and the copy is kept.

    Args:
        entry: the entry before the fetch; None if there was none.
        outcome: the outcome of the fetch.
        now: the end of the fetch, in seconds since the epoch.
        policy: the settings of the crawl. `policy.max_age_secs` limits the time for which the new
            copy is fresh.
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

    `before` is the outage before this failure; None if this failure begins an outage.
    """
    if before is None:
        before = Outage(since=now, failures=0, status=None, why="", retry_at=now, alike=0)
    alike = 0
    if outcome.failure is before.failure:
        alike = before.alike
    # If this fetch found no server, the next fetch will probably put no load on a server, so the
    # wait may be short. Therefore earlier failures of other kinds, such as a 503, are not counted.
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
    """Return the number of seconds between the failure `outcome` and the next fetch.

    `tries` is the number of earlier failures that count.
    """
    doubled = _FIRST_RETRY * 2.0 ** min(tries, 32)
    if outcome.retry_after is not None:
        # A server may ask for a wait of only one second after each failure. Even then, each failure
        # doubles the wait, until the wait is a minute long.
        return min(max(outcome.retry_after, min(doubled, MINUTE)), _RETRY_AFTER)
    if outcome.status in _OFTEN:
        return min(doubled, _BUSY_RETRY)
    return min(doubled, _SLOW_RETRY)


def decide(entry: Entry | None, now: float, policy: Policy) -> Decision:
    """Return the decision that follows from `entry` at `now`, in seconds since the epoch.

    If there is neither a copy nor an outage, everything is disallowed until the robots.txt has been
    fetched. A fresh copy decides even if a refresh in the background has failed.
    """
    if entry is None:
        entry = Entry()
    copy = entry.copy
    outage = entry.outage
    if copy is not None and copy.is_soft_404 and not policy.soft_404:
        copy = None  # Another crawl stored it. For this crawl, it is a failed fetch.
    fresh_until = now
    # If the time of the fetch is in the future, a clock was wrong, so the copy is not fresh.
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
    """Return the time at which the next fetch is due, in seconds since the epoch.

    If a clock was wrong, the result is `now`. A clock was wrong if the outage seems to begin in the
    future, or if the next fetch is due later than `_RETRY_AFTER` seconds from now.
    """
    if outage.since > now + _SKEW or outage.retry_at > now + _RETRY_AFTER + _SKEW:
        return now
    return outage.retry_at


def _state_by(copy: Copy, policy: Policy) -> State:
    """Return the state that follows from a copy if there is no outage."""
    if policy.access_denied == "disallow" and (copy.kind is Kind.WALL or copy.status in REFUSALS):
        return State.FULL_DISALLOW
    if copy.kind is Kind.RULES:
        return State.RULES
    return State.FULL_ALLOW


def _on_ladder(outage: Outage, copy: Copy | None, now: float, policy: Policy) -> Decision:
    """Return the decision during an outage. It depends on how long the outage has lasted.

    Requests wait for the next fetch if the state is full disallow. In any other state, they wait
    only if the fetch is late by `_GRACE` seconds.
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
    """Return whether a new crawl should fetch a robots.txt at once, although no fetch is due yet.

    The result is True if everything is disallowed because an earlier crawl found no server
    (`NO_SERVER`). The server may be back by now. If it is not, the fetch puts no load on it.

    `began_at` is the time at which the new crawl began, in seconds since the epoch.
    """
    outage = decision.outage
    if outage is None or decision.state is not State.FULL_DISALLOW:
        return False
    return outage.failure in NO_SERVER and outage.failed_at < began_at


def lacks_a_part(entry: Entry, max_bytes: int) -> bool:
    """Return whether a crawl should fetch a robots.txt at once, because its copy is too short.

    A copy is too short if it was cut, and has fewer than `max_bytes` bytes. Such a copy comes from
    a crawl with a lower limit. During an outage the result is False, because a short copy is better
    than no copy.
    """
    copy = entry.copy
    if copy is None or entry.outage is not None or copy.kind is not Kind.RULES:
        return False
    return copy.cut and len(copy.body) < max_bytes


def span(secs: float) -> str:
    """Return a duration as a text in its largest unit, rounded down, such as "33 d" or "5 min"."""
    for size, unit in _UNITS:
        if secs >= size:
            return f"{secs // size:.0f} {unit}"
    return f"{secs // 1:.0f} s"


def date_of(secs: float) -> datetime | None:
    """Return a time in seconds since the epoch as a date in UTC; None if there is no such date.

    A storage may contain impossible times, because other programs may write there.
    """
    try:
        return datetime.fromtimestamp(secs, tz=timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None
