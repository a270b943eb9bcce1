"""Where a crawl learns what an origin's robots.txt says: from memory, else by one look-up for all waiting requests.

Operations wanted: a request of a known origin is answered at once. Requests that need the same unknown origin share one
look-up, whatever their user agents. Cancelling one request does not affect the others. No look-up starts after the crawl
has begun to close.

The plan is single flight. `known` looks into the cache of answers. For what that lacks `ask` joins the origin's *flight*,
or starts one. A flight runs in the background and belongs to no request:

    1. `SharedFetch.entry`: the stored entry, or one fetched by this process or another;
    2. `policy.outages` decides what the entry means now; the rules for all user agents that asked are read from its copy;
    3. the answer is cached, signal handlers are called, and the flight *lands*: all waiting requests go on.

Example: requests 1 and 2 need https://example.com, as "abot"; request 3 comes while that is fetched, as "bbot".

    request 1  known -> None   ask: starts the flight {abot}       waits ------------------> answer
    request 2  known -> None   ask: joins                          waits (is cancelled)
    request 3  known -> None   ask: joins, now {abot, bbot}        waits ------------------> answer
    flight                     storage: nothing, leased; fetch ... read, cache, tell, land

A request may join after the rules have been read. Then the answer does not know its user agent, and the request asks once
more: the next flight finds the entry in the storage. So `ask` is a loop.

Warning: a flight must land in whatever way it ends, also if it is cancelled or fails, since nothing else wakes the waiting
requests. A flight must not await handlers of signals: a handler may request a page of the same origin, which waits for this
very flight.

An answer in use that will soon be stale is refreshed by the same steps. Until then requests still get the old one.
"""

from __future__ import annotations

import time
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from ..concurrency import Background, Closing, Turnstile, run_in_thread
from ..core.robots import RobotsTxt
from ..policy.outages import Kind, State
from .answer import Answer
from .cache import AnswerCache
from .change_watch import ChangeWatch
from .shared_fetch import SharedFetch
from .telling import Telling

if TYPE_CHECKING:
    from collections.abc import Collection

    from scrapy import Request
    from scrapy.crawler import Crawler

    from ..core.agents import RobotsAgent
    from ..core.origin import Origin
    from ..fetching.fetcher import Fetcher
    from ..policy.outages import Copy
    from ..settings import GbotSettings
    from .entries import Entries
    from .shared_fetch import Obtained

READ_IN_THREAD_BYTES = 32 * 2**10  # a hostile body of that size takes 8 ms to read, an ordinary one less than 1
REFRESH_AGAIN_SECS = 10.0  # an answer in use is not refreshed more often than this


class _Flight:
    """A look-up under way for the sake of `agents`.

    Attributes:
        landed: opened at the end.
        answer: the answer in the end; None if it was cancelled.
    """

    __slots__ = ("agents", "answer", "landed")

    def __init__(self, agent: RobotsAgent) -> None:
        self.agents = {agent}
        self.landed = Turnstile()
        self.answer: Answer | None = None


