"""The differences between two versions of a robots.txt, by user agent.

Only the lines that a crawler reads are compared: the rules of each user agent, its crawl delay and
its lines about the use of content, merged as RFC 9309 2.2.1 merges groups. The order of groups and
lines does not matter, and comments do not matter. A user agent without a group follows "*". A user
agent with an empty group may fetch everything, so adding an empty group is a change.

Each version is read once. User agents that follow the same lines in both versions are compared
together, once. The work has a limit, because both versions may be hostile: 16,000 user agents fit
into 500 KiB.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from .lines import GLOBAL, read_line
from .robots import RobotsTxt, every_group_of, size_of
from .rules import Rules, closing_rule, content_lines_of, entries_of
from .verdict import Rule

# One unit of work is the time of reading one byte for one user agent. The whole limit takes
# seconds.
MOST_WORK = 100_000_000
# Units for merging and comparing one rule, in addition to the length of its pattern.
_WORK_OF_RULE = 40
# Units for reporting one line, which may concern many user agents.
_WORK_OF_TEXT = 1_000

_TURNED = {
    True: "now everything is disallowed",
    False: "now not everything is disallowed any more",
}
_NOT_COMPARED = "not compared, because these files have too many rules for too many user agents"

# The keys: is the group missing in the old version, and is it missing in the new version?
_GROUPS = {(True, False): "added", (False, True): "removed"}


class Text(NamedTuple):
    """A rule, a crawl delay or a line about the use of content, as in a robots.txt.

    Attributes:
        text: the whole line, normalised. It may be hostile.
        line: the number of the first line with this text, from 1; None for a crawl delay.
    """

    text: str
    line: int | None


class AgentChange(NamedTuple):
    """What changed for some user agents.

    Attributes:
        user_agents: product tokens in lower case, or "*", which comes first.
        removed: the lines that only the old version has for these user agents.
        added: the lines that only the new version has for these user agents.
        group: "added" or "removed" if only one version names the user agents; otherwise None.
        full_disallow: True if only the new version disallows everything to the user agents, False
            if only the old version does; otherwise None.
        compared: False if comparing the lines of these user agents would take too long. In this
            case only `group` is filled in, although other things may have changed.
    """

    user_agents: tuple[str, ...] = ()
    removed: tuple[Text, ...] = ()
    added: tuple[Text, ...] = ()
    group: str | None = None
    full_disallow: bool | None = None
    compared: bool = True


def changes(old: RobotsTxt, new: RobotsTxt, most_work: int = MOST_WORK) -> list[AgentChange]:
    """Return the changes from `old` to `new`: first the changes for "*", then by user agent.

    User agents with the same changes share one entry. The list is empty if every crawler reads the
    same in both versions. `most_work` limits the work of comparing. Reading one version for one
    user agent costs at most one unit for each byte of the version.
    """
    most_of_one = size_of(old) + size_of(new)
    was, now = _Version(old), _Version(new)
    agents_of: dict[AgentChange, list[str]] = {}
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
    # "*" sorts before every product token.
    return sorted(
        change._replace(user_agents=tuple(sorted(user_agents)))
        for change, user_agents in agents_of.items()
    )


class _Reading(NamedTuple):
    """The lines that a user agent reads in one version.

    Attributes:
        texts: the lines of the user agent's own groups, each with its number. If the version does
            not name the user agent, `texts` has no rules, because the rules of "*" are not its own.
        is_closed: whether everything is disallowed to the user agent. The rules of "*" count if the
            version does not name it.
        work: the units of work for reading and comparing these lines.
    """

    texts: dict[str, int | None]
    is_closed: bool
    work: int


class _Version:
    """A version of a robots.txt, read once."""

    def __init__(self, robotstxt: RobotsTxt) -> None:
        self.groups = every_group_of(robotstxt)
        # The lines of all user agents that the version does not name; None until they are needed.
        self._not_named: _Reading | None = None

    def reading(self, user_agent: str) -> _Reading:
        """Return the lines that `user_agent` reads.

        All user agents that the version does not name share one result, which is made once.
        """
        if user_agent in self.groups.user_agents:
            rules = self.groups.rules_for(user_agent)
            entries = entries_of(rules)
            return _reading(rules, entries, entries)
        if self._not_named is None:
            rules = self.groups.rules_for(GLOBAL.decode("ascii"))
            self._not_named = _reading(rules, entries_of(rules), ())
        return self._not_named


def _alike(was: _Version, now: _Version) -> dict[tuple[object, object], list[str]]:
    """Group "*" and all user agents that a version names by the lines that they follow.

    A key has the lines in the old and in the new version; None means that the version does not name
    the user agent.
    """
    together: dict[tuple[object, object], list[str]] = {}
    everyone = GLOBAL.decode("ascii")
    for user_agent in dict.fromkeys((everyone, *was.groups.user_agents, *now.groups.user_agents)):
        followed = (was.groups.lines_followed(user_agent), now.groups.lines_followed(user_agent))
        together.setdefault(followed, []).append(user_agent)
    return together


def _compared(group: str | None, was: _Reading, now: _Reading) -> AgentChange:
    """Return the change from `was` to `now`; `group` is as in `AgentChange`."""
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
    """Return the lines of a user agent in normal form, each with the number of its first line."""
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
    """Yield the parts of a change, each as a sign and a text for people.

    The sign is "-" for a removed line and "+" for an added line. It is "!" if a full disallow
    begins or ends, and "?" if the lines were not compared.
    """
    if change.full_disallow is not None:
        yield "!", Text(_TURNED[change.full_disallow], None)
    for text in change.removed:
        yield "-", text
    for text in change.added:
        yield "+", text
    if not change.compared:
        yield "?", Text(_NOT_COMPARED, None)
