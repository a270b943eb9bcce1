"""How a request waits for a robots.txt: it does not delay other hosts, and it is not lost.

A request first waits inside the downloader, where it occupies one of `CONCURRENT_REQUESTS`, as with Scrapy alone. Most
robots.txt files come within a fraction of a second, and then this is the cheapest way. If the wait takes too long, or the
robots.txt is known to be unreachable, the request leaves the downloader for the waiting room (`room`). It comes back
through the scheduler when its origin is settled.

                 scheduler <---------------- settled, or the crawl closes ---------------+
                     |                                                                   |
                     | next_request          origin not settled                          |
                     +------------------------------------------------------------> waiting room
                     v                                                               ^   |
    downloader:  process_request                                                     |   | given up
                     |  answer known: judged at once                                 |   v
                     |  waits in its place ---- too long, or unreachable ------------+  refused
                     v
                  judged: goes on, or is refused

`patience` says how long is too long.

A request is given up when it has waited for `GBOT_ROBOTS_UNREACHABLE_WAIT_SECS` and one more fetch after that finds
the robots.txt still unreachable. (If that fetch may not happen within the same time once more, the request is given
up without it.) A request in the scheduler does not wait in this sense: an outage costs a host time, but not its
queued requests. After twice the wait, `GIVEN_UP_LATER` requests of the origin are given up at a time. After
`DEAD_AFTER` waits the host is dead: its requests are refused as they come until its robots.txt is reachable, so that
the crawl can end.

Example, with a wait of 60 s: https://example.com fails at 0:00, and the scheduler has 100 of its requests. 64 of them
wait in the room. The first fetch after 1:00 fails, too: all 64 are given up, and the other 36 wait. From 2:00 on,
four are given up at a time. At 5:00 the host is dead: requests that are left are refused as they come.

A request that came past the scheduler, by `engine.download_async`, cannot leave: its caller waits for it. It keeps its
place, and after a while its place no longer counts. The same is true of all requests if the room cannot stand before the
scheduler: in `scrapy shell`, or with a user's own engine.

We tried or weighed other ways. (1) Never count waiting requests: simple, but all of them go on at the same moment, more than
the settings allow and in no order, and the engine pulls nothing else meanwhile. (2) A queue of our own for requests that may
go on: it would have to be as fair as the scheduler's, which knows priorities and hosts. (3) The waiting room alone: each
request of an ordinary crawl would go through the scheduler twice.

Warning: a request that leaves the downloader passes the middlewares before this one, and the signal `request_scheduled`, a
second time. `scheduler/enqueued` and `dequeued` count it again. After `kill -9` the room is lost, like the requests in the
downloader.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from weakref import WeakSet

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from ..concurrency import Background, Closing, pause
from ..engine import is_closing, stand_before_scheduler
from .answer import is_waited_for
from .party import Awaited
from .patience import LOOK_SECS, Leaves, Patience
from .room import WaitingRoom

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.core.scheduler import BaseScheduler
    from scrapy.crawler import Crawler

    from ..core.crawlers import RobotsAgent
    from ..core.urls import Origin
    from .answer import Answer
    from .lookup import Lookup
    from .overriding import OverridingLookup
    from .party import Party

GIVEN_UP_LATER = 4  # requests of an origin that are given up after each failed fetch, when twice the wait is over
DEAD_AFTER = 5  # waits


class Waiting:
    """The requests of one crawl that wait for a robots.txt.

    Args:
        wait_secs: how long requests wait for an unreachable robots.txt, in seconds; 0: not at all.
        waits_for: returns the origin whose robots.txt a request has to wait for, the crawler that sends it, and the answer
            so far, if there is one; None if it need not wait.
    """

    def __init__(
        self,
        crawler: Crawler,
        lookup: Lookup | OverridingLookup,
        wait_secs: float,
        waits_for: Callable[[Request], tuple[Origin, RobotsAgent, Answer | None] | None],
    ) -> None:
        self._crawler = crawler
        self._lookup = lookup
        self._wait_secs = wait_secs
        self._waits_for = waits_for
        self._room: WaitingRoom | None = None
        self._patience = Patience(crawler)
        self._given_up: WeakSet[Request] = WeakSet()
        self._background = Background()
        self._closing = False
        self._looking = create_looping_call(self._look)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    async def answer(
        self, origin: Origin, agent: RobotsAgent, request: Request, *, may_leave: bool = True
    ) -> Answer | None:
        """Return the answer for `origin` that decides about `request`, which `agent` sends.

        Returns None if `request` must wait outside the downloader: then `process_request` returns the request. `may_leave`
        says whether the request can do that.

        Raises:
            Closing: the crawl is closing, and `request` cannot leave.
        """
        if request in self._given_up:
            self._given_up.discard(request)
            return await self._patience.keep_place(request, self._lookup.ask(origin, agent, request), may_leave=False)
        room = self._room if may_leave else None
        if room is not None:
            served = room.served(request, origin, agent)
            if served is not None:
                return served
            if room.never_came(request):
                room = None
        since = time.monotonic()
        try:
            return await self._settled(origin, agent, request, since, may_leave=room is not None)
        except (Leaves, Closing):
            if room is None:
                raise
        room.expect(request, origin, agent, since)
        return None

    async def _settled(
        self, origin: Origin, agent: RobotsAgent, request: Request, since: float, *, may_leave: bool
    ) -> Answer:
        held = False
        while True:
            answer = await self._patience.keep_place(request, self._ask(origin, agent, request), may_leave=may_leave)
            if not self._is_worth_waiting(answer, request) or self._left(answer, since) <= 0:
                return answer
            if may_leave:
                raise Leaves
            if not held:
                held = True
                self._count_held()
            secs = self._left(answer, since)
            await self._patience.keep_place(request, pause(secs), may_leave=False, patient=False)

    async def _ask(self, origin: Origin, agent: RobotsAgent, request: Request) -> Answer:
        """Look up an answer, and note how long that took."""
        began = time.monotonic()
        answer = await self._lookup.ask(origin, agent, request)
        self._patience.answered_in(time.monotonic() - began)
        return answer

    def _look(self) -> None:
        """Check whether the crawl has begun to close, and which requests have waited too long in the downloader."""
        if self._closing:
            return
        if is_closing(self._crawler):
            self._close()
            return
        self._patience.look()
        if self._room is not None:
            self._room.tick()

    def _close(self) -> None:
        self._closing = True
        self._lookup.abandon()
        self._background.cancel()
        self._patience.close()

    # The requests in the room.

    def _with_room(self, scheduler: BaseScheduler) -> WaitingRoom:
        self._room = WaitingRoom(scheduler, self._crawler, self._awaited, self._lookup.shares_host, self._settle)
        return self._room

    def _awaited(self, request: Request) -> Awaited | None:
        """What `request` has to wait for; None if it need not wait."""
        found = self._waits_for(request)
        if found is None:
            return None
        origin, agent, answer = found
        return Awaited(origin, agent, answer is not None and self._is_worth_waiting(answer, request))

    def _settle(self, party: Party) -> None:
        """Get an answer for a party in the room, and then let it go."""
        if self._closing:  # another middleware has let a request come late. The room is emptied soon
            return
        room = self._room
        assert room is not None  # noqa: S101  for the type checker: the party is in it
        self._background.start(self._until_settled(party, room), then=lambda: room.release(party, None))

    async def _until_settled(self, party: Party, room: WaitingRoom) -> None:
        while party.since:
            try:
                answer = await self._lookup.ask(party.origin, party.agent, party.request)
            except Closing:
                return
            if not self._is_worth_waiting(answer):
                room.release(party, answer)
                return
            self._count_held(party.newly_held())
            is_long = time.monotonic() - answer.temporary_since > 2 * self._wait_secs
            for request in self._overdue(party, answer)[: GIVEN_UP_LATER if is_long else None]:
                self._given_up.add(request)
                room.refuse(party, request)
            if party.since:
                oldest = min(party.since.values()) if not is_long else time.monotonic()
                await pause(min(self._left(answer, oldest), self._secs_until_dead(answer)))

    def _overdue(self, party: Party, answer: Answer) -> list[Request]:
        """The requests of `party` whose wait is over."""
        return [
            request
            for request, since in party.since.items()
            if self._left(answer, since) <= 0 or not self._is_worth_waiting(answer, request)
        ]

    def _is_worth_waiting(self, answer: Answer, request: Request | None = None) -> bool:
        """Whether to wait for a better answer: not if the host is dead, either."""
        return is_waited_for(answer, request) and self._secs_until_dead(answer) > 0

    def _secs_until_dead(self, answer: Answer) -> float:
        return answer.temporary_since + DEAD_AFTER * self._wait_secs - time.monotonic()

    def _left(self, answer: Answer, since: float) -> float:
        """How many more seconds a request waits after `answer`. It has waited since `since`, on the monotonic clock.

        0 or less: the request is given up. Otherwise it waits until the robots.txt may be fetched again, or, if that is too
        far off, until its own time is over.
        """
        now = time.monotonic()
        own = since + self._wait_secs - now
        until_asked = answer.ask_at - time.time()
        return own if own <= 0 or until_asked > own + self._wait_secs else max(LOOK_SECS, until_asked)

    def _count_held(self, number: int = 1) -> None:
        if number:
            self._crawler.stats.inc_value("gbot_robots/held", number)

    def _spider_opened(self) -> None:
        stand_before_scheduler(self._crawler, self._with_room)
        self._looking.start(LOOK_SECS, now=False)

    async def _spider_closed(self) -> None:
        if self._looking.running:
            self._looking.stop()
        if not self._closing:
            self._close()
        await self._background.ended()
