"""Describe, for people, the crawler that a user names and the group that this crawler follows.

A user of the commands names a crawler, for example with `--as Googlebot`, and asks whether it may
fetch a URL. The answer is a verdict. verdict.py describes the verdict in words. This module
describes which crawler the user named, whether its product token is only a part of the name, and
which group the crawler follows and why. It also checks the URLs that the user gives. The command
and the "Try it" page of the documentation show the same texts.

This module does not fetch anything, and does not read settings. Its sources are RFC 9309 2.2.1
(product tokens, groups) and 2.2.2 (the URL of a robots.txt), and Google's page ("Order of
precedence for user agents").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

from .crawlers import UserAgent, agents_heeded, cut_token, is_browser_like
from .known_crawlers import did_you_mean, did_you_misspell, is_known, well_known
from .lines import as_written, split_lines
from .robots import RobotsTxt, groups_of
from .urls import ROBOTS_PATH, Origin, origin_of_robots_txt, shown
from .verdict import IGNORES_ROBOTS, ROBOTS_TXT_ITSELF, Verdict

NAMED = "--as"  # Users of the command name crawlers with this option.
NOBODY = ""  # This is the `source` if the user has not named a crawler.
_RULE = ': a product token has letters, "-" and "_" only'  # the end of an error message


class NamedUserAgent(NamedTuple):
    """A crawler, and the place where the user named it.

    Attributes:
        crawler: the crawler.
        source: where the user named the crawler. This is the option "--as" or the name of a
            setting. It is `NOBODY` if the user has not named a crawler.
        text: the name as the user wrote it in the option or the setting.
    """

    crawler: UserAgent
    source: str
    text: str

    @classmethod
    def of(cls, name: str, source: str) -> NamedUserAgent:
        """Return the crawler that a product token or a User-Agent header names.

        If `name` is "*", the result is a crawler without a token, which follows the groups of "*".
        A well-known crawler gets the tokens that its operator documents. If a name contains a
        digit, only the part before the digit is the token, as in a robots.txt.

        Raises:
            ValueError: `name` has no product token, or the token is only a part of the name. A name
                that continues with a digit, such as "MJ12bot", is accepted.
        """
        crawler, cut = UserAgent.of(name), cut_token(name)
        problem = "does not name a crawler"
        if cut is not None:
            problem = f'is not the name of a crawler, because it would be read as "{cut}"'
        is_cut = cut is not None and not name.partition(cut)[2][:1].isdigit()
        if is_cut or not (crawler.name or name == "*"):
            raise ValueError(f'"{shown(name)}" {problem}{did_you_mean(name) or _RULE}')
        return cls(well_known(name) or crawler, source, name)

    def __str__(self) -> str:
        """Return the name of the crawler, and where the name comes from.

        For example, the result is 'mybot, from USER_AGENT "mybot/1.0"'. The source is left out if
        it is "--as", and the text is left out if it is equal to the name.
        """
        if self.source == NOBODY:
            return f"{self.name} (any crawler that no group names; {NAMED} Googlebot asks for one)"
        if self.text != self.name:
            return f'{self.name}, from {self.source} "{self.text}"'
        if self.source == NAMED:
            return self.name
        return f"{self.name}, from {self.source}"

    @property
    def name(self) -> str:
        """The crawler's name; "*" if the crawler has no name."""
        return self.crawler.name or "*"

    @property
    def as_typed(self) -> str:
        """The crawler's name in the spelling of `text`, which may be a whole header."""
        name = self.name
        if name == "*" or not (set("/( \t") & set(self.text)):
            return self.text
        at = self.text.lower().find(name.lower())
        if at < 0:
            return name
        return self.text[at : at + len(name)]


def names_in(text: str) -> list[str]:
    """Split a string that contains names of crawlers with commas between them.

    A string with an opening parenthesis is one User-Agent header, even if it contains commas.
    """
    if "(" in text:
        return [text.strip()]
    return [name.strip() for name in text.split(",")]


