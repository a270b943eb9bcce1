"""The gates between the scheduler's queue and the engine: requests stay in the queue until their origin is settled.

Each origin that has requests in a queue has a *gate*. A new gate is shut, unless the crawl knows
the origin's robots.txt. Its look-up starts when its turn comes, as the next of its requests would
be fetched (proxy, user agent). When the look-up has ended, the gate opens, and the engine asks the
queue again. `queue` says which requests are behind which gate.

                 +------ its answer has expired -----------------------+
                 v                                                     |
    new --> its turn comes --> looked up --> settled: open ------------+
                 ^                 |
                 |                 +--> unreachable: shut
                 |                        |      after the wait some requests pass, to be refused
                 +------ its time comes --+      the host is dead or gone: open, all are refused

A gate can let a number of requests *pass* with an answer that comes with them:

* Requests of an unreachable origin whose wait is over: the bad answer refuses them.
* Requests that waited for an answer that expires soon, with `GBOT_ROBOTS_MAX_AGE_SECS = 0` at once. If each of them asked
  anew, a robots.txt that fails every other time would hold them up again and again.

How many look-ups run at a time: as many as requests may be under way, together with the gates that
are open and whose requests the engine has not taken yet. So look-ups do not run ahead of pages. A
look-up that takes three times as long as the last ones took does not count, and another one may
run: origins that never answer do not keep the others from being asked.

`giving_up` says how long requests wait, and when a host is dead or gone: then its gate opens, and its requests are refused.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler

from ..core.urls import Origin
from ..engine import next_of, pull_soon
from ..fetching.fetcher import MOST_UNDER_WAY
from .answer import CachedAnswer, Source, is_waited_for
from .giving_up import Patience
from .lookup import Lookup
from .overrides import CrawlOverrides

if TYPE_CHECKING:
    from .queue import Line

SERVED_SECS = 600.0  # for how long an answer serves the requests that waited for it
LOOK_SECS = 0.1  # between two looks at what is due

_FEWEST_AT_A_TIME = 16  # look-ups
_WEIGHT = 0.2  # of the last look-up in the mean time that counts as usual


@dataclass(slots=True, eq=False)
class Gate:
    """The gate of one origin. Times are on the monotonic clock."""

    origin: Origin
    lines: list[Line] = field(default_factory=list)  # that wait here
    size: int = 0  # requests in all lines of the origin, whether they wait here or not
    open_until: float = 0.0
    is_shut: bool = False  # its requests count as waiting
    is_unreachable: bool = False  # they wait for an unreachable robots.txt
    is_pending: bool = False  # the gate waits for its turn, its look-up runs, or it has a time
    shut_since: float = 0.0  # since when the next requests wait that are to be given up
    passes: int = 0  # so many requests pass with `answer`, until `passes_until`
    passes_until: float = 0.0
    answer: CachedAnswer | None = None


class Gates:
    """The gates of one crawl.

    Args:
        wait_secs: how long requests wait for an unreachable robots.txt, in seconds; 0: not at all.
    """

    def __init__(
        self, crawler: Crawler, lookup: Lookup, overrides: CrawlOverrides, wait_secs: float
    ) -> None:
        self._crawler = crawler
        self._lookup = lookup
        self._overrides = overrides
        self._patience = Patience(wait_secs)
        self._most = max(_FEWEST_AT_A_TIME, crawler.settings.getint("CONCURRENT_REQUESTS"))
        self._gates: dict[Origin, Gate] = {}
        self._order = count()
        self._to_ask: list[tuple[int, int, Gate]] = []  # a heap
        self._due: list[tuple[float, int, Gate]] = []  # a heap
        self._under_way = 0  # look-ups
        self._quick: OrderedDict[Gate, float] = (
            OrderedDict()
        )  # those that count, and since when they run
        self._usual_secs = 0.5  # of a look-up
        self._unused: set[Gate] = (
            set()
        )  # those that have opened, and the engine has taken no request since
        self._may_ask = self._is_asking = False
        self._responses = 0  # of any server: how many there were at the last look
        self.passed: WeakKeyDictionary[Request, CachedAnswer] = (
            WeakKeyDictionary()
        )  # what let requests pass
        self.waiting = 0  # requests behind shut gates

    # What the queue calls.

    def come(self, line: Line, origin: Origin, request: Request, number: int = 1) -> None:
        """Note that `line` has so many more requests of `origin`, such as `request`. A new gate is open if it is settled."""
        gate = line.gate or self._gates.get(origin)
        if gate is None:
            gate = self._gates[origin] = Gate(origin)
            answer = self._overrides.cached(origin, request)
            if answer is None or self.is_worth_waiting(answer):
                self._shut(gate)
            else:
                self._open(gate, answer)
        line.gate = gate
        gate.size += number
        if gate.is_shut:
            self._count_waiting(number)
        if gate.is_unreachable:
            self.count_held(number)

    def admit(self, gate: Gate, line: Line) -> bool:
        """Tell whether `gate` lets the next request of `line` be handed out. Otherwise the line waits until it is ready."""
        now = time.monotonic()
        if now < gate.open_until or (gate.passes and now < gate.passes_until):
            return True
        self.wait(gate, line)
        return False

    def wait(self, gate: Gate, line: Line) -> None:
        """Let `line` wait until `gate` lets requests go on."""
        gate.lines.append(line)
        if not gate.is_shut:
            self._shut(gate)
        self._set_in_turn(gate)
        self.ask_more()

    def leave(self, gate: Gate, request: Request | None, number: int = 1) -> None:
        """Note that `request` has been handed out, and that so many requests have left the queue."""
        gate.size -= number
        if gate.is_shut:
            self._count_waiting(-number)
        if request is not None and gate.passes and gate.answer is not None:
            self.passed[request] = gate.answer
            self._let_pass(gate, gate.answer, gate.passes - 1, gate.passes_until)
        if gate in self._unused:
            self._unused.discard(gate)
            self.ask_more()
        if not gate.size:
            self._gates.pop(gate.origin, None)

    def nothing_to_hand_out(self) -> None:
        """Note that the engine wants a request, and no line may hand one out."""
        if self._unused:  # their slots keep their requests back
            self._unused.clear()
            self.ask_more()

    # What the crawl calls.

    def start(self) -> None:
        """Begin to look up origins: the spider is open."""
        self._may_ask = True
        self.ask_more()

    def tick(self) -> None:
        """Look what is due. Call this each `LOOK_SECS`."""
        now = time.monotonic()
        responses = self._crawler.stats.get_value("response_received_count", 0)
        if responses != self._responses:
            self._responses = responses
            self._patience.server_answered(now)
        while self._due and self._due[0][0] <= now:
            gate = heappop(self._due)[2]
            gate.is_pending = False
            self._set_in_turn(gate)
        self.ask_more()
        if self.waiting:  # a slot may have kept requests back
            pull_soon(self._crawler)

    def shut(self, origin: Origin) -> None:
        """Shut the gate of `origin` if it is open: its robots.txt has turned out to be unreachable."""
        gate = self._gates.get(origin)
        if gate is not None:
            gate.open_until = 0.0

    @property
    def patience_secs(self) -> float:
        """How long a look-up counts: three times as long as the last ones took."""
        return max(LOOK_SECS, 3 * self._usual_secs)

    def is_worth_waiting(self, answer: CachedAnswer, request: Request | None = None) -> bool:
        """Whether to wait for a better answer: not if the host is dead or gone."""
        if not is_waited_for(answer, request):
            return False
        return not self._patience.is_over(answer.trouble, time.monotonic())

    def note(self, answer: CachedAnswer) -> None:
        """Note that a look-up has ended with `answer`: other origins may fail in the same way."""
        if answer.temporary:
            self._patience.note(answer.trouble, time.monotonic())

    def secs_left(self, answer: CachedAnswer, since: float) -> float:
        """How many more seconds a request waits after `answer`. It has waited since `since`, on the monotonic clock.

        0 or less: the request is given up.
        """
        # the clock may have been set back
        until_asked = answer.ask_at - max(time.time(), answer.given_at)
        return self._patience.secs_left(answer.trouble, since, until_asked, time.monotonic())

    # Look-ups.

    def _shut(self, gate: Gate) -> None:
        gate.is_shut = True
        gate.open_until = 0.0
        gate.shut_since = time.monotonic()
        self._count_waiting(gate.size)

    def _set_in_turn(self, gate: Gate) -> None:
        """Let a gate with waiting lines wait for its look-up, unless it does already."""
        if gate.lines and not gate.is_pending:
            gate.is_pending = True
            heappush(self._to_ask, (gate.lines[0].urgency, next(self._order), gate))

    def ask_more(self) -> None:
        """Start as many look-ups as may run."""
        if self._is_asking or not self._may_ask:
            return  # without asyncio a look-up may end within `_ask`, which calls this again
        self._is_asking = True
        try:
            while self._may_ask and self._to_ask and self._has_place():
                self._ask(heappop(self._to_ask)[2])
        finally:
            self._is_asking = False

    def _has_place(self) -> bool:
        """Whether one more look-up may run."""
        late = time.monotonic() - self.patience_secs
        while self._quick and next(iter(self._quick.values())) < late:
            self._quick.popitem(last=False)
        return (
            len(self._quick) + len(self._unused) < self._most and self._under_way < MOST_UNDER_WAY
        )

    def _ask(self, gate: Gate) -> None:
        request = next_of(gate.lines[0].requests) or Request(gate.origin.robots_url)
        known = None if gate.is_unreachable else self._overrides.cached(gate.origin, request)
        if known is not None:
            self._settle(gate, known)
            return
        agent = self._overrides.agent(gate.origin, request)
        began = self._quick[gate] = time.monotonic()
        self._under_way += 1
        self._lookup.look_up(
            gate.origin, agent, request, lambda answer: self._end(gate, began, answer)
        )

    def _end(self, gate: Gate, began: float, answer: CachedAnswer | None) -> None:
        """Take the answer of the look-up that began at `began`; None: the crawl is closing."""
        self._under_way -= 1
        self._quick.pop(gate, None)
        if answer is None:
            self._may_ask = False
            return
        if answer.source is Source.FETCHED and not answer.bars_for_now:
            self._usual_secs += (time.monotonic() - began - self._usual_secs) * _WEIGHT
        self._settle(gate, answer)
        self.ask_more()

    # What a look-up leads to.

    def _settle(self, gate: Gate, answer: CachedAnswer) -> None:
        gate.is_pending = False
        self.note(answer)
        if self.is_worth_waiting(answer):
            self._keep_shut(gate, answer)
        else:
            self._open(gate, answer)
        if gate.passes or not gate.is_shut:
            lines, gate.lines = gate.lines, []
            for line in lines:
                line.ring.add(line)
            pull_soon(self._crawler)

    def _open(self, gate: Gate, answer: CachedAnswer) -> None:
        if gate.is_shut:
            now = time.monotonic()
            if answer.bars_for_now and self._patience.is_gone(answer.trouble, now):
                self._crawler.stats.inc_value("gbot_robots/gone")
            self._count_waiting(-gate.size)
            gate.is_shut = gate.is_unreachable = False
            self._unused.add(gate)
        now, served_until = time.monotonic(), answer.given_at + SERVED_SECS
        gate.open_until = now + answer.ask_at - time.time()
        expires_soon = not answer.bars_for_now and answer.ask_at < served_until
        self._let_pass(
            gate, answer, gate.size if expires_soon else 0, now + served_until - time.time()
        )

    def _keep_shut(self, gate: Gate, answer: CachedAnswer) -> None:
        """Let the requests of an unreachable origin wait for the next look-up, or give some of them up."""
        if not gate.is_unreachable:
            gate.is_unreachable = True
            self.count_held(gate.size)
        now = time.monotonic()
        if self.secs_left(answer, gate.shut_since) <= 0:
            self._let_pass(gate, answer, self._patience.given_up_at_once(answer.trouble, now))
            if not self._patience.is_long(answer.trouble, now):
                gate.shut_since = now
        elif not is_waited_for(answer, next_of(gate.lines[0].requests)):
            self._let_pass(gate, answer, 1)
        secs = self.secs_left(answer, gate.shut_since)
        if secs <= 0:
            secs = self.secs_left(answer, now)
        gate.is_pending = True
        heappush(self._due, (now + secs, next(self._order), gate))

    @staticmethod
    def _let_pass(
        gate: Gate, answer: CachedAnswer, number: int, until: float = float("inf")
    ) -> None:
        gate.passes, gate.passes_until, gate.answer = number, until, answer if number else None

    def _count_waiting(self, by: int) -> None:
        self.waiting += by
        self._crawler.stats.set_value("gbot_robots/waiting", self.waiting)
        self._crawler.stats.max_value("gbot_robots/waiting_most", self.waiting)

    def count_held(self, number: int) -> None:
        """Count requests that wait for an unreachable robots.txt."""
        self._crawler.stats.inc_value("gbot_robots/held", number)
