"""The contract of a storage: the class `Storage` and its only exception.

A storage keeps one entry (`policy.outages.Entry`) for each origin, and does not interpret it. Its
methods are synchronous and may be called from any thread. It may delete an entry 100 days after
that was stored (`policy.outages.KEEP_DAYS`). An origin is passed in its text form, for example
"https://example.com:8181".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from ..policy.outages import Entry

__all__ = ["Storage", "StorageError"]


class StorageError(Exception):
    """A storage cannot be used now, but may work again later.

    The driver's own error is the `__cause__`.

    Attributes:
        advice: what the user can do about it, a sentence without its full stop; "" if not known.
    """

    def __init__(self, text: str = "", advice: str = "") -> None:
        super().__init__(text)
        self.advice = advice


class Storage(ABC):
    """A store of one entry for each origin, and of leases.

    When the storage fails, each method raises StorageError and no other exception.

    A subclass implements the methods from `get` to `close`. A crawl calls `find` and
    `store_and_release` from several threads, each for a different origin. If a storage can do one
    of these in a single transaction or round trip, it should override that method.
    """

    @abstractmethod
    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`; None if there is no entry, or if it cannot be read."""

    @abstractmethod
    def put(self, origin: str, entry: Entry) -> None:
        """Store `entry` for `origin`, and replace the entry that was there."""

    @abstractmethod
    def delete(self, origin: str) -> bool:
        """Delete the entry of `origin`; return whether there was one."""

    @abstractmethod
    def origins(self) -> Iterator[str]:
        """Yield each stored origin once, in any order. Callers may delete entries meanwhile."""

    @abstractmethod
    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin`, the right to fetch it, for `secs` seconds.

        Of all processes that share the storage, only one can hold the lease of an origin at a time.
        The lease ends by itself, because its holder may be killed.

        Returns:
            The token of the lease, or None while another process holds it.
        """

    @abstractmethod
    def release(self, origin: str, token: str) -> None:
        """End the lease of `origin` if it has this `token`; otherwise do nothing."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections. No other method is called afterwards."""

    def find(
        self, origin: str, is_good: Callable[[Entry | None], bool], secs: float
    ) -> tuple[Entry | None, str | None]:
        """Return the entry of `origin`; if it is not good, also take the lease for `secs` seconds.

        Args:
            origin: the origin.
            is_good: whether an entry, or None, can be used without a fetch.
            secs: for how long the lease lasts, in seconds.

        Returns:
            The entry or None, and the token of the lease. The token is None if the entry is good,
            or if another process holds the lease.
        """
        entry = self.get(origin)
        if is_good(entry):
            return entry, None
        token = self.lease(origin, secs)
        if token is not None:
            # The last holder may have stored a good entry after `get`, and before `lease`.
            entry = self.get(origin)
            if is_good(entry):
                self.release(origin, token)
                token = None
        return entry, token

    def store_and_release(self, origin: str, entry: Entry | None, token: str) -> None:
        """Store `entry` unless it is None, and end the lease of `token` unless that is ""."""
        if entry is not None:
            self.put(origin, entry)
        if token:
            self.release(origin, token)
