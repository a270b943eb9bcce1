"""Wildcard patterns that have a needle: found by the text that a path must contain, and not by how it begins.

A needle is the longest literal segment of a pattern: "sessionid=" of "/*sessionid=". A path can only match if the needle is
in it. `Filed` is what is kept of a pattern.

Operations wanted, for thousands of patterns:

* `best_of(patterns, path, best)`, and `best(path, best)` of a shelf: the highest precedence over `best` of a pattern that
  matches.
* `most_tries(path)` of a shelf: how many patterns that may have to try.

Plan: a few needles are looked for one by one. More are filed on a *shelf* by pieces of three characters, so that a path is
cut into pieces once, and only patterns under one of its pieces are tried.

A shelf need not look at every place of a path. With pieces of three characters and a step of three, it looks at the places
0, 3, 6, ... and a needle is filed under the pieces at three successive places of it. For the needle "print=1":

    filed under     "pri"  "rin"  "int"         the pieces at its places 0, 1 and 2
    path            /a? pri nt= 1               looked at: "/a?", "pri", "nt=", "1"
    another path    /ab ?pr int =1              looked at: "/ab", "?pr", "int", "=1"

Wherever the needle lies in a path, one of its three pieces is at a place that is looked at. So it must have at least size +
step - 1 = 5 characters. Shorter needles have a shelf of their own, with a step of one.

Warnings: needles may share their pieces, and a hostile file makes them do so. If a piece has a crowd already, a needle is
filed under the pieces at another place of it. Above `_MANY_NEEDLES` pieces have five characters. Lists are sorted by
precedence, the highest first: a search ends at the first match, or when no better one can follow.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from .matching import follow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    # A wildcard pattern: its precedence; its longest literal segment after the first star; the text before that star,
    # and the text after it ("$" cut off; None if there is no star); and whether "$" was at the end.
    Filed = tuple[int, str, str, str | None, bool]

_FEW_NEEDLES: Final = 24  # up to so many are found sooner one by one
_FEW_SHORT_NEEDLES: Final = 100  # the same for short ones: their shelf looks at every place
_CROWD: Final = 24  # needles under one piece; more are filed under other pieces if there are any
_MANY_NEEDLES: Final = 2_000  # more of them share too many pieces of three characters

# Of a shelf: the length of a piece, and the step from one place of a path to the next.
_SHORT: Final = (3, 1)
_USUAL: Final = (3, 3)
_LONG: Final = (5, 1)
SHORTEST: Final = _SHORT[0]  # characters; a shorter needle is on no shelf
_LONGER: Final = _LONG[0]

# By the length of a piece, what cuts a path into such pieces. A regular expression does it faster than slices do.
_CUT: Final = {size: re.compile("." * size, re.DOTALL).findall for size, _ in (_SHORT, _USUAL, _LONG)}

by_precedence: Final = itemgetter(0)


def best_of(filed: Iterable[Filed], path: str, best: int) -> int:
    """Return the highest precedence over `best` of a pattern in `filed` that matches `path`, `best` if there is none."""
    for precedence, needle, first, rest, anchored in filed:
        if precedence <= best:
            break
        if needle in path and path.startswith(first):
            end = len(first)
            if rest is None:
                if path == first:
                    return precedence
            elif "*" in rest:
                if follow(rest, path, end, anchored):
                    return precedence
            elif (
                path.endswith(rest, end) if anchored else path.find(rest, end) >= 0
            ):  # this is follow, without the call
                return precedence
    return best


def shelved(filed: list[Filed]) -> tuple[Sequence[Filed], tuple[Shelf, ...]]:
    """Return the patterns that are tried one by one, and the shelves of the others. Takes the highest precedence first."""
    if not filed:
        return (), ()
    if len(filed) <= _FEW_NEEDLES:
        return filed, ()
    long = [each for each in filed if len(each[1]) >= _LONGER]
    others = [each for each in filed if len(each[1]) < _LONGER] if len(long) < len(filed) else []
    short = [each for each in others if len(each[1]) >= SHORTEST]
    tried = [each for each in others if len(each[1]) < SHORTEST]
    shelves: tuple[Shelf, ...] = ()
    usual = _USUAL if len(long) <= _MANY_NEEDLES else _LONG
    for how, some, few in ((usual, long, _FEW_NEEDLES), (_SHORT, short, _FEW_SHORT_NEEDLES)):
        if len(some) > few:
            shelves += (Shelf(*how, some),)
        else:
            tried += some
    tried.sort(key=by_precedence, reverse=True)
    return tried, shelves


class Shelf:
    """Patterns filed by pieces of `size` characters of their needles, for paths looked at with a step of `step`."""

    __slots__ = ("_by_piece", "_size", "_step")

    def __init__(self, size: int, step: int, filed: list[Filed]) -> None:
        self._size, self._step = size, step
        self._by_piece: dict[str, list[Filed]] = {}
        by_piece = self._by_piece
        for each in filed:
            needle = each[1]
            piece = needle[:size]
            if step == 1 and piece not in by_piece:
                by_piece[piece] = [each]
                continue
            place = 0 if len(by_piece.get(piece, ())) < _CROWD else self._emptiest_place(needle)
            for at in range(place, place + step):
                by_piece.setdefault(needle[at : at + size], []).append(each)

    def _emptiest_place(self, needle: str) -> int:
        """Return that of three places in `needle` whose piece has the fewest patterns so far."""
        last = len(needle) - self._size - self._step + 1
        crowds = {place: self._by_piece.get(needle[place : place + self._size], ()) for place in (last, last // 2, 0)}
        return min(crowds, key=lambda place: len(crowds[place]))

    def best(self, path: str, best: int) -> int:
        """Return the highest precedence over `best` of a pattern that matches `path`, `best` if there is none."""
        by_piece = self._by_piece
        for piece in by_piece.keys() & self._pieces(path):
            best = best_of(by_piece[piece], path, best)
        return best

    def most_tries(self, path: str) -> int:
        """Return how many patterns `best` tries at the most."""
        return sum(len(self._by_piece[piece]) for piece in self._by_piece.keys() & self._pieces(path))

    def _pieces(self, path: str) -> list[str]:
        """Return the pieces at the places of `path` that are looked at."""
        cut = _CUT[self._size]
        pieces = cut(path)
        if self._step < self._size:
            for start in range(self._step, self._size, self._step):
                pieces += cut(path, start)
        return pieces
