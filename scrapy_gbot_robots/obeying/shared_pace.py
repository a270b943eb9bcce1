"""`GBOT_ROBOTS_CRAWL_DELAY_SHARED`: one crawl-delay for all processes that share a Redis.

Each process applies the delay in its own download slots (`crawl_delay`). In addition, a request of such a slot waits for its
turn just before it is sent. A turn before a middleware or a queue would be of no use: these could bring the requests of two
processes together again. While a request waits, it occupies one transfer of its slot, like a request to a slow host.

If the Redis fails, each process applies the delay by itself. The log says so once, and the Redis is tried again later.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from ..concurrency import OneThread, Places, pause
from ..core.urls import shown
from ..storage.base import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.statscollectors import StatsCollector

    from ..storage.redis import RedisStorage

TRY_AGAIN_SECS = 30.0

logger = logging.getLogger(__name__)


class SharedPace:
    """Lets the requests of a slot wait for their turn among all processes.

    Args:
        opens: makes the turns; called in the thread, at the first request.
        stats: the stats that count the requests that waited.
    """

    def __init__(self, opens: Callable[[], RedisStorage], stats: StatsCollector) -> None:
        self._opens = opens
        self._stats = stats
        self._turns: RedisStorage | None = None
        self._thread = OneThread()
        self._asking: WeakValueDictionary[str, Places] = WeakValueDictionary()  # by slot
        self._lost = False
        self._try_again_at = 0.0

    async def turn(self, slot: str, secs: float) -> None:
        """Wait for the next turn of the download slot `slot`, whose requests are `secs` seconds apart."""
        if time.monotonic() < self._try_again_at:
            return
        async with self._asking.setdefault(slot, Places(1)):  # one of this process asks at a time
            try:
                while wait := await self._thread.run(lambda: self._opened().take_turn(slot, secs)):
                    await pause(wait)
            except StorageError as error:
                self._fall_back(error)
                return
        if self._lost:
            self._lost = False
            logger.info("This process shares the crawl-delay with the other processes again")
        self._stats.inc_value("gbot_robots/crawl_delay/turns")

    async def close(self) -> None:
        """Close the connections."""
        if self._turns is not None:
            await self._thread.run(self._turns.close)
        self._thread.end()

    def _opened(self) -> RedisStorage:
        if self._turns is None:
            self._turns = self._opens()
        return self._turns

    def _fall_back(self, error: StorageError) -> None:
        self._try_again_at = time.monotonic() + TRY_AGAIN_SECS
        self._stats.inc_value("gbot_robots/storage/errors")
        if not self._lost:
            self._lost = True
            logger.warning(
                "This process cannot share the crawl-delay with the others now, and applies it by itself; it tries again "
                "later. GBOT_ROBOTS_REDIS_URL or _CLIENT names the Redis: %s",
                shown(str(error), limit=500),
            )
