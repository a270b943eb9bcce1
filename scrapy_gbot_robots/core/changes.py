"""Find the differences between two versions of a robots.txt, for each user agent.

For each user agent, the rules, the crawl delay, and the `Content-Usage` and `Content-Signal` lines
are compared. Comments and the order of groups and lines do not matter. Groups for the same user
agent are merged (RFC 9309 2.2.1). A user agent without a group follows "*". A user agent with an
empty group may fetch everything, so a new empty group is a change.

Each version is read once. If several user agents share their lines in the old version, and also in
the new version, they are compared together. Both versions may be hostile. For example, a file of
500 KiB can name 16,000 user agents. So the comparison stops when its work reaches a limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from .lines import GLOBAL, read_line
from .robots import RobotsTxt, every_group_of, size_of
from .rules import Rules, closing_rule, content_lines_of, entries_of
from .verdict import Rule

# The limit on the work of comparing two versions of a robots.txt, in units. A comparison that
# reaches the limit takes a few seconds. Reading one byte is one unit of work. A line that several
# user agents follow is counted once for each of them.
MOST_WORK = 100_000_000
# Merging and comparing one rule is counted as this many units of work, plus one unit for each
# character of the rule's pattern.
_WORK_OF_RULE = 40
# Reporting one changed line is counted as this many units of work. A line that belongs to many user
# agents is counted once.
_WORK_OF_TEXT = 1_000

_TURNED = {
    True: "now everything is disallowed",
    False: "before, everything was disallowed",
}
_NOT_COMPARED = "not compared, because these files have too many rules for too many user agents"

# The values of `AgentChange.group`. Each key is a pair of bools. The first is True if the old
# version does not name the user agent, and the second if the new version does not name it.
_GROUPS = {(True, False): "added", (False, True): "removed"}


class Text(NamedTuple):
    """One line of a robots.txt that was added or removed, or a sentence about the whole change.

    Attributes:
        text: the whole line in normal form, such as "Disallow: /a", or a sentence such as "now
            everything is disallowed". A line comes from the robots.txt, so it may be hostile.
        line: the number of the first line with this text, from 1; None for a crawl delay or a
            sentence.
    """

    text: str
    line: int | None


class AgentChange(NamedTuple):
    """A change for one user agent, or the same change for several user agents.

    Attributes:
        user_agents: product tokens in lower case, or "*", which comes first.
        removed: the lines that only the old version has for these user agents.
        added: the lines that only the new version has for these user agents.
        group: "added" or "removed" if only one version names the user agents; otherwise None.
        full_disallow: True if a full disallow begins, which means that only the new version
            disallows every URL for the user agents; False if it ends; otherwise None.
        compared: False if comparing the lines of these user agents would take too long. In this
            case only `user_agents` and `group` are filled in, although lines may have changed.
    """

    user_agents: tuple[str, ...] = ()
    removed: tuple[Text, ...] = ()
    added: tuple[Text, ...] = ()
    group: str | None = None
    full_disallow: bool | None = None
    compared: bool = True


def changes(old: RobotsTxt, new: RobotsTxt, most_work: int = MOST_WORK) -> list[AgentChange]:
    """Return the changes from `old` to `new`, sorted by user agent, with "*" at the beginning.

    User agents with the same changes share one `AgentChange`. The list is empty if every crawler
    follows the same lines in both versions.

    `most_work` limits the work of the comparison. Reading one version for one user agent takes at
    most one unit of work for each byte of the version. When the work reaches the limit, the
    comparison stops, and each remaining user agent gets an `AgentChange` whose `compared` is False.
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
    # The character "*" sorts before the characters of product tokens, so "*" is always first.
    return sorted(
        change._replace(user_agents=tuple(sorted(user_agents)))
        for change, user_agents in agents_of.items()
    )


class _Reading(NamedTuple):
    """The lines that a user agent follows in the old or the new version, prepared for comparison.

    Attributes:
        texts: the lines that the user agent follows, each with its line number. If the version does
            not name the user agent, the allow and disallow rules of "*" are left out.
        is_closed: whether every URL is disallowed for the user agent, by its own rules or, if the
            version does not name the user agent, by the rules of "*".
        work: the units of work for reading and comparing these lines.
    """

    texts: dict[str, int | None]
    is_closed: bool
    work: int


class _Version:
    """The old or the new version of a robots.txt. The groups of a version are read only once."""

    def __init__(self, robotstxt: RobotsTxt) -> None:
        self.groups = every_group_of(robotstxt)
        # All user agents that the version does not name share this `_Reading`. It is None until
        # `reading` is called for the first of them.
        self._not_named: _Reading | None = None

    def reading(self, user_agent: str) -> _Reading:
        """Return the lines that `user_agent` follows in this version.

        All user agents that the version does not name get the same `_Reading` object.
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
    """Return a dictionary whose values are lists of user agents that can be compared together.

    All user agents of a list follow the same lines in the old version, and the same lines in the
    new version. The key of the list is a pair of two results of `EveryGroup.lines_followed`, one
    for each version. Together, the lists contain "*" and every user agent that a version names.
    """
    together: dict[tuple[object, object], list[str]] = {}
    everyone = GLOBAL.decode("ascii")
    for user_agent in dict.fromkeys((everyone, *was.groups.user_agents, *now.groups.user_agents)):
        followed = (was.groups.lines_followed(user_agent), now.groups.lines_followed(user_agent))
        together.setdefault(followed, []).append(user_agent)
    return together


def _compared(group: str | None, was: _Reading, now: _Reading) -> AgentChange:
    """Compare the lines of a user agent in the old version (`was`) and in the new version (`now`).

    `group` has the same meaning as in `AgentChange`.
    """
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
    """Return the lines of a user agent in normal form, such as "Disallow: /a".

    A key of the result is the text of a line. The value is the number of the first line with this
    text, or None for a crawl delay.
    """
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
    """Describe an `AgentChange` for people, as pairs of a sign and a string.

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
