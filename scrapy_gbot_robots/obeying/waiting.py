"""How a request waits for a robots.txt: it costs the others nothing, and it is not lost.

A request first waits where Scrapy alone lets it wait: inside the downloader, where it occupies one of
`CONCURRENT_REQUESTS`. Most robots.txt files come within a fraction of a second, and then this is the cheapest way. If
that lasts, or the robots.txt is known to be unreachable, the request leaves the downloader for the waiting room
(`room`), and comes back through the scheduler when its origin is settled.

                 scheduler <---------------- settled, or the crawl closes ---------------+
                     |                                                                   |
                     | next_request          origin not settled                          |
                     +------------------------------------------------------------> waiting room
                     v                                                               ^   |
    downloader:  process_request                                                     |   | waited in vain
                     |  answer known: judged at once                                 |   v
                     |  waits in its place ---- too long, or unreachable ------------+  refused
                     v
                  judged: goes on, or is refused

"Too long" is `PATIENCE_SECS` while the downloader has free places. While it has none, it is three times what answers took
of late: then requests that wait keep others from a place, and a robots.txt that is slower than usual shows itself soon.

A request is given up when it has waited for `GBOT_ROBOTS_UNREACHABLE_WAIT_SECS` itself and the robots.txt, asked again
after that, is still unreachable. (Where it may not be asked again within as much time once more, that is not waited
for.) What lies in the scheduler does not wait in this sense: an outage costs a host its time and not its frontier. Of an
outage that goes on for twice the wait `GIVEN_UP_LATER` requests are given up at a time, and only one that has lasted
`DEAD_AFTER` waits makes a host dead: then its requests are refused as they come until its robots.txt is reachable, so
that the crawl can end.

A request that came past the scheduler, by `engine.download_async`, cannot leave: its caller waits for it. It waits in its
place, and if that lasts, it no longer counts. So do all requests where there is no scheduler to stand before: in `scrapy
shell`, or with an engine of the user's own.

What was weighed. Not counting any that wait is simple, but whatever waited then goes on at the same moment: more
under way than the settings say, in no order, and for as long as the download delay makes of it nothing else is pulled. A
queue of our own for what goes on would have to be as fair as the scheduler's, which knows priorities and hosts. A
waiting room alone, without the place in the downloader, sends each request of the ordinary crawl through the scheduler
twice. What remains: a request that leaves the downloader passes the middlewares before this one, and the signal
`request_scheduled`, a second time; one that comes back from the room is counted in `scheduler/enqueued` and `dequeued`
again; after `kill -9` the room is lost, as are the requests in the downloader.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred

from ..concurrency import Background, Closing, pause
from ..engine import is_closing, is_full, stand_before_scheduler, uncounted
from ..meta import PROBE
from .room import Party, WaitingRoom

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy import Request
    from scrapy.core.scheduler import BaseScheduler
    from scrapy.crawler import Crawler

    from ..core.agents import RobotsAgent as Agent
    from ..core.origin import Origin
    from .answer import Answer
    from .lookup import Lookup
    from .overriding import OverridingLookup

_T = TypeVar("_T")

PATIENCE_SECS = 1.0  # for which a request waits in its place in the downloader
GIVEN_UP_LATER = 4  # requests of an origin, each time that it proves unreachable after twice the wait
DEAD_AFTER = 5  # waits

_LOOK_SECS = 0.1  # how often the places in the downloader are looked at
_USUAL_SECS_AT_FIRST = 0.1
_REMEMBERED = 8  # answers, whose mean time counts as usual


class _Leaves(Exception):  # noqa: N818  not an error
    """A request is to wait outside the downloader."""


class _Place:
    """A place in the downloader where a request waits."""

    __slots__ = ("may_leave", "over", "request", "since", "uncounted")

    def __init__(self, request: Request, *, may_leave: bool) -> None:
        self.request = request
        self.since = time.monotonic()
        self.may_leave = may_leave
        self.over = False  # the patience
        self.uncounted = ExitStack()


class Waiting:
    """The requests of one crawl that wait for a robots.txt.

    Args:
        wait_secs: for how long an unreachable robots.txt is waited for, in seconds; 0: not at all.
        origin_of: the origin whose robots.txt a request has to wait for, None if it need not wait.
    """

    def __init__(
        self,
        crawler: Crawler,
        lookup: Lookup | OverridingLookup,
        wait_secs: float,
        origin_of: Callable[[Request], Origin | None],
    ) -> None:
        self._crawler = crawler
        self._lookup = lookup
        self._wait_secs = wait_secs
        self._origin_of = origin_of
        self._room: WaitingRoom | None = None
        self._places: dict[Deferred[Any], _Place] = {}
        self._in_vain: WeakSet[Request] = WeakSet()
        self._usual_secs = _USUAL_SECS_AT_FIRST
        self._background = Background()
        self._closing = False
        self._looking = create_looping_call(self._look)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    async def answer(self, origin: Origin, agent: Agent, request: Request, *, may_leave: bool = True) -> Answer | None:
        """The answer for `origin` by which `request`, sent by `agent`, is to be judged.

        Returns None where `process_request` is to return `request`, so that it waits outside the downloader. `may_leave`
        says whether it can.

        Raises:
            Closing: the crawl is closing, and `request` cannot leave.
        """
        if request in self._in_vain:
            self._in_vain.discard(request)
            return await self._in_place(request, self._lookup.ask(origin, agent, request), may_leave=False)
        room = self._room if may_leave else None
        if room is not None and room.never_came(request):
            room = None
        since = time.monotonic()
        try:
            return await self._settled(origin, agent, request, since, may_leave=room is not None)
        except (_Leaves, Closing):
            if room is None:
                raise
        room.expect(request, origin, agent, since)
        return None

    async def _settled(
        self, origin: Origin, agent: Agent, request: Request, since: float, *, may_leave: bool
    ) -> Answer:
        held = False
        while True:
            answer = await self._in_place(request, self._ask(origin, agent, request), may_leave=may_leave)
            if not self._is_worth_waiting(answer, request) or self._left(answer, since) <= 0:
                return answer
            if may_leave:
                raise _Leaves
            if not held:
                held = True
                self._count_held()
            secs = self._left(answer, since)
            await self._in_place(request, pause(secs), may_leave=False, patient=False)

    async def _in_place(
        self, request: Request, wanted: Coroutine[Any, Any, _T], *, may_leave: bool, patient: bool = True
    ) -> _T:
        """Await `wanted`, which `request` needs, while that keeps its place in the downloader.

        Raises:
            _Leaves: that took too long.
            Closing: the crawl is closing.
        """
        if self._closing:
            wanted.close()
            raise Closing
        waiting: Deferred[_T] = deferred_from_coro(wanted)
        place = self._places[waiting] = _Place(request, may_leave=may_leave)
        if not patient:
            self._end_patience(waiting, place)
        try:
            return await maybe_deferred_to_future(waiting)
        except (CancelledError, asyncio.CancelledError):
            if self._closing:
                raise Closing from None
            if place.over:
                raise _Leaves from None
            raise
        finally:
            del self._places[waiting]
            place.uncounted.close()

    async def _ask(self, origin: Origin, agent: Agent, request: Request) -> Answer:
        """Look an answer up, and remember how long that took."""
        began = time.monotonic()
        answer = await self._lookup.ask(origin, agent, request)
        self._usual_secs += (time.monotonic() - began - self._usual_secs) / _REMEMBERED
        return answer

    def _end_patience(self, waiting: Deferred[Any], place: _Place) -> None:
        """Let a request leave its place; one that may not leave goes on waiting, but no longer counts."""
        place.over = True
        if place.may_leave:
            waiting.cancel()
        else:
            place.uncounted.enter_context(uncounted(self._crawler, place.request))

    def _look(self) -> None:
        """See who has waited too long in the downloader, and whether the crawl has begun to close."""
        if self._closing:
            return
        if is_closing(self._crawler):
            self._close()
            return
        patience = PATIENCE_SECS
        if is_full(self._crawler):
            patience = min(PATIENCE_SECS, max(_LOOK_SECS, 3 * self._usual_secs))
        now = time.monotonic()
        for waiting, place in list(self._places.items()):
            if not place.over and now - place.since >= patience:
                self._end_patience(waiting, place)

    def _close(self) -> None:
        self._closing = True
        self._lookup.abandon()
        self._background.cancel()
        for waiting in list(self._places):
            waiting.cancel()

    # The requests in the room.

    def _with_room(self, scheduler: BaseScheduler) -> WaitingRoom:
        self._room = WaitingRoom(scheduler, self._crawler, self._origin_of, self._settle)
        return self._room

    def _settle(self, party: Party) -> None:
        """Get an answer for a party in the room, and let it go then."""
        room = self._room
        assert room is not None  # noqa: S101  for the type checker: the party is in it
        self._background.start(self._until_settled(party, room), then=lambda: room.release(party))

    async def _until_settled(self, party: Party, room: WaitingRoom) -> None:
        while party.since:
            try:
                answer = await self._lookup.ask(party.origin, party.agent, party.request)
            except Closing:
                return
            if not self._is_worth_waiting(answer):
                return
            self._count_held(party.newly_held())
            is_long = time.monotonic() - answer.temporary_since > 2 * self._wait_secs
            for request in self._overdue(party, answer)[: GIVEN_UP_LATER if is_long else None]:
                self._in_vain.add(request)
                room.refuse(party, request)
            if party.since:
                oldest = min(party.since.values()) if not is_long else time.monotonic()
                await pause(min(self._left(answer, oldest), self._secs_until_dead(answer)))

    def _overdue(self, party: Party, answer: Answer) -> list[Request]:
        """The requests of `party` that have waited in vain."""
        return [
            request
            for request, since in party.since.items()
            if self._left(answer, since) <= 0 or not self._is_worth_waiting(answer, request)
        ]

    def _is_worth_waiting(self, answer: Answer, request: Request | None = None) -> bool:
        """Whether a better answer may come; not for a host that is dead, nor for a request that only tries a host."""
        if not answer.bars_for_now or self._secs_until_dead(answer) <= 0:
            return False
        return request is None or answer.status is not None or not request.meta.get(PROBE)

    def _secs_until_dead(self, answer: Answer) -> float:
        return answer.temporary_since + DEAD_AFTER * self._wait_secs - time.monotonic()

    def _left(self, answer: Answer, since: float) -> float:
        """For how many seconds a request that has waited since `since` goes on waiting after `answer`.

        0 or less: it is given up. Otherwise it waits until the robots.txt may be asked again, or, if that is too far
        off, until its own time is over.
        """
        now = time.monotonic()
        own = since + self._wait_secs - now
        until_asked = answer.ask_at - time.time()
        return own if own <= 0 or until_asked > own + self._wait_secs else max(_LOOK_SECS, until_asked)

    def _count_held(self, number: int = 1) -> None:
        if number:
            self._crawler.stats.inc_value("gbot_robots/held", number)

    def _spider_opened(self) -> None:
        stand_before_scheduler(self._crawler, self._with_room)
        self._looking.start(_LOOK_SECS, now=False)

    async def _spider_closed(self) -> None:
        if self._looking.running:
            self._looking.stop()
        if not self._closing:
            self._close()
        await self._background.ended()
