"""Bytes of a robots.txt -> its lines, read as Google's parser reads them.

This is the careful reader. It returns everything about a line: its field name, its value, its kind,
and flags for anything odd. It is the specification of the fast reader (crawler_groups.py), and
tests compare both. Groups, remarks and lint use it. A crawl uses it only for lines in an unusual
form.

A worked example: " Dissallow : /a b # no" has the key "Dissallow" and the value "/a b". Its kind is
a disallow line, and its flags show a directive, a typo and a comment.

Boundary: one line at a time. robots.py finds the group of each line.
Sources: RFC 9309 2.2; Google's page, which is "How Google interprets the robots.txt specification"
("File format", "Syntax"); and Google's parser, which is github.com/google/robotstxt. Google's
parser accepts more than Google's page documents, such as misspelt names. So does this reader, and
lint reports where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .urls import escape

# Kinds of line, numbered as in the line report of Google's parser.
UNKNOWN = 0
USER_AGENT = 1
ALLOW = 2
DISALLOW = 3
SITEMAP = 4
UNUSED = 5  # a field that other programs use and Google does not

# Flags for anything odd in a line: bits, numbered as in the line report of Google's parser.
EMPTY = 1
HAS_COMMENT = 2
IS_COMMENT = 4
HAS_DIRECTIVE = 8
TYPO = 16
TOO_LONG = 32
MISSING_COLON = 64

# Each row: a kind, its name on Google's page, and other names that Google's parser accepts. Names
# are compared in this order, and case does not matter. Google's parser accepts every key that
# begins with one of the names.
FIELDS = (
    (USER_AGENT, b"user-agent", (b"useragent", b"user agent")),
    (ALLOW, b"allow", ()),
    (DISALLOW, b"disallow", (b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")),
    (SITEMAP, b"sitemap", (b"site-map",)),
)

_PAGE_HEAD = 16 * 1024
_BEFORE_A_PAGE = b"\xef\xbb\xbf \t\r\n\v\f"
# A fragment also counts as a web page, because a server may send the middle of a template or a
# short error message.
_PAGE_BEGINS = re.compile(
    rb"(?:<\?xml\b[^>]*>\s*)?(?:<!--.{0,1000}?-->\s*)?"
    rb"<(?:!doctype\s+html|html|head|title|meta|link|script|noscript|style|body|h[1-6]|p|pre|div|br"
    rb"|a|b|span|font|center|img|iframe|table|main|section|header)\b",
    re.IGNORECASE | re.DOTALL,
)

# Google's page: "other fields such as crawl-delay are not supported". The list comes from Google's
# parser.
CRAWL_DELAY = b"crawl-delay"
UNUSED_FIELDS = frozenset(
    {
        b"clean-param",
        b"content-signal",
        b"content-usage",
        CRAWL_DELAY,
        b"domain",
        b"host",
        b"noarchive",
        b"nofollow",
        b"noindex",
        b"request-rate",
        b"revisit-after",
        b"visit-time",
    }
)

# Google's parser skips this mark at the very start, even if only its first bytes are there.
BOM = b"\xef\xbb\xbf"
# 500 KiB. Google ignores content after that (Google's page, "File format").
MAX_BYTES = 512_000
# Google's parser reads eight times the length of a URL of 2,083 bytes, less one byte.
MAX_LINE_BYTES = 16_663

# An allow rule for this page also allows its directory (Google's parser).
INDEX_PAGE = "/index.htm"

# A product token has letters, "-" and "_" (RFC 9309 2.2.1), and Google ignores the text after it in
# a user-agent line (Google's page). The line is for all crawlers if its value is a star, alone or
# followed by white space (Google's parser).
GLOBAL = b"*"
_AGENT = re.compile(rb"\*(?=[ \t\v\f\r\n#]|\Z)|[A-Za-z_-]*")


def field_of(key: bytes) -> tuple[int, bool]:
    """Return the kind of the field that `key` names, and whether the name is misspelt.

    The caller has stripped the white space around `key`.
    """
    lower = key.lower()
    for kind, name, typos in FIELDS:
        if lower == name:
            return kind, False
        misspelt = lower.startswith(typos)
        if misspelt or lower.startswith(name):
            return kind, misspelt
    return (UNUSED if lower in UNUSED_FIELDS else UNKNOWN), False


def agent_of(value: bytes) -> bytes:
    """Return the user agent in the value of a user-agent line; b"" if there is none.

    The result is b"*", or a product token in lower case.
    """
    user_agent = _AGENT.match(value)
    return user_agent[0].lower() if user_agent else b""


# The number of a `Content-` line, and the line as written.
ContentLine = tuple[int, bytes]

_BLOCK = 8_192  # bytes
_INFINITY = float("inf")
_BOM_BEGINNINGS = (BOM, BOM[:2], BOM[:1])
_CR, _NUL = b"\r\0"  # `13 in text` is much faster than `b"\r" in text`


class Line(NamedTuple):
    """One line of a robots.txt, as in the line report of Google's parser.

    Attributes:
        number: from 1.
        kind: one of the kinds above.
        flags: a sum of the flags above.
        key: the field name, stripped; empty if the line has no directive.
        value: stripped, and percent-escaped except in user-agent and sitemap lines.
    """

    number: int
    kind: int
    flags: int
    key: bytes = b""
    value: bytes = b""


def read_lines(body: bytes) -> Iterator[Line]:
    """Yield each line of `body`.

    The text after the last line end is a line, even if it is empty.
    """
    for number, raw in enumerate(split_lines(body), 1):
        yield read_line(number, raw)


def split_lines(body: bytes) -> list[bytes]:
    """Split at CR LF, CR and LF, and at nothing else.

    A byte-order mark is not a part of the first line. The text after the last line end is a line,
    even if it is empty.
    """
    text = without_bom(body)
    # bytes.splitlines splits at these line ends only, unlike str.splitlines.
    lines = text.splitlines()
    if not lines or text.endswith((b"\n", b"\r")):
        lines.append(b"")
    return lines


def is_web_page(body: bytes) -> bool:
    """Return whether the first 16 KiB of `body` begin like a web page."""
    head = body[:_PAGE_HEAD].lstrip(_BEFORE_A_PAGE)
    return head.startswith(b"<") and _PAGE_BEGINS.match(head) is not None


def without_bom(body: bytes) -> bytes:
    """Return `body` without a byte-order mark, or a part of one, at its beginning."""
    begins = next((begin for begin in _BOM_BEGINNINGS if body.startswith(begin)), b"")
    return body.removeprefix(begins)


def _usable(raw: bytes) -> bytes:
    """Return the part of a line that Google's parser reads.

    The line ends at a NUL, as in a C string, and at `MAX_LINE_BYTES`.
    """
    return raw[:MAX_LINE_BYTES].partition(b"\0")[0]


def content_blocks(body: bytes) -> Iterator[bytes]:
    """Yield the lines of `body` in blocks, so that not all lines of a hostile file are in memory.

    A block has whole lines, each cut by `_usable`. Every line ends with LF, except the last line of
    the file.
    """
    text = without_bom(body)
    if _CR in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    start = 0
    while start < len(text):
        stop = text.find(b"\n", start + _BLOCK) + 1 or len(text)
        block = text[start:stop]
        if _NUL in block or len(block) > MAX_LINE_BYTES:
            block = b"\n".join(map(_usable, block.split(b"\n")))
        yield block
        start = stop


def read_line(number: int, raw: bytes) -> Line:
    """Return the line `raw` in its parts, with `number` as its number.

    The comment is cut first. The fast reader cuts the comment of each path in `_patterns`, and
    `agent_of` ends at a comment; all three must agree.
    """
    flags = TOO_LONG if len(raw) > MAX_LINE_BYTES else 0
    text, hash_sign, _ = _usable(raw).partition(b"#")
    text = text.strip()
    if hash_sign:
        flags |= HAS_COMMENT
    if not text:
        return Line(number, UNKNOWN, flags | (IS_COMMENT if hash_sign else EMPTY))
    key, value, missing_colon = _split_directive(text)
    if not key:
        return Line(number, UNKNOWN, flags | missing_colon)
    kind, misspelt = field_of(key)
    flags |= HAS_DIRECTIVE | missing_colon | (TYPO if misspelt else 0)
    if kind not in {USER_AGENT, SITEMAP}:
        value = escape(value)
    return Line(number, kind, flags, key, value)


def _split_directive(text: bytes) -> tuple[bytes, bytes, int]:
    """Return key, value, and `MISSING_COLON` or 0.

    A line of two words without a colon is split between them (Google's parser). Any other line
    without a colon has an empty key.
    """
    key, colon, value = text.partition(b":")
    if colon:
        return key.strip(), value.strip(), 0
    first, space, rest = text.replace(b"\t", b" ").partition(b" ")
    value = rest.strip(b" ")
    if not space or b" " in value:
        return b"", b"", 0
    return first.strip(), value.strip(), MISSING_COLON


def as_written(raw: bytes) -> bytes:
    """Return the value of the directive in the line `raw`, not escaped."""
    return _split_directive(_usable(raw).partition(b"#")[0].strip())[1]


def seconds(value: bytes) -> float | None:
    """Return `value` as seconds; None if it is not a plain number."""
    number = float(value) if value.replace(b".", b"", 1).isdigit() else _INFINITY
    return number if number < _INFINITY else None
