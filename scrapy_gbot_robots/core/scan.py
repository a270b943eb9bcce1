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
from .lines import content_blocks, read_line, seconds
from .patterns import NO_PATTERNS, Patterns
from .rules import IGNORES_ROBOTS, NO_GROUP, Rules

if TYPE_CHECKING:
    from collections.abc import Sequence

_USER_AGENT: Final = grammar.USER_AGENT
_ALLOW: Final = grammar.ALLOW
_DISALLOW: Final = grammar.DISALLOW
_DELAY: Final = -1  # a kind of its own here, though not for Google

# The kind of line by its field name, in the usual ways of writing it.
_USUAL: Final = {
    way: kind
    for kind, name in [
        *((kind, name) for kind, name, _ in grammar.FIELDS),
        *((grammar.UNUSED, name) for name in grammar.UNUSED_FIELDS),
        (_DELAY, grammar.CRAWL_DELAY),
        (grammar.UNKNOWN, b""),  # blank lines
    ]
    for way in (name, name.capitalize(), name.title(), name.upper())
}
_AGENT_LINE: Final = b"user"  # in lower case, any user-agent line has it, with nothing but white space before
_BEFORE_AGENT: Final = frozenset({b"u", b"U", b" ", b"\t", b"\v", b"\f"})
_BEGINNINGS: Final = (  # of all names looked for: a line that begins otherwise cannot matter
    *(name for kind, written, typos in grammar.FIELDS if kind != grammar.SITEMAP for name in (written, *typos)),
    grammar.CRAWL_DELAY,
)
_MOST_USUAL: Final = b"Disallow"  # so begin most lines of real files
_HASH: Final = ord("#")  # `35 in text` is much faster than `b"#" in text`


class _Group:
    """The rules of a group: their paths as written, and their lines; the agents so far, each with its crawl delay."""

    __slots__ = ("agents", "allow_lines", "allows", "disallow_lines", "disallows")

    def __init__(self) -> None:
        self.agents: dict[bytes, float | None] = {}
        self.allows: list[bytes] = []
        self.allow_lines: list[int] = []
        self.disallows: list[bytes] = []
        self.disallow_lines: list[int] = []

    def add(self, kind: int, value: bytes, line: int) -> None:
        """Add what the line `line` says, if it is a rule or a crawl delay."""
        if kind == _ALLOW:
            self.allows.append(value.strip())
            self.allow_lines.append(line)
        elif kind == _DISALLOW:
            self.disallows.append(value.strip())
            self.disallow_lines.append(line)
        elif kind == _DELAY:
            delay = seconds(value.partition(b"#")[0].strip())
            self.agents = {agent: delay if known is None else known for agent, known in self.agents.items()}


def scan(body: bytes, agents: tuple[bytes, ...], strict: bool = False) -> Rules:
    """Return the rules for the first of `agents` (tokens in lower case, "*") that a group in `body` is for."""
    groups = _groups(body, agents, strict)
    for agent in agents:
        merged = [group for group in groups if agent in group.agents]
        if merged:
            return _rules(merged, agent, strict)
    return Rules(unmatched=NO_GROUP if agents else IGNORES_ROBOTS)


def _groups(body: bytes, agents: tuple[bytes, ...], strict: bool) -> list[_Group]:  # noqa: C901 - spelt out, for speed
    """Return the groups in `body` that are for any of `agents`, in file order."""
    groups: list[_Group] = []
    group: _Group | None = None  # the present one, if it is for one of the agents
    number = 0
    for block in content_blocks(body):
        if group is None and _AGENT_LINE not in block.lower():
            number += block.count(b"\n")
            continue
        for text in block.splitlines():
            number += 1
            if group is None and text[:1] not in _BEFORE_AGENT:
                continue
            name, colon, value = text.partition(b":")
            if name == _MOST_USUAL and group is not None:
                if colon:
                    group.disallows.append(value.strip())
                    group.disallow_lines.append(number)
                continue
            kind = _USUAL.get(name)
            if kind is None:
                if not name.lstrip().lower().startswith(_BEGINNINGS):
                    continue
                kind, value = _careful(text, strict)
            elif not colon:
                continue
            if kind == _USER_AGENT:
                group = _group_of(_agent(value, agents), group, groups)
            elif group is not None:
                group.add(kind, value, number)
    return groups


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
    """Return the kind and the value of a line as the careful reader sees it."""
    line = read_line(0, text, strict=strict)
    is_delay = line.kind == grammar.UNUSED and line.key.lower() == grammar.CRAWL_DELAY
    return (_DELAY if is_delay else line.kind), line.value


def _agent(value: bytes, agents: tuple[bytes, ...]) -> bytes | None:
    """Return which of `agents` the value of a user-agent line names, if any."""
    value = value.strip().lower()
    if value in agents:
        return value
    if value.startswith(agents):
        agent = grammar.agent_of(value)
        return agent if agent in agents else None
    return None


def _rules(groups: Sequence[_Group], agent: bytes, strict: bool) -> Rules:
    first, *others = groups
    delay = first.agents[agent]
    for group in others:
        first.allows += group.allows
        first.allow_lines += group.allow_lines
        first.disallows += group.disallows
        first.disallow_lines += group.disallow_lines
        delay = group.agents[agent] if delay is None else delay
    return Rules(
        _patterns(first.allows, first.allow_lines) if first.allows else NO_PATTERNS,
        _patterns(first.disallows, first.disallow_lines) if first.disallows else NO_PATTERNS,
        agent.decode("ascii"),
        delay,
        strict,
    )


def _patterns(paths: list[bytes], lines: list[int]) -> Patterns:
    text = b"\n".join(paths)
    if _HASH in text:
        text = b"\n".join([path.partition(b"#")[0].rstrip() if _HASH in path else path for path in paths])
    return Patterns.of(text, lines)
