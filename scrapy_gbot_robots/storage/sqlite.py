"""Entries in one SQLite file that several processes on one machine use at once, and the versions of each robots.txt.

Operations wanted: each method for one origin in one statement, and for many origins in one transaction. A process that only
reads waits for no other. Of all processes, one gets the lease of an origin.

Plan: the file has a write-ahead log, so readers go on while one process writes. `find` reads first, without a lock. In a
crawl that was here before, most entries are good and nothing is left to do. For the others, one transaction reads again,
since another process may have stored a good entry meanwhile, and takes the leases.

Example: `find` for a, which is stored and good, and b, which is unknown:

    SELECT a; SELECT b                                    no lock
    BEGIN IMMEDIATE; SELECT b; INSERT lease of b; COMMIT  the only writer now

The file survives a kill at any time. No other file is deleted or overwritten. A file that is broken, or of another version
of this module, is renamed, but only if its own bytes say that it is ours. Any other file, a database or not, is refused and
stays as it is. Reading alone creates and renames nothing.

A version is stored when a definite answer differs, byte by byte, from the one before. The last few versions of each origin
stay, even after its entry is gone, since people compare them over years.

Warning: another process may set a broken file aside and begin a new one while this process has the old one open. So each
call compares the file at the path with the open one.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import time
import zlib
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote

from .base import KEEP_DAYS, MAX_BODY, FetchResult, Found, Storage, StorageError
from .codec import decode, encode, longest

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import PurePath

    from ..policy.outages import Copy, Entry
    from .base import Wanted

_T = TypeVar("_T")

_APPLICATION_ID = 0x47425254  # "GBRT": says that a file is ours
_SCHEMA_VERSION = 1
_SCHEMA = (
    # `used` is a day since the epoch: an entry that is read all day long is written to once
    "CREATE TABLE entries (origin TEXT PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL)",
    "CREATE INDEX entries_used ON entries (used)",
    "CREATE TABLE leases (origin TEXT PRIMARY KEY, token TEXT NOT NULL, taken REAL NOT NULL, until REAL NOT NULL)",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {_SCHEMA_VERSION}",
)
_MAGIC = b"SQLite format 3\0"  # how the file format begins (sqlite.org/fileformat.html, "The Database Header")
_APPLICATION_ID_AT = 68  # its place in the header: 4 bytes, big-endian
_BUSY_SECS = 5.0  # how long to wait while another process writes

_GET = "SELECT used, value FROM entries WHERE origin = ? AND used >= ? AND length(value) <= ?"
_TOUCH = "UPDATE entries SET used = ? WHERE origin = ?"
_PUT = """
    INSERT INTO entries (origin, used, value) VALUES (?, ?, ?)
    ON CONFLICT (origin) DO UPDATE SET used = excluded.used, value = excluded.value
"""
_DELETE = "DELETE FROM entries WHERE origin = ?"
# Another program may have stored an origin that is no text.
_ORIGINS = """
    SELECT origin FROM entries WHERE origin >= ? AND typeof(origin) = 'text' AND used >= ? ORDER BY origin LIMIT ?
"""
_LEASE = """
    INSERT INTO leases (origin, token, taken, until) VALUES (?, ?, ?, ?)
    ON CONFLICT (origin) DO UPDATE SET token = excluded.token, taken = excluded.taken, until = excluded.until
    WHERE leases.until <= excluded.taken OR leases.taken > excluded.taken + 1 -- or the clock was set back
"""
_RELEASE = "DELETE FROM leases WHERE origin = ? AND token = ?"
_SWEEP = "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries WHERE used < ? LIMIT ?)"
_SWEEP_LEASES = "DELETE FROM leases WHERE rowid IN (SELECT rowid FROM leases WHERE until < ? LIMIT ?)"

_VERSIONS_TABLE = """
    CREATE TABLE IF NOT EXISTS versions (
        origin TEXT NOT NULL, fetched REAL NOT NULL, status INTEGER NOT NULL, hash TEXT NOT NULL, cut INTEGER NOT NULL,
        body BLOB NOT NULL, PRIMARY KEY (origin, fetched)
    ) WITHOUT ROWID
