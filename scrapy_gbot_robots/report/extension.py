"""What robots.txt did to a crawl: a summary in the log at its end, and a page if one is asked for.

The extension listens to the plugin's signals, and counts.
"""

from __future__ import annotations

import logging

from scrapy import Spider, signals
from scrapy.crawler import Crawler

from ..concurrency import run_in_thread
from ..obeying.events import DECIDED
from ..settings import GbotSettings
from ..signals import override_used, request_forbidden
from .page import page, try_out, write
from .summary import CrawlCounts, summary

logger = logging.getLogger(__name__)


class RobotsReport:
    """The extension that logs the summary at INFO, and writes the page of `GBOT_ROBOTS_REPORT`."""

    def __init__(self, crawler: Crawler) -> None:
        self._path = GbotSettings.of(crawler.settings).report
        try:
            if self._path is not None:
                try_out(self._path)
        # RuntimeError: a loop of symbolic links, before Python 3.13
        except (OSError, RuntimeError) as error:
            rule = "GBOT_ROBOTS_REPORT must be the path of a file that can be written"
            raise ValueError(f"{rule}, got {str(self._path)!r}: {error}") from error
        self._counts = counts = CrawlCounts(crawler)
        connect = crawler.signals.connect
        connect(counts.count_answer, DECIDED)
        connect(counts.count_refusal, request_forbidden)
        connect(counts.count_override, override_used)
        connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsReport:
        """Make the extension.

        Raises:
            ValueError: a setting has a wrong value, or the page cannot be written at its path.
        """
        return cls(crawler)

    async def _spider_closed(self, spider: Spider, reason: str) -> None:
        counts = self._counts
        counts.finish_reason = reason
        if counts.origins or counts.blocked or counts.overridden:
            logger.info("%s", summary(counts), extra={"spider": spider})
        if self._path is not None:
            try:
                await run_in_thread(write, self._path, page(counts))
            except (OSError, RuntimeError) as error:  # the page is lost and nothing else
                logger.error("GBOT_ROBOTS_REPORT cannot be written: %s", error)  # noqa: TRY400  it names the path
            else:
                logger.info(
                    "What robots.txt did to this crawl is shown in %s", self._path.absolute()
                )
