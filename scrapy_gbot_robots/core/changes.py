"""Two versions of a robots.txt -> what changed for which user agent.

What counts is what a crawler reads: for each user agent its rules, its crawl delay and the
preferences about the use of content, merged as RFC 9309 2.2.1 merges groups. The order of groups
and lines does not count, nor do comments. A user agent without a group follows "*". One with an
empty group may fetch everything, so these two differ.

Both versions are read for one user agent after the other, and once for those that share their
groups. That work is bounded, since both may be hostile: 16,000 agents fit into 500 KiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .lines import read_line
from .robots import RobotsTxt, groups_by_agent, groups_of, may_differ_within_groups, size_of
from .rules import Rules, closing_rule, content_lines_of, entries_of
from .verdict import Rule

MOST_WORK = 100_000_000  # bytes that are read, or work that takes as long: seconds

_TURNED = {
    True: "everything is disallowed to it now",
    False: "not everything is disallowed to it any more",
}
_NOT_COMPARED = "not compared: these files have too many rules for too many user agents"

# What became of a group, by whether it is missing in each version.
_GROUPS = {(True, False): "added", (False, True): "removed"}

_MOST_RULES = 100_000  # and lines that are told; one may be told for many agents


class AgentChange(NamedTuple):
    """What changed for some user agents.

    Attributes:
        agents: product tokens in lower case, or "*", which comes first.
        added: the rules that only the new version has, with their lines there.
        removed: the rules that only the old version has, with their lines there.
        group: "added" or "removed" if only one of the versions names the agents; else "".
        closed: True if the new version disallows everything to the agents and the old one did not,
            False if it is the other way round; else None.
        delays: the crawl delay in seconds before and after, None where there is none.
        preferences: the lines about the use of content that only the old version has for the
            agents, and those that only the new one has. Experimental.
        compared: False if the versions are too long, for too many agents, to compare what these
            agents read. Then nothing else is said but `group`, though something may have changed.
    """

    agents: tuple[str, ...] = ()
    added: tuple[Rule, ...] = ()
    removed: tuple[Rule, ...] = ()
    group: str = ""
    closed: bool | None = None
    delays: tuple[float | None, float | None] = (None, None)
    preferences: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    compared: bool = True

    @property
    def is_none(self) -> bool:
        """Whether nothing changed."""
        delay = self.delays[0]
        return self == AgentChange(self.agents, delays=(delay, delay))


def changes(old: RobotsTxt, new: RobotsTxt, most_work: int = MOST_WORK) -> list[AgentChange]:
    """Return what changed, that of "*" first, then by user agent.

    The list is empty if a crawler reads the same in both. What agents share is said once.
    `most_work` bounds the number of bytes that are read.
    """
    agents_of: dict[AgentChange, list[str]] = {}  # by what changed for them
    rules = _MOST_RULES
    for (before, after, _), agents in _alike(old, new).items():
        group = _GROUPS.get((before is None, after is None), "")
        change = unknown = AgentChange(group=group, compared=False)
        most_work -= size_of(old) + size_of(new)
        if most_work >= 0:
            change = _compared(group, old.rules_for(agents[0]), new.rules_for(agents[0]))
        if change not in agents_of:
            told = (change.added, change.removed, *change.preferences)
            rules -= sum(map(len, told))
            if rules < 0:
                change = unknown
        if not change.is_none:
            agents_of.setdefault(change, []).extend(agents)
    every = [
        change._replace(agents=tuple(sorted(agents)))  # "*" comes before all tokens
        for change, agents in agents_of.items()
    ]
    return sorted(every, key=lambda change: change.agents[0])


def _alike(old: RobotsTxt, new: RobotsTxt) -> dict[tuple[object, object, str], list[str]]:
    """Return the agents that the versions name, and "*", by the groups that they follow in each.

    None stands for no group. Agents whose groups may have lines that are not for all of them stand
    alone.
    """
    before, after = (groups_by_agent(groups_of(version)) for version in (old, new))
    may_differ = may_differ_within_groups(old) or may_differ_within_groups(new)
    together: dict[tuple[object, object, str], list[str]] = {}
    for agent in {"*": (), **before, **after}:
        followed = (before.get(agent), after.get(agent), agent * may_differ)
        together.setdefault(followed, []).append(agent)
    return together


def _compared(group: str, was: Rules, now: Rules) -> AgentChange:
    """Return what changed for agents, whose `group` was "added", "removed" or neither.

    The rules of "*" are no rules of an agent that a version does not name.
    """
    old, new = entries_of(was), entries_of(now)
    was_open, is_open = closing_rule(old) is None, closing_rule(new) is None
    closed = None
    if was_open != is_open:
        closed = was_open
    if group == "added":
        old = []
    elif group == "removed":
        new = []
    before, after = _content_lines(was), _content_lines(now)
    return AgentChange(
        added=_only_in(new, old),
        removed=_only_in(old, new),
        group=group,
        closed=closed,
        delays=(was.crawl_delay, now.crawl_delay),
        preferences=(tuple(sorted(before - after)), tuple(sorted(after - before))),
    )


def _only_in(rules: list[Rule], others: list[Rule]) -> tuple[Rule, ...]:
    """Return those of `rules` that `others` have not, in file order, of equal ones the first."""
    known = {rule[:2] for rule in others}
    only = []
    for rule in rules:
        if rule[:2] not in known:
            known.add(rule[:2])
            only.append(rule)
    return tuple(only)


def _content_lines(rules: Rules) -> set[str]:
    """Return the lines about the use of content, without what makes no difference."""
    texts: set[str] = set()
    for number, raw in content_lines_of(rules):
        line = read_line(number, raw)
        texts.add(f"{line.key.decode('ascii').title()}: {line.value.decode('ascii')}")
    return texts


class ChangeInWords(NamedTuple):
    """One line about a change."""

    # "-" or "+" for a rule or a line, "!" if all is closed or opened, "?" if not compared, or ""
    sign: str
    text: str
    line: int | None = None  # of a rule, in the version that has it


def change_in_words(change: AgentChange) -> Iterator[ChangeInWords]:
    """Yield what changed for an agent, line by line, in the words that people read."""
    if change.closed is not None:
        yield ChangeInWords("!", _TURNED[change.closed])
    for sign, rules in (("-", change.removed), ("+", change.added)):
        for rule in rules:
            yield ChangeInWords(sign, written(rule), rule.line)
    if change.delays[0] != change.delays[1]:
        words = ["none" if delay is None else f"{delay:g} s" for delay in change.delays]
        yield ChangeInWords("", f"crawl-delay: {' -> '.join(words)}")
    for sign, texts in zip("-+", change.preferences, strict=True):
        for text in texts:
            yield ChangeInWords(sign, text)
    if not change.compared:
        yield ChangeInWords("?", _NOT_COMPARED)


def written(rule: Rule) -> str:
    """Return the rule as in a robots.txt, whole."""
    return f"{'Allow' if rule.allow else 'Disallow'}: {rule.pattern}"
