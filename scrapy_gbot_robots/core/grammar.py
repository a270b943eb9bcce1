"""The words of a robots.txt: field names, accepted misspellings, line flags and limits, each beside its source.

"Google's page" is "How Google interprets the robots.txt specification"; "Google's parser" is
github.com/google/robotstxt, whose leniency is kept here unless `strict` asks for the written text alone.
"""

from __future__ import annotations

import re
from typing import Final

# Kinds of line, numbered as in the line report of Google's parser.
UNKNOWN: Final = 0
USER_AGENT: Final = 1
ALLOW: Final = 2
DISALLOW: Final = 3
SITEMAP: Final = 4
UNUSED: Final = 5  # other programs use them, Google does not

# What is odd about a line: bits, numbered as in the line report of Google's parser.
EMPTY: Final = 1
HAS_COMMENT: Final = 2
IS_COMMENT: Final = 4
HAS_DIRECTIVE: Final = 8
TYPO: Final = 16
TOO_LONG: Final = 32
MISSING_COLON: Final = 64

# Kind, name in Google's page, other names that Google's parser accepts. Names are compared in this order, without regard to
# case. Google's parser takes any key that begins with one of them. Strict reading takes only the name in Google's page.
FIELDS: Final = (
    (USER_AGENT, b"user-agent", (b"useragent", b"user agent")),
    (ALLOW, b"allow", ()),
    (DISALLOW, b"disallow", (b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")),
    (SITEMAP, b"sitemap", (b"site-map",)),
)

# Google's page: "other fields such as crawl-delay are not supported"; the list is that of Google's parser.
CRAWL_DELAY: Final = b"crawl-delay"
UNUSED_FIELDS: Final = frozenset(
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

BOM: Final = b"\xef\xbb\xbf"  # skipped at the very start, also if only its first bytes are there (Google's parser)
MAX_BYTES: Final = 512_000  # Google's page, "File format": 500 KiB, content after that is ignored
MAX_LINE_BYTES: Final = 16_663  # Google's parser: eight times a URL of 2,083 bytes, less one

INDEX_PAGE: Final = "/index.htm"  # Google's parser: an allow rule for it allows its directory, too

# RFC 9309 2.2.1: a product token is letters, "-" and "_". Google's page: text after it in a user-agent line is ignored.
# "*" is a star alone or one that white space follows (Google's parser).
GLOBAL: Final = b"*"
_AGENT: Final = re.compile(rb"\*(?=[ \t\v\f\r\n#]|\Z)|[A-Za-z_-]*")


def field_of(key: bytes, *, strict: bool) -> tuple[int, bool]:
    """Return the kind of the field that `key` (white space stripped) names, and whether it is a misspelling."""
    lower = key.lower()
    for kind, name, typos in FIELDS:
        if lower == name:
            return kind, False
        if not strict:
            misspelt = lower.startswith(typos)
            if misspelt or lower.startswith(name):
                return kind, misspelt
    return (UNUSED if lower in UNUSED_FIELDS else UNKNOWN), False


def agent_of(value: bytes) -> bytes:
    """Return the agent that a user-agent line names: "*", or a product token in lower case; b"" if it names none."""
    found = _AGENT.match(value)
    return found[0].lower() if found else b""
