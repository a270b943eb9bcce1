"""The versions of each origin's robots.txt, beside its entry in the SQLite file.

A version is stored when a definite answer differs, byte by byte, from the one before. The last few versions of each origin
stay, even after its entry is gone, since people compare them over years. An older plugin's file gets the table when the
first version is stored.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from .sqlite import SqliteStorage

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from ..policy.outages import Copy, Entry

_TABLE = """
    CREATE TABLE IF NOT EXISTS versions (
        origin TEXT NOT NULL, fetched REAL NOT NULL, status INTEGER NOT NULL, hash TEXT NOT NULL, cut INTEGER NOT NULL,
        body BLOB NOT NULL, PRIMARY KEY (origin, fetched)
    ) WITHOUT ROWID
"""
# Other programs may write to the file, and SQLite takes a value of any type in any column. No `datetime` is after 9999.
_LAST_MOMENT = 253_402_300_799
_OURS = (
    f"origin = ? AND typeof(fetched) = 'real' AND fetched BETWEEN 0 AND {_LAST_MOMENT} AND typeof(status) = 'integer'"
)
_LATEST = f"SELECT hash, fetched FROM versions WHERE {_OURS} ORDER BY fetched DESC LIMIT 1"  # noqa: S608  constants
_ADD = "INSERT OR REPLACE INTO versions (origin, fetched, status, hash, cut, body) VALUES (?, ?, ?, ?, ?, ?)"
_KEEP_LAST = f"""
    DELETE FROM versions WHERE origin = ? AND fetched < (
        SELECT min(fetched) FROM (SELECT fetched FROM versions WHERE {_OURS} ORDER BY fetched DESC LIMIT ?)
    )
"""  # noqa: S608
_VERSIONS = f"SELECT fetched, status, hash, cut, body FROM versions WHERE {_OURS} ORDER BY fetched"  # noqa: S608
_IS_THERE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'versions'"


class Version(NamedTuple):
    """One version of a robots.txt.

    Attributes:
        fetched_at: when this version was first seen, in seconds since the epoch.
        status: the HTTP status that came with it.
        hash: SHA-256 of the body, in hexadecimal.
        cut: whether the server sent more than `body`.
        body: content-decoded; empty if there was no robots.txt.
    """

    fetched_at: float
    status: int
    hash: str
    cut: bool
    body: bytes


class SqliteHistory(SqliteStorage):
    """A `SqliteStorage` that also keeps the last `most` versions of each origin. It takes the same other arguments."""

    def __init__(self, *args: Any, most: int, **kwargs: Any) -> None:
        self._most = most
        super().__init__(*args, **kwargs)

    def versions(self, origin: str) -> list[Version]:
        """Return the versions of `origin`, the oldest first; none if the file has no history."""
        return self._run(lambda connection: self._versions(connection, origin))

    def _versions(self, connection: sqlite3.Connection, origin: str) -> list[Version]:
        if connection.execute(_IS_THERE).fetchone() is None:
            return []
        read = (self._version(row) for row in connection.execute(_VERSIONS, (origin,)))
        return [version for version in read if version is not None]

    def _version(self, row: tuple[Any, ...]) -> Version | None:
        """Read a row that `_keep` wrote; None for any other row."""
        fetched_at, status, digest, cut, packed = row
        try:
            stream = zlib.decompressobj()
            body = stream.decompress(packed, self._max_body + 1)
        except (zlib.error, TypeError):
            return None
        if not stream.eof or len(body) > self._max_body or _hash(body) != digest:
            return None
        return Version(fetched_at, status, digest, bool(cut), body)

    def _kept(self, connection: sqlite3.Connection, entries: Iterable[tuple[str, Entry]]) -> None:
        for origin, entry in entries:
            if entry.copy is not None and entry.outage is None:
                self._keep(connection, origin, entry.copy)

    def _keep(self, connection: sqlite3.Connection, origin: str, copy: Copy) -> None:
        connection.execute(_TABLE)
        latest = connection.execute(_LATEST, (origin,)).fetchone()
        digest = _hash(copy.body)
        if latest is not None and (latest[0] == digest or latest[1] > copy.fetched_at):
            return
        row = (origin, copy.fetched_at, copy.status, digest, copy.cut, zlib.compress(copy.body))
        connection.execute(_ADD, row)
        connection.execute(_KEEP_LAST, (origin, origin, self._most))


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()
