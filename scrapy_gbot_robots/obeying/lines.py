"""What waits in the room, and which line has its turn.

A *line* has the requests of one *site*, which is an origin, in one download slot. Of the slots that
have a line whose first request may go on, the one with the fewest requests under way comes first,
and equal ones take turns. Within a slot the line with the most urgent request comes first; equal
ones take turns.
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

AHEAD_SECS = 1.0  # so much work a slot with a delay gets ahead of time
_MOST_LOOKED_AT = 1000  # slots, for one request


class QueuedRequest(NamedTuple):
    """A request in a line; the smallest comes first."""

    rank: int  # the priority with its sign changed
    is_start: bool  # a start request, if these have a queue of their own
    # Among those of equal priority; its number as it came, below zero if the last one goes first.
    order: int
    request: Request


class Standing(Enum):
    """Whether the requests of a site wait, and for what."""

    OPEN = "they go on, as far as their answer serves"
    ASKED = "they wait for a look-up, which runs, or has not had its turn"
    LATE = "they wait for a look-up that has run for more than a second"
    UNREACHABLE = "the robots.txt is unreachable: they wait for a better answer"

    __hash__ = object.__hash__  # each move looks it up, and that of `Enum` is slow


@dataclass(slots=True, eq=False)
class Site(dict[tuple[str, bool], "SiteLine"]):
    """One origin with requests in the room, or with a date to keep.

    It has its lines, by slot, and whether their requests went to the middleware, and came back to
    wait. Requests about which no robots.txt decides are those of a site without an origin.

    Where it stands, and where the room has it; no other pair occurs:

        standing     room         what ends that
        OPEN         nowhere      a request that may not go on: ASKED; none is left: it is forgotten
        ASKED        `_to_ask`    its turn: a look-up begins
        ASKED        `_young`     an answer: OPEN or UNREACHABLE; a second: LATE
        LATE         `_late`      an answer: OPEN or UNREACHABLE
        UNREACHABLE  `_due`       its date: it queues, has a later date, or, if it is dead, is OPEN
        UNREACHABLE  `_to_ask`    its turn: a look-up begins
        UNREACHABLE  `_young`     an answer: OPEN or UNREACHABLE; a second: it moves to `_late`
        UNREACHABLE  `_late`      an answer: OPEN or UNREACHABLE
    """

    origin: Origin | None
    answer: CachedAnswer | None = None  # of its last look-up, which may be too old
    waited_before: int = 0  # requests with smaller numbers have waited for that answer
    standing: Standing = Standing.OPEN
    size: int = 0  # requests in its lines
    user_agents: NeededUserAgents = field(default_factory=NeededUserAgents)
    waiters: tuple[Waiter, ...] = ()  # requests that wait in the downloader
    queued_rank: int | None = None  # with which it has its place among the sites to ask

    __hash__ = object.__hash__  # type: ignore[assignment]  # no two are equal
    __eq__ = object.__eq__

    def waiting(self) -> list[SiteLine]:
        """Its lines that are not ready."""
        return [line for line in self.values() if not line.turn]

    def most_urgent(self) -> SiteLine | None:
        """The line with the most urgent request that waits."""
        return min(self.waiting(), key=lambda line: line[0].rank, default=None)


@dataclass(slots=True, eq=False)
class Waiter:
    """A request that waits where it is, in the downloader.

    It has come past the scheduler, or has gone back to wait once and still has no answer.
    """

    request: Request
    user_agent: UserAgent
    # The answer for it; None: the crawl is closing.
    ended: Deferred[CachedAnswer | None] = field(default_factory=Deferred)


@dataclass(slots=True, eq=False)
class SiteLine(list[QueuedRequest]):
    """Requests of one origin in one slot, as a heap."""

    slot: str
    site: Site
    has_returned: bool
    turn: int = 0  # its number among the ready lines; 0: it waits
    turn_rank: int = 0  # the rank of its first request when it got that turn


class Sites(dict["Origin | None", Site]):
    """The sites of a room, by their origin; a new one is made when it is asked for."""

    def __missing__(self, origin: Origin | None) -> Site:
        """Make the site of `origin`."""
        site = self[origin] = Site(origin)
        return site


class Occupancy:
    """How many requests are in the room, by the standing of their site; it tells the stats.

    Attributes:
        size: all.
        by_slot: all, by their slot; a slot without any is left out.
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
        """How many requests can go on, or will soon be able to, as far as is known."""
        return self.size - self.late - self._by_standing[Standing.UNREACHABLE]

    @property
    def late(self) -> int:
        """How many requests wait for a look-up that is late."""
        return self._by_standing[Standing.LATE]

    def add(self, line: SiteLine, number: int) -> None:
        """Count `number` more requests of `line`, for its site, too; fewer if it is below zero."""
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
    """What is known of a request that was handed out."""

    slot: str
    url: str  # its URL then, and the origin of that; None: no robots.txt decides
    origin: Origin | None
    # The answer that it goes by. None: it needs none, as far as the room knows, or goes to see.
    answer: CachedAnswer | None
    has_returned: bool  # it has come back already, and does so no more

    def goes_back(self, origin: Origin) -> bool:
        """Whether it goes back to wait if there is no good answer for `origin`.

        It does, once, unless it was handed out with an answer for that origin.
        """
        if self.answer is not None and self.answer.origin == origin:
            return False
        return not self.has_returned


