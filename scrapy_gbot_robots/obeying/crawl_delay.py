"""`GBOT_ROBOTS_CRAWL_DELAY`: the crawl-delay that a robots.txt asks for, kept by Scrapy's download slots.

Google ignores the field (Google's page, "Syntax"), and RFC 9309 does not have it. So this is off by default. Whenever a
request reaches a download slot, the delay is set again before Scrapy looks at the slot's queue. So it does not matter when
Scrapy deletes an unused slot, which slot a request comes to, or which other origins use that slot: the largest of their
delays counts. A slot waits from the start of one request to the start of the next.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from scrapy import signals

from ..core.verdict import Verdict
from ..engine import around_sending, download_slots
from ..storage.client import redis_of
from .shared_pace import SharedPace

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from ..core.crawlers import RobotsAgent
    from ..core.urls import Origin
    from ..settings import GbotSettings
    from .answer import Answer

_SLOT = "download_slot"  # Scrapy's request.meta key
_OWN_SLOT = "gbot_robots_slot"  # ours: the slot, if Scrapy or this module has chosen it, and not the user

logger = logging.getLogger(__name__)


class _Wish(NamedTuple):
    """The crawl-delay in seconds that applies to `agent` at `origin`; 0 if there is none."""

    origin: Origin
    agent: RobotsAgent
    secs: float
    capped: bool


class _Pace:
    """The crawl-delays of one slot, and the delay that it had before."""

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self._own_delay = slot.delay
        self._asked: dict[tuple[Origin, RobotsAgent], float] = {}

    @property
    def secs(self) -> float:
        """The largest crawl-delay, 0 if there is none."""
        return max(self._asked.values(), default=0.0)

    def ask(self, wish: _Wish) -> bool:
        """Take the crawl-delay of one origin and agent; return whether it has changed."""
        before = self._asked.pop((wish.origin, wish.agent), 0.0)
        if wish.secs:
            self._asked[wish.origin, wish.agent] = wish.secs
        if wish.secs < before:
            self.slot.delay = self._own_delay
        return wish.secs != before

    def keep(self) -> None:
        """Raise the delay of the slot to its crawl-delay, in case something has lowered it."""
        if not self._asked:
            return
        self.slot.delay = max(self.slot.delay, *self._asked.values())
        if hasattr(self.slot, "jitter"):
            self.slot.jitter = 0.0  # a random delay could be shorter
        else:  # before Scrapy 2.19
            self.slot.randomize_delay = False


class CrawlDelays:
    """Applies the crawl-delays of overrides, and of robots.txt files if the setting is on, in one crawl.

    `GBOT_ROBOTS_CRAWL_DELAY_MAX_SECS` caps the crawl-delays of robots.txt files.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._heeds_robots_txt = settings.crawl_delay
        self._longest = settings.crawl_delay_max_secs
        self._refuses_longer = settings.crawl_delay and settings.crawl_delay_over == "refuse"
        self._shared = _shared_pace(settings, crawler)
        self._wishes: WeakKeyDictionary[Request, _Wish] = WeakKeyDictionary()
        self._paces: dict[str, _Pace] = {}
        crawler.signals.connect(self._reached_downloader, signals.request_reached_downloader)
        if self._shared is not None:
            crawler.signals.connect(self._spider_opened, signals.spider_opened)
            crawler.signals.connect(self._shared.close, signals.spider_closed)

    def _spider_opened(self) -> None:
        around_sending(self._crawler, self._send_in_turn)

    def attend(self, request: Request, agent: RobotsAgent, answer: Answer) -> Verdict | None:
        """Apply the crawl-delay of `answer` to `request`, which is on its way to the downloader.

        Returns a verdict that forbids the request if the delay is longer than the settings allow; else None.

        The request goes through the slot of its host, unless the code that made the request chose another slot. Scrapy alone
        would leave a redirected request in the slot of the first host. With CONCURRENT_REQUESTS_PER_IP, it would move a host
        to another slot as soon as its address is known.
        """
        origin = answer.origin
        asked = (answer.crawl_delay(agent) if self._heeds_robots_txt else None) or 0.0
        if asked > self._longest and answer.set_delay is None and self._refuses_longer:
            most = f"GBOT_ROBOTS_CRAWL_DELAY_MAX_SECS = {self._longest:g}"
            return Verdict(allowed=False, rule=None, reason=f"its crawl-delay of {asked:g} s is longer than {most}")
        secs = min(asked, self._longest) if answer.set_delay is None else answer.set_delay
        self._wishes[request] = _Wish(origin, agent, secs, capped=answer.set_delay is None and secs < asked)
        meta = request.meta
        if meta.get(_SLOT) in {None, meta.get(_OWN_SLOT)}:
            meta.pop(_SLOT, None)
            meta[_OWN_SLOT] = ""
            if secs:
                meta[_SLOT] = origin.host.strip("[]")
        return None

    async def _send_in_turn(
        self, send: Callable[[Request], Coroutine[Any, Any, Response]], request: Request
    ) -> Response:
        """Let a request that is about to be sent wait for its turn among all processes."""
        pace = self._paces.get(request.meta.get(_SLOT, ""))
        if self._shared is not None and pace is not None and pace.secs:
            await self._shared.turn(request.meta[_SLOT], pace.secs)
        return await send(request)

    def _reached_downloader(self, request: Request) -> None:
        """Set the delay of the slot that `request` has reached, before Scrapy looks at the slot's queue."""
        key = request.meta[_SLOT]
        if _OWN_SLOT in request.meta:
            request.meta[_OWN_SLOT] = key
        wish = self._wishes.pop(request, None)
        if wish is None:
            return
        pace = self._pace(key, new=wish.secs > 0)
        if pace is not None:
            if pace.ask(wish) and wish.secs:
                self._tell(wish)
            pace.keep()

    def _pace(self, key: str, *, new: bool) -> _Pace | None:
        """The pace of a slot; if it has none, a new one if `new`, else None."""
        slots = download_slots(self._crawler)
        pace = self._paces.get(key)
        if pace is not None and pace.slot is slots[key]:
            return pace
        if not new:
            return None
        if not self._paces:  # connect so late that other handlers, such as AutoThrottle's, are called first
            self._crawler.signals.connect(self._response_downloaded, signals.response_downloaded)
        elif len(self._paces) >= 2 * len(slots):
            self._paces = {key: pace for key, pace in self._paces.items() if slots.get(key) is pace.slot}
        pace = self._paces[key] = _Pace(slots[key])
        return pace

    def _response_downloaded(self, request: Request) -> None:
        """Set the delay again after other handlers have changed it, before Scrapy looks at the slot's queue."""
        pace = self._paces.get(request.meta.get(_SLOT, ""))
        if pace is not None:
            pace.keep()

    def _tell(self, wish: _Wish) -> None:
        self._crawler.stats.inc_value("gbot_robots/crawl_delay")
        if wish.capped:
            self._crawler.stats.inc_value("gbot_robots/crawl_delay/capped")
            logger.info(
                "%s asks for a longer crawl-delay than the crawl applies: GBOT_ROBOTS_CRAWL_DELAY_MAX_SECS = %g",
                wish.origin.robots_url,
                wish.secs,
            )
        else:
            logger.debug("Applying a crawl-delay of %g s to %s", wish.secs, wish.origin)


def _shared_pace(settings: GbotSettings, crawler: Crawler) -> SharedPace | None:
    """The pace that processes share; None if the settings do not ask for it."""
    if not settings.crawl_delay_shared:
        return None
    return SharedPace(redis_of(settings, crawler.settings), crawler.stats)
