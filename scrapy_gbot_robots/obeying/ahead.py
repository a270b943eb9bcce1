"""How far sitemap files are read ahead of the pages that they list.

Pages that wait in the room are counted by their download slot. A file is read further only while
few pages wait, so that memory does not grow with the number of pages that a site lists. If several
files wait in a slot, the file that was begun first goes on first, because its body leaves memory
when it ends.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from ..concurrency import wake
from ..engine import DownloadSlots, is_backed_out, is_closing
from ..meta import SITEMAP

# A file that goes on calls `wait` again within this time, unless it has ended.
BACK_SECS = 1.0


class PagesAhead:
    """The number of pages in a room, and the files that wait until there are fewer.

    A page is a request that is not for a sitemap.
    """

    def __init__(self, crawler: Crawler, slots: DownloadSlots) -> None:
        self._crawler = crawler
        self._slots = slots
        self._pages: Counter[str] = Counter()  # by slot
        # The files that wait, by slot and number. The values are the bound on the pages that are
        # left, and a Deferred that ends the wait.
        self._files: dict[str, dict[int, tuple[int, Deferred[None]]]] = {}
        # The last file that went on although many pages were left, and when it did.
        self._went_on = (0, float("-inf"))

    def add(self, slot: str, request: Request, number: int = 1) -> None:
        """Count `number` more requests in `slot` (1 or -1), if `request` is for a page."""
        if SITEMAP in request.meta:
            return
        self._pages[slot] += number
        if number < 0:
            if not self._pages[slot]:
                del self._pages[slot]
            if slot in self._files:
                self._let_go(slot)

    async def wait(self, request: Request, most: int, file: int) -> bool:
        """Wait until fewer than `most` pages are left in the slot of `request`.

        While the bodies in memory are too large in all, Scrapy downloads nothing. In that case one
        of the files that wait goes on at once.

        Args:
            request: the next request from the file.
            most: the number of pages.
            file: the number of the file. The file that was begun first has the smallest number.

        Returns:
            True if the file may be read further. False if the crawl closes, because the rest of
            the file would be lost with the room.
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
        """Let files go on that may, even if no page has left the room; all if the crawl closes."""
        is_free = is_backed_out(self._crawler)
        for slot in [*self._files]:
            self._let_go(slot, is_free=is_free)
        while self._files and is_closing(self._crawler):
            self._let_go(next(iter(self._files)), is_free=True)

    def _is_next(self, file: int) -> bool:
        """Whether `file` is the one file that now goes on although many pages are left.

        It is the file that did so last. If that file has not come back within BACK_SECS, it is the
        file that was begun first.
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
        """Wake the first file of `slot`, if few pages are left or `is_free` is true."""
        file = min(self._files[slot])
        most, over = self._files[slot][file]
        if is_free or self._pages[slot] < most:
            self._forget(slot, file)
            wake(over, None)

    def _forget(self, slot: str, file: int) -> None:
        files = self._files.get(slot, {})
        files.pop(file, None)
        if not files:
            self._files.pop(slot, None)
