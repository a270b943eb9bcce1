"""One crawler's rules put to many URLs of one site at a time, faster than one after the other.

1. The URLs are sorted, so those that begin with the same text lie side by side: for a rule that is a plain prefix one
   bisection finds all that it matches, however many they are.
2. A wildcard rule is tried only on URLs that begin with its literal beginning, and only where one of its literal
   segments is found in the text of all URLs together.
3. What matches is painted over the answers, the least preferred rule first: the most preferred one stands at the end.

The answers are those of `Rules.allowed`, which is asked itself where that is faster, and for a URL that has to be escaped
or freed of its fragment before rules are compared with it.
Source: as rules.py.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from .matching import matches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .rules import Rules

    # What one pattern matches: its priority (see index.py), the first URL, and the one after the last
    Hit = tuple[int, int, int]

_FEW_URLS: Final = 4  # so many are sooner asked about one by one
_MANY_PREFIXES: Final = 40  # from which on it may be faster to look each URL's beginnings up
_LOOKUPS_PER_BISECTION: Final = 5  # take the same time
_AFTER_ALL: Final = "\U0010ffff"  # sorts behind whatever may follow in a URL that is ASCII
_ODD: Final = re.compile(r"[^\x00-\x7f]|#|%(?:[0-9A-Fa-f][a-f]|[a-f][0-9A-F])")  # a URL with one is not its own path


class Sweep:
    """The rules of one crawler, ready to be put to many URLs."""

    __slots__ = ("_allows", "_disallows", "_parts", "_wildcards", "rules")

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._parts = [Sweep(part) for part in rules.parts]
        allows, disallows = rules.patterns()
        self._disallows = _Patterns(disallows, 0)
        self._allows = _Patterns(allows, 1)
        self._wildcards = len(self._disallows.wildcards) + len(self._allows.wildcards)

    def allowed(self, urls: Sequence[str], first: int, end: int, site: str) -> bytearray:
        """Return 1 for each of `urls[first:end]` that may be fetched, else 0.

        These are sorted, and each begins with `site`, which is a scheme and an authority, and a slash.
        """
        if self._parts:
            return bytearray(
                map(min, zip(*(part.allowed(urls, first, end, site) for part in self._parts), strict=True))
            )
        if not self._disallows:
            return bytearray(b"\1") * (end - first)
        if self._is_sooner_done_one_by_one(end - first):
            return bytearray(map(self.rules.allowed, urls[first:end]))
        batch = _Batch(urls, first, end, site)
        answers = bytearray(b"\1") * (end - first)
        hits = self._disallows.hits(batch)
        if hits:
            hits += self._allows.hits(batch)
            for priority, begin, stop in sorted(hits):
                answers[begin - first : stop - first] = bytes((priority & 1,)) * (stop - begin)
        for number in batch.odd():
            answers[number - first] = self.rules.allowed(urls[number])
        return answers

    def _is_sooner_done_one_by_one(self, urls: int) -> bool:
        """Whether `Rules.allowed` is faster: weighs what each way takes, as it was measured."""
        wildcards = self._wildcards  # to try them takes as the first product, to index and ask them as the others
        return urls <= _FEW_URLS or wildcards * urls > 200 * wildcards + 500 * urls


class _Batch:
    """URLs of one site, and the text of all of them."""

    __slots__ = ("_starts", "end", "first", "site", "text", "urls")

    def __init__(self, urls: Sequence[str], first: int, end: int, site: str) -> None:
        self.urls = urls
        self.first = first
        self.end = end
        self.site = site
        self.text = "\n".join(urls[first:end])
        self._starts: list[int] | None = None

    def beginning_with(self, text: str) -> tuple[int, int]:
        """Return the first URL that begins with the site and `text`, and the one after the last; the same if none does."""
        sought = self.site + text
        begin = bisect_left(self.urls, sought, self.first, self.end)
        if begin == self.end or not self.urls[begin].startswith(sought):
            return begin, begin
        return begin, bisect_left(self.urls, sought + _AFTER_ALL, begin, self.end)

    def holding(self, text: str, begin: int, stop: int) -> list[int]:
        """Return those of the URLs from `begin` to `stop` in which `text` occurs."""
        starts = self._starts
        if starts is None:
            lengths = (len(url) + 1 for url in self.urls[self.first : self.end])
            starts = self._starts = list(accumulate(lengths, initial=0))
        found = []
        place = self.text.find(text, starts[begin - self.first])
        limit = starts[stop - self.first]
        while 0 <= place < limit:
            number = bisect_right(starts, place)
            found.append(self.first + number - 1)
            place = self.text.find(text, starts[number])
        return found

    def odd(self) -> list[int]:
        """Return the URLs that are not as rules are compared with them."""
        text = self.text
        if text.isascii() and "#" not in text and ("%" not in text or not _ODD.search(text)):
            return []
        return [number for number in range(self.first, self.end) if _ODD.search(self.urls[number])]


class _Patterns:
    """The allow or the disallow patterns of a crawler.

    `prefixes` are those without "*" and "$", `starred` those whose only stars are at the end, which they do without,
    each with its priority. `wildcards` are the others: the pattern, what it begins with literally, and its longest
    literal segment.
    """

    __slots__ = ("_allow", "_lengths", "_set", "prefixes", "starred", "wildcards")

    def __init__(self, patterns: Sequence[str], allow: int) -> None:
        self._allow = allow
        self.prefixes = [each for each in patterns if each and "*" not in each and "$" not in each]
        self.starred: list[tuple[str, int]] = []
        self.wildcards: list[tuple[str, str, str]] = []
        self._set: frozenset[str] = frozenset()
        self._lengths: list[int] = []
        for pattern in [each for each in patterns if "*" in each or "$" in each]:
            stem = pattern.rstrip("*")  # stars at the end do nothing but add to the length
            if "*" in stem or stem[-1:] == "$":
                literals = pattern.removesuffix("$").split("*")
                self.wildcards.append((pattern, literals[0], max(literals, key=len)))
            else:
                self.starred.append((stem, self._priority(pattern)))

    def __bool__(self) -> bool:
        return bool(self.prefixes or self.starred or self.wildcards)

    def _priority(self, pattern: str) -> int:
        return 2 * len(pattern) + self._allow

    def hits(self, batch: _Batch) -> list[Hit]:
        """Return what matches in `batch`."""
        hits = self._prefixes_in(batch)
        for stem, priority in self.starred:
            begin, stop = batch.beginning_with(stem)
            if begin < stop:
                hits.append((priority, begin, stop))
        at = len(batch.site)
        for pattern, stem, segment in self.wildcards:
            if segment not in batch.text:
                continue
            begin, stop = batch.beginning_with(stem)
            if begin < stop:
                priority = self._priority(pattern)
                hits += [
                    (priority, number, number + 1)
                    for number in batch.holding(segment, begin, stop)
                    if matches(pattern, batch.urls[number][at:])
                ]
        return hits

    def _prefixes_in(self, batch: _Batch) -> list[Hit]:
        urls, first, end, site = batch.urls, batch.first, batch.end, batch.site
        if len(self.prefixes) > _MANY_PREFIXES:
            if not self._lengths:
                self._set = frozenset(self.prefixes)
                self._lengths = sorted(set(map(len, self.prefixes)))
            if len(self._lengths) * (end - first) < _LOOKUPS_PER_BISECTION * len(self.prefixes):
                return self._prefixes_of_each_url(batch)
        hits: list[Hit] = []
        for stem in self.prefixes:
            sought = site + stem
            begin = bisect_left(urls, sought, first, end)
            if begin < end and urls[begin].startswith(sought):
                hits.append((self._priority(stem), begin, bisect_left(urls, sought + _AFTER_ALL, begin, end)))
        return hits

    def _prefixes_of_each_url(self, batch: _Batch) -> list[Hit]:
        """Look up the beginnings of each URL among the prefixes, which are more than there are such beginnings."""
        prefixes, at = self._set, len(batch.site)
        ends = [at + length for length in self._lengths]
        return [
            (self._priority(beginning), number, number + 1)
            for number in range(batch.first, batch.end)
            for url in [batch.urls[number]]
            for beginning in [url[at:end] for end in ends if end <= len(url)]
            if beginning in prefixes
        ]
