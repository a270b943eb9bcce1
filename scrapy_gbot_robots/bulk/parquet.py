"""Parquet files, read batch by batch in bounded memory, whatever their rows decompress to.

A page is decompressed as a whole, and no value is longer than its page. The footer tells only what
all pages of a column take together, so this module looks at the header of each page. Few rows are
read at a time, then put together as far as memory allows. pyarrow comes with the extra `bulk`, and
is loaded on first use.
Source: Apache Parquet format 2.11 (parquet.thrift); Thrift's compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ..core.urls import shown
from .judging import BulkError

_MOST_BYTES = 64 * 2**20  # of the rows that are in memory together, unless it is one row
_MOST_PAGE = 256 * 2**20  # bytes of a page
_MOST_COMPRESSED = 100  # times; robots.txt files are compressed to a fifth
_BUFFER = 2**20  # bytes of a column that are read at a time
_ONE_NUMBER = frozenset({"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE"})

_MOST_PAGE_HEAD = 2**16  # bytes of the header of a page; writers cut the statistics in it
_STOP, _BOOLEANS, _BYTE, _DOUBLE, _BINARY = 0, (1, 2), 3, 7, 8
_INTEGERS = (4, 5, 6)
_STRUCT = 12
_MOST_NESTED = 8
_UNCOMPRESSED_SIZE, _COMPRESSED_SIZE = 2, 3  # fields of a page's header


def parquet_file(path: str) -> Any:
    """Open a Parquet file.

    Raises:
        BulkError: the file cannot be opened, or pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise BulkError(
            "Parquet files need pyarrow: pip install 'scrapy-gbot-robots[bulk]'"
        ) from None
    try:
        return pq.ParquetFile(path, buffer_size=_BUFFER)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None


def batches_of(file: Any, path: str, columns: Sequence[str], most_rows: int) -> Iterator[Any]:
    """Yield record batches of a Parquet file; None for a row group that would take too much memory.

    Raises:
        BulkError: the file is damaged.
    """
    import pyarrow as pa  # noqa: PLC0415

    try:
        with Path(path).open("rb") as raw:
            for number in range(file.num_row_groups):
                rows = _rows_at_a_time(file.metadata.row_group(number), columns, raw)
                if rows is None:
                    yield None
                    continue
                rows = min(rows, most_rows)
                batches = file.iter_batches(
                    rows, row_groups=[number], columns=list(columns), use_threads=False
                )
                yield from _together(batches, most_rows)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _unreadable(path, error) from None


def _together(batches: Iterable[Any], most_rows: int) -> Iterator[Any]:
    """Put batches together, as long as they have no more rows and bytes than may be in memory."""
    waiting: list[Any] = []
    rows = size = 0
    for batch in batches:
        if waiting and (rows + len(batch) > most_rows or size + batch.nbytes > _MOST_BYTES):
            yield _one_of(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows += len(batch)
        size += batch.nbytes
    if waiting:
        yield _one_of(waiting)


def _one_of(batches: list[Any]) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    if len(batches) == 1:
        return batches[0]
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch


def _unreadable(path: str, error: Exception) -> BulkError:
    if isinstance(error, BulkError):
        return error
    return BulkError(f"{path}: {getattr(error, 'strerror', None) or shown(str(error))}")


def _rows_at_a_time(group: Any, columns: Sequence[str], raw: BinaryIO) -> int | None:
    """Return how many rows of a row group may be read together; None if not even one may."""
    size = compressed = pages = 0
    for number in range(group.num_columns):
        chunk = group.column(number)
        if chunk.path_in_schema.partition(".")[0] not in columns:
            continue
        size += chunk.total_uncompressed_size
        compressed += chunk.total_compressed_size
        page = _largest_page(chunk, raw)
        if page > _MOST_PAGE:
            return None
        if "." in chunk.path_in_schema or chunk.physical_type not in _ONE_NUMBER:
            pages += page
    if size > max(_MOST_BYTES, _MOST_COMPRESSED * compressed):
        return None
    return max(1, _MOST_BYTES // max(1, pages))


def _largest_page(chunk: Any, raw: BinaryIO) -> int:
    """Return how many bytes the largest page of a column takes, decompressed.

    Raises:
        ValueError: a page has no header.
    """
    place = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        place = min(place, chunk.dictionary_page_offset)
    end = place + chunk.total_compressed_size
    largest = 0
    while place < end:
        raw.seek(place)
        header = _Compact(raw.read(_MOST_PAGE_HEAD))
        try:
            integers = header.struct()
            largest = max(largest, integers[_UNCOMPRESSED_SIZE])
            place += header.place + max(0, integers[_COMPRESSED_SIZE])
        except (IndexError, KeyError):
            raise ValueError("a page has no header") from None
    return largest


class _Compact:
    """A struct in Thrift's compact protocol."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self.place = 0  # after what is read

    def struct(self, nested: int = 0) -> dict[int, int]:
        """Read a struct; return its integers by the numbers of their fields.

        Raises:
            IndexError: it has no end.
            ValueError: it is none.
        """
        if nested > _MOST_NESTED:
            raise ValueError("a page has no header")
        integers: dict[int, int] = {}
        number = 0
        while (head := self._byte()) != _STOP:
            kind, step = head & 15, head >> 4
            number = number + step if step else self._integer()
            if kind in _INTEGERS:
                integers[number] = self._integer()
            else:
                self._skip(kind, nested)
        return integers

    def _byte(self) -> int:
        byte = self._raw[self.place]
        self.place += 1
        return byte

    def _number(self) -> int:
        """Read a number of up to ten bytes, the lowest bits first."""
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:  # noqa: PLR2004  the highest bit says that another byte follows
                return value
        raise ValueError("a page has no header")

    def _integer(self) -> int:
        """Read a number with its sign in the lowest bit."""
        value = self._number()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, kind: int, nested: int) -> None:
        if kind in _BOOLEANS:
            return
        if kind == _BYTE:
            self.place += 1
        elif kind in _INTEGERS:
            self._number()
        elif kind == _DOUBLE:
            self.place += 8
        elif kind == _BINARY:
            size = self._number()
            self.place += size
        elif kind == _STRUCT:
            self.struct(nested + 1)
        else:  # lists and maps, which no header has
            raise ValueError("a page has no header")
