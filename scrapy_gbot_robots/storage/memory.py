"""Entries in the memory of this process, bounded in bytes; the least recently used ones go first.

For crawls that must leave no trace, and as a fallback when another storage fails. An entry is kept
as bytes, as in the other storages: Python's garbage collector would visit its objects again and
again. The body is not compressed, which takes milliseconds if it is long.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from threading import Lock

from ..policy.outages import Entry
from .base import Storage
from .codec import decode, encode

MAX_BYTES = 64 * 2**20

_CLOCK_SECS = 86_400.0  # a clock that is set by less than that does no harm
_OVERHEAD = 512  # bytes for an entry's origin and its place; measured, rounded up


class MemoryStorage(Storage):
    """A `Storage` of about `max_bytes` bytes: by default some 80,000 entries without a body."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: dict[str, bytes] = {}  # the least recently used one is the first
        self._bytes = 0
        # By origin: token, end on the monotonic clock.
        self._leases: dict[str, tuple[str, float]] = {}
        self._lead = time.time() - time.monotonic()
        self._lock = Lock()

    def get(self, origin: str) -> Entry | None:
        """Return the entry, and make it the last to go."""
        with self._lock:
            self._forget_if_clock_was_set()
            data = self._entries.pop(origin, None)
            if data is None:
                return None
            self._entries[origin] = data
        return decode(data, max_body=len(data))

    def put(self, origin: str, entry: Entry) -> None:
        """Store an entry, unless it alone is larger than the bound."""
        data = encode(entry, packs=False)
        with self._lock:
            self._drop(origin)
            self._entries[origin] = data
            self._bytes += _OVERHEAD + len(data)
            while self._bytes > self._max_bytes:
                self._drop(next(iter(self._entries)))

    def delete(self, origin: str) -> bool:
        """Forget an origin; return whether it had an entry."""
        with self._lock:
            return self._drop(origin)

    def origins(self) -> Iterator[str]:
        """Yield the origins that are stored at the time of the call."""
        with self._lock:
            return iter(tuple(self._entries))

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease if it is free or has run out."""
        now = time.monotonic()
        with self._lock:
            if origin in self._leases and self._leases[origin][1] > now:
                return None
            token = secrets.token_hex(8)
            self._leases[origin] = token, now + secs
            return token

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        with self._lock:
            if origin in self._leases and self._leases[origin][0] == token:
                del self._leases[origin]

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._leases.clear()
            self._bytes = 0

    def _forget_if_clock_was_set(self) -> None:
        """Forget all times if the clock was set.

        A clock set forward by a month would make an outage open its site.
        """
        lead = time.time() - time.monotonic()
        if abs(lead - self._lead) > _CLOCK_SECS:
            self._lead = lead
            self._entries.clear()
            self._bytes = 0

    def _drop(self, origin: str) -> bool:
        data = self._entries.pop(origin, None)
        if data is None:
            return False
        self._bytes -= _OVERHEAD + len(data)
        return True
