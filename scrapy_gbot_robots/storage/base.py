"""The interface of a storage: the abstract class `Storage`, and the exception `StorageError`.

A storage keeps one entry (`policy.outages.Entry`) for each origin, without interpreting the entry.
The methods of a storage are synchronous and may be called from any thread. A storage may delete an
entry 100 days (`policy.outages.KEEP_DAYS`) after the entry was stored. An origin is passed as a
text, for example "https://example.com:8181".
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
        advice: a sentence, without its full stop, about what the user can do; "" if not known.
    """

    def __init__(self, text: str = "", advice: str = "") -> None:
        super().__init__(text)
        self.advice = advice


class Storage(ABC):
    """A storage of one entry for each origin. Its leases coordinate the processes that share it.

    When the storage fails, each method raises StorageError and no other exception.

    A subclass implements the methods from `get` to `close`. A crawl calls `find` and
    `store_and_release` from several threads at the same time, each for a different origin. A
    subclass should override these two methods if it can do their work in a single transaction or
    round trip.
    """

    @abstractmethod
    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`, or None if there is no entry that can be decoded."""

    @abstractmethod
    def put(self, origin: str, entry: Entry) -> None:
        """Store `entry` for `origin` in place of any earlier entry."""

    @abstractmethod
    def delete(self, origin: str) -> bool:
        """Delete the entry of `origin`, and return whether an entry existed."""

    @abstractmethod
    def origins(self) -> Iterator[str]:
        """Yield each stored origin once, in any order.

        The caller may delete entries between two origins.
        """

    @abstractmethod
    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin`, which is the right to fetch its robots.txt.

        Only one of the processes that share the storage can hold the lease of an origin at a time.
        The lease ends after `secs` seconds, even if its holder was killed.

        Returns:
            The token of the lease, or None if another process holds the lease.
        """

    @abstractmethod
    def release(self, origin: str, token: str) -> None:
        """End the lease of `origin` if `token` belongs to that lease; otherwise do nothing."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections. No other method is called afterwards."""

    def find(
        self, origin: str, is_good: Callable[[Entry | None], bool], secs: float
    ) -> tuple[Entry | None, str | None]:
        """Return the entry of `origin`, and take the lease if the entry is not good.

        Args:
            origin: the origin.
            is_good: returns whether the entry can be used without a fetch; the argument is None if
                there is no entry.
            secs: the duration of the lease in seconds.

        Returns:
            The entry or None, and the token of the lease. The token is None if the entry is good,
            or if another process holds the lease.
        """
        entry = self.get(origin)
        if is_good(entry):
            return entry, None
        token = self.lease(origin, secs)
        if token is not None:
            # Between `get` and `lease`, the last holder may have stored a good entry.
            entry = self.get(origin)
            if is_good(entry):
                self.release(origin, token)
                token = None
        return entry, token

    def store_and_release(self, origin: str, entry: Entry | None, token: str) -> None:
        """Store `entry` for `origin`, and end the lease of `origin` that has `token`.

        With None as `entry`, nothing is stored. With "" as `token`, no lease ends.
        """
        if entry is not None:
            self.put(origin, entry)
        if token:
            self.release(origin, token)
