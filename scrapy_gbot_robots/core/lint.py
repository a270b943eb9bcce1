"""What the author of a robots.txt should know about it: the findings, the greatest harm first.

What is odd about single lines, and what is said of each kind of finding, is in remarks.py. The
others only show when several lines are compared, such as a rule that another rule always outweighs:
an index of the other rules is asked about the paths of each rule (`stand_in` of patterns.py).

Boundary: no verdict depends on a finding.
Source: RFC 9309, Google's page and Google's parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple, TypeAlias

from . import lines
from .crawlers import Crawler
from .known_crawlers import SEARCH_ENGINES
from .lines import Line, without_bom
from .patterns import NO_RULE, covers, decider, directory_of_index, line_of, precedence_of, stand_in
from .remarks import (
    ERROR,
    FOR_GOOGLE,
    KINDS,
    LICENSE,
    MOST_NAMES,
    OF_GROUPS,
    Finding,
    finding,
    nearest_field,
    on_lines,
    text_of,
)
from .robots import Group, RobotsTxt, groups_by_agent, groups_of, is_cut, lines_of
from .rule_index import Index
from .rules import closing_rule
from .urls import shown
from .verdict import Rule

_RANK = {name: rank for rank, name in enumerate(KINDS)}

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # its byte-order marks
_PATHS_BEGIN = ("/", "*")  # the patterns of paths
_STYLE_OR_SCRIPT = re.compile(r"\.(?:css|[cm]?js)(?:[$*?]|\Z)", re.IGNORECASE)
# Folders of such files, and folders that also have others, each with such a file in it.
_FOLDERS = {
    "/css/": "*.css",
    "/stylesheets/": "*.css",
    "/js/": "*.js",
    "/javascript/": "*.js",
    "/javascripts/": "*.js",
}
_MIXED_FOLDERS = {
    "/_next/": "static/*.js",
    "/_next/static/": "*.js",
    "/_nuxt/": "*.js",
    "/wp-includes/": "js/*.js",
}

# To hold patterns against a path takes at most a quarter of a nanosecond for each character of
# theirs and each of the path.
_MOST_WORK = 20_000_000_000
_WORK_OF_RULE = 60  # the patterns count as so many characters more
_WORK_OF_PATH = 200  # and the path


def findings(
    body: bytes,
    *,
    max_bytes: int | None = lines.MAX_BYTES,
    truncated: bool = False,
    more: Callable[[RobotsTxt], Iterable[tuple[int, str, str]]] | None = None,
) -> list[Finding]:
    """Return what is odd about a robots.txt, the greatest harm first, then by line.

    No `body` makes this raise.

    Args:
        body: the bytes of the file.
        max_bytes: as for `RobotsTxt.parse`.
        truncated: whether more was served than `body`.
        more: adds findings, each as its line, the name of its kind, and its text.
    """
    robotstxt = RobotsTxt.parse(body, max_bytes=max_bytes, cut=truncated)
    all_lines = lines_of(robotstxt)
    groups = groups_of(robotstxt)
    other = no_robots_file(body, robotstxt)
    if other is not None:
        return [other]
    unsorted = {*on_lines(all_lines, body[:max_bytes], cut=is_cut(robotstxt))}
    if more is not None:
        for line, kind, text in more(robotstxt):
            unsorted.add(finding(line, kind, what=text))
    wrong = {one.line for one in unsorted if one.level == ERROR}
    for one in [*unsorted]:
        if one.kind == "field of other crawlers" and one.line in wrong:
            unsorted.discard(one)  # it means nothing to them, too
    unsorted.update(_on_groups(groups, all_lines))
    unsorted.update(_on_crawlers(groups))
    return sorted(unsorted, key=lambda one: (_RANK[one.kind], one.line, one.text))


def no_robots_file(body: bytes, robotstxt: RobotsTxt) -> Finding | None:
    """Return the finding that `body`, as it was parsed, is something else; None if it is not."""
    what = _something_else(body, lines_of(robotstxt))
    if not what:
        return None
    rules = sum(len(group.rules) for group in groups_of(robotstxt))
    return finding(1, "no robots file", what=what, rules=rules)


def _something_else(body: bytes, all_lines: Iterable[Line]) -> str:
    """Return what `body` is if no line of it is understood, such as an error message; else ""."""
    text = without_bom(body)
    if lines.is_web_page(body):
        return "a web page"
    is_binary = b"\0" in text
    is_empty = True
    for line in all_lines:
        if line.flags & (lines.EMPTY | lines.IS_COMMENT):
            continue
        is_empty = False
        if line.kind != lines.UNKNOWN or line.key.lower() == LICENSE:
            return ""
        if nearest_field(text_of(line.key)) is not None:  # it is spelt nearly like a field
            return ""
    if is_empty and not is_binary:
        return ""
    if text.startswith(_UTF_16):
        return 'UTF-16 (Notepad\'s "Unicode"; save it as UTF-8)'
    if is_binary:
        return "no text"
    if text.lstrip().startswith((b"{", b"[")):
        return "JSON"
    return "another text"


class _Join(NamedTuple):
    """Two user-agent lines of one group that look like two groups.

    More than comments parts them.
    """

    before: int  # their lines
    after: int


def _joins_in(group: Group, all_lines: Sequence[Line]) -> list[_Join]:
    joins = []
    for before, after in pairwise(group.agents.values()):
        for line in all_lines[before : after - 1]:
            if line.kind != lines.USER_AGENT and not line.flags & lines.IS_COMMENT:
                joins.append(_Join(before, after))
                break
    return joins


def _lost_agents(group: Group, all_lines: Sequence[Line]) -> list[_Join]:
    """Return the misspelt user-agent lines: the rules after them are for the group before."""
    if closing_rule(group.rules) is None:
        return []
    lost = []
    first = min(group.agents.values())
    for line in all_lines[first : group.rules[-1].line]:
        is_directive = line.kind == lines.UNKNOWN and line.key
        if is_directive and nearest_field(text_of(line.key)) == "user-agent":
            lost.append(_Join(first, line.number))
    return lost


def _on_groups(groups: Sequence[Group], all_lines: Sequence[Line]) -> Iterator[Finding]:
    """Find groups without rules, two groups that are one, and closed sites.

    Only rules end the user-agent lines of a group (Google's page). Many a site was closed only
    until it was public.
    """
    merged = groups_by_agent(groups)
    joins = [_joins_in(group, all_lines) for group in groups]
    shut_out, is_closed = _shut_out(groups, merged, joins, all_lines)
    told: set[_Join | None] = set()
    by_join = set()  # rules for all crawlers that were written for another
    for rule, engines in shut_out.items():
        names, agents, its_causes = zip(*engines, strict=True)
        cause = next(filter(None, its_causes), None)
        told.add(cause)
        if cause is not None or not is_closed:
            yield _on_shut_out(rule, names, cause, all_lines)
        if "*" in agents:
            by_join.add(rule)
    for group, its_joins in zip(groups, joins, strict=True):
        closing = closing_rule(group.rules)
        if is_closed and "*" in group.agents and closing is not None and closing not in by_join:
            yield finding(closing.line, "whole site disallowed", rule=closing)
        if not group.rules:
            yield from _on_no_rules(group, merged)
            continue  # so it does not matter that agents share the group
        for join in its_joins:
            if join not in told and not _is_harmless(join, all_lines):
                yield finding(join.after, "joined groups", other=join.before)


def _on_no_rules(group: Group, merged: Mapping[str, Sequence[int]]) -> Iterator[Finding]:
    for agent, line in group.agents.items():
        if agent and len(merged[agent]) == 1:  # no other group has rules for it
            yield finding(line, "group without rules", agent=agent)


_ShutOut: TypeAlias = dict[Rule, list[tuple[str, str, "_Join | None"]]]


def _shut_out(
    groups: Sequence[Group],
    merged: Mapping[str, Sequence[int]],
    joins: Iterable[list[_Join]],
    all_lines: Sequence[Line],
) -> tuple[_ShutOut, bool]:
    """Return the search engines that may fetch nothing, and whether that is so for all crawlers.

    By the rule that says so: their names, the agent whose groups each follows, and the lines by
    which the rule is for it, if it was written for another. A rule that was written for all
    crawlers is no mistake.
    """
    # what a misspelt user-agent line does counts before what a missing rule does
    causes = [
        _lost_agents(group, all_lines) or its_joins
        for group, its_joins in zip(groups, joins, strict=True)
    ]
    followed = {
        engine.tokens[0]: next(filter(merged.get, map(str.lower, engine.tokens)), "*")
        for engine in SEARCH_ENGINES
    }
    closings = {}
    for agent in {"*", *followed.values()}:
        its_groups = [groups[number].rules for number in merged.get(agent, ())]
        closings[agent] = closing_rule(chain.from_iterable(its_groups))
    shut_out: _ShutOut = {}
    for name, agent in followed.items():
        closing = closings[agent]
        if closing is None:
            continue
        join = None
        for number in merged[agent]:
            group = groups[number]
            if closing in group.rules:
                between = range(group.agents[agent] + 1, closing.line)
                join = next((join for join in causes[number] if join.after in between), None)
        if join is not None or agent != "*":
            shut_out.setdefault(closing, []).append((name, agent, join))
    return shut_out, None not in closings.values()


def _is_harmless(join: _Join, all_lines: Sequence[Line]) -> bool:
    """Whether one with a crawl delay alone is joined with "*", which it follows anyway."""
    if lines.agent_of(all_lines[join.after - 1].value) != lines.GLOBAL:
        return False
    between = all_lines[join.before : join.after - 1]
    return any(line.key.lower() in OF_GROUPS for line in between)


def _on_shut_out(
    rule: Rule, names: Sequence[str], join: _Join | None, all_lines: Sequence[Line]
) -> Finding:
    """Return the finding that search engines may fetch nothing, and why a rule is for them."""
    why = f'"{rule}" keeps them away from the whole site'
    if join is not None:
        before, after = join
        line = all_lines[after - 1]
        why = f"line {after} is no user-agent line"
        if line.kind == lines.USER_AGENT:
            why = (
                f'"User-agent: {text_of(line.value, 60)}" in line {after} begins no new group: '
                f"no rule stands between it and line {before}"
            )
        why = f'"{rule}" is for them, too, as {why}'
    crawlers = _listed(names)
    return finding(rule.line, "search engine shut out", crawlers=crawlers, why=why)


def _listed(names: Sequence[str]) -> str:
    """Return some names as a list in words."""
    if len(names) > MOST_NAMES + 1:
        return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} other crawlers"
    *most, last = names
    if not most:
        return last
    return f"{', '.join(most)} and {last}"


def _on_crawlers(groups: Sequence[Group]) -> Iterator[Finding]:
    """Compare the rules of each crawler with each other, and with those of "*".

    Agents that follow the same groups are one crawler here.
    """
    closed_to_all = _paths_closed_to_all(groups)
    followers: dict[tuple[int, ...], list[str]] = {}
    for agent, numbers in groups_by_agent(groups).items():
        followers.setdefault(numbers, []).append(agent)
    work_left = _MOST_WORK
    for numbers, agents in followers.items():
        its_rules = chain.from_iterable(groups[number].rules for number in numbers)
        rules = [rule for rule in its_rules if rule.pattern]
        index = _index_of(rules)
        patterns = [rule.pattern for rule in rules] + closed_to_all
        work_of_path = 2 * _WORK_OF_RULE + index.wildcard_chars
        work_left -= work_of_path * sum(_WORK_OF_PATH + len(pattern) for pattern in patterns)
        first_lines = groups[numbers[0]].agents
        if work_left < 0:
            yield finding(min(first_lines.values()), "too many rules to compare")
            return
        yield from _on_rules(rules, agents, index)
        if "*" not in agents and not all(rule.allow for rule in rules):
            names = [agent for agent in agents if Crawler.of(agent).heeds_global]
            opened = _opened(closed_to_all, index)
            if names and opened:
                yield finding(
                    first_lines[names[0]],
                    "own group",
                    whom=_quoted(names),
                    paths=shown(", ".join(opened)),
                )


def _paths_closed_to_all(groups: Iterable[Group]) -> list[str]:
    """Return the patterns of paths that "*" must not fetch, without those for the whole site."""
    patterns = []
    for group in groups:
        if "*" not in group.agents:
            continue
        for rule in group.rules:
            is_path = rule.pattern.startswith(_PATHS_BEGIN)
            if is_path and not rule.allow and not covers(rule.pattern, "/"):
                patterns.append(rule.pattern)
    return patterns


def _index_of(rules: Iterable[Rule]) -> Index:
    """Arrange rules, to hold paths against them.

    An allow rule for an index page is one for its directory, too.
    """
    patterns: tuple[list[tuple[str, int]], ...] = ([], [])
    for allow, pattern, line in rules:
        patterns[allow].append((pattern, line))
        if allow:
            patterns[allow].append((directory_of_index(pattern) or "", line))
    disallows, allows = patterns
    return Index(allows, disallows)


def _on_rules(rules: Iterable[Rule], agents: Sequence[str], index: Index) -> Iterator[Finding]:
    """Find rules that are there already, rules that never decide, and hidden styles and scripts.

    A rule never decides if a rule of the other kind matches all its paths and is preferred (RFC
    9309 2.2.2). Style sheets and scripts are hidden if no other rule gives them back.
    """
    first: dict[tuple[bool, str], Rule] = {}
    at = {rule.line: rule for rule in rules}
    whom = _quoted(agents)
    for_google = not FOR_GOOGLE.isdisjoint(agents) and closing_rule(rules) is None
    for rule in rules:
        allow, pattern, line = rule
        precedence = precedence_of(len(pattern), allow, line)
        others = index.kinds[not allow]
        before = first.setdefault((allow, pattern), rule).line
        if before != line:
            yield finding(line, "duplicate rule", rule=rule, other=before)
        best = others.best(stand_in(pattern), NO_RULE)
        if best > precedence:
            rival = at[line_of(best)]
            yield finding(
                line, "shadowed rule", rule=rule, whom=whom, rival=rival, other=rival.line
            )
        if for_google and not allow:
            file = _style_or_script(pattern)
            if file and others.best(file, NO_RULE) < precedence:
                yield finding(line, "style or script", rule=rule)


def _style_or_script(pattern: str) -> str:
    """Return a style sheet or script that a pattern matches, "" if it is for no such file.

    A NUL stands for any name, as in `stand_in`.
    """
    path = pattern.rstrip("*")
    if path.startswith("*"):
        path = f"/{path}"
    if _STYLE_OR_SCRIPT.search(path):
        return path.rstrip("*$").replace("*", "\0")
    whole = path.rstrip("/") + "/"
    within = whole.lower()
    file = next((file for end, file in _MIXED_FOLDERS.items() if within.endswith(end)), "")
    if not path.endswith("/"):
        within = within[within.rfind("/", 0, -1) :]  # the others hold more than the rule is for
    for folder, its_file in _FOLDERS.items():
        if folder in within:
            file = its_file
    return file and f"{whole}{file}".replace("*", "\0")


def _opened(closed_to_all: Iterable[str], index: Index) -> list[str]:
    """Return what a crawler's own group forgets of the rules of "*".

    A crawler that may fetch everything is let in on purpose.
    """
    if decider(index.kinds, stand_in("/")) != NO_RULE:
        return []
    return [
        pattern for pattern in closed_to_all if decider(index.kinds, stand_in(pattern)) == NO_RULE
    ]


def _quoted(agents: Sequence[str]) -> str:
    if len(agents) > 1:
        return f'"{agents[0]}" and others'
    return f'"{agents[0]}"'
