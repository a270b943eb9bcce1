"""Wait, use threads and run background work, under any reactor and without a reactor.

Under the asyncio reactor, and without a reactor, a coroutine of Scrapy may await only asyncio
futures. Under another reactor it may await only Deferreds. A coroutine may await everything in this
module in all three cases.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.task import deferLater
from twisted.python.failure import Failure

_T = TypeVar("_T")

logger = logging.getLogger(__name__)


def reactor() -> Any:
    """Return the installed reactor.

    The result is `Any` because only some versions of Twisted have types for its methods.
    """
    return sys.modules["twisted.internet.reactor"]


async def pause(secs: float) -> None:
    """Wait for `secs` seconds. A cancelled wait leaves no timer behind."""
    if is_asyncio_available():
        await asyncio.sleep(secs)
    else:
        await deferLater(reactor(), secs)


class TimeLimit:
    """A limit on the time of some work. Time in which the limit is lifted does not count.

    Attributes:
        lift: a function that stops the clock until the next `begin`.
    """

    def __init__(self, secs: float) -> None:
        self._secs = secs
        self._is_over = False
        self._work: Any = None
        self.lift: Callable[[], object] = lambda: None  # `begin` replaces it.

    async def on(self, work: Coroutine[Any, Any, _T], why: str = "") -> _T:
        """Await `work`, and cancel it when the time is over.

        Even with 0 seconds, `work` runs until it first has to wait.

        Raises:
            TimeoutError: `work` took longer. The text of the error is `why`.
        """
        self.begin()
        try:
            if is_asyncio_available():
                # The work runs in the task that awaits it. In another task, its result would wait
                # for one more turn of the event loop.
                self._work = asyncio.current_task()
                return await work
            running: Deferred[_T] = deferred_from_coro(work)  # `work` may lift the limit here.
            self._work = running
            return await maybe_deferred_to_future(running)
        except (asyncio.CancelledError, CancelledError) as error:
            if self._is_over:
                raise TimeoutError(why) from error
            raise
        finally:
            self.lift()
            if self._is_over and hasattr(self._work, "uncancel"):  # Python 3.11 and newer
                self._work.uncancel()

    def begin(self) -> None:
        """Start the time, or start it again from the beginning."""
        self.lift = call_later(self._secs, self._cancel).cancel

    def _cancel(self) -> None:
        self._is_over = True
        self._work.cancel()


async def within(secs: float, work: Coroutine[Any, Any, _T]) -> _T:
    """Await `work` for at most `secs` seconds, then cancel it.

    Raises:
        TimeoutError: `work` took longer.
    """
    return await TimeLimit(secs).on(work)


class OneThread:
    """A thread for calls that may take long. It makes one call after another.

    The process can end while a call hangs.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._has_begun = False

    async def run(self, func: Callable[..., _T], *args: Any) -> _T:
        """Call `func` in the thread and return its result.

        Cancelling this coroutine does not end the call.
        """
        if not self._has_begun:
            self._has_begun = True
            Thread(target=self._serve, name="gbot_robots", daemon=True).start()
        if is_asyncio_available():
            call_back = asyncio.get_running_loop().call_soon_threadsafe
        else:
            call_back = reactor().callFromThread
        over: Deferred[_T] = Deferred()

        def make() -> None:
            end: Callable[[Any], object] = over.callback
            try:
                result: Any = func(*args)
            except Exception as error:
                end = over.errback
                result = error
            # A RuntimeError means that the event loop is closed, so nothing waits for the result.
            with suppress(RuntimeError):
                call_back(end, result)  # This has no effect if `run` was cancelled.

        self._calls.put(make)
        return await maybe_deferred_to_future(over)

    def _serve(self) -> None:
        for call in iter(self._calls.get, None):  # `end` puts the None.
            call()
            del call  # Otherwise the arguments would stay in memory until the next call.

    def end(self) -> None:
        """Accept no further calls. The thread still makes the calls that wait."""
        self._calls.put(None)


# Several threads that read large files at the same time would compete with the event loop for the
# GIL, and the event loop would stop for tenths of a second.
_READING = OneThread()


async def run_in_thread(func: Callable[..., _T], *args: Any) -> _T:
    """Call `func`, which computes for a long time, in a thread, and return its result.

    The whole process has one thread for this.
    """
    return await _READING.run(func, *args)


class Background:
    """Coroutines that run in the background.

    The garbage collector does not remove them, and `ended` waits for them.
    """

    def __init__(self) -> None:
        self._running: set[Deferred[None]] = set()

    def start(
        self, work: Coroutine[Any, Any, None], then: Callable[[], object] = lambda: None
    ) -> None:
        """Run `work`, log its exception if it raises one, and call `then` when it has ended.

        An action that must happen belongs into `then`, not into a `finally` of the coroutine,
        because a coroutine that is cancelled before its start does not run its `finally`.
        """
        running = deferred_from_coro(work)
        self._running.add(running)

        def end(_: object) -> None:
            self._running.discard(running)
            then()

        running.addErrback(_log_unless_cancelled).addBoth(end)

    def cancel(self) -> None:
        """Cancel all coroutines that still run.

        Call this only once, because a second cancellation would interrupt their clean-up.
        """
        for running in list(self._running):
            running.cancel()

    async def ended(self) -> None:
        """Wait until all coroutines have ended."""
        while self._running:
            await maybe_deferred_to_future(DeferredList(list(self._running)))


def _log_unless_cancelled(failure: Failure) -> None:
    if not isinstance(failure.value, (CancelledError, asyncio.CancelledError)):
        logger.error(
            "Unexpected error in background work, the crawl goes on: %s",
            failure.value,
            exc_info=failure.value,
        )
