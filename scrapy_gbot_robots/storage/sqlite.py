"""Entries in one SQLite file that several processes on one machine use at once.

A kill at any time leaves the file whole (WAL). What is in the way is never deleted: a file that is broken, or of
another version of this module, is set aside under another name; one that belongs to another program is refused.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from .base import DAY, KEEP_SECS, MAX_BODY, StorageError
from .codec import decode, encode, longest

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from ..policy.entry import Entry

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

_GET = "SELECT used, value FROM entries WHERE origin = ? AND used >= ? AND length(value) <= ?"
_TOUCH = "UPDATE entries SET used = ? WHERE origin = ?"
_PUT = """
    INSERT INTO entries (origin, used, value) VALUES (?, ?, ?)
    ON CONFLICT (origin) DO UPDATE SET used = excluded.used, value = excluded.value
"""
_DELETE = "DELETE FROM entries WHERE origin = ?"
_ORIGINS = "SELECT origin FROM entries WHERE origin >= ? AND used >= ? ORDER BY origin LIMIT ?"
_LEASE = """
    INSERT INTO leases (origin, token, taken, until) VALUES (?, ?, ?, ?)
    ON CONFLICT (origin) DO UPDATE SET token = excluded.token, taken = excluded.taken, until = excluded.until
    WHERE leases.until <= excluded.taken OR leases.taken > excluded.taken + 1 -- or the clock was set back
