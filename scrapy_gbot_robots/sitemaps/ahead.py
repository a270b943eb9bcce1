"""Stop reading sitemap files while too many of their pages wait to be downloaded.

A sitemap file may list 50,000 pages. If the spider read all files at once, the requests for their
pages would fill the memory. So a file is not read further while many pages wait in the scheduler
for the same download slot.

If several files wait for one slot, they are read further one after another, in the order in
which the spider began to read them. That way, the first file is soon read to its end, and the
memory of its body is freed.
"""

from __future__ import annotations

import time
from itertools import chain

from scrapy import Request
from scrapy.crawler import Crawler

from ..concurrency import pause
from ..engine import DownloadSlots, is_backed_out, is_closing, pages_ahead

# While a file is being read, `PagesAhead.wait` is called again and again. If there was no call for
# this number of seconds, the file has probably been read to its end.
BACK_SECS = 1.0
_LOOK_SECS = 0.02  # While a file waits, the waiting pages are counted at this interval.


class PagesAhead:
    """Delays reading the sitemap files of one crawl while many pages wait to be downloaded.

    Args:
        crawler: the crawl.
        most: if at least this number of pages is waiting for one download slot, the files that list
            pages for this slot are not read further. With 0, there is no limit.
    """

    def __init__(self, crawler: Crawler, most: int) -> None:
        self._crawler = crawler
        self._slots = DownloadSlots(crawler)
        self._most = most
        # The numbers of the files that are waiting, for the key of each download slot.
        self._files: dict[str, set[int]] = {}
        # The number of the file that `_goes_on_anyway` chose last, and the last time at which this
        # file was read further.
        self._went_on = (0, float("-inf"))

    async def wait(self, request: Request, file: int) -> bool:
        """Wait until fewer than `most` pages are waiting for the download slot of `request`.

        If the requests wait on disk, where they take no memory, return at once. Also return at once
        if the crawl does not use the plugin's `RobotsScheduler`.

        Args:
            request: the last request that was made from the file.
            file: the number of the file, in the order in which the spider began to read files.

        Returns:
            True if the spider may read the file further. False if the crawl is closing, because the
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

        While the responses in memory are larger than SCRAPER_SLOT_MAX_ACTIVE_SIZE, Scrapy sends no
        requests, so the waiting pages do not become fewer. To free the memory of a response, one
        file is then read to its end although many pages wait.
        """
        if is_backed_out(self._crawler) and self._goes_on_anyway(file):
            return True
        return file == min(files) and pages_ahead(self._crawler, request) < self._most

    def _goes_on_anyway(self, file: int) -> bool:
        """Whether `file` is the one file that is read further although many pages wait.

        The waiting file that the spider began to read first is chosen. If `wait` is not called for
        this file within BACK_SECS seconds, the next file is chosen in the same way.
        """
        now = time.monotonic()
        last, at = self._went_on
        first = min(chain.from_iterable(self._files.values()))
        if file != last and (now < at + BACK_SECS or file > first):
            return False
        self._went_on = (file, now)
        return True
