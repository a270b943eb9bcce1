"""Limit how far sitemap files are read ahead of the downloads of the pages that they list.

If many pages wait in the scheduler for a download slot, no file that lists pages for this slot is
read further. So memory does not grow with the number of pages that a site lists. If several files
wait because of the same slot, the file that was begun first goes on first. When it has been read to
its end, the memory of its body is freed.
"""

from __future__ import annotations

import time
from itertools import chain

from scrapy import Request
from scrapy.crawler import Crawler

from ..concurrency import pause
from ..engine import DownloadSlots, is_backed_out, is_closing, pages_ahead

# If `PagesAhead.wait` is not called for a file within this number of seconds, the file has probably
# been read to its end.
BACK_SECS = 1.0
_LOOK_SECS = 0.02  # While a file waits, the number of waiting pages is read at this interval.


class PagesAhead:
    """Delays reading the sitemap files of one crawl while many pages wait to be downloaded.

    Args:
        crawler: the crawl.
        most: if this number of pages waits for a download slot, files with pages for this slot
            wait, too. With 0, files never wait.
    """

    def __init__(self, crawler: Crawler, most: int) -> None:
        self._crawler = crawler
        self._slots = DownloadSlots(crawler)
        self._most = most
        self._files: dict[str, set[int]] = {}  # numbers of waiting files, by slot key
        # The number of the last file that was read further although many pages were waiting, and
        # the time at which it was read further (see `_goes_on_anyway`).
        self._went_on = (0, float("-inf"))

    async def wait(self, request: Request, file: int) -> bool:
        """Wait until few pages wait in the download slot of `request`.

        If the queue of the crawl is on disk, or if it is not a queue of Scrapy, return at once,
        because the waiting pages then take no memory in this process.

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

        While the total size of the bodies in memory is above Scrapy's limit, Scrapy downloads
        nothing, so the number of waiting pages does not become smaller. Then one file is read
        further although many pages wait, because the memory of its body is freed when the file has
        been read to its end.
        """
        if is_backed_out(self._crawler) and self._goes_on_anyway(file):
            return True
        return file == min(files) and pages_ahead(self._crawler, request) < self._most

    def _goes_on_anyway(self, file: int) -> bool:
        """Whether `file` is the one file that is read further although many pages wait.

        A file that was chosen for this stays chosen. But if `wait` is not called for this file
        within BACK_SECS seconds, the waiting file that was begun first is chosen instead.
        """
        now = time.monotonic()
        last, at = self._went_on
        first = min(chain.from_iterable(self._files.values()))
        if file != last and (now < at + BACK_SECS or file > first):
            return False
        self._went_on = (file, now)
        return True
