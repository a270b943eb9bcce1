"""The file behind the SQLite storage: making it, recognising it, setting a broken one aside.

The file survives a kill at any time (WAL). No other file is deleted or overwritten. A file that is broken, or of another
version of this module, is renamed, but only if its own bytes say that it is ours. Any other file, a database or not, is
refused and stays as it is. Reading alone creates and renames nothing.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .base import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class UnfitError(sqlite3.DatabaseError):
    """The file is whole, and ours, but not of this version."""


def connect(path: Path) -> sqlite3.Connection:
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


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open the file for reading alone; if there is none, an empty database in memory. Raises what `connect` raises."""
    head = _head(path)
    if head and not head.startswith(_MAGIC):
        raise StorageError(f"{path} is no SQLite database")
    if not head and not _wal_of(path).exists():
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        for statement in _SCHEMA:
            connection.execute(statement)
        return connection
    # If no other process has the file open, an ordinary reader would create files beside it.
    mode = "mode=ro" if _wal_of(path).exists() else "mode=ro&immutable=1"
    where = f"{path.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(where, uri=True, timeout=_BUSY_SECS, isolation_level=None, check_same_thread=False)
    try:
        _is_begun(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _wal_of(path: Path) -> Path:
    return Path(f"{path}-wal")


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


def set_aside_if_unfit(path: Path, now: float) -> str | None:
    """Set an unfit file of ours aside, and return a sentence that says so.

    None if the file is fit, since another process may have set the unfit one aside, and if it is not ours.
    """
    if not _says_it_is_ours(path):
        return None
    with _alone(path):
        if not _says_it_is_ours(path) or (reason := _unfit(path)) is None:
            return None
        aside = _set_aside(path, f"{reason}-{now:.0f}")
    return f"{path} cannot be read ({reason.replace('-', ' ')}): renamed to {aside.name}; a new file replaces it"


def _unfit(path: Path) -> str | None:
    """Check a file from end to end; return in a word or two why it cannot be used, None if it can."""
    try:
        with closing(connect(path)) as connection:
            return None if connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",) else "corrupt"
    except UnfitError:
        return "other-version"
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return "corrupt"


def identity(path: Path) -> tuple[int, int] | None:
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


def _set_aside(path: Path, suffix: str) -> Path:
    """Rename a file and what SQLite keeps beside it, the file itself last; return its new path."""
    aside = Path(f"{path}.{suffix}")
    while aside.exists():
        aside = Path(f"{aside}x")
    for part in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            Path(f"{path}{part}").rename(f"{aside}{part}")
    return aside
