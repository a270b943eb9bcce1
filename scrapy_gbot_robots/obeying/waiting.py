"""How a request waits for a robots.txt: it does not delay other hosts, and it is not lost.

Requests wait in the scheduler's queue, behind the gate of their origin. So they keep their order, a
JOBDIR has them, and they take no place in the downloader. This module is about the few that come
past the gates.

    scheduler:   OriginPriorityQueue
                     |   each line of requests waits at the gate of its origin (`queue`, `gates`)
                     |   settled, or given up
                     v
    downloader:  process_request
                     |  answer known, or passed on by the gate: judged at once
                     |  otherwise: waits in its place (this module)
                     |       settled in time ---------------> judged
                     |       settled later -----------------> back to the scheduler, once
                     |       given up ----------------------> judged, and so refused
                     v
                 judged: goes on, or is refused

What comes past the gates: a request from another kind of scheduler or queue (scrapy-redis, a user's
own), or from `engine.download_async`; one whose URL another middleware has changed; one of a second
user agent, whose rules are not read yet; and one whose answer has made room for others in memory.

Its place is one of CONCURRENT_REQUESTS. While the downloader is full, it counts for three times as
long as look-ups take, and for a second at the most. Then it does not count, for at most
`MOST_UNCOUNTED` requests at a time. If all these went on at once when their robots.txt comes, there
would be more of them under way than the settings allow. So such a request goes back to the
scheduler, which hands it out by its order and limits. It does so once. A request that came past the
scheduler comes back at once: its caller sends it again.

A crawl that is closed gives all waiting requests back to its scheduler at once.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress
from weakref import WeakSet

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import create_looping_call

from ..concurrency import Closing, Turnstile, within
from ..core.crawlers import RobotsAgent
from ..core.urls import Origin
from ..engine import delay_closing, is_closing, is_full, uncounted
from .answer import CachedAnswer
from .gates import LOOK_SECS, Gates
from .lookup import Lookup

MOST_UNCOUNTED = 1000  # places that do not count
PATIENCE_SECS = 1.0  # how long a place in a full downloader counts; often less

# request.meta key: the request's own `dont_filter`, until it comes back
_RETURNED = "_gbot_robots_returned"


class _Place(ExitStack):
    """A place in the downloader where a request waits. When this context ends, it counts again."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request
        self.since = time.monotonic()


class Waiting:
    """The requests of one crawl that wait in the downloader for a robots.txt, and the clock of the gates."""

    def __init__(self, crawler: Crawler, lookup: Lookup, gates: Gates) -> None:
        self._crawler = crawler
        self._lookup = lookup
        self._gates = gates
        self._counted: set[_Place] = set()
        self._uncounted: set[_Place] = set()
        self._came_back: WeakSet[Request] = WeakSet()
        self._left_at_close: WeakSet[Request] = WeakSet()
        self._closing = Turnstile()
        self._looking = create_looping_call(self._look)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._close, signals.spider_closed)

    async def answer(
        self, origin: Origin, agent: RobotsAgent, request: Request
    ) -> CachedAnswer | None:
        """Return the answer for `origin` that decides about `request`, which `agent` sends.

        None: `request` has to go back to the scheduler, so `process_request` returns it.

        Raises:
            Closing: the crawl is closing, and `request` cannot go back.
        """
        if _RETURNED in request.meta:
            request.dont_filter = request.meta.pop(_RETURNED)
            self._came_back.add(request)
        answer = self._lookup.use(origin, agent, request)
        if answer is not None and not answer.bars_for_now:
            return answer
        passed = self._gates.passed.pop(request, None)
        if passed is not None and passed.origin == origin and passed.knows(agent):
            return passed
        with _Place(request) as place:
            self._counted.add(place)
            place.callback(self._counted.discard, place)
            try:
                answer = await self._settled(origin, agent, request, place)
            except Closing:
                if self._goes_back(request, self._left_at_close):
                    delay_closing(self._crawler)
                    return None
                raise
            is_counted = place in self._counted
        if not is_counted and not answer.bars_for_now and self._goes_back(request, self._came_back):
            self._gates.passed[request] = answer  # which may expire until then
            return None
        return answer

    async def _settled(
        self, origin: Origin, agent: RobotsAgent, request: Request, place: _Place
    ) -> CachedAnswer:
        is_held = False
        while True:
            answer = await self._lookup.ask(origin, agent, request)
            self._gates.note(answer)
            if not self._gates.is_worth_waiting(answer, request):
                return answer
            self._gates.shut(origin)
            secs = self._gates.secs_left(answer, place.since)
            if secs <= 0:
                return answer
            if not is_held:
                is_held = True
                self._gates.count_held(1)
            self._leave_counting(place)
            with suppress(TimeoutError):
                await within(secs, self._closing.wait())
                raise Closing

    def _goes_back(self, request: Request, gone_back: WeakSet[Request]) -> bool:
        """Let `request` go back to the scheduler, unless it has done so before; tell whether it goes."""
        if request in gone_back:
            return False
        gone_back.add(request)
        request.meta[_RETURNED] = request.dont_filter
        request.dont_filter = True  # the scheduler has seen it
        return True

    def _leave_counting(self, place: _Place) -> None:
        if place in self._counted and len(self._uncounted) < MOST_UNCOUNTED:
            self._counted.discard(place)
            self._uncounted.add(place)
            place.callback(self._uncounted.discard, place)
            place.enter_context(uncounted(self._crawler, place.request))

    def _look(self) -> None:
        """Check whether the crawl has begun to close, which places count no more, and which look-ups are due."""
        if is_closing(self._crawler):
            self._close()
            return
        if is_full(self._crawler):
            late = time.monotonic() - min(PATIENCE_SECS, self._gates.patience_secs)
            for place in [place for place in self._counted if place.since <= late]:
                self._leave_counting(place)
        self._gates.tick()

    def _close(self) -> None:
        if self._looking.running:
            self._looking.stop()
        self._lookup.abandon()
        self._closing.open()

    def _spider_opened(self) -> None:
        self._gates.start()
        self._looking.start(LOOK_SECS, now=False)
