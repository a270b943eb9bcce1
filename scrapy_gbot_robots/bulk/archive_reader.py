"""Archives of robots.txt files, read record by record.

They are WARC, JSON lines, Parquet, or HOST/robots.txt in a directory.

A site may write what it likes into the body of its record. So the next record is looked for only
where this one ends, as its length says, and where a gzip member ends. After a record without a
length that can be believed, the rest of its member is left out: in a file that is not compressed
record by record, all that follows. Each such place is counted.
Memory is bounded, whatever length a record claims.

An archive of `GBOT_ROBOTS_ARCHIVE` also says what decided in its crawl where no server was asked,
or none answered: a "resource" record has a stored robots.txt, a "metadata" record with `STATE` the
decision about an origin without one.
Source: WARC format 1.1 (ISO 28500:2017); Common Crawl's robots.txt archives; https://jsonlines.org.
"""

from __future__ import annotations

import base64
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ..core.urls import Origin, as_text, shown
from ..policy.decoding import DecodeError, decoded
from ..policy.outages import State
from ..policy.outcome import Unavailable, outcome_of
from .arrow import (
    BODY,
    STATUS,
    URL,
    batches_of,
    beginnings,
    need,
    need_one_value,
    need_text,
    parquet_file,
)
from .http_messages import (
    MOST_HEAD,
    SUCCESS,
    BrokenMessageError,
    NoMessageError,
    message_of,
)
from .judging import BulkError

_Reader: TypeAlias = "io.BufferedReader[Any]"


FETCHED_AT, LOCATION = "fetched_at", "location"
_COLUMNS = (URL, STATUS, BODY, FETCHED_AT, LOCATION)
_TEXTS = frozenset({URL, BODY, LOCATION})
ROBOTS_TXT = "robots.txt"
# Fields of the metadata records of a crawl's archive.
STATE, STATUS_CODE, WHY, IS_UNREACHABLE = (
    "robots-state",
    "robots-status",
    "robots-why",
    "robots-unreachable",
)
_DECISIONS = frozenset({State.FULL_ALLOW.value, State.FULL_DISALLOW.value})
_JSON_SUFFIXES = (".jsonl", ".jsonl.gz")
_MOST_ESCAPED = 6  # bytes of JSON for a byte of text

_MOST_URL = 16_384  # characters
_GZIP = b"\x1f\x8b"
_BLOCK = 65_536  # bytes read or decompressed at a time
_PARQUET_ROWS = 256  # read at a time: bodies may be large
# Records that may tell of a robots.txt, with the Content-Type that they must have.
_CONTENT_OF = {
    "response": "application/http",
    "resource": "text/plain",
    "metadata": "application/warc-fields",
}
_THREE_DIGITS = re.compile(r"[0-9]{3}")
_STATUSES = range(1000)
_MOST_WHY = 1_000  # characters


class Capture(NamedTuple):
    """One answer in an archive."""

    url: str  # the requested one
    at: float  # when it was captured, in seconds since the epoch; 0.0 if the archive does not say
    status: int | None  # the HTTP status code; None: there was no answer, or only part of one
    body: bytes = b""  # content-decoded, up to the limit
    cut: bool = False  # whether there was more
    location: str | None = None  # the Location header
    why: str = ""  # the reason in words, if `status` is None
    wall: str = ""  # whose wall has answered in place of the site, if one has
    # what a crawl decided about the whole origin, and whether because robots.txt was unreachable;
    # "": the answer says it
    state: str = ""
    temporary: bool = False


