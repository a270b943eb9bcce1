"""Lines -> groups: which rules are for which user agent.

A group is a run of user-agent lines and the rules after it. Only allow and disallow lines end the run; blank, sitemap,
unknown and unreadable lines do not. Groups that name the same agent are merged; named and global ones never are.
Source: RFC 9309 2.2.1 and Google's page ("Grouping of lines and rules", "Order of precedence for user agents").
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from . import grammar
from .rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .lines import Line

_SECONDS = re.compile(rb"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")


class Group(NamedTuple):
    """User agents (product tokens in lower case, "*") and the rules they share, in file order.

    `delays` are the crawl delays in seconds of those agents for whom the group has one.
    """

    agents: dict[str, int]  # each with the line that first names it here
    rules: list[Rule]
    delays: dict[str, float]


def read_groups(lines: Iterable[Line]) -> list[Group]:
    """Return the groups in file order; rules before the first user-agent line are in none (RFC 9309 2.2.2)."""
    groups: list[Group] = []
    group: Group | None = None
    for line in lines:
        if line.kind == grammar.USER_AGENT:
            if group is None or group.rules:
                group = Group({}, [], {})
                groups.append(group)
            group.agents.setdefault(grammar.agent_of(line.value), line.number)
        elif group is None:
            continue
        elif line.kind in {grammar.ALLOW, grammar.DISALLOW}:
            group.rules.append(Rule(line.kind == grammar.ALLOW, line.value.decode("ascii"), line.number))
        elif line.kind == grammar.UNUSED and line.key.lower() == grammar.CRAWL_DELAY:
            delay = _seconds(line.value)
            if delay is not None:
                for agent in group.agents:
                    group.delays.setdefault(agent, delay)
    return groups


def _seconds(value: bytes) -> float | None:
    if not _SECONDS.fullmatch(value):
        return None
    seconds = float(value)
    return seconds if isfinite(seconds) else None
