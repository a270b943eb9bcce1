"""Lines -> groups: which rules are for which user agent.

A group is a run of user-agent lines and the rules after it. Only allow and disallow lines end the run: blank, sitemap,
unknown and unreadable lines do not. Groups that name the same agent are merged later; a named group and that of "*" never
are.
Source: RFC 9309 2.2.1 and Google's page ("Grouping of lines and rules", "Order of precedence for user agents").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import grammar
from .lines import delay_of
from .verdict import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .lines import Line


class Group(NamedTuple):
    """User agents and the rules that they share.

    Attributes:
        agents: product tokens in lower case, or "*", each with the line that first names it.
        rules: in file order.
        delays: the first crawl delay after the line of an agent, in seconds, if there is one.
    """

    agents: dict[bytes, int]
    rules: list[Rule]
    delays: dict[bytes, float]


class FieldLine(NamedTuple):
    """A line of any field.

    Attributes:
        line: its number, from 1.
        value: as text.
        agents: the agents of its group, product tokens in lower case or "*"; () before any group.
    """

    line: int
    value: str
    agents: tuple[str, ...]


def field_lines(lines: Iterable[Line], key: bytes) -> Iterator[FieldLine]:
    """Yield the lines whose field name is `key`, given in lower case."""
    group: dict[bytes, None] = {}
    found: list[tuple[Line, dict[bytes, None]]] = []
    has_rules = False
    for line in lines:
        if line.kind == grammar.USER_AGENT:
            if has_rules or not group:
                group, has_rules = {}, False
            group[grammar.agent_of(line.value)] = None
        elif line.kind in {grammar.ALLOW, grammar.DISALLOW}:
            has_rules = True
        if line.key.lower() == key and line.flags & grammar.HAS_DIRECTIVE:
            found.append((line, group))
    agents: dict[int, tuple[str, ...]] = {}
    for line, group in found:
        if id(group) not in agents:  # one tuple for all lines of a group, which may have thousands of both
            agents[id(group)] = tuple(agent.decode("ascii") for agent in group)
        yield FieldLine(line.number, line.value.decode("utf-8", "replace"), agents[id(group)])


def read_groups(lines: Iterable[Line]) -> list[Group]:
    """Return the groups in file order. Rules before the first user-agent line are in no group (RFC 9309 2.2.2)."""
    groups: list[Group] = []
    group: Group | None = None
    undelayed: list[bytes] = []  # the agents of the group without a crawl delay so far
    for line in lines:
        if line.kind == grammar.USER_AGENT:
            if group is None or group.rules:
                group, undelayed = Group({}, [], {}), []
                groups.append(group)
            agent = grammar.agent_of(line.value)
            if agent not in group.agents:
                group.agents[agent] = line.number
                undelayed.append(agent)
        elif group is None:
            continue
        elif line.kind in {grammar.ALLOW, grammar.DISALLOW}:
            group.rules.append(Rule(line.kind == grammar.ALLOW, line.value.decode("ascii"), line.number))
        elif undelayed:
            delay = delay_of(line)
            if delay is not None:
                group.delays.update(dict.fromkeys(undelayed, delay))
                undelayed = []
    return groups
