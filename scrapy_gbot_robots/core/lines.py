"""Split the bytes of a robots.txt into lines, and read each line as Google's parser does.

This module is the careful reader. For each line it returns a `Line`, with the field name, the
value, the kind of the line, and flags, for example for a misspelt name. The fast reader
(crawler_groups.py) must give the same rules, and tests compare both readers. `RobotsTxt.fields`,
`RobotsTxt.remarks` and the command `lint` use the careful reader for all lines. A crawl uses it
only for lines in an unusual form.

For example, the line " Dissallow : /a b # no" has the key "Dissallow" and the value "/a b". The
kind of the line is DISALLOW. The flags are HAS_DIRECTIVE, TYPO and HAS_COMMENT.

This module does not read groups. robots.py finds the group of each line.

In the comments of this package, "Google's page" is the page "How Google interprets the robots.txt
specification", and "Google's parser" is github.com/google/robotstxt. The sources of this module are
RFC 9309 2.2, Google's page ("File format", "Syntax") and Google's parser. This module accepts
everything that Google's parser accepts, such as misspelt names, even if Google's page does not
mention it. lint reports these lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .urls import escape

# The kinds of lines in a robots.txt. Google's parser uses the same numbers in its report on each
# line.
UNKNOWN = 0
USER_AGENT = 1
ALLOW = 2
DISALLOW = 3
SITEMAP = 4
UNUSED = 5  # The line has a field that Google ignores and other programs use.

# Flags of a line. Each flag is one bit, with the number that it has in the line report of Google's
# parser.
EMPTY = 1
HAS_COMMENT = 2
IS_COMMENT = 4
HAS_DIRECTIVE = 8
TYPO = 16
TOO_LONG = 32
MISSING_COLON = 64

# Each row contains the kind of a line, the name of its field on Google's page, and misspelt names
# that Google's parser accepts. A field name in a file is compared with these names in this order,
# and case does not matter. Google's parser accepts every field name that begins with one of these
# names.
FIELDS = (
    (USER_AGENT, b"user-agent", (b"useragent", b"user agent")),
    (ALLOW, b"allow", ()),
    (DISALLOW, b"disallow", (b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")),
    (SITEMAP, b"sitemap", (b"site-map",)),
)

_PAGE_HEAD = 16 * 1024  # Only this many bytes of a body are searched for HTML.
_BEFORE_A_PAGE = b"\xef\xbb\xbf \t\r\n\v\f"
# This matches a body that begins like a web page. It also matches a tag such as "<p>", because a
# server may send only a part of a page, or a short error message.
_PAGE_BEGINS = re.compile(
    rb"(?:<\?xml\b[^>]*>\s*)?(?:<!--.{0,1000}?-->\s*)?"
    rb"<(?:!doctype\s+html|html|head|title|meta|link|script|noscript|style|body|h[1-6]|p|pre|div|br"
    rb"|a|b|span|font|center|img|iframe|table|main|section|header)\b",
    re.IGNORECASE | re.DOTALL,
)

# Google ignores these fields. Google's page states that "other fields such as crawl-delay are not
# supported", and Google's parser lists the fields.
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

# Google's parser skips a byte-order mark at the beginning of the file. If the file begins with only
# the first one or two bytes of a mark, the parser skips these bytes.
BOM = b"\xef\xbb\xbf"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")  # the byte-order marks of UTF-16
# Google ignores the content of a file after 500 KiB (Google's page, "File format").
MAX_BYTES = 512_000
# Google's parser reads only this many bytes of a line, and ignores the rest of the line. The number
# is 8 * 2,083 - 1, because the longest URL in some browsers has 2,083 bytes.
MAX_LINE_BYTES = 16_663

# If the file name in the path of an allow rule begins with this text, the rule also allows the
# directory of the file. For example, "Allow: /d/index.html" also allows "/d/" (Google's parser).
INDEX_PAGE = "/index.htm"

# A product token consists of letters, "-" and "_" (RFC 9309 2.2.1). Google ignores the text after
# the token in a user-agent line (Google's page). If the value is "*" alone, or "*" before white
# space, the line is for all crawlers (Google's parser).
GLOBAL = b"*"
_AGENT = re.compile(rb"\*(?=[ \t\v\f\r\n#]|\Z)|[A-Za-z_-]*")


def field_of(key: bytes) -> tuple[int, bool]:
    """Return the kind of line for the field name `key`, and whether the name is misspelt.

    `key` has no white space around it. For example, the result for b"Disalow" is (DISALLOW, True).
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

    The user agent is b"*", or a product token in lower case.
    """
    user_agent = _AGENT.match(value)
    return user_agent[0].lower() if user_agent else b""


# The type of a `Content-Usage` or `Content-Signal` line, which is a pair of the line number and the
# line as written.
ContentLine = tuple[int, bytes]

_BLOCK = 8_192  # A block of lines has at least this many bytes, except the last block.
_INFINITY = float("inf")
_BOM_BEGINNINGS = (BOM, BOM[:2], BOM[:1])
_CR, _NUL = b"\r\0"  # These are numbers: `13 in text` is faster than `b"\r" in text`.


class Line(NamedTuple):
    """One line of a robots.txt, as Google's parser reads it.

    Attributes:
        number: the line number, from 1.
        kind: UNKNOWN, USER_AGENT, ALLOW, DISALLOW, SITEMAP or UNUSED.
        flags: the sum of the line's flags, such as HAS_COMMENT + TYPO.
        key: the field name without white space around it; empty if the line has no directive.
        value: the value without white space around it. It is percent-escaped, except in user-agent
            and sitemap lines.
    """

    number: int
    kind: int
    flags: int
    key: bytes = b""
    value: bytes = b""


def read_lines(body: bytes) -> Iterator[Line]:
    """Yield each line of `body`.

    The text after the last line end is a line, even if this text is empty.
    """
    for number, raw in enumerate(split_lines(body), 1):
        yield read_line(number, raw)


def split_lines(body: bytes) -> list[bytes]:
    """Return the lines of `body` without their line ends. A line ends with CR LF, CR or LF.

    A byte-order mark at the beginning is removed. The text after the last line end is a line,
    even if this text is empty.
    """
    text = without_bom(body)
    # bytes.splitlines splits at these line ends only, unlike str.splitlines.
    lines = text.splitlines()
    if not lines or text.endswith((b"\n", b"\r")):
        lines.append(b"")
    return lines


def is_web_page(body: bytes) -> bool:
    """Return whether `body` begins like a web page. Only the first 16 KiB are searched."""
    head = body[:_PAGE_HEAD].lstrip(_BEFORE_A_PAGE)
    return head.startswith(b"<") and _PAGE_BEGINS.match(head) is not None


def without_bom(body: bytes) -> bytes:
    """Return `body` without a byte-order mark, or a part of one, at its beginning."""
    begins = next((begin for begin in _BOM_BEGINNINGS if body.startswith(begin)), b"")
    return body.removeprefix(begins)


def _usable(raw: bytes) -> bytes:
    """Return the part of a line that Google's parser reads.

    The parser ignores everything from the first NUL on, because it reads the line as a C string. It
    also ignores everything after `MAX_LINE_BYTES`.
    """
    return raw[:MAX_LINE_BYTES].partition(b"\0")[0]


def content_blocks(body: bytes) -> Iterator[bytes]:
    """Yield the lines of `body` in blocks of about 8 KiB.

    A block consists of whole lines, without the parts that Google's parser ignores. Every line ends
    with LF, except the last line of the file. A hostile file may have hundreds of thousands of
    lines. To save memory, a caller splits one block at a time into lines.
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
    """Read the line `raw`, which has the line number `number` in the file.

    A comment is removed before the line is split. The functions `_patterns` (in crawler_groups.py)
    and `agent_of` must remove comments in the same way.
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
    """Split a line into its key and its value.

    The key is the field name. If a line has no colon but consists of two words, it is split between
    the words, as in Google's parser. Any other line without a colon has an empty key.

    Returns:
        The key, the value, and `MISSING_COLON` if the line was split between two words, otherwise
        0.
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
    """Return the value in the line `raw` as written, without escaping it."""
    return _split_directive(_usable(raw).partition(b"#")[0].strip())[1]


def seconds(value: bytes) -> float | None:
    """Return `value` as a number of seconds; None if `value` is not a plain decimal number."""
    number = float(value) if value.replace(b".", b"", 1).isdigit() else _INFINITY
    return number if number < _INFINITY else None
