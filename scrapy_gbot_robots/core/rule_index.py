"""Find the rule that decides for a path with an index, without trying each rule.

Of the rules whose pattern matches the path, the rule with the longest pattern decides. If an allow
rule and a disallow rule are equally long, the allow rule wins (Google's page, "Order of precedence
for rules"). If the same rule occurs several times in the file, the verdict names the first one.

A group may have thousands of rules, and a path usually has a few dozen characters. The index is
built once, in time that is linear in the text of the rules. It answers two questions:

* `best(path, best)` is asked of the disallow rules and of the allow rules separately. It returns
  the highest precedence of a rule that matches the path. A precedence is one number that combines
  the length of a pattern, the kind of the rule and its line number (patterns.py). So the rule with
  the highest precedence decides, and its line number can be read from the precedence.
* `allows_url(url, start)` returns only whether the path in a URL is allowed. A crawl asks this
  question for each request. Usually one `startswith` call with a few literal texts answers it,
  before the path is cut out of the URL.

The disallow rules are searched first, because most paths match none of them. The allow rules are
arranged in the same way as the disallow rules. They are searched only if a disallow rule matches
and an allow rule may have a higher precedence.

1. A rule without a wildcard is a *stem*. The rule matches if the path begins with the stem. The
   stems are sorted, and one bisection finds the last stem that does not come after the path. Any
   stem with which the path begins is either this stem or a prefix of this stem. So each stem has a
   link to the longest other stem that is a prefix of this stem. Each stem also stores the highest
   precedence of the rules along the chain of links.
2. A wildcard pattern with a long text before its first star *hangs* on that text as a stem. The
   pattern is tried only for paths that begin with the stem.
3. Any other wildcard pattern has a *needle*, which is its longest literal segment after the first
   star. The pattern is tried only for paths that contain the needle. If there are few needles, or
   if a needle is short, the path is searched for each needle with the operator `in`. Otherwise the
   pattern is filed in a dictionary under the first or the last five characters of its needle. The
   path is cut once into all its pieces of five characters, and only the patterns that are filed
   under one of these pieces are tried.
4. In a hostile file, a long path may contain the pieces of thousands of needles. In this case all
   suffixes of the path are sorted. One bisection for each segment of a pattern then shows whether
   the path contains the segment, and where. Only patterns whose segments may follow one another in
   the path are tried.

Here is a worked example. The rules are

    2  disallow: /shop           stem "/shop"
    3  allow: /shop/sale         stem "/shop/sale" of the allow rules
    4  disallow: /shop/*.pdf$    hangs on the stem "/shop/", which has a link to "/shop"
    5  disallow: /*sessionid=    needle "sessionid=", filed under "sessi" if there are many

and the path is "/shop/sale/list.pdf". The stems of the disallow rules are "/shop" and "/shop/".
Bisection finds "/shop/", and the path begins with it. Of the rules without a wildcard along its
links, line 2 has the highest precedence, with five characters. The pattern of line 4 hangs on
"/shop/" and matches. It has twelve characters, so its precedence is now the highest. The path does
not contain the needle of line 5. No allow rule has twelve characters or more, so the allow rules
are not searched. Line 4 decides, and the path is disallowed.

A change to this module must keep three promises. Each list of patterns is sorted by precedence,
with the highest at the beginning. A search in a list ends at the first match, or as soon as no
better match can follow. The attributes that `allows_url` uses only save time, and do not change the
result. The comments at the assignments of these attributes explain why. A hostile file can still
cause a search to try every pattern, so `takes_long` in rules.py assumes that every pattern is
tried.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter

from .patterns import LENGTH_BITS, NO_RULE, Kinds, is_allowed, matches, precedence_of
from .urls import path_of

# A wildcard pattern, as a tuple of its precedence, its needle and the pattern itself. The needle is
# a literal text of the pattern that every matching path contains.
Filed = tuple[int, str, str]

# Up to this number of stems, one `startswith` call with all stems is faster than a bisection.
_FEW_STEMS = 40
# Up to this number of needles, searching the path for each needle is faster than cutting the path
# into pieces.
_FEW_NEEDLES = 100
_PIECE = 5  # A path or a needle is cut into pieces of this many characters.
# A limit on the product of the number of needles and the number of characters of the path. Above
# this limit, sorting the suffixes of the path is faster than searching the path for each needle.
_MUCH_WORK = 30_000_000
_SUFFIX = 128  # Each suffix of the path is cut to this many characters.
_END = "\U0010ffff"  # This text sorts after all suffixes of a path.


class Index:
    """The rules of a group, arranged so that few rules are tried for each path.

    An index does not change after it is built.

    Attributes:
        kinds: a pair of two `_OneKind` objects, for the disallow rules and for the allow rules.
        wildcard_chars: the number of characters in all wildcard patterns. In the worst case, all
            these patterns are tried for one path.
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
        """Build the index. `allows` and `disallows` contain pairs of a pattern and a line number.

        Empty patterns are left out, because a rule without a path never decides.
        """
        stems, wild = _sorted_out(disallows, False)
        allow_stems, allow_wild = _sorted_out(allows, True)
        disallowing, allowing = _OneKind(stems, wild), _OneKind(allow_stems, allow_wild)
        self._disallows = disallowing
        self.kinds: Kinds = disallowing, allowing
        self.wildcard_chars = sum(map(len, wild)) + sum(map(len, allow_wild))

        # `exempt` contains the beginnings of the allow rules that may have a higher precedence than
        # a disallow rule without a wildcard. If one of these allow rules matches a path, the path
        # begins with one of the texts in `exempt`.
        lowest = min(stems.values(), default=0)
        exempt = {
            text.rstrip("$").partition("*")[0]
            for text, height in chain(allow_stems.items(), allow_wild.items())
            if height > lowest
        }
        beginnings = disallowing.stems
        needles = [needle for _, needle, _ in disallowing.needles]
        # If a stem or an exempt text contains an escape such as "%2F", `allows_url` must not
        # compare the URL as written, because the URL may contain the same escape in lower case,
        # "%2f".
        escapes = any("%" in text for text in chain(beginnings, exempt, allow_stems))
        # A path that begins with none of `_beginnings` and contains none of `_needles` is allowed.
        # `_beginnings` is None if there are escapes, or too many stems or needles to look for each
        # of them.
        few = not escapes and len(beginnings) <= _FEW_STEMS and len(needles) <= _FEW_NEEDLES
        self._beginnings = tuple(beginnings) if few else None
        self._needles = needles if few else []
        # If the first characters of a path are not in `_heads`, the path does not begin with a
        # stem, so it is allowed. `_heads` is None if there are needles or escapes.
        self._heads = None if escapes or needles else disallowing.heads
        # A path that begins with one of `_barred` and not with one of `_exempt` is disallowed.
        self._barred, self._exempt = tuple(stems), tuple(exempt)
        self._final = not exempt and len(stems) == len(beginnings)
        if len(exempt) > _FEW_STEMS:
            self._barred = ()  # With many exempt texts, the bisection in `best` is faster.

    def allows_url(self, url: str, start: int) -> bool:  # noqa: C901 - spelt out, for speed
        """Return whether the rules allow the path in `url`.

        Args:
            url: a URL as written, which may contain characters that have to be escaped.
            start: the index in `url` of the first slash of the path.
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
                # The needle may stand after a "#" or NUL in the URL, which end the path. This does
                # no harm, because the slower check below then decides.
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
    """Either the allow rules or the disallow rules of a group, as stems and wildcard patterns.

    Attributes:
        stems: the sorted stems, which are the rules without a wildcard and the texts on which
            wildcard patterns hang.
        head: the length of the shortest stem, in characters.
        heads: the first `head` characters of each stem. If the first `head` characters of a path
            are not in `heads`, the path does not begin with a stem.
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
        """Arrange the rules. The docstring of this module explains "stem", "hang" and "needle".

        Args:
            plain: the rules without a wildcard, as stems. The value of each stem is the highest
                precedence of a rule with this stem.
            wild: the wildcard patterns. The value of each pattern is the highest precedence of a
                rule with this pattern.
        """
        hung, needles = _filed(wild)
        self._highest = max((*plain.values(), *wild.values()), default=0)
        # For each piece of five characters, the patterns that are filed under this piece.
        self._by_piece: dict[str, list[Filed]] = {}
        # A function that takes a path. If the result is false, the path contains no piece under
        # which a pattern is filed.
        self._may_hold_a_piece: Callable[[str], object] = bool
        # `_tried` contains the patterns that have a needle and are not in `_by_piece`.
        self._tried = self.needles = needles
        if len(needles) > _FEW_NEEDLES:
            self._file(needles)
        self.stems = stems = sorted(plain.keys() | hung.keys())
        self._hung = {number: hung[stem] for number, stem in enumerate(stems) if stem in hung}
        self.head = min(map(len, stems), default=0)
        self.heads = frozenset([stem[: self.head] for stem in stems])
        # For each stem, the index of the longest other stem that is a prefix of this stem; -1 if no
        # other stem is a prefix.
        self._parents: list[int] = []
        # For each stem, the highest precedence of a rule without a wildcard whose stem is this stem
        # or a prefix of this stem.
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
        """File each pattern in `_by_piece`, under the first or the last piece of its needle.

        Of these two pieces, the piece with fewer patterns so far is chosen, because many needles
        have the same beginning or the same end. A pattern whose needle is shorter than a piece is
        added to `_tried` instead.
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
        # This regular expression shows quickly that a path contains none of the pieces. For each of
        # the five positions in a piece, it has a character class with the characters that occur at
        # this position in some piece. For example, for the pieces "sessi" and "token" it is
        # "[st][eo][ks][es][in]". The search takes at most `_PIECE` steps for each character of a
        # path. No other regular expression in this package is made from rules.
        pieces = [piece for piece, crowd in by_piece.items() if crowd]
        places = ["".join(sorted(set(chars))) for chars in zip(*pieces, strict=True)]
        pattern = "".join([f"[{re.escape(chars)}]" for chars in places])
        self._may_hold_a_piece = re.compile(pattern).search

    def best(self, path: str, best: int) -> int:
        """Return the greater of `best` and the highest precedence of the rules that match `path`.

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
        """Return the greater of `best` and the highest precedence of the matches in `_by_piece`.

        `best` is the precedence of the best rule found before.
        """
        pieces = {path[at : at + _PIECE] for at in range(len(path) - _PIECE + 1)}
        crowds = [self._by_piece[piece] for piece in self._by_piece.keys() & pieces]
        if sum(map(len, crowds)) * len(path) > _MUCH_WORK:
            crowds = [sorted(chain.from_iterable(crowds), key=itemgetter(0), reverse=True)]
        for filed in crowds:
            best = _best_of(filed, path, best)
        return best


