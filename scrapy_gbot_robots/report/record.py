"""Writes the file of `GBOT_ROBOTS_RECORD`: a line of JSON for each answer of a crawl.

A line contains the decision about an origin and its evidence: the robots.txt, from the server or
the storage, or the reason why there is none. If this crawl fetched the robots.txt, the line has the
headers of request and response, too. So the record is complete without the storage.

A thread writes each line as soon as the decision is made. In a compressed file, each line is
compressed by itself, so that the file can be read however the process ends. If a line can be
written only in part, that part is removed, so that later lines can be read. Then the log warns
once, and the crawl goes on.
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
from ..settings import GbotSettings, record_named
from ..signals import robotstxt_served

# How many origins are remembered, at about 300 bytes each. A forgotten origin may be written again.
_MOST_ORIGINS = 100_000
# The number of fetches whose headers are kept until a decision is made.
_MOST_WAITING = 100
# Headers that must not be in a record.
_SECRETS = {b"authorization", b"cookie", b"proxy-authorization"}

_IS_IN = "The record of this crawl is in %s: %s"
_CANNOT = "GBOT_ROBOTS_RECORD cannot be written; the crawl goes on, the record lacks lines: %s"

logger = logging.getLogger(__name__)


def record_of(answer: CachedAnswer, copy: Copy | None) -> dict[str, Any]:
    """Return a line of the record: the fields that docs/record.md lists.

    Args:
        answer: the answer that decides about its origin.
        copy: the robots.txt, or other definite answer of the server, on which it is based; None if
            there is none.
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

    A time that is not a possible date counts as the present. It may come from a storage to which
    other programs write.
    """
    date = date_of(seconds) or datetime.now(timezone.utc)
    return date.strftime("%Y-%m-%dT%H:%M:%SZ")


def _without_secrets(headers: Headers) -> Iterator[tuple[str, str]]:
    for name in headers:
        if name.lower() not in _SECRETS:
            for value in headers.getlist(name):
                yield name.decode("latin-1"), value.decode("latin-1")


class RobotsRecord:
    """The extension that writes the record. It is off unless `GBOT_ROBOTS_RECORD` is set."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        self._crawler = crawler
        self._path = path
        self._file: io.FileIO | None = None
        self._headers: LocalCache[Origin, dict[str, Any]] = LocalCache(_MOST_WAITING)
        # For each origin, the values of "state", "status" and "robots" in its last line.
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
        """Keep the headers of a fetch, as the server sent them, until the answer is known."""
        ip = None
        if response.ip_address:
            ip = str(response.ip_address)
        self._headers[origin] = {
            "request_headers": list(_without_secrets(request.headers)),
            "response_headers": list(_without_secrets(headers)),
            "ip": ip,
        }

    def _decided(self, answer: CachedAnswer, copy: Copy | None) -> None:
        """Write a line on the new answer of an origin, unless it equals the last line."""
        origin = answer.origin
        headers = self._headers.pop(origin, {})
        if copy is None and answer.state is State.FULL_DISALLOW and origin in self._kept:
            return  # During an outage, the line that the record already has is more informative.
        record = record_of(answer, copy)
        if answer.source is Source.FETCHED:  # This process fetched the robots.txt.
            record |= headers
        mark = (record["state"], record["status"], record["robots"])
        if self._kept.get(origin) != mark:
            self._kept[origin] = mark
            self._background.start(self._keep(origin, record))

    async def _keep(self, origin: Origin, record: dict[str, Any]) -> None:
        try:
            await self._thread.run(self._write, record)
        except (OSError, ValueError) as error:  # ValueError means an impossible file name.
            self._kept.pop(origin, None)  # The next answer of this origin is another try.
            self._crawler.stats.inc_value("gbot_robots/record/errors")
            if not self._has_failed:
                self._has_failed = True
                logger.error(_CANNOT, error)  # noqa: TRY400  The message names the path.
        else:
            self._crawler.stats.inc_value("gbot_robots/record/written")

    def _write(self, record: dict[str, Any]) -> None:
        """Write a line completely or not at all. It runs in the thread."""
        if self._file is None:
            self._file = self._opened()
        start = self._file.tell()
        line = json.dumps(record).encode("ascii") + b"\n"
        if self._path.suffix == ".gz":
            line = gzip.compress(line)
        if self._file.write(line) < len(line):  # On a full disk, for example.
            self._file.seek(start)
            self._file.truncate()
            raise OSError(f"{self._file.name} can take only a part of a line")

    def _opened(self) -> io.FileIO:
        """Open a new file. A file that exists belongs to another process or an earlier crawl."""
        spider: Any = self._crawler.spider
        wanted = record_named(self._path, spider.name, datetime.now(timezone.utc))
        wanted.parent.mkdir(parents=True, exist_ok=True)
        stem, end, gz = wanted.name.rpartition(".jsonl")
        path, numbers = wanted, itertools.count(2)
        while True:
            with suppress(FileExistsError):
                return io.FileIO(str(path), "x")  # Errors contain the name as a text.
            path = wanted.with_name(f"{stem}-{next(numbers)}{end}{gz}")

    async def _spider_closed(self) -> None:
        await self._background.ended()
        self._thread.end()
        if self._file is not None:
            self._file.close()
            written = self._crawler.stats.get_value("gbot_robots/record/written", 0)
            place = Path(self._file.name).absolute()
            logger.info(_IS_IN, place, plural(written, "robots.txt answer"))
