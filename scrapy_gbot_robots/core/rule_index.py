"""Which of many rules decides about a path, found without trying all of them.

Source: Google's page, "Order of precedence for rules": of the rules that match, the longest pattern decides, and allow
wins a tie; of equal rules the first one is named.

Operations wanted, for a group of thousands of rules and a path of a few dozen characters:

* Build the index once, in time linear in the text of the rules.
* `decider(path)`: the precedence of the rule that decides. One number holds the length of the pattern, the kind and the
  line of a rule. So the highest number that matches decides, and there is no second search for the line.
* `allows_url(url, start)`: only the kind of that rule, for a path inside a URL. A crawl asks it for each request, so one
  `startswith` with a few literal beginnings settles most questions before anything is cut out of the URL.
* `most_tries(path)`: how many patterns `decider` may have to try, known before any of them is tried.

Plan:

1. A rule without a wildcard is a *stem*. It matches if the path begins with it. The stems are sorted, and one bisection
   finds the last stem that is not after the path. All stems that begin the path are that one, or beginnings of that one.
   So a link leads from each stem to the next shorter stem that begins it, and each stem knows the best precedence along
   its links.
2. A wildcard pattern is filed under its longest literal segment. If that is the segment before the first star, the pattern
   *hangs* on that stem, and is tried only for paths that begin with it.
3. If it is a later segment, or if too many patterns hang on one stem, the segment is a *needle*: the pattern is tried only
   for paths that contain the needle. A few needles are looked for one by one. More are filed on a *shelf* by pieces of
   three characters, so that a path is cut into pieces once, and only patterns under one of its pieces are tried.

A worked example. The rules are

    2  disallow: /shop           stem "/shop"
    3  allow: /shop/sale         stem "/shop/sale", linked to "/shop/"
    4  disallow: /shop/*.pdf$    hangs on the stem "/shop/", linked to "/shop"
    5  disallow: /*sessionid=    needle "sessionid="

and the path is "/shop/sale/list.pdf". Sorted, the stems are "/shop", "/shop/", "/shop/sale". Bisection finds the last one,
and the path begins with it. The best plain rule along its links is line 3, with ten characters. The next stem along the
links on which patterns hang is "/shop/": the pattern of line 4 matches, with twelve characters, so it is the best now. The
needle is not in the path. Line 4 decides: disallowed.

A shelf need not look at every place of a path. With pieces of three characters and a step of three, it looks at the places
0, 3, 6, ... and a needle is filed under the pieces at three successive places of it. For the needle "print=1":

    filed under     "pri"  "rin"  "int"         the pieces at its places 0, 1 and 2
    path            /a? pri nt= 1               looked at: "/a?", "pri", "nt=", "1"
    another path    /ab ?pr int =1              looked at: "/ab", "?pr", "int", "=1"

Wherever the needle lies in a path, one of its three pieces is at a place that is looked at. So it must have at least size +
step - 1 = 5 characters. Shorter needles have a shelf of their own, with a step of one.

Warnings: needles may share their pieces, and a hostile file makes them do so. If a piece has a crowd already, a needle is
filed under the pieces at another place of it. Above `_MANY_NEEDLES` pieces have five characters.

Each list of patterns is sorted by precedence, the highest first. A search in it ends at the first match, or as
soon as no better one can follow. A path "begins with" a stem in the sense of `str.startswith`: stems have no wildcard. The
attributes that `allows_url` uses are shortcuts. The comments where they are set say why the answer is the same without them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from .patterns import LENGTH_BITS, NO_RULE, follow, precedence_of
from .urls import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    # A wildcard pattern: its precedence; its longest literal segment after the first star; the text before that star,
    # and the text after it ("$" cut off; None if there is no star); and whether "$" was at the end.
    Filed = tuple[int, str, str, str | None, bool]

_FEW_STEMS: Final = 40  # up to this number, one startswith with all of them is faster than a bisection
_FEW_NEEDLES: Final = 24  # up to this number, one by one is faster; they are searched for before the path is cut out
_CROWDED_STEM: Final = 200  # patterns that hang on one stem; any more get a needle, which is searched for in all paths

# How long it takes to try a pattern, on the slow side; for takes_long.
_NS_OF_TRY: Final = 500
_NS_OF_CHAR: Final = 50  # for each character of the pattern: a segment may be a single one
_NS_OF_COMPARISON: Final = 0.25
_NS_OF_PIECE: Final = 200  # for each piece of the path that is looked up on a shelf
_LONGEST_SLOW_NEEDLE: Final = 100  # characters; Python finds longer texts in linear time

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


class Index:
    """The rules of a group, arranged for matching. It does not change once it is built."""

    __slots__ = (
        "_allow_shelves",
        "_allow_tried",
        "_barred",
        "_beginnings",
        "_best",
        "_disallow_shelves",
        "_disallow_tried",
        "_exempt",
        "_final",
        "_has_allow_needles",
        "_head",
        "_heads",
        "_hung",
        "_longest_wildcard",
        "_needles",
        "_next_hung",
        "_parents",
        "_plain",
        "_stems",
        "_wildcards",
    )

    def __init__(self, allows: Iterable[tuple[str, int]], disallows: Iterable[tuple[str, int]]) -> None:
        """Take the patterns of the rules, each with its line. Empty patterns never decide and are left out."""
        barred, wild_disallows = _sorted_out(disallows, False)
        exempt, wild_allows = _sorted_out(allows, True)
        hung, disallow_needles = _file(wild_disallows)
        allow_hung, allow_needles = _file(wild_allows)
        disallowed, allowed = {*barred, *hung}, {*exempt, *allow_hung}
        for stem, filed in allow_hung.items():
            hung.setdefault(stem, []).extend(filed)
        stems = {**dict.fromkeys(hung, NO_RULE), **barred}
        for stem, precedence in exempt.items():
            stems[stem] = max(precedence, stems.get(stem, NO_RULE))
        lists = [each for each in (disallow_needles, allow_needles, *hung.values()) if each]
        for filed in lists:
            filed.sort(key=by_precedence, reverse=True)
        self._disallow_tried, self._disallow_shelves = shelved(disallow_needles)
        self._allow_tried, self._allow_shelves = shelved(allow_needles)
        self._has_allow_needles = bool(allow_needles)
        self._wildcards = sum(map(len, lists))
        self._longest_wildcard = max([filed[0][0] for filed in lists], default=0) >> LENGTH_BITS

        # The literal beginnings of the disallow rules without a needle, and the needles of the others, if there are few of
        # both. A path that starts with none of the beginnings and has none of the needles is allowed. If a rule has an
        # escape, there is no shortcut: the URL may write the same escape in another way.
        escapes = "%" in "".join(stems)
        few = not escapes and len(disallowed) <= _FEW_STEMS and len(disallow_needles) <= _FEW_NEEDLES
        self._beginnings = tuple(disallowed) if few else None
        self._needles = [needle for _, needle, _, _, _ in disallow_needles] if few else []
        # A path that starts with a barred stem and with no exempt one is disallowed: no allow rule can match it.
        self._barred = () if allow_needles else tuple(barred)
        self._exempt = tuple(allowed)
        # All rules are stems, and none has an escape. A path can be judged as it is in the URL, its fragment included.
        self._plain = not escapes and not self._wildcards
        # All rules are stems, and all disallow. A path that starts with any of them is disallowed.
        self._final = self._plain and not exempt
        self._arrange(stems, hung)

    def _arrange(self, best: dict[str, int], hung: dict[str, list[Filed]]) -> None:
        """Sort the stems and link them. "No stem" has the number -1, so the last entry of each list is for it."""
        stems = sorted(best)
        parents: list[int] = []
        highest: list[int] = []
        for number, stem in enumerate(stems):
            parent = number - 1
            while parent >= 0 and not stem.startswith(stems[parent]):
                parent = parents[parent]
            parents.append(parent)
            precedence = best[stem]
            highest.append(precedence if parent < 0 or precedence > highest[parent] else highest[parent])
        self._stems = stems
        self._head = min(map(len, stems), default=0)
        self._heads = frozenset([stem[: self._head] for stem in stems])  # no other path begins with a stem
        self._parents = parents  # for each stem the link: the next shorter stem that begins it
        self._best = [*highest, NO_RULE]  # for each stem the highest precedence of a plain rule, along its links
        self._next_hung: list[int] = []  # for each stem the first stem with hung patterns, along its links
        self._hung: dict[int, list[Filed]] = {}
        for number, stem in enumerate(stems if hung else ()):
            if stem in hung:
                self._hung[number] = hung[stem]
            parent = parents[number]
            self._next_hung.append(number if stem in hung else self._next_hung[parent] if parent >= 0 else -1)
        self._next_hung.append(-1)

    def allows_url(self, url: str, start: int) -> bool:  # noqa: C901 - spelt out, for speed
        """Return whether the rules allow `url`, as written. Its path begins with the slash at `start`."""
        beginnings = self._beginnings
        if beginnings is not None:  # there are few
            if url.startswith(beginnings, start):
                if self._final or (url.startswith(self._barred, start) and not url.startswith(self._exempt, start)):
                    return False
            elif not self._needles:
                return True
            elif url.isascii() and "%" not in url:  # a needle after "#" or NUL only makes it slower
                for needle in self._needles:
                    if needle in url:
                        break
                else:
                    return True
        if self._plain:
            if url[start : start + self._head] not in self._heads:
                return True
            path, stems = url[start:], self._stems
            number = bisect_right(stems, path) - 1  # this is _last_stem, without the call
            while number >= 0 and not path.startswith(stems[number]):
                number = self._parents[number]
            return self._best[number] & 1 > 0
        if url.isascii() and "%" not in url and "#" not in url and "\0" not in url:
            return self.decider(url[start:], True) & 1 > 0
        return self.decider(path_of(url), True) & 1 > 0

    def allows(self, path: str) -> bool:
        """Return whether the rules allow `path`, as `path_of` gives it."""
        return self.decider(path, only_kind=True) & 1 > 0

    def decider(self, path: str, only_kind: bool = False) -> int:
        """Return the precedence of the rule that decides about `path`, NO_RULE if none matches.

        With `only_kind`, it may be the precedence of another rule of the same kind.
        """
        number = -1
        if path[: self._head] in self._heads:  # this is _last_stem, without the call
            stems = self._stems
            number = bisect_right(stems, path) - 1
            while number >= 0 and not path.startswith(stems[number]):
                number = self._parents[number]
        best = self._best[number]
        if self._hung:
            number = self._next_hung[number]
            while number >= 0:
                best = best_of(self._hung[number], path, best)
                number = self._next_hung[self._parents[number]]
        if self._disallow_tried:
            best = best_of(self._disallow_tried, path, best)
        if self._disallow_shelves:
            for shelf in self._disallow_shelves:
                best = shelf.best(path, best)
        if self._has_allow_needles and not (only_kind and best & 1):
            best = best_of(self._allow_tried, path, best)
            for shelf in self._allow_shelves:
                best = shelf.best(path, best)
        return best

    def _last_stem(self, path: str) -> int:
        """Return the number of the longest stem that begins `path`, -1 if there is none."""
        number = bisect_right(self._stems, path) - 1
        while number >= 0 and not path.startswith(self._stems[number]):
            number = self._parents[number]
        return number

    def takes_long(self, chars: int, path: Callable[[], str], long_ns: float) -> bool:
        """Return whether `decider` may take more than `long_ns` nanoseconds for a path of `chars` characters.

        `path` returns the path. It is only called if the number of characters does not decide.
        """
        shelves = len(self._disallow_shelves) + len(self._allow_shelves)
        if _NS_OF_PIECE * chars * shelves > long_ns:
            return True
        segments = _NS_OF_CHAR * min(self._longest_wildcard, 2 * chars)
        comparisons = _NS_OF_COMPARISON * chars * min(self._longest_wildcard, _LONGEST_SLOW_NEEDLE)
        tries = long_ns / (_NS_OF_TRY + segments + comparisons)  # that fit into the time, at the slowest
        return self._wildcards > tries and self.most_tries(path()) > tries

    def most_tries(self, path: str) -> int:
        """Return how many wildcard patterns `decider` tries at the most."""
        tries = len(self._disallow_tried) + len(self._allow_tried)
        tries += sum(shelf.most_tries(path) for shelf in (*self._disallow_shelves, *self._allow_shelves))
        number = self._next_hung[self._last_stem(path)] if self._hung else -1
        while number >= 0:
            tries += len(self._hung[number])
            number = self._next_hung[self._parents[number]]
        return tries


def _sorted_out(entries: Iterable[tuple[str, int]], allow: bool) -> tuple[dict[str, int], dict[str, int]]:
    """Return the stems and the wildcard patterns of the rules of one kind, each with its precedence."""
    stems: dict[str, int] = {}
    wild: dict[str, int] = {}
    kind_and_line = precedence_of(0, allow, 0)
    for pattern, line in entries:
        if pattern:
            precedence = (len(pattern) << LENGTH_BITS) + kind_and_line - (line << 1)  # as precedence_of
            end = pattern[-1]
            stem = pattern.rstrip("*") if end == "*" else pattern  # stars at the end only add to the length
            if "*" in stem or end == "$":
                if wild.get(pattern, 0) < precedence:
                    wild[pattern] = precedence
            elif stems.get(stem, 0) < precedence:
                stems[stem] = precedence
    return stems, wild


def _file(wild: dict[str, int]) -> tuple[dict[str, list[Filed]], list[Filed]]:
    """Return the patterns that hang on a stem, by stem, and the patterns with a needle."""
    hung: dict[str, list[Filed]] = {}
    needles: list[Filed] = []
    for pattern, precedence in wild.items():
        anchored = pattern[-1] == "$"
        stem, star, rest = (pattern[:-1] if anchored else pattern).partition("*")
        needle, _, last = rest.rpartition("*")
        if "*" in needle:
            needle = max(needle.split("*"), key=len)
        if len(last) >= len(needle):
            needle = last
        filed = (precedence, needle, stem, rest if star else None, anchored)
        # A needle as long as the stem is the better choice: the slash at the beginning of a stem is in every path.
        if len(needle) >= len(stem) or (len(needle) >= SHORTEST and len(hung.get(stem, ())) >= _CROWDED_STEM):
            needles.append(filed)
        elif stem in hung:
            hung[stem].append(filed)
        else:
            hung[stem] = [filed]
    return hung, needles


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


NO_RULES: Final = Index((), ())  # shared, since many files have no rules for a crawler
