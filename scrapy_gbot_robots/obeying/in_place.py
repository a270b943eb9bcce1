"""Requests that come past the scheduler wait in their place, in the downloader's middlewares.

They wait for the look-up of their robots.txt, however many they are: meanwhile they take none of
CONCURRENT_REQUESTS. If that robots.txt is unreachable, a few of them wait as long as they would in
the room; the others get the answer that there is, and are refused.
"""

from __future__ import annotations

import time
from contextlib import suppress

from scrapy import Request
from scrapy.crawler import Crawler

from ..concurrency import Closing, Turnstile, within
from ..core.crawlers import RobotsAgent
from ..core.urls import Origin
from ..engine import without_a_place
from .answer import CachedAnswer, is_waited_for
from .lines import Occupancy
from .lookup import Lookup
from .patience import Patience

QUICK_SECS = 1.0  # a look-up that takes longer is not waited for when the wait is over


class InPlace:
    """The requests of one crawl that wait in the downloader.

    Attributes:
        number: how many wait.
        keeps_crawl_open: whether the front counts them. Otherwise Scrapy has to, in the downloader.
    """

    def __init__(
        self, crawler: Crawler, lookup: Lookup, patience: Patience, occupancy: Occupancy
    ) -> None:
        self.number = 0
        self.keeps_crawl_open = False
        self._crawler = crawler
        self._lookup = lookup
        self._patience = patience
        self._occupancy = occupancy
        self._most = max(1, crawler.settings.getint("CONCURRENT_REQUESTS") // 4)
        self._waiting = 0  # for an unreachable robots.txt
        self._closing = Turnstile()

    def close(self) -> None:
        """Let those go that wait: the crawl is closing."""
        self._closing.open()

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
        """Wait for the answer for `request`.

        No more than a quarter of `CONCURRENT_REQUESTS` waits for an unreachable robots.txt. When
        the wait for the origin is over, requests wait only for a look-up that is quick.
        """
        answer = self._lookup.last(origin)
        if answer is None or not is_waited_for(answer, request):
            answer = await self._lookup.ask(origin, agent, request)
            self._patience.note(answer.trouble, time.monotonic())
            if not is_waited_for(answer, request):
                return answer
        if self._waiting >= self._most:
            if not answer.is_good(time.time()):
                self._lookup.look_up(origin, agent, request)  # for those that come later
            return answer
        self._waiting += 1
        try:
            return await self._better(answer, agent, request)
        finally:
            self._waiting -= 1

    async def _better(
        self, answer: CachedAnswer, agent: RobotsAgent, request: Request
    ) -> CachedAnswer:
        """Wait for a better answer than one that is unreachable."""
        if self._is_to_wait(answer, request):
            self._occupancy.count_held(1)
        elif not answer.is_good(time.time()):
            with suppress(TimeoutError):
                answer = await within(QUICK_SECS, self._next(answer, agent, request))
        while self._is_to_wait(answer, request):
            now = time.monotonic()
            secs = self._patience.look_again_at(answer.trouble, now) - now
            with suppress(TimeoutError):
                await within(secs, self._closing.wait())
                raise Closing
            answer = await self._next(answer, agent, request)
        return answer

    async def _next(
        self, before: CachedAnswer, agent: RobotsAgent, request: Request
    ) -> CachedAnswer:
        answer = await self._lookup.ask(before.origin, agent, request)
        answer.go_on_from(before)  # which the cache may have lost
        self._patience.note(answer.trouble, time.monotonic())
        return answer

    def _is_to_wait(self, answer: CachedAnswer, request: Request) -> bool:
        if not is_waited_for(answer, request):
            return False
        return self._patience.is_to_wait(answer.trouble, time.monotonic())
