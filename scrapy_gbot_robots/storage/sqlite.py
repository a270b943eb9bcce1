"""Entries in one SQLite file that several processes on one machine use at once.

Operations wanted: each method in one statement, since each may wait for the right to run Python.
A process that only reads waits for no other. Of all processes, one gets the lease of an origin.

The file has a write-ahead log, so readers go on while one process writes. It survives a kill at any
time. A file that says that it is ours, and is broken, is renamed, and a new one begun. Any other
file, a database or not, is refused (`ForeignFileError`) and stays as it is.

Warning: another process may set a broken file aside and begin a new one while this process has the
old one open. So whoever finds a file broken compares it with that at the path.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from ..core.lines import MAX_BYTES
from ..policy.outages import KEEP_DAYS, Entry
from .advice import on_sqlite
from .base import Storage, StorageError
from .codec import decode, encode, most_bytes

_APPLICATION_ID = 0x47425254  # "GBRT": says that a file is ours
# its place in a file: 4 bytes, big-endian (sqlite.org/fileformat.html, "The Database Header")
_APPLICATION_ID_AT = 68
# Whoever stores an entry also ends his lease, and deletes some entries that are too old: enough to
# keep pace with the crawl.
_AFTER_STORING = f"""
    ON entries BEGIN
        DELETE FROM leases WHERE origin = new.origin AND token = new.token;
        DELETE FROM entries WHERE rowid IN
            (SELECT rowid FROM entries WHERE used < new.used - {KEEP_DAYS} LIMIT 50);
    END
