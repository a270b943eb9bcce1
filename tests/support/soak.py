"""Crawl thousands of origins with random faults: `python -m tests.support.soak --seed 1`.

The origins are on loopback. By default there are 2,000 origins with 100,000 pages. The robots.txt
files are random, and so are the responses. They have any framing. They may be slow, redirects,
decompression bombs, cut off at any byte, resets, silence, garbage, 4xx, 5xx or 429. A fault lasts
for a while or for ever.

An oracle (`soak_world`) computes in advance which pages may be crawled. The run fails unless the
servers get exactly one request for each of these pages, and none for any other page. It also fails
if the memory of the crawl grows by more than a tenth in the second half. The program prints the
seed, and the memory over time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider

from benchmarks.broad import memory

from .soak_world import AGENT, World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

MOST_UNDER_WAY = 3000  # the greatest number of requests that Scrapy has at a time
GROWTH = 1.1  # The memory may grow by this factor in the second half of the crawl.
SAMPLES = 20
# If a crawl has fewer requests, its memory is not checked, because it is still warming up.
MEMORY_COUNTS_FROM = 20_000


class Soak(Spider):
    """A spider that requests all pages of a world.

    It works on `in_work` origins at a time. The next page always belongs to a random one of them.
    """

    name = "soak"

    def __init__(self, world: World, ports: tuple[str, str], in_work: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.world = world
        self.ports = ports
        self.in_work = in_work
        self.forbidden = bytearray(world.requests)  # how often each page was forbidden
        self.reasons: dict[int, str] = {}  # the reasons for pages that the oracle allows
        self.done = 0
        self.memory: list[int] = []
        self._under_way = asyncio.Semaphore(MOST_UNDER_WAY)

    async def start(self) -> AsyncIterator[Request]:
        for number, url in urls(self.world, self.ports, self.in_work):
            await self._under_way.acquire()
            yield Request(url, errback=self.failed, dont_filter=True, cb_kwargs={"number": number})

    def parse(self, response: Response, **kwargs: Any) -> None:
        self.has_ended()

    def failed(self, failure: Failure) -> None:
        from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt

        if failure.check(ForbiddenByRobotsTxt):  # type: ignore[no-untyped-call]
            request: Request = failure.request  # type: ignore[attr-defined]
            number = request.cb_kwargs["number"]
            self.forbidden[number] += 1
            if self.world.origin(number % self.world.origins).may(urlsplit(request.url).path):
                self.reasons[number] = str(failure.value)
        self.has_ended()

    def has_ended(self) -> None:
        if self.done % max(1, self.world.requests // SAMPLES) == 0:
            self.memory.append(memory())
        self.done += 1
        self._under_way.release()


def urls(world: World, ports: tuple[str, str], in_work: int) -> Iterator[tuple[int, str]]:
    """Yield the number and the URL of each page. Some origins at a time are mixed at random."""
    dice = random.Random(world.seed)
    waiting = list(range(world.origins))
    dice.shuffle(waiting)
    working: list[tuple[str, list[str]]] = []
    while waiting or working:
        while waiting and len(working) < in_work:
            origin = world.origin(waiting.pop())
            working.append(
                (f"http://{origin.host}:{ports[origin.refused]}", world.paths(origin.number)[::-1])
            )
        place = dice.randrange(len(working))
        site, paths = working[place]
        if paths:
            path = paths.pop()
            yield page_of(path), site + path
        else:
            working[place] = working[-1]
            working.pop()


def page_of(path: str) -> int:
    return int(path.split("/")[2].partition("-")[0])


@contextmanager
def servers(world: World) -> Iterator[tuple[tuple[str, str], subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "tests.support.soak_server", json.dumps(asdict(world))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            listening, deaf = process.stdout.readline().split()
            yield (listening, deaf), process
        finally:
            process.kill()


def settings(chosen: argparse.Namespace, directory: str) -> dict[str, Any]:
    from tests.support.crawls import QUIET

    return {
        **QUIET,
        "ADDONS": {"scrapy_gbot_robots.Addon": 500},
        "USER_AGENT": f"{AGENT}/1.0 (+https://example.com/bot)",
        "CONCURRENT_ITEMS": 1,  # Scrapy starts this number of tasks for each response
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "LOG_LEVEL": "ERROR",
        # This is less than the number of origins, so that the storage is used as well.
        "GBOT_ROBOTS_CACHE_ORIGINS": 300,
        "GBOT_ROBOTS_STORAGE": "sqlite",
        "GBOT_ROBOTS_SQLITE_PATH": f"{directory}/robots.sqlite",
        "GBOT_ROBOTS_TIMEOUT_SECS": chosen.timeout,
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": chosen.wait,
    }


async def soak(chosen: argparse.Namespace) -> bool:
    """Crawl the world, compare it with the oracle, and print the result.

    Return whether it is right.
    """
    from scrapy.crawler import CrawlerRunner

    world = World(**{field.name: getattr(chosen, field.name) for field in fields(World)})
    print(f"seed {world.seed}", flush=True)
    began = time.monotonic()
    errors = Errors()
    logging.getLogger().addHandler(errors)
    with tempfile.TemporaryDirectory() as directory, servers(world) as (ports, process):
        crawler = CrawlerRunner(settings(chosen, directory)).create_crawler(Soak)
        await crawler.crawl(world=world, ports=ports, in_work=chosen.in_work)
        asked, robots = json.loads(process.communicate()[0])
    spider = crawler.spider
    assert isinstance(spider, Soak)
    assert crawler.stats
    print(
        f"{spider.done:,} requests in {time.monotonic() - began:.0f} s, {sum(robots):,} for robots.txt files"
    )
    for name, count in sorted(crawler.stats.get_stats().items()):
        if name.startswith("gbot_robots/"):
            print(f"  {name:32} {count:9,}")
    wrong = differences(spider, asked)
    for line in [*wrong[:10], *errors.messages[:10]]:
        print(f"  WRONG: {line}")
    print(
        f"{len(wrong)} pages were crawled or refused wrongly, {len(errors.messages)} errors were logged"
    )
    flat = is_flat(spider)
    return flat and not wrong and not errors.messages and spider.done == world.requests


def differences(spider: Soak, asked: list[int]) -> list[str]:
    """Return how the requests to the servers, and the forbidden pages, differ from the oracle."""
    wrong, allowed, world, forbidden = [], 0, spider.world, spider.forbidden
    for number in range(world.origins):
        origin = world.origin(number)
        for path in world.paths(number):
            page, may = page_of(path), origin.may(path)
            allowed += may
            if (asked[page], forbidden[page]) != (may, not may):
                wrong.append(
                    f"{origin.host}{path} (origin {number}): {'may' if may else 'may not'} be crawled, "
                    f"asked for {asked[page]} times, refused {forbidden[page]} times {spider.reasons.get(page, '')}"
                )
    print(
        f"of {world.requests:,} pages {allowed:,} may be crawled; {sum(asked):,} were, {sum(forbidden):,} were refused"
    )
    return wrong


def is_flat(spider: Soak) -> bool:
    if spider.world.requests < MEMORY_COUNTS_FROM:
        return True
    half = len(spider.memory) // 2
    start, middle, end = spider.memory[0], spider.memory[half], spider.memory[-1]
    print("memory over time, MiB: " + " ".join(f"{sample / 2**20:.0f}" for sample in spider.memory))
    print(f"start {start / 2**20:.1f}, middle {middle / 2**20:.1f}, end {end / 2**20:.1f} MiB")
    return end <= GROWTH * middle


class Errors(logging.Handler):
    """Collects the errors in the log, including unhandled errors of tasks and Deferreds."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(f"{record.name}: {record.getMessage()}")


