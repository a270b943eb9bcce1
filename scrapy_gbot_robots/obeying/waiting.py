"""Requests that wait for a robots.txt: outside the downloader, bounded in number, and not lost when the crawl closes.

A waiting request takes none of `CONCURRENT_REQUESTS`, so an origin that does not answer costs the others nothing. When
the crawl begins to close, the waiting ends at once: `Closing` is raised, and the middleware gives the request back to
the scheduler, which keeps it if there is a JOBDIR.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred

from ..concurrency import Closing
from ..engine import uncounted

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from scrapy.crawler import Crawler

_T = TypeVar("_T")

MOST_ASIDE = 1000  # requests; those beyond it wait inside the downloader, which then takes no more from the scheduler
_LOOK_SECS = 0.25


class Holds:
    """The requests of one crawl that wait for a robots.txt."""

    def __init__(self, crawler: Crawler, on_closing: Callable[[], None] = lambda: None) -> None:
        self._crawler = crawler
        self._on_closing = on_closing
        self._waiting: set[Deferred[Any]] = set()
        self._aside = 0
        self.closing = False
        self._looking = create_looping_call(self._look)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    async def wait(self, wanted: Coroutine[Any, Any, _T]) -> _T:
        """Await `wanted`.

        Raises:
            Closing: the crawl began to close first.
        """
        if self.closing:
            wanted.close()
            raise Closing
        waiting: Deferred[_T] = deferred_from_coro(wanted)
        self._waiting.add(waiting)
        try:
            return await maybe_deferred_to_future(waiting)
        except (CancelledError, asyncio.CancelledError):
            if self.closing:
                raise Closing from None
            raise
        finally:
            self._waiting.discard(waiting)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Let a request that waits take none of CONCURRENT_REQUESTS, as long as there is room."""
        if self._aside >= MOST_ASIDE:
            yield
            return
        self._aside += 1
        try:
            with uncounted(self._crawler):
                yield
        finally:
            self._aside -= 1

    def _spider_opened(self) -> None:
        self._looking.start(_LOOK_SECS, now=False)

    def _look(self) -> None:
        """See whether the crawl has begun to close: Scrapy has no signal for it before the scheduler is closed."""
        slot = getattr(self._crawler.engine, "_slot", None)
        if slot is not None and slot.closing is not None and not self.closing:
            self.closing = True
            self._on_closing()
            for waiting in list(self._waiting):
                waiting.cancel()

    def _spider_closed(self) -> None:
        if self._looking.running:
            self._looking.stop()
