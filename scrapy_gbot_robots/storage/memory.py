"""Entries in the memory of this process, bounded in bytes.

The least recently used entries are deleted first. This storage is for crawls that must leave no
trace, and takes the place of another storage that fails. An entry is kept as bytes, as in the other
storages, because Python's garbage collector would visit its objects again and again. The bytes are
not compressed, because that takes milliseconds if the body is long.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import RLock

from ..policy.outages import Entry
from .base import Storage
from .codec import decode, encode

MAX_BYTES = 64 * 2**20

# Bytes that each entry takes for its origin and its place in the dict, measured and rounded up.
_OVERHEAD = 512


class MemoryStorage(Storage):
    """A `Storage` of about `MAX_BYTES` bytes. It holds about 80,000 entries without a body.

    Only one crawl uses it, and that crawl has one look-up of an origin at a time. So each lease is
    granted.
    """

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}  # The least recently used entry is the first.
        self._bytes = 0
        self._lock = RLock()

    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`, or None. The entry becomes the most recently used one."""
        with self._lock:
            data = self._entries.pop(origin, None)
            if data is None:
                return None
            self._entries[origin] = data
        return decode(data, max_body=len(data))

    def put(self, origin: str, entry: Entry) -> None:
        """Store an entry, unless it alone is larger than `MAX_BYTES`."""
        data = encode(entry, level=0)
        with self._lock:
            self.delete(origin)
            self._entries[origin] = data
            self._bytes += _OVERHEAD + len(data)
            while self._bytes > MAX_BYTES:
                self.delete(next(iter(self._entries)))

    def delete(self, origin: str) -> bool:
        """Delete the entry of `origin`; return whether there was one."""
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
        """Do nothing. The entries are freed together with this object."""
