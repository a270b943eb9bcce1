"""Archives of robots.txt files, read record by record: WARC files, Parquet files, and HOST/robots.txt in a directory.

A site may write what it likes into the body of its record. So the next record is looked for only where this one ends, as its
length says, and where a gzip member ends. After a record without a length that can be believed, the rest of its member is
left out: in a file that is not compressed record by record, all that follows. Each such place is counted.
Memory is bounded, whatever length a record claims.
Source: WARC format 1.1 (ISO 28500:2017); Common Crawl's robots.txt archives.
"""

from __future__ import annotations

import re
import zlib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..core.urls import Origin, shown
from ..policy.decoding import DecodeError, decoded
from .arrow import BODY, STATUS, URL, batches_of, need, parquet_file
from .judging import BulkError, as_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

FETCHED_AT, LOCATION = "fetched_at", "location"
ROBOTS_TXT: Final = "robots.txt"

_MOST_URL: Final = 16_384  # characters
_GZIP: Final = b"\x1f\x8b"
_BLOCK: Final = 65_536  # bytes read or decompressed at a time
_MOST_HEAD: Final = 65_536  # bytes of a WARC header, or of the headers of an answer
_PARQUET_ROWS: Final = 256  # read at a time: bodies may be large
_CUT_BY_LENGTH: Final = "length"  # WARC-Truncated, as against "time" and "disconnect"
_DATE: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z", re.ASCII)
_LINE_ENDS: Final = re.compile(rb"[\r\n]*")
_STATUS_LINE: Final = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})(?:[ \r\n]|$)")
_END_OF_HEAD: Final = re.compile(rb"\r?\n\r?\n")


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
            if self._path.lower().endswith(".parquet"):
                yield from self._parquet()
            elif Path(self._path).name == ROBOTS_TXT:
                yield from self._of_host()
            else:
                yield from self._warc()
        except OSError as error:
            raise BulkError(f"{self._path}: {error.strerror}") from None

    def _lost(self, why: object) -> None:
        self.broken += 1
        self.example = self.example or shown(str(why))

    # WARC

    def _warc(self) -> Iterator[Capture]:
        self._is_warc = False
        with Path(self._path).open("rb") as file:
            text = _Text(file)
            try:
                while text.next_member():
                    yield from self._member(text)
            except (zlib.error, EOFError) as error:
                self._lost(f"byte {text.place:,}: {error}")
        if not self._is_warc:
            raise BulkError(f"{self._path}: this is no WARC: {self.example or 'it is empty'}")
        self.done = self.size

    def _member(self, text: _Text) -> Iterator[Capture]:
        try:
            while (head := text.header()) is not None:
                self.done = text.place
                capture = self._record(text, head)
                if capture is not None:
                    yield capture
        except ValueError as error:
            self._lost(f"byte {text.place:,}: {error}")

    def _record(self, text: _Text, head: bytes) -> Capture | None:
        """Take a record; return what it captured. An unusable record is counted; then return None.

        Raises:
            ValueError: it is not known where the record ends, or it is cut off.
        """
        fields = _fields(head)
        length = fields.get("content-length", [""])[0]
        if not (length.isascii() and length.isdigit()):
            raise ValueError("a record without a length")
        self._is_warc = True
        block = text.take(min(int(length), _MOST_HEAD + self._max_bytes + 1))
        if not text.skip(int(length) - len(block)):
            raise ValueError("the record is cut off")
        is_http = fields.get("content-type", ["application/http"])[0].lower().startswith("application/http")
        if fields.get("warc-type") != ["response"] or not is_http:
            return None
        url, at = fields.get("warc-target-uri", [""])[0].strip("<> "), _seconds_of(fields.get("warc-date", [""])[0])
        end, status = _END_OF_HEAD.search(block, 0, _MOST_HEAD), _STATUS_LINE.match(block)
        if not url or len(url) > _MOST_URL or at is None or end is None or status is None:
            missing = "URL" if not url else "date" if at is None else "HTTP answer"
            self._lost(f"byte {text.place:,}: no {missing}")
            return None
        raw = block[end.end() :][: self._max_bytes + 1]
        is_whole = len(raw) == int(length) - end.end()
        truncated = fields.get("warc-truncated", [""])[0].lower()
        if truncated not in {"", _CUT_BY_LENGTH}:
            return Capture(url, at, None, why=f"the body ended early ({shown(truncated, 20)})")
        return self._answer(url, at, int(status[1]), _fields(block[: end.start()]), raw, is_whole and not truncated)

    def _answer(
        self, url: str, at: float, status: int, headers: dict[str, list[str]], raw: bytes, is_whole: bool
    ) -> Capture:
        """Return a response with its body decoded."""
        if "chunked" in headers.get("transfer-encoding", [""])[0].lower():
            raw = _dechunked(raw)
        try:
            coding = ",".join(headers.get("content-encoding", ()))
            body, cut = decoded(raw, coding, self._max_bytes, whole=is_whole)
        except DecodeError as error:
            if status in range(200, 300):
                return Capture(url, at, None, why=str(error))
            body, cut = b"", False
        return Capture(url, at, status, body, cut, headers.get("location", [None])[0])

    # A directory

    def _of_host(self) -> Iterator[Capture]:
        path = Path(self._path)
        host = path.absolute().parent.name
        try:
            origins = [Origin.of(f"{scheme}://{host}") for scheme in ("https", "http")]
        except ValueError:
            self._lost(f"{self._path}: the directory does not have the name of a host")
            return
        with path.open("rb") as file:
            raw = file.read(self._max_bytes + 1)
        for origin in origins:
            body, cut = raw[: self._max_bytes], len(raw) > self._max_bytes
            yield Capture(origin.robots_url, path.stat().st_mtime, 200, body, cut)
        self.done = self.size

    # Parquet

    def _parquet(self) -> Iterator[Capture]:
        with parquet_file(self._path) as file:
            names = file.schema_arrow.names
            need(names, [URL, STATUS, BODY], self._path)
            optional = [name for name in (FETCHED_AT, LOCATION) if name in names]
            need(names, optional, self._path)
            rows = file.metadata.num_rows or 1
            try:
                for batch in batches_of(file, self._path, [URL, STATUS, BODY, *optional], _PARQUET_ROWS):
                    if batch is None:
                        self._lost("a row group that decompresses to more than a hundred times its size")
                        continue
                    yield from self._rows(batch)
                    self.done += self.size * len(batch) // rows
            except ValueError as error:  # of Arrow: a column that cannot be converted
                raise BulkError(f"{self._path}: {shown(str(error))}") from None
        self.done = self.size

    def _rows(self, batch: Any) -> Iterator[Capture]:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        def column(name: str, kind: Any) -> list[Any]:
            return batch[name].cast(kind).to_pylist() if name in batch.schema.names else [None] * len(batch)

        # Cut before Python sees them: one column may hold bodies of 100 MB.
        def cut(bodies: Any) -> Any:
            return pc.binary_slice(bodies.cast(pa.large_binary()), 0, self._max_bytes + 1)

        served = batch[BODY]
        if isinstance(served, pa.DictionaryArray):
            used = served.indices.unique()
            bodies = cut(served.dictionary.take(used)).take(pc.index_in(served.indices, used))
        else:
            bodies = cut(served)
        times = _seconds(batch[FETCHED_AT]) if FETCHED_AT in batch.schema.names else [None] * len(batch)
        rows = zip(
            column(URL, pa.string()),
            times,
            column(STATUS, pa.int32()),
            bodies.to_pylist(),
            column(LOCATION, pa.string()),
            strict=True,
        )
        for url, at, status, body, location in rows:
            if not url or len(url) > _MOST_URL:
                self._lost("a row without a URL")
                continue
            raw = body or b""
            yield Capture(
                url, at or 0.0, status, raw[: self._max_bytes], len(raw) > self._max_bytes, location, "no answer"
            )


