"""Many patterns against one path: the rules of a group, arranged so that the deciding one is found without trying all.

Each rule has a priority: twice the length of its pattern, plus one for allow. The highest priority that matches
decides, and an odd one allows: so the longest pattern wins, and allow wins a tie (Google's page, "Order of precedence
for rules").

1. A plain prefix is a stem. Of the sorted stems, those that a path begins with are the last one not after the path, or
   beginnings of that one; from each stem a link leads to the next shorter one that begins it. One bisection finds all.
2. A wildcard pattern is filed under its longest literal segment. If paths must begin with that, it hangs on the stem.
3. If not, the segment is a needle, and the pattern is tried only where its needle is in the path. Many needles are
   filed by short pieces of them ("grams"): looking at every third place of the path, a needle is found by one of the
   grams at its own first three places, wherever it lies.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from .matching import follow

if TYPE_CHECKING:
    from collections.abc import Sequence

    # A wildcard pattern: priority, the segment to look for, what is before the first star and what is after it ("$" cut
    # off; None if there is no star), and whether "$" was at its end
    Filed = tuple[int, str, str, str | None, bool]

_FEW_STEMS: Final = 40  # so many are sooner tried in one startswith than bisected
_FEW_NEEDLES: Final = 24  # so many are sooner looked for one by one
_MANY_NEEDLES: Final = 2_000  # more of them share too many short grams
_GRAMS: Final = (3, 3)  # length, and at each how many-th place of a path one is looked for
_LONG_GRAMS: Final = (5, 1)
_SHORTEST_BY_GRAM: Final = 5  # length + step - 1: a shorter needle may lie between the places looked at

_priority = itemgetter(0)


class Index:
    """The rules of a group, arranged for matching.

    If there are `guards`, then a path that begins with none of them matches no disallow rule but perhaps one that has a
    needle; and one that begins with a `barred` stem and with no `exempt` one is disallowed. If `plain`, then all rules
    are prefixes without an escape; if `final`, all of them disallow, too: a path is allowed if and only if it begins
    with none of `stems`, of which none begins another. All this holds for a path as it is in a URL, neither escaped nor
    freed of its fragment; a path that is asked about otherwise has to be.
    """

    __slots__ = (
        "_allow_few",
        "_allow_many",
        "_best",
        "_disallow_few",
        "_disallow_many",
        "_head",
        "_heads",
        "_hung",
        "_next_hung",
        "_parents",
        "barred",
        "exempt",
        "final",
        "guards",
        "needles",
        "plain",
        "stems",
    )

    def __init__(self, allows: Sequence[str], disallows: Sequence[str]) -> None:
        """Take the patterns of the rules; empty ones never decide."""
        stems: dict[str, int] = {}
        hung: defaultdict[str, list[Filed]] = defaultdict(list)
        needles: tuple[list[Filed], list[Filed]] = ([], [])
        begun: tuple[list[str], list[str]] = ([], [])  # with what paths begin that a rule disallows, or allows
        barred: list[str] = []
        for allow, patterns in enumerate((disallows, allows)):
            for pattern in filter(None, patterns):
                priority = 2 * len(pattern) + allow
                stem = pattern.rstrip("*")  # stars at the end do nothing but add to the length
                if "*" in stem or stem.endswith("$"):
                    filed = _filed(pattern, priority)
                    _, needle, stem, _, _ = filed
                    if len(needle) >= len(stem):  # the slash that a stem begins with tells nothing
                        needles[allow].append(filed)
                        continue
                    hung[stem].append(filed)
                    priority = 0
                elif not allow:
                    barred.append(stem)
                if stems.get(stem, -1) < priority:
                    stems[stem] = priority
                begun[allow].append(stem)
        escapes = any("%" in stem for stem in stems)
        few = len(begun[0]) <= _FEW_STEMS and len(needles[0]) <= _FEW_NEEDLES
        self.guards = tuple(begun[0]) if few and not escapes else None
        self.barred = () if needles[1] else tuple(barred)
        self.exempt = tuple(begun[1])
        self.needles = [needle for _, needle, _, _, _ in needles[0]]
        self.plain = not escapes and not hung and not needles[0] and not needles[1]
        self.final = self.plain and not any(allows)
        self._disallow_few, self._disallow_many = _needles(needles[0])
        self._allow_few, self._allow_many = _needles(needles[1])
        self._arrange(_shortest(stems) if self.final else stems, hung)

    def _arrange(self, priorities: dict[str, int], hung: dict[str, list[Filed]]) -> None:
        """Sort the stems and link them. In each list the last entry is for "no stem", which has the number -1."""
        self.stems = sorted(priorities)
        self._head = min(map(len, self.stems), default=0)
        self._heads = frozenset([stem[: self._head] for stem in self.stems])  # no other path begins with a stem
        self._parents: list[int] = []  # of each stem, the next shorter one that begins it
        self._best: list[int] = []  # the highest priority of a plain prefix among it and its parents
        self._next_hung: list[int] = []  # the first of it and its parents that patterns hang on
        self._hung: dict[int, list[Filed]] = {}
        for number, stem in enumerate(self.stems):
            parent = number - 1
            while parent >= 0 and not stem.startswith(self.stems[parent]):
                parent = self._parents[parent]
            self._parents.append(parent)
            self._best.append(max(priorities[stem], self._best[parent] if parent >= 0 else 0))
            self._next_hung.append(number if stem in hung else self._next_hung[parent] if parent >= 0 else -1)
            if stem in hung:
                self._hung[number] = sorted(hung[stem], key=_priority, reverse=True)
        self._best.append(0)
        self._next_hung.append(-1)

    def begins_none(self, path: str) -> bool:
        """Return whether `path` begins with no stem; only if `final`, for then none but the last one not after it can."""
        if path[: self._head] not in self._heads:
            return True
        return not path.startswith(self.stems[bisect_right(self.stems, path) - 1])

    def allows(self, path: str) -> bool:
        """Return whether the rules allow `path`."""
        number = -1
        if path[: self._head] in self._heads:
            stems = self.stems
            number = bisect_right(stems, path) - 1
            while number >= 0 and not path.startswith(stems[number]):
                number = self._parents[number]
        best = self._best[number]
        if self._hung:
            number = self._next_hung[number]
            while number >= 0:
                best = _best_of(self._hung[number], path, best)
                number = self._next_hung[self._parents[number]]
        if self._disallow_few:
            best = _best_of(self._disallow_few, path, best)
        if self._disallow_many:
            best = self._disallow_many.best(path, best)
        if best & 1 or not best:
            return True
        if self._allow_few and _best_of(self._allow_few, path, best) > best:
            return True
        return self._allow_many is not None and self._allow_many.best(path, best) > best


def _shortest(stems: dict[str, int]) -> dict[str, int]:
    """Return the stems that no other one begins."""
    found: dict[str, int] = {}
    last = None
    for stem in sorted(stems):
        if last is None or not stem.startswith(last):
            found[stem] = stems[stem]
            last = stem
    return found


def _filed(pattern: str, priority: int) -> Filed:
    anchored = pattern[-1] == "$"
    first, star, rest = (pattern[:-1] if anchored else pattern).partition("*")
    needle, _, last = rest.rpartition("*")
    if "*" in needle:
        needle = max(needle.split("*"), key=len)
    if len(last) >= len(needle):
        needle = last
    return priority, needle, first, rest if star else None, anchored


def _needles(filed: list[Filed]) -> tuple[list[Filed], _Grams | None]:
    """Return those to be tried one by one, and the others; the highest priority comes first."""
    filed.sort(key=_priority, reverse=True)
    if len(filed) <= _FEW_NEEDLES:
        return filed, None
    short = [each for each in filed if len(each[1]) < _SHORTEST_BY_GRAM]
    return short, _Grams([each for each in filed if len(each[1]) >= _SHORTEST_BY_GRAM])


class _Grams:
    """Many wildcard patterns, filed under pieces of a segment that must be somewhere in the path."""

    __slots__ = ("_by_gram", "_size", "_step")

    def __init__(self, filed: list[Filed]) -> None:
        self._by_gram: defaultdict[str, list[Filed]] = defaultdict(list)
        self._size, self._step = size, step = _GRAMS if len(filed) <= _MANY_NEEDLES else _LONG_GRAMS
        places = range(step)
        for each in filed:
            needle = each[1]
            for place in places:
                self._by_gram[needle[place : place + size]].append(each)

    def best(self, path: str, best: int) -> int:
        """Return the highest priority over `best` that matches `path`, `best` if none does."""
        size = self._size
        grams = {path[place : place + size] for place in range(0, len(path), self._step)}
        for gram in self._by_gram.keys() & grams:
            best = _best_of(self._by_gram[gram], path, best)
        return best


def _best_of(filed: list[Filed], path: str, best: int) -> int:
    for priority, needle, first, rest, anchored in filed:  # the highest comes first
        if priority <= best:
            break
        if needle in path and path.startswith(first):
            if rest is None:
                if path == first:
                    return priority
            elif follow(rest, path, len(first), anchored):
                return priority
    return best
