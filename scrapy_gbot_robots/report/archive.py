"""`GBOT_ROBOTS_ARCHIVE`: each robots.txt that this crawl fetches, as it was served, in a file of this process.

What a bot wall has sent in its place is kept, too, with the headers by which an audit recognises
it.

A thread writes each record as soon as its robots.txt is there. In a compressed file, each record is
compressed by itself, so that the file can be read however the process ends. If a record can be
written only in part, that part is removed, so that later records can be read; the log says it once,
and the crawl goes on.

A WARC record has the body as it came over the wire; a line of JSON has the decoded body. The
SHA-256 is that of the decoded body, as far as it is read, as in `GBOT_ROBOTS_PROVENANCE`. Sources:
WARC 1.1 (ISO 28500:2017); https://jsonlines.org.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import logging
from contextlib import suppress
from datetime import datetime, timezone
from hashlib import sha256
from http.client import responses
from itertools import count
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Headers, Response

from ..concurrency import Background, OneThread
from ..core.urls import escape_text
from ..policy.outcome import Fetched, Outcome, Unavailable
from ..settings import ARCHIVES, GbotSettings, archive_named
from ..signals import robotstxt_served

_MOST_HASHES = (
    100_000  # kept, at some 200 bytes each; beyond that, the same robots.txt may be written again
)

_DIGEST = "X-Robots-SHA256"  # our own field in WARC records, which the format allows
_SECRETS = {
    "authorization",
    "cookie",
    "proxy-authorization",
}  # request headers that an archive must not contain
_OF_THE_WIRE = {"transfer-encoding", "connection"}  # headers about the transfer, not about the body

logger = logging.getLogger(__name__)


class RobotsArchive:
    """The extension. It is off unless `GBOT_ROBOTS_ARCHIVE` is set."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        self._crawler = crawler
        self._path = path
        self._file: io.FileIO | None = None
        self._kept: dict[str, None] = {}  # hashes, in order of time
        self._thread = OneThread()
        self._background = Background()
        self._said = False
        crawler.signals.connect(self._served, robotstxt_served)
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
        self, outcome: Outcome, request: Request, response: Response, headers: Headers
    ) -> None:
        if isinstance(outcome, Fetched) or (isinstance(outcome, Unavailable) and outcome.wall):
            served = Served.of(outcome, request, response, headers)
            if served.robots not in self._kept:
                self._kept[served.robots] = None
                if len(self._kept) > _MOST_HASHES:
                    del self._kept[next(iter(self._kept))]
                self._background.start(self._keep(served))

    async def _keep(self, served: Served) -> None:
        try:
            await self._thread.run(lambda: self._write(served))
        except (OSError, ValueError) as error:  # ValueError: text that no file can hold
            self._kept.pop(
                served.robots, None
            )  # it will be tried again when a server sends the same robots.txt
            self._crawler.stats.inc_value("gbot_robots/archive/errors")
            if not self._said:
                self._said = True
                cannot = "GBOT_ROBOTS_ARCHIVE cannot be written; the crawl goes on, the archive lacks records: %s"
                logger.error(cannot, error)  # noqa: TRY400  the message names the path
        else:
            self._crawler.stats.inc_value("gbot_robots/archive/written")

    def _write(self, served: Served) -> None:
        """Write a whole record, or nothing of it. The thread does this."""
        if self._file is None:
            self._file = self._opened()
        start = self._file.tell()
        left = memoryview(record_of(served, self._path.name, is_first=start == 0))
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
        wanted = archive_named(
            self._path, spider.name if spider is not None else "", datetime.now(timezone.utc)
        )
        wanted.parent.mkdir(parents=True, exist_ok=True)
        suffix = next(each for each in ARCHIVES if wanted.name.endswith(each))
        path, numbers = wanted, count(2)
        while True:
            with suppress(FileExistsError):
                return io.FileIO(path, "x")
            path = wanted.with_name(f"{wanted.name.removesuffix(suffix)}-{next(numbers)}{suffix}")

    async def _spider_closed(self) -> None:
        await self._background.ended()
        await self._thread.run(self._close)
        self._thread.end()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()


