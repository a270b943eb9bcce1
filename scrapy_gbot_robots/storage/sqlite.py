"""A storage in one SQLite file that several processes on one machine can use at the same time.

It keeps an *entry* for each origin. The entry contains a copy of the robots.txt. The *lease* of an
origin is the right to fetch its robots.txt. Only one of the processes that share the file can hold
this lease at a time.

If possible, a method runs only one SQL statement, because the thread has to wait for Python's
global interpreter lock after each statement. The file has a write-ahead log. So readers do not wait
while a process writes, and the file stays intact if a process is killed.

The header of the file contains the application ID of this plugin. If a file with this ID is broken,
it is renamed, and a new file is created. An empty file gets this ID. No other file without the ID
is ever changed (`ForeignFileError`).

Warning: two processes may find at the same time that the file is broken. When one process has
renamed it and created a new file, the other process must not rename the new file. So before a
process renames the file, it checks that no other process has replaced it.
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

_APPLICATION_ID = 0x47425254  # "GBRT" in ASCII
# The offset of the application ID in a file. The ID has 4 bytes, the most significant byte first
# (sqlite.org/fileformat.html, "The Database Header").
_APPLICATION_ID_AT = 68
# The statements of the triggers `stored` and `stored_again`, which run after an entry was stored.
# The first statement ends the lease whose token is in the new row. The second statement deletes up
# to 50 old entries.
_AFTER_STORING = f"""
    ON entries BEGIN
        DELETE FROM leases WHERE origin = new.origin AND token = new.token;
        DELETE FROM entries WHERE rowid IN
            (SELECT rowid FROM entries WHERE used < new.used - {KEEP_DAYS} LIMIT 50);
    END
"""  # noqa: S608  the number is ours
# The tables. The column `used` is the day on which an entry was last stored, as the number of days
# since 1970. Crawls that use an entry fetch its robots.txt again from time to time, and store a new
# entry. So if this day is long ago, no crawl uses the entry. With auto_vacuum, the file becomes
# smaller when entries are deleted.
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
# A query for the application ID and for the number of tables, indexes and triggers. It must be a
# single statement. Between two statements, another process could create the tables and set the ID.
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
# A statement that takes the lease of an origin, unless another process holds it. A lease that ends
# in more than a day is replaced, because this plugin has not made it, or the clock was set back.
_LEASE = """
    INSERT INTO leases (origin, token, until) VALUES (?1, ?2, ?3 + ?4)
    ON CONFLICT (origin) DO UPDATE SET token = excluded.token, until = excluded.until
    WHERE leases.until NOT BETWEEN ?3 AND ?3 + 86400
"""
# A statement that ends a lease. It also deletes all leases that expired more than a day ago. They
# are from processes that were killed before they could end their leases.
_RELEASE = """
    DELETE FROM leases
    WHERE origin = ? AND token = ? OR until < CAST(strftime('%s', 'now') AS INTEGER) - 86400
