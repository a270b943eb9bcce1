"""When requests for an unreachable robots.txt are given up, and when a host is dead or gone.

Pure: no clock and no Scrapy. `now` comes from outside, in seconds on a clock that is never set
back.

* A request waits for the *wait*. The first fetch after that decides: if it fails, 64 requests of
  the origin are given up, and after twice the wait four at each failed fetch.
* An origin that has been unreachable for five waits is *dead*: nothing waits for it any more.
* An origin is *gone* if its name does not resolve, or it refuses connections, three times in a row.
  Failures of earlier runs count, but the last one is of this run. Nothing waits for such an origin,
  unless one's own network may be down: other origins fail in the same way, and no server answers.

Example, with a wait of 60 s: https://example.com fails at 0:00, and the crawl has 100 of its
requests. The first look-up after 1:00 fails, too: 64 requests are given up, and the other 36 wait.
From 2:00 on, four are given up at a time. At 5:00 the host is dead.
"""

from __future__ import annotations

from typing import NamedTuple

from ..core.urls import Origin
from ..policy.outages import Outage
from ..policy.outcome import NO_SERVER

GIVEN_UP_FIRST = 64  # requests of an origin that are given up when the wait is over
GIVEN_UP_LATER = 4  # after each failed look-up, when twice the wait is over
DEAD_AFTER = 5  # waits
TRIES = 3  # until an origin is gone that has no address, or no server

_LATELY_SECS = 10.0  # for so long, an origin that looks gone counts for others
# So long after the first failure in a run an origin is gone at the earliest, if no server has
# answered since: time for other origins to show that one's own network is down.
_DOUBT_SECS = 2.0
_SHORTEST_SECS = 0.1  # between two looks at an origin


class Trouble(NamedTuple):
    """An origin whose robots.txt is unreachable, as one crawl knows it."""

    origin: Origin
    since: float  # when this crawl first noticed it
    outage: Outage | None  # None: a bug in this plugin ended the look-up


class Patience:
    """How long the requests of one crawl wait, and for whom.

    Args:
        wait_secs: how long requests wait for an unreachable robots.txt; 0: not at all.
    """

    def __init__(self, wait_secs: float) -> None:
        self._wait_secs = wait_secs
        self._answered_at = float("-inf")  # when any server answered last
        self._looked_gone: dict[Origin, float] = {}  # the last two that did, and when

    def server_answered(self, now: float) -> None:
        """Note that a server, whichever, has answered: one's own network is up."""
        self._answered_at = now

    def note(self, trouble: Trouble, now: float) -> None:
        """Note that a look-up has ended in `trouble`; only one without a server counts.

        Two are remembered, so that each origin can be compared with another one.
        """
        if _has_no_server(trouble):
            self._looked_gone.pop(trouble.origin, None)
            self._looked_gone = dict([*self._looked_gone.items()][-1:])
            self._looked_gone[trouble.origin] = now

    def is_over(self, trouble: Trouble, now: float) -> bool:
        """Whether no request waits for the origin any more: it is dead or gone."""
        if now >= self._dead_at(trouble):
            return True
        return self.is_gone(trouble, now)

    def is_gone(self, trouble: Trouble, now: float) -> bool:
        """Whether the host does not exist, or has no server."""
        if not _looks_gone(trouble):
            return False
        if self._answered_at > trouble.since:
            return True
        if now < trouble.since + _DOUBT_SECS:
            return False
        others = [at for origin, at in self._looked_gone.items() if origin != trouble.origin]
        return max(others, default=float("-inf")) <= now - _LATELY_SECS

    def secs_left(
        self, trouble: Trouble, waiting_since: float, secs_until_asked: float, now: float
    ) -> float:
        """How many more seconds a request waits that has waited since `waiting_since`.

        0 or less: it is given up. Otherwise it waits until the robots.txt may be fetched again, in
        `secs_until_asked`; if that is too far off, until its own time is over; in doubt whether the
        host is gone, until that is known.
        """
        secs = waiting_since + self._wait_secs - now
        if secs > 0:
            if secs_until_asked <= secs + self._wait_secs:
                secs = max(_SHORTEST_SECS, secs_until_asked)
            doubt_secs = trouble.since + _DOUBT_SECS - now
            if doubt_secs > 0 and _looks_gone(trouble):
                secs = min(secs, doubt_secs)
        return min(secs, self._dead_at(trouble) - now)

    def given_up_at_once(self, trouble: Trouble, now: float) -> int:
        """How many requests are given up when the wait is over."""
        if self.is_long(trouble, now):
            return GIVEN_UP_LATER
        return GIVEN_UP_FIRST

    def is_long(self, trouble: Trouble, now: float) -> bool:
        """Whether the trouble lasts for twice the wait: then requests go in small numbers."""
        return now - trouble.since >= 2 * self._wait_secs

    def _dead_at(self, trouble: Trouble) -> float:
        return trouble.since + DEAD_AFTER * self._wait_secs


def _has_no_server(trouble: Trouble) -> bool:
    """Whether the last fetch found no server, at the origin itself."""
    outage = trouble.outage
    if outage is None or outage.redirected_to:
        return False
    return outage.failure in NO_SERVER


def _looks_gone(trouble: Trouble) -> bool:
    """Whether the origin is gone unless one's own network is down."""
    return trouble.outage is not None and trouble.outage.alike >= TRIES and _has_no_server(trouble)
