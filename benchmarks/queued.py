"""Many hosts queued at once, without a network: `python -m benchmarks.queued --hosts 1000 10000 30000`.

The first page links to one page of each host, so that all of them are in the scheduler at the same time. A download handler
in the process answers after 5 milliseconds. Each crawl runs in a process of its own: without robots.txt, with Scrapy's own
middleware, with this plugin; then by scrapy-redis, with a Redis of its own, without robots.txt and with this plugin. A row has the processor time for each host, the whole time, the memory at the
end, and after which share of the time a tenth of the pages had come.

With `--secs 0.5 --hosts 900 --concurrency 64` the handler takes half a second. The last column says how many robots.txt
files were requested before the second page.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.http import HtmlResponse, TextResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

WAYS: dict[str, dict[str, Any]] = {
    "off": {"ROBOTSTXT_OBEY": False},
    "Scrapy": {"ROBOTSTXT_OBEY": True},
    "here": {"ADDONS": {"scrapy_gbot_robots.Addon": 500}, "GBOT_ROBOTS_STORAGE": "memory"},
}
# With scrapy-redis, and a Redis of its own: without robots.txt, and with this plugin.
_REDIS = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
}
WAYS |= {"redis off": {**WAYS["off"], **_REDIS}, "redis": {**WAYS["here"], **_REDIS}}
RULES = b"User-agent: *\nDisallow: /search\nDisallow: /*.pdf$\nSitemap: https://example.com/sitemap.xml\n"


class Handler:
    """A download handler that answers by itself."""

    lazy = False
    asked: list[str] = []  # noqa: RUF012  of the one crawl of this process

    def __init__(self, crawler: Crawler) -> None:
        self._secs = crawler.settings.getfloat("BENCHMARK_SECS")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def download_request(self, request: Request) -> Response:
        is_robots_txt = request.url.endswith("/robots.txt")
        self.asked.append("robots.txt" if is_robots_txt else "page")
        await asyncio.sleep(self._secs)
        if is_robots_txt:
            return TextResponse(request.url, 200, {"Content-Type": "text/plain"}, RULES)
        return HtmlResponse(request.url, body=b"<html></html>")

    async def close(self) -> None:
        pass


class Queued(Spider):
    """Requests one page, and then all hosts at once."""

    name = "queued"

    def __init__(self, hosts: int, pages: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.hosts, self.pages = hosts, pages
        self.came: list[float] = []

    async def start(self) -> AsyncIterator[Request]:
        yield Request("http://first.example/", callback=self.parse_first)

    def parse_first(self, response: Response) -> Iterator[Request]:
        for page in range(self.pages):
            for host in range(self.hosts):
                yield Request(f"http://h{host}.example/{page}")

    def parse(self, response: Response, **kwargs: Any) -> None:
        self.came.append(time.monotonic())


def run(way: str, options: argparse.Namespace) -> dict[str, Any]:
    from scrapy.crawler import AsyncCrawlerProcess

    with ExitStack() as stack:
        settings = dict(WAYS[way])
        if options.jobdir:
            settings["JOBDIR"] = stack.enter_context(tempfile.TemporaryDirectory())
        if "redis" in way:
            from tests.support.redis_server import redis_server

            settings["REDIS_URL"] = stack.enter_context(redis_server()).url
        process = AsyncCrawlerProcess(
            {
                "LOG_LEVEL": "ERROR",
                "TELNETCONSOLE_ENABLED": False,
                "DOWNLOAD_DELAY": 0,
                "CONCURRENT_REQUESTS": options.concurrency,
                "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
                "DOWNLOAD_HANDLERS": {"http": Handler},
                "BENCHMARK_SECS": options.secs,
                "USER_AGENT": "benchbot (+https://example.com)",
                "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.LifoMemoryQueue",
                **settings,
            }
        )
        crawler = process.create_crawler(Queued)
        process.crawl(crawler, hosts=options.hosts[0], pages=options.pages)
        cpu, began = time.process_time(), time.monotonic()
        process.start()
        cpu, wall = time.process_time() - cpu, time.monotonic() - began
    spider = crawler.spider
    assert isinstance(spider, Queued)
    second = [place for place, what in enumerate(Handler.asked) if what == "page"][2:3] or [0]
    tenth = spider.came[len(spider.came) // 10] - began
    return {
        "way": way,
        "hosts": options.hosts[0],
        "pages": len(spider.came),
        "cpu_ms": round(1000 * cpu / options.hosts[0], 2),
        "wall": round(wall, 1),
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "tenth": round(100 * tenth / (spider.came[-1] - began)),
        "before_second": Handler.asked[: second[0]].count("robots.txt"),
        "scheduled": crawler.stats.get_value("scheduler/enqueued"),
    }


def main(arguments: list[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--hosts", type=int, nargs="+", default=[1000, 10_000, 30_000])
    options.add_argument("--pages", type=int, default=1, help="of each host")
    options.add_argument("--secs", type=float, default=0.005)
    options.add_argument("--concurrency", type=int, default=100)
    options.add_argument(
        "--times", type=int, default=3, help="runs of each crawl, one after another in turn"
    )
    options.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    options.add_argument("--jobdir", action="store_true")
    options.add_argument("--one", choices=WAYS, help="run this crawl in this process")
    chosen = options.parse_args(arguments)
    if chosen.one:
        print(json.dumps(run(chosen.one, chosen)))
        return
    print(
        f"{'hosts':>7} {'way':9} {'pages':>7} {'ms CPU/host':>12} {'secs':>7} {'MiB':>6} {'10 % at':>8} {'robots.txt':>11}"
    )
    for hosts in chosen.hosts:
        command = [
            sys.executable,
            "-m",
            "benchmarks.queued",
            "--hosts",
            str(hosts),
            "--pages",
            str(chosen.pages),
        ]
        command += ["--secs", str(chosen.secs), "--concurrency", str(chosen.concurrency)]
        command += ["--jobdir"] if chosen.jobdir else []
        rows = [
            json.loads(
                subprocess.run(
                    [*command, "--one", way], capture_output=True, text=True, check=True
                ).stdout
            )
            for _ in range(chosen.times)
            for way in chosen.ways
        ]
        for way in chosen.ways:
            row = sorted((row for row in rows if row["way"] == way), key=lambda row: row["cpu_ms"])[
                chosen.times // 2
            ]
            print(
                f"{hosts:7} {way:9} {row['pages']:7} {row['cpu_ms']:12} {row['wall']:7} {row['MiB']:6} {row['tenth']:6} % "
                f"{row['before_second']:11}  scheduled {row['scheduled']}",
                flush=True,
            )


if __name__ == "__main__":
    main()
