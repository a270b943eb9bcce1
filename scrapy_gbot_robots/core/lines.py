"""Bytes of a robots.txt -> its lines, read as Google's parser reads them.

Boundary: one line at a time; which group a line belongs to is for groups.py. This is the careful reader: it tells all
there is to know about each line, and it is the specification that the fast reader (scan.py) is tested against.
Source: RFC 9309 2.2, Google's page ("File format", "Syntax"), and Google's parser where these are silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import grammar
from .urls import escape

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    """Yield each line of `body`, the text after the last line end included, be it empty."""
    for number, raw in enumerate(split_lines(body), 1):
        yield _read_line(number, raw, strict)


def split_lines(body: bytes) -> list[bytes]:
    """Split at CR LF, CR and LF and at nothing else; a byte-order mark, or its beginning, is no part of the first line."""
    text = body[_bom_length(body) :]
    lines = text.splitlines()  # of bytes: unlike str.splitlines it knows no other line end
    if not lines or text.endswith((b"\n", b"\r")):
        lines.append(b"")
    return lines


def _bom_length(body: bytes) -> int:
    length = 0
    while length < len(grammar.BOM) and body[length : length + 1] == grammar.BOM[length : length + 1]:
        length += 1
    return length


def _read_line(number: int, raw: bytes, strict: bool) -> Line:
    flags = 0
    if len(raw) > grammar.MAX_LINE_BYTES:
        raw = raw[: grammar.MAX_LINE_BYTES]
        flags |= grammar.TOO_LONG
    text, hash_sign, _ = raw.partition(b"\0")[0].partition(b"#")  # a NUL ends the line, as in a C string
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
