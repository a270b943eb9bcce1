"""Bytes of a robots.txt -> its lines, read as Google's parser reads them.

Boundary: one line at a time; which group a line belongs to is for groups.py. This is the careful reader: it tells all
there is to know about each line, and it is the specification that the fast reader (scan.py) is tested against.
Source: RFC 9309 2.2, Google's page ("File format", "Syntax"), and Google's parser where these are silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from . import grammar
from .urls import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK: Final = 8_192  # bytes
_INFINITY: Final = float("inf")
_CR, _NUL = b"\r\0"  # `13 in text` is much faster than `b"\r" in text`


class Line(NamedTuple):
    """One line of a robots.txt.

    `number` counts from 1; `kind` and `flags` are those of `grammar`; `key` and `value` are stripped, and empty if the
    line has no directive. The value of an allow or disallow line is percent-escaped, of others it is as written.
    """

    number: int
    kind: int
    flags: int
    key: bytes = b""
    value: bytes = b""


def read_lines(body: bytes, *, strict: bool = False) -> Iterator[Line]:
    """Yield each line of `body`. The text after the last line end counts as a line, even if it is empty."""
    for number, raw in enumerate(split_lines(body), 1):
        yield read_line(number, raw, strict=strict)


def split_lines(body: bytes) -> list[bytes]:
    """Split at CR LF, CR and LF and at nothing else; a byte-order mark is no part of the first line."""
    text = without_bom(body)
    lines = text.splitlines()  # of bytes: unlike str.splitlines it knows no other line end
    if not lines or text.endswith((b"\n", b"\r")):
        lines.append(b"")
    return lines


def without_bom(body: bytes) -> bytes:
    """Return `body` without the byte-order mark, or the beginning of one, that it begins with."""
    if not body.startswith(grammar.BOM[:1]):
        return body
    length = 1
    while length < len(grammar.BOM) and body.startswith(grammar.BOM[: length + 1]):
        length += 1
    return body[length:]


def _usable(raw: bytes) -> bytes:
    """Return the part of a line that counts: up to a NUL, as in a C string, and to the limit (Google's parser)."""
    return raw[: grammar.MAX_LINE_BYTES].partition(b"\0")[0]


def content_blocks(body: bytes) -> Iterator[bytes]:
    """Yield the lines of `body`, each as far as it counts and ended by LF but for the last, in blocks of whole lines.

    So the lines of a hostile file are never in memory all at once.
    """
    text = with_lf(without_bom(body))
    return blocks(text, 0, len(text))


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
    """Return what the line `raw` says; `number` is only handed through."""
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
    """Split at the first colon; in a line of exactly two words and no colon (Google's parser) between the words."""
    key, colon, value = text.partition(b":")
    if colon:
        return key.strip(), value.strip(), 0
    first, space, rest = text.replace(b"\t", b" ").partition(b" ")
    value = rest.strip(b" ")
    if strict or not space or b" " in value:
        return b"", b"", 0
    return first.strip(), value.strip(), grammar.MISSING_COLON


def as_written(raw: bytes, *, strict: bool = False) -> bytes:
    """Return the value of the directive in the line `raw`, not escaped."""
    return _split_directive(_usable(raw).partition(b"#")[0].strip(), strict)[1]


def delay_of(line: Line) -> float | None:
    """Return the crawl delay in seconds that a line gives, None if it gives none or no plain number."""
    is_delay = line.kind == grammar.UNUSED and line.key.lower() == grammar.CRAWL_DELAY
    return seconds(line.value) if is_delay else None


def seconds(value: bytes) -> float | None:
    """Return `value` as seconds, None if it is no plain number."""
    number = float(value) if value.replace(b".", b"", 1).isdigit() else _INFINITY
    return number if number < _INFINITY else None
