"""Count things in bounded memory, and write numbers with their nouns."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TypeVar

_EXAMPLES = 2  # the number of examples that a `Tally` keeps for each key
_MOST_EXAMPLE = 200  # the maximum length of an example, in characters

_K = TypeVar("_K")


class Tally(Counter[_K]):
    """A `Counter` with a limited number of keys.

    When it has more than `most` keys, it keeps the more frequent half of them and removes all
    others.

    Args:
        most: the maximum number of keys.

    Attributes:
        examples: up to two examples for each key.
        exact: True if no key was removed. If it is False, keys may be missing, and counts may be
            too low.
    """

    def __init__(self, most: int = 10_000) -> None:
        super().__init__()
        self._most = most
        self.examples: defaultdict[_K, list[str]] = defaultdict(list)
        self.exact = True

    def add(self, key: _K, example: str = "") -> None:
        """Add 1 to the count of `key`, and keep `example` if `key` has fewer than two examples.

        For example, `key` may be the reason why a request is forbidden, and `example` its URL.
        """
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
    """Return a number and its noun, such as "1 URL" or "2,000 URLs"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}s"
