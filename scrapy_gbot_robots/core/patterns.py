"""Patterns of rules: alone, all of a group together, and the order in which they decide.

A pattern matches the beginning of a path. "*" stands for any run of characters. "$" at the very end
of the pattern stands for the end of the path. Nothing else is special.

Each literal segment between stars is taken where it first occurs. That leaves most room for what
follows, so the search never has to go back, and takes at most pattern x path steps. No regular
expression is built from a rule. For the pattern "/a*b*c" and the path "/axbbc": "/a" at 0, "b" at
3, "c" at 5.

A crawl asks most hosts only a few times. For them an index (rule_index.py) costs more time and
memory than it saves, so a `Trial` tries the patterns one by one.
Source: RFC 9309 2.2.3; Google's page, "URL matching based on path values" and "Order of precedence
for rules".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

from .lines import INDEX_PAGE
from .urls import escape

# from this number on, it pays to look first whether there is room for the last segment
_MANY_STARS = 8
_IN_A_BYTE = 256  # a line number below this takes one byte

# The memory of an index.
_TEXT_COPIES = 3
_BYTES_PER_RULE = 240
_BYTES_PER_WILDCARD = 620  # in addition

# A precedence, from its highest bits to its lowest: length of the pattern, kind, how early the line
# is, kind again. An odd number allows. `NO_RULE` is odd and below all others, since a path that no
# rule matches is allowed.
NO_RULE = 1
LAST_LINE = 2**32 - 1
KIND_BITS = 33  # below the kind
LENGTH_BITS = 34  # below the length


def matches(pattern: str, path: str) -> bool:
    """Return whether `pattern` matches the beginning of `path`."""
    first, star, rest = pattern.partition("*")
    if not star:
        return path == first[:-1] if first.endswith("$") else path.startswith(first)
    if not path.startswith(first):
        return False
    if rest.endswith("$"):
        return follow(rest[:-1], path, len(first), True)
    if "*" in rest:
        return follow(rest, path, len(first), False)
    return path.find(rest, len(first)) >= 0


def follow(rest: str, path: str, end: int, anchored: bool) -> bool:
    """Return whether `rest` matches `path` from place `end` on.

    It is the text after the first star of a pattern. If `anchored`, the last segment of `rest` must
    be at the end of `path`; if not, there is a star in `rest`.
    """
    stars = rest.count("*")
    if not stars:
        return path.endswith(rest, end)
    if stars > _MANY_STARS:
        last = rest[rest.rfind("*") + 1 :]
        if path.find(last, end + len(rest) - stars - len(last)) < 0:
            return False  # no place of the last segment leaves room for the others
    begin = end
    for segment in rest.split("*"):
        begin = path.find(segment, end)
        if begin < 0:
            return False
        end = begin + len(segment)
    return not anchored or path.endswith(segment, begin)


def stand_in(pattern: str) -> str:
    """Return one path that stands for all paths that `pattern` matches.

    Any pattern that matches it matches all of them. A NUL stands for what each "*" matches, and for
    what may follow if there is no "$". No pattern holds a NUL.
    """
    return (pattern[:-1] if pattern.endswith("$") else pattern + "*").replace("*", "\0")


def covers(pattern: str, other: str) -> bool:
    """Return whether `pattern` matches every path that `other` matches."""
    return matches(pattern, stand_in(other))


def directory_of_index(pattern: str) -> str | None:
    """Return the second pattern of an allow rule for an index page (Google's parser).

    It is "/d/$" for "/d/index.htm".
    """
    slash = pattern.rfind("/")
    if slash >= 0 and pattern.startswith(INDEX_PAGE, slash):
        return pattern[: slash + 1] + "$"
    return None


def precedence_of(length: int, allow: bool, line: int) -> int:
    """Return the number by which rules are compared.

    The longer pattern comes first, then allow, then the earlier line. Source: Google's page, "Order
    of precedence for rules", and for the line Google's parser.
    """
    return ((2 * length + allow) << KIND_BITS) + ((LAST_LINE - line) << 1) + allow


def line_of(precedence: int) -> int:
    """Return the line of the rule that has this precedence."""
    return LAST_LINE - ((precedence >> 1) & LAST_LINE)


class Patterns(NamedTuple):
    """All allow or all disallow rules of a group.

    `text` has the patterns in file order, an LF between them; `lines` has the line of each.
    """

    text: str
    lines: Sequence[int]

    @classmethod
    def of(cls, paths: bytes, lines: Sequence[int]) -> Patterns:
        """Take the paths of rules, not yet escaped, and the line of each.

        There is an LF between the paths.
        """
        text = escape(paths).decode("ascii")
        if lines[-1] < _IN_A_BYTE:
            return cls(text, bytes(lines))
        from array import array  # noqa: PLC0415 - few files are so long

        return cls(text, array("I", lines))

    @property
    def weight(self) -> int:
        """How many bytes of memory the patterns take once they are indexed.

        This is an estimate from measurements, rounded up.
        """
        marks = self.text.count("*") + self.text.count("$") + self.text.count(INDEX_PAGE)
        return (
            _TEXT_COPIES * len(self.text)
            + _BYTES_PER_RULE * len(self.lines)
            + _BYTES_PER_WILDCARD * min(marks, len(self.lines))
        )

    def texts(self) -> list[str]:
        """Return the patterns in file order. The pattern of a rule without a path is empty."""
        return self.text.split("\n") if self.lines else []

    def entries(self) -> list[tuple[str, int]]:
        """Return the patterns in file order, each with its line."""
        return list(zip(self.texts(), self.lines, strict=True))

    def directories(self) -> list[tuple[str, int]]:
        """Return the patterns of the directories whose index page a rule names.

        Each has the line of the rule.
        """
        if INDEX_PAGE not in self.text:
            return []
        directories: list[tuple[str, int]] = []
        for text, line in self.entries():
            directory = directory_of_index(text)
            if directory is not None:
                directories.append((directory, line))
        return directories


NO_PATTERNS = Patterns("", b"")


class RulesOfKind:
    """All patterns that allow or all that disallow, to be tried one after the other.

    Attributes:
        texts: the patterns in file order; none if no rule has a path.
    """

    __slots__ = ("_lines", "_wild", "texts")

    def __init__(self, patterns: Patterns, directories: Sequence[tuple[str, int]] = ()) -> None:
        """Take the patterns, with `directories` as `Patterns.directories` gives them."""
        text, lines = patterns
        texts = text.split("\n") if text else []
        if directories:
            rules = sorted([*patterns.entries(), *directories], key=itemgetter(1))
            texts = [text for text, _ in rules]
            lines = [line for _, line in rules]
        self.texts, self._lines = tuple(texts), lines
        # As `wild` returns them; None until they are asked for.
        self._wild: Sequence[tuple[str, str]] | None = None
        if not ("*" in text or "$" in text or directories):
            self._wild = ()

    def wild(self) -> Sequence[tuple[str, str]]:
        """Return the patterns with a wildcard, each after a text that its paths contain."""
        wild = self._wild
        if wild is None:
            # What follows the first of these characters, up to the next star: it is found fast.
            self._wild = wild = [
                (text.strip("/*$").partition("*")[0], text)
                for text in self.texts
                if "*" in text or "$" in text
            ]
        return wild

    def longest(self, path: str) -> str:
        """Return the longest pattern that matches `path`, "" if none does.

        Of equally long ones it is the first.
        """
        matching: list[str] = []
        most = 0  # characters of the longest one so far
        if path.startswith(self.texts):
            begins_with = filter(path.startswith, self.texts)  # in C: they may be thousands
            matching = [text for text in begins_with if matches(text, path)]
            most = max(map(len, matching), default=0)
        for needle, text in self.wild():
            if needle in path and len(text) >= most and matches(text, path):
                most = len(text)
                matching.append(text)
        if len(matching) > 1:  # thousands may be equally long
            longest = {text for text in matching if len(text) == most}
            return next(text for text in self.texts if text in longest)
        return "".join(matching)

    def line(self, pattern: str) -> int:
        """Return the line of the first rule that has this pattern."""
        return self._lines[self.texts.index(pattern)]

    def text(self, line: int) -> str:
        """Return the pattern of the rule in this line."""
        return self.texts[bisect_left(self._lines, line)]

    def rules(self) -> Iterable[tuple[str, int]]:
        """Return the patterns, each with its line."""
        return zip(self.texts, self._lines, strict=False)  # there may be empty ones alone


class Trial:
    """The rules of a group, asked by trying one pattern after the other.

    The allow rules are seldom asked.
    """

    __slots__ = ("_allowing", "_allows", "_disallowing", "_disallows")

    def __init__(self, disallows: Patterns, allows: Patterns) -> None:
        self._disallowing = RulesOfKind(disallows)
        self._allowing: RulesOfKind | None = None
        self._disallows, self._allows = disallows, allows

    def allows(self, path: str) -> bool:
        """Return whether the rules allow `path`, as `path_of` gives it."""
        longest = self._disallowing.longest(path)
        if not longest or not self._allows.text:
            return not longest
        return len(self.kind(True).longest(path)) >= len(longest)

    def decider(self, path: str) -> int:
        """Return the precedence of the rule that decides about `path`, NO_RULE if none matches."""
        longest = self._disallowing.longest(path)
        if self._allows.text:
            allowing = self.kind(True)
            longest_allow = allowing.longest(path)
            if longest_allow and len(longest_allow) >= len(longest):
                return precedence_of(len(longest_allow), True, allowing.line(longest_allow))
        if longest:
            return precedence_of(len(longest), False, self._disallowing.line(longest))
        return NO_RULE

    def kind(self, allow: bool) -> RulesOfKind:
        """Return the rules that allow, or those that disallow."""
        if not allow:
            return self._disallowing
        allowing = self._allowing
        if allowing is None:
            allowing = RulesOfKind(self._allows, self._allows.directories())
            self._allowing = allowing
        return allowing
