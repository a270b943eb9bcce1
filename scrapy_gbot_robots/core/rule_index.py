"""Find the rule that decides for a path. An index makes it unnecessary to try each rule.

Of the rules that match the path, the rule with the longest pattern decides. If an allow rule and a
disallow rule are equally long, the allow rule wins (Google's page, "Order of precedence for
rules"). If the same rule occurs several times in the file, the verdict names the first one.

A group may have thousands of rules, and a path usually has a few dozen characters. The index is
built once, in time that is linear in the text of the rules. Two methods search it:

* `_OneKind.best` is called for the disallow rules and for the allow rules. It returns the highest
  precedence of a rule that matches the path. A precedence is one number that combines the length of
  a pattern, the kind of the rule and its line number (patterns.py). So the rule with the highest
  precedence decides, and its line number can be read from the precedence.
* `Index.allows_url` only returns whether a URL is allowed. A crawl calls it for each request.
  Usually it needs only one `startswith` call with a few literal texts, and does not cut the path
  out of the URL.

The disallow rules are searched first, because most paths match none of them. The allow rules are
arranged in the same way as the disallow rules. They are searched only if a disallow rule matches
and an allow rule may have a higher precedence.

1. A rule without a wildcard is a *stem*. The rule matches a path that begins with the stem. The
   stems are sorted, and one bisection finds the place of the path among them. Of all stems, the
   path can begin only with the one before this place, and with the prefixes of this stem. So each
   stem has a link to its longest prefix among the stems. Each stem also stores the highest
   precedence of the rules along its chain of links.
2. A wildcard pattern with a long text before its first star *hangs* on that text as a stem. The
   pattern is tried only for paths that begin with the stem.
3. Any other wildcard pattern has a *needle*, which is its longest literal segment after the first
   star. The pattern is tried only for paths that contain the needle. If there are few needles,
   the path is searched for each of them with the operator `in`. If there are many, only the short
   needles are searched for in this way. A pattern with a longer needle is filed in a dictionary,
   with the first or last five characters of its needle as the key. For each run of five characters
   in the path, the patterns under this key are tried.
4. With a hostile file, thousands of patterns may remain after step 3. In this case all suffixes of
   the path are sorted. One bisection for each segment of a pattern then shows whether the path
   contains the segment, and where. Only patterns whose segments may follow one another in the path
   are tried.

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

After a change to this module, three things must still be true:

* Each list of patterns is sorted by precedence, with the highest at the beginning.
* A search in a list ends at the first match, or as soon as no better match can follow.
* The attributes that only `allows_url` uses save time, and do not change the result. The comments
  at these attributes explain why.

A hostile file can still cause a search to try every pattern, so `takes_long` in rules.py assumes
that every pattern is tried.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter

from .patterns import LENGTH_BITS, NO_RULE, Kinds, is_allowed, matches, precedence_of
from .urls import path_of

# The type of a wildcard pattern in an index. The tuple contains its precedence, its needle and the
# pattern itself. The needle is a literal text that every matching path contains.
Filed = tuple[int, str, str]

# A stem is a string that matching paths begin with. If there are at most this many stems, one
# `startswith` call with all of them is faster than a bisection.
_FEW_STEMS = 40
# A needle is a string that matching paths contain. If there are at most this many needles,
# searching the path for each of them is faster than looking up the pieces of the path in a
# dictionary.
_FEW_NEEDLES = 100
_PIECE = 5  # The number of characters in a piece of a path or a needle.
# A limit on the product of the number of needles and the number of characters of the path. Above
# this limit, sorting the suffixes of the path is faster than searching the path for each needle.
_MUCH_WORK = 30_000_000
_SUFFIX = 128  # Each suffix of the path is cut to this many characters.
_END = "\U0010ffff"  # This text is greater than any suffix of a path.


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

        Empty patterns are left out, because a rule without a path has no effect.
        """
        stems, wild = _sorted_out(disallows, False)
        allow_stems, allow_wild = _sorted_out(allows, True)
        disallowing, allowing = _OneKind(stems, wild), _OneKind(allow_stems, allow_wild)
        self._disallows = disallowing
        self.kinds: Kinds = disallowing, allowing
        self.wildcard_chars = sum(map(len, wild)) + sum(map(len, allow_wild))

        # Some allow rules may win against a disallow rule without a wildcard. `exempt` contains the
        # literal text before the first wildcard of each of these allow rules. Only a path that
        # begins with one of these texts can match one of these allow rules.
        lowest = min(stems.values(), default=0)
        exempt = {
            text.rstrip("$").partition("*")[0]
            for text, height in chain(allow_stems.items(), allow_wild.items())
            if height > lowest
        }
        beginnings = disallowing.stems
        needles = [needle for _, needle, _ in disallowing.needles]
        # The URL may contain an escape in lower case, such as "%2f", where a stem or exempt text
        # has "%2F". So if any of these texts has an escape, the URL is not compared as written.
        escapes = any("%" in text for text in chain(beginnings, exempt, allow_stems))
        # A path is allowed if it begins with none of `_beginnings` and contains none of `_needles`.
        # `_beginnings` is None if this check must not be used. With escapes the check would be
        # wrong, and with many stems or needles it would be slow.
        few = not escapes and len(beginnings) <= _FEW_STEMS and len(needles) <= _FEW_NEEDLES
        self._beginnings = tuple(beginnings) if few else None
        self._needles = needles if few else []
        # A path is allowed if its first characters are not in `_heads`, because it then begins with
        # none of the stems. If there are needles or escapes, this check would be wrong, so `_heads`
        # is None.
        self._heads = None if escapes or needles else disallowing.heads
        # A path is disallowed if it begins with one of `_barred` and with none of `_exempt`.
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
                # A needle after a "#" or NUL is not in the path, because "#" and NUL end the path.
                # Finding such a needle does no harm, because the slower check below then decides.
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
        stems: the sorted stems. They are the rules without a wildcard, and the literal prefixes of
            wildcard patterns, on which these patterns hang.
        head: the length of the shortest stem, in characters.
        heads: the beginnings of the stems, each `head` characters long. A path that begins with
            none of them does not begin with a stem.
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
        # If this function returns a false value for a path, no pattern in `_by_piece` matches the
        # path.
        self._may_hold_a_piece: Callable[[str], object] = bool
        # The wildcard patterns that neither hang on a stem nor are in `_by_piece`. Their needles
        # are searched for one by one.
        self._tried = self.needles = needles
        if len(needles) > _FEW_NEEDLES:
            self._file(needles)
        self.stems = stems = sorted(plain.keys() | hung.keys())
        self._hung = {number: hung[stem] for number, stem in enumerate(stems) if stem in hung}
        self.head = min(map(len, stems), default=0)
        self.heads = frozenset([stem[: self.head] for stem in stems])
        # For each stem, the index of the longest other stem with which it begins; -1 if there is
        # none.
        self._parents: list[int] = []
        # For each stem, the highest precedence of the rules without a wildcard that match the stem.
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

        Many needles have the same beginning or the same end, so the piece with fewer patterns is
        chosen. A pattern whose needle is shorter than a piece is added to `_tried` instead.
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
        # This regular expression shows quickly that a path contains none of the pieces. It has one
        # character class for each of the five positions in a piece. The class contains the
        # characters that the pieces have at this position. For example, the expression for the
        # pieces "sessi" and "token" is "[st][eo][ks][es][in]". The search takes at most `_PIECE`
        # steps for each character of a path. No other regular expression in this package is made
        # from rules.
        pieces = [piece for piece, crowd in by_piece.items() if crowd]
        places = ["".join(sorted(set(chars))) for chars in zip(*pieces, strict=True)]
        pattern = "".join([f"[{re.escape(chars)}]" for chars in places])
        self._may_hold_a_piece = re.compile(pattern).search

    def best(self, path: str, best: int) -> int:
        """Return the greater of `best` and the highest precedence of the rules that match `path`.

        `best` is the highest precedence found so far, or `NO_RULE`.
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
        """Return the greater of `best` and the highest precedence of a matching pattern.

        Only the patterns in `_by_piece` are tried. `best` is the highest precedence found so far.
        """
        pieces = {path[at : at + _PIECE] for at in range(len(path) - _PIECE + 1)}
        crowds = [self._by_piece[piece] for piece in self._by_piece.keys() & pieces]
        if sum(map(len, crowds)) * len(path) > _MUCH_WORK:
            crowds = [sorted(chain.from_iterable(crowds), key=itemgetter(0), reverse=True)]
        for filed in crowds:
            best = _best_of(filed, path, best)
        return best


def _best_of(filed: Sequence[Filed], path: str, best: int) -> int:
    """Return the greater of `best` and the highest precedence of a matching pattern in `filed`.

    `filed` may contain thousands of patterns. They are sorted by precedence, with the highest at
    the beginning. `best` is the highest precedence found so far, or `NO_RULE`.
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

    A pattern is left out if its segments cannot follow one another in the path. So the function
    yields every pattern that matches, and only a few patterns that do not match.

    The segments after the first star are checked from the last one to the first one. Each segment
    must leave enough space for the segments after it. The suffixes of the path are sorted, so a
    bisection finds the suffixes that begin with a segment. Suffixes and segments are cut to
    `_SUFFIX` characters, and equal suffixes are stored only once. There are three cases:

    1. No suffix begins with the segment. The pattern does not match.
    2. Exactly one suffix begins with the segment. If the path contains this suffix several times,
       the segment begins at one of these places.
    3. Several suffixes begin with the segment. There may be too many places, so this segment is not
       checked further.
    """
    starts = range(len(path))
    # For each suffix of the path, the greatest index at which it begins. A suffix that is cut to
    # `_SUFFIX` characters may begin at several places.
    last = {path[at : at + _SUFFIX]: at for at in starts}
    # For each suffix of the path, the least index at which it begins. This dictionary is filled
    # when it is needed for the first time.
    first: dict[str, int] = {}
    suffixes = [*sorted(last), _END, _END]
    for rule in filed:
        _, _, pattern = rule
        # The greatest index at which the last checked segment may begin.
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
            if not first:  # Even among hostile files, only a few need this dictionary.
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
        A dictionary of the stems of rules without a wildcard, and a dictionary of the wildcard
        patterns. The value of each stem or pattern is the highest precedence of its rules.
    """
    stems: dict[str, int] = {}
    wild: dict[str, int] = {}
    least = precedence_of(0, allow, 0)
    for pattern, line in rules:
        # A star at the end does not change which paths match. It only makes the pattern longer.
        stem = pattern.rstrip("*")
        is_wild = "*" in stem or pattern[-1:] == "$"
        kind, key = (wild, pattern) if is_wild else (stems, stem)
        # `precedence_of` would return the same number, but calling it for each rule takes longer.
        precedence = least + (len(pattern) << LENGTH_BITS) - 2 * line
        if pattern and kind.get(key, 0) < precedence:
            kind[key] = precedence
    return stems, wild


def _filed(wild: dict[str, int]) -> tuple[dict[str, list[Filed]], list[Filed]]:
    """Return the wildcard patterns that hang on a stem, and the other wildcard patterns.

    The first result is a dictionary from each stem to the patterns that hang on it. The second
    result is the list of the other patterns. Each list of patterns is sorted by precedence, with
    the highest at the beginning.
    """
    hung: dict[str, list[Filed]] = {}
    needles: list[Filed] = []
    for pattern, precedence in sorted(wild.items(), key=itemgetter(1), reverse=True):
        stem, *later = pattern.removesuffix("$").split("*")
        needle = ""
        for segment in later:  # `max(later, key=len)` takes three times as long.
            if len(segment) > len(needle):
                needle = segment
        # A pattern hangs on its stem only if the stem is longer than the needle. If both are
        # equally long, the needle excludes more paths, because the first character of a stem is a
        # slash, with which every path begins.
        patterns = needles
        if len(needle) < len(stem):
            patterns = hung.setdefault(stem, [])
        patterns.append((precedence, needle, pattern))
    return hung, needles


# The index for a crawler without rules. All crawlers without rules share it.
NO_RULES = Index((), ())
