"""`judge` for Arrow. It needs pyarrow.

`judge_arrow` takes a record batch and returns one: it is what Spark, Ray, Dask and the like hand to
a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.urls import shown
from .judging import Agent, BulkError, judge
from .url_list import URL, need

if TYPE_CHECKING:
    import pyarrow as pa

STATUS, BODY = "status", "body"


def judge_arrow(
    batch: pa.RecordBatch,
    user_agents: Agent | Sequence[Agent],
    *,
    unreachable: str = "google",
    access_denied: str = "allow",
    soft_404: bool = True,
) -> pa.RecordBatch:
    """Judge each row of a batch: a URL, and what was served for the robots.txt of its origin.

    Args:
        batch: has the columns `url` (text: the page), `body` (binary or text) and `status` (a whole
            number, which may be text). Where status is null there was no answer. Without that
            column, a body was served with 200, and null means no answer.
        user_agents: the crawlers: product tokens, User-Agent headers or `UserAgent`.
        unreachable: as GBOT_ROBOTS_UNREACHABLE.
        access_denied: as GBOT_ROBOTS_ACCESS_DENIED.
        soft_404: as GBOT_ROBOTS_SOFT_404.

    Returns:
        The batch without `body`, and with a column (int8) for each crawler, by its product token: 0
        no, 1 yes, 2 not now (its robots.txt is unreachable), null for a text that is not an http,
        https or ftp URL.

    Raises:
        BulkError: a ValueError. A column is missing or is there twice, `url` or `body` is neither
            text nor binary, or a column has the name of a crawler.
        ValueError: a word is none of its setting's.
        TypeError: `batch` is no record batch, such as a table, or a status is no number.
    """
    import pyarrow as pa  # noqa: PLC0415

    if not isinstance(batch, pa.RecordBatch):
        what = f"{type(batch).__name__}; a Table has to_batches()"
        raise TypeError(f"judge_arrow takes a RecordBatch, not {what}")
    names = batch.schema.names
    need(names, [URL, BODY, *names], "the batch")
    names.remove(BODY)
    served: list[Any] = _bytes_in(batch, BODY)
    if STATUS in names:
        served = list(zip(batch[STATUS].to_pylist(), served, strict=True))
    answers = judge(
        _bytes_in(batch, URL),
        served,
        user_agents,
        unreachable=unreachable,
        access_denied=access_denied,
        soft_404=soft_404,
    )
    for crawler in answers:
        if crawler in names:  # its answers would hide that column
            raise BulkError(
                f"the batch has a column {crawler!r}, as a crawler is called: rename it"
            )
    columns = [pa.array(column, pa.int8()) for column in answers.values()]
    judged = pa.record_batch([*map(batch.column, names), *columns], names=[*names, *answers])
    return judged.replace_schema_metadata(batch.schema.metadata)


def _bytes_in(batch: pa.RecordBatch, name: str) -> list[bytes | None]:
    """Return the values of a column of text or bytes; equal ones, such as bodies, are one object.

    Raises BulkError if it holds something else.
    """
    column = batch[name]
    try:
        encoded = column.dictionary_encode()
        different = encoded.dictionary.cast("large_binary").to_pylist()
    except NotImplementedError:
        what = shown(str(column.type))
        raise BulkError(f"the batch: the column {name!r} holds {what}, not text") from None
    places = encoded.indices.to_pylist()
    return [None if place is None else different[place] for place in places]
