"""`GBOT_ROBOTS_CRAWL_DELAY`: the crawl-delay that a robots.txt asks for, kept by Scrapy's slots.

Google ignores the field (Google's page, "Syntax"), and RFC 9309 does not have it: this is off by
default. Whenever a request reaches a slot, the delay is set again before Scrapy looks at the slot's
queue. So it does not matter when Scrapy deletes an unused slot, or which other origins use that
slot: the largest of their delays counts.

As any delay of Scrapy's, it is kept between the times at which a slot lets requests go. At the
server two of them can be closer: a busy process may send the first one late, and slots that the
user names for one host are as many rows of requests.

`GBOT_ROBOTS_CRAWL_DELAY_SHARED`: in addition, a request waits for its turn among all processes that
share a Redis, just before it is sent: a middleware or a queue could bring the requests of two
processes together again.
"""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.core.downloader import Slot
from scrapy.crawler import Crawler
from scrapy.http import Response

from ..concurrency import OneThread, Places, pause
from ..core.crawlers import RobotsAgent
from ..core.urls import Origin, shown
from ..core.verdict import Verdict
from ..engine import DownloadSlots, Send, around_sending
from ..settings import GbotSettings
from ..storage.base import StorageError
from ..storage.client import redis_opener
from .overrides import Ruling

if TYPE_CHECKING:
    from ..storage.redis import RedisStorage

TRY_AGAIN_SECS = 30.0  # after a Redis has failed
_SLOT = "download_slot"  # Scrapy's request.meta key
# Ours: the slot, if Scrapy or this module has chosen it, and not the user.
_OWN_SLOT = "_gbot_robots_slot"
# The attribute of a slot that makes its delay random; 0: it is not. The second is of Scrapy 2.14
# to 2.18.
_RANDOMNESS = "jitter" if hasattr(Slot(1, 0.0, 0.0), "jitter") else "randomize_delay"

_ALONE = (
    "This process cannot share the crawl-delay with the others now, and applies it by itself; "
    "it tries again later: %s. GBOT_ROBOTS_REDIS_URL or _CLIENT names the Redis"
)

logger = logging.getLogger(__name__)


class _Wish(NamedTuple):
    """The crawl-delay for `agent` at `origin`, in seconds; 0: none."""

    origin: Origin
    agent: RobotsAgent
    secs: float  # that applies
    requested: float  # that the robots.txt, or the override, asks for


