"""The rules that one crawler follows, and what they say about a URL.

Of the rules that match, the most specific one decides: the one with the longest pattern, in bytes as escaped. Of two that
are equally long, the allow rule wins; of equal rules, the first one is named. A rule without a path never decides. If no
rule matches, the URL is allowed.
Source: Google's page ("URL matching", "Order of precedence for rules"), RFC 9309 2.2.2; for ties and for the length of
"*" and "$", Google's parser.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from .patterns import LENGTH_BITS, NO_PATTERNS, NO_RULE, Patterns, covers, line_of, matches
from .urls import split_path
from .verdict import EMPTY_RULE, INDEX_OF_DIRECTORY, MOST_SPECIFIC, NO_MATCH, Rule, Verdict

if TYPE_CHECKING:
    from .lines import ContentLine
    from .preferences import Preferences
    from .rule_index import Index

# Memory; measured, rounded up.
_BYTES_WITHOUT_RULES = 600
_BYTES_PER_CONTENT_LINE = 150  # without its text
_BYTES_EACH = 2_200  # without the patterns, with the index

_FEW_QUESTIONS = 4  # are answered by trying each rule; the next one builds the index
_MANY_RULES = 1_500  # to try so many, or to index them, takes milliseconds
_LONG_PATH = 1_000  # characters; to try many rules with it takes as long as to index them

# A question that may take longer than this counts as long. The others are for the estimate, and
# measured.
_LONG_NS = 5_000_000
_NS_OF_CHAR = 50  # for each character of a pattern: a segment may be a single one
_NS_OF_COMPARISON = 0.25  # of a character of a pattern with one of the path
_CHARS_PER_BYTE = (
    4  # to read a byte of a `Content-` line takes as long as to try so many characters of patterns
)
_MANY_CONTENT_LINES = 100
_BYTES_ESCAPED = 12  # a character of a URL past ASCII becomes at most so many of a path

_NO_ORIGIN: tuple[str | tuple[()], int] = ((), 0)  # no URL begins with an empty tuple of texts


class Rules:
    """The merged rules that a crawler follows (RFC 9309 2.2.1). They do not change.

    A crawl keeps this object for each origin, so it holds neither the body nor other groups. It
    asks most hosts only a few times, so the first questions of `allowed` are answered by trying
    each rule; later ones, and verdicts, by an index (rule_index.py). Threads may share an object:
    each attribute that changes is written in one step, and is right by itself.

    Attributes:
        crawl_delay: in seconds, None if there is none. Google ignores it.
    """

    __slots__ = (
        "_allows",
        "_content_lines",
        "_disallows",
        "_group",
        "_index",
        "_memo",
        "_questions",
        "_strict",
        "_texts",
        "_undecided",
        "_unmatched",
        "crawl_delay",
    )

    def __init__(
        self,
        allows: Patterns = NO_PATTERNS,
        disallows: Patterns = NO_PATTERNS,
        group: str | None = None,
        crawl_delay: float | None = None,
        strict: bool = False,
        unmatched: str = NO_MATCH,
        content_lines: tuple[ContentLine, ...] = (),
    ) -> None:
        """Take the rules. `unmatched` is the reason that a verdict gives if none of them matches."""
        self._allows = allows
        self._disallows = disallows
        self._strict = strict
        self._content_lines = (
            content_lines  # those that are for the crawler, as they are written, with their numbers
        )
        self._unmatched = unmatched
        self._index: Index | None = None
        self._texts: tuple[
            list[str], list[str]
        ]  # disallow and allow patterns, once there is an index
        self._undecided: Verdict  # the verdict if no rule decides, likewise
        self._questions = 0
        self._memo = _NO_ORIGIN  # how URLs of the last origin begin, and where their path begins
        self._group = (
            group  # the token whose rules these are, "*", or None if no group is for the crawler
        )
        self.crawl_delay = crawl_delay

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rules without the index, which can be built again."""
        said = self._unmatched, self._content_lines
        return Rules, (
            self._allows,
            self._disallows,
            self._group,
            self.crawl_delay,
            self._strict,
            *said,
        )

    def __repr__(self) -> str:
        return f"<Rules of group {self._group!r}: {len(self._allows.lines)} allow, {len(self._disallows.lines)} disallow>"

    def allowed(self, url: str | bytes) -> bool:
        """Return whether `url` may be fetched."""
        index = self._index
        if index is None:
            self._questions += 1
            path = self._path(url)
            is_hard = len(path) > _LONG_PATH and len(self._disallows.lines) > _MANY_RULES
            if self._questions <= _FEW_QUESTIONS and not is_hard:
                return self._allowed_by_trying(path)
            index = self._indexed()
        origin, start = self._memo
        try:
            is_known = url.startswith(origin)  # type: ignore[arg-type]
        except (TypeError, AttributeError):  # bytes, or no URL at all
            is_known = False
        return index.allows_url(url, start) if is_known else index.allows(self._path(url))  # type: ignore[arg-type]

    def verdict(self, url: str | bytes) -> Verdict:
        """Return whether `url` may be fetched, with the rule that decides."""
        path = self._path(url)
        index = self._index or self._indexed()
        precedence = index.decider(path)
        if precedence == NO_RULE:
            return self._undecided
        allow, line = precedence & 1 > 0, line_of(precedence)
        lines = (self._allows if allow else self._disallows).lines
        text = self._texts[allow][bisect_left(lines, line)]
        reason = MOST_SPECIFIC if len(text) == precedence >> LENGTH_BITS else INDEX_OF_DIRECTORY
        return Verdict(allow, Rule(allow, text, line), reason, self._group)

    def _takes_long(self, url: str | bytes) -> bool:
        if len(self._content_lines) > _MANY_CONTENT_LINES:
            return True
        wildcard_chars = sum(_CHARS_PER_BYTE * len(raw) for _, raw in self._content_lines)
        if self._index is not None:
            wildcard_chars += self._index.wildcard_chars
        elif len(self._disallows.lines) + len(self._allows.lines) > _MANY_RULES:
            return True
        else:
            wildcard_chars += sum(
                len(text) for text in (self._disallows.text, self._allows.text) if "*" in text
            )
        chars = len(url) if url.isascii() else _BYTES_ESCAPED * len(url)
        return wildcard_chars * (_NS_OF_CHAR + _NS_OF_COMPARISON * chars) > _LONG_NS

    def _weight(self) -> int:
        weight = self._allows.weight + self._disallows.weight
        weight += _BYTES_EACH if weight else _BYTES_WITHOUT_RULES
        return weight + sum(_BYTES_PER_CONTENT_LINE + len(raw) for _, raw in self._content_lines)

    def _directories(self) -> list[tuple[str, int]]:
        """Return the patterns of the directories whose index page an allow rule names, with its line."""
        return [] if self._strict else self._allows.directories()

    def _indexed(self) -> Index:
        """Build the index, and what a verdict needs beside it: the pattern of each rule, and the answer if none decides."""
        from .rule_index import NO_RULES, Index  # noqa: PLC0415 - most hosts are never asked so often

        self._texts = disallows, allows = self._disallows.texts(), self._allows.texts()
        undecided = Verdict(True, None, self._unmatched, self._group)
        for allow, texts, patterns in (
            (False, disallows, self._disallows),
            (True, allows, self._allows),
        ):
            if "" in texts:
                line = patterns.lines[texts.index("")]
                undecided = Verdict(True, Rule(allow, "", line), EMPTY_RULE, self._group)
        self._undecided = undecided
        allowed = chain(zip(allows, self._allows.lines, strict=True), self._directories())
        index = (
            Index(allowed, zip(disallows, self._disallows.lines, strict=True))
            if allows or disallows
            else NO_RULES
        )
        self._index = index
        return index

    def _allowed_by_trying(self, path: str) -> bool:
        length = self._disallows.longest(path)
        if not length or self._allows.longest(path) >= length:
            return True
        return any(len(text) >= length and matches(text, path) for text, _ in self._directories())

    def _path(self, url: str | bytes) -> str:
        """Return the path of `url`, and remember how URLs of its origin begin."""
        prefix, path = split_path(url)
        if prefix:
            self._memo = (prefix, len(prefix) - 1)
        return path


