"""The storage as a crawl uses it: off the reactor, and never in the crawl's way.

Calls of a driver that may wait for a disk or a network run in a thread. When a driver fails, that is said once, and the
crawl goes on from memory; the driver is tried again now and then and taken up again when it answers.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.misc import build_from_crawler, load_object

from .concurrency import run_in_thread
from .storage.base import StorageError
from .storage.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from .policy.entry import Entry
    from .settings import GbotSettings
    from .storage.base import Storage

_T = TypeVar("_T")

TRY_AGAIN_SECS = 30

logger = logging.getLogger(__name__)


def driver_for(settings: GbotSettings, crawler: Crawler | None = None) -> Callable[[], Storage]:
    """Return what opens the storage that the settings name. Opening may wait for a disk or a network.

    Raises:
        NameError, ImportError: the storage's class or its driver is not installed.
    """
    if settings.storage == "memory" or (settings.storage == "sqlite" and settings.sqlite_path is None):
        return MemoryStorage
    if settings.storage == "sqlite":
        from .storage.sqlite import SqliteStorage  # noqa: PLC0415  only what is used is loaded

        path = settings.sqlite_path
        assert path is not None  # noqa: S101  for the type checker
        return lambda: SqliteStorage(path, max_body=settings.max_bytes, tell=logger.warning)
    if settings.storage == "redis":
        from .storage.redis import RedisStorage  # noqa: PLC0415  redis-py is an extra

        return lambda: RedisStorage(settings.redis_url, max_body=settings.max_bytes)
    storage_cls: Any = load_object(settings.storage)
    return lambda: build_from_crawler(storage_cls, crawler) if crawler is not None else storage_cls()


class Store:
    """Entries by origin, for coroutines. Nothing here raises because a storage is in trouble."""

    def __init__(self, opens: Callable[[], Storage], stats: StatsCollector) -> None:
        self._opens = opens
        self._stats = stats
        self._driver: Storage | None = opens() if opens is MemoryStorage else None
        self._instead: MemoryStorage | None = None  # while the driver is in trouble
        self._try_again_at = 0.0

    async def get(self, origin: str) -> Entry | None:
        """The entry of `origin`, or None."""
        return await self._call(lambda driver: driver.get(origin))

    async def put(self, origin: str, entry: Entry) -> None:
        """Keep `entry` as that of `origin`."""
        await self._call(lambda driver: driver.put(origin, entry))

    async def lease(self, origin: str, secs: float) -> str | None:
        """A token if this process may fetch for `origin` for the next `secs` seconds; None while another one may."""
        return await self._call(lambda driver: driver.lease(origin, secs))

    async def release(self, origin: str, token: str) -> None:
        """Give back what `lease` gave."""
        await self._call(lambda driver: driver.release(origin, token))

    async def close(self) -> None:
        """Close the driver."""
        if self._driver is not None:
            driver, self._driver = self._driver, None
            try:
                await self._off_the_reactor(driver, driver.close)
            except StorageError as error:
                logger.warning("Closing the robots.txt storage failed: %s", error)

    async def _call(self, act: Callable[[Storage], _T]) -> _T:
        if self._instead is not None and time.monotonic() < self._try_again_at:
            return act(self._instead)
        try:
            if self._driver is None:
                self._driver = await run_in_thread(self._opens)
            driver = self._driver
            result = await self._off_the_reactor(driver, lambda: act(driver))
        except StorageError as error:
            return act(self._fall_back(error))
        if self._instead is not None:
            self._instead = None
            logger.info("The robots.txt storage answers again and is used again")
        return result

    @staticmethod
    async def _off_the_reactor(driver: Storage, act: Callable[[], _T]) -> _T:
        return act() if isinstance(driver, MemoryStorage) else await run_in_thread(act)

    def _fall_back(self, error: StorageError) -> MemoryStorage:
        self._stats.inc_value("gbot_robots/storage/errors")
        self._try_again_at = time.monotonic() + TRY_AGAIN_SECS
        if self._instead is None:
            self._instead = MemoryStorage()
            logger.warning(
                "The robots.txt storage failed; robots.txt files are kept in memory, by this process alone, until it "
                "answers again: %s",
                error,
            )
        return self._instead
