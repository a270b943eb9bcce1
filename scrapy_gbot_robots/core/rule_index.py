"""Which of many rules decides about a path, found without trying all of them.

Source: Google's page, "Order of precedence for rules": of the rules that match, the longest pattern
decides, and allow wins a tie; of equal rules the first one is named.

Operations wanted, for a group of thousands of rules and a path of a few dozen characters:

* Build the index once, in time linear in the text of the rules.
* `best(path, best)`, of each kind: the highest precedence of a rule that matches. One number holds
  the length of the pattern, the kind and the line of a rule. So the highest number that matches
  decides, and there is no second search for the line.
* `allows_url(url, start)`: only the kind of that rule, for a path inside a URL. A crawl asks it for
  each request, so one `startswith` with a few literal beginnings settles most questions before
  anything is cut out of the URL.

Plan: the disallow rules are asked first, since most paths match none of them. The allow rules are
arranged in the same way, and asked if one could outweigh the disallow rule that was found.

1. A rule without a wildcard is a *stem*. It matches if the path begins with it. The stems are
   sorted, and one bisection finds the last stem that is not after the path. All stems that begin
   the path are that one, or beginnings of that one. So a link leads from each stem to the next
   shorter stem that begins it, and each stem knows the best precedence along its links.
2. A wildcard pattern with a long text before its first star *hangs* on that stem, and is tried only
   for paths that begin with it.
3. Any other has a *needle*, its longest literal segment: it is tried only for paths that contain
   that. A few needles, and short ones, are looked for one by one. Others are filed under their
   first or last five characters: the path is cut into all its pieces of that length at once, and
   only patterns under one of these are tried.
4. In a hostile file thousands of needles may have pieces that a long path has, too. Then all places
   of the path are sorted, and one bisection for each segment of a pattern says whether the path
   contains it, and where. Only patterns whose segments may follow one another are tried.

A worked example. The rules are

    2  disallow: /shop           stem "/shop"
    3  allow: /shop/sale         stem "/shop/sale" of the allow rules
    4  disallow: /shop/*.pdf$    hangs on the stem "/shop/", linked to "/shop"
    5  disallow: /*sessionid=    needle "sessionid=", filed under "sessi" if there are many

and the path is "/shop/sale/list.pdf". The stems of the disallow rules are "/shop" and "/shop/".
Bisection finds the last one, and the path begins with it. The best plain rule along its links is
line 2, with five characters. The pattern of line 4 hangs on "/shop/" and matches, with twelve
characters, so it is the best now. The needle is not in the path. No allow rule has so many
characters, so they are not asked. Line 4 decides: disallowed.

Warnings: each list of patterns is sorted by precedence, the highest first. A search in it ends at
the first match, or as soon as no better one can follow. A path "begins with" a stem in the sense of
`str.startswith`: stems have no wildcard. The attributes that `allows_url` uses are shortcuts. The
comments where they are set say why the answer is the same without them. A hostile file can still
have each pattern tried: `takes_long` of rules.py assumes no better.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter

from .patterns import LENGTH_BITS, NO_RULE, Kinds, is_allowed, matches, precedence_of
from .urls import path_of

Filed = tuple[int, str, str]  # a wildcard pattern: its precedence, its needle, and itself

# up to this number, one startswith with all of them is faster than a bisection
_FEW_STEMS = 40
# Up to this number, looking for each needle is faster than cutting the path into pieces.
_FEW_NEEDLES = 100
_PIECE = 5  # characters
# Needles times characters of a path: to look for each needle takes longer than to sort the places.
_MUCH_WORK = 30_000_000
_END = "\U0010ffff"  # sorted behind all places
_PLACE = 128  # characters of a path that are compared with a needle at each place


class Index:
    """The rules of a group, arranged for matching. It does not change once it is built.

    Attributes:
        kinds: the rules that disallow, and those that allow.
        wildcard_chars: how many characters the patterns have that may have to be tried.
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
        """Take the patterns of the rules, each with its line.

        Empty patterns never decide and are left out.
        """
        stems, wild = _sorted_out(disallows, False)
        allow_stems, allow_wild = _sorted_out(allows, True)
        disallowing, allowing = _OneKind(stems, wild), _OneKind(allow_stems, allow_wild)
        self._disallows = disallowing
        self.kinds: Kinds = disallowing, allowing
        self.wildcard_chars = sum(map(len, wild)) + sum(map(len, allow_wild))

        # If an allow rule matches and could outweigh a plain disallow rule, a path begins with one
        # of these.
        lowest = min(stems.values(), default=0)
        exempt = {
            text.rstrip("$").partition("*")[0]
            for text, height in chain(allow_stems.items(), allow_wild.items())
            if height > lowest
        }
        beginnings = disallowing.stems
        needles = [needle for _, needle, _ in disallowing.needles]
        # If one has an escape, there is no shortcut: the URL may write the same escape in another
        # way.
        escapes = any("%" in text for text in chain(beginnings, exempt, allow_stems))
        # The literal beginnings of the disallow rules without a needle, and the needles of the
        # others, if there are few of both. A path that starts with none of the beginnings and has
        # none of the needles is allowed.
        few = not escapes and len(beginnings) <= _FEW_STEMS and len(needles) <= _FEW_NEEDLES
        self._beginnings = tuple(beginnings) if few else None
        self._needles = needles if few else []
        # If they are many, a path that begins like none of the disallow rules is allowed.
        self._heads = None if escapes or needles else disallowing.heads
        # A path that starts with a barred stem and with no exempt one is disallowed.
        self._barred, self._exempt = tuple(stems), tuple(exempt)
        self._final = not exempt and len(stems) == len(beginnings)
        if len(exempt) > _FEW_STEMS:
            self._barred = ()  # a bisection is faster

    def allows_url(self, url: str, start: int) -> bool:  # noqa: C901 - spelt out, for speed
        """Return whether the rules allow `url`, as written.

        Its path begins with the slash at `start`.
        """
        if self._beginnings is not None:
            if url.startswith(self._beginnings, start):
                if self._final:
                    return False
                if url.startswith(self._barred, start) and not url.startswith(self._exempt, start):
                    return False
            elif not self._needles:
                return True
            elif url.isascii() and "%" not in url:  # a needle after "#" or NUL only makes it slower
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
    """The rules of one kind: the stems with their precedences, and the wildcard patterns.

    Attributes:
        stems: those of the plain rules, and those that a wildcard pattern hangs on; sorted.
        head: the length of the shortest one.
        heads: so many characters of each; no other path begins with a stem.
        needles: the wildcard patterns that hang on no stem.
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
        """Take the stems and the wildcard patterns, each with its highest precedence.

        The module's docstring says what the words mean.
        """
        hung, needles = _filed(wild)
        self._highest = max((*plain.values(), *wild.values()), default=0)
        self._by_piece: dict[str, list[Filed]] = {}  # patterns by a piece of their needle
        self._may_hold_a_piece: Callable[[str], object] = bool  # asked of a path
        self._tried = self.needles = needles  # `_tried`: those that are filed nowhere
        if len(needles) > _FEW_NEEDLES:
            self._file(needles)
        self.stems = stems = sorted(plain.keys() | hung.keys())
        self._hung = {number: hung[stem] for number, stem in enumerate(stems) if stem in hung}
        self.head = min(map(len, stems), default=0)
        self.heads = frozenset([stem[: self.head] for stem in stems])
        # For each stem the link: the next shorter stem that begins it, -1 if none does.
        self._parents: list[int] = []
        # For each stem the highest precedence of a plain rule, along its links.
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
        """File the patterns under the first or the last piece of their needle.

        The piece with fewer patterns is taken: many needles begin or end alike.
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
        # Of each place in the pieces its characters. It is the one regular expression that is made
        # of rules, and takes at most `_PIECE` steps for each character of a path.
        pieces = [piece for piece, crowd in by_piece.items() if crowd]
        places = ["".join(sorted(set(chars))) for chars in zip(*pieces, strict=True)]
        pattern = "".join([f"[{re.escape(chars)}]" for chars in places])
        self._may_hold_a_piece = re.compile(pattern).search

    def best(self, path: str, best: int) -> int:
        """Return the highest precedence over `best` of a rule that matches `path`.

        It is `best` if there is none.
        """
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
        """Return the highest precedence of filed patterns that match `path`, at least `best`."""
        pieces = {path[at : at + _PIECE] for at in range(len(path) - _PIECE + 1)}
        crowds = [self._by_piece[piece] for piece in self._by_piece.keys() & pieces]
        if sum(map(len, crowds)) * len(path) > _MUCH_WORK:
            crowds = [sorted(chain.from_iterable(crowds), key=itemgetter(0), reverse=True)]
        for filed in crowds:
            best = _best_of(filed, path, best)
        return best


