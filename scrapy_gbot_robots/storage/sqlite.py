"""Entries in one SQLite file that several processes on one machine use at once.

Operations wanted: each method for one origin in one statement, and for many origins in one transaction. A process that only
reads waits for no other. Of all processes, one gets the lease of an origin.

Plan: the file has a write-ahead log, so readers go on while one process writes. `find` reads first, without a lock. In a
crawl that was here before, most entries are good and nothing is left to do. For the others, one transaction reads again,
since another process may have stored a good entry meanwhile, and takes the leases.

Example: `find` for a, which is stored and good, and b, which is unknown:

    SELECT a; SELECT b                                    no lock
    BEGIN IMMEDIATE; SELECT b; INSERT lease of b; COMMIT  the only writer now

Warning: another process may set a broken file aside and begin a new one while this process has the old one open. So each
call compares the file at the path with the open one. `sqlite_file` opens files, and sets broken ones aside.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from . import sqlite_file
from .base import KEEP_DAYS, MAX_BODY, FetchResult, Found, Storage, StorageError
from .codec import decode, encode, longest

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..policy.outages import Entry
    from .base import Wanted

_T = TypeVar("_T")

_GET = "SELECT used, value FROM entries WHERE origin = ? AND used >= ? AND length(value) <= ?"
_TOUCH = "UPDATE entries SET used = ? WHERE origin = ?"
_PUT = """
    INSERT INTO entries (origin, used, value) VALUES (?, ?, ?)
    ON CONFLICT (origin) DO UPDATE SET used = excluded.used, value = excluded.value
"""
_DELETE = "DELETE FROM entries WHERE origin = ?"
# Another program may have stored an origin that is no text.
_ORIGINS = """
    SELECT origin FROM entries WHERE origin >= ? AND typeof(origin) = 'text' AND used >= ? ORDER BY origin LIMIT ?
"""
_LEASE = """
    INSERT INTO leases (origin, token, taken, until) VALUES (?, ?, ?, ?)
    ON CONFLICT (origin) DO UPDATE SET token = excluded.token, taken = excluded.taken, until = excluded.until
    WHERE leases.until <= excluded.taken OR leases.taken > excluded.taken + 1 -- or the clock was set back
