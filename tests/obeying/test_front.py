"""The front before another scheduler, without a crawl: how much it takes from there, and what goes back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias
from unittest.mock import Mock

import pytest
from scrapy.core.scheduler import Scheduler
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue

from scrapy_gbot_robots import RobotsScheduler
from scrapy_gbot_robots.meta import RETURNED
from scrapy_gbot_robots.obeying import front
from scrapy_gbot_robots.obeying.front import with_front

from ..support.crawls import errors, own_warnings
from ..support.rooms import NewWorld, World, path_of
from ..support.rows import row, table
from ..support.schedulers import Fifo, OwnPriorityQueue, Prefetches, ReplacesItsQueue

CONCURRENT = 4
Away: TypeAlias = Callable[[str], Mock]


@pytest.fixture
def shared(new_world: NewWorld) -> World:
    return new_world(scheduler=with_front(Fifo), CONCURRENT_REQUESTS=CONCURRENT)


@pytest.fixture
def on_disk(new_world: NewWorld, tmp_path: Path) -> World:
    return new_world(JOBDIR=str(tmp_path), CONCURRENT_REQUESTS=CONCURRENT)


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Away:
    """Lets a method of the scheduler fail from now on, as while its Redis is away."""

    def fail(method: str) -> Mock:
        failing = Mock(side_effect=ConnectionError("the queue is away"))
        monkeypatch.setattr(Fifo, method, failing)
        return failing

    return fail


def fill(world: World, *hosts: str, pages: int = 1000) -> None:
    for number in range(pages):
        for host in hosts:
            world.push(f"{host}.x/{number}")


def held(world: World) -> int:
    """How many requests the front holds when the engine has asked for one."""
    assert world.pull() == []
    return world.room.occupancy.size


@pytest.mark.parametrize(("concurrent", "most"), [(4, 20), (10, 20), (16, 32)])
def test_twice_as_many_are_held_as_are_downloaded_or_20_while_look_ups_are_young(
    concurrent: int, most: int, new_world: NewWorld
) -> None:
    world = new_world(scheduler=with_front(Fifo), CONCURRENT_REQUESTS=concurrent)
    fill(world, *"abcdefgh")
    assert held(world) == most
    world.waits(0.9)
    assert held(world) == most


def test_more_and_more_are_held_of_hosts_that_are_late(shared: World) -> None:
    fill(shared, "a", "b")
    assert held(shared) == 20
    sizes = []
    for _ in range(8):
        shared.waits(0.55)
        sizes.append(held(shared))
    # those that are young again, and those of late look-ups: 20, 40, 80 ... of them
    assert sizes == [20, 20, 40, 80, 160, 320, 640, 1280]


def test_hosts_that_hang_do_not_block_the_head_of_a_queue(shared: World) -> None:
    fill(shared, "a", "b", pages=100)
    fill(shared, "good", pages=3)
    shared.pull()
    pulled: list[str] = []
    for _ in range(12):
        shared.waits(0.55)
        pulled += shared.pull()
        if "good.x" in shared.asked:
            shared.end("good.x")
            pulled += shared.pull()
    assert pulled == ["good.x/0", "good.x/1", "good.x/2"]


def test_no_more_requests_are_held_than_a_bound_though_their_hosts_are_unreachable(
    shared: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert front.MOST_HELD == 10_000
    monkeypatch.setattr(front, "MOST_HELD", 300)
    fill(shared, "a")
    assert held(shared) == 20
    shared.fails("a.x", secs=1000)
    while shared.room.occupancy.size < 300:
        assert shared.pull() == []
    assert held(shared) == 300


def test_of_a_queue_that_may_be_shared_twenty_are_held_while_one_goes_on(shared: World) -> None:
    """So the next host is asked for its robots.txt before its turn."""
    fill(shared, "a", pages=100)
    assert held(shared) == 20
    shared.end("a.x")
    for gone in range(1, 61):
        assert shared.next() is not None
        assert shared.room.occupancy.size == 20
        assert len(shared.scheduler.requests) == 80 - gone
    fill(shared, "b", pages=5)
    shared.push(*(f"a.x/{number}" for number in range(100, 200)))
    while "b.x" not in shared.asked:
        assert shared.next() is not None
    ahead = [path for path in shared.pull(20) if path.startswith("a.x")]
    assert len(ahead) == 20


def test_engine_does_not_wait_while_the_front_takes_what_has_to_wait(
    shared: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time for one request is over at once here, so one is taken at a time."""
    monkeypatch.setattr(front, "PULL_SECS", 0.0)
    asked_to_come_again = Mock()
    shared.crawler.engine._slot.nextcall.schedule = asked_to_come_again
    fill(shared, "a", pages=5)
    for taken in (1, 2, 3, 4, 5):
        assert shared.next() is None
        assert (shared.room.occupancy.size, asked_to_come_again.call_count) == (taken, taken)


def test_empty_scheduler_is_asked_for_no_request_while_some_are_held(
    shared: World, away: Away
) -> None:
    """It may wait for a request, as that of scrapy-redis: all that is held would wait, too."""
    shared.push("a.x/1")
    assert held(shared) == 1
    asked = away("next_request")
    assert held(shared) == 1
    shared.end("a.x")
    assert shared.pull(1) == ["a.x/1"]
    assert asked.call_count == 0


def test_scheduler_that_fails_is_asked_again_each_five_seconds_while_what_is_held_goes_on(
    shared: World, away: Away, caplog: pytest.LogCaptureFixture
) -> None:
    shared.push("a.x/1", "a.x/2", "b.x/1")
    assert held(shared) == 3
    taken = away("next_request")
    asked = away("has_pending_requests")
    for times in (1, 2, 3):
        for _ in range(10):
            assert held(shared) == 3
            assert asked.call_count == times
            shared.waits(0.49)
        shared.waits(0.11)
    shared.end("a.x")
    assert shared.pull(2) == ["a.x/1", "a.x/2"]
    (warning,) = own_warnings(caplog)
    assert warning.startswith("The scheduler failed: ConnectionError('the queue is away'). 3 of")
    asked.side_effect = taken.side_effect = None
    taken.return_value = None
    shared.waits(5)
    assert held(shared) == 1
    away("next_request")
    assert held(shared) == 1
    assert len(own_warnings(caplog)) == 2, "it has worked in between"


def test_scrapys_files_are_left_while_one_goes_on(on_disk: World) -> None:
    """A crawl that is killed loses what is taken."""
    fill(on_disk, "a", "b", pages=50)
    assert held(on_disk) == 20
    on_disk.end("a.x")
    on_disk.end("b.x")
    for left in (19, 18, 17):
        assert on_disk.next() is not None
        assert on_disk.room.occupancy.size == left
    assert len(on_disk.scheduler.dqs) == 100 - 20


def hold_all(world: World, pages: int) -> None:
    """Let the front hold all pages of a host that is unreachable, and may be asked again."""
    fill(world, "a", pages=pages)
    assert held(world) == 20
    world.fails("a.x", secs=10)
    while world.scheduler.requests:
        assert world.pull() == []
    world.waits(11)


def test_what_a_host_cannot_use_soon_goes_back_when_it_answers(shared: World) -> None:
    hold_all(shared, 500)
    shared.end("a.x")
    first = shared.pull(1)
    assert shared.room.occupancy.size == 20
    assert len(shared.scheduler.requests) == 500 - 20 - 1
    assert {each.meta[RETURNED] for each in shared.scheduler.requests} == {False}
    assert sorted([*first, *shared.pull()]) == sorted(f"a.x/{n}" for n in range(500))


def test_what_cannot_go_back_stays_and_is_served(shared: World, away: Away) -> None:
    hold_all(shared, 100)
    tries = away("enqueue_request")
    shared.end("a.x")
    first = shared.pull(1)
    (kept,) = tries.call_args.args
    assert RETURNED not in kept.meta, "it would wait for its robots.txt though it needs none"
    assert sorted([*first, *shared.pull()]) == sorted(f"a.x/{number}" for number in range(100))
    assert tries.call_count == 1


def test_what_the_scheduler_raises_goes_to_scrapy_while_none_of_its_requests_is_held(
    shared: World, away: Away
) -> None:
    away("next_request")
    with pytest.raises(ConnectionError, match="the queue is away"):
        shared.next()


@table(
    "failures, tried_for_secs, tries, lost",
    row("those-that-fail", 3, 10.0, 20, 3),
    row("all-after-a-failure-if-the-time-is-over", 1, 0.0, 1, 20),
)
def test_what_cannot_go_back_as_the_crawl_closes_is_counted_in_the_log(
    failures: int,
    tried_for_secs: float,
    tries: int,
    lost: int,
    shared: World,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(front, "GIVE_BACK_SECS", tried_for_secs)
    fill(shared, "a", pages=20)
    assert held(shared) == 20
    outcomes = [*[ConnectionError("the queue is away")] * failures, *[True] * 20]
    takes_back = Mock(side_effect=outcomes)
    monkeypatch.setattr(Fifo, "enqueue_request", takes_back)
    shared.scheduler.close("finished")
    (error,) = errors(caplog)
    lost_ones = f"{lost} requests that waited for their robots.txt are lost"
    assert error.endswith(f" {lost_ones}: ConnectionError('the queue is away')")
    assert takes_back.call_count == tries


# Scrapy's scheduler.


def assert_is_taken_from(world: World) -> None:
    """Requests are in the scheduler, and come into the room one by one."""
    world.push("a.x/1", "b.x/1")
    assert (world.room.occupancy.size, world.pull(), world.room.occupancy.size) == (0, [], 2)
    world.end("a.x")
    assert world.pull() == ["a.x/1"]


@table(
    "scheduler, queue",
    (with_front(ReplacesItsQueue), DownloaderAwarePriorityQueue),
    (with_front(Prefetches), DownloaderAwarePriorityQueue),
    (RobotsScheduler, OwnPriorityQueue),
)
def test_scheduler_whose_queue_is_not_scrapys_is_taken_from(
    scheduler: type, queue: type, new_world: NewWorld
) -> None:
    assert_is_taken_from(new_world(queue, scheduler))


# With a JOBDIR.


def test_of_a_queue_on_disk_no_more_is_taken_than_a_hundred_of_each_slot(on_disk: World) -> None:
    fill(on_disk, "a", "b", pages=150)
    assert held(on_disk) == 20
    for host in ("a.x", "b.x"):
        on_disk.fails(host, secs=1000)
    on_disk.push("good.x/1")
    for _ in range(200):
        assert on_disk.pull() == []
    assert on_disk.room.occupancy.by_slot["a.x"] <= 101
    assert on_disk.room.occupancy.by_slot["b.x"] <= 101
    assert len(on_disk.scheduler.dqs) >= 98
    on_disk.end("good.x")
    assert on_disk.pull() == ["good.x/1"]


def test_queue_on_disk_brings_least_held_slots_first(on_disk: World) -> None:
    fill(on_disk, "a", pages=50)
    fill(on_disk, *"bcdefgh", pages=2)
    assert held(on_disk) == 20
    assert on_disk.room.occupancy.by_slot == {"a.x": 6, **{f"{host}.x": 2 for host in "bcdefgh"}}


@pytest.mark.parametrize("asked", ["memory_queues", "count_held"])
def test_requests_are_taken_from_a_scrapy_whose_private_names_have_changed(
    asked: str,
    new_world: NewWorld,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    changed = AttributeError("there is no _start_queue_cls")
    monkeypatch.setattr(front, asked, Mock(side_effect=changed))
    # The requests on disk are counted.
    world = new_world(JOBDIR=str(tmp_path) if asked == "count_held" else None)
    (warning,) = own_warnings(caplog)
    assert "Scrapy's scheduler lacks a part that the plugin uses" in warning
    assert "_start_queue_cls" in warning
    assert_is_taken_from(world)


@pytest.mark.parametrize("queue", [DownloaderAwarePriorityQueue, ScrapyPriorityQueue])
def test_jobdir_goes_from_scrapys_scheduler_to_ours_and_back(
    queue: type, new_world: NewWorld, tmp_path: Path
) -> None:
    def crawl(scheduler: type, most: int) -> list[str]:
        world = new_world(queue, scheduler, JOBDIR=str(tmp_path))
        if not tmp_path.joinpath("requests.queue", "active.json").exists():
            for number in range(120):
                world.push(f"{'abc'[number % 3]}.x/{number}", priority=number % 4)
        pulled: list[str] = []
        while len(pulled) < most and world.scheduler.has_pending_requests():
            for host in [*world.asked]:
                world.end(host)
            if scheduler is RobotsScheduler:
                pulled += world.pull(1)
            else:
                pulled.append(path_of(world.scheduler.next_request()))
        world.scheduler.close("finished")
        World.opened.remove(world)
        return pulled

    got = [*crawl(Scheduler, 20), *crawl(RobotsScheduler, 30), *crawl(RobotsScheduler, 30)]
    assert len(got) == 80
    got += crawl(Scheduler, 1000)
    assert sorted(got) == sorted(f"{'abc'[number % 3]}.x/{number}" for number in range(120))
