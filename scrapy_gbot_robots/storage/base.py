"""The contract of a storage: `Storage`, and its one error.

A storage keeps entries, the facts of `policy.outages`, by origin, and knows nothing of their
meaning. It is synchronous and may be called from any thread. It may drop an entry that was stored
100 days ago (`policy.outages.KEEP_DAYS`). An origin is passed in its text form, such as
"https://example.com:8181".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from ..policy.outages import Entry

__all__ = ["Storage", "StorageError"]


class StorageError(Exception):
    """A storage cannot be used now, but perhaps later.

    The driver's own error is the `__cause__`.

    Attributes:
        advice: what helps, a sentence without its dot; "" if that is not known.
    """

    def __init__(self, text: str = "", advice: str = "") -> None:
        super().__init__(text)
        self.advice = advice


class Storage(ABC):
    """Entries by origin, and leases.

    Each method raises StorageError, and nothing else, when the storage fails.

    A subclass has the methods from `get` to `close`. A crawl calls `find` and `store_and_release`,
    for different origins from several threads. A storage that can do each of them in one step (one
    transaction, one round trip) overrides them.
    """

    @abstractmethod
    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`; None if there is none, or none that can be read."""

    @abstractmethod
    def put(self, origin: str, entry: Entry) -> None:
        """Store `entry` for `origin`, in place of its last one."""

    @abstractmethod
    def delete(self, origin: str) -> bool:
        """Forget `origin`; return whether it had an entry."""

    @abstractmethod
    def origins(self) -> Iterator[str]:
        """Yield each stored origin once, in any order. Entries may be deleted meanwhile."""

    @abstractmethod
    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin`, the right to fetch it, for `secs` seconds.

        Returns a token, or None while another has the lease. Only one of all that share the storage
        has the lease at a time. It ends by itself, since its holder may die.
        """

    @abstractmethod
    def release(self, origin: str, token: str) -> None:
        """End the lease of `token`. Does nothing if the lease is not the token's."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections. No other method is called afterwards."""

    def find(
        self, origin: str, is_good: Callable[[Entry | None], bool], secs: float
    ) -> tuple[Entry | None, str | None]:
        """Return the entry of `origin`; if it is not good, take the lease for `secs` seconds.

        `is_good` says whether an entry (or None) is good. The second result is the token of the
        lease. It is None if the entry is good, or another has the lease.
        """
        entry = self.get(origin)
        if is_good(entry):
            return entry, None
        token = self.lease(origin, secs)
        if token is not None:
            # The last holder may have stored a good one between our look and our lease.
            entry = self.get(origin)
            if is_good(entry):
                self.release(origin, token)
                token = None
        return entry, token

    def store_and_release(self, origin: str, entry: Entry | None, token: str) -> None:
        """Store an entry, if there is one, and end the lease of `token`, if that is not ""."""
        if entry is not None:
            self.put(origin, entry)
        if token:
            self.release(origin, token)
