"""Archives of robots.txt files, read record by record: WARC files and Parquet files.

A broken WARC record does not affect the others: reading goes on where the next record begins, and the loss is counted.
Memory is bounded, whatever length a record claims.
Source: WARC format 1.1 (ISO 28500:2017); Common Crawl's robots.txt archives.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..core.urls import shown
from ..policy.decoding import DecodeError, decoded
from .arrow import BODY, STATUS, URL, need
from .judging import BulkError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

FETCHED_AT, LOCATION = "fetched_at", "location"

_MOST_URL: Final = 16_384  # characters
_MOST_COMPRESSED: Final = 1_100  # times: gzip cannot do better
_GZIP: Final = b"\x1f\x8b\x08"
_BLOCK: Final = 2**20  # bytes searched at a time
_PARQUET_ROWS: Final = 256  # read at a time: bodies may be large
_CUT_BY_LENGTH: Final = "length"  # WARC-Truncated, as against "time" and "disconnect"


class Capture(NamedTuple):
    """One answer in an archive.

    Attributes:
        url: the requested URL.
        at: when it was captured, in seconds since the epoch; 0.0 if the archive does not say.
        status: the HTTP status code; None if there was no answer, or only part of one.
        body: the content-decoded body, up to the limit.
        cut: whether there was more.
        location: the Location header.
        why: the reason in words, if `status` is None.
    """

    url: str
    at: float
    status: int | None
    body: bytes = b""
    cut: bool = False
    location: str | None = None
    why: str = ""


class Reading:
    """An archive while it is read.

    Attributes:
        done: how many of its bytes are read.
        size: its length in bytes.
        broken: places where one or more records could not be read.
        example: what was wrong at the first of these places.
    """

    def __init__(self, path: str, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self.done = 0
        self.size = 0
        self.broken = 0
        self.example = ""

    def captures(self) -> Iterator[Capture]:
        """Yield the answers in the archive.

        Raises:
            BulkError: the file is not an archive or cannot be read, or a column is missing.
        """
        try:
            self.size = Path(self._path).stat().st_size
            yield from self._parquet() if self._path.endswith(".parquet") else self._warc()
        except (OSError, EOFError) as error:
            raise BulkError(f"{self._path}: {getattr(error, 'strerror', None) or error}") from None

    def _lost(self, why: object) -> None:
        self.broken += 1
        self.example = self.example or shown(str(why))

    # WARC

    def _warc(self) -> Iterator[Capture]:
        with Path(self._path).open("rb") as file:
            begin: int | None = 0
            good = False
            while begin is not None:
                self.done = begin
                is_new = not begin  # damage is counted once, however many places are tried before one is good
                try:
                    for record in _records(_From(file, begin)):
                        good = is_new = True
                        self.done = begin + record.stream_pos
                        self._check_length(record)
                        capture = self._capture(record)
                        if capture is not None:
                            yield capture
                    begin = None
                except (OSError, EOFError, ValueError) as error:
                    if is_new:
                        self._lost(f"byte {self.done:,}: {error}")
                    begin = _next_place(file, self.done + 1)
        if not good:
            raise BulkError(f"{self._path}: this is no WARC: {self.example or 'no answer is in it'}")
        self.done = self.size

    def _check_length(self, record: Any) -> None:
        """Raise ValueError if a record claims more than there can be: it would swallow those after it."""
        if record.content_length > (self.size - self.done) * _MOST_COMPRESSED:
            raise ValueError("the record claims to be longer than the file")

    def _capture(self, record: Any) -> Capture | None:
        """Return the capture of a response record. An unusable record is counted; then return None."""
        url = record.headers.get("WARC-Target-URI", "").strip("<> ")
        date, head = record.record_date, record.http_headers
        status = head.status_code if head is not None else None
        if not url or len(url) > _MOST_URL or status is None or date is None:
            self._lost(f"byte {self.done:,}: no {'URL' if not url else 'date' if date is None else 'HTTP answer'}")
            return None
        raw = record.reader.read(self._max_bytes + 1)
        whole = len(raw) >= record.content_length
        at = date.timestamp()
        truncated = record.headers.get("WARC-Truncated")
        if not whole and len(raw) <= self._max_bytes:
            self._lost(f"byte {self.done:,}: the record is cut off")
            return None
        if truncated and truncated.strip().lower() != _CUT_BY_LENGTH:
            return Capture(url, at, None, why=f"the body ended early ({shown(truncated, 20)})")
        whole = whole and not truncated
        coding = ",".join(head.get_multiple("Content-Encoding"))
        if "chunked" in (head.get("Transfer-Encoding") or "").lower():
            raw = _dechunked(raw)
        try:
            body, cut = decoded(raw, coding, self._max_bytes, whole=whole)
        except DecodeError as error:
            if status in range(200, 300):
                return Capture(url, at, None, why=str(error))
            body, cut = b"", False
        return Capture(url, at, status, body, cut, head.get("Location"))

    # Parquet

    def _parquet(self) -> Iterator[Capture]:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        try:
            with pq.ParquetFile(self._path) as file:
                names = file.schema_arrow.names
                need(names, [URL, STATUS, BODY], self._path)
                wanted = [name for name in (URL, STATUS, BODY, FETCHED_AT, LOCATION) if name in names]
                rows = file.metadata.num_rows or 1
                for batch in file.iter_batches(_PARQUET_ROWS, columns=wanted):
                    yield from self._rows(batch)
                    self.done += self.size * len(batch) // rows
        except pa.ArrowException as error:
            raise BulkError(f"{self._path}: {shown(str(error))}") from None
        self.done = self.size

    def _rows(self, batch: Any) -> Iterator[Capture]:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        def column(name: str, kind: Any) -> list[Any]:
            return batch[name].cast(kind).to_pylist() if name in batch.schema.names else [None] * len(batch)

        # Cut before Python sees them: one column may hold bodies of 100 MB.
        bodies = pc.binary_slice(batch[BODY].cast(pa.large_binary()), 0, self._max_bytes + 1).to_pylist()
        times = _seconds(batch[FETCHED_AT]) if FETCHED_AT in batch.schema.names else [None] * len(batch)
        rows = zip(
            column(URL, pa.string()),
            times,
            column(STATUS, pa.int32()),
            bodies,
            column(LOCATION, pa.string()),
            strict=True,
        )
        for url, at, status, body, location in rows:
            if not url or len(url) > _MOST_URL:
                self._lost("a row without a URL")
                continue
            raw = body or b""
            cut = len(raw) > self._max_bytes
            yield Capture(url, at or 0.0, status, raw[: self._max_bytes], cut, location, "no answer")


class _From(io.RawIOBase):
    """The rest of a file from one place on, with the methods that FastWARC calls."""

    def __init__(self, file: BinaryIO, begin: int) -> None:
        self._file = file
        self._begin = begin
        file.seek(begin)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        return self._file.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, counted from where this begins; return it."""
        return self._file.seek(offset + (self._begin if whence == io.SEEK_SET else 0), whence) - self._begin

    def tell(self) -> int:
        """Return the place, counted from where this begins."""
        return self._file.tell() - self._begin


