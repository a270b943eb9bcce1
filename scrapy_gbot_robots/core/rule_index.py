"""Build an index that finds the rule that decides for a path, without trying all the rules.

Of the rules that match, the longest pattern decides. If an allow and a disallow rule are equally
long, the allow rule wins (Google's page, "Order of precedence for rules"). If the same rule occurs
several times, the first one is named.

A group may have thousands of rules, and a path usually has a few dozen characters. The index is
built once, in time that is linear in the text of the rules. It answers two questions:

* `best(path, best)` asks all disallow rules, or all allow rules, for the highest precedence of a
  rule that matches. A precedence is one number, which contains the length of the pattern, the kind
  and the line of a rule. So the highest number decides, and it already contains the line.
* `allows_url(url, start)` asks only whether the deciding rule allows the path in a URL. A crawl
  asks this for each request. Most of these questions need only one `startswith` with a few literal
  beginnings, before the path is cut out of the URL.

The disallow rules are searched first, because most paths match none of them. The allow rules are
arranged in the same way. They are searched only if one of them could outweigh the disallow rule
that was found.

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

A change must keep the following promises. Each list of patterns is sorted by precedence, with the
highest at the beginning. A search in a list ends at the first match, or as soon as no better match
can follow. The attributes that `allows_url` uses are shortcuts. The comments beside their
assignments explain why the shortcuts do not change the answer. A hostile file can still cause a
search to try every pattern, so `takes_long` in rules.py assumes this.
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
# Up to this number of needles, looking for each is faster than cutting the path into pieces.
_FEW_NEEDLES = 100
_PIECE = 5  # characters
# The number of needles times the number of characters of the path. If this product is larger,
# sorting the suffixes of the path is faster than looking for each needle.
_MUCH_WORK = 30_000_000
_SUFFIX = 128  # characters of each suffix of the path that are compared with a segment
_END = "\U0010ffff"  # sorts after all suffixes


class Index:
    """The rules of a group, arranged for matching. An index does not change after it is built.

    Attributes:
        kinds: the disallow rules, and the allow rules.
        wildcard_chars: the number of characters in all wildcard patterns. In the worst case, a
            question tries all of them.
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
        # If one of these texts contains an escape, no shortcut is used, because a URL may contain
        # the same escape in lower case.
        escapes = any("%" in text for text in chain(beginnings, exempt, allow_stems))
        # If there are few stems and few needles, keep the stems of the disallow rules, and the
        # needles of the disallow rules without a stem. A path that begins with none of the stems
        # and contains none of the needles is allowed.
        few = not escapes and len(beginnings) <= _FEW_STEMS and len(needles) <= _FEW_NEEDLES
        self._beginnings = tuple(beginnings) if few else None
        self._needles = needles if few else []
        # If there are many stems and no needles, a path is allowed if no stem begins with the first
        # characters of the path.
        self._heads = None if escapes or needles else disallowing.heads
        # A path that begins with a barred stem and not with an exempt text is disallowed.
        self._barred, self._exempt = tuple(stems), tuple(exempt)
        self._final = not exempt and len(stems) == len(beginnings)
        if len(exempt) > _FEW_STEMS:
            self._barred = ()  # A bisection is faster.

    def allows_url(self, url: str, start: int) -> bool:  # noqa: C901 - spelt out, for speed
        """Return whether the rules allow the path in `url`, in the form in which it is written.

        `start` is the index of the first slash of this path in `url`.
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
    """The stems and wildcard patterns of all allow rules of a group, or of all disallow rules.

    Attributes:
        stems: the rules without a wildcard, and the texts on which a wildcard pattern hangs. They
            are sorted.
        head: the length of the shortest stem, in characters.
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
        """Arrange the rules. The docstring of the module explains "stem", "hang" and "needle".

        Args:
            plain: the stems of rules without a wildcard. The value of each stem is the highest
                precedence of a rule with this stem.
            wild: the wildcard patterns, each with the highest precedence in the same way.
        """
        hung, needles = _filed(wild)
        self._highest = max((*plain.values(), *wild.values()), default=0)
        self._by_piece: dict[str, list[Filed]] = {}  # patterns by a piece of their needle
        self._may_hold_a_piece: Callable[[str], object] = bool  # called with a path
        self._tried = self.needles = needles  # `_tried` has the needles that are not filed
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

        A pattern is filed under the piece that has fewer patterns so far, because many needles have
        the same beginning or the same end. A pattern whose needle is shorter than a piece is not
        filed.
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
        # The regular expression has a character class for each position in a piece, with all
        # characters that occur at this position. No other regular expression is made from rules.
        # The search takes at most `_PIECE` steps for each character of a path.
        pieces = [piece for piece, crowd in by_piece.items() if crowd]
        places = ["".join(sorted(set(chars))) for chars in zip(*pieces, strict=True)]
        pattern = "".join([f"[{re.escape(chars)}]" for chars in places])
        self._may_hold_a_piece = re.compile(pattern).search

    def best(self, path: str, best: int) -> int:
        """Return the highest precedence of a rule that matches `path`, or `best` if it is higher.

        `best` is the precedence of the best rule found before, or `NO_RULE`.
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
        """Do the same as `best`, but search only the filed patterns."""
        pieces = {path[at : at + _PIECE] for at in range(len(path) - _PIECE + 1)}
        crowds = [self._by_piece[piece] for piece in self._by_piece.keys() & pieces]
        if sum(map(len, crowds)) * len(path) > _MUCH_WORK:
            crowds = [sorted(chain.from_iterable(crowds), key=itemgetter(0), reverse=True)]
        for filed in crowds:
            best = _best_of(filed, path, best)
        return best


def _best_of(filed: Sequence[Filed], path: str, best: int) -> int:
    """Do the same as `_OneKind.best`, but search only the patterns in `filed`.

    There may be thousands of patterns. They are sorted by precedence.
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

    Every pattern that matches is yielded, and a few others.

    The segments after the first star are checked from the last one back. Each segment must begin
    early enough to leave space for the segments after it. A bisection in the sorted suffixes of
    the path finds the suffixes that begin with the segment. If there are none, the pattern does not
    match. If they all have the same text, the segment begins at the first index of this text, at
    its last index or between them. If their texts differ, the segment may begin at any index.

    Suffixes are cut after `_SUFFIX` characters, and so are the segments that are looked for.
    """
    starts = range(len(path))
    last = {path[at : at + _SUFFIX]: at for at in starts}  # the last index of each suffix
    first: dict[str, int] = {}  # the first index of each suffix
    suffixes = [*sorted(last), _END, _END]
    for rule in filed:
        _, _, pattern = rule
        begin = len(path)  # the latest index at which the segments checked so far can begin
        for segment in pattern.removesuffix("$").split("*")[:0:-1]:
            text = segment[:_SUFFIX]
            number = bisect_left(suffixes, text)
            suffix = suffixes[number]
            if not suffix.startswith(text):
                break
            begin -= len(segment)
            if suffixes[number + 1].startswith(text):
                continue  # Several suffixes begin with the segment.
            if not first:  # Most hostile files never get here.
                first = {path[at : at + _SUFFIX]: at for at in reversed(starts)}
            if first[suffix] > begin:
                break
            if last[suffix] < begin:  # noqa: PLR1730 - min() takes longer
                begin = last[suffix]
        else:
            yield rule


def _sorted_out(
    rules: Iterable[tuple[str, int]], allow: bool
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the stems of the rules without a wildcard, and the wildcard patterns.

    The value of each text is the highest precedence of a rule with this text. `allow` shows whether
    the rules are allow rules.
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
    """Return the wildcard patterns that hang on a stem, by stem, and the other wildcard patterns.

    Each list is sorted by precedence, with the highest at the beginning.
    """
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
