"""The lines in the room, and the order in which they have their turns.

A *site* is an origin. A *line* contains the requests of one site in one download slot. A slot is
ready if it has a line whose first request may go on. Of the ready slots, the one with the fewest
requests under way comes first; slots with equally few take turns. Within a slot, the line with the
most urgent request comes first; lines with equally urgent requests take turns.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple

from scrapy import Request
from scrapy.crawler import Crawler
from twisted.internet.defer import Deferred

from ..core.crawlers import UserAgent
from ..core.urls import Origin
from ..engine import DownloadSlots, in_progress
from .answer import CachedAnswer
from .lookup import NeededUserAgents

# A slot with a delay may have as many requests in its queue as it sends in this time.
AHEAD_SECS = 1.0
_MOST_LOOKED_AT = 1000  # To find one request, at most this many slots are looked at.


class QueuedRequest(NamedTuple):
    """A request in a line. The smallest entry comes first."""

    rank: int  # the negated priority
    is_start: bool  # Whether it is a start request, if start requests have a queue of their own.
    # This decides between requests of equal priority. It is the number with which the request came,
    # and negative if the last request goes first.
    order: int
    request: Request


class Standing(Enum):
    """Whether the requests of a site wait, and for what."""

    OPEN = "they go on while the answer of the site is good"
    ASKED = "they wait for a look-up, which is running or still queued"
    LATE = "they wait for a look-up that has been running for more than a second"
    UNREACHABLE = "the robots.txt is unreachable, so they wait for a better answer"

    # Each move of a site uses the hash, and the hash of `Enum` is slow.
    __hash__ = object.__hash__


@dataclass(slots=True, eq=False)
class Site(dict[tuple[str, bool], "SiteLine"]):
    """One origin that has requests in the room, or is due for another look-up.

    A site is a dict of its lines. The key is a slot, and whether the requests of the line have come
    back from the middleware to wait. Requests about which no robots.txt decides are in a site
    without an origin.

    This table has all pairs of a standing and a place in the room that occur:

        standing     room         what ends that
        OPEN         nowhere      a request that has to wait: ASKED; no requests: it is forgotten
        ASKED        `_to_ask`    its turn: a look-up begins
        ASKED        `_young`     an answer: OPEN or UNREACHABLE; a second: LATE
        LATE         `_late`      an answer: OPEN or UNREACHABLE
        UNREACHABLE  `_due`       its date: `_to_ask`, a later date, or OPEN if the origin is dead
        UNREACHABLE  `_to_ask`    its turn: a look-up begins
        UNREACHABLE  `_young`     an answer: OPEN or UNREACHABLE; a second: `_late`
        UNREACHABLE  `_late`      an answer: OPEN or UNREACHABLE
    """

    origin: Origin | None
    answer: CachedAnswer | None = None  # the answer of the last look-up, which may be too old
    waited_before: int = 0  # Requests with smaller numbers have waited for that answer.
    standing: Standing = Standing.OPEN
    size: int = 0  # how many requests are in its lines
    user_agents: NeededUserAgents = field(default_factory=NeededUserAgents)
    waiters: tuple[Waiter, ...] = ()  # requests that wait in the downloader
    queued_rank: int | None = None  # the rank of its valid entry in `_to_ask`; None if not there

    # Two sites are never equal.
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    def waiting(self) -> list[SiteLine]:
        """Return the lines that are not ready."""
        return [line for line in self.values() if not line.turn]

    def most_urgent(self) -> SiteLine | None:
        """Return the line with the most urgent waiting request; None if no line waits."""
        return min(self.waiting(), key=lambda line: line[0].rank, default=None)


@dataclass(slots=True, eq=False)
class Waiter:
    """A request that waits in the downloader.

    It did not come through the scheduler, or it has gone back to wait once and still has no answer.
    """

    request: Request
    user_agent: UserAgent
    # It fires with the answer for the request, or with None if the crawl is closing.
    ended: Deferred[CachedAnswer | None] = field(default_factory=Deferred)


@dataclass(slots=True, eq=False)
class SiteLine(list[QueuedRequest]):
    """Requests of one origin in one slot, as a heap."""

    slot: str
    site: Site
    has_returned: bool
    turn: int = 0  # its number among the ready lines; 0 if it waits
    turn_rank: int = 0  # the rank of its first request when the line got that turn


class Sites(dict["Origin | None", Site]):
    """The sites of a room, by their origin. A missing site is made at its first use."""

    def __missing__(self, origin: Origin | None) -> Site:
        """Make the site of `origin`."""
        site = self[origin] = Site(origin)
        return site


class Occupancy:
    """How many requests are in the room, by the standing of their site. It updates the stats.

    Attributes:
        size: how many requests are in the room.
        by_slot: how many requests are in the room, by slot. A slot without requests is left out.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.size = 0
        self.by_slot: dict[str, int] = {}
        self._stats: Any = crawler.stats
        self._by_standing = dict.fromkeys(Standing, 0)

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self.size - self._by_standing[Standing.OPEN]

    @property
    def usable(self) -> int:
        """How many requests can go on now or will probably be able to soon."""
        return self.size - self.late - self._by_standing[Standing.UNREACHABLE]

    @property
    def late(self) -> int:
        """How many requests wait for a look-up that is late."""
        return self._by_standing[Standing.LATE]

    def add(self, line: SiteLine, number: int) -> None:
        """Count `number` more requests in `line` and in its site. `number` may be negative."""
        self.size += number
        _add(self.by_slot, line.slot, number)
        site = line.site
        site.size += number
        self._by_standing[site.standing] += number
        if site.standing is not Standing.OPEN:
            self._tell()

    def move(self, site: Site, standing: Standing) -> None:
        """Give `site` another standing, and count its requests there."""
        self._by_standing[site.standing] -= site.size
        self._by_standing[standing] += site.size
        site.standing = standing
        self._tell()

    def _tell(self) -> None:
        self._stats.set_value("gbot_robots/waiting", self.waiting)
        self._stats.max_value("gbot_robots/waiting/max", self.waiting)


