"""The storage as a crawl uses it: off the reactor, and never in the crawl's way.

What a driver does may take as long as a disk or a network: it is called in a thread, one call after another, and what
belongs together is one call. When a driver fails, that is said once and the crawl goes on from memory. The driver is
tried again now and then, by nobody who would have to wait for it; when it answers it is given what was learnt
meanwhile, and used again.

The leases that the crawl holds are remembered here: prolonged as long as the process lives, so that they can be short
and end soon when it dies, and given back at the latest when the crawl ends.
"""

from __future__ import annotations

import logging
import math
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import CancelledError

from ..concurrency import Background, OneThread, pause
from ..core.urls import shown
from ..storage.base import StorageError
from ..storage.memory import MAX_ENTRIES, MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from ..policy.entry import Entry
    from ..settings import GbotSettings
    from ..storage.base import Storage

_T = TypeVar("_T")

LEASE_SECS = 15.0  # after the death of its holder another process takes over
TRY_AGAIN_SECS = 30.0

logger = logging.getLogger(__name__)


def driver_for(settings: GbotSettings, crawler: Crawler | None = None) -> Callable[[], Storage]:
    """Return what opens the storage that the settings name. Opening may wait for a disk or a network.

    Raises:
        ImportError: the storage's class or its driver is not installed.
        ValueError: the setting names something else than a class.
    """
    if settings.storage == "memory" or (settings.storage == "sqlite" and settings.sqlite_path is None):
        return partial(MemoryStorage, max_entries=max(settings.cache_size, MAX_ENTRIES))
    if settings.storage == "sqlite":
        from ..storage.sqlite import SqliteStorage  # noqa: PLC0415  only what is used is loaded

        path = settings.sqlite_path
        assert path is not None  # noqa: S101  for the type checker
        return partial(SqliteStorage, path, max_body=settings.max_bytes, tell=logger.warning)
    if settings.storage == "redis":
        from ..storage.redis import RedisStorage  # noqa: PLC0415  redis-py is an extra

        return partial(RedisStorage, settings.redis_url, max_body=settings.max_bytes)
    try:
        storage_cls: Any = load_object(settings.storage)
    except (ImportError, NameError) as error:
        raise ImportError(
            f"GBOT_ROBOTS_STORAGE must name a class that can be imported, got {settings.storage!r}: {error}"
        ) from error
    if not isinstance(storage_cls, type):
        raise ValueError(f"GBOT_ROBOTS_STORAGE must name a class, got {settings.storage!r}, which is {storage_cls!r}")  # noqa: TRY004
    return partial(build_from_crawler, storage_cls, crawler) if crawler is not None else storage_cls


class Found(NamedTuple):
    """What the storage has for an origin, and whether this process has now to fetch it: then `settle` or `give_up`."""

    entry: Entry | None
    leased: bool


