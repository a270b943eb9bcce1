"""How far the clock was set forward while a crawl ran: this time does not count as time of an outage.

After 30 days of an outage the ladder may allow everything. A clock that jumps by 30 days must not have that effect. The time
of day alone cannot tell a jump from 30 days, and the monotonic clocks of two processes cannot be compared. The two clocks
together can tell: if the time of day has gained on the monotonic clock, it was set forward (or the machine slept, and asked
no server meanwhile).

Example: between two looks the monotonic clock has gone on by 60 s, the time of day by 86,460 s. The clock was set forward by
86,400 s.
"""

from __future__ import annotations

import time
from collections import deque

_LEAST_SECS = 300.0  # a smaller gain is an ordinary correction of the clock
_MOST_JUMPS = 100


class Jumps:
    """The jumps forward since this object was made."""

    def __init__(self) -> None:
        self._lead = time.time() - time.monotonic()
        self._jumps: deque[tuple[float, float]] = deque(maxlen=_MOST_JUMPS)  # time of day before it, seconds

    def skipped_since(self, since: float) -> float:
        """How many of the seconds from `since` (seconds since the epoch) until now did not really pass."""
        now = time.time()
        lead = now - time.monotonic()
        gain = lead - self._lead
        if abs(gain) >= _LEAST_SECS:
            if gain > 0:
                self._jumps.append((now - gain, gain))
            self._lead = lead
        return sum(secs for before, secs in self._jumps if since <= before)
