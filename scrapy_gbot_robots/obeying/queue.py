"""The scheduler's priority queue: it hands out no request whose robots.txt is not known.

`OriginPriorityQueue` takes the place of Scrapy's default `DownloaderAwarePriorityQueue` (`SCHEDULER_PRIORITY_QUEUE`). A
*line* is the requests of one origin in one download slot. Each line is one of Scrapy's own `ScrapyPriorityQueue`, so order,
start queues and files are Scrapy's. A line whose origin is not settled waits at its gate (`gates`). All others are *ready*:

    push                     pop
     |                        |
     |   ring of slots:    slot  ->  slot  ->  slot     those with a ready line, the one served last at the end
     |                      |
     v    heap of a slot:  line, line, ...              by priority; equal ones by turns
    line --- not settled ---> gate --- settled ---> ready

Between slots the one with the fewest active requests goes first, and equal ones take turns, as in
Scrapy 2.19. To find it takes one look, unless all slots have active requests: a slot that has had
its turn long ago has none. Scrapy's queue looks at every slot for each request.

While requests wait, a slot with a download delay gets at most `QUEUED_SECS` of work ahead of time.
Otherwise the first host that settles would fill the downloader, and those that settle later would
find no place there.

State in a JOBDIR: Scrapy's queue names its files by slot, this one by origin and slot. Each reads what the other has
written. A line of Scrapy's is *mixed*, and so is that of requests without a robots.txt, or of very long hosts: at which gate
it waits, or that it need not, its next request says. Of a mixed line, requests are given up one at a time.
Source: Scrapy's pqueues.py and core/scheduler.py, 2.14 to 2.19.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue

from ..core.urls import Origin
from ..engine import DownloadSlots, downloader_middleware, next_of, urgency_of
from ..meta import SITEMAP
from .gates import Gate, Gates
from .middleware import GbotRobotsTxtMiddleware, judged_origin

QUEUED_SECS = 1.0  # what a slot gets ahead of time while requests wait
_MOST_LOOKED_AT = 1000  # slots, for one request
_LONGEST_NAME = 200  # characters of a directory's name, to which Scrapy adds 33

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Line:
    """Requests of one origin in one download slot."""

    ring: _Ring  # where the line is ready
    slot: str  # the key of its download slot
    origin: Origin | None  # whose robots.txt decides; None if the line is mixed
    name: str  # in the queue's state
    requests: ScrapyPriorityQueue
    size: int = 0  # how many
    gate: Gate | None = None  # where the line waits if it has to
    turn: int = 0  # of its entry in the ring; 0 if the line is not ready

    @property
    def urgency(self) -> int:
        """By what number the look-up of its origin comes before others, the smaller the earlier; 0 if slots are equal."""
        return 0 if self.ring.is_by_slot else self.requests.curprio or 0


class _Ring:
    """The lines that are ready, in a heap for each download slot. The slot that was served last is at the end."""

    def __init__(self, downloader: DownloadSlots, gates: Gates | None, *, is_by_slot: bool) -> None:
        self.is_by_slot = is_by_slot  # there is a heap for each download slot, and not one for all
        self._downloader = downloader
        self._gates = gates
        self._heaps: OrderedDict[str, list[tuple[int, int, Line]]] = (
            OrderedDict()
        )  # priority, turn, line
        self._turns = count(1)
        self._busy_until: dict[
            str, float
        ] = {}  # by slot, on the monotonic clock: with what its delay keeps back

    def add(self, line: Line) -> None:
        """Let `line` wait for its turn in its slot, by its priority now."""
        line.turn = next(self._turns)
        heappush(
            self._heaps.setdefault(line.slot, []), (urgency_of(line.requests), line.turn, line)
        )

    def take(self) -> Line | None:
        """Take out the line whose turn it is; None if none may go on.

        That is a line of the slot with the fewest active requests; of equal slots, of the one that
        was served longest ago.
        """
        best, fewest = None, float("inf")
        for _ in range(min(len(self._heaps), _MOST_LOOKED_AT)):
            slot, heap = next(iter(self._heaps.items()))
            while heap and heap[0][1] != heap[0][2].turn:  # the line has another entry, or is empty
                heappop(heap)
            if not heap:
                del self._heaps[slot]
                self._busy_until.pop(slot, None)
                continue
            self._heaps.move_to_end(slot)
            active = self._downloader.active(slot)
            if active < fewest and not self._has_enough(slot):
                best, fewest = slot, active
                if not active:
                    break
        if best is None:
            return None
        self._heaps.move_to_end(best)
        line = heappop(self._heaps[best])[2]
        line.turn = 0
        return line

    def note(self, slot: str, request: Request) -> None:
        """Note that `request` goes to `slot`, if that has a delay and other requests wait."""
        if (
            self._gates is not None
            and self._gates.waiting
            and (secs := self._downloader.delay(request))
        ):
            self._busy_until[slot] = max(self._busy_until.get(slot, 0.0), time.monotonic()) + secs

    def _has_enough(self, slot: str) -> bool:
        """Whether `slot` has work for the next `QUEUED_SECS`, and other requests wait."""
        if slot not in self._busy_until or self._gates is None or not self._gates.waiting:
            return False
        secs = (
            self._busy_until[slot] - time.monotonic()
        )  # of what is handed out, and may not have come to the slot yet
        return max(secs, self._downloader.queued_secs(slot)) >= QUEUED_SECS


class OriginPriorityQueue(DownloaderAwarePriorityQueue):
    """A priority queue for `SCHEDULER_PRIORITY_QUEUE` whose requests stay in it until their robots.txt is known.

    The add-on sets it in place of Scrapy's default. It is as fair to download slots as that, and
    takes the same time however many slots it has. In a crawl that does not obey robots.txt, that is
    all it does.
    """

    _is_by_slot = True

    @classmethod
    def from_crawler(  # type: ignore[override]
        cls, crawler: Crawler, *args: Any, **named: Any
    ) -> DownloaderAwarePriorityQueue:
        """Make a queue; one of Scrapy's own if Scrapy has changed so much that this class does not work."""
        if hasattr(DownloaderAwarePriorityQueue, "pqfactory"):
            return super().from_crawler(crawler, *args, **named)
        if not named.get("key"):  # of the two queues of a crawl with a JOBDIR, the one in memory
            logger.warning(
                "%s needs pqfactory, which this Scrapy lacks: requests wait for their robots.txt in the downloader",
                cls.__name__,
            )
        return DownloaderAwarePriorityQueue.from_crawler(crawler, *args, **named)

    def __init__(self, crawler: Crawler, *args: Any, **named: Any) -> None:
        super().__init__(crawler, *args, **named)
        middleware = downloader_middleware(crawler, GbotRobotsTxtMiddleware)
        self._gates = None if middleware is None else middleware.gates
        self._downloader = DownloadSlots(crawler)
        self._ring = _Ring(self._downloader, self._gates, is_by_slot=self._is_by_slot)
        self._lines: dict[str, Line] = {}  # by their names
        self._size = 0
        for name in list(self.pqueues):
            self._resume(name)

    def __len__(self) -> int:
        return self._size

    def push(self, request: Request) -> None:
        """Take in `request`."""
        slot = self._downloader.key(request) if self._is_by_slot else ""
        origin = self._origin(request)
        name = f"{origin} {slot}"
        if origin is None or len(name) > _LONGEST_NAME:
            origin, name = None, slot
        line = self._lines.get(name)
        if line is None:
            requests = self.pqueues[name] = self.pqfactory(name)
            line = self._lines[name] = Line(self._ring, slot, origin, name, requests)
        urgency = line.requests.curprio
        try:
            line.requests.push(request)
        except (
            BaseException
        ):  # as when it cannot be serialised: then it goes into the queue in memory
            if not line.size:
                self._remove(line)
            raise
        self._grow(line, request)
        if line.turn and urgency is not None and line.requests.curprio != urgency:
            self._ring.add(line)

    def pop(self) -> Request | None:
        """Hand out a request that need not wait; None if there is none for now."""
        gates = self._gates
        while (line := self._ring.take()) is not None:
            if gates is None:
                return self._take(line)
            if line.gate is None and (request := next_of(line.requests)) is not None:
                origin = self._origin(request)  # the line is mixed, or needs no robots.txt
                if origin is not None:
                    gates.come(line, origin, request)
            if line.gate is None or gates.admit(line.gate, line):
                return self._take(line)
        if gates is not None:
            gates.nothing_to_hand_out()
        return None

    def _origin(self, request: Request) -> Origin | None:
        if (
            self._gates is None or SITEMAP in request.meta
        ):  # its host may be one that only a middleware refuses
            return None
        with suppress(ValueError):  # the middleware refuses it
            return judged_origin(request)
        return None

    def _resume(self, name: str) -> None:
        """Make a line of the requests that an earlier crawl has left under `name`."""
        prefix, is_ours, slot = name.partition(" ")
        origin = None
        with suppress(ValueError):
            origin = Origin.of(prefix) if is_ours else None
        slot = (name if origin is None else slot) if self._is_by_slot else ""
        line = self._lines[name] = Line(self._ring, slot, origin, name, self.pqueues[name])
        if line.requests:
            self._grow(line, next_of(line.requests), len(line.requests))
        else:
            self._remove(line)

    def _grow(self, line: Line, request: Request | None, number: int = 1) -> None:
        """Note that `line` has got so many requests, such as `request`. A new line waits at its gate, or is ready."""
        self._size += number
        line.size += number
        if self._gates is not None and line.origin is not None:
            self._gates.come(line, line.origin, request or Request(line.origin.robots_url), number)
        if line.size > number:
            return
        if self._gates is not None and line.gate is not None and line.gate.is_shut:
            self._gates.wait(line.gate, line)
        else:
            self._ring.add(line)

    def _take(self, line: Line) -> Request | None:
        """Take out the next request of `line`."""
        request = None
        try:
            request = line.requests.pop()
        finally:  # it may raise, as when a file is damaged
            gone = line.size - len(line.requests)
            line.size -= gone
            self._size -= gone
            gate, line.gate = line.gate, None if line.origin is None else line.gate
            if line.size:
                self._ring.add(line)
            else:
                self._remove(line)
            if self._gates is not None and gate is not None:
                self._gates.leave(gate, request, 1 if line.origin is None else gone)
        if request is not None and self._is_by_slot:
            self._ring.note(line.slot, request)
        return request

    def _remove(self, line: Line) -> None:
        """Remove a line that is empty."""
        line.turn = 0
        del self._lines[line.name], self.pqueues[line.name]
        line.requests.close()
        if self.key:
            with suppress(OSError):  # it has files left
                Path(line.requests.key).rmdir()


class StrictOriginPriorityQueue(OriginPriorityQueue):
    """An `OriginPriorityQueue` for those who had `scrapy.pqueues.ScrapyPriorityQueue`: priorities count across all hosts.

    Requests of equal priority and different origins take turns.
    """

    _is_by_slot = False
