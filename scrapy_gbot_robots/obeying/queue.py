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

Between slots the one with the fewest active requests goes first, and equal ones take turns, as in Scrapy 2.19. To find it
takes one look, unless all slots have active requests: a slot that has had its turn long ago has none. Scrapy's queue looks
at every slot for each request.

While requests wait, a slot with a download delay gets at most `QUEUED_SECS` of work ahead of time. Otherwise the first host
that settles would fill the downloader, and those that settle later would find no place there.

State in a JOBDIR: Scrapy's queue names its files by slot, this one by origin and slot. Each reads what the other has
written. A line of Scrapy's is *mixed*, and so is that of requests without a robots.txt: at which gate it waits, or that it
need not, its next request says.
Source: Scrapy's pqueues.py and core/scheduler.py, 2.14 to 2.19.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue

from ..core.urls import Origin
from ..engine import DownloadSlots, downloader_middleware, next_of
from ..meta import SITEMAP
from .gates import judged_origin
from .middleware import GbotRobotsTxtMiddleware

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler

    from .gates import Gate, Gates

QUEUED_SECS = 1.0  # what a slot gets ahead of time while requests wait
_MOST_LOOKED_AT = 1000  # slots, for one request
_NEEDED = {
    DownloaderAwarePriorityQueue: ("close", "pqfactory"),
    ScrapyPriorityQueue: ("close", "peek", "pop", "push"),
}

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Slot:
    """The ready lines of one download slot.

    Attributes:
        key: of the downloader's slot.
        number: of all its lines, ready or not.
        ready: a heap of priority, turn, and line. An entry counts if its turn is still the line's.
        is_in_ring: whether the queue's ring has this slot.
        queued: requests that were handed out and that its delay keeps back.
        delay: in seconds.
    """

    key: str
    number: int = 0
    ready: list[tuple[int, int, Line]] = field(default_factory=list)
    is_in_ring: bool = False
    queued: Sequence[Request] = ()
    delay: float = 0.0

    def is_ready(self) -> bool:
        """Whether a line is ready. Drops entries that count no longer."""
        while self.ready and self.ready[0][1] != self.ready[0][2].turn:
            heappop(self.ready)
        return bool(self.ready)


@dataclass(slots=True, eq=False)
class Line:
    """Requests of one origin in one download slot.

    Attributes:
        ring, slot: where the line is ready.
        origin: whose robots.txt decides; None if the line is mixed.
        name: in the queue's state.
        requests, size: Scrapy's queue, and the number of requests in it.
        gate: where the line waits if it has to.
        turn: of the entry in its slot that counts; 0 if the line is not ready.
        priority: with which it is ready.
    """

    ring: _Ring
    slot: _Slot
    origin: Origin | None
    name: str
    requests: ScrapyPriorityQueue
    size: int = 0
    gate: Gate | None = None
    turn: int = 0
    priority: int = 0

    @property
    def urgency(self) -> int:
        """By what number the look-up of its origin comes before others, the smaller the earlier; 0 if slots are equal."""
        return 0 if self.ring.is_by_slot else self.requests.curprio or 0

    def next_request(self) -> Request | None:
        """The request that comes next; None if the queue cannot tell."""
        try:
            return next_of(self.requests)
        except Exception:  # a queue of the user's own has no `peek`, or its file is damaged
            return None

    def go_on(self) -> None:
        """Be ready."""
        self.ring.add(self)


