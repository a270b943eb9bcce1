"""Requests for which the waiting room has no place: they go back to the scheduler, and come after all that may go.

A request that goes back must not come again at once: then no other origin would get its turn. What helps depends on the
scheduler.

Scrapy's default queue has a queue for each download slot, and takes the next request from the slot with the fewest active
requests. A slot whose next request has no place is *barred*: it comes after all that are not. It has its turn again when one
of its parties settles, when it gets a request that may go, and after a while.

Some queues are *shared* by origins that may go. A slot is, if `download_slot` in the meta says so, or if its host has other
origins. Any other scheduler counts as one shared queue. In a shared queue a request goes back with a lowered priority, below
all others, and has its own again when it comes. Its *level* is by how many steps. All requests of a party go back with the
party's level. If one comes with that level, it has come before, so nothing better is behind it.

When a party settles, its lowered requests may go, but those of other parties may lie before them. So these parties get a new
level: what comes of them goes back once more, now behind. A new level is greater than any before, also in an earlier crawl
with the same JOBDIR or Redis, because it is taken from the clock.

Example: a shared slot, a room with places for a1 and a2, and the requests a3 and a4 of the same origin, then b1 of another.

    a3, a4 come      no place: back, with the level of their party
    b1 comes         to the engine
    a3 comes         with the level of its party: back, and the slot is barred
    a is settled     a1 and a2 go back with their own priority. The slot is no longer barred: a1, a2, a3 and a4 come

To go through a shared slot takes a fifth of the time at the most; meanwhile the slot is barred, too. A scheduler without
slots cannot be barred. There the *stopper*, a request that has come before, is kept here, so that the scheduler shows what
lies behind it. Then one more request is pulled each time that the engine asks.

Warning: a slot is not known to be shared if the other origin of its host has not been asked for yet. With `kill -9` a JOBDIR
loses the requests that Scrapy's disk queues have got since the last clean end, and so the lowered ones. That is why the
requests of other slots are not lowered.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy.utils.httpobj import urlparse_cached

from ..engine import hide_slots, pull_soon, slot_key
from .party import Lowered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy import Request
    from scrapy.core.scheduler import BaseScheduler
    from scrapy.crawler import Crawler

    from ..core.urls import Origin
    from .party import Party
    from .requeue import Requeue

BARRED_SECS = 1.0  # until a slot is tried again in which all have come before; longer if there are many such slots

_TRIED_EACH_SEC = 100  # such slots
_SEARCH_FACTOR = 10  # to put a request back takes about half of what it takes to pass it over: a fifth of the time
_BURST_SECS = 0.1


class Overflow:
    """The requests of one crawl for which the room had no place.

    Args:
        shares_host: whether other origins of the same host are known.

    Attributes:
        by_slot: whether the scheduler has a queue for each download slot.
        stopper: a request that is kept here, in no party.
    """

    def __init__(
        self, scheduler: BaseScheduler, requeue: Requeue, crawler: Crawler, shares_host: Callable[[Origin], bool]
    ) -> None:
        self._shares_host = shares_host
        self._crawler = crawler
        self._requeue = requeue
        self._barred: dict[str, float] = {}  # until when, on the monotonic clock
        self._without_party = Lowered()
        self._level = 0
        self._searched_until = 0.0  # as if searching took `_SEARCH_FACTOR` times as long
        self.by_slot = hide_slots(scheduler, self._barred)
        self.stopper: Request | None = None

    def put_back(self, party: Party, request: Request) -> None:
        """Put `request` back, for which `party` has no place."""
        self._put_back(party, request, self._lowered(party).level if self._is_shared(party, request) else 0)

    def pass_over(self, party: Party, request: Request, level: int) -> bool:
        """Put `request` back, which has come with `level`; return whether a better one may come next."""
        began = time.monotonic()
        own = self._lowered(party).level
        is_new = level < own and self._is_shared(party, request)
        if not is_new and not self.by_slot and self.stopper is None:
            self.stopper = request
        else:
            self._put_back(party, request, own if is_new else level)
        if not self.by_slot:
            return is_new
        now = time.monotonic()
        if is_new:
            self._searched_until = max(self._searched_until, now - _BURST_SECS) + _SEARCH_FACTOR * (now - began)
            if self._searched_until > now:
                self._bar(request, self._searched_until)
        else:
            self._bar(request, now + max(BARRED_SECS, len(self._barred) / _TRIED_EACH_SEC))
        return True

    def _put_back(self, party: Party, request: Request, level: int) -> None:
        self._lowered(party).queues.add(self._queue_of(request))
        self._requeue.put_back(request, level)

    def bar_shortly(self, request: Request) -> None:
        """Let other slots go before the one of `request` until the next `tick`."""
        self._bar(request, 0.0)

    def is_barred(self, request: Request) -> bool:
        """Whether the slot of `request` is barred."""
        return bool(self._barred) and self._queue_of(request) in self._barred

    def unbar(self, request: Request) -> None:
        """Let the slot of `request` have its turn: it gets a request that may go."""
        self._barred.pop(self._queue_of(request), None)

    def settled(self, party: Party, others: Iterable[Party]) -> None:
        """Note that the requests of `party` may go, and that `others` are in the room."""
        queues = party.lowered.queues | self._without_party.queues
        if not queues:
            return
        level = self._next_level()
        for lowered in (*(other.lowered for other in others), self._without_party):
            if not lowered.queues.isdisjoint(queues):
                lowered.level = level
        self._without_party.queues.clear()
        for queue in queues:
            self._barred.pop(queue, None)

    def tick(self) -> None:
        """Try the slots again that were barred until now. Call this a few times a second."""
        now = time.monotonic()
        over = [queue for queue, until in self._barred.items() if until <= now]
        for queue in over:
            del self._barred[queue]
        if over:
            pull_soon(self._crawler)

    def _bar(self, request: Request, until: float) -> None:
        queue = self._queue_of(request)
        self._barred[queue] = max(until, self._barred.get(queue, 0.0))

    def _lowered(self, party: Party) -> Lowered:
        """What has gone back of `party`. It may not be in the room, because there is no place for its first request."""
        lowered = party.lowered if party.since else self._without_party
        if not lowered.level:
            lowered.level = self._next_level()
        return lowered

    def _is_shared(self, party: Party, request: Request) -> bool:
        """Whether requests that may go can be behind `request` in its queue."""
        if not self.by_slot or self._queue_of(request) != urlparse_cached(request).hostname:
            return True
        if party.shares_host is None:
            party.shares_host = bool(party.since) and self._shares_host(party.origin)
        return party.shares_host

    def _next_level(self) -> int:
        self._level = max(self._level + 1, int(time.time()))
        return self._level

    def _queue_of(self, request: Request) -> str:
        return slot_key(self._crawler, request) if self.by_slot else ""
