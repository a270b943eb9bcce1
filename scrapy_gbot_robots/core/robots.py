"""RobotsTxt: one robots.txt, ready to be asked.

The way of a body: bytes -> lines (lines.py) -> groups (groups.py) -> one crawler's rules (rules.py) -> Verdict.
Nothing is read before it is asked for, and nothing raises whatever the bytes: what is odd becomes a remark.
Source: RFC 9309, Google's page, and where these are silent Google's parser.
"""

from __future__ import annotations

from typing import NamedTuple

from . import grammar
from .agents import Crawler, product_token
from .groups import Group, read_groups
from .lines import Line, read_lines
from .remarks import Remark, remarks_on
from .rules import IGNORES_ROBOTS, NO_GROUP, Rule, Rules, Verdict
from .urls import Origin, escape


class SitemapLine(NamedTuple):
    """A sitemap line: its number from 1, its URL as text (None if not an absolute http, https or ftp one), its bytes."""

    line: int
    url: str | None
    raw: bytes


class RobotsTxt:
    """What a robots.txt says, to any crawler.

    `truncated` tells whether bytes past the size limit were left out (Google's page, "File format").
    """

    __slots__ = ("_body", "_groups", "_rules", "_strict", "truncated")

    def __init__(self, body: bytes, *, strict: bool, truncated: bool) -> None:
        self._body = body
        self._strict = strict
        self._groups: list[Group] | None = None
        self._rules: dict[tuple[tuple[str, ...], bool], Rules] = {}
        self.truncated = truncated

    @classmethod
    def parse(
        cls, body: bytes | bytearray | memoryview, *, strict: bool = False, max_bytes: int | None = grammar.MAX_BYTES
    ) -> RobotsTxt:
        """Take the bytes of a robots.txt; none of them raises.

        `strict` turns off what Google's parser accepts beyond the written text: misspelt field names, names that only
        begin like a field's, a missing colon, index.htm for its directory. What is past `max_bytes` is ignored
        (Google's page: 500 KiB); None means no limit. Raises TypeError if `body` is not bytes.
        """
        if not isinstance(body, (bytes, bytearray, memoryview)):
            raise TypeError(f"a robots.txt is bytes, not {type(body).__name__}")
        whole = bytes(body)
        kept = whole if max_bytes is None else whole[:max_bytes]
        return cls(kept, strict=strict, truncated=len(kept) < len(whole))

    def allowed(self, url: str | bytes, user_agent: str | bytes | Crawler) -> bool:
        """Return whether the crawler may fetch `url`; the answer of `verdict`, without the reasons."""
        return self.rules_for(user_agent).allowed(url)

    def verdict(self, url: str | bytes, user_agent: str | bytes | Crawler) -> Verdict:
        """Return whether the crawler may fetch `url`, and the rule that decides.

        A product token, or the one in a whole User-Agent header, is looked for in the groups, then "*" (RFC 9309
        2.2.1); a `Crawler` falls back from token to token first. Only the path of `url` counts.
        """
        return self.rules_for(user_agent).verdict(url)

    def rules_for(self, user_agent: str | bytes | Crawler) -> Rules:
        """Return the merged rules of the group that the crawler follows; they do not keep this object alive."""
        if isinstance(user_agent, Crawler):
            tokens, heeds_global = tuple(token.lower() for token in user_agent.tokens), user_agent.heeds_global
        else:
            tokens, heeds_global = (product_token(user_agent).lower(),), True
        rules = self._rules.get((tokens, heeds_global))
        if rules is None:
            rules = self._rules[tokens, heeds_global] = self._merge(tokens, heeds_global)
        return rules

    def crawl_delay(self, user_agent: str | bytes | Crawler) -> float | None:
        """Return the crawl delay in seconds in the crawler's group, None if it has none; Google ignores that field."""
        return self.rules_for(user_agent).crawl_delay

    @property
    def lines(self) -> tuple[Line, ...]:
        """All lines as the careful reader sees them; what Google's own line report says of each."""
        return tuple(read_lines(self._body, strict=self._strict))

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was odd, per line."""
        lines = self.lines
        bad = frozenset(sitemap.line for sitemap in _sitemap_lines(lines) if sitemap.url is None)
        return tuple(remarks_on(lines, bad_sitemaps=bad, truncated=len(self._body) if self.truncated else None))

    @property
    def sitemap_lines(self) -> tuple[SitemapLine, ...]:
        """All sitemap lines in file order, malformed ones included; they belong to no group (Google's page)."""
        return _sitemap_lines(self.lines)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The absolute http, https and ftp URLs of the sitemap lines, in file order, each once."""
        return tuple(dict.fromkeys(sitemap.url for sitemap in self.sitemap_lines if sitemap.url is not None))

    def _merge(self, tokens: tuple[str, ...], heeds_global: bool) -> Rules:
        if self._groups is None:
            self._groups = read_groups(read_lines(self._body, strict=self._strict))
        if not tokens and not heeds_global:
            return Rules(unmatched=IGNORES_ROBOTS)
        for agent in (*tokens, grammar.GLOBAL) if heeds_global else tokens:
            groups = [group for group in self._groups if agent and agent in group.agents]
            if groups:
                rules: list[Rule] = []
                for group in groups:
                    rules += group.rules
                delays = (group.delays[agent] for group in groups if agent in group.delays)
                return Rules(rules, group=agent, crawl_delay=next(delays, None), strict=self._strict)
        return Rules(unmatched=NO_GROUP)


def _sitemap_lines(lines: tuple[Line, ...]) -> tuple[SitemapLine, ...]:
    return tuple(
        SitemapLine(line.number, _absolute(line.value), line.value) for line in lines if line.kind == grammar.SITEMAP
    )


def _absolute(value: bytes) -> str | None:
    """Return the URL as text; bytes that are not UTF-8 stand percent-encoded in it, as a rule's would."""
    try:
        url = value.decode("utf-8")
    except UnicodeDecodeError:
        url = escape(value).decode("ascii")
    try:
        Origin.of(url)
    except ValueError:
        return None
    return url
