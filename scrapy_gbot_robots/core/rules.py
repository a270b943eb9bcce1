"""The rules one crawler follows, and what they say about a URL.

The most specific matching rule decides: that of the longest pattern, in bytes as escaped; of two of equal length allow
wins, and of equal ones the first is named. A rule without a path matches everything and never decides. No match: allowed.
Source: Google's page ("URL matching", "Order of precedence for rules"), RFC 9309 2.2.2; for ties and for the length of
"*" and "$", Google's parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .matching import matches
from .patterns import NO_PATTERNS, Patterns
from .urls import path_of, shown, split_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .deciders import Deciders
    from .index import Index

    # A pattern, whether it allows, the line and the pattern of the rule it stands for, and the reason it gives
    Filed = tuple[str, bool, int, str, str]

# The reasons of a verdict that rules have given. The policy adds its own, such as "robots.txt unreachable".
MOST_SPECIFIC: Final = "most specific rule"
INDEX_OF_DIRECTORY: Final = "an allowed index.htm allows its directory"
EMPTY_RULE: Final = "only a rule without a path matches"
NO_MATCH: Final = "no rule matches"
NO_GROUP: Final = "no group for this user agent"
IGNORES_ROBOTS: Final = "this crawler does not heed robots.txt"

_LINE_BITS: Final = 32
_BYTES_PER_RULE: Final = 300  # besides its pattern, with the index
_FEW_QUESTIONS: Final = 4  # that are answered by trying the rules before an index is built
_FEW_VERDICTS: Final = 500  # that are found by trying the rules before they are arranged for that
_MANY_RULES: Final = 1_000  # so many wildcards take as long to be tried as to be indexed


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
    are, "*", or None where no group is for the crawler; `crawl_delay` is in seconds; Google ignores it.

    The first questions are answered by trying the rules, later ones by an index (for `allowed` that of index.py, for
    `verdict` that of deciders.py): most hosts of a crawl are asked a few times only.
    """

    __slots__ = (
        "_allows",
        "_deciders",
        "_disallows",
        "_index",
        "_origin",
        "_questions",
        "_start",
        "_strict",
        "_unmatched",
        "_verdicts",
        "crawl_delay",
        "group",
    )

    def __init__(
        self,
        allows: Patterns = NO_PATTERNS,
        disallows: Patterns = NO_PATTERNS,
        group: str | None = None,
        crawl_delay: float | None = None,
        strict: bool = False,
        *,
        unmatched: str = NO_MATCH,
    ) -> None:
        """Take the rules of the group; `unmatched` is the reason given where none of them matches."""
        self._allows = allows
        self._disallows = disallows
        self._strict = strict
        self._unmatched = unmatched
        self._index: Index | None = None
        self._questions = 0
        self._deciders: Deciders[Verdict] | None = None
        self._verdicts = 0
        self._origin: str | tuple[()] = ()  # which no URL begins with
        self._start = 0  # of the path in URLs that begin with it
        self.group = group
        self.crawl_delay = crawl_delay

    @property
    def weight(self) -> int:
        """Roughly how many bytes of memory these rules take; measured, rounded up."""
        return sum(len(each.text) + _BYTES_PER_RULE * len(each.lines) for each in (self._allows, self._disallows))

    def allowed(self, url: str | bytes) -> bool:  # noqa: C901 - spelt out, in the order of what is common
        """Return whether `url` may be fetched."""
        index = self._index
        if index is None:
            return self._allowed_by_trying(url)
        origin = self._origin
        if not isinstance(url, str) or not url.startswith(origin):
            return index.allows(self._path(url))
        start = self._start
        if index.guards is not None:
            if url.startswith(index.guards, start):
                if index.final or (url.startswith(index.barred, start) and not url.startswith(index.exempt, start)):
                    return False
            elif not index.needles:
                return True
            elif url.isascii() and "%" not in url:
                for needle in index.needles:
                    if needle in url:
                        break
                else:
                    return True
        elif index.final:
            return index.begins_none(url[start:])
        if index.plain or (url.isascii() and "%" not in url and "#" not in url):
            return index.allows(url[start:])
        return index.allows(path_of(url))

    def verdict(self, url: str | bytes) -> Verdict:
        """Return whether `url` may be fetched, with the rule that decides."""
        path = self._path(url)
        if self._deciders is not None:
            return self._deciders.of(path)
        self._verdicts += 1
        if self._verdicts > _FEW_VERDICTS:
            from .deciders import Deciders  # noqa: PLC0415 - a crawl never asks for so many

            patterns = [(_preference(each), each[0], self._said(each)) for each in self._patterns()]
            self._deciders = Deciders(patterns, self._undecided())
        found = [each for each in self._patterns() if matches(each[0], path)]
        return self._said(max(found, key=_preference)) if found else self._undecided()

    def _patterns(self) -> Iterator[Filed]:
        """Yield all that may decide: what rules with a path say, and what those for index pages also stand for."""
        for allow, patterns in ((False, self._disallows), (True, self._allows)):
            for text, line in patterns.entries():
                if text:
                    yield text, allow, line, text, MOST_SPECIFIC
        for directory, line, text in self._directories():
            yield directory, True, line, text, INDEX_OF_DIRECTORY

    def _said(self, filed: Filed) -> Verdict:
        _, allow, line, text, reason = filed
        return Verdict(allow, Rule(allow, text, line), reason, self.group)

    def _undecided(self) -> Verdict:
        line = self._allows.empty_line()
        allow = line > 0
        line = line or self._disallows.empty_line()
        if not line:
            return Verdict(True, None, self._unmatched, self.group)
        return Verdict(True, Rule(allow, "", line), EMPTY_RULE, self.group)

    def _directories(self) -> list[tuple[str, int, str]]:
        return [] if self._strict else self._allows.directories()

    def _allowed_by_trying(self, url: str | bytes) -> bool:
        self._questions += 1
        if self._questions > _FEW_QUESTIONS or (
            len(self._disallows.lines) > _MANY_RULES and self._disallows.text.count("*") > _MANY_RULES
        ):
            from .index import Index  # noqa: PLC0415 - not for who asks once

            self._index = Index(
                self._allows.texts() + [each[0] for each in self._directories()], self._disallows.texts()
            )
            return self.allowed(url)
        path = self._path(url)
        length = self._disallows.longest(path)
        if not length:
            return True
        return self._allows.longest(path) >= length or any(
            len(directory) >= length and matches(directory, path) for directory, _, _ in self._directories()
        )

    def _path(self, url: str | bytes) -> str:
        """Return the path of `url`, and remember with what the URLs of its origin begin."""
        prefix, path = split_path(url)
        if prefix:
            self._origin = prefix
            self._start = len(prefix) - 1
        return path


def _preference(filed: Filed) -> int:
    """Return a number that is greater for longer patterns, of equal ones for allow, of those for the earlier line."""
    pattern, allow, line, _, _ = filed
    return (2 * len(pattern) + allow << _LINE_BITS) - line
