"""Match the patterns of rules with a path, and find the rule that decides.

A pattern matches the beginning of a path. "*" stands for any characters, or for none. "$" at the
end of the pattern stands for the end of the path. All other characters stand for themselves.

The stars split a pattern into literal segments. Each segment is searched for after the match of the
previous segment, and its first occurrence is taken. The search never goes back, because the first
occurrence leaves the longest part of the path for the later segments. For example, the pattern
"/a*b*c" matches the path "/axbbc" with "/a" at 0, "b" at 3 and "c" at 5. The number of steps is at
most the length of the pattern times the length of the path. Patterns never become regular
expressions.

A crawl requests only a few pages of most hosts. For these hosts, `Patterns` tries the rules one by
one. An `Index` of the rules (rule_index.py) would cost more time and memory than it saves. `Rules`
uses both through the protocol `RuleSet`.

The sources are RFC 9309 2.2.3, and Google's page ("URL matching based on path values", "Order of
precedence for rules").
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from .lines import INDEX_PAGE
from .urls import escape
from .verdict import Rule

# If a pattern has more segments than this, `matches` first checks that the path contains the last
# segment. This saves time for a path that does not contain it.
_MANY_STARS = 8
_IN_A_BYTE = 256  # A line number below this value fits into one byte.

# The precedence of a rule is a number. Of all rules that match a path, the rule with the highest
# precedence decides. From the highest bits to the lowest bit, the number contains:
#
# 1. the length of the pattern
# 2. the kind of the rule: 1 for an allow rule, 0 for a disallow rule
# 3. a number that is greater for an earlier line
# 4. the kind of the rule again, so that the number is odd for every allow rule
#
# If no rule matches a path, `NO_RULE` is used in place of a precedence. It is less than the
# precedence of any rule. It is odd, because a path without a matching rule is allowed.
NO_RULE = 1
LAST_LINE = 2**32 - 1
KIND_BITS = 33  # In a precedence, the kind of the rule stands above this many bits.
LENGTH_BITS = 34  # In a precedence, the length of the pattern stands above this many bits.


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
        # Before each occurrence of the last segment, there is no space for the other segments.
        return False
    for segment in segments:
        begin = path.find(segment, end)
        if begin < 0:
            return False
        end = begin + len(segment)
    if rest.endswith("$"):
        return path.endswith(last, end)
    return path.find(last, end) >= 0


def stand_in(pattern: str) -> str:
    r"""Return a path that represents all paths that `pattern` matches.

    Another pattern matches the result only if it matches every path that `pattern` matches. In the
    result, a NUL replaces each "*". If `pattern` does not end with "$", the result ends with a NUL.
    A pattern never contains a NUL. For example, the result for "/a*b" is "/a\0b\0".
    """
    return (pattern[:-1] if pattern.endswith("$") else pattern + "*").replace("*", "\0")


def covers(pattern: str, other: str) -> bool:
    """Return whether `pattern` matches every path that `other` matches."""
    return matches(pattern, stand_in(other))


def directory_of_index(pattern: str) -> str:
    """Return the pattern of the directory if `pattern` is for an index page; otherwise "".

    An allow rule for "/d/index.htm" also allows the directory, with the pattern "/d/$" (Google's
    parser).
    """
    slash = pattern.rfind("/")
    if slash >= 0 and pattern.startswith(INDEX_PAGE, slash):
        return pattern[: slash + 1] + "$"
    return ""


def precedence_of(length: int, allow: bool, line: int) -> int:
    """Return the precedence of a rule. The matching rule with the highest precedence decides.

    A longer pattern has a higher precedence. If the lengths are equal, an allow rule has a higher
    precedence than a disallow rule (Google's page, "Order of precedence for rules"). Of two rules
    of the same kind and length, the earlier rule has the higher precedence (Google's parser).
    """
    return ((2 * length + allow) << KIND_BITS) + ((LAST_LINE - line) << 1) + allow


def line_of(precedence: int) -> int:
    """Return the line number that the precedence of a rule contains."""
    return LAST_LINE - ((precedence >> 1) & LAST_LINE)


class RuleSet(Protocol):
    """The protocol of an object with the allow rules or the disallow rules of a group."""

    def best(self, path: str, best: int) -> int:
        """Return the greater of `best` and the highest precedence of the rules that match `path`.

        `best` is the highest precedence found so far, or `NO_RULE`.
        """


# The type of the rules of a group, which is a pair of the disallow rules and the allow rules.
Kinds = tuple[RuleSet, RuleSet]


def is_allowed(kinds: Kinds, path: str) -> bool:
    """Return whether the rules allow `path`, which has the form that `path_of` returns."""
    disallows, allows = kinds
    best = disallows.best(path, NO_RULE)
    return best == NO_RULE or allows.best(path, best) != best


def decider(kinds: Kinds, path: str) -> int:
    """Return the precedence of the rule that decides for `path`; NO_RULE if no rule matches."""
    disallows, allows = kinds
    return allows.best(path, disallows.best(path, NO_RULE))


class Patterns:
    """Either the allow rules or the disallow rules of a group, which are tried one by one.

    An allow rule for an index page has two patterns with the same line number. For example, the
    rule "Allow: /d/index.htm" has the patterns "/d/$" (the directory) and "/d/index.htm", in this
    order.

    Attributes:
        text: the patterns in file order, with an LF between them.
        lines: the line number of each pattern.
        tried: the result of `split`, in which `best` looks up the patterns; None before the first
            call of `split`, and after `Rules` has freed the result.
    """

    __slots__ = ("_allow", "lines", "text", "tried")

    def __init__(self, text: str, lines: Sequence[int], allow: bool) -> None:
        self.text, self.lines, self._allow = text, lines, allow
        self.tried: _Tried | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return Patterns, (self.text, self.lines, self._allow)

    @classmethod
    def of(cls, paths: bytes, lines: Sequence[int], allow: bool) -> Patterns:
        """Return the patterns for the paths of rules.

        Args:
            paths: the paths before escaping, with an LF between them.
            lines: the line number of each path.
            allow: whether the rules are allow rules.
        """
        text = escape(paths).decode("ascii")
        if allow and INDEX_PAGE in text:
            text, lines = _with_directories(text, lines)
        if lines[-1] < _IN_A_BYTE:
            return cls(text, bytes(lines), allow)
        from array import array  # noqa: PLC0415 - few files have 256 lines

        return cls(text, array("I", lines), allow)

    def texts(self) -> Sequence[str]:
        """Return the patterns in file order. The pattern of a rule without a path is ""."""
        return (self.tried or self.split())[0]

    def entries(self) -> list[Rule]:
        """Return the rules as `Rule` objects, in file order."""
        of_lines = dict(zip(self.lines, self.texts(), strict=True))
        return [Rule(self._allow, pattern, line) for line, pattern in of_lines.items()]

    def rule(self, line: int) -> Rule:
        """Return the rule with the line number `line`."""
        return Rule(self._allow, self.texts()[bisect_right(self.lines, line) - 1], line)

    def empty_rule(self) -> Rule | None:
        """Return the first rule without a path; None if every rule has a path."""
        texts = self.texts()
        if "" not in texts:
            return None
        return Rule(self._allow, "", self.lines[texts.index("")])

    def best(self, path: str, best: int) -> int:
        """Return the greater of `best` and the highest precedence of the rules that match `path`.

        `best` is the highest precedence found so far, or `NO_RULE`.
        """
        if not self.text:
            return best
        texts, wild, needles = self.tried or self.split()
        # `plainest` becomes the longest matching pattern without a wildcard, and `wildest` the
        # longest matching pattern with a wildcard. Of equally long patterns, the first one in the
        # file is kept.
        plainest = wildest = ""
        if path.startswith(texts):
            # There may be thousands of patterns. The built-in `filter` quickly finds the few that
            # may match.
            beginning = filter(path.startswith, texts)
            plainest = max([text for text in beginning if matches(text, path)], key=len, default="")
        for needle, text in zip(needles, wild, strict=True):
            if needle in path and len(text) > len(wildest) and matches(text, path):
                wildest = text
        for longest in (plainest, wildest):
            if longest:
                line = self.lines[texts.index(longest)]
                best = max(best, precedence_of(len(longest), self._allow, line))
        return best

    def split(self) -> _Tried:
        """Split `text` into the patterns, keep the result in `tried`, and return it."""
        text = self.text
        texts = tuple(text.split("\n")) if self.lines else ()
        wild: Sequence[str] = ()
        if "*" in text or "$" in text:
            wild = [text for text in texts if "*" in text or "$" in text]
        # Before `best` compares a path with a pattern that has a wildcard, it checks that the path
        # contains a literal text of the pattern, which is fast. To find this text, "/", "*" and "$"
        # are removed from both ends of the pattern, and the first segment of the rest is taken. For
        # "/shop/*.pdf$" it is "shop/". The texts and the patterns are in two lists. With one list
        # of pairs, the garbage collector would have to visit every pair.
        needles = [text.strip("/*$").partition("*")[0] for text in wild]
        self.tried = tried = texts, wild, needles
        return tried


# The type of the result of `Patterns.split`, which has three items. The first item contains all
# patterns. The second item contains the patterns with a wildcard. For each of them, the third item
# contains a literal text that every matching path contains.
_Tried = tuple[tuple[str, ...], Sequence[str], Sequence[str]]

NO_PATTERNS = Patterns("", b"", False)


def _with_directories(text: str, lines: Sequence[int]) -> tuple[str, Sequence[int]]:
    """Insert the pattern "/d/$" before each pattern for an index page such as "/d/index.html"."""
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