"""

_PAGE = 1000  # One statement returns at most this many origins.
_BUSY_SECS = 5.0  # A statement waits at most this long while another process writes.
# An exception of one of these two classes means that the file is broken. An exception of a subclass
# of DatabaseError has other causes, such as a locked file or a full disk. Python raises a
# UnicodeDecodeError if the error message of SQLite contains damaged bytes from the file.
_BROKEN = (sqlite3.DatabaseError, UnicodeDecodeError)

_FOREIGN = (
    "%s is not a database of scrapy-gbot-robots, so it is not touched. Set GBOT_ROBOTS_SQLITE_PATH "
    "to another file, or delete this one if it is not needed"
)

logger = logging.getLogger(__name__)


class ForeignFileError(StorageError):
    """Raised for a file that does not have the application ID of this plugin.

    The file belongs to another program, so it is not changed.
    """


class SqliteStorage(Storage):
    """A `Storage` in one SQLite file.

    Args:
        path: the path of the file. If the file or its directory does not exist, it is created.
        max_body: if the robots.txt in an entry has more bytes than this, the entry is not returned.
        creates: if True, tables are created in a file that has none, and a broken file is replaced
            by a new file. If False, such a file is not changed, and StorageError is raised.

    Raises:
        ForeignFileError: the file does not have the application ID of this plugin.
        StorageError: the file cannot be opened now.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, max_body: int = MAX_BYTES, creates: bool = True
    ) -> None:
        self._path = Path(path).absolute()
        self._max_body = max_body
        self._creates = creates
        self._lock = Lock()  # All threads share one connection, and use it one at a time.
        self._connection: sqlite3.Connection | None = None
        # The inode number of the file that `_connection` has open; 0 if there is no file. It shows
        # whether another process has replaced the file at `_path`.
        self._inode = 0
        self._run("SELECT 1")  # This opens the file.

    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`, or None.

        The result is None if there is no entry, or if the entry is too old, is too long or cannot
        be decoded.
        """
        values = origin, _today() - KEEP_DAYS, most_bytes(self._max_body)
        rows, _ = self._run(_GET, values)
        if not rows:
            return None
        return decode(rows[0][0], self._max_body)

    def put(self, origin: str, entry: Entry) -> None:
        """Store `entry` for `origin`, and delete some old entries."""
        self.store_and_release(origin, entry, "")

    def delete(self, origin: str) -> bool:
        """Delete the entry of `origin`. Return whether there was an entry."""
        _, deleted = self._run(_DELETE, (origin,))
        return bool(deleted)

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin`, unless another process holds it. Return its token or None."""
        token = secrets.token_hex(8)
        _, taken = self._run(_LEASE, (origin, token, time.time(), secs))
        if not taken:
            return None
        return token

    def release(self, origin: str, token: str) -> None:
        """End the lease of `origin` if its token is `token`."""
        self._run(_RELEASE, (origin, token))

    def store_and_release(self, origin: str, entry: Entry | None, token: str) -> None:
        """Store `entry`, and end the lease whose token is `token`. Delete some old entries.

        One SQL statement and its triggers do all this. If `entry` is None, nothing is stored, and
        no old entries are deleted.
        """
        if entry is None:
            self.release(origin, token)
        else:
            self._run(_STORE, (origin, _today(), encode(entry), token))

    def origins(self) -> Iterator[str]:
        """Yield each origin that has an entry.

        A statement reads at most 1,000 origins. Between two statements, other processes can write.
        """
        oldest = _today() - KEEP_DAYS
        start = 0
        while page := self._run(_ORIGINS, (start, oldest, _PAGE))[0]:
            # After the loop, `start` is the row ID of the last origin in `page`.
            for start, origin in page:  # noqa: B007
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
        """Run a statement. Return its rows, and the number of rows that it has changed.

        If the file is broken, rename it, create a new file, and run the statement again.

        Raises:
            ForeignFileError: the file does not have the application ID of this plugin.
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
        """Open the file, or create it if it does not exist.

        Raises:
            ForeignFileError: the file belongs to another program.
            sqlite3.DatabaseError: the file is broken, or is not a database.
            sqlite3.OperationalError: the file cannot be used now.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # The inode number is read before the file is opened. Another process may replace the file
        # between these two steps. Then `_inode` is the number of the old file, so `_set_aside` does
        # not rename the new file.
        self._inode = _inode_of(self._path)
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECS, isolation_level=None, check_same_thread=False
        )
        # Another program may have written texts that are not valid UTF-8 into the file.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            self._make_tables(connection)
            # With `synchronous = NORMAL`, a power cut may undo the last writes, but does not damage
            # the file.
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        """Create the tables if the file is new or empty.

        Raises:
            ForeignFileError: the file has tables or the application ID of another program.
            StorageError: the file has no tables, and `creates` is False.
            sqlite3.Error: the tables cannot be created.
        """
        application_id, tables = connection.execute(_WHAT_IT_IS).fetchone()
        if application_id == _APPLICATION_ID:
            return
        if application_id or tables:
            raise ForeignFileError(_FOREIGN % self._path)
        if not self._creates:
            raise StorageError(f"{self._path} is empty: no crawl has stored a robots.txt in it")
        # If two processes switch the file to write-ahead logging at the same time, SQLite raises an
        # exception in one of them. `_alone` makes the second process wait for the first one.
        with _alone(self._path):
            connection.executescript(_SCHEMA)
            # If the file did not exist, `executescript` has created it.
            self._inode = _inode_of(self._path)

    def _set_aside(self, error: Exception) -> None:
        """Rename the broken file, unless another process has already replaced it.

        Raises:
            ForeignFileError: the file does not have the application ID of this plugin.
            Exception: `creates` is False. The file is not renamed, and `error` is raised again.
        """
        # SQLite must close the file before `_is_ours` opens and closes it. When a process closes a
        # file, the operating system releases all locks of the process on this file, even those of
        # SQLite.
        self._disconnect()
        if _inode_of(self._path) == self._inode and not self._is_ours():
            # This check comes before `_alone`, which creates a lock file in the same directory. If
            # the database belongs to another program, this plugin must not create any file.
            raise ForeignFileError(_FOREIGN % self._path) from error
        if _inode_of(self._path) == self._inode and not self._creates:
            raise error
        with _alone(self._path):
            if _inode_of(self._path) != self._inode:
                return
            if not self._is_ours():
                raise ForeignFileError(_FOREIGN % self._path) from error
            aside = Path(f"{self._path}.set-aside-{time.time():.3f}")
            # The database itself is renamed last, after the other two files that belong to it.
            for part in ("-wal", "-shm", ""):
                with suppress(FileNotFoundError):
                    Path(f"{self._path}{part}").rename(f"{aside}{part}")
        logger.warning(
            "%s is a broken database (%s): it was renamed to %s, and a new file replaces it",
            self._path,
            error,
            aside.name,
        )

    def _is_ours(self) -> bool:
        """Whether the file has the application ID of this plugin.

        Call this method only while SQLite does not have the file open. Otherwise SQLite would lose
        its locks on the file.
        """
        with self._path.open("rb") as file:
            header = file.read(_APPLICATION_ID_AT + 4)
        return header[_APPLICATION_ID_AT:] == _APPLICATION_ID.to_bytes(4, "big")


def _today() -> int:
    return int(time.time() // 86400)


def _inode_of(path: Path) -> int:
    """Return the inode number of the file at `path`, or 0 if there is no file."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Return a context manager. Only one process at a time can run its `with` block.

    During the block, the process holds an exclusive lock on a second, empty SQLite file, whose name
    is `path` with ".lock" added. If the process is killed, the operating system releases the lock.
    """
    with closing(sqlite3.connect(f"{path}.lock", timeout=_BUSY_SECS, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield
