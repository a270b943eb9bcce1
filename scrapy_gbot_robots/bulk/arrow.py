"""Judge the URLs in an Arrow record batch. This module needs pyarrow.

To *judge* a URL means to decide whether a crawler may fetch it. `judge_arrow` takes a record batch
and returns a record batch. So Spark, Ray and Dask can call it for each batch of a table.
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
        batch: the rows. The column `url` (text) has the URL of a page. The columns `status` and
            `body` have the response to the request for the robots.txt of this URL. `status` is a
            whole number, or a text of digits. It is null if no response came. `body` is binary or
            text. If there is no column `status`, the status of each response is 200, but a null
            body means that no response came. All other columns are kept.
        user_agents: one crawler or a list of crawlers. A crawler is a product token, a User-Agent
            header or a `UserAgent`.
        unreachable: a value of the setting GBOT_ROBOTS_UNREACHABLE.
        access_denied: a value of the setting GBOT_ROBOTS_ACCESS_DENIED.
        soft_404: a value of the setting GBOT_ROBOTS_SOFT_404.

    Returns:
        The batch without the column `body`, and with a new column (int8) for each crawler. The name
        of the new column is the product token of the crawler. Its values are 0 (the crawler may not
        fetch the URL), 1 (it may), 2 (it must wait, because the robots.txt is unreachable) and null
        (the text is not an http, https or ftp URL).

    Raises:
        BulkError: a column is missing or occurs twice, `url` or `body` is neither text nor binary,
            or a column of `batch` has the name of a crawler. BulkError is a ValueError.
        ValueError: one of the three settings has an invalid value.
        TypeError: `batch` is not a record batch (but a table, for example), or a status is not a
            number.
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
        if crawler in names:  # The result would have two columns with this name.
            raise BulkError(
                f"the batch has a column {crawler!r}, which is the name of a crawler: rename it"
            )
    columns = [pa.array(column, pa.int8()) for column in answers.values()]
    judged = pa.record_batch([*map(batch.column, names), *columns], names=[*names, *answers])
    return judged.replace_schema_metadata(batch.schema.metadata)


def _bytes_in(batch: pa.RecordBatch, name: str) -> list[bytes | None]:
    """Return the values of a column as bytes. Equal values become the same object.

    Many rows may have the same body, so this saves memory.

    Raises:
        BulkError: the column contains neither text nor bytes.
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