class _Pace:
    """The crawl-delays that count for a slot, and the delay that the slot had before."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self._own_delay = slot.delay
        self._own_randomness = getattr(slot, _RANDOMNESS)
        self._secs_of: dict[tuple[Origin, RobotsAgent], float] = {}
        self.turns = Places(1)  # one request of this process waits for its turn at a time
        self.next_turn_at = 0.0  # of this process, on the monotonic clock

    @property
    def secs(self) -> float:
        """The largest crawl-delay, 0 if there is none."""
        return max(self._secs_of.values(), default=0.0)

    def heed(self, wish: _Wish) -> bool:
        """Let `wish` count from now on; return whether it has changed."""
        before = self._secs_of.pop((wish.origin, wish.agent), 0.0)
        if wish.secs:
            self._secs_of[wish.origin, wish.agent] = wish.secs
        if wish.secs < before:
            self.slot.delay = self._own_delay
            setattr(self.slot, _RANDOMNESS, self._own_randomness)
        self.keep()
        return wish.secs != before

    def keep(self) -> None:
        """Raise the delay of the slot to its crawl-delay, in case something has lowered it."""
        if not self._secs_of:
            return
        self.slot.delay = max(self.slot.delay, self.secs)
        setattr(self.slot, _RANDOMNESS, 0)  # a random delay could be shorter


class CrawlDelays:
    """Applies the crawl-delays of overrides, and of robots.txt files if the setting is on.

    `GBOT_ROBOTS_CRAWL_DELAY_MAX_SECS` caps the crawl-delays of robots.txt files.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._shared = SharedTurns(settings, crawler) if settings.crawl_delay_shared else None
        self._wishes: WeakKeyDictionary[Request, _Wish] = WeakKeyDictionary()
        self._paces: dict[str, _Pace] = {}
        self._slots = DownloadSlots(crawler)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._reached_downloader, signals.request_reached_downloader)

    def _spider_opened(self) -> None:
        """Connect so late that other handlers, such as AutoThrottle's, are called first.

        If processes share crawl-delays, requests wait for their turns from now on.
        """
        self._crawler.signals.connect(self._response_downloaded, signals.response_downloaded)
        if self._shared is not None:
            self._crawler.signals.connect(self._shared.close, signals.spider_closed)
            around_sending(self._crawler, self._send_in_turn)

    def attend(self, request: Request, ruling: Ruling) -> Verdict | None:
        """Apply the crawl-delay that `ruling` leads to, to `request`, on its way to the downloader.

        Returns a verdict that forbids the request if the delay is longer than the settings allow;
        else None.

        The request goes through the slot of its host, unless the code that made the request chose
        another slot. Scrapy alone would leave a redirected request in the slot of the first host.
        """
        wish = self._wish(ruling)
        if wish.secs < wish.requested and self._settings.crawl_delay_over == "refuse":
            most = f"GBOT_ROBOTS_CRAWL_DELAY_MAX_SECS = {wish.secs:g}"
            reason = f"its crawl-delay of {wish.requested:g} s is longer than {most}"
            return Verdict(allowed=False, rule=None, reason=reason)
        self._wishes[request] = wish
        meta = request.meta
        if meta.get(_SLOT) in {None, meta.get(_OWN_SLOT)}:
            meta.pop(_SLOT, None)
            meta[_OWN_SLOT] = ""
        return None

    def _wish(self, ruling: Ruling) -> _Wish:
        """The crawl-delay that `ruling` leads to: an override's as it is, else with the cap."""
        override = ruling.override
        origin = ruling.answer.origin
        agent = ruling.agent
        if override is not None and override.crawl_delay is not None:
            return _Wish(origin, agent, override.crawl_delay, override.crawl_delay)
        requested = None
        if self._settings.crawl_delay:
            requested = ruling.crawl_delay
        if requested is None:
            return _Wish(origin, agent, 0.0, 0.0)
        secs = min(requested, self._settings.crawl_delay_max_secs)
        return _Wish(origin, agent, secs, requested)

    async def _send_in_turn(self, send: Send, request: Request) -> Response:
        """Let a request that is about to be sent wait for its turn among all processes."""
        pace = self._pace(request)
        if self._shared is not None and pace is not None and pace.secs:
            await self._shared.wait(request.meta[_SLOT], pace)
        return await send(request)

    def _pace(self, request: Request) -> _Pace | None:
        """The pace of the slot that `request` is in; None if Scrapy has replaced that slot."""
        key = request.meta.get(_SLOT, "")
        pace = self._paces.get(key)
        if pace is None or pace.slot is not self._slots.by_key.get(key):
            return None
        return pace

    def _reached_downloader(self, request: Request) -> None:
        """Set the delay of the slot that `request` has reached, before it lets requests go."""
        key = request.meta[_SLOT]
        slots = self._slots.by_key
        if _OWN_SLOT in request.meta:
            request.meta[_OWN_SLOT] = key
        wish = self._wishes.pop(request, None)
        if wish is None:
            return
        pace = self._pace(request)
        if pace is None:
            if not wish.secs:
                return
            if len(self._paces) >= 2 * len(slots):  # some slots are gone
                for old in self._paces.keys() - slots.keys():
                    del self._paces[old]
            pace = self._paces[key] = _Pace(slots[key])
        if not pace.heed(wish) or not wish.secs:
            return
        self._crawler.stats.inc_value("gbot_robots/crawl_delay")
        if wish.secs < wish.requested:
            self._crawler.stats.inc_value("gbot_robots/crawl_delay/capped")
            logger.info(
                "%s asks for a crawl-delay of %g s; the crawl applies %g s "
                "(GBOT_ROBOTS_CRAWL_DELAY_MAX_SECS)",
                wish.origin.robots_url,
                wish.requested,
                wish.secs,
            )

    def _response_downloaded(self, request: Request) -> None:
        """Set the delay again, which other handlers may have changed, before the slot goes on."""
        pace = self._pace(request)
        if pace is not None:
            pace.keep()


class SharedTurns:
    """Lets the requests of a slot wait for their turn among all processes that share a Redis."""

    def __init__(self, settings: GbotSettings, crawler: Crawler) -> None:
        self._opens = redis_opener(settings, crawler.settings)
        self._stats = crawler.stats
        self._redis: RedisStorage | None = None
        self._thread = OneThread()
        self._has_warned = False
        # Set by the thread, too: calls that wait behind one that fails are not made.
        self._try_again_at = 0.0

    async def wait(self, slot: str, pace: _Pace) -> None:
        """Wait for the next turn of the download slot `slot`.

        While the Redis fails, this is the next turn of this process alone.
        """
        async with pace.turns:
            is_taken = False
            try:
                is_taken = await self._take_of_all(slot, pace.secs)
            except StorageError as error:
                self._stats.inc_value("gbot_robots/storage/errors")
                if not self._has_warned:
                    self._has_warned = True
                    logger.warning(_ALONE, shown(str(error), limit=500).rstrip("."))
            if is_taken:
                self._stats.inc_value("gbot_robots/crawl_delay/turns")
            else:
                await pause(max(0.0, pace.next_turn_at - time.monotonic()))
            pace.next_turn_at = time.monotonic() + pace.secs

    async def _take_of_all(self, slot: str, secs: float) -> bool:
        """Wait for the next turn among all processes; return whether it was taken.

        Raises:
            StorageError: the Redis has just failed.
        """
        while True:
            left = await self._thread.run(partial(self._take, slot, secs))
            if left is None:
                return False
            if left == 0:
                return True
            await pause(left)

    def _take(self, slot: str, secs: float) -> float | None:
        """Take the turn, or say for how many seconds it is not free yet.

        This runs in the thread. It returns None while the Redis fails.
        """
        if time.monotonic() < self._try_again_at:
            return None
        try:
            if self._redis is None:
                self._redis = self._opens()
            return self._redis.take_turn(slot, secs)
        except Exception as error:  # what makes the client may raise anything
            self._try_again_at = time.monotonic() + TRY_AGAIN_SECS
            raise StorageError(str(error)) from error

    async def close(self) -> None:
        """Close the connections."""
        if self._redis is not None:
            await self._thread.run(self._redis.close)
        self._thread.end()
