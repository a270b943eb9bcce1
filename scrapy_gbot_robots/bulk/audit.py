"""Millions of URLs judged by an archive of robots.txt files, in bounded memory.

DuckDB sorts the URLs, and uses the disk for what exceeds its memory. So the URLs of one site come together. This process or
its workers judge them piece by piece, and they come out sorted.
"""

from __future__ import annotations

import gc
import multiprocessing
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from .judging import Bench, Reasons, Served, Site, reasons, sites
from .store import NOT_THERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..core.crawlers import RobotsAgent
    from ..policy.outages import Policy
    from ..policy.overrides import Overrides
    from .store import Store

_Found: TypeAlias = tuple[list[bytearray], list[Reasons] | None]

_RARELY: Final = (100_000, 50, 50)  # as for gc.set_threshold
_ROWS: Final = 50_000  # URLs that are looked up at a time
_PIECE_BYTES: Final = 8 * 2**20  # of the robots.txt files in one piece of work; a single larger file is a piece, too
_AHEAD: Final = 2  # pieces of work that wait for each worker


class Terms(NamedTuple):
    """The crawlers for which URLs are judged, and the settings of a crawl that count.

    An override counts if it is in force at `now`, in seconds since the epoch. `gives_reasons` asks for reasons.
    """

    crawlers: Sequence[RobotsAgent]
    policy: Policy
    strict: bool
    max_bytes: int
    overrides: Overrides | None = None
    now: float = 0.0
    gives_reasons: bool = False

    def bench(self) -> Bench:
        """Return the judges."""
        return Bench(
            self.crawlers,
            policy=self.policy,
            strict=self.strict,
            max_bytes=self.max_bytes,
            overrides=self.overrides,
            now=self.now,
        )


class Judged(NamedTuple):
    """Some URLs in sorted order, and the answers for each crawler, perhaps with reasons.

    `unknown_origins` says how many origins the archive does not know.
    """

    urls: list[str]
    answers: list[bytearray]
    unknown_origins: int
    reasons: list[Reasons] | None = None


class _Piece(NamedTuple):
    """Some URLs in sorted order, their sites with what was served for the robots.txt, and how many are not known."""

    urls: list[str]
    sites: list[tuple[Site, Served]]
    unknown_origins: int


def audit(store: Store, urls: Iterable[Any], terms: Terms, workers: int = 1) -> Iterator[Judged]:
    """Yield answers to `urls`, which come as Arrow arrays of text.

    With several `workers`, that many processes judge. This process reads, sorts and looks up.
    """
    pieces = _pieces(store, urls)
    if workers == 1:
        judge = Judge(terms)
        for piece in pieces:
            yield _finished(piece, judge(piece.urls, piece.sites))
        return
    context = multiprocessing.get_context("spawn")  # DuckDB's threads do not survive a fork
    with ProcessPoolExecutor(workers, context, _start, (terms,)) as pool:
        waiting: deque[tuple[_Piece, Any]] = deque()
        for piece in pieces:
            waiting.append((piece, pool.submit(_work, piece.urls, piece.sites)))
            if len(waiting) > workers * _AHEAD:
                yield _result(*waiting.popleft())
        while waiting:
            yield _result(*waiting.popleft())


class Judge:
    """Answers about a piece of work."""

    def __init__(self, terms: Terms) -> None:
        self._bench = terms.bench()
        self._gives_reasons = terms.gives_reasons

    def __call__(self, urls: list[str], sites: list[tuple[Site, Served]]) -> _Found:
        """Return the answers, and the reasons if the terms ask for them."""
        answers = self._bench.answers(urls, sites)
        return answers, reasons(self._bench, urls, sites) if self._gives_reasons else None


def _finished(piece: _Piece, found: _Found) -> Judged:
    answers, why = found
    return Judged(piece.urls, answers, piece.unknown_origins, why)


def _result(piece: _Piece, work: Any) -> Judged:
    return _finished(piece, work.result())


_judges: list[Judge] = []  # in a worker process: its only one


def collect_rarely() -> None:
    """Let Python look for garbage in cycles less often: the many rules in memory have no cycles."""
    gc.set_threshold(*_RARELY)


def _start(terms: Terms) -> None:
    collect_rarely()
    _judges.append(Judge(terms))


def _work(urls: list[str], sites: list[tuple[Site, Served]]) -> _Found:
    return _judges[0](urls, sites)


def _pieces(store: Store, urls: Iterable[Any]) -> Iterator[_Piece]:
    """Yield pieces of work: some URLs, with as many robots.txt files as may be in memory at a time."""
    last = None
    for batch in _sorted(store, urls):
        there = list(sites(batch))
        found = store.found({origin for _, _, _, origin in there if origin is not None})
        begin, size, unknown = 0, 0, 0
        piece: list[tuple[Site, Served]] = []
        for first, end, prefix, origin in there:
            robots = NOT_THERE
            if origin in found:
                robots = piece[-1][1] if origin == last and piece else store.served(found[origin])
                size += len(robots.body)
            elif origin is not None and origin != last:
                unknown += 1
            last = origin
            piece.append(((first - begin, end - begin, prefix, origin), robots))
            if size > _PIECE_BYTES or end == len(batch):
                yield _Piece(batch[begin:end], piece, unknown)
                begin, size, unknown, piece = end, 0, 0, []


def _sorted(store: Store, urls: Iterable[Any]) -> Iterator[list[str]]:
    """Yield the URLs in sorted order. All are read first, in this thread, so that Ctrl-C and errors end the command."""
    import pyarrow as pa  # noqa: PLC0415

    schema = pa.schema([("url", pa.string())])
    spool = store.directory / "urls.arrow"
    with pa.OSFile(str(spool), "wb") as file, pa.ipc.new_stream(file, schema) as stream:
        for array in urls:
            stream.write(pa.record_batch([array], schema=schema))
    with pa.OSFile(str(spool)) as file, pa.ipc.open_stream(file) as reader, store.database.cursor() as cursor:
        cursor.register("urls", reader)
        found = cursor.sql("SELECT url FROM urls ORDER BY url")
        read = getattr(found, "to_arrow_reader", None) or found.fetch_record_batch  # the name before DuckDB 2
        for batch in read(_ROWS):
            yield batch["url"].to_pylist()
