"""The progress of a RobotsSitemapSpider: a log line every few seconds, and one at the end."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from ..meta import LISTED
from ..signals import request_forbidden

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from .intake import SitemapIntake

logger = logging.getLogger(__name__)


class Progress:
    """The counts of one crawl.

    Attributes:
        hosts: how many hosts the crawl has; None while the list has not been read.
        asked: how many hosts have been asked for their robots.txt.
        done: how many of the asked hosts have answered or failed.
        without: how many of the done hosts have no sitemap.
        unreachable: how many of the done hosts have an unreachable robots.txt.
        crawled: how many listed pages were crawled.
        blocked: how many listed pages robots.txt forbids.
    """

    def __init__(self, crawler: Crawler, intake: SitemapIntake, every_secs: float) -> None:
        self._crawler = crawler
        self._intake = intake
        self._every_secs = every_secs
        self._said = ""
        self._looping: AsyncioLoopingCall | LoopingCall | None = None  # made later: it needs a running reactor
        self.hosts: int | None = None
        self.asked = self.done = self.without = self.unreachable = 0
        self.crawled = self.blocked = 0
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)
        crawler.signals.connect(self._response_received, signals.response_received)
        crawler.signals.connect(self._request_forbidden, request_forbidden)

    def __str__(self) -> str:
        hosts = "?" if self.hosts is None else f"{self.hosts:,}"
        return (
            f"hosts {self.done:,}/{hosts} ({self.without:,} without a sitemap, {self.unreachable:,} unreachable), "
            f"sitemaps {self._intake.files:,}, "
            f"URLs {self._intake.pages:,} found, {self.crawled:,} crawled, {self.blocked:,} blocked"
        )

    def count_host(self, outcome: str) -> None:
        """Count a host in the stat `gbot_robots/hosts/OUTCOME`."""
        self.without += outcome == "without"
        self.unreachable += outcome == "unreachable"
        self._crawler.stats.inc_value(f"gbot_robots/hosts/{outcome}")

    def _say(self, *, is_last: bool = False) -> None:
        """Log the progress if there was any: a crawl may wait a minute for an unreachable robots.txt."""
        line = str(self)
        if line != self._said or is_last:
            logger.info("%s", line, extra={"spider": self._crawler.spider})
        self._said = line

    def _spider_opened(self) -> None:
        if self._every_secs > 0:
            self._looping = create_looping_call(self._say)
            self._looping.start(self._every_secs, now=False)

    def _spider_closed(self) -> None:
        if self._looping is not None and self._looping.running:
            self._looping.stop()
        self._say(is_last=True)

    def _response_received(self, request: Request) -> None:
        self.crawled += LISTED in request.meta

    def _request_forbidden(self, request: Request, **_: Any) -> None:
        self.blocked += LISTED in request.meta
