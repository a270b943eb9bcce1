"""Run random crawls, and check the promises of the plugin in each of them.

Start them with `python -m tests.support.random_crawls --seeds 1-200 --at-a-time 2`.

A world (`random_worlds`) is made from each seed. Scrapy crawls it in processes of its own, some of
which are stopped by SIGTERM and started again. The server counts the requests. A crawl holds if

* no page was fetched that its robots.txt forbids, and each other page was fetched exactly once,
  except that some pages of a host that is lost may be given up
* at no time more pages were under way than CONCURRENT_REQUESTS, or in one slot than the limit of
  the slot, and delays were kept
* each request had one outcome, the stats contain the number of requests that were given up, and no
  request waits at the end
* no error was logged, and the crawl ended

With `--without`, the same world is crawled without the plugin. A problem in this crawl is a fault
of the world.
"""

# ruff: noqa: T201 - the program prints its report

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from twisted.python.failure import Failure
from typing_extensions import Self

from .processes import ROOT
from .random_worlds import LONG_WAIT, SCHEDULERS, Page, Server, World
from .reactors import WAYS
from .redis_server import RedisServer, redis_server
from .until import FAR_TOO_LONG_SECS

SLACK = 0.005  # Timers of the reactor may fire earlier by this number of seconds.
BEGUN = "The crawl has begun"
WRONG_WORDS = (" ERROR: ", " CRITICAL: ", "Traceback", "Unhandled", "never awaited")


# The following code runs the crawl, in a process of its own.


