"""The contract of a storage: `Storage`, and its one error.

A storage keeps entries, the facts of `policy.outages`, by origin, and knows nothing of their
meaning. It is synchronous and may be called from any thread. It may drop an entry that was stored
100 days ago (`policy.outages.KEEP_DAYS`). An origin is passed in its text form, such as
"https://example.com:8181".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from ..policy.outages import Entry

__all__ = ["Storage", "StorageError"]

# an origin, and whether an entry is good enough
Wanted: TypeAlias = "tuple[str, Callable[[Entry | None], bool]]"
# an entry, and the token of the lease if that was taken
Found: TypeAlias = "tuple[Entry | None, str | None]"
# an origin, what to store, and the token of the lease to end
Result: TypeAlias = "tuple[str, Entry | None, str]"


class StorageError(Exception):
    """A storage cannot be used now, but perhaps later.

    The driver's own error is the `__cause__`.
    """


class Storage(ABC):
    """Entries by origin, and leases.

    Each method raises StorageError, and nothing else, when the storage fails.

    A subclass has the methods from `get` to `close`. A crawl calls `find` and `store_and_release`,
    often for many origins at once. A storage that can do each of them in one step (one transaction,
    one round trip) overrides them.
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

    def find(self, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        """Return the entry of each origin; where it is not good, take the lease for `secs` seconds.

        Each of `wanted` is an origin, and a function that says whether an entry (or None) is good.
        Each result is an entry or None, and the token of the lease, or None: the entry is good, or
        another has the lease.
        """
        answers: list[Found] = []
        for origin, is_good in wanted:
            entry = self.get(origin)
            token = None
            if not is_good(entry):
                token = self.lease(origin, secs)
            if token is not None:
                # The last holder may have stored a good one between our look and our lease.
                entry = self.get(origin)
                if is_good(entry):
                    self.release(origin, token)
                    token = None
            answers.append((entry, token))
        return answers

    def store_and_release(self, results: Sequence[Result]) -> None:
        """Store an entry for each origin, and end its lease.

        Each result is an origin, an entry or None, a token or "".
        """
        for origin, entry, token in results:
            if entry is not None:
                self.put(origin, entry)
            if token:
                self.release(origin, token)


class BatchStorage(Storage):
    """A storage that does its steps for many origins at once, with `_look` and `store_and_release`.

    Its steps for one origin are made of these.
    """

    def find(self, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        """Look twice: for all, then for those whose entry is not good and not leased yet."""
        if not wanted:
            return []
        answers = self._look(wanted, secs, again=False)
        due: list[int] = []  # places of these
        for place, (entry, token) in enumerate(answers):
            _, is_good = wanted[place]
            if not token and not is_good(entry):
                due.append(place)
        if due:
            late = self._look([wanted[place] for place in due], secs, again=True)
            for place, answer in zip(due, late, strict=True):
                answers[place] = answer
        return answers

    @abstractmethod
    def _look(self, wanted: Sequence[Wanted], secs: float, *, again: bool) -> list[Found]:
        """Return entries. The second look takes the leases of those that are not good.

        The first one may take the leases of those that are not there.
        """

    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`."""
        ((entry, _),) = self.find([(origin, lambda _: True)], 1)
        return entry

    def put(self, origin: str, entry: Entry) -> None:
        """Store `entry` for `origin`."""
        self.store_and_release([(origin, entry, "")])

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin` if it is free or has run out."""
        ((_, token),) = self.find([(origin, lambda _: False)], secs)
        return token

    def release(self, origin: str, token: str) -> None:
        """End the lease if it is the token's."""
        self.store_and_release([(origin, None, token)])
