"""Entries in one SQLite file that several processes on one machine use at once.

It also has the versions of each robots.txt.

Operations wanted: each method for one origin in one statement, and for many origins in one
transaction. A process that only reads waits for no other. Of all processes, one gets the lease of
an origin.

Plan: the file has a write-ahead log, so readers go on while one process writes. `find` reads first,
without a lock. In a crawl that was here before, most entries are good and nothing is left to do.
For the others, one transaction reads again, since another process may have stored a good entry
meanwhile, and takes the leases.

The file survives a kill at any time. No other file is deleted or overwritten. A file that is
broken, or of another version of this module, is renamed, but only if its own bytes say that it is
ours. Any other file, a database or not, is refused and stays as it is. Reading alone creates and
renames nothing.

A version is stored when a definite answer differs, byte by byte, from the one before. The last few
versions of each origin stay, even after its entry is gone, since people compare them over years.

Warning: another process may set a broken file aside and begin a new one while this process has the
old one open. So each call compares the file at the path with the open one.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path, PurePath
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import quote

from ..core.urls import shown
from ..policy.outages import KEEP_DAYS, Copy, Entry
from .base import BatchStorage, Found, Result, StorageError, Wanted
from .codec import MAX_BODY, decode, encode, most_bytes

_T = TypeVar("_T")

_APPLICATION_ID = 0x47425254  # "GBRT": says that a file is ours
_SCHEMA_VERSION = 1
# `used` is the day, since the epoch, on which the entry was stored: one that is in use is stored
# anew all the time.
_ENTRIES = (
    "CREATE TABLE entries (origin TEXT PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL)"
)
_LEASES = (
    "CREATE TABLE leases "
    "(origin TEXT PRIMARY KEY, token TEXT NOT NULL, taken REAL NOT NULL, until REAL NOT NULL)"
)
_SCHEMA = f"""
    BEGIN IMMEDIATE;
    {_ENTRIES};
    CREATE INDEX entries_used ON entries (used);
    {_LEASES};
    PRAGMA application_id = {_APPLICATION_ID};
    PRAGMA user_version = {_SCHEMA_VERSION};
    COMMIT;
"""
# One statement, so that it sees all or nothing of what another process that makes the file writes.
_WHAT_IT_IS = """
    SELECT application_id, user_version, count(name), total(name IN ('entries', 'leases')) = 2
    FROM pragma_application_id, pragma_user_version LEFT JOIN sqlite_master ON type = 'table'
"""
# how the file format begins (sqlite.org/fileformat.html, "The Database Header")
_MAGIC = b"SQLite format 3\0"
_APPLICATION_ID_AT = 68  # its place in the header: 4 bytes, big-endian
# Behind the header, the first page has the statements that made the tables, if they are few.
_HEADER_BYTES = 100
_FIRST_PAGE_BYTES = 4096
_LEAF = 13  # the first byte of a page whose rows are tables
_BUSY_SECS = 5.0  # how long to wait while another process writes

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
"""
_RELEASE = "DELETE FROM leases WHERE origin = ? AND token = ?"
_SWEEP = "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries WHERE used < ? LIMIT ?)"
_SWEEP_LEASES = "DELETE FROM leases WHERE until < ?"

# The versions of a robots.txt. Other programs may write to the file, and SQLite takes a value of
# any type in any column.
_COPIES_TABLE = """
    CREATE TABLE IF NOT EXISTS copies (
        origin TEXT NOT NULL, fetched REAL NOT NULL, value BLOB NOT NULL,
        PRIMARY KEY (origin, fetched)
    ) WITHOUT ROWID
"""
_LAST_MOMENT = 253_402_300_799  # no `datetime` is after 9999
_COPIES = f"""
    SELECT fetched, value FROM copies
    WHERE origin = ? AND fetched BETWEEN 0 AND {_LAST_MOMENT}
    AND typeof(value) = 'blob' AND length(value) <= ?
    ORDER BY fetched DESC LIMIT ?
"""  # noqa: S608  a constant
_ADD_COPY = "INSERT OR REPLACE INTO copies (origin, fetched, value) VALUES (?, ?, ?)"
# A clock that was wrong has put a version into the future, before which no other would be stored.
# For SQLite all text and all bytes, which another program may have put there, are in the future,
# too.
_DROP_FUTURE_COPIES = "DELETE FROM copies WHERE origin = ? AND fetched > ?"
_KEEP_LAST_COPIES = """
    DELETE FROM copies WHERE origin = ? AND fetched NOT IN (
        SELECT fetched FROM copies WHERE origin = ? ORDER BY fetched DESC LIMIT ?
    )
"""

