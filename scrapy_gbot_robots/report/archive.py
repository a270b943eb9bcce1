"""`GBOT_ROBOTS_ARCHIVE`: each robots.txt that this crawl fetches, as it was served, in a file of this process.

A thread writes each record as soon as its robots.txt is there. In a compressed file, each record is compressed by itself, so
that the file can be read however the process ends. If a record can be written only in part, that part is removed, so that
later records can be read; the log says it once, and the crawl goes on.
"""

from __future__ import annotations

import io
import logging
from collections import OrderedDict
from contextlib import suppress
from datetime import datetime, timezone
from hashlib import sha256
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from ..concurrency import Background, OneThread
from ..policy.outcome import Fetched
from ..settings import ARCHIVES, GbotSettings, archive_named
from ..signals import robotstxt_served
from .records import Served, record_maker

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response
    from typing_extensions import Self

    from ..policy.outcome import Outcome

_MOST_HASHES = 100_000  # kept, at some 200 bytes each; beyond that, the same robots.txt may be written again
_MOST_FILES = 1_000  # with the same name and different numbers

logger = logging.getLogger(__name__)


class RobotsArchive:
    """The extension. It is off unless `GBOT_ROBOTS_ARCHIVE` is set."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        self._crawler = crawler
        self._path = path
        self._record = record_maker(path.name)
        self._file: io.FileIO | None = None
        self._kept: OrderedDict[bytes, None] = OrderedDict()  # hashes
        self._thread = OneThread()
        self._background = Background()
        self._said = False
        crawler.signals.connect(self._served, robotstxt_served)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension.

        Raises:
            NotConfigured: `GBOT_ROBOTS_ARCHIVE` is not set.
            ValueError: the archive is a WARC file, but warcio is not installed.
        """
        path = GbotSettings.of(crawler.settings).archive
        if path is None:
            raise NotConfigured
        return cls(crawler, path)

    def _served(self, outcome: Outcome, request: Request, response: Response, headers: Headers) -> None:
        if isinstance(outcome, Fetched):
            key = sha256(outcome.body).digest()
            if key not in self._kept:
                self._kept[key] = None
                if len(self._kept) > _MOST_HASHES:
                    self._kept.popitem(last=False)
                self._background.start(self._keep(key, Served.of(outcome, request, response, headers)))

    async def _keep(self, key: bytes, served: Served) -> None:
        try:
            await self._thread.run(lambda: self._write(served))
        except OSError as error:
            self._kept.pop(key, None)  # it will be tried again when a server sends the same robots.txt
            self._say(error)
        else:
            self._crawler.stats.inc_value("gbot_robots/archive/written")

    def _say(self, error: OSError) -> None:
        self._crawler.stats.inc_value("gbot_robots/archive/errors")
        if not self._said:
            self._said = True
            logger.error(
                "GBOT_ROBOTS_ARCHIVE cannot be written; the crawl goes on, the archive lacks records: %s", error
            )

    def _write(self, served: Served) -> None:
        """Write a whole record, or nothing of it. The thread does this."""
        if self._file is None:
            self._file = self._opened()
        start = self._file.tell()
        left = memoryview(self._record(served, is_first=start == 0))
        try:
            while left:
                left = left[self._file.write(left) :]  # an unbuffered file may write only a part
        except OSError:
            with suppress(OSError):
                self._file.truncate(start)
                self._file.seek(start)
            raise

    def _opened(self) -> io.FileIO:
        """Open a new file. A file that exists belongs to another process or an earlier crawl."""
        spider = self._crawler.spider
        wanted = archive_named(self._path, spider.name if spider is not None else "", datetime.now(timezone.utc))
        wanted.parent.mkdir(parents=True, exist_ok=True)
        suffix = next(each for each in ARCHIVES if wanted.name.endswith(each))
        for number in range(1, _MOST_FILES):
            path = wanted if number == 1 else wanted.with_name(f"{wanted.name.removesuffix(suffix)}-{number}{suffix}")
            with suppress(FileExistsError):
                return io.FileIO(path, "x")
        raise FileExistsError(f"{wanted} and {_MOST_FILES} files named like it exist")

    async def _spider_closed(self) -> None:
        await self._background.ended()
        await self._thread.run(self._close)
        self._thread.end()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