class _Ring:
    """The slots that have ready lines, the one that was served last at the end.

    Attributes:
        is_by_slot: whether there is a slot for each download slot, and not one for all.
    """

    def __init__(self, downloader: DownloadSlots, gates: Gates | None, *, is_by_slot: bool) -> None:
        self.is_by_slot = is_by_slot
        self._downloader = downloader
        self._gates = gates
        self._slots: deque[_Slot] = deque()
        self._turns = count(1)

    def add(self, line: Line) -> None:
        """Let `line` wait for its turn in its slot."""
        line.turn = next(self._turns)
        line.priority = line.requests.curprio or 0
        heappush(line.slot.ready, (line.priority, line.turn, line))
        if not line.slot.is_in_ring:
            line.slot.is_in_ring = True
            self._slots.append(line.slot)

    def take(self) -> Line | None:
        """Take out the line whose turn it is; None if none may go on.

        That is a line of the slot with the fewest active requests; of equal slots, of the one that was served longest ago.
        """
        best, fewest = None, math.inf
        for _ in range(min(len(self._slots), _MOST_LOOKED_AT)):
            slot = self._slots.popleft()
            slot.is_in_ring = slot.is_ready()
            if not slot.is_in_ring:
                continue
            self._slots.append(slot)
            active = self._downloader.active(slot.key)
            if active < fewest and not (slot.queued and self._has_enough(slot)):
                best, fewest = slot, active
                if not active:
                    break
        if best is None:
            return None
        if fewest:
            self._slots.remove(best)
            self._slots.append(best)
        line = heappop(best.ready)[2]
        line.turn = 0
        return line

    def first(self) -> Line | None:
        """A line that may be taken next."""
        return next((slot.ready[0][2] for slot in self._slots if slot.is_ready()), None)

    def note(self, slot: _Slot, request: Request) -> None:
        """Note that `request` goes to `slot`, if that has a delay and other requests wait."""
        if self._gates is None or not self._gates.waiting or not self.is_by_slot:
            return
        slot.delay = self._downloader.delay(request)
        if slot.delay:
            slot.queued = [*slot.queued, request]

    def _has_enough(self, slot: _Slot) -> bool:
        """Whether the delay of `slot` keeps enough back for now. Then the engine has to ask again soon."""
        slot.queued = [each for each in slot.queued if self._downloader.is_queued(slot.key, each)]
        if self._gates is None or not self._gates.waiting or slot.delay * len(slot.queued) < QUEUED_SECS:
            return False
        self._gates.is_pulled = True
        return True


