"""All that needs pyarrow: `judge` for Arrow, and Parquet files. The extra `bulk` brings it.

`judge_batch` takes a record batch and returns one: it is what Spark, Ray, Dask and the like hand to
a function. Parquet files are read batch by batch in bounded memory, whatever their rows decompress
to, unless a column is nested. A page is decompressed as a whole, and no value is longer than its
page. The footer tells only what all pages of a column take together, so this module looks at the
header of each page. Few rows are read at a time, then put together as far as memory allows.
Source: Apache Parquet format 2.11 (parquet.thrift); Thrift's compact protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..core.urls import shown
from .judging import Agent, BulkError, judge

if TYPE_CHECKING:
    import pyarrow as pa

URL, STATUS, BODY = "url", "status", "body"

_TEXTS = {"string", "binary", "null"}

_MOST_BYTES = 64 * 2**20  # of the rows that are in memory together, unless it is one row
_MOST_PAGE = 256 * 2**20  # bytes of a page
_MOST_COMPRESSED = 100  # times; robots.txt files are compressed to a fifth
_BUFFER = 2**20  # bytes of a column that are read at a time
_ONE_NUMBER = frozenset({"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE"})

_MOST_PAGE_HEAD = 2**16  # bytes of the header of a page; writers cut the statistics in it
_STOP, _BOOLEANS, _BINARY, _STRUCT = 0, (1, 2), 8, 12
_KINDS = (*_BOOLEANS, 4, 5, 6, _BINARY, _STRUCT)  # the numbers are integers
_UNCOMPRESSED_SIZE, _COMPRESSED_SIZE = 2, 3  # fields of a page's header


def judge_batch(
    batch: pa.RecordBatch,
    agents: Agent | Sequence[Agent],
    *,
    unreachable: str = "google",
    refused: str = "allow",
    soft_404: bool = True,
) -> pa.RecordBatch:
    """Judge each row of a batch: a URL, and what was served for the robots.txt of its origin.

    Args:
        batch: has the columns `url` (text: the page), `body` (binary or text) and `status` (a whole
            number, which may be text). Where status is null there was no answer. Without that
            column, a body was served with 200, and null means no answer.
        agents: the crawlers: product tokens, User-Agent headers or `Crawler`.
        unreachable: as GBOT_ROBOTS_UNREACHABLE.
        refused: as GBOT_ROBOTS_REFUSED.
        soft_404: as GBOT_ROBOTS_SOFT_404.

    Returns:
        The batch without `body`, and with a column (int8) for each crawler, by its product token: 0
        no, 1 yes, 2 not now (its robots.txt is unreachable), null for a text that is not an http,
        https or ftp URL.

    Raises:
        BulkError: a ValueError. A column is missing or is there twice, `url` or `body` is neither
            text nor binary, or a column has the name of a crawler.
        TypeError: a status is no number.
    """
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    need(batch.schema.names, [URL, BODY], "the batch")
    for name in (URL, BODY):
        need_text(batch.schema.field(name), "the batch")
    names = [name for name in batch.schema.names if name != BODY]
    bodies = pc.dictionary_encode(batch[BODY])  # so that each is in memory once
    different = [
        body.encode() if isinstance(body, str) else body for body in bodies.dictionary.to_pylist()
    ]
    served: list[Any] = [
        None if place is None else different[place] for place in bodies.indices.to_pylist()
    ]
    if STATUS in names:
        served = list(zip(batch[STATUS].to_pylist(), served, strict=True))
    answers = judge(
        batch[URL].to_pylist(),
        served,
        agents,
        unreachable=unreachable,
        refused=refused,
        soft_404=soft_404,
    )
    _check_names(names, answers)
    columns = [pa.array(column, pa.int8()) for column in answers.values()]
    return pa.record_batch([*map(batch.column, names), *columns], names=[*names, *answers])


def _check_names(names: Sequence[str], crawlers: Iterable[str]) -> None:
    """Raise BulkError if a column of the batch is called like a crawler, whose answers it hides."""
    taken = [name for name in crawlers if name in names]
    if taken:
        raise BulkError(
            f"the batch has a column {' and '.join(map(repr, taken))}, as a crawler is called: "
            "rename the column"
        )


def need(names: Sequence[str], needed: Sequence[str], where: str) -> None:
    """Check that each column is there once.

    Raises BulkError that says which are not, and what there is.
    """
    wrong = [name for name in needed if names.count(name) != 1]
    if wrong:
        there = ", ".join(map(repr, names)) or "none"
        several = "more than one" if any(name in names for name in wrong) else "no"
        missed = " and ".join(map(repr, wrong))
        raise BulkError(f"{where} has {several} column {missed}; its columns are {there}")


def need_text(column: pa.Field, where: str) -> None:
    """Check that a column has text or bytes in any form, or nothing at all.

    Raises BulkError that says what it has.
    """
    from pyarrow import types  # noqa: PLC0415

    kind = column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if str(kind).removeprefix("large_").removesuffix("_view") not in _TEXTS:
        what = shown(str(column.type))
        raise BulkError(f"{where}: the column {column.name!r} holds {what}, not text")


def need_one_value(column: pa.Field, where: str) -> None:
    """Check that a column is not nested: one row of a list may take any number of bytes.

    Raises BulkError that says what it has.
    """
    from pyarrow import types  # noqa: PLC0415

    if types.is_nested(column.type):
        what = shown(str(column.type))
        raise BulkError(f"{where}: the column {column.name!r} holds {what}, not one value a row")


def beginnings(column: Any, most: int) -> list[bytes | None]:
    """Return the first `most` bytes of each text of a column.

    What many rows share is in memory once.
    """
    import pyarrow.compute as pc  # noqa: PLC0415
    from pyarrow import types  # noqa: PLC0415

    if not types.is_dictionary(column.type):
        column = column.cast("large_binary").dictionary_encode()
    used = column.indices.unique()
    different = column.dictionary.take(used).cast("large_binary")
    cut: list[bytes | None] = pc.binary_slice(different, 0, most).to_pylist()
    place_of = pc.index_in(column.indices, used).to_pylist()
    return [cut[place] for place in place_of]


def parquet_module() -> Any:
    """Return `pyarrow.parquet`.

    Raises:
        BulkError: pyarrow is not installed.
    """
    try:
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise BulkError(
            "Parquet files need pyarrow: pip install 'scrapy-gbot-robots[bulk]'"
        ) from None
    return pq


def parquet_file(path: str) -> Any:
    """Open a Parquet file.

    Raises:
        BulkError: the file cannot be opened, or pyarrow is not installed.
    """
    parquet = parquet_module()
    import pyarrow as pa  # noqa: PLC0415

    try:
        return parquet.ParquetFile(path, buffer_size=_BUFFER)
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
                batches = file.iter_batches(
                    min(rows, most_rows), [number], list(columns), use_threads=False
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
            yield from _as_one(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows += len(batch)
        size += batch.nbytes
    if waiting:
        yield from _as_one(waiting)


def _as_one(batches: list[Any]) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.Table.from_batches(batches).combine_chunks().to_batches()


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
        try:
            integers, length = _page_header(raw.read(_MOST_PAGE_HEAD))
            largest = max(largest, integers[_UNCOMPRESSED_SIZE])
            place += length + integers[_COMPRESSED_SIZE]
        except (IndexError, KeyError):
            raise ValueError("a page has no header") from None
    return largest


def _page_header(raw: bytes) -> tuple[dict[int, int], int]:
    """Return the integers of a page's header by the numbers of their fields, and its length.

    It is a struct in Thrift's compact protocol. Only what headers of pages have is read.

    Raises:
        IndexError: it has no end.
        ValueError: it has something else.
    """
    integers: dict[int, int] = {}
    place, depth, field = 0, 1, 0
    while depth:
        step, kind = divmod(raw[place], 16)
        place += 1
        if depth == 1:
            field += step
        if kind == _STOP:
            depth -= 1
        elif kind not in _KINDS or not step:
            raise ValueError("a page has no header")
        elif kind == _STRUCT:
            depth += 1
        elif kind not in _BOOLEANS:
            number, place = _number(raw, place)
            if kind == _BINARY:
                place += number
            elif depth == 1:
                integers[field] = number // 2  # the lowest bit is the sign
    return integers, place


def _number(raw: bytes, place: int) -> tuple[int, int]:
    """Return a number of up to ten bytes, the lowest bits first, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        byte = raw[place]
        place += 1
        value |= byte % 128 << shift
        if byte < 128:  # noqa: PLR2004  the highest bit says that another byte follows
            break
    return value, place
