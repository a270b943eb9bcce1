"""Entries in one SQLite file that several processes on one machine use at once.

Operations wanted: each method in one statement. A process that only reads waits for no other. Of
all processes, one gets the lease of an origin.

The file has a write-ahead log, so readers go on while one process writes. It survives a kill at any
time. A file that is broken, or of another version of this module, is renamed, and a new one begun,
but only if its own bytes say that it is ours. Any other file, a database or not, is refused
(`ForeignFileError`) and stays as it is. Reading alone creates and renames nothing.

Warning: another process may set a broken file aside and begin a new one while this process has the
old one open. So each call compares the file at the path with the open one.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from ..core.lines import MAX_BYTES
from ..policy.outages import KEEP_DAYS, Entry
from .base import Storage, StorageError
from .codec import decode, encode, most_bytes

_APPLICATION_ID = 0x47425254  # "GBRT": says that a file is ours
# its place in a file: 4 bytes, big-endian (sqlite.org/fileformat.html, "The Database Header")
_APPLICATION_ID_AT = 68
_SCHEMA_VERSION = 1
# `used` is the day, since the epoch, on which the entry was stored: one that is in use is stored
# anew all the time.
_SCHEMA = f"""
    BEGIN IMMEDIATE;
    CREATE TABLE entries (origin TEXT PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL);
    CREATE INDEX entries_used ON entries (used);
    CREATE TABLE leases
        (origin TEXT PRIMARY KEY, token TEXT NOT NULL, taken REAL NOT NULL, until REAL NOT NULL);
    PRAGMA application_id = {_APPLICATION_ID};
    PRAGMA user_version = {_SCHEMA_VERSION};
    COMMIT;
"""
# One statement, so that it sees all or nothing of what another process that makes the file writes.
_WHAT_IT_IS = """
    SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
    FROM pragma_application_id, pragma_user_version
"""
_GET = """
    SELECT value FROM entries
    WHERE origin = ? AND used >= ? AND typeof(value) = 'blob' AND length(value) <= ?
"""
_PUT = "INSERT OR REPLACE INTO entries (origin, used, value) VALUES (?, ?, ?)"
_DELETE = "DELETE FROM entries WHERE origin = ?"
# Another program may have stored an origin that is no text, or a text that is no UTF-8.
_ORIGINS = """
    SELECT CAST(origin AS BLOB) FROM entries
    WHERE origin >= CAST(? AS TEXT) AND typeof(origin) = 'text' AND used >= ?
    ORDER BY origin LIMIT ?
"""
_LEASE = """
    INSERT INTO leases (origin, token, taken, until) VALUES (?, ?, ?, ?)
    ON CONFLICT (origin) DO UPDATE
    SET token = excluded.token, taken = excluded.taken, until = excluded.until
    WHERE leases.until <= excluded.taken
    OR leases.taken > excluded.taken + 1 -- or the clock was set back
    OR leases.until > excluded.taken + 86400 -- or it was not taken here
