"""The fast reader: reads from the bytes of a robots.txt what one crawler follows, and nothing else.

Operation wanted, for a file of up to 500 KiB with the groups of many crawlers: `scan(body,
agents)`, the merged rules of the first of a crawler's agents that has a group. `EveryGroup` reads a
file once for all agents that it names.

Plan:

1. Go through the lines once, and through those of a long file in blocks. Outside the crawler's
   groups only user-agent lines matter, so a block without the word "user" is passed over as a
   whole. So is a long body, such as an error page, in which no line begins with that word.
2. Inside, a block in which all lines begin with "Disallow: " is split at once. In others, most
   lines begin with "Disallow: " or "Allow: ". Split any other line at its colon and look the field
   name up among the usual ways to write one. What is left goes to the careful reader (lines.py),
   unless its beginning shows that it cannot matter.
3. Keep the paths of a group's rules as written, and join them into one text at the end
   (patterns.py): decoding and escaping happen once for the group and not once for each line.

A worked example, for the agents "mybot" and "*":

    1  User-agent: mybot     a usual name and one of the agents: a group begins
    2  Disallow: /a          the most usual name: path and line number are kept
    3  disalow: /b           no usual name, but it begins like one: for the careful reader
    4  Sitemap: https://...  a usual name that matters to no group
    5  User-agent: other     rules come before it, so a group begins; it is for neither agent

Warning: the careful reader is the specification. A shortcut may only skip lines that it would
ignore for these agents; tests/fuzz compares the two.

Boundary: no remarks, no sitemaps. `Content-Usage` and `Content-Signal` lines are collected as they
are written.
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

# Google's parser calls these fields unused. Here they have kinds of their own.
_DELAY = -1
_USAGE = -2
_SIGNAL = -3
_OWN = {CRAWL_DELAY: _DELAY, b"content-usage": _USAGE, b"content-signal": _SIGNAL}
_OWN_KINDS = frozenset(_OWN.values())
_FIRST_RUN = (0,)


def _usual_ways() -> dict[bytes, int]:
    """Return the kind of line by its field name, in the usual ways to write it."""
    kinds = {name: kind for kind, name, _ in FIELDS}
    kinds.update(dict.fromkeys(UNUSED_FIELDS, UNUSED))
    kinds.update(_OWN)
    usual = {b"": UNKNOWN}  # blank lines
    for name, kind in kinds.items():
        for way in (name, name.capitalize(), name.title(), name.upper()):
            usual[way] = kind
    return usual


def _beginnings() -> tuple[bytes, ...]:
    """Return how each name begins that matters to a group."""
    names = [*_OWN]
    for kind, name, typos in FIELDS:
        if kind != SITEMAP:
            names += (name, *typos)
    return tuple(names)


_USUAL = _usual_ways()
# every user-agent line has it, in lower case, with nothing but white space before
_AGENT_LINE = b"user"
_ENDS_LINE = b"\r\n"
_WHITE = b" \t\v\f"
_MOST_PLACES = 1_000  # at which a user-agent line is looked for before lines are
# bytes that are looked at there; if all are white space, the line may be one
_MOST_INDENT = 100
_BEGINNINGS = _beginnings()  # a line that begins otherwise cannot matter
# First bytes of lines that matter, before a group and in one.
_BEFORE_GROUP = frozenset(bytes((byte,)) for byte in b"uUcC" + _WHITE)
_IN_GROUP = _BEFORE_GROUP.union(
    (name[:1] for name in _BEGINNINGS), (name[:1].upper() for name in _BEGINNINGS)
)
_SIGNAL_LINE = b"content-signal"
_RUN = b"Disallow: "  # so begin most lines of real files
_RUN_BYTES = len(_RUN)
_ALLOW_LINE = b"Allow: "  # and so most others
_ALLOW_BYTES = len(_ALLOW_LINE)
# bytes; a longer body is looked through for user-agent lines before it is split
_LONG = 4_096
_HASH, _NUL = b"#\0"  # `35 in text` is much faster than `b"#" in text`


class ScannedGroup:
    """One group: the paths of its rules as written, with their lines, and its agents.

    Each agent has the line that names it. A crawl delay or a `Content-` line is only for the agents
    that are named before it. A `Content-Usage` line ends a run of user-agent lines as a rule does,
    but only for such lines (draft-ietf-aipref-attach-05, 3): they are for the agents of their run.
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
        # crawl delays and `Content-` lines: kind, number, the line as written, and its run
        self.own_lines: list[tuple[int, int, bytes, int]] = []
        self.run = 0  # the number of the present run of user-agent lines
        self.has_usage = False  # whether a `Content-Usage` line has followed it
        self.runs: dict[bytes, set[int]] = {}  # of agents that are not in the first run alone

    def add_agent(self, user_agent: bytes, line: int) -> None:
        """Add an agent that is named in `line`."""
        if self.run:
            first = {0} if user_agent in self.user_agents else set()
            self.runs.setdefault(user_agent, first).add(self.run)
        self.user_agents.setdefault(user_agent, line)

    def add_own_line(self, kind: int, number: int, text: bytes) -> None:
        """Add a crawl delay or a `Content-` line."""
        self.own_lines.append((kind, number, text, self.run))
        if kind == _USAGE:
            self.has_usage = True

    def end_run(self) -> None:
        """Note that a user-agent line follows, of whatever agent."""
        if self.has_usage:
            self.run += 1
            self.has_usage = False

    def add_run(self, block: bytes, before: int) -> bool:
        """Add the rules of a block if each of its lines begins with "Disallow: ".

        The first one does.  `before` is the number of lines before the block. Returns whether the
        rules were added.
        """
        paths = block[_RUN_BYTES:].removesuffix(b"\n").split(b"\n" + _RUN)
        if len(paths) <= block.count(b"\n", 0, -1):
            return False
        self.disallows += map(bytes.strip, paths)
        self.disallow_lines += range(before + 1, before + 1 + len(paths))
        return True

    def own_lines_before(self, user_agent: bytes) -> int:
        """Return how many crawl delays and `Content-` lines are not for `agent`.

        They stand before the line that names it.
        """
        return bisect_left(self.own_lines, self.user_agents[user_agent], key=itemgetter(1))

    def runs_of(self, user_agent: bytes) -> Sequence[int]:
        """Return the numbers of the runs that name an agent."""
        return sorted(self.runs.get(user_agent, _FIRST_RUN))


