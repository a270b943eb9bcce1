"""A thread for calls that may take long. All calls that wait become one batch.

Operations wanted: many coroutines call a slow storage at the same time. A batch must cost one hop to the thread and one
back, and no coroutine may wait longer than `secs` for a storage that hangs.

Plan: `ask` puts its item into a queue and waits at a turnstile. The thread takes whatever is in the queue, up to `most`
items, as one batch. It hands the results to the reactor's thread, which opens the turnstiles. One timer watches the oldest
call.

Example: the thread is idle, and `ask(a)` comes: the batch is [a]. While the thread works, `ask(b)` and `ask(c)` come: the
next batch is [b, c].

Warning: a thread cannot be ended. When a call is late, all calls that wait raise TimeoutError, and `work` goes on in the
thread until it ends by itself, or because `late` made it end.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from scrapy.utils.asyncio import call_later, is_asyncio_available

from ..concurrency import Turnstile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_I = TypeVar("_I")
_R = TypeVar("_R")


class BatchThread(Generic[_I, _R]):
    """A thread that works on items in batches.

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
        self._calls: dict[_Call[_I, _R], None] = {}  # that coroutines wait for, in order
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
        """Take no further calls; the thread still works on the calls that wait."""
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
