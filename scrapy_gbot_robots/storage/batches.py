"""What a crawl asks of a storage for many origins at once: the entry or else the lease, and what a fetch came to.

A storage may do that in few steps of its own (`BatchStorage`: one transaction, one round trip). The functions here do it
with any storage, by its eight verbs where it knows no better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from .base import Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..policy.entry import Entry


class Wanted(NamedTuple):
    """An origin whose entry is wanted, or else its lease."""

    origin: str
    is_good: Callable[[Entry | None], bool]  # whether an entry will do


class Found(NamedTuple):
    """What there is for a `Wanted`: an entry that is good, or else the token of a lease unless another has that."""

    entry: Entry | None
    token: str | None = None

    @property
    def leased(self) -> bool:
        """Whether the right to fetch came with it."""
        return self.token is not None


class Settled(NamedTuple):
    """What a fetch came to: the entry to keep, and the token of the lease to end; "" for none."""

    origin: str
    entry: Entry
    token: str


@runtime_checkable
class BatchStorage(Storage, Protocol):
    """A storage that does for many origins in one step what others do for each in several."""

    def find(self, wanted: Sequence[Wanted], secs: float) -> list[Found]:
        """Return what there is for each of `wanted`, in order; a lease is for `secs` seconds."""

    def settle(self, settled: Sequence[Settled]) -> None:
        """Keep each entry, and end its lease."""

    def prolong_all(self, leases: Mapping[str, str], secs: float) -> None:
        """Prolong the leases of these tokens, by origin."""

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


def prolong_all(storage: Storage, leases: Mapping[str, str], secs: float) -> None:
    """Do what `BatchStorage.prolong_all` does, with any storage."""
    if isinstance(storage, BatchStorage):
        storage.prolong_all(leases, secs)
        return
    for origin, token in leases.items():
        storage.prolong(origin, token, secs)


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
    latest = storage.get(wanted.origin)  # the holder before may have put something better between look and lease
    if wanted.is_good(latest):
        storage.release(wanted.origin, token)
        return Found(latest)
    return Found(latest, token)
