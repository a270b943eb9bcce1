"""One download through Scrapy's engine that always ends, whatever the download handler does.

Boundary: `failures` says what the end means.
Source: Scrapy's downloader, 2.14 to 2.19, which waits as long as a download handler does.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred

from ..engine import is_forgotten, is_transferring

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure as Failed

    from .exchange import Exchange

GRACE_SECS = 1.0  # extra time for a download handler to observe the time-out by itself
LOOK_SECS = 0.5  # between two looks at what the downloader does with the request


class Download:
    """A download that certainly ends: with a response, with an exception as a value, or cancelled after a time-out.

    Some download handlers ignore `download_timeout`. The time runs only while the handler has the request, not in the
    downloader's queue or in other middlewares. Other handlers end in a way that Scrapy does not notice (`is_forgotten`).

    Args:
        crawler: of the crawl.
        work: the download.
        exchange: notes what happens to the request.
        secs: for how long the handler may have the request.
    """

    def __init__(self, crawler: Crawler, work: Coroutine[Any, Any, Response], exchange: Exchange, secs: float) -> None:
        self._crawler = crawler
        self._exchange = exchange
        self._secs = secs + GRACE_SECS
        self._began: float | None = None  # when the handler was first seen to have the request
        self._was_forgotten = False  # at the last look
        self._over: Deferred[list[Response | BaseException]] = Deferred(self._cancelled)
        self._timer = call_later(LOOK_SECS, self._look)
        self._download = deferred_from_coro(work)
        self._download.addCallbacks(self._succeeded, self._failed)

    async def result(self) -> Response | BaseException:
        """Wait for the end. An exception of the handler is returned, even its own cancellation; only ours is raised."""
        try:
            (result,) = await maybe_deferred_to_future(self._over)
        finally:
            self._timer.cancel()
        return result

    def _succeeded(self, response: Response) -> None:
        self._end(response)

    def _failed(self, failure: Failed) -> None:
        self._end(failure.value or RuntimeError("the download failed without an exception"))

    def _end(self, result: Response | BaseException) -> None:
        if not self._over.called:
            self._over.callback([result])  # in a list: a Deferred would raise an exception that is its result

    def _give_up(self, error: Exception) -> None:
        self._end(error)
        self._download.cancel()

    def _cancelled(self, over: Deferred[list[Response | BaseException]]) -> None:
        over.errback(CancelledError())
        self._download.cancel()

    def _look(self) -> None:
        request = self._exchange.request
        now = time.monotonic()
        was_forgotten = self._was_forgotten
        self._was_forgotten = request is not None and is_forgotten(self._crawler, request)
        if was_forgotten and self._was_forgotten:
            self._give_up(CancelledError("the download handler was cancelled, or ended in no way that Scrapy notices"))
            return
        if request is None or not is_transferring(self._crawler, request):
            self._began = None
        elif self._began is None:
            self._began = now
        elif now - self._began >= self._secs:
            self._give_up(TimeoutError("the download handler did not observe the time-out"))
            return
        self._timer = call_later(LOOK_SECS, self._look)
