"""The fast reader: of the bytes of a robots.txt, the rules for one crawler, and nothing else.

1. Go through the lines once. Outside the groups of the crawler's agents only user-agent lines are looked at; a block of
   lines without any is passed over.
2. Within, split each line at its colon, and look its field name up among the usual ways of writing one: that settles
   most lines of most files. What is written in any other way is left to the careful reader (lines.py), which is the
   specification of this one, unless its beginning shows that it cannot matter.
3. Join the paths of the rules into one text (patterns.py), so that they are decoded and escaped all at once.

Boundary: no remarks, no sitemaps, no other crawler's rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import grammar
from .lines import as_written, content_blocks, read_line, seconds
from .patterns import NO_PATTERNS, Patterns
from .rules import IGNORES_ROBOTS, NO_GROUP, Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .preferences import Statements

_USER_AGENT: Final = grammar.USER_AGENT
_ALLOW: Final = grammar.ALLOW
_DISALLOW: Final = grammar.DISALLOW
# Kinds of their own here, though not for Google.
_DELAY: Final = -1
_USAGE: Final = -2
_SIGNAL: Final = -3
_OWN: Final = {grammar.CRAWL_DELAY: _DELAY, b"content-usage": _USAGE, b"content-signal": _SIGNAL}

# The kind of line by its field name, in the usual ways of writing it.
_USUAL: Final = {
    way: kind
    for kind, name in [
        *((kind, name) for kind, name, _ in grammar.FIELDS),
        *((grammar.UNUSED, name) for name in grammar.UNUSED_FIELDS),
        *((kind, name) for name, kind in _OWN.items()),
        (grammar.UNKNOWN, b""),  # blank lines
    ]
    for way in (name, name.capitalize(), name.title(), name.upper())
}
_AGENT_LINE: Final = b"user"  # in lower case, any user-agent line has it, with nothing but white space before
_BEFORE_GROUP: Final = frozenset({b"u", b"U", b" ", b"\t", b"\v", b"\f", b"c", b"C"})  # begin what counts there
_BEGINNINGS: Final = (  # of all names looked for: a line that begins otherwise cannot matter
    *(name for kind, written, typos in grammar.FIELDS if kind != grammar.SITEMAP for name in (written, *typos)),
    *_OWN,
)
_SIGNAL_LINE: Final = b"content-signal"
_MOST_USUAL: Final = b"Disallow"  # so begin most lines of real files
_HASH: Final = ord("#")  # `35 in text` is much faster than `b"#" in text`


class _Group:
    """The rules of a group: their paths as written, and their lines; the agents so far, each with its crawl delay.

    `preferences` has of each `Content-` line the kind, the agents so far, the line and the value.
    """

    __slots__ = ("agents", "allow_lines", "allows", "disallow_lines", "disallows", "preferences")

    def __init__(self) -> None:
        self.agents: dict[bytes, float | None] = {}
        self.allows: list[bytes] = []
        self.allow_lines: list[int] = []
        self.disallows: list[bytes] = []
        self.disallow_lines: list[int] = []
        self.preferences: list[tuple[int, tuple[bytes, ...], int, bytes]] = []

    def add(self, kind: int, value: bytes, line: int) -> None:
        """Add what the line `line` says, if that is a crawl delay or a preference."""
        if kind == _DELAY:
            delay = seconds(value.partition(b"#")[0].strip())
            self.agents = {agent: delay if known is None else known for agent, known in self.agents.items()}
        elif kind in {_USAGE, _SIGNAL}:
            self.preferences.append((kind, tuple(self.agents), line, value.partition(b"#")[0].strip()))


def scan(body: bytes, agents: tuple[bytes, ...], strict: bool = False) -> Rules:
    """Return the rules for the first of `agents` (tokens in lower case, "*") that a group in `body` is for."""
    groups, signals = _groups(body, agents, strict)
    for agent in agents:
        merged = [group for group in groups if agent in group.agents]
        if merged:
            return _rules(merged, agent, strict, signals)
    return Rules(unmatched=NO_GROUP if agents else IGNORES_ROBOTS, preferences=_statements((), b"", signals))


def _groups(  # noqa: C901, PLR0912 - spelt out, for speed
    body: bytes, agents: tuple[bytes, ...], strict: bool
) -> tuple[list[_Group], list[tuple[int, bytes]]]:
    """Return the groups in `body` that are for any of `agents`, in file order; and preferences before any group."""
    groups: list[_Group] = []
    signals: list[tuple[int, bytes]] = []
    group: _Group | None = None  # the present one, if it is for one of the agents
    kind_of = _USUAL.get
    add_path: Callable[[bytes], None] = _nowhere
    add_line: Callable[[int], None] = _nowhere
    seen_agent = False
    number = 0
    for block in content_blocks(body):
        if group is None:
            lower = block.lower()
            if _AGENT_LINE not in lower and (seen_agent or _SIGNAL_LINE not in lower):
                number += block.count(b"\n")
                continue
        for text in block.splitlines():
            number += 1
            if group is None and text[:1] not in _BEFORE_GROUP:
                continue
            name, colon, value = text.partition(b":")
            if name == _MOST_USUAL and group is not None:
                if colon:
                    add_path(value.strip())
                    add_line(number)
                continue
            kind = kind_of(name)
            if kind is None:
                if not name.lstrip().lower().startswith(_BEGINNINGS):
                    continue
                kind, value = _careful(text, strict)
            elif not colon:
                continue
            if kind == _DISALLOW and group is not None:
                add_path(value.strip())
                add_line(number)
            elif kind == _ALLOW and group is not None:
                group.allows.append(value.strip())
                group.allow_lines.append(number)
            elif kind == _USER_AGENT:
                seen_agent = True
                group = _group_of(_agent(value, agents), group, groups)
                if group is not None:
                    add_path, add_line = group.disallows.append, group.disallow_lines.append
            elif group is not None:
                group.add(kind, value, number)
            elif kind == _SIGNAL and not seen_agent:
                signals.append((number, value.partition(b"#")[0].strip()))
    return groups, signals


def _nowhere(_: object) -> None:
    """Stand for what adds rules to a group where there is none."""


def _group_of(agent: bytes | None, group: _Group | None, groups: list[_Group]) -> _Group | None:
    """Return the group that a user-agent line for `agent` belongs to, after `group`; None if it is for somebody else."""
    if group is not None and (group.disallows or group.allows):
        group = None  # rules end the run of user-agent lines
    if agent is not None:
        if group is None:
            group = _Group()
            groups.append(group)
        group.agents.setdefault(agent, None)
    return group


def _careful(text: bytes, strict: bool) -> tuple[int, bytes]:
    """Return the kind and the value of a line as the careful reader sees it; that of a preference as it is written."""
    line = read_line(0, text, strict=strict)
    kind = _OWN.get(line.key.lower(), grammar.UNUSED) if line.kind == grammar.UNUSED else line.kind
    return kind, as_written(text, strict=strict) if kind in {_USAGE, _SIGNAL} else line.value


def _agent(value: bytes, agents: tuple[bytes, ...]) -> bytes | None:
    """Return which of `agents` the value of a user-agent line names, if any."""
    value = value.strip().lower()
    if value in agents:
        return value
    if value.startswith(agents):
        agent = grammar.agent_of(value)
        return agent if agent in agents else None
    return None


def _rules(groups: Sequence[_Group], agent: bytes, strict: bool, signals: list[tuple[int, bytes]]) -> Rules:
    first, *others = groups
    delay = first.agents[agent]
    for group in others:
        first.allows += group.allows
        first.allow_lines += group.allow_lines
        first.disallows += group.disallows
        first.disallow_lines += group.disallow_lines
        first.preferences += group.preferences
        delay = group.agents[agent] if delay is None else delay
    return Rules(
        _patterns(first.allows, first.allow_lines) if first.allows else NO_PATTERNS,
        _patterns(first.disallows, first.disallow_lines) if first.disallows else NO_PATTERNS,
        agent.decode("ascii"),
        delay,
        strict,
        preferences=_statements(first.preferences, agent, signals) if first.preferences or signals else None,
    )


def _statements(
    preferences: Sequence[tuple[int, tuple[bytes, ...], int, bytes]], agent: bytes, signals: list[tuple[int, bytes]]
) -> Statements | None:
    """Return the preferences of the group of `agent` and those before any group, None if there are none."""
    if not preferences and not signals:
        return None
    from .preferences import Statements  # noqa: PLC0415 - most files state none

    own = [(kind, line, value) for kind, agents, line, value in preferences if agent in agents]
    usage = [(line, value) for kind, line, value in own if kind == _USAGE]
    return Statements(usage, signals + [(line, value) for kind, line, value in own if kind == _SIGNAL])


def _patterns(paths: list[bytes], lines: list[int]) -> Patterns:
    text = b"\n".join(paths)
    if _HASH in text:
        text = b"\n".join([path.partition(b"#")[0].rstrip() if _HASH in path else path for path in paths])
    return Patterns.of(text, lines)
