"""Entries: the storage as a crawl uses it, off the reactor and never in the crawl's way.

Operations wanted: no call of a driver blocks the reactor, whatever the disk or the network does. Calls that come together
cost one transaction or one round trip. A driver that fails costs one warning and no page.

Plan: one thread makes all calls. It takes all calls that wait as one batch (`batch_thread`), and the storage does them in
few steps (`storage.base`). Each call has a deadline. If the driver fails or is late, memory takes its place, and a timer
tries the driver again. When the driver answers, it is used again, and what memory has learnt meanwhile is forgotten: the
cache of answers still has it, and other processes fetch those few files once more. Memory itself needs no thread.

Leases: this class remembers the leases of this process, and gives them back at the end of the crawl at the latest. The
leases of a process that dies end by themselves.

Example: Redis stops answering. The next `find` fails after at most `CALL_SECS`; the log warns once, and memory answers this
`find` and all later calls. 30 s later Redis answers the timer's trial, and is in use again.

Warning: a call in the thread may end when no coroutine waits for it any more, because the caller was cancelled or the
deadline is over. A lease that comes so late is in `_leases` all the same, or is given back at once.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from twisted.internet.defer import CancelledError

from ..concurrency import Background, pause, within
from ..core.urls import shown
from ..storage.base import FetchResult, Found, StorageError, Wanted
from ..storage.memory import MemoryStorage
from .batch_thread import BatchThread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scrapy.statscollectors import StatsCollector

    from ..policy.outages import Entry
    from ..storage.base import Storage
    from .drivers import Driver

_T = TypeVar("_T")
_Call: TypeAlias = "Wanted | FetchResult | Callable[[Storage], object]"

TRY_AGAIN_SECS = 30.0
CALL_SECS = 10.0  # the longest wait for a call
LEASE_TIMEOUTS = 2  # time-outs of a fetch: how long a lease lasts
CLOSE_SECS = 5.0  # how long a failing storage may delay the end of a crawl
MOST_TOGETHER = 32  # calls in a batch: in a larger one, the first call would wait too long for the last

logger = logging.getLogger(__name__)


class Entries:
    """Entries by origin, for coroutines of one reactor. No method raises because a storage fails.

    Args:
        driver: opens the storage, in the thread, at the first call.
        stats: the stats that count failed calls.
        lease_secs: how long a lease lasts.
        on_first_use: called when the storage has answered for the first time.
    """

    def __init__(
        self,
        driver: Driver,
        stats: StatsCollector,
        *,
        lease_secs: float,
        on_first_use: Callable[[], object] = lambda: None,
    ) -> None:
        self._opens = driver.opens
        self._remedy = driver.remedy
        self._stats = stats
        self._lease_secs = lease_secs
        self._on_first_use = on_first_use
        self._is_used = False
        self._driver: Storage | None = MemoryStorage() if driver.opens is MemoryStorage else None  # opens at once
        self._thread: BatchThread[Any, Any] = BatchThread(
            self._work, most=MOST_TOGETHER, secs=CALL_SECS, late=self._interrupt
        )
        self._instead: MemoryStorage | None = None  # in use while the driver fails
        self._failure: Exception | None = None  # of the last batch: the thread knows it before the reactor does
        self._leases: dict[str, str] = {}  # origin -> token; the thread adds to it, too
        self._background = Background()
        self._closed = False

    async def get(self, origin: str) -> Entry | None:
        """The entry of `origin`, or None."""
        return await self._call(lambda driver: driver.get(origin))

    async def put(self, origin: str, entry: Entry) -> None:
        """Store `entry` for `origin`."""
        await self._call(lambda driver: driver.put(origin, entry))

    async def find(self, origin: str, is_good: Callable[[Entry | None], bool]) -> Found:
        """Return the entry of `origin`; if it is not good, also the lease, unless another process has that.

        A caller that gets the lease must fetch, and then call `store_and_release` or `give_up`. `is_good` is called in the
        thread.
        """
        found: Found = await self._ask(Wanted(origin, is_good))
        return found

    async def store_and_release(self, origin: str, entry: Entry) -> None:
        """Store the entry that was fetched with the lease of `find`, and give the lease back."""
        await self._ask(FetchResult(origin, entry, self._leases.pop(origin, "")))

    async def give_up(self, origin: str) -> None:
        """Give the lease of `find` back without an entry."""
        token = self._leases.pop(origin, "")
        await self._call(lambda driver: driver.release(origin, token))

    async def beat(self, facts: Mapping[str, object]) -> None:
        """Report in a storage that many machines share that this process is alive; do nothing in any other."""
        await self._call(lambda driver: getattr(driver, "beat", lambda _: None)(facts))

    async def close(self) -> None:
        """Give back all leases, and close the driver."""
        self._closed = True
        self._background.cancel()
        await self._background.ended()
        try:
            if isinstance(self._driver, MemoryStorage):
                self._driver.close()
            elif self._driver is not None:
                await within(CLOSE_SECS, self._thread.ask(_Trial(self._close)))
        except CancelledError:
            raise
        except Exception as error:  # as in `_ask`
            if self._instead is None:
                logger.warning("The robots.txt storage could not be closed properly: %s", shown(str(error), limit=500))
            self._interrupt()
        self._thread.end()

    async def _call(self, act: Callable[[Storage], _T]) -> _T:
        return cast("_T", await self._ask(act))

    async def _ask(self, call: _Call) -> Any:
        """Let the driver do `call`, or memory while the driver fails."""
        if self._instead is not None:
            return self._do(self._instead, [call])[0]
        try:
            if isinstance(self._driver, MemoryStorage):
                result = self._do(self._driver, [call])[0]
            else:
                result = await self._thread.ask(call)
        except CancelledError:  # an Exception, unlike asyncio's own
            raise
        except Exception as error:  # a driver of the user's may raise anything
            return self._do(self._fall_back(error), [call])[0]
        self._note_use()
        return result

    def _work(self, calls: list[_Call]) -> list[Any]:
        """In the thread: let the driver do `calls`, unless it has failed for others while these waited."""
        if self._failure is not None and not any(isinstance(call, _Trial) for call in calls):
            raise self._failure
        try:
            if self._driver is None:
                self._driver = self._opens()
            results = self._do(self._driver, calls)
        except Exception as error:
            self._failure = error
            raise
        self._failure = None
        return results

    def _do(self, driver: Storage, calls: Sequence[_Call]) -> list[Any]:
        """Let `driver` do calls of all kinds together; return their results in order."""
        results: list[Any] = [None] * len(calls)
        wanted = {place: call for place, call in enumerate(calls) if isinstance(call, Wanted)}
        fetched = [call for call in calls if isinstance(call, FetchResult)]
        if fetched:
            driver.store_and_release(fetched)
        if wanted:
            for place, found in zip(wanted, self._find(driver, list(wanted.values())), strict=True):
                results[place] = found
        for place, call in enumerate(calls):
            if not isinstance(call, (FetchResult, Wanted)):
                results[place] = call(driver)
        return results

    def _find(self, driver: Storage, wanted: Sequence[Wanted]) -> list[Found]:
        found = driver.find(wanted, self._lease_secs)
        leases = {each.origin: one.token for each, one in zip(wanted, found, strict=True) if one.token is not None}
        too_late = self._closed or (self._instead is not None and driver is not self._instead)
        if leases and too_late:
            driver.release_all(leases)
            return [Found(one.entry) for one in found]
        self._leases.update(leases)
        return found

    def _fall_back(self, error: Exception) -> MemoryStorage:
        self._stats.inc_value("gbot_robots/storage/errors")
        if self._instead is None:
            self._instead = MemoryStorage()
            self._stats.set_value("gbot_robots/storage/fallback", 1)
            self._background.start(self._try_again())
            logger.warning(
                "The robots.txt storage failed: %s. Until it answers again, this process keeps robots.txt files in "
                "memory, for itself. %s",
                shown(str(error), limit=500),
                self._remedy,
                exc_info=None if isinstance(error, (StorageError, TimeoutError)) else error,
            )
        return self._instead

    async def _try_again(self) -> None:
        """Try to write to the driver, again and again until it works."""
        while self._instead is not None:
            await pause(TRY_AGAIN_SECS)
            try:
                await self._thread.ask(_Trial(_write_and_forget))
            except CancelledError:
                raise
            except Exception:  # as in `_ask`; the log has said so already
                self._stats.inc_value("gbot_robots/storage/errors")
            else:
                self._answers_again()

    def _answers_again(self) -> None:
        self._instead = None
        self._stats.set_value("gbot_robots/storage/fallback", 0)
        logger.info("The robots.txt storage answers again and is used again")
        self._note_use()

    def _note_use(self) -> None:
        if not self._is_used and self._instead is None:
            self._is_used = True
            self._on_first_use()

    def _interrupt(self) -> None:
        """End the call that the thread waits for, if the driver can do that. Otherwise it ends by itself, later."""
        interrupt = getattr(self._driver, "interrupt", None)
        if interrupt is not None:
            with suppress(StorageError):
                interrupt()

    def _close(self, driver: Storage) -> None:
        """In the thread, after all earlier calls: close the driver."""
        try:
            if self._instead is None and self._leases:
                driver.release_all(self._leases)
        finally:
            driver.close()


def _write_and_forget(driver: Storage) -> None:
    """Check that a storage can be written to."""
    driver.release("", driver.lease("", 1) or "")


class _Trial:
    """A call that goes to the driver even while it fails."""

    def __init__(self, act: Callable[[Storage], object]) -> None:
        self._act = act

    def __call__(self, driver: Storage) -> object:
        return self._act(driver)
