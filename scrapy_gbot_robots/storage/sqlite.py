"""Entries in one SQLite file that several processes on one machine use at the same time.

Operations wanted: each method needs one statement, because each statement may wait for Python's
global lock. A process that only reads waits for no other process. Of all processes, one gets the
lease of an origin.

The file has a write-ahead log, so readers go on while one process writes. It survives a kill at any
time. If the header of a broken file shows that the file is ours, the file is renamed, and a new one
is made. Any other file stays as it is, whether or not it is a database (`ForeignFileError`).

Warning: another process may rename a broken file and make a new one while this process has the old
one open. So a process that finds its file broken first checks whether the file at the path is still
the same.
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

_APPLICATION_ID = 0x47425254  # "GBRT" in ASCII. It marks a file as ours.
# The offset of these 4 bytes, big-endian (sqlite.org/fileformat.html, "The Database Header").
_APPLICATION_ID_AT = 68
# A statement that stores an entry also ends the lease and deletes up to 50 entries that are too
# old, which is enough to keep pace with the crawl.
_AFTER_STORING = f"""
    ON entries BEGIN
        DELETE FROM leases WHERE origin = new.origin AND token = new.token;
        DELETE FROM entries WHERE rowid IN
            (SELECT rowid FROM entries WHERE used < new.used - {KEEP_DAYS} LIMIT 50);
    END
"""  # noqa: S608  the number is ours
# `used` is the day since the epoch on which the entry was stored. An entry that is in use is stored
# again at each fetch. Free pages of the file are given back to the disk.
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
    PRAGMA wal_checkpoint(PASSIVE); -- This writes the application ID into the file itself.
"""
# This is one statement, because another process may be making the same file. So it sees all that
# the other process writes, or nothing.
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
# A lease with more than a day left is replaced. It is not from this module, or the clock was set
# back.
_LEASE = """
    INSERT INTO leases (origin, token, until) VALUES (?1, ?2, ?3 + ?4)
    ON CONFLICT (origin) DO UPDATE SET token = excluded.token, until = excluded.until
    WHERE leases.until NOT BETWEEN ?3 AND ?3 + 86400
"""
# A process that was killed has left its leases. They are deleted a day after they ran out.
_RELEASE = """
    DELETE FROM leases
    WHERE origin = ? AND token = ? OR until < CAST(strftime('%s', 'now') AS INTEGER) - 86400
"""

_PAGE = 1000  # How many origins one statement lists.
_BUSY_SECS = 5.0  # A statement waits this long while another process writes.
# Exceptions that mean a broken file. SQLite's message may contain damaged bytes, which raise the
# second one. Subclasses of these (locked, full, read-only) do not mean a broken file.
_BROKEN = (sqlite3.DatabaseError, UnicodeDecodeError)

_FOREIGN = (
    "%s is not a database of scrapy-gbot-robots, so it is not touched. Set GBOT_ROBOTS_SQLITE_PATH "
    "to another file, or delete this one if it is not needed"
)

logger = logging.getLogger(__name__)


class ForeignFileError(StorageError):
    """The header of the file does not show that it is ours, so it is not touched."""