def _records(stream: io.RawIOBase) -> Iterator[Any]:
    """Yield the response records."""
    try:
        from fastwarc.warc import ArchiveIterator, WarcRecordType  # noqa: PLC0415
    except ImportError:
        raise BulkError("WARC files need FastWARC: pip install 'scrapy-gbot-robots[bulk]'") from None
    yield from ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=True)


def _next_place(file: BinaryIO, begin: int) -> int | None:
    """Return the next place from `begin` on at which a record may begin; None if there is none."""
    file.seek(0)
    mark, at = (_GZIP, 0) if file.read(2) == _GZIP[:2] else (b"\r\nWARC/1.", 2)
    file.seek(begin)
    rest = b""
    while block := file.read(_BLOCK):
        place = (rest + block).find(mark)
        if place >= 0:
            return begin - len(rest) + place + at
        begin += len(block)
        rest = (rest + block)[1 - len(mark) :]
    return None


def _dechunked(raw: bytes) -> bytes:
    """Undo chunked coding as far as it goes; archives such as Common Crawl's keep the header and not the coding."""
    found = bytearray()
    at = 0
    while at < len(raw):
        end = raw.find(b"\r\n", at, at + 64)
        size = raw[at:end].partition(b";")[0].strip()
        if end < 0 or not size or not all(digit in b"0123456789abcdefABCDEF" for digit in size):
            return bytes(found) if found else raw
        length = int(size, 16)
        if not length:
            break
        found += raw[end + 2 : end + 2 + length]
        at = end + 2 + length + 2
    return bytes(found)


def _seconds(times: Any) -> list[float | None]:
    """Return a column of timestamps, or of seconds since the epoch, as seconds since the epoch."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as pt  # noqa: PLC0415

    if pt.is_timestamp(times.type):
        return [
            None if time is None else time / 1e6 for time in times.cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
        ]
    return times.cast(pa.float64()).to_pylist()  # type: ignore[no-any-return]
