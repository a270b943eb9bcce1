"""Applies the crawl-delay of a robots.txt to Scrapy's download slots (`GBOT_ROBOTS_CRAWL_DELAY`).

This is off by default, because Google ignores the field (Google's page, "Syntax"), and RFC 9309
does not define it.

Scrapy deletes a slot that is not used, and the delay of the slot is lost with it. Therefore,
whenever a request reaches its slot, the delay is set again before the slot sends the request. If
several origins use a slot, the longest crawl-delay of their robots.txt files applies. If one of
these files changes to a shorter crawl-delay during the crawl, the longer one still applies.

Like any delay in Scrapy, a crawl-delay is the time between two requests that leave the slot. Two
requests can arrive at the server at a shorter interval, because a busy process may send the first
one late, or because the user gives one host several slots.
"""

from __future__ import annotations

import logging
from typing import Any
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.utils.datatypes import LocalCache

from ..answers.answer import CachedAnswer
from ..core.crawlers import UserAgent
from ..core.urls import Origin
from ..engine import DownloadSlots
from ..meta import OWN_SLOT
from ..settings import GbotSettings

_SLOT = "download_slot"  # In request.meta, Scrapy stores the slot of a request under this key.
# Scrapy varies the delay of a slot at random, unless a certain attribute of the slot is 0. This
# attribute has the second of these names in Scrapy 2.14 to 2.18, and the first in newer versions.
_RANDOMNESS = ("jitter", "randomize_delay")

# The crawl-delays of at most this many slots are stored. If there are more slots, the oldest delay
# is removed, and the next request of its slot stores it again.
_MOST_SLOTS = 10_000

logger = logging.getLogger(__name__)


class CrawlDelays:
    """Applies the crawl-delays of robots.txt files, up to `GBOT_ROBOTS_CRAWL_DELAY` seconds."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._longest_secs = settings.crawl_delay
        # The keys are requests that have not reached the downloader yet. Each value contains the
        # origin, and the crawl-delay in its robots.txt, in seconds; 0 if the file has none.
        self._asked: WeakKeyDictionary[Request, tuple[Origin, float]] = WeakKeyDictionary()
        # The longest crawl-delay of each slot so far, in seconds, by the key of the slot.
        self._secs: LocalCache[str, float] = LocalCache(_MOST_SLOTS)
        self._slots = DownloadSlots(crawler)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._reached_downloader, signals.request_reached_downloader)

    def _spider_opened(self) -> None:
        """Connect the handler that raises the delay of a slot again after each response.

        Scrapy's AutoThrottle may have lowered the delay in its own handler of the same signal.
        Handlers are called in the order in which they were connected. Therefore this handler is
        connected only when the spider opens, after the handler of AutoThrottle.
        """
        self._crawler.signals.connect(self._raise_delay, signals.response_downloaded)

    def note_delay(self, request: Request, answer: CachedAnswer, user_agent: UserAgent) -> None:
        """Store the crawl-delay that `answer` contains for `user_agent`.

        The crawl-delay is applied when `request` reaches the downloader.

        Scrapy copies the slot of a request to a redirected request, even if the redirect leads to
        another host. Therefore this method also removes the slot from the meta, unless the user's
        own code has chosen the slot. The downloader then chooses the slot of the new host.
        """
        self._asked[request] = (answer.origin, answer.crawl_delay(user_agent) or 0.0)
        meta = request.meta
        if meta.get(_SLOT) in {None, meta.get(OWN_SLOT)}:
            meta.pop(_SLOT, None)
            meta[OWN_SLOT] = ""  # This means that the downloader will choose the slot.

    def _reached_downloader(self, request: Request) -> None:
        """Apply the crawl-delay that `note_delay` has stored, before the slot sends `request`.

        If the downloader has chosen the slot, this method stores the key of the slot in the meta
        (`OWN_SLOT`). Scrapy copies the meta to a redirected request. If that request still has the
        same slot, `note_delay` removes the slot, so that the downloader chooses another one.
        """
        key = request.meta[_SLOT]
        if OWN_SLOT in request.meta:
            request.meta[OWN_SLOT] = key
        origin, asked = self._asked.pop(request, (None, 0.0))
        secs = min(asked, self._longest_secs)
        if origin is not None and secs > self._secs.get(key, 0.0):
            self._secs[key] = secs
            self._crawler.stats.inc_value("gbot_robots/crawl_delay")
            if secs < asked:
                logger.info(
                    "%s asks for a crawl-delay of %g s; the crawl applies %g s "
                    "(GBOT_ROBOTS_CRAWL_DELAY)",
                    origin.robots_url,
                    asked,
                    secs,
                )
        self._raise_delay(request)

    def _raise_delay(self, request: Request) -> None:
        """Raise the delay of the slot of `request` to the longest crawl-delay for this slot.

        If the slot already has a longer delay, this delay stays.
        """
        key = request.meta.get(_SLOT, "")
        slot: Any = self._slots.by_key.get(key)
        if key in self._secs and hasattr(slot, "delay"):
            slot.delay = max(slot.delay, self._secs[key])
            for name in _RANDOMNESS:
                if hasattr(slot, name):
                    setattr(slot, name, 0)  # A random delay could be shorter.
                    break  # Scrapy would warn if the older name were used, too.