class _Text:
    """The text of a file, gzip member by gzip member. A file that is not compressed is one member."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._raw = file.read(_BLOCK)
        self._is_gzip = self._raw.startswith(_GZIP)
        self._zip: Any = None
        self._ended = True  # this member
        self._text, self._at = b"", 0  # what was read of it, and from where on it was not taken yet

    @property
    def place(self) -> int:
        """Where the file is read, in bytes: in the text of a file that is not compressed, else about where."""
        return self._file.tell() - len(self._raw) - (0 if self._is_gzip else len(self._text) - self._at)

    def next_member(self) -> bool:
        """Leave out the rest of this member; return whether there is another one."""
        self.skip(None)
        self._raw = self._raw or self._file.read(_BLOCK)
        self._ended = not self._raw.strip(b"\0")  # zeros may fill a file up
        self._zip = zlib.decompressobj(31) if self._is_gzip else None
        return not self._ended

    def _more(self) -> bool:
        """Read on in this member; return whether there was more."""
        if self._ended:
            return False
        raw = self._raw or self._file.read(_BLOCK)
        if self._zip is None:
            text, self._raw, self._ended = raw, b"", not raw
        else:
            text = self._zip.decompress(raw, _BLOCK)
            self._ended = self._zip.eof
            self._raw = self._zip.unused_data if self._ended else self._zip.unconsumed_tail
            if not raw and not text and not self._ended:
                raise EOFError("the file ends within a record")
        self._text, self._at = self._text[self._at :] + text, 0
        return True

    def header(self) -> bytes | None:
        """Take the header of the next record, up to an empty line; None at the end of the member.

        Raises:
            ValueError: there is no header.
        """
        while True:
            self._at = _LINE_ENDS.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or not self._more():
                break
        while (end := self._text.find(b"\r\n\r\n", self._at)) < 0:
            if len(self._text) - self._at > _MOST_HEAD or not self._more():
                break
        if end < 0 and self._at == len(self._text):
            return None
        if end < 0 or not self._text.startswith(b"WARC/1.", self._at):
            raise ValueError("no record")
        head, self._at = self._text[self._at : end], end + 4
        return head

    def take(self, size: int) -> bytes:
        """Take as many bytes; fewer at the end of the member."""
        while len(self._text) - self._at < size and self._more():
            pass
        taken = self._text[self._at : self._at + size]
        self._at += len(taken)
        return taken

    def skip(self, size: int | None) -> bool:
        """Leave out as many bytes, None for the rest of the member; return whether they were there."""
        while size is None or size > len(self._text) - self._at:
            size = None if size is None else size - (len(self._text) - self._at)
            self._text, self._at = b"", 0
            if not self._more():
                return False
        self._at += size
        return True


def _fields(head: bytes) -> dict[str, list[str]]:
    """Return the fields of a header by their names in lower case."""
    fields: dict[str, list[str]] = {}
    for line in head.splitlines()[1:]:
        name, _, value = line.partition(b":")
        fields.setdefault(name.strip().decode("latin-1").lower(), []).append(as_text(value.strip()))
    return fields


def _seconds_of(date: str) -> float | None:
    """Return a WARC-Date in seconds since the epoch; None if it is none."""
    found = _DATE.fullmatch(date)
    if found is None:
        return None
    try:
        return datetime.fromisoformat(f"{found[1]}+00:00").timestamp() + float(found[2] or 0)
    except ValueError:
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