class SqliteStorage(Storage):
    """A `Storage` in one SQLite file.

    Args:
        path: the file. If it or its directory is missing, it is made.
        max_body: an entry with a longer body, in bytes, is not returned.

    Raises:
        ForeignFileError: the header of the file does not show that it is ours.
        StorageError: the file cannot be opened now.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_body: int = MAX_BYTES) -> None:
        self._path = Path(path).absolute()
        self._max_body = max_body
        self._lock = Lock()  # The threads use the one connection in turn.
        self._connection: sqlite3.Connection | None = None
        # The number of the file that `_connection` has open. It may be the number of a file that
        # was at the path just before.
        self._inode = 0
        self._run("SELECT 1")  # This opens the file.

    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`; None if there is none, or if it is too old or too long."""
        values = origin, _today() - KEEP_DAYS, most_bytes(self._max_body)
        rows, _ = self._run(_GET, values)
        if not rows:
            return None
        return decode(rows[0][0], self._max_body)

    def put(self, origin: str, entry: Entry) -> None:
        """Store an entry, and delete some old ones."""
        self.store_and_release(origin, entry, "")

    def delete(self, origin: str) -> bool:
        """Delete the entry of `origin`; return whether there was one."""
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
        """End the lease of `origin` if it has this `token`."""
        self._run(_RELEASE, (origin, token))

    def store_and_release(self, origin: str, entry: Entry | None, token: str) -> None:
        """Store an entry, delete some old ones, and end a lease, in one statement."""
        if entry is None:
            self.release(origin, token)
        else:
            self._run(_STORE, (origin, _today(), encode(entry), token))

    def origins(self) -> Iterator[str]:
        """Yield the origins page by page, so that writers do not wait."""
        oldest = _today() - KEEP_DAYS
        start = 0
        while page := self._run(_ORIGINS, (start, oldest, _PAGE))[0]:
            for start, origin in page:  # noqa: B007  The next page begins after the last row.
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
        """Return the rows of a statement, and how many rows it has changed.

        If the file is broken, rename it, and run the statement on a new file.

        Raises:
            ForeignFileError: the header of the file does not show that it is ours.
            StorageError: the file cannot be used now.
        """
        with self._lock:
            try:
                try:
                    return self._execute(statement, values)
                except _BROKEN as error:
                    is_replaced = self._inode != _inode_of(self._path)
                    if type(error) not in _BROKEN and not is_replaced:
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
            ForeignFileError: the file belongs to another program.
            sqlite3.DatabaseError: the file is broken, or is not a database.
            sqlite3.OperationalError: the file cannot be used now.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # The number is read before the file is opened. If another process puts a new file there
        # meanwhile, the new file has another number.
        self._inode = _inode_of(self._path)
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECS, isolation_level=None, check_same_thread=False
        )
        # Another program may have stored a text that is not valid UTF-8.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            self._make_tables(connection)
            # A power cut may lose the last writes, but does not break the file.
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        """Make the tables if the file is empty.

        Raises:
            ForeignFileError: the file has tables or an application ID of another program.
            sqlite3.Error: the tables cannot be made.
        """
        application_id, tables = connection.execute(_WHAT_IT_IS).fetchone()
        if application_id == _APPLICATION_ID:
            return
        if application_id or tables:
            raise ForeignFileError(_FOREIGN % self._path)
        # If two processes switch to write-ahead logging, SQLite fails without waiting.
        with _alone(self._path):
            connection.executescript(_SCHEMA)
            self._inode = _inode_of(self._path)  # SQLite may have made the file just now.

    def _set_aside(self, error: Exception) -> None:
        """Rename the file that this storage has found broken, unless another process has done so.

        Raises:
            ForeignFileError: the header of the file does not show that it is ours.
        """
        # SQLite must close the file first. While SQLite has it open, this process would end
        # SQLite's locks by reading the header and closing the file.
        self._disconnect()
        if _inode_of(self._path) == self._inode and not self._is_ours():
            # This comes before `_alone`, which would leave a lock file beside the foreign file.
            raise ForeignFileError(_FOREIGN % self._path) from error
        with _alone(self._path):
            if _inode_of(self._path) != self._inode:
                return
            if not self._is_ours():
                raise ForeignFileError(_FOREIGN % self._path) from error
            aside = Path(f"{self._path}.set-aside-{time.time():.3f}")
            for part in ("-wal", "-shm", ""):  # The file itself comes last.
                with suppress(FileNotFoundError):
                    Path(f"{self._path}{part}").rename(f"{aside}{part}")
        logger.warning(
            "%s is a broken database (%s): it was renamed to %s, and a new file replaces it",
            self._path,
            error,
            aside.name,
        )

    def _is_ours(self) -> bool:
        """Whether the header of the file shows that it is ours. SQLite must not have it open."""
        with self._path.open("rb") as file:
            header = file.read(_APPLICATION_ID_AT + 4)
        return header[_APPLICATION_ID_AT:] == _APPLICATION_ID.to_bytes(4, "big")


def _today() -> int:
    return int(time.time() // 86400)


def _inode_of(path: Path) -> int:
    """Return the inode number of the file at `path`; 0 if there is no file."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process at a time into this context, by SQLite's lock on an empty file beside `path`.

    If the process is killed, the lock is released.
    """
    with closing(sqlite3.connect(f"{path}.lock", timeout=_BUSY_SECS, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield
