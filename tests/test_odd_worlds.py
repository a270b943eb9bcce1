"""Crawls in odd worlds, with a real engine and downloader: whatever fails around them, what waits is crawled, once.

`random_crawls` makes up worlds in which hosts fail; some of them are here. In the others it is what a crawl stands on: the
scheduler's Redis, the process, a spider that never ends.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from scrapy import Request

from scrapy_gbot_robots.concurrency import pause

from .support.crawls import Pages, crawl, in_reactor, pages, stats
from .support.random_crawls import Trial, problems_of
from .support.random_worlds import SCHEDULERS, Host, Page, World
from .support.redis_server import RedisServer, full, hanging, killed, redis_server
from .support.systems import needs_posix
from .support.until import block_until
from .support.visits import Gate
from .support.web import Reply, Site

ON_DISK = ("--appendonly", "yes", "--appendfsync", "always")


def outage(scheduler: str, number: int = 10) -> World:
    """Sixteen hosts that all answer 503 until the test makes them well, each with so many pages."""
    places = [(host, n) for n in range(number) for host in range(16)]
    return World(
        scheduler=scheduler,
        hosts=[Host(0, "fine", 0.0), *(Host(1 + n, "down", 600.0) for n in range(16))],
        pages=[Page(1 + host, f"/yes/{host}-{n}", "alphabot", "", 0) for host, n in places],
        settings={
            **SCHEDULERS[scheduler],
            "CONCURRENT_REQUESTS": 8,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
            "DOWNLOAD_DELAY": 0,
            "GBOT_ROBOTS_STORAGE": "memory",
            "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 600,
        },
    )


def robots_asked(trial: Trial) -> int:
    return sum(each.path == "/robots.txt" for each in trial.server.asked)


# The Redis of scrapy-redis


@contextmanager
def emptied(server: RedisServer) -> Iterator[None]:
    server.flush()
    yield


def all_are_held(server: RedisServer, world: World) -> bool:
    """Whether the spider has scheduled all its pages, and the process has them all."""
    redis = pytest.importorskip("redis", reason="the extra redis is not installed")
    with redis.Redis.from_url(server.url) as client:
        has_scheduled = client.scard("wanderer:dupefilter") == len(world.pages)
        return has_scheduled and not client.exists("wanderer:requests")


@needs_posix
@pytest.mark.slow
@pytest.mark.parametrize(
    ("queue", "fault"),
    [
        ("redis-priority", killed),
        ("redis-lifo", hanging),
        ("redis-priority", full),
        ("redis-fifo", emptied),
    ],
)
def test_pages_that_wait_survive_a_fault_of_the_schedulers_redis(
    queue: str, fault: Callable[[RedisServer], AbstractContextManager[None]], tmp_path: Path
) -> None:
    """The robots.txt files get well while that Redis is away."""
    pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
    world = outage(queue)
    trial = Trial(world, tmp_path, plugin=True)
    with trial.server, redis_server(*ON_DISK) as server:
        runs = trial.start(trial.settings(server))
        block_until(lambda: robots_asked(trial) and all_are_held(server, world))
        with fault(server):
            trial.server.is_well = True
            time.sleep(6)  # the room asks its scheduler again after five
        trial.finish(runs)
    trial.problems.clear()  # scrapy-redis logs what its Redis says
    trial.judge()
    assert trial.problems == []


@needs_posix
@pytest.mark.slow
def test_worker_that_is_killed_loses_no_more_than_it_held(tmp_path: Path) -> None:
    """Each of two workers holds half of the pages, for one is frozen while the other takes its own."""
    pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
    world = outage("redis-priority", number=20)
    half = len(world.pages) // 2
    first_half = replace(world, pages=world.pages[:half])
    trial = Trial(first_half, tmp_path, plugin=True)
    with trial.server, redis_server() as server:
        settings = trial.settings(server)
        (doomed,) = trial.start(settings)
        block_until(lambda: robots_asked(trial) and all_are_held(server, first_half))
        doomed.process.send_signal(signal.SIGSTOP)
        trial.world = world
        survivors = trial.start(settings, again=True)
        block_until(lambda: all_are_held(server, world))
        doomed.process.kill()
        doomed.process.wait()
        trial.server.is_well = True
        trial.finish(survivors)
    assert trial.problems == []
    served = [each for each in trial.server.asked if each.path != "/robots.txt"]
    held_by_the_survivor = {world.hosts[each.host].name + each.path for each in world.pages[half:]}
    assert Counter(each.host + each.path for each in served) == Counter(held_by_the_survivor)
    (report,) = trial.reports
    assert len(report["outcomes"]) == half


# State on disk


@pytest.mark.parametrize("kind", ["default", "named-aware", "named-priority", "own-aware"])
@in_reactor
async def test_closed_crawl_keeps_what_waits_for_a_silent_robots_txt(
    kind: str, tmp_path: Path
) -> None:
    settings = {**SCHEDULERS[kind], "JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 2}
    gate = Gate("")
    with Site({"/robots.txt": gate, "*": b"ok"}) as site:
        urls = {site.url(f"/{number}") for number in range(5)}
        first = await crawl(Pages, {**settings, "CLOSESPIDER_TIMEOUT": 1}, urls=urls)
        gate.open()
        second = await crawl(Pages, settings)  # what it crawls, the first has left
    assert (pages(first).crawled, pages(first).refused) == ({}, {})
    assert set(pages(second).crawled) == urls


# Spiders, handlers, processes


@pytest.mark.parametrize("scheduler", ["default", "named-aware", "fifo"])
@in_reactor
async def test_start_that_never_ends_keeps_no_page_waiting(scheduler: str) -> None:
    class Endless(Pages):
        async def start(self) -> AsyncIterator[Request]:
            number = 0
            while True:
                number += 1
                for site in (slow, well):
                    yield Request(site.url(f"/{number}"), self.parse)
                await pause(0.02)

    robots = Reply(200, b"user-agent: *\ndisallow: /no", after_secs=0.5)
    with Site({"/robots.txt": robots, "*": b"ok"}) as slow, Site({"*": b"ok"}) as well:
        settings = {**SCHEDULERS[scheduler], "CLOSESPIDER_PAGECOUNT": 80}
        crawler = await crawl(Endless, settings)
    assert stats(crawler)["finish_reason"] == "closespider_pagecount"
    for site in (slow, well):
        assert site.paths().count("/robots.txt") == 1
        assert any(url.startswith(site.url("/")) for url in pages(crawler).crawled)


# Worlds made up at random. `python -m tests.support.random_crawls` runs as many as one likes.

QUICK = (2028, 2045, 2032)  # by asyncio and Scrapy's scheduler, by another reactor, by none
SLOW = range(3000, 3000 + 2 * len(SCHEDULERS))  # each way to schedule twice


@needs_posix
@pytest.mark.parametrize(
    "seed", [*QUICK, *(pytest.param(seed, marks=pytest.mark.slow) for seed in SLOW)]
)
def test_random_crawl_holds(seed: int) -> None:
    world = World.of(seed)
    if world.uses_redis:
        pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
    assert problems_of(world) == []
