"""One fetch of a robots.txt for all processes that share a storage.

Operations wanted: of all processes that need the entry of an origin at the same time, one fetches it, and the others get its
result. A process that dies, hangs or is slow costs the others only seconds. A storage that fails costs no page.

Plan: a *lease* in the storage is the right to fetch one origin. It ends by itself after `entries.LEASE_SECS`, and its holder
prolongs it while it fetches. So the lease of a dead holder ends soon. `Entries.find` asks for "the entry, or else the
lease", and gets one of three:

    a good entry              use it
    the lease                 fetch, fold the outcome into the entry, `settle` (which ends the lease)
    neither                   another process has the lease: wait a little, ask again

Example: processes A and B need https://example.com, which is not stored.

    A  find -> leased                 fetches ...                       settle(entry)
    B      find -> neither, 50 ms, find -> neither, 100 ms, ...              find -> the entry

If A is killed, its lease runs out, and one of the next calls of `find` in B gets the lease.

Warning: a lease is no lock. It can run out while its holder still fetches (a process that was stopped), and the storage can
fail (each process then goes on from its own memory). So two processes may fetch the same robots.txt. That is harmless: the
later entry replaces the earlier. But no request may wait without end: this process respects a lease for `PATIENCE` time-outs
of a fetch, then it fetches without the lease.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from twisted.internet.defer import CancelledError

from ..concurrency import pause
from ..policy.outages import State, decide, renew
from ..policy.outcome import Failure, failed
from .answer import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request

    from ..core.origin import Origin
    from ..fetching.fetcher import Fetcher
    from ..policy.outages import Decision, Entry
    from ..settings import GbotSettings
    from .change_watch import ChangeWatch
    from .entries import Entries
    from .telling import Telling

PATIENCE = 3  # time-outs of a fetch: how long this process respects the lease of another one
_FIRST_POLL_SECS, _LONGEST_POLL_SECS = 0.05, 1.0  # pauses between looks whether the holder of the lease is done


class Obtained(NamedTuple):
    """An entry, and its source."""

    entry: Entry
    source: Source


class SharedFetch:
    """Gets the entry of an origin: a good one from the storage, else one that this process or another fetches."""

    def __init__(
        self, settings: GbotSettings, entries: Entries, fetcher: Fetcher, telling: Telling, watch: ChangeWatch
    ) -> None:
        self._policy = settings.policy
        self._patience_secs = PATIENCE * settings.timeout_secs
        self._entries = entries
        self._fetcher = fetcher
        self._telling = telling
        self._watch = watch

    async def entry(self, origin: Origin, request: Request | None) -> Obtained:
        """A good entry of `origin`, or the one that a fetch has led to, and its source.

        Args:
            origin: the origin of the robots.txt.
            request: the request that needs the robots.txt, or None; a fetch is made as this request would be.
        """
        serves = partial(self._serves, time.time())
        pauses, waited = _pauses(), False
        patient_until = time.monotonic() + self._patience_secs
        while True:
            found = await self._entries.find(str(origin), serves)
            if found.entry is not None and not found.leased and serves(found.entry):
                if self._can_replay(origin, found.entry, request):
                    self._telling.count("lookup/fetched")
                    return await self._fetch(origin, found.entry, request)
                self._telling.count("lookup/storage")
                return Obtained(found.entry, Source.ANOTHER if waited else Source.STORED)
            if not found.leased and time.monotonic() < patient_until:
                if not waited:
                    self._telling.count("lease/waited")
                waited = True
                await pause(next(pauses))
                continue
            if not found.leased:
                self._telling.lease_not_used(origin, self._patience_secs)
            if waited:
                self._telling.count("lease/taken_over")
            self._telling.count("lookup/fetched")
            return await self._fetch(origin, found.entry, request)

    async def newer(self, origin: Origin, request: Request | None) -> Obtained | None:
        """Fetch a newer entry of `origin` ahead of time; None if another process is fetching it."""
        found = await self._entries.find(str(origin), self._is_fresh)
        if found.leased:
            self._telling.count("lookup/refreshed")
            obtained = await self._fetch(origin, found.entry, request)
            is_old = obtained.source is Source.HTTP_CACHE
            return None if is_old and found.entry is not None and self._is_good(found.entry) else obtained
        if found.entry is None or not self._is_fresh(found.entry):
            return None
        return Obtained(found.entry, Source.ANOTHER)

    async def _fetch(self, origin: Origin, entry: Entry | None, request: Request | None) -> Obtained:
        """Fetch with the lease of `Entries.find`. If this is cancelled, `Entries.close` gives the lease back.

        A response from Scrapy's HTTP cache is for this crawl alone. It is not stored, since no server has sent it now.
        """
        began = time.monotonic()
        try:
            outcome = await self._fetcher.fetch(origin, request)
        except CancelledError:  # an Exception, unlike asyncio's own
            raise
        except Exception as error:  # from a download handler or a bug here: no definite answer, so the ladder decides
            self._telling.fetch_failed(origin, error)
            outcome = failed(Failure.OTHER, f"{type(error).__name__}: {error}")
        latest = renew(entry, outcome, time.time(), self._policy)
        if outcome.recalled:
            await self._entries.give_up(str(origin))
        else:
            await self._entries.settle(str(origin), latest)
            self._watch.fetched(origin, entry.copy if entry else None, latest.copy)
        self._telling.fetched(outcome, time.monotonic() - began)
        return Obtained(latest, Source.HTTP_CACHE if outcome.recalled else Source.FETCHED)

    def _can_replay(self, origin: Origin, entry: Entry, request: Request | None) -> bool:
        """Whether a crawl that is replayed need not wait for the end of the outage in `entry`.

        Then a fetch before its time does no harm: it asks no server, or one that did not answer at all.
        """
        outage, now = entry.outage, time.time()
        if outage is None or self.decision(entry, now).state is not State.FULL_DISALLOW:
            return False
        return self._fetcher.can_replay(origin, request, outage.status)

    def decision(self, entry: Entry | None, now: float, *, site_available: bool = False) -> Decision:
        """What `entry` means at `now`."""
        return decide(entry, now, self._policy, site_available=site_available)

    def _is_good(self, entry: Entry | None) -> bool:
        now = time.time()
        return now < self.decision(entry, now).ask_at

    def _serves(self, since: float, entry: Entry | None) -> bool:
        """Whether `entry` is good, or was fetched while this process has waited for it: since `since`."""
        if entry is not None and entry.copy is not None and entry.outage is None:
            return since <= entry.copy.fetched_at <= time.time() or self._is_good(entry)
        return self._is_good(entry)

    def _is_fresh(self, entry: Entry | None) -> bool:
        now = time.time()
        return now < self.decision(entry, now).refresh_at


def _pauses() -> Iterator[float]:
    """Pauses in seconds that grow up to a bound: a fast fetch is noticed soon, a slow one costs few looks."""
    secs = _FIRST_POLL_SECS
    while True:
        yield secs
        secs = min(2 * secs, _LONGEST_POLL_SECS)
