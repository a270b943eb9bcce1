"""Two versions of a robots.txt -> what changed for whom.

What counts is what a crawler would read: the rules of each user agent, merged as RFC 9309 2.2.1 merges groups, whatever
their order, their lines and the comments around them. A user agent without a group follows "*"; one with an empty group
may fetch everything: these differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .grammar import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .groups import Group
    from .robots import RobotsTxt
    from .rules import Rule


class AgentChange(NamedTuple):
    """What changed for one user agent.

    Attributes:
        agent: a product token in lower case, or "*".
        added: the rules that only the new version has, with their lines there.
        removed: the rules that only the old version has, with their lines there.
        group: "added" or "removed" if only one of the versions names the agent; else "".
        closed: True if the new version disallows everything to it and the old one did not, False if it is the other
            way round; else None.
        delays: the crawl delay in seconds before and after, None where there is none.
    """

    agent: str
    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]
    group: str
    closed: bool | None
    delays: tuple[float | None, float | None]


class Merged(NamedTuple):
    """All that one version says to one user agent: its rules by kind and pattern, and its crawl delay."""

    rules: dict[tuple[bool, str], Rule]
    delay: float | None

    @property
    def is_closed(self) -> bool:
        """Whether everything is disallowed: a rule for every path, and none that allows anything."""
        return any(not allow and _matches_all(pattern) for allow, pattern in self.rules) and not any(
            allow and pattern for allow, pattern in self.rules
        )


def changes(old: RobotsTxt, new: RobotsTxt) -> list[AgentChange]:
    """Return what changed, "*" first, then by user agent; an empty list if nothing that a crawler reads did."""
    before, after = merged(old.groups), merged(new.groups)
    agents = sorted(before.keys() | after.keys(), key=lambda agent: (agent != GLOBAL, agent))
    found = (_change(agent, before, after) for agent in agents)
    return [change for change in found if change is not None]


def merged(groups: Iterable[Group]) -> dict[bytes, Merged]:
    """Return what the groups say, by user agent; of equal rules the first."""
    result: dict[bytes, Merged] = {}
    for group in groups:
        for agent in group.agents:
            known = result.get(agent, Merged({}, None))
            for rule in group.rules:
                known.rules.setdefault((rule.allow, rule.pattern), rule)
            delay = group.delays.get(agent) if known.delay is None else known.delay
            result[agent] = Merged(known.rules, delay)
    return result


def _change(agent: bytes, before: dict[bytes, Merged], after: dict[bytes, Merged]) -> AgentChange | None:
    nothing = Merged({}, None)
    old, new = before.get(agent, nothing), after.get(agent, nothing)
    named = agent in before, agent in after
    if named == (True, True) and old.rules.keys() == new.rules.keys() and old.delay == new.delay:
        return None
    return AgentChange(
        agent=agent.decode("latin-1"),
        added=_only(new, old),
        removed=_only(old, new),
        group={(False, True): "added", (True, False): "removed"}.get(named, ""),
        closed=_turned(agent, before, after),
        delays=(old.delay, new.delay),
    )


def _only(ours: Merged, theirs: Merged) -> tuple[Rule, ...]:
    return tuple(
        sorted((ours.rules[key] for key in ours.rules.keys() - theirs.rules.keys()), key=lambda rule: rule.line)
    )


def _turned(agent: bytes, before: dict[bytes, Merged], after: dict[bytes, Merged]) -> bool | None:
    """Whether everything became disallowed. The group that the agent follows counts, even if it is that of "*"."""
    nothing = Merged({}, None)
    was, is_now = (version.get(agent, version.get(GLOBAL, nothing)).is_closed for version in (before, after))
    return is_now if was != is_now else None


def _matches_all(pattern: str) -> bool:
    """Whether the pattern matches every path: "/", "*", "/*" and the like."""
    return bool(pattern) and pattern.replace("*", "") in {"", "/"}
