"""Two operations on a storage, for many origins at once, that a crawl needs all the time.

`find`: get the entry, or else the lease. `settle`: store the entry of a fetch, and end the lease. A `BatchStorage` does each
in one step of its own (one transaction, one round trip). For any other storage the functions here call its methods one by
one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from .base import Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..policy.outages import Entry


class Wanted(NamedTuple):
    """Asks for the entry of an origin, or else for its lease."""

    origin: str
    is_good: Callable[[Entry | None], bool]  # whether the crawl can use an entry without a fetch


class Found(NamedTuple):
    """The reply to a `Wanted`: a good entry, or else the token of the lease. No token: another process has the lease."""

    entry: Entry | None
    token: str | None = None

    @property
    def leased(self) -> bool:
        """Whether the lease was given."""
        return self.token is not None


class Settled(NamedTuple):
    """A fetch that has ended: the entry to store, and the token of the lease to end ("": there is no lease)."""

    origin: str
    entry: Entry
    token: str


@runtime_checkable
class BatchStorage(Storage, Protocol):
    """A storage that serves many origins in one step."""

    def find(self, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        """Return the reply to each of `wanted`, in order. A lease is for `secs` seconds."""

    def settle(self, settled: Sequence[Settled]) -> None:
        """Store each entry, and end its lease."""

    def release_all(self, leases: Mapping[str, str]) -> None:
        """End the leases of these tokens, by origin."""


def find(storage: Storage, wanted: Sequence[Wanted], secs: float) -> list[Found]:
    """Do what `BatchStorage.find` does, with any storage."""
    if isinstance(storage, BatchStorage):
        return storage.find(wanted, secs)
    return [_find_one(storage, each, secs) for each in wanted]


def settle(storage: Storage, settled: Sequence[Settled]) -> None:
    """Do what `BatchStorage.settle` does, with any storage."""
    if isinstance(storage, BatchStorage):
        storage.settle(settled)
        return
    for origin, entry, token in settled:
        storage.put(origin, entry)
        if token:
            storage.release(origin, token)


def release_all(storage: Storage, leases: Mapping[str, str]) -> None:
    """Do what `BatchStorage.release_all` does, with any storage."""
    if isinstance(storage, BatchStorage):
        storage.release_all(leases)
        return
    for origin, token in leases.items():
        storage.release(origin, token)


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
