"""Which of many rules decides about a path, found without trying all of them.

Source: Google's page, "Order of precedence for rules": of the rules that match, the longest pattern decides, and allow
wins a tie; of equal rules the first one is named.

Operations wanted, for a group of thousands of rules and a path of a few dozen characters:

* Build the index once, in time linear in the text of the rules.
* `decider(path)`: the precedence of the rule that decides. One number holds the length of the pattern, the kind and the
  line of a rule. So the highest number that matches decides, and there is no second search for the line.
* `allows_url(url, start)`: only the kind of that rule, for a path inside a URL. A crawl asks it for each request, so one
  `startswith` with a few literal beginnings settles most questions before anything is cut out of the URL.

Plan: the disallow rules are asked first, since most paths match none of them. The allow rules are arranged in the same way,
and asked if one could outweigh the disallow rule that was found.

1. A rule without a wildcard is a *stem*. It matches if the path begins with it. The stems are sorted, and one bisection
   finds the last stem that is not after the path. All stems that begin the path are that one, or beginnings of that one.
   So a link leads from each stem to the next shorter stem that begins it, and each stem knows the best precedence along
   its links.
2. A wildcard pattern is filed under its longest literal segment. If that is the segment before the first star, the pattern
   *hangs* on that stem, and is tried only for paths that begin with it.
3. If it is a later segment, that is a *needle*: the pattern is tried only for paths that contain it. A few needles are
   looked for one by one. More are filed under their first or last five characters, whichever have fewer so far. The path
   is cut into all its pieces of five characters at once, and only patterns under one of these are tried.

A worked example. The rules are

    2  disallow: /shop           stem "/shop"
    3  allow: /shop/sale         stem "/shop/sale" of the allow rules
    4  disallow: /shop/*.pdf$    hangs on the stem "/shop/", linked to "/shop"
    5  disallow: /*sessionid=    needle "sessionid=", filed under "sessi" if there are many

and the path is "/shop/sale/list.pdf". The stems of the disallow rules are "/shop" and "/shop/". Bisection finds the last
one, and the path begins with it. The best plain rule along its links is line 2, with five characters. The pattern of line 4
hangs on "/shop/" and matches, with twelve characters, so it is the best now. The needle is not in the path. No allow rule
has so many characters, so they are not asked. Line 4 decides: disallowed.

Warnings: each list of patterns is sorted by precedence, the highest first. A search in it ends at the first match, or as
soon as no better one can follow. A path "begins with" a stem in the sense of `str.startswith`: stems have no wildcard. The
attributes that `allows_url` uses are shortcuts. The comments where they are set say why the answer is the same without them.
In a hostile file, needles begin and end alike, and each pattern is tried: `takes_long` of rules.py assumes no better.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter

from .patterns import LENGTH_BITS, NO_RULE, follow, precedence_of
from .urls import path_of

# A wildcard pattern: its precedence; its longest literal segment after the first star; the text before that star,
# and the text after it ("$" cut off; None if there is no star); and whether "$" was at the end.
Filed = tuple[int, str, str, str | None, bool]


_FEW_STEMS = 40  # up to this number, one startswith with all of them is faster than a bisection
_FEW_NEEDLES = 100  # up to this number, looking for each one is faster than cutting the path into pieces
_PIECE = 5  # characters; patterns with a shorter needle are tried one by one

_by_precedence = itemgetter(0)


class Index:
    """The rules of a group, arranged for matching. It does not change once it is built.

    Attributes:
        wildcard_chars: the number of characters in the patterns that may have to be tried.
    """

    __slots__ = (
        "_allows",
        "_barred",
        "_beginnings",
        "_disallows",
        "_exempt",
        "_final",
        "_head",
        "_heads",
        "_highest",
        "_needles",
        "_plain",
        "wildcard_chars",
    )

    def __init__(self, allows: Iterable[tuple[str, int]], disallows: Iterable[tuple[str, int]]) -> None:
        """Take the patterns of the rules, each with its line. Empty patterns never decide and are left out."""
        stems, wild = _sorted_out(disallows, False)
        hung, needles = _file(wild)
        allow_stems, allow_wild = _sorted_out(allows, True)
        allow_hung, allow_needles = _file(allow_wild)
        beginnings, exempt = stems.keys() | hung.keys(), allow_stems.keys() | allow_hung.keys()
        self._disallows = _OneKind(stems, hung, needles)
        self._allows = _OneKind(allow_stems, allow_hung, allow_needles)
        self._highest = max((*allow_stems.values(), *allow_wild.values()), default=0)  # precedence of an allow rule
        self.wildcard_chars = sum(map(len, wild)) + sum(map(len, allow_wild))

        # If a rule has an escape, there is no shortcut: the URL may write the same escape in another way.
        escapes = any("%" in stem for stem in beginnings | exempt)
        # The literal beginnings of the disallow rules without a needle, and the needles of the others, if there are few of
        # both. A path that starts with none of the beginnings and has none of the needles is allowed.
        few = not escapes and len(beginnings) <= _FEW_STEMS and len(needles) <= _FEW_NEEDLES
        self._beginnings = tuple(beginnings) if few else None
        self._needles = [each[1] for each in needles] if few else []
        # If they are many, a path that begins like none of the disallow rules is allowed.
        self._head, self._heads = self._disallows.head, None if escapes or needles else self._disallows.heads
        # A path that starts with a barred stem and with no exempt one is disallowed: no allow rule can match it.
        self._barred, self._exempt = (tuple(stems), tuple(exempt)) if few and not allow_needles else ((), ())
        # All rules are stems, and none has an escape. A path can be judged as it is in the URL, its fragment included.
        self._plain = not (escapes or wild or allow_wild)
        # All rules are stems, and no allow rule outweighs any other. A path that starts with a beginning is disallowed.
        self._final = self._plain and self._highest < min(stems.values(), default=0)

    def allows_url(self, url: str, start: int) -> bool:
        """Return whether the rules allow `url`, as written. Its path begins with the slash at `start`."""
        beginnings = self._beginnings
        if beginnings is not None:
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
        elif self._heads is not None and url[start : start + self._head] not in self._heads:
            return True
        if self._plain or (url.isascii() and "%" not in url and "#" not in url and "\0" not in url):
            return self.allows(url[start:])
        return self.allows(path_of(url))

    def allows(self, path: str) -> bool:
        """Return whether the rules allow `path`, as `path_of` gives it."""
        best = self._disallows.best(path, NO_RULE)
        return best == NO_RULE or (best < self._highest and self._allows.best(path, best) != best)

    def decider(self, path: str) -> int:
        """Return the precedence of the rule that decides about `path`, NO_RULE if none matches."""
        best = self._disallows.best(path, NO_RULE)
        return self._allows.best(path, best) if best < self._highest else best


class _OneKind:
    """The rules of one kind: the stems with the precedence of each, and the wildcard patterns as `_file` gives them."""

    __slots__ = ("_best", "_by_piece", "_hung", "_parents", "_stems", "_tried", "head", "heads")

    def __init__(self, plain: dict[str, int], hung: dict[str, list[Filed]], needles: list[Filed]) -> None:
        self._tried, self._by_piece = (needles, {}) if len(needles) <= _FEW_NEEDLES else _under_pieces(needles)
        self._stems = stems = sorted(plain.keys() | hung.keys())
        self._hung = {number: hung[stem] for number, stem in enumerate(stems) if stem in hung}
        self.head = min(map(len, stems), default=0)
        self.heads = frozenset([stem[: self.head] for stem in stems])  # no other path begins with a stem
        self._parents: list[int] = []  # for each stem the link: the next shorter stem that begins it, -1 if none does
        self._best: list[int] = []  # for each stem the highest precedence of a plain rule, along its links
        for number, stem in enumerate(stems):
            parent = number - 1
            while parent >= 0 and not stem.startswith(stems[parent]):
                parent = self._parents[parent]
            precedence = plain.get(stem, NO_RULE)
            self._parents.append(parent)
            self._best.append(max(precedence, self._best[parent]) if parent >= 0 else precedence)

    def best(self, path: str, best: int) -> int:
        """Return the highest precedence over `best` of a rule that matches `path`, `best` if there is none."""
        if path[: self.head] in self.heads:
            stems, parents = self._stems, self._parents
            number = bisect_right(stems, path) - 1
            while number >= 0 and not path.startswith(stems[number]):
                number = parents[number]
            if number >= 0 and self._best[number] > best:
                best = self._best[number]
            if self._hung:
                while number >= 0:
                    if number in self._hung:
                        best = _best_of(self._hung[number], path, best)
                    number = parents[number]
        if self._tried:
            best = _best_of(self._tried, path, best)
        if self._by_piece:
            for piece in self._by_piece.keys() & [path[at : at + _PIECE] for at in range(len(path) - _PIECE + 1)]:
                best = _best_of(self._by_piece[piece], path, best)
        return best


def _best_of(filed: Iterable[Filed], path: str, best: int) -> int:
    """Return the highest precedence over `best` of a pattern in `filed` that matches `path`, `best` if there is none."""
    for each in filed:
        if each[1] in path:
            precedence, _, first, rest, anchored = each
            if precedence <= best:
                break
            if not path.startswith(first):
                continue
            if path == first if rest is None else follow(rest, path, len(first), anchored):
                return precedence
    return best


def _sorted_out(rules: Iterable[tuple[str, int]], allow: bool) -> tuple[dict[str, int], dict[str, int]]:
    """Return the stems and the wildcard patterns of the rules of one kind, each with its highest precedence."""
    stems: dict[str, int] = {}
    wild: dict[str, int] = {}
    kind_and_line = precedence_of(0, allow, 0)
    for pattern, line in rules:
        if pattern:
            end = pattern[-1]
            stem = pattern.rstrip("*") if end == "*" else pattern  # stars at the end only add to the length
            precedence = (len(pattern) << LENGTH_BITS) + kind_and_line - 2 * line  # as precedence_of, without the call
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
        (needles if len(needle) >= len(stem) else hung.setdefault(stem, [])).append(filed)
    for each in (needles, *hung.values()):
        each.sort(key=_by_precedence, reverse=True)
    return hung, needles


def _under_pieces(needles: Sequence[Filed]) -> tuple[list[Filed], dict[str, list[Filed]]]:
    """Return the patterns whose needles are too short to be filed, and the others by a piece of their needle."""
    tried: list[Filed] = []
    by_piece: dict[str, list[Filed]] = {}
    for each in needles:
        piece = each[1][:_PIECE]
        if len(piece) < _PIECE:
            tried.append(each)
        elif piece not in by_piece:
            by_piece[piece] = [each]
        else:
            last = by_piece.setdefault(each[1][-_PIECE:], [])
            min(last, by_piece[piece], key=len).append(each)
    return tried, by_piece


NO_RULES = Index((), ())  # shared, since many files have no rules for a crawler
