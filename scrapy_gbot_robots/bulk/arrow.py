"""`judge` for Arrow: a record batch in, a record batch out.

It is what Spark, Ray, Dask and the like hand to a function.
pyarrow is loaded on first use: it comes with the extra `bulk`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.urls import shown
from .judging import Agent, BulkError, judge

if TYPE_CHECKING:
    import pyarrow as pa

URL, STATUS, BODY = "url", "status", "body"

_TEXTS = {"string", "binary", "null"}


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
            number, which may be text). Where status is null there was no answer. Without that
            column, a body was served with 200, and null means no answer.
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
    names = [name for name in batch.schema.names if name != BODY]
    bodies = pc.dictionary_encode(batch[BODY])  # so that each is in memory once
    different = [
        body.encode() if isinstance(body, str) else body for body in bodies.dictionary.to_pylist()
    ]
    places = zip(bodies.indices.to_pylist(), batch[BODY].is_valid().to_pylist(), strict=True)
    served: list[Any] = [different[place] if is_there else None for place, is_there in places]
    if STATUS in names:
        served = list(zip(batch[STATUS].to_pylist(), served, strict=True))
    meaning: dict[str, Any] = {
        "unreachable": unreachable,
        "refused": refused,
        "soft_404": soft_404,
        "strict": strict,
    }
    answers = judge(batch[URL].to_pylist(), served, agents, **meaning)
    columns = [
        *(batch[name] for name in names),
        *(pa.array(column, pa.int8()) for column in answers.values()),
    ]
    return pa.record_batch(columns, names=[*names, *answers])


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
    """Check that a column has text or bytes. Raises BulkError that says what it has."""
    if not is_text(column.type):
        kind = shown(str(column.type))
        raise BulkError(f"{where}: the column {column.name!r} holds {kind}, not text")


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text or bytes in any form, or nothing at all."""
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(kind):
        kind = kind.value_type
    return str(kind).removeprefix("large_").removesuffix("_view") in _TEXTS


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
