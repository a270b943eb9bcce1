"""The gates of one crawl: when each opens, and whose look-up of robots.txt comes next.

Each origin that has requests in a queue has one gate (`gate`); `queue` says which requests are
behind it. `Gates._go` is the one place that changes the state of a gate. A look-up is made as the
next of the requests would be fetched (proxy, user agent); `Pace` says how many run at a time.

A request that came past the gates waits in its place in the downloader, where it counts like any
other (`Gates.settled`): one of `engine.download_async`, one whose URL another middleware has
changed, one whose answer has made room for others in memory since it was handed out.

`giving_up` says how long requests wait, and when a host is dead or gone. Then its gate opens, and
its requests are refused.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import create_looping_call

from ..concurrency import Closing, Turnstile, within
from ..core.crawlers import RobotsAgent
from ..core.urls import Origin
from ..engine import is_closing, pull_soon
from ..meta import RETURNED
from .answer import CachedAnswer, Source, is_waited_for
from .gate import Gate, Handed, Line, Passes, State
from .giving_up import Patience
from .identity import CrawlerIdentity
from .lookup import Lookup, Pace

SERVED_SECS = 600.0  # for how long an answer serves the requests that waited for it
LOOK_SECS = 0.1  # between two looks at what is due
_FOREVER = float("inf")


class Gatekeeper:
    """What has the gates of a crawl: the middleware.

    Queues find it among the downloader middlewares.

    Attributes:
        gates: the gates at which requests wait in the scheduler's queue.
    """

    gates: Gates

    def subject_to_robots(self, request: Request) -> bool:
        """Whether a robots.txt decides about `request`."""
        raise NotImplementedError


class Gates:
    """The gates of one crawl, and their clock.

    Args:
        wait_secs: how long requests wait for an unreachable robots.txt, in seconds; 0: not at all.
    """

    def __init__(
        self, crawler: Crawler, lookup: Lookup, identity: CrawlerIdentity, wait_secs: float
    ) -> None:
        self._crawler = crawler
        self._lookup = lookup
        self._identity = identity
        self._patience = Patience(wait_secs)
        self._gates: dict[Origin, Gate] = {}
        self._to_ask: defaultdict[int, deque[Gate]] = defaultdict(deque)  # queued, by urgency
        self._urgencies: list[int] = []  # of those, a heap
        self._order = count()
        self._due: list[tuple[float, int, Gate]] = []  # a heap, by time
        self._pace = Pace(crawler.settings.getint("CONCURRENT_REQUESTS"))
        self._may_ask = self._is_asking = False
        self._sends_scouts = False
        self._clock = create_looping_call(self.tick)
        self.handed: WeakKeyDictionary[Request, Handed] = WeakKeyDictionary()
        self.waiting = 0  # requests behind shut gates
        self._waiting_most = 0
        self.closing = Turnstile()  # opens when the crawl begins to close
        crawler.signals.connect(self._server_answered, signals.response_received)

    # What the queue calls.

    def join(self, line: Line, origin: Origin, request: Request, number: int = 1) -> Gate:
        """Note `number` more requests of `origin` in `line`, such as `request`; return its gate."""
        gate = line.gate
        if gate is None:
            gate = line.gate = self._gates.get(origin) or self._new_gate(origin, request)
        gate.size += number
        if gate.is_shut:
            self._count_waiting(number)
            if gate.is_unreachable and RETURNED not in request.meta:
                self.count_held(number)
            if gate.state is State.QUEUED and line.urgency < gate.urgency:
                self._set_in_turn(gate, line.urgency)
        return gate

    def admit(self, gate: Gate, line: Line) -> bool:
        """Return whether the next request of `line` may be handed out. If not, `line` waits."""
        if gate.lets_pass(line, time.monotonic()):
            return True
        if gate.state is State.OPEN:
            self._go(gate, State.NEW)
        gate.lines += (line,)
        if gate.state is State.NEW:
            self._queue(gate)
            self.ask_more()
        return False

    def leave(
        self, gate: Gate, line: Line | None, request: Request | None, number: int = 1
    ) -> None:
        """Note that `request` of `line` is handed out, and so many requests have left the queue."""
        gate.size -= number
        if gate.is_shut:
            self._count_waiting(-number)
        if request is not None:
            self.handed[request] = gate.hand_out(line, request)
        if self._pace.gate_used(gate.origin):
            self.ask_more()
        # The others have a date to keep.
        if not gate.size and (gate.state is State.NEW or gate.state is State.OPEN):
            self._go(gate, State.OVER)

    def nothing_to_hand_out(self) -> None:
        """Note that the engine wants a request, and no line may hand one out."""
        if self._pace.forget_unused():  # their slots keep their requests back
            self.ask_more()

    # What the middleware calls.

    def is_known(self, origin: Origin, request: Request) -> bool:
        """Whether `request` may go on without a gate: its answer is in memory, and good."""
        if origin in self._gates:
            return False
        return self._known(origin, request) is not None

    def _known(self, origin: Origin, request: Request) -> CachedAnswer | None:
        """The answer for `request`, if it is in memory, and good."""
        answer = self._lookup.cached(origin, self._identity.agent(request))
        if answer is None or self.is_worth_waiting(answer):
            return None
        return answer

    def shut(self, origin: Origin) -> None:
        """Shut the gate of `origin` if it is open: its robots.txt is unreachable."""
        gate = self._gates.get(origin)
        if gate is not None and gate.state is State.OPEN:
            self._go(gate, State.NEW)

    async def settled(self, origin: Origin, agent: RobotsAgent, request: Request) -> CachedAnswer:
        """Wait until `origin` is settled, or the wait is over; return the answer for `request`.

        This is for a request that came past the gates: it waits in its place in the downloader,
        where it counts like any other.

        Raises:
            Closing: the crawl is closing.
        """
        since = time.monotonic()
        is_held = False
        while True:
            answer = await self._lookup.ask(origin, agent, request)
            self.note(answer)
            if not self.is_worth_waiting(answer, request):
                return answer
            self.shut(origin)
            secs = self.secs_left(answer, since)
            if secs <= 0:
                return answer
            if not is_held:
                is_held = True
                self.count_held(1)
            with suppress(TimeoutError):
                await within(secs, self.closing.wait())
                raise Closing

    def send_scouts(self) -> None:
        """Let the requests of each gate that is held go and see, one after another.

        A middleware may know that they need not wait.
        """
        self._sends_scouts = True
        self._crawler.signals.connect(self._reached, signals.request_reached_downloader)

    def _reached(self, request: Request) -> None:
        """Note that `request` has come to the downloader, maybe past the middleware."""
        handed = self.handed.pop(request, None)
        if handed is not None:
            self.went_on(handed)

    def went_on(self, handed: Handed) -> None:
        """Send two more scouts after a scout that no robots.txt keeps from going on."""
        self._send_more(handed, 2)

    def came_back(self, handed: Handed) -> None:
        """Send another scout after one that has to wait."""
        self._send_more(handed, 1)

    def _send_more(self, handed: Handed, number: int) -> None:
        gate = self._gates.get(handed.origin)
        if not handed.is_scout or gate is None or gate.state is not State.HELD:
            return
        passes = gate.passes or Passes(0, _FOREVER, None)
        if passes.answer is None:  # the others are given up
            gate.passes = passes._replace(number=passes.number + number)
            self._wake(gate)

    # The clock.

    def start(self) -> None:
        """Begin to look up origins: the spider is open."""
        self._may_ask = True
        self._clock.start(LOOK_SECS, now=False)
        self.ask_more()

    def close(self) -> None:
        """Look nothing up any more, and let requests go that wait in the downloader."""
        self._may_ask = False
        if self._clock.running:
            self._clock.stop()
        self._lookup.abandon()
        self.closing.open()

    def tick(self) -> None:
        """Look what is due, and whether the crawl is closing."""
        if is_closing(self._crawler):
            self.close()
            return
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            gate = heappop(self._due)[2]
            if not gate.size:
                self._go(gate, State.OVER)
            elif gate.lines:
                self._queue(gate)
            else:  # lines that may have had passes will ask
                self._go(gate, State.NEW)
        self.ask_more()
        if self.waiting:  # a slot may have kept requests back
            pull_soon(self._crawler)

    # Giving up.

    def is_worth_waiting(self, answer: CachedAnswer, request: Request | None = None) -> bool:
        """Whether to wait for a better answer: not if the host is dead or gone."""
        if not is_waited_for(answer, request):
            return False
        return not self._patience.is_over(answer.trouble, time.monotonic())

    def note(self, answer: CachedAnswer) -> None:
        """Note that a look-up has ended with `answer`: other origins may fail in the same way."""
        if answer.temporary:
            self._patience.note(answer.trouble, time.monotonic())

    def _server_answered(self) -> None:
        """Note a response, for a page or a robots.txt.

        Stats are no source for this: a project may switch them off.
        """
        self._patience.server_answered(time.monotonic())

    def secs_left(self, answer: CachedAnswer, since: float) -> float:
        """How many more seconds a request waits after `answer`.

        It has waited since `since`, on the monotonic clock.

        0 or less: the request is given up.
        """
        # First, so that a busy machine cannot make the time until the next fetch look too long.
        now = time.monotonic()
        # The clock may have been set back.
        until_asked = answer.ask_at - max(time.time(), answer.given_at)
        return self._patience.secs_left(answer.trouble, since, until_asked, now)

    def _number_given_up(self, gate: Gate, answer: CachedAnswer) -> int:
        """How many requests of an unreachable origin are given up now."""
        if self.secs_left(answer, gate.shut_since) > 0:
            next_request = gate.lines[0].next_request() if gate.lines else None
            return 0 if is_waited_for(answer, next_request) else 1
        now = time.monotonic()
        if not self._patience.is_long(answer.trouble, now):
            gate.shut_since = now
        return self._patience.given_up_at_once(answer.trouble, now)

    # Look-ups.

    def ask_more(self) -> None:
        """Start as many look-ups as may run."""
        if self._is_asking:
            return  # without asyncio a look-up may end within `_ask`, which calls this again
        self._is_asking = True
        try:
            while self._may_ask and self._to_ask:
                self._pace.stop_counting_late()
                if not self._pace.has_place():
                    break
                urgency = self._urgencies[0]
                gate = self._to_ask[urgency].popleft()
                if not self._to_ask[urgency]:
                    del self._to_ask[heappop(self._urgencies)]
                if gate.state is State.QUEUED and gate.urgency == urgency:
                    self._ask(gate)
        finally:
            self._is_asking = False

    def _ask(self, gate: Gate) -> None:
        request = gate.lines[0].next_request() or Request(gate.origin.robots_url)
        agent = self._identity.agent(request)
        if not gate.is_unreachable:
            answer = self._lookup.cached(gate.origin, agent)
            if answer is not None:
                self._settle(gate, answer)
                return
        self._go(gate, State.ASKING)
        self._pace.look_up_began(gate.origin)
        self._lookup.look_up(gate.origin, agent, request, lambda answer: self._end(gate, answer))

    def _end(self, gate: Gate, answer: CachedAnswer | None) -> None:
        """Take the answer of a look-up; None: the crawl is closing."""
        is_usual = (
            answer is not None and answer.source is Source.FETCHED and not answer.bars_for_now
        )
        self._pace.look_up_ended(gate.origin, is_usual=is_usual)
        if answer is None:
            self._may_ask = False
            return
        self._settle(gate, answer)
        self.ask_more()

    # The states of a gate.

    def _go(self, gate: Gate, state: State) -> None:
        """Change the state of `gate`: nothing else does."""
        before, was_shut = gate.state, gate.is_shut
        gate.go(state)
        if gate.is_shut and not was_shut:
            self._count_waiting(gate.size)
        elif was_shut and not gate.is_shut:
            self._count_waiting(-gate.size)
        if before is State.OPEN:
            self._pace.gate_used(gate.origin)
        if state is State.OPEN:
            gate.is_unreachable = False
            if before is not State.NEW:
                self._pace.gate_opened(gate.origin)
        elif state is State.OVER:
            del self._gates[gate.origin]

    def _new_gate(self, origin: Origin, request: Request) -> Gate:
        gate = self._gates[origin] = Gate(origin)
        answer = self._known(origin, request)
        if answer is not None:
            self._open(gate, answer)
        return gate

    def _queue(self, gate: Gate) -> None:
        """Let a gate with waiting lines wait for the turn of its look-up."""
        if not gate.is_unreachable:
            gate.shut_since = time.monotonic()
        self._go(gate, State.QUEUED)
        self._set_in_turn(gate, min(line.urgency for line in gate.lines))

    def _set_in_turn(self, gate: Gate, urgency: int) -> None:
        """Let `gate` wait for its turn. If it waits with another urgency, that counts no more."""
        gate.urgency = urgency
        if urgency not in self._to_ask:
            heappush(self._urgencies, urgency)
        self._to_ask[urgency].append(gate)

    def _settle(self, gate: Gate, answer: CachedAnswer) -> None:
        """Let a look-up that has ended lead to what it leads to."""
        self.note(answer)
        if self.is_worth_waiting(answer):
            self._hold(gate, answer)
        else:
            self._open(gate, answer)
        if gate.passes is not None or gate.state is State.OPEN:
            self._wake(gate)

    def _open(self, gate: Gate, answer: CachedAnswer) -> None:
        now = time.monotonic()
        is_shut_for_it = gate.state is not State.NEW and answer.bars_for_now
        if is_shut_for_it and self._patience.is_gone(answer.trouble, now):
            self._crawler.stats.inc_value("gbot_robots/gone")
        self._go(gate, State.OPEN)
        wall_now = time.time()
        served_until = answer.given_at + SERVED_SECS
        gate.open_until = now + answer.ask_at - wall_now
        if gate.size and not answer.bars_for_now and answer.ask_at < served_until:
            gate.passes = Passes(gate.size, now + served_until - wall_now, answer)

    def _hold(self, gate: Gate, answer: CachedAnswer) -> None:
        """Let the requests of an unreachable origin wait for the next look-up, or give some up.

        To give requests up is to let them pass with `answer`, by which they are judged.
        """
        if not gate.is_unreachable:
            gate.is_unreachable = True
            self.count_held(gate.size)
        given_up = min(gate.size, self._number_given_up(gate, answer))
        self._go(gate, State.HELD)
        if given_up:
            gate.passes = Passes(given_up, _FOREVER, answer)
        elif self._sends_scouts:
            gate.passes = Passes(1, _FOREVER, None)
        now = time.monotonic()
        secs = self.secs_left(answer, gate.shut_since)
        if secs <= 0:  # their time is over: the next look-up comes as for a wait that begins now
            secs = self.secs_left(answer, now)
        heappush(self._due, (now + secs, next(self._order), gate))

    def _wake(self, gate: Gate) -> None:
        """Let the lines that wait at `gate` ask again."""
        lines, gate.lines = gate.lines, ()
        for line in lines:
            line.make_ready()
        pull_soon(self._crawler)

    def _count_waiting(self, by: int) -> None:
        self.waiting += by
        stats = self._crawler.stats
        stats.set_value("gbot_robots/waiting", self.waiting)
        if self.waiting > self._waiting_most:
            self._waiting_most = self.waiting
            stats.set_value("gbot_robots/waiting_most", self.waiting)

    def count_held(self, number: int) -> None:
        """Count requests that wait for an unreachable robots.txt."""
        self._crawler.stats.inc_value("gbot_robots/held", number)
