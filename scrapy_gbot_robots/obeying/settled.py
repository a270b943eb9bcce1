"""The answers that requests have waited for, kept for these requests until they come back through the scheduler.

An answer may expire before all of them have come: with `GBOT_ROBOTS_MAX_AGE_SECS = 0` it expires at once. If each of them
then asked anew, a robots.txt that fails every other time would make them wait again and again, and the crawl would stand
still. So an answer serves every request that has waited for it, for up to `SERVED_SECS`.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..core.crawlers import RobotsAgent
    from ..core.urls import Origin
    from .answer import Answer

SERVED_SECS = 600.0  # long enough for a full room to pass the downloader; an answer that is good for longer is not kept

_MOST, _MOST_BYTES = 1000, 16 * 2**20  # answers, and their memory together


class _Kept(NamedTuple):
    agent: RobotsAgent
    answer: Answer
    weight: int


class SettledAnswers:
    """The last answer of each origin that has settled, if that answer expires soon."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Origin, _Kept] = OrderedDict()
        self._bytes = 0

    def keep(self, agent: RobotsAgent, answer: Answer) -> float | None:
        """Keep `answer` for the requests that waited for it. Return their mark for `get`; None if they need none."""
        if answer.bars_for_now or answer.ask_at >= answer.given_at + SERVED_SECS:
            return None
        self._drop(answer.origin)
        self._kept[answer.origin] = _Kept(agent, answer, answer.weight)
        self._bytes += answer.weight
        while len(self._kept) > _MOST or (self._bytes > _MOST_BYTES and len(self._kept) > 1):
            self._drop(next(iter(self._kept)))
        return answer.given_at

    def get(self, origin: Origin, agent: RobotsAgent, mark: float) -> Answer | None:
        """The answer for a request of `agent` that has waited for the answer with `mark`; None if it is kept no longer."""
        kept = self._kept.get(origin)
        if kept is None or kept.agent != agent or kept.answer.given_at < mark:
            return None
        if abs(time.time() - kept.answer.given_at) > SERVED_SECS:
            self._drop(origin)
            return None
        return kept.answer

    def _drop(self, origin: Origin) -> None:
        kept = self._kept.pop(origin, None)
        if kept is not None:
            self._bytes -= kept.weight
