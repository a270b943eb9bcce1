"""Waiting, threads and background work, the same under the asyncio reactor, another reactor, and without a reactor.

Under the asyncio reactor and without a reactor, Scrapy lets a coroutine await only asyncio futures; under another reactor,
only Deferreds. A coroutine may await everything in this module in all three cases.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred, DeferredSemaphore

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from twisted.python.failure import Failure

_P = ParamSpec("_P")
_T = TypeVar("_T")
_I = TypeVar("_I")
_R = TypeVar("_R")

logger = logging.getLogger(__name__)

try:
    from scrapy.utils.asyncio import run_in_thread
except ImportError:  # before Scrapy 2.15, where there is always a reactor

    async def run_in_thread(func: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call `func` in a thread and return its result, as Scrapy 2.15 and newer do."""
        from twisted.internet.threads import deferToThread  # noqa: PLC0415  installs a reactor where there is none

        result: _T = await maybe_deferred_to_future(deferToThread(func, *args, **kwargs))
        return result


__all__ = [
    "Background",
    "BatchThread",
    "Closing",
    "OneThread",
    "Places",
    "Turnstile",
    "pause",
    "run_in_thread",
    "within",
]


class Closing(Exception):  # noqa: N818  not an error
    """The crawl is closing; there is nothing left to wait for."""


async def pause(secs: float) -> None:
    """Wait for `secs` seconds. A cancelled wait leaves no timer behind."""
    over: Deferred[None] = Deferred()
    timer = call_later(secs, over.callback, None)
    try:
        await maybe_deferred_to_future(over)
    finally:
        timer.cancel()


async def within(secs: float, work: Coroutine[Any, Any, _T]) -> _T:
    """Await `work` for at most `secs` seconds, then cancel it.

    Raises:
        TimeoutError: `work` took longer.
    """
    under_way: Deferred[_T] = deferred_from_coro(work)
    late = False

    def give_up() -> None:
        nonlocal late
        late = True
        under_way.cancel()

    timer = call_later(secs, give_up)
    try:
        return await maybe_deferred_to_future(under_way)
    except (CancelledError, asyncio.CancelledError):
        if late:
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()


class OneThread:
    """A thread for calls that may take long; it makes them one after another."""

    def __init__(self) -> None:
        self._calls = ThreadPoolExecutor(1, "gbot_robots")

    async def run(self, func: Callable[[], _T]) -> _T:
        """Call `func` in the thread and return its result. Cancelling this does not end a call that has begun."""
        if is_asyncio_available():
            return await asyncio.get_running_loop().run_in_executor(self._calls, func)
        from twisted.internet import reactor  # noqa: PLC0415  not before one is installed

        over: Deferred[None] = Deferred()
        call = self._calls.submit(func)
        call.add_done_callback(lambda _: reactor.callFromThread(_call_back, over))
        await over
        return call.result()

    def end(self) -> None:
        """Take no further calls; the thread still makes those that wait."""
        self._calls.shutdown(wait=False)


class BatchThread(Generic[_I, _R]):
    """A thread for calls that may take long. All calls that wait become one batch.

    Operations wanted: many coroutines call a slow storage at the same time. A batch must cost one hop to the thread and one
    back, and no coroutine may wait longer than `secs` for a storage that hangs.

    Plan: `ask` puts its item into a queue and waits at a turnstile. The thread takes whatever is in the queue, up to
    `most` items, as one batch. It hands the results to the reactor's thread, which opens the turnstiles. One timer watches
    the oldest call.

    Example: the thread is idle, and `ask(a)` comes: the batch is [a]. While the thread works, `ask(b)` and `ask(c)` come:
    the next batch is [b, c].

    Warning: a thread cannot be ended. When a call is late, all calls that wait raise TimeoutError, and `work` goes on in
    the thread until it ends by itself, or because `late` made it end.

    Args:
        work: called in the thread with the items of a batch, in order; returns one result for each. If it raises, each
            call of the batch raises the same exception.
        most: the most items in a batch.
        secs: the longest wait for a call. Then this call and all behind it raise TimeoutError.
        late: called in the reactor's thread when a call is late; it may make `work` end.
    """

    def __init__(
        self,
        work: Callable[[list[_I]], Sequence[_R]],
        *,
        most: int,
        secs: float,
        late: Callable[[], object] = lambda: None,
    ) -> None:
        self._work = work
        self._most = most
        self._secs = secs
        self._late = late
        self._queue: deque[_Call[_I, _R]] = deque()
        self._calls: dict[_Call[_I, _R], None] = {}  # those that a coroutine waits for, in order
        self._changed = Condition()
        self._thread: Thread | None = None
        self._ended = False
        self._call_reactor: Callable[..., object] = lambda: None
        self._timer: Any = None  # of `_watch`, while there are calls

    async def ask(self, item: _I) -> _R:
        """Let the thread work on `item`, and return the result. Cancelling this does not end work that has begun.

        Raises:
            TimeoutError: it took too long. An item that is still in the queue is dropped.
            Exception: any exception that `work` raised.
        """
        if self._thread is None:
            self._start()
        call: _Call[_I, _R] = _Call(item)
        self._calls[call] = None
        with self._changed:
            self._queue.append(call)
            self._changed.notify()
        if self._timer is None:
            self._timer = call_later(self._secs, self._watch)
        try:
            await call.over.wait()
        finally:
            self._calls.pop(call, None)
        if call.error is not None:
            raise call.error
        return cast("_R", call.result)

    def end(self) -> None:
        """Take no further calls; the thread still works on those that wait."""
        if self._timer is not None:
            self._timer.cancel()
        with self._changed:
            self._ended = True
            self._changed.notify()

    def _start(self) -> None:
        if is_asyncio_available():
            self._call_reactor = asyncio.get_running_loop().call_soon_threadsafe
        else:
            from twisted.internet import reactor  # noqa: PLC0415  not before one is installed

            self._call_reactor = reactor.callFromThread
        self._thread = Thread(target=self._serve, name="gbot_robots", daemon=True)  # may hang, yet the process ends
        self._thread.start()

    def _serve(self) -> None:
        """In the thread: work on batches until `end` is called."""
        while batch := self._next_batch():
            results: Sequence[_R] = ()
            error: Exception | None = None
            try:
                results = self._work([call.item for call in batch])
            except Exception as raised:
                error = raised
            with suppress(RuntimeError):  # the event loop is closed: no coroutine waits any more
                self._call_reactor(self._deliver, batch, results, error)

    def _next_batch(self) -> list[_Call[_I, _R]]:
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._ended)
            return [self._queue.popleft() for _ in range(min(len(self._queue), self._most))]

    @staticmethod
    def _deliver(batch: list[_Call[_I, _R]], results: Sequence[_R], error: Exception | None) -> None:
        for place, call in enumerate(batch):
            if error is not None:
                call.end(error=error)
            else:
                call.end(result=results[place])

    def _watch(self) -> None:
        """Check whether the oldest call is late; run again while there are calls."""
        self._timer = None
        oldest = next(iter(self._calls), None)
        if oldest is None:
            return
        left = oldest.asked_at + self._secs - time.monotonic()
        if left > 0:
            self._timer = call_later(left, self._watch)
            return
        with self._changed:
            self._queue.clear()
        for call in list(self._calls):
            call.end(error=TimeoutError(f"no answer within {self._secs:g} s"))
        self._late()