class Handed(NamedTuple):
    """The facts about a request at the time when it was handed out."""

    slot: str
    url: str
    origin: Origin | None  # the origin of `url`; None if no robots.txt decides
    # The answer with which the request was released. It is None if the room thinks that the request
    # needs no answer, or has let it through to find out.
    answer: CachedAnswer | None
    has_returned: bool  # Whether the request has come back to wait. It does so only once.

    def goes_back(self, origin: Origin) -> bool:
        """Whether the request goes back to wait if there is no good answer for `origin`.

        It does so once, unless it was handed out with an answer for that origin.
        """
        if self.answer is not None and self.answer.origin == origin:
            return False
        return not self.has_returned


class ReadyLines:
    """The lines whose first request may go on, and the requests that were handed out of them.

    A request is on its way until it reaches this plugin's middleware, or until another middleware
    drops it.

    Attributes:
        on_the_way: how many requests are on their way, by slot. A slot without requests is left
            out.
    """

    def __init__(self, crawler: Crawler, slots: DownloadSlots) -> None:
        self._crawler = crawler
        self._slots = slots
        # There is a heap for each slot. The slot that was served last is at the end.
        self._heaps: OrderedDict[str, list[tuple[int, int, SiteLine]]] = OrderedDict()
        self._turns = count(1)
        self.on_the_way: dict[str, int] = {}
        self._handed: dict[Request, Handed] = {}

    def hand_out(self, request: Request, handed: Handed) -> None:
        """Note that `request` was handed out."""
        if request in self._handed:  # The same object was scheduled twice.
            self.end_way(request)
        self._handed[request] = handed
        _add(self.on_the_way, handed.slot, 1)

    def end_way(self, request: Request) -> Handed | None:
        """End the way of `request`; return the facts about it, or None if it was not on its way."""
        handed = self._handed.pop(request, None)
        if handed is not None:
            _add(self.on_the_way, handed.slot, -1)
        return handed

    def forget_dropped(self) -> bool:
        """Forget the requests that another middleware has ended; return whether there were any.

        Otherwise these requests would make their slots look busy for ever.
        """
        under_way = in_progress(self._crawler)
        if under_way is None:  # The engine does not record it, so all requests are forgotten.
            under_way = ()
        dropped = [request for request in self._handed if request not in under_way]
        for request in dropped:
            self.end_way(request)
        return bool(dropped)

    def add(self, line: SiteLine) -> None:
        """Give `line` a turn, by the rank of its first request.

        If the line already has a turn with that rank, it keeps that turn.
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
        """Take out the line whose turn it is; None if there is none for now."""
        best = None
        fewest = float("inf")
        for _ in range(min(len(self._heaps), _MOST_LOOKED_AT)):
            slot, heap = next(iter(self._heaps.items()))
            # An entry is out of date if its line has got another turn since.
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
    """Whether a download slot could not use one more request soon.

    Args:
        slot: the slot.
        under_way: how many requests are in the slot or on their way to it.
        on_the_way: how many of these are on their way.
    """
    # A slot gets no more requests than it may send at the same time, because under asyncio Scrapy
    # sends its whole queue as soon as one place is free.
    if under_way >= slot.concurrency:
        return True
    if not slot.delay:
        return False
    return bool((on_the_way + len(slot.queue)) * slot.delay >= AHEAD_SECS)


def _add(counts: dict[str, int], key: str, number: int) -> None:
    """Add `number` to `counts[key]`, and delete the key if the sum is 0."""
    new = counts.get(key, 0) + number
    if new:
        counts[key] = new
    else:
        counts.pop(key, None)
