"""The robots.txt files of archives, in a temporary DuckDB database, so that memory is bounded however many there are.

The latest capture of each URL counts. A redirect leads to the capture of its target. Bodies are in a file beside the
database, which knows their places: each body is read when it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..core.urls import ROBOTS_PATH, Origin, path_of
from ..policy.outcome import REDIRECTS, Unavailable, next_hop
from .judging import Served

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from .archives import Capture

NOT_THERE: Final = Served(None, why="not in the archive")
MAX_REDIRECTS: Final = 5  # Google's page: at least five hops

_ROWS: Final = 10_000  # handed to the database at a time
_COLUMNS: Final = {
    "url": "VARCHAR",
    "fetched_at": "DOUBLE",
    "status": "INTEGER",
    "location": "VARCHAR",
    "why": "VARCHAR",
    "cut": "BOOLEAN",
    "place": "BIGINT",
    "length": "BIGINT",
}
_FOUND: Final = "status, why, cut, place, length"


class Found(NamedTuple):
    """What was served for a robots.txt, and where its body lies."""

    status: int | None
    why: str
    cut: bool
    place: int
    length: int


class Store:
    """Takes captures, then says what was served for the robots.txt of an origin. Use it in a `with` statement.

    Args:
        directory: an empty one, for temporary files.
        memory: how much DuckDB may use, such as "300MB"; the rest goes to `directory`.
        max_redirects: how many hops are followed.
    """

    def __init__(self, directory: Path, memory: str, max_redirects: int = MAX_REDIRECTS) -> None:
        self.directory = directory
        self.database = connected(directory, memory)
        self._max_redirects = max_redirects
        self._bodies_path = directory / "bodies"
        self._writing: BinaryIO | None = self._bodies_path.open("wb")
        self._reading: BinaryIO | None = None
        self._end = 0
        columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
        self.database.execute(f"CREATE TABLE captures ({columns})")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writing is not None:
            self._writing.close()
        if self._reading is not None:
            self._reading.close()
        self.database.close()

    def take(self, captures: Iterable[Capture]) -> None:
        """Keep captures of http, https and ftp URLs."""
        assert self._writing is not None  # noqa: S101 - nothing is taken after `settle`
        rows = []
        for capture in captures:
            url = _normal(capture.url)
            if url is None:
                continue
            self._writing.write(capture.body)
            rows.append(
                (
                    url,
                    capture.at,
                    capture.status,
                    capture.location if capture.status in REDIRECTS else None,
                    capture.why,
                    capture.cut,
                    self._end,
                    len(capture.body),
                )
            )
            self._end += len(capture.body)
            if len(rows) == _ROWS:
                self._insert("captures", _COLUMNS, rows)
                rows = []
        if rows:
            self._insert("captures", _COLUMNS, rows)

    def settle(self) -> None:
        """Choose the latest capture of each URL, and follow redirects. After that, `served` can be asked."""
        assert self._writing is not None  # noqa: S101
        self._writing.close()
        self._writing = None
        self._reading = self._bodies_path.open("rb")
        self.database.execute(
            "CREATE TABLE latest AS SELECT * FROM captures"
            " QUALIFY row_number() OVER (PARTITION BY url ORDER BY fetched_at DESC, place DESC) = 1;"
            " DROP TABLE captures;"
            f" CREATE TABLE found AS SELECT url AS robots_txt, {_FOUND} FROM latest"
            f" WHERE ends_with(url, '{ROBOTS_PATH}') AND {_NO_REDIRECT}"
        )
        self._follow_redirects()
        self.database.execute(
            "CREATE TABLE robots AS SELECT * FROM found ORDER BY robots_txt; DROP TABLE found; DROP TABLE latest"
        )

    def _follow_redirects(self) -> None:
        """Follow all trails at once, hop by hop."""
        self.database.execute(
            "CREATE TABLE trails AS SELECT url AS robots_txt, [url] AS asked, url AS next FROM latest"
            f" WHERE ends_with(url, '{ROBOTS_PATH}') AND NOT {_NO_REDIRECT}"
        )
        while self.database.execute("SELECT count(*) FROM trails").fetchone()[0]:
            at_hop = self.database.execute(
                "SELECT robots_txt, asked, status, location FROM trails JOIN latest ON next = url"
            )
            self.database.cursor().execute("CREATE TABLE more (robots_txt VARCHAR, asked VARCHAR[], next VARCHAR)")
            for rows in _pieces(at_hop):
                self._one_hop(rows)
            self.database.execute(
                f"INSERT INTO found SELECT robots_txt, {_FOUND} FROM more JOIN latest ON next = url WHERE {_NO_REDIRECT};"
                " INSERT INTO found SELECT robots_txt, NULL, 'the redirect leads to ' || asked[-1] ||"
                "  ', which is not in the archive', false, 0, 0 FROM more ANTI JOIN latest ON next = url;"
                " DROP TABLE trails;"
                " CREATE TABLE trails AS SELECT more.* FROM more JOIN latest ON next = url"
                f"  WHERE NOT {_NO_REDIRECT};"
                " DROP TABLE more"
            )

    def _one_hop(self, rows: list[tuple[str, list[str], int, str | None]]) -> None:
        """Note where each trail leads, or that it ends, which counts as a 404."""
        further, ended = [], []
        for robots_txt, asked, status, location in rows:
            hop = next_hop(status, location, asked, self._max_redirects)
            target = None if isinstance(hop, Unavailable) else _normal(hop)
            if target is None:
                ended.append((robots_txt, status, "", False, 0, 0))
            else:
                further.append((robots_txt, [*asked, target], target))
        if further:
            self._insert("more", {"robots_txt": "VARCHAR", "asked": "VARCHAR[]", "next": "VARCHAR"}, further)
        if ended:
            self._insert(
                "found", {"robots_txt": "VARCHAR", **{name: _COLUMNS[name] for name in _FOUND.split(", ")}}, ended
            )

    def _insert(self, table: str, columns: dict[str, str], rows: list[tuple[Any, ...]]) -> None:
        import pyarrow as pa  # noqa: PLC0415

        kinds = {
            "VARCHAR": pa.string(),
            "VARCHAR[]": pa.list_(pa.string()),
            "DOUBLE": pa.float64(),
            "INTEGER": pa.int32(),
            "BIGINT": pa.int64(),
            "BOOLEAN": pa.bool_(),
        }
        arrays = [
            pa.array(column, kinds[kind])
            for column, kind in zip(zip(*rows, strict=True), columns.values(), strict=True)
        ]
        with self.database.cursor() as cursor:
            cursor.register("rows", pa.table(arrays, names=list(columns)))
            cursor.execute(f"INSERT INTO {table} SELECT * FROM rows")
            cursor.unregister("rows")

    def found(self, origins: Collection[Origin]) -> dict[Origin, Found]:
        """Return what was served for the robots.txt of each origin that the archives know."""
        import pyarrow as pa  # noqa: PLC0415

        origin_of = {origin.robots_url: origin for origin in origins}
        with self.database.cursor() as cursor:
            cursor.register("wanted", pa.table({"robots_txt": list(origin_of)}))
            rows = cursor.execute(f"SELECT robots_txt, {_FOUND} FROM robots JOIN wanted USING (robots_txt)").fetchall()
            cursor.unregister("wanted")
        return {origin_of[robots_txt]: Found(*rest) for robots_txt, *rest in rows}

    def served(self, found: Found) -> Served:
        """Return what was served, with the body."""
        assert self._reading is not None  # noqa: S101 - after `settle`
        self._reading.seek(found.place)
        return Served(found.status, self._reading.read(found.length), found.cut, found.why)

    def everything(self) -> Iterator[Served]:
        """Yield what was served for the robots.txt of each origin."""
        with self.database.cursor() as cursor:
            found = cursor.execute(f"SELECT {_FOUND} FROM robots ORDER BY place")  # as they lie in the file
            for rows in _pieces(found):
                yield from (self.served(Found(*row)) for row in rows)

    def __len__(self) -> int:
        """How many origins have an answer."""
        count: int = self.database.execute("SELECT count(*) FROM robots").fetchone()[0]
        return count


_NO_REDIRECT: Final = f"(status IS NULL OR status NOT IN ({', '.join(map(str, sorted(REDIRECTS)))}))"


def connected(directory: Path, memory: str) -> Any:
    """Return a DuckDB database in `directory`."""
    import duckdb  # noqa: PLC0415

    config: dict[str, Any] = {
        "memory_limit": memory,
        "temp_directory": str(directory / "spill"),
        "preserve_insertion_order": False,
    }
    return duckdb.connect(str(directory / "captures.duckdb"), config=config)


def _normal(url: str) -> str | None:
    """Return a URL in the form in which URLs are compared: host folded, no default port. None if it has no origin."""
    try:
        return f"{Origin.of(url)}{path_of(url)}"
    except ValueError:
        return None


def _pieces(result: Any) -> Iterator[list[Any]]:
    while rows := result.fetchmany(_ROWS):
        yield rows