class Served(NamedTuple):
    """A robots.txt, or a bot wall in its place, as it was served. The names are those of a line of JSON."""

    url: str
    fetched: str  # in UTC, ISO 8601
    robots: str  # the SHA-256 of the decoded body, as far as it is read
    status: int
    request_headers: list[tuple[str, str]]  # without secrets
    response_headers: list[tuple[str, str]]  # off the wire
    cut: bool  # only the beginning is read
    ip: str | None  # the server's, if known
    body: bytes  # decoded, as far as it is read; that of a wall as it came
    response: Response

    @classmethod
    def of(
        cls, outcome: Fetched | Unavailable, request: Request, response: Response, headers: Headers
    ) -> Served:
        """Take from a signal's arguments what an archive keeps. The time is now."""
        body, cut = (
            (outcome.body, outcome.cut) if isinstance(outcome, Fetched) else (response.body, False)
        )
        fetched = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        sent = [each for each in _texts(request.headers) if each[0].lower() not in _SECRETS]
        ip = None if response.ip_address is None else str(response.ip_address)
        digest, got = sha256(body).hexdigest(), _texts(headers)
        return cls(
            outcome.url, fetched, digest, response.status, sent, got, cut, ip, body, response
        )


def _texts(headers: Headers) -> list[tuple[str, str]]:
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name in headers
        for value in headers.getlist(name)
    ]


def record_of(served: Served, name: str, *, is_first: bool) -> bytes:
    """Return the bytes that a robots.txt adds to a file of this name. The first of a WARC file also name this program."""
    records = (
        [_json(served)]
        if name.endswith((".jsonl", ".jsonl.gz"))
        else _warc(served, name, is_first=is_first)
    )
    return b"".join(map(gzip.compress, records) if name.endswith(".gz") else records)


def _json(served: Served) -> bytes:
    fields = served._asdict()
    del fields["response"]
    try:
        fields["body"] = served.body.decode("utf-8")
    except UnicodeDecodeError:
        fields["body_base64"] = base64.b64encode(fields.pop("body")).decode("ascii")
    return json.dumps(fields).encode("ascii") + b"\n"


def _warc(served: Served, name: str, *, is_first: bool) -> list[bytes]:
    response, date = served.response, served.fetched
    url = escape_text(served.url)  # Latin-1 would not hold each URL that a redirect may name
    records = []
    if is_first:
        said = b"software: scrapy-gbot-robots\r\nformat: WARC File Format 1.1\r\n"
        records.append(
            _record("warcinfo", date, said, "application/warc-fields", {"WARC-Filename": name})
        )
    about = {
        "WARC-Target-URI": url,
        "WARC-Record-ID": f"<urn:uuid:{uuid4()}>",
        _DIGEST: served.robots,
    }
    about |= {"WARC-Truncated": "length"} if served.cut else {}
    about |= {"WARC-IP-Address": served.ip} if served.ip is not None else {}
    if not url.lower().startswith("http"):
        return [*records, _record("resource", date, response.body, "text/plain", about)]
    protocol = response.protocol or "HTTP/1.1"
    kept = [
        (field, value)
        for field, value in served.response_headers
        if field.lower() not in _OF_THE_WIRE
    ]
    answer = (
        _head(f"{protocol} {served.status} {responses.get(served.status, 'Unknown')}", kept)
        + response.body
    )
    asked = _head(f"GET /{url.split('/', 3)[3]} {protocol}", served.request_headers)
    belongs = {"WARC-Target-URI": url, "WARC-Concurrent-To": about["WARC-Record-ID"]}
    records.append(_record("response", date, answer, "application/http; msgtype=response", about))
    return [*records, _record("request", date, asked, "application/http; msgtype=request", belongs)]


def _record(kind: str, date: str, block: bytes, content: str, fields: dict[str, str]) -> bytes:
    given = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:{uuid4()}>",
        "WARC-Date": date,
        **fields,
    }
    head = _head(
        "WARC/1.1", [*given.items(), ("Content-Type", content), ("Content-Length", str(len(block)))]
    )
    return head + block + b"\r\n\r\n"


def _head(first: str, fields: list[tuple[str, str]]) -> bytes:
    lines = [first, *(f"{name}: {' '.join(value.splitlines())}" for name, value in fields), "", ""]
    return "\r\n".join(lines).encode("latin-1", "backslashreplace")
