"""How long a waiting request keeps its place in the downloader.

A request in the downloader occupies one of `CONCURRENT_REQUESTS`. While the downloader has free places, that costs nothing,
so a request keeps its place for `PATIENCE_SECS`. While the downloader is full, a waiting request takes the place of one that
could go on. Then it keeps its place only for three times the mean time of the last answers.

When its patience is over, a request leaves the downloader. A request that cannot leave keeps its place, but the place no
longer counts.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred

from ..concurrency import Closing
from ..engine import is_full, uncounted

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler

_T = TypeVar("_T")

PATIENCE_SECS = 1.0
LOOK_SECS = 0.1  # how often to call `Patience.look`; the least patience

_USUAL_SECS_AT_FIRST = 0.1
_REMEMBERED = 8  # answers, whose mean time counts as usual


class Leaves(Exception):  # noqa: N818  not an error
    """The request must wait outside the downloader."""


class _Place:
    """A place in the downloader where a request waits."""

    __slots__ = ("may_leave", "over", "request", "since", "uncounted")

    def __init__(self, request: Request, *, may_leave: bool) -> None:
        self.request = request
        self.since = time.monotonic()
        self.may_leave = may_leave
        self.over = False  # the patience
        self.uncounted = ExitStack()


class Patience:
    """The places in the downloader of one crawl where requests wait."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._places: dict[Deferred[Any], _Place] = {}
        self._usual_secs = _USUAL_SECS_AT_FIRST
        self._closing = False

    async def keep_place(
        self, request: Request, wanted: Coroutine[Any, Any, _T], *, may_leave: bool, patient: bool = True
    ) -> _T:
        """Await `wanted`, which `request` needs, while `request` keeps its place in the downloader.

        Args:
            request: the request that waits.
            wanted: what it waits for.
            may_leave: whether it can leave its place.
            patient: whether its place counts at first.

        Raises:
            Leaves: that took too long, and `request` may leave.
            Closing: the crawl is closing.
        """
        if self._closing:
            wanted.close()
            raise Closing
        waiting: Deferred[_T] = deferred_from_coro(wanted)
        place = self._places[waiting] = _Place(request, may_leave=may_leave)
        if not patient:
            self._end(waiting, place)
        try:
            return await maybe_deferred_to_future(waiting)
        except (CancelledError, asyncio.CancelledError):
            if self._closing:
                raise Closing from None
            if place.over:
                raise Leaves from None
            raise
        finally:
            del self._places[waiting]
            place.uncounted.close()

    def answered_in(self, secs: float) -> None:
        """Note that an answer took `secs` seconds."""
        self._usual_secs += (secs - self._usual_secs) / _REMEMBERED

    def look(self) -> None:
        """Find the requests that have waited too long."""
        patience = PATIENCE_SECS
        if is_full(self._crawler):
            patience = min(PATIENCE_SECS, max(LOOK_SECS, 3 * self._usual_secs))
        now = time.monotonic()
        for waiting, place in list(self._places.items()):
            if not place.over and now - place.since >= patience:
                self._end(waiting, place)

    def close(self) -> None:
        """Let all requests leave: the crawl is closing."""
        self._closing = True
        for waiting in list(self._places):
            waiting.cancel()

    def _end(self, waiting: Deferred[Any], place: _Place) -> None:
        """End the patience with a request: it leaves its place, or its place no longer counts."""
        place.over = True
        if place.may_leave:
            waiting.cancel()
        else:
            place.uncounted.enter_context(uncounted(self._crawler, place.request))