class ReadyLines:
    """The lines whose first request may go on, and the requests that were handed out of them.

    A request is on its way until it reaches our middleware, or another one drops it.

    Attributes:
        on_the_way: how many requests are on their way, by slot; a slot without any is left out.
    """

    def __init__(self, crawler: Crawler, slots: DownloadSlots) -> None:
        self._crawler = crawler
        self._slots = slots
        # A heap for each slot; the slot that was served last is at the end.
        self._heaps: OrderedDict[str, list[tuple[int, int, SiteLine]]] = OrderedDict()
        self._turns = count(1)
        self.on_the_way: dict[str, int] = {}
        self._handed: dict[Request, Handed] = {}

    def hand_out(self, request: Request, handed: Handed) -> None:
        """Note that `request` was handed out."""
        if request in self._handed:  # the same object was scheduled twice
            self.end_way(request)
        self._handed[request] = handed
        _add(self.on_the_way, handed.slot, 1)

    def end_way(self, request: Request) -> Handed | None:
        """End the way of `request`; return what is known of it, None if it was on none."""
        handed = self._handed.pop(request, None)
        if handed is not None:
            _add(self.on_the_way, handed.slot, -1)
        return handed

    def forget_dropped(self) -> bool:
        """Forget the requests that another middleware has ended; return whether there were any.

        They would make their slots look busy for ever.
        """
        under_way = in_progress(self._crawler)
        if under_way is None:  # it is not known: they may not look busy for ever
            under_way = ()
        dropped = [request for request in self._handed if request not in under_way]
        for request in dropped:
            self.end_way(request)
        return bool(dropped)

    def add(self, line: SiteLine) -> None:
        """Let `line` wait for its turn, by the rank that its first request has now.

        If it has a turn with that rank, it keeps that.
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
            while heap and heap[0][1] != heap[0][2].turn:  # the line has another place
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

    `under_way` requests are in it or on their way to it, and `on_the_way` of these are not in it.
    """
    # No more than the slot may send at a time: under asyncio Scrapy sends all that is queued in
    # it as soon as one place is free.
    if under_way >= slot.concurrency:
        return True
    if not slot.delay:
        return False
    return bool((on_the_way + len(slot.queue)) * slot.delay >= AHEAD_SECS)


def _add(counts: dict[str, int], key: str, number: int) -> None:
    """Add `number` to what `counts` has of `key`; a key with 0 is left out."""
    new = counts.get(key, 0) + number
    if new:
        counts[key] = new
    else:
        counts.pop(key, None)
