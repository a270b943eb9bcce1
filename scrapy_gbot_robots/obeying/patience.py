"""How long requests wait for an unreachable robots.txt, and when its host is dead or gone.

Pure: no clock and no Scrapy. `now` comes from outside, in seconds on a clock that is never set
back.

* Requests of an origin wait for the *wait*. The first look-up after that decides, if it comes
  before twice the wait: if it fails, a portion of 64 requests is given up. Each later look-up that
  fails gives up a portion, too, but at most once in a wait.
* An origin that has been unreachable for five waits is *dead*: nothing waits for it any more.
* An origin is *gone* if its name does not resolve, or it refuses connections, three times in a row.
  Failures of earlier runs count, but the last one is of this run. Nothing waits for such an origin,
  unless one's own network may be down: other origins fail in the same way, and no server answers.

Example, with a wait of 60 s: https://example.com fails at 0:00, and the crawl has 100 of its
requests. The first look-up after 1:00 fails, too: 64 requests are given up, and the other 36 wait.
The next one fails at 2:07: they are given up, too. At 5:00 the host is dead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..core.urls import Origin
from ..policy.outages import Outage
from ..policy.outcome import NO_SERVER

GIVEN_UP = 64  # requests of an origin, at most once in each wait
DEAD_AFTER = 5  # waits
TRIES = 3  # until an origin is gone that has no address, or no server

_LATELY_SECS = 10.0  # for so long, an origin that looks gone counts for others
# So long after the first failure in a run an origin is gone at the earliest, if no server has
# answered since: time for other origins to show that one's own network is down. As long as they do,
# a look each time that so much has passed.
_DOUBT_SECS = 2.0
_SHORTEST_SECS = 0.1  # between two looks at an origin


class Trouble(NamedTuple):
    """An origin whose robots.txt is unreachable, as one crawl knows it."""

    origin: Origin
    since: float  # when this crawl first noticed it
    asked_at: float  # when the last look-up ended
    ask_at: float  # when the robots.txt may be asked for again
    outage: Outage | None  # None: a bug in this plugin ended the look-up


@dataclass(slots=True)
class Portion:
    """How many requests of an origin in trouble may be given up now."""

    left: int = 0
    next_at: float = float("-inf")  # when the next portion may come


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

    def renew(self, portion: Portion, now: float) -> None:
        """Make `portion` whole again after a look-up that has failed, if a wait has passed."""
        if now >= portion.next_at:
            portion.left = GIVEN_UP
            portion.next_at = now + self._wait_secs

    def is_to_wait(self, trouble: Trouble, now: float) -> bool:
        """Whether the wait for the origin still lasts."""
        return now < self._decided_at(trouble) and not self.is_over(trouble, now)

    def is_over(self, trouble: Trouble, now: float) -> bool:
        """Whether no request waits for the origin any more: it is dead or gone."""
        return now >= self._dead_at(trouble) or self.is_gone(trouble, now)

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

    def look_again_at(self, trouble: Trouble, now: float) -> float:
        """When to look again at an origin that requests wait for.

        Its robots.txt may be asked for then, or the wait is over, or the host is dead, or gone.
        """
        at = min(trouble.ask_at, self._dead_at(trouble))
        decided_at = self._decided_at(trouble)
        if now < decided_at:
            at = min(at, decided_at)
        if _looks_gone(trouble):
            in_doubt_until = trouble.since + _DOUBT_SECS
            if now >= in_doubt_until:
                in_doubt_until = now + _DOUBT_SECS
            at = min(at, in_doubt_until)
        return max(at, now + _SHORTEST_SECS)

    def _decided_at(self, trouble: Trouble) -> float:
        """When the wait ends: at the first look-up after it, unless that comes too late."""
        end = trouble.since + self._wait_secs
        if trouble.asked_at < end <= trouble.ask_at <= end + self._wait_secs:
            return trouble.ask_at
        return end

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
