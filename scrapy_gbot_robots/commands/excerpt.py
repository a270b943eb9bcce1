"""Lines of a robots.txt with a spot underlined, as a compiler shows an error.

Pure. The text is printable and of bounded length, whatever the robots.txt has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .output import cells, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .output import Part

_SPACE = b" \t\v\f\r"
_LEAD, _MARKED, _TAIL = 40, 80, 60  # characters before, at and after the spot
_CUT = "..."


class Mark(NamedTuple):
    """A spot to underline: the "key", the "value" or the "whole" of line `number` (from 1), and the text beside it."""

    number: int
    part: str
    text: str
    style: str = "strong"


def excerpt(lines: Sequence[bytes], marks: Iterable[Mark]) -> list[tuple[Part, ...]]:
    """Return the lines to show, in their order. Of two marks on one line, the first is shown.

    Args:
        lines: those of the robots.txt, as `core.lines.split_lines` gives them.
        marks: what to underline.
    """
    wanted = {mark.number: mark for mark in reversed(list(marks))}
    width = len(str(max(wanted, default=0)))
    shown: list[tuple[Part, ...]] = []
    last = 0
    for number in sorted(wanted):
        mark = wanted[number]
        before, marked, after = _parts(lines[number - 1], mark.part)
        if last and number > last + 1:
            shown.append((("...", "faint"),))
        indent = " " * cells(before)
        underline = "^" * max(cells(marked), 1)
        shown.append(((f"{number:>{width}} | ", "faint"), before, (marked, mark.style), after))
        shown.append(((f"{'':{width}} | ", "faint"), indent, (f"{underline} {mark.text}".rstrip(), mark.style)))
        last = number
    return shown


def _parts(raw: bytes, part: str) -> tuple[str, str, str]:
    """Split a line into the text before the spot, the spot, and the text after it."""
    start, end = _span(raw, part)
    before, marked, after = (_text(piece) for piece in (raw[:start], raw[start:end], raw[end:]))
    if len(before) > _LEAD:
        before = _CUT + before[-_LEAD:]
    return before, _shortened(marked, _MARKED), _shortened(after, _TAIL).rstrip()


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + _CUT


def _text(raw: bytes) -> str:
    return printable(raw.decode("utf-8", "backslashreplace").replace("\t", " "))


def _span(raw: bytes, part: str) -> tuple[int, int]:
    """Return where in `raw` a part begins and ends; "whole" is all but the comment."""
    directive = raw.partition(b"\0")[0].partition(b"#")[0]
    start, end = len(directive) - len(directive.lstrip(_SPACE)), len(directive.rstrip(_SPACE))
    colon = directive.find(b":")
    if colon < 0:  # white space may separate the parts, too
        words = directive.split(None, 1)
        colon = start + len(words[0]) if words else -1
    if part == "whole" or colon < 0:
        return start, max(start, end)
    if part == "key":
        return start, max(start, len(directive[:colon].rstrip(_SPACE)))
    value = directive[colon + 1 :]
    return colon + 1 + len(value) - len(value.lstrip(_SPACE)), max(end, colon + 1)