"""
# Other programs may write to the file, and SQLite takes a value of any type in any column. No `datetime` is after 9999.
_LAST_MOMENT = 253_402_300_799
_OURS = (
    f"origin = ? AND typeof(fetched) = 'real' AND fetched BETWEEN 0 AND {_LAST_MOMENT} AND typeof(status) = 'integer'"
)
_LATEST_VERSION = f"SELECT hash, fetched FROM versions WHERE {_OURS} ORDER BY fetched DESC LIMIT 1"  # noqa: S608  constants
# A clock that was wrong has put a version into the future, before which no other would be stored.
_BACK_FROM_THE_FUTURE = "UPDATE OR REPLACE versions SET fetched = ? WHERE origin = ? AND fetched > ?"
_ADD_VERSION = "INSERT OR REPLACE INTO versions (origin, fetched, status, hash, cut, body) VALUES (?, ?, ?, ?, ?, ?)"
_KEEP_LAST_VERSIONS = f"""
    DELETE FROM versions WHERE origin = ? AND fetched < (
        SELECT min(fetched) FROM (SELECT fetched FROM versions WHERE {_OURS} ORDER BY fetched DESC LIMIT ?)
    )
"""  # noqa: S608
_VERSIONS = f"SELECT fetched, status, hash, cut, body FROM versions WHERE {_OURS} ORDER BY fetched"  # noqa: S608
_HAS_VERSIONS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'versions'"

_PAGE = 1000  # origins listed at a time
_SWEEP_ROWS = 500  # at most, so that no call takes long
_FIRST_SWEEP_SECS, _SWEEP_SECS = 60.0, 3600.0  # while there is more to sweep, each call that stores sweeps again
_FREE_SHARE = 0.25  # of the pages of the file: if more are unused, the file shrinks
_AHEAD_SECS = 60.0  # a version that is later than a new one by more is from the future


class UnfitError(sqlite3.DatabaseError):
    """The file is whole, and ours, but not of this version."""


class Version(NamedTuple):
    """One version of a robots.txt.

    Attributes:
        fetched_at: when this version was first seen, in seconds since the epoch.
        status: the HTTP status that came with it.
        hash: SHA-256 of the body, in hexadecimal.
        cut: whether the server sent more than `body`.
        body: content-decoded; empty if there was no robots.txt.
    """

    fetched_at: float
    status: int
    hash: str
    cut: bool
    body: bytes


class _Done(NamedTuple):
    rows: list[tuple[Any, ...]]
    changed: int


class SqliteStorage(Storage):
    """A `Storage` in one SQLite file.

    Args:
        path: the file; its directory is made.
        max_body: bounds the bodies that are returned, in bytes.
        history: how many versions of each robots.txt are kept; 0: none is stored, and those that are there stay.
        read_only: nothing is created, renamed or written to, and only the methods that read may be used.
        tell: called with one sentence, in any thread, when a broken file was set aside.
        clock: returns seconds since the epoch.

    Raises:
        StorageError: the file cannot be opened for writing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_body: int = MAX_BODY,
        history: int = 0,
        read_only: bool = False,
        tell: Callable[[str], object] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path).absolute()
        self._max_body = max_body
        self._history = history
        self._read_only = read_only
        self._tell = tell
        self._clock = clock
        self._lock = Lock()  # one connection serves all threads in turn
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # the file that `_connection` has open
        self._closed = False
        self._next_sweep = clock() + _FIRST_SWEEP_SECS
        self._execute("SELECT 1")

    def get(self, origin: str) -> Entry | None:
        """Return the entry, and note once a day that it is in use."""
        ((entry, touch),) = self._run(lambda connection: [self._read(connection, origin)])
        if touch and not self._read_only:
            with suppress(StorageError):  # the next call notes it
                self._execute(_TOUCH, self._today(), origin)
        return entry

    def put(self, origin: str, entry: Entry) -> None:
        """Store an entry; now and then, delete some that are not used."""
        self.store_and_release([FetchResult(origin, entry, "")])

    def find(self, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        """Return the entries of many origins, or else their leases. All writing is one transaction."""
        return self._run(lambda connection: self._find(connection, wanted, secs))

    def _find(self, connection: sqlite3.Connection, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        today = self._today()
        read = [self._read(connection, each.origin) for each in wanted]
        found = [Found(entry) for entry, _ in read]
        touched = [(today, each.origin) for each, (_, touch) in zip(wanted, read, strict=True) if touch]
        lacking = [place for place, each in enumerate(wanted) if not each.is_good(found[place].entry)]
        if touched and not lacking:
            with suppress(sqlite3.OperationalError), _transaction(connection):  # the next call notes it
                connection.executemany(_TOUCH, touched)
        if lacking:
            with _transaction(connection):
                connection.executemany(_TOUCH, touched)
                for place in lacking:
                    found[place] = self._leased(connection, wanted[place], secs)
        return found

    def release_all(self, leases: Mapping[str, str]) -> None:
        """End leases, in one transaction."""
        self._write(_RELEASE, list(leases.items()))

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        def act(connection: sqlite3.Connection) -> None:
            with _transaction(connection):
                connection.executemany(statement, rows)

        self._run(act)

    def _leased(self, connection: sqlite3.Connection, wanted: Wanted, secs: float) -> Found:
        """Inside a transaction: take the lease, unless a good entry was stored since the look before the transaction."""
        latest, _ = self._read(connection, wanted.origin)
        if wanted.is_good(latest):
            return Found(latest)
        token, now = secrets.token_hex(8), self._clock()
        taken = connection.execute(_LEASE, (wanted.origin, token, now, now + secs)).rowcount
        return Found(latest, token) if taken else Found(latest)

    def store_and_release(self, results: Sequence[FetchResult]) -> None:
        """Store entries and end their leases, in one transaction."""
        today = self._today()
        puts = [(each.origin, today, encode(each.entry)) for each in results]
        releases = [(each.origin, each.token) for each in results if each.token]

        def act(connection: sqlite3.Connection) -> None:
            with _transaction(connection):
                connection.executemany(_PUT, puts)
                connection.executemany(_RELEASE, releases)
                for origin, entry, _ in results:
                    if self._history and entry.copy is not None and entry.outage is None:
                        self._keep_version(connection, origin, entry.copy)

        self._run(act)
        self._sweep_now_and_then()

    def _keep_version(self, connection: sqlite3.Connection, origin: str, copy: Copy) -> None:
        """Inside a transaction: store the version that `copy` is, if it is a new one."""
        connection.execute(_VERSIONS_TABLE)  # an older plugin's file lacks it
        before = copy.fetched_at - 1
        connection.execute(_BACK_FROM_THE_FUTURE, (before, origin, copy.fetched_at + _AHEAD_SECS))
        latest = connection.execute(_LATEST_VERSION, (origin,)).fetchone()
        digest = _hash(copy.body)
        if latest is not None and (latest[0] == digest or latest[1] > copy.fetched_at):
            return
        row = (origin, copy.fetched_at, copy.status, digest, copy.cut, zlib.compress(copy.body))
        connection.execute(_ADD_VERSION, row)
        connection.execute(_KEEP_LAST_VERSIONS, (origin, origin, self._history))

    def versions(self, origin: str) -> list[Version]:
        """Return the versions of `origin`, the oldest first; none if the file has no history."""
        if not self._execute(_HAS_VERSIONS).rows:
            return []
        read = (self._version(*row) for row in self._execute(_VERSIONS, origin).rows)
        return [version for version in read if version is not None]

    def _version(self, fetched_at: float, status: int, digest: str, cut: int, packed: Any) -> Version | None:
        """Read a row that `_keep_version` wrote; None for any other row."""
        try:
            stream = zlib.decompressobj()
            body = stream.decompress(packed, self._max_body + 1)
        except (zlib.error, TypeError):
            return None
        if not stream.eof or len(body) > self._max_body or _hash(body) != digest:
            return None
        return Version(fetched_at, status, digest, bool(cut), body)

    def delete(self, origin: str) -> bool:
        """Forget an origin; return whether it had an entry."""
        return self._execute(_DELETE, origin).changed > 0

    def origins(self, prefix: str = "") -> Iterator[str]:
        """Yield the origins in order. They are read page by page, so that writers do not wait."""
        oldest, start = self._today() - KEEP_DAYS, prefix
        while page := self._execute(_ORIGINS, start, oldest, _PAGE).rows:
            for (origin,) in page:
                if not origin.startswith(prefix):
                    return
                yield origin
            start = page[-1][0] + "\0"  # the next text in order

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease if it is free or has run out, in one statement."""
        token, now = secrets.token_hex(8), self._clock()
        return token if self._execute(_LEASE, origin, token, now, now + secs).changed else None

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        self._execute(_RELEASE, origin, token)

    def close(self) -> None:
        """Close the file. Every later call raises StorageError."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def sweep(self) -> int:
        """Delete some entries that were not used for `KEEP_DAYS`, and old leases; return how many entries.

        If there are no more of them, give some unused pages of the file back to the disk.
        """
        swept = self._execute(_SWEEP, self._today() - KEEP_DAYS, _SWEEP_ROWS).changed
        self._execute(_SWEEP_LEASES, self._clock(), _SWEEP_ROWS)
        is_more = swept == _SWEEP_ROWS
        if not is_more:
            free, pages = (self._execute(f"PRAGMA {name}").rows[0][0] for name in ("freelist_count", "page_count"))
            if free > _FREE_SHARE * pages and self._execute("PRAGMA auto_vacuum").rows[0][0]:
                vacuum = f"PRAGMA incremental_vacuum({_SWEEP_ROWS})"
                self._run(lambda connection: connection.executescript(vacuum))  # `execute` would free one page
                is_more = True
        self._next_sweep = self._clock() + (0.0 if is_more else _SWEEP_SECS)
        return swept

    def _sweep_now_and_then(self) -> None:
        if self._clock() >= self._next_sweep:
            with suppress(StorageError):
                self.sweep()

    def _today(self) -> int:
        return int(self._clock() // 86400)

    def _read(self, connection: sqlite3.Connection, origin: str) -> tuple[Entry | None, bool]:
        """Return the entry of `origin`, and whether its use today is still to be noted."""
        today = self._today()
        row = connection.execute(_GET, (origin, today - KEEP_DAYS, longest(self._max_body))).fetchone()
        if row is None:
            return None, False
        used, value = row
        return (decode(value, self._max_body) if isinstance(value, bytes) else None), used != today

    def _execute(self, statement: str, *values: object) -> _Done:
        """Run one statement, in a transaction of its own."""
        return self._run(lambda connection: _execute(connection, statement, *values))

    def _run(self, act: Callable[[sqlite3.Connection], _T]) -> _T:
        """Let `act` use the file. If the file is broken, set it aside and call `act` again on a new one."""
        with self._lock:
            try:
                try:
                    return act(self._current())
                except sqlite3.OperationalError:  # locked, full, read-only: the file is sound
                    raise
                except sqlite3.DatabaseError as error:
                    if self._read_only or type(error) not in {sqlite3.DatabaseError, UnfitError}:
                        raise
                    self._disconnect()
                    self._set_aside(error)
                    return act(self._current())
            except (sqlite3.Error, OSError) as error:
                raise StorageError(f"cannot use {self._path}: {error}") from error

    def _current(self) -> sqlite3.Connection:
        """Return a connection to the file at the path now: another process may have set aside the one we had open."""
        if self._closed:
            raise StorageError(f"{self._path} is closed")
        while self._connection is None or self._file != _identity(self._path):
            self._disconnect()
            if self._read_only:
                self._file = _identity(self._path)
                self._connection = _connect_to_read(self._path)
                break
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _identity(self._path)
            self._connection = _connect(self._path)
        return self._connection

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        """Rename the file that `_current` has found broken, unless another process has. Raises `error` if it is not ours."""
        if not _says_it_is_ours(self._path):
            raise error
        with _alone(self._path):
            if _identity(self._path) != self._file or not _says_it_is_ours(self._path):
                return
            aside = _renamed(self._path, f"set-aside-{self._clock():.0f}")
        self._tell(f"{self._path} cannot be read ({error}): renamed to {aside.name}; a new file replaces it")

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _execute(connection: sqlite3.Connection, statement: str, *values: object) -> _Done:
    with closing(connection.execute(statement, values)) as cursor:
        return _Done(cursor.fetchall(), cursor.rowcount)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything inside in one transaction, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file, or make it.

    Raises:
        UnfitError: the file is of another version.
        StorageError: the file is another program's.
        sqlite3.Error: the file is broken, or cannot be used.
    """
    head = _head(path)
    if head and not head.startswith(_MAGIC):
        raise StorageError(
            f"{path} is no SQLite database and stays as it is; set GBOT_ROBOTS_SQLITE_PATH to another file"
        )
    connection = sqlite3.connect(path, timeout=_BUSY_SECS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN")  # one consistent view: another process may be making the file now
        _is_begun(connection, path)  # before anything is written: the file may be another program's
        connection.execute("COMMIT")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file: pages can be given back
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")  # after a power cut the last writes may be gone, no more
        connection.execute("BEGIN IMMEDIATE")  # fails if the file cannot be written
        if not _is_begun(connection, path):
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")  # so that the file itself says whose it is
        else:
            connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open the file for reading alone; if there is none, an empty database in memory. Raises what `_connect` raises."""
    head = _head(path)
    if head and not head.startswith(_MAGIC):
        raise StorageError(f"{path} is no SQLite database")
    has_log = Path(f"{path}-wal").exists()
    if not head and not has_log:
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        for statement in _SCHEMA:
            connection.execute(statement)
        return connection
    # If no other process has the file open, an ordinary reader would create files beside it.
    mode = "mode=ro" if has_log else "mode=ro&immutable=1"
    where = f"{_uri(path.absolute())}?{mode}"
    connection = sqlite3.connect(where, uri=True, timeout=_BUSY_SECS, isolation_level=None, check_same_thread=False)
    try:
        _is_begun(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _head(path: Path) -> bytes:
    """The first bytes of a file, application id included; empty if there is no file."""
    try:
        with path.open("rb") as file:
            return file.read(_APPLICATION_ID_AT + 4)
    except FileNotFoundError:
        return b""


def _says_it_is_ours(path: Path) -> bool:
    head = _head(path)
    return head.startswith(_MAGIC) and head[_APPLICATION_ID_AT:] == _APPLICATION_ID.to_bytes(4, "big")


def _is_begun(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file has our tables; False if it is empty. Raises UnfitError or StorageError for any other file."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if application_id == _APPLICATION_ID:
        if version != _SCHEMA_VERSION or not tables >= {"entries", "leases"}:
            raise UnfitError(f"schema version {version}, expected {_SCHEMA_VERSION}")
        return True
    if application_id or version or tables:
        raise StorageError(f"{path} is another program's database; set GBOT_ROBOTS_SQLITE_PATH to another file")
    return False


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. SQLite does not wait here while other processes do the same, so this retries."""
    deadline = time.monotonic() + _BUSY_SECS
    while not _tried_wal(connection, last=time.monotonic() > deadline):
        time.sleep(0.01)


def _tried_wal(connection: sqlite3.Connection, *, last: bool) -> bool:
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if last or "locked" not in str(error):
            raise
        return False
    return True


def _identity(path: Path) -> tuple[int, int] | None:
    """Return an identity of the file at `path` now; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes out, by SQLite's own lock on an empty file beside `path`. A kill releases the lock."""
    with closing(sqlite3.connect(f"{path}.lock", timeout=_BUSY_SECS, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


def _renamed(path: Path, suffix: str) -> Path:
    """Rename a file and what SQLite keeps beside it, all or nothing, the file itself last; return its new path."""
    aside = Path(f"{path}.{suffix}")
    while aside.exists():
        aside = Path(f"{aside}x")
    done: list[str] = []
    try:
        for part in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                Path(f"{path}{part}").rename(f"{aside}{part}")
                done.append(part)
    except OSError:  # Windows renames no file that another process has open
        for part in done:
            Path(f"{aside}{part}").rename(f"{path}{part}")
        raise
    return aside


def _uri(path: PurePath) -> str:
    """The URI of a file for SQLite, which takes no host in it. `Path.as_uri` puts the server of a network share there."""
    text = path.as_posix()
    return f"file://{'' if text.startswith('/') else '/'}{quote(text, safe='/:')}"


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