"""  # noqa: S608  the number is ours
# `used` is the day, since the epoch, on which the entry was stored: one that is in use is stored
# anew all the time. Pages that are not used are given back.
_SCHEMA = f"""
    PRAGMA auto_vacuum = FULL;
    PRAGMA journal_mode = WAL;
    BEGIN IMMEDIATE;
    CREATE TABLE IF NOT EXISTS entries (
        origin TEXT PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL, token TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS entries_used ON entries (used);
    CREATE TABLE IF NOT EXISTS leases
        (origin TEXT PRIMARY KEY, token TEXT NOT NULL, until REAL NOT NULL);
    CREATE TRIGGER IF NOT EXISTS stored AFTER INSERT {_AFTER_STORING};
    CREATE TRIGGER IF NOT EXISTS stored_again AFTER UPDATE {_AFTER_STORING};
    PRAGMA application_id = {_APPLICATION_ID};
    COMMIT;
    PRAGMA wal_checkpoint(PASSIVE); -- so that the file itself says whose it is
"""
# One statement, so that it sees all or nothing of what another process that makes the file writes.
_WHAT_IT_IS = """
    SELECT application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id
"""
_GET = """
    SELECT value FROM entries
    WHERE origin = ? AND used >= ? AND typeof(value) = 'blob' AND length(value) <= ?
"""
_STORE = """
    INSERT INTO entries (origin, used, value, token) VALUES (?, ?, ?, ?) ON CONFLICT (origin)
    DO UPDATE SET used = excluded.used, value = excluded.value, token = excluded.token
"""
_DELETE = "DELETE FROM entries WHERE origin = ?"
_ORIGINS = """
    SELECT rowid, origin FROM entries
    WHERE rowid > ? AND typeof(origin) = 'text' AND used >= ? ORDER BY rowid LIMIT ?
"""
# A lease of more than a day was not taken here, or the clock was set back.
_LEASE = """
    INSERT INTO leases (origin, token, until) VALUES (?1, ?2, ?3 + ?4)
    ON CONFLICT (origin) DO UPDATE SET token = excluded.token, until = excluded.until
    WHERE leases.until NOT BETWEEN ?3 AND ?3 + 86400
"""
# Leases that ran out a day ago are those of processes that were killed.
_RELEASE = """
    DELETE FROM leases
    WHERE origin = ? AND token = ? OR until < CAST(strftime('%s', 'now') AS INTEGER) - 86400
"""

_PAGE = 1000  # origins listed at a time
_BUSY_SECS = 5.0  # how long to wait while another process writes
# Errors that say that a file is broken; the second is of a message with damaged bytes. Errors of
# their subclasses (locked, full, read-only) say nothing against the file.
_BROKEN = (sqlite3.DatabaseError, UnicodeDecodeError)

_FOREIGN = (
    "%s does not say that it is this plugin's: it stays as it is. Delete it if you know that it "
    "is, or set GBOT_ROBOTS_SQLITE_PATH to another file"
)

logger = logging.getLogger(__name__)


class ForeignFileError(StorageError):
    """The file does not say that it is ours: it stays as it is."""


class SqliteStorage(Storage):
    """A `Storage` in one SQLite file.

    Args:
        path: the file; its directory is made.
        max_body: bounds the bodies that are returned, in bytes.

    Raises:
        ForeignFileError: the file does not say that it is ours.
        StorageError: it cannot be opened now.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_body: int = MAX_BYTES) -> None:
        self._path = Path(path).absolute()
        self._max_body = max_body
        self._lock = Lock()  # one connection serves all threads in turn
        self._connection: sqlite3.Connection | None = None
        # of the file that `_connection` has open, or of one that was at the path just before
        self._inode = 0
        self._run("SELECT 1")  # which opens the file

    def get(self, origin: str) -> Entry | None:
        """Return the entry, unless it is too old or too long."""
        values = origin, _today() - KEEP_DAYS, most_bytes(self._max_body)
        rows, _ = self._run(_GET, values)
        if not rows:
            return None
        return decode(rows[0][0], self._max_body)

    def put(self, origin: str, entry: Entry) -> None:
        """Store an entry, and delete some old ones."""
        self.store_and_release(origin, entry, "")

    def delete(self, origin: str) -> bool:
        """Forget an origin; return whether it had an entry."""
        _, deleted = self._run(_DELETE, (origin,))
        return bool(deleted)

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin` if it is free or has run out."""
        token = secrets.token_hex(8)
        _, taken = self._run(_LEASE, (origin, token, time.time(), secs))
        if not taken:
            return None
        return token

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        self._run(_RELEASE, (origin, token))

    def store_and_release(self, origin: str, entry: Entry | None, token: str) -> None:
        """Store an entry, delete some old ones, and end a lease."""
        if entry is None:
            self.release(origin, token)
        else:
            self._run(_STORE, (origin, _today(), encode(entry), token))

    def origins(self) -> Iterator[str]:
        """Yield the origins page by page, so that writers do not wait."""
        oldest = _today() - KEEP_DAYS
        start = 0
        while page := self._run(_ORIGINS, (start, oldest, _PAGE))[0]:
            for start, origin in page:  # noqa: B007  the next page begins behind the last row
                yield origin

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> tuple[list[Any], int]:
        """Return the rows of a statement, and how many it has changed.

        If the file is broken, set it aside and run the statement on a new one.
        """
        with self._lock:
            try:
                try:
                    return self._execute(statement, values)
                except _BROKEN as error:
                    is_taken_away = self._inode != _inode_of(self._path)
                    if type(error) not in _BROKEN and not is_taken_away:
                        raise
                    self._set_aside(error)
                    return self._execute(statement, values)
            except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
                why, advice = on_sqlite(error, self._path)
                what = f"cannot use {self._path}: {error}"
                raise StorageError(f"{what}; {why}" if why else what, advice) from error

    def _execute(self, statement: str, values: tuple[object, ...]) -> tuple[list[Any], int]:
        if self._connection is None:
            self._connection = self._connect()
        cursor = self._connection.execute(statement, values)
        return cursor.fetchall(), cursor.rowcount

    def _connect(self) -> sqlite3.Connection:
        """Open the file, or make it.

        Raises:
            ForeignFileError: the file is another program's.
            sqlite3.DatabaseError: the file is broken, or no database.
            sqlite3.OperationalError: it cannot be used now.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Noted first: if another process puts a new file there meanwhile, this is not its number.
        self._inode = _inode_of(self._path)
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECS, isolation_level=None, check_same_thread=False
        )
        # another program may have stored a text that is no UTF-8
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            self._make_tables(connection)
            # after a power cut the last writes may be gone, no more
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        """Make the tables if the file is empty.

        Raises:
            ForeignFileError: the file has another program's tables, or says that it is another's.
            sqlite3.Error: the tables cannot be made.
        """
        application_id, tables = connection.execute(_WHAT_IT_IS).fetchone()
        if application_id == _APPLICATION_ID:
            return
        if application_id or tables:
            raise ForeignFileError(_FOREIGN % self._path)
        # SQLite does not wait for another process that switches to write-ahead logging, too
        with _alone(self._path):
            connection.executescript(_SCHEMA)
            self._inode = _inode_of(self._path)  # SQLite may have made the file just now

    def _set_aside(self, error: Exception) -> None:
        """Rename the file that this storage has found broken, unless another process has.

        Raises:
            ForeignFileError: the file does not say that it is ours.
        """
        # To close a file that SQLite has open here, as a look into it does, would end SQLite's
        # locks on it.
        self._disconnect()
        if _inode_of(self._path) == self._inode and not self._is_ours():
            raise ForeignFileError(_FOREIGN % self._path) from error  # and nothing lies beside it
        with _alone(self._path):
            if _inode_of(self._path) != self._inode:
                return
            if not self._is_ours():
                raise ForeignFileError(_FOREIGN % self._path) from error
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

    def _is_ours(self) -> bool:
        """Whether the header of the file, which is not open here, says that it is ours."""
        with self._path.open("rb") as file:
            header = file.read(_APPLICATION_ID_AT + 4)
        return header[_APPLICATION_ID_AT:] == _APPLICATION_ID.to_bytes(4, "big")


def _today() -> int:
    return int(time.time() // 86400)


def _inode_of(path: Path) -> int:
    """Return the number of the file at `path`; 0 if there is none."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes out, by SQLite's own lock on an empty file beside `path`.

    A kill releases the lock.
    """
    with closing(sqlite3.connect(f"{path}.lock", timeout=_BUSY_SECS, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield
