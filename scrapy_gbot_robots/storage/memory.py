"""A storage in the memory of this process, with a bounded number of bytes.

Above the bound, the least recently used entries are deleted. The storage is for crawls that must
not write to a disk, and replaces another storage while that storage fails. Entries are kept as
bytes, because Python's garbage collector would visit the objects of all entries again and again.
The bytes are not compressed, because compressing a long body takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import RLock

from ..policy.outages import Entry
from .base import Storage
from .codec import decode, encode

MAX_BYTES = 64 * 2**20

# The memory, in bytes, that each entry needs for its origin and its place in the dict. It was
# measured and rounded up.
_OVERHEAD = 512


class MemoryStorage(Storage):
    """A `Storage` of about `MAX_BYTES` bytes, enough for about 80,000 entries without a body.

    Every lease is granted, because only one crawl uses this storage, and that crawl never looks up
    the same origin twice at the same time.
    """

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}  # The least recently used entry is the first.
        self._bytes = 0
        self._lock = RLock()

    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`, or None. It is now the most recently used entry."""
        with self._lock:
            data = self._entries.pop(origin, None)
            if data is None:
                return None
            self._entries[origin] = data
        return decode(data, max_body=len(data))

    def put(self, origin: str, entry: Entry) -> None:
        """Store `entry` for `origin`, unless this entry alone is larger than `MAX_BYTES`."""
        data = encode(entry, level=0)
        with self._lock:
            self.delete(origin)
            self._entries[origin] = data
            self._bytes += _OVERHEAD + len(data)
            while self._bytes > MAX_BYTES:
                self.delete(next(iter(self._entries)))

    def delete(self, origin: str) -> bool:
        """Delete the entry of `origin`, and return whether an entry existed."""
        with self._lock:
            data = self._entries.pop(origin, None)
            if data is None:
                return False
            self._bytes -= _OVERHEAD + len(data)
            return True

    def origins(self) -> Iterator[str]:
        """Return an iterator over the origins that are stored now."""
        with self._lock:
            return iter(tuple(self._entries))

    def lease(self, origin: str, secs: float) -> str | None:
        """Grant the lease."""
        return "granted"

    def release(self, origin: str, token: str) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing, because the entries are freed together with this object."""
