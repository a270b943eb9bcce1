"""Judge the URLs in an Arrow record batch. This module needs pyarrow.

`judge_arrow` takes a record batch and returns a record batch, so Spark, Ray and Dask can call it
for each batch of a table.
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
    """Judge the URL in each row of a batch by the robots.txt in the same row.

    Args:
        batch: the rows. Its columns are `url` (text, the URL of a page), `body` (binary or text)
            and `status` (a whole number, or its digits as text). `body` and `status` are from the
            response for the robots.txt of the URL. A null `status` means that no response came. If
            there is no column `status`, each body was served with status 200, and a null body means
            that no response came. Other columns are kept.
        user_agents: one crawler or several: product tokens, User-Agent headers or `UserAgent`.
        unreachable: as the setting GBOT_ROBOTS_UNREACHABLE.
        access_denied: as the setting GBOT_ROBOTS_ACCESS_DENIED.
        soft_404: as the setting GBOT_ROBOTS_SOFT_404.

    Returns:
        The batch without `body`, and with a column (int8) for each crawler, named by its product
        token. An answer is 0 (no), 1 (yes), 2 (not now, because the robots.txt is unreachable) or
        null (the text is not an http, https or ftp URL).

    Raises:
        BulkError: a column is missing or occurs twice, `url` or `body` is neither text nor binary,
            or a column has the name of a crawler. BulkError is a ValueError.
        ValueError: a value is not valid for its setting.
        TypeError: `batch` is not a record batch (a table is not one), or a status is not a number.
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
        if crawler in names:  # The answers would hide that column.
            raise BulkError(
                f"the batch has a column {crawler!r}, which is the name of a crawler: rename it"
            )
    columns = [pa.array(column, pa.int8()) for column in answers.values()]
    judged = pa.record_batch([*map(batch.column, names), *columns], names=[*names, *answers])
    return judged.replace_schema_metadata(batch.schema.metadata)


def _bytes_in(batch: pa.RecordBatch, name: str) -> list[bytes | None]:
    """Return the values of a column as bytes. Equal values, such as bodies, are one object.

    Raises BulkError if the column contains neither text nor bytes.
    """
    column = batch[name]
    try:
        encoded = column.dictionary_encode()
        different = encoded.dictionary.cast("large_binary").to_pylist()
    except NotImplementedError:
        what = shown(str(column.type))
        raise BulkError(f"the batch: the column {name!r} contains {what}, not text") from None
    places = encoded.indices.to_pylist()
    return [None if place is None else different[place] for place in places]
