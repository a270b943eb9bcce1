"""The rules one crawler follows, and what they say about a URL.

The most specific matching rule decides: that of the longest pattern, in bytes as escaped; of two of equal length allow
wins, and of equal ones the first is named. A rule without a path matches everything and never decides. No match: allowed.
Source: Google's page ("URL matching", "Order of precedence for rules"), RFC 9309 2.2.2; for ties and for the length of
"*" and "$", Google's parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .grammar import INDEX_PAGE
from .urls import path_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

# The reasons of a verdict that rules have given. The policy adds its own, such as "robots.txt unreachable".
MOST_SPECIFIC: Final = "most specific rule"
INDEX_OF_DIRECTORY: Final = "an allowed index.htm allows its directory"
EMPTY_RULE: Final = "only a rule without a path matches"
NO_MATCH: Final = "no rule matches"
NO_GROUP: Final = "no group for this user agent"
IGNORES_ROBOTS: Final = "this crawler does not heed robots.txt"

_BYTES_PER_RULE: Final = 200  # besides its pattern


class Rule(NamedTuple):
    """An allow or disallow line: `pattern` is its path, percent-escaped (ASCII); `line` counts from 1."""

    allow: bool
    pattern: str
    line: int

    def __str__(self) -> str:
        """Return the rule as one would write it, fit for a log line."""
        return f"{'Allow' if self.allow else 'Disallow'}: {shown(self.pattern)}".rstrip(" ")


class Verdict(NamedTuple):
    """Whether a URL may be fetched, and why.

    `rule` is the deciding rule, or the empty one where nothing else matched, or None; `reason` is a short English
    phrase; `group` is the product token whose rules were used, "*" for the global group, None for none.
    """

    allowed: bool
    rule: Rule | None = None
    reason: str = NO_MATCH
    group: str | None = None

    def __str__(self) -> str:
        """Return one line for a log: printable and of bounded length, whatever the robots.txt holds."""
        answer = "allowed" if self.allowed else "disallowed"
        group = f'group "{shown(self.group)}"' if self.group is not None else ""
        if self.rule is None:
            return f"{answer}: {shown(self.reason)}" + (f" ({group})" if group else "")
        where = f"(line {self.rule.line}, {group})" if group else f"(line {self.rule.line})"
        if self.reason == MOST_SPECIFIC:
            return f'{answer} by "{self.rule}" {where}'
        return f'{answer} by "{self.rule}" {where}: {shown(self.reason)}'


class Rules:
    """The merged rules of the one group that a crawler follows (RFC 9309 2.2.1); immutable.

    It holds neither the body nor other groups: what a crawl keeps per origin. `group` is the token whose rules these
    are, "*", or None where no group is for the crawler; `crawl_delay` is in seconds, reported and never acted on.
    """

    __slots__ = ("_allows", "_disallows", "_strict", "_unmatched", "crawl_delay", "group")

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        group: str | None = None,
        crawl_delay: float | None = None,
        strict: bool = False,
        unmatched: str = NO_MATCH,
    ) -> None:
        """Take `rules` in file order; `unmatched` is the reason given where none of them matches."""
        rules = tuple(rules)
        self._allows = tuple(rule for rule in rules if rule.allow)
        self._disallows = tuple(rule for rule in rules if not rule.allow)
        self._strict = strict
        self._unmatched = unmatched
        self.group = group
        self.crawl_delay = crawl_delay

    @property
    def weight(self) -> int:
        """Roughly how many bytes of memory these rules take; measured, rounded up."""
        return sum(_BYTES_PER_RULE + len(rule.pattern) for rule in self._allows + self._disallows)

    def allowed(self, url: str | bytes) -> bool:
        """Return whether `url` may be fetched."""
        return self.verdict(url).allowed

    def verdict(self, url: str | bytes) -> Verdict:
        """Return whether `url` may be fetched, with the rule that decides."""
        path = path_of(url)
        allow, allow_length, by_index = self._longest_allow(path)
        disallow, disallow_length = self._longest_disallow(path)
        if disallow is not None and disallow_length > allow_length:
            if disallow_length == 0:
                return Verdict(True, disallow, EMPTY_RULE, self.group)
            return Verdict(False, disallow, MOST_SPECIFIC, self.group)
        if allow is None:
            return Verdict(True, None, self._unmatched, self.group)
        if allow_length == 0:
            return Verdict(True, allow, EMPTY_RULE, self.group)
        return Verdict(True, allow, INDEX_OF_DIRECTORY if by_index else MOST_SPECIFIC, self.group)

    def _longest_disallow(self, path: str) -> tuple[Rule | None, int]:
        best, best_length = None, -1
        for rule in self._disallows:
            if len(rule.pattern) > best_length and matches(rule.pattern, path):
                best, best_length = rule, len(rule.pattern)
        return best, best_length

    def _longest_allow(self, path: str) -> tuple[Rule | None, int, bool]:
        best, best_length, by_index = None, -1, False
        for rule in self._allows:
            pattern, retried = rule.pattern, False
            if not matches(pattern, path):
                directory = None if self._strict else directory_of_index(pattern)
                if directory is None or not matches(directory, path):
                    continue
                pattern, retried = directory, True
            if len(pattern) > best_length:
                best, best_length, by_index = rule, len(pattern), retried
        return best, best_length, by_index


def directory_of_index(pattern: str) -> str | None:
    """Return the pattern that an allow rule for an index page also stands for (Google's parser): "/d/$" for its /d/."""
    slash = pattern.rfind("/")
    return pattern[: slash + 1] + "$" if pattern.startswith(INDEX_PAGE, max(slash, 0)) else None


def matches(pattern: str, path: str) -> bool:
    """Return whether `pattern` matches the beginning of `path` (RFC 9309 2.2.3).

    "*" is any run of characters, "$" at the very end of the pattern the end of the path. Each literal segment is taken
    where it first occurs: whatever follows has then most room, so no way back is needed, and time stays within
    pattern x path.
    """
    anchored = pattern.endswith("$")
    first, *others = (pattern[:-1] if anchored else pattern).split("*")
    if not others:
        return path == first if anchored else path.startswith(first)
    if not path.startswith(first):
        return False
    last = others.pop()
    position = len(first)
    for segment in others:
        position = path.find(segment, position)
        if position < 0:
            return False
        position += len(segment)
    if anchored:
        return len(path) - len(last) >= position and path.endswith(last)
    return path.find(last, position) >= 0
