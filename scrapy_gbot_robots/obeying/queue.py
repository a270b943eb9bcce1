"""The scheduler's priority queue: it hands out no request whose robots.txt is not known.

`OriginPriorityQueue` takes the place of Scrapy's default `DownloaderAwarePriorityQueue`
(`SCHEDULER_PRIORITY_QUEUE`). A *line* is the requests of one origin in one download slot. Each line
is one of Scrapy's own `ScrapyPriorityQueue`, so order, start queues and files are Scrapy's; but one
request in memory needs no queue. A line whose origin is not settled waits at its gate (`gates`).
All others are *ready*:

    push                     pop
     |                        |
     |   ring of slots:    slot  ->  slot  ->  slot     with a ready line; served last: at the end
     |                      |
     v    heap of a slot:  line, line, ...              by rank; equal ones by turns
    line --- not settled ---> gate --- settled ---> ready

Between slots the one with the fewest active requests goes first, and equal ones take turns, as in
Scrapy 2.19. To find it takes one look, unless all slots have active requests: a slot that has had
its turn long ago has none. Scrapy's queue looks at every slot for each request.

While requests wait, a slot with a download delay gets at most `QUEUED_SECS` of work ahead of time.
Otherwise the first host that settles would fill the downloader, and those that settle later would
find no place there.

State in a JOBDIR: Scrapy's queue names its files by slot, this one by origin and slot. Each reads
what the other has written. A line of Scrapy's is *mixed*, and so is that of requests without a
robots.txt, or of very long hosts: at which gate it waits, or that it need not, its next request
says. Of a mixed line, requests are given up one at a time. A line has files of its own; those of
lines that were not used lately are closed.
Source: Scrapy's pqueues.py and core/scheduler.py, 2.14 to 2.19.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue

from ..core.urls import Origin
from ..engine import DownloadSlots, downloader_middleware, next_of, urgency_of
from ..meta import RETURNED
from .gate import Gate
from .gates import Gatekeeper, Gates
from .subject_to_robots import is_unchecked_sitemap, origin_of, restore

QUEUED_SECS = 1.0  # what a slot gets ahead of time while requests wait
MOST_OPEN = 400  # lines with their files
_MOST_LOOKED_AT = 1000  # slots, for one request
_LONGEST_NAME = 200  # characters of a directory's name, to which Scrapy adds 33
_SCRAPYS_OWN = "/"  # the name of a line: the files that Scrapy's ScrapyPriorityQueue has left
_RETURNED = "returned "  # so the name of a line begins whose requests have come back
_SCRAPYS_IN_MEMORY = {FifoMemoryQueue, LifoMemoryQueue, None}

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Line:
    """Requests of one origin in one download slot. `gate.Line` says what the gates ask of it."""

    queue: OriginPriorityQueue
    slot: str  # the key of its download slot
    origin: Origin | None  # whose robots.txt decides; None if the line is mixed
    name: str  # in the queue's state
    size: int = 0  # how many requests
    rank: int = 0  # of the next one: the smaller, the earlier; a priority with its sign changed
    # In memory a single request needs no queue, and most lines have one.
    single: Request | None = None
    requests: ScrapyPriorityQueue | None = None  # all others; None while their files are closed
    priorities: Iterable[int] = ()  # of the requests whose files are closed
    gate: Gate | None = None
    is_returned: bool = False  # for requests that have come back
    turn: int = 0  # of its entry in the ring; 0 if the line is not ready

    @property
    def urgency(self) -> int:
        """As `gate.Line` says; 0 if slots are equal."""
        return 0 if self.queue._is_by_slot else self.rank  # noqa: SLF001  of this module

    def next_request(self) -> Request | None:
        """As `gate.Line` says."""
        request = self.single
        if request is None:
            with suppress(OSError):  # its files cannot be opened now
                request = next_of(self.queue._opened(self))  # noqa: SLF001
        return request

    def make_ready(self) -> None:
        """As `gate.Line` says."""
        self.queue._ring.add(self)  # noqa: SLF001

    def note_refused(self) -> None:
        """As `gate.Line` says."""
        self.queue._ring.take_back(self.slot)  # noqa: SLF001


class _Ring:
    """The lines that are ready, in a heap for each slot; the slot served last is at the end."""

    def __init__(self, downloader: DownloadSlots, gates: Gates | None) -> None:
        self._downloader = downloader
        self._gates = gates
        # By slot; entries are rank, turn, line.
        self._heaps: OrderedDict[str, list[tuple[int, int, Line]]] = OrderedDict()
        self._turns = count(1)
        # By slot, on the monotonic clock: until when its delay keeps back what it has got. The slot
        # served last is at the end.
        self._busy_until: dict[str, float] = {}

    def add(self, line: Line) -> None:
        """Let `line` wait for its turn in its slot, by its rank now."""
        line.turn = next(self._turns)
        heappush(self._heaps.setdefault(line.slot, []), (line.rank, line.turn, line))

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

    def note_handed_out(self, slot: str, request: Request) -> None:
        """Note that `request` goes to `slot`, if that has a delay and other requests wait."""
        if self._gates is None or not self._gates.waiting:
            return
        secs = self._downloader.delay(request)
        if not secs:
            return
        now = time.monotonic()
        self._busy_until[slot] = max(self._busy_until.pop(slot, 0.0), now) + secs
        first = next(iter(self._busy_until))
        while self._busy_until[first] <= now:
            del self._busy_until[first]
            first = next(iter(self._busy_until))

    def take_back(self, slot: str) -> None:
        """Note that a request that was on its way to `slot` was refused: it costs no delay."""
        if slot in self._busy_until:
            self._busy_until[slot] -= self._downloader.delay_of(slot)

    def _has_enough(self, slot: str) -> bool:
        """Whether `slot` has work for the next `QUEUED_SECS`, and other requests wait."""
        if slot not in self._busy_until or self._gates is None or not self._gates.waiting:
            return False
        # What is handed out may not have come to the slot yet.
        secs = self._busy_until[slot] - time.monotonic()
        return max(secs, self._downloader.queued_secs(slot)) >= QUEUED_SECS


class OriginPriorityQueue(DownloaderAwarePriorityQueue):
    """A priority queue whose requests stay in it until their robots.txt is known or given up.

    The add-on sets it in place of Scrapy's default, as `SCHEDULER_PRIORITY_QUEUE`. It is as fair to
    download slots as that. In a crawl that does not obey robots.txt, no request waits in it.
    """

    _is_by_slot = True  # there is a heap of lines for each download slot, and not one for all

    @classmethod
    def from_crawler(  # type: ignore[override]
        cls, crawler: Crawler, *args: Any, **named: Any
    ) -> DownloaderAwarePriorityQueue:
        """Make a queue.

        It is one of Scrapy's own if Scrapy has changed so much that this class does not work.
        """
        if hasattr(DownloaderAwarePriorityQueue, "pqfactory"):
            return super().from_crawler(crawler, *args, **named)
        if not named.get("key"):  # of the two queues of a crawl with a JOBDIR, the one in memory
            logger.warning(
                "%s needs pqfactory, which this Scrapy lacks: requests wait for their robots.txt "
                "in the downloader",
                cls.__name__,
            )
        return DownloaderAwarePriorityQueue.from_crawler(crawler, *args, **named)

    def __init__(
        self,
        crawler: Crawler,
        downstream_queue_cls: Any,
        key: str,
        slot_startprios: Any = None,
        **named: Any,
    ) -> None:
        left = slot_startprios or {}  # the priorities of requests on disk, by line
        if self._is_by_slot:
            # It refuses what a queue without slots has left.
            not_by_slot = None if isinstance(left, dict) else left
            super().__init__(crawler, downstream_queue_cls, key, not_by_slot, **named)
        else:  # Scrapy's refuses CONCURRENT_REQUESTS_PER_IP, which only concerns slots
            self.crawler, self.key = crawler, key
            self.downstream_queue_cls = downstream_queue_cls
            self._start_queue_cls = named.get("start_queue_cls")
            self.pqueues = {}
            if not isinstance(left, dict):
                left = {_SCRAPYS_OWN: left}
        self._keeper = downloader_middleware(crawler, Gatekeeper)
        self._gates = None if self._keeper is None else self._keeper.gates
        self._downloader = DownloadSlots(crawler)
        self._ring = _Ring(self._downloader, self._gates)
        self._lines: dict[str, Line] = {}  # by their names
        # Those on disk whose files are open, by name; the least recently used one is the first.
        self._open: OrderedDict[str, Line] = OrderedDict()
        in_memory = {downstream_queue_cls, self._start_queue_cls}
        self._keeps_single = not key and in_memory <= _SCRAPYS_IN_MEMORY
        self._size = 0
        for name, priorities in left.items():
            self._resume(name, priorities)

    def __len__(self) -> int:
        return self._size

    def push(self, request: Request) -> None:
        """Take in `request`."""
        slot = self._downloader.key(request) if self._is_by_slot else ""
        origin = self._origin(request)
        name = f"{origin} {slot}"
        if origin is None or len(name) > _LONGEST_NAME:
            origin, name = None, slot
        is_returned = RETURNED in request.meta
        if is_returned:
            name = _RETURNED + name
        line = self._lines.get(name)
        if line is None:
            line = Line(self, slot, origin, name, is_returned=is_returned)
            self._lines[name] = line
        rank = line.rank
        if self._keeps_single and not line.size:
            line.single, line.rank = request, -request.priority
        else:
            self._push_into_queue(line, request)
        self._note_added(line, request)
        if line.turn and line.rank != rank:
            self._ring.add(line)

    def _push_into_queue(self, line: Line, request: Request) -> None:
        try:
            requests = self._opened(line)
            requests.push(request)
        except BaseException:  # as when it cannot be serialised: it goes into the queue in memory
            if not line.size:
                self._remove(line)
            raise
        line.rank = urgency_of(requests)

    def pop(self) -> Request | None:
        """Hand out a request that need not wait; None if there is none for now."""
        gates = self._gates
        while (line := self._ring.take()) is not None:
            if gates is None:
                return self._hand_out(line)
            if line.origin is None:
                self._find_gate(line, gates)
            if line.gate is None or gates.admit(line.gate, line):
                return self._hand_out(line)
        if gates is not None:
            gates.nothing_to_hand_out()
        return None

    def close(self) -> dict[str, list[int]]:
        """Close all files, and return the priorities of what is in them, by line."""
        state: dict[str, list[int]] = {}
        for line in self._lines.values():
            if line.requests is not None:
                line.priorities = line.requests.close()
            state[line.name] = list(line.priorities)
        self._lines.clear()
        return state

    def _origin(self, request: Request) -> Origin | None:
        """The origin at whose gate `request` waits; None if it goes on at once."""
        if self._keeper is None or not self._keeper.subject_to_robots(request):
            return None
        if is_unchecked_sitemap(request):
            return None
        with suppress(ValueError):  # the middleware refuses it
            return origin_of(request)
        return None

    def _opened(self, line: Line) -> ScrapyPriorityQueue:
        """Return the requests of `line`, with their files open. Others may be closed for it."""
        requests = line.requests
        if requests is None:
            queue_cls = self.downstream_queue_cls
            if line.is_returned and queue_cls is LifoMemoryQueue:
                queue_cls = FifoMemoryQueue  # they come out in the order in which they went
            if line.name == _SCRAPYS_OWN or queue_cls is not self.downstream_queue_cls:
                requests = ScrapyPriorityQueue(
                    self.crawler,
                    queue_cls,
                    self.key,
                    line.priorities,
                    start_queue_cls=self._start_queue_cls,
                )
            else:
                requests = self.pqfactory(line.name, line.priorities)
            line.requests = requests
            if line.single is not None:
                requests.push(line.single)
                line.single = None
        if self.key:
            self._open[line.name] = line
            self._open.move_to_end(line.name)
            if len(self._open) > MOST_OPEN:
                _, unused = self._open.popitem(last=False)
                if unused.requests is not None:
                    unused.priorities = unused.requests.close()
                    unused.requests = None
        return requests

    def _resume(self, name: str, priorities: Iterable[int]) -> None:
        """Make a line of the requests that an earlier crawl has left under `name`."""
        is_returned = name.startswith(_RETURNED)
        slot = name.removeprefix(_RETURNED)
        prefix, is_ours, own_slot = slot.partition(" ")
        origin = None
        if is_ours:
            with suppress(ValueError):
                origin = Origin.of(prefix)
                slot = own_slot
        if not self._is_by_slot:
            slot = ""
        line = Line(self, slot, origin, name, priorities=priorities, is_returned=is_returned)
        self._lines[name] = line
        requests = self._opened(line)
        if requests:
            line.rank = urgency_of(requests)
            self._note_added(line, next_of(requests), len(requests))
        else:
            self._remove(line)

    def _note_added(self, line: Line, request: Request | None, number: int = 1) -> None:
        """Note that `line` has got so many requests, such as `request`.

        A new line waits at its gate, or is ready.
        """
        self._size += number
        line.size += number
        is_new = line.size == number
        if self._gates is not None and line.origin is not None:
            like = request or Request(line.origin.robots_url)
            gate = self._gates.join(line, line.origin, like, number)
            if is_new and gate.is_shut and not self._gates.admit(gate, line):
                return
        if is_new:
            self._ring.add(line)

    def _find_gate(self, line: Line, gates: Gates) -> None:
        """Let a mixed line stand at the gate of its next request."""
        request = line.next_request()
        origin = None if request is None else self._origin(request)
        if line.gate is not None:
            if line.gate.origin == origin:
                return
            gate, line.gate = line.gate, None
            gates.leave(gate, line, None)
        if request is not None and origin is not None:
            gates.join(line, origin, request)

    def _hand_out(self, line: Line) -> Request | None:
        """Take out the next request of `line`; None if it has none after all."""
        request = line.single
        if request is not None:
            line.single = None
            self._note_taken(line, 0, request)
        else:
            request = self._pop_from_queue(line)
        if request is None:
            return None
        restore(request)
        if self._is_by_slot:
            self._ring.note_handed_out(line.slot, request)
        return request

    def _pop_from_queue(self, line: Line) -> Request | None:
        try:
            requests = self._opened(line)
        except OSError:
            self._ring.add(line)  # it is tried again
            raise
        request = None
        try:
            request = requests.pop()
        finally:  # it may raise, as when a file is damaged, and some requests are gone then
            self._note_taken(line, len(requests), request)
        return request

    def _note_taken(self, line: Line, left: int, request: Request | None) -> None:
        """Note that `request` has been taken out of `line`, in which so many are `left`.

        None: one could not be read.
        """
        taken = line.size - left
        line.size = left
        self._size -= taken
        gate = line.gate
        if line.origin is None:  # a mixed line stands at a gate with its next request alone
            line.gate = None
            taken = 1
        if left:
            line.rank = urgency_of(self._opened(line))
            self._ring.add(line)
        else:
            self._remove(line)
        if self._gates is not None and gate is not None:
            self._gates.leave(gate, line, request, taken)

    def _remove(self, line: Line) -> None:
        """Remove a line that is empty."""
        line.turn = 0
        del self._lines[line.name]
        self._open.pop(line.name, None)
        if line.requests is None:
            return
        line.requests.close()
        if self.key and line.name != _SCRAPYS_OWN:
            with suppress(OSError):  # it has files left
                Path(line.requests.key).rmdir()


class StrictOriginPriorityQueue(OriginPriorityQueue):
    """An `OriginPriorityQueue` in place of `scrapy.pqueues.ScrapyPriorityQueue`.

    Priorities count across all hosts. Requests of equal priority and different origins take turns.
    """

    _is_by_slot = False
