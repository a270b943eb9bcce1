r"""Many URLs of one site judged at once, faster than one after the other.

Operations wanted, for the sorted URLs of a site, from five to fifty thousand:

* `SiteUrls(urls, site)`: these URLs, prepared once for all crawlers.
* `Sweep(rules)`: a crawler's rules, prepared once for all sites whose robots.txt has the same rules.
* `sweep.allowed(urls)`: the answers of `allowed_in_all_forms` (wire.py) for each URL.

Plan:

1. Sorted URLs that begin with the same text lie side by side. One bisection finds all URLs that a plain prefix matches,
   however many they are.
2. All URLs also stand in one text, each between two LF. A wildcard rule is tried only on URLs that hold its longest literal
   segment, and one search through the text finds them. With "$" an LF marks the end of a URL.
3. What matches is painted over the answers, the least preferred rule first. So the most preferred rule is on top.
4. Many sites have the same rules. From the second site on, the index of the rules (index.py) is worth its making: it is
   asked about one URL after the other, unless a site has very many.

A worked example. The rules are "disallow: /a", "allow: /a/b", "disallow: /*.pdf$", and the paths of the URLs

    /a        painted 0 by "/a"
    /a/b      painted 0 by "/a", then 1 by "/a/b"
    /c.pdf    the text has ".pdf\n": "/*.pdf$" is tried and paints 0
    /c.pdf?x  holds no ".pdf\n", so it is not tried: stays 1

Warning: this is only right for a path that rules are compared with as written. Any other path (with an escape in lower case,
a dot segment, a fragment) is *odd*, and is judged on its own.

Source: that of rules.py.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from .matching import follow
from .rules import allowed_each, can_refuse, most_wildcards
from .wire import allowed_in_all_forms, has_one_form, have_one_form

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .rules import Rules

    # What a pattern matches: its priority, the number of the first URL, and the number after the last.
    Hit = tuple[int, int, int]

_FEW_URLS: Final = 4  # so many are sooner asked about one by one
_MANY_URLS: Final = 400  # so many are sooner asked about one by one if the rules are indexed
_MANY_PREFIXES: Final = 40  # from which on it may be faster to look up the beginnings of each path
_LOOKUPS_PER_BISECTION: Final = 5  # take the same time
_AFTER_ALL: Final = "\U0010ffff"  # sorts behind whatever may follow in a URL that is not odd


class SiteUrls:
    """The URLs of a site, which are sorted. Each begins with `site`, a scheme and an authority, and a slash.

    Attributes:
        urls: the URLs.
        site: what they begin with.
        odd: the numbers of those whose path is odd.
    """

    __slots__ = ("_text", "odd", "site", "urls")

    def __init__(self, urls: Sequence[str], site: str) -> None:
        self.urls = urls
        self.site = site
        self._text = "\n".join(["", *urls, ""])
        self.odd: Sequence[int] = ()
        if not have_one_form(self._text, len(urls)):
            start = len(site)
            self.odd = [number for number, url in enumerate(urls) if not has_one_form(url[start:])]
            self._text = "\n".join(["", *[url.replace("\n", " ") for url in urls], ""])

    def beginning_with(self, text: str) -> tuple[int, int]:
        """Return the first URL whose path begins with `text`, and the one after the last; the same if none does."""
        urls, sought = self.urls, self.site + text
        begin = bisect_left(urls, sought)
        if begin == len(urls) or not urls[begin].startswith(sought):
            return begin, begin
        return begin, bisect_left(urls, sought + _AFTER_ALL, begin)

    def holding(self, text: str) -> Iterator[int]:
        """Yield the numbers of the URLs in which `text` occurs; an LF at its end stands for the end of the URL."""
        every = self._text
        place = every.find(text, 1)
        number, counted = -1, 0  # URLs that begin before `counted`, less one
        while place > 0:
            number += every.count("\n", counted, place)
            yield number
            counted = place
            place = every.find(text, every.find("\n", place) + 1)


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
        if not can_refuse(self.rules):
            return bytearray(b"\1") * len(urls.urls)
        if self._parts is None:
            self._parts = [Sweep(part) for part in self.rules.parts]
        if self._parts:
            return bytearray(map(min, zip(*(part.allowed(urls) for part in self._parts), strict=True)))
        self._sites += 1
        answers = self._asked(urls) if self._is_sooner_asked(len(urls.urls)) else self._painted(urls)
        for number in urls.odd:
            answers[number] = allowed_in_all_forms(self.rules, urls.urls[number])
        return answers

    def _asked(self, urls: SiteUrls) -> bytearray:
        """Ask about one URL after the other."""
        if len(urls.urls) <= _FEW_URLS:
            return bytearray(map(self.rules.allowed, urls.urls))
        return allowed_each(self.rules, urls.urls, len(urls.site))

    def _painted(self, urls: SiteUrls) -> bytearray:
        """Look for all that each rule matches."""
        if self._disallows is None:
            allows, disallows = self.rules.patterns()
            self._disallows, self._allows = _Patterns(disallows, 0), _Patterns(allows, 1)
        answers = bytearray(b"\1") * len(urls.urls)
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

    def _is_sooner_asked(self, urls: int) -> bool:
        """Whether to ask about one URL after the other is faster: weighs what each way takes, as it was measured.

        The rules are indexed for that, which takes about as long as to paint a few hundred URLs.
        """
        if urls <= _FEW_URLS or (urls <= _MANY_URLS and self._sites > 1):
            return True
        # To try the wildcards takes as long as the first product says, to index and ask them as long as the others do.
        wildcards = most_wildcards(self.rules)
        return wildcards * urls > 200 * wildcards + 500 * urls


class _Patterns:
    """The allow or the disallow patterns of a crawler, sorted by how they are looked for.

    `prefixes` are those without "*" and "$". `starred` are those whose only stars are at the end, without these stars and
    with the priority. `wildcards` are the others.
    """

    __slots__ = ("_allow", "_lengths", "_prefixes", "_set", "_starred", "_wildcards")

    def __init__(self, patterns: Sequence[str], allow: int) -> None:
        self._allow = allow
        self._prefixes = [each for each in patterns if each and "*" not in each and "$" not in each]
        self._set: frozenset[str] = frozenset()
        self._lengths: list[int] = []
        self._starred: list[tuple[str, int]] = []
        self._wildcards: list[_Wildcard] = []
        if len(self._prefixes) < len(patterns):
            for pattern in patterns:
                if "*" in pattern or "$" in pattern:
                    self._add(pattern, 2 * len(pattern) + allow)

    def _add(self, pattern: str, priority: int) -> None:
        stem = pattern.rstrip("*")  # stars at the end do nothing but add to the length
        if "*" in stem or stem[-1:] == "$":
            self._wildcards.append(_Wildcard.of(pattern, priority))
        else:
            self._starred.append((stem, priority))

    def hits(self, urls: SiteUrls) -> list[Hit]:
        """Return what matches."""
        hits = self._hits_of_prefixes(urls)
        for stem, priority in self._starred:
            begin, stop = urls.beginning_with(stem)
            if begin < stop:
                hits.append((priority, begin, stop))
        every, start = urls.urls, len(urls.site)
        for priority, stem, segment, at, rest, anchored in self._wildcards:
            if stem:
                begin, stop = urls.beginning_with(stem)
                if begin == stop:
                    continue
            for number in urls.holding(segment):
                path = every[number][start:]
                if rest is None:
                    if path == stem or (not stem and len(path) == at):
                        hits.append((priority, number, number + 1))
                elif path.startswith(stem) and follow(rest, path, at, anchored):
                    hits.append((priority, number, number + 1))
        return hits

    def _hits_of_prefixes(self, urls: SiteUrls) -> list[Hit]:
        if len(self._prefixes) > _MANY_PREFIXES:
            if not self._lengths:
                self._set = frozenset(self._prefixes)
                self._lengths = sorted(set(map(len, self._prefixes)))
            if len(self._lengths) * len(urls.urls) < _LOOKUPS_PER_BISECTION * len(self._prefixes):
                return self._hits_of_each_path(urls)
        every, site, allow = urls.urls, urls.site, self._allow
        count = len(every)
        hits: list[Hit] = []
        for stem in self._prefixes:
            sought = site + stem
            begin = bisect_left(every, sought)
            if begin < count and every[begin].startswith(sought):
                hits.append((2 * len(stem) + allow, begin, bisect_left(every, sought + _AFTER_ALL, begin)))
        return hits

    def _hits_of_each_path(self, urls: SiteUrls) -> list[Hit]:
        """Look up the beginnings of each path among the prefixes, which are more than there are such beginnings."""
        prefixes, allow, start = self._set, self._allow, len(urls.site)
        ends = [start + length for length in self._lengths]
        return [
            (2 * (end - start) + allow, number, number + 1)
            for number, url in enumerate(urls.urls)
            for end in ends
            if url[start:end] in prefixes and end <= len(url)
        ]


class _Wildcard(NamedTuple):
    """A pattern with a wildcard, taken apart.

    Attributes:
        priority: its priority.
        stem: the literal text before the first star; "" if that is "/", with which each path begins.
        segment: the longest literal text in it, with an LF if that ends the path.
        at: the length of all literal text before the first star.
        rest: what follows that star; None if there is no star.
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
        literals = [first, *rest.split("*")] if star else [first]
        if anchored:
            literals[-1] += "\n"
        stem = "" if first == "/" else first
        return cls(priority, stem, max(literals, key=len), len(first), rest if star else None, anchored)
