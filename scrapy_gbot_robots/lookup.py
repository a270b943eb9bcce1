"""The one place where a crawl learns what an origin's robots.txt says: memory, then storage, then one shared fetch.

However many requests ask about an origin, one look-up is under way for it; it runs on its own, so that a request which
is cancelled while it waits harms no other. Processes that share a storage share the fetch too: one has the lease, the
others wait for what it finds. What is kept per origin is an `Answer`; the bodies are in the storage.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from scrapy import signals

from .answer import Answer
from .concurrency import Background, Closing, Turnstile, pause, run_in_thread
from .core.robots import RobotsTxt
from .policy.ladder import State, decide, renew
from .policy.outcome import Fetched
from .robotparser import GbotRobotParser
from .signals import robotstxt_known, robotstxt_unreachable

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from .core.agents import Crawler as Agent
    from .core.urls import Origin
    from .fetch import Fetcher
    from .policy.entry import Entry
    from .policy.ladder import Decision
    from .policy.outcome import Outcome
    from .settings import GbotSettings
    from .store import Store

LEASE_MARGIN_SECS = 5  # a lease outlives the fetch it is for by this much
LEASE_POLL_SECS = 0.25
PARSE_IN_THREAD_BYTES = 65_536  # a body over this takes milliseconds to parse
MOST_BYTES = 128 * 2**20  # of memory for answers, as `Answer.weight` estimates it

logger = logging.getLogger(__name__)


class _Flight(Turnstile):
    """A look-up under way, and in the end its answer; None if it was cancelled."""

    __slots__ = ("answer",)

    def __init__(self) -> None:
        super().__init__()
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

    def known(self, origin: Origin, agent: Agent) -> Answer | None:
        """The answer for `origin` if it is at hand, good for now, and knows the rules of `agent`."""
        answer = self._held.get(origin)
        if answer is None or not answer.knows(agent):
            return None
        now = time.time()
        if now >= answer.ask_at:
            return None
        self._held.move_to_end(origin)
        if now >= answer.refresh_at and origin not in self._flights:
            self._take_off(origin, agent, None)
        return answer

    async def ask(self, origin: Origin, agent: Agent, request: Request | None = None) -> Answer:
        """The answer for `origin`, fetched if need be.

        Raises:
            Closing: the crawl began to close meanwhile.
        """
        while True:
            answer = self.known(origin, agent)
            if answer is not None:
                return answer
            flight = self._flights.get(origin) or self._take_off(origin, agent, request)
            await flight.wait()
            if flight.answer is None:
                raise Closing
            if flight.answer.knows(agent):
                return flight.answer

    def site_answered(self, origin: Origin) -> None:
        """Note that a page of `origin` was served: if its robots.txt is unreachable, it is not for want of a server."""
        held = self._held.get(origin)
        if held is not None and held.temporary:
            held.site_available = True

    def abandon(self) -> None:
        """Give up whatever is under way; who waits for it gets `Closing`."""
        self._background.cancel()

    async def close(self) -> None:
        """Give up whatever is under way, and close the storage."""
        self.abandon()
        await self._store.close()

    def _take_off(self, origin: Origin, agent: Agent, request: Request | None) -> _Flight:
        flight = self._flights[origin] = _Flight()
        self._background.start(self._fly(origin, agent, request, flight))
        return flight

    async def _fly(self, origin: Origin, agent: Agent, request: Request | None, flight: _Flight) -> None:
        try:
            entry = await self._entry(origin, request)
            flight.answer = await self._learn(origin, entry, agent, request)
        except Exception:
            logger.exception("Looking up %s failed; its pages are not crawled for now", origin.robots_url)
            self._crawler.stats.inc_value("gbot_robots/errors")
            flight.answer = Answer.broken(origin, time.time())
        finally:
            if flight.answer is not None:
                self._keep(flight.answer)
            del self._flights[origin]
            flight.open()

    async def _entry(self, origin: Origin, request: Request | None) -> Entry | None:
        """What is known of `origin`: stored, or fetched by this process or another that shares the storage."""
        key = str(origin)
        while True:
            entry = await self._store.get(key)
            decision = decide(entry, time.time(), self._policy)
            if time.time() < self._due_at(origin, decision):
                return entry
            token = await self._store.lease(key, self._settings.timeout_secs + LEASE_MARGIN_SECS)
            if token is None:
                if time.time() < decision.ask_at:
                    return entry  # another process refreshes it
                await pause(LEASE_POLL_SECS)
                continue
            try:
                latest = await self._store.get(key)  # what another process may have learnt just before
                if latest != entry:
                    continue
                entry = await self._fetch(origin, entry, request)
                await self._store.put(key, entry)
                return entry
            finally:
                await self._store.release(key, token)

    def _due_at(self, origin: Origin, decision: Decision) -> float:
        """When to fetch: an origin that is in use is refreshed ahead of time, one that is just met when it must be."""
        return decision.refresh_at if origin in self._held else decision.ask_at

    async def _fetch(self, origin: Origin, entry: Entry | None, request: Request | None) -> Entry:
        outcome = await self._fetcher.fetch(origin, request)
        self._count(outcome)
        return renew(entry, outcome, time.time(), self._policy)

    def _count(self, outcome: Outcome) -> None:
        stats = self._crawler.stats
        stats.inc_value("robotstxt/request_count")
        stats.inc_value(f"gbot_robots/{type(outcome).__name__.lower()}")
        if isinstance(outcome, Fetched) and outcome.cut:
            stats.inc_value("gbot_robots/cut")
            logger.info("%s is longer than %d bytes; the rest of it is ignored", outcome.url, self._settings.max_bytes)
        if outcome.status is not None:
            stats.inc_value("robotstxt/response_count")
            stats.inc_value(f"robotstxt/response_status_count/{outcome.status}")

    async def _learn(self, origin: Origin, entry: Entry | None, agent: Agent, request: Request | None) -> Answer:
        """Turn what is known into an answer that knows the rules of `agent`, and tell the crawl."""
        held = self._held.get(origin)
        site_available = held is not None and held.site_available
        decision = decide(entry, time.time(), self._policy, site_available=site_available)
        copy = decision.copy if decision.state is State.RULES else None
        robotstxt = await self._parse(copy.body if copy else b"")
        answer = Answer.of(origin, entry, decision, held, time.time())
        if copy is not None:
            answer.learn(agent, robotstxt.rules_for(agent), len(copy.body))
        if answer.temporary:
            self._warn(answer)
        else:
            await self._tell(origin, robotstxt, answer, request)
        return answer

    async def _parse(self, body: bytes) -> RobotsTxt:
        def parse() -> RobotsTxt:
            return RobotsTxt.parse(body, strict=self._settings.strict, max_bytes=self._settings.max_bytes)

        return await run_in_thread(parse) if len(body) > PARSE_IN_THREAD_BYTES else parse()

    def _warn(self, answer: Answer) -> None:
        held = self._held.get(answer.origin)
        if held is None or not held.temporary:
            logger.warning(
                "%s: %s. By GBOT_ROBOTS_UNREACHABLE = %r this means %s for now",
                answer.origin.robots_url,
                answer.why,
                self._settings.unreachable,
                answer.state.value,
            )
            self._crawler.signals.send_catch_log(robotstxt_unreachable, origin=answer.origin, answer=answer)

    async def _tell(self, origin: Origin, robotstxt: RobotsTxt, answer: Answer, request: Request | None) -> None:
        send = self._crawler.signals.send_catch_log_async
        await send(robotstxt_known, origin=origin, robotstxt=robotstxt, answer=answer, request=request)
        robots_parsed = getattr(signals, "robots_parsed", None)  # Scrapy 2.18 and newer
        if robots_parsed is not None and request is not None:
            await send(robots_parsed, robotparser=GbotRobotParser(robotstxt), request=request)

    def _keep(self, answer: Answer) -> None:
        """Hold `answer`, and let go of those that were not used for the longest time."""
        old = self._held.pop(answer.origin, None)
        self._held_bytes += answer.weight - (old.weight if old is not None else 0)
        self._held[answer.origin] = answer
        while len(self._held) > self._settings.cache_size or (self._held_bytes > MOST_BYTES and len(self._held) > 1):
            _, gone = self._held.popitem(last=False)
            self._held_bytes -= gone.weight
