"""The most frequent of maybe millions of keys, in bounded memory."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable

_K = TypeVar("_K", bound="Hashable")


class Tally(Generic[_K]):
    """Counts by key. Above `room` keys, the least frequent are forgotten, until `room / 2` are left.

    Attributes:
        total: the sum of all counts, forgotten keys included.
        exact: whether no key was forgotten. Otherwise counts may be too low, and keys may be missing.
    """

    def __init__(self, room: int = 10_000) -> None:
        self._room = room
        self._counts: Counter[_K] = Counter()
        self.total = 0
        self.exact = True

    def add(self, key: _K) -> None:
        """Count `key` once."""
        self.update((key,))

    def update(self, keys: Collection[_K]) -> None:
        """Count each of `keys`, a key as often as it occurs."""
        self._counts.update(keys)
        self.total += len(keys)
        if len(self._counts) > self._room:
            self._counts = Counter(dict(self._counts.most_common(self._room // 2)))
            self.exact = False

    def __len__(self) -> int:
        """How many keys are known."""
        return len(self._counts)

    def top(self, most: int) -> list[tuple[_K, int]]:
        """Return the most frequent keys with their counts, the most frequent first."""
        return self._counts.most_common(most)
