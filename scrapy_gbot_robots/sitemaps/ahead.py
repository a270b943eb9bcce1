"""How far sitemap files are read ahead of the pages that they list.

A file is read further only while few pages wait in the scheduler for their download slot, so that
memory does not grow with the number of pages that a site lists. If several files wait for a slot,
the file that was begun first goes on first, because its body leaves memory when it ends.
"""

from __future__ import annotations

import time
from itertools import chain

from scrapy import Request
from scrapy.crawler import Crawler

from ..concurrency import pause
from ..engine import DownloadSlots, is_backed_out, is_closing, pages_ahead

# A file that is read further calls `PagesAhead.wait` again within this time, unless it has ended.
BACK_SECS = 1.0
_LOOK_SECS = 0.02  # A file that waits looks at the number of pages at this interval.


class PagesAhead:
    """Lets the sitemap files of one crawl wait while many pages are ahead of them.

    Args:
        crawler: the crawl.
        most: the number of pages in a download slot at which files wait. With 0 they do not wait.
    """

    def __init__(self, crawler: Crawler, most: int) -> None:
        self._crawler = crawler
        self._slots = DownloadSlots(crawler)
        self._most = most
        self._files: dict[str, set[int]] = {}  # the files that wait, by slot
        # The last file that was read further while many pages were left, and the time of that.
        self._went_on = (0, float("-inf"))

    async def wait(self, request: Request, file: int) -> bool:
        """Wait until few pages wait in the download slot of `request`.

        There is no wait if the queue of the crawl is on disk or is not a queue of Scrapy, because
        the pages then take no memory here.

        Args:
            request: the last request that was made from the file.
            file: the number of the file, in the order in which files were begun.

        Returns:
            True if the file may be read further. False if the crawl is closing, because the
            requests for the rest of the file would be lost.
        """
        if not self._most or pages_ahead(self._crawler, request) < self._most:
            return True
        slot = self._slots.key(request)
        files = self._files.setdefault(slot, set())
        files.add(file)
        try:
            while not self._may_go_on(request, file, files):
                if is_closing(self._crawler):
                    return False
                await pause(_LOOK_SECS)
        finally:
            files.discard(file)
            if not files:
                self._files.pop(slot, None)
        return True

    def _may_go_on(self, request: Request, file: int, files: set[int]) -> bool:
        """Whether `file`, which is one of the `files` that wait for a slot, may be read further.

        While the bodies in memory are too large in all, Scrapy downloads nothing. In that case one
        file goes on whatever the number of pages.
        """
        if is_backed_out(self._crawler) and self._goes_on_anyway(file):
            return True
        return file == min(files) and pages_ahead(self._crawler, request) < self._most

    def _goes_on_anyway(self, file: int) -> bool:
        """Whether `file` is the one file that is read further while many pages are left.

        It is the file that was last read further in this way. If that file has not called `wait`
        within BACK_SECS, it is the file that was begun first.
        """
        now = time.monotonic()
        last, at = self._went_on
        first = min(chain.from_iterable(self._files.values()))
        if file != last and (now < at + BACK_SECS or file > first):
            return False
        self._went_on = (file, now)
        return True