"""
_RELEASE = "DELETE FROM leases WHERE origin = ? AND token = ?"
_SWEEP = "DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries WHERE used < ? LIMIT ?)"
_SWEEP_LEASES = "DELETE FROM leases WHERE rowid IN (SELECT rowid FROM leases WHERE until < ? LIMIT ?)"

_PAGE = 1000  # origins listed at a time
_SWEEP_ROWS = 500  # at most, so that no call takes long
_SWEEP_SECS, _SWEEP_SECS_WHILE_MORE = 3600.0, 60.0


class _Done(NamedTuple):
    rows: list[tuple[Any, ...]]
    changed: int


class SqliteStorage(Storage):
    """A `Storage` in one SQLite file.

    Args:
        path: the file; its directory is made.
        max_body: bounds the bodies that are returned, in bytes.
        read_only: nothing is created, renamed or written to, and only the methods that read may be used.
        tell: called with one sentence, in any thread, when a broken file was set aside.
        clock: returns seconds since the epoch.

    Raises:
        StorageError: the file cannot be opened for writing.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_body: int = MAX_BODY,
        read_only: bool = False,
        tell: Callable[[str], object] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path).absolute()
        self._max_body = max_body
        self._read_only = read_only
        self._tell = tell
        self._clock = clock
        self._lock = Lock()  # one connection serves all threads in turn
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # the file that `_connection` has open
        self._closed = False
        self._next_sweep = clock() + _SWEEP_SECS_WHILE_MORE
        self._execute("SELECT 1")

    def get(self, origin: str) -> Entry | None:
        """Return the entry, and note once a day that it is in use."""
        ((entry, touch),) = self._run(lambda connection: [self._read(connection, origin)])
        if touch and not self._read_only:
            with suppress(StorageError):  # the next call notes it
                self._execute(_TOUCH, self._today(), origin)
        return entry

    def put(self, origin: str, entry: Entry) -> None:
        """Store an entry; now and then, delete some that are not used."""
        self.store_and_release([FetchResult(origin, entry, "")])

    def find(self, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        """Return the entries of many origins, or else their leases. All writing is one transaction."""
        return self._run(lambda connection: self._find(connection, wanted, secs))

    def _find(self, connection: sqlite3.Connection, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        today = self._today()
        read = [self._read(connection, each.origin) for each in wanted]
        found = [Found(entry) for entry, _ in read]
        touched = [(today, each.origin) for each, (_, touch) in zip(wanted, read, strict=True) if touch]
        lacking = [place for place, each in enumerate(wanted) if not each.is_good(found[place].entry)]
        if touched and not lacking:
            with suppress(sqlite3.OperationalError), _transaction(connection):  # the next call notes it
                connection.executemany(_TOUCH, touched)
        if lacking:
            with _transaction(connection):
                connection.executemany(_TOUCH, touched)
                for place in lacking:
                    found[place] = self._leased(connection, wanted[place], secs)
        return found

    def release_all(self, leases: Mapping[str, str]) -> None:
        """End leases, in one transaction."""
        self._write(_RELEASE, list(leases.items()))

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        def act(connection: sqlite3.Connection) -> None:
            with _transaction(connection):
                connection.executemany(statement, rows)

        self._run(act)

    def _leased(self, connection: sqlite3.Connection, wanted: Wanted, secs: float) -> Found:
        """Inside a transaction: take the lease, unless a good entry was stored since the look before the transaction."""
        latest, _ = self._read(connection, wanted.origin)
        if wanted.is_good(latest):
            return Found(latest)
        token, now = secrets.token_hex(8), self._clock()
        taken = connection.execute(_LEASE, (wanted.origin, token, now, now + secs)).rowcount
        return Found(latest, token) if taken else Found(latest)

    def store_and_release(self, results: Sequence[FetchResult]) -> None:
        """Store entries and end their leases, in one transaction."""
        today = self._today()
        puts = [(each.origin, today, encode(each.entry)) for each in results]
        releases = [(each.origin, each.token) for each in results if each.token]

        def act(connection: sqlite3.Connection) -> None:
            with _transaction(connection):
                connection.executemany(_PUT, puts)
                connection.executemany(_RELEASE, releases)
                self._kept(connection, [(each.origin, each.entry) for each in results])

        self._run(act)
        self._sweep_now_and_then()

    def _kept(self, connection: sqlite3.Connection, entries: Sequence[tuple[str, Entry]]) -> None:
        """Inside the transaction that stores `entries`: store what a subclass keeps beside them."""

    def delete(self, origin: str) -> bool:
        """Forget an origin; return whether it had an entry."""
        return self._execute(_DELETE, origin).changed > 0

    def origins(self, prefix: str = "") -> Iterator[str]:
        """Yield the origins in order. They are read page by page, so that writers do not wait."""
        oldest, start = self._today() - KEEP_DAYS, prefix
        while page := self._execute(_ORIGINS, start, oldest, _PAGE).rows:
            for (origin,) in page:
                if not origin.startswith(prefix):
                    return
                yield origin
            start = page[-1][0] + "\0"  # the next text in order

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease if it is free or has run out, in one statement."""
        token, now = secrets.token_hex(8), self._clock()
        return token if self._execute(_LEASE, origin, token, now, now + secs).changed else None

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        self._execute(_RELEASE, origin, token)

    def close(self) -> None:
        """Close the file. Every later call raises StorageError."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def sweep(self) -> int:
        """Delete some entries that were not used for `KEEP_DAYS`, and old leases; return how many entries."""
        swept = self._execute(_SWEEP, self._today() - KEEP_DAYS, _SWEEP_ROWS).changed
        self._execute(_SWEEP_LEASES, self._clock(), _SWEEP_ROWS)
        self._next_sweep = self._clock() + (_SWEEP_SECS if swept < _SWEEP_ROWS else _SWEEP_SECS_WHILE_MORE)
        return swept

    def _sweep_now_and_then(self) -> None:
        if self._clock() >= self._next_sweep:
            with suppress(StorageError):
                self.sweep()

    def _today(self) -> int:
        return int(self._clock() // 86400)

    def _read(self, connection: sqlite3.Connection, origin: str) -> tuple[Entry | None, bool]:
        """Return the entry of `origin`, and whether its use today is still to be noted."""
        today = self._today()
        row = connection.execute(_GET, (origin, today - KEEP_DAYS, longest(self._max_body))).fetchone()
        if row is None:
            return None, False
        used, value = row
        return (decode(value, self._max_body) if isinstance(value, bytes) else None), used != today

    def _execute(self, statement: str, *values: object) -> _Done:
        """Run one statement, in a transaction of its own."""
        return self._run(lambda connection: _execute(connection, statement, *values))

    def _run(self, act: Callable[[sqlite3.Connection], _T]) -> _T:
        """Let `act` use the file. If the file is broken, set it aside and call `act` again on a new one."""
        with self._lock:
            try:
                try:
                    return act(self._current())
                except sqlite3.OperationalError:  # locked, full, read-only: the file is sound
                    raise
                except sqlite3.DatabaseError:
                    if self._read_only:
                        raise
                    self._disconnect()
                    if told := sqlite_file.set_aside_if_unfit(self._path, self._clock()):
                        self._tell(told)
                    return act(self._current())
            except (sqlite3.Error, OSError) as error:
                raise StorageError(f"cannot use {self._path}: {error}") from error

    def _current(self) -> sqlite3.Connection:
        """Return a connection to the file at the path now: another process may have set aside the one we had open."""
        if self._closed:
            raise StorageError(f"{self._path} is closed")
        while self._connection is None or self._file != sqlite_file.identity(self._path):
            self._disconnect()
            if self._read_only:
                self._file = sqlite_file.identity(self._path)
                self._connection = sqlite_file.connect_to_read(self._path)
                break
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


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything inside in one transaction, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
