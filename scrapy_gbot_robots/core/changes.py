"""Two versions of a robots.txt -> what changed for which user agent.

What counts is what a crawler reads: for each user agent its rules, its crawl delay and the preferences about the use of
content, merged as RFC 9309 2.2.1 merges groups. The order of groups and lines does not count, nor do comments. A user
agent without a group follows "*". One with an empty group may fetch everything, so these two differ.

Both versions are read for one user agent after the other, and once for those that share their groups. That work is bounded,
since both may be hostile: 16,000 agents fit into 500 KiB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .lines import GLOBAL
from .robots import groups_by_agent, groups_of, may_differ_within_groups, size_of
from .rules import closing_rule, content_lines_of, entries_of
from .verdict import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..experimental.preferences import PreferenceChange
    from .robots import RobotsTxt
    from .rules import Rules

MOST_WORK: Final = 100_000_000  # bytes that are read, or work that takes as long: seconds
_WORK_OF_PAIR: Final = 50  # bytes that are read while a preference of one version is held against one of the other

_RulesByPattern = dict[tuple[bool, str], Rule]


class AgentChange(NamedTuple):
    """What changed for one user agent.

    Attributes:
        agent: a product token in lower case, or "*".
        added: the rules that only the new version has, with their lines there.
        removed: the rules that only the old version has, with their lines there.
        group: "added" or "removed" if only one of the versions names the agent; else "".
        closed: True if the new version disallows everything to the agent and the old one did not, False if it is the
            other way round; else None.
        delays: the crawl delay in seconds before and after, None where there is none.
        preferences: the preferences that turned, by path. Experimental.
        compared: False if the versions are too long, for too many agents, to compare what this agent reads. Then nothing
            else is said but `group`, though something may have changed.
    """

    agent: str
    added: tuple[Rule, ...] = ()
    removed: tuple[Rule, ...] = ()
    group: str = ""
    closed: bool | None = None
    delays: tuple[float | None, float | None] = (None, None)
    preferences: tuple[PreferenceChange, ...] = ()
    compared: bool = True


def changes(old: RobotsTxt, new: RobotsTxt, most_work: int = MOST_WORK) -> list[AgentChange]:
    """Return what changed, "*" first, then by user agent; an empty list if a crawler reads the same in both.

    `most_work` bounds the number of bytes that are read.
    """
    followed = [groups_by_agent(groups_of(version)) for version in (old, new)]
    may_differ = may_differ_within_groups(old) or may_differ_within_groups(new)
    found: list[AgentChange] = []
    known: dict[object, AgentChange] = {}  # the changes of agents that follow the same, but for the name
    for agent in sorted({GLOBAL, *followed[0], *followed[1]}, key=lambda agent: (agent != GLOBAL, agent)):
        own = [each.get(agent, ()) for each in followed]
        name = agent.decode("ascii")
        key = (*own, may_differ and agent)
        if key not in known:
            group = "" if bool(own[0]) == bool(own[1]) else "added" if own[1] else "removed"
            known[key] = change = AgentChange(name, group=group, compared=False)
            most_work -= size_of(old) + size_of(new)
            if most_work >= 0:
                was, now = old.rules_for(name), new.rules_for(name)
                most_work -= _WORK_OF_PAIR * (len(content_lines_of(was)) + len(content_lines_of(now))) ** 2
            if most_work >= 0:
                known[key] = _compared(change._replace(compared=True), was, now)
        change = known[key]._replace(agent=name)
        if change != AgentChange(name, delays=(change.delays[0], change.delays[0])):
            found.append(change)
    return found


def _compared(change: AgentChange, was: Rules, now: Rules) -> AgentChange:
    """Add what changed to `change`. The rules of "*" are no rules of an agent that a version does not name."""
    old, new = (_by_pattern(rules) for rules in (was, now))
    closed_before, closed = (closing_rule(rules.values()) is not None for rules in (old, new))
    old, new = {} if change.group == "added" else old, {} if change.group == "removed" else new
    lines = content_lines_of(was), content_lines_of(now)
    turned: Iterable[PreferenceChange] = ()
    if any(lines):
        from ..experimental.preferences import turned_between  # noqa: PLC0415 - few files state any

        turned = turned_between(*lines)
    return change._replace(
        added=tuple(new[key] for key in new if key not in old),
        removed=tuple(old[key] for key in old if key not in new),
        closed=closed if closed != closed_before else None,
        delays=(was.crawl_delay, now.crawl_delay),
        preferences=tuple(turned),
    )


def _by_pattern(rules: Rules) -> _RulesByPattern:
    """Return the rules in file order, of equal ones the first."""
    found: _RulesByPattern = {}
    for rule in entries_of(rules):
        found.setdefault((rule.allow, rule.pattern), rule)
    return found
