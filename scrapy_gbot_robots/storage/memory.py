"""A storage in the memory of this process.

A crawl uses this storage if the settings choose it, or while the storage that they choose does not
work. The entries take at most about 64 MiB (`MAX_BYTES`). If there is not enough space for a new
entry, the least recently used entries are deleted.

Entries are kept as bytes. If they were objects, Python's garbage collector would visit all of them
again and again. The bytes are not compressed, because compressing a long body takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import RLock

from ..policy.outages import Entry
from .base import Storage
from .codec import decode, encode

MAX_BYTES = 64 * 2**20

# An entry needs this number of bytes of memory in addition to its encoded form. The number was
# measured and rounded up.
_OVERHEAD = 512


class MemoryStorage(Storage):
    """A `Storage` in about `MAX_BYTES` bytes of memory.

    This is enough for about 80,000 origins without a robots.txt. The method `lease` always returns
    a token. It need not check for another lease, because only one crawl uses this storage, and the
    crawl never makes two look-ups for the same origin at the same time.
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
        """Store `entry` for `origin`, unless `entry` alone needs more than `MAX_BYTES` bytes.

        If there is not enough space, the least recently used entries are deleted.
        """
        data = encode(entry, level=0)
        with self._lock:
            self.delete(origin)
            self._entries[origin] = data
            self._bytes += _OVERHEAD + len(data)
            while self._bytes > MAX_BYTES:
                self.delete(next(iter(self._entries)))

    def delete(self, origin: str) -> bool:
        """Delete the entry of `origin`. Return whether there was an entry."""
        with self._lock:
            data = self._entries.pop(origin, None)
            if data is None:
                return False
            self._bytes -= _OVERHEAD + len(data)
            return True

    def origins(self) -> Iterator[str]:
        """Return an iterator over the origins that have an entry now."""
        with self._lock:
            return iter(tuple(self._entries))

    def lease(self, origin: str, secs: float) -> str | None:
        """Return a token. The lease is not recorded."""
        return "granted"

    def release(self, origin: str, token: str) -> None:
        """Do nothing, because leases are not recorded."""

    def close(self) -> None:
        """Do nothing. The memory of the entries is freed together with this object."""
