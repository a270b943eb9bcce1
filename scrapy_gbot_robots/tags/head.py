"""The robots meta tags in the head of a page. The page's body is not read.

Pure, with lxml. Most pages name no crawler in their first bytes: one search tells. Other pages are parsed in small steps up
to where the body begins, and no further than `MOST_BYTES`.
Source: HTML's rules on where a head ends, as libxml2 has them; Google's page asks for these tags in the head.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

MOST_BYTES: Final = 64 * 1024  # that are read of a page; most heads take less than 8 KiB
MOST_TAGS: Final = 100
_STEP: Final = 8 * 1024
_WIDE: Final = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def meta_tags(body: bytes, names: Collection[str], *, charset: str = "") -> list[tuple[str, str]]:
    """The (name, content) of each meta tag in the head whose name is one of `names`, in lower case.

    Args:
        body: the page.
        names: the names that count, in lower case.
        charset: the charset that the server names. It matters for UTF-16 only, because names and directives are ASCII.
    """
    start = _as_ascii(body[:MOST_BYTES], charset)
    lower = start.lower()
    if b"<meta" not in lower or not any(name.encode("ascii", "replace") in lower for name in names):
        return []
    return list(_named(start, names))


def _named(start: bytes, names: Collection[str]) -> Iterator[tuple[str, str]]:
    parser = etree.HTMLPullParser(events=("start",), tag=("meta", "body"), encoding="iso-8859-1", no_network=True)
    found = 0
    for at in range(0, len(start), _STEP):
        parser.feed(start[at : at + _STEP])
        for _, element in parser.read_events():
            if element.tag == "body" or found >= MOST_TAGS:
                return
            name = (element.get("name") or "").strip().lower()
            if name in names:
                found += 1
                yield name, element.get("content") or ""


def _as_ascii(start: bytes, charset: str) -> bytes:
    """The same text in a charset that contains ASCII, and without a byte order mark, which would begin the body."""
    for mark, encoding in _WIDE:
        if start.startswith(mark) or charset.lower() == encoding:
            return start.removeprefix(mark).decode(encoding, "replace").encode("latin-1", "replace")
    return start.removeprefix(codecs.BOM_UTF8)
