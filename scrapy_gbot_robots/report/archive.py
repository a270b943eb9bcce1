"""`GBOT_ROBOTS_ARCHIVE`: what decided in this crawl, for each origin, in a file of this process.

A robots.txt that the crawl fetched is kept as it was served, with the headers of request and
response; so is what a server sent in its place. What came from the storage, or was decided without
an answer, is kept with what is known of it. `archive_records` says how. So the archive answers for
the crawl whatever was stored before.

A thread writes each record as soon as its robots.txt has decided. In a compressed file, each record
is compressed by itself, so that the file can be read however the process ends. If a record can be
written only in part, that part is removed, so that later records can be read; the log says it once,
and the crawl goes on.
"""

from __future__ import annotations

import io
import logging
from collections import OrderedDict
from contextlib import suppress
from datetime import datetime, timezone
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Headers, Response

from ..concurrency import Background, OneThread
from ..core.urls import Origin
from ..obeying.answer import CachedAnswer, Source
from ..obeying.events import DECIDED
from ..policy.outages import Copy, State
from ..policy.outcome import Fetched, Outcome, Unavailable
from ..settings import ARCHIVES, GbotSettings, archive_named
from ..signals import robotstxt_served
from .archive_records import Decided, Exchange, Record, Served, bytes_of
from .summary import count as counted

# origins that are remembered, at some 300 bytes each; of others, the same may be written again
_MOST_ORIGINS = 100_000
_SERVER_ERRORS = range(500, 600)
_MOST_EXCHANGES = 100  # of fetches that have not decided yet; of others, the body alone is kept

_IS_IN = (
    "The record of this crawl is in %s: %s, %d fetched by it, %d from the storage, %d unreachable"
)
_CANNOT = "GBOT_ROBOTS_ARCHIVE cannot be written; the crawl goes on, the archive lacks records: %s"
_IS_EMPTY = "GBOT_ROBOTS_ARCHIVE: no robots.txt decided in this crawl, so no file was written"
_LACKS = "GBOT_ROBOTS_ARCHIVE lacks records: %s failed, see the error above"

logger = logging.getLogger(__name__)


class RobotsArchive:
    """The extension that writes the archive. It is off unless `GBOT_ROBOTS_ARCHIVE` is set."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        self._crawler = crawler
        self._wanted = path
        self._path = path  # of the file, once it is there
        self._file: io.FileIO | None = None
        self._exchanges: OrderedDict[Origin, Exchange] = OrderedDict()
        self._kept: OrderedDict[Origin, bytes] = OrderedDict()  # what was written last
        self._thread = OneThread()
        self._background = Background()
        self._has_failed = False
        crawler.signals.connect(self._served, robotstxt_served)
        crawler.signals.connect(self._decided, DECIDED)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsArchive:
        """Make the extension.

        Raises:
            NotConfigured: `GBOT_ROBOTS_ARCHIVE` is not set.
        """
        path = GbotSettings.of(crawler.settings).archive
        if path is None:
            raise NotConfigured
        return cls(crawler, path)

    def _served(
        self,
        origin: Origin,
        outcome: Outcome,
        request: Request,
        response: Response,
        headers: Headers,
    ) -> None:
        """Hold what a server sent, until it decides."""
        self._exchanges.pop(origin, None)
        if isinstance(outcome, (Fetched, Unavailable)) and outcome.url.startswith("http"):
            self._exchanges[origin] = Exchange(outcome, request, response, headers)
            if len(self._exchanges) > _MOST_EXCHANGES:
                self._exchanges.popitem(last=False)

    def _decided(self, answer: CachedAnswer, copy: Copy | None) -> None:
        """Keep what decides about an origin from now on, unless that is what did before."""
        origin = answer.origin
        exchange = self._exchanges.pop(origin, None)
        if copy is None and answer.state is State.FULL_DISALLOW and origin in self._kept:
            return  # in an outage, what decided before says more
        mark = _mark_of(answer, copy)
        if self._kept.get(origin) == mark:
            return
        self._kept[origin] = mark
        if len(self._kept) > _MOST_ORIGINS:
            self._kept.popitem(last=False)
        if copy is None:
            records: list[Record] = [Decided.of(answer, None)]
            name = "unreachable"
        else:
            records = _records_of_copy(answer, copy, exchange)
            name = "fetched" if answer.source is Source.FETCHED else "stored"
        self._background.start(self._keep(origin, records, name))

    async def _keep(self, origin: Origin, records: list[Record], name: str) -> None:
        try:
            await self._thread.run(lambda: self._write(records))
        except (OSError, ValueError) as error:  # ValueError: text that no file can hold
            self._kept.pop(origin, None)  # it is tried again with the next answer of this origin
            self._crawler.stats.inc_value("gbot_robots/archive/errors")
            if not self._has_failed:
                self._has_failed = True
                logger.error(_CANNOT, error)  # noqa: TRY400  the message names the path
        else:
            self._crawler.stats.inc_value("gbot_robots/archive/written")
            self._crawler.stats.inc_value(f"gbot_robots/archive/{name}")

    def _write(self, records: list[Record]) -> None:
        """Write records whole, or nothing of them. The thread does this."""
        if self._file is None:
            self._file = self._opened()
        start = self._file.tell()
        text = b""
        is_first = start == 0
        for record in records:
            text += bytes_of(record, self._path.name, is_first=is_first)
            is_first = False
        left = memoryview(text)
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
        spider: Any = self._crawler.spider
        wanted = archive_named(self._wanted, spider.name, datetime.now(timezone.utc))
        wanted.parent.mkdir(parents=True, exist_ok=True)
        suffix = next(filter(wanted.name.endswith, ARCHIVES))
        self._path, numbers = wanted, count(2)
        while True:
            with suppress(FileExistsError):
                return io.FileIO(str(self._path), "x")  # an error shows this name
            stem = wanted.name.removesuffix(suffix)
            self._path = wanted.with_name(f"{stem}-{next(numbers)}{suffix}")

    async def _spider_closed(self) -> None:
        await self._background.ended()
        await self._thread.run(self._close)
        self._thread.end()
        self._say_how_many()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _say_how_many(self) -> None:
        stats, extra = self._crawler.stats, {"spider": self._crawler.spider}
        names = ("written", "fetched", "stored", "unreachable")
        written, *numbers = [stats.get_value(f"gbot_robots/archive/{name}", 0) for name in names]
        if written:
            answers = counted(written, "robots.txt answer")
            logger.info(_IS_IN, self._path.absolute(), answers, *numbers, extra=extra)
        elif not self._has_failed:
            logger.info(_IS_EMPTY, extra=extra)
        if self._has_failed:
            failed = counted(stats.get_value("gbot_robots/archive/errors", 0), "write")
            logger.warning(_LACKS, failed, extra=extra)


def _records_of_copy(answer: CachedAnswer, copy: Copy, exchange: Exchange | None) -> list[Record]:
    """Return what shows `copy`: the exchange that led to it; else, or besides, the decision."""
    if exchange is None or not exchange.led_to(copy):
        return [Decided.of(answer, copy)]
    served = Served.of(exchange, copy.fetched_at)
    # The answer behind a redirect is another URL's, and a server error that says "not found" looks
    # like any other.
    if answer.redirected_to or copy.status in _SERVER_ERRORS:
        return [served, Decided.of(answer, copy)]
    return [served]


def _mark_of(answer: CachedAnswer, copy: Copy | None) -> bytes:
    """Return what tells this decision from another one about the same origin."""
    if copy is None:
        return answer.state.value.encode()
    return b"%d %s" % (copy.status, sha256(copy.body).digest())
