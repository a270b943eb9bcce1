"""How far the clock was set forward while a crawl ran: time that no outage has lasted.

What is allowed after 30 days of an outage must not be allowed because a clock jumped. The time of day alone cannot tell a
jump from 30 days, the monotonic clock alone cannot be compared between processes; together they tell: where the time of day
has gained on the monotonic clock, it was set forward (or the machine slept, in which time nobody has asked either).
"""

from __future__ import annotations

import time
from collections import deque

_LEAST_SECS = 300.0  # a smaller gain is a clock that is put right
_MOST_JUMPS = 100


class Jumps:
    """The jumps forward that one process has seen since this was made."""

    def __init__(self) -> None:
        self._lead = time.time() - time.monotonic()
        self._jumps: deque[tuple[float, float]] = deque(maxlen=_MOST_JUMPS)  # time of day before it, seconds

    def skipped_since(self, since: float) -> float:
        """How many of the seconds from `since` (seconds since the epoch) until now did not pass."""
        now = time.time()
        lead = now - time.monotonic()
        gain = lead - self._lead
        if abs(gain) >= _LEAST_SECS:
            if gain > 0:
                self._jumps.append((now - gain, gain))
            self._lead = lead
        return sum(secs for before, secs in self._jumps if since <= before)