_PAGE = 1000  # origins listed at a time
_SWEEP_ROWS = (
    50  # expired entries deleted by each call that stores: enough to keep pace with the crawl
)
_AHEAD_SECS = 60.0  # a version that is later than a new one by more is from the future

logger = logging.getLogger(__name__)


class SqliteStorage(BatchStorage):
    """A `Storage` in one SQLite file.

    Args:
        path: the file; its directory is made.
        max_body: bounds the bodies that are returned, in bytes.
        history: how many versions of each robots.txt are kept; 0: none is stored, and those that
            are there stay.
        read_only: nothing is created, renamed or written to, and only the methods that read may be
            used.
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
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path).absolute()
        self._max_body = max_body
        self._history = history
        self._read_only = read_only
        self._clock = clock
        self._lock = Lock()  # one connection serves all threads in turn
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # the file that `_connection` has open
        self._closed = False
        if read_only:
            self._run(lambda connection: connection.execute("SELECT 1"))  # which opens the file
        else:
            self._run(lambda connection: connection.execute(_SWEEP_LEASES, (clock(),)))

    def _get(self, connection: sqlite3.Connection, origin: str) -> Entry | None:
        """Return the entry, unless it is too old or too long."""
        values = origin, self._today() - KEEP_DAYS, most_bytes(self._max_body)
        row = connection.execute(_GET, values).fetchone()
        if row is None:
            return None
        return decode(row[0], self._max_body)

    def delete(self, origin: str) -> bool:
        """Forget an origin; return whether it had an entry."""
        deleted = self._run(lambda connection: connection.execute(_DELETE, (origin,)))
        return bool(deleted.rowcount)

    def origins(self) -> Iterator[str]:
        """Yield the origins in order. They are read page by page, so that writers do not wait."""
        oldest = self._today() - KEEP_DAYS
        start = b""
        while page := self._run(self._origins, start, oldest):
            for (origin,) in page:
                with suppress(UnicodeDecodeError):
                    yield origin.decode()
            start = page[-1][0] + b"\0"  # the next text in order

    @staticmethod
    def _origins(connection: sqlite3.Connection, start: bytes, oldest: int) -> list[Any]:
        return connection.execute(_ORIGINS, (start, oldest, _PAGE)).fetchall()

    def _lease(self, connection: sqlite3.Connection, origin: str, secs: float) -> str | None:
        """Take the lease if it is free or has run out, in one statement."""
        token = secrets.token_hex(8)
        now = self._clock()
        taken = connection.execute(_LEASE, (origin, token, now, now + secs)).rowcount
        if not taken:
            return None
        return token

    def close(self) -> None:
        """Close the file. Every later call raises StorageError."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def find(self, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        """Return the entries of many origins; take the leases of those that are not good.

        All writing is one transaction.
        """
        return self._run(self._find, wanted, secs)

    def _find(
        self, connection: sqlite3.Connection, wanted: Sequence[Wanted], secs: float
    ) -> list[Found]:
        answers: list[Found] = []
        due: list[int] = []  # places of those whose entry is not good
        for place, (origin, is_good) in enumerate(wanted):
            entry = self._get(connection, origin)
            answers.append((entry, None))
            if not is_good(entry):
                due.append(place)
        if not due:
            return answers
        with _transaction(connection):
            for place in due:
                origin, is_good = wanted[place]
                entry = self._get(connection, origin)
                token = None
                if not is_good(entry):
                    token = self._lease(connection, origin, secs)
                answers[place] = entry, token
        return answers

    def store_and_release(self, results: Sequence[Result]) -> None:
        """Store entries, end leases, and delete some old entries, in one transaction."""
        self._run(self._store_and_release, results)

    def _store_and_release(self, connection: sqlite3.Connection, results: Sequence[Result]) -> None:
        today = self._today()
        puts = [(origin, today, encode(entry)) for origin, entry, _ in results if entry is not None]
        with _transaction(connection):
            connection.executemany(_PUT, puts)
            connection.executemany(_RELEASE, [(origin, token) for origin, _, token in results])
            connection.execute(_SWEEP, (today - KEEP_DAYS, _SWEEP_ROWS))
            for origin, entry, _ in results:
                if (
                    self._history
                    and entry is not None
                    and entry.copy is not None
                    and entry.outage is None
                ):
                    self._keep_copy(connection, origin, entry.copy)

    def _keep_copy(self, connection: sqlite3.Connection, origin: str, copy: Copy) -> None:
        """Inside a transaction: store `copy` as a version, if it is a new one."""
        connection.execute(_DROP_FUTURE_COPIES, (origin, copy.fetched_at + _AHEAD_SECS))
        for last in self._copies(connection, origin, 1):
            if last.body == copy.body or last.fetched_at > copy.fetched_at:
                return
        connection.execute(_ADD_COPY, (origin, copy.fetched_at, encode(Entry(copy))))
        connection.execute(_KEEP_LAST_COPIES, (origin, origin, self._history))

    def versions(self, origin: str) -> list[Copy]:
        """Return the versions of the robots.txt of `origin`, the oldest first."""
        return self._run(self._copies, origin, -1)[::-1]

    def _copies(self, connection: sqlite3.Connection, origin: str, most: int) -> list[Copy]:
        """The latest versions that `_keep_copy` has stored. No other row counts."""
        copies: list[Copy] = []
        for at, value in connection.execute(_COPIES, (origin, most_bytes(self._max_body), most)):
            entry = decode(value, self._max_body)
            if entry is not None and entry.copy is not None and entry.copy.fetched_at == at:
                copies.append(entry.copy)
        return copies

    def _today(self) -> int:
        return int(self._clock() // 86400)

    def _run(self, act: Callable[..., _T], *args: object) -> _T:
        """Let `act` use the file.

        If the file is broken, set it aside and call `act` again on a new one.
        """
        with self._lock:
            try:
                try:
                    return self._done(act, args)
                except sqlite3.DatabaseError as error:
                    # Errors of its subclasses (locked, full, read-only) say nothing against the
                    # file.
                    if self._read_only or type(error) is not sqlite3.DatabaseError:
                        raise
                    self._set_aside(error)
                    return act(self._current(), *args)
            except (sqlite3.Error, OSError) as error:
                raise StorageError(f"cannot use {self._path}: {error}") from error

    def _done(self, act: Callable[..., _T], args: tuple[object, ...]) -> _T:
        """Let `act` use the file once.

        SQLite's message about a damaged schema has the damaged bytes, which Python cannot read.
        """
        try:
            return act(self._current(), *args)
        except UnicodeDecodeError as error:
            message = shown(error.object.decode("utf-8", "backslashreplace"))
            raise sqlite3.DatabaseError(message) from error

    def _current(self) -> sqlite3.Connection:
        """Return a connection to the file at the path now.

        Another process may have set aside the one that we had open.
        """
        if self._closed:
            raise StorageError(f"{self._path} is closed")
        while self._connection is None or self._file != _identity(self._path):
            self._disconnect()
            self._file = _identity(self._path)
            if self._read_only:
                self._connection = _connect_to_read(self._path)
            else:
                self._connection = _connect(self._path)
        return self._connection

    def _set_aside(self, error: sqlite3.DatabaseError) -> None:
        """Rename the file that `_current` has found broken, unless another process has.

        Raises:
            StorageError: the file does not say that it is ours.
        """
        self._disconnect()
        if not _says_it_is_ours(self._path) and _identity(self._path) == self._file:
            raise StorageError(
                f"{self._path} cannot be read ({error}), and does not say that it is "
                "this plugin's: it stays as it is. Delete it if you know that it is, "
                "or set GBOT_ROBOTS_SQLITE_PATH to another file"
            ) from error
        with _alone(self._path):
            if _identity(self._path) != self._file:
                return
            aside = _renamed(self._path, f"set-aside-{time.time():.3f}")
        logger.warning(
            "%s cannot be read (%s): renamed to %s; a new file replaces it",
            self._path,
            error,
            aside.name,
        )

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything inside in one transaction, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")  # fails if the file cannot be written
    with connection:
        yield


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file, or make it.

    Raises:
        StorageError: the file is another program's.
        sqlite3.DatabaseError: the file is broken, or of another version, or no database.
        sqlite3.OperationalError: it cannot be used now.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECS, isolation_level=None, check_same_thread=False
    )
    try:
        if not _is_begun(connection, path):
            with _alone(
                path
            ):  # SQLite does not wait for another process that switches to write-ahead logging, too
                if not _is_begun(connection, path):
                    connection.execute(
                        "PRAGMA auto_vacuum = FULL"
                    )  # pages that are not used are given back
                    connection.execute("PRAGMA journal_mode = WAL")
                    connection.executescript(_SCHEMA)
                    connection.execute(
                        "PRAGMA wal_checkpoint(PASSIVE)"
                    )  # so that the file itself says whose it is
        connection.execute(
            "PRAGMA synchronous = NORMAL"
        )  # after a power cut the last writes may be gone, no more
        connection.execute(_COPIES_TABLE)  # an older plugin's file lacks it
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open the file for reading alone; if none is there or begun, an empty database in memory.

    Raises:
        StorageError: the file is another program's.
        sqlite3.DatabaseError: the file is broken, or cannot be used now.
    """
    has_log = Path(f"{path}-wal").exists()
    if has_log or (path.exists() and path.stat().st_size > 0):
        where = f"{_uri(path)}?mode=ro"
        if not has_log:  # no other process has it open: a reader would create files beside it
            where += "&immutable=1"
        connection = sqlite3.connect(where, uri=True, timeout=_BUSY_SECS, check_same_thread=False)
        try:
            if _is_begun(connection, path):
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()  # it was begun on a full disk, maybe
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(_SCHEMA + _COPIES_TABLE)
    return connection