class Lookup:
    """Answers by origin, for one crawl.

    Attributes:
        sets_delays: whether an answer may have a crawl-delay that the user has set.
    """

    sets_delays = False

    def __init__(self, crawler: Crawler, settings: GbotSettings, entries: Entries, fetcher: Fetcher) -> None:
        self._settings = settings
        self._entries = entries
        self._background = Background()
        self._telling = Telling(crawler, settings, self._background)
        watch = ChangeWatch(crawler, settings, self._telling, self._background)
        self._shared_fetch = SharedFetch(settings, entries, fetcher, self._telling, watch)
        self._cache = AnswerCache(settings.cache_size)
        self._flights: dict[Origin, _Flight] = {}
        self._available: set[Origin] = set()  # sites whose availability the storage does not know yet
        self._closing = False

    def known(self, origin: Origin, agent: RobotsAgent, request: Request | None = None) -> Answer | None:
        """The answer for `origin` if it is cached, still good, and knows the rules of `agent`; else None."""
        answer = self._cache.get(origin)
        now = time.time()
        if answer is None or not answer.is_good(now) or not answer.knows(agent):
            return None
        self._cache.use(origin)
        if now >= answer.refresh_at and not self._closing:
            answer.refresh_at = now + REFRESH_AGAIN_SECS
            self._background.start(self._refresh(origin, agent, request))
        self._telling.count("lookup/memory")
        return answer

    async def ask(self, origin: Origin, agent: RobotsAgent, request: Request | None = None) -> Answer:
        """The answer for `origin`, fetched if need be; as `request` would be fetched, as far as settings say so.

        Raises:
            Closing: the crawl is closing.
        """
        while True:
            answer = self.known(origin, agent, request)
            if answer is not None:
                return answer
            flight = self._join(origin, agent, request)
            await flight.landed.wait()
            if flight.answer is None:
                raise Closing
            if flight.answer.knows(agent):
                return flight.answer

    def latest(self, origin: Origin, agent: RobotsAgent, request: Request | None = None) -> Answer | None:
        """The last answer for `origin`, good or not, if it knows the rules of `agent`. A look-up for a better one starts."""
        if not self._closing:
            self._join(origin, agent, request)
        answer = self._cache.get(origin)
        return answer if answer is not None and answer.knows(agent) else None

    def shares_host(self, origin: Origin) -> bool:
        """Whether the cache has an answer for another origin of the same host."""
        return self._cache.shares_host(origin)

    async def copy(self, origin: Origin) -> Copy | None:
        """The last definite answer of `origin` from the storage; None if the storage has none."""
        entry = await self._entries.get(str(origin))
        return None if entry is None else entry.copy

    def site_answered(self, origin: Origin) -> None:
        """Note that a page of `origin` was served: its server is up, even if its robots.txt is unreachable."""
        answer = self._cache.get(origin)
        if answer is None or not answer.temporary or answer.site_available:
            return
        answer.site_available = True
        if answer.state is State.FULL_DISALLOW:
            answer.ask_at = time.time()  # the ladder may decide otherwise now
        self._available.add(origin)
        if not self._closing:
            self._background.start(self._keep_available(origin))

    async def _keep_available(self, origin: Origin) -> None:
        """Store that the site is available, for the next process that asks."""
        entry = await self._entries.get(str(origin))
        if entry is not None and entry.outage is not None and not entry.outage.site_available:
            await self._entries.put(str(origin), replace(entry, outage=replace(entry.outage, site_available=True)))
        self._available.discard(origin)

    def abandon(self) -> None:
        """Cancel all look-ups and start no more. Requests that wait, or come later, get `Closing`."""
        if not self._closing:
            self._closing = True
            self._background.cancel()

    async def close(self) -> None:
        """Cancel all look-ups, and close the storage."""
        self.abandon()
        self._telling.close()
        await self._background.ended()
        for origin in list(self._available):
            await self._keep_available(origin)
        await self._entries.close()

    def _join(self, origin: Origin, agent: RobotsAgent, request: Request | None) -> _Flight:
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
            obtained = await self._shared_fetch.entry(origin, request)
            flight.answer = await self._learn(origin, obtained, flight.agents, request)
        except Exception as error:
            if self._closing:  # it was cancelled
                raise
            self._telling.broken(origin, error)
            flight.answer = Answer.broken(origin, time.time())
            self._cache.put(flight.answer)

    def _land(self, origin: Origin, flight: _Flight) -> None:
        del self._flights[origin]
        flight.landed.open()

    async def _refresh(self, origin: Origin, agent: RobotsAgent, request: Request | None) -> None:
        """Get a new answer for an origin in use. If another process is fetching it, the old answer stays."""
        obtained = await self._shared_fetch.newer(origin, request)
        if obtained is not None:
            await self._learn(origin, obtained, [agent], request)

    async def _learn(
        self, origin: Origin, obtained: Obtained, agents: Collection[RobotsAgent], request: Request | None
    ) -> Answer:
        """Turn an entry into an answer for `agents` and the agents of the last answer; cache it, and tell the crawl."""
        now = time.time()
        before = self._cache.get(origin)
        site_available = before is not None and before.site_available
        decision = self._shared_fetch.decision(obtained.entry, now, site_available=site_available)
        answer = Answer.of(origin, obtained.entry, decision, before, now)
        answer.source = obtained.source
        robotstxt = None
        if decision.copy is not None:
            if self._settings.provenance and decision.copy.kind is Kind.RULES:
                answer.robots_sha256 = sha256(decision.copy.body).hexdigest()
            had_one = before.agents if before is not None else ()
            robotstxt = await self._read(decision.copy, answer, (*had_one, *agents))
        elif decision.probe and obtained.entry.copy is not None:
            await self._read(obtained.entry.copy, answer, agents)
        self._cache.put(answer)
        if robotstxt is not None and (before is None or before.fetched_at != answer.fetched_at):
            self._telling.known(robotstxt, answer, request)
        self._telling.answered(answer, before, request)
        return answer

    async def _read(self, copy: Copy, answer: Answer, agents: Collection[RobotsAgent]) -> RobotsTxt:
        """Let `answer` learn the rules of `agents`, in a thread if that takes long."""
        settings = self._settings
        robotstxt = RobotsTxt.parse(copy.body, strict=settings.strict, max_bytes=settings.max_bytes, cut=copy.cut)
        new = [agent for agent in agents if agent not in answer.agents]
        if len(copy.body) > READ_IN_THREAD_BYTES:
            await run_in_thread(answer.learn, robotstxt, new)
        else:
            answer.learn(robotstxt, new)
        return robotstxt
