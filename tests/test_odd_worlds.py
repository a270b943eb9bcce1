"""Crawls in odd worlds, with a real engine and downloader: whatever fails around them, what waits is crawled, once.

`random_crawls` makes up worlds in which hosts fail. Here it is what a crawl stands on: the scheduler's Redis, the process, a
proxy, a spider that never ends.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from scrapy_gbot_robots.concurrency import pause

from .support import crawls
from .support.crawls import Pages, as_scrapy_runs_it, crawl, in_reactor, pages, stats, together
from .support.random_crawls import Trial
from .support.random_worlds import SCHEDULERS, Host, Page, World
from .support.redis_server import RedisServer, full, hanging, killed, redis_server
from .support.rows import table
from .support.systems import needs_posix
from .support.until import block_until, until
from .support.visits import Gate
from .support.web import Content, Reply, Site, free_port

ON_DISK = ("--appendonly", "yes", "--appendfsync", "always")
SEEN = "wanderer:dupefilter"


def outage(scheduler: str, secs: float, hosts: int = 16, each: int = 10, **settings: Any) -> World:
    """Hosts that all answer 503 for `secs` seconds, with so many pages `each`."""
    return World(
        seed=0,
        scheduler=scheduler,
        hosts=[Host(0, "fine", 0.0), *(Host(1 + n, "down", secs) for n in range(hosts))],
        pages=[
            Page(1 + host, f"/yes/{host}-{n}", "alphabot", "", 0)
            for n in range(each)
            for host in range(hosts)
        ],
        settings={
            **SCHEDULERS[scheduler],
            "CONCURRENT_REQUESTS": 8,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
            "DOWNLOAD_DELAY": 0,
            "GBOT_ROBOTS_STORAGE": "memory",
            "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 600,
            **settings,
        },
        page_secs=0.05,
    )


def robots_asked(trial: Trial) -> int:
    return sum(each.path == "/robots.txt" for each in trial.server.asked)


# The Redis of scrapy-redis


@contextmanager
def emptied(server: RedisServer) -> Iterator[None]:
    server.flush()
    yield


def client_of(server: RedisServer) -> Any:
    redis = pytest.importorskip("redis", reason="the extra redis is not installed")
    return redis.Redis.from_url(server.url)


def scheduled(server: RedisServer) -> int:
    """How many requests are in the queue in Redis, whatever its kind."""
    key = "wanderer:requests"
    with client_of(server) as client:
        if client.type(key) == b"zset":
            return int(client.zcard(key))
        return int(client.llen(key))


def all_are_held(server: RedisServer, world: World) -> bool:
    """Whether the spider has scheduled all its pages, and the process has them all."""
    with client_of(server) as client:
        return client.scard(SEEN) == len(world.pages) and not scheduled(server)


@needs_posix
@pytest.mark.slow
@table(
    "queue, fault",
    ("redis-priority", killed),
    ("redis-lifo", hanging),
    ("redis-priority", full),
    ("redis-fifo", emptied),
)
def test_pages_that_wait_survive_a_fault_of_the_schedulers_redis(
    queue: str, fault: Callable[[RedisServer], AbstractContextManager[None]], tmp_path: Path
) -> None:
    """The robots.txt files get well while that Redis is away."""
    pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
    world = outage(queue, secs=600)
    trial = Trial(world, tmp_path, plugin=True)
    with trial.server, redis_server(*ON_DISK) as server:
        runs = trial.start(trial.settings(server))
        block_until(lambda: robots_asked(trial) and all_are_held(server, world))
        with fault(server):
            trial.server.is_well = True
            time.sleep(6)  # the room asks its scheduler again after five
        trial.finish(runs)
    trial.problems.clear()  # scrapy-redis logs what its Redis says
    trial.reports[:] = [run.report() for run in runs]
    trial.judge()
    assert trial.problems == []


@needs_posix
@pytest.mark.slow
def test_worker_that_is_killed_loses_no_more_than_it_held(tmp_path: Path) -> None:
    """Each of two workers holds half of the pages, for one is frozen while the other takes its own."""
    pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
    world = outage("redis-priority", secs=600, each=20)
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
    served = Counter(
        each.host + each.path for each in trial.server.asked if each.path != "/robots.txt"
    )
    held_by_the_survivor = {
        world.hosts[page.host].name + page.path: 1 for page in world.pages[half:]
    }
    assert served == held_by_the_survivor
    (report,) = trial.reports
    assert len(report["outcomes"]) == half


@needs_posix
@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["default", "own-priority", "redis-fifo"])
def test_long_outage_costs_few_pages_whatever_the_scheduler(scheduler: str, tmp_path: Path) -> None:
    """Asked after 0, 1, 3 and 7 seconds; 64 requests are given up then, and the next answer is good."""
    if scheduler.startswith("redis-"):
        pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
    wait = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 4}
    world = outage(scheduler, secs=7.5, hosts=1, each=100, **wait)
    trial = Trial(world, tmp_path, plugin=True)
    with trial.server, ExitStack() as stack:
        server = stack.enter_context(redis_server()) if world.uses_redis else None
        assert trial.finish(trial.start(trial.settings(server))), trial.problems
    (report,) = trial.reports
    crawled = [url for url, outcome in report["outcomes"] if outcome == "page"]
    assert len(report["outcomes"]) == 100
    assert len(crawled) >= 36
    assert report["stats"].get("gbot_robots/forbidden/unreachable", 0) == 100 - len(crawled)


# State on disk


@table("kind", "default", "strict", "named-aware", "named-priority", "own-aware")
@as_scrapy_runs_it
async def test_closed_crawl_keeps_what_waits_for_a_silent_host(kind: str, tmp_path: Path) -> None:
    settings = {**SCHEDULERS[kind], "JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 2}
    gate = Gate("")
    with Site({"/robots.txt": gate, "*": b"ok"}) as site:
        urls = {site.url(f"/{number}") for number in range(5)}
        first = await crawls.crawl_until(crawls.waiting(5), crawls.stop, Pages, settings, urls=urls)
        gate.open()
        (second,) = await together(crawl(Pages, settings))
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


class Proxy(Site):
    """An HTTP proxy that has the pages of all hosts."""

    def _content(self, path: str, headers: Any) -> Content:
        return b"" if path.endswith("/robots.txt") else path.encode()


@pytest.mark.slow
@as_scrapy_runs_it
async def test_proxy_that_dies_costs_no_page_of_a_host_it_had_not_answered_for() -> None:
    port = free_port()
    hosts = [f"http://host{number}.example" for number in range(50)]
    urls = [f"{host}/{number}" for host in hosts for number in range(2)]
    meta = {"proxy": f"http://127.0.0.1:{port}"}
    requests = [Request(url, meta=meta) for url in urls]
    settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60, "CONCURRENT_REQUESTS": 4}
    with Proxy({}, port=port) as proxy:
        running = crawl(Pages, settings, urls=requests)
        await until(lambda: len(proxy.asked) > 20)
    await pause(12)  # longer than hosts that fail together excuse each other
    # Only now: a connection that was kept open may have got more answers.
    had_answered = {urlsplit(path).netloc for path in proxy.paths() if path.endswith("/robots.txt")}
    with Proxy({}, port=port):
        (crawler,) = await together(running)
    crawled, failed = pages(crawler).crawled, pages(crawler).refused
    assert {*crawled, *failed} == set(urls)
    assert {urlsplit(url).netloc for url in failed} <= had_answered
    assert not [error for error in failed.values() if isinstance(error, IgnoreRequest)]
    assert len(had_answered) < len(hosts)
    assert "gbot_robots/origins/gone" not in stats(crawler)