class _Call(Generic[_I, _R]):
    """One item for a `BatchThread`, and its result."""

    __slots__ = ("asked_at", "error", "item", "over", "result")

    def __init__(self, item: _I) -> None:
        self.item = item
        self.asked_at = time.monotonic()
        self.over = Turnstile()
        self.result: _R | None = None
        self.error: Exception | None = None

    def end(self, *, result: _R | None = None, error: Exception | None = None) -> None:
        """Set the result, and let the waiting coroutine go on. Only the first call counts."""
        if not self.over.is_open:
            self.result, self.error = result, error
            self.over.open()


class Turnstile:
    """Lets all waiting coroutines go on at once, and all later ones straight through.

    Each waiter has a Deferred of its own: a shared one would give its result to the first waiter only.
    """

    __slots__ = ("_opened", "_waiting")

    def __init__(self) -> None:
        self._opened = False
        self._waiting: set[Deferred[None] | asyncio.Future[None]] = set()

    @property
    def is_open(self) -> bool:
        """Whether `open` was called."""
        return self._opened

    async def wait(self) -> None:
        """Wait until `open` is called. Cancelling one waiter does not affect the others."""
        if self._opened:
            return
        if is_asyncio_available():  # a future of its own costs a fraction of a Deferred that is turned into one
            turn: Deferred[None] | asyncio.Future[None] = asyncio.get_running_loop().create_future()
        else:
            turn = Deferred()
        self._waiting.add(turn)
        try:
            await turn
        finally:
            self._waiting.discard(turn)

    def open(self) -> None:
        """Let all waiters go on."""
        self._opened = True
        for turn in list(self._waiting):
            if isinstance(turn, Deferred):
                _call_back(turn)
            elif not turn.done():  # it was not cancelled
                turn.set_result(None)


class Places:
    """Lets at most `number` coroutines at a time into `async with`; the others wait for their turn."""

    def __init__(self, number: int) -> None:
        self._free = DeferredSemaphore(number)

    async def __aenter__(self) -> None:
        await maybe_deferred_to_future(self._free.acquire())

    async def __aexit__(self, *error: object) -> None:
        self._free.release()


class Background:
    """Coroutines that run by themselves. The garbage collector does not lose them, and `ended` waits for them."""

    def __init__(self) -> None:
        self._running: dict[Deferred[None], Turnstile] = {}

    def start(self, work: Coroutine[Any, Any, None], then: Callable[[], object] = lambda: None) -> None:
        """Run `work`, log its exception if it raises one, and call `then` when it has ended in any way.

        Put what must happen into `then`, not into a `finally` of the coroutine: a coroutine that is cancelled before it has
        begun does not run its `finally`.
        """
        running = deferred_from_coro(work)
        ended = self._running[running] = Turnstile()

        def end(_: object) -> None:
            self._running.pop(running, None)
            then()
            ended.open()

        running.addErrback(_log_unless_cancelled).addBoth(end)

    def cancel(self) -> None:
        """Cancel all that still run. Call this once only: a second cancellation would interrupt their clean-up."""
        for running in list(self._running):
            running.cancel()

    async def ended(self) -> None:
        """Wait until all have ended."""
        for ended in list(self._running.values()):
            await ended.wait()


def _call_back(waiting: Deferred[None]) -> None:
    if not waiting.called:  # it was not cancelled
        waiting.callback(None)


def _log_unless_cancelled(failure: Failure) -> None:
    if not isinstance(failure.value, (CancelledError, asyncio.CancelledError)):
        logger.error(
            "Unexpected error in background work, the crawl goes on: %s", failure.value, exc_info=failure.value
        )