class Entries:
    """Entries by origin, for coroutines of one reactor. Nothing here raises because a storage is in trouble."""

    def __init__(self, opens: Callable[[], Storage], stats: StatsCollector) -> None:
        self._opens = opens
        self._stats = stats
        self._driver: Storage | None = None
        self._thread = OneThread()
        self._instead: MemoryStorage | None = None  # while the driver is in trouble
        self._try_again_at = 0.0
        self._leases: dict[str, str] = {}  # origin -> token; the thread puts into it, too
        self._prolonging = False
        self._background = Background()
        self._closed = False

    async def get(self, origin: str) -> Entry | None:
        """The entry of `origin`, or None."""
        return await self._call(lambda driver: driver.get(origin))

    async def put(self, origin: str, entry: Entry) -> None:
        """Keep `entry` as that of `origin`."""
        await self._call(lambda driver: driver.put(origin, entry))

    async def find(self, origin: str, is_good: Callable[[Entry | None], bool]) -> Found:
        """The entry of `origin`; where it is not good, the right to fetch as well, unless another process has it.

        `is_good` is called in the thread.
        """
        found = await self._call(lambda driver: self._find(driver, origin, is_good))
        if found.leased and not self._prolonging:
            self._prolonging = True
            self._background.start(self._prolong())
        return found

    async def settle(self, origin: str, entry: Entry) -> None:
        """Keep what was fetched with the right that `find` gave, and give that back."""

        def act(driver: Storage) -> None:
            driver.put(origin, entry)
            driver.release(origin, self._leases.pop(origin, ""))

        await self._call(act)

    async def give_up(self, origin: str) -> None:
        """Give back the right that `find` gave."""
        token = self._leases.pop(origin, "")
        await self._call(lambda driver: driver.release(origin, token))

    async def close(self) -> None:
        """Give back the rights that are left, and close the driver."""
        self._closed = True
        self._background.cancel()
        await self._background.ended()
        await self._thread.run(self._close)
        self._thread.end()

    def _find(self, driver: Storage, origin: str, is_good: Callable[[Entry | None], bool]) -> Found:
        entry = driver.get(origin)
        if is_good(entry):
            return Found(entry, leased=False)
        token = driver.lease(origin, LEASE_SECS)
        if token is None:
            return Found(entry, leased=False)
        latest = driver.get(origin)  # who had the lease just before may have put something better
        self._leases[origin] = token
        if is_good(latest) or self._closed:
            driver.release(origin, self._leases.pop(origin))
            return Found(latest, leased=False)
        return Found(latest, leased=True)

    async def _prolong(self) -> None:
        def act(driver: Storage) -> None:
            for origin, token in list(self._leases.items()):
                driver.prolong(origin, token, LEASE_SECS)

        try:
            while self._leases:
                await pause(LEASE_SECS / 3)
                await self._call(act)
        finally:
            self._prolonging = False

    async def _call(self, act: Callable[[Storage], _T]) -> _T:
        """Let `act` use the driver, or memory while that is in trouble."""
        if self._instead is not None:
            if time.monotonic() >= self._try_again_at and not self._closed:
                self._try_again_at = math.inf  # one try at a time
                self._background.start(self._try_again(self._instead))
            return act(self._instead)
        try:
            if isinstance(self._driver, MemoryStorage):
                return act(self._driver)
            return await self._thread.run(lambda: self._use_driver(act))
        except CancelledError:  # an Exception, unlike asyncio's own
            raise
        except Exception as error:  # a driver of the user's may raise anything
            return act(self._fall_back(error))

    def _use_driver(self, act: Callable[[Storage], _T]) -> _T:
        """In the thread: let `act` use the driver, unless that failed for others while this call waited."""
        if self._instead is not None:
            raise StorageError("it failed a moment ago")
        return act(self._opened())

    def _opened(self) -> Storage:
        if self._driver is None:
            self._driver = self._opens()
        return self._driver

    def _fall_back(self, error: Exception) -> MemoryStorage:
        self._stats.inc_value("gbot_robots/storage/errors")
        if self._instead is None:
            self._instead = MemoryStorage()
            self._try_again_at = time.monotonic() + TRY_AGAIN_SECS
            logger.warning(
                "The robots.txt storage failed. Until it answers again this process keeps robots.txt files in memory, "
                "for itself: %s",
                shown(str(error), limit=500),
                exc_info=None if isinstance(error, StorageError) else error,
            )
        return self._instead

    async def _try_again(self, instead: MemoryStorage) -> None:
        try:
            await self._thread.run(lambda: self._hand_over(instead))
        except Exception:  # as above; that it fails was said
            self._stats.inc_value("gbot_robots/storage/errors")
            self._try_again_at = time.monotonic() + TRY_AGAIN_SECS
        else:
            self._instead = None
            logger.info("The robots.txt storage answers again and is used again")

    def _hand_over(self, instead: MemoryStorage) -> None:
        """In the thread: give the driver what it does not know, or not as lately."""
        driver = self._opened()
        driver.release("", driver.lease("", LEASE_SECS) or "")  # whether it can be written to, with nothing to give too
        for origin in instead.origins():
            ours, theirs = instead.get(origin), driver.get(origin)
            if ours is not None and _fetched_at(ours) >= _fetched_at(theirs):
                driver.put(origin, ours)

    def _close(self) -> None:
        """In the thread: after all that was asked of it before."""
        if self._driver is None:
            return
        try:
            try:
                if self._instead is None:
                    for origin, token in self._leases.items():
                        self._driver.release(origin, token)
            finally:
                self._driver.close()
        except Exception as error:  # as above
            logger.warning("Closing the robots.txt storage failed: %s", shown(str(error), limit=500))


def _fetched_at(entry: Entry | None) -> float:
    return entry.copy.fetched_at if entry is not None and entry.copy is not None else 0.0
