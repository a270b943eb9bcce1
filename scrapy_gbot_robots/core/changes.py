"""Two versions of a robots.txt -> what changed for which user agent.

What counts is what a crawler reads: for each user agent its rules, its crawl delay and the preferences about the use of
content, merged as RFC 9309 2.2.1 merges groups. The order of groups and lines does not count, nor do comments. A user
agent without a group follows "*". One with an empty group may fetch everything, so these two differ.

The work is bounded, since both versions may be hostile: 16,000 agents and 16,000 rules for each of them fit into 500 KiB.
So what an agent follows is first told by numbers. Groups that say the same have the same content number, in both versions:
an agent with the same content numbers before and after has no change. Agents that share their groups are compared once.
And rules are only merged as long as the work stays below a bound.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from .fast_reader import statements_of
from .lines import GLOBAL
from .patterns import covers, stand_in
from .preferences import LABELS
from .robots import groups_of_all
from .verdict import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .fast_reader import ScannedGroup
    from .preferences import Statements
    from .robots import RobotsTxt

MOST_WORK: Final = 1_000_000  # rules that are merged; takes about a second
_WORK_OF_PREFERENCE: Final = 20  # a preference line counts as this number of rules
_LABELS: Final = (*(label for label, _, _ in LABELS), "use")
_ALL_PATHS: Final = "/"

_RulesByPattern = dict[tuple[bool, str], Rule]
_Content = tuple[tuple[object, ...], ...]  # of a group: the paths of its rules and its preference lines, as written


class PreferenceChange(NamedTuple):
    """A preference about the use of content that turned. Experimental, as `Preferences` is.

    Attributes:
        path: the pattern of the paths for which it turned; "/" stands for all that no longer pattern names.
        label: "train_ai", "search", "ai_use" or "use", as in `Preferences`.
        before: what the old version says: True (granted), False (refused), a word for `use`, or None (not said).
        after: what the new version says.
    """

    path: str
    label: str
    before: bool | str | None
    after: bool | str | None


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
        preferences: the preferences that turned, by path.
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
    numbers: dict[_Content, int] = {}
    comparison = _Comparison(_Version(old, numbers), _Version(new, numbers), most_work)
    found = map(comparison.change_for, comparison.agents())
    return [change for change in found if change is not None]


class _Followed(NamedTuple):
    """What an agent follows in one version.

    Each group is a pair of numbers: the second is the place of the first preference line that counts for the agent. In
    `groups`, the first is the place of the group in its version; in `contents`, it is the content number.
    """

    groups: tuple[tuple[int, int], ...] = ()
    contents: tuple[tuple[int, int], ...] = ()


_NOTHING: Final = _Followed()


class _Difference(NamedTuple):
    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]
    closed: bool | None
    preferences: tuple[PreferenceChange, ...]


class _Version:
    """One version of the file: what each agent follows, and the rules and preferences of that."""

    def __init__(self, robotstxt: RobotsTxt, numbers: dict[_Content, int]) -> None:
        """Read the groups. `numbers` has the content numbers so far, and gets those of new contents."""
        self.delays: dict[bytes, float | None] = {}
        self._groups, self._signals = groups_of_all(robotstxt)
        own: dict[bytes, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {}
        for place, group in enumerate(self._groups):
            number = numbers.setdefault(_content_of(group), len(numbers))
            agents_so_far = [line[1] for line in group.preferences]
            for agent_place, (agent, delay) in enumerate(group.agents.items()):
                first = bisect_right(agents_so_far, agent_place)
                groups, contents = own.setdefault(agent, ([], []))
                groups.append((place, first))
                contents.append((number, first))
                if self.delays.get(agent) is None:
                    self.delays[agent] = delay
        self.followed = {agent: _Followed(tuple(groups), tuple(contents)) for agent, (groups, contents) in own.items()}
        self.signals = [value for _, value in self._signals]

    def followed_by(self, agent: bytes) -> _Followed:
        """Return what `agent` follows: its own groups, else those of "*"."""
        return self.followed.get(agent) or self.followed.get(GLOBAL, _NOTHING)

    def work(self, followed: _Followed) -> int:
        """Return what it takes to merge `followed`, in rules."""
        lines = len(self._signals)
        rules = 0
        for place, first in followed.groups:
            group = self._groups[place]
            rules += 1 + len(group.allows) + len(group.disallows)
            lines += len(group.preferences) - first
        return rules + _WORK_OF_PREFERENCE * lines

    def rules(self, followed: _Followed) -> _RulesByPattern:
        """Return the merged rules, of equal ones the first."""
        merged: _RulesByPattern = {}
        for place, _ in followed.groups:
            for rule in _rules_of(self._groups[place]):
                merged.setdefault((rule.allow, rule.pattern), rule)
        return merged

    def statements(self, followed: _Followed) -> Statements | None:
        """Return the preferences that are stated, None if there are none."""
        lines = [line for place, first in followed.groups for line in self._groups[place].preferences[first:]]
        return statements_of(lines, self._signals) if lines or self._signals else None


class _Comparison:
    """Two versions. What follows the same in both is compared once."""

    def __init__(self, old: _Version, new: _Version, work_left: int) -> None:
        self._old, self._new = old, new
        self._work_left = work_left
        self._known: dict[tuple[_Followed, _Followed, bool, bool], _Difference | None] = {}

    def agents(self) -> list[bytes]:
        """Return all agents that one of the versions names, and "*": that one first."""
        agents = self._old.followed.keys() | self._new.followed.keys() | {GLOBAL}
        return sorted(agents, key=lambda agent: (agent != GLOBAL, agent))

    def change_for(self, agent: bytes) -> AgentChange | None:
        """Return what changed for `agent`, None if nothing did."""
        was_named, is_named = agent in self._old.followed, agent in self._new.followed
        key = self._old.followed_by(agent), self._new.followed_by(agent), was_named, is_named
        if key not in self._known:
            self._known[key] = self._difference(*key)
        difference = self._known[key]
        delays = self._old.delays.get(agent), self._new.delays.get(agent)
        if difference == _SAME and was_named == is_named and delays[0] == delays[1]:
            return None
        return AgentChange(
            agent.decode("ascii"),
            group="" if was_named == is_named else "added" if is_named else "removed",
            delays=delays,
            compared=difference is not None,
            **(difference or _SAME)._asdict(),
        )

    def _difference(self, before: _Followed, after: _Followed, was_named: bool, is_named: bool) -> _Difference | None:
        """Compare what is followed before with what is followed after; None if that takes too much work.

        The rules of "*" are no rules of an agent that a version does not name. They decide about `closed`, though.
        """
        if before.contents == after.contents and was_named == is_named and self._old.signals == self._new.signals:
            return _SAME
        work = self._old.work(before) + self._new.work(after)
        if work > self._work_left:
            return None
        self._work_left -= work
        old, new = self._old.rules(before), self._new.rules(after)
        was, now = _is_closed(old), _is_closed(new)
        own_old, own_new = old if was_named else {}, new if is_named else {}
        return _Difference(
            _only_in(own_new, own_old),
            _only_in(own_old, own_new),
            now if was != now else None,
            tuple(_turned(self._old.statements(before), self._new.statements(after))),
        )


_SAME: Final = _Difference((), (), None, ())


def _content_of(group: ScannedGroup) -> _Content:
    preferences = [(kind, agents_so_far, value) for kind, agents_so_far, _, value in group.preferences]
    return tuple(group.allows), tuple(group.disallows), tuple(preferences)


def _rules_of(group: ScannedGroup) -> list[Rule]:
    allows, disallows = group.patterns()
    rules = [Rule(True, pattern, line) for pattern, line in allows.entries()]
    return rules + [Rule(False, pattern, line) for pattern, line in disallows.entries()]


def _only_in(ours: _RulesByPattern, theirs: _RulesByPattern) -> tuple[Rule, ...]:
    return tuple(sorted((ours[key] for key in ours.keys() - theirs.keys()), key=lambda rule: rule.line))


def _is_closed(rules: _RulesByPattern) -> bool:
    """Whether everything is disallowed: a rule covers all paths, and none allows any."""
    if any(allow and pattern for allow, pattern in rules):
        return False
    return any(pattern and covers(pattern, _ALL_PATHS) for _, pattern in rules)


def _turned(old: Statements | None, new: Statements | None) -> Iterator[PreferenceChange]:
    """Yield the preferences that differ, by path. What turned for all paths is not told again for some of them."""
    if old is None and new is None:
        return
    old, new = old or statements_of((), ()), new or statements_of((), ())
    for_all: set[PreferenceChange] = set()
    for path in (_ALL_PATHS, *sorted({*old.paths, *new.paths} - {_ALL_PATHS})):
        said = [version.of(stand_in(path)) for version in (old, new)]
        for label in _LABELS:
            turned = PreferenceChange(_ALL_PATHS, label, *(getattr(each, label) for each in said))
            if turned.before != turned.after and turned not in for_all:
                yield turned._replace(path=path)
                if path == _ALL_PATHS:
                    for_all.add(turned)