"""
_RELEASE = "DELETE FROM leases WHERE origin = ? AND token = ?"
_SWEEP = "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries WHERE used < ? LIMIT ?)"
_SWEEP_LEASES = "DELETE FROM leases WHERE until < ?"

_PAGE = 1000  # origins listed at a time
# expired entries deleted by each call that stores: enough to keep pace with the crawl
_SWEEP_ROWS = 50
_BUSY_SECS = 5.0  # how long to wait while another process writes
# Errors that say that a file is broken; the second is of a message with damaged bytes. Errors of
# their subclasses (locked, full, read-only) say nothing against the file.
_BROKEN = (sqlite3.DatabaseError, UnicodeDecodeError)

logger = logging.getLogger(__name__)


class ForeignFileError(StorageError):
    """The file does not say that it is ours: it stays as it is."""


class SqliteStorage(Storage):
    """A `Storage` in one SQLite file.

    Args:
        path: the file; its directory is made.
        max_body: bounds the bodies that are returned, in bytes.
        read_only: nothing is created, renamed or written to, and only the methods that read may be
            used.
        clock: returns seconds since the epoch.

    Raises:
        ForeignFileError: the file does not say that it is ours.
        StorageError: it cannot be opened now, or not for writing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_body: int = MAX_BYTES,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path).absolute()
        self._max_body = max_body
        self._read_only = read_only
        self._clock = clock
        self._lock = Lock()  # one connection serves all threads in turn
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # the file that `_connection` has open
        if read_only:
            self._run("SELECT 1")  # which opens the file
        else:
            self._run(_SWEEP_LEASES, (clock(),))

    def get(self, origin: str) -> Entry | None:
        """Return the entry, unless it is too old or too long."""
        values = origin, self._today() - KEEP_DAYS, most_bytes(self._max_body)
        rows, _ = self._run(_GET, values)
        if not rows:
            return None
        return decode(rows[0][0], self._max_body)

    def put(self, origin: str, entry: Entry) -> None:
        """Store an entry, and delete some old ones."""
        today = self._today()
        self._run(_PUT, (origin, today, encode(entry)))
        self._run(_SWEEP, (today - KEEP_DAYS, _SWEEP_ROWS))

    def delete(self, origin: str) -> bool:
        """Forget an origin; return whether it had an entry."""
        _, deleted = self._run(_DELETE, (origin,))
        return bool(deleted)

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin` if it is free or has run out."""
        token = secrets.token_hex(8)
        now = self._clock()
        _, taken = self._run(_LEASE, (origin, token, now, now + secs))
        if not taken:
            return None
        return token

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        self._run(_RELEASE, (origin, token))

    def origins(self) -> Iterator[str]:
        """Yield the origins in order. They are read page by page, so that writers do not wait."""
        oldest = self._today() - KEEP_DAYS
        start = b""
        while page := self._run(_ORIGINS, (start, oldest, _PAGE))[0]:
            for (origin,) in page:
                with suppress(UnicodeDecodeError):
                    yield origin.decode()
            start = page[-1][0] + b"\0"  # the next text in order

    def _today(self) -> int:
        return int(self._clock() // 86400)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._disconnect()

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> tuple[list[Any], int]:
        """Return the rows of a statement, and how many it has changed.

        If the file is broken, set it aside and run the statement on a new one.
        """
        with self._lock:
            try:
                try:
                    return self._execute(statement, values)
                except _BROKEN as error:
                    if type(error) not in _BROKEN:
                        raise
                    self._set_aside(error)
                    return self._execute(statement, values)
            except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
                raise StorageError(f"cannot use {self._path}: {error}") from error

    def _execute(self, statement: str, values: tuple[object, ...]) -> tuple[list[Any], int]:
        cursor = self._current().execute(statement, values)
        return cursor.fetchall(), cursor.rowcount

    def _current(self) -> sqlite3.Connection:
        """Return a connection to the file at the path now.

        Another process may have set aside the one that we had open.
        """
        while self._connection is None or self._file != _identity(self._path):
            self._disconnect()
            self._file = _identity(self._path)
            self._connection = self._connect()
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> sqlite3.Connection:
        """Open the file, or make it. Reading alone has an empty table where there is none.

        Raises:
            ForeignFileError: the file is another program's.
            sqlite3.DatabaseError: the file is broken, or of another version, or no database.
            sqlite3.OperationalError: it cannot be used now.
        """
        where = f"file:{quote(bytes(self._path))}"
        if self._read_only:
            where = self._to_read(where)
        else:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            where, uri=True, timeout=_BUSY_SECS, isolation_level=None, check_same_thread=False
        )
        try:
            if not self._is_begun(connection):
                self._begin(connection)
            # after a power cut the last writes may be gone, no more
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _to_read(self, where: str) -> str:
        """Return how SQLite opens the file and creates nothing, not even beside it."""
        if Path(f"{self._path}-wal").exists():  # another process has it open
            return f"{where}?mode=ro"
        if self._path.exists():
            return f"{where}?immutable=1"
        return "file::memory:"

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Make the tables, unless another process does so at the same time."""
        if self._read_only:
            connection.execute("CREATE TEMP TABLE entries (origin, used, value)")
            return
        # SQLite does not wait for another process that switches to write-ahead logging, too
        with _alone(self._path):
            if not self._is_begun(connection):
                # pages that are not used are given back
                connection.execute("PRAGMA auto_vacuum = FULL")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(_SCHEMA)
                # so that the file itself says whose it is
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _is_begun(self, connection: sqlite3.Connection) -> bool:
        """Whether the file has our tables; False if it is empty. Raises what `_connect` raises."""
        application_id, version, tables = connection.execute(_WHAT_IT_IS).fetchone()
        if application_id == _APPLICATION_ID:
            if version != _SCHEMA_VERSION:
                raise sqlite3.DatabaseError(f"schema version {version}, expected {_SCHEMA_VERSION}")
            return True
        # SQLite takes a file of one byte for an empty one
        is_one_byte = self._file is not None and self._path.stat().st_size == 1
        if application_id or version or tables or is_one_byte:
            raise ForeignFileError(
                f"{self._path} is another program's and stays as it is; "
                "set GBOT_ROBOTS_SQLITE_PATH to another file"
            )
        return False

    def _set_aside(self, error: Exception) -> None:
        """Rename the file that `_current` has found broken, unless another process has.

        Raises:
            ForeignFileError: the file does not say that it is ours.
            sqlite3.DatabaseError: this storage may only read.
        """
        # To close a file that SQLite has open here, as a look into it does, would end SQLite's
        # locks on it.
        self._disconnect()
        if not _says_it_is_ours(self._path) and _identity(self._path) == self._file:
            raise ForeignFileError(
                f"{self._path} cannot be read ({error}), and does not say that it is "
                "this plugin's: it stays as it is. Delete it if you know that it is, "
                "or set GBOT_ROBOTS_SQLITE_PATH to another file"
            ) from error
        if self._read_only:
            raise error
        with _alone(self._path):
            if _identity(self._path) != self._file:
                return
            aside = Path(f"{self._path}.set-aside-{time.time():.3f}")
            for part in ("-wal", "-shm", ""):  # the file itself last
                with suppress(FileNotFoundError):
                    Path(f"{self._path}{part}").rename(f"{aside}{part}")
        logger.warning(
            "%s cannot be read (%s): renamed to %s; a new file replaces it",
            self._path,
            error,
            aside.name,
        )


def _says_it_is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            header = file.read(_APPLICATION_ID_AT + 4)
    except FileNotFoundError:
        return False
    return header[_APPLICATION_ID_AT:] == _APPLICATION_ID.to_bytes(4, "big")


def _identity(path: Path) -> tuple[int, int] | None:
    """Return an identity of the file at `path` now; None if there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes out, by SQLite's own lock on an empty file beside `path`.

    A kill releases the lock.
    """
    with closing(sqlite3.connect(f"{path}.lock", timeout=_BUSY_SECS, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield
