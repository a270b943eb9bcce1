"""Millions of URLs judged piece by piece, in bounded memory: by one robots.txt or two, by those of hosts, or by an archive.

Without an archive the URLs are judged as they come. For an archive, DuckDB sorts them first, so that the URLs of one site
come together; it uses the disk for what exceeds its memory. This process or its workers judge the pieces.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..core.urls import Origin
from ..core.verdict import Verdict
from .arrow import URL
from .files import Rows, of_rows
from .judging import Judge, Served, Site, sites
from .store import Store

NOT_THERE = "not in the archive"
WALLED = "a wall answered, not the site"

_RARELY = (100_000, 50, 50)  # as for gc.set_threshold
_ROWS = 50_000  # URLs that are looked up at a time
_PIECE_BYTES = 8 * 2**20  # of the robots.txt files in one piece of work; a single larger file is a piece, too
_AHEAD = 2  # pieces of work that wait for each worker
_MISSING = Served(None, why=NOT_THERE)

_Sited: TypeAlias = list[tuple[Site, Served]]  # sites in order, with what was served for the robots.txt of each
_Found: TypeAlias = "tuple[list[bytearray], list[list[Verdict]]]"


class Judged(NamedTuple):
    """Rows of the list; for each crawler the answers to their URLs, and the verdicts that explain them if wanted.

    `odd` says what is wrong with a robots.txt, and names it. By two robots.txt files, each crawler has two columns: all
    columns by the first file come before those by the second.
    """

    rows: Rows
    answers: list[bytearray]
    verdicts: list[list[Verdict]]
    odd: Sequence[tuple[str, str]] = ()

    def of(self, rows: Sequence[int]) -> Judged:
        """Return these rows alone, in this order."""
        urls, others, answers, verdicts = (
            [of_rows(column, rows) for column in columns]
            for columns in ([self.rows.urls], self.rows.others, self.answers, self.verdicts)
        )
        return Judged(Rows(urls[0], others), answers, verdicts, self.odd)


class Piece(NamedTuple):
    """A piece of work: rows, and the sites of their URLs by each robots.txt. `order` is that of the rows in the sites."""

    rows: Rows
    by: list[_Sited]
    order: list[int] | None = None  # they are sorted
    odd: Sequence[tuple[str, str]] = ()

    def finished(self, found: _Found) -> Judged:
        """Return the answers in the order of the rows."""
        judged = Judged(self.rows, *found, self.odd)
        if self.order is None:
            return judged
        return judged.of(sorted(range(len(self.order)), key=self.order.__getitem__))._replace(rows=self.rows)


def judged(pieces: Iterable[Piece], judge: Judge, *, gives_reasons: bool = False, workers: int = 1) -> Iterator[Judged]:
    """Yield the answers to pieces. With several `workers`, that many processes judge."""
    if workers == 1:
        for piece in pieces:
            yield piece.finished(_found(judge, piece.by, gives_reasons))
        return
    import multiprocessing  # noqa: PLC0415  few runs need them
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

    context = multiprocessing.get_context("spawn")  # DuckDB's threads do not survive a fork
    with ProcessPoolExecutor(workers, context, _start, (judge,)) as pool:
        waiting: deque[tuple[Piece, Any]] = deque()
        for piece in pieces:
            waiting.append((piece, pool.submit(_work, piece.by, gives_reasons)))
            if len(waiting) > workers * _AHEAD:
                first, work = waiting.popleft()
                yield first.finished(work.result())
        for piece, work in waiting:
            yield piece.finished(work.result())


def _found(judge: Judge, by: list[_Sited], gives_reasons: bool) -> _Found:
    found = [judge.judged(sited, gives_reasons=gives_reasons) for sited in by]
    return [column for answers, _ in found for column in answers], [each for _, verdicts in found for each in verdicts]


_judge_of_worker: list[Judge] = []  # in a worker process: its only one


def _start(judge: Judge) -> None:
    collect_rarely()
    _judge_of_worker.append(judge)


def _work(by: list[_Sited], gives_reasons: bool) -> _Found:
    return _found(_judge_of_worker[0], by, gives_reasons)


def collect_rarely() -> None:
    """Let Python look for garbage in cycles less often: the many rules in memory have no cycles."""
    gc.set_threshold(*_RARELY)


def piece_of(rows: Rows, *robots: Served | Mapping[Origin, Served], odd: Sequence[tuple[str, str]] = ()) -> Piece:
    """Return a piece of work in which each of `robots` judges all URLs: one robots.txt for all, or one for each origin."""
    order = sorted(range(len(rows.urls)), key=rows.urls.__getitem__)
    there = list(sites([rows.urls[row] for row in order]))
    by = [
        [(site, each if isinstance(each, Served) else each.get(site.origin, _MISSING)) for site in there]  # type: ignore[arg-type]
        for each in robots
    ]
    return Piece(rows, by, order, odd)


def by_archive(store: Store, rows: Iterable[Rows], kinds: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield pieces of work with as many robots.txt files as may be in memory at a time, sorted by their URLs.

    `kinds` has the names and the Arrow types of the other columns.
    """
    for batch in _sorted(store, rows, kinds):
        there = list(sites(batch.urls))
        found = store.found({site.origin for site in there if site.origin is not None})
        begin = end = size = 0
        piece: _Sited = []
        odd: dict[tuple[str, str], None] = {}
        for site in there:
            known = None if site.origin is None else found.get(site.origin)
            robots = _MISSING if known is None else store.served(known)
            if site.origin is not None and (known is None or robots.wall):
                odd[WALLED if robots.wall else NOT_THERE, site.origin.robots_url] = None
            end += len(site.urls)
            size += len(robots.body)
            piece.append((site, robots))
            if size > _PIECE_BYTES or end == len(batch.urls):
                part = Rows(batch.urls[begin:end], [each[begin:end] for each in batch.others])
                yield Piece(part, [piece], odd=list(odd))
                begin, size, odd, piece = end, 0, {}, []


def _sorted(store: Store, rows: Iterable[Rows], kinds: Mapping[str, Any]) -> Iterator[Rows]:
    """Yield the rows in the order of their URLs. All are read first, in this thread, so that Ctrl-C ends the command."""
    import pyarrow as pa  # noqa: PLC0415

    schema = pa.schema([(URL, pa.string()), *((name, kind or pa.string()) for name, kind in kinds.items())])
    store.insert("urls", schema.empty_table())
    for each in rows:
        columns = [
            column if isinstance(column, pa.Array) else pa.array(column, field.type)
            for column, field in zip([each.urls, *each.others], schema, strict=True)
        ]
        store.insert("urls", pa.table(columns, schema=schema))
    with store.database.cursor() as cursor:
        found = cursor.sql("SELECT * FROM urls ORDER BY url")
        read = getattr(found, "to_arrow_reader", None) or found.fetch_record_batch  # the name before DuckDB 2
        for batch in read(_ROWS):
            yield Rows(batch[URL].to_pylist(), [batch[name] for name in batch.schema.names[1:]])
