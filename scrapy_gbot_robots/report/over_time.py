"""Counts over the time of a crawl, in bounded memory: if there are too many spans, each becomes twice as long.

Example with at most 4 spans: the counts are [3, 0, 1, 2], each of 1 second, and something happens in the fifth second. The
counts become [3, 3], each of 2 seconds, and then [3, 3, 1].
"""

from __future__ import annotations

MOST_SPANS = 60


class OverTime:
    """How often something happened in each span of a crawl.

    Attributes:
        span_secs: the length of a span.
        counts: one number a span, from the beginning on.
    """

    def __init__(self, began: float) -> None:
        self._began = began
        self.span_secs = 1.0
        self.counts: list[int] = []

    def add(self, now: float) -> None:
        """Add one at `now`, in seconds on the clock of `began`. If that clock was set back, add it to the first span."""
        at = int(max(0.0, now - self._began) / self.span_secs)
        while at >= MOST_SPANS:
            self.counts = [sum(self.counts[i : i + 2]) for i in range(0, len(self.counts), 2)]
            self.span_secs *= 2
            at //= 2
        self.counts += [0] * (at + 1 - len(self.counts))
        self.counts[at] += 1
