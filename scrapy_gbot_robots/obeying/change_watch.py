"""Whether a robots.txt that was just fetched says something new, for handlers of the signal `robotstxt_changed`.

Most fetches bring the same bytes: then one comparison is enough. Otherwise the two files are compared group by group
(`core.changes`), since comments and dates change daily and mean nothing. A thread compares large files. No request waits
for the result.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ..concurrency import run_in_thread
from ..core.changes import changes
from ..core.robots import RobotsTxt
from ..signals import robotstxt_changed

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from ..concurrency import Background
    from ..core.urls import Origin
    from ..policy.outages import Copy
    from ..settings import GbotSettings
    from .telling import Telling

_IN_THREAD_BYTES = 16 * 2**10  # two files of this size take milliseconds to compare

logger = logging.getLogger(__name__)


class ChangeWatch:
    """Compares each definite answer with the one before, and sends a signal if the rules have changed."""

    def __init__(self, crawler: Crawler, settings: GbotSettings, telling: Telling, background: Background) -> None:
        self._crawler = crawler
        self._settings = settings
        self._telling = telling
        self._background = background

    def fetched(self, origin: Origin, before: Copy | None, now: Copy | None) -> None:
        """Compare the copy before a fetch with the copy after it."""
        if before is not None and now is not None and before.body != now.body:
            self._background.start(self._compare(origin, before, now))

    async def _compare(self, origin: Origin, before: Copy, now: Copy) -> None:
        old, new = self._parsed(before), self._parsed(now)
        if max(len(before.body), len(now.body)) > _IN_THREAD_BYTES:
            found = await run_in_thread(changes, old, new)
        else:
            found = changes(old, new)
        if not found:
            return
        self._telling.count("changed")
        logger.info("%s has new rules for %s", origin.robots_url, ", ".join(change.agent for change in found[:10]))
        spider = self._crawler.spider
        self._telling.send(robotstxt_changed, lambda: {"origin": origin, "old": old, "new": new, "spider": spider})

    def _parsed(self, copy: Copy) -> RobotsTxt:
        most = self._settings.max_bytes
        return RobotsTxt.parse(copy.body, strict=self._settings.strict, max_bytes=most, cut=copy.cut)
