"""Patterns of rules: alone, all of a group together, and the order in which they decide.

A pattern matches the beginning of a path. "*" stands for any run of characters. "$" at the very end
of the pattern stands for the end of the path. Nothing else is special.

Each literal segment between stars is taken where it first occurs. That leaves most room for what
follows, so the search never has to go back, and takes at most pattern x path steps. No pattern
becomes a regular expression. For the pattern "/a*b*c" and the path "/axbbc": "/a" at 0, "b" at
3, "c" at 5.

A crawl asks most hosts only a few times. For them an index (rule_index.py) costs more time and
memory than it saves, so `Patterns` are tried one by one. They and each kind of an index are a
`RuleSet`.
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

# from this number on, it pays to look first whether there is room for the last segment
_MANY_STARS = 8
_IN_A_BYTE = 256  # a line number below this takes one byte

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
    end = len(first)
    if "*" not in rest:  # as most
        return path.endswith(rest[:-1], end) if rest.endswith("$") else path.find(rest, end) >= 0
    *segments, last = rest.removesuffix("$").split("*")
    if len(segments) > _MANY_STARS and path.find(last, end + sum(map(len, segments))) < 0:
        return False  # no place of the last segment leaves room for the others
    for segment in segments:
        begin = path.find(segment, end)
        if begin < 0:
            return False
        end = begin + len(segment)
    if rest.endswith("$"):
        return path.endswith(last, end)
    return path.find(last, end) >= 0


def stand_in(pattern: str) -> str:
    """Return one path that stands for all paths that `pattern` matches.

    Any pattern that matches it matches all of them. A NUL stands for what each "*" matches, and for
    what may follow if there is no "$". No pattern holds a NUL.
    """
    return (pattern[:-1] if pattern.endswith("$") else pattern + "*").replace("*", "\0")


def covers(pattern: str, other: str) -> bool:
    """Return whether `pattern` matches every path that `other` matches."""
    return matches(pattern, stand_in(other))


def directory_of_index(pattern: str) -> str:
    """Return the second pattern of an allow rule for an index page (Google's parser).

    It is "/d/$" for "/d/index.htm"; "" if the rule is for no index page.
    """
    slash = pattern.rfind("/")
    if slash >= 0 and pattern.startswith(INDEX_PAGE, slash):
        return pattern[: slash + 1] + "$"
    return ""


def precedence_of(length: int, allow: bool, line: int) -> int:
    """Return the number by which rules are compared.

    The longer pattern comes first, then allow, then the earlier line. Source: Google's page, "Order
    of precedence for rules", and for the line Google's parser.
    """
    return ((2 * length + allow) << KIND_BITS) + ((LAST_LINE - line) << 1) + allow


def line_of(precedence: int) -> int:
    """Return the line of the rule that has this precedence."""
    return LAST_LINE - ((precedence >> 1) & LAST_LINE)


class RuleSet(Protocol):
    """All rules of a group that allow, or all that disallow."""

    def best(self, path: str, best: int) -> int:
        """Return the highest precedence over `best` of a rule that matches `path`.

        It is `best` if there is none.
        """


Kinds = tuple[RuleSet, RuleSet]  # the rules of a group that disallow, and those that allow


def is_allowed(kinds: Kinds, path: str) -> bool:
    """Return whether the rules allow `path`, as `path_of` gives it."""
    disallows, allows = kinds
    best = disallows.best(path, NO_RULE)
    return best == NO_RULE or allows.best(path, best) != best


def decider(kinds: Kinds, path: str) -> int:
    """Return the precedence of the rule that decides about `path`, NO_RULE if none matches."""
    disallows, allows = kinds
    return allows.best(path, disallows.best(path, NO_RULE))


class Patterns:
    """All rules of a group that allow, or all that disallow, to be tried one after the other.

    An allow rule for an index page stands behind a second pattern, that of its directory, with the
    same line.

    Attributes:
        text: the patterns in file order, an LF between them.
        lines: the line of each.
        tried: what trying the patterns needs, from the first question on.
    """

    __slots__ = ("_allow", "lines", "text", "tried")

    def __init__(self, text: str, lines: Sequence[int], allow: bool) -> None:
        self.text, self.lines, self._allow = text, lines, allow
        self.tried: _Tried | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return Patterns, (self.text, self.lines, self._allow)

    @classmethod
    def of(cls, paths: bytes, lines: Sequence[int], allow: bool) -> Patterns:
        """Take the paths of rules, not yet escaped, and the line of each.

        There is an LF between the paths.
        """
        text = escape(paths).decode("ascii")
        if allow and INDEX_PAGE in text:
            text, lines = _with_directories(text, lines)
        if lines[-1] < _IN_A_BYTE:
            return cls(text, bytes(lines), allow)
        from array import array  # noqa: PLC0415 - few files are so long

        return cls(text, array("I", lines), allow)

    def texts(self) -> Sequence[str]:
        """Return the patterns; that of a rule without a path is empty."""
        return (self.tried or self.split())[0]

    def entries(self) -> list[Rule]:
        """Return the rules in file order."""
        of_lines = dict(zip(self.lines, self.texts(), strict=True))
        return [Rule(self._allow, pattern, line) for line, pattern in of_lines.items()]

    def rule(self, line: int) -> Rule:
        """Return the rule in this line."""
        return Rule(self._allow, self.texts()[bisect_right(self.lines, line) - 1], line)

    def empty_rule(self) -> Rule | None:
        """Return the first rule without a path, None if all have one."""
        texts = self.texts()
        if "" not in texts:
            return None
        return Rule(self._allow, "", self.lines[texts.index("")])

    def best(self, path: str, best: int) -> int:
        """Return the highest precedence over `best` of a rule that matches `path`.

        It is `best` if there is none.
        """
        if not self.text:
            return best
        texts, wild = self.tried or self.split()
        plainest = wildest = ""  # the first of the longest ones that match
        if path.startswith(texts):
            beginning = filter(path.startswith, texts)  # in C: they may be thousands
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
        """Return the patterns, and keep them in `tried`."""
        text = self.text
        texts = text.split("\n") if self.lines else []
        wild: list[tuple[str, str]] = []
        if "*" in text or "$" in text:
            # What follows the first of these characters, up to the next star: it is found fast.
            wild = [
                (text.strip("/*$").partition("*")[0], text)
                for text in texts
                if "*" in text or "$" in text
            ]
        self.tried = tried = tuple(texts), wild
        return tried


# The patterns, and those with a wildcard, each after a text that its paths contain.
_Tried = tuple[tuple[str, ...], Sequence[tuple[str, str]]]

NO_PATTERNS = Patterns("", b"", False)


def _with_directories(text: str, lines: Sequence[int]) -> tuple[str, Sequence[int]]:
    """Return the patterns of allow rules with those of the directories of index pages."""
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
