"""What a crawl is told of its robots.txt files: log lines, stats, and signals.

Handlers of signals never delay an answer. What a handler does at once is done when the first request of the origin goes
on; what it awaits runs beside the crawl, which does not close before it has ended.
"""

from __future__ import annotations

import logging
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from pydispatch.dispatcher import getAllReceivers, liveReceivers
from pydispatch.robustapply import robustApply
from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.utils.defer import ensure_awaitable
from twisted.internet.defer import CancelledError, Deferred

from ..core.urls import shown
from ..policy.outcome import Fetched
from ..signals import robotstxt_known, robotstxt_unreachable
from .robotparser import GbotRobotParser

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from ..concurrency import Background
    from ..core.origin import Origin
    from ..core.robots import RobotsTxt
    from ..policy.outcome import Outcome
    from ..settings import GbotSettings
    from .answer import Answer

logger = logging.getLogger(__name__)


class Telling:
    """Tells one crawl; what signal handlers await runs in `background`."""

    def __init__(self, crawler: Crawler, settings: GbotSettings, background: Background) -> None:
        self._crawler = crawler
        self._settings = settings
        self._background = background
        self._handlers = 0  # that are awaited
        crawler.signals.connect(self._spider_idle, signals.spider_idle)

    def count(self, name: str) -> None:
        """Add one to the stat `gbot_robots/NAME`."""
        self._crawler.stats.inc_value(f"gbot_robots/{name}")

    def fetched(self, outcome: Outcome) -> None:
        """A fetch of a robots.txt has ended in `outcome`."""
        stats = self._crawler.stats
        stats.inc_value("robotstxt/request_count")
        self.count(type(outcome).__name__.lower())
        if isinstance(outcome, Fetched) and outcome.cut:
            self.count("cut")
            most = self._settings.max_bytes
            logger.info("%s is longer than %d bytes; the rest of it is ignored", shown(outcome.url), most)
        if outcome.status is not None:
            stats.inc_value("robotstxt/response_count")
            stats.inc_value(f"robotstxt/response_status_count/{outcome.status}")

    def lease_not_used(self, origin: Origin, secs: float) -> None:
        """Another process has had the lease of `origin` for `secs` seconds, and nothing came of it."""
        logger.warning(
            "%s: the process that holds its lease has not fetched it for %g s; fetching it here",
            origin.robots_url,
            secs,
        )

    def broken(self, origin: Origin, error: Exception) -> None:
        """The look-up of `origin` ended in `error`."""
        logger.error("Looking up %s failed; its pages are not crawled for now", origin.robots_url, exc_info=error)
        self.count("errors")

    def answered(self, answer: Answer, before: Answer | None) -> None:
        """An origin has a new `answer`, in place of the one `before`."""
        was_temporary = before is not None and before.temporary
        if answer.temporary and not was_temporary:
            self._warn(answer)
        elif was_temporary and not answer.temporary:
            logger.info("%s answers again", answer.origin.robots_url)

    def known(self, robotstxt: RobotsTxt, answer: Answer, request: Request | None) -> None:
        """The crawl has learnt what a robots.txt says; `request` made it ask, if any did."""
        self.send(
            robotstxt_known,
            lambda: {"robotstxt": robotstxt, "request": request, "origin": answer.origin, "answer": answer},
        )
        robots_parsed = getattr(signals, "robots_parsed", None)  # Scrapy 2.18 and newer
        if robots_parsed is not None and request is not None:
            self.send(robots_parsed, lambda: {"robotparser": GbotRobotParser(robotstxt), "request": request})

    def _warn(self, answer: Answer) -> None:
        wait_secs = self._settings.unreachable_wait_secs
        logger.warning(
            "%s: %s. By GBOT_ROBOTS_UNREACHABLE = %r this means %s for now%s",
            answer.origin.robots_url,
            shown(answer.why),  # from the storage, to which others may write
            self._settings.unreachable,
            answer.state.value,
            f"; requests wait up to {wait_secs:g} s for it, by GBOT_ROBOTS_UNREACHABLE_WAIT_SECS"
            if answer.bars_for_now and wait_secs
            else "",
        )
        self._crawler.signals.send_catch_log(robotstxt_unreachable, origin=answer.origin, answer=answer)

    def send(self, signal: object, arguments: Callable[[], dict[str, Any]]) -> None:
        """Call all handlers of `signal` now, as Scrapy does; await in the background what they return to be awaited."""
        sender = self._crawler.signals.sender
        receivers = list(liveReceivers(getAllReceivers(sender, signal)))
        if not receivers:
            return
        named = arguments()
        for receiver in receivers:
            self._call(receiver, {"signal": signal, "sender": sender, **named})

    def _call(self, receiver: object, named: dict[str, Any]) -> None:
        try:
            result = robustApply(receiver, **named)
        except Exception as error:
            self._handler_failed(receiver, error)
            return
        if isinstance(result, Deferred) or isawaitable(result):
            self._handlers += 1
            self._background.start(self._await(result, receiver), then=self._handler_ended)

    async def _await(self, result: Any, receiver: object) -> None:
        try:
            await ensure_awaitable(result)
        except CancelledError:  # an Exception, unlike asyncio's own
            raise
        except Exception as error:
            self._handler_failed(receiver, error)

    def _handler_failed(self, receiver: object, error: Exception) -> None:
        said = {"spider": self._crawler.spider}
        logger.error("Error caught on signal handler: %s", receiver, exc_info=error, extra=said)

    def _handler_ended(self) -> None:
        self._handlers -= 1

    def _spider_idle(self) -> None:
        if self._handlers:
            raise DontCloseSpider