class Reading:
    """An archive while it is read."""

    def __init__(self, path: str, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._is_archive = False  # something was read that only an archive has
        self.done = self.size = 0  # how many bytes are read, and how many there are
        self.broken = 0  # places where one or more records could not be read
        self.example = ""  # what was wrong at the first of these places

    def captures(self) -> Iterator[Capture]:
        """Yield the answers in the archive.

        Raises:
            BulkError: the file is not an archive or cannot be read, or a column is missing.
        """
        path = Path(self._path)
        try:
            self.size = path.stat().st_size
            if self._path.lower().endswith(".parquet"):
                yield from self._parquet()
            elif path.name == ROBOTS_TXT:
                yield from self._of_host(path.absolute())
            elif self._path.lower().endswith(_JSON_SUFFIXES):
                yield from self._members_of(self._json_lines, "archive of a crawl")
            else:
                yield from self._members_of(self._records, "WARC")
        except OSError as error:
            raise BulkError(f"{self._path}: {error.strerror}") from None
        self.done = self.size

    def _lost(self, why: object) -> None:
        self.broken += 1
        self.example = self.example or shown(str(why))

    def _members_of(
        self, read: Callable[[_Reader], Iterator[Capture | None]], what: str
    ) -> Iterator[Capture]:
        """Yield what `read` finds in each gzip member."""
        with Path(self._path).open("rb") as file:
            self._file = file
            try:
                for text in _members(file):
                    yield from filter(None, read(text))
            except (zlib.error, EOFError) as error:
                self._lost(f"byte {file.tell():,}: {error}")
        if not self._is_archive:
            raise BulkError(f"{self._path}: this is no {what}: {self.example or 'it is empty'}")

    def _lost_here(self, why: object) -> None:
        self._lost(f"byte {self.done:,}: {why}")

    def _capture(
        self,
        url: str,
        at: float,
        status: int | None,
        body: bytes,
        headers: Mapping[str, str],
        *,
        is_cut: bool = False,
        why: str = "",
    ) -> Capture:
        """Return an answer, with as much of its body as counts, and whose wall it is of."""
        wall = ""
        body, is_cut = body[: self._max_bytes], is_cut or len(body) > self._max_bytes
        if status is not None:
            outcome = outcome_of(status, "", body, soft_404=False, proxied=False, headers=headers)
            if isinstance(outcome, Unavailable):
                wall = outcome.wall
        return Capture(url, at, status, body, is_cut, headers.get(LOCATION), why, wall)

    # WARC

    def _records(self, text: _Reader) -> Iterator[Capture | None]:
        try:
            while head := _header(text):
                self.done = self._file.tell()
                yield self._record(text, head)
        except ValueError as error:
            self._lost(f"byte {self._file.tell():,}: {error}")

    def _record(self, text: _Reader, head: bytes) -> Capture | None:
        """Take a record; return what it captured. An unusable record is counted; then return None.

        Raises:
            ValueError: it is not known where the record ends, or it is cut off.
        """
        fields = _fields(head)
        length = fields.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            raise ValueError("a record without a length")
        self._is_archive = True
        block = text.read(min(int(length), MOST_HEAD + self._max_bytes + 1))
        if not _skip(text, int(length) - len(block)):
            raise ValueError("the record is cut off")
        kind = fields.get("warc-type", "")
        content = fields.get("content-type", _CONTENT_OF.get(kind, "")).lower()
        if kind not in _CONTENT_OF or not content.startswith(_CONTENT_OF[kind]):
            return None
        url = fields.get("warc-target-uri", "").strip("<> ")
        at = _seconds_of(fields.get("warc-date", ""))
        if at is None or not 0 < len(url) <= _MOST_URL:
            if kind == "response":
                self._lost_here("no date" if at is None else "no URL")
            return None
        truncated = fields.get("warc-truncated", "").lower()
        if kind == "resource":
            is_cut = bool(truncated) or len(block) > self._max_bytes
            return Capture(url, at, 200, block[: self._max_bytes], is_cut)
        if kind == "metadata":
            return _decision(url, at, _fields(block))
        try:
            return self._answer(url, at, block, truncated)
        except NoMessageError as error:
            self._lost_here(error)
            return None
        except (BrokenMessageError, DecodeError) as error:
            return Capture(url, at, None, why=str(error))

    def _answer(self, url: str, at: float, block: bytes, truncated: str) -> Capture:
        """Return an HTTP answer with its body decoded.

        Raises:
            NoMessageError: it is none.
            BrokenMessageError: it is not whole.
            DecodeError: the body cannot be decoded, and the status does not decide alone.
        """
        message = message_of(block, truncated, self._max_bytes)
        try:
            body, is_cut = decoded(
                message.body,
                ",".join(message.headers.get("content-encoding", ())),
                self._max_bytes,
                whole=not message.is_cut,
                may_be_empty=message.may_be_empty,
            )
        except DecodeError:
            if message.status in SUCCESS:
                raise
            body, is_cut = b"", False
        # The last value of a header is the one that counts in Scrapy.
        headers = {name: values[-1] for name, values in message.headers.items()}
        return self._capture(url, at, message.status, body, headers, is_cut=is_cut)

    # JSON lines

    def _json_lines(self, text: _Reader) -> Iterator[Capture | None]:
        most = MOST_HEAD + _MOST_ESCAPED * self._max_bytes
        while line := text.readline(most):
            self.done = self._file.tell()
            try:
                yield self._json_line(json.loads(line))
                self._is_archive = True
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                self._lost_here(f"{type(error).__name__}: {error}")

    def _json_line(self, row: dict[str, Any]) -> Capture:
        """Return what a line says. One that no crawl would write raises an exception."""
        url, at, status = _text(row["url"]), _seconds_of(row["fetched"]), row["status"]
        body = row["body"].encode() if "body" in row else base64.b64decode(row["body_base64"])
        is_status = status is None or status in _STATUSES
        if at is None or not 0 < len(url) <= _MOST_URL or not is_status:
            raise ValueError("no URL, date or status")
        if row.get("state") in _DECISIONS:
            why, is_temporary = _text(row["why"])[:_MOST_WHY], row["unreachable"] is True
            return Capture(url, at, status, why=why, state=row["state"], temporary=is_temporary)
        headers = {name.lower(): value for name, value in row.get("response_headers", ())}
        headers.pop(LOCATION, None)  # no redirect has a line
        return self._capture(url, at, status, body, headers, is_cut=row["cut"] is True)

    # A directory

    def _of_host(self, path: Path) -> Iterator[Capture]:
        with path.open("rb") as file:
            body = file.read(self._max_bytes + 1)
        is_cut = len(body) > self._max_bytes
        for scheme in ("https", "http"):
            try:
                url = Origin.of(f"{scheme}://{path.parent.name}").robots_url
            except ValueError:
                self._lost(f"{self._path}: the directory does not have the name of a host")
                return
            yield Capture(url, path.stat().st_mtime, 200, body[: self._max_bytes], is_cut)

    # Parquet

    def _parquet(self) -> Iterator[Capture]:
        import pyarrow as pa  # noqa: PLC0415

        with parquet_file(self._path) as file:
            schema = file.schema_arrow
            need(schema.names, [URL, STATUS, BODY], self._path)
            columns = [name for name in _COLUMNS if name in schema.names]
            for name in columns:
                need_one_value(schema.field(name), self._path)
                if name in _TEXTS:
                    need_text(schema.field(name), self._path)
            rows = file.metadata.num_rows
            try:
                for batch in batches_of(file, self._path, columns, _PARQUET_ROWS):
                    if batch is None:
                        self._lost("a row group that decompresses to too much")
                        continue
                    yield from self._rows(batch)
                    self.done += self.size * len(batch) // rows
            except (ValueError, pa.ArrowException) as error:  # a column that cannot be converted
                raise BulkError(f"{self._path}: {shown(str(error))}") from None

    def _rows(self, batch: Any) -> Iterator[Capture]:
        names = batch.schema.names
        times: list[float | None] = [None] * len(batch)
        locations: list[bytes | None] = [None] * len(batch)
        if FETCHED_AT in names:
            times = _seconds(batch[FETCHED_AT]).to_pylist()
        if LOCATION in names:
            locations = beginnings(batch[LOCATION], _MOST_URL)
        for url, at, status, body, location in zip(
            beginnings(batch[URL], _MOST_URL + 1),
            times,
            batch[STATUS].cast("int32").to_pylist(),
            beginnings(batch[BODY], self._max_bytes + 1),
            locations,
            strict=True,
        ):
            if not url or len(url) > _MOST_URL:
                self._lost("a row without a URL")
                continue
            headers = {}
            if location is not None:
                headers[LOCATION] = as_text(location)
            yield self._capture(
                as_text(url), at or 0.0, status, body or b"", headers, why="no answer"
            )


def _decision(url: str, at: float, about: Mapping[str, str]) -> Capture | None:
    """Return what a crawl decided about an origin without a robots.txt; None if nothing."""
    if about.get(STATE) not in _DECISIONS:
        return None
    status = about.get(STATUS_CODE, "")
    return Capture(
        url,
        at,
        int(status) if _THREE_DIGITS.fullmatch(status) else None,
        why=about.get(WHY, "")[:_MOST_WHY],
        state=about[STATE],
        temporary=about.get(IS_UNREACHABLE) == "true",
    )


class _Member(io.RawIOBase):
    """The text of a gzip member, of which the file's next bytes are `raw`."""

    def __init__(self, file: _Reader, raw: bytes) -> None:
        self._file = file
        self._zip = zlib.decompressobj(31)
        self.raw = raw  # at the end of the member: what was read beyond it

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._zip.eof:
            raw = self.raw or self._file.read(_BLOCK)
            text = self._zip.decompress(raw, len(buffer))
            self.raw = self._zip.unused_data if self._zip.eof else self._zip.unconsumed_tail
            if text:
                buffer[: len(text)] = text
                return len(text)
            if not raw:
                raise EOFError("the file ends within a record")
        return 0


def _members(file: _Reader) -> Iterator[_Reader]:
    """Yield the text of each gzip member. A file that is not compressed is one member."""
    if not file.peek(2).startswith(_GZIP):
        yield file
        return
    raw = b""
    while (raw := raw or file.read(_BLOCK)).strip(b"\0"):  # zeros may fill a file up
        member = _Member(file, raw)
        text = io.BufferedReader(member, _BLOCK)
        yield text
        while text.read(_BLOCK):  # up to the end of the member
            pass
        raw = member.raw


def _skip(text: _Reader, size: int) -> bool:
    """Leave out as many bytes; return whether they were there."""
    while size > 0:
        left_out = len(text.read(min(size, _BLOCK)))
        if not left_out:
            return False
        size -= left_out
    return True


def _header(text: _Reader) -> bytes:
    """Take the header of the next record, up to an empty line; return b"" at the end of the member.

    Raises:
        ValueError: there is no header.
    """
    while (line := text.readline(MOST_HEAD)) in {b"\r\n", b"\n", b"\r"}:
        pass
    head = bytearray(line)
    while line != b"\r\n":
        if not head:
            return b""
        line = text.readline(MOST_HEAD)
        head += line
        if not head.startswith(b"WARC/1.") or not line or len(head) > MOST_HEAD:
            raise ValueError("no record")
    return bytes(head)


def _fields(head: bytes) -> dict[str, str]:
    """Return the fields of a header by their names in lower case.

    Commas join the values of a field that stands there several times.
    """
    fields: dict[str, str] = {}
    for line in head.splitlines():
        name, _, value = (as_text(part.strip()) for part in line.partition(b":"))
        name = name.lower()
        fields[name] = f"{fields[name]},{value}" if name in fields else value
    return fields


def _text(text: object) -> str:
    """Return text without lone surrogates, which JSON may have and no file can.

    Raises TypeError if `text` is no text.
    """
    if not isinstance(text, str):
        raise TypeError("no text")
    return text.encode("utf-8", "replace").decode()


def _seconds_of(date: str) -> float | None:
    """Return a WARC-Date in whole seconds since the epoch; None if it is none."""
    try:
        return datetime.fromisoformat(f"{date[:19]}+00:00").timestamp()
    except ValueError:
        return None


def _seconds(times: Any) -> Any:
    """Return a column of timestamps, or of seconds since the epoch, as seconds since the epoch."""
    from pyarrow import compute, types  # noqa: PLC0415

    if not types.is_timestamp(times.type):
        return times.cast("float64")
    return compute.divide(times.cast("timestamp[us]").cast("int64").cast("float64"), 1e6)
