"""RobotsTxt: one robots.txt, ready to be asked; its groups, sitemaps and other lines.

There are two ways through a body. The fast way is for crawls: bytes -> one crawler's rules
(crawler_groups.py, rules.py) -> Verdict, and bytes -> sitemaps. The careful way tells all there is
to know, and is the specification of the fast one: bytes -> lines (lines.py) -> groups, and remarks
(remarks.py).

A group is a run of user-agent lines and the rules after it. Only allow and disallow lines end the
run: blank, sitemap, unknown and unreadable lines do not. Groups that name the same agent are merged
later; a named group and that of "*" never are. Sitemap lines belong to no group.

Nothing is read before it is asked for. No bytes raise: anything odd becomes a remark.
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

_MOST_AGENTS = 100  # whose rules are kept at a time
_USAGE = b"content-usage"
_BEGIN = b"site"  # of all names of the field


class Group(NamedTuple):
    """User agents and the rules that they share.

    Attributes:
        agents: product tokens in lower case, or "*", each with the line that first names it.
        rules: in file order.
    """

    user_agents: dict[str, int]
    rules: list[Rule]


class FieldLine(NamedTuple):
    """A line of any field.

    Attributes:
        line: its number, from 1.
        value: as text.
        agents: the agents of its group, product tokens in lower case or "*"; () before any group.
    """

    line: int
    value: str
    user_agents: tuple[str, ...]


class SitemapLine(NamedTuple):
    """A sitemap line.

    Attributes:
        line: its number, from 1.
        url: its URL, None if that is not one absolute http, https or ftp URL.
        raw: the bytes of its value.
    """

    line: int
    url: str | None
    raw: bytes


class RobotsTxt:
    """What a robots.txt says, to any crawler."""

    __slots__ = ("_body", "_cut", "_rules")

    def __init__(self, body: bytes, cut: bool) -> None:
        self._body = body
        self._rules: dict[str | bytes | UserAgent, Rules] = {}
        # whether bytes past the size limit were left out (Google's page, "File format")
        self._cut = cut

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the bytes only: everything else can be read from them again."""
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
        """Take the bytes of a robots.txt, whatever they are.

        Args:
            body: the bytes.
            max_bytes: the rest of `body` is ignored (Google's page: 500 KiB); None means no limit.
            cut: whether more was served than `body`.

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
        """Return whether the crawler may fetch `url`.

        This is the answer of `verdict` without its reason, and faster.
        """
        try:
            rules = self._rules[user_agent]
        except KeyError:
            rules = self.rules_for(user_agent)
        return rules.allowed(url)

    def verdict(self, url: str | bytes, user_agent: str | bytes | UserAgent) -> Verdict:
        """Return whether the crawler may fetch `url`, and the rule that decides.

        A product token, or a whole User-Agent header, means this one token and then "*" (RFC 9309
        2.2.1); if it has no token, as " ", it means "*" alone. A `UserAgent` falls back from token
        to
        token, then to "*". Only the path of `url` counts, in the form in which it is written.
        """
        return self.rules_for(user_agent).verdict(url)

    def rules_for(self, user_agent: str | bytes | UserAgent) -> Rules:
        """Return the merged rules that the crawler follows. They do not keep this object alive."""
        rules = self._rules.get(user_agent)
        if rules is None:
            if len(self._rules) >= _MOST_AGENTS:
                self._rules.clear()
            rules = scan(self._body, agents_heeded(user_agent))
            self._rules[user_agent] = rules
        return rules

    def crawl_delay(self, user_agent: str | bytes | UserAgent) -> float | None:
        """Return the crawl delay in seconds for the crawler, None if there is none.

        Google ignores this field.
        """
        return self.rules_for(user_agent).crawl_delay

    def preferences(self, url: str | bytes, user_agent: str | bytes | UserAgent) -> Preferences:
        """Return what the site says about the use of the content of `url`.

        `Content-Usage` and `Content-Signal` lines say it. The lines of the crawler's group count,
        and `Content-Signal` lines before any group. A URL that is disallowed has no preference.
        Experimental: both fields are drafts.
        """
        return preferences_of(self.rules_for(user_agent), url)

    def fields(self, name: str) -> tuple[FieldLine, ...]:
        """Return all lines of the field `name` in file order, each with the agents of its group.

        Case does not matter. For the agents of a `Content-Usage` line, such a line ends the
        user-agent lines above it as a rule does.
        """
        key = name.lower().encode("utf-8", "replace")
        matching: list[tuple[Line, Group]] = []
        for line, group in _with_groups(self, ended_by_usage=key == _USAGE):
            if line.key.lower() == key and line.flags & HAS_DIRECTIVE:
                matching.append((line, group))
        # Each group may have thousands of agents, which many lines share.
        groups = {id(group): group for _, group in matching}
        user_agents = {identity: tuple(group.user_agents) for identity, group in groups.items()}
        lines: list[FieldLine] = []
        for line, group in matching:
            value = line.value.decode("utf-8", "replace")
            lines.append(FieldLine(line.number, value, user_agents[id(group)]))
        return tuple(lines)

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """What is odd about single lines, in file order: level, line, kind and text of each.

        `lint` finds more: it compares lines.
        """
        from .remarks import remarks_on  # noqa: PLC0415 - a crawl never asks for this

        return tuple(remarks_on(lines_of(self), self._body, cut=self._cut))

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The absolute http, https and ftp URLs of the sitemap lines, in file order, each once."""
        urls = (sitemap.url for sitemap in sitemap_lines_of(self) if sitemap.url is not None)
        return tuple(dict.fromkeys(urls))