def hints_on(names: Iterable[str]) -> Iterator[str]:
    """Yield a hint for each unknown name that probably means a known crawler."""
    for name in names:
        hint = did_you_mean(name) or did_you_misspell(name)
        if hint:
            yield f'no known crawler is called "{name}"{hint}'


def problem_of(user_agent: str) -> str:
    """Describe what is wrong with the User-Agent header of a crawl; return "" if nothing is.

    The text is the end of a log line that begins with the header.
    """
    crawler = UserAgent.of(user_agent)
    name = crawler.name
    cut = cut_token(user_agent)
    if not agents_heeded(crawler):
        return f"names {name}, which ignores robots.txt, so this crawl obeys no rules"
    if cut is not None:
        return f'is read as "{cut}", because a product token has letters, "-" and "_" only'
    if not name or is_browser_like(user_agent):
        reason = ""
        if user_agent.lstrip()[:1].isdigit():
            reason = ' (a name begins with a letter, "-" or "_")'
        return f"does not name your crawler{reason}, so no robots.txt can address this crawl"
    if is_known(name):
        return (
            f"names a well-known crawler, so this crawl obeys the rules for {name} "
            f"(if you mean that, set GBOT_ROBOTS_USER_AGENTS = [{name!r}])"
        )
    return ""


def checked_url(text: str, *, has_robots: bool) -> str:
    """Return `text` if it is a URL or path that can be judged.

    An absolute URL can always be judged. A path, such as "/a", can be judged only if `has_robots`
    is true, which means that the user also gives a robots.txt.

    Raises:
        ValueError: `text` cannot be judged, or it is a URL without an origin.
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
    """Return the verdict on a URL or path. The URL of a robots.txt is never disallowed."""
    if url == ROBOTS_PATH or origin_of_robots_txt(url) is not None:
        return Verdict(True, None, ROBOTS_TXT_ITSELF)
    return robotstxt.verdict(url, crawler)


def group_line(robotstxt: RobotsTxt, verdict: Verdict) -> int | None:
    """Return the number of the line that names the user agent of a verdict; None if no line does.

    The user agent is `verdict.group`. If several groups for it are merged, the line is in the group
    with the deciding rule.
    """
    user_agent, rule = verdict.group, verdict.rule
    if user_agent is None:
        return None
    for group in groups_of(robotstxt):
        if user_agent in group.user_agents and (rule is None or rule in group.rules):
            return group.user_agents[user_agent]
    return None


def group_in_words(
    crawler: UserAgent, group: str | None, line: int | None, body: bytes = b""
) -> str:
    """Describe, for people, which group a crawler follows and why.

    Args:
        crawler: the crawler.
        group: the user agent of the group, in lower case; None if the crawler follows no group.
        line: the number of the user-agent line of the group.
        body: the robots.txt. In the result, the user agent is spelt as in this file. If `body` is
            empty, the user agent is in lower case.
    """
    heeded = [*crawler.tokens]
    if crawler.heeds_global:
        heeded.append("*")
    if not heeded:
        return f"none: {IGNORES_ROBOTS}"
    unnamed = " or ".join(
        _as_known(token, crawler)
        for token in takewhile(lambda token: token.lower() != group, heeded)
    )
    if group is None:
        ignored = "" if crawler.heeds_global else "; it ignores *"
        return f"none: no group names {unnamed}{ignored}"
    why = f"no group names {unnamed}" if unnamed else "it names the crawler"
    if body and line is not None:
        spelt = as_written(split_lines(body)[line - 1])[: len(group)].decode("ascii", "replace")
        if spelt.lower() == group:
            group = spelt
    return f'"{group}" (line {line}): {why}'


def _as_known(token: str, crawler: UserAgent) -> str:
    """Return a token of `crawler` as human-readable text.

    If the crawler's name continues with a digit after the token, the string contains the name and
    the token, as in "MJ12bot (read as MJ)".
    """
    rest = crawler.name.removeprefix(token)
    if rest != crawler.name and rest[:1].isdigit():
        return f"{crawler.name} (read as {token})"
    return token
