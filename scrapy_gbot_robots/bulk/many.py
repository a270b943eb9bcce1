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
from collections.abc import Hashable, Iterable, Sequence
from itertools import repeat

from ..core.patterns import follow
from ..core.rules import Rules, parts_of, patterns_of
from ..core.url_forms import SENT_IN_PATHS, other_forms
from ..core.urls import path_of

# What a pattern matches: its priority, the number of the first path, and the number after the last.
Hit = tuple[int, int, int]
# Its priority, the text before its first star, the text after that (None: it has none), and whether it ends with "$".
_Pattern = tuple[int, str, str | None, bool]


_FEW_PATHS = 4  # so many are sooner asked about one by one
_FEW_TRIES = 4  # take less time than a search through all paths
_MANY_WILDCARDS = 200  # from which on it may be faster to ask the index about each path
_MOST_TRIES = 2_000_000  # of wildcards on paths: each may become a hit, which takes some hundred bytes
_AFTER_ALL = "\U0010ffff"  # sorts behind whatever may follow in a path


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

    __slots__ = ("_parts", "_patterns", "rules")

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        parts = parts_of(rules)
        self._parts = [Sweep(part) for part in parts] if parts != (rules,) else []  # of several crawlers
        self._patterns: list[list[_Pattern]] = []  # that disallow, that allow

    def allowed(self, urls: SiteUrls) -> bytearray:
        """Return 1 for each of the URLs that may be fetched in every form in which a client may send it, else 0."""
        if self._parts:
            return bytearray(map(min, zip(*(part.allowed(urls) for part in self._parts), strict=True)))
        if self._is_sooner_asked(len(urls.paths)):
            return urls.of_urls(bytearray(map(self.rules.allowed, map(urls.site.__add__, urls.paths))))
        return urls.of_urls(self._painted(urls))

    def _painted(self, urls: SiteUrls) -> bytearray:
        """Look for all that each rule matches."""
        if not self._patterns:
            allows, disallows = patterns_of(self.rules)
            self._patterns = [_prepared(disallows, 0), _prepared(allows, 1)]
        answers = bytearray(b"\1") * len(urls.paths)
        hits: list[Hit] = []
        for patterns in self._patterns:
            hits += _hits(patterns, urls)
            if not hits:
                break
        hits.sort()
        for priority, begin, stop in hits:
            answers[begin:stop] = bytes((priority & 1,)) * (stop - begin)
        return answers

    def _is_sooner_asked(self, paths: int) -> bool:
        """Whether to ask about one path after the other is faster: weighs what each way takes, as it was measured.

        The rules are indexed for that.
        """
        wildcards = _most_wildcards(self.rules)
        tries = wildcards * paths
        return paths <= _FEW_PATHS or tries > min(_MOST_TRIES, _MANY_WILDCARDS * (wildcards + paths))


def _prepared(patterns: Iterable[str], allow: int) -> list[_Pattern]:
    """Take patterns apart. An empty one matches nothing."""
    prepared: list[_Pattern] = []
    for pattern in filter(None, patterns):
        stem, star, rest = pattern.removesuffix("$").partition("*")
        prepared.append((2 * len(pattern) + allow, stem, rest if star else None, pattern[-1] == "$"))
    return prepared


def _hits(patterns: Iterable[_Pattern], urls: SiteUrls) -> list[Hit]:
    """Return what the patterns match."""
    paths, count = urls.paths, len(urls.paths)
    hits: list[Hit] = []
    for priority, stem, rest, anchored in patterns:
        begin = bisect_left(paths, stem)
        if begin == count or not paths[begin].startswith(stem):
            continue
        stop = bisect_left(paths, stem + _AFTER_ALL, begin)
        if rest is None:
            hits.append((priority, begin, bisect_right(paths, stem, begin) if anchored else stop))
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
    return max((f"{rest}\n" if anchored else rest).split("*"), key=len)


# What this needs to know of rules, and no user of `Rules`.


def wording_of(rules: Rules) -> Hashable:
    """Return all that the answers of `rules.allowed` depend on, but `strict`: the same wording gives the same answers."""
    return tuple((part._allows.text, part._disallows.text) for part in parts_of(rules))  # noqa: SLF001


def _most_wildcards(rules: Rules) -> int:
    """Return how many rules have a wildcard at the most. `rules` are those of one crawler."""
    allows, disallows = rules._allows, rules._disallows  # noqa: SLF001
    texts = allows.text + disallows.text
    return min(texts.count("*") + texts.count("$"), len(allows.lines) + len(disallows.lines))
