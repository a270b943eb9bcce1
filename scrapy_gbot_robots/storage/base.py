"""The interface of a storage: the abstract class `Storage`, and the exception `StorageError`.

A storage keeps one entry for each origin. The entry (`policy.outages.Entry`) contains a copy of the
origin's robots.txt, and describes the failures of the last fetches. The storage does not interpret
the entry. An origin is passed as a string, for example "https://example.com:8181".

The methods of a storage are synchronous and may be called from any thread. A storage may delete an
entry 100 days (`policy.outages.KEEP_DAYS`) after the entry was stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from ..policy.outages import Entry

__all__ = ["Storage", "StorageError"]


class StorageError(Exception):
    """A storage cannot be used now, but may work again later.

    The `__cause__` is the exception of the driver, for example of redis-py.

    Attributes:
        advice: a sentence, without a full stop, about what the user can do; "" if there is no
            advice.
    """

    def __init__(self, text: str = "", advice: str = "") -> None:
        super().__init__(text)
        self.advice = advice


class Storage(ABC):
    """A storage of one entry for each origin.

    Several processes may share a storage. Only the process that holds the *lease* of an origin
    fetches the robots.txt of this origin. So the same file is not fetched several times.

    A subclass must implement all abstract methods. If the storage fails, these methods must raise
    StorageError and no other exception.

    A crawl calls `find` and `store_and_release` from several threads at the same time, but not for
    the same origin. A subclass should override these two methods if it can do their work in a
    single transaction or round trip.
    """

    @abstractmethod
    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`; None if there is no entry, or if it cannot be decoded."""

    @abstractmethod
    def put(self, origin: str, entry: Entry) -> None:
        """Store `entry` for `origin` in place of any earlier entry."""

    @abstractmethod
    def delete(self, origin: str) -> bool:
        """Delete the entry of `origin`. Return whether there was an entry."""

    @abstractmethod
    def origins(self) -> Iterator[str]:
        """Yield the origins that have an entry, each of them once, in any order.

        The caller may delete entries during the iteration.
        """

    @abstractmethod
    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin`, which is the right to fetch its robots.txt.

        Only one process at a time can hold the lease of an origin. The lease ends after `secs`
        seconds, even if the process is killed before it can call `release`.

        Returns:
            The token of the lease, which the caller later passes to `release`; None if another
            process holds the lease.
        """

    @abstractmethod
    def release(self, origin: str, token: str) -> None:
        """End the lease of `origin` if its token is `token`; otherwise do nothing."""

    @abstractmethod
    def close(self) -> None:
        """Close files and connections. No other method is called afterwards."""

    def find(
        self, origin: str, is_good: Callable[[Entry | None], bool], secs: float
    ) -> tuple[Entry | None, str | None]:
        """Return the entry of `origin`. Take the lease if a fetch is needed.

        A fetch is needed if `is_good` returns False, for example because there is no entry, or
        because its robots.txt is too old.

        Args:
            origin: the origin.
            is_good: a function that takes the entry, or None if there is no entry, and returns
                whether the crawl can go on without a fetch.
            secs: the duration of the lease in seconds.

        Returns:
            The entry or None, and the token of the lease. The token is None if `is_good` has
            returned True, or if another process holds the lease.
        """
        entry = self.get(origin)
        if is_good(entry):
            return entry, None
        token = self.lease(origin, secs)
        if token is not None:
            # Before this process took the lease, another process may have stored a new entry.
            entry = self.get(origin)
            if is_good(entry):
                self.release(origin, token)
                token = None
        return entry, token

    def store_and_release(self, origin: str, entry: Entry | None, token: str) -> None:
        """Store `entry` for `origin`, and end the lease of `origin` whose token is `token`.

        If `entry` is None, nothing is stored. If `token` is "", no lease is ended.
        """
        if entry is not None:
            self.put(origin, entry)
        if token:
            self.release(origin, token)
