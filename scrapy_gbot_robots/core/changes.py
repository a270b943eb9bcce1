"""Two versions of a robots.txt -> what changed for which user agent.

What counts is what a crawler reads: for each user agent its rules, its crawl delay and the preferences about the use of
content, merged as RFC 9309 2.2.1 merges groups. The order of groups and lines does not count, nor do comments. A user
agent without a group follows "*". One with an empty group may fetch everything, so these two differ.

The work is bounded, since both versions may be hostile: 16,000 agents and 16,000 rules for each of them fit into 500 KiB.
Agents that share their groups are compared once, and groups are only merged as long as the work stays below a bound.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from .lines import GLOBAL
from .patterns import covers
from .robots import groups_of_all
from .verdict import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..experimental.preferences import PreferenceChange
    from .fast_reader import ContentLine
    from .robots import RobotsTxt

    # What an agent follows in a version: the places of its groups, and in each the place of the first `Content-` line that
    # counts for it.
    Followed = Sequence[tuple[int, int]]

MOST_WORK: Final = 1_000_000  # rules that are merged; takes about a second

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
        compared: False if the versions have too many rules for too many agents to compare those of this agent. Then
            `added`, `removed` and `preferences` are empty and `closed` is None, though something may have changed.
    """

    agent: str
    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]
    group: str
    closed: bool | None
    delays: tuple[float | None, float | None]
    preferences: tuple[PreferenceChange, ...] = ()
    compared: bool = True


def changes(old: RobotsTxt, new: RobotsTxt, most_work: int = MOST_WORK) -> list[AgentChange]:
    """Return what changed, "*" first, then by user agent; an empty list if a crawler reads the same in both.

    `most_work` bounds the number of rules that are merged and compared.
    """
    versions = before, after = _Version(old), _Version(new)
    changed: list[AgentChange] = []
    known: dict[object, AgentChange] = {}  # the changes of agents that follow the same, but for name and delays
    for agent in sorted({GLOBAL, *before.own, *after.own}, key=lambda agent: (agent != GLOBAL, agent)):
        named = [agent in version.own for version in versions]
        followed = [version.followed_by(agent) for version in versions]
        key = (*followed, *named)
        if key not in known:
            work = sum(version.work(each) for version, each in zip(versions, followed, strict=True))
            is_compared = work <= most_work
            if is_compared:
                most_work -= work
            group = "" if named[0] == named[1] else "added" if named[1] else "removed"
            nothing = AgentChange("", (), (), group, None, (None, None), compared=is_compared)
            known[key] = _compared(versions, followed, named, nothing) if is_compared else nothing
        delays = before.delays.get(agent), after.delays.get(agent)
        change = known[key]._replace(agent=agent.decode("ascii"), delays=delays)
        if change != AgentChange(change.agent, (), (), "", None, (delays[0], delays[0])):
            changed.append(change)
    return changed


class _Version:
    """One version of the file: `own` is what each agent follows that it names, `delays` has their crawl delays."""

    def __init__(self, robotstxt: RobotsTxt) -> None:
        self._groups, self._signals = groups_of_all(robotstxt)
        self.delays: dict[bytes, float | None] = {}
        self.own: dict[bytes, list[tuple[int, int]]] = {}
        for place, group in enumerate(self._groups):
            agents_before = [number for number, _ in group.content_lines]
            for agent_place, (agent, delay) in enumerate(group.agents.items()):
                self.own.setdefault(agent, []).append((place, bisect_right(agents_before, agent_place)))
                if self.delays.get(agent) is None:
                    self.delays[agent] = delay

    def followed_by(self, agent: bytes) -> tuple[tuple[int, int], ...]:
        """Return what `agent` follows: its own groups, else those of "*"."""
        return tuple(self.own.get(agent) or self.own.get(GLOBAL, []))

    def work(self, followed: Followed) -> int:
        """Return what it takes to merge `followed` and compare it, in rules. Each preference is held against all others."""
        groups = [self._groups[place] for place, _ in followed]
        lines = len(self._signals) + sum(
            len(group.content_lines) - first for group, (_, first) in zip(groups, followed, strict=True)
        )
        return sum(1 + len(group.allows) + len(group.disallows) for group in groups) + lines * (lines + 20)

    def rules(self, followed: Followed) -> _RulesByPattern:
        """Return the merged rules, of equal ones the first."""
        merged: _RulesByPattern = {}
        for place, _ in followed:
            for allow, patterns in zip((True, False), self._groups[place].patterns(), strict=True):
                for pattern, line in patterns.entries():
                    merged.setdefault((allow, pattern), Rule(allow, pattern, line))
        return merged

    def content_lines(self, followed: Followed) -> list[ContentLine]:
        """Return the merged `Content-` lines, and those before any group."""
        own = (self._groups[place].content_lines[first:] for place, first in followed)
        return [*self._signals, *(line for _, line in chain.from_iterable(own))]


def _compared(
    versions: Sequence[_Version], followed: Sequence[Followed], named: Sequence[bool], nothing: AgentChange
) -> AgentChange:
    """Compare what an agent follows in two versions, and add what changed to `nothing`.

    The rules of "*" are no rules of an agent that a version does not name. They decide about `closed`, though.
    """
    old, new = (version.rules(each) for version, each in zip(versions, followed, strict=True))
    was, now = _is_closed(old), _is_closed(new)
    own_old, own_new = old if named[0] else {}, new if named[1] else {}
    change = nothing._replace(
        added=_only_in(own_new, own_old), removed=_only_in(own_old, own_new), closed=now if was != now else None
    )
    lines = [version.content_lines(each) for version, each in zip(versions, followed, strict=True)]
    if any(lines):
        from ..experimental.preferences import turned  # noqa: PLC0415 - few files state any

        return change._replace(preferences=tuple(turned(*lines)))
    return change


def _only_in(ours: _RulesByPattern, theirs: _RulesByPattern) -> tuple[Rule, ...]:
    return tuple(sorted((ours[key] for key in ours.keys() - theirs.keys()), key=lambda rule: rule.line))


def _is_closed(rules: _RulesByPattern) -> bool:
    """Whether everything is disallowed: a rule covers all paths, and none allows any."""
    if any(allow and pattern for allow, pattern in rules):
        return False
    return any(pattern and covers(pattern, "/") for _, pattern in rules)
