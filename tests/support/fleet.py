"""Crawls in processes of their own: `python -m tests.support.fleet ORDER`. The order is a JSON object (see `Worker`)."""

# ruff: noqa: T201 - what it prints is what it reports

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ROOT = Path(__file__).parents[2]


class Worker:
    """A process that crawls `urls` with the add-on and `settings`.

    `file_bytes` limits the size of files that the process writes during the crawl.
    `as_others` makes root obey file permissions, as other users do.
    """

    def __init__(
        self,
        urls: Iterable[str],
        settings: dict[str, Any],
        *,
        file_bytes: int | None = None,
        as_others: bool = False,
    ) -> None:
        order: dict[str, Any] = {"urls": list(urls), "settings": settings}
        order |= {"file_bytes": file_bytes, "as_others": as_others}
        self.process = processes.start([sys.executable, "-m", "tests.support.fleet", json.dumps(order)], ROOT)
        self.log = ""

    def report(self) -> dict[str, Any]:
        """Wait until the process ends. Return the URLs `crawled` and `refused`, and the `stats`."""
        out, self.log = processes.output(self.process, 30)
        assert self.process.returncode == 0, self.log
        report: dict[str, Any] = json.loads(out)
        return report

    def warnings(self) -> list[str]:
        """The plugin's warnings and all errors. Call it after `report`."""
        words = ("[scrapy_gbot_robots", " WARNING: "), (" ERROR: ",), ("Traceback",)
        return [line for line in self.log.splitlines() if any(all(word in line for word in each) for each in words)]

    def kill(self) -> None:
        """Kill the process, as `kill -9` does, if it still runs."""
        self.process.kill()
        self.process.communicate()


@contextmanager
def workers() -> Iterator[Callable[..., Worker]]:
    """A function that starts workers. All of them end with the context."""
    with ExitStack() as stack:

        def start(*arguments: Any, **circumstances: Any) -> Worker:
            worker = Worker(*arguments, **circumstances)
            stack.callback(worker.kill)
            return worker

        yield start


def begin_as_others(order: dict[str, Any]) -> None:
    """Start this program again without root's right to ignore permissions."""
    pr_capbset_drop, cap_dac_override = 24, 1
    ctypes.CDLL(None).prctl(pr_capbset_drop, cap_dac_override)
    os.execv(sys.executable, [sys.executable, "-m", "tests.support.fleet", json.dumps(order)])


def main(order: dict[str, Any]) -> None:
    if order.pop("as_others", False) and os.getuid() == 0:
        begin_as_others(order)

    from scrapy import signals
    from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess

    from .crawls import ADDON, QUIET, Pages, pages, stats

    most_file_bytes = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

    def spider_opened() -> None:
        if order["file_bytes"]:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (order["file_bytes"], most_file_bytes))

    settings = {"LOG_LEVEL": "INFO", "REMOTE_CONTROL_ENABLED": False, **QUIET, **ADDON, **order["settings"]}
    process_cls = CrawlerProcess if settings.get("TWISTED_REACTOR_ENABLED", True) else AsyncCrawlerProcess
    process = process_cls(settings)
    crawler = process.create_crawler(Pages)
    crawler.signals.connect(spider_opened, signals.spider_opened)
    process.crawl(crawler, urls=order["urls"])
    process.start()
    if order["file_bytes"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_file_bytes,) * 2)  # coverage writes what it has measured
    spider = pages(crawler)
    counts = {name: value for name, value in stats(crawler).items() if isinstance(value, (int, str))}
    print(json.dumps({"crawled": list(spider.crawled), "refused": list(spider.refused), "stats": counts}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
