"""`judge` for Arrow: a record batch in, a record batch out. It is what Spark, Ray, Dask and the like hand to a function.

Parquet files are read here, too. pyarrow is loaded on first use: it comes with the extra `bulk`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..core.urls import shown
from .judging import Agent, BulkError, judge

if TYPE_CHECKING:
    import pyarrow as pa

URL, STATUS, BODY = "url", "status", "body"

_TEXTS = {"string", "binary", "null"}

_BATCH_BYTES = 64 * 2**20  # of the rows of a Parquet file that are read at a time, on average
_MOST_COMPRESSED = 100  # times; robots.txt files are compressed to a fifth


def judge_batch(
    batch: pa.RecordBatch,
    agents: Agent | Sequence[Agent],
    *,
    unreachable: str = "google",
    refused: str = "allow",
    soft_404: bool = True,
    strict: bool = False,
) -> pa.RecordBatch:
    """Judge each row of a batch: a URL, and what was served for the robots.txt of its origin.

    Args:
        batch: has the columns `url` (text: the page), `body` (binary or text) and `status` (a whole
            number, which may be text). Where status is null there was no answer. Without that column,
            a body was served with 200, and null means no answer.
        agents: the crawlers: product tokens, User-Agent headers or `Crawler`.
        unreachable: as GBOT_ROBOTS_UNREACHABLE.
        refused: as GBOT_ROBOTS_REFUSED.
        soft_404: as GBOT_ROBOTS_SOFT_404.
        strict: as for `RobotsTxt.parse`.

    Returns:
        The batch without `body`, and with a column (int8) for each crawler, by its product token: 0
        no, 1 yes, 2 not now (its robots.txt is unreachable), null for a text that is not an http,
        https or ftp URL.

    Raises:
        BulkError: a column is missing, or `url` or `body` is neither text nor binary.
        TypeError: a status is no number.
    """
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    need(batch.schema.names, [URL, BODY], "the batch")
    for name in (URL, BODY):
        need_text(batch.schema.field(name), "the batch")
    kept = [name for name in batch.schema.names if name != BODY]
    bodies = pc.dictionary_encode(batch[BODY])  # so that each is in memory once
    different = [
        body.encode() if isinstance(body, str) else body for body in bodies.dictionary.to_pylist()
    ]
    places = zip(bodies.indices.to_pylist(), batch[BODY].is_valid().to_pylist(), strict=True)
    served: list[Any] = [different[place] if is_there else None for place, is_there in places]
    if STATUS in kept:
        served = list(zip(batch[STATUS].to_pylist(), served, strict=True))
    meaning: dict[str, Any] = {
        "unreachable": unreachable,
        "refused": refused,
        "soft_404": soft_404,
        "strict": strict,
    }
    answers = judge(batch[URL].to_pylist(), served, agents, **meaning)
    columns = [
        *(batch[name] for name in kept),
        *(pa.array(column, pa.int8()) for column in answers.values()),
    ]
    return pa.record_batch(columns, names=[*kept, *answers])


def need(names: Sequence[str], needed: Sequence[str], where: str) -> None:
    """Check that each column is there once. Raises BulkError that says which are not, and what there is."""
    wrong = [name for name in needed if names.count(name) != 1]
    if wrong:
        there = ", ".join(map(repr, names)) or "none"
        several = "more than one" if any(name in names for name in wrong) else "no"
        raise BulkError(
            f"{where} has {several} column {' and '.join(map(repr, wrong))}; its columns are {there}"
        )


def need_text(column: pa.Field, where: str) -> None:
    """Check that a column has text or bytes, in any of Arrow's forms. Raises BulkError that says what it has."""
    from pyarrow import types  # noqa: PLC0415

    kind = column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if str(kind).removeprefix("large_").removesuffix("_view") not in _TEXTS:
        raise BulkError(
            f"{where}: the column {column.name!r} holds {shown(str(column.type))}, not text"
        )


def parquet_file(path: str, *shared: str) -> Any:
    """Open a Parquet file. Many rows may have one large value: it is in memory once if its column is one of `shared`.

    Raises BulkError if the file cannot be opened, or if pyarrow is not installed.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        raise BulkError(
            "Parquet files need pyarrow: pip install 'scrapy-gbot-robots[bulk]'"
        ) from None
    try:
        return pq.ParquetFile(path, read_dictionary=list(shared))
    except (OSError, pa.ArrowException) as error:
        raise BulkError(
            f"{path}: {getattr(error, 'strerror', None) or shown(str(error))}"
        ) from None


def batches_of(file: Any, path: str, columns: Sequence[str], most_rows: int) -> Iterator[Any]:
    """Yield record batches of a Parquet file; None for a row group that would take too much memory.

    Raises:
        BulkError: the file is damaged.
    """
    import pyarrow as pa  # noqa: PLC0415

    try:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            chunks = [group.column(each) for each in range(group.num_columns)]
            size = sum(each.total_uncompressed_size for each in chunks)
            # A page is decompressed as a whole, and a bomb may have all its rows in one page.
            if size > max(
                _BATCH_BYTES, _MOST_COMPRESSED * sum(each.total_compressed_size for each in chunks)
            ):
                yield None
                continue
            rows = max(1, min(most_rows, _BATCH_BYTES * group.num_rows // max(1, size)))
            yield from file.iter_batches(rows, row_groups=[number], columns=list(columns))
    except (OSError, pa.ArrowException) as error:
        raise BulkError(
            f"{path}: {getattr(error, 'strerror', None) or shown(str(error))}"
        ) from None