def main() -> None:
    from twisted.internet import asyncioreactor

    asyncioreactor.install()  # type: ignore[no-untyped-call]
    from twisted.internet.defer import Deferred
    from twisted.internet.task import react

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--requests", type=int, default=100_000)
    options.add_argument("--origins", type=int, default=2000)
    options.add_argument(
        "--seed",
        type=int,
        default=random.randrange(10**6),
        help="the seed of an earlier run repeats it",
    )
    options.add_argument("--in-work", type=int, default=200, help="origins at a time")
    options.add_argument(
        "--failures", type=int, default=2, help="most failures of an origin that fails at first"
    )
    options.add_argument("--dead", type=float, default=0.2, help="share of origins that never work")
    options.add_argument(
        "--no-silence",
        dest="silence",
        action="store_false",
        help="let no connection end by a time-out",
    )
    options.add_argument("--timeout", type=float, default=10, help="GBOT_ROBOTS_TIMEOUT_SECS")
    options.add_argument("--wait", type=float, default=45, help="GBOT_ROBOTS_UNREACHABLE_WAIT_SECS")
    chosen = options.parse_args()

    async def run() -> None:
        if not await soak(chosen):
            raise SystemExit(1)

    react(lambda _: Deferred.fromCoroutine(run()))


if __name__ == "__main__":
    main()
