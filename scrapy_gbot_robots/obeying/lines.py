"""The lines in which requests wait, and the order in which requests leave the lines.

The requests of a crawl wait for their robots.txt in the *room* (room.py). In the room, an origin
and its requests are a *site*. The requests of a site that use the same download slot of Scrapy are
a *line*, which is a heap with the most urgent request first. A line is *ready* if its first request
may go on.

To choose the next request, `ReadyLines.take` first chooses a slot: the one with the fewest requests
that are being downloaded, or are on their way to the downloader. Busy slots and slots without a
ready line are left out. Slots with equally few requests take turns. Then `take` chooses the ready
line of this slot whose first request is the most urgent. Lines with equally urgent requests take
turns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from heapq import heappop, heappush
from http import HTTPStatus
from itertools import count
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from scrapy import Request
from scrapy.crawler import Crawler
from twisted.internet.defer import Deferred

from ..answers.answer import CachedAnswer
from ..core.crawlers import UserAgent
from ..core.urls import Origin
from ..engine import DownloadSlots, in_progress
from ..fetching.fetcher import Way
from ..meta import SITEMAP

# If a download slot has a delay, it gets at most the requests that it can send in this number of
# seconds. For example, it gets 4 requests if the delay is 0.25 seconds.
AHEAD_SECS = 1.0
NEVER = float("inf")
_MOST_LOOKED_AT = 1000  # At most this many slots are compared to find one request.
# If a fetch of a robots.txt has failed, the next fetch may use the proxy of a different request.
# About this many of the waiting requests are compared to choose the proxy.
_MOST_COMPARED = 64
_MOST_WAYS = 64  # At most this many items are in `Site.failed_ways`.
_T = TypeVar("_T")


class QueuedRequest(NamedTuple):
    """A request in a line. The smallest of these tuples goes first."""

    rank: int  # the negated priority, so the most urgent request has the smallest rank
    # Whether this is a start request. If start requests have no queue of their own, it is False
    # for all requests.
    is_start: bool
    # Requests are numbered as they come. This is the number of the request, or the negated number
    # if the newest request goes first.
    order: int
    request: Request


class Standing(Enum):
    """The standing of a site, which shows what its requests wait for."""

    OPEN = "they go on while the answer of the site is good"
    ASKED = "they wait for a look-up, which is running or still queued"
    LATE = "they wait for a look-up that has been running for more than a second"
    UNREACHABLE = "the robots.txt is unreachable, so they wait for a better answer"

    # Members are often used as keys of a dict, and the hash function of `Enum` is slow.
    __hash__ = object.__hash__


@dataclass(slots=True, eq=False)
class Site(dict[tuple[str, bool], "SiteLine"]):
    """One origin that has requests in the room, or that the room will look up again.

    A site is a dict of its lines. Each key is a pair: the download slot, and whether the requests
    of the line have come back from the middleware to wait. All requests that need no robots.txt are
    in one site, whose origin is None.

    The room looks up the robots.txt of a site to get an answer for the origin. The look-up is in
    one of four stages:

    * none: the room needs no better answer now.
    * queued: the site waits for its turn (`queued_rank`).
    * running: the look-up has begun (`asked_at`).
    * due later: the room will seek a better answer at a certain time (`due_at`).

    The standing of the site (`Standing`) depends on this stage and on the last answer.
    `Room._settle` updates it. Each row of the table shows a state, and an event that ends it. After
    the colon are the stages or standings that may follow this event.

        look-up      answer        standing     what ends the state
        none         any           OPEN         a request has to wait: queued, running, due later
                                                no request is left: the room forgets the site
        queued       unusable      ASKED        its turn, or a waiter: running, due later, OPEN
        running      unusable      ASKED        an answer: due later, OPEN
                                                a second has passed: LATE
        running      unusable      LATE         an answer: due later, OPEN
        due later    may recover   UNREACHABLE  the time has come: queued, running, due later, OPEN
        queued       may recover   UNREACHABLE  its turn, or a waiter: running, due later, OPEN
        running      may recover   UNREACHABLE  an answer: due later, OPEN

    A waiter is a request that waits in the downloader (`Waiter`). An answer is unusable if it is
    missing or out of date, or if it lacks the rules for the user agent of a waiter.

    "May recover" means that the answer forbids everything because the robots.txt is unreachable
    (`bars_for_now`), and that requests wait for a better answer (`Room._may_recover`). Requests do
    not wait if the crawl's own code has dropped the request for the robots.txt, or if the origin is
    dead or gone (patience.py).

    When a site has its turn, or its time has come, the room first looks for an answer in memory. If
    no request waits any more, the site is OPEN. If a new answer is of the kind "may recover", the
    site is due later. After any other answer, the site is OPEN. But if a request cannot use the new
    answer, the room seeks another one at once.

    While a site is UNREACHABLE, portions of its requests leave the room, and are forbidden
    (patience.py). If the project's own code may exempt requests (`Room.project_may_exempt`), each
    request leaves the room once, so that this code sees the request.
    """

    origin: Origin | None
    answer: CachedAnswer | None = None  # The last answer that the room took. It may be out of date.
    # Requests whose number is smaller than this one were waiting when `answer` came.
    waited_before: int = 0
    # The stage of the look-up. At most one of the next three attributes is set. None or NEVER means
    # that the attribute is not set. Times are on the monotonic clock.
    queued_rank: int | None = None  # the rank of the most urgent request; None if not queued
    asked_at: float = NEVER  # when the running look-up began
    due_at: float = NEVER  # when the room will seek an answer again
    # The user agents whose rules the next look-up reads (see `with_needed`).
    user_agents: tuple[UserAgent, ...] = ()
    waiters: tuple[Waiter, ...] = ()  # requests that wait in the downloader
    # The fetches that have failed since the robots.txt became unreachable, by their ways
    # (`fetcher.way_of`), such as proxies. The latest failure is at the end. Each item is a pair:
    # the way, and whether the server sent no response.
    failed_ways: tuple[tuple[Way, bool], ...] = ()
    size: int = 0  # the number of requests in the lines of the site
    standing: Standing = Standing.OPEN

    # Dicts have no hash, and two dicts are equal if their items are equal. But the room keeps sites
    # in sets, so a site is equal only to itself.
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    def unready_lines(self) -> list[SiteLine]:
        """Return the lines that are not ready."""
        return [line for line in self.values() if not line.turn]

    @property
    def is_sought(self) -> bool:
        """Whether the site is queued for a look-up, is being looked up, or is due later."""
        return self.queued_rank is not None or self.asked_at < NEVER or self.due_at < NEVER

    def most_urgent(self) -> Request | None:
        """Return the most urgent request that waits, or None if no request waits.

        Requests that wait in the downloader are more urgent than all others.
        """
        if self.waiters:
            return self.waiters[0].request
        firsts = [line[0] for line in self.unready_lines()]
        if not firsts:
            return None
        return min(firsts, key=attrgetter("rank")).request

    def note_way(self, answer: CachedAnswer) -> None:
        """Update `failed_ways` when `answer` is the new answer of the site.

        If the fetch of the robots.txt has failed, record its way. If the robots.txt is reachable,
        forget all ways. A response with the status 429 (too many requests) is not recorded, because
        a crawl should not evade this limit with another proxy.
        """
        if not answer.temporary:
            self.failed_ways = ()
        elif answer.failed_way is not None and answer.status != HTTPStatus.TOO_MANY_REQUESTS:
            ways = dict(self.failed_ways)
            ways.pop(answer.failed_way, None)
            ways[answer.failed_way] = answer.status is None
            self.failed_ways = tuple(ways.items())[-_MOST_WAYS:]

    def meta_source(self, most_urgent: Request, way_of: Callable[[Request], Way]) -> Request:
        """Return the request from which the next robots.txt request copies its proxy and meta.

        If no request for the robots.txt has failed yet, this is the most urgent request. Otherwise
        it is the request with the best *way*. The way of a request consists of its proxy and other
        meta that the request for the robots.txt copies. Ways are ranked in this order:

        1. ways that have not failed
        2. ways that have failed with a response from the server, the oldest failure first
        3. ways that have failed without a response, the oldest failure first

        Among requests with the same way, the most urgent one is returned. If very many requests
        wait, only some of them are compared.

        Args:
            most_urgent: the most urgent request.
            way_of: the method `Lookup.way_of`, which returns the way of a request.
        """
        if not self.failed_ways:
            return most_urgent
        order = {
            way: (is_silent, number) for number, (way, is_silent) in enumerate(self.failed_ways, 1)
        }

        def place(request: Request) -> tuple[bool, int]:
            return order.get(way_of(request), (False, 0))

        return min(self._some_that_wait(), key=place)

    def _some_that_wait(self) -> list[Request]:
        """Return some of the requests that wait, the most urgent first.

        If there are many, the result contains only requests at the beginning and at the end of the
        lines and of `waiters`.
        """
        waiters = [waiter.request for waiter in _ends(self.waiters, _MOST_COMPARED)]
        lines = _ends(self.unready_lines(), _MOST_COMPARED)
        queued: list[QueuedRequest] = []
        for line in lines:
            queued += _ends(line, max(2, _MOST_COMPARED // len(lines)))
        return waiters + [entry.request for entry in sorted(queued)]


@dataclass(slots=True, eq=False)
class Waiter:
    """A request that waits in the downloader.

    Requests of these three kinds wait in the downloader:

    1. requests that did not come through the scheduler
    2. requests that the middleware has already sent back to the room once, and that still have no
       answer that they can use
    3. requests that the room handed out with an answer that lacks the rules for their user agent

    While requests of the kinds 2 and 3 wait, they count among Scrapy's CONCURRENT_REQUESTS.
    """

    request: Request
    user_agent: UserAgent
    number: int  # Requests are numbered as they come into the room.
    # This Deferred fires with the answer for the request, or with None if the crawl is closing.
    ended: Deferred[CachedAnswer | None] = field(default_factory=Deferred)


@dataclass(slots=True, eq=False)
class SiteLine(list[QueuedRequest]):
    """A heap of the requests of one site in one download slot, the most urgent request first."""

    slot: str
    site: Site
    has_returned: bool  # Whether its requests have come back from the middleware to wait.
    # The number of the line among the ready lines; 0 if the line is not ready. If two lines are
    # equally urgent, the line with the lower number goes first.
    turn: int = 0
    turn_rank: int = 0  # the rank of the first request at the time when `turn` was set


class Sites(dict["Origin | None", Site]):
    """The sites of a room, by their origin. `sites[origin]` makes the site if it is missing."""

    def __missing__(self, origin: Origin | None) -> Site:
        """Make the site of `origin`."""
        site = self[origin] = Site(origin)
        return site


class Occupancy:
    """Counts the requests in the room by the `Standing` of their site.

    It also updates the stats `gbot_robots/waiting` and `gbot_robots/waiting/max`.

    Attributes:
        size: how many requests are in the room.
        by_slot: how many requests are in the room, by slot. A slot without requests is left out.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.size = 0
        self.by_slot: dict[str, int] = {}
        self._sitemaps_by_slot: dict[str, int] = {}
        self._stats: Any = crawler.stats
        self._by_standing = dict.fromkeys(Standing, 0)

    @property
    def waiting(self) -> int:
        """How many requests in lines wait for a robots.txt.

        These are all requests of the sites whose standing is not `OPEN`. Requests that wait in the
        downloader are not counted.
        """
        return self.size - self._by_standing[Standing.OPEN]

    @property
    def usable(self) -> int:
        """How many requests can go on now, or probably soon.

        All other requests in the room wait for a robots.txt that is late or unreachable.
        """
        return self.size - self.late - self._by_standing[Standing.UNREACHABLE]

    @property
    def late(self) -> int:
        """How many requests wait for a look-up that has been running for more than a second.

        Requests of unreachable sites are not counted, even if the look-up of their site is late.
        """
        return self._by_standing[Standing.LATE]

    def pages(self, slot: str) -> int:
        """Return how many requests of a download slot are for pages and not for sitemap files."""
        return self.by_slot.get(slot, 0) - self._sitemaps_by_slot.get(slot, 0)

    def add(self, line: SiteLine, request: Request, number: int) -> None:
        """Count `request`, which has come into `line` (`number` is 1) or has left it (-1)."""
        self.size += number
        _add(self.by_slot, line.slot, number)
        if SITEMAP in request.meta:
            _add(self._sitemaps_by_slot, line.slot, number)
        site = line.site
        site.size += number
        self._by_standing[site.standing] += number
        if site.standing is not Standing.OPEN:
            self._tell()

    def move(self, site: Site, standing: Standing) -> None:
        """Set the standing of `site`, and count its requests under the new standing."""
        self._by_standing[site.standing] -= site.size
        self._by_standing[standing] += site.size
        site.standing = standing
        self._tell()

    def _tell(self) -> None:
        self._stats.set_value("gbot_robots/waiting", self.waiting)
        self._stats.max_value("gbot_robots/waiting/max", self.waiting)


