"""RobotsTxt: one robots.txt, with verdicts, rules, sitemaps and other lines.

There are two ways to read a body. The fast way is for crawls: bytes -> one crawler's rules
(crawler_groups.py, rules.py) -> Verdict, and bytes -> sitemaps. The careful way reads everything,
and is the specification of the fast way: bytes -> lines (lines.py) -> groups, and remarks
(remarks.py).

A group is a run of user-agent lines and the rules after it. Only allow and disallow lines end the
run; blank, sitemap, unknown and unreadable lines do not. Groups that name the same user agent are
merged later. A named group and the group of "*" are never merged. Sitemap lines do not belong to a
group.

A part of the file is read only when a caller asks for it. No bytes raise an exception; anything odd
becomes a remark.
Source: RFC 9309 2.2.1; Google's page ("Grouping of lines and rules", "Order of precedence for user
agents", "sitemap"); sitemaps.org; and where these are silent Google's parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from .crawler_groups import EveryGroup, scan
from .crawlers import UserAgent, agents_heeded
from .lines import (
    ALLOW,
    DISALLOW,
    HAS_DIRECTIVE,
    MAX_BYTES,
    MISSING_COLON,
    SITEMAP,
    USER_AGENT,
    Line,
    agent_of,
    content_blocks,
    read_line,
    read_lines,
)
from .rules import Rules, preferences_of
from .urls import sitemap_url
from .verdict import Rule, Verdict

if TYPE_CHECKING:
    from .preferences import Preferences
    from .remarks import Finding

_MOST_AGENTS = 100  # the rules of at most this many user agents are kept at a time
_USAGE = b"content-usage"
_BEGIN = b"site"  # the beginning of each name of the sitemap field


class Group(NamedTuple):
    """User agents and the rules that they share.

    Attributes:
        user_agents: product tokens in lower case, or "*", each with the number of the line that
            first names it.
        rules: the rules in file order.
    """

    user_agents: dict[str, int]
    rules: list[Rule]


class FieldLine(NamedTuple):
    """A line of any field.

    Attributes:
        line: the line number, from 1.
        value: the value as text. Bytes that are not UTF-8 are replaced by U+FFFD.
        user_agents: the user agents of the group, product tokens in lower case or "*"; () before
            the first group.
    """

    line: int
    value: str
    user_agents: tuple[str, ...]


class SitemapLine(NamedTuple):
    """A sitemap line.

    Attributes:
        line: the line number, from 1.
        url: the URL; None if the value is not one absolute http, https or ftp URL.
        raw: the value as bytes.
    """

    line: int
    url: str | None
    raw: bytes


class RobotsTxt:
    r"""One robots.txt, for every crawler. `RobotsTxt.parse` makes it from bytes.

    >>> from scrapy_gbot_robots import RobotsTxt
    >>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /cart\nAllow: /cart/help")
    >>> robots.allowed("https://shop.example/cart/7", "mybot")
    False
    >>> robots.allowed("https://shop.example/cart/help", "mybot")
    True
    """

    __slots__ = ("_body", "_cut", "_rules")

    def __init__(self, body: bytes, cut: bool) -> None:
        self._body = body
        self._rules: dict[str | bytes | UserAgent, Rules] = {}
        # True if bytes after the size limit were left out (Google's page, "File format").
        self._cut = cut

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only the bytes, because everything else can be read from them again."""
        return RobotsTxt, (self._body, self._cut)

    def __repr__(self) -> str:
        return f"<RobotsTxt of {len(self._body):,} bytes{', cut' if self._cut else ''}>"

    @classmethod
    def parse(
        cls,
        body: bytes | bytearray | memoryview,
        *,
        max_bytes: int | None = MAX_BYTES,
        cut: bool = False,
    ) -> RobotsTxt:
        r"""Return the robots.txt with these bytes. Any bytes are valid.

        >>> from scrapy_gbot_robots import RobotsTxt
        >>> RobotsTxt.parse(b"User-agent: *\nDisallow: /cart")
        <RobotsTxt of 29 bytes>
        >>> for remark in RobotsTxt.parse(b"User-agent: *\nDisallow /cart").remarks:
        ...     print(remark)
        line 2: no colon after "Disallow"

        Args:
            body: the bytes of the file, without content coding.
            max_bytes: the rest of `body` is ignored. The default is Google's limit, 500 KiB; None
                means no limit.
            cut: whether the server sent more bytes than `body` has.

        Raises:
            TypeError: `body` is not bytes.
        """
        if not isinstance(body, (bytes, bytearray, memoryview)):
            raise TypeError(f"a robots.txt is bytes, not {type(body).__name__}")
        raw = body if isinstance(body, bytes) else bytes(body)
        if max_bytes is None or len(raw) <= max_bytes:
            return cls(raw, cut)
        return cls(raw[:max_bytes], True)

    def allowed(self, url: str | bytes, user_agent: str | bytes | UserAgent) -> bool:
        r"""Return whether a crawler may fetch `url`.

        The result is the `allowed` of `verdict`, but this method is faster. For the arguments see
        `verdict`.

        >>> from scrapy_gbot_robots import RobotsTxt
        >>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /*.pdf$")
        >>> robots.allowed("https://example.com/a.pdf", "mybot")
        False
        >>> robots.allowed("https://example.com/a.pdf?page=2", "mybot")
        True
        """
        try:
            rules = self._rules[user_agent]
        except KeyError:
            rules = self.rules_for(user_agent)
        return rules.allowed(url)

    def verdict(self, url: str | bytes, user_agent: str | bytes | UserAgent) -> Verdict:
        r"""Return whether a crawler may fetch `url`, and the rule that decides.

        >>> from scrapy_gbot_robots import RobotsTxt, UserAgent
        >>> robots = RobotsTxt.parse(b"User-agent: *\nDisallow: /cart\nAllow: /cart/help")
        >>> verdict = robots.verdict("https://shop.example/cart/7", "mybot/1.0 (+https://a.example)")
        >>> verdict.allowed, verdict.rule
        (False, Rule(allow=False, pattern='/cart', line=2))
        >>> print(verdict)
        disallowed by "Disallow: /cart" (line 2, group "*")
        >>> print(robots.verdict("/cart/help/faq", UserAgent.of("Googlebot-Image")))
        allowed by "Allow: /cart/help" (line 3, group "*")

        Args:
            url: a URL or a path. Only its path and query are compared with the rules, as written.
            user_agent: a product token or a User-Agent header, or a `UserAgent`. A token or a
                header as text means the groups of its one token, and of "*" if no group names the
                token (RFC 9309 2.2.1). Text without a token, such as " ", means the groups of "*".
                A `UserAgent` falls back from token to token, and last to "*".

        Raises:
            TypeError: `url` or `user_agent` has another type.
        """
        return self.rules_for(user_agent).verdict(url)

    def rules_for(self, user_agent: str | bytes | UserAgent) -> Rules:
        r"""Return the merged rules that a crawler follows.

        A caller with many URLs for one crawler can ask the rules directly. The rules do not keep
        this object in memory. `user_agent` is as for `verdict`.

        >>> from scrapy_gbot_robots import RobotsTxt
        >>> robots = RobotsTxt.parse(b"User-agent: mybot\nCrawl-delay: 2\nDisallow: /cart")
        >>> rules = robots.rules_for("mybot")
        >>> rules.allowed("https://shop.example/cart/7"), rules.crawl_delay
        (False, 2.0)
        """
        rules = self._rules.get(user_agent)
        if rules is None:
            if len(self._rules) >= _MOST_AGENTS:
                self._rules.clear()
            rules = scan(self._body, agents_heeded(user_agent))
            self._rules[user_agent] = rules
        return rules

    def crawl_delay(self, user_agent: str | bytes | UserAgent) -> float | None:
        """Return the crawl delay for a crawler, in seconds; None if there is none.

        Google ignores this field. `user_agent` is as for `verdict`.
        """
        return self.rules_for(user_agent).crawl_delay

    def preferences(self, url: str | bytes, user_agent: str | bytes | UserAgent) -> Preferences:
        """Return the site's preferences about the use of the content of `url`.

        They come from the `Content-Usage` and `Content-Signal` lines of the crawler's group, and
        from `Content-Signal` lines before the first group. A URL that is disallowed has no
        preferences. Experimental: both fields are drafts. The arguments are as for `verdict`.
        """
        return preferences_of(self.rules_for(user_agent), url)

    def fields(self, name: str) -> tuple[FieldLine, ...]:
        """Return all lines of the field `name` in file order, with the user agents of their groups.

        The case of `name` does not matter. For the field `Content-Usage`, not only a rule but also
        a line of this field ends the run of user-agent lines above it.
        """
        key = name.lower().encode("utf-8", "replace")
        matching: list[tuple[Line, Group]] = []
        for line, group in _with_groups(self, ended_by_usage=key == _USAGE):
            if line.key.lower() == key and line.flags & HAS_DIRECTIVE:
                matching.append((line, group))
        # Lines of one group share a tuple, because a group may have thousands of user agents.
        groups = {id(group): group for _, group in matching}
        user_agents = {identity: tuple(group.user_agents) for identity, group in groups.items()}
        lines: list[FieldLine] = []
        for line, group in matching:
            value = line.value.decode("utf-8", "replace")
            lines.append(FieldLine(line.number, value, user_agents[id(group)]))
        return tuple(lines)

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """Everything odd in single lines, in file order.

        The command `lint` finds more, because it also compares lines with each other.
        """
        from .remarks import remarks_on  # noqa: PLC0415 - a crawl never asks for this

        return tuple(remarks_on(lines_of(self), self._body, cut=self._cut))

    @property
    def sitemaps(self) -> tuple[str, ...]:
        r"""The absolute http, https and ftp URLs of the sitemap lines, in file order, each once.

        >>> from scrapy_gbot_robots import RobotsTxt
        >>> RobotsTxt.parse(b"Sitemap: https://example.com/a.xml\nSitemap: /b.xml").sitemaps
        ('https://example.com/a.xml',)
        """
        urls = (sitemap.url for sitemap in sitemap_lines_of(self) if sitemap.url is not None)
        return tuple(dict.fromkeys(urls))


