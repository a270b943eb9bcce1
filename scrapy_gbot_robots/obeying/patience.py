"""How long requests wait for an unreachable robots.txt, and when its host is dead or gone.

Pure: no clock and no Scrapy. `now` comes from outside, in seconds on a clock that is never set
back. Each answer here is that of an unreachable robots.txt, but see `note`.

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

from typing import TYPE_CHECKING

from ..core.urls import Origin
from ..policy.outcome import NO_SERVER

if TYPE_CHECKING:
    from .answer import CachedAnswer

GIVEN_UP = 64  # requests of an origin, at most once in each wait
DEAD_AFTER = 5  # waits
TRIES = 3  # until an origin is gone that has no address, or no server

_LATELY_SECS = 10.0  # for so long, an origin that looks gone counts for others
# So long after the first failure in a run an origin is gone at the earliest, if no server has
# answered since: time for other origins to show that one's own network is down. As long as they do,
# a look each time that so much has passed.
_DOUBT_SECS = 2.0
_SHORTEST_SECS = 0.1  # between two looks at an origin


class Patience:
    """How long the requests of one crawl wait, and for whom.

    Args:
        wait_secs: how long requests wait for an unreachable robots.txt; 0: not at all.

    Attributes:
        answered_at: when a server, whichever, has answered last: one's own network was up.
    """

    def __init__(self, wait_secs: float) -> None:
        self._wait_secs = wait_secs
        self.answered_at = float("-inf")
        self._looked_gone: dict[Origin, float] = {}  # the last two that did, and when

    def note(self, answer: CachedAnswer, now: float) -> None:
        """Let `answer` give up another portion, if a wait has passed since its last one.

        The last two origins without a server are remembered: `is_gone` compares them. An answer
        that is not of an unreachable robots.txt comes here, too; its portion counts for nothing.
        """
        if now >= answer.next_portion_at:
            answer.portion = GIVEN_UP
            answer.next_portion_at = now + self._wait_secs
        if _times_gone(answer):
            self._looked_gone.pop(answer.origin, None)
            self._looked_gone = dict([*self._looked_gone.items()][-1:])
            self._looked_gone[answer.origin] = now

    def is_to_wait(self, answer: CachedAnswer, now: float) -> bool:
        """Whether the wait for the origin still lasts."""
        return now < self._decided_at(answer) and not self.is_over(answer, now)

    def is_over(self, answer: CachedAnswer, now: float) -> bool:
        """Whether no request waits for the origin any more: it is dead or gone."""
        return now >= self._dead_at(answer) or self.is_gone(answer, now)

    def is_gone(self, answer: CachedAnswer, now: float) -> bool:
        """Whether the host does not exist, or has no server, and one's own network is up."""
        if _times_gone(answer) < TRIES:
            return False
        if self.answered_at > answer.since:
            return True
        if now < answer.since + _DOUBT_SECS:
            return False
        others = [at for origin, at in self._looked_gone.items() if origin != answer.origin]
        return max(others, default=float("-inf")) <= now - _LATELY_SECS

    def look_again_at(self, answer: CachedAnswer, now: float) -> float:
        """When to look again at an origin that requests wait for.

        Its robots.txt may be asked for then, or the wait is over, or the host is dead, or gone.
        """
        at = min(answer.ask_again_at, self._dead_at(answer))
        decided_at = self._decided_at(answer)
        if now < decided_at:
            at = min(at, decided_at)
        if _times_gone(answer) >= TRIES:
            # It looks gone, unless one's own network is down. `is_gone` can tell when the doubt has
            # lasted; as long as other origins look gone, too, the doubt begins anew.
            in_doubt_until = answer.since + _DOUBT_SECS
            if now >= in_doubt_until:
                in_doubt_until = now + _DOUBT_SECS
            at = min(at, in_doubt_until)
        return max(at, now + _SHORTEST_SECS)

    def _decided_at(self, answer: CachedAnswer) -> float:
        """When the wait counts as over: at the first look-up after it, unless that is too late."""
        end = answer.since + self._wait_secs
        if answer.asked_at < end <= answer.ask_again_at <= end + self._wait_secs:
            return answer.ask_again_at
        return end

    def _dead_at(self, answer: CachedAnswer) -> float:
        return answer.since + DEAD_AFTER * self._wait_secs


def _times_gone(answer: CachedAnswer) -> int:
    """How many of the last fetches in a row found no server, at the origin itself."""
    outage = answer.outage
    if outage is None or outage.redirected_to or outage.failure not in NO_SERVER:
        return 0
    return outage.alike
