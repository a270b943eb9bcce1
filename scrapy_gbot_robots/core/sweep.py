r"""Many URLs of one site judged at once by one crawler's rules, faster than one after the other.

Operations wanted, for the sorted URLs of a site, from five to fifty thousand:

* `SitePaths(urls, site)`: the paths of these URLs, prepared once for all crawlers.
* `Sweep(rules)`: a crawler's rules, prepared once for all sites whose robots.txt has the same rules.
* `sweep.allowed(paths)`: the answers of `allowed_in_all_forms` (wire.py) for each URL.

Plan:

1. Sorted paths that begin with the same text lie side by side. One bisection finds all paths that a plain prefix matches,
   however many they are.
2. All paths also stand in one text, each between two LF. A wildcard rule is tried only on paths that hold its longest
   literal segment, and one search through the text finds them. An LF marks the beginning of a path, or with "$" the end.
3. What matches is painted over the answers, the least preferred rule first. So the most preferred rule is on top.

A worked example. The rules are "disallow: /a", "allow: /a/b", "disallow: /*.pdf$", and the paths

    1  /a        painted 0 by "/a"
    2  /a/b      painted 0 by "/a", then 1 by "/a/b"
    3  /c.pdf    the text has ".pdf\n": "/*.pdf$" is tried and paints 0
    4  /c.pdf?x  holds no ".pdf\n", so it is not tried: stays 1

Warning: this is only right for a path that rules are compared with as written. Any other path (with an escape in lower case,
a dot segment, a fragment) is *odd*, and is judged on its own.

Source: that of rules.py.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from .matching import follow
from .wire import allowed_in_all_forms, has_one_form, have_one_form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .rules import Rules

    # What a pattern matches: its priority, the number of the first path, and the number after the last.
    Hit = tuple[int, int, int]

_FEW_URLS: Final = 4  # up to so many are judged faster one by one
_MANY_URLS: Final = 400  # up to so many are judged faster one by one if the rules are indexed
_FEW_STARTS: Final = 16  # up to so many are found faster without filing them by their heads
_HEAD: Final = 5  # characters
_AFTER_ALL: Final = "\U0010ffff"  # sorts behind all characters of a path that is not odd


class SitePaths:
    """The paths of `urls`, which are sorted. Each URL begins with `site`, a scheme and an authority, and a slash.

    The paths count from 1.

    Attributes:
        urls: the URLs.
        start: where the paths begin in them.
        odd: the numbers of the odd paths.
        paths: after `arrange`: the paths, after an empty text and before one that sorts behind them.
        text: after `arrange`: all paths, an LF before and after each.
    """

    __slots__ = ("_heads", "odd", "paths", "start", "text", "urls")

    def __init__(self, urls: Sequence[str], site: str) -> None:
        self.urls = urls
        self.start = start = len(site)
        self.odd: Sequence[int] = ()
        if not have_one_form("\n".join(["", *urls, ""]), len(urls)):
            self.odd = [number for number, url in enumerate(urls, 1) if not has_one_form(url[start:])]
        self.paths: list[str] = []
        self._heads: set[str] | None = None

    def arrange(self) -> None:
        """Cut the paths out of the URLs. Only the first call does anything."""
        if self.paths:
            return
        start = self.start
        self.paths = ["", *[url[start:] for url in self.urls], ""]
        self.text = "\n".join([path.replace("\n", " ") for path in self.paths] if self.odd else self.paths)
        self.paths[-1] = _AFTER_ALL

    @property
    def heads(self) -> set[str]:
        """What the paths begin with."""
        if self._heads is None:
            self._heads = {path[:_HEAD] for path in self.paths}
        return self._heads

    def holding(self, text: str) -> list[int]:
        """Return the paths in which `text` occurs; an LF in it stands for the beginning or the end of the path."""
        every = self.text
        found: list[int] = []
        place = every.find(text)
        last = len(every) - 1  # the LF there begins no path
        number = counted = 0  # `number` is how many paths begin before the place `counted`
        while 0 <= place < last:
            place += text[0] == "\n"  # the path begins behind it
            number += every.count("\n", counted, place)
            found.append(number)
            counted = place
            place = every.find(text, every.find("\n", place))
        return found


class Sweep:
    """The rules of one crawler, prepared for many URLs."""

    __slots__ = ("_allows", "_disallows", "_parts", "_sites", "rules")

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._parts: list[Sweep] | None = None  # one for each of several crawlers; None before the first question
        self._disallows: _Patterns | None = None  # None before it is needed
        self._allows: _Patterns
        self._sites = 0  # whose URLs these rules have judged

    def allowed(self, paths: SitePaths) -> bytearray:
        """Return 1 for each of the URLs that may be fetched in every form in which a client may send it, else 0."""
        if not self.rules.can_refuse:
            return bytearray(b"\1") * len(paths.urls)
        if self._parts is None:
            self._parts = [Sweep(part) for part in self.rules.parts]
        if self._parts:
            return bytearray(map(min, zip(*(part.allowed(paths) for part in self._parts), strict=True)))
        self._sites += 1
        answers = self._asked(paths) if self._is_sooner_asked(len(paths.urls)) else self._painted(paths)
        for number in paths.odd:
            answers[number - 1] = allowed_in_all_forms(self.rules, paths.urls[number - 1])
        return answers

    def _asked(self, paths: SitePaths) -> bytearray:
        """Judge one URL after the other."""
        if len(paths.urls) <= _FEW_URLS:
            return bytearray(map(self.rules.allowed, paths.urls))
        return self.rules.allowed_each(paths.urls, paths.start)

    def _painted(self, paths: SitePaths) -> bytearray:
        """Paint what each rule matches over the answers."""
        if self._disallows is None:
            allows, disallows = self.rules.patterns()
            self._disallows, self._allows = _Patterns(disallows, 0), _Patterns(allows, 1)
        paths.arrange()
        answers = bytearray(b"\1") * (len(paths.urls) + 1)
        hits = self._disallows.hits(paths)
        if hits:
            hits += self._allows.hits(paths)
            hits.sort()
            for priority, begin, stop in hits:
                if stop - begin == 1:
                    answers[begin] = priority & 1
                else:
                    answers[begin:stop] = bytes((priority & 1,)) * (stop - begin)
        del answers[0]
        return answers

    def _is_sooner_asked(self, urls: int) -> bool:
        """Whether it is faster to judge one URL after the other. The weights are from measurements.

        This way needs the index of the rules. To build it takes about as long as to paint a few hundred URLs.
        """
        if urls <= _FEW_URLS or (urls <= _MANY_URLS and self._sites > 1):
            return True
        wildcards = (
            self.rules.wildcards
        )  # below, painting costs the first product, building and asking the index the sum
        return wildcards * urls > 200 * wildcards + 500 * urls


class _Patterns:
    """The allow or the disallow patterns of a crawler, each with its priority, arranged by how they are searched for.

    A start matches each path that begins with it: it is a pattern without "*" and "$", or one without the stars at its end.
    Many starts are filed by their first characters.
    """

    __slots__ = ("_by_head", "_starts", "_wildcards")

    def __init__(self, patterns: Sequence[str], allow: int) -> None:
        self._starts = [
            (each, 2 * len(each) + allow) for each in patterns if each and "*" not in each and "$" not in each
        ]
        self._wildcards: list[_Wildcard] = []
        if len(self._starts) < len(patterns):
            for pattern in patterns:
                if "*" in pattern or "$" in pattern:
                    self._add(pattern, 2 * len(pattern) + allow)
        self._by_head: dict[str, list[tuple[str, int]]] | None = None
        if len(self._starts) > _FEW_STARTS:
            self._file_by_head()

    def _add(self, pattern: str, priority: int) -> None:
        stem = pattern.rstrip("*")  # stars at the end do nothing but add to the length
        if "*" in stem or stem[-1:] == "$":
            self._wildcards.append(_Wildcard.of(pattern, priority))
        else:
            self._starts.append((stem, priority))

    def _file_by_head(self) -> None:
        """File the starts by their head. Shorter ones stay in `_starts`."""
        by_head: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        for each in self._starts:
            by_head[each[0][:_HEAD]].append(each)
        self._starts = [each for each in self._starts if len(each[0]) < _HEAD]
        self._by_head = by_head

    def hits(self, paths: SitePaths) -> list[Hit]:
        """Return what matches."""
        starts, every = self._starts, paths.paths
        if self._by_head is not None:
            starts = starts[:]
            for head in paths.heads & self._by_head.keys():
                starts += self._by_head[head]
        hits: list[Hit] = []
        for stem, priority in starts:
            begin = bisect_left(every, stem)
            if every[begin].startswith(stem):
                hits.append((priority, begin, bisect_left(every, stem + _AFTER_ALL, begin)))
        text = paths.text
        for priority, stem, segment, at, rest, anchored in self._wildcards:
            if stem and not every[bisect_left(every, stem)].startswith(stem):
                continue
            if segment in text:
                for number in paths.holding(segment):
                    path = every[number]
                    if rest is None or (path.startswith(stem) and follow(rest, path, at, anchored)):
                        hits.append((priority, number, number + 1))
        return hits


class _Wildcard(NamedTuple):
    """A pattern with a wildcard, taken apart.

    Attributes:
        priority: its priority.
        stem: the literal text that it begins with; "" if that is a slash at the most, which tells nothing.
        segment: the longest literal text in it, with an LF where that begins or ends a path.
        at: the length of all literal text before the first star.
        rest: what follows that star; None if there is no star, so that `segment` is the whole path.
        anchored: whether it has to reach the end of the path.
    """

    priority: int
    stem: str
    segment: str
    at: int
    rest: str | None
    anchored: bool

    @classmethod
    def of(cls, pattern: str, priority: int) -> _Wildcard:
        """Take `pattern` apart."""
        anchored = pattern[-1] == "$"
        first, star, rest = pattern.removesuffix("$").partition("*")
        literals = [f"\n{first}", *rest.split("*")] if star else [f"\n{first}"]
        if anchored:
            literals[-1] += "\n"
        stem = "" if first == "/" else first
        return cls(priority, stem, max(literals, key=len), len(first), rest if star else None, anchored)