# Functions for the plugin, which users of `RobotsTxt` do not need.


def lines_of(robotstxt: RobotsTxt) -> list[Line]:
    """Return all lines; kind, flags, key and value are as in the line report of Google's parser."""
    return list(read_lines(robotstxt._body))  # noqa: SLF001


def groups_of(robotstxt: RobotsTxt) -> list[Group]:
    """Return the groups in file order. Groups for the same user agent are not merged."""
    groups = {id(group): group for _, group in _with_groups(robotstxt) if group.user_agents}
    return list(groups.values())


def _with_groups(
    robotstxt: RobotsTxt, *, ended_by_usage: bool = False
) -> Iterator[tuple[Line, Group]]:
    """Yield each line with its group. Later lines may still add to that group.

    Lines before the first user-agent line have a group without user agents, and rules there are
    ignored (RFC 9309 2.2.2). The groups are Google's groups, unless `ended_by_usage` is true. With
    it, `Content-Usage` lines also end a run of user-agent lines (draft-ietf-aipref-attach-05, 3).
    """
    group = Group({}, [])
    has_usage = False
    for line in read_lines(robotstxt._body):  # noqa: SLF001
        if line.kind == USER_AGENT:
            if group.rules or has_usage or not group.user_agents:
                group = Group({}, [])
                has_usage = False
            group.user_agents.setdefault(agent_of(line.value).decode("ascii"), line.number)
        elif group.user_agents and line.kind in {ALLOW, DISALLOW}:
            pattern = line.value.decode("ascii")
            group.rules.append(Rule(line.kind == ALLOW, pattern, line.number))
        elif ended_by_usage and line.key.lower() == _USAGE:
            has_usage = has_usage or not line.flags & MISSING_COLON
        yield line, group


