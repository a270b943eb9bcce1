"""A crawl of many origins in a process of its own: `python -m tests.servers.crawling`, which reads its order from stdin.

The order is a JSON object: `settings`, and `targets`, each with the `id` of its row, the `base` of its URLs and the `meta` of
its requests. For each id, the answer has what the crawl made of the origin.
"""

# ruff: noqa: T201 - what it prints is what it reports

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.http import Response
from twisted.python.failure import Failure
from typing_extensions import Self

from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.signals import robotstxt_known, robotstxt_served, robotstxt_unreachable

PAGES = {"public": "/p.html", "private": "/private/x.html"}


class Visits(Spider):
    """Requests a public and a private page of each target, and notes what became of origins and pages."""

    name = "visits"

    def __init__(self, targets: list[dict[str, Any]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.targets = targets
        self.seen: dict[str, dict[str, Any]] = {target["id"]: {} for target in targets}
        self.ids = {target["base"]: target["id"] for target in targets}

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.known, robotstxt_known)
        crawler.signals.connect(spider.known, robotstxt_unreachable)
        crawler.signals.connect(spider.served, robotstxt_served)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        for target in self.targets:
            for kind, path in PAGES.items():
                meta = {"handle_httpstatus_all": True, "dont_redirect": True, **target["meta"]}
                yield Request(
                    target["base"] + path,
                    self.parse,
                    errback=self.failed,
                    meta=meta,
                    cb_kwargs={"id": target["id"], "kind": kind},
                )

    def known(self, origin: Any, answer: Any) -> None:
        self._of(origin)["state"] = answer.state.value

    def served(self, origin: Any, outcome: Any, response: Response) -> None:
        seen = self._of(origin)
        seen["status"] = response.status
        seen["max_age"] = getattr(outcome, "max_age", None)
        seen["retry_after"] = getattr(outcome, "retry_after", None)

    def _of(self, origin: Any) -> dict[str, Any]:
        id = self.ids[origin.robots_url.removesuffix("/robots.txt")]
        return self.seen[id]

    def parse(self, response: Response, **of: Any) -> None:
        self.seen[of["id"]][of["kind"]] = "fetched"

    def failed(self, failure: Failure) -> None:
        of = failure.request.cb_kwargs  # type: ignore[attr-defined]  # Scrapy puts it there
        is_forbidden = isinstance(failure.value, ForbiddenByRobotsTxt)
        self.seen[of["id"]][of["kind"]] = "forbidden" if is_forbidden else repr(failure.value)


def main(order: dict[str, Any]) -> None:
    process = AsyncCrawlerProcess(order["settings"])
    crawler = process.create_crawler(Visits)
    process.crawl(crawler, targets=order["targets"])
    process.start()
    assert isinstance(crawler.spider, Visits)
    print(json.dumps(crawler.spider.seen))


if __name__ == "__main__":
    main(json.load(sys.stdin))
