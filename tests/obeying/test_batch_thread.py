"""Calls of one thread: all that wait go together, and each ends in time."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.obeying.batch_thread import BatchThread

from ..support.crawls import as_scrapy_runs_it, together, under_way

if TYPE_CHECKING:
    from collections.abc import Sequence


class Work:
    """Doubles numbers, and remembers the batches; waits for `go` before each batch."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.threads: set[threading.Thread] = set()
        self.go = threading.Event()

    def __call__(self, numbers: list[int]) -> Sequence[int]:
        self.batches.append(numbers)
        self.threads.add(threading.current_thread())
        assert self.go.wait(20)
        if 13 in numbers:
            raise ZeroDivisionError
        return [2 * number for number in numbers]


@as_scrapy_runs_it
async def test_waiting_calls_go_together_in_order_up_to_the_limit() -> None:
    work = Work()
    thread: BatchThread[int, int] = BatchThread(work, most=3, secs=30)
    first = under_way(thread.ask(0))
    while not work.batches:
        await pause(0.01)
    rest = [under_way(thread.ask(number)) for number in range(1, 8)]
    await pause(0.01)
    work.go.set()
    assert await together(first, *rest) == [0, 2, 4, 6, 8, 10, 12, 14]
    assert work.batches == [[0], [1, 2, 3], [4, 5, 6], [7]]
    assert len(work.threads) == 1
    assert threading.current_thread() not in work.threads
    thread.end()


@as_scrapy_runs_it
async def test_error_is_raised_by_each_call_of_its_batch_and_by_no_other() -> None:
    work = Work()
    work.go.set()
    thread: BatchThread[int, int] = BatchThread(work, most=3, secs=30)
    with pytest.raises(ZeroDivisionError):
        await thread.ask(13)
    assert await thread.ask(14) == 28
    thread.end()


@as_scrapy_runs_it
async def test_call_that_is_late_is_given_up_with_all_behind_it_and_the_next_is_served() -> None:
    work = Work()
    interrupted: list[bool] = []
    thread: BatchThread[int, int] = BatchThread(work, most=1, secs=0.2, late=lambda: interrupted.append(True))
    late = [under_way(thread.ask(number)) for number in range(3)]
    began = time.monotonic()
    for each in late:
        with pytest.raises(TimeoutError, match=r"no answer within 0.2 s"):
            await maybe_deferred_to_future(each)
    assert time.monotonic() - began >= 0.2
    work.go.set()
    assert await thread.ask(5) == 10
    assert interrupted == [True]
    assert work.batches == [[0], [5]]  # the other calls have been given up
    thread.end()


@as_scrapy_runs_it
async def test_call_that_is_cancelled_harms_no_other() -> None:
    work = Work()
    thread: BatchThread[int, int] = BatchThread(work, most=8, secs=30)
    calls = [under_way(thread.ask(number)) for number in range(3)]
    await pause(0.02)
    calls[1].cancel()
    work.go.set()
    with suppress(Exception):
        await together(calls[1])
    assert await together(calls[0], calls[2]) == [0, 4]
    thread.end()


@as_scrapy_runs_it
async def test_thread_ends() -> None:
    work = Work()
    work.go.set()
    thread: BatchThread[int, int] = BatchThread(work, most=8, secs=30)
    assert await thread.ask(1) == 2
    thread.end()
    (used,) = work.threads
    used.join(10)
    assert not used.is_alive()
