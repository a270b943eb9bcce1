"""Writes the record of a crawl (`GBOT_ROBOTS_RECORD`), which is a file of JSON Lines.

The record has a line for each answer of the crawl. An *answer* is what the crawl decides for an
origin after a look-up of the robots.txt: the rules apply, all URLs are allowed, or all URLs are
disallowed. The line contains the answer and the robots.txt on which it is based, or the reason why
there is no robots.txt. If this crawl has fetched the robots.txt, the line also contains the headers
of the request and the response. So a reader of the record does not need the storage.

A thread writes each line as soon as the crawl has the answer. If the file is compressed, each line
is compressed separately, so the lines can be read even if the process is killed. If a line can be
written only in part, for example on a full disk, the part is removed, so that later lines can be
read. The first such error is logged, and the crawl goes on.
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

from ..answers.answer import CachedAnswer, Source
from ..answers.events import DECIDED
from ..concurrency import Background, OneThread
from ..core.urls import Origin
from ..counts import plural
from ..engine import refuse_as_add_on
from ..policy.outages import Copy, State, date_of
from ..settings import GbotSettings, record_named
from ..signals import robotstxt_served

# The state, status and hash in the last line are kept in memory for at most this many origins, so
# that the same line is not written again. They take about 300 bytes for each origin.
_MOST_ORIGINS = 100_000
# Until the crawl has made the answers, the headers of at most this many fetches are kept in memory.
_MOST_WAITING = 100
# Headers that must not be in a record, because they contain passwords or sessions.
_SECRETS = {b"authorization", b"cookie", b"proxy-authorization"}

_IS_IN = "The record of this crawl is in %s: %s"
_CANNOT = "GBOT_ROBOTS_RECORD cannot be written; the crawl goes on, but the record lacks lines: %s"

logger = logging.getLogger(__name__)


def record_of(answer: CachedAnswer, copy: Copy | None) -> dict[str, Any]:
    """Return the fields of a line of the record, except for the headers.

    docs/record.md describes the fields.

    Args:
        answer: the answer for an origin.
        copy: the robots.txt, or other definite response, on which the answer is based; None if
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
    """Return a time as text, in UTC and ISO 8601. `seconds` are seconds since the epoch.

    The time may come from a storage to which other programs write. If it is not a possible date,
    return the present time.
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
        # For each origin, the values of "state", "status" and "robots" in its last line. A new line
        # with the same values is not written.
        self._kept: LocalCache[Origin, tuple[object, ...]] = LocalCache(_MOST_ORIGINS)
        self._thread = OneThread()
        self._background = Background()
        self._has_failed = False
        self._written = 0  # The number of lines. It is needed even if the crawl keeps no stats.
        crawler.signals.connect(self._served, robotstxt_served)
        crawler.signals.connect(self._decided, DECIDED)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsRecord:
        """Make the extension.

        Raises:
            NotConfigured: `GBOT_ROBOTS_RECORD` is not set.
        """
        refuse_as_add_on(cls, crawler)
        path = GbotSettings.of(crawler.settings).record
        if path is None:
            raise NotConfigured
        return cls(crawler, path)

    def _served(
        self, origin: Origin, request: Request, response: Response, headers: Headers
    ) -> None:
        """Keep the headers of a fetch until the crawl has made an answer from the response."""
        ip = None
        if response.ip_address:
            ip = str(response.ip_address)
        self._headers[origin] = {
            "request_headers": list(_without_secrets(request.headers)),
            "response_headers": list(_without_secrets(headers)),
            "ip": ip,
        }

    def _decided(self, answer: CachedAnswer, copy: Copy | None) -> None:
        """Write a line for a new answer, unless it would repeat the last line for the origin."""
        origin = answer.origin
        headers = self._headers.pop(origin, {})
        if copy is None and answer.state is State.FULL_DISALLOW and origin in self._kept:
            # The robots.txt is unreachable now, so a new line would contain less than the earlier
            # line for the origin.
            return
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
        except (OSError, ValueError) as error:  # ValueError means that no file can have this name.
            self._kept.pop(origin, None)  # Otherwise the same answer would not be written later.
            self._crawler.stats.inc_value("gbot_robots/record/errors")
            if not self._has_failed:
                self._has_failed = True
                logger.error(_CANNOT, error)  # noqa: TRY400  The message contains the path.
        else:
            self._written += 1
            self._crawler.stats.inc_value("gbot_robots/record/written")

    def _write(self, record: dict[str, Any]) -> None:
        """Write `record` as a line, completely or not at all. The thread calls this method.

        Raises:
            OSError: the line cannot be written.
            ValueError: no file can have the name of the record.
        """
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
        """Create the file of the record, and return it.

        If another process or an earlier crawl has written a file with the same name, the name of
        the new file ends with a number, as in `record-2.jsonl`.
        """
        spider: Any = self._crawler.spider
        wanted = record_named(self._path, spider.name, datetime.now(timezone.utc))
        wanted.parent.mkdir(parents=True, exist_ok=True)
        stem, end, gz = wanted.name.rpartition(".jsonl")
        path, numbers = wanted, itertools.count(2)
        while True:
            with suppress(FileExistsError):
                # A `Path` would appear in error messages as "PosixPath(...)", so this is a `str`.
                return io.FileIO(str(path), "x")
            path = wanted.with_name(f"{stem}-{next(numbers)}{end}{gz}")

    async def _spider_closed(self) -> None:
        await self._background.ended()
        self._thread.end()
        if self._file is not None:
            self._file.close()
            place = Path(self._file.name).absolute()
            logger.info(_IS_IN, place, plural(self._written, "robots.txt answer"))
