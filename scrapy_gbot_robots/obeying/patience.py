"""Decides how long requests wait for an unreachable robots.txt, and when its host is dead or gone.

The room (room.py) holds the requests that wait, and calls the methods of `Patience` to find out how
long they wait. This module reads no clock and does not use Scrapy. The caller passes the time
`now`, in seconds on the monotonic clock, and the answer for the origin. `Patience.note` takes any
answer. The other methods take only answers of unreachable robots.txt files.

Below, a *wait* is the time in GBOT_ROBOTS_UNREACHABLE_WAIT_SECS, and a *portion* is 64 requests of
one origin.

* At first, all requests of the origin wait, until one wait has passed since the first failure. Then
  the robots.txt is looked up again. If this look-up fails too, a portion is forbidden, and the
  other requests wait longer. After each later look-up that fails, another portion is forbidden, but
  at most one in each wait. If the first of these look-ups is due more than one wait after the end
  of the first wait, the first portion is forbidden without that look-up.
* When the origin has been unreachable for five waits, it is *dead*. All its requests are forbidden.
* When three fetches in a row have found no server, the origin is *gone*. All its requests are
  forbidden. A fetch finds no server if the name of the host does not resolve, or if the connection
  is refused. Fetches in earlier runs count, but the last one must be in this run. If it was in an
  earlier run, `Lookup` fetches the file again (`is_to_be_confirmed`).
* If our own network is down, no fetch finds a server. So if no server at all has answered since the
  first failure of an origin in this run, the origin is not gone yet. It is gone at the earliest two
  seconds after this failure, and only when fetches for other origins do not fail in this way.

Example, with a wait of 60 s: https://example.com fails at 0:00, and the crawl has 100 requests for
it. The next look-up after 1:00 is at 1:05 and fails, so 64 requests are forbidden, and the other 36
wait. The next look-up fails at 2:07, so these 36 are forbidden as well. At 5:00 the host is dead.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.urls import Origin
from ..policy.outages import GONE_AFTER

if TYPE_CHECKING:
    from ..answers.answer import CachedAnswer

GIVEN_UP = 64  # the number of requests in a portion
DEAD_AFTER = 5  # After this many waits, an unreachable origin is dead.

# If fetches for two origins find no server within this number of seconds of each other, and no
# server at all has answered since their first failures, our own network is probably down. Then
# neither origin counts as gone.
_LATELY_SECS = 10.0
# If no server at all has answered since the first failure of an origin in this run, our own network
# may be down. So the origin is not gone for this number of seconds. While other origins fail too,
# the room then checks at this interval whether the origin is gone.
_DOUBT_SECS = 2.0
_SHORTEST_SECS = 0.1  # The room waits at least this long before it looks at an origin again.
_MOST_PORTIONS = 10_000  # The portions of at most this many origins are in memory.


@dataclass(slots=True)
class _Portion:
    """How many requests of an origin may be forbidden, until the next portion begins."""

    left: int = 0  # how many requests may still be forbidden
    next_at: float = 0.0  # the earliest time at which the next portion begins


class Patience:
    """Decides how long the requests of one crawl wait for unreachable robots.txt files.

    Args:
        wait_secs: how long requests wait for an unreachable robots.txt, in seconds. With 0 they do
            not wait.

    Attributes:
        answered_at: the time of the last response from any server, on the monotonic clock. Our own
            network worked at that time.
    """

    def __init__(self, wait_secs: float) -> None:
        self._wait_secs = wait_secs
        self.answered_at = float("-inf")
        # The last two origins whose server was not found, with the times of the failures.
        self._looked_gone: dict[Origin, float] = {}
        self._portions: dict[Origin, _Portion] = defaultdict(_Portion)

    def note(self, answer: CachedAnswer, now: float) -> None:
        """Record a new answer of an origin.

        If the robots.txt is unreachable, a new portion begins, unless the last portion began less
        than one wait ago. If the robots.txt is reachable again, the portion is forgotten. If the
        fetch has found no server, this is recorded for `is_gone`.
        """
        portion = self._portions[answer.origin]
        if now >= portion.next_at:
            portion.left = GIVEN_UP
            portion.next_at = now + self._wait_secs
        if not answer.temporary:
            del self._portions[answer.origin]
        while len(self._portions) > _MOST_PORTIONS:
            del self._portions[next(iter(self._portions))]
        if _tries_without_server(answer):
            self._looked_gone.pop(answer.origin, None)
            self._looked_gone = dict([*self._looked_gone.items()][-1:])
            self._looked_gone[answer.origin] = now

    def gives_up(self, answer: CachedAnswer, now: float) -> bool:
        """Whether the next request that waits for the origin is forbidden.

        It is forbidden if the origin is dead or gone. After the first wait, it is also forbidden if
        fewer than `GIVEN_UP` requests of the present portion have been forbidden so far.
        """
        if self.is_first_wait(answer, now):
            return False
        return self._portions[answer.origin].left > 0 or self.is_over(answer, now)

    def give_up(self, answer: CachedAnswer) -> None:
        """Count a forbidden request in the present portion of its origin.

        The room also calls this method for requests that never wait, and for requests of dead or
        gone origins. So `left` may be less than 0 until the next portion begins.
        """
        self._portions[answer.origin].left -= 1

    def is_first_wait(self, answer: CachedAnswer, now: float) -> bool:
        """Whether it is still too early to forbid requests to the origin, and all of them wait.

        When the first wait is over, `gives_up` decides which requests are forbidden.
        """
        return now < self._decided_at(answer) and not self.is_over(answer, now)

    def is_over(self, answer: CachedAnswer, now: float) -> bool:
        """Whether the origin is dead (unreachable for five waits) or gone (no server is found).

        If so, no request waits for its robots.txt any more.
        """
        return now >= self._dead_at(answer) or self.is_gone(answer, now)

    def is_gone(self, answer: CachedAnswer, now: float) -> bool:
        """Whether three fetches in a row found no server, although our network seems to work."""
        if _tries_without_server(answer) < GONE_AFTER:
            return False
        if self.answered_at > answer.since:
            return True
        if now < answer.since + _DOUBT_SECS:
            return False
        others = [at for origin, at in self._looked_gone.items() if origin != answer.origin]
        return max(others, default=float("-inf")) <= now - _LATELY_SECS

    def look_again_at(self, answer: CachedAnswer, now: float) -> float:
        """Return the time at which the room should look again at an origin with waiting requests.

        It is the earliest of three times:

        1. the time at which the robots.txt may be requested again
        2. the time from which requests may be forbidden, because the first wait is over
        3. the time at which the origin may be dead or gone
        """
        at = min(answer.monotonic_ask_at, self._dead_at(answer))
        decided_at = self._decided_at(answer)
        if now < decided_at:
            at = min(at, decided_at)
        if _tries_without_server(answer) >= GONE_AFTER:
            # Either the origin is gone, or our own network is down. `is_gone` may need
            # `_DOUBT_SECS` to find out which. If other origins fail too, it needs longer, so the
            # room looks again every `_DOUBT_SECS`.
            in_doubt_until = answer.since + _DOUBT_SECS
            if now >= in_doubt_until:
                in_doubt_until = now + _DOUBT_SECS
            at = min(at, in_doubt_until)
        return max(at, now + _SHORTEST_SECS)

    def _decided_at(self, answer: CachedAnswer) -> float:
        """Return the time from which requests of the origin may be forbidden.

        Usually, this is the time of the first look-up after the end of the first wait. But if that
        look-up is due more than one wait after the end, the result is the end of the first wait.
        """
        end = answer.since + self._wait_secs
        if answer.monotonic_given_at < end <= answer.monotonic_ask_at <= end + self._wait_secs:
            return answer.monotonic_ask_at
        return end

    def _dead_at(self, answer: CachedAnswer) -> float:
        return answer.since + DEAD_AFTER * self._wait_secs


def _tries_without_server(answer: CachedAnswer) -> int:
    if answer.outage is None:
        return 0
    return answer.outage.tries_without_server
