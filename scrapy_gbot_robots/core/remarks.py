"""What was odd about a robots.txt, line by line. A bad line raises nothing; it gets a remark.

Boundary: remarks are for people. No verdict depends on them. The careful reader (lines.py) sets the kinds and flags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from . import lines as grammar
from .urls import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .lines import Line

# The kinds of remark. A line may have several.
IGNORED: Final = "ignored"
TYPO: Final = "typo"
PREFIX: Final = "prefix"
MISSING_COLON: Final = "missing colon"
RULE_BEFORE_GROUP: Final = "rule before any group"
UNKNOWN_FIELD: Final = "unknown field"
UNUSED_FIELD: Final = "unused field"
OVER_LONG: Final = "over-long"
CUT: Final = "cut"
AGENT_CUT: Final = "user agent cut"
NO_AGENT: Final = "no user agent"
NO_SLASH: Final = "no leading slash"
NOT_UTF8: Final = "not UTF-8"
BAD_SITEMAP: Final = "bad sitemap"

_NAMES: Final = {kind: name for kind, name, _ in grammar.FIELDS}
_RULES: Final = {grammar.ALLOW, grammar.DISALLOW}


class Remark(NamedTuple):
    """Something odd in line `line` (from 1): `kind` is one of the constants above, `text` a printable sentence."""

    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


def remarks_on(lines: Iterable[Line], *, bad_sitemaps: frozenset[int], cut_at: int | None) -> Iterator[Remark]:
    """Yield the remarks in the order of the lines.

    Args:
        lines: all lines of the file.
        bad_sitemaps: the numbers of the sitemap lines whose URL is none.
        cut_at: the size of the file in bytes if it was cut, else None.
    """
    in_group = False
    last = 0
    for line in lines:
        in_group = in_group or line.kind == grammar.USER_AGENT
        last = line.number
        yield from _on_form(line)
        if line.kind in _RULES:
            yield from _on_rule(line, in_group=in_group)
        elif line.kind == grammar.USER_AGENT:
            yield from _on_agent(line)
        elif line.number in bad_sitemaps:
            text = f"not an absolute http, https or ftp URL: {_text(line.value)}"
            yield Remark(line.number, BAD_SITEMAP, text)
    if cut_at is not None:
        yield Remark(last, CUT, f"the file was cut here, after {cut_at} bytes; this line may have lost its end")


def _on_form(line: Line) -> Iterator[Remark]:
    number, flags = line.number, line.flags
    if flags & grammar.TOO_LONG:
        yield Remark(number, OVER_LONG, f"longer than {grammar.MAX_LINE_BYTES} bytes, the rest was dropped")
    if not flags & grammar.HAS_DIRECTIVE:
        if not flags & (grammar.EMPTY | grammar.IS_COMMENT):
            yield Remark(number, IGNORED, "neither a directive nor a comment")
        return
    key = _text(line.key)
    if line.kind == grammar.UNKNOWN:
        yield Remark(number, UNKNOWN_FIELD, f'unknown field "{key}"')
    elif line.kind == grammar.UNUSED:
        yield Remark(number, UNUSED_FIELD, f'Google does not use the field "{key}"')
    elif flags & grammar.TYPO:
        yield Remark(number, TYPO, f'"{key}" was read as "{_name(line)}"')
    elif line.key.lower() != _NAMES[line.kind]:
        yield Remark(number, PREFIX, f'"{key}" begins with "{_name(line)}" and was read as that')
    if flags & grammar.MISSING_COLON:
        yield Remark(number, MISSING_COLON, f'no colon after "{key}"')


def _on_rule(line: Line, *, in_group: bool) -> Iterator[Remark]:
    if not in_group:
        yield Remark(line.number, RULE_BEFORE_GROUP, "a rule before the first user-agent line is ignored")
    if line.value and line.value[:1] not in b"/*$":
        yield Remark(line.number, NO_SLASH, f'no path begins like "{_text(line.value)}": it should begin with "/"')


def _on_agent(line: Line) -> Iterator[Remark]:
    agent = grammar.agent_of(line.value).decode("ascii")
    if not agent:
        yield Remark(line.number, NO_AGENT, f'"{_text(line.value)}" names no user agent')
    elif len(agent) < len(line.value):
        yield Remark(line.number, AGENT_CUT, f'of "{_text(line.value)}" only "{agent}" counts')


def _name(line: Line) -> str:
    return _NAMES[line.kind].decode("ascii")


def _text(raw: bytes) -> str:
    return shown(raw.decode("utf-8", "backslashreplace"))
