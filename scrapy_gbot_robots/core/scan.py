"""The fast reader: of the bytes of a robots.txt, the rules for one crawler, and nothing else.

1. Split the body at its user-agent lines, all at once. What stands after a line that names one of the crawler's agents,
   up to the next group, is read for the first of these agents that has a group; the rest is not looked at.
2. There, split each line at its colon, and look the field name up among the usual ways of writing it. A line that is
   unusual even so is left to the careful reader (lines.py), which is the specification of this one.
3. Join the paths into one text (rules.py), so that they are decoded and escaped all at once.

Boundary: no remarks, no sitemaps, no other crawler's rules.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from . import grammar
from .lines import delay_of, lined_up, read_line, seconds
from .rules import IGNORES_ROBOTS, NO_GROUP, NO_PATTERNS, Patterns, Rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_USER_AGENT: Final = grammar.USER_AGENT
_ALLOW: Final = grammar.ALLOW
_DISALLOW: Final = grammar.DISALLOW
_RULES: Final = frozenset({_ALLOW, _DISALLOW})
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
_MOST_USUAL: Final = b"Disallow"  # so begin most lines of real files

_WRITTEN, *_TYPOS = (
    name for kind, written, typos in grammar.FIELDS if kind == _USER_AGENT for name in (written, *typos)
)
_AGENT_LINE: Final = re.compile(
    rb"\n[%(space)b]*(%(names)b)(?:[%(space)b]*:[%(space)b]*(%(agent)b)[^\n]*|([^\n]*))"
    % {b"space": grammar.SPACE, b"names": b"|".join([_WRITTEN, *_TYPOS]), b"agent": grammar.AGENT},
    re.IGNORECASE,
)
_STEP: Final = 4  # it splits into, by turns: the text between; the field name; the agent; or what else is in the line
_HASH: Final = ord("#")  # `35 in text` is much faster than `b"#" in text`
_COMMENT: Final = re.compile(rb"#[^\r\n]*")


def scan(body: bytes, agents: Sequence[bytes], strict: bool = False) -> Rules:
    """Return the rules for the first of `agents` (tokens in lower case, "*") that a group in `body` is for."""
    parts = _AGENT_LINE.split(lined_up(body))
    groups = _find_groups(parts, agents, strict)
    for agent in agents:
        if agent in groups:
            return _read_group(parts, groups[agent], agent, strict)
    return Rules(unmatched=NO_GROUP if agents else IGNORES_ROBOTS)


def _find_groups(parts: list[bytes], agents: Sequence[bytes], strict: bool) -> dict[bytes, list[int]]:
    """Return for those of `agents` with a group the places of the parts in it, from the line that names them on."""
    found: dict[bytes, list[int]] = {}
    present: list[bytes] = []  # those of `agents` that the present group names
    last = 0  # the place after the last user-agent line
    for place in range(_STEP, len(parts), _STEP):
        agent: bytes | None
        name, agent, rest = parts[place - 3 : place]
        if agent is None:
            line = read_line(0, name + rest, strict=strict)
            agent = grammar.agent_of(line.value) if line.kind == _USER_AGENT else None
        elif strict and name.lower() != _WRITTEN:
            agent = None
        if agent is not None:
            if present and _any_rule(parts[last:place:_STEP], strict):
                present = []
            last = place
            agent = agent.lower()
            if agent in agents and agent not in present:
                present.append(agent)
        for named in present:
            found.setdefault(named, []).append(place)
    return found


def _any_rule(parts: Iterable[bytes], strict: bool) -> bool:
    for part in parts:
        for text in part.splitlines():
            name, colon, _ = text.partition(b":")
            kind = _USUAL.get(name)
            if kind is None:
                kind = read_line(0, text, strict=strict).kind
            elif not colon:
                continue
            if kind in _RULES:
                return True
    return False


def _read_group(parts: list[bytes], places: list[int], agent: bytes, strict: bool) -> Rules:
    found = _Found()
    last = line = 0
    for place in places:
        for part in parts[last:place:_STEP]:
            line += part.count(b"\n") + 1
        last = place
        _read(parts[place], line, found, strict)
    return Rules(
        Patterns.of(found.allows, found.allow_lines) if found.allows else NO_PATTERNS,
        Patterns.of(found.disallows, found.disallow_lines) if found.disallows else NO_PATTERNS,
        agent.decode("ascii"),
        found.delay,
        strict,
    )


class _Found:
    """What has been read of a group: the paths of its rules, the line of each, and the first crawl delay."""

    __slots__ = ("allow_lines", "allows", "delay", "disallow_lines", "disallows")

    def __init__(self) -> None:
        self.allows: list[bytes] = []
        self.allow_lines: list[int] = []
        self.disallows: list[bytes] = []
        self.disallow_lines: list[int] = []
        self.delay: float | None = None


def _read(part: bytes, line: int, found: _Found, strict: bool) -> None:  # noqa: C901 - the inner loop
    """Read what stands after the user-agent line of number `line`."""
    if _HASH in part:
        part = _COMMENT.sub(b"", part)
    disallows, disallow_lines = found.disallows, found.disallow_lines
    line -= 1
    for text in part.splitlines():  # the first is what is left of the user-agent line: nothing
        line += 1
        name, colon, value = text.partition(b":")
        if name == _MOST_USUAL:
            if colon:
                disallows.append(value.strip())
                disallow_lines.append(line)
            continue
        kind = _USUAL.get(name)
        if kind is None:
            careful = read_line(line, text, strict=strict)
            kind, value = careful.kind, careful.value
            if found.delay is None:
                found.delay = delay_of(careful)
        elif not colon:
            continue
        if kind == _ALLOW:
            found.allows.append(value.strip())
            found.allow_lines.append(line)
        elif kind == _DISALLOW:
            disallows.append(value.strip())
            disallow_lines.append(line)
        elif kind == _DELAY and found.delay is None:
            found.delay = seconds(value.strip())
