"""The rules that one crawler follows, and what they say about a URL.

Of the rules that match, the most specific one decides: the one with the longest pattern, in bytes
as escaped. Of two that are equally long, the allow rule wins; of equal rules, the first one is
named. A rule without a path never decides. If no rule matches, the URL is allowed.
Source: Google's page ("URL matching", "Order of precedence for rules"), RFC 9309 2.2.2; for ties
and for the length of "*" and "$", Google's parser.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from .patterns import (
    LENGTH_BITS,
    NO_PATTERNS,
    NO_RULE,
    Kinds,
    Patterns,
    covers,
    is_allowed,
    line_of,
)
from .urls import path_of, prefix_of
from .verdict import (
    EMPTY_RULE,
    INDEX_OF_DIRECTORY,
    LEAST_RESTRICTIVE,
    MOST_SPECIFIC,
    NO_MATCH,
    Rule,
    Verdict,
)

if TYPE_CHECKING:
    from .lines import ContentLine
    from .preferences import Preferences
    from .rule_index import Index

# Memory of rules with their index; measured, rounded up.
_BYTES_WITHOUT_RULES = 600
_BYTES_EACH = 2_700  # without the patterns
_TEXT_COPIES = 3
_BYTES_PER_RULE = 240
_BYTES_PER_WILDCARD = 620  # in addition
_BYTES_PER_CONTENT_LINE = 150  # without its text

# What trying the rules has cost is counted in tries of them with an ordinary path. The index is
# built when that is as much as it takes itself, so nobody pays more than twice what is needed.
_TRIES = 25
_ORDINARY_PATH = 80  # characters; to try a path of twice as many may take twice as long
_PATHS_IN_A_TRY = 8  # to ask about so many paths at once takes about as long as a try
_SPLIT_AGAIN_CHARS = 2_000  # of patterns: to split them takes microseconds
_MANY_RULES = 1_500  # to try so many, or to index them, takes milliseconds

# A question that may take longer than this counts as long. The others are for the estimate, and
# measured.
_LONG_NS = 5_000_000
_NS_OF_CHAR = 50  # for each character of a pattern: a segment may be a single one
_NS_OF_COMPARISON = 0.25  # of a character of a pattern with one of the path
# to read a byte of a `Content-` line takes as long as to try so many characters of patterns
_CHARS_PER_BYTE = 4
_MANY_CONTENT_LINES = 100
_BYTES_ESCAPED = 12  # a character of a URL past ASCII becomes at most so many of a path

PATHS_BEGIN = ("/", "*")  # the patterns of paths
_ROBOTS_TXT = "/robots.txt"  # never disallowed
_NO_SITE: tuple[tuple[()], int] = ((), 0)  # no URL begins with an empty tuple of texts


class Rules:
    """The merged rules that a crawler follows (RFC 9309 2.2.1). They do not change.

    A crawl keeps this object for each origin, so it holds neither the body nor other groups.
    Threads may share an object.

    Attributes:
        crawl_delay: in seconds, None if there is none. Google ignores it.
    """

    # A crawl asks most hosts only a few times, so the first questions are answered by trying each
    # rule; later ones by an index (rule_index.py). Each attribute that changes is written in one
    # step, and is right by itself: threads need no lock.
    __slots__ = (
        "_allows",
        "_content_lines",
        "_disallows",
        "_group",
        "_index",
        "_quick",
        "_site",
        "_spent",
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
        unmatched: str = NO_MATCH,
        content_lines: tuple[ContentLine, ...] = (),
    ) -> None:
        """Take the rules.

        `unmatched` is the reason that a verdict gives if none of them matches.
        """
        self._allows = allows
        self._disallows = disallows
        # those that are for the crawler, as they are written, with their numbers
        self._content_lines = content_lines
        self._unmatched = unmatched
        self._index: Index | None = None
        # the verdict if no rule decides, once it was asked for
        self._undecided: Verdict | None = None
        self._spent = 0  # what trying the rules has cost
        # how many characters a URL may have that is judged quickly, and with which index
        self._quick: tuple[Index | None, float] | None = None
        # How URLs of the last site begin, up to and with the first slash of their path, and where
        # that slash is. Only the index asks for it.
        self._site: tuple[str | tuple[()], int] = _NO_SITE
        # the token whose rules these are, "*", or None if no group is for the crawler
        self._group = group
        self.crawl_delay = crawl_delay

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rules without the index, which can be built again."""
        return Rules, (
            self._allows,
            self._disallows,
            self._group,
            self.crawl_delay,
            self._unmatched,
            self._content_lines,
        )

    def allowed(self, url: str | bytes) -> bool:
        """Return whether `url` may be fetched."""
        index = self._index
        if index is None:
            path = path_of(url)
            allowed = is_allowed(self._kinds(path), path)
            if allowed and self._spent == 1:
                self._forget_split()
            return allowed
        site, slash = self._site
        try:
            if url.startswith(site):  # type: ignore[arg-type]
                return index.allows_url(url, slash)  # type: ignore[arg-type]
            prefix = prefix_of(url)  # type: ignore[arg-type]
            if prefix:
                self._site = prefix, len(prefix) - 1
        except (TypeError, AttributeError):  # bytes, or no URL at all
            pass
        return is_allowed(index.kinds, path_of(url))

    def _disallowed(self, paths: Collection[str]) -> set[str]:
        self._spent += len(paths) // _PATHS_IN_A_TRY
        self._kinds()
        index = self._index
        if index is not None:
            return {path for path in paths if not index.allows_url(path, 0)}
        # No rule disallows a path with none of the beginnings and none of the needles in it.
        beginnings, wild = self._disallows.tried or self._disallows.split()
        suspects = {path for path in paths if path.startswith(beginnings)}
        barred: set[str] = set()
        text = "\n".join(paths)
        if suspects and "" not in beginnings and "*" not in text and "$" not in text:
            # A rule without a wildcard begins these paths. No allow rule matches those that begin
            # like none.
            exempt = tuple([allow.rstrip("$").partition("*")[0] for allow in self._allows.texts()])
            barred = {path for path in suspects if not path.startswith(exempt)}
        for needle, _ in wild:
            if needle in text:
                suspects.update([path for path in paths if needle in path])
        suspects -= barred
        kinds = self._kinds(*suspects)
        return barred.union([path for path in suspects if not is_allowed(kinds, path)])

    def verdict(self, url: str | bytes) -> Verdict:
        """Return whether `url` may be fetched, with the rule that decides."""
        path = path_of(url)
        disallows, allows = self._kinds(path)
        disallowing = disallows.best(path, NO_RULE)
        verdict = self._verdict_of(allows.best(path, disallowing), disallowing)
        if verdict.allowed and self._spent == 1:
            self._forget_split()
        return verdict

    def _verdict_of(self, precedence: int, disallowing: int) -> Verdict:
        """Return the verdict of the rule with that precedence.

        `disallowing` is the highest precedence of a disallow rule that matches, or `NO_RULE`.
        """
        if precedence == NO_RULE:
            if self._undecided is None:
                self._undecided = self._verdict_of_no_rule()
            return self._undecided
        patterns = self._allows if precedence & 1 else self._disallows
        rule = patterns.rule(line_of(precedence))
        length = precedence >> LENGTH_BITS
        reason = MOST_SPECIFIC
        if len(rule.pattern) != length:
            reason = INDEX_OF_DIRECTORY
        elif rule.allow and length == disallowing >> LENGTH_BITS:
            reason = LEAST_RESTRICTIVE
        return Verdict(rule.allow, rule, reason, self._group)

    def _verdict_of_no_rule(self) -> Verdict:
        """Return the verdict if no rule decides.

        It names the first rule without a path, an allow rule before others.
        """
        rule = self._allows.empty_rule() or self._disallows.empty_rule()
        return Verdict(True, rule, EMPTY_RULE if rule else self._unmatched, self._group)

    def _forget_split(self) -> None:
        """Free what the first question has taken apart: most hosts are asked once.

        A long text stays apart, because to split it again would take too long. A refusal is
        followed by a question for its rule.
        """
        for patterns in (self._allows, self._disallows):
            if len(patterns.text) <= _SPLIT_AGAIN_CHARS:
                patterns.tried = None

    def _kinds(self, *paths: str) -> Kinds:
        """Return what to ask about some paths: the rules one by one, or the index.

        It is the index if trying the rules costs as much.
        """
        index = self._index
        if index is None:
            for path in paths:
                self._spent += 1 + len(path) // _ORDINARY_PATH
            if self._spent <= _TRIES:
                return self._disallows, self._allows
            index = self._indexed()
        return index.kinds

    def _indexed(self) -> Index:
        """Build the index."""
        from .rule_index import NO_RULES, Index  # noqa: PLC0415 - few hosts are asked so often

        index = NO_RULES
        if self._allows.text or self._disallows.text:
            allows, disallows = (
                zip(patterns.texts(), patterns.lines, strict=True)
                for patterns in (self._allows, self._disallows)
            )
            index = Index(allows, disallows)
        self._index = index
        return index