def _best_of(filed: Sequence[Filed], path: str, best: int) -> int:
    """Return the greater of `best` and the highest precedence of the patterns that match `path`.

    Only the patterns in `filed` are tried. There may be thousands of these patterns. They are
    sorted by precedence, with the highest at the beginning. `best` is the precedence of the best
    rule found before, or `NO_RULE`.
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
    """Yield the patterns in `filed` that may match `path`.

    A pattern is left out if its segments cannot follow one another in the path. So every pattern
    that matches is yielded, and only a few patterns that do not match.

    The segments after the first star are checked from the last one to the first one. Each segment
    must begin early enough to leave space for the segments after it. The suffixes of the path are
    sorted, and a bisection finds the suffixes that begin with the segment. Suffixes and segments
    are cut after `_SUFFIX` characters, and suffixes that are equal after the cut count as one.
    There are three cases:

    1. No suffix begins with the segment. The pattern does not match.
    2. Exactly one suffix begins with the segment. This suffix may occur at several places in the
       path, and the segment begins at one of these places.
    3. Several suffixes begin with the segment. The segment may begin at too many places, so this
       segment is not checked further.
    """
    starts = range(len(path))
    # For each suffix of the path, the greatest index at which the suffix begins. Each suffix is cut
    # to `_SUFFIX` characters, so several suffixes may become equal.
    last = {path[at : at + _SUFFIX]: at for at in starts}
    # For each suffix of the path, the least index at which the suffix begins. This dictionary is
    # empty until it is needed.
    first: dict[str, int] = {}
    suffixes = [*sorted(last), _END, _END]
    for rule in filed:
        _, _, pattern = rule
        # The greatest index at which the segment that was checked last may begin.
        begin = len(path)
        for segment in pattern.removesuffix("$").split("*")[:0:-1]:
            text = segment[:_SUFFIX]
            number = bisect_left(suffixes, text)
            suffix = suffixes[number]
            if not suffix.startswith(text):
                break
            begin -= len(segment)
            if suffixes[number + 1].startswith(text):
                continue  # Several suffixes begin with the segment.
            if not first:  # Even most hostile files do not need `first`, so it is made only here.
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
    """Sort the rules into stems and wildcard patterns.

    Args:
        rules: the pattern and the line number of each rule.
        allow: whether the rules are allow rules.

    Returns:
        Two dictionaries. The keys of the first dictionary are the stems of the rules without a
        wildcard. The keys of the second dictionary are the wildcard patterns. The value of a key is
        the highest precedence of a rule with this stem or pattern.
    """
    stems: dict[str, int] = {}
    wild: dict[str, int] = {}
    least = precedence_of(0, allow, 0)
    for pattern, line in rules:
        # A star at the end does not change which paths match. It only makes the pattern longer.
        stem = pattern.rstrip("*")
        is_wild = "*" in stem or pattern[-1:] == "$"
        kind, key = (wild, pattern) if is_wild else (stems, stem)
        # This is the number that `precedence_of(len(pattern), allow, line)` returns. Computing it
        # here saves a call for each rule.
        precedence = least + (len(pattern) << LENGTH_BITS) - 2 * line
        if pattern and kind.get(key, 0) < precedence:
            kind[key] = precedence
    return stems, wild


def _filed(wild: dict[str, int]) -> tuple[dict[str, list[Filed]], list[Filed]]:
    """Return the wildcard patterns that hang on a stem, and the other wildcard patterns.

    The patterns that hang on a stem are in a dictionary with the stem as the key. The other
    patterns are in a list. Each list is sorted by precedence, with the highest at the beginning.
    """
    hung: dict[str, list[Filed]] = {}
    needles: list[Filed] = []
    for pattern, precedence in sorted(wild.items(), key=itemgetter(1), reverse=True):
        stem, *later = pattern.removesuffix("$").split("*")
        needle = ""
        for segment in later:  # `max(later, key=len)` takes three times as long.
            if len(segment) > len(needle):
                needle = segment
        # If the needle is as long as the stem, the pattern does not hang on the stem. The first
        # character of a stem is a slash, with which every path begins, so the needle excludes more
        # paths.
        patterns = needles
        if len(needle) < len(stem):
            patterns = hung.setdefault(stem, [])
        patterns.append((precedence, needle, pattern))
    return hung, needles


# The index for a robots.txt without rules for the crawler. All such robots.txt files share this
# index.
NO_RULES = Index((), ())
