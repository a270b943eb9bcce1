"""Entries in the memory of this process, bounded in bytes; the least recently used ones go first.

For crawls that must leave no trace, and as a fallback when another storage fails. An entry is kept
as bytes, as in the other storages: Python's garbage collector would visit its objects again and
again. The body is not compressed, which takes milliseconds if it is long.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import RLock

from ..policy.outages import Entry
from .base import Storage
from .codec import decode, encode

MAX_BYTES = 64 * 2**20

_OVERHEAD = 512  # bytes for an entry's origin and its place; measured, rounded up


class MemoryStorage(Storage):
    """A `Storage` of about `MAX_BYTES` bytes: some 80,000 entries without a body.

    One crawl has it for itself, and looks an origin up once at a time. So it grants each lease.
    """

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}  # the least recently used one is the first
        self._bytes = 0
        self._lock = RLock()

    def get(self, origin: str) -> Entry | None:
        """Return the entry, and make it the last to go."""
        with self._lock:
            data = self._entries.pop(origin, None)
            if data is None:
                return None
            self._entries[origin] = data
        return decode(data, max_body=len(data))

    def put(self, origin: str, entry: Entry) -> None:
        """Store an entry, unless it alone is larger than the bound."""
        data = encode(entry, level=0)
        with self._lock:
            self.delete(origin)
            self._entries[origin] = data
            self._bytes += _OVERHEAD + len(data)
            while self._bytes > MAX_BYTES:
                self.delete(next(iter(self._entries)))

    def delete(self, origin: str) -> bool:
        """Forget an origin; return whether it had an entry."""
        with self._lock:
            data = self._entries.pop(origin, None)
            if data is None:
                return False
            self._bytes -= _OVERHEAD + len(data)
            return True

    def origins(self) -> Iterator[str]:
        """Yield the origins that are stored at the time of the call."""
        with self._lock:
            return iter(tuple(self._entries))

    def lease(self, origin: str, secs: float) -> str | None:
        """Grant the lease."""
        return "granted"

    def release(self, origin: str, token: str) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: the entries go with this object."""