# What a crawl needs to know of rules, and no user of `Rules`.


def weight_of(rules: Rules) -> int:
    """Return how many bytes of memory `rules` take at the most, with their indexes.

    This is an estimate from measurements.
    """
    weight = 0
    for patterns in (rules._allows, rules._disallows):  # noqa: SLF001
        many, text = len(patterns.lines), patterns.text
        wildcards = min(text.count("*") + text.count("$"), many)
        weight += _TEXT_COPIES * len(text) + _BYTES_PER_RULE * many
        weight += _BYTES_PER_WILDCARD * wildcards
    weight += _BYTES_EACH if weight else _BYTES_WITHOUT_RULES
    return weight + sum(_BYTES_PER_CONTENT_LINE + len(raw) for _, raw in content_lines_of(rules))


def preferences_of(rules: Rules, url: str | bytes) -> Preferences:
    """Return what the site says about the use of the content of `url`.

    It says nothing if `url` is disallowed.
    """
    from .preferences import NOTHING_SAID, said_by  # noqa: PLC0415 - most crawls never ask

    lines = content_lines_of(rules)
    if not lines or not rules.allowed(url):
        return NOTHING_SAID
    return said_by(lines, url)


def disallowed_among(rules: Rules, paths: Collection[str]) -> set[str]:
    """Return those of some paths that `rules` disallow.

    The paths are as `path_of` gives them, and one that begins with two slashes holds no "%": an
    index would read it as a URL without a scheme. This is faster than to ask about each path: most
    URLs of a site begin as no rule does.
    """
    return rules._disallowed(paths)  # noqa: SLF001


