"""`judge` for Arrow: a record batch in, a record batch out. It is what Spark, Ray, Dask and the like hand to a function.

pyarrow is loaded on first use: it comes with the extra `bulk`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .judging import NO_URL, Bench, BulkError, Served, answers_in_rows, crawlers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from ..policy.outages import Policy
    from .judging import Agent, Batch

URL, STATUS, BODY = "url", "status", "body"


def judge_batch(
    batch: pa.RecordBatch,
    agents: Agent | Sequence[Agent],
    *,
    policy: Policy | None = None,
    strict: bool = False,
) -> pa.RecordBatch:
    """Judge each row of a batch: a URL, and what was served for the robots.txt of its origin.

    Args:
        batch: has the columns `url` (text), `body` (binary or text) and `status` (a whole number). Where status is null
            there was no answer. Without that column, a body was served with 200, and null means no answer.
        agents: the crawlers: product tokens, User-Agent headers or `Crawler`.
        policy: what statuses and failures mean; by default as in a crawl without settings.
        strict: as for `RobotsTxt.parse`.

    Returns:
        The batch without `body`, and with a column (int8) for each crawler, by its product token: 0 no, 1 yes, 2 not now
        (its robots.txt is unreachable), null for a text that is not an http, https or ftp URL.

    Raises:
        BulkError: a column is missing.
    """
    import pyarrow as pa  # noqa: PLC0415

    need(batch.schema.names, [URL, BODY], "the batch")
    bench = Bench(crawlers_of(agents), policy=policy, strict=strict)
    columns = answers_in_rows(bench, len(batch), _batches(batch))
    kept = [name for name in batch.schema.names if name != BODY]
    names = [*kept, *(crawler.name or "*" for crawler in bench.crawlers)]
    return pa.record_batch([*(batch[name] for name in kept), *map(answers_array, columns)], names=names)


def _batches(batch: pa.RecordBatch) -> Iterator[Batch]:
    """Yield rows that have the same status and body, in the order of their URLs."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    bodies = pc.dictionary_encode(batch[BODY], null_encoding="encode")
    statuses = batch[STATUS] if STATUS in batch.schema.names else pc.if_else(pc.is_valid(batch[BODY]), 200, None)
    texts = pc.fill_null(batch[URL], "")
    keys = pa.table({"status": statuses, "body": bodies.indices, "url": texts, "row": pa.array(range(len(batch)))})
    keys = keys.sort_by([("status", "ascending"), ("body", "ascending"), ("url", "ascending")])
    rows, urls = keys["row"].to_pylist(), keys["url"].to_pylist()
    for first, end in _runs(keys["status"].to_pylist(), keys["body"].to_pylist()):
        robots = _served(keys["status"][first].as_py(), bodies.dictionary[keys["body"][first].as_py()].as_py())
        yield rows[first:end], urls[first:end], lambda _origin, robots=robots: robots  # type: ignore[misc]


def answers_array(column: bytearray) -> Any:
    """Return answers as an Arrow array; null where there was no URL."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    answers = pa.Array.from_buffers(pa.int8(), len(column), [None, pa.py_buffer(column)])
    if NO_URL not in column:
        return answers
    return pc.if_else(pc.equal(answers, pa.scalar(NO_URL, pa.int8())), pa.scalar(None, pa.int8()), answers)


def need(names: Sequence[str], needed: Sequence[str], where: str) -> None:
    """Check that columns are there. Raises BulkError that says which are missing, and what there is."""
    missing = [name for name in needed if name not in names]
    if missing:
        there = ", ".join(map(repr, names)) or "none"
        raise BulkError(f"{where} has no column {' and '.join(map(repr, missing))}; its columns are {there}")


def _served(status: int | None, body: bytes | str | None) -> Served:
    raw = body.encode() if isinstance(body, str) else body or b""
    return Served(status, raw, why="no answer")


def _runs(*columns: list[Any]) -> list[tuple[int, int]]:
    """Return where rows that are the same in all columns begin and end."""
    rows = list(zip(*columns, strict=True))
    starts = [row for row in range(len(rows)) if not row or rows[row] != rows[row - 1]]
    return list(pairwise([*starts, len(rows)]))
