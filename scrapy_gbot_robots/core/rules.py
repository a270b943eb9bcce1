"""Hold the rules that one crawler follows, and return their verdict on a URL.

Of the rules whose patterns match the URL, the rule with the longest pattern decides. The length is
counted in bytes after escaping. If an allow and a disallow rule are equally long, the allow rule
wins. If the same rule occurs several times in the file, the verdict names the first one. A rule
without a path never decides. If no rule matches, the URL is allowed.

The sources are Google's page ("URL matching", "Order of precedence for rules") and RFC 9309 2.2.2.
Google's parser is the source for ties, and for counting "*" and "$" in the length.
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

# From the following numbers of bytes, `weight_of` estimates the memory for a `Rules` object and its
# index. The numbers were measured and rounded up.
_BYTES_WITHOUT_RULES = 600
_BYTES_EACH = 2_700  # A `Rules` object takes this much memory in addition to its rules.
_TEXT_COPIES = 3  # The text of a pattern is in memory up to three times.
_BYTES_PER_RULE = 240
_BYTES_PER_WILDCARD = 620  # A rule with a wildcard takes this much memory in addition.
_BYTES_PER_CONTENT_LINE = 150  # A `Content-` line takes this much in addition to its text.

# A try is the comparison of one path of ordinary length with all rules of a `Rules` object.
# Building the index takes as long as 25 tries, so the index is built after 25 tries. In this way,
# judging any number of URLs takes at most twice as long as without an index, and at most twice as
# long as with an index from the beginning.
_TRIES = 25
_ORDINARY_PATH = 80  # A path with 80 characters or more is counted as several tries.
_PATHS_IN_A_TRY = 8  # Judging eight paths at once takes about as long as one try.
# If `Patterns.text` has at most this many characters, splitting it takes less than a tenth of a
# millisecond.
_SPLIT_AGAIN_CHARS = 10_000
_FEW_TRIES = 3  # Most hosts have at most this many URLs in a broad crawl.
_MANY_RULES = 1_500  # Trying this many rules, or building an index of them, takes milliseconds.

# The function `takes_long` estimates how many nanoseconds a call of `allowed`, `verdict` or
# `preferences_of` takes. If the estimate is greater than `_LONG_NS`, the call takes long. The
# following numbers of nanoseconds were measured.
_LONG_NS = 5_000_000
_NS_OF_CHAR = 50  # The time for each character of a pattern, even for a short path.
_NS_OF_COMPARISON = 0.25  # The time for comparing two characters.
# Reading one byte of a `Content-Usage` or `Content-Signal` line takes as long as trying this many
# characters of patterns.
_CHARS_PER_BYTE = 4
_MANY_CONTENT_LINES = 100
_BYTES_ESCAPED = 12  # A non-ASCII character is escaped as at most 12 characters.

PATHS_BEGIN = ("/", "*")  # A pattern that begins with another character matches no path.
_ROBOTS_TXT = "/robots.txt"  # This path is never disallowed.
# The value of the attribute `_site` before the first URL. No URL matches this value, because
# `url.startswith(())` is always False.
_NO_SITE: tuple[tuple[()], int] = ((), 0)


class Rules:
    """The merged rules that one crawler follows (RFC 9309 2.2.1). The rules do not change.

    `RobotsTxt.rules_for` returns a `Rules` object. A crawl keeps one `Rules` object for each
    origin. To save memory, the object contains neither the body of the robots.txt nor the groups of
    other crawlers. Threads may share the object.

    Attributes:
        crawl_delay: the crawl delay in seconds; None if there is none. Google ignores it.
    """

    # A crawl requests only a few pages of most hosts. So for the first URLs each rule is tried, and
    # an index (rule_index.py) is built only for later URLs. Threads do not need a lock. An
    # attribute that changes is written in one step, and no attribute depends on the value of
    # another.
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
        """Make the rules of one crawler.

        Args:
            allows: the allow rules.
            disallows: the disallow rules.
            group: the product token whose groups were merged, or "*"; None if no group is for the
                crawler.
            crawl_delay: the crawl delay in seconds; None if there is none.
            unmatched: the reason in the verdict on a URL that no rule matches.
            content_lines: the `Content-Usage` and `Content-Signal` lines for the crawler. Each is a
                pair of the line number and the line as written.
        """
        self._allows = allows
        self._disallows = disallows
        self._content_lines = content_lines
        self._unmatched = unmatched
        self._index: Index | None = None
        # The verdict on every URL for which no rule decides; None before the first such URL.
        self._undecided: Verdict | None = None
        self._spent = 0  # The number of tries so far (see `_TRIES`).
        # The result of `_quick_chars`; None before the first call of `takes_long`.
        self._quick: tuple[Index | None, float] | None = None
        # The last URL up to the first slash of its path, and the index of this slash, such as
        # ("https://example.com/", 19). The next URL usually has the same beginning, so its path is
        # found at once. This attribute is used only if there is an index.
        self._site: tuple[str | tuple[()], int] = _NO_SITE
        self._group = group
        self.crawl_delay = crawl_delay

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rules without the index, because it can be built again."""
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
            if allowed and self._spent <= _FEW_TRIES:
                self._forget_split()
            return allowed
        site, slash = self._site
        try:
            if url.startswith(site):  # type: ignore[arg-type]
                return index.allows_url(url, slash)  # type: ignore[arg-type]
            prefix = prefix_of(url)  # type: ignore[arg-type]
            if prefix:
                self._site = prefix, len(prefix) - 1
        except (TypeError, AttributeError):  # The URL is bytes, or of a wrong type.
            pass
        return is_allowed(index.kinds, path_of(url))

    def _disallowed(self, paths: Collection[str]) -> set[str]:
        self._spent += len(paths) // _PATHS_IN_A_TRY
        self._kinds()
        index = self._index
        if index is not None:
            return {path for path in paths if not index.allows_url(path, 0)}
        # Most paths are allowed. This code first finds the suspects, which are the paths that may
        # be disallowed. A suspect begins with a disallow pattern, or contains the needle of a
        # pattern with a wildcard. The needle is a literal text that every matching path contains.
        beginnings, _, needles = self._disallows.tried or self._disallows.split()
        suspects = {path for path in paths if path.startswith(beginnings)}
        barred: set[str] = set()
        text = "\n".join(paths)
        if suspects and "" not in beginnings and "*" not in text and "$" not in text:
            # No path contains "*" or "$". So if a suspect begins with a disallow pattern, this
            # pattern has no wildcard, and matches the suspect. Only an allow rule can still allow
            # the suspect. It can match only a suspect that begins with the text before the first
            # wildcard of the allow rule. All other suspects are disallowed.
            exempt = tuple([allow.rstrip("$").partition("*")[0] for allow in self._allows.texts()])
            barred = {path for path in suspects if not path.startswith(exempt)}
        for needle in needles:
            if needle in text:
                suspects.update([path for path in paths if needle in path])
        suspects -= barred
        kinds = self._kinds(*suspects)
        return barred.union([path for path in suspects if not is_allowed(kinds, path)])

    def verdict(self, url: str | bytes) -> Verdict:
        """Return whether `url` may be fetched, and the rule that decides."""
        path = path_of(url)
        disallows, allows = self._kinds(path)
        disallowing = disallows.best(path, NO_RULE)
        verdict = self._verdict_of(allows.best(path, disallowing), disallowing)
        if verdict.allowed and self._spent <= _FEW_TRIES:
            self._forget_split()
        return verdict

    def _verdict_of(self, precedence: int, disallowing: int) -> Verdict:
        """Return the verdict of the rule whose precedence is `precedence`.

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
        """Return the verdict for the case that no rule decides.

        The verdict names the first allow rule without a path. If there is none, it names the first
        disallow rule without a path.
        """
        rule = self._allows.empty_rule() or self._disallows.empty_rule()
        return Verdict(True, rule, EMPTY_RULE if rule else self._unmatched, self._group)

    def _forget_split(self) -> None:
        """Free the memory for the patterns that `Patterns.split` has made.

        Most hosts have only a few URLs in a broad crawl, so `allowed` and `verdict` call this
        method after each of the first URLs that are allowed. After a disallowed URL, the caller
        usually needs the patterns again, to describe the deciding rule. Long patterns are not
        freed, because splitting them again would take too long.
        """
        for patterns in (self._allows, self._disallows):
            if len(patterns.text) <= _SPLIT_AGAIN_CHARS:
                patterns.tried = None

    def _kinds(self, *paths: str) -> Kinds:
        """Return the disallow rules and the allow rules in a form for judging `paths`.

        For the first paths, the result is a pair of `Patterns` objects, which try each rule. After
        `_TRIES` tries, the result is `Index.kinds`.
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
        """Build the index, store it in `_index` and return it."""
        from .rule_index import NO_RULES, Index  # noqa: PLC0415 - few hosts need an index

        index = NO_RULES
        if self._allows.text or self._disallows.text:
            allows, disallows = (
                zip(patterns.texts(), patterns.lines, strict=True)
                for patterns in (self._allows, self._disallows)
            )
            index = Index(allows, disallows)
        self._index = index
        return index