class Handed(NamedTuple):
    """The facts that the room noted about a request when it handed out the request."""

    slot: str
    url: str
    origin: Origin | None  # the origin of `url`; None if no robots.txt decides
    # The answer for the origin; None if no robots.txt decides. It is also None if the robots.txt is
    # unreachable, and the request goes on only because the project's own code may exempt it.
    answer: CachedAnswer | None
    has_returned: bool  # Whether the request has come back to wait (see `goes_back`).

    def goes_back(self, origin: Origin) -> bool:
        """Whether the middleware sends the request back to the room, to wait for an answer.

        The middleware calls this method if memory has no answer for `origin`, or if the answer in
        memory forbids everything for now. A request that the room handed out with an answer for
        `origin` does not go back. Any other request goes back to the room only once. However, if
        the front has since returned it to the user's scheduler, it may go back once more.
        """
        if self.answer is not None and self.answer.origin == origin:
            return False
        return not self.has_returned


class ReadyLines:
    """The lines whose first request may go on, and the requests that were handed out from them.

    A request that was handed out is *on its way* until it reaches this plugin's middleware, or
    until another middleware drops it.

    Attributes:
        on_the_way: how many requests are on their way, by slot. A slot without requests is left
            out.
    """

    def __init__(self, crawler: Crawler, slots: DownloadSlots) -> None:
        self._crawler = crawler
        self._slots = slots
        # Maps each slot to a heap of its lines. The slot that was served last is the last key.
        self._heaps: OrderedDict[str, list[tuple[int, int, SiteLine]]] = OrderedDict()
        self._turns = count(1)
        self.on_the_way: dict[str, int] = {}
        self._handed: dict[Request, Handed] = {}

    def hand_out(self, request: Request, handed: Handed) -> None:
        """Record that `request` was handed out, so that it is on its way."""
        if request in self._handed:  # The same object was scheduled twice.
            self.end_way(request)
        self._handed[request] = handed
        _add(self.on_the_way, handed.slot, 1)

    def end_way(self, request: Request) -> Handed | None:
        """Record that `request` has reached the plugin's middleware, or was dropped before.

        Return the facts about the request that were passed to `hand_out`. Return None if it was not
        on its way to the middleware.
        """
        handed = self._handed.pop(request, None)
        if handed is not None:
            _add(self.on_the_way, handed.slot, -1)
        return handed

    def forget_dropped(self) -> bool:
        """Forget requests that another middleware has dropped; return whether there were any.

        If they were not forgotten, their slots would look busy for ever.
        """
        under_way = in_progress(self._crawler)
        # If it is unknown which requests are in progress, all requests are forgotten.
        if under_way is None:
            under_way = ()
        dropped = [request for request in self._handed if request not in under_way]
        for request in dropped:
            self.end_way(request)
        return bool(dropped)

    def add(self, line: SiteLine) -> None:
        """Make `line` ready. It goes after all ready lines of its slot that are equally urgent.

        But if the line is ready already, and its first request has the same priority as before, the
        line keeps its place.
        """
        rank = line[0].rank
        if line.turn and rank == line.turn_rank:
            return
        line.turn = next(self._turns)
        line.turn_rank = rank
        heap = self._heaps.get(line.slot)
        if heap is None:
            heap = self._heaps[line.slot] = []
        heappush(heap, (rank, line.turn, line))

    def take(self) -> SiteLine | None:
        """Return the ready line that goes next, and make it unready.

        The module's docstring describes how the line is chosen. Return None if there is no ready
        line, or if all slots of ready lines are busy.
        """
        best = None
        fewest = float("inf")
        for _ in range(min(len(self._heaps), _MOST_LOOKED_AT)):
            slot, heap = next(iter(self._heaps.items()))
            # If `add` has put a line into the heap again, its older item is out of date.
            while heap and heap[0][1] != heap[0][2].turn:
                heappop(heap)
            if not heap:
                del self._heaps[slot]
                continue
            self._heaps.move_to_end(slot)
            on_the_way = self.on_the_way.get(slot, 0)
            download_slot = self._slots.of(slot)
            under_way = len(download_slot.active) + on_the_way
            if under_way >= fewest or _is_busy(download_slot, under_way, on_the_way):
                continue
            best = slot
            fewest = under_way
            if not under_way:
                break
        if best is None:
            return None
        self._heaps.move_to_end(best)
        line = heappop(self._heaps[best])[2]
        line.turn = 0
        return line


def _is_busy(slot: Any, under_way: int, on_the_way: int) -> bool:
    """Whether a download slot has too many requests to send one more soon.

    Args:
        slot: the slot.
        under_way: how many requests are in the slot or on their way to it.
        on_the_way: how many of these requests are on their way.
    """
    # A slot gets no more requests than it may send at the same time. Under asyncio, Scrapy would
    # send all requests in the queue of the slot as soon as one of them may be sent.
    if under_way >= slot.concurrency:
        return True
    if not slot.delay:
        return False
    return bool((on_the_way + len(slot.queue)) * slot.delay >= AHEAD_SECS)


def _ends(items: Sequence[_T], most: int) -> Sequence[_T]:
    """Return at most `most` of `items`, half of them from the beginning and half from the end."""
    if len(items) <= most:
        return items
    return [*items[: most // 2], *items[-(most // 2) :]]


def _add(counts: dict[str, int], key: str, number: int) -> None:
    """Add `number` to `counts[key]`, and delete the key if the sum is 0."""
    new = counts.get(key, 0) + number
    if new:
        counts[key] = new
    else:
        counts.pop(key, None)
