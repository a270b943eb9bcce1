"""Millions of URLs judged piece by piece, in bounded memory.

They are judged by one robots.txt or two, by those of hosts, or by an archive.

Without an archive the URLs are judged as they come. For an archive, DuckDB sorts them first, so
that the URLs of one site come together; it uses the disk for what exceeds its memory. This process
or its workers judge the pieces.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..core.urls import Origin
from ..core.verdict import Verdict
from .archive_answers import Store
from .arrow import URL
from .judging import AllServed, BulkError, Judge, Served, sites

_RARELY = (100_000, 50, 50)  # as for gc.set_threshold
_ROWS = 50_000  # URLs that are looked up at a time
# bytes of the robots.txt files in one piece of work; a single larger file is a piece, too
_PIECE_BYTES = 8 * 2**20
_AHEAD = 2  # pieces of work that wait for each worker
_MISSING = Served(None, why="not in the archive")


class Piece(NamedTuple):
    """Rows of a list of URLs, column by column, and the answers to the URLs.

    By two versions of a robots.txt, each crawler has two columns of answers: those by the first
    version come first.
    """

    columns: list[Any]  # lists or Arrow arrays; the URLs are the first one
    robots: Sequence[AllServed]  # each version
    answers: Sequence[bytearray] = ()
    verdicts: Sequence[list[Verdict]] = ()  # that explain the answers, if that is wanted

    def where(self, is_wanted: Callable[[tuple[int, ...]], bool]) -> Piece:
        """Return the rows whose answers are wanted."""
        rows = []
        for row, answers in enumerate(zip(*self.answers, strict=True)):
            if is_wanted(answers):
                rows.append(row)

        def cells(column: Sequence[Any]) -> list[Any]:
            return [column[row] for row in rows]

        columns: list[Any] = []
        for column in self.columns:
            if hasattr(column, "take"):  # an Arrow array
                columns.append(column.take(rows))
            else:
                columns.append(cells(column))
        by_crawler = [bytearray(cells(column)) for column in self.answers]
        return Piece(columns, self.robots, by_crawler, list(map(cells, self.verdicts)))

    def all_columns(self) -> list[Any]:
        """Return the columns that `kinds_of` names: each verdict has three."""
        columns = [*self.columns, *self.answers]
        for verdicts in self.verdicts:
            rules: list[str | None] = []
            lines: list[int | None] = []
            for verdict in verdicts:
                if verdict.rule is None:
                    rules.append(None)
                    lines.append(None)
                else:
                    rules.append(str(verdict.rule))
                    lines.append(verdict.rule.line)
            columns += [rules, lines, [verdict.reason for verdict in verdicts]]
        return columns


def kinds_of(
    where: str, others: Mapping[str, Any], names: Sequence[str], *, gives_reasons: bool
) -> list[tuple[str, Any]]:
    """Return the names and Arrow types of the columns of a list with the answers to it.

    Args:
        where: what they are written to, for people.
        others: the columns of the list beside the URLs, with their types.
        names: what the columns of the answers are called.
        gives_reasons: whether the deciding rules, their lines and the reasons follow.

    Raises:
        BulkError: two of them would have the same name.
    """
    kinds: list[tuple[str, Any]] = [(URL, "string"), *others.items()]
    kinds += [(name, "int8") for name in names]
    if gives_reasons:
        for name in names:
            kinds += [(f"{name}_rule", "string"), (f"{name}_line", "int32")]
            kinds.append((f"{name}_reason", "string"))
    columns = [name for name, _ in kinds]
    if len(set(columns)) < len(columns):
        raise BulkError(
            f"{where}: two columns would have the same name: {', '.join(map(repr, columns))}"
        )
    return kinds


def judged(
    pieces: Iterable[Piece], judge: Judge, *, gives_reasons: bool = False, workers: int = 1
) -> Iterator[Piece]:
    """Yield the pieces with their answers. With several `workers`, that many processes judge."""
    if workers == 1:
        for piece in pieces:
            yield piece._replace(**_answers(judge, gives_reasons, piece.columns[0], piece.robots))
        return
    import multiprocessing  # noqa: PLC0415  few runs need them
    from concurrent.futures import Future, ProcessPoolExecutor  # noqa: PLC0415

    context = multiprocessing.get_context("spawn")  # DuckDB's threads do not survive a fork
    with ProcessPoolExecutor(workers, context, _start, (judge, gives_reasons)) as pool:
        waiting: deque[tuple[Piece, Future[dict[str, Any]]]] = deque()
        for piece in pieces:
            waiting.append((piece, pool.submit(_work, piece.columns[0], piece.robots)))
            if len(waiting) > workers * _AHEAD:
                first, answers = waiting.popleft()
                yield first._replace(**answers.result())
        for piece, answers in waiting:
            yield piece._replace(**answers.result())


def _answers(
    judge: Judge, gives_reasons: bool, urls: Sequence[str], robots: Sequence[AllServed]
) -> dict[str, Any]:
    """Return what a piece lacks: the answers by one version after the other."""
    answers: list[bytearray] = []
    verdicts: list[list[Verdict]] = []
    for version in robots:
        columns, reasons = judge.judged(urls, version, gives_reasons=gives_reasons)
        answers += columns
        verdicts += reasons
    return {"answers": answers, "verdicts": verdicts}


_of_worker: list[Any] = []  # in a worker process: its judge, and whether it gives reasons


def _start(judge: Judge, gives_reasons: bool) -> None:
    collect_rarely()
    _of_worker[:] = [judge, gives_reasons]


def _work(urls: Sequence[str], robots: Sequence[AllServed]) -> dict[str, Any]:
    judge, gives_reasons = _of_worker
    return _answers(judge, gives_reasons, urls, robots)


def collect_rarely() -> None:
    """Let Python look for garbage in cycles less often: the many rules in memory have no cycles."""
    gc.set_threshold(*_RARELY)


def take_urls(store: Store, pieces: Iterable[list[Any]], kinds: Mapping[str, Any]) -> None:
    """Keep the columns of a list in the store's database.

    `kinds` has the names and the Arrow types of the other columns.
    """
    import pyarrow as pa  # noqa: PLC0415

    schema = pa.schema([(URL, "string"), *kinds.items()])
    store.insert("urls", schema.empty_table())
    for columns in pieces:
        store.insert("urls", pa.table(list(map(pa.array, columns, schema.types)), schema=schema))


def _batches_of(rows: Any) -> Iterable[Any]:
    if hasattr(rows, "to_arrow_reader"):
        return rows.to_arrow_reader(_ROWS)  # type: ignore[no-any-return]
    return rows.fetch_record_batch(_ROWS)  # type: ignore[no-any-return]  # the name before DuckDB 2


def by_archive(store: Store) -> Iterator[Piece]:
    """Yield the rows that the store took, sorted by their URLs.

    A piece has as many robots.txt files as memory may hold.
    """
    with store.database.cursor() as cursor:
        rows: Any = cursor.sql("SELECT * FROM urls ORDER BY url")
        for batch in _batches_of(rows):
            columns = [batch[URL].to_pylist(), *batch.columns[1:]]
            by_site = list(sites(columns[0]))
            answers = store.found({origin for origin, _ in by_site if origin is not None})
            begin = end = size = 0
            robots: dict[Origin, Served] = {}
            for origin, urls in by_site:
                end += len(urls)
                if origin is not None and origin not in robots:
                    robots[origin] = _MISSING
                    if origin in answers:
                        robots[origin] = store.served(answers[origin])
                    size += len(robots[origin].body)
                if size > _PIECE_BYTES or end == len(columns[0]):
                    yield Piece([column[begin:end] for column in columns], [robots])
                    begin, size, robots = end, 0, {}