def groups_by_agent(groups: Iterable[Group]) -> dict[str, tuple[int, ...]]:
    """Return, for each user agent, the numbers of its groups, which are merged (RFC 9309 2.2.1)."""
    named: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        for user_agent in filter(None, group.user_agents):
            named.setdefault(user_agent, []).append(number)
    return {user_agent: tuple(numbers) for user_agent, numbers in named.items()}


def every_group_of(robotstxt: RobotsTxt) -> EveryGroup:
    """Read the rules of all user agents at once.

    For many user agents this is faster than `rules_for` for each.
    """
    return EveryGroup(robotstxt._body)  # noqa: SLF001


def may_list_sitemaps(robotstxt: RobotsTxt) -> bool:
    """Return whether there may be sitemap lines.

    False is certain, because the file does not contain the beginning of the field's name.
    """
    return _BEGIN in robotstxt._body.lower()  # noqa: SLF001


def sitemap_lines_of(robotstxt: RobotsTxt) -> list[SitemapLine]:
    """Return all sitemap lines in file order, including malformed ones.

    Sitemap lines do not belong to a group (Google's page).
    """
    sitemaps: list[SitemapLine] = []
    number = 0
    for block in content_blocks(robotstxt._body):  # noqa: SLF001
        if _BEGIN not in block.lower():
            number += block.count(b"\n")
            continue
        for text in block.splitlines():
            number += 1
            if text.lstrip()[: len(_BEGIN)].lower() == _BEGIN:
                line = read_line(number, text)
                if line.kind == SITEMAP:
                    sitemaps.append(SitemapLine(number, sitemap_url(line.value), line.value))
    return sitemaps


def is_cut(robotstxt: RobotsTxt) -> bool:
    """Return whether the server sent more bytes than were parsed."""
    return robotstxt._cut  # noqa: SLF001 - as above


def size_of(robotstxt: RobotsTxt) -> int:
    """Return how many bytes were parsed.

    A caller can tell from this number whether reading the lines takes long.
    """
    return len(robotstxt._body)  # noqa: SLF001 - as above
