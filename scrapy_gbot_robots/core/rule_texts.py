"""The patterns of a group's allow or disallow rules in a compact form, and the order in which rules decide.

A crawl asks most hosts only a few times. For them an index (index.py) costs more time and memory than it saves, so this
module tries the patterns one by one.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from .grammar import INDEX_PAGE
from .matching import directory_of_index, matches
from .urls import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

_IN_A_BYTE: Final = 256  # a line number below this takes one byte

# The memory of an index.
_TEXT_COPIES: Final = 3
_BYTES_PER_RULE: Final = 240
_BYTES_PER_WILDCARD: Final = 620  # in addition

# A precedence, from its highest bits to its lowest: length of the pattern, kind, how early the line is, kind again. An odd
# number allows. `NO_RULE` is odd and below all others, since a path that no rule matches is allowed.
NO_RULE: Final = 1
LAST_LINE: Final = 2**32 - 1
KIND_BITS: Final = 33  # below the kind
LENGTH_BITS: Final = 34  # below the length


def precedence_of(length: int, allow: bool, line: int) -> int:
    """Return the number by which rules are compared: longer pattern first, then allow, then the earlier line.

    Source: Google's page, "Order of precedence for rules", and for the line Google's parser.
    """
    return (2 * length + allow << KIND_BITS) + (LAST_LINE - line << 1) + allow


class Patterns(NamedTuple):
    """All allow or all disallow rules of a group.

    `text` has the patterns in file order, an LF between them; `lines` has the line of each.
    """

    text: str
    lines: Sequence[int]

    @classmethod
    def of(cls, paths: bytes, lines: Sequence[int]) -> Patterns:
        """Take the paths of rules, not yet escaped, with an LF between them, and the line of each."""
        text = escape(paths).decode("ascii")
        if lines[-1] < _IN_A_BYTE:
            return cls(text, bytes(lines))
        from array import array  # noqa: PLC0415 - few files are so long

        return cls(text, array("I", lines))

    @property
    def weight(self) -> int:
        """How many bytes of memory the patterns take once they are indexed. An estimate from measurements, rounded up."""
        marks = self.text.count("*") + self.text.count("$") + self.text.count(INDEX_PAGE)
        return (
            _TEXT_COPIES * len(self.text)
            + _BYTES_PER_RULE * len(self.lines)
            + _BYTES_PER_WILDCARD * min(marks, len(self.lines))
        )

    def texts(self) -> list[str]:
        """Return the patterns in file order. The pattern of a rule without a path is empty."""
        return self.text.split("\n") if self.lines else []

    def entries(self) -> list[tuple[str, int]]:
        """Return the patterns in file order, each with its line."""
        return list(zip(self.texts(), self.lines, strict=True))

    def place_of(self, line: int) -> int:
        """Return the place of the rule in `line` among `texts`."""
        return bisect_left(self.lines, line)

    def lines_of(self, length: int, path: str) -> list[int]:
        """Return the lines of the patterns of `length` characters that match `path`."""
        return [line for text, line in self.entries() if len(text) == length and matches(text, path)]

    def longest(self, path: str) -> int:
        """Return the length of the longest pattern that matches `path`, 0 if none does."""
        joined = self.text
        if not joined:
            return 0
        texts = joined.split("\n")
        longest = 0
        if path.startswith(tuple(texts)):
            longest = max([len(text) for text in texts if path.startswith(text) and matches(text, path)], default=0)
        if "*" in joined or "$" in joined:
            for text in [text for text in texts if "*" in text or "$" in text]:
                if len(text) > longest and matches(text, path):
                    longest = len(text)
        return longest

    def directories(self) -> list[tuple[str, int]]:
        """Return the patterns of the directories whose index page a rule names, each with the line of the rule."""
        if INDEX_PAGE not in self.text:
            return []
        found = ((directory_of_index(text), line) for text, line in self.entries())
        return [(directory, line) for directory, line in found if directory is not None]

    def empty_line(self) -> int:
        """Return the line of the first rule without a path, 0 if there is none."""
        if self.text and self.text[0] != "\n" != self.text[-1] and "\n\n" not in self.text:
            return 0
        return next((line for text, line in self.entries() if not text), 0)


NO_PATTERNS: Final = Patterns("", b"")