def _best_of(filed: Sequence[Filed], path: str, best: int) -> int:
    """Return the highest precedence over `best` of a pattern that matches `path`.

    It is `best` if none in `filed` does. There may be thousands.
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

    From the last segment to the one after the first star, each must have room before those behind
    it. Of a long segment only the beginning is looked for. One bisection says where a segment is,
    if the same characters follow it at all its places; else it may be anywhere.
    """
    starts = range(len(path))
    # The numbers of the last and of the first such place in the path.
    last = {path[at : at + _PLACE]: at for at in starts}
    first: dict[str, int] = {}
    places = [*sorted(last), _END, _END]
    for rule in filed:
        _, _, pattern = rule
        begin = len(path)  # the segments behind begin there at the latest
        for segment in pattern.removesuffix("$").split("*")[:0:-1]:
            text = segment[:_PLACE]
            number = bisect_left(places, text)
            place = places[number]
            if not place.startswith(text):
                break
            begin -= len(segment)
            if places[number + 1].startswith(text):
                continue  # other characters follow there
            if not first:  # most hostile files never get here
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
    """Return the stems and the wildcard patterns of the rules of one kind.

    Each has its highest precedence.
    """
    stems: dict[str, int] = {}
    wild: dict[str, int] = {}
    least = precedence_of(0, allow, 0)
    for pattern, line in rules:
        stem = pattern.rstrip("*")  # stars at the end only add to the length
        is_wild = "*" in stem or pattern[-1:] == "$"
        kind, key = (wild, pattern) if is_wild else (stems, stem)
        # as precedence_of, without the call
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
        for segment in later:  # max() takes three times as long
            if len(segment) > len(needle):
                needle = segment
        # A needle as long as the stem is the better choice: the slash at the beginning of a stem is
        # in every path.
        patterns = needles
        if len(needle) < len(stem):
            patterns = hung.setdefault(stem, [])
        patterns.append((precedence, needle, pattern))
    return hung, needles


NO_RULES = Index((), ())  # shared, since many files have no rules for a crawler