class Wanderer(Spider):
    """A spider that requests the pages of a world, and notes the outcome of each request."""

    name = "wanderer"

    def __init__(self, order: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.order = order
        self.outcomes: list[tuple[str, str]] = []  # the URL and the outcome of each request
        # For each slot, the times at which its requests were sent.
        self.sent: dict[str, list[float]] = defaultdict(list)
        self.direct = [Page(**page) for page in order["direct"]]
        self.has_been_idle = False

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        return spider

    def request(self, page: Page, **more: Any) -> Request:
        host = self.order["hosts"][page.host]
        meta = {"download_slot": page.slot} if page.slot else {}
        worker = {"User-Agent": page.user_agent, "X-Worker": self.order["worker"]}
        more.setdefault("callback", self.parse)
        return Request(
            f"{host}{page.path}",
            errback=self.failed,
            priority=page.priority,
            headers={**worker, **more.pop("headers", {})},
            meta=meta,
            **more,
        )

    async def start(self) -> AsyncIterator[Request]:
        from scrapy_gbot_robots.concurrency import pause
        from scrapy_gbot_robots.engine import around_sending

        around_sending(self.crawler, self.send)
        await pause(0)  # After this, the reactor runs.
        self.logger.info(BEGUN)
        pages = self.order["world"]["pages"]
        for page in pages:
            yield self.request(Page(**page))
            if self.order["world"]["start_secs"]:
                await pause(self.order["world"]["start_secs"] / len(pages))

    async def send(self, send: Any, request: Request) -> Response:
        """Send a request with its slot in a header, and note the time."""
        assert self.crawler.engine
        name = request.meta["download_slot"]
        request.headers["X-Slot"] = name
        request.headers["X-Worker"] = self.order["worker"]
        self.sent[name].append(self.crawler.engine.downloader.slots[name].lastseen)
        response: Response = await send(request)
        return response

    async def parse(self, response: Response, **kwargs: Any) -> None:
        self.outcomes.append((response.url, "page"))
        if self.direct:
            page = self.direct.pop()
            assert self.crawler.engine
            request = self.request(page, headers={"X-Direct": "1"})
            try:
                answer = await self.crawler.engine.download_async(request)
                self.outcomes.append((answer.url, "page"))
            except Exception as error:
                self.outcomes.append((request.url, said(error)))

    def failed(self, failure: Failure) -> None:
        self.outcomes.append((failure.request.url, said(failure.value)))  # type: ignore[attr-defined]

    def idle(self) -> None:
        if self.has_been_idle or not self.order["world"]["idle"]:
            return
        self.has_been_idle = True
        assert self.crawler.engine
        for page in self.order["world"]["idle"]:
            self.crawler.engine.crawl(self.request(Page(**page)))
        raise DontCloseSpider


def said(error: object) -> str:
    """Return the outcome of a request that ended with an exception.

    The outcome is that a rule forbids the URL, that the request was given up, or that the crawl was
    closed. For any other exception it is the name of the exception.
    """
    from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt

    if not isinstance(error, ForbiddenByRobotsTxt):
        return type(error).__name__
    if error.verdict.rule is not None:
        return "refused"
    return "closed" if "the crawl closed" in str(error) else f"given up: {error}"


class Changing:
    """A middleware of the project. It changes URLs, and exempts some requests from robots.txt."""

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        if "/moved/" in request.url:
            request._set_url(request.url.replace("/moved/", "/yes/moved-"))
        if "/free/" in request.url:
            request.meta["dont_obey_robotstxt"] = True


def crawl(path: str) -> None:
    """Run a crawl in this process by the order in the file `path`. Write the report beside it."""
    order = json.loads(Path(path).read_text())
    process_cls = AsyncCrawlerProcess if order["way"] == "reactorless" else CrawlerProcess
    process = process_cls(order["settings"])
    crawler = process.create_crawler(Wanderer)
    process.crawl(crawler, order=order)
    process.start()
    spider, stats = crawler.spider, crawler.stats
    assert isinstance(spider, Wanderer)
    assert stats
    counts = {
        name: value for name, value in stats.get_stats().items() if isinstance(value, (int, str))
    }
    report = {"outcomes": spider.outcomes, "sent": spider.sent, "stats": counts}
    Path(f"{path}.report").write_text(json.dumps(report))


# The following code starts the crawls, and judges them.


class Run:
    """A process that runs a crawl."""

    def __init__(self, order: dict[str, Any], path: Path) -> None:
        self.name = path.name
        self._log, self._report = Path(f"{path}.err"), Path(f"{path}.report")
        path.write_text(json.dumps(order))
        command = [sys.executable, "-m", "tests.support.random_crawls", "--crawl", str(path)]
        environment = {**os.environ, "PYTHONFAULTHANDLER": "1", "PYTHONPATH": str(ROOT)}
        with self._log.open("w") as errors:
            self.process = subprocess.Popen(
                command, cwd=path.parent, env=environment, stderr=errors, stdout=errors
            )

    @property
    def has_begun(self) -> bool:
        """Whether the crawl has begun, so that SIGTERM would close it in the usual way."""
        return BEGUN in self._log.read_text()

    def end(self) -> bool:
        """Wait for the end of the process. Return False if it had to be aborted."""
        try:
            self.process.wait(FAR_TOO_LONG_SECS)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            return False
        return True

    @property
    def has_failed(self) -> bool:
        """Whether the process has ended without a report, or with an error."""
        # The signal came after the crawl had ended.
        if self.process.returncode == -signal.SIGTERM:
            return not self._report.exists()
        return self.process.returncode != 0

    def report(self) -> dict[str, Any]:
        report: dict[str, Any] = json.loads(self._report.read_text())
        return report

    def wrong_lines(self) -> list[str]:
        lines = self._log.read_text().splitlines()
        return [line for line in lines if any(word in line for word in WRONG_WORDS)]


class Trial:
    """The crawl of one world, with or without the plugin, in `directory`."""

    def __init__(self, world: World, directory: Path, *, plugin: bool) -> None:
        self.world = world
        self.directory = directory
        self.plugin = plugin
        self.server = Server(world)
        self.problems: list[str] = []
        self.reports: list[dict[str, Any]] = []
        self.was_stopped = False

    def run(self) -> list[str]:
        """Crawl the world, and return the problems. The list is empty if the crawl holds."""
        with ExitStack() as stack:
            stack.enter_context(self.server)
            redis = stack.enter_context(redis_server()) if self.world.uses_redis else None
            settings = self.settings(redis)
            runs = self.start(settings)
            if self.world.stop_after:
                self.stop_in_time(runs)
            if self.finish(runs) and self.was_stopped:
                self.finish(self.start(settings, again=True))
        if not self.problems:
            self.judge()
        return self.problems

    def judge(self) -> None:
        """Add the problems to `problems`. Call this after all runs have ended."""
        self._judge_pages()
        self.judge_limits()
        self._judge_counts()

    def settings(self, redis: RedisServer | None = None) -> dict[str, Any]:
        """Return the settings, which are the same for all runs."""
        settings = {
            **WAYS[self.world.way],
            "DOWNLOADER_MIDDLEWARES": {"tests.support.random_crawls.Changing": 50},
            "DOWNLOAD_DELAY_JITTER": 0,
            "DOWNLOAD_TIMEOUT": 60,
            "LOG_LEVEL": "INFO",
            "REMOTE_CONTROL_ENABLED": False,
            "RETRY_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "GBOT_ROBOTS_SQLITE_PATH": str(self.directory / "robots.sqlite"),
            **self.world.settings,
        }
        if redis is not None:
            settings["REDIS_URL"] = redis.url
        if "JOBDIR" in settings:
            settings["JOBDIR"] = str(self.directory / "job")
        if self.plugin:
            settings["ADDONS"] = {"scrapy_gbot_robots.Addon": 500}
        elif self.world.scheduler == "strict":
            settings["SCHEDULER_PRIORITY_QUEUE"] = "scrapy.pqueues.ScrapyPriorityQueue"
        return settings

    def start(self, settings: dict[str, Any], *, again: bool = False) -> list[Run]:
        """Start the workers.

        If `again` is true, they crawl the same pages as before, without the pages that callbacks
        download past the scheduler.
        """
        order: dict[str, Any] = {
            "hosts": [self.host(number) for number in range(len(self.world.hosts))],
            "settings": settings,
            "way": self.world.way,
            "world": asdict(self.world),
        }
        runs = []
        for number in range(self.world.workers):
            worker = f"{2 if again else 1}{number}"
            # A duplicate filter does not know the direct requests, so only the first run sends
            # them.
            direct = [] if again or number else order["world"]["direct"]
            path = self.directory / f"{worker}.json"
            runs.append(Run({**order, "worker": worker, "direct": direct}, path))
        return runs

    def stop_in_time(self, runs: list[Run]) -> None:
        """Send SIGTERM after `stop_after` requests to the server, unless a run has ended."""
        while all(run.process.poll() is None for run in runs):
            is_due = len(self.server.asked) >= self.world.stop_after
            if is_due and all(run.has_begun for run in runs):
                self.stop(runs)
                return
            time.sleep(0.02)

    def stop(self, runs: list[Run]) -> None:
        """Send SIGTERM to the runs, as a supervisor does to stop them."""
        self.was_stopped = True
        for run in runs:
            run.process.send_signal(signal.SIGTERM)

    def finish(self, runs: list[Run]) -> bool:
        """Wait until the runs end, and collect their reports. Return whether all ended well."""
        before = len(self.problems)
        for run in runs:
            if not run.end():
                self.problems.append(f"run {run.name} has not ended")
                continue
            self.problems += [f"{run.name}: {line}" for line in run.wrong_lines()[:3]]
            if run.has_failed:
                self.problems.append(f"{run.name} ended with {run.process.returncode}")
            else:
                self.reports.append(run.report())
        return len(self.problems) == before

    def host(self, number: int) -> str:
        """Return the URL of a host, without a path."""
        host = self.world.hosts[number]
        port = 1 if host.kind == "dead" else self.server.port
        return f"http://{host.name}:{port}"

    def _url(self, page: Page) -> str:
        return f"{self.host(page.host)}{page.path.replace('/moved/', '/yes/moved-')}"

    # The following methods judge the reports.

    def _judge_pages(self) -> None:
        served = Counter(
            f"http://{each.host}:{self.server.port}{each.path}" for each in self.server.asked
        )
        outcomes: dict[str, list[str]] = defaultdict(list)
        for report in self.reports:
            for url, outcome in report["outcomes"]:
                outcomes[url.replace("/moved/", "/yes/moved-")].append(outcome)
        direct = {self._url(page) for page in self.world.direct}
        # In the first worker, each page that is fetched starts the download of one direct page.
        pages = [url for url, each in outcomes.items() if "page" in each and url not in direct]
        are_all_begun = not self.was_stopped and self.world.workers == 1
        if len(pages) < len(direct):
            are_all_begun = False
        for page in (*self.world.pages, *self.world.idle, *self.world.direct):
            url = self._url(page)
            may_be_missing = url in direct and not are_all_begun
            problem = self._wrong_with(page, served[url], outcomes[url], may_be_missing)
            if problem:
                host = self.world.hosts[page.host]
                self.problems.append(f"{host.kind} {url} {page.user_agent}: {problem}")

    def _wrong_with(
        self, page: Page, served: int, outcomes: list[str], may_be_missing: bool
    ) -> str:
        """Return the problem with a page; "" if there is none.

        Args:
            page: the page.
            served: how often the server sent the page.
            outcomes: the outcomes of the requests for the page.
            may_be_missing: whether the crawl may have ended before it requested the page.
        """
        host = self.world.hosts[page.host]
        is_dead = host.kind == "dead"
        asks = f"served {served} times, outcomes {outcomes}"
        if may_be_missing and outcomes in ([], ["closed"]):
            return asks if served else ""
        if len(outcomes) != 1:
            return asks
        if not self.plugin or page.path.startswith("/free/"):
            return "" if served == (not is_dead) else asks
        was_given_up = outcomes[0].startswith("given up")
        if was_given_up:
            wait = self.world.settings["GBOT_ROBOTS_UNREACHABLE_WAIT_SECS"]
            # If the robots.txt is unreachable, only some of the direct requests wait for it.
            is_short = not host.is_well and (page in self.world.direct or wait < LONG_WAIT)
            return asks if served or not (is_dead or host.kind == "lost" or is_short) else ""
        if is_dead or host.kind == "lost":
            return asks
        if not page.is_allowed and host.kind != "missing":
            return asks if served or outcomes != ["refused"] else ""
        return "" if (served, outcomes) == (1, ["page"]) else asks

    def judge_limits(self) -> None:
        """Add a problem for each limit that was exceeded, and for each delay that was too short."""
        settings = self.world.settings
        delay = settings["DOWNLOAD_DELAY"]
        for key, most in self.server.most.items():
            is_of_slot = " " in key
            if is_of_slot and not delay and self.world.way != "select":
                # With asyncio, Scrapy 2.19 starts all requests of a slot at once.
                continue
            limit = "CONCURRENT_REQUESTS" + ("_PER_DOMAIN" if is_of_slot else "")
            if most > settings[limit]:
                self.problems.append(
                    f"{most} pages under way for {key!r}, {limit} {settings[limit]}"
                )
        if not delay:
            return
        for report in self.reports:
            for slot, times in report["sent"].items():
                gaps = [later - earlier for earlier, later in pairwise(times)]
                short = [gap for gap in gaps if gap < delay - SLACK]
                if short:
                    self.problems.append(f"slot {slot}: gaps of {short[:5]} s of {len(gaps)}")

    def _judge_counts(self) -> None:
        for report in self.reports:
            counts = report["stats"]
            if counts["finish_reason"] == "finished" and counts.get("gbot_robots/waiting"):
                self.problems.append(f"{counts['gbot_robots/waiting']} wait at the end")
        if self.was_stopped or not self.plugin:
            return
        given_up = sum(
            report["stats"].get("gbot_robots/forbidden/unreachable", 0) for report in self.reports
        )
        outcomes = [outcome for report in self.reports for _, outcome in report["outcomes"]]
        seen = sum(outcome.startswith("given up") for outcome in outcomes)
        if seen != given_up:
            self.problems.append(f"{seen} were given up, the stats say {given_up}")


def problems_of(world: World, *, plugin: bool = True, keep: bool = False) -> list[str]:
    """Crawl `world`, and return the problems.

    If `keep` is true, keep the orders, logs and reports, and print their directory.
    """
    with tempfile.TemporaryDirectory(prefix="world-") as directory:
        path = Path(tempfile.mkdtemp(prefix=f"world-{world.seed}-")) if keep else Path(directory)
        if keep:
            print(path)
        return Trial(world, path, plugin=plugin).run()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", default="", help="such as 1-200; without it 20 new ones")
    options.add_argument("--at-a-time", type=int, default=1)
    options.add_argument("--scheduler", choices=list(SCHEDULERS), default="")
    options.add_argument("--by-any-handler", action="store_true", help="vary download handlers")
    options.add_argument("--without", action="store_true", help="crawl without the plugin")
    options.add_argument("--keep", action="store_true", help="keep logs and reports")
    options.add_argument("--crawl", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.crawl:
        crawl(chosen.crawl)
        return 0
    first, _, last = chosen.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1) if first else random.sample(range(10**6), 20)

    def tried(seed: int) -> bool:
        began = time.monotonic()
        world = World.of(seed, chosen.scheduler)
        if chosen.by_any_handler:
            world = World.by_any_handler(seed)
        problems = problems_of(world, plugin=not chosen.without, keep=chosen.keep)
        took = time.monotonic() - began
        print(
            f"{seed}: {'FAILS' if problems else 'holds'} {took:.1f} s",
            *problems[:8],
            *([f"and {len(problems) - 8} more"] if len(problems) > 8 else []),
            sep="\n    ",
            flush=True,
        )
        return not problems

    with ThreadPoolExecutor(chosen.at_a_time) as pool:
        results = list(pool.map(tried, seeds))
    print(f"{sum(results)} of {len(results)} hold")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