def takes_long(rules: Rules, url: str | bytes) -> bool:
    """Return whether a question about `url` may take more than some five milliseconds.

    The questions are `allowed`, `verdict` and `preferences_of`. Code that must not be held up asks
    such a question in a thread. The estimate is on the safe side: each pattern with a wildcard
    counts as the most hostile one, and as one that is tried.
    """
    quick = rules._quick  # noqa: SLF001
    if quick is None or quick[0] is not rules._index:  # noqa: SLF001
        quick = rules._quick = _quick_chars(rules)  # noqa: SLF001
    chars = len(url)
    if not url.isascii():
        chars *= _BYTES_ESCAPED
    return chars > quick[1]


def _quick_chars(rules: Rules) -> tuple[Index | None, float]:
    """Return up to how many characters of a URL no question takes long, and the index so far.

    The number is negative if each question may.
    """
    index = rules._index  # noqa: SLF001
    if len(content_lines_of(rules)) > _MANY_CONTENT_LINES:
        return index, -1.0
    wildcard_chars = sum(_CHARS_PER_BYTE * len(raw) for _, raw in content_lines_of(rules))
    kinds = rules._allows, rules._disallows  # noqa: SLF001
    if index is not None:
        wildcard_chars += index.wildcard_chars
    elif sum(len(patterns.lines) for patterns in kinds) > _MANY_RULES:
        return index, -1.0
    else:
        wildcard_chars += sum(len(kind.text) for kind in kinds if "*" in kind.text)
    if not wildcard_chars:
        return index, math.inf
    return index, (_LONG_NS / wildcard_chars - _NS_OF_CHAR) / _NS_OF_COMPARISON


def entries_of(rules: Rules) -> list[Rule]:
    """Return the rules of one crawler in file order."""
    entries = rules._allows.entries() + rules._disallows.entries()  # noqa: SLF001
    return sorted(entries, key=lambda rule: rule.line)


def closing_rule(rules: Iterable[Rule]) -> Rule | None:
    """Return the rule that disallows everything, if no rule allows anything.

    An allow rule that is shorter allows nothing, nor does one whose pattern no path begins like.
    Whether /robots.txt is allowed makes no difference.
    """
    closing: Rule | None = None
    longest = 0  # of the patterns that allow something
    for rule in rules:
        length = len(rule.pattern)
        if not rule.allow:
            is_longer = closing is None or length > len(closing.pattern)
            if is_longer and covers(rule.pattern, "/"):
                closing = rule
        elif rule.pattern.startswith(PATHS_BEGIN) and rule.pattern.rstrip("*$") != _ROBOTS_TXT:
            longest = max(longest, length)
    if closing is None or longest >= len(closing.pattern):
        return None
    return closing


def content_lines_of(rules: Rules) -> tuple[ContentLine, ...]:
    """Return the `Content-` lines for one crawler."""
    return rules._content_lines  # noqa: SLF001
