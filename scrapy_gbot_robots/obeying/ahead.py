"""How far sitemap files are read ahead of the pages that they list.

Pages that wait in the room are counted by their download slot. A file is read on only while few
wait, so that memory does not grow with what a site lists. Of the files that wait in a slot, the one
that was begun first goes on first: it ends, and its body leaves memory.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from ..engine import DownloadSlots, is_backed_out, is_closing
from ..meta import SITEMAP

BACK_SECS = 1.0  # a file that goes on comes back sooner, for its next requests, unless it has ended


class PagesAhead:
    """The number of pages in a room, and the files that wait until there are fewer.

    A page is a request that is not for a sitemap.
    """

    def __init__(self, crawler: Crawler, slots: DownloadSlots) -> None:
        self._crawler = crawler
        self._slots = slots
        self._pages: Counter[str] = Counter()  # by slot
        # The files that wait, by slot and number: how many pages may be left, and what ends it.
        self._files: dict[str, dict[int, tuple[int, Deferred[None]]]] = {}
        # The file that went on last though many pages were left, and when it did.
        self._went_on = (0, float("-inf"))

    def add(self, slot: str, request: Request, number: int = 1) -> None:
        """Count `request` in `slot`, if it is for a page; with `number` -1, count one less."""
        if SITEMAP in request.meta:
            return
        self._pages[slot] += number
        if number < 0:
            if not self._pages[slot]:
                del self._pages[slot]
            if slot in self._files:
                self._let_go(slot)

    async def wait(self, request: Request, most: int, file: int) -> bool:
        """Wait until fewer than `most` pages are left in the slot of `request`, which is in a file.

        Scrapy downloads nothing while the bodies that it holds are too large in all: then one of
        the files that wait goes on at once. Each file of a crawl has a `file` number; the file
        that was begun first has the smallest one.

        Returns:
            False: the crawl closes, and the rest of the file would be lost with the room.
        """
        slot = self._slots.key(request)
        while self._pages[slot] >= most:
            if is_closing(self._crawler):
                return False
            if is_backed_out(self._crawler) and self._is_next(file):
                return True
            over: Deferred[None] = Deferred()
            self._files.setdefault(slot, {})[file] = (most, over)
            try:
                await maybe_deferred_to_future(over)
            finally:
                self._forget(slot, file)
        return True

    def look(self) -> None:
        """Let those go on that may, though no page has left the room; all if the crawl closes."""
        is_free = is_backed_out(self._crawler)
        for slot in [*self._files]:
            self._let_go(slot, is_free=is_free)
        while self._files and is_closing(self._crawler):
            self._let_go(next(iter(self._files)), is_free=True)

    def _is_next(self, file: int) -> bool:
        """Whether `file` goes on though many pages are left: one file at a time.

        It is the one that did so last, or the first one when that has not come back for a second.
        """
        now = time.monotonic()
        last, at = self._went_on
        if file != last:
            others = chain.from_iterable(self._files.values())
            if now < at + BACK_SECS or file > min(others, default=file):
                return False
        self._went_on = (file, now)
        return True

    def _let_go(self, slot: str, *, is_free: bool = False) -> None:
        """Let the first file of `slot` look again, if few pages are left or `is_free`."""
        file = min(self._files[slot])
        most, over = self._files[slot][file]
        if is_free or self._pages[slot] < most:
            self._forget(slot, file)
            over.callback(None)

    def _forget(self, slot: str, file: int) -> None:
        files = self._files.get(slot, {})
        files.pop(file, None)
        if not files:
            self._files.pop(slot, None)
