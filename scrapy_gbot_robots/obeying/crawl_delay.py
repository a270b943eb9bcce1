"""`GBOT_ROBOTS_CRAWL_DELAY`: the crawl-delay that a robots.txt asks for, kept by Scrapy's slots.

Google ignores the field (Google's page, "Syntax"), and RFC 9309 does not have it: this is off by
default. Whenever a request reaches a slot, the delay is set again before Scrapy looks at the slot's
queue. So it does not matter when Scrapy deletes an unused slot, or which other origins use that
slot: the largest of their delays counts.

As any delay of Scrapy's, it is kept between the times at which a slot lets requests go. At the
server two of them can be closer: a busy process may send the first one late, and slots that the
user names for one host are as many rows of requests.
"""

from __future__ import annotations

import logging
from typing import TypeAlias
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.core.downloader import Slot
from scrapy.crawler import Crawler

from ..core.crawlers import RobotsAgent
from ..core.urls import Origin
from ..engine import DownloadSlots
from ..settings import GbotSettings
from .answer import CachedAnswer

_SLOT = "download_slot"  # Scrapy's request.meta key
# Ours: the slot, if Scrapy or this module has chosen it, and not the user.
_OWN_SLOT = "_gbot_robots_slot"
# The attribute of a slot that makes its delay random; 0: it is not. The second is of Scrapy 2.14
# to 2.18.
_RANDOMNESS = "jitter" if hasattr(Slot(1, 0.0, 0.0), "jitter") else "randomize_delay"

logger = logging.getLogger(__name__)


_Asking: TypeAlias = "tuple[Origin, RobotsAgent]"  # where a crawl-delay is asked for, and of whom


class _DelayedSlot:
    """A download slot, its delay before ours, and the crawl-delays of the origins in it."""

    def __init__(self, slot: Slot) -> None:
        self._scrapys = slot
        self._own_delay = slot.delay
        self._own_randomness = getattr(slot, _RANDOMNESS)
        self._secs_of: dict[_Asking, float] = {}

    def set_delay(self, asking: _Asking, secs: float) -> bool:
        """Let `secs` count from now on, 0: none; return whether that has changed."""
        before = self._secs_of.pop(asking, 0.0)
        if secs:
            self._secs_of[asking] = secs
        if secs < before:
            self._scrapys.delay = self._own_delay
            setattr(self._scrapys, _RANDOMNESS, self._own_randomness)
        self.raise_delay()
        return secs != before

    def raise_delay(self) -> None:
        """Raise the slot's delay to the largest crawl-delay, in case something has lowered it."""
        if self._secs_of:
            self._scrapys.delay = max(self._scrapys.delay, *self._secs_of.values())
            setattr(self._scrapys, _RANDOMNESS, 0)  # a random delay could be shorter


class CrawlDelays:
    """Applies the crawl-delays of robots.txt files, up to `GBOT_ROBOTS_CRAWL_DELAY` seconds."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._longest_secs = settings.crawl_delay
        # What requests on their way to the downloader ask for, in seconds; 0.0: nothing.
        self._delays: WeakKeyDictionary[Request, tuple[_Asking, float]] = WeakKeyDictionary()
        self._delayed: dict[Slot, _DelayedSlot] = {}
        self._slots = DownloadSlots(crawler)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._reached_downloader, signals.request_reached_downloader)

    def _spider_opened(self) -> None:
        """Connect so late that other handlers, such as AutoThrottle's, are called first."""
        self._crawler.signals.connect(self._response_downloaded, signals.response_downloaded)

    def delay_request(self, request: Request, answer: CachedAnswer, agent: RobotsAgent) -> None:
        """Apply the crawl-delay for `agent` to `request`, on its way to the downloader.

        The request goes through the slot of its host, unless the code that made the request chose
        another slot. Scrapy alone would leave a redirected request in the slot of the first host.
        """
        requested = answer.crawl_delay(agent) or 0.0
        self._delays[request] = ((answer.origin, agent), requested)
        meta = request.meta
        if meta.get(_SLOT) in {None, meta.get(_OWN_SLOT)}:
            meta.pop(_SLOT, None)
            meta[_OWN_SLOT] = ""

    def _reached_downloader(self, request: Request) -> None:
        """Set the delay of the slot that `request` has reached, before it lets requests go."""
        key = request.meta[_SLOT]
        if _OWN_SLOT in request.meta:
            request.meta[_OWN_SLOT] = key
        delay = self._delays.pop(request, None)
        if delay is None:
            return
        asking, requested = delay
        secs = min(requested, self._longest_secs)
        slots = self._slots.by_key
        delayed = self._delayed.get(slots[key])
        if delayed is None:
            if not secs:
                return
            if len(self._delayed) >= 2 * len(slots):  # some slots are gone
                for old in self._delayed.keys() - set(slots.values()):
                    del self._delayed[old]
            delayed = self._delayed[slots[key]] = _DelayedSlot(slots[key])
        if delayed.set_delay(asking, secs) and secs:
            self._crawler.stats.inc_value("gbot_robots/crawl_delay")
            if secs < requested:
                self._crawler.stats.inc_value("gbot_robots/crawl_delay/capped")
                logger.info(
                    "%s asks for a crawl-delay of %g s; the crawl applies %g s "
                    "(GBOT_ROBOTS_CRAWL_DELAY)",
                    asking[0].robots_url,
                    requested,
                    secs,
                )

    def _response_downloaded(self, request: Request) -> None:
        """Set the delay again, which other handlers may have changed, before the slot goes on."""
        slot = self._slots.of(request.meta.get(_SLOT, ""))
        if slot in self._delayed:
            self._delayed[slot].raise_delay()
