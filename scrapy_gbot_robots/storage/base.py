"""The contract of a storage, which keeps entries between runs and between processes: `Storage`, and its one error.

A storage is synchronous and may be called from any thread. It keeps the facts of `policy.outages`, by origin, and knows
nothing of their meaning. It may drop an entry that was not used for `KEEP_SECS`. An origin is passed in its text form, such
as "https://example.com:8181".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ..policy.outages import Entry

# The ladders decide by outages of 30 days and more, and by the copy from before the outage. A crawl that runs once a month
# must still find both.
KEEP_DAYS = 100
KEEP_SECS = KEEP_DAYS * 86400
MAX_BODY = 512_000  # bytes of a body that a storage hands out unless told otherwise


class StorageError(Exception):
    """A storage cannot be used now, but perhaps later. The driver's own error is the `__cause__`."""


class Wanted(NamedTuple):
    """Asks for the entry of an origin, or else for its lease."""

    origin: str
    is_good: Callable[[Entry | None], bool]  # whether the crawl can use an entry without a fetch


class Found(NamedTuple):
    """The reply to a `Wanted`: a good entry, or else the token of the lease. No token: another process has the lease."""

    entry: Entry | None
    token: str | None = None

    @property
    def lease_taken(self) -> bool:
        """Whether the lease comes with it."""
        return self.token is not None


class FetchResult(NamedTuple):
    """A fetch that has ended: the entry to store, and the token of the lease to end ("": there is no lease)."""

    origin: str
    entry: Entry
    token: str


class Storage:
    """Entries by origin, and leases. Each method raises StorageError, and nothing else, when the storage fails.

    A subclass has the methods from `get` to `close`. A crawl uses those for many origins at once all the time, so a storage
    that can do each of them in one step (one transaction, one round trip) overrides them.
    """

    def get(self, origin: str) -> Entry | None:
        """Return the entry of `origin`; None if there is none, or none that can be read."""
        raise NotImplementedError

    def put(self, origin: str, entry: Entry) -> None:
        """Store `entry` for `origin`, in place of its last one."""
        raise NotImplementedError

    def delete(self, origin: str) -> bool:
        """Forget `origin`; return whether it had an entry."""
        raise NotImplementedError

    def origins(self, prefix: str = "") -> Iterator[str]:
        """Yield each stored origin whose text starts with `prefix`, once, in any order."""
        raise NotImplementedError

    def lease(self, origin: str, secs: float) -> str | None:
        """Take the lease of `origin`, the right to fetch it, for `secs` seconds: a token, or None while another has it.

        Only one of all that share the storage has the lease at a time. It ends by itself, since its holder may die.
        """
        raise NotImplementedError

    def release(self, origin: str, token: str) -> None:
        """End the lease of `token`. Does nothing if the lease is not the token's."""
        raise NotImplementedError

    def close(self) -> None:
        """Close files and connections. No other method is called afterwards."""
        raise NotImplementedError

    def find(self, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        """Return the entry or else the lease for each of `wanted`, in order. A lease is for `secs` seconds."""
        return [_find_one(self, each, secs) for each in wanted]

    def store_and_release(self, results: Sequence[FetchResult]) -> None:
        """Store each entry, and end its lease."""
        for origin, entry, token in results:
            self.put(origin, entry)
            if token:
                self.release(origin, token)

    def release_all(self, leases: Mapping[str, str]) -> None:
        """End the leases of these tokens, by origin."""
        for origin, token in leases.items():
            self.release(origin, token)


def _find_one(storage: Storage, wanted: Wanted, secs: float) -> Found:
    entry = storage.get(wanted.origin)
    if wanted.is_good(entry):
        return Found(entry)
    token = storage.lease(wanted.origin, secs)
    if token is None:
        return Found(entry)
    latest = storage.get(wanted.origin)  # the last holder may have stored a good one between our look and our lease
    if wanted.is_good(latest):
        storage.release(wanted.origin, token)
        return Found(latest)
    return Found(latest, token)
