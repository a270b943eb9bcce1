"""Two versions of a robots.txt -> what changed for which user agent.

What counts is what a crawler reads: for each user agent its rules, its crawl delay and the
preferences about the use of content, merged as RFC 9309 2.2.1 merges groups. The order of groups
and lines does not count, nor do comments. A user agent without a group follows "*". One with an
empty group may fetch everything, so these two differ.

Both versions are read for one user agent after the other, and once for those that share their
groups. That work is bounded, since both may be hostile: 16,000 agents fit into 500 KiB.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from .robots import RobotsTxt, groups_by_agent, groups_of, may_differ_within_groups, size_of
from .rules import Rules, closing_rule, content_lines_of, entries_of
from .verdict import Rule

if TYPE_CHECKING:
    from .preferences import PreferenceChange

MOST_WORK = 100_000_000  # bytes that are read, or work that takes as long: seconds
_WORK_OF_PAIR = (
    50  # bytes that are read while a preference of one version is held against one of the other
)

_TURNED = {
    True: "everything is disallowed to it now",
    False: "not everything is disallowed to it any more",
}
_NOT_COMPARED = "not compared: these files have too many rules for too many user agents"
_SAID: dict[bool | str | None, str] = {True: "granted", False: "refused", None: "not said"}

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
    alike: dict[object, list[str]] = {}  # agents that follow the same groups
    for agent in {"*": (), **followed[0], **followed[1]}:
        own = [each.get(agent) for each in followed]
        alike.setdefault((*own, may_differ and agent), []).append(agent)
    found: list[AgentChange] = []
    for agents in alike.values():
        before, after = (agents[0] in each for each in followed)
        change = AgentChange(
            agents[0],
            group="" if before == after else "added" if after else "removed",
            compared=False,
        )
        most_work -= size_of(old) + size_of(new)
        if most_work >= 0:
            was, now = old.rules_for(agents[0]), new.rules_for(agents[0])
            most_work -= (
                _WORK_OF_PAIR * (len(content_lines_of(was)) + len(content_lines_of(now))) ** 2
            )
        if most_work >= 0:
            change = _compared(change, was, now)
        if change != AgentChange(agents[0], delays=(change.delays[0], change.delays[0])):
            found += [change._replace(agent=agent) for agent in agents]
    return sorted(found, key=lambda change: (change.agent != "*", change.agent))


def _compared(change: AgentChange, was: Rules, now: Rules) -> AgentChange:
    """Add what changed to `change`. The rules of "*" are no rules of an agent that a version does not name."""
    old, new = (_by_pattern(rules) for rules in (was, now))
    closed_before, closed = (closing_rule(rules.values()) is not None for rules in (old, new))
    old, new = {} if change.group == "added" else old, {} if change.group == "removed" else new
    lines = content_lines_of(was), content_lines_of(now)
    turned: Iterable[PreferenceChange] = ()
    if any(lines):
        from .preferences import turned_between  # noqa: PLC0415 - few files state any

        turned = turned_between(*lines)
    return change._replace(
        added=tuple(new[key] for key in new if key not in old),
        removed=tuple(old[key] for key in old if key not in new),
        closed=closed if closed != closed_before else None,
        delays=(was.crawl_delay, now.crawl_delay),
        preferences=tuple(turned),
        compared=True,
    )


def _by_pattern(rules: Rules) -> _RulesByPattern:
    """Return the rules in file order, of equal ones the first."""
    found: _RulesByPattern = {}
    for rule in entries_of(rules):
        found.setdefault((rule.allow, rule.pattern), rule)
    return found


class ChangeInWords(NamedTuple):
    """One line about a change."""

    sign: str  # "-" or "+" for a rule, "!" if all is closed or opened, "?" if not compared, or ""
    text: str
    line: int | None = None  # of a rule, in the version that has it


def change_in_words(change: AgentChange) -> Iterator[ChangeInWords]:
    """Yield what changed for an agent, line by line, in the words that people read."""
    if change.closed is not None:
        yield ChangeInWords("!", _TURNED[change.closed])
    for rule in change.removed:
        yield ChangeInWords("-", written(rule), rule.line)
    for rule in change.added:
        yield ChangeInWords("+", written(rule), rule.line)
    if change.delays[0] != change.delays[1]:
        before, after = map(_delay_in_words, change.delays)
        yield ChangeInWords("", f"crawl-delay: {before} -> {after}")
    for turned in change.preferences:
        where = "" if turned.path == "/" else f" for {turned.path}"
        before = _SAID.get(turned.before, str(turned.before))
        after = _SAID.get(turned.after, str(turned.after))
        yield ChangeInWords("", f"preference {turned.label}{where}: {before} -> {after}")
    if not change.compared:
        yield ChangeInWords("?", _NOT_COMPARED)


def written(rule: Rule) -> str:
    """Return the rule as in a robots.txt, whole."""
    return f"{'Allow' if rule.allow else 'Disallow'}: {rule.pattern}"


def _delay_in_words(delay: float | None) -> str:
    return "none" if delay is None else f"{delay:g} s"
