"""Wait, use threads and run background work, under any reactor and without a reactor.

Scrapy may run with the asyncio reactor of Twisted, with a different reactor, or without a reactor.
With a different reactor, its coroutines may await only Deferreds. With the asyncio reactor or
without a reactor, they may await only asyncio futures. The coroutines in this module can be awaited
in all three cases.
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

from scrapy.utils.asyncio import AsyncioLoopingCall, call_later, is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.reactor import is_asyncio_reactor_installed, is_reactor_installed
from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.task import LoopingCall, deferLater
from twisted.python.failure import Failure

_T = TypeVar("_T")

logger = logging.getLogger(__name__)


def reactor() -> Any:
    """Return the installed reactor.

    The result is `Any` because only some versions of Twisted have type hints for its methods.
    """
    return sys.modules["twisted.internet.reactor"]


async def pause(secs: float) -> None:
    """Wait for `secs` seconds."""
    if is_asyncio_available():
        await asyncio.sleep(secs)
    else:
        await deferLater(reactor(), secs)


def looping_call(func: Callable[[], None]) -> LoopingCall | AsyncioLoopingCall:
    """Return an object whose `start(secs)` calls `func` every `secs` seconds, until its `stop`.

    With asyncio, the calls do not depend on the system's clock. With a different reactor, they do:
    if the clock is set back, the calls stop until the clock has caught up.
    """
    if not is_reactor_installed():
        return AsyncioLoopingCall(func)
    if not is_asyncio_reactor_installed():
        return LoopingCall(func)

    # The asyncio reactor removes cancelled timers only when one of its timers fires. Scrapy's
    # downloads cancel two timers for each page, and these could otherwise stay in memory for
    # minutes. So after each call, the reactor fires a timer that does nothing.
    def call() -> None:
        reactor().callLater(0, lambda: None)
        func()

    return AsyncioLoopingCall(call)


def wake(waiting: Deferred[_T], result: _T) -> None:
    """Let the coroutine that awaits `waiting` continue with `result`.

    The coroutine continues in a later iteration of the event loop, after the caller of `wake` has
    returned. If the coroutine was cancelled, `wake` has no effect.
    """
    call_later(0, waiting.callback, result)


class TimeLimit:
    """Limits the time that a coroutine may take.

    The coroutine may lift the limit, for example while it waits for a download. With `begin`, it
    sets the limit again.

    Args:
        secs: the limit in seconds.

    Attributes:
        lift: a function without arguments that lifts the limit until `begin` is called.
    """

    def __init__(self, secs: float) -> None:
        self._secs = secs
        self._is_over = False
        self._work: Any = None
        self.lift: Callable[[], object] = lambda: None  # `begin` replaces this function.

    async def on(self, work: Coroutine[Any, Any, _T], why: str = "") -> _T:
        """Await `work`, and return its result. When the limit is reached, cancel `work`.

        Even with a limit of 0 seconds, `work` runs until it has to wait for the first time.

        Args:
            work: the coroutine.
            why: the text of the TimeoutError.

        Raises:
            TimeoutError: `work` took longer than the limit.
        """
        self.begin()
        try:
            if is_asyncio_available():
                # `work` is awaited in the current task. If it ran in a new task, the result would
                # arrive one iteration of the event loop later.
                self._work = asyncio.current_task()
                return await work
            # This call runs `work` until it waits for the first time. `work` may lift the limit.
            running: Deferred[_T] = deferred_from_coro(work)
            self._work = running
            return await maybe_deferred_to_future(running)
        except (asyncio.CancelledError, CancelledError) as error:
            if self._is_over:
                raise TimeoutError(why) from error
            raise
        finally:
            self.lift()
            # In Python 3.10, a task has no method `uncancel`.
            if self._is_over and hasattr(self._work, "uncancel"):
                self._work.uncancel()

    def begin(self) -> None:
        """Set the limit. The time is measured from this call."""
        self.lift = call_later(self._secs, self._cancel).cancel

    def _cancel(self) -> None:
        self._is_over = True
        self._work.cancel()


async def within(secs: float, work: Coroutine[Any, Any, _T], why: str = "") -> _T:
    """Await `work` for at most `secs` seconds, and return its result.

    Raises:
        TimeoutError: `work` took longer, and was cancelled. The text of the error is `why`.
    """
    return await TimeLimit(secs).on(work, why)


class OneThread:
    """A thread that makes slow calls, one after another.

    The thread is a daemon. So even if a call never returns, the process can end.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._has_begun = False

    async def run(self, func: Callable[..., _T], *args: Any) -> _T:
        """Call `func` with `args` in the thread, and return its result.

        If this coroutine is cancelled, the call in the thread still goes on.
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
            # If the event loop is closed, `call_back` raises a RuntimeError. It can be ignored,
            # because no coroutine is waiting for the result any more.
            with suppress(RuntimeError):
                call_back(end, result)  # If `run` was cancelled, this has no effect.

        self._calls.put(make)
        return await maybe_deferred_to_future(over)

    def _serve(self) -> None:
        for call in iter(self._calls.get, None):  # `end` adds None, which ends the loop.
            call()
            del call  # Otherwise the arguments would stay in memory until the next call.

    def end(self) -> None:
        """Let the thread end when it has made the calls in its queue.

        After this, `run` must not be called any more.
        """
        self._calls.put(None)


# The thread of `run_in_thread`. There is only one, because several threads that read large files
# would compete with the event loop for Python's global interpreter lock. The event loop would then
# stop for tenths of a second.
_READING = OneThread()


async def run_in_thread(func: Callable[..., _T], *args: Any) -> _T:
    """Call `func` with `args` in a thread, and return its result.

    Use it for a function that needs milliseconds or longer to compute its result. All calls in the
    process share one thread.
    """
    return await _READING.run(func, *args)


class Background:
    """Runs coroutines in the background.

    It keeps references to the running coroutines, so that the garbage collector does not remove
    them.
    """

    def __init__(self) -> None:
        self._running: set[Deferred[None]] = set()

    def start(
        self, work: Coroutine[Any, Any, None], then: Callable[[], object] = lambda: None
    ) -> None:
        """Start `work`, and call `then` when `work` has ended. Log an exception of `work`.

        Neither `work` nor `then` runs before this method has returned.

        If `work` is cancelled before it starts, none of its code runs, not even a `finally` block.
        So clean-up code belongs in `then`.
        """
        # In asyncio, a new task begins in the next iteration of the event loop. But without
        # asyncio, `deferred_from_coro` begins a coroutine at once. So `_after_this_call` delays
        # `work`.
        later = work if is_asyncio_available() else _after_this_call(work)
        running = deferred_from_coro(later)
        self._running.add(running)

        def end(_: object) -> None:
            self._running.discard(running)
            then()

        running.addErrback(_log_unless_cancelled).addBoth(end)

    def cancel(self) -> None:
        """Cancel all coroutines that are still running.

        Call this method only once. A second call would interrupt the clean-up in the coroutines.
        """
        for running in list(self._running):
            running.cancel()

    async def ended(self) -> None:
        """Wait until all coroutines in the background have ended."""
        while self._running:
            await maybe_deferred_to_future(DeferredList(list(self._running)))


async def _after_this_call(work: Coroutine[Any, Any, None]) -> None:
    try:
        await pause(0)
    except CancelledError:
        work.close()  # Python warns of a coroutine that was neither awaited nor closed.
        raise
    await work


def _log_unless_cancelled(failure: Failure) -> None:
    if not isinstance(failure.value, (CancelledError, asyncio.CancelledError)):
        logger.error(
            "Unexpected error in background work, the crawl goes on: %s",
            failure.value,
            exc_info=failure.value,
        )
