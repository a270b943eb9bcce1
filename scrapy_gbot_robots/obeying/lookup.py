"""The one place where a crawl learns what an origin's robots.txt says: memory, then storage, then one shared fetch.

`known` looks into memory, where the `Answer`s of the origins used last are held. What it does not know `ask` gets, by
one flight per origin for all requests that wait for it:

1. `Store.find`: the storage's entry, if that is good for now; else the lease, if no other process has it;
2. with the lease: fetch, fold the outcome into the entry (`policy.ladder`), `Store.settle`; without it: wait, go to 1;
3. read the rules of the agents that ask, tell the crawl by signal, hold the answer, let those who wait go on.

A flight belongs to nobody: a request that is cancelled while it waits harms no other. An answer in use that will soon
run out is refreshed by the same steps while it goes on to be given; whatever becomes of that, nobody waits for it.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from contextlib import nullcontext
from typing import TYPE_CHECKING

from scrapy import signals

from ..concurrency import Background, Closing, Turnstile, pause, run_in_thread
from ..core.robots import RobotsTxt
from ..core.urls import shown
from ..policy.ladder import decide, renew
from ..policy.outcome import Fetched
from ..signals import robotstxt_known, robotstxt_unreachable
from .answer import Answer
from .robotparser import GbotRobotParser

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager

    from scrapy import Request
    from scrapy.crawler import Crawler

    from ..core.agents import Crawler as Agent
    from ..core.origin import Origin
    from ..fetching.fetcher import Fetcher
    from ..policy.entry import Copy, Entry
    from ..policy.outcome import Outcome
    from ..settings import GbotSettings
    from .entries import Store

MOST_BYTES = 128 * 2**20  # of memory for answers, as `Answer.weight` has it
READ_IN_THREAD_BYTES = 64 * 2**10  # a body over this takes milliseconds to read
REFRESH_AGAIN_SECS = 10.0  # an answer in use is not refreshed more often than this
PATIENCE = 3  # time-outs of a fetch for which a lease that another process has is respected
_FIRST_POLL_SECS, _LONGEST_POLL_SECS = 0.05, 1.0  # to see whether the process that has the lease is done

logger = logging.getLogger(__name__)


class _Flight:
    """A look-up under way for the sake of `agents`.

    Attributes:
        looked: opened when the storage has been looked into; what then remains to be waited for is a fetch.
        landed: opened at the end.
        answer: the answer in the end; None if it was cancelled.
    """

    __slots__ = ("agents", "answer", "landed", "looked")

    def __init__(self, agent: Agent) -> None:
        self.agents = {agent}
        self.looked = Turnstile()
        self.landed = Turnstile()
        self.answer: Answer | None = None


class Lookup:
    """Answers by origin, for one crawl."""

    def __init__(self, crawler: Crawler, settings: GbotSettings, store: Store, fetcher: Fetcher) -> None:
        self._crawler = crawler
        self._settings = settings
        self._store = store
        self._fetcher = fetcher
        self._policy = settings.policy
        self._held: OrderedDict[Origin, Answer] = OrderedDict()
        self._held_bytes = 0
        self._flights: dict[Origin, _Flight] = {}
        self._background = Background()
        self._closing = False

    def known(self, origin: Origin, agent: Agent, request: Request | None = None) -> Answer | None:
        """The answer for `origin` if it is at hand, good for now, and knows the rules of `agent`."""
        answer = self._held.get(origin)
        now = time.time()
        if answer is None or not answer.is_good(now) or not answer.knows(agent):
            return None
        self._held.move_to_end(origin)
        if now >= answer.refresh_at and not self._closing:
            answer.refresh_at = now + REFRESH_AGAIN_SECS
            self._background.start(self._refresh(origin, agent, request))
        self._count("lookup/memory")
        return answer

    async def ask(
        self,
        origin: Origin,
        agent: Agent,
        request: Request | None = None,
        aside: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> Answer:
        """The answer for `origin`, fetched if need be; as `request` would be fetched, as far as settings say so.

        A fetch, by whomever, is waited for `aside`; the storage, which is quick, is not.

        Raises:
            Closing: the crawl is closing.
        """
        while True:
            answer = self.known(origin, agent, request)
            if answer is not None:
                return answer
            flight = self._join(origin, agent, request)
            await flight.looked.wait()
            if flight.answer is None:
                with aside():
                    await flight.landed.wait()
            if flight.answer is None:
                raise Closing
            if flight.answer.knows(agent):
                return flight.answer

    async def copy(self, origin: Origin) -> Copy | None:
        """The last definite answer of `origin` as the storage has it; None if it is not, or no longer, there."""
        entry = await self._store.get(str(origin))
        return None if entry is None else entry.copy

    def site_answered(self, origin: Origin) -> None:
        """Note that a page of `origin` was served: if its robots.txt is unreachable, it is not for want of a server."""
        held = self._held.get(origin)
        if held is not None and held.temporary:
            held.site_available = True

    def abandon(self) -> None:
        """Give up whatever is under way, and begin nothing more; who waits, or comes, gets `Closing`."""
        if not self._closing:
            self._closing = True
            self._background.cancel()

    async def close(self) -> None:
        """Give up whatever is under way, and close the storage."""
        self.abandon()
        await self._background.ended()
        await self._store.close()

    def _join(self, origin: Origin, agent: Agent, request: Request | None) -> _Flight:
        flight = self._flights.get(origin)
        if flight is not None:
            flight.agents.add(agent)
            return flight
        if self._closing:
            raise Closing
        flight = self._flights[origin] = _Flight(agent)
        self._background.start(self._fly(origin, flight, request), then=lambda: self._land(origin, flight))
        return flight

    async def _fly(self, origin: Origin, flight: _Flight, request: Request | None) -> None:
        try:
            entry = await self._good_entry(origin, flight, request)
            flight.answer = await self._learn(origin, entry, flight.agents, request)
        except Exception:
            if self._closing:  # it was cancelled
                raise
            logger.exception("Looking up %s failed; its pages are not crawled for now", origin.robots_url)
            self._count("errors")
            flight.answer = self._hold(Answer.broken(origin, time.time()))

    def _land(self, origin: Origin, flight: _Flight) -> None:
        del self._flights[origin]
        flight.looked.open()
        flight.landed.open()

    async def _good_entry(self, origin: Origin, flight: _Flight, request: Request | None) -> Entry | None:
        """What is known of `origin`: stored and good for now, or fetched, be it by another process."""
        polls = _polls()
        patient_until = time.monotonic() + PATIENCE * self._settings.timeout_secs
        while True:
            found = await self._store.find(str(origin), self._is_good)
            if self._is_good(found.entry) and not found.leased:
                self._count("lookup/storage")
                return found.entry
            flight.looked.open()
            if found.leased or time.monotonic() >= patient_until:
                if not found.leased:
                    logger.warning("%s: another process has the right to fetch it and does not", origin.robots_url)
                self._count("lookup/fetched")
                return await self._fetch(origin, found.entry, request)
            await pause(next(polls))

    async def _refresh(self, origin: Origin, agent: Agent, request: Request | None) -> None:
        """Get a new answer for an origin in use, or leave that to the process that is at it; the old one stands."""
        found = await self._store.find(str(origin), self._is_fresh)
        if found.leased:
            self._count("lookup/refreshed")
            await self._learn(origin, await self._fetch(origin, found.entry, request), [agent], request)
        elif self._is_fresh(found.entry):
            await self._learn(origin, found.entry, [agent], request)

    def _is_good(self, entry: Entry | None) -> bool:
        now = time.time()
        return now < decide(entry, now, self._policy).ask_at

    def _is_fresh(self, entry: Entry | None) -> bool:
        now = time.time()
        return now < decide(entry, now, self._policy).refresh_at

    async def _fetch(self, origin: Origin, entry: Entry | None, request: Request | None) -> Entry:
        """Fetch with the lease that `Store.find` gave; if this is cancelled, `Store.close` gives that back."""
        try:
            outcome = await self._fetcher.fetch(origin, request)
            latest = renew(entry, outcome, time.time(), self._policy)
        except Exception:
            await self._store.give_up(str(origin))
            raise
        await self._store.settle(str(origin), latest)
        self._count_outcome(outcome)
        return latest

    async def _learn(
        self, origin: Origin, entry: Entry | None, agents: Collection[Agent], request: Request | None
    ) -> Answer:
        """Turn what is known into an answer for `agents` and for those that had one; tell the crawl, and hold it."""
        now = time.time()
        held = self._held.get(origin)
        site_available = held is not None and held.site_available
        decision = decide(entry, now, self._policy, site_available=site_available)
        answer = Answer.of(origin, entry, decision, held, now)
        if decision.copy is not None:
            had_one = held.agents if held is not None else ()
            robotstxt = await self._read(decision.copy, answer, (*had_one, *agents))
            if held is None or held.fetched_at != answer.fetched_at:
                await self._tell(origin, robotstxt, answer, request)
        had_none = held is not None and held.temporary
        if answer.temporary and not had_none:
            self._warn(answer)
        elif had_none and not answer.temporary:
            logger.info("%s answers again", origin.robots_url)
        return self._hold(answer)

    async def _read(self, copy: Copy, answer: Answer, agents: Collection[Agent]) -> RobotsTxt:
        """Let `answer` learn the rules of `agents`; off the reactor if that takes long."""
        settings = self._settings
        robotstxt = RobotsTxt.parse(copy.body, strict=settings.strict, max_bytes=settings.max_bytes, cut=copy.cut)
        new = [agent for agent in agents if agent not in answer.agents]
        if len(copy.body) > READ_IN_THREAD_BYTES:
            await run_in_thread(answer.learn, robotstxt, new)
        else:
            answer.learn(robotstxt, new)
        return robotstxt

    def _warn(self, answer: Answer) -> None:
        wait_secs = self._settings.unreachable_wait_secs
        logger.warning(
            "%s: %s. By GBOT_ROBOTS_UNREACHABLE = %r this means %s for now%s",
            answer.origin.robots_url,
            shown(answer.why),  # from the storage, to which others may write
            self._settings.unreachable,
            answer.state.value,
            f"; requests wait up to {wait_secs:g} s for it, by GBOT_ROBOTS_UNREACHABLE_WAIT_SECS"
            if answer.bars_for_now and wait_secs
            else "",
        )
        self._crawler.signals.send_catch_log(robotstxt_unreachable, origin=answer.origin, answer=answer)

    async def _tell(self, origin: Origin, robotstxt: RobotsTxt, answer: Answer, request: Request | None) -> None:
        send = self._crawler.signals.send_catch_log_async
        await send(robotstxt_known, origin=origin, robotstxt=robotstxt, answer=answer, request=request)
        robots_parsed = getattr(signals, "robots_parsed", None)  # Scrapy 2.18 and newer
        if robots_parsed is not None and request is not None:
            await send(robots_parsed, robotparser=GbotRobotParser(robotstxt), request=request)

    def _hold(self, answer: Answer) -> Answer:
        """Hold `answer`, and let go of those that were not used for the longest time."""
        old = self._held.pop(answer.origin, None)
        self._held_bytes += answer.weight - (old.weight if old is not None else 0)
        self._held[answer.origin] = answer
        while len(self._held) > self._settings.cache_size or (self._held_bytes > MOST_BYTES and len(self._held) > 1):
            _, gone = self._held.popitem(last=False)
            self._held_bytes -= gone.weight
        return answer

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(f"gbot_robots/{name}")

    def _count_outcome(self, outcome: Outcome) -> None:
        stats = self._crawler.stats
        stats.inc_value("robotstxt/request_count")
        self._count(type(outcome).__name__.lower())
        if isinstance(outcome, Fetched) and outcome.cut:
            self._count("cut")
            most = self._settings.max_bytes
            logger.info("%s is longer than %d bytes; the rest of it is ignored", shown(outcome.url), most)
        if outcome.status is not None:
            stats.inc_value("robotstxt/response_count")
            stats.inc_value(f"robotstxt/response_status_count/{outcome.status}")


def _polls() -> Iterator[float]:
    """Pauses in seconds that grow to a bound: what is fetched fast is seen soon, what takes long is not asked often."""
    secs = _FIRST_POLL_SECS
    while True:
        yield secs
        secs = min(2 * secs, _LONGEST_POLL_SECS)
