"""The room where requests wait for a slow or unreachable robots.txt: it stands between the engine and the scheduler.

Operations wanted: a waiting request occupies memory, and nothing else. The memory is bounded. Requests of healthy origins
are never behind waiting ones. The scheduler may be any: Scrapy's own with or without a JOBDIR, scrapy-redis, or another.

Plan: the engine uses the room as its scheduler, and the room uses the real one. A *party* is the waiting requests of one
origin. An origin is *settled* when it has an answer that is worth no further wait.

    enqueue_request(r)   r has just left the downloader   -> into the room; no place there: back to the scheduler
                         any other                        -> the scheduler
    next_request()       1. requests that are given up    -> to the engine, which has the middleware refuse them
                         2. requests of a settled origin  -> back to the scheduler, one party a call
                         3. the scheduler's next request  -> to the engine; if its origin is not settled, into the room
    close()              all that is in the room          -> back to the scheduler, then that is closed

The room holds at most `MOST` requests, and `MOST_EACH` of one origin. If it is full, the largest party makes room for a
request of a smaller one.

A request for which there is no place goes back to the scheduler, behind all that may go (`overflow`).
While there are parties, and shortly after, requests whose download slot has enough work are kept back, too (`spreading`).
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from scrapy.core.scheduler import BaseScheduler

from ..engine import pull_soon
from .overflow import Overflow
from .party import Party
from .requeue import Requeue
from .settled import SettledAnswers
from .spreading import Spreading

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from ..core.crawlers import RobotsAgent
    from ..core.urls import Origin
    from .answer import Answer
    from .party import Awaited

MOST = 1000  # requests in the room
MOST_EACH = 64  # requests of one origin

_PULLED_AT_A_TIME = 32  # requests that one call of the engine takes into the room; each takes about 30 microseconds

logger = logging.getLogger(__name__)


class _Leaving(NamedTuple):
    """A request on its way from the downloader into the room."""

    origin: Origin
    agent: RobotsAgent
    since: float


class WaitingRoom(BaseScheduler):
    """The scheduler `scheduler`, with a room before it.

    Args:
        awaited: what a request has to wait for, None if it need not wait.
        shares_host: whether other origins of the same host are known.
        on_party: called with each new party. It must have `release` called when the party's origin is settled.
    """

    def __init__(
        self,
        scheduler: BaseScheduler,
        crawler: Crawler,
        awaited: Callable[[Request], Awaited | None],
        shares_host: Callable[[Origin], bool],
        on_party: Callable[[Party], None],
    ) -> None:
        self._scheduler = scheduler
        self._crawler = crawler
        self._awaited = awaited
        self._on_party = on_party
        self._requeue = Requeue(scheduler, crawler)
        self._overflow = Overflow(scheduler, self._requeue, crawler, shares_host)
        self._parties: dict[Origin, Party] = {}
        self._released: deque[Party] = deque()
        self._given_up: deque[Request] = deque()
        self._leaving: WeakKeyDictionary[Request, _Leaving] = WeakKeyDictionary()
        self._settled = SettledAnswers()
        self._marks: WeakKeyDictionary[Request, float] = WeakKeyDictionary()  # of pulled requests, for `_settled`
        self._size = 0
        self._spreading = Spreading(crawler)
        self._closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheduler, name)

    def __len__(self) -> int:
        return len(self._scheduler) + self._size + self._apart()  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return True  # a scheduler of the user's own may have no length

    # What the middleware calls.

    def expect(self, request: Request, origin: Origin, agent: RobotsAgent, since: float) -> None:
        """Note that the engine will give `request` to `enqueue_request`, and that it is to wait here."""
        self._leaving[request] = _Leaving(origin, agent, since)

    def never_came(self, request: Request) -> bool:
        """Whether `request` was expected and did not come: it was sent past the scheduler, by `engine.download`."""
        return self._leaving.pop(request, None) is not None

    def served(self, request: Request, origin: Origin, agent: RobotsAgent) -> Answer | None:
        """The answer that `request` has waited for in the room, even if it has expired since; None if there is none."""
        mark = self._marks.get(request)
        return None if mark is None else self._settled.get(origin, agent, mark)

    def release(self, party: Party, answer: Answer | None) -> None:
        """Let all requests of `party` go on: `answer` settles its origin. None: the crawl is closing."""
        if self._parties.get(party.origin) is party:
            del self._parties[party.origin]
            self._overflow.settled(party, self._parties.values())
            party.answer = answer
            self._released.append(party)
            pull_soon(self._crawler)

    def refuse(self, party: Party, request: Request) -> None:
        """Give `request` up: it goes to the engine although its origin is not settled, and the middleware refuses it."""
        party.remove(request)  # it still counts in `_size`, until it is pulled
        self._given_up.append(request)
        pull_soon(self._crawler)

    def tick(self) -> None:
        """Look which download slots have their turn again. Call this a few times a second."""
        self._spreading.tick()
        self._overflow.tick()

    # What the engine calls.

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Open the scheduler."""
        return self._scheduler.open(spider)

    def close(self, reason: str) -> Deferred[None] | None:
        """Give all requests back to the scheduler, and close the scheduler."""
        try:
            self._empty()
        except Exception:
            logger.exception(
                "Up to %d requests are lost: they waited for a robots.txt, and the scheduler does not take them back",
                self._size + self._apart(),
            )
        return self._scheduler.close(reason)

    def has_pending_requests(self) -> bool:
        """Whether a request is in the room or in the scheduler."""
        return bool(self._size or self._apart()) or self._scheduler.has_pending_requests()

    def _apart(self) -> int:
        """The number of requests that are here, but in no party."""
        return len(self._spreading) + (self._overflow.stopper is not None)

    def enqueue_request(self, request: Request) -> bool:
        """Take in a request that has just left the downloader; pass any other to the scheduler."""
        leaving = self._leaving.pop(request, None) if self._leaving else None
        if leaving is None:
            if self._overflow.is_barred(request) and self._party_of(request) is None:
                self._overflow.unbar(request)
            return self._scheduler.enqueue_request(request)
        if self._closed:
            self._requeue.put_back(request)
            return True
        party = self._parties.get(leaving.origin) or Party(leaving.origin, leaving.agent, request)
        if not self._join(party, request, leaving.since):
            self._overflow.put_back(party, request)
        return True

    def next_request(self) -> Request | None:
        """The next request that need not wait, None if there is none for now."""
        if self._given_up:
            self._resize(-1)
            return self._given_up.popleft()
        if self._released:
            self._put_back_released()
        if self._parties or self._apart() or self._spreading.goes_on():
            return self._next_settled()
        return self._pull()[0]

    def _next_settled(self) -> Request | None:
        """Pull requests until one may go; take the others in."""
        spreads = self._overflow.by_slot and bool(self._parties or self._spreading.goes_on())
        request = self._spreading.next(any_slot=not spreads) or self._stopper_if_settled()
        if request is not None:
            return request
        for _ in range(_PULLED_AT_A_TIME):
            request, level = self._pull()
            if request is None:
                return None
            party = self._party_of(request)
            if party is None and not (spreads and self._spreading.has_enough(request)):
                return request
            if not self._put_aside(request, level, party):
                return None
        pull_soon(self._crawler)  # there may be more to pull, but not at one stretch
        return None

    def _stopper_if_settled(self) -> Request | None:
        """Let the stopper go or wait in the room, if that is possible by now."""
        stopper = self._overflow.stopper
        party = None if stopper is None else self._party_of(stopper)
        if stopper is None or (party is not None and not self._join(party, stopper, time.monotonic())):
            return None
        self._overflow.stopper = None
        return stopper if party is None else None

    def _put_aside(self, request: Request, level: int, party: Party | None) -> bool:
        """Put `request` aside, which has to wait in `party` or for its slot; tell whether a better one may come next."""
        if party is not None:
            return self._join(party, request, time.monotonic()) or self._overflow.pass_over(party, request, level)
        self._overflow.bar_shortly(request)
        if not self._spreading.keep(request):
            self._requeue.put_back(request, level, self._marks.get(request))
        return True

    def _party_of(self, request: Request) -> Party | None:
        """The party that `request` has to join, which may be a new one; None if it may go on."""
        awaited = self._awaited(request)
        if awaited is None or self.served(request, awaited.origin, awaited.agent) is not None:
            return None
        party = self._parties.get(awaited.origin)
        if party is None and awaited.is_unreachable:  # the middleware could only send it here
            return Party(awaited.origin, awaited.agent, request)
        return party

    def _pull(self) -> tuple[Request | None, int]:
        """The scheduler's next request, and by how many steps its priority had been lowered."""
        request, level, served_by = self._requeue.pull()
        if request is not None and served_by is not None:
            self._marks[request] = served_by
        return request, level

    def _join(self, party: Party, request: Request, since: float) -> bool:
        """Let `request` wait in `party`, which may be a new one; tell whether there was a place."""
        if not self._take_in(party, request, since):
            return False
        if party.origin not in self._parties:
            self._parties[party.origin] = party
            self._on_party(party)  # without asyncio, this looks at the party's requests at once
        return True

    def _take_in(self, party: Party, request: Request, since: float) -> bool:
        """Let `request` wait in the room; tell whether there was a place."""
        if len(party.since) >= MOST_EACH:
            return False
        if self._size >= MOST:
            largest = max(self._parties.values(), key=lambda other: len(other.since), default=party)
            if len(largest.since) <= len(party.since) + 1:
                return False
            evicted = largest.least()
            self._overflow.put_back(largest, evicted)
            self._remove(largest, evicted)  # and not before: the scheduler may raise
        if request in party.since:  # a spider may yield the same object twice
            request = request.copy()
        party.since[request] = since
        self._resize(+1)
        return True

    def _resize(self, by: int) -> None:
        self._size += by
        self._crawler.stats.set_value("gbot_robots/waiting", self._size)
        self._crawler.stats.max_value("gbot_robots/waiting_most", self._size)

    def _remove(self, party: Party, request: Request) -> None:
        party.remove(request)
        self._resize(-1)

    def _empty(self) -> None:
        """Give all requests back to the scheduler, and take no more in."""
        self._closed = True
        self._released.extend(self._parties.values())
        self._parties.clear()
        while self._released:
            self._put_back_released()
        stopper = self._overflow.stopper
        for request in [*self._given_up, *([stopper] if stopper is not None else [])]:
            self._requeue.put_back(request)
        while (kept := self._spreading.next(any_slot=True)) is not None:
            self._requeue.put_back(kept)
        self._given_up.clear()
        self._overflow.stopper = None
        if self._size:
            self._resize(-self._size)

    def _put_back_released(self) -> None:
        """Give the requests of the first released party back to the scheduler, in the order in which they came."""
        self._spreading.settled()
        party = self._released[0]
        mark = None if party.answer is None else self._settled.keep(party.agent, party.answer)
        for request in self._requeue.in_order(list(party.since)):
            self._requeue.put_back(request, served_by=mark)
            self._remove(party, request)  # and not before: the scheduler may raise, as when its database is away
        self._released.popleft()
