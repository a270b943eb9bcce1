"""The robots.txt files of archives, in a DuckDB database.

It puts into temporary files what exceeds its memory, so that is bounded however many there are. The
latest capture of each URL counts. A redirect leads to the capture of its target. Bodies are in a
file beside, and the database knows their places: each body is read when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from ..core.urls import Origin, path_of
from ..policy.outages import Decision, State
from ..policy.outcome import REDIRECTS, Unavailable, next_hop
from .archive_reader import Capture
from .judging import Served

_ROWS = 10_000  # handed to or asked of the database at a time
_OF_ROBOTS_TXT = "regexp_full_match(url, '[a-z]+://[^/]+/robots[.]txt')"


class Found(NamedTuple):
    """What was served, and where its body is in the file of bodies."""

    served: Served  # without the body
    place: int = 0
    length: int = 0


class Store:
    """Takes captures, then says what was served for the robots.txt of an origin.

    Use it in a `with` statement.

    Args:
        directory: an empty one, for temporary files.
        memory: how much DuckDB may use, such as "300MB"; the rest goes to `directory`.
    """

    def __init__(self, directory: Path, memory: str) -> None:
        import duckdb  # noqa: PLC0415

        spill = str(directory / "spill")
        config: dict[str, Any] = {
            "memory_limit": memory,
            "temp_directory": spill,
            "preserve_insertion_order": False,
        }
        self.database = duckdb.connect(config=config)
        self._bodies = (directory / "bodies").open("w+b")
        self._end = 0

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._bodies.close()
        self.database.close()

    def take(self, captures: Iterable[Capture]) -> None:
        """Keep captures of http, https and ftp URLs."""
        import pyarrow as pa  # noqa: PLC0415

        schema = pa.schema(
            {
                "url": "str",
                "at": "f8",
                "status": "i4",
                "location": "str",
                "why": "str",
                "wall": "str",
                "cut": "bool",
                "state": "str",
                "temporary": "bool",
                "number": "i8",
                "place": "i8",
                "length": "i8",
            }
        )
        rows = self._rows(captures)
        while batch := list(islice(rows, _ROWS)):
            self.insert("captures", pa.Table.from_pylist(batch, schema))
        self.insert("captures", schema.empty_table())

    def _rows(self, captures: Iterable[Capture]) -> Iterator[dict[str, Any]]:
        for number, capture in enumerate(captures):
            url = _normal(capture.url)
            if url is not None:
                self._bodies.write(capture.body)
                yield {
                    **capture._asdict(),
                    "url": url,
                    "number": number,
                    "place": self._end,
                    "length": len(capture.body),
                }
                self._end += len(capture.body)

    def insert(self, table: str, rows: Any) -> None:
        """Add rows, which are an Arrow table, to a table.

        The first ones say which columns it has.
        """
        with self.database.cursor() as cursor:
            cursor.register("rows", rows)
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {table} AS FROM rows LIMIT 0;"
                f" INSERT INTO {table} FROM rows"
            )

    def settle(self) -> None:
        """Choose the latest capture of each URL. After that, the store can be asked."""
        self._bodies.flush()
        self.database.execute(
            "CREATE TABLE latest AS FROM captures"
            ' QUALIFY row_number() OVER (PARTITION BY url ORDER BY "at" DESC, number DESC) = 1'
            " ORDER BY url;"
            " DROP TABLE captures"
        )

    def found(self, origins: Iterable[Origin]) -> dict[Origin, Found]:
        """Return what was served for the robots.txt of each origin that the archives know."""
        origin_of = {origin.robots_url: origin for origin in origins}
        urls = iter(origin_of)
        answers: dict[Origin, Found] = {}
        while batch := list(islice(urls, _ROWS)):
            for url, answer in self._followed(batch):
                answers[origin_of[url]] = answer
        return answers

    def _followed(self, urls: Iterable[str]) -> Iterator[tuple[str, Found]]:
        """Yield what was served for each URL that the archives know.

        All redirects are followed together, hop by hop.
        """
        trails = [[url] for url in urls]
        while trails:
            latest = self._latest({trail[-1] for trail in trails})
            going = []
            for trail in trails:
                location, answer = latest.get(trail[-1], (None, None))
                if answer is None:
                    if len(trail) > 1:
                        why = f"the redirect leads to {trail[-1]}, which is not in the archive"
                        yield trail[0], Found(Served(None, why=why))
                elif answer.served.decision is not None or answer.served.status not in REDIRECTS:
                    yield trail[0], answer
                else:
                    hop = next_hop(answer.served.status, location, trail)
                    target = None if isinstance(hop, Unavailable) else _normal(hop)
                    if target is not None:
                        going.append([*trail, target])
                    else:  # it counts as a 404
                        yield trail[0], Found(Served(answer.served.status))
            trails = going

    def _latest(self, urls: Iterable[str]) -> dict[str, tuple[str | None, Found]]:
        """Return the latest capture of each of the URLs, with its Location."""
        import pyarrow as pa  # noqa: PLC0415

        with self.database.cursor() as cursor:
            cursor.register("wanted", pa.table({"url": list(urls)}))
            rows = cursor.execute(
                "SELECT url, location, place, length, state, temporary, status, cut, why, wall"
                " FROM latest JOIN wanted USING (url)"
            )
            latest: dict[str, tuple[str | None, Found]] = {}
            for url, location, place, length, state, temporary, *answer in rows.fetchall():
                served = Served(answer[0], b"", *answer[1:])
                if state:
                    decision = Decision(State(state), served.why, temporary, 0.0, 0.0)
                    served = served._replace(decision=decision)
                latest[url] = location, Found(served, place, length)
            return latest

    def served(self, found: Found) -> Served:
        """Return what was served, with the body."""
        self._bodies.seek(found.place)
        return found.served._replace(body=self._bodies.read(found.length))

    def everything(self) -> Iterator[Served]:
        """Yield what was served for the robots.txt of each origin."""
        with self.database.cursor() as cursor:
            urls = cursor.execute(f"SELECT url FROM latest WHERE {_OF_ROBOTS_TXT}")
            while rows := urls.fetchmany(_ROWS):
                batch = [url for (url,) in rows]
                answers = [answer for _, answer in self._followed(batch)]
                answers.sort(key=attrgetter("place"))  # as they lie in the file
                yield from map(self.served, answers)

    def others(self) -> tuple[int, str]:
        """Return how many URLs in the archives are of no robots.txt, and one of them."""
        ((count, example),) = self.database.execute(
            f"SELECT count(*), min(url) FROM latest WHERE NOT {_OF_ROBOTS_TXT}"
        ).fetchall()
        return int(count), example or ""

    def __len__(self) -> int:
        """How many origins have an answer."""
        ((count,),) = self.database.execute(
            f"SELECT count(*) FROM latest WHERE {_OF_ROBOTS_TXT}"
        ).fetchall()
        return int(count)


def _normal(url: str) -> str | None:
    """Return a URL in the form in which URLs are compared; None if it has no origin.

    Its host is folded, and it has no default port.
    """
    try:
        return f"{Origin.of(url)}{path_of(url)}"
    except ValueError:
        return None