def _is_begun(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file has our tables; False if it is empty. Raises what `_connect` raises."""
    application_id, version, tables, has_ours = connection.execute(_WHAT_IT_IS).fetchone()
    if application_id == _APPLICATION_ID:
        if version != _SCHEMA_VERSION or not has_ours:
            raise sqlite3.DatabaseError(f"schema version {version}, expected {_SCHEMA_VERSION}")
        return True
    if has_ours and not application_id:
        raise sqlite3.DatabaseError("its header is damaged")  # it may be ours
    if (
        application_id or version or tables or path.stat().st_size == 1
    ):  # for SQLite such a file is empty
        raise StorageError(
            f"{path} is another program's and stays as it is; "
            "set GBOT_ROBOTS_SQLITE_PATH to another file"
        )
    return False


def _says_it_is_ours(path: Path) -> bool:
    """Whether a file is ours by its header, or if that is damaged, by our tables in its first page.

    To close a file that SQLite has open here would end SQLite's locks on it: disconnect first.
    """
    try:
        with path.open("rb") as file:
            page = file.read(_FIRST_PAGE_BYTES)
    except FileNotFoundError:
        return False
    whose = page[_APPLICATION_ID_AT : _APPLICATION_ID_AT + 4]
    if page.startswith(_MAGIC) and any(whose):
        return whose == _APPLICATION_ID.to_bytes(4, "big")
    if page[_HEADER_BYTES : _HEADER_BYTES + 1] != bytes([_LEAF]):
        return False
    return _ENTRIES.encode() in page and _LEASES.encode() in page


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


def _renamed(path: Path, suffix: str) -> Path:
    """Rename a file and what SQLite keeps beside it, the file itself last; return its new path."""
    for part in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            Path(f"{path}{part}").rename(f"{path}.{suffix}{part}")
    return Path(f"{path}.{suffix}")


def _uri(path: PurePath) -> str:
    """The URI of a file for SQLite, which takes no host in it.

    `Path.as_uri` puts the server of a network share there.
    """
    text = path.as_posix()
    return f"file://{'' if text.startswith('/') else '/'}{quote(text, safe='/:')}"
