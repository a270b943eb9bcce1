r"""Many URLs of one site judged at once, faster than one after the other.

Operations wanted, for the sorted URLs of a site, from five to fifty thousand:

* `SiteUrls(urls, site)`: these URLs, prepared once for all crawlers.
* `Sweep(rules)`: a crawler's rules, prepared once for all sites whose robots.txt has the same rules.
* `sweep.allowed(urls)`: the answers of `allowed_in_all_forms` (core/url_forms.py) for each URL.

Plan:

1. A URL becomes the paths in all forms in which a client may send it; nearly every URL has one. Beyond this, a rule is
   compared with paths as they are written. A URL is allowed if all its paths are.
2. Sorted paths that begin with the same text lie side by side. One bisection finds all paths that a plain prefix matches,
   however many they are, and all that can match a wildcard rule with text before its first star.
3. All paths also stand in one text, each between two LF. Any other wildcard rule is tried only on paths that hold its
   longest literal segment, and one search through the text finds them. With "$" an LF marks the end of a path.
4. What matches is painted over the answers, the least preferred rule first. So the most preferred rule is on top.
5. If many sites have the same rules, and these have more wildcards than a site has URLs, then the index of the rules
   (core/rule_index.py) is worth its making: it is asked about one path after the other.

A worked example. The rules are "disallow: /a", "allow: /a/b", "disallow: /*.pdf$", and the paths of the URLs

    /a        painted 0 by "/a"
    /a/b      painted 0 by "/a", then 1 by "/a/b"
    /c.pdf    the text has ".pdf\n": "/*.pdf$" is tried and paints 0
    /c.pdf?x  holds no ".pdf\n", so it is not tried: stays 1

Source: that of core/rules.py.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import repeat
from typing import TYPE_CHECKING, Final

from ..core.patterns import follow
from ..core.rules import parts_of, patterns_of
from ..core.url_forms import SENT_IN_PATHS, other_forms
from ..core.urls import path_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from ..core.rules import Rules

    # What a pattern matches: its priority, the number of the first path, and the number after the last.
    Hit = tuple[int, int, int]

_FEW_PATHS: Final = 4  # so many are sooner asked about one by one
_MANY_PREFIXES: Final = 40  # from which on it may be faster to look up the beginnings of each path
_LOOKUPS_PER_BISECTION: Final = 5  # take the same time
_FEW_TRIES: Final = 4  # take less time than a search through all paths
_MANY_WILDCARDS: Final = 200  # from which on it may be faster to ask the index about each path
_MOST_TRIES: Final = 2_000_000  # of wildcards on paths: each may become a hit, which takes some hundred bytes
_ANY_PATH: Final = frozenset({"", "/"})  # so each path begins
_AFTER_ALL: Final = "\U0010ffff"  # sorts behind whatever may follow in a path


class SiteUrls:
    """The URLs of a site, which are sorted. Each begins with `site`, a scheme and an authority, and a slash.

    Attributes:
        site: what the URLs begin with.
        count: how many URLs they are.
        paths: the paths in all forms in which a client may send a URL, sorted.
    """

    __slots__ = ("_owners", "_text", "count", "paths", "site")

    def __init__(self, urls: Sequence[str], site: str) -> None:
        self.site = site
        self.count = len(urls)
        self.paths = list(map(str.removeprefix, urls, repeat(site)))
        self._owners: list[int] | None = None  # the number of the URL of each path, if a URL has several paths
        self._text = "\n".join(["", *self.paths, ""])
        odd = self._odd()
        if odd:
            self._spread(urls, odd)

    def _odd(self) -> set[int]:
        """Return the numbers of those paths that a client may send in another form, or that rules see in another form."""
        unusual = self._text.encode("utf-8", "surrogatepass").translate(None, SENT_IN_PATHS)
        if unusual.count(b"\n") > self.count + 1:
            suspects: Iterable[int] = range(self.count)
        else:
            suspects = {*self.holding("/."), *self.holding("?\n")}
            if len(unusual) > self.count + 1:
                suspects.update(number for number, rest in enumerate(unusual.split(b"\n")[1:-1]) if rest)
        urls = ((number, self.paths[number], self.site + self.paths[number]) for number in suspects)
        return {number for number, path, url in urls if path_of(url) != path or other_forms(url)}

    def _spread(self, urls: Sequence[str], odd: set[int]) -> None:
        """Let each form of an odd URL have a path of its own."""
        pairs = [pair for pair in zip(self.paths, range(self.count), strict=True) if pair[1] not in odd]
        for number in odd:  # no pattern holds an LF or a CR, so that one may stand for the other
            paths = {path_of(form) for form in (urls[number], *other_forms(urls[number]))}
            pairs += [(path.replace("\n", "\r"), number) for path in paths]
        pairs.sort()
        self.paths = [path for path, _ in pairs]
        self._owners = [number for _, number in pairs]
        self._text = "\n".join(["", *self.paths, ""])

    def of_urls(self, answers: bytearray) -> bytearray:
        """Return the answer for each URL, from the answers for each path: 1 if that is the answer for all its forms."""
        if self._owners is None:
            return answers
        folded = bytearray(b"\1") * self.count
        for number, answer in zip(self._owners, answers, strict=True):
            if not answer:
                folded[number] = 0
        return folded

    def beginning_with(self, text: str) -> tuple[int, int]:
        """Return the first path that begins with `text`, and the one after the last; the same if none does."""
        paths = self.paths
        begin = bisect_left(paths, text)
        if begin == len(paths) or not paths[begin].startswith(text):
            return begin, begin
        return begin, bisect_left(paths, text + _AFTER_ALL, begin)

    def holding(self, text: str) -> Sequence[int]:
        """Return the numbers of the paths in which `text` occurs; an LF at its end stands for the end of the path."""
        every = self._text
        place = every.find(text, 1)
        if place < 0:
            return ()
        numbers = []
        number, counted = -1, 0  # paths that begin before `counted`, less one
        while place > 0:
            number += every.count("\n", counted, place)
            numbers.append(number)
            counted = place
            place = every.find(text, every.find("\n", place) + 1)
        return numbers


class Sweep:
    """The rules of one crawler, ready to be put to many URLs."""

    __slots__ = ("_allows", "_disallows", "_parts", "_sites", "rules")

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._parts: list[Sweep] | None = None  # of several crawlers; None: nobody has asked yet
        self._disallows: _Patterns | None = None  # as above
        self._allows: _Patterns
        self._sites = 0  # that these rules were put to

    def allowed(self, urls: SiteUrls) -> bytearray:
        """Return 1 for each of the URLs that may be fetched in every form in which a client may send it, else 0."""
        if not _can_refuse(self.rules):
            return bytearray(b"\1") * urls.count
        if self._parts is None:
            parts = parts_of(self.rules)
            self._parts = [Sweep(part) for part in parts] if parts != (self.rules,) else []
        if self._parts:
            return bytearray(map(min, zip(*(part.allowed(urls) for part in self._parts), strict=True)))
        self._sites += 1
        return urls.of_urls(self._asked(urls) if self._is_sooner_asked(len(urls.paths)) else self._painted(urls))

    def _asked(self, urls: SiteUrls) -> bytearray:
        """Ask about one path after the other."""
        in_full = [urls.site + path for path in urls.paths]
        if len(in_full) <= _FEW_PATHS:
            return bytearray(map(self.rules.allowed, in_full))
        return _allowed_each(self.rules, in_full, len(urls.site))

    def _painted(self, urls: SiteUrls) -> bytearray:
        """Look for all that each rule matches."""
        if self._disallows is None:
            allows, disallows = patterns_of(self.rules)
            self._disallows, self._allows = _Patterns(disallows, 0), _Patterns(allows, 1)
        answers = bytearray(b"\1") * len(urls.paths)
        hits = self._disallows.hits(urls)
        if hits:
            hits += self._allows.hits(urls)
            hits.sort()
            for priority, begin, stop in hits:
                if stop - begin == 1:
                    answers[begin] = priority & 1
                else:
                    answers[begin:stop] = bytes((priority & 1,)) * (stop - begin)
        return answers

    def _is_sooner_asked(self, paths: int) -> bool:
        """Whether to ask about one path after the other is faster: weighs what each way takes, as it was measured.

        The rules are indexed for that, which pays for a single site only if it has many URLs.
        """
        if paths <= _FEW_PATHS:
            return True
        wildcards = _most_wildcards(self.rules)
        tries = wildcards * paths
        if tries > _MOST_TRIES:
            return True
        if self._sites > 1:
            return wildcards > min(paths, _MANY_WILDCARDS)
        return tries > _MANY_WILDCARDS * (wildcards + paths)


class _Patterns:
    """The allow or the disallow patterns of a crawler: `prefixes` are those without "*" and "$", `wildcards` the others."""

    __slots__ = ("_allow", "_lengths", "_prefixes", "_set", "_wildcards")

    def __init__(self, patterns: Sequence[str], allow: int) -> None:
        self._allow = allow
        self._prefixes: list[str] = []
        self._wildcards: list[str] = []
        for each in patterns:
            if "*" in each or "$" in each:
                self._wildcards.append(each)
            elif each:
                self._prefixes.append(each)
        self._set: frozenset[str] = frozenset()
        self._lengths: list[int] = []

    def hits(self, urls: SiteUrls) -> list[Hit]:
        """Return what matches."""
        return self._hits_of_prefixes(urls) + self._hits_of_wildcards(urls)

    def _hits_of_prefixes(self, urls: SiteUrls) -> list[Hit]:
        paths, allow = urls.paths, self._allow
        if len(self._prefixes) > _MANY_PREFIXES:
            if not self._lengths:
                self._set = frozenset(self._prefixes)
                self._lengths = sorted(set(map(len, self._prefixes)))
            if len(self._lengths) * len(paths) < _LOOKUPS_PER_BISECTION * len(self._prefixes):
                return self._hits_of_each_path(paths)
        count = len(paths)
        hits: list[Hit] = []
        for stem in self._prefixes:
            begin = bisect_left(paths, stem)
            if begin < count and paths[begin].startswith(stem):
                hits.append((2 * len(stem) + allow, begin, bisect_left(paths, stem + _AFTER_ALL, begin)))
        return hits

    def _hits_of_each_path(self, paths: Sequence[str]) -> list[Hit]:
        """Look up the beginnings of each path among the prefixes, which are more than there are such beginnings."""
        prefixes, allow, ends = self._set, self._allow, self._lengths
        return [
            (2 * end + allow, number, number + 1)
            for number, path in enumerate(paths)
            for end in ends
            if path[:end] in prefixes and end <= len(path)
        ]

    def _hits_of_wildcards(self, urls: SiteUrls) -> list[Hit]:
        """Return what the patterns with a star, or with a "$", match."""
        paths = urls.paths
        hits: list[Hit] = []
        for pattern in self._wildcards:
            priority = 2 * len(pattern) + self._allow
            anchored = pattern[-1] == "$"
            stem, star, rest = (pattern[:-1] if anchored else pattern).partition("*")
            begin, stop = (0, len(paths)) if star and stem in _ANY_PATH else urls.beginning_with(stem)
            if begin == stop:
                continue
            if anchored and not star:
                hits.append((priority, begin, bisect_right(paths, stem, begin)))
            elif not rest.strip("*"):
                hits.append((priority, begin, stop))
            else:
                numbers = range(begin, stop) if stop - begin <= _FEW_TRIES else urls.holding(_longest(rest, anchored))
                at = len(stem)
                for number in numbers:
                    if begin <= number < stop and follow(rest, paths[number], at, anchored):
                        hits.append((priority, number, number + 1))  # noqa: PERF401 - a list for each pattern is slower
        return hits


def _longest(rest: str, anchored: bool) -> str:
    """Return the longest literal text in the rest of a pattern, with an LF if that ends the path."""
    literal = f"{rest}\n" if anchored else rest
    return max(literal.split("*"), key=len) if "*" in literal else literal


# What this needs to know of rules, and no user of `Rules`.


def wording_of(rules: Rules) -> Hashable:
    """Return all that the answers of `rules.allowed` depend on, but `strict`: the same wording gives the same answers."""
    return tuple((part._allows.text, part._disallows.text) for part in parts_of(rules))  # noqa: SLF001


def _most_wildcards(rules: Rules) -> int:
    """Return how many rules have a wildcard at the most. `rules` are those of one crawler."""
    allows, disallows = rules._allows, rules._disallows  # noqa: SLF001
    texts = allows.text + disallows.text
    return min(texts.count("*") + texts.count("$"), len(allows.lines) + len(disallows.lines))


def _can_refuse(rules: Rules) -> bool:
    """Return whether any rule disallows anything."""
    return any(part._disallows.text.strip("\n") for part in parts_of(rules))  # noqa: SLF001


def _allowed_each(rules: Rules, urls: Iterable[str], start: int) -> bytearray:
    """Return 1 for each URL that may be fetched, else 0. In each, the path begins at the slash at `start`.

    `rules` are those of one crawler.
    """
    allows = (rules._index or rules._indexed()).allows_url  # noqa: SLF001
    return bytearray([allows(url, start) for url in urls])
