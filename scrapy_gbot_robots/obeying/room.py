"""The room where requests wait for a slow or unreachable robots.txt: it stands between the engine and the scheduler.

The engine uses the room as its scheduler. The room passes on what it does not do itself to the real scheduler: Scrapy's own
with or without a JOBDIR, scrapy-redis, or another. A request in the room occupies memory, and nothing else.

    enqueue_request(r)   r has just left the downloader   -> into the room; no place there: back to the scheduler
                         any other                        -> the scheduler
    next_request()       1. requests that waited in vain  -> to the engine, which has the middleware refuse them
                         2. requests of a settled origin  -> back to the scheduler, one origin a call
                         3. the scheduler's next request  -> to the engine; if its origin is not settled, into the room
    close()              all that is in the room          -> back to the scheduler, then that is closed

An origin has at most `MOST_EACH` requests here, all together `MOST`; when the room is full, the origin that has the most
makes room for one that has fewer. What of an origin without a place left is pulled from the scheduler is in the way of
other hosts' requests, and so goes back:

* Scrapy's default queue takes the next request from the host with the fewest active requests. Requests in the room count
  as active in their download slot, so that queue comes to such a host after all others. No priority has to change.
* From any other queue it would come again at once. It goes back with a priority below all others, and gets its own again
  when it is pulled and may go. `_floor` is how low: whenever an origin with lowered requests settles, the floor sinks by
  one step, so that what is still unsettled cannot lie on top of what is settled.

If even so an unsettled origin without a place is what comes next, then there is hardly anything else. That request is
kept as the `_stopper`, and the scheduler is asked for one more each time that the engine asks, which it does when
something happens: no spinning, and nothing is pulled that cannot be kept.

What goes back is marked in its meta with what it was: the duplicate filter has seen it, so it is passed with
`dont_filter` until it is pulled again.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.core.scheduler import BaseScheduler

from ..engine import active_of_slot, prefers_idle_hosts, pull_soon, takes_last_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from ..core.agents import RobotsAgent
    from ..core.origin import Origin

MOST = 1000  # requests in the room
MOST_EACH = 64  # requests of one origin

_PULLED_AT_A_TIME = 32  # requests that one call of the engine takes into the room; each is some 30 microseconds
_LOWERED_BY = 1_000_000  # a step below the priorities that people use
_RETURNED = "gbot_robots_returned"  # request.meta key: [its own dont_filter, steps by which its priority is lowered]

logger = logging.getLogger(__name__)


class Party:
    """The requests of one origin that wait in the room, in the order in which they came.

    Attributes:
        agent, request: the crawler and the request for which the crawl looks up the robots.txt.
        lowered: whether some of its requests are in the scheduler with a lowered priority.
    """

    __slots__ = ("_counted", "_held", "agent", "lowered", "origin", "request", "since")

    def __init__(self, origin: Origin, agent: RobotsAgent, request: Request) -> None:
        self.origin = origin
        self.agent = agent
        self.request = request
        self.lowered = False
        self.since: dict[Request, float] = {}  # since when each waits, on the monotonic clock
        self._counted: dict[Request, set[Request]] = {}
        self._held: set[Request] = set()

    def add(self, request: Request, since: float, active: set[Request] | None) -> None:
        """Take `request` in, and count it among the `active` ones of its download slot."""
        self.since[request] = since
        if active is not None:
            active.add(request)
            self._counted[request] = active

    def remove(self, request: Request) -> None:
        """Let `request` go."""
        del self.since[request]
        active = self._counted.pop(request, None)
        if active is not None:
            active.discard(request)
        self._held.discard(request)

    def newly_held(self) -> int:
        """How many requests are here that were not when this was asked before."""
        number = len(self.since) - len(self._held)
        self._held.update(self.since)
        return number

    def least(self) -> Request:
        """The request that can wait longest: the last of those with the lowest priority."""
        return min(reversed(self.since), key=lambda request: request.priority)


class _Leaving(NamedTuple):
    """A request on its way from the downloader into the room."""

    origin: Origin
    agent: RobotsAgent
    since: float


class WaitingRoom(BaseScheduler):
    """The scheduler `scheduler`, with a room before it.

    Args:
        origin_of: the origin whose robots.txt a request has to wait for, None if it need not wait.
        on_party: called with each new party; whoever listens calls `release` when its origin is settled.
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
        self._lowers = not prefers_idle_hosts(scheduler)
        self._floor = 1
        self._parties: dict[Origin, Party] = {}
        self._released: deque[Party] = deque()
        self._in_vain: deque[Request] = deque()
        self._stopper: Request | None = None
        self._leaving: WeakKeyDictionary[Request, _Leaving] = WeakKeyDictionary()
        self._size = 0
        self._closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scheduler, name)

    def __len__(self) -> int:
        return len(self._scheduler) + self._size + (self._stopper is not None)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return True  # a scheduler of the user's own may have no length

    # What the middleware calls.

    def expect(self, request: Request, origin: Origin, agent: RobotsAgent, since: float) -> None:
        """Note that the engine will give `request` to `enqueue_request`, and that it is to wait here."""
        self._leaving[request] = _Leaving(origin, agent, since)

    def never_came(self, request: Request) -> bool:
        """Whether `request` was expected and did not come: it was sent past the scheduler, by `engine.download`."""
        return self._leaving.pop(request, None) is not None

    def release(self, party: Party) -> None:
        """Let all requests of `party` go on: its origin is settled."""
        if self._parties.get(party.origin) is party:
            del self._parties[party.origin]
            self._floor += party.lowered
            self._released.append(party)
            pull_soon(self._crawler)

    def refuse(self, party: Party, request: Request) -> None:
        """Let `request` go on although its origin is not settled: the middleware will refuse it."""
        party.remove(request)  # it still counts in `_size`, until it is pulled
        self._in_vain.append(request)
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
            logger.exception("Requests that waited for a robots.txt could not be given back to the scheduler")
        return self._scheduler.close(reason)

    def has_pending_requests(self) -> bool:
        """Whether a request is in the room or in the scheduler."""
        return bool(self._size or self._stopper is not None) or self._scheduler.has_pending_requests()

    def enqueue_request(self, request: Request) -> bool:
        """Take in a request that has just left the downloader; pass any other to the scheduler."""
        leaving = self._leaving.pop(request, None) if self._leaving else None
        if leaving is None:
            return self._scheduler.enqueue_request(request)
        if self._closed:
            self._give_back(request, 0)
            return True
        party = self._parties.get(leaving.origin)
        if party is None:
            party = self._parties[leaving.origin] = Party(leaving.origin, leaving.agent, request)
            self._on_party(party)
        if not self._take_in(party, request, leaving.since):
            self._give_back(request, self._lowest(party))
        return True

    def next_request(self) -> Request | None:
        """The next request that need not wait, None if there is none for now."""
        if self._in_vain:
            self._resize(-1)
            return self._in_vain.popleft()
        if self._released:
            self._give_back_released()
        if self._parties or self._stopper is not None:
            return self._next_settled()
        return self._pull()[0]

    def _next_settled(self) -> Request | None:
        """Pull requests until one may go; those that may not are taken in."""
        if self._stopper is not None:
            stopper, party = self._stopper, self._party_of(self._stopper)
            if party is None or self._take_in(party, stopper, time.monotonic()):
                self._stopper = None
            if party is None:
                return stopper
        for _ in range(_PULLED_AT_A_TIME):
            request, level = self._pull()
            party = None if request is None else self._party_of(request)
            if request is None or party is None:
                return request
            if self._take_in(party, request, time.monotonic()):
                continue
            if level >= self._lowest(party):  # what lies behind it is no better
                self._stop_at(request, level)
                return None
            self._give_back(request, self._lowest(party))
        pull_soon(self._crawler)  # there may be more to pull, but not at one stretch
        return None

    def _stop_at(self, request: Request, level: int) -> None:
        """Pull no further for now."""
        if self._stopper is None:
            self._stopper = request
        else:
            self._give_back(request, level)

    def _party_of(self, request: Request) -> Party | None:
        origin = self._origin_of(request)
        return None if origin is None else self._parties.get(origin)

    def _pull(self) -> tuple[Request | None, int]:
        """The scheduler's next request, as it was before it went back there, and by how much it had been lowered."""
        request = self._scheduler.next_request()
        return request, 0 if request is None or _RETURNED not in request.meta else self._as_it_was(request)

    @staticmethod
    def _as_it_was(request: Request) -> int:
        """Undo what `_give_back` has done to `request`; return by how many steps its priority was lowered."""
        mark = request.meta.pop(_RETURNED)
        if not isinstance(mark, list):  # of an older version
            return 0
        level: int
        request.dont_filter, level = mark
        request.priority += _LOWERED_BY * level
        return level

    def _lowest(self, party: Party) -> int:
        """By how many steps a request of `party` is lowered when it goes back."""
        party.lowered = self._lowers
        return self._floor if self._lowers else 0

    def _take_in(self, party: Party, request: Request, since: float) -> bool:
        """Let `request` wait in the room; tell whether there was a place."""
        if len(party.since) >= MOST_EACH:
            return False
        if self._size >= MOST:
            largest = max(self._parties.values(), key=lambda other: len(other.since), default=party)
            if len(largest.since) <= len(party.since) + 1:
                return False
            self._remove(largest, evicted := largest.least())
            self._give_back(evicted, self._lowest(largest))
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
            self._give_back_released()
        for request in [*self._in_vain, *([self._stopper] if self._stopper is not None else [])]:
            self._give_back(request, 0)
        self._in_vain.clear()
        self._stopper = None
        if self._size:
            self._resize(-self._size)

    def _give_back_released(self) -> None:
        party = self._released[0]
        for request in self._in_order_of_queue(list(party.since)):
            self._give_back(request, 0)
            self._remove(party, request)  # and not before: the scheduler may raise, as when its database is away
        self._released.popleft()

    def _in_order_of_queue(self, requests: list[Request]) -> Iterator[Request]:
        """Requests in the order in which the scheduler has to get them to give them back in the order they are in."""
        for start in (False, True):
            kind = [request for request in requests if bool(request.meta.get("is_start_request")) is start]
            yield from reversed(kind) if takes_last_first(self._scheduler, start=start) else kind

    def _give_back(self, request: Request, level: int) -> None:
        request.meta[_RETURNED] = [request.dont_filter, level]
        request.dont_filter = True
        request.priority -= _LOWERED_BY * level
        try:
            taken = self._scheduler.enqueue_request(request)
        except Exception:
            self._as_it_was(request)
            raise
        if not taken:
            self._crawler.signals.send_catch_log(signals.request_dropped, request=request, spider=self._crawler.spider)