# What the plugin needs to know of a robots.txt, and no user of `RobotsTxt`.


def lines_of(robotstxt: RobotsTxt) -> list[Line]:
    """Return all lines, as in the line report of Google's parser: kind, flags, key and value."""
    return list(read_lines(robotstxt._body))  # noqa: SLF001


def groups_of(robotstxt: RobotsTxt) -> list[Group]:
    """Return the groups in file order, before groups for the same agent are merged."""
    groups = {id(group): group for _, group in _with_groups(robotstxt) if group.user_agents}
    return list(groups.values())


def _with_groups(
    robotstxt: RobotsTxt, *, ended_by_usage: bool = False
) -> Iterator[tuple[Line, Group]]:
    """Yield each line with its group, which later lines may add to.

    Lines before the first user-agent line have a group without agents. Rules there are in no group
    (RFC 9309 2.2.2). If user-agent lines are `ended_by_usage`, `Content-Usage` lines end them, too
    (draft-ietf-aipref-attach-05, 3); else Google's grouping is given.
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
    """Return the numbers of the groups that are merged for each agent (RFC 9309 2.2.1)."""
    named: dict[str, list[int]] = {}
    for number, group in enumerate(groups):
        for user_agent in filter(None, group.user_agents):
            named.setdefault(user_agent, []).append(number)
    return {user_agent: tuple(numbers) for user_agent, numbers in named.items()}


def every_group_of(robotstxt: RobotsTxt) -> EveryGroup:
    """Read the rules of all agents at once. This is faster than `rules_for` each of many agents."""
    return EveryGroup(robotstxt._body)  # noqa: SLF001


def may_list_sitemaps(robotstxt: RobotsTxt) -> bool:
    """Return whether there may be sitemap lines.

    False is certain: the word that begins one is nowhere in the file.
    """
    return _BEGIN in robotstxt._body.lower()  # noqa: SLF001


def sitemap_lines_of(robotstxt: RobotsTxt) -> list[SitemapLine]:
    """Return all sitemap lines in file order, also malformed ones.

    They belong to no group (Google's page).
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
    """Return whether more was served than was parsed."""
    return robotstxt._cut  # noqa: SLF001 - as above


def size_of(robotstxt: RobotsTxt) -> int:
    """Return how many bytes were parsed.

    By that, a caller knows whether reading the lines takes long.
    """
    return len(robotstxt._body)  # noqa: SLF001 - as above
