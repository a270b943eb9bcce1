"""Bytes of a robots.txt -> its sitemap lines, which belong to no group (Google's page, "sitemap").

Boundary: nothing is fetched. Source: Google's page and sitemaps.org; Google's parser for which line is a sitemap line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from . import grammar
from .lines import content_blocks, read_line
from .origin import Origin
from .urls import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN: Final = b"site"  # of all names of the field


class SitemapLine(NamedTuple):
    """A sitemap line.

    Attributes:
        line: its number, from 1.
        url: its URL, None if that is no absolute http, https or ftp URL.
        raw: the bytes of its value.
    """

    line: int
    url: str | None
    raw: bytes


def may_list_sitemaps(body: bytes) -> bool:
    """Return False if `body` has no sitemap line, since the word that begins one is nowhere in it."""
    return _BEGIN in body.lower()


def read_sitemaps(body: bytes, *, strict: bool) -> Iterator[SitemapLine]:
    """Yield the sitemap lines of `body` in file order."""
    number = 0
    for block in content_blocks(body):
        if _BEGIN not in block.lower():
            number += block.count(b"\n")
            continue
        for text in block.splitlines():
            number += 1
            if text.lstrip()[: len(_BEGIN)].lower() == _BEGIN:
                line = read_line(number, text, strict=strict)
                if line.kind == grammar.SITEMAP:
                    yield SitemapLine(number, _absolute(line.value), line.value)


def _absolute(value: bytes) -> str | None:
    """Return the URL as text. Bytes that are not UTF-8 are percent-encoded, as in rules."""
    try:
        url = value.decode("utf-8")
    except UnicodeDecodeError:
        url = escape(value).decode("ascii")
    try:
        Origin.of(url)
    except ValueError:
        return None
    return url
