"""How many look-ups run at a time: they keep no page waiting, and no dead host keeps them.

As many look-ups run as requests may be under way, together with the gates that are open and whose
requests the engine has not taken yet. So look-ups do not run ahead of pages. A look-up that takes
three times as long as the last ones took does not count, and another one may run: origins that
never answer do not keep the others from being asked.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from ..fetching.fetcher import MOST_UNDER_WAY

if TYPE_CHECKING:
    from ..core.urls import Origin

FEWEST_AT_A_TIME = 16  # look-ups
_FIRST_GUESS_SECS = 0.5  # how long a look-up takes
_SHORTEST_PATIENCE_SECS = 0.1
_WEIGHT = 0.2  # of the last look-up in the mean time that counts as usual


class Pace:
    """Counts the look-ups of one crawl, by their origins.

    Args:
        most: how many look-ups may run, with the gates that are open and not used yet.
    """

    def __init__(self, most: int) -> None:
        self._most = max(FEWEST_AT_A_TIME, most)
        self._began: dict[Origin, float] = {}  # of each look-up that runs, on the monotonic clock
        self._counted: OrderedDict[Origin, None] = OrderedDict()  # those that are not late
        self._unused: set[Origin] = set()  # open gates, of which the engine has taken no request
        self._usual_secs = _FIRST_GUESS_SECS

    def has_place(self) -> bool:
        """Whether one more look-up may run."""
        if len(self._began) >= MOST_UNDER_WAY:
            return False
        return len(self._counted) + len(self._unused) < self._most

    def stop_counting_late(self) -> None:
        """Count those look-ups no more that take much longer than usual."""
        patience_secs = max(_SHORTEST_PATIENCE_SECS, 3 * self._usual_secs)
        late = time.monotonic() - patience_secs
        while self._counted and self._began[next(iter(self._counted))] < late:
            self._counted.popitem(last=False)

    def look_up_began(self, origin: Origin) -> None:
        """Count the look-up of `origin`."""
        self._began[origin] = time.monotonic()
        self._counted[origin] = None

    def look_up_ended(self, origin: Origin, *, is_usual: bool) -> None:
        """Count the look-up of `origin` no more.

        If it `is_usual`, others are expected to take as long.
        """
        secs = time.monotonic() - self._began.pop(origin)
        self._counted.pop(origin, None)
        if is_usual:
            self._usual_secs += (secs - self._usual_secs) * _WEIGHT

    def gate_opened(self, origin: Origin) -> None:
        """Count the gate of `origin` until the engine has taken one of its requests."""
        self._unused.add(origin)

    def gate_used(self, origin: Origin) -> bool:
        """Count the gate of `origin` no more, since it is used or shut.

        Return whether it counted.
        """
        if origin not in self._unused:
            return False
        self._unused.discard(origin)
        return True

    def forget_unused(self) -> bool:
        """Count no open gate any more: slots keep their requests back.

        Return whether one counted.
        """
        had_some = bool(self._unused)
        self._unused.clear()
        return had_some
