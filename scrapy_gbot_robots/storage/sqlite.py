"""Entries in one SQLite file that several processes on one machine use at once.

`sqlite_file` says whose the file is.

Operations wanted: each method for one origin in one statement, and for many origins in one
transaction. A process that only reads waits for no other. Of all processes, one gets the lease of
an origin.

Plan: `find` reads first, without a lock. In a crawl that was here before, most entries are good and
nothing is left to do. For the others, one transaction reads again, since another process may have
stored a good entry meanwhile, and takes the leases.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..core.lines import MAX_BYTES
from ..policy.outages import KEEP_DAYS, Entry
from .base import BatchStorage, Found, Result, Wanted
from .codec import decode, encode, most_bytes
from .sqlite_file import SqliteFile

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


class SqliteStorage(BatchStorage):
    """A `Storage` in one SQLite file.

    Args:
        path: the file; its directory is made.
        max_body: bounds the bodies that are returned, in bytes.
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
        max_body: int = MAX_BYTES,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file = SqliteFile(Path(path).absolute(), read_only=read_only)
        self._run = self._file.run
        self._max_body = max_body
        self._clock = clock
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
        self._file.close()

    def _look(self, wanted: Sequence[Wanted], secs: float, *, again: bool) -> list[Found]:
        if again:
            return self._run(self._leased, wanted, secs)
        return self._run(self._stored, wanted)

    def _stored(self, connection: sqlite3.Connection, wanted: Sequence[Wanted]) -> list[Found]:
        return [(self._get(connection, origin), None) for origin, _ in wanted]

    def _leased(
        self, connection: sqlite3.Connection, wanted: Sequence[Wanted], secs: float
    ) -> list[Found]:
        answers: list[Found] = []
        with _transaction(connection):
            for origin, is_good in wanted:
                entry = self._get(connection, origin)
                token = None
                if not is_good(entry):
                    token = self._lease(connection, origin, secs)
                answers.append((entry, token))
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

    def _today(self) -> int:
        return int(self._clock() // 86400)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything inside in one transaction, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")  # fails if the file cannot be written
    with connection:
        yield