class OriginPriorityQueue(DownloaderAwarePriorityQueue):
    """A priority queue for `SCHEDULER_PRIORITY_QUEUE` whose requests stay in it until their robots.txt is known.

    The add-on sets it in place of Scrapy's default. It is as fair to download slots as that, and takes the same time however
    many slots it has. In a crawl that does not obey robots.txt, that is all it does.
    """

    _is_by_slot = True

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **named: Any) -> DownloaderAwarePriorityQueue:  # type: ignore[override]
        """Make a queue; one of Scrapy's own if Scrapy has changed so much that this class does not work."""
        missing = [name for made, names in _NEEDED.items() for name in names if not hasattr(made, name)]
        if not missing:
            return super().from_crawler(crawler, *args, **named)
        if not named.get("key"):  # of the two queues of a crawl with a JOBDIR, the one in memory
            logger.warning(
                "%s needs %s of Scrapy's queues, which this Scrapy lacks: using Scrapy's queue, so that requests wait for "
                "their robots.txt in the downloader",
                cls.__name__,
                ", ".join(missing),
            )
        return DownloaderAwarePriorityQueue.from_crawler(crawler, *args, **named)

    def __init__(self, crawler: Crawler, *args: Any, **named: Any) -> None:
        super().__init__(crawler, *args, **named)
        middleware = downloader_middleware(crawler, GbotRobotsTxtMiddleware)
        self._gates = None if middleware is None else middleware.gates
        self._downloader = DownloadSlots(crawler)
        self._ring = _Ring(self._downloader, self._gates, is_by_slot=self._is_by_slot)
        self._slots: dict[str, _Slot] = {}
        self._lines: dict[tuple[str, Origin | None], Line] = {}
        self._size = 0
        for name in list(self.pqueues):
            self._resume(name)

    def __len__(self) -> int:
        return self._size

    def push(self, request: Request) -> None:
        """Take in `request`."""
        key = self._key(request)
        origin = self._origin(request)
        line = self._lines.get((key, origin)) or self._new_line(key, origin)
        try:
            line.requests.push(request)
        except BaseException:  # as when it cannot be serialised: then it goes into the queue in memory
            if not line.size:
                self._remove(line)
            raise
        self._size += 1
        line.size += 1
        if origin is not None and self._gates is not None:
            if line.gate is None:
                line.gate = self._gates.gate(origin, request)
            self._gates.come(line.gate)
        if line.size == 1:
            self._begin(line)
        elif line.turn and (line.requests.curprio or 0) < line.priority:
            self._ring.add(line)

    def pop(self) -> Request | None:
        """Hand out a request that need not wait; None if there is none for now."""
        while (line := self._ring.take()) is not None:
            if line.gate is None and line.origin is None:
                self._find_gate(line)
            if line.gate is None or self._gates is None or self._gates.admit(line):
                return self._take(line)
        if self._gates is not None:
            self._gates.nothing_to_hand_out()
        return None

    def peek(self) -> Request | None:
        """Return a request that `pop` may hand out next; None if there is none.

        Raises:
            NotImplementedError: the queues cannot tell.
        """
        line = self._ring.first()
        return None if line is None else next_of(line.requests)

    def _key(self, request: Request) -> str:
        return self._downloader.key(request) if self._is_by_slot else ""

    def _origin(self, request: Request) -> Origin | None:
        if self._gates is None or SITEMAP in request.meta:  # its host may be one that only a middleware refuses
            return None
        with suppress(ValueError):  # the middleware refuses it
            return judged_origin(request)
        return None

    def _new_line(self, key: str, origin: Origin | None, name: str = "") -> Line:
        slot = self._slots.setdefault(key, _Slot(key))
        slot.number += 1
        name = name or (key if origin is None else f"{origin} {key}")
        if name not in self.pqueues:
            self.pqueues[name] = self.pqfactory(name)
        line = Line(self._ring, slot, origin, name, self.pqueues[name])
        self._lines.setdefault((key, origin), line)  # a line of an earlier crawl may be there
        return line

    def _resume(self, name: str) -> None:
        """Make a line of the requests that an earlier crawl has left under `name`."""
        prefix, is_ours, key = name.partition(" ")
        origin = None
        with suppress(ValueError):
            origin = Origin.of(prefix) if is_ours else None
        line = self._new_line((key if origin is not None else name) if self._is_by_slot else "", origin, name)
        line.size = len(line.requests)
        self._size += line.size
        if not line.size:
            self._remove(line)
            return
        if origin is not None and self._gates is not None:
            line.gate = self._gates.gate(origin, line.next_request() or Request(origin.robots_url))
            self._gates.come(line.gate, line.size)
        self._begin(line)

    def _begin(self, line: Line) -> None:
        """Let a line that has got its first request wait at its gate or be ready."""
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
        if request is not None:
            self._ring.note(line.slot, request)
        return request

    def _remove(self, line: Line) -> None:
        """Remove a line that is empty."""
        line.turn = 0
        if self._lines.get((line.slot.key, line.origin)) is line:
            del self._lines[line.slot.key, line.origin]
        del self.pqueues[line.name]
        line.requests.close()
        if self.key:
            with suppress(OSError):  # it has files left
                Path(line.requests.key).rmdir()
        line.slot.number -= 1
        if not line.slot.number:
            self._slots.pop(line.slot.key, None)

    def _find_gate(self, line: Line) -> None:
        """Let the gate of its next request be that of a mixed line."""
        request = None if self._gates is None else line.next_request()
        origin = None if request is None else self._origin(request)
        if request is not None and origin is not None and self._gates is not None:
            line.gate = self._gates.gate(origin, request)
            self._gates.come(line.gate)


class StrictOriginPriorityQueue(OriginPriorityQueue):
    """An `OriginPriorityQueue` for those who had `scrapy.pqueues.ScrapyPriorityQueue`: priorities count across all hosts.

    Requests of equal priority and different origins take turns.
    """

    _is_by_slot = False
