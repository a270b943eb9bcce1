"""Waiting and background work: what is cancelled harms no other, and what must happen happens."""

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Awaitable
from typing import Any

import pytest
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from scrapy_gbot_robots.concurrency import (
    Background,
    TimeLimit,
    looping_call,
    pause,
    reactor,
    run_in_thread,
    wake,
    within,
)

from .support.crawls import QUIET, as_scrapy_runs_it, errors, together, under_way


async def outcome_of(work: Awaitable[object], outcomes: list[str], name: str) -> None:
    """Note how `work` ended; cancellation is passed on."""
    try:
        await work
    except BaseException as error:
        outcomes.append(f"{name} {type(error).__name__}")
        raise
    outcomes.append(f"{name} done")


async def result() -> int:
    return 7


async def fail() -> None:
    raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize("secs", [0, 0.01])
@as_scrapy_runs_it
async def test_what_takes_too_long_is_cancelled_and_a_time_out(secs: float) -> None:
    outcomes: list[str] = []
    with pytest.raises(TimeoutError):
        await within(secs, outcome_of(pause(30), outcomes, "work"))
    assert outcomes == ["work CancelledError"]


@as_scrapy_runs_it
async def test_what_is_done_in_time_gives_its_result_or_its_own_error() -> None:
    for secs in (0, 30):  # what need not wait needs no time
        assert await within(secs, result()) == 7
    with pytest.raises(ZeroDivisionError):
        await within(30, fail())


@as_scrapy_runs_it
async def test_time_in_which_a_limit_is_lifted_does_not_count() -> None:
    limit = TimeLimit(0.3)
    passed: list[str] = []

    async def work() -> None:
        limit.lift()
        await pause(0.6)
        passed.append("lifted")
        limit.begin()
        await pause(30)

    with pytest.raises(TimeoutError, match="too long"):
        await limit.on(work(), "too long")
    assert passed == ["lifted"]


@as_scrapy_runs_it
async def test_background_work_is_followed_by_what_must_happen_however_it_ends(log: Any) -> None:
    background, followed = Background(), list[str]()
    background.start(pause(0), then=lambda: followed.append("done"))
    background.start(fail(), then=lambda: followed.append("failed"))
    await background.ended()
    background.start(pause(30), then=lambda: followed.append("cancelled"))  # before it has begun
    background.cancel()
    await background.ended()
    assert sorted(followed) == ["cancelled", "done", "failed"]
    (error,) = errors(log)
    assert error.endswith("the crawl goes on: by nothing")


@as_scrapy_runs_it
async def test_background_work_does_not_run_in_the_frame_that_starts_it() -> None:
    background, followed = Background(), list[str]()
    background.start(outcome_of(result(), followed, "work"), then=lambda: followed.append("then"))
    assert not followed
    await background.ended()
    assert followed == ["work done", "then"]


@as_scrapy_runs_it
async def test_what_is_woken_does_not_run_in_the_frame_that_wakes_it() -> None:
    waiting: list[Deferred[int]] = [Deferred(), Deferred()]
    outcomes: list[str] = []

    async def wait(number: int) -> None:
        await maybe_deferred_to_future(waiting[number])

    works = [under_way(outcome_of(wait(number), outcomes, f"work {number}")) for number in (0, 1)]
    await pause(0)  # now all wait
    for each in waiting:
        wake(each, 7)
    assert not outcomes
    works[1].cancel()
    await together(works[0])
    assert sorted(outcomes) == ["work 0 done", "work 1 CancelledError"]


@pytest.mark.parametrize("is_set_back", [False, True])
@as_scrapy_runs_it
async def test_periodic_calls_let_the_reactor_forget_cancelled_timers(
    is_set_back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_set_back and not is_asyncio_available():
        pytest.skip("needs the asyncio reactor")  # Other reactors follow the system's clock.
    times: list[float] = []
    calls = looping_call(lambda: times.append(time.monotonic()))
    timers = []
    for _ in range(200):
        timer = reactor().callLater(180, times.clear)
        timer.cancel()
        timers.append(weakref.ref(timer))
    del timer
    calls.start(0.01, now=False)
    if is_set_back:
        monkeypatch.setattr(reactor(), "seconds", lambda: time.time() - 3600)
    await pause(0.2)
    calls.stop()
    gc.collect()
    assert 2 <= len(times) <= 25
    assert [timer() for timer in timers if timer() is not None] == []
    await pause(0.05)
    assert len(times) <= 25  # `stop` has ended the calls


@as_scrapy_runs_it
async def test_long_computations_have_one_thread_in_which_they_follow_each_other() -> None:
    under_way_now, most, threads = 0, 0, set[threading.Thread]()

    def compute(number: int) -> int:
        nonlocal under_way_now, most
        under_way_now += 1
        most = max(most, under_way_now)
        threads.add(threading.current_thread())
        threading.Event().wait(0.01)
        under_way_now -= 1
        return 10 // number

    works = [under_way(run_in_thread(compute, number)) for number in (1, 2, 5)]
    with pytest.raises(ZeroDivisionError):
        await run_in_thread(compute, 0)
    assert await together(*works) == [10, 5, 2]
    assert most == len(threads) == 1
    assert threading.current_thread() not in threads
    (thread,) = threads
    assert thread.daemon  # it keeps no process from ending


def test_thread_of_long_computations_serves_one_event_loop_after_another() -> None:
    if "TWISTED_REACTOR" in QUIET:
        pytest.skip("needs the asyncio reactor")

    async def answer() -> int:
        return await run_in_thread(int, "7")

    def in_a_loop_of_its_own(answers: list[int]) -> None:
        answers.append(asyncio.run(answer()))

    answers: list[int] = []
    for _ in range(2):
        loop = threading.Thread(target=in_a_loop_of_its_own, args=[answers])
        loop.start()
        loop.join()
    assert answers == [7, 7]
