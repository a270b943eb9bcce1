"""The patterns of a group's allow or disallow rules, in a compact form that can be asked as it is.

Most hosts of a crawl are asked a few times only: for them an index (index.py) would cost more time and memory than it
saves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .grammar import INDEX_PAGE
from .matching import directory_of_index, matches
from .urls import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

_IN_A_BYTE: Final = 256  # line numbers below that are held in a byte each


class Patterns(NamedTuple):
    """All allow or all disallow rules of a group.

    `text` holds the patterns in file order, with a line feed between them; `lines` the line of each.
    """

    text: str
    lines: Sequence[int]

    @classmethod
    def of(cls, paths: bytes, lines: Sequence[int]) -> Patterns:
        """Take the paths of rules, not yet escaped, LF between them, and the line of each."""
        text = escape(paths).decode("ascii")
        if lines[-1] < _IN_A_BYTE:
            return cls(text, bytes(lines))
        from array import array  # noqa: PLC0415 - few files are so long

        return cls(text, array("I", lines))

    def texts(self) -> list[str]:
        """Return the patterns in file order; that of a rule without a path is empty."""
        return self.text.split("\n") if self.lines else []

    def entries(self) -> list[tuple[str, int]]:
        """Return the patterns in file order, each with its line."""
        return list(zip(self.texts(), self.lines, strict=True))

    def longest(self, path: str) -> int:
        """Return the length of the longest pattern that matches `path`, 0 if none does."""
        if not self.text:
            return 0
        texts = self.text.split("\n")
        longest = 0
        if path.startswith(tuple(texts)):
            longest = max([len(text) for text in texts if path.startswith(text) and matches(text, path)], default=0)
        if "*" in self.text or "$" in self.text:
            for text in [text for text in texts if "*" in text or text[-1:] == "$"]:
                if matches(text, path) and len(text) > longest:
                    longest = len(text)
        return longest

    def directories(self) -> list[tuple[str, int, str]]:
        """Return what rules for index pages also stand for: the pattern, the line, and the pattern of the rule."""
        if INDEX_PAGE not in self.text:
            return []
        found = ((directory_of_index(text), line, text) for text, line in self.entries())
        return [(directory, line, text) for directory, line, text in found if directory is not None]

    def empty_line(self) -> int:
        """Return the line of the first rule without a path, 0 if there is none."""
        return next((line for text, line in self.entries() if not text), 0)


NO_PATTERNS: Final = Patterns("", b"")
