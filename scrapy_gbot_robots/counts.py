"""Counting with bounded memory, and numbers with their nouns."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TypeVar

_EXAMPLES = 2  # for each key
_MOST_EXAMPLE = 200  # characters

_K = TypeVar("_K")


class Tally(Counter[_K]):
    """Counts by key. Above `most` keys, the least frequent keys are forgotten; `most / 2` stay.

    Attributes:
        examples: up to two examples for each key.
        exact: True if no key was forgotten. Otherwise counts may be too low, and keys may be
            missing.
    """

    def __init__(self, most: int = 10_000) -> None:
        super().__init__()
        self._most = most
        self.examples: defaultdict[_K, list[str]] = defaultdict(list)
        self.exact = True

    def add(self, key: _K, example: str = "") -> None:
        """Count `key` once, and keep a few examples of it."""
        self[key] += 1
        if example:
            examples = self.examples[key]
            beginning = example[:_MOST_EXAMPLE]
            if len(examples) < _EXAMPLES and beginning not in examples:
                examples.append(beginning)
        if len(self) > self._most:
            for rare, _ in self.most_common()[self._most // 2 :]:
                del self[rare]
                self.examples.pop(rare, None)
            self.exact = False


def plural(number: int, noun: str) -> str:
    """Return a number with its noun: "1 URL", "2 URLs"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}s"
