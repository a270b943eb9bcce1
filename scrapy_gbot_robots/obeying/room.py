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

A request for which there is no place goes back to the scheduler, and must not come again at once: then no other host would
get its turn. That depends on the scheduler's queue:

* Scrapy's default queue takes the next request from the download slot with the fewest active requests. Requests in the room
  count as active in their slot. So this queue comes to their host after all others.
* Any other queue goes by priority. The request goes back with a priority below all others, and has its own again when it
  comes. `_floor` is the number of steps down. When a party with lowered requests settles, the floor sinks one more step:
  what goes back from then on comes after the lowered requests that may go now.

Example: a queue by priority, `MOST_EACH` = 2, and requests a1 to a4 of an origin that is not settled, then b1 of another.

    next_request()   pulls a1 and a2: into the room. Pulls a3 and a4: no place, back with level 1. Pulls b1: to the engine.
    next_request()   pulls a3: its level is the floor, so nothing better is behind it. a3 is the stopper. None.
    a is settled     the floor is 2. a1 and a2 go back with their own priority, and come first. The stopper may go, too.

The *stopper* is a request that came although the scheduler has hardly anything better. The room keeps it outside all
parties, and then pulls only one more request each time that the engine asks. The engine asks when something has happened.
So the room neither spins nor pulls more than it can hold.
While there are parties, and shortly after, requests whose download slot has enough work are kept back, too (`spreading`).

Warning: two origins of one host (two ports, or http and https) share a download slot. With Scrapy's default queue, requests
of one can wait behind requests of the other for which the room has no place.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from scrapy.core.scheduler import BaseScheduler

from ..engine import active_of_slot, pull_soon
from .party import Party
from .requeue import Requeue
from .settled import SettledAnswers
from .spreading import Spreading

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from ..core.agents import RobotsAgent
    from ..core.origin import Origin
    from .answer import Answer

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
        origin_of: the origin whose robots.txt a request has to wait for, None if it need not wait.
        on_party: called with each new party. It must have `release` called when the party's origin is settled.
    """

    def __init__(
        self,
        scheduler: BaseScheduler,
        crawler: Crawler,
        origin_of: Callable[[Request], Origin | None],
        on_party: Callable[[Party], None],
    ) -> None:
        self._scheduler = scheduler
        self._crawler = crawler
        self._origin_of = origin_of
        self._on_party = on_party
        self._requeue = Requeue(scheduler, crawler)
        self._floor = 1
        self._parties: dict[Origin, Party] = {}
        self._released: deque[Party] = deque()
        self._given_up: deque[Request] = deque()
        self._stopper: Request | None = None
        self._leaving: WeakKeyDictionary[Request, _Leaving] = WeakKeyDictionary()
        self._settled = SettledAnswers()
        self._marks: WeakKeyDictionary[Request, float] = WeakKeyDictionary()  # of pulled requests, for `_settled`
        self._size = 0
        self._spreading = Spreading(crawler)
        self.tick = self._spreading.tick
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
            self._floor += party.lowered
            party.answer = answer
            self._released.append(party)
            pull_soon(self._crawler)

    def refuse(self, party: Party, request: Request) -> None:
        """Give `request` up: it goes to the engine although its origin is not settled, and the middleware refuses it."""
        party.remove(request)  # it still counts in `_size`, until it is pulled
        self._given_up.append(request)
        pull_soon(self._crawler)

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
        return len(self._spreading) + (self._stopper is not None)

    def enqueue_request(self, request: Request) -> bool:
        """Take in a request that has just left the downloader; pass any other to the scheduler."""
        leaving = self._leaving.pop(request, None) if self._leaving else None
        if leaving is None:
            return self._scheduler.enqueue_request(request)
        if self._closed:
            self._requeue.put_back(request)
            return True
        party = self._parties.get(leaving.origin) or Party(leaving.origin, leaving.agent, request)
        if not self._take_in(party, request, leaving.since):
            self._requeue.put_back(request, self._lowest(party))
        elif party.origin not in self._parties:
            self._parties[party.origin] = party
            self._on_party(party)  # without asyncio, this looks at the party's requests at once
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
        spreads = not self._requeue.lowers and bool(self._parties or self._spreading.goes_on())
        request = self._spreading.next(any_slot=not spreads) or self._stopper_if_settled()
        if request is not None:
            return request
        for _ in range(_PULLED_AT_A_TIME):
            request, level = self._pull()
            if request is None:
                return None
            party = self._party_of(request)
            if party is None:
                if not (spreads and self._spreading.has_enough(request)):
                    return request
                has_place = self._spreading.keep(request)
            else:
                has_place = self._take_in(party, request, time.monotonic())
            if not has_place and not self._pass_over(request, level, party):
                return None
        pull_soon(self._crawler)  # there may be more to pull, but not at one stretch
        return None

    def _stopper_if_settled(self) -> Request | None:
        """Let the stopper go or wait in the room, if that is possible by now."""
        stopper = self._stopper
        party = None if stopper is None else self._party_of(stopper)
        if stopper is None or (party is not None and not self._take_in(party, stopper, time.monotonic())):
            return None
        self._stopper = None
        return stopper if party is None else None

    def _pass_over(self, request: Request, level: int, party: Party | None) -> bool:
        """Put `request`, for which there is no place, aside; tell whether something better may lie behind it."""
        if party is not None and level < self._lowest(party):
            self._requeue.put_back(request, self._lowest(party))
            return True
        if party is not None and self._stopper is None:
            self._stopper = request
        else:
            self._requeue.put_back(request, level, self._marks.get(request))
        return False

    def _party_of(self, request: Request) -> Party | None:
        """The party that `request` has to join; None if it may go on."""
        origin = self._origin_of(request)
        party = None if origin is None else self._parties.get(origin)
        if party is None or self.served(request, party.origin, party.agent) is not None:
            return None
        return party

    def _pull(self) -> tuple[Request | None, int]:
        """The scheduler's next request, and by how many steps its priority had been lowered."""
        request, level, served_by = self._requeue.pull()
        if request is not None and served_by is not None:
            self._marks[request] = served_by
        return request, level

    def _lowest(self, party: Party) -> int:
        """By how many steps a request of `party` is lowered when it goes back."""
        party.lowered = self._requeue.lowers
        return self._floor if self._requeue.lowers else 0

    def _take_in(self, party: Party, request: Request, since: float) -> bool:
        """Let `request` wait in the room; tell whether there was a place."""
        if len(party.since) >= MOST_EACH:
            return False
        if self._size >= MOST:
            largest = max(self._parties.values(), key=lambda other: len(other.since), default=party)
            if len(largest.since) <= len(party.since) + 1:
                return False
            evicted = largest.least()
            self._requeue.put_back(evicted, self._lowest(largest))
            self._remove(largest, evicted)  # and not before: the scheduler may raise
        if request in party.since:  # a spider may yield the same object twice
            request = request.copy()
        party.add(request, since, active_of_slot(self._crawler, request))
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
        for request in [*self._given_up, *([self._stopper] if self._stopper is not None else [])]:
            self._requeue.put_back(request)
        while (kept := self._spreading.next(any_slot=True)) is not None:
            self._requeue.put_back(kept)
        self._given_up.clear()
        self._stopper = None
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
