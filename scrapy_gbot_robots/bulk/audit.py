"""Millions of URLs judged by an archive of robots.txt files, in bounded memory.

The URLs are sorted by DuckDB, which uses the disk for what exceeds its memory; so those of one site come together. They
are judged piece by piece, here or in worker processes, and come out sorted.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .judging import Bench, Served, sites
from .store import NOT_THERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..core.agents import RobotsAgent
    from ..core.origin import Origin
    from ..policy.ladder import Policy
    from .store import Store

MAX_URL: Final = 16_384  # bytes; a longer one is left out

_ROWS: Final = 50_000  # URLs that are looked up at a time
_PIECE_BYTES: Final = 8 * 2**20  # of robots.txt files that one piece of work has at the most, but for a single one
_AHEAD: Final = 2  # pieces of work that wait for each worker


class Terms(NamedTuple):
    """For whom, and by which policy, URLs are judged."""

    crawlers: Sequence[RobotsAgent]
    policy: Policy
    strict: bool
    max_bytes: int


class Judged(NamedTuple):
    """Some URLs in sorted order, the answers for each crawler, and how many origins the archive does not know."""

    urls: list[str]
    answers: list[bytearray]
    unknown_origins: int


class _Piece(NamedTuple):
    urls: list[str]
    robots: dict[Origin, Served]
    unknown_origins: int


def audit(store: Store, urls: Iterable[Any], terms: Terms, workers: int = 1) -> Iterator[Judged]:
    """Yield answers to `urls`, which come as Arrow arrays of text.

    With several `workers` so many processes judge; reading, sorting and looking up go on in this one.
    """
    pieces = _pieces(store, urls)
    if workers == 1:
        bench = _bench(terms)
        for piece in pieces:
            yield Judged(piece.urls, _judged(bench, piece.urls, piece.robots), piece.unknown_origins)
        return
    context = multiprocessing.get_context("spawn")  # DuckDB's threads do not survive a fork
    with ProcessPoolExecutor(workers, context, _start, (terms,)) as pool:
        waiting: deque[tuple[_Piece, Any]] = deque()
        for piece in pieces:
            waiting.append((piece, pool.submit(_work, piece.urls, piece.robots)))
            if len(waiting) > workers * _AHEAD:
                yield _finished(*waiting.popleft())
        while waiting:
            yield _finished(*waiting.popleft())


def _finished(piece: _Piece, work: Any) -> Judged:
    return Judged(piece.urls, work.result(), piece.unknown_origins)


def _bench(terms: Terms) -> Bench:
    return Bench(terms.crawlers, policy=terms.policy, strict=terms.strict, max_bytes=terms.max_bytes)


def _judged(bench: Bench, urls: list[str], robots: Mapping[Origin, Served]) -> list[bytearray]:
    return bench.answers(urls, lambda origin: robots.get(origin, NOT_THERE))


_benches: list[Bench] = []  # of a worker process: its one


def _start(terms: Terms) -> None:
    _benches.append(_bench(terms))


def _work(urls: list[str], robots: dict[Origin, Served]) -> list[bytearray]:
    return _judged(_benches[0], urls, robots)


def _pieces(store: Store, urls: Iterable[Any]) -> Iterator[_Piece]:
    """Yield pieces of work: URLs in sorted order, with what was served for their origins."""
    before = None
    for batch in _sorted(store, urls):
        origins = [(origin, end) for _, end, _, origin in sites(batch)]
        found = store.found({origin for origin, _ in origins if origin is not None})
        first, size, unknown = 0, 0, 0
        robots: dict[Origin, Served] = {}
        for number, (origin, end) in enumerate(origins):
            if origin in found and origin not in robots:
                assert origin is not None  # noqa: S101 - for the type checker
                robots[origin] = store.served(found[origin])
                size += len(robots[origin].body)
            elif origin is not None and origin not in found and origin != before:
                unknown += 1
            before = origin
            if size > _PIECE_BYTES or number == len(origins) - 1:
                yield _Piece(batch[first:end], robots, unknown)
                first, size, unknown, robots = end, 0, 0, {}


def _sorted(store: Store, urls: Iterable[Any]) -> Iterator[list[str]]:
    """Yield the URLs in sorted order; they are read to the end first, in this thread, for Ctrl-C and for errors."""
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
