"""How long requests wait for an unreachable robots.txt, and when its host is dead or gone.

This module reads no clock and does not know Scrapy. `now` comes from the caller, in seconds on a
clock that is never set back. Each answer here is of an unreachable robots.txt, except in `note`. No
answer is changed.

* The requests of an origin wait for the *wait* (GBOT_ROBOTS_UNREACHABLE_WAIT_SECS). The first
  look-up after that decides, if it comes before twice the wait. If it fails, a portion of 64
  requests is forbidden. Each later look-up that fails forbids one more portion, but there is at
  most one portion in each wait.
* An origin that has been unreachable for five waits is *dead*. No request waits for it any more.
* An origin is *gone* if three times in a row its name did not resolve or it refused the connection.
  Failures of earlier runs count, but the last failure must be of this run. No request waits for an
  origin that is gone. There is one exception: if other origins fail in the same way and no server
  answers, our own network may be down.

Example, with a wait of 60 s: https://example.com fails at 0:00, and the crawl has 100 requests for
it. The first look-up after 1:00 also fails, so 64 requests are forbidden, and the other 36 wait.
The next look-up fails at 2:07, so these 36 are forbidden as well. At 5:00 the host is dead.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.urls import Origin
from ..policy.outcome import NO_SERVER

if TYPE_CHECKING:
    from .answer import CachedAnswer

GIVEN_UP = 64  # The size of a portion: at most this many requests of an origin in each wait.
DEAD_AFTER = 5  # waits
TRIES = 3  # An origin without an address or a server is gone after this many failures in a row.

# How long one origin without a server is evidence that our own network may be down.
_LATELY_SECS = 10.0
# Unless a server has answered meanwhile, an origin is not gone sooner than this after its first
# failure in a run. If our own network is down, other origins fail in that time. While they do, the
# room looks again at this interval.
_DOUBT_SECS = 2.0
_SHORTEST_SECS = 0.1  # The shortest time between two looks at an origin.
_MOST_PORTIONS = 10_000  # The most origins whose portion is in memory.


@dataclass(slots=True)
class _Portion:
    """How many requests of an origin may still be forbidden in this wait."""

    left: int = 0
    next_at: float = 0.0  # when a look-up that fails makes it `GIVEN_UP` again


class Patience:
    """How long the requests of one crawl wait for unreachable robots.txt files.

    Args:
        wait_secs: how long requests wait for an unreachable robots.txt, in seconds. With 0 they do
            not wait.

    Attributes:
        answered_at: when any server has answered last. At that time our own network worked.
    """

    def __init__(self, wait_secs: float) -> None:
        self._wait_secs = wait_secs
        self.answered_at = float("-inf")
        # The last two origins without a server, and when they failed.
        self._looked_gone: dict[Origin, float] = {}
        self._portions: dict[Origin, _Portion] = defaultdict(_Portion)

    def note(self, answer: CachedAnswer, now: float) -> None:
        """Give the origin of `answer` another portion, if a wait has passed since its last one.

        The last two origins without a server are recorded, because `is_gone` compares them. Other
        answers than those of unreachable robots.txt files are passed as well. They end the outage,
        so the origin has no portion any more.
        """
        portion = self._portions[answer.origin]
        if now >= portion.next_at:
            portion.left = GIVEN_UP
            portion.next_at = now + self._wait_secs
        if not answer.temporary:
            del self._portions[answer.origin]
        while len(self._portions) > _MOST_PORTIONS:
            del self._portions[next(iter(self._portions))]
        if _times_gone(answer):
            self._looked_gone.pop(answer.origin, None)
            self._looked_gone = dict([*self._looked_gone.items()][-1:])
            self._looked_gone[answer.origin] = now

    def gives_up(self, answer: CachedAnswer, now: float) -> bool:
        """Whether a request in a line is forbidden: all are, or the portion is not used up."""
        if self.is_to_wait(answer, now):
            return False
        return self._portions[answer.origin].left > 0 or self.is_over(answer, now)

    def give_up(self, answer: CachedAnswer) -> None:
        """Take one request off the portion, because it is forbidden."""
        self._portions[answer.origin].left -= 1

    def is_to_wait(self, answer: CachedAnswer, now: float) -> bool:
        """Whether the wait for the origin is not over yet."""
        return now < self._decided_at(answer) and not self.is_over(answer, now)

    def is_over(self, answer: CachedAnswer, now: float) -> bool:
        """Whether the origin is dead or gone, so that no request waits for it any more."""
        return now >= self._dead_at(answer) or self.is_gone(answer, now)

    def is_gone(self, answer: CachedAnswer, now: float) -> bool:
        """Whether the host does not exist or has no server, although our own network works."""
        if _times_gone(answer) < TRIES:
            return False
        if self.answered_at > answer.since:
            return True
        if now < answer.since + _DOUBT_SECS:
            return False
        others = [at for origin, at in self._looked_gone.items() if origin != answer.origin]
        return max(others, default=float("-inf")) <= now - _LATELY_SECS

    def look_again_at(self, answer: CachedAnswer, now: float) -> float:
        """Return when to look again at an origin that requests wait for.

        It is the earliest time at which its robots.txt may be requested again, at which the wait is
        over, or at which the host may be dead or gone.
        """
        at = min(answer.ask_again_at, self._dead_at(answer))
        decided_at = self._decided_at(answer)
        if now < decided_at:
            at = min(at, decided_at)
        if _times_gone(answer) >= TRIES:
            # The origin is gone unless our own network is down. `is_gone` can decide that after
            # the time of doubt. While other origins fail in the same way, that time begins anew.
            in_doubt_until = answer.since + _DOUBT_SECS
            if now >= in_doubt_until:
                in_doubt_until = now + _DOUBT_SECS
            at = min(at, in_doubt_until)
        return max(at, now + _SHORTEST_SECS)

    def _decided_at(self, answer: CachedAnswer) -> float:
        """Return when the wait ends: with the first look-up after it, unless that is too late."""
        end = answer.since + self._wait_secs
        if answer.asked_at < end <= answer.ask_again_at <= end + self._wait_secs:
            return answer.ask_again_at
        return end

    def _dead_at(self, answer: CachedAnswer) -> float:
        return answer.since + DEAD_AFTER * self._wait_secs


def _times_gone(answer: CachedAnswer) -> int:
    """Return how many of the last fetches in a row found no server at the origin itself."""
    outage = answer.outage
    if outage is None or outage.redirected_to or outage.failure not in NO_SERVER:
        return 0
    return outage.alike
