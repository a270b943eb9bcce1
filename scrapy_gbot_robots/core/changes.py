"""Two versions of a robots.txt -> what changed for which user agent.

What counts is what a crawler reads: for each user agent its rules, its crawl delay and the
lines about the use of content, merged as RFC 9309 2.2.1 merges groups. The order of groups
and lines does not count, nor do comments. A user agent without a group follows "*". One with an
empty group may fetch everything, so these two differ.

Both versions are read for one user agent after the other, and once for those that share their
groups. That work is bounded, since both may be hostile: 16,000 agents fit into 500 KiB.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .lines import read_line
from .robots import RobotsTxt, groups_by_agent, groups_of, may_differ_within_groups, size_of
from .rules import Rules, closing_rule, content_lines_of, entries_of
from .verdict import Rule

MOST_WORK = 100_000_000  # bytes that are read, or work that takes as long: seconds
_WORK_OF_TEXT = 1_000  # to tell one, which may be for many agents

_TURNED = {
    True: "everything is disallowed to it now",
    False: "not everything is disallowed to it any more",
}
_NOT_COMPARED = "not compared: these files have too many rules for too many user agents"

# What became of a group, by whether it is missing in each version.
_GROUPS = {(True, False): "added", (False, True): "removed"}


class Text(NamedTuple):
    """A rule, a crawl delay or a line about the use of content, as in a robots.txt.

    Attributes:
        text: all of it. It may be hostile.
        line: its first line; None for a crawl delay.
    """

    text: str
    line: int | None


class AgentChange(NamedTuple):
    """What changed for some user agents.

    Attributes:
        agents: product tokens in lower case, or "*", which comes first.
        removed: what only the old version has for them.
        added: what only the new version has.
        group: "added" or "removed" if only one of the versions names the agents; else None.
        full_disallow: True if the new version disallows everything to the agents and the old one
            did not, False if it is the other way round; else None.
        compared: False if the versions are too long, for too many agents, to compare what these
            agents read. Then nothing else is said but `group`, though something may have changed.
    """

    agents: tuple[str, ...] = ()
    removed: tuple[Text, ...] = ()
    added: tuple[Text, ...] = ()
    group: str | None = None
    full_disallow: bool | None = None
    compared: bool = True


def changes(old: RobotsTxt, new: RobotsTxt, most_work: int = MOST_WORK) -> list[AgentChange]:
    """Return what changed, that of "*" first, then by user agent.

    The list is empty if a crawler reads the same in both. What agents share is said once.
    `most_work` bounds the number of bytes that are read.
    """
    agents_of: dict[AgentChange, list[str]] = {}  # by what changed for them
    for (before, after, _), agents in _alike(old, new).items():
        group = _GROUPS.get((before is None, after is None))
        change = unknown = AgentChange(group=group, compared=False)
        most_work -= size_of(old) + size_of(new)
        if most_work >= 0:
            change = _compared(group, old.rules_for(agents[0]), new.rules_for(agents[0]))
        if change not in agents_of:
            most_work -= _WORK_OF_TEXT * len(change.removed + change.added)
            if most_work < 0:
                change = unknown
        if change != AgentChange():
            agents_of.setdefault(change, []).extend(agents)
    # "*" comes before all tokens
    return sorted(
        change._replace(agents=tuple(sorted(agents))) for change, agents in agents_of.items()
    )


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


def _compared(group: str | None, was: Rules, now: Rules) -> AgentChange:
    """Return what changed for agents, whose `group` was "added", "removed" or neither.

    The rules of "*" are no rules of an agent that a version does not name.
    """
    old, new = entries_of(was), entries_of(now)
    was_closed, is_closed = closing_rule(old) is not None, closing_rule(new) is not None
    full_disallow = None
    if was_closed != is_closed:
        full_disallow = is_closed
    if group == "added":
        old = []
    elif group == "removed":
        new = []
    before, after = _texts(was, old), _texts(now, new)
    removed, added = _only_in(before, after), _only_in(after, before)
    return AgentChange((), removed, added, group, full_disallow)


def _texts(rules: Rules, entries: Iterable[Rule]) -> dict[str, int | None]:
    """Return what an agent reads, without what makes no difference, each text with its line."""
    texts: dict[str, int | None] = {}
    for allow, pattern, line in entries:
        field = "Allow" if allow else "Disallow"
        texts.setdefault(f"{field}: {pattern}", line)
    if rules.crawl_delay is not None:
        texts[f"Crawl-delay: {rules.crawl_delay:g}"] = None
    for number, raw in content_lines_of(rules):
        content = read_line(number, raw)
        field, value = content.key.decode("ascii").title(), content.value.decode("ascii")
        texts.setdefault(f"{field}: {value}", number)
    return texts


def _only_in(texts: dict[str, int | None], others: dict[str, int | None]) -> tuple[Text, ...]:
    return tuple(Text(text, line) for text, line in texts.items() if text not in others)


def change_in_words(change: AgentChange) -> Iterator[tuple[str, Text]]:
    """Yield what changed for an agent, line by line: a sign, and a text for people.

    The sign is "-" or "+" for what is gone or new, "!" if all is closed or opened, "?" if it is not
    compared.
    """
    if change.full_disallow is not None:
        yield "!", Text(_TURNED[change.full_disallow], None)
    for text in change.removed:
        yield "-", text
    for text in change.added:
        yield "+", text
    if not change.compared:
        yield "?", Text(_NOT_COMPARED, None)