"""
_RELEASE = "DELETE FROM leases WHERE origin = ? AND token = ?"
_SWEEP = "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries WHERE used < ? LIMIT ?)"
_SWEEP_LEASES = "DELETE FROM leases WHERE rowid IN (SELECT rowid FROM leases WHERE until < ? LIMIT ?)"

_BUSY_SECS = 5.0  # to wait for another process's write
_PAGE = 1000  # origins listed at a time
_SWEEP_ROWS = 500  # at most, so that no call takes long
_SWEEP_SECS, _SWEEP_SECS_WHILE_MORE = 3600.0, 60.0


class _UnfitError(sqlite3.DatabaseError):
    """The file is whole, and ours, but not of this version."""


class _Done(NamedTuple):
    rows: list[tuple[Any, ...]]
    changed: int


class SqliteStorage:
    """A `Storage` in the file `path`, whose directory is made; `max_body` bounds the bodies it hands out.

    `tell` is called with one sentence, in whatever thread, when a file was set aside; `clock` gives seconds since the
    epoch. Raises StorageError where the file cannot be opened for writing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_body: int = MAX_BODY,
        tell: Callable[[str], object] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path).absolute()
        self._max_body = max_body
        self._tell = tell
        self._clock = clock
        self._lock = Lock()  # one connection serves all threads in turn
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # that `_connection` has open
        self._closed = False
        self._next_sweep = clock() + _SWEEP_SECS_WHILE_MORE
        self._run("SELECT 1")

    def get(self, origin: str) -> Entry | None:
        """Return what is kept, and note once a day that it is in use."""
        today = self._today()
        found = self._run(_GET, origin, today - KEEP_SECS // DAY, longest(self._max_body)).rows
        if not found:
            return None
        used, value = found[0]
        if used != today:
            with suppress(StorageError):  # then it is noted next time
                self._run(_TOUCH, today, origin)
        return decode(value, self._max_body) if isinstance(value, bytes) else None

    def put(self, origin: str, entry: Entry) -> None:
        """Keep an entry; now and then this sweeps out some that are unused."""
        self._run(_PUT, origin, self._today(), encode(entry))
        if self._clock() >= self._next_sweep:
            with suppress(StorageError):
                self.sweep()

    def delete(self, origin: str) -> bool:
        """Forget an origin; tell whether it was there."""
        return self._run(_DELETE, origin).changed > 0

    def origins(self, prefix: str = "") -> Iterator[str]:
        """Yield the origins in order, reading on as it goes: writers do not wait for it."""
        oldest, start = self._today() - KEEP_SECS // DAY, prefix
        while page := self._run(_ORIGINS, start, oldest, _PAGE).rows:
            for (origin,) in page:
                if not origin.startswith(prefix):
                    return
                yield origin
            start = page[-1][0] + "\0"  # what comes next in order

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease if it is free or has run out, in one statement."""
        token, now = secrets.token_hex(8), self._clock()
        return token if self._run(_LEASE, origin, token, now, now + secs).changed else None

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        self._run(_RELEASE, origin, token)

    def close(self) -> None:
        """Close the file; nothing can be asked afterwards."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def sweep(self) -> int:
        """Delete some entries that were not used for `KEEP_SECS`, and leases that ran out; return how many entries."""
        swept = self._run(_SWEEP, self._today() - KEEP_SECS // DAY, _SWEEP_ROWS).changed
        self._run(_SWEEP_LEASES, self._clock(), _SWEEP_ROWS)
        self._next_sweep = self._clock() + (_SWEEP_SECS if swept < _SWEEP_ROWS else _SWEEP_SECS_WHILE_MORE)
        return swept

    def _today(self) -> int:
        return int(self._clock() // DAY)

    def _run(self, statement: str, *values: object) -> _Done:
        """Run one statement, in a transaction of its own; where the file is found broken, once more on a new one."""
        with self._lock:
            try:
                try:
                    return _execute(self._current(), statement, *values)
                except sqlite3.OperationalError:  # locked, full, read-only: the file is sound
                    raise
                except sqlite3.DatabaseError:
                    self._renew()
                    return _execute(self._current(), statement, *values)
            except (sqlite3.Error, OSError) as error:
                raise StorageError(f"cannot use {self._path}: {error}") from error

    def _current(self) -> sqlite3.Connection:
        """Return a connection to the file that is there now: another process may have set aside the one we had."""
        if self._closed:
            raise StorageError(f"{self._path} is closed")
        while self._connection is None or self._file != _identity(self._path):
            self._disconnect()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _identity(self._path)
            self._connection = _connect(self._path)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _renew(self) -> None:
        """Set an unfit file aside, unless another process has done so since."""
        self._disconnect()
        with _alone(self._path):
            if (reason := _unfit(self._path)) is None:
                return
            aside = _set_aside(self._path, f"{reason}-{self._clock():.0f}")
        self._tell(f"{self._path} cannot be read ({reason.replace('-', ' ')}): set aside as {aside.name}, begun anew")


def _execute(connection: sqlite3.Connection, statement: str, *values: object) -> _Done:
    with closing(connection.execute(statement, values)) as cursor:
        return _Done(cursor.fetchall(), cursor.rowcount)


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file, or begin it. Raises _UnfitError, StorageError for another program's, and sqlite3's own errors."""
    connection = sqlite3.connect(path, timeout=_BUSY_SECS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN")  # a look at one moment: another process may be about to begin the file
        _is_begun(connection, path)  # before anything is written to what may be another program's
        connection.execute("COMMIT")
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")  # after a power cut the last writes may be gone, no more
        connection.execute("BEGIN IMMEDIATE")  # fails where the file cannot be written
        if not _is_begun(connection, path):
            for statement in _SCHEMA:
                connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_begun(connection: sqlite3.Connection, path: Path) -> bool:
    """Tell a file with our tables from an empty one; raise for any other."""
    ((application_id,),), ((version,),) = (
        _execute(connection, f"PRAGMA {name}").rows for name in ("application_id", "user_version")
    )
    tables = {name for (name,) in _execute(connection, "SELECT name FROM sqlite_master WHERE type = 'table'").rows}
    if application_id == _APPLICATION_ID:
        if version != _SCHEMA_VERSION or not tables >= {"entries", "leases"}:
            raise _UnfitError(f"schema version {version}, expected {_SCHEMA_VERSION}")
        return True
    if application_id or version or tables:
        raise StorageError(f"{path} is another program's database: name another file")
    return False


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. SQLite itself does not wait here for other processes that are doing the same."""
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


def _unfit(path: Path) -> str | None:
    """Look a file through, from end to end; say in a word or two why it cannot be used, None where it can."""
    try:
        with closing(_connect(path)) as connection:
            return None if _execute(connection, "PRAGMA integrity_check(1)").rows == [("ok",)] else "corrupt"
    except _UnfitError:
        return "other-version"
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return "corrupt"


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes out, by SQLite's own lock on an empty file beside: a kill releases it."""
    with closing(sqlite3.connect(f"{path}.lock", timeout=_BUSY_SECS, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


def _set_aside(path: Path, suffix: str) -> Path:
    """Rename a file and what SQLite keeps beside it, the file itself last; return its new path."""
    aside = Path(f"{path}.{suffix}")
    while aside.exists():
        aside = Path(f"{aside}x")
    for part in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            Path(f"{path}{part}").rename(f"{aside}{part}")
    return aside
