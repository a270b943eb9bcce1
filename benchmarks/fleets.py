"""Processes that share one queue, without a network: `python -m benchmarks.fleets --robots-secs 0.05 0.4 2`.

Four scrapy-redis workers crawl the pages of eight hosts from one queue in Redis. A download handler in each process answers
a page after a quarter of a second, and a robots.txt after `--robots-secs`. A row says how long the whole crawl took, from
the first request, which share of its part the slowest worker had, and how many pages were left in the queue
after three seconds. With `--kill 4` one worker is killed after four seconds; the row says how many pages are lost.
With `--start-urls`, the workers are RedisSpiders, which take the pages from a list of start URLs when they have nothing to do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.http import HtmlResponse, TextResponse

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

WORKERS, HOSTS, PAGE_SECS = 4, 8, 0.25
QUEUE, READY, BEGIN = "fleet:requests", "fleet:ready", "fleet:begin"
BEGAN, SERVED = "fleet:began", "fleet:served"
START_URLS = "fleet:start_urls"
WAYS: dict[str, dict[str, Any]] = {
    "off": {"ROBOTSTXT_OBEY": False},
    "here": {"ADDONS": {"scrapy_gbot_robots.Addon": 500}, "GBOT_ROBOTS_STORAGE": "memory"},
    "redis": {"ADDONS": {"scrapy_gbot_robots.Addon": 500}, "GBOT_ROBOTS_STORAGE": "redis"},
}


class FleetHandler:
    """A download handler that answers by itself, and notes in Redis which pages it has served."""

    lazy = False

    def __init__(self, crawler: Crawler) -> None:
        from redis import Redis

        self._settings = crawler.settings
        self._redis = Redis.from_url(crawler.settings["REDIS_URL"])

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def download_request(self, request: Request) -> Response:
        self._redis.setnx(BEGAN, time.time())
        if request.url.endswith("/robots.txt"):
            await asyncio.sleep(self._settings.getfloat("BENCHMARK_SECS"))
            return TextResponse(request.url, body=b"User-agent: *\nDisallow: /no\n")
        await asyncio.sleep(PAGE_SECS)
        self._redis.hset(SERVED, request.url, f"{self._settings['BENCHMARK_WORKER']} {time.time()}")
        return HtmlResponse(request.url, body=b"<html></html>")

    async def close(self) -> None:
        self._redis.close()


class FleetWorker(Spider):
    """Crawls what is in the queue."""

    name = "fleet"
    start_urls: list[str] = []  # noqa: RUF012  Scrapy's

    def parse(self, response: Response, **kwargs: Any) -> None:
        pass


def work(way: str, robots_secs: float, queue: str, number: int, url: str) -> None:
    from redis import Redis
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy_redis.spiders import RedisSpider

    class StartUrlsWorker(RedisSpider):  # type: ignore[misc]  # it has no types
        name = "fleet"
        redis_key = START_URLS
        max_idle_time = 10
        parse = FleetWorker.parse

    process = AsyncCrawlerProcess(
        {
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "DOWNLOAD_DELAY": 0,
            "CONCURRENT_REQUESTS": 4,
            "DOWNLOAD_HANDLERS": {"http": FleetHandler},
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": True,
            "SCHEDULER_QUEUE_CLASS": f"scrapy_redis.queue.{queue}",
            "REDIS_URL": url,
            "BENCHMARK_SECS": robots_secs,
            "BENCHMARK_WORKER": number,
            "USER_AGENT": "benchbot (+https://example.com)",
            **WAYS[way],
        }
    )
    with Redis.from_url(url) as redis:
        process.crawl(StartUrlsWorker if redis.exists(START_URLS) else FleetWorker)
        redis.incr(READY)
        while not redis.exists(BEGIN):
            time.sleep(0.01)
    process.start()


def measure(way: str, robots_secs: float, options: argparse.Namespace) -> None:
    from redis import Redis
    from scrapy_redis import queue as queues

    from tests.support.redis_server import redis_server

    with redis_server() as server, Redis.from_url(server.url) as redis:
        queue = getattr(queues, options.queue)(redis, FleetWorker(), QUEUE)
        for page in range(options.pages):
            page_url = f"http://h{page % HOSTS}.example/{page}"
            if options.start_urls:
                redis.rpush(START_URLS, json.dumps({"url": page_url}))
            else:
                queue.push(Request(page_url))
        order = [way, str(robots_secs), options.queue]
        workers = [
            subprocess.Popen([sys.executable, "-m", __spec__.name, "--work", *order, n, server.url])
            for n in map(str, range(WORKERS))
        ]
        while int(redis.get(READY) or 0) < WORKERS:
            time.sleep(0.05)
        redis.set(BEGIN, 1)
        while (began := redis.get(BEGAN)) is None:
            time.sleep(0.01)
        time.sleep(3)
        left = len(queue) + int(redis.llen(START_URLS))
        if options.kill:
            time.sleep(max(0.0, options.kill - 3))
            workers[0].kill()
        for worker in workers:
            worker.wait()
        served = [value.split() for value in redis.hvals(SERVED)]
    ended = max(float(at) for _, at in served)
    by_worker = sorted(sum(who == str(n).encode() for who, _ in served) for n in range(WORKERS))
    share = by_worker[0] / (options.pages / WORKERS)
    lost = options.pages - len(served)
    print(
        f"{way:5} robots.txt after {robots_secs:4} s: {ended - float(began):6.1f} s, least share "
        f"{share:5.0%}, left after 3 s {left:5}, lost {lost:4}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1200)
    parser.add_argument("--robots-secs", type=float, nargs="+", default=[0.05, 0.4, 2.0])
    parser.add_argument("--queue", default="FifoQueue")
    parser.add_argument("--start-urls", action="store_true")
    parser.add_argument("--kill", type=float, default=0.0)
    parser.add_argument("--work", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        way, robots_secs, queue, number, url = options.work
        work(way, float(robots_secs), queue, int(number), url)
        return
    measure("off", 0.0, options)
    for robots_secs in options.robots_secs:
        measure("here", robots_secs, options)
        measure("redis", robots_secs, options)


if __name__ == "__main__":
    main()
