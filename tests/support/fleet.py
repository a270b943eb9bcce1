"""Run crawls in processes of their own, as in a fleet of workers.

A worker is started with `python -m tests.support.fleet ORDER`. ORDER is a JSON object (see
`Worker`).
"""

# ruff: noqa: T201 - a worker prints its report

import json
import sys
from collections.abc import Iterable
from typing import Any

from . import processes


class Worker:
    """A process that crawls `urls` with the add-on and `settings`.

    `most_bytes` is the largest size of the files that it can write; 0 means no limit.
    """

    def __init__(self, urls: Iterable[str], settings: dict[str, Any], most_bytes: int = 0) -> None:
        order = {"urls": list(urls), "settings": settings, "most_bytes": most_bytes}
        command = [sys.executable, "-m", "tests.support.fleet", json.dumps(order)]
        self.process = processes.start(command)
        self.log = ""

    def report(self) -> dict[str, Any]:
        """Wait until the process ends. Return its report, with `crawled`, `refused` and `stats`.

        `crawled` and `refused` are URLs.
        """
        out, self.log = processes.output(self.process)
        assert self.process.returncode == 0, self.log
        report: dict[str, Any] = json.loads(out)
        return report

    def warnings(self) -> list[str]:
        """Return the plugin's warnings and all errors in the log. Call this after `report`."""
        words = ("[scrapy_gbot_robots", " WARNING: "), (" ERROR: ",), ("Traceback",)
        lines = self.log.splitlines()
        return [line for line in lines if any(all(w in line for w in each) for each in words)]

    def kill(self) -> None:
        """Kill the process as `kill -9` does, if it still runs."""
        self.process.kill()
        self.process.communicate()


def main(order: dict[str, Any]) -> None:
    from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess

    from .crawls import ADDON, QUIET, Pages, pages, stats

    if most_bytes := order["most_bytes"]:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    settings = {"LOG_LEVEL": "INFO", **QUIET, **ADDON, **order["settings"]}
    has_reactor = settings.get("TWISTED_REACTOR_ENABLED", True)
    process = (CrawlerProcess if has_reactor else AsyncCrawlerProcess)(settings)
    crawler = process.create_crawler(Pages)
    process.crawl(crawler, urls=order["urls"])
    process.start()
    spider = pages(crawler)
    facts = stats(crawler).items()
    counts = {name: value for name, value in facts if isinstance(value, (int, str))}
    report = {"crawled": [*spider.crawled], "refused": [*spider.refused], "stats": counts}
    print(json.dumps(report))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