def scan(body: bytes, user_agents: tuple[bytes, ...]) -> Rules:
    """Return the rules for the first of `agents` that has a group in `body`.

    An agent is a token in lower case, or "*".
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
    """The groups of a robots.txt, read once for all agents.

    Attributes:
        agents: the agents that the file names, in lower case, with "*" if it names that.
    """

    def __init__(self, body: bytes) -> None:
        reader = _ScanForAll(())
        reader.read(body)
        self._signals = reader.signals
        self._groups = reader.groups
        self._named: dict[str, list[int]] = {}  # agent -> its groups
        for number, group in enumerate(reader.groups):
            for user_agent in group.user_agents:
                self._named.setdefault(user_agent.decode("ascii"), []).append(number)
        self.user_agents = self._named.keys()

    def lines_followed(self, user_agent: str) -> tuple[tuple[int, ...], ...] | None:
        """Return what is the same for two agents if they follow the same lines.

        It is None if the file does not name the agent.
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
        """Return the merged rules of `agent`: of "*", if the file does not name the agent."""
        for name in (user_agent, GLOBAL.decode("ascii")):
            numbers = self._named.get(name)
            if numbers is not None:
                merged = [self._groups[number] for number in numbers]
                return _rules(merged, name.encode("ascii"), self._signals)
        return Rules(unmatched=NO_GROUP, content_lines=tuple(self._signals))


class _Scan:
    """One pass through a file. `agents` are those whose groups are wanted.

    `groups` has the groups found, in file order; `signals` the `Content-Signal` lines before any
    group.
    """

    __slots__ = ("_agents", "_group", "_number", "_seen_agent", "groups", "signals")

    def __init__(self, user_agents: tuple[bytes, ...]) -> None:
        self._agents = user_agents
        # the group of the present line, if it is wanted
        self._group: ScannedGroup | None = None
        self._number = 0  # of the last line read
        self._seen_agent = False
        self.groups: list[ScannedGroup] = []
        self.signals: list[ContentLine] = []

    def read(self, body: bytes) -> None:
        """Read all of `body`; blocks of a long one that cannot matter are only counted."""
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
        """Read a block that cannot matter, or has plain disallow lines alone.

        Return whether it is one of these.
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
        """Read each line: a user-agent line changes the group, others add to it if it is wanted.

        What begins as no such line is passed over at once. The usual ways to write a line are
        looked up; `read_line` reads the others.
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
                        kind = UNUSED  # the draft has a colon, and no leniency
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
        """Return the group of the lines after a user-agent line.

        It is None if these are for no agent that is looked for. `value` is that of line `line`, in
        lower case; `group` is that of the lines before.
        """
        self._seen_agent = True
        if group is not None:
            group.end_run()
            if group.disallows or group.allows:
                group = None  # rules end the run of user-agent lines
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
    """One pass through a file in which the groups of all agents are wanted."""

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
    """Whether a line of a text in lower case may be a user-agent line.

    An error page has none, however long it is.
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
    """Merge the groups of `agent` (RFC 9309 2.2.1)."""
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
