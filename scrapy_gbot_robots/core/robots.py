"""Parse one robots.txt, and return its rules, verdicts, sitemaps and other lines.

A `RobotsTxt` reads the bytes in two ways. In a crawl it uses the fast way, which reads only the
rules of one crawler (crawler_groups.py, rules.py), or only the sitemap lines. The careful way reads
all lines (lines.py), and finds groups and remarks (remarks.py). Both ways must give the same rules
and sitemaps.

A group consists of user-agent lines, and the rules after them. Only an allow or disallow line ends
the user-agent lines. A blank line, a sitemap line, or a line that is unknown or cannot be read does
not end them. Groups that name the same user agent are merged later. The group of "*" is never
merged with the group of another user agent. Sitemap lines do not belong to a group.

A part of the file is read only when a caller asks for it. Any bytes are valid. Anything odd in the
file, such as a misspelt field, becomes a remark.

The sources are RFC 9309 2.2.1, Google's page ("Grouping of lines and rules", "Order of precedence
for user agents", "sitemap") and sitemaps.org. For questions that these sources leave open, Google's
parser is the source.
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

_MOST_AGENTS = 100  # A `RobotsTxt` keeps the rules of at most this many user agents at a time.
_USAGE = b"content-usage"  # the name of a field, in lower case
_BEGIN = b"site"  # All accepted spellings of "sitemap" begin with this.


class Group(NamedTuple):
    """A group of a robots.txt, which consists of user agents and their rules.

    Attributes:
        user_agents: the user agents, each with the number of the first line that names it. A user
            agent is a product token in lower case, or "*".
        rules: the rules in file order.
    """

    user_agents: dict[str, int]
    rules: list[Rule]


class FieldLine(NamedTuple):
    """A line whose field has the name that a caller gave to `RobotsTxt.fields`.

    Attributes:
        line: the line number, from 1.
        value: the value as text. Bytes that are not UTF-8 are replaced by U+FFFD.
        user_agents: the user agents of the line's group, which are product tokens in lower case, or
            "*"; () if the line is before the first group.
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
    r"""A parsed robots.txt. `RobotsTxt.parse` makes one from the bytes of a file.

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
        # Whether the file has more bytes than `body`. These further bytes are ignored (Google's
        # page, "File format").
        self._cut = cut

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only the bytes, because the rules can be read from the bytes again."""
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
        r"""Parse the bytes of a robots.txt. Any bytes are valid.

        >>> from scrapy_gbot_robots import RobotsTxt
        >>> RobotsTxt.parse(b"User-agent: *\nDisallow: /cart")
        <RobotsTxt of 29 bytes>
        >>> for remark in RobotsTxt.parse(b"User-agent: *\nDisallow /cart").remarks:
        ...     print(remark)
        line 2: no colon after "Disallow"

        Args:
            body: the bytes of the file, without content coding.
            max_bytes: the limit on the size of the file. The bytes of `body` after this limit are
                ignored. The default is Google's limit, 500 KiB; None means that there is no limit.
            cut: whether the server sent more bytes than `body` contains.

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

        The result is the same as `verdict(url, user_agent).allowed`, but this method is faster. The
        arguments are explained in `verdict`.

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
            user_agent: a product token, a User-Agent header or a `UserAgent`. For a token or a
                header, the crawler follows the groups of this token, or the groups of "*" if no
                group names the token (RFC 9309 2.2.1). For a string without a token, such as " ",
                the crawler follows the groups of "*". For a `UserAgent`, the tokens are tried one
                after the other, and "*" is tried last.

        Raises:
            TypeError: `url` or `user_agent` has a wrong type.
        """
        return self.rules_for(user_agent).verdict(url)

    def rules_for(self, user_agent: str | bytes | UserAgent) -> Rules:
        r"""Return the merged rules that a crawler follows.

        To judge many URLs for one crawler, call this method once, and then `Rules.allowed` for each
        URL. This is faster than `RobotsTxt.allowed`, and you need not keep the `RobotsTxt` in
        memory. `user_agent` is explained in `verdict`.

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

        Google ignores crawl delays. `user_agent` is explained in `verdict`.
        """
        return self.rules_for(user_agent).crawl_delay

    def preferences(self, url: str | bytes, user_agent: str | bytes | UserAgent) -> Preferences:
        """Return the site's preferences about the use of the content of `url`.

        The preferences come from the `Content-Usage` and `Content-Signal` lines of the crawler's
        group, and from the `Content-Signal` lines before the first group. If `url` is disallowed,
        there are no preferences. This method is experimental, because the specifications of both
        fields are drafts. The arguments are explained in `verdict`.
        """
        return preferences_of(self.rules_for(user_agent), url)

    def fields(self, name: str) -> tuple[FieldLine, ...]:
        """Return all lines whose field is `name`, in file order, with the user agents of each line.

        The case of `name` does not matter. The user agents of a line are all user agents of its
        group. User-agent lines belong to the same group if no rule stands between them. But if
        `name` is "Content-Usage", a `Content-Usage` line between user-agent lines also separates
        two groups.
        """
        key = name.lower().encode("utf-8", "replace")
        matching: list[tuple[Line, Group]] = []
        for line, group in _with_groups(self, ended_by_usage=key == _USAGE):
            if line.key.lower() == key and line.flags & HAS_DIRECTIVE:
                matching.append((line, group))
        # A group may have thousands of user agents, so all lines of a group share one tuple of user
        # agents.
        groups = {id(group): group for _, group in matching}
        user_agents = {identity: tuple(group.user_agents) for identity, group in groups.items()}
        lines: list[FieldLine] = []
        for line, group in matching:
            value = line.value.decode("utf-8", "replace")
            lines.append(FieldLine(line.number, value, user_agents[id(group)]))
        return tuple(lines)

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """The findings about single lines, such as a misspelt field, in file order.

        The command `lint` reports more findings, because it also compares the lines with one
        another.
        """
        from .remarks import remarks_on  # noqa: PLC0415 - a crawl does not need the module

        return tuple(remarks_on(lines_of(self), self._body, cut=self._cut))

    @property
    def sitemaps(self) -> tuple[str, ...]:
        r"""The URLs of the sitemap lines in file order, without duplicates.

        Only absolute http, https and ftp URLs are included.

        >>> from scrapy_gbot_robots import RobotsTxt
        >>> RobotsTxt.parse(b"Sitemap: https://example.com/a.xml\nSitemap: /b.xml").sitemaps
        ('https://example.com/a.xml',)
        """
        urls = (sitemap.url for sitemap in sitemap_lines_of(self) if sitemap.url is not None)
        return tuple(dict.fromkeys(urls))


