"""`GBOT_ROBOTS_RECORD`: what decided in this crawl, for each origin, as JSON lines.

A line says what decided about an origin, and what that rests on: the robots.txt, wherever it came
from, or why there is none. If this crawl fetched it, the headers of request and response are there.
So the archive answers for the crawl whatever was stored before.

A thread writes each line as soon as it has decided. In a compressed file, each line is compressed
by itself, so that the file can be read however the process ends. If a line can be written only in
part, that part is removed, so that later lines can be read; the log says it once, and the crawl
goes on.
Source: https://jsonlines.org.
"""

from __future__ import annotations

import base64
import gzip
import io
import itertools
import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Headers, Response
from scrapy.utils.datatypes import LocalCache

from ..concurrency import Background, OneThread
from ..core.urls import Origin
from ..counts import plural
from ..obeying.answer import CachedAnswer, Source
from ..obeying.events import DECIDED
from ..policy.outages import Copy, State, date_of
from ..settings import GbotSettings, archive_named
from ..signals import robotstxt_served

# origins that are remembered, at some 300 bytes each; of others, the same may be written again
_MOST_ORIGINS = 100_000
_MOST_WAITING = 100  # fetches that have not decided yet; of others, no headers are kept
# headers that an archive must not contain
_SECRETS = {b"authorization", b"cookie", b"proxy-authorization"}

_IS_IN = "The record of this crawl is in %s: %s"
_CANNOT = "GBOT_ROBOTS_RECORD cannot be written; the crawl goes on, the archive lacks records: %s"

logger = logging.getLogger(__name__)


def record_of(answer: CachedAnswer, copy: Copy | None) -> dict[str, Any]:
    """Return a line of the archive: the fields that record.md lists.

    Args:
        answer: what decides about its origin.
        copy: what it rests on; None if nothing definite is known.
    """
    record: dict[str, Any] = {
        "url": answer.origin.robots_url,
        "fetched": _date(answer.given_at),
        "source": answer.source.value,
        "state": answer.state.value,
        "why": answer.why,
        "unreachable": answer.temporary and copy is None,
        "status": answer.status,
        "location": None,
        "robots": None,
        "cut": False,
    }
    body = b""
    if copy is not None:
        record |= {
            "fetched": _date(copy.fetched_at),
            "status": copy.status,
            "robots": copy.sha256,
            "cut": copy.cut,
        }
        if copy.url != answer.origin.robots_url:
            record["location"] = copy.url
        body = copy.body
    try:
        record["body"] = body.decode("utf-8")
    except UnicodeDecodeError:
        record["body_base64"] = base64.b64encode(body).decode("ascii")
    return record


def _date(seconds: float) -> str:
    """Return a time in UTC, ISO 8601.

    A time that has no date, from a storage to which others write, counts as the present.
    """
    date = date_of(seconds) or datetime.now(timezone.utc)
    return date.strftime("%Y-%m-%dT%H:%M:%SZ")


def _without_secrets(headers: Headers) -> Iterator[tuple[str, str]]:
    for name in headers:
        if name.lower() not in _SECRETS:
            for value in headers.getlist(name):
                yield name.decode("latin-1"), value.decode("latin-1")


class RobotsRecord:
    """The extension that writes the archive. It is off unless `GBOT_ROBOTS_RECORD` is set."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        self._crawler = crawler
        self._path = path
        self._file: io.FileIO | None = None
        self._headers: LocalCache[Origin, dict[str, Any]] = LocalCache(_MOST_WAITING)
        # What was written last: the state, the status, and the hash of the robots.txt.
        self._kept: LocalCache[Origin, tuple[object, ...]] = LocalCache(_MOST_ORIGINS)
        self._thread = OneThread()
        self._background = Background()
        self._has_failed = False
        crawler.signals.connect(self._served, robotstxt_served)
        crawler.signals.connect(self._decided, DECIDED)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsRecord:
        """Make the extension.

        Raises:
            NotConfigured: `GBOT_ROBOTS_RECORD` is not set.
        """
        path = GbotSettings.of(crawler.settings).record
        if path is None:
            raise NotConfigured
        return cls(crawler, path)

    def _served(
        self, origin: Origin, request: Request, response: Response, headers: Headers
    ) -> None:
        """Hold the headers of a fetch, as the server sent them, until the answer is known."""
        ip = None
        if response.ip_address:
            ip = str(response.ip_address)
        self._headers[origin] = {
            "request_headers": list(_without_secrets(request.headers)),
            "response_headers": list(_without_secrets(headers)),
            "ip": ip,
        }

    def _decided(self, answer: CachedAnswer, copy: Copy | None) -> None:
        """Keep what decides about an origin from now on, unless that is what did before."""
        origin = answer.origin
        headers = self._headers.pop(origin, {})
        if copy is None and answer.state is State.FULL_DISALLOW and origin in self._kept:
            return  # in an outage, what decided before says more
        record = record_of(answer, copy)
        if answer.source is Source.FETCHED:  # a fetch of this crawl has decided
            record |= headers
        mark = (record["state"], record["status"], record["robots"])
        if self._kept.get(origin) != mark:
            self._kept[origin] = mark
            self._background.start(self._keep(origin, record))

    async def _keep(self, origin: Origin, record: dict[str, Any]) -> None:
        try:
            await self._thread.run(self._write, record)
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            self._kept.pop(origin, None)  # it is tried again with the next answer of this origin
            self._crawler.stats.inc_value("gbot_robots/record/errors")
            if not self._has_failed:
                self._has_failed = True
                logger.error(_CANNOT, error)  # noqa: TRY400  the message names the path
        else:
            self._crawler.stats.inc_value("gbot_robots/record/written")

    def _write(self, record: dict[str, Any]) -> None:
        """Write a line whole, or nothing of it. The thread does this."""
        if self._file is None:
            self._file = self._opened()
        start = self._file.tell()
        line = json.dumps(record).encode("ascii") + b"\n"
        if self._path.suffix == ".gz":
            line = gzip.compress(line)
        if self._file.write(line) < len(line):  # an unbuffered file may write only a part
            self._file.seek(start)
            self._file.truncate()
            raise OSError(f"{self._file.name} can take only a part of a record")

    def _opened(self) -> io.FileIO:
        """Open a new file. A file that exists belongs to another process or an earlier crawl."""
        spider: Any = self._crawler.spider
        wanted = archive_named(self._path, spider.name, datetime.now(timezone.utc))
        wanted.parent.mkdir(parents=True, exist_ok=True)
        stem, end, gz = wanted.name.rpartition(".jsonl")
        path, numbers = wanted, itertools.count(2)
        while True:
            with suppress(FileExistsError):
                return io.FileIO(str(path), "x")  # an error shows this name
            path = wanted.with_name(f"{stem}-{next(numbers)}{end}{gz}")

    async def _spider_closed(self) -> None:
        await self._background.ended()
        self._thread.end()
        if self._file is not None:
            self._file.close()
            written = self._crawler.stats.get_value("gbot_robots/record/written", 0)
            place = Path(self._file.name).absolute()
            logger.info(_IS_IN, place, plural(written, "robots.txt answer"))
