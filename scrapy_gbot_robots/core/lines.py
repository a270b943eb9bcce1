"""Bytes of a robots.txt -> its lines, read as Google's parser reads them.

This is the careful reader. It tells all there is to know about each line, and it is the specification of the fast reader
(scan.py): tests compare the two. Groups, remarks and lint use it; a crawl does so only for lines in an unusual form.

A worked example: " Dissallow : /a b # no" has the key "Dissallow", the value "/a b", the kind of a disallow line, and the
flags for a directive, a typo and a comment.

Boundary: one line at a time. groups.py finds out which group it belongs to.
Source: RFC 9309 2.2, Google's page ("File format", "Syntax"), and Google's parser where these are silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from . import grammar
from .urls import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BLOCK: Final = 8_192  # bytes
_INFINITY: Final = float("inf")
_BOM_BEGINS: Final = grammar.BOM[:1]
_CR, _NUL = b"\r\0"  # `13 in text` is much faster than `b"\r" in text`


class Line(NamedTuple):
    """One line of a robots.txt, as in the line report of Google's parser.

    Attributes:
        number: from 1.
        kind: one of the kinds of `grammar`.
        flags: a sum of the flags of `grammar`.
        key: the field name, stripped; empty if the line has no directive.
        value: stripped, and percent-escaped except in user-agent and sitemap lines.
    """

    number: int
    kind: int
    flags: int
    key: bytes = b""
    value: bytes = b""


def read_lines(body: bytes, *, strict: bool = False) -> Iterator[Line]:
    """Yield each line of `body`. The text after the last line end is a line, even if it is empty."""
    for number, raw in enumerate(split_lines(body), 1):
        yield read_line(number, raw, strict=strict)


def split_lines(body: bytes) -> list[bytes]:
    """Split at CR LF, CR and LF, and at nothing else. A byte-order mark is no part of the first line."""
    text = without_bom(body)
    lines = text.splitlines()  # bytes.splitlines knows no other line ends, unlike str.splitlines
    if not lines or text.endswith((b"\n", b"\r")):
        lines.append(b"")
    return lines


def without_bom(body: bytes) -> bytes:
    """Return `body` without a byte-order mark, or the first bytes of one, at its beginning."""
    if body[:1] != _BOM_BEGINS:
        return body
    length = 1
    while length < len(grammar.BOM) and body.startswith(grammar.BOM[: length + 1]):
        length += 1
    return body[length:]


def _usable(raw: bytes) -> bytes:
    """Return the part of a line that counts: up to a NUL, as in a C string, and to the limit (Google's parser)."""
    return raw[: grammar.MAX_LINE_BYTES].partition(b"\0")[0]


def content_blocks(body: bytes) -> Iterable[bytes]:
    """Return the lines of `body` in blocks, so that the lines of a hostile file are never all in memory.

    A block has whole lines, each as far as it counts. Each line but the last of the file ends with LF.
    """
    text = with_lf(without_bom(body))
    return blocks(text, 0, len(text)) if len(text) > _BLOCK or _NUL in text else (text,)


def with_lf(text: bytes) -> bytes:
    """Return `text` with LF for every line end."""
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if _CR in text else text


def blocks(text: bytes, start: int, end: int) -> Iterator[bytes]:
    """Yield the lines of `text` from `start` to `end`, which LF ends, as `content_blocks` does."""
    while start < end:
        stop = min(text.find(b"\n", start + _BLOCK) + 1 or end, end) if start + _BLOCK < end else end
        block = text[start:stop]
        if _NUL in block or len(block) > grammar.MAX_LINE_BYTES:
            block = b"\n".join(map(_usable, block.split(b"\n")))
        yield block
        start = stop


def read_line(number: int, raw: bytes, *, strict: bool = False) -> Line:
    """Return what the line `raw` says. `number` becomes the number of the result."""
    flags = grammar.TOO_LONG if len(raw) > grammar.MAX_LINE_BYTES else 0
    text, hash_sign, _ = _usable(raw).partition(b"#")
    text = text.strip()
    if hash_sign:
        flags |= grammar.HAS_COMMENT
    if not text:
        return Line(number, grammar.UNKNOWN, flags | (grammar.IS_COMMENT if hash_sign else grammar.EMPTY))
    key, value, missing_colon = _split_directive(text, strict)
    if not key:
        return Line(number, grammar.UNKNOWN, flags | missing_colon)
    kind, misspelt = grammar.field_of(key, strict=strict)
    flags |= grammar.HAS_DIRECTIVE | missing_colon | (grammar.TYPO if misspelt else 0)
    if kind not in {grammar.USER_AGENT, grammar.SITEMAP}:
        value = escape(value)
    return Line(number, kind, flags, key, value)


def _split_directive(text: bytes, strict: bool) -> tuple[bytes, bytes, int]:
    """Return key, value and flags. A line of two words without a colon is split between them (Google's parser)."""
    key, colon, value = text.partition(b":")
    if colon:
        return key.strip(), value.strip(), 0
    first, space, rest = text.replace(b"\t", b" ").partition(b" ")
    value = rest.strip(b" ")
    if strict or not space or b" " in value:
        return b"", b"", 0
    return first.strip(), value.strip(), grammar.MISSING_COLON


def as_written(raw: bytes, *, strict: bool = False) -> bytes:
    """Return the value of the directive in the line `raw` without escaping it."""
    return _split_directive(_usable(raw).partition(b"#")[0].strip(), strict)[1]


def delay_of(line: Line) -> float | None:
    """Return the crawl delay in seconds that a line gives, None if it gives none or one that is no plain number."""
    is_delay = line.kind == grammar.UNUSED and line.key.lower() == grammar.CRAWL_DELAY
    return seconds(line.value) if is_delay else None


def seconds(value: bytes) -> float | None:
    """Return `value` as seconds, None if it is no plain number."""
    number = float(value) if value.replace(b".", b"", 1).isdigit() else _INFINITY
    return number if number < _INFINITY else None
