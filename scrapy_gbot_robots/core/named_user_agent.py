"""Who asks a robots.txt, which group each of them heeds and why, in the words that people read.

A verdict has its own words (verdict.py). Here are the words around it: how a crawler was named,
what counts of that name, which group it heeds, and which texts can be asked about. The command and
the "Try it" page of the documentation show the same words.

Boundary: nothing is fetched, and no settings are read. The command adds what a crawl knows.
Source: RFC 9309 2.2.1 (product tokens, groups) and 2.2.2 (a robots.txt itself); Google's page
("Order of precedence for user agents").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

from .crawlers import UserAgent, agents_heeded, cut_token, is_browser_like
from .known_crawlers import did_you_mean, is_known, well_known
from .robots import RobotsTxt, groups_of
from .urls import ROBOTS_PATH, Origin, origin_of_robots_txt, shown
from .verdict import IGNORES_ROBOTS, ROBOTS_TXT_ITSELF, Verdict

NAMED = "--as"  # the option of the command that names crawlers
NOBODY = ""  # the source of a crawler that nobody has named
_RULE = ': a product token has letters, "-" and "_" only'


class NamedUserAgent(NamedTuple):
    """The crawler for which somebody asks."""

    crawler: UserAgent
    source: str  # where it was named: "--as", the name of a setting, or NOBODY
    text: str  # there

    @classmethod
    def of(cls, name: str, source: str) -> NamedUserAgent:
        """Take the crawler of a product token or User-Agent header; "*" is one that no group names.

        A well-known crawler falls back as its operator says. A name counts up to a digit in it, as
        in a robots.txt.

        Raises:
            ValueError: `name` has no product token, or only begins with one.
        """
        crawler, cut = UserAgent.of(name), cut_token(name)
        problem = "names no crawler"
        if cut is not None:
            problem = f'is no name of a crawler: it would be read as "{cut}"'
        is_cut = cut is not None and not name.partition(cut)[2][:1].isdigit()
        if is_cut or not (crawler.name or name == "*"):
            raise ValueError(f'"{shown(name)}" {problem}{did_you_mean(name) or _RULE}')
        return cls(well_known(name) or crawler, source, name)

    def __str__(self) -> str:
        """Return the name, with its source and text unless these say nothing more."""
        if self.source == NOBODY:
            return f"{self.name} (any crawler that no group names; {NAMED} Googlebot asks for one)"
        if self.text != self.name:
            return f'{self.name}, from {self.source} "{self.text}"'
        if self.source == NAMED:
            return self.name
        return f"{self.name}, from {self.source}"

    @property
    def name(self) -> str:
        """The crawler's name; "*" if it has none."""
        return self.crawler.name or "*"

    @property
    def as_typed(self) -> str:
        """The name as it was written; of a header, the crawler's name in it as it was written."""
        name = self.name
        if name == "*" or not (set("/( \t") & set(self.text)):
            return self.text
        at = self.text.lower().find(name.lower())
        if at < 0:
            return name
        return self.text[at : at + len(name)]


def names_in(text: str) -> list[str]:
    """Return the names of crawlers in a text, parted by commas.

    A text with a parenthesis is one User-Agent header.
    """
    if "(" in text:
        return [text.strip()]
    return [name.strip() for name in text.split(",")]


def hints_on(names: Iterable[str]) -> Iterator[str]:
    """Yield a hint for each name that is nearly one of a known crawler."""
    for name in names:
        hint = did_you_mean(name)
        if hint:
            yield f'no known crawler is called "{name}"{hint}'


def problem_of(user_agent: str) -> str:
    """Return what is wrong with a User-Agent as that of one's own crawl; "" if nothing is."""
    crawler = UserAgent.of(user_agent)
    name = crawler.name
    cut = cut_token(user_agent)
    if not agents_heeded(crawler):
        return f"names {name}, which heeds no robots.txt, so this crawl obeys no rules"
    if cut is not None:
        return f'is read as "{cut}": a product token is letters, "-" and "_" only'
    if not name or is_browser_like(user_agent):
        return "names no crawler of yours, so that no robots.txt can address this crawl"
    if is_known(name):
        return (
            f"names a well-known crawler: the rules for {name} count "
            f"(if that is meant, set GBOT_ROBOTS_USER_AGENTS = [{name!r}])"
        )
    return ""


def checked_url(text: str, *, has_robots: bool) -> str:
    """Return a URL that can be judged: an absolute one or, if somebody `has_robots`, a path.

    Raises:
        ValueError: it is neither, or has no origin.
    """
    if has_robots and text.startswith("/"):
        return text
    if "://" not in text:
        wanted = (
            "an absolute URL, such as https://example.com/ "
            "(a path, and a robots.txt in a file, need --robots FILE)"
        )
        if has_robots:
            wanted = "an absolute URL, or a path such as /a"
        raise ValueError(f'"{text}" is not {wanted}')
    Origin.of(text)
    return text


def verdict_on(url: str, crawler: UserAgent, robotstxt: RobotsTxt) -> Verdict:
    """Return what a file says of a URL or path: a robots.txt itself is never disallowed."""
    if url == ROBOTS_PATH or origin_of_robots_txt(url) is not None:
        return Verdict(True, None, ROBOTS_TXT_ITSELF)
    return robotstxt.verdict(url, crawler)


def group_line(robotstxt: RobotsTxt, verdict: Verdict) -> int | None:
    """Return the number of the user-agent line whose group was used.

    Of several groups that are merged, it is the one with the deciding rule, if any.
    """
    user_agent, rule = verdict.group or "", verdict.rule
    for group in groups_of(robotstxt):
        if user_agent in group.user_agents and (rule is None or rule in group.rules):
            return group.user_agents[user_agent]
    return None


def group_in_words(crawler: UserAgent, group: str | None, line: int | None) -> str:
    """Return which group the crawler heeds, and why.

    `group` is the agent that names the group, `line` its user-agent line.
    """
    heeded = [*crawler.tokens]
    if crawler.heeds_global:
        heeded.append("*")
    if not heeded:
        return f"none: {IGNORES_ROBOTS}"
    unnamed = " or ".join(takewhile(lambda token: token.lower() != group, heeded))
    if group is None:
        ignored = "" if crawler.heeds_global else "; it ignores *"
        return f"none: no group names {unnamed}{ignored}"
    why = f"no group names {unnamed}" if unnamed else "it names the crawler"
    return f'"{group}" (line {line}): {why}'
