"""Read only those lines of a robots.txt that one crawler follows.

This module is the fast reader. Its function `scan` returns the rules of the first user agent that
has a group, merged from all its groups. Its class `EveryGroup` reads a file once for all user
agents that the file names.

A group is *wanted* if it names a user agent for which the caller asked. A file of 500 KiB may
contain the groups of many crawlers, so the reader skips other groups as fast as possible.

The reader works in three steps:

1. Split a long file into blocks of lines. Outside the wanted groups only user-agent lines matter,
   so a block without the word "user" is skipped as a whole. A long body in which no line begins
   with "user", such as an error page, is skipped as a whole.
2. Inside the wanted groups, a block in which every line begins with "Disallow: " is split in one
   step. In other blocks, each line is split at its colon, and the field name is looked up among the
   usual spellings. If the spelling is not a usual one, the careful reader (lines.py) reads the
   line. A line whose beginning shows that it cannot matter is skipped.
3. Keep the paths of a group's rules as written, and join all paths into one string at the end
   (patterns.py). The string is decoded and escaped once, which is faster than once for each line.

A worked example, for the user agents "mybot" and "*":

    1  User-agent: mybot     the user agent is wanted, so a wanted group begins
    2  Disallow: /a          the field name is the usual one, so path and line number are kept
    3  disalow: /b           the field name is misspelt, so the careful reader reads the line
    4  Sitemap: https://...  the field does not belong to a group, so the line is skipped
    5  User-agent: other     rules stand above, so a new group begins; this group is not wanted

The careful reader is the specification, which means that the fast reader must give the same rules.
The fast reader may skip only lines that the careful reader would ignore for these user agents. The
tests in tests/fuzz compare both readers.

This module does not report odd lines, and does not read sitemap lines. It keeps `Content-Usage` and
`Content-Signal` lines as written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import itemgetter

from .lines import (
    ALLOW,
    CRAWL_DELAY,
    DISALLOW,
    FIELDS,
    GLOBAL,
    MISSING_COLON,
    SITEMAP,
    UNKNOWN,
    UNUSED,
    UNUSED_FIELDS,
    USER_AGENT,
    ContentLine,
    agent_of,
    as_written,
    content_blocks,
    read_line,
    seconds,
    without_bom,
)
from .patterns import NO_PATTERNS, Patterns
from .rules import Rules
from .verdict import IGNORES_ROBOTS, NO_GROUP

# The kinds of crawl-delay, `Content-Usage` and `Content-Signal` lines. Google ignores these three
# fields, so lines.py gives all of them the kind UNUSED. The numbers are negative so that they
# differ from the kinds in lines.py.
_DELAY = -1
_USAGE = -2
_SIGNAL = -3
_OWN = {CRAWL_DELAY: _DELAY, b"content-usage": _USAGE, b"content-signal": _SIGNAL}
_OWN_KINDS = frozenset(_OWN.values())
# The result of `ScannedGroup.runs_of` for a user agent that is named only in the first run of its
# group. Most user agents are of this kind.
_FIRST_RUN = (0,)


def _usual_ways() -> dict[bytes, int]:
    """Return a dictionary that maps each usual spelling of a field name to the kind of line.

    For the field "disallow", these spellings are "disallow", "Disallow" and "DISALLOW".
    """
    kinds = {name: kind for kind, name, _ in FIELDS}
    kinds.update(dict.fromkeys(UNUSED_FIELDS, UNUSED))
    kinds.update(_OWN)
    usual = {b"": UNKNOWN}  # A blank line has an empty field name.
    for name, kind in kinds.items():
        for way in (name, name.capitalize(), name.title(), name.upper()):
            usual[way] = kind
    return usual


def _beginnings() -> tuple[bytes, ...]:
    """Return the field names, with known misspellings, of all lines that can belong to a group.

    The names are in lower case.
    """
    names = [*_OWN]
    for kind, name, typos in FIELDS:
        if kind != SITEMAP:
            names += (name, *typos)
    return tuple(names)


_USUAL = _usual_ways()
# In lower case, every user-agent line begins with this word. White space may come before it.
_AGENT_LINE = b"user"
_ENDS_LINE = b"\r\n"
_WHITE = b" \t\v\f"
# To find out whether a string has a user-agent line, at most this many occurrences of the word
# "user" are checked. If none of them is at the beginning of a line, the string is read line by
# line.
_MOST_PLACES = 1_000
# If this many bytes before the word "user" are all white space, "user" is assumed to be at the
# beginning of a line.
_MOST_INDENT = 100
# A line belongs to a group only if it begins with one of these names, compared in lower case. The
# reader skips any other line.
_BEGINNINGS = _beginnings()
# Before a wanted group, a line matters only if it begins with white space or with the first letter
# of "User-agent" or "Content-Signal".
_BEFORE_GROUP = frozenset(bytes((byte,)) for byte in b"uUcC" + _WHITE)
# Inside a wanted group, a line matters only if it begins with one of these bytes.
_IN_GROUP = _BEFORE_GROUP.union(
    (name[:1] for name in _BEGINNINGS), (name[:1].upper() for name in _BEGINNINGS)
)
_SIGNAL_LINE = b"content-signal"
# Most lines in real files begin with "Disallow: ", and most of the others with "Allow: ".
_RUN = b"Disallow: "
_RUN_BYTES = len(_RUN)
_ALLOW_LINE = b"Allow: "
_ALLOW_BYTES = len(_ALLOW_LINE)
# If a body has more than this number of bytes, it is searched for user-agent lines before it is
# split into lines.
_LONG = 4_096
_HASH, _NUL = b"#\0"  # These are numbers: `35 in text` is faster than `b"#" in text`.


class ScannedGroup:
    """A group of a robots.txt, in the form in which the fast reader collects it.

    The user-agent lines of a group form one or more runs. A `Content-Usage` line ends a run,
    because it applies only to the user agents of the run above it (draft-ietf-aipref-attach-05, 3).
    A crawl delay or a `Content-Signal` line applies to all user agents above it in the group. For
    example, the following group has two runs, and its `Content-Usage` line applies only to "a":

        User-agent: a
        Content-Usage: train-ai=n
        User-agent: b
        Disallow: /x

    Attributes:
        user_agents: the user agents, each with the number of the first line that names it.
        allows: the paths of the allow rules, as written.
        allow_lines: the line number of each allow rule.
        disallows: the paths of the disallow rules, as written.
        disallow_lines: the line number of each disallow rule.
        own_lines: the crawl-delay, `Content-Usage` and `Content-Signal` lines. Each item is a tuple
            of the kind of the line, the line number, the line as written, and the number of the run
            above the line.
        run: the number of the current run of user-agent lines, from 0.
        has_usage: whether a `Content-Usage` line has ended the current run.
        runs: for each user agent, the numbers of the runs that name it. User agents that are
            named only in the first run are left out.
    """

    __slots__ = (
        "allow_lines",
        "allows",
        "disallow_lines",
        "disallows",
        "has_usage",
        "own_lines",
        "run",
        "runs",
        "user_agents",
    )

    def __init__(self) -> None:
        self.user_agents: dict[bytes, int] = {}
        self.allows: list[bytes] = []
        self.allow_lines: list[int] = []
        self.disallows: list[bytes] = []
        self.disallow_lines: list[int] = []
        self.own_lines: list[tuple[int, int, bytes, int]] = []
        self.run = 0
        self.has_usage = False
        self.runs: dict[bytes, set[int]] = {}

    def add_agent(self, user_agent: bytes, line: int) -> None:
        """Add the user agent of a user-agent line. `line` is the number of that line."""
        if self.run:
            first = {0} if user_agent in self.user_agents else set()
            self.runs.setdefault(user_agent, first).add(self.run)
        self.user_agents.setdefault(user_agent, line)

    def add_own_line(self, kind: int, number: int, text: bytes) -> None:
        """Add a crawl delay, a `Content-Usage` line or a `Content-Signal` line to `own_lines`."""
        self.own_lines.append((kind, number, text, self.run))
        if kind == _USAGE:
            self.has_usage = True

    def end_run(self) -> None:
        """Begin a new run of user-agent lines if a `Content-Usage` line has ended the current run.

        The reader calls this at every user-agent line, before it adds the user agent.
        """
        if self.has_usage:
            self.run += 1
            self.has_usage = False

    def add_run(self, block: bytes, before: int) -> bool:
        """Add the rules of a block of lines if every line begins with "Disallow: ".

        Return whether the rules were added. The caller has already checked the first line. `before`
        is the number of lines that come before the block in the file.
        """
        paths = block[_RUN_BYTES:].removesuffix(b"\n").split(b"\n" + _RUN)
        if len(paths) <= block.count(b"\n", 0, -1):
            return False
        self.disallows += map(bytes.strip, paths)
        self.disallow_lines += range(before + 1, before + 1 + len(paths))
        return True

    def own_lines_before(self, user_agent: bytes) -> int:
        """Return how many items of `own_lines` stand above the first line that names `user_agent`.

        These items do not apply to `user_agent`.
        """
        return bisect_left(self.own_lines, self.user_agents[user_agent], key=itemgetter(1))

    def runs_of(self, user_agent: bytes) -> Sequence[int]:
        """Return the numbers of the runs of user-agent lines that name `user_agent`, sorted."""
        return sorted(self.runs.get(user_agent, _FIRST_RUN))


def scan(body: bytes, user_agents: tuple[bytes, ...]) -> Rules:
    """Return the rules for the first of `user_agents` that has a group in `body`.

    A user agent is a product token in lower case, or "*".
    """
    reader = _Scan(user_agents)
    reader.read(body)
    for user_agent in user_agents if reader.groups else ():
        merged = [group for group in reader.groups if user_agent in group.user_agents]
        if merged:
            return _rules(merged, user_agent, reader.signals)
    reason = NO_GROUP if user_agents else IGNORES_ROBOTS
    return Rules(unmatched=reason, content_lines=tuple(reader.signals))


class EveryGroup:
    """All groups of a robots.txt. The file is read once for all user agents.

    Attributes:
        user_agents: all user agents that the file names, in lower case, including "*".
    """

    def __init__(self, body: bytes) -> None:
        reader = _ScanForAll(())
        reader.read(body)
        self._signals = reader.signals
        self._groups = reader.groups
        # For each user agent, the indexes in `_groups` of the groups that name the user agent.
        self._named: dict[str, list[int]] = {}
        for number, group in enumerate(reader.groups):
            for user_agent in group.user_agents:
                self._named.setdefault(user_agent.decode("ascii"), []).append(number)
        self.user_agents = self._named.keys()

    def lines_followed(self, user_agent: str) -> tuple[tuple[int, ...], ...] | None:
        """Return a key that identifies the lines that `user_agent` follows.

        Two user agents with the same key follow the same lines. The key is None if the file does
        not name `user_agent`.
        """
        if user_agent not in self._named:
            return None
        name = user_agent.encode("ascii")
        groups = [(number, self._groups[number]) for number in self._named[user_agent]]
        return tuple(
            [
                (number, group.own_lines_before(name), *group.runs_of(name))
                for number, group in groups
            ]
        )

    def rules_for(self, user_agent: str) -> Rules:
        """Return the merged rules of `user_agent`, or of "*" if the file does not name it."""
        for name in (user_agent, GLOBAL.decode("ascii")):
            numbers = self._named.get(name)
            if numbers is not None:
                merged = [self._groups[number] for number in numbers]
                return _rules(merged, name.encode("ascii"), self._signals)
        return Rules(unmatched=NO_GROUP, content_lines=tuple(self._signals))


class _Scan:
    """A single pass through a file, which collects the groups of the wanted user agents.

    Attributes:
        groups: the groups that were found, in file order.
        signals: the `Content-Signal` lines before the first group.
    """

    __slots__ = ("_agents", "_group", "_number", "_seen_agent", "groups", "signals")

    def __init__(self, user_agents: tuple[bytes, ...]) -> None:
        self._agents = user_agents
        # The group of the current line; None if this group is not wanted.
        self._group: ScannedGroup | None = None
        self._number = 0  # the number of the last line that was read or skipped
        self._seen_agent = False
        self.groups: list[ScannedGroup] = []
        self.signals: list[ContentLine] = []

    def read(self, body: bytes) -> None:
        """Read all of `body`.

        A long body is read in blocks of lines. If a block contains only lines that do not matter,
        its lines are only counted, not read.
        """
        text = without_bom(body)
        if len(text) <= _LONG and _NUL not in text:
            self._read_block(text)
            return
        if not _may_have_agents(lower := text.lower()) and _SIGNAL_LINE not in lower:
            return
        for block in content_blocks(body):
            if self._is_read_at_once(block):
                self._number += block.count(b"\n")
            else:
                self._read_block(block)

    def _is_read_at_once(self, block: bytes) -> bool:
        """Try to handle a block as a whole. Return False if each line has to be read.

        If no line of the block matters, there is nothing to do. If every line begins with
        "Disallow: ", the rules are added to the current group.
        """
        group = self._group
        if group is not None and not block.startswith(_RUN):
            return False
        lower = block.lower()
        if _may_have_agents(lower):
            return False
        if group is None:
            return self._seen_agent or _SIGNAL_LINE not in lower
        return group.add_run(block, self._number)

    def _read_block(self, block: bytes) -> None:  # noqa: C901, PLR0912 - spelt out, for speed
        """Read each line of a block.

        A user-agent line may begin a new group. Any other line is added to the current group, if
        this group is wanted. A line whose first byte shows that it cannot matter is skipped. If a
        field name is spelt in an unusual way, the careful reader (`read_line`) reads the line.
        """
        kind_of, group, number = _USUAL.get, self._group, self._number
        if group is not None:
            add_path, add_line = group.disallows.append, group.disallow_lines.append
        for text in block.splitlines():
            number += 1
            if group is None:
                if text[:1] not in _BEFORE_GROUP:
                    continue
            elif text[:_RUN_BYTES] == _RUN:
                add_path(text[_RUN_BYTES:].strip())
                add_line(number)
                continue
            elif text[:_ALLOW_BYTES] == _ALLOW_LINE:
                group.allows.append(text[_ALLOW_BYTES:].strip())
                group.allow_lines.append(number)
                continue
            elif text[:1] not in _IN_GROUP:
                continue
            name, colon, value = text.partition(b":")
            kind = kind_of(name)
            if kind is None:
                if not name.lstrip().lower().startswith(_BEGINNINGS):
                    continue
                line = read_line(0, text)
                kind, value = line.kind, line.value
                if kind == UNUSED:
                    kind = _OWN.get(line.key.lower(), UNUSED)
                    if kind == _USAGE and line.flags & MISSING_COLON:
                        kind = UNUSED  # A `Content-Usage` line without a colon is not valid.
            elif not colon:
                continue
            if kind == DISALLOW and group is not None:
                add_path(value.strip())
                add_line(number)
            elif kind == USER_AGENT:
                group = self._group_of(value.strip().lower(), group, number)
                if group is not None:
                    add_path, add_line = group.disallows.append, group.disallow_lines.append
            elif group is not None:
                if kind == ALLOW:
                    group.allows.append(value.strip())
                    group.allow_lines.append(number)
                elif kind in _OWN_KINDS:
                    group.add_own_line(kind, number, text)
            elif kind == _SIGNAL and not self._seen_agent:
                self.signals.append((number, text))
        self._group, self._number = group, number

    def _group_of(self, value: bytes, group: ScannedGroup | None, line: int) -> ScannedGroup | None:
        """Return the group to which a user-agent line belongs; None if this group is not wanted.

        Args:
            value: the value of the user-agent line, in lower case.
            group: the group of the lines above the user-agent line; None if this group is not
                wanted.
            line: the number of the user-agent line.
        """
        self._seen_agent = True
        if group is not None:
            group.end_run()
            if group.disallows or group.allows:
                group = None  # The group above has rules, so this line begins a new group.
        if not value.startswith(self._agents):
            return group
        user_agent = agent_of(value)
        if user_agent in self._agents:
            if group is None:
                group = ScannedGroup()
                self.groups.append(group)
            group.add_agent(user_agent, line)
        return group


class _ScanForAll(_Scan):
    """A single pass through a file, which collects the groups of all user agents."""

    __slots__ = ()

    def _group_of(self, value: bytes, group: ScannedGroup | None, line: int) -> ScannedGroup | None:
        self._seen_agent = True
        if group is not None:
            group.end_run()
            if group.disallows or group.allows:
                group = None
        user_agent = agent_of(value)
        if user_agent:
            if group is None:
                group = ScannedGroup()
                self.groups.append(group)
            group.add_agent(user_agent, line)
        return group


def _may_have_agents(lower: bytes) -> bool:
    """Return whether a string in lower case may contain a user-agent line.

    If the result is False, the string contains no user-agent line. If the result is True, the
    string may still contain none.
    """
    place = -1
    for _ in range(_MOST_PLACES):
        place = lower.find(_AGENT_LINE, place + 1)
        if place < 0:
            return False
        before = lower[max(place - _MOST_INDENT, 0) : place].rstrip(_WHITE)
        if not before or before[-1] in _ENDS_LINE:
            return True
    return True


def _rules(groups: Sequence[ScannedGroup], user_agent: bytes, signals: list[ContentLine]) -> Rules:
    """Return the rules of `user_agent`, merged from its groups (RFC 9309 2.2.1).

    `signals` contains the `Content-Signal` lines before the first group.
    """
    rules = groups[0]
    if len(groups) > 1:
        rules = ScannedGroup()
        for group in groups:
            rules.allows += group.allows
            rules.allow_lines += group.allow_lines
            rules.disallows += group.disallows
            rules.disallow_lines += group.disallow_lines
    delay: float | None = None
    content_lines = [*signals]
    for group in groups:
        if not group.own_lines:
            continue
        runs = set(group.runs_of(user_agent))
        for kind, line, raw, run in group.own_lines[group.own_lines_before(user_agent) :]:
            if kind == _USAGE and run not in runs:
                continue
            if kind != _DELAY:
                content_lines.append((line, raw))
            elif delay is None:
                delay = seconds(as_written(raw))
    return Rules(
        _patterns(rules.allows, rules.allow_lines, True),
        _patterns(rules.disallows, rules.disallow_lines, False),
        user_agent.decode("ascii"),
        delay,
        content_lines=tuple(content_lines),
    )


def _patterns(paths: list[bytes], lines: list[int], allow: bool) -> Patterns:
    if not paths:
        return NO_PATTERNS
    text = b"\n".join(paths)
    if _HASH in text:
        text = b"\n".join(
            [path.partition(b"#")[0].rstrip() if _HASH in path else path for path in paths]
        )
    return Patterns.of(text, lines, allow)
