"""An oracle for verdicts, which is plain and slow. Tests compare the fast code with it.

The oracle tries each rule of each group, and each place of the path. It uses neither the fast
reader nor the matching and the index of the package.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scrapy_gbot_robots.core.lines import (
    ALLOW,
    DISALLOW,
    MISSING_COLON,
    UNUSED,
    USER_AGENT,
    Line,
    agent_of,
)
from scrapy_gbot_robots.core.robots import Group
from scrapy_gbot_robots.core.urls import path_of
from scrapy_gbot_robots.core.verdict import (
    EMPTY_RULE,
    IGNORES_ROBOTS,
    INDEX_OF_DIRECTORY,
    LEAST_RESTRICTIVE,
    MOST_SPECIFIC,
    NO_GROUP,
    NO_MATCH,
    Rule,
    Verdict,
)


class Followed(NamedTuple):
    """The groups that a crawler follows: their token, and their merged rules in file order."""

    group: str | None
    rules: list[Rule]


def followed_by(groups: Sequence[Group], user_agents: Sequence[bytes]) -> Followed:
    """Return what a crawler follows if it tries `user_agents` in this order (RFC 9309 2.2.1)."""
    for user_agent in user_agents:
        token = user_agent.decode("ascii")
        merged = [group for group in groups if token in group.user_agents]
        if merged:
            return Followed(token, [rule for group in merged for rule in group.rules])
    return Followed(None, [])


def agents_of_usage(lines: Iterable[Line]) -> dict[int, set[bytes]]:
    """Return the user agents to which each Content-Usage line applies, by line number.

    They are the user agents in the user-agent lines above it, up to the rule or Content-Usage line
    before them.
    """
    found: dict[int, set[bytes]] = {}
    named: set[bytes] = set()
    is_over = False
    for line in lines:
        if line.kind == USER_AGENT:
            named = (set() if is_over else named) | {agent_of(line.value)}
            is_over = False
        elif line.kind in {ALLOW, DISALLOW}:
            is_over = True
        elif line.key.lower() == b"content-usage" and not line.flags & MISSING_COLON:
            found[line.number] = named
            is_over = True
    return found


def lines_for(
    lines: Sequence[Line], user_agents: Sequence[bytes], fields: set[bytes]
) -> list[Line]:
    """Return the lines with `fields`, which Google ignores, for a crawler that tries `user_agents`.

    They are the lines below the crawler's name in its groups, and the Content-Signal lines before
    the first group.
    """
    usage = agents_of_usage(lines)
    before: list[Line] = []
    groups: list[dict[bytes, list[Line]]] = []
    has_rules = True
    for line in lines:
        key = line.key.lower()
        if line.kind == USER_AGENT:
            if has_rules:
                groups.append({})
                has_rules = False
            groups[-1].setdefault(agent_of(line.value), [])
        elif line.kind in {ALLOW, DISALLOW}:
            has_rules = has_rules or bool(groups)
        elif line.kind == UNUSED and key in fields:
            if not groups and key == b"content-signal":
                before.append(line)
            for agent, own in groups[-1].items() if groups else ():
                if key != b"content-usage" or agent in usage.get(line.number, ()):
                    own.append(line)
    return before + _own_lines(groups, user_agents)


def _own_lines(
    groups: Sequence[dict[bytes, list[Line]]], user_agents: Sequence[bytes]
) -> list[Line]:
    for user_agent in user_agents:
        followed = [group[user_agent] for group in groups if user_agent in group]
        if followed:
            return [line for own in followed for line in own]
    return []


def verdict_of(groups: Sequence[Group], url: str | bytes, user_agents: Sequence[bytes]) -> Verdict:
    """Return the verdict on `url` for a crawler that tries `user_agents` in this order."""
    followed = followed_by(groups, user_agents)
    if followed.group is None:
        return Verdict(True, None, NO_GROUP if user_agents else IGNORES_ROBOTS, None)
    return verdict_by(followed.rules, path_of(url), followed.group)


def verdict_by(rules: Sequence[Rule], path: str, group: str = "*") -> Verdict:
    """Return the verdict on `path` by `rules`, the merged rules of `group` (RFC 9309 2.2.2)."""
    found = [
        ((len(pattern), rule.allow, -rule.line), Verdict(rule.allow, rule, reason, group))
        for rule in rules
        for pattern, reason in _patterns_of(rule)
        if does_match(pattern, path)
    ]
    if found:
        (length, allow, _), verdict = max(found)
        against = [key for key, _ in found if key[0] == length and not key[1]]
        if allow and against and verdict.reason == MOST_SPECIFIC:
            return verdict._replace(reason=LEAST_RESTRICTIVE)
        return verdict
    empties = [rule for rule in rules if not rule.pattern]
    empty = min(empties, key=lambda rule: (not rule.allow, rule.line), default=None)
    return Verdict(True, empty, EMPTY_RULE if empty else NO_MATCH, group)


def _patterns_of(rule: Rule) -> list[tuple[str, str]]:
    """Return the patterns of a rule, each with its reason in a verdict.

    An allow rule for an index page also has the pattern of the directory.
    """
    if not rule.pattern:
        return []
    directory, slash, page = rule.pattern.rpartition("/")
    if not rule.allow or not slash or not page.startswith("index.htm"):
        return [(rule.pattern, MOST_SPECIFIC)]
    return [(rule.pattern, MOST_SPECIFIC), (f"{directory}/$", INDEX_OF_DIRECTORY)]


def does_match(pattern: str, path: str) -> bool:
    """Return whether `pattern` matches `path` (RFC 9309 2.2.3).

    For each character of the pattern, the function keeps all places in the path at which the
    pattern so far may end.
    """
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