# The rest of the package calls the following functions. Users of `RobotsTxt` do not need them.


def lines_of(robotstxt: RobotsTxt) -> list[Line]:
    """Return all lines of the file, as Google's parser reads them."""
    return list(read_lines(robotstxt._body))  # noqa: SLF001


def groups_of(robotstxt: RobotsTxt) -> list[Group]:
    """Return the groups in file order. Groups for the same user agent are not merged."""
    groups = {id(group): group for _, group in _with_groups(robotstxt) if group.user_agents}
    return list(groups.values())


def _with_groups(
    robotstxt: RobotsTxt, *, ended_by_usage: bool = False
) -> Iterator[tuple[Line, Group]]:
    """Yield each line with its group. Later lines may add user agents and rules to this group.

    Lines before the first user-agent line are in a group without user agents. Rules among these
    lines are ignored (RFC 9309 2.2.2). As in Google's parser, only a rule ends the user-agent lines
    of a group. If `ended_by_usage` is true, a `Content-Usage` line also ends them
    (draft-ietf-aipref-attach-05, 3).
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
    """Return, for each user agent, the indexes in `groups` of the groups that name it.

    Groups for the same user agent are merged later (RFC 9309 2.2.1).
    """
    named: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        for user_agent in filter(None, group.user_agents):
            named.setdefault(user_agent, []).append(number)
    return {user_agent: tuple(numbers) for user_agent, numbers in named.items()}


def every_group_of(robotstxt: RobotsTxt) -> EveryGroup:
    """Return the groups of all user agents as an `EveryGroup` object.

    For many user agents, this is faster than calling `rules_for` for each of them.
    """
    return EveryGroup(robotstxt._body)  # noqa: SLF001


def may_list_sitemaps(robotstxt: RobotsTxt) -> bool:
    """Return whether a robots.txt may contain sitemap lines.

    The check is fast, because it only searches the file for the beginning of the field name.
    """
    return _BEGIN in robotstxt._body.lower()  # noqa: SLF001


def sitemap_lines_of(robotstxt: RobotsTxt) -> list[SitemapLine]:
    """Return all sitemap lines in file order, including lines without a valid URL.

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
    """Return whether the server sent more bytes than the parser read."""
    return robotstxt._cut  # noqa: SLF001 - as above


def size_of(robotstxt: RobotsTxt) -> int:
    """Return the number of bytes that the parser read.

    With this number, a caller can estimate how long it takes to read the lines.
    """
    return len(robotstxt._body)  # noqa: SLF001 - as above
