"""What a process reports about itself in the Redis that the fleet shares, for `scrapy robots fleet`.

The process writes a few figures every ten seconds. If it dies, Redis drops them after a while. Each report is one command,
and no request waits for it.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from ..concurrency import Background

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from .entries import Entries

BEAT_SECS = 10.0

# The figures of a report, and the stat that each comes from.
_FIGURES = {
    "fetched": "robotstxt/request_count",
    "forbidden": "robotstxt/forbidden",
    "held": "gbot_robots/held",
    "waiting": "gbot_robots/waiting",
    "pages": "response_received_count",
}


class Heartbeat:
    """Reports on one crawl as long as it runs."""

    def __init__(self, crawler: Crawler, entries: Entries) -> None:
        self._crawler = crawler
        self._entries = entries
        self._background = Background()
        self._started = time.time()
        self._looping: Any = create_looping_call(self._beat)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    def _spider_opened(self) -> None:
        self._looping.start(BEAT_SECS)

    def _spider_closed(self) -> None:
        if self._looping.running:
            self._looping.stop()
        self._background.cancel()

    def _beat(self) -> None:
        self._background.start(self._entries.beat(self._facts()))

    def _facts(self) -> dict[str, object]:
        stats = self._crawler.stats
        spider = self._crawler.spider
        return {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "spider": spider.name if spider is not None else "",
            "started": round(self._started),
            **{name: stats.get_value(stat, 0) for name, stat in _FIGURES.items()},
        }
