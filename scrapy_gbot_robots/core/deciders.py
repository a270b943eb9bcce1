"""Which of many patterns decides about a path, found without trying all: for who asks for verdicts by the thousand.

A pattern can only match a path that begins with what stands before its first "*" or "$". So patterns are filed under
that, and only the beginnings of a path that have such a length are looked up. Where many begin alike ("/*"), they are
filed under three characters of a literal that must be somewhere in the path. Within a file the preferred stands first.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from .matching import matches

if TYPE_CHECKING:
    from collections.abc import Iterable

_T = TypeVar("_T")

_SPECIAL: Final = re.compile(r"[*$]")  # a "$" within a pattern is a literal, but may as well end one here
_FEW: Final = 8  # patterns of one beginning that are sooner tried one by one
_GRAM: Final = 3
_preference: Final = itemgetter(0)


class Deciders(Generic[_T]):
    """Patterns, each with what it says when it decides. Each takes a few hundred bytes."""

    __slots__ = ("_by_beginning", "_by_gram", "_lengths", "_otherwise")

    def __init__(self, patterns: Iterable[tuple[int, str, _T]], otherwise: _T) -> None:
        """Take each pattern's preference, of which the greatest that matches decides, the pattern, and what it says.

        `otherwise` is said where none matches.
        """
        self._by_beginning: dict[str, list[tuple[int, str, str, _T]]] = {}
        self._by_gram: dict[str, list[tuple[int, str, str, _T]]] = {}
        for preference, pattern, said in sorted(patterns, key=_preference, reverse=True):
            beginning, *literals = _SPECIAL.split(pattern)
            needle = max(literals, key=len, default="")
            alike = self._by_beginning.setdefault(beginning, [])
            if len(alike) >= _FEW and len(needle) >= _GRAM:
                alike = self._by_gram.setdefault(needle[:_GRAM], [])
            alike.append((preference, needle, pattern, said))
        self._lengths = sorted({len(beginning) for beginning in self._by_beginning}, reverse=True)
        self._otherwise = otherwise

    def of(self, path: str) -> _T:
        """Return what the pattern that decides about `path` says."""
        files = [self._by_beginning[path[:length]] for length in self._lengths if path[:length] in self._by_beginning]
        if self._by_gram:
            grams = {path[at : at + _GRAM] for at in range(len(path) - _GRAM + 1)}
            files += [self._by_gram[gram] for gram in grams & self._by_gram.keys()]
        found, best = self._otherwise, -1
        for alike in files:
            for preference, needle, pattern, said in alike:
                if preference <= best:
                    break
                if needle in path and matches(pattern, path):
                    found, best = said, preference
                    break
        return found
