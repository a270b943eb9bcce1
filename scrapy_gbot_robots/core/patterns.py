"""Patterns of rules: how one pattern matches, and which of several matching rules decides.

A pattern matches the beginning of a path. "*" stands for any run of characters. "$" at the very end
of the pattern stands for the end of the path. Nothing else is special.

Each literal segment between stars is taken at the first place where it occurs. This place leaves
the most room for the segments after it, so the search never goes back, and takes at most as many
steps as the length of the pattern times the length of the path. No pattern becomes a regular
expression. For example, the pattern "/a*b*c" matches the path "/axbbc" with "/a" at 0, "b" at 3 and
"c" at 5.

A crawl requests only a few pages of most hosts. For these hosts an index (rule_index.py) costs more
time and memory than it saves, so `Patterns` tries the patterns one by one. Both `Patterns` and the
two halves of an index are a `RuleSet`.
Source: RFC 9309 2.2.3; Google's page, "URL matching based on path values" and "Order of precedence
for rules".
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from .lines import INDEX_PAGE
from .urls import escape
from .verdict import Rule

# With more segments than this, it saves time to check first if there is room for the last segment.
_MANY_STARS = 8
_IN_A_BYTE = 256  # line numbers below this fit into one byte

# A precedence is a number. From its highest bits to its lowest it has the length of the pattern,
# the kind (1 for allow), a number that is greater for an earlier line, and the kind again. So an
# odd number means allow. `NO_RULE` is odd because a path that no rule matches is allowed. It is
# below all precedences of rules.
NO_RULE = 1
LAST_LINE = 2**32 - 1
KIND_BITS = 33  # the number of bits below the kind
LENGTH_BITS = 34  # the number of bits below the length


def matches(pattern: str, path: str) -> bool:
    """Return whether `pattern` matches the beginning of `path`."""
    first, star, rest = pattern.partition("*")
    if not star:
        return path == first[:-1] if first.endswith("$") else path.startswith(first)
    if not path.startswith(first):
        return False
    end = len(first)
    if "*" not in rest:  # Most patterns have at most one star.
        return path.endswith(rest[:-1], end) if rest.endswith("$") else path.find(rest, end) >= 0
    *segments, last = rest.removesuffix("$").split("*")
    if len(segments) > _MANY_STARS and path.find(last, end + sum(map(len, segments))) < 0:
        return False  # The last segment occurs nowhere with enough room before it.
    for segment in segments:
        begin = path.find(segment, end)
        if begin < 0:
            return False
        end = begin + len(segment)
    if rest.endswith("$"):
        return path.endswith(last, end)
    return path.find(last, end) >= 0


def stand_in(pattern: str) -> str:
    """Return one path that represents all paths that `pattern` matches.

    Every pattern that matches this path matches all those paths. A NUL replaces each "*", and
    stands at the end if `pattern` has no "$". No pattern contains a NUL.
    """
    return (pattern[:-1] if pattern.endswith("$") else pattern + "*").replace("*", "\0")


def covers(pattern: str, other: str) -> bool:
    """Return whether `pattern` matches every path that `other` matches."""
    return matches(pattern, stand_in(other))


def directory_of_index(pattern: str) -> str:
    """Return the pattern of the directory that an allow rule for an index page also allows.

    "/d/index.htm" gives "/d/$" (Google's parser). Any other pattern gives "".
    """
    slash = pattern.rfind("/")
    if slash >= 0 and pattern.startswith(INDEX_PAGE, slash):
        return pattern[: slash + 1] + "$"
    return ""


def precedence_of(length: int, allow: bool, line: int) -> int:
    """Return the precedence of a rule: of two matching rules, the higher precedence decides.

    A longer pattern has a higher precedence. With equal lengths, allow is above disallow. With
    equal kinds, the earlier line is above the later line. Source: Google's page, "Order of
    precedence for rules", and Google's parser for the line.
    """
    return ((2 * length + allow) << KIND_BITS) + ((LAST_LINE - line) << 1) + allow


def line_of(precedence: int) -> int:
    """Return the line of the rule that has this precedence."""
    return LAST_LINE - ((precedence >> 1) & LAST_LINE)


class RuleSet(Protocol):
    """All allow rules of a group, or all its disallow rules."""

    def best(self, path: str, best: int) -> int:
        """Return the highest precedence of a rule that matches `path`; at least `best`."""


Kinds = tuple[RuleSet, RuleSet]  # the disallow rules of a group, and its allow rules


def is_allowed(kinds: Kinds, path: str) -> bool:
    """Return whether the rules allow `path`, which has the form of `path_of`."""
    disallows, allows = kinds
    best = disallows.best(path, NO_RULE)
    return best == NO_RULE or allows.best(path, best) != best


def decider(kinds: Kinds, path: str) -> int:
    """Return the precedence of the rule that decides about `path`; NO_RULE if none matches."""
    disallows, allows = kinds
    return allows.best(path, disallows.best(path, NO_RULE))


class Patterns:
    """All allow rules of a group, or all its disallow rules, which are tried one by one.

    An allow rule for an index page has two patterns with the same line number: the pattern of the
    directory, and after it the pattern as written.

    Attributes:
        text: the patterns in file order, with an LF between them.
        lines: the line number of each pattern.
        tried: the patterns, split for trying them; None before the first question.
    """

    __slots__ = ("_allow", "lines", "text", "tried")

    def __init__(self, text: str, lines: Sequence[int], allow: bool) -> None:
        self.text, self.lines, self._allow = text, lines, allow
        self.tried: _Tried | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return Patterns, (self.text, self.lines, self._allow)

    @classmethod
    def of(cls, paths: bytes, lines: Sequence[int], allow: bool) -> Patterns:
        """Make patterns of the paths of rules.

        `paths` has the paths, not yet escaped, with an LF between them. `lines` has the line number
        of each path.
        """
        text = escape(paths).decode("ascii")
        if allow and INDEX_PAGE in text:
            text, lines = _with_directories(text, lines)
        if lines[-1] < _IN_A_BYTE:
            return cls(text, bytes(lines), allow)
        from array import array  # noqa: PLC0415 - few files have 256 lines

        return cls(text, array("I", lines), allow)

    def texts(self) -> Sequence[str]:
        """Return the patterns. The pattern of a rule without a path is empty."""
        return (self.tried or self.split())[0]

    def entries(self) -> list[Rule]:
        """Return the rules in file order."""
        of_lines = dict(zip(self.lines, self.texts(), strict=True))
        return [Rule(self._allow, pattern, line) for line, pattern in of_lines.items()]

    def rule(self, line: int) -> Rule:
        """Return the rule in line number `line`."""
        return Rule(self._allow, self.texts()[bisect_right(self.lines, line) - 1], line)

    def empty_rule(self) -> Rule | None:
        """Return the first rule without a path; None if every rule has a path."""
        texts = self.texts()
        if "" not in texts:
            return None
        return Rule(self._allow, "", self.lines[texts.index("")])

    def best(self, path: str, best: int) -> int:
        """Return the highest precedence of a rule that matches `path`; at least `best`."""
        if not self.text:
            return best
        texts, wild = self.tried or self.split()
        # The first of the longest matching patterns, without and with a wildcard.
        plainest = wildest = ""
        if path.startswith(texts):
            # `filter` runs in C, because there may be thousands of patterns.
            beginning = filter(path.startswith, texts)
            plainest = max([text for text in beginning if matches(text, path)], key=len, default="")
        for needle, text in wild:
            if needle in path and len(text) > len(wildest) and matches(text, path):
                wildest = text
        for longest in (plainest, wildest):
            if longest:
                line = self.lines[texts.index(longest)]
                best = max(best, precedence_of(len(longest), self._allow, line))
        return best

    def split(self) -> _Tried:
        """Split the patterns, keep them in `tried`, and return them."""
        text = self.text
        texts = text.split("\n") if self.lines else []
        wild: list[tuple[str, str]] = []
        if "*" in text or "$" in text:
            # Each pattern gets a literal segment that is fast to look for: its first one, without
            # "/", "*" and "$" at the ends.
            wild = [
                (text.strip("/*$").partition("*")[0], text)
                for text in texts
                if "*" in text or "$" in text
            ]
        self.tried = tried = tuple(texts), wild
        return tried


# All patterns; and for each pattern with a wildcard, a text that every matching path contains, and
# the pattern.
_Tried = tuple[tuple[str, ...], Sequence[tuple[str, str]]]

NO_PATTERNS = Patterns("", b"", False)


def _with_directories(text: str, lines: Sequence[int]) -> tuple[str, Sequence[int]]:
    """Add the pattern of the directory before each allow rule for an index page."""
    patterns: list[str] = []
    numbers: list[int] = []
    for pattern, line in zip(text.split("\n"), lines, strict=True):
        directory = directory_of_index(pattern)
        if directory:
            patterns.append(directory)
            numbers.append(line)
        patterns.append(pattern)
        numbers.append(line)
    return "\n".join(patterns), numbers
