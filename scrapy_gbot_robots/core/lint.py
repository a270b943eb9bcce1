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
from typing import NamedTuple

from . import lines
from .crawlers import Crawler
from .known_crawlers import SEARCH_ENGINES, KnownCrawler
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
# folders of such files, and an ending of these
_FOLDERS = {
    "css": "css",
    "stylesheets": "css",
    "js": "js",
    "javascript": "js",
    "javascripts": "js",
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
    notes = {one for one in unsorted if one.kind == "field of other crawlers"}
    unsorted -= {note for note in notes if note.line in wrong}  # it means nothing to them, too
    unsorted.update(_on_groups(groups, all_lines))
    unsorted.update(_on_crawlers(groups))
    return sorted(unsorted, key=_place)


def _place(one: Finding) -> tuple[int, int, str]:
    return _RANK[one.kind], one.line, one.text


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
    until it was public. It is closed if "*" and each search engine may fetch nothing.
    """
    merged = groups_by_agent(groups)
    joins = [_joins_in(group, all_lines) for group in groups]
    followed = {"*", *(_agent_of(engine, merged) for engine in SEARCH_ENGINES)}
    closings = {agent: _closing_rule_of(agent, merged, groups) for agent in followed}
    is_closed = None not in closings.values()
    causes = _causes(groups, joins, all_lines)
    shut_out = _shut_out(groups, merged, closings, causes, is_closed=is_closed)
    for shut in shut_out:
        yield _on_shut_out(shut, all_lines)
    already_told = {shut.join for shut in shut_out}
    by_join = {shut.rule for shut in shut_out if shut.by_all}
    for group, its_joins in zip(groups, joins, strict=True):
        if is_closed and "*" in group.agents:
            closing = closing_rule(group.rules)
            if closing is not None and closing not in by_join:
                yield finding(closing.line, "whole site disallowed", rule=closing)
        if not group.rules:
            for agent, line in group.agents.items():
                if agent and len(merged[agent]) == 1:  # no other group has rules for it
                    yield finding(line, "group without rules", agent=agent)
        for join in its_joins:
            if join not in already_told and not _is_harmless(join, all_lines):
                yield finding(join.after, "joined groups", other=join.before)


def _causes(
    groups: Sequence[Group], joins: Sequence[list[_Join]], all_lines: Sequence[Line]
) -> list[list[_Join]]:
    """Return for each group the lines by which rules are for it that were written for another."""
    causes = []
    for group, its_joins in zip(groups, joins, strict=True):
        causes.append(_lost_agents(group, all_lines) or its_joins)
    return causes


def _is_harmless(join: _Join, all_lines: Sequence[Line]) -> bool:
    """Whether one with a crawl delay alone is joined with "*", which it follows anyway."""
    if lines.agent_of(all_lines[join.after - 1].value) != lines.GLOBAL:
        return False
    between = all_lines[join.before : join.after - 1]
    return any(line.key.lower() in OF_GROUPS for line in between)


def _agent_of(engine: KnownCrawler, merged: Mapping[str, Sequence[int]]) -> str:
    """Return the agent whose groups a search engine follows."""
    for token in map(str.lower, engine.tokens):
        if token in merged:
            return token
    return "*"


def _closing_rule_of(
    agent: str, merged: Mapping[str, Sequence[int]], groups: Sequence[Group]
) -> Rule | None:
    """Return the rule by which an agent may fetch nothing; None if it may fetch something."""
    numbers = merged.get(agent, ())
    return closing_rule(chain.from_iterable(groups[number].rules for number in numbers))


class _ShutOut(NamedTuple):
    """Search engines that may fetch nothing."""

    rule: Rule  # that says so
    names: list[str]
    join: _Join | None  # why the rule is for them, if it was written for others
    by_all: bool  # whether that is the group of "*"


def _shut_out(
    groups: Sequence[Group],
    merged: Mapping[str, Sequence[int]],
    closings: Mapping[str, Rule | None],
    joins: Sequence[Sequence[_Join]],
    *,
    is_closed: bool,
) -> list[_ShutOut]:
    """Return the search engines that may fetch nothing, by their group or one joined with it.

    `closings` has the rules by which the agents that they follow may fetch nothing. A rule that was
    written for all crawlers is no mistake. If `is_closed`, the whole site is: only what a join has
    done counts.
    """
    by_rule: dict[Rule, _ShutOut] = {}
    for engine in SEARCH_ENGINES:
        agent = _agent_of(engine, merged)
        closing = closings[agent]
        if closing is None:
            continue
        join = None
        for number in merged[agent]:
            if closing in groups[number].rules:
                line = groups[number].agents[agent]
                join = _join_between(line, closing.line, joins[number])
        if join is None and agent == "*":
            continue
        shut = by_rule.setdefault(closing, _ShutOut(closing, [], None, by_all=False))
        shut.names.append(engine.tokens[0])
        if join is not None:
            by_all = shut.by_all or agent == "*"
            by_rule[closing] = shut._replace(join=shut.join or join, by_all=by_all)
    return [shut for shut in by_rule.values() if shut.join is not None or not is_closed]


def _join_between(line: int, rule_line: int, joins: Iterable[_Join]) -> _Join | None:
    for join in joins:
        if line < join.after < rule_line:
            return join
    return None


def _on_shut_out(shut: _ShutOut, all_lines: Sequence[Line]) -> Finding:
    crawlers = _listed(shut.names)
    why = f'"{shut.rule}" keeps them away from the whole site'
    if shut.join is not None:
        before, after = shut.join
        if all_lines[after - 1].kind != lines.USER_AGENT:
            why = f'"{shut.rule}" is for them, too, as line {after} is no user-agent line'
            return finding(shut.rule.line, "search engine shut out", crawlers=crawlers, why=why)
        joined = f'"User-agent: {text_of(all_lines[after - 1].value, 60)}"'
        why = (
            f'"{shut.rule}" is for them, too, as {joined} in line {after} begins no new group: '
            f"no rule stands between it and line {before}"
        )
    return finding(shut.rule.line, "search engine shut out", crawlers=crawlers, why=why)


def _listed(names: Sequence[str]) -> str:
    """Return some names as a list in words."""
    if len(names) > MOST_NAMES + 1:
        return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} other crawlers"
    *most, last = names
    if not most:
        return last
    return f"{', '.join(most)} and {last}"


class _Merged(NamedTuple):
    """Agents that follow the same groups, and the rules of these."""

    agents: list[str]
    rules: list[Rule]  # without those that have no path
    lines: Mapping[str, int]  # the first user-agent line of each, among others


def _merged_agents(groups: Sequence[Group]) -> Iterator[_Merged]:
    """Yield the agents that have the same groups, together.

    Each yield costs what its rules cost.
    """
    agents_of: dict[tuple[int, ...], list[str]] = {}
    for agent, numbers in groups_by_agent(groups).items():
        agents_of.setdefault(numbers, []).append(agent)
    for numbers, agents in agents_of.items():
        rules: list[Rule] = []
        for number in numbers:
            rules += [rule for rule in groups[number].rules if rule.pattern]
        yield _Merged(agents, rules, groups[numbers[0]].agents)


class _Rivals(NamedTuple):
    """The rules of one crawler, to hold paths against them."""

    allows: Index
    disallows: Index

    @classmethod
    def of(cls, rules: Iterable[Rule]) -> _Rivals:
        """Take the rules.

        An allow rule for an index page is one for its directory, too.
        """
        allows: list[tuple[str, int]] = []
        disallows: list[tuple[str, int]] = []
        for allow, pattern, line in rules:
            if not allow:
                disallows.append((pattern, line))
                continue
            allows.append((pattern, line))
            directory = directory_of_index(pattern)
            if directory is not None:
                allows.append((directory, line))
        return cls(Index(allows, ()), Index((), disallows))


def _on_crawlers(groups: Sequence[Group]) -> Iterator[Finding]:
    """Compare the rules of each crawler with each other, and with those of "*"."""
    closed_to_all = _paths_closed_to_all(groups)
    work_left = _MOST_WORK
    for merged in _merged_agents(groups):
        rivals = _Rivals.of(merged.rules)
        patterns = [rule.pattern for rule in merged.rules] + closed_to_all
        wildcards = rivals.allows.wildcard_chars + rivals.disallows.wildcard_chars
        work_of_path = 2 * _WORK_OF_RULE + wildcards
        work_left -= work_of_path * sum(_WORK_OF_PATH + len(pattern) for pattern in patterns)
        if work_left < 0:
            yield finding(min(merged.lines.values()), "too many rules to compare")
            return
        yield from _on_outweighed(merged, rivals)
        if not FOR_GOOGLE.isdisjoint(merged.agents) and closing_rule(merged.rules) is None:
            yield from _on_styles_and_scripts(merged.rules, rivals)
        if "*" not in merged.agents and not all(rule.allow for rule in merged.rules):
            yield from _on_opened(closed_to_all, rivals, merged)


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


def _on_outweighed(merged: _Merged, rivals: _Rivals) -> Iterator[Finding]:
    """Find rules that are there already, and rules that never decide.

    A rule never decides if a rule of the other kind matches all its paths and is preferred (RFC
    9309 2.2.2).
    """
    first: dict[tuple[bool, str], Rule] = {}
    at = {rule.line: rule for rule in merged.rules}
    whom = _quoted(merged.agents)
    for rule in merged.rules:
        before = first.setdefault((rule.allow, rule.pattern), rule)
        if before.line != rule.line:
            yield finding(rule.line, "duplicate rule", rule=rule, other=before.line)
        others = rivals.allows
        if rule.allow:
            others = rivals.disallows
        best = decider(others.kinds, stand_in(rule.pattern))
        if best > precedence_of(len(rule.pattern), rule.allow, rule.line):
            rival = at[line_of(best)]
            yield finding(
                rule.line, "shadowed rule", rule=rule, whom=whom, rival=rival, other=rival.line
            )


def _on_styles_and_scripts(rules: Iterable[Rule], rivals: _Rivals) -> Iterator[Finding]:
    """Find style sheets and scripts that are blocked, and that no other rule gives back."""
    for rule in rules:
        file = _style_or_script(rule.pattern)
        if rule.allow or not file:
            continue
        best = decider(rivals.allows.kinds, file)
        if best < precedence_of(len(rule.pattern), rule.allow, rule.line):
            yield finding(rule.line, "style or script", rule=rule)


def _style_or_script(pattern: str) -> str:
    """Return a style sheet or script that a pattern matches, "" if it is for no such file.

    A NUL stands for any name, as in `stand_in`.
    """
    path = pattern.rstrip("*")
    if path.startswith("*"):
        path = f"/{path}"
    if _STYLE_OR_SCRIPT.search(path):
        return path.rstrip("*$").replace("*", "\0")
    segments = path.lower().split("/")[1:]
    if segments and segments[-1]:
        segments = segments[-1:]  # the others hold more than what the rule is for
    for segment in segments:
        if segment in _FOLDERS:
            return f"{path.rstrip('/')}/*.{_FOLDERS[segment]}".replace("*", "\0")
    return ""


def _on_opened(closed_to_all: Iterable[str], rivals: _Rivals, merged: _Merged) -> Iterator[Finding]:
    """Find crawlers whose own group forgets rules of "*".

    One that may fetch everything is let in on purpose.
    """
    names = [agent for agent in merged.agents if Crawler.of(agent).heeds_global]
    if not names or not _is_undecided("/", rivals):
        return
    opened = [pattern for pattern in closed_to_all if _is_undecided(pattern, rivals)]
    if opened:
        paths = shown(", ".join(opened))
        yield finding(merged.lines[names[0]], "own group", whom=_quoted(names), paths=paths)


def _is_undecided(pattern: str, rivals: _Rivals) -> bool:
    """Whether no rule is for the paths of `pattern`."""
    path = stand_in(pattern)
    indexes = rivals.allows, rivals.disallows
    return all(decider(index.kinds, path) == NO_RULE for index in indexes)


def _quoted(agents: Sequence[str]) -> str:
    if len(agents) > 1:
        return f'"{agents[0]}" and others'
    return f'"{agents[0]}"'
