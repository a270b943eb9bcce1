"""What an origin's robots.txt says: from memory, from the storage, or by one fetch for all.

Requests that need the same unknown origin share one *pending look-up*, whatever their user agents.
It runs in the background and belongs to no request: cancelling one does not affect the others.
`_entry` gets the stored entry, or one that this process or another has fetched; `_answer_from`
decides what the entry means now, reads the rules for all agents that asked, caches the answer and
calls signal handlers. A request that comes after the rules have been read asks once more: the next
look-up finds the entry in the storage. An answer in use gets its look-up ahead of time.

A *lease* in the storage is the right to fetch one origin, so that processes share one fetch. It is
no lock: it can run out while its holder still fetches, and the storage can fail. Two fetches are
harmless: the later entry replaces the earlier.

Warning: a look-up must finish in whatever way it ends, also if it is cancelled or fails, since
nothing else wakes the waiting requests. It must not await handlers of signals: a handler may
request a page of the same origin, which waits for this very look-up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import count

from scrapy import Request
from scrapy.crawler import Crawler
from twisted.internet.defer import CancelledError

from ..concurrency import Background, pause, run_in_thread
from ..core.crawlers import UserAgent
from ..core.urls import Origin
from ..fetching.fetcher import Fetcher
from ..policy.outages import Entry, decide, is_to_be_confirmed, renew
from ..policy.outcome import Failure, failed, is_for_this_process
from ..policy.overrides import Override, read_overrides
from ..settings import GbotSettings
from ..storage.client import StorageClient
from .answer import AnswerCache, CachedAnswer, Source, answer_of, failed_look_up
from .events import CrawlEvents, tell_of

# A hostile body of that size takes 8 ms to read, an ordinary one less than 1.
READ_IN_THREAD_BYTES = 32 * 2**10
MOST_USER_AGENTS = 16  # whose rules one look-up reads
_REFRESH_AGAIN_SECS = 10.0  # an answer in use is not refreshed more often than this
# Pauses between looks whether the holder of the lease is done.
_FIRST_POLL_SECS = 0.05
_LONGEST_POLL_SECS = 1.0


class NeededUserAgents(list[UserAgent]):
    """The user agents whose rules a look-up reads: the last `MOST_USER_AGENTS` that were needed."""

    def need(self, user_agent: UserAgent) -> None:
        """Add `user_agent`, or make it the last one. The first one makes room."""
        if self and self[-1] is user_agent:
            return
        if user_agent in self:
            self.remove(user_agent)
        self.append(user_agent)
        del self[:-MOST_USER_AGENTS]


@dataclass(slots=True, eq=False)
class PendingLookup:
    """A look-up under way, made as `request` would be fetched."""

    origin: Origin
    request: Request
    user_agents: NeededUserAgents
    # Called at the end. None: it is ahead of time, and what another process fetches, this one need
    # not fetch.
    then: Callable[[CachedAnswer | None], object] | None = None
    answer: CachedAnswer | None = None  # in the end; None if the look-up was cancelled


class Lookup:
    """Answers by origin, for one crawl.

    Attributes:
        storage: where entries are kept.
        is_closing: whether nothing is looked up any more.
    """

    def __init__(
        self, crawler: Crawler, settings: GbotSettings, fetcher_cls: type[Fetcher]
    ) -> None:
        self._settings = settings
        self._overrides = read_overrides(settings.overrides, settings.parse)
        tell_of(self._overrides)
        self.storage = StorageClient.of(settings, crawler)
        self._fetcher = fetcher_cls(crawler, settings)
        self._background = Background()
        self._events = CrawlEvents(crawler, settings, self._background)
        self._cache = AnswerCache(settings.cache_origins)
        self._pending: dict[Origin, PendingLookup] = {}
        self.is_closing = False
        self._began_at = time.time()

    def cached(self, origin: Origin, user_agent: UserAgent) -> CachedAnswer | None:
        """The answer for `origin` in memory; None unless it is good and knows `agent`'s rules.

        If an override counts for `origin`, its answer is made, cached, and told `agent`'s rules.
        """
        now = time.time()
        answer = self._cache.get(origin)
        if answer is None or not answer.is_good(now):
            override = self._overrides.of(origin, now)
            if override is None or not override.replaces:
                return None
            answer = answer_of(override, origin)
            self._cache.put(answer)
        if answer.override is not None and answer.override.robotstxt is not None:
            answer.add_rules(answer.override.robotstxt, (user_agent,))
        if not answer.knows(user_agent):
            return None
        return answer

    def agreement(self, origin: Origin) -> Override | None:
        """The override that allows paths of `origin` besides its robots.txt now; None if none."""
        override = self._overrides.of(origin, time.time())
        if override is None or override.replaces:
            return None
        return override

    def last(self, origin: Origin) -> CachedAnswer | None:
        """The last answer for `origin` in memory, even if it is good no more."""
        return self._cache.get(origin)

    def known_answer(
        self, origin: Origin, user_agent: UserAgent, request: Request
    ) -> CachedAnswer | None:
        """Return the `cached` answer that `request` gets.

        It is counted, unless the request may wait for a better one. A look-up starts if the answer
        is soon stale. Until that has ended, requests still get the old answer.
        """
        answer = self.cached(origin, user_agent)
        if answer is None:
            return None
        now = time.time()
        if now >= answer.refresh_at:
            answer.refresh_at = now + _REFRESH_AGAIN_SECS
            self.look_up(origin, [user_agent], request)
        if not answer.bars_for_now:
            self._events.from_memory += 1
        return answer

    def look_up(
        self,
        origin: Origin,
        user_agents: Iterable[UserAgent],
        request: Request,
        then: Callable[[CachedAnswer | None], object] | None = None,
    ) -> None:
        """Start a look-up of `origin`, and call `then` with the answer.

        Without `then` it is a refresh ahead of time. If the crawl closes before the end, `then` is
        called with None. The answer has the rules of `user_agents`, and of those that `need` adds
        before the rules are read. If a refresh is under way, its answer serves.
        """
        pending = self._pending.get(origin)
        if pending is not None:
            for user_agent in user_agents:
                pending.user_agents.need(user_agent)
            pending.then = pending.then or then  # a second one is of the same site, told once
            return
        needed = NeededUserAgents(user_agents)
        pending = self._pending[origin] = PendingLookup(origin, request, needed, then)
        if self.is_closing:
            self._finish(pending)
        else:  # without asyncio it may end at once
            self._background.start(self._look_up(pending), then=partial(self._finish, pending))

    def need(self, origin: Origin, user_agent: UserAgent) -> None:
        """Let the look-up of `origin` that is under way read the rules of `user_agent`, too."""
        pending = self._pending.get(origin)
        if pending is not None:
            pending.user_agents.need(user_agent)

    def tell(self) -> None:
        """Bring the stats up to date that are counted for each request."""
        self._events.tell()

    def abandon(self) -> None:
        """Cancel all look-ups and start no more.

        The answer of those, and of later ones, is None.
        """
        if not self.is_closing:
            self.is_closing = True
            self._background.cancel()

    async def close(self) -> None:
        """Cancel all look-ups, and close the storage."""
        self.abandon()
        self.tell()
        await self._background.ended()
        await self.storage.close()

    # One look-up for all requests of this process.

    async def _look_up(self, pending: PendingLookup) -> None:
        try:
            pending.answer = await self._answer_from(pending, *await self._entry(pending))
        except Exception as error:
            if self.is_closing:  # it was cancelled
                raise
            self._events.failed("Looking up", pending.origin, error)
            pending.answer = failed_look_up(pending.origin)
            self._cache.put(pending.answer)

    def _finish(self, pending: PendingLookup) -> None:
        del self._pending[pending.origin]
        if pending.then is not None:
            pending.then(pending.answer)

    async def _answer_from(
        self, pending: PendingLookup, entry: Entry, source: Source
    ) -> CachedAnswer:
        """Turn an entry into an answer for the agents that asked; cache it, and tell the crawl."""
        before, settings = self._cache.get(pending.origin), self._settings
        if before is not None and before.override is not None:
            before = None  # it has run out, and says nothing of the site
        decision = decide(entry, time.time(), settings.policy)
        if entry.outage is not None and decision.copy is not None and source is Source.FETCHED:
            source = Source.STORED  # the fetch has failed, and the copy from before counts
        status = getattr(entry.outage or entry.copy, "status", None)
        answer = CachedAnswer(pending.origin, decision, status, source)
        if before is not None:
            answer.go_on_from(before)
        copy = decision.copy
        robotstxt = None
        if copy is not None:
            if settings.provenance:
                answer.robots_sha256 = copy.sha256
            robotstxt = settings.parse(copy.body, cut=copy.cut)
            read = partial(answer.add_rules, robotstxt, tuple(pending.user_agents))
            if len(copy.body) > READ_IN_THREAD_BYTES:
                await run_in_thread(read)
            else:
                read()
        self._cache.put(answer)
        self._events.answered(answer, before, copy, robotstxt, pending.request)
        return answer

    # One fetch for all processes that share a storage.

    async def _entry(self, pending: PendingLookup) -> tuple[Entry, Source]:
        """Return a good entry: one that is stored, or that this or another process now fetches.

        A look-up ahead of time fetches though the stored entry is good, unless another process has
        the lease: then the stored entry will do.
        """
        origin = str(pending.origin)
        is_good = partial(self._is_good, ahead=pending.then is None)
        for tries in count():
            entry, has_lease = await self.storage.find(origin, is_good)
            if has_lease:
                break
            if entry is not None and self._is_good(entry):
                self._events.add_to_stat("lookup/storage")
                if tries:
                    return entry, Source.ANOTHER
                return entry, Source.STORED
            if not tries:
                self._events.add_to_stat("lease/waited")
            await pause(min(_FIRST_POLL_SECS * 2 ** min(tries, 10), _LONGEST_POLL_SECS))
        if pending.then is None:
            self._events.add_to_stat("lookup/refreshed")
        else:
            self._events.add_to_stat("lookup/fetched")
        return await self._fetch(pending.origin, entry, pending.request)

    async def _fetch(
        self, origin: Origin, entry: Entry | None, request: Request
    ) -> tuple[Entry, Source]:
        """Fetch a robots.txt, and return what `entry`, the stored one, has become by that.

        It is stored, and the lease that `StorageClient.find` has taken is given back; by
        `StorageClient.close`, if this is cancelled.

        That a middleware of this project has dropped the request, or that its own `Fetcher` has
        failed, is for this crawl alone, and is not stored. Nor is a refusal that may be a proxy's.
        """
        began = time.monotonic()
        try:
            outcome = await self._fetcher.fetch(origin, request)
        except CancelledError:  # an Exception, unlike asyncio's own
            raise
        except Exception as error:  # a bug in a `Fetcher` of the project's, or in ours
            self._events.failed("Fetching", origin, error)
            outcome = failed(Failure.FETCHER, f"{type(error).__name__}: {error}")
        latest = renew(entry, outcome, time.time(), self._settings.policy)
        to_store: Entry | None = latest
        if is_for_this_process(outcome):
            to_store = None
        await self.storage.store_and_release(str(origin), to_store)
        self._events.fetched(outcome, time.monotonic() - began)
        if entry is not None and to_store is not None:
            self._events.compare(origin, entry.copy, latest.copy)
        return latest, Source.FETCHED

    def _is_good(self, entry: Entry | None, *, ahead: bool = False) -> bool:
        """Whether `entry` will do without a fetch; `ahead` of time: without a refresh."""
        now = time.time()
        decision = decide(entry, now, self._settings.policy)
        # an earlier run found no server: this one tries once
        if is_to_be_confirmed(decision, self._began_at):
            return False
        if ahead:
            return now < decision.refresh_at
        return now < decision.ask_at
