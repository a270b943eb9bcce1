"""Which of many rules decides about a path, found without trying all of them.

Source: Google's page, "Order of precedence for rules": of the rules that match, the longest pattern decides, and allow
wins a tie; of equal rules the first one is named.

Operations wanted, for a group of thousands of rules and a path of a few dozen characters:

* Build the index once, in time linear in the text of the rules.
* `decider(path)`: the precedence of the rule that decides. One number holds all of it: the length of the pattern, the
  kind and the line. So the highest number that matches decides, and there is no second search for the line.
* `allows_url(url, start)`: only the kind of that rule, for a path inside a URL. It is asked for each request of a crawl,
  so one `startswith` with a few literal beginnings settles most questions before anything is cut out of the URL.
* `most_tries(path)`: how many patterns `decider` may have to try, known before any of them is tried.

Plan:

1. A rule without wildcard is a *stem*: it matches if the path begins with it. The stems are sorted. Those that a path
   begins with are the last stem that is not after the path, or beginnings of that stem. A link leads from each stem to
   the next shorter stem that begins it, and the best precedence along these links is known. One bisection finds all.
2. A wildcard pattern is filed under its longest literal segment. Is that the one before the first star, the pattern
   *hangs* on that stem and is tried only for paths that begin with it.
3. Is it a later segment, or do too many patterns hang on one stem already, the segment is a *needle*: the pattern is
   tried only for paths that have the needle somewhere. Many needles are filed by short *pieces* of them (`_Shelf`), so
   that a path is not searched for each needle. Of a needle that would lie in a crowd, another piece is taken.

A worked example. The rules are

    2  disallow: /shop           stem "/shop"
    3  allow: /shop/sale         stem "/shop/sale", linked to "/shop"
    4  disallow: /shop/*.pdf$    hangs on the stem "/shop/", linked to "/shop"
    5  disallow: /*sessionid=    needle "sessionid="

and the path is "/shop/sale/list.pdf". Sorted, the stems are "/shop", "/shop/", "/shop/sale"; bisection gives the last,
and the path begins with it. The best plain rule along its links is that of line 3, with ten characters. The link to the
next stem on which patterns hang leads to "/shop/": the pattern of line 4 matches, with eleven characters, so it is the
best now. The needle is not in the path. Line 4 decides: disallowed.

Warnings: every list of patterns is sorted by precedence, the highest first, and is left at the first match or as soon as
no better one can follow. What a path "begins with" is meant as in `str.startswith`: stems hold no wildcard. The
attributes that `allows_url` goes by are explained where they are set; each is a shortcut, and the answer without it is
the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from .matching import follow
from .patterns import LENGTH_BITS, NO_RULE, precedence_of
from .urls import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    # A wildcard pattern: precedence, the longest literal segment after the first star, what is before that star and
    # what is after it ("$" cut off; None if there is no star), and whether "$" was at its end.
    Filed = tuple[int, str, str, str | None, bool]

_FEW_STEMS: Final = 40  # so many are sooner tried in one startswith than bisected
_FEW_NEEDLES: Final = 24  # so many are sooner looked for one by one
_FEW_SHORT_NEEDLES: Final = 100  # and of short ones so many: their pieces are looked for at every place
_CROWD: Final = 24  # needles filed under one piece; more are filed elsewhere if they can be
_CROWDED_STEM: Final = 200  # patterns that hang on one stem; more get a needle, which all paths are searched for
_MANY_NEEDLES: Final = 2_000  # more of them share too many short pieces
_SHORT: Final = (3, 1)  # length of a piece, and at each how many-th place of a path one is looked for
_USUAL: Final = (3, 3)
_LONG: Final = (5, 1)

# What it takes to try a pattern, on the slow side; for takes_long.
_NS_OF_TRY: Final = 500
_NS_OF_CHAR: Final = 50  # of the pattern: a segment may be a single character
_NS_OF_COMPARISON: Final = 0.25
_NS_OF_PIECE: Final = 200  # of the path, looked for on a shelf
_LONGEST_SLOW_NEEDLE: Final = 100  # characters; Python finds longer texts in linear time

_precedence = itemgetter(0)


class Index:
    """The rules of a group, arranged for matching. It does not change once it is built."""

    __slots__ = (
        "_allow_shelves",
        "_allow_tried",
        "_barred",
        "_best",
        "_disallow_shelves",
        "_disallow_tried",
        "_exempt",
        "_final",
        "_guards",
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
        """Take the patterns of the rules, each with its line; empty patterns never decide."""
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
        self._disallow_tried, self._disallow_shelves = _shelved(disallow_needles)
        self._allow_tried, self._allow_shelves = _shelved(allow_needles)
        self._wildcards = len(wild_disallows) + len(wild_allows)
        self._longest_wildcard = max(map(len, (*wild_disallows, *wild_allows)), default=0)

        # The literal beginnings of all disallow rules but those that have a needle, or None if there are too many. A
        # path that starts with none of them can only be disallowed by a needle, and these stand in `_needles`.
        # An escape in a rule may be written otherwise in a URL: then no shortcut is taken.
        few = len(disallowed) <= _FEW_STEMS and len(disallow_needles) <= _FEW_NEEDLES
        escapes = any("%" in stem for stem in stems)
        self._guards = tuple(disallowed) if few and not escapes else None
        self._needles = [needle for _, needle, _, _, _ in disallow_needles] if self._guards is not None else []
        # A path that starts with a barred stem, and with none that is exempt, is disallowed.
        self._barred = () if allow_needles else tuple(barred)
        self._exempt = tuple(allowed)
        # Every rule is a stem, and none has an escape: a path is judged as it stands in the URL, fragment and all.
        self._plain = not escapes and not self._wildcards
        # Every rule is a stem and disallows: a path that starts with any is disallowed.
        self._final = self._plain and not exempt
        self._arrange(stems, hung)

    def _arrange(self, best: dict[str, int], hung: dict[str, list[Filed]]) -> None:
        """Sort the stems and link them. In each list the last entry is for "no stem", which has the number -1."""
        self._stems = sorted(best)
        self._head = min(map(len, self._stems), default=0)
        self._heads = frozenset([stem[: self._head] for stem in self._stems])  # no other path begins with a stem
        self._parents: list[int] = []  # of each stem, the next shorter one that begins it
        self._best: list[int] = []  # the highest precedence of a plain rule among it and its parents
        self._next_hung: list[int] = []  # the first of it and its parents that patterns hang on
        self._hung: dict[int, list[Filed]] = {}
        for number, stem in enumerate(self._stems):
            parent = number - 1
            while parent >= 0 and not stem.startswith(self._stems[parent]):
                parent = self._parents[parent]
            self._parents.append(parent)
            self._best.append(max(best[stem], self._best[parent] if parent >= 0 else NO_RULE))
            self._next_hung.append(number if stem in hung else self._next_hung[parent] if parent >= 0 else -1)
            if stem in hung:
                self._hung[number] = sorted(hung[stem], key=_precedence, reverse=True)
        self._best.append(NO_RULE)
        self._next_hung.append(-1)

    def allows_url(self, url: str, start: int) -> bool:
        """Return whether the rules allow `url`, whose path begins at the slash at `start`; nothing in it is escaped."""
        guards = self._guards
        if guards is not None:
            if url.startswith(guards, start):
                if self._final or (url.startswith(self._barred, start) and not url.startswith(self._exempt, start)):
                    return False
            elif not self._needles:
                return True
            elif url.isascii() and "%" not in url:  # what follows a "#" or NUL can only be a needle too many
                for needle in self._needles:
                    if needle in url:
                        break
                else:
                    return True
        elif self._plain and url[start : start + self._head] not in self._heads:
            return True
        if self._plain or (url.isascii() and "%" not in url and "#" not in url and "\0" not in url):
            return self.decider(url[start:], True) & 1 > 0
        return self.decider(path_of(url), True) & 1 > 0

    def allows(self, path: str) -> bool:
        """Return whether the rules allow `path`, escaped as `path_of` does."""
        return self.decider(path, only_kind=True) & 1 > 0

    def decider(self, path: str, only_kind: bool = False) -> int:
        """Return the precedence of the rule that decides about `path`, NO_RULE if none matches.

        With `only_kind`, it may be that of another rule of the same kind.
        """
        number = -1
        if path[: self._head] in self._heads:  # then as in _last_stem, where it says more
            stems = self._stems
            number = bisect_right(stems, path) - 1
            while number >= 0 and not path.startswith(stems[number]):
                number = self._parents[number]
        best = self._best[number]
        if self._hung:
            number = self._next_hung[number]
            while number >= 0:
                best = _best_of(self._hung[number], path, best)
                number = self._next_hung[self._parents[number]]
        if self._disallow_tried:
            best = _best_of(self._disallow_tried, path, best)
        for shelf in self._disallow_shelves:
            best = shelf.best(path, best)
        if best & 1 and only_kind:
            return best
        if self._allow_tried:
            best = _best_of(self._allow_tried, path, best)
        for shelf in self._allow_shelves:
            best = shelf.best(path, best)
        return best

    def _last_stem(self, path: str) -> int:
        """Return the number of the longest stem that `path` begins with, -1 if there is none."""
        number = bisect_right(self._stems, path) - 1
        while number >= 0 and not path.startswith(self._stems[number]):
            number = self._parents[number]
        return number

    def takes_long(self, chars: int, path: Callable[[], str], long_ns: float) -> bool:
        """Return whether `decider` may take more than `long_ns` nanoseconds for a path of `chars` characters.

        `path` gives the path; it is asked for only if it is needed.
        """
        shelves = len(self._disallow_shelves) + len(self._allow_shelves)
        if _NS_OF_PIECE * chars * shelves > long_ns:
            return True
        segments = _NS_OF_CHAR * min(self._longest_wildcard, 2 * chars)
        comparisons = _NS_OF_COMPARISON * chars * min(self._longest_wildcard, _LONGEST_SLOW_NEEDLE)
        tries = long_ns / (_NS_OF_TRY + segments + comparisons)  # that fit into the time, if each pattern is the worst
        return self._wildcards > tries and self.most_tries(path()) > tries

    def most_tries(self, path: str) -> int:
        """Return how many wildcard patterns `decider` tries at the most."""
        tries = len(self._disallow_tried) + len(self._allow_tried)
        tries += sum(shelf.most_tries(path) for shelf in self._disallow_shelves + self._allow_shelves)
        number = self._next_hung[self._last_stem(path)]
        while number >= 0:
            tries += len(self._hung[number])
            number = self._next_hung[self._parents[number]]
        return tries


def _sorted_out(entries: Iterable[tuple[str, int]], allow: bool) -> tuple[dict[str, int], dict[str, int]]:
    """Return the stems, and the patterns with a wildcard, of the rules of one kind, each with its precedence."""
    stems: dict[str, int] = {}
    wild: dict[str, int] = {}
    kind_and_line = precedence_of(0, allow, 0)
    for pattern, line in entries:
        if pattern:
            precedence = (len(pattern) << LENGTH_BITS) + kind_and_line - (line << 1)  # as precedence_of
            stem = pattern.rstrip("*") if pattern[-1] == "*" else pattern  # stars at the end only add to the length
            if "*" in stem or stem[-1:] == "$":
                if wild.get(pattern, 0) < precedence:
                    wild[pattern] = precedence
            elif stems.get(stem, 0) < precedence:
                stems[stem] = precedence
    return stems, wild


def _file(wild: dict[str, int]) -> tuple[dict[str, list[Filed]], list[Filed]]:
    """Return the patterns that hang on a stem, by stem, and those that have a needle, the highest precedence first."""
    hung: dict[str, list[Filed]] = {}
    needles = []
    for pattern, precedence in wild.items():
        anchored = pattern[-1] == "$"
        stem, star, rest = (pattern[:-1] if anchored else pattern).partition("*")
        needle, _, last = rest.rpartition("*")
        if "*" in needle:
            needle = max(needle.split("*"), key=len)
        if len(last) >= len(needle):
            needle = last
        filed = (precedence, needle, stem, rest if star else None, anchored)
        # The slash that a stem begins with tells nothing.
        if len(needle) >= len(stem) or (len(needle) >= _SHORT[0] and len(hung.get(stem, ())) >= _CROWDED_STEM):
            needles.append(filed)
        elif stem in hung:
            hung[stem].append(filed)
        else:
            hung[stem] = [filed]
    needles.sort(key=_precedence, reverse=True)
    return hung, needles


def _shelved(filed: list[Filed]) -> tuple[list[Filed], tuple[_Shelf, ...]]:
    """Return those of `filed`, the highest precedence first, that are tried one by one, and the shelves of the others."""
    if len(filed) <= _FEW_NEEDLES:
        return filed, ()
    long = [each for each in filed if len(each[1]) >= _LONG[0]]
    others = [each for each in filed if len(each[1]) < _LONG[0]] if len(long) < len(filed) else []
    short = [each for each in others if len(each[1]) >= _SHORT[0]]
    tried = [each for each in others if len(each[1]) < _SHORT[0]]
    shelves: tuple[_Shelf, ...] = ()
    usual = _USUAL if len(long) <= _MANY_NEEDLES else _LONG
    for how, some, few in ((usual, long, _FEW_NEEDLES), (_SHORT, short, _FEW_SHORT_NEEDLES)):
        if len(some) > few:
            shelves += (_Shelf(*how, some),)
        else:
            tried += some
    tried.sort(key=_precedence, reverse=True)
    return tried, shelves


class _Shelf:
    """Patterns filed by pieces of their needles, for paths that are looked at at every `step`-th place.

    Pieces have `size` characters. A needle is filed under the pieces at `step` successive places of it: wherever it lies
    in a path, one of these is at a place that is looked at. So it has to have size + step - 1 characters.
    """

    __slots__ = ("_by_piece", "_size", "_step")

    def __init__(self, size: int, step: int, filed: list[Filed]) -> None:
        self._size, self._step = size, step
        self._by_piece: defaultdict[str, list[Filed]] = defaultdict(list)
        by_piece = self._by_piece
        for each in filed:
            needle = each[1]
            crowd = by_piece[needle[:size]]
            if step == 1 and len(crowd) < _CROWD:
                crowd.append(each)
                continue
            place = 0 if len(crowd) < _CROWD else self._emptiest_place(needle)
            for at in range(place, place + step):
                by_piece[needle[at : at + size]].append(each)

    def _emptiest_place(self, needle: str) -> int:
        """Return of three places in `needle` the one under whose piece the fewest others are filed."""
        last = len(needle) - self._size - self._step + 1
        crowds = {place: self._by_piece.get(needle[place : place + self._size], ()) for place in (last, last // 2, 0)}
        return min(crowds, key=lambda place: len(crowds[place]))

    def best(self, path: str, best: int) -> int:
        """Return the highest precedence over `best` that matches `path`, `best` if none does."""
        size, by_piece = self._size, self._by_piece
        pieces = {path[place : place + size] for place in range(0, len(path), self._step)}
        for piece in by_piece.keys() & pieces:
            best = _best_of(by_piece[piece], path, best)
        return best

    def most_tries(self, path: str) -> int:
        """Return how many patterns `best` tries at the most."""
        pieces = {path[place : place + self._size] for place in range(0, len(path), self._step)}
        return sum(len(self._by_piece[piece]) for piece in self._by_piece.keys() & pieces)


def _best_of(filed: list[Filed], path: str, best: int) -> int:
    for precedence, needle, first, rest, anchored in filed:  # the highest comes first
        if precedence <= best:
            break
        if needle in path and path.startswith(first):
            if rest is None:
                if path == first:
                    return precedence
            elif follow(rest, path, len(first), anchored):
                return precedence
    return best


NO_RULES: Final = Index((), ())  # shared: many files have no rules for a crawler
