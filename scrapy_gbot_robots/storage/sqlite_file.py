"""The SQLite file that processes on one machine share: whose it is, and how it is opened.

Its tables, and the statements that read and write them, are those of `sqlite`.

Plan: the file has a write-ahead log, so readers go on while one process writes. It survives a kill
at any time. No other file is deleted or overwritten. A file that is broken, or of another version
of this module, is renamed, but only if its own bytes say that it is ours. Any other file, a
database or not, is refused and stays as it is. Reading alone creates and renames nothing.

Warning: another process may set a broken file aside and begin a new one while this process has the
old one open. So each call compares the file at the path with the open one.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path, PurePath
from threading import Lock
from typing import TypeVar
from urllib.parse import quote

from ..core.urls import shown
from .base import StorageError

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

logger = logging.getLogger(__name__)


class SqliteFile:
    """The file at a path, as one process has it open.

    Args:
        path: the file; its directory is made.
        read_only: nothing is created, renamed or written to.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._read_only = read_only
        self._lock = Lock()  # one connection serves all threads in turn
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # the file that `_connection` has open
        self._closed = False

    def run(self, act: Callable[..., _T], *args: object) -> _T:
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

    def close(self) -> None:
        """Close the file. Every later call of `run` raises StorageError."""
        with self._lock:
            self._closed = True
            self._disconnect()


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
            # SQLite does not wait for another process that switches to write-ahead logging, too
            with _alone(path):
                if not _is_begun(connection, path):
                    # pages that are not used are given back
                    connection.execute("PRAGMA auto_vacuum = FULL")
                    connection.execute("PRAGMA journal_mode = WAL")
                    connection.executescript(_SCHEMA)
                    # so that the file itself says whose it is
                    connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        # after a power cut the last writes may be gone, no more
        connection.execute("PRAGMA synchronous = NORMAL")
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
    connection.executescript(_SCHEMA)
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
    is_one_byte = path.stat().st_size == 1  # for SQLite such a file is empty
    if application_id or version or tables or is_one_byte:
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
