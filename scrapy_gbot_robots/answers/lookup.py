"""Looks up the answer for an origin, in memory, in the storage, or by a fetch of its robots.txt.

All requests that wait for the answer for an origin share one look-up (`PendingLookup`), even if
their user agents differ. The look-up runs in the background, so it goes on if one of the requests
is cancelled. It has two steps:

1. `_entry` gets the *entry* of the origin. An entry is what the storage keeps for an origin. It
   contains the robots.txt. If the storage has no entry, or an old one, this process fetches the
   robots.txt, or waits until another process has fetched it.
2. `_answer_from` makes an answer from the entry. It reads the rules for the user agents of all
   waiting requests, puts the answer into the cache, and sends signals.

An answer that is still in use is refreshed before it goes out of date.

A *lease* in the storage is the right to fetch the robots.txt of one origin. It prevents most double
fetches by several processes, but not all of them, because a lease can run out during a fetch. A
double fetch does no harm, because the later entry replaces the earlier one.

Warning: a look-up must finish even if it fails, because nothing else wakes the waiting requests
before the crawl closes. It must not await signal handlers. A handler may request a page of the same
origin, and the request for that page would wait for this look-up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count

from scrapy import Request
from scrapy.crawler import Crawler
from twisted.internet.defer import CancelledError

from ..concurrency import Background, pause, run_in_thread
from ..core.crawlers import UserAgent
from ..core.urls import Origin
from ..fetching.fetcher import Fetcher, Way, way_of
from ..policy.outages import Entry, decide, is_to_be_confirmed, lacks_a_part, renew
from ..policy.outcome import Failure, failed, is_for_this_process
from ..policy.overrides import Override, read_overrides
from ..settings import GbotSettings
from ..storage.client import StorageClient
from .answer import AnswerCache, CachedAnswer, Source, answer_of, failed_look_up
from .events import CrawlEvents, tell_of, tell_of_others

# A robots.txt with more bytes than this is parsed in a thread. Parsing a hostile file of this size
# takes 8 ms, and parsing an ordinary file takes less than 1 ms.
READ_IN_THREAD_BYTES = 32 * 2**10
MOST_USER_AGENTS = 16  # One look-up reads the rules for at most this many user agents.
_REFRESH_AGAIN_SECS = 10.0  # the shortest time between two refreshes of the same answer
# While another process has the lease of an origin (the right to fetch its robots.txt), this process
# asks the storage again and again, with pauses. Each pause is twice as long as the pause before,
# from `_FIRST_POLL_SECS` up to `_LONGEST_POLL_SECS`.
_FIRST_POLL_SECS = 0.05
_LONGEST_POLL_SECS = 1.0


@lru_cache(maxsize=1_000)
def with_needed(needed: tuple[UserAgent, ...], user_agent: UserAgent) -> tuple[UserAgent, ...]:
    """Return `needed` with `user_agent` at the end.

    `needed` contains the user agents whose rules a look-up reads. If there are more than
    `MOST_USER_AGENTS`, the first one is dropped. The results are cached. So if the requests for
    many sites have the same user agents, the sites share one tuple, which saves memory.
    """
    others = [other for other in needed if other != user_agent]
    return (*others, user_agent)[-MOST_USER_AGENTS:]


@dataclass(slots=True, eq=False)
class PendingLookup:
    """A look-up that is running.

    If it fetches a robots.txt, the fetch takes the proxy and other meta from `request`.
    """

    origin: Origin
    request: Request
    user_agents: tuple[UserAgent, ...]
    before: CachedAnswer | None  # The previous answer, even if the cache has dropped it.
    # A function that is called with the answer when the look-up ends. It is None if no request
    # waits for the answer, because the look-up only refreshes an answer that can still be used.
    then: Callable[[CachedAnswer | None], object] | None = None
    answer: CachedAnswer | None = None  # None until the look-up ends, or if it is cancelled
    # Whether another process is fetching the robots.txt, as far as this look-up knows. It is also
    # True for a moment after the storage had a good entry.
    is_fetched_elsewhere: bool = False


class Lookup:
    """Looks up the answers for the origins of one crawl, and keeps them in memory.

    Attributes:
        storage: the client of the storage, which keeps an entry for each origin.
        is_closing: whether the crawl is closing, so that no look-up begins any more.
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

    def good_answer(self, origin: Origin, user_agent: UserAgent) -> CachedAnswer | None:
        """Return the answer for `origin` that is in memory, or None.

        The result is None if there is no answer, if it is out of date, or if it lacks the rules for
        `user_agent`. If an override replaces the robots.txt of `origin`, the result is never None,
        because this method makes the answer from the override.
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
        """Return the override that now allows some paths of `origin`, or None.

        For all other paths, the rules of the site's own robots.txt apply.
        """
        override = self._overrides.of(origin, time.time())
        if override is None or override.replaces:
            return None
        return override

    def warn_of_overrides(self, user_agent: UserAgent) -> None:
        """Warn of each override that contains rules, but no group of rules for `user_agent`."""
        tell_of_others(self._overrides, user_agent)

    def last_answer(self, origin: Origin) -> CachedAnswer | None:
        """Return the answer for `origin` in memory, even an old one; None if there is none."""
        return self._cache.get(origin)

    def take_answer(
        self, origin: Origin, user_agent: UserAgent, request: Request
    ) -> CachedAnswer | None:
        """Return the result of `good_answer` for `request`.

        If the answer is old enough to be refreshed, this method also starts a look-up. A stat
        counts the answers from memory, except answers that disallow everything because the
        robots.txt is unreachable.
        """
        answer = self.good_answer(origin, user_agent)
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
        before: CachedAnswer | None = None,
    ) -> None:
        """Start a look-up of `origin`, or use a refresh of `origin` that is already running.

        Args:
            origin: the origin.
            user_agents: the user agents for which the answer must have the rules.
            request: the request that needs the answer. A fetch uses its proxy and other meta.
            then: a function that is called with the answer when the look-up ends, or with None if
                the crawl closes before that. It is None if no request waits, because the look-up
                only refreshes an answer.
            before: the previous answer. It is used if the cache does not contain it any more.
        """
        pending = self._pending.get(origin)
        if pending is not None:
            for user_agent in user_agents:
                self.need(origin, user_agent)
            # `pending.then` and `then` are never both functions. Only `obeying.room.Room` passes a
            # function as `then`, and only one at a time for each origin.
            pending.then = pending.then or then
            return
        before = self._cache.get(origin) or before
        needed = tuple(user_agents)
        pending = self._pending[origin] = PendingLookup(origin, request, needed, before, then)
        if self.is_closing:
            self._finish(pending)
        else:
            self._background.start(self._look_up(pending), then=partial(self._finish, pending))

    def way_of(self, request: Request) -> Way:
        """Return the way in which this crawl would request a robots.txt for `request`.

        The way consists of the proxy, its credentials, and the other meta that a robots.txt request
        takes from `request`.
        """
        return way_of(request, self._settings.meta_keys)

    def need(self, origin: Origin, user_agent: UserAgent) -> None:
        """If a look-up of `origin` is running, let it read the rules for `user_agent` as well."""
        pending = self._pending.get(origin)
        if pending is not None:
            pending.user_agents = with_needed(pending.user_agents, user_agent)

    def is_fetched_elsewhere(self, origin: Origin) -> bool:
        """Whether a running look-up of `origin` waits for the fetch of another process."""
        pending = self._pending.get(origin)
        if pending is None:
            return False
        return pending.is_fetched_elsewhere

    def tell(self) -> None:
        """Update the stat that counts the answers from memory (see `CrawlEvents.tell`)."""
        self._events.tell()

    def abandon(self) -> None:
        """Cancel all look-ups, and start no others. A cancelled look-up has the answer None."""
        if not self.is_closing:
            self.is_closing = True
            self._background.cancel()

    async def close(self) -> None:
        """Cancel all look-ups, and close the storage."""
        self.abandon()
        self.tell()
        await self._background.ended()
        await self.storage.close()

    # The next three methods run a look-up. All requests of this process that need the robots.txt of
    # the same origin wait for a single look-up.

    async def _look_up(self, pending: PendingLookup) -> None:
        try:
            pending.answer = await self._answer_from(pending, *await self._entry(pending))
        except Exception as error:
            if self.is_closing:  # The look-up was cancelled.
                raise
            self._events.failed("Looking up", pending.origin, error)
            pending.answer = failed_look_up(pending.origin, pending.before)
            self._events.count_state(pending.answer, _by_robots_txt(pending.before))
            self._cache.put(pending.answer)

    def _finish(self, pending: PendingLookup) -> None:
        del self._pending[pending.origin]
        if pending.then is not None:
            pending.then(pending.answer)

    async def _answer_from(
        self, pending: PendingLookup, entry: Entry, source: Source
    ) -> CachedAnswer:
        """Make an answer from `entry`, with the rules for the user agents of all waiting requests.

        Put the answer into the cache, log and count it, and send signals.
        """
        before, settings = _by_robots_txt(pending.before), self._settings
        has_failed = entry.outage is not None and source is Source.FETCHED
        decision = decide(entry, time.time(), settings.policy)
        if has_failed and decision.copy is not None:
            source = Source.STORED  # The fetch has failed, so the stored copy decides.
        status = getattr(entry.outage or entry.copy, "status", None)
        answer = CachedAnswer(pending.origin, decision, status, source, before=before)
        if has_failed:
            answer.failed_way = self.way_of(pending.request)
        copy = decision.copy
        robotstxt = None
        if copy is not None:
            if settings.provenance:
                answer.robots_sha256 = copy.sha256
            robotstxt = settings.parse(copy.body, cut=copy.cut)
            read = partial(answer.add_rules, robotstxt, pending.user_agents)
            if len(copy.body) > READ_IN_THREAD_BYTES:
                await run_in_thread(read)
            else:
                read()
        self._cache.put(answer)
        self._events.answered(answer, before, copy, robotstxt, pending.request)
        return answer

    # The next three methods fetch a robots.txt. If several processes use the same storage, usually
    # one of them fetches the file, and the others wait for it.

    async def _entry(self, pending: PendingLookup) -> tuple[Entry, Source]:
        """Return an entry that is not out of date, and the `Source` of this entry.

        If the storage has no entry, or an old one, this process fetches the robots.txt, or waits
        while another process fetches it. A refresh fetches the robots.txt although the entry in the
        storage can still be used. But if another process is already fetching it, the refresh only
        returns the entry in the storage.
        """
        origin = str(pending.origin)
        is_good = partial(self._is_good, ahead=pending.then is None)
        for tries in count():
            entry, has_lease = await self.storage.find(origin, is_good)
            pending.is_fetched_elsewhere = not has_lease
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
        """Fetch a robots.txt; return the new entry for the storage, and `Source.FETCHED`.

        The new entry replaces `entry` in the storage. At the end, this method gives up the lease
        (the right to fetch the file). If it is cancelled, `StorageClient.close` gives up the lease.

        The new entry is not stored if the outcome of the fetch concerns only this crawl, for
        example because a middleware of the project has dropped the request.
        """
        began = time.monotonic()
        try:
            outcome = await self._fetcher.fetch(origin, request)
        # A `CancelledError` of Twisted is an `Exception`, but does not mean that the fetch failed.
        except CancelledError:
            raise
        except Exception as error:  # This is a bug in the `Fetcher` of the plugin or the project.
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
        """Whether `entry` can be used without a fetch.

        If `ahead` is True, the result is also False if the entry is old enough for a refresh. An
        entry is refreshed some time before it is out of date.
        """
        if entry is not None and lacks_a_part(entry, self._settings.max_bytes):
            return False
        now = time.time()
        decision = decide(entry, now, self._settings.policy)
        # If an earlier crawl found no server, this crawl fetches the robots.txt at once, because
        # the server may be back.
        if is_to_be_confirmed(decision, self._began_at):
            return False
        if ahead:
            return now < decision.refresh_at
        return now < decision.ask_at


def _by_robots_txt(before: CachedAnswer | None) -> CachedAnswer | None:
    """Return the previous answer `before`, or None if that answer comes from an override.

    The answers from overrides are not compared with new answers, and stats do not count them.
    """
    if before is not None and before.override is not None:
        return None
    return before
