"""Build an index that finds the rule that decides for a path, without trying all the rules.

Source: Google's page, "Order of precedence for rules": of the rules that match, the longest pattern
decides, and allow wins a tie. Of equal rules, the first one is named.

The operations, for a group of thousands of rules and a path of a few dozen characters:

* Build the index once, in time linear in the text of the rules.
* `best(path, best)`, for each kind: the highest precedence of a rule that matches. A precedence is
  one number with the length of the pattern, the kind and the line of a rule. So the highest number
  decides, and no second search for the line is needed.
* `allows_url(url, start)`: only whether the deciding rule allows, for a path inside a URL. A crawl
  asks this for each request, so most questions are settled by one `startswith` with a few literal
  beginnings, before the path is cut out of the URL.

Plan: the disallow rules are searched first, because most paths match none of them. The allow rules
are arranged in the same way. They are searched only if one could outweigh the disallow rule that
was found.

1. A rule without a wildcard is a *stem*. It matches if the path begins with it. The stems are
   sorted, and one bisection finds the last stem that does not come after the path. Every stem with
   which the path begins is this stem or a beginning of it. So each stem has a link to the next
   shorter stem with which it begins, and stores the best precedence along its links.
2. A wildcard pattern with a long text before its first star *hangs* on that text as a stem. It is
   tried only for paths that begin with the stem.
3. Any other wildcard pattern has a *needle*, its longest literal segment after the first star. It
   is tried only for paths that contain the needle. If there are few needles, or if a needle is
   short, the needles are looked for one by one. Otherwise a needle is filed under its first or last
   five characters. The path is cut into all its pieces of that length once, and only patterns that
   are filed under one of these pieces are tried.
4. In a hostile file, a long path may contain the pieces of thousands of needles. In this case all
   suffixes of the path are sorted, and one bisection for each segment of a pattern shows whether
   the path contains the segment, and where. Only patterns whose segments may follow one another in
   the path are tried.

A worked example. The rules are

    2  disallow: /shop           stem "/shop"
    3  allow: /shop/sale         stem "/shop/sale" of the allow rules
    4  disallow: /shop/*.pdf$    hangs on the stem "/shop/", linked to "/shop"
    5  disallow: /*sessionid=    needle "sessionid=", filed under "sessi" if there are many

and the path is "/shop/sale/list.pdf". The stems of the disallow rules are "/shop" and "/shop/".
Bisection finds the last one, and the path begins with it. The best plain rule along its links is
line 2, with five characters. The pattern of line 4 hangs on "/shop/" and matches, with twelve
characters, so it is now the best. The needle is not in the path. No allow rule has twelve
characters or more, so the allow rules are not searched. Line 4 decides, and the path is disallowed.

Warnings: each list of patterns is sorted by precedence, the highest first. A search in a list ends
at the first match, or as soon as no better match can follow. A path "begins with" a stem in the
sense of `str.startswith`, because stems have no wildcard. The attributes that `allows_url` uses are
shortcuts; the comments where they are set explain why they do not change the answer. A hostile file
can still have every pattern tried, so `takes_long` of rules.py assumes this.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter

from .patterns import LENGTH_BITS, NO_RULE, Kinds, is_allowed, matches, precedence_of
from .urls import path_of

Filed = tuple[int, str, str]  # a precedence, a needle, and the wildcard pattern

# Up to this number of stems, one `startswith` with all stems is faster than a bisection.
_FEW_STEMS = 40
# Up to this number, looking for each needle is faster than cutting the path into pieces.
_FEW_NEEDLES = 100
_PIECE = 5  # characters
# Needles times characters of the path. Above this, sorting the suffixes of the path is faster than
# looking for each needle.
_MUCH_WORK = 30_000_000
_END = "\U0010ffff"  # sorts after all places
_PLACE = 128  # characters of each suffix of the path that are compared with a segment


class Index:
    """The rules of a group, arranged for matching. An index does not change after it is built.

    Attributes:
        kinds: the disallow rules, and the allow rules.
        wildcard_chars: the number of characters of all wildcard patterns, which may be tried.
    """

    __slots__ = (
        "_barred",
        "_beginnings",
        "_disallows",
        "_exempt",
        "_final",
        "_heads",
        "_needles",
        "kinds",
        "wildcard_chars",
    )

    def __init__(
        self, allows: Iterable[tuple[str, int]], disallows: Iterable[tuple[str, int]]
    ) -> None:
        """Build the index of patterns, each with its line number.

        Empty patterns are left out, because they never decide.
        """
        stems, wild = _sorted_out(disallows, False)
        allow_stems, allow_wild = _sorted_out(allows, True)
        disallowing, allowing = _OneKind(stems, wild), _OneKind(allow_stems, allow_wild)
        self._disallows = disallowing
        self.kinds: Kinds = disallowing, allowing
        self.wildcard_chars = sum(map(len, wild)) + sum(map(len, allow_wild))

        # If an allow rule matches a path and could outweigh a plain disallow rule, the path begins
        # with one of these texts.
        lowest = min(stems.values(), default=0)
        exempt = {
            text.rstrip("$").partition("*")[0]
            for text, height in chain(allow_stems.items(), allow_wild.items())
            if height > lowest
        }
        beginnings = disallowing.stems
        needles = [needle for _, needle, _ in disallowing.needles]
        # If a text has an escape, there is no shortcut, because the URL may write the same escape
        # in lower case.
        escapes = any("%" in text for text in chain(beginnings, exempt, allow_stems))
        # If there are few stems and few needles, keep the stems of the disallow rules, and the
        # needles of the others. A path that begins with none of the stems and contains none of the
        # needles is allowed.
        few = not escapes and len(beginnings) <= _FEW_STEMS and len(needles) <= _FEW_NEEDLES
        self._beginnings = tuple(beginnings) if few else None
        self._needles = needles if few else []
        # If there are many stems and no needle, a path whose first characters are the beginning of
        # none of the stems is allowed.
        self._heads = None if escapes or needles else disallowing.heads
        # A path that begins with a barred stem and not with an exempt text is disallowed.
        self._barred, self._exempt = tuple(stems), tuple(exempt)
        self._final = not exempt and len(stems) == len(beginnings)
        if len(exempt) > _FEW_STEMS:
            self._barred = ()  # A bisection is faster.

    def allows_url(self, url: str, start: int) -> bool:  # noqa: C901 - spelt out, for speed
        """Return whether the rules allow `url`, as written.

        `start` is the place of the first slash of its path.
        """
        if self._beginnings is not None:
            if url.startswith(self._beginnings, start):
                if self._final:
                    return False
                if url.startswith(self._barred, start) and not url.startswith(self._exempt, start):
                    return False
            elif not self._needles:
                return True
            elif url.isascii() and "%" not in url:
                # A needle after "#" or NUL does not count, but only leads to the slower way below.
                for needle in self._needles:
                    if needle in url:
                        break
                else:
                    return True
        elif self._heads is not None:
            head = self._disallows.head
            if url[start : start + head] not in self._heads:
                return True
        if url.isascii() and "%" not in url and "#" not in url and "\0" not in url:
            return is_allowed(self.kinds, url[start:])
        return is_allowed(self.kinds, path_of(url))


class _OneKind:
    """All allow rules, or all disallow rules: the stems and the wildcard patterns.

    Attributes:
        stems: the plain rules, and the texts on which a wildcard pattern hangs; sorted.
        head: the length of the shortest stem.
        heads: the first `head` characters of each stem. A path with other first characters does not
            begin with a stem.
        needles: the wildcard patterns that do not hang on a stem.
    """

    __slots__ = (
        "_best",
        "_by_piece",
        "_highest",
        "_hung",
        "_may_hold_a_piece",
        "_parents",
        "_tried",
        "head",
        "heads",
        "needles",
        "stems",
    )

    def __init__(self, plain: dict[str, int], wild: dict[str, int]) -> None:
        """Arrange the stems of plain rules and the wildcard patterns, each with a precedence.

        If several rules have the same text, it is the highest precedence. The docstring of the
        module explains the terms.
        """
        hung, needles = _filed(wild)
        self._highest = max((*plain.values(), *wild.values()), default=0)
        self._by_piece: dict[str, list[Filed]] = {}  # patterns by a piece of their needle
        self._may_hold_a_piece: Callable[[str], object] = bool  # takes a path
        self._tried = self.needles = needles  # `_tried` has the patterns that are not filed
        if len(needles) > _FEW_NEEDLES:
            self._file(needles)
        self.stems = stems = sorted(plain.keys() | hung.keys())
        self._hung = {number: hung[stem] for number, stem in enumerate(stems) if stem in hung}
        self.head = min(map(len, stems), default=0)
        self.heads = frozenset([stem[: self.head] for stem in stems])
        # For each stem, the number of the next shorter stem with which it begins; -1 if none.
        self._parents: list[int] = []
        # For each stem, the highest precedence of a plain rule along its links.
        self._best: list[int] = []
        for number, stem in enumerate(stems):
            parent = number - 1
            while parent >= 0 and not stem.startswith(stems[parent]):
                parent = self._parents[parent]
            best = plain.get(stem, NO_RULE)
            if parent >= 0:
                best = max(best, self._best[parent])
            self._parents.append(parent)
            self._best.append(best)

    def _file(self, needles: Sequence[Filed]) -> None:
        """File each pattern under the first or the last piece of its needle.

        The piece with fewer patterns is taken, because many needles have the same beginning or end.
        """
        self._tried = []
        by_piece = self._by_piece
        for filed in needles:
            needle = filed[1]
            crowd = by_piece.setdefault(needle[:_PIECE], [])
            if len(needle) < _PIECE:
                crowd = self._tried
            elif crowd:
                last = by_piece.setdefault(needle[-_PIECE:], [])
                if len(last) < len(crowd):
                    crowd = last
            crowd.append(filed)
        # For each place in a piece, a class of the characters that occur there. This is the only
        # regular expression that is made of rules. It takes at most `_PIECE` steps for each
        # character of a path.
        pieces = [piece for piece, crowd in by_piece.items() if crowd]
        places = ["".join(sorted(set(chars))) for chars in zip(*pieces, strict=True)]
        pattern = "".join([f"[{re.escape(chars)}]" for chars in places])
        self._may_hold_a_piece = re.compile(pattern).search

    def best(self, path: str, best: int) -> int:
        """Return the highest precedence of a rule that matches `path`; at least `best`."""
        if best >= self._highest:
            return best
        if path[: self.head] in self.heads:
            stems, parents = self.stems, self._parents
            number = bisect_right(stems, path) - 1
            while number >= 0 and not path.startswith(stems[number]):
                number = parents[number]
            if number >= 0 and self._best[number] > best:
                best = self._best[number]
            hung = self._hung
            while hung and number >= 0:
                if number in hung:
                    best = _best_of(hung[number], path, best)
                number = parents[number]
        if self._tried:
            best = _best_of(self._tried, path, best)
        if self._by_piece and self._may_hold_a_piece(path):
            return self._best_filed(path, best)
        return best

    def _best_filed(self, path: str, best: int) -> int:
        """Return the highest precedence of a filed pattern that matches `path`; at least `best`."""
        pieces = {path[at : at + _PIECE] for at in range(len(path) - _PIECE + 1)}
        crowds = [self._by_piece[piece] for piece in self._by_piece.keys() & pieces]
        if sum(map(len, crowds)) * len(path) > _MUCH_WORK:
            crowds = [sorted(chain.from_iterable(crowds), key=itemgetter(0), reverse=True)]
        for filed in crowds:
            best = _best_of(filed, path, best)
        return best


def _best_of(filed: Sequence[Filed], path: str, best: int) -> int:
    """Return the highest precedence of a pattern in `filed` that matches `path`; at least `best`.

    There may be thousands of patterns.
    """
    candidates: Iterable[Filed] = filed
    if len(filed) * len(path) > _MUCH_WORK:
        candidates = _likely(filed, path)
    for precedence, needle, pattern in candidates:
        if needle in path:
            if precedence <= best:
                break
            if matches(pattern, path):
                return precedence
    return best


def _likely(filed: Iterable[Filed], path: str) -> Iterator[Filed]:
    """Yield the patterns whose segments may follow one another in `path`.

    The segments are checked from the last one back to the first one after a star. Each segment must
    have room before the segments after it. Only the beginning of a long segment is looked for. If
    the same characters follow a segment everywhere in the path, one bisection finds where it is.
    Otherwise it may be anywhere.
    """
    starts = range(len(path))
    # Where the characters of a place begin in the path: the last such index, and the first.
    last = {path[at : at + _PLACE]: at for at in starts}
    first: dict[str, int] = {}
    places = [*sorted(last), _END, _END]
    for rule in filed:
        _, _, pattern = rule
        begin = len(path)  # the latest index at which the segments checked so far can begin
        for segment in pattern.removesuffix("$").split("*")[:0:-1]:
            text = segment[:_PLACE]
            number = bisect_left(places, text)
            place = places[number]
            if not place.startswith(text):
                break
            begin -= len(segment)
            if places[number + 1].startswith(text):
                continue  # Elsewhere other characters follow the segment.
            if not first:  # Most hostile files never get here.
                first = {path[at : at + _PLACE]: at for at in reversed(starts)}
            if first[place] > begin:
                break
            if last[place] < begin:  # noqa: PLR1730 - min() takes longer
                begin = last[place]
        else:
            yield rule


def _sorted_out(
    rules: Iterable[tuple[str, int]], allow: bool
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the stems of the plain rules of one kind, and the wildcard patterns.

    Each has the highest precedence of a rule with this text.
    """
    stems: dict[str, int] = {}
    wild: dict[str, int] = {}
    least = precedence_of(0, allow, 0)
    for pattern, line in rules:
        stem = pattern.rstrip("*")  # Stars at the end only make the pattern longer.
        is_wild = "*" in stem or pattern[-1:] == "$"
        kind, key = (wild, pattern) if is_wild else (stems, stem)
        # The same number as `precedence_of`, without a call.
        precedence = least + (len(pattern) << LENGTH_BITS) - 2 * line
        if pattern and kind.get(key, 0) < precedence:
            kind[key] = precedence
    return stems, wild


def _filed(wild: dict[str, int]) -> tuple[dict[str, list[Filed]], list[Filed]]:
    """Return the patterns that hang on a stem, by stem, and the patterns with a needle."""
    hung: dict[str, list[Filed]] = {}
    needles: list[Filed] = []
    for pattern, precedence in sorted(wild.items(), key=itemgetter(1), reverse=True):
        stem, *later = pattern.removesuffix("$").split("*")
        needle = ""
        for segment in later:  # `max` takes three times as long.
            if len(segment) > len(needle):
                needle = segment
        # If the needle is as long as the stem, the needle is the better choice, because every path
        # has the slash at the beginning of a stem.
        patterns = needles
        if len(needle) < len(stem):
            patterns = hung.setdefault(stem, [])
        patterns.append((precedence, needle, pattern))
    return hung, needles


NO_RULES = Index((), ())  # shared, because many files have no rules for a crawler
