"""Entries in one SQLite file that several processes on one machine use at once.

Each call is one statement, and a transaction of its own; opening the file, and what to do about a broken one, is told
by `sqlite_file`.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from . import sqlite_file
from .base import KEEP_DAYS, MAX_BODY, StorageError
from .codec import decode, encode, longest

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from ..policy.entry import Entry

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
_PROLONG = "UPDATE leases SET taken = ?, until = ? WHERE origin = ? AND token = ?"
_RELEASE = "DELETE FROM leases WHERE origin = ? AND token = ?"
_SWEEP = "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries WHERE used < ? LIMIT ?)"
_SWEEP_LEASES = "DELETE FROM leases WHERE rowid IN (SELECT rowid FROM leases WHERE until < ? LIMIT ?)"

_PAGE = 1000  # origins listed at a time
_SWEEP_ROWS = 500  # at most, so that no call takes long
_SWEEP_SECS, _SWEEP_SECS_WHILE_MORE = 3600.0, 60.0


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
        found = self._run(_GET, origin, today - KEEP_DAYS, longest(self._max_body)).rows
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
        oldest, start = self._today() - KEEP_DAYS, prefix
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

    def prolong(self, origin: str, token: str, secs: float) -> None:
        """Set the lease a new end if it is the token's."""
        now = self._clock()
        self._run(_PROLONG, now, now + secs, origin, token)

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        self._run(_RELEASE, origin, token)

    def close(self) -> None:
        """Close the file; nothing can be asked afterwards."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def sweep(self) -> int:
        """Delete some entries that were not used for `KEEP_DAYS`, and leases that ran out; return how many entries."""
        swept = self._run(_SWEEP, self._today() - KEEP_DAYS, _SWEEP_ROWS).changed
        self._run(_SWEEP_LEASES, self._clock(), _SWEEP_ROWS)
        self._next_sweep = self._clock() + (_SWEEP_SECS if swept < _SWEEP_ROWS else _SWEEP_SECS_WHILE_MORE)
        return swept

    def _today(self) -> int:
        return int(self._clock() // 86400)

    def _run(self, statement: str, *values: object) -> _Done:
        """Run one statement, in a transaction of its own; where the file is found broken, once more on a new one."""
        with self._lock:
            try:
                try:
                    return _execute(self._current(), statement, *values)
                except sqlite3.OperationalError:  # locked, full, read-only: the file is sound
                    raise
                except sqlite3.DatabaseError:
                    self._disconnect()
                    if told := sqlite_file.set_aside_if_unfit(self._path, self._clock()):
                        self._tell(told)
                    return _execute(self._current(), statement, *values)
            except (sqlite3.Error, OSError) as error:
                raise StorageError(f"cannot use {self._path}: {error}") from error

    def _current(self) -> sqlite3.Connection:
        """Return a connection to the file that is there now: another process may have set aside the one we had."""
        if self._closed:
            raise StorageError(f"{self._path} is closed")
        while self._connection is None or self._file != sqlite_file.identity(self._path):
            self._disconnect()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite_file.identity(self._path)
            self._connection = sqlite_file.connect(self._path)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _execute(connection: sqlite3.Connection, statement: str, *values: object) -> _Done:
    with closing(connection.execute(statement, values)) as cursor:
        return _Done(cursor.fetchall(), cursor.rowcount)
