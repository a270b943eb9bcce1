"""Two versions of a robots.txt -> what changed for which user agent.

What counts is what a crawler reads: for each user agent its rules, its crawl delay and the
lines about the use of content, merged as RFC 9309 2.2.1 merges groups. The order of groups
and lines does not count, nor do comments. A user agent without a group follows "*". One with an
empty group may fetch everything, so these two differ.

Each version is read once. Then what agents follow is compared, once for those that follow the same
lines in both. That work is bounded, since both may be hostile: 16,000 agents fit into 500 KiB.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from .lines import GLOBAL, read_line
from .robots import RobotsTxt, every_group_of, size_of
from .rules import Rules, closing_rule, content_lines_of, entries_of
from .verdict import Rule

# A unit of work takes as long as to read a byte for one agent. So much takes seconds.
MOST_WORK = 100_000_000
_WORK_OF_RULE = 40  # to merge and to compare one, besides its pattern
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

    user_agents: tuple[str, ...] = ()
    removed: tuple[Text, ...] = ()
    added: tuple[Text, ...] = ()
    group: str | None = None
    full_disallow: bool | None = None
    compared: bool = True


def changes(old: RobotsTxt, new: RobotsTxt, most_work: int = MOST_WORK) -> list[AgentChange]:
    """Return what changed, that of "*" first, then by user agent.

    The list is empty if a crawler reads the same in both. What agents share is said once.
    `most_work` bounds the work of comparing: one version for one agent is at most as much as it has
    bytes.
    """
    most_of_one = size_of(old) + size_of(new)
    was, now = _Version(old), _Version(new)
    agents_of: dict[AgentChange, list[str]] = {}  # by what changed for them
    for (before, after), user_agents in _alike(was, now).items():
        group = _GROUPS.get((before is None, after is None))
        change = unknown = AgentChange(group=group, compared=False)
        if most_work > 0:
            old_reading, new_reading = was.reading(user_agents[0]), now.reading(user_agents[0])
            change = _compared(group, old_reading, new_reading)
            most_work -= min(most_of_one, old_reading.work + new_reading.work)
        if change not in agents_of:
            most_work -= _WORK_OF_TEXT * len(change.removed + change.added)
            if most_work < 0:
                change = unknown
        if change != AgentChange():
            agents_of.setdefault(change, []).extend(user_agents)
    # "*" comes before all tokens
    return sorted(
        change._replace(user_agents=tuple(sorted(user_agents)))
        for change, user_agents in agents_of.items()
    )


class _Reading(NamedTuple):
    """What an agent reads in a version.

    `texts` has what stands in the agent's own groups, each with its line. If the version does not
    name the agent, `texts` has no rules, since those of "*" are not the agent's.
    """

    texts: dict[str, int | None]
    is_closed: bool  # everything is disallowed, also by the rules of "*"
    work: int  # to read and to compare it


class _Version:
    """A version of a robots.txt, read once."""

    def __init__(self, robotstxt: RobotsTxt) -> None:
        self.groups = every_group_of(robotstxt)
        self._not_named: _Reading | None = None  # once it was asked for

    def reading(self, user_agent: str) -> _Reading:
        """Return what `agent` reads. It takes no time if the version does not name the agent."""
        if user_agent in self.groups.user_agents:
            rules = self.groups.rules_for(user_agent)
            entries = entries_of(rules)
            return _reading(rules, entries, entries)
        if self._not_named is None:
            rules = self.groups.rules_for(GLOBAL.decode("ascii"))
            self._not_named = _reading(rules, entries_of(rules), ())
        return self._not_named


def _alike(was: _Version, now: _Version) -> dict[tuple[object, object], list[str]]:
    """Return the agents that the versions name, and "*", by the lines that they follow in each.

    None stands for no group.
    """
    together: dict[tuple[object, object], list[str]] = {}
    everyone = GLOBAL.decode("ascii")
    for user_agent in dict.fromkeys((everyone, *was.groups.user_agents, *now.groups.user_agents)):
        followed = (was.groups.lines_followed(user_agent), now.groups.lines_followed(user_agent))
        together.setdefault(followed, []).append(user_agent)
    return together


def _compared(group: str | None, was: _Reading, now: _Reading) -> AgentChange:
    """Return what changed for agents, whose `group` was "added", "removed" or neither."""
    full_disallow = None
    if was.is_closed != now.is_closed:
        full_disallow = now.is_closed
    removed, added = _only_in(was.texts, now.texts), _only_in(now.texts, was.texts)
    return AgentChange((), removed, added, group, full_disallow)


def _reading(rules: Rules, entries: Iterable[Rule], own_rules: Collection[Rule]) -> _Reading:
    is_closed = closing_rule(entries) is not None
    work = sum(_WORK_OF_RULE + len(rule.pattern) for rule in own_rules)
    work += sum(_WORK_OF_RULE + len(raw) for _, raw in content_lines_of(rules))
    return _Reading(_texts(rules, own_rules), is_closed, work)


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
