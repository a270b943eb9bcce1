"""Requests that come past the scheduler wait in their place, in the downloader's middlewares.

They wait for the look-up of their robots.txt, however many they are: meanwhile they take none of
CONCURRENT_REQUESTS. If that robots.txt is unreachable, a few of them wait as long as they would in
the room; the others get the answer that there is, and are refused.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial

from scrapy import Request
from scrapy.crawler import Crawler

from ..concurrency import Closing, pause, within
from ..core.crawlers import RobotsAgent
from ..core.urls import Origin
from ..engine import without_a_place
from .answer import CachedAnswer, is_waited_for
from .lookup import Lookup
from .patience import Patience

QUICK_SECS = 1.0  # a look-up that takes longer is not waited for when the wait is over
_LOOK_SECS = 0.1  # between two looks whether the crawl is closing


class InPlace:
    """The requests of one crawl that wait in the downloader.

    Attributes:
        number: how many wait.
        keeps_crawl_open: whether the front counts them. Otherwise Scrapy has to, in the downloader.
    """

    def __init__(self, crawler: Crawler, lookup: Lookup, patience: Patience) -> None:
        self.number = 0
        self.keeps_crawl_open = False
        self._crawler = crawler
        self._lookup = lookup
        self._patience = patience
        self._most = max(1, crawler.settings.getint("CONCURRENT_REQUESTS") // 4)
        self._waiting = 0  # for an unreachable robots.txt

    async def answer(self, origin: Origin, agent: RobotsAgent, request: Request) -> CachedAnswer:
        """Return the answer for `request`, as soon as it is to wait no more.

        Raises:
            Closing: the crawl is closing.
        """
        if not self.keeps_crawl_open:
            return await self._answer(origin, agent, request)
        self.number += 1
        try:
            with without_a_place(self._crawler, request):
                return await self._answer(origin, agent, request)
        finally:
            self.number -= 1

    async def _answer(self, origin: Origin, agent: RobotsAgent, request: Request) -> CachedAnswer:
        """Wait for the answer for `request`, and for a better one if the robots.txt is unreachable.

        No more than a quarter of `CONCURRENT_REQUESTS` waits for a better one. The others, and all
        when the wait for the origin is over, wait only for a look-up that is due, and quick.
        """
        look_up = partial(self._looked_up, origin, agent, request)
        answer = self._lookup.last(origin)
        if answer is None or not is_waited_for(answer, request):
            answer = await look_up(None)
        if self._waiting >= self._most or not self._is_to_wait(answer, request):
            if is_waited_for(answer, request) and not answer.is_good(time.time()):
                with suppress(TimeoutError):
                    answer = await within(QUICK_SECS, look_up(answer))
            return answer
        self._crawler.stats.inc_value("gbot_robots/held")
        self._waiting += 1
        try:
            while self._is_to_wait(answer, request):
                await self._until(self._patience.look_again_at(answer.trouble, time.monotonic()))
                answer = await look_up(answer)
            return answer
        finally:
            self._waiting -= 1

    async def _looked_up(
        self, origin: Origin, agent: RobotsAgent, request: Request, before: CachedAnswer | None
    ) -> CachedAnswer:
        answer = await self._lookup.ask(origin, agent, request)
        if before is not None:  # which the cache may have lost
            answer.go_on_from(before)
        self._patience.note(answer.trouble, time.monotonic())
        return answer

    async def _until(self, at: float) -> None:
        while time.monotonic() < at:
            await pause(_LOOK_SECS)
            if self._lookup.is_closing:
                raise Closing

    def _is_to_wait(self, answer: CachedAnswer, request: Request) -> bool:
        if not is_waited_for(answer, request):
            return False
        return self._patience.is_to_wait(answer.trouble, time.monotonic())