class RulesOfAll(Rules):
    """The rules of several crawlers. `crawl_delay` is the largest, in seconds."""

    __slots__ = ("by_crawler",)

    def __init__(self, by_crawler: Sequence[tuple[str, Rules]]) -> None:
        """Take the name of each crawler and its rules, in the order in which to ask them."""
        delays = [rules.crawl_delay for _, rules in by_crawler if rules.crawl_delay is not None]
        super().__init__(crawl_delay=max(delays, default=None))
        self.by_crawler = tuple(by_crawler)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rules of each crawler."""
        return RulesOfAll, (self.by_crawler,)

    def __repr__(self) -> str:
        return f"<RulesOfAll: {', '.join(f'{name} {rules!r}' for name, rules in self.by_crawler)}>"

    def allowed(self, url: str | bytes) -> bool:
        """Return whether all of the crawlers may fetch `url`."""
        return all(rules.allowed(url) for _, rules in self.by_crawler)

    def verdict(self, url: str | bytes) -> Verdict:
        """Return the verdict for the first crawler that may not fetch `url`, with its name; if all may, for the first."""
        for name, rules in self.by_crawler:
            verdict = rules.verdict(url)
            if not verdict.allowed:
                return verdict._replace(crawler=name or "*")
        return self.by_crawler[0][1].verdict(url)


# What a crawl needs to know of rules, and no user of `Rules`.


def parts_of(rules: Rules) -> tuple[Rules, ...]:
    """Return the rules of each of the crawlers that `rules` are for."""
    return (
        tuple(part for _, part in rules.by_crawler) if isinstance(rules, RulesOfAll) else (rules,)
    )


def weight_of(rules: Rules) -> int:
    """Return how many bytes of memory `rules` take at the most, with their indexes. An estimate from measurements."""
    return sum(part._weight() for part in parts_of(rules))  # noqa: SLF001


def preferences_of(rules: Rules, url: str | bytes) -> Preferences:
    """Return what the site says about the use of the content of `url`: nothing if `url` is disallowed."""
    from .preferences import said_by  # noqa: PLC0415 - most crawls never ask

    stated = [lines for part in parts_of(rules) if (lines := content_lines_of(part))]
    return said_by(stated if stated and rules.allowed(url) else (), url)


def takes_long(rules: Rules, url: str | bytes) -> bool:
    """Return whether `allowed`, `verdict` or `preferences_of` may take more than some five milliseconds for `url`.

    Code that must not be held up asks such a question in a thread. The estimate is on the safe
    side: each pattern with a wildcard counts as the most hostile one, and as one that is tried.
    """
    return any(part._takes_long(url) for part in parts_of(rules))  # noqa: SLF001


def entries_of(rules: Rules) -> list[Rule]:
    """Return the rules of one crawler in file order."""
    kinds = (True, rules._allows), (False, rules._disallows)  # noqa: SLF001
    found = [
        Rule(allow, pattern, line)
        for allow, patterns in kinds
        for pattern, line in patterns.entries()
    ]
    return sorted(found, key=lambda rule: rule.line)


def closing_rule(rules: Iterable[Rule]) -> Rule | None:
    """Return the first rule that disallows everything, if none allows anything."""
    with_path = [rule for rule in rules if rule.pattern]
    covering = (rule for rule in with_path if covers(rule.pattern, "/"))
    return None if any(rule.allow for rule in with_path) else next(covering, None)


def content_lines_of(rules: Rules) -> tuple[ContentLine, ...]:
    """Return the `Content-` lines for one crawler."""
    return rules._content_lines  # noqa: SLF001
