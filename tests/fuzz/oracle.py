"""What a robots.txt says, found the plain and slow way: each rule of the careful reader's groups, tried at every place.

Nothing of the fast reader, of matching or of the indexes is used, so that they can be compared with this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy_gbot_robots.core.agents import agents_heeded
from scrapy_gbot_robots.core.rules import (
    EMPTY_RULE,
    IGNORES_ROBOTS,
    INDEX_OF_DIRECTORY,
    MOST_SPECIFIC,
    NO_GROUP,
    NO_MATCH,
    Rule,
    Verdict,
)
from scrapy_gbot_robots.core.urls import path_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_gbot_robots import Crawler
    from scrapy_gbot_robots.core.groups import Group


class Followed(NamedTuple):
    """What a crawler follows: the token of its group, its crawl delay in seconds, and the merged rules in file order."""

    group: str | None
    delay: float | None
    rules: list[Rule]


def followed_by(groups: Sequence[Group], user_agent: str | bytes | Crawler) -> Followed:
    """What `user_agent` follows of the groups of a file (RFC 9309 2.2.1)."""
    for agent in agents_heeded(user_agent):
        merged = [group for group in groups if agent in group.agents]
        if merged:
            delay = next((group.delays[agent] for group in merged if agent in group.delays), None)
            return Followed(agent.decode("ascii"), delay, [rule for group in merged for rule in group.rules])
    return Followed(None, None, [])


def verdict_of(followed: Followed, url: str | bytes, user_agent: str | bytes | Crawler, strict: bool) -> Verdict:
    """The verdict on `url` (RFC 9309 2.2.2); `strict` as the groups were read."""
    if followed.group is None:
        return Verdict(True, None, NO_GROUP if agents_heeded(user_agent) else IGNORES_ROBOTS, None)
    return verdict_by(followed.rules, path_of(url), followed.group, strict)


def verdict_by(rules: Sequence[Rule], path: str, group: str = "*", strict: bool = False) -> Verdict:
    """The verdict of the merged rules of `group` on `path`."""
    found = [
        ((len(pattern), rule.allow, -rule.line), Verdict(rule.allow, rule, reason, group))
        for rule in rules
        for pattern, reason in _patterns_of(rule, strict)
        if does_match(pattern, path)
    ]
    if found:
        return max(found)[1]
    empty = min(
        (rule for rule in rules if not rule.pattern), key=lambda rule: (not rule.allow, rule.line), default=None
    )
    return Verdict(True, empty, EMPTY_RULE if empty else NO_MATCH, group)


def _patterns_of(rule: Rule, strict: bool) -> list[tuple[str, str]]:
    """The patterns that a rule stands for, and the reasons given; Google's parser adds a second one for index pages."""
    if not rule.pattern:
        return []
    directory, slash, page = rule.pattern.rpartition("/")
    if strict or not rule.allow or not slash or not page.startswith("index.htm"):
        return [(rule.pattern, MOST_SPECIFIC)]
    return [(rule.pattern, MOST_SPECIFIC), (f"{directory}/$", INDEX_OF_DIRECTORY)]


def does_match(pattern: str, path: str) -> bool:
    """Follow every place that a pattern may have come to in a path, as RFC 9309 2.2.3 reads."""
    places = {0}
    last = len(pattern) - 1
    for number, char in enumerate(pattern):
        if char == "*":
            places = set(range(min(places), len(path) + 1))
        elif char == "$" and number == last:
            return len(path) in places
        else:
            places = {place + 1 for place in places if path.startswith(char, place)}
        if not places:
            return False
    return True