# The rest of the package calls the following functions. Users of `Rules` do not need them.


def weight_of(rules: Rules) -> int:
    """Return an upper bound, in bytes, for the memory that `rules` and their index can take.

    The bound is estimated from measurements. A crawl uses it to limit the memory of its cache.
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
    """Return the site's preferences about the use of the content of `url`.

    If `url` is disallowed, the result contains no preferences.
    """
    from .preferences import NOTHING_SAID  # noqa: PLC0415 - most crawls never ask

    if not rules.allowed(url):
        return NOTHING_SAID
    return preferences_if_allowed(rules, url)


def preferences_if_allowed(rules: Rules, url: str | bytes) -> Preferences:
    """Return the preferences that `preferences_of` would return if `rules` allowed `url`.

    The caller has already decided that `url` may be fetched. For example, the user may have an
    agreement with the site's owner.
    """
    from .preferences import NOTHING_SAID, said_by  # noqa: PLC0415 - most crawls never ask

    lines = content_lines_of(rules)
    if not lines:
        return NOTHING_SAID
    return said_by(lines, url)


def disallowed_among(rules: Rules, paths: Collection[str]) -> set[str]:
    """Return the paths among `paths` that `rules` disallow.

    Each path has the form that `path_of` returns. For many paths, this function is faster than
    calling `allowed` for each path, because it compares most paths with all rules in a single step.
    A path that begins with two slashes must not contain "%", because an index would take the text
    after the two slashes for a host.
    """
    return rules._disallowed(paths)  # noqa: SLF001


def takes_long(rules: Rules, url: str | bytes) -> bool:
    """Return whether judging `url` may take more than about five milliseconds.

    This is the time of one call of `allowed`, `verdict` or `preferences_of`. If the result is True,
    code that must not block the reactor makes this call in a thread. The time is estimated for the
    worst case, in which every pattern with a wildcard is tried with as many steps as possible. So
    the estimate is never too low.
    """
    quick = rules._quick  # noqa: SLF001
    if quick is None or quick[0] is not rules._index:  # noqa: SLF001
        quick = rules._quick = _quick_chars(rules)  # noqa: SLF001
    chars = len(url)
    if not url.isascii():
        chars *= _BYTES_ESCAPED
    return chars > quick[1]


def _quick_chars(rules: Rules) -> tuple[Index | None, float]:
    """Return the current index, and the length in characters of the longest URL that is fast.

    For a longer URL, `takes_long` is True. If even the shortest URL may take long, the length is
    negative. If the rules get another index, the length must be computed again.
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
    """Return the rule that disallows every URL; None if some URLs may be allowed.

    The result is the longest disallow rule that matches every path. If an allow rule is equally
    long or longer, the result is None, because this allow rule decides for some URLs. Allow rules
    for /robots.txt, and allow rules that match no path, are ignored.
    """
    closing: Rule | None = None
    longest = 0  # the length of the longest allow rule that may match a path
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
    """Return the `Content-Usage` and `Content-Signal` lines for one crawler."""
    return rules._content_lines  # noqa: SLF001
