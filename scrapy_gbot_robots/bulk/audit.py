"""Millions of URLs judged piece by piece, in bounded memory: by one robots.txt or two, or by an archive of them.

A single robots.txt judges the URLs as they come. For an archive, DuckDB sorts them first, so that the URLs of one site come
together; it uses the disk for what exceeds its memory. This process or its workers judge the pieces.
"""

from __future__ import annotations

import gc
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from .arrow import URL
from .files import Rows, of_rows
from .judging import Reasons, Served, Site, sites
from .store import NOT_THERE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from .judging import Judge
    from .store import Store

    Sited = list[tuple[Site, Served]]  # sites in order, with what was served for the robots.txt of each

_Found: TypeAlias = tuple[list[bytearray], list[Reasons] | None]

_RARELY: Final = (100_000, 50, 50)  # as for gc.set_threshold
_ROWS: Final = 50_000  # URLs that are looked up at a time
_PIECE_BYTES: Final = 8 * 2**20  # of the robots.txt files in one piece of work; a single larger file is a piece, too
_AHEAD: Final = 2  # pieces of work that wait for each worker


class Judged(NamedTuple):
    """Rows of the list, and for each crawler the answers to their URLs, perhaps with reasons.

    `unknown` has the robots.txt files that the archive lacks. By two robots.txt files, each crawler has two columns:
    all columns by the first file come before those by the second.
    """

    rows: Rows
    answers: list[bytearray]
    reasons: list[Reasons] | None = None
    unknown: Sequence[str] = ()

    def of(self, rows: Collection[int]) -> Judged:
        """Return these rows alone."""
        if len(rows) == len(self.rows.urls):
            return self
        kept = Rows(of_rows(self.rows.urls, rows), [of_rows(column, rows) for column in self.rows.others])
        reasons = self.reasons and [Reasons(*(of_rows(column, rows) for column in each)) for each in self.reasons]
        return Judged(kept, [of_rows(column, rows) for column in self.answers], reasons)


class Piece(NamedTuple):
    """A piece of work: `urls` are those of the rows in sorted order, `order` their numbers; None: the rows are sorted."""

    rows: Rows
    urls: list[str]
    by: list[Sited]
    order: list[int] | None = None
    unknown: Sequence[str] = ()


def judged(pieces: Iterable[Piece], judge: Judge, *, gives_reasons: bool = False, workers: int = 1) -> Iterator[Judged]:
    """Yield the answers to pieces. With several `workers`, that many processes judge."""
    if workers == 1:
        for piece in pieces:
            yield _finished(piece, _found(judge, piece.urls, piece.by, gives_reasons))
        return
    import multiprocessing  # noqa: PLC0415  few runs need them
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

    context = multiprocessing.get_context("spawn")  # DuckDB's threads do not survive a fork
    with ProcessPoolExecutor(workers, context, _start, (judge,)) as pool:
        waiting: deque[tuple[Piece, Any]] = deque()
        for piece in pieces:
            waiting.append((piece, pool.submit(_work, piece.urls, piece.by, gives_reasons)))
            if len(waiting) > workers * _AHEAD:
                first, work = waiting.popleft()
                yield _finished(first, work.result())
        for piece, work in waiting:
            yield _finished(piece, work.result())


def _found(judge: Judge, urls: list[str], by: list[Sited], gives_reasons: bool) -> _Found:
    answers = [column for sited in by for column in judge.answers(urls, sited)]
    return answers, [each for sited in by for each in judge.reasons(urls, sited)] if gives_reasons else None


_judge_of_worker: list[Judge] = []  # in a worker process: its only one


def _start(judge: Judge) -> None:
    collect_rarely()
    _judge_of_worker.append(judge)


def _work(urls: list[str], by: list[Sited], gives_reasons: bool) -> _Found:
    return _found(_judge_of_worker[0], urls, by, gives_reasons)


def collect_rarely() -> None:
    """Let Python look for garbage in cycles less often: the many rules in memory have no cycles."""
    gc.set_threshold(*_RARELY)


def _finished(piece: Piece, found: _Found) -> Judged:
    """Put the answers into the order of the rows."""
    answers, why = found
    if piece.order is not None:
        places = [0] * len(piece.order)
        for place, row in enumerate(piece.order):
            places[row] = place
        answers = [of_rows(column, places) for column in answers]
        why = why and [Reasons(*(of_rows(column, places) for column in each)) for each in why]
    return Judged(piece.rows, answers, why, piece.unknown)


def by_files(rows: Iterable[Rows], *robots: Served) -> Iterator[Piece]:
    """Yield pieces of work in which each of `robots` judges all URLs, whatever their hosts are."""
    for each in rows:
        order = sorted(range(len(each.urls)), key=each.urls.__getitem__)
        urls = [each.urls[row] for row in order]
        there = list(sites(urls))
        yield Piece(each, urls, [[(site, served) for site in there] for served in robots], order)


def by_archive(store: Store, rows: Iterable[Rows], kinds: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield pieces of work with as many robots.txt files as may be in memory at a time, sorted by their URLs.

    `kinds` has the names and the Arrow types of the other columns.
    """
    last = None
    for batch in _sorted(store, rows, kinds):
        urls = batch.urls
        there = list(sites(urls))
        found = store.found({origin for _, _, _, origin in there if origin is not None})
        begin, size = 0, 0
        piece: Sited = []
        unknown: list[str] = []
        for first, end, prefix, origin in there:
            robots = NOT_THERE
            if origin in found:
                robots = piece[-1][1] if origin == last and piece else store.served(found[origin])
                size += len(robots.body)
            elif origin is not None and origin != last:
                unknown.append(origin.robots_url)
            last = origin
            piece.append(((first - begin, end - begin, prefix, origin), robots))
            if size > _PIECE_BYTES or end == len(urls):
                part = Rows(urls[begin:end], [column[begin:end] for column in batch.others])
                yield Piece(part, part.urls, [piece], unknown=unknown)
                begin, size, unknown, piece = end, 0, [], []


def _sorted(store: Store, rows: Iterable[Rows], kinds: Mapping[str, Any]) -> Iterator[Rows]:
    """Yield the rows in the order of their URLs. All are read first, in this thread, so that Ctrl-C ends the command."""
    import pyarrow as pa  # noqa: PLC0415

    schema = pa.schema([(URL, pa.string()), *((name, kind or pa.string()) for name, kind in kinds.items())])
    spool = store.directory / "urls.arrow"
    with pa.OSFile(str(spool), "wb") as file, pa.ipc.new_stream(file, schema) as stream:
        for each in rows:
            columns = [
                column if isinstance(column, pa.Array) else pa.array(column, field.type)
                for column, field in zip([each.urls, *each.others], schema, strict=True)
            ]
            stream.write(pa.record_batch(columns, schema=schema))
    with pa.OSFile(str(spool)) as file, pa.ipc.open_stream(file) as reader, store.database.cursor() as cursor:
        cursor.register("urls", reader)
        found = cursor.sql("SELECT * FROM urls ORDER BY url")
        read = getattr(found, "to_arrow_reader", None) or found.fetch_record_batch  # the name before DuckDB 2
        for batch in read(_ROWS):
            yield Rows(batch[URL].to_pylist(), [batch[name] for name in batch.schema.names[1:]])
