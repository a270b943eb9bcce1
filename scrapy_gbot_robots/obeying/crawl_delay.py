"""The crawl-delay of a robots.txt, applied to Scrapy's slots (`GBOT_ROBOTS_CRAWL_DELAY`).

It is off by default, because Google ignores the field (Google's page, "Syntax"), and RFC 9309 does
not define it. Whenever a request reaches a slot, the delay is set again before Scrapy looks at the
slot's queue. So it does not matter when Scrapy deletes an unused slot, or which other origins use
the slot. The longest crawl-delay that was found for a slot applies, even if a robots.txt later has
a shorter one.

Like any delay of Scrapy, it is the time between two requests that leave a slot. Two requests can
arrive at the server in less time, because a busy process may send the first one late, or because
the user gives one host several slots.
"""

from __future__ import annotations

import logging
from typing import Any
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.utils.datatypes import LocalCache

from ..core.crawlers import UserAgent
from ..core.urls import Origin
from ..engine import DownloadSlots
from ..meta import OWN_SLOT
from ..settings import GbotSettings
from .answer import CachedAnswer

_SLOT = "download_slot"  # Scrapy's request.meta key
# The attribute of a slot that makes its delay random, unless it is 0. The second name is from
# Scrapy 2.14 to 2.18.
_RANDOMNESS = ("jitter", "randomize_delay")

# The delays of this many slots are stored. The next request of another slot stores its delay again.
_MOST_SLOTS = 10_000

logger = logging.getLogger(__name__)


class CrawlDelays:
    """Applies the crawl-delays of robots.txt files, up to `GBOT_ROBOTS_CRAWL_DELAY` seconds."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._longest_secs = settings.crawl_delay
        # For each request on its way to the downloader, the origin whose robots.txt has a
        # crawl-delay, and the delay in seconds.
        self._asked: WeakKeyDictionary[Request, tuple[Origin, float]] = WeakKeyDictionary()
        # The longest crawl-delay, in seconds, by slot.
        self._secs: LocalCache[str, float] = LocalCache(_MOST_SLOTS)
        self._slots = DownloadSlots(crawler)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._reached_downloader, signals.request_reached_downloader)

    def _spider_opened(self) -> None:
        """Raise delays again after each response, because AutoThrottle may have lowered them.

        Signal handlers are called in the order in which they were connected, so this handler is
        connected late.
        """
        self._crawler.signals.connect(self._raise_delay, signals.response_downloaded)

    def note_delay(self, request: Request, answer: CachedAnswer, user_agent: UserAgent) -> None:
        """Note the crawl-delay for `user_agent`, to apply it when `request` reaches the downloader.

        The request goes through the slot of its host, unless the code that made the request chose
        another slot. Scrapy alone would leave a redirected request in the slot of the first host.
        """
        self._asked[request] = (answer.origin, answer.crawl_delay(user_agent) or 0.0)
        meta = request.meta
        if meta.get(_SLOT) in {None, meta.get(OWN_SLOT)}:
            meta.pop(_SLOT, None)
            meta[OWN_SLOT] = ""  # The downloader chooses the slot.

    def _reached_downloader(self, request: Request) -> None:
        """Raise the delay of the slot of `request`, if the crawl-delay of its robots.txt is longer.

        This happens before the slot sends requests. The slot is marked as not chosen by the user.
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
        """Raise the delay of the slot of `request`, in case something has lowered it."""
        key = request.meta.get(_SLOT, "")
        slot: Any = self._slots.by_key.get(key)
        if key in self._secs and hasattr(slot, "delay"):
            slot.delay = max(slot.delay, self._secs[key])
            for name in _RANDOMNESS:
                if hasattr(slot, name):
                    setattr(slot, name, 0)  # A random delay could be shorter.
                    break  # Scrapy warns of the older name.
