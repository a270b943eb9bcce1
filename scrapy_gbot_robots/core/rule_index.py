"""Which of many rules decides about a path, found without trying all of them.

Source: Google's page, "Order of precedence for rules": of the rules that match, the longest pattern decides, and allow
wins a tie; of equal rules the first one is named.

Operations wanted, for a group of thousands of rules and a path of a few dozen characters:

* Build the index once, in time linear in the text of the rules.
* `decider(path)`: the precedence of the rule that decides. One number holds the length of the pattern, the kind and the
  line of a rule. So the highest number that matches decides, and there is no second search for the line.
* `allows_url(url, start)`: only the kind of that rule, for a path inside a URL. A crawl asks it for each request, so one
  `startswith` with a few literal beginnings settles most questions before anything is cut out of the URL.

Plan:

1. A rule without a wildcard is a *stem*. It matches if the path begins with it. The stems are sorted, and one bisection
   finds the last stem that is not after the path. All stems that begin the path are that one, or beginnings of that one.
   So a link leads from each stem to the next shorter stem that begins it, and each stem knows the best precedence along
   its links.
2. A wildcard pattern is filed under its longest literal segment. If that is the segment before the first star, the pattern
   *hangs* on that stem, and is tried only for paths that begin with it.
3. If it is a later segment, that is a *needle*: the pattern is tried only for paths that contain it. A few needles are
   looked for one by one. More are filed under their first or last four characters, whichever have fewer so far. The path
   is cut into all its pieces of four characters at once, and only patterns under one of these are tried.

A worked example. The rules are

    2  disallow: /shop           stem "/shop"
    3  allow: /shop/sale         stem "/shop/sale", linked to "/shop/"
    4  disallow: /shop/*.pdf$    hangs on the stem "/shop/", linked to "/shop"
    5  disallow: /*sessionid=    needle "sessionid=", filed under "sess" if there are many

and the path is "/shop/sale/list.pdf". Sorted, the stems are "/shop", "/shop/", "/shop/sale". Bisection finds the last one,
and the path begins with it. The best plain rule along its links is line 3, with ten characters. The next stem along the
links on which patterns hang is "/shop/": the pattern of line 4 matches, with twelve characters, so it is the best now. The
needle is not in the path. Line 4 decides: disallowed.

Warnings: each list of patterns is sorted by precedence, the highest first. A search in it ends at the first match, or as
soon as no better one can follow. A path "begins with" a stem in the sense of `str.startswith`: stems have no wildcard. The
attributes that `allows_url` uses are shortcuts. The comments where they are set say why the answer is the same without them.
In a hostile file, needles begin and end alike, and each pattern is tried: `Rules.takes_long` assumes no better.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from .patterns import NO_RULE, follow, precedence_of
from .urls import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    # A wildcard pattern: its precedence; its longest literal segment after the first star; the text before that star,
    # and the text after it ("$" cut off; None if there is no star); and whether "$" was at the end.
    Filed = tuple[int, str, str, str | None, bool]

_FEW_STEMS: Final = 40  # up to this number, one startswith with all of them is faster than a bisection
_FEW_NEEDLES: Final = (
    24  # up to this number, looking for each one is faster; also in a URL whose path is not yet cut out
)
_PIECE: Final = 4  # characters; patterns with a shorter needle are tried one by one
_pieces_of: Final = re.compile("." * _PIECE, re.DOTALL).findall  # of a text, from a place on; faster than slices

_by_precedence: Final = itemgetter(0)


class Index:
    """The rules of a group, arranged for matching. It does not change once it is built.

    Attributes:
        wildcard_chars: the number of characters in the patterns that may have to be tried.
    """

    __slots__ = (
        "_barred",
        "_beginnings",
        "_best",
        "_by_piece",
        "_exempt",
        "_final",
        "_head",
        "_heads",
        "_hung",
        "_needles",
        "_next_hung",
        "_parents",
        "_plain",
        "_stems",
        "_tried",
        "wildcard_chars",
    )

    def __init__(self, allows: Iterable[tuple[str, int]], disallows: Iterable[tuple[str, int]]) -> None:
        """Take the patterns of the rules, each with its line. Empty patterns never decide and are left out."""
        stems: dict[str, int] = {}
        wild: dict[str, int] = {}
        _sort_out(disallows, False, stems, wild)
        _sort_out(allows, True, stems, wild)
        hung, needles = _file(wild)
        self.wildcard_chars = sum(map(len, wild))
        self._tried, self._by_piece = (needles, {}) if len(needles) <= _FEW_NEEDLES else _under_pieces(needles)

        barred = [stem for stem, precedence in stems.items() if not precedence & 1]
        disallowed = {*barred, *(stem for stem, filed in hung.items() if any(not each[0] & 1 for each in filed))}
        disallow_needles = [each[1] for each in needles if not each[0] & 1]
        # The literal beginnings of the disallow rules without a needle, and the needles of the others, if there are few of
        # both. A path that starts with none of the beginnings and has none of the needles is allowed. If a rule has an
        # escape, there is no shortcut: the URL may write the same escape in another way.
        escapes = any("%" in stem for stem in (*stems, *hung))
        few = not escapes and len(disallowed) <= _FEW_STEMS and len(disallow_needles) <= _FEW_NEEDLES
        self._beginnings = tuple(disallowed) if few else None
        self._needles = disallow_needles if few else []
        # A path that starts with a barred stem and with no exempt one is disallowed: no allow rule can match it.
        self._barred = tuple(barred) if len(disallow_needles) == len(needles) else ()
        self._exempt = (
            *(stem for stem, precedence in stems.items() if precedence & 1),
            *(stem for stem, filed in hung.items() if any(each[0] & 1 for each in filed)),
        )
        # All rules are stems, and none has an escape. A path can be judged as it is in the URL, its fragment included.
        self._plain = not escapes and not wild
        # All rules are stems, and all disallow. A path that starts with any of them is disallowed.
        self._final = self._plain and not self._exempt
        self._arrange({**dict.fromkeys(hung, NO_RULE), **stems}, hung)

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

    def allows_url(self, url: str, start: int) -> bool:
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
            return url[start : start + self._head] not in self._heads or self.decider(url[start:]) & 1 > 0
        if url.isascii() and "%" not in url and "#" not in url and "\0" not in url:
            return self.decider(url[start:]) & 1 > 0
        return self.decider(path_of(url)) & 1 > 0

    def allows(self, path: str) -> bool:
        """Return whether the rules allow `path`, as `path_of` gives it."""
        return self.decider(path) & 1 > 0

    def decider(self, path: str) -> int:
        """Return the precedence of the rule that decides about `path`, NO_RULE if none matches."""
        number = -1  # of the longest stem that begins the path
        if path[: self._head] in self._heads:
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
        if self._tried:
            best = _best_of(self._tried, path, best)
        if self._by_piece:
            pieces = [piece for begin in range(_PIECE) for piece in _pieces_of(path, begin)]
            for piece in self._by_piece.keys() & pieces:
                best = _best_of(self._by_piece[piece], path, best)
        return best


def _best_of(filed: Iterable[Filed], path: str, best: int) -> int:
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


def _sort_out(rules: Iterable[tuple[str, int]], allow: bool, stems: dict[str, int], wild: dict[str, int]) -> None:
    """Add the rules of one kind to the stems and the wildcard patterns, each with its highest precedence."""
    for pattern, line in rules:
        if pattern:
            end = pattern[-1]
            stem = pattern.rstrip("*") if end == "*" else pattern  # stars at the end only add to the length
            into, text = (wild, pattern) if "*" in stem or end == "$" else (stems, stem)
            precedence = precedence_of(len(pattern), allow, line)
            if into.get(text, 0) < precedence:
                into[text] = precedence


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
        (needles if len(needle) >= len(stem) else hung.setdefault(stem, [])).append(filed)
    for each in (needles, *hung.values()):
        each.sort(key=_by_precedence, reverse=True)
    return hung, needles


def _under_pieces(needles: Sequence[Filed]) -> tuple[list[Filed], dict[str, list[Filed]]]:
    """Return the patterns whose needles are too short to be filed, and the others by a piece of their needle."""
    tried: list[Filed] = []
    by_piece: dict[str, list[Filed]] = {}
    for each in needles:
        first, last = each[1][:_PIECE], each[1][-_PIECE:]
        piece = first if len(by_piece.get(first, ())) <= len(by_piece.get(last, ())) else last
        (tried if len(piece) < _PIECE else by_piece.setdefault(piece, [])).append(each)
    return tried, by_piece


NO_RULES: Final = Index((), ())  # shared, since many files have no rules for a crawler
