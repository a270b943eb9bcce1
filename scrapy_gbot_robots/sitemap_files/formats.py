"""The formats a sitemap may have, told by their first characters: XML of several kinds, and one URL a line.

Pure: characters in, entries out; what is broken costs the entry that it is in. Source: sitemaps.org, "Other Sitemap
formats".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from .xml import MOST_TEXT, NotASitemap, Xml, is_url_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .xml import SitemapEntry


class Format(Protocol):
    """One format; it is given a file bit by bit and returns the entries that are complete."""

    @property
    def is_index(self) -> bool:
        """Whether the entries are sitemaps; known with the first."""

    @property
    def broken(self) -> int:
        """How many entries could not be made out so far."""

    def feed(self, text: str) -> Iterator[SitemapEntry]:
        """Take the next bit and return the entries that it completes."""

    def close(self) -> Iterator[SitemapEntry]:
        """Return what is complete now that the file has ended."""


_URL_LINE = re.compile(r"^[ \t]*(?:https?|ftp)://\S", re.MULTILINE | re.IGNORECASE)
_XML_START = re.compile(r"<(?:\?xml|urlset|sitemapindex|rss|feed|rdf:RDF)\b")


def format_of(head: str) -> tuple[Format, str]:
    """Tell the format by the first characters of a file, and return these from where it begins.

    Raises:
        NotASitemap: it is none.
    """
    head = head.lstrip()
    start = _XML_START.search(head)  # it may come after a warning that some program has printed
    if start or head.startswith("<"):
        return Xml(), head[start.start() :] if start else head
    if _URL_LINE.search(head):
        return _PlainText(), head
    raise NotASitemap("neither XML nor a list of URLs" if head.strip() else "it is empty")


class _PlainText:
    """One URL a line."""

    is_index = False

    def __init__(self) -> None:
        self.broken = 0
        self._rest = ""

    def feed(self, text: str) -> Iterator[SitemapEntry]:
        *lines, self._rest = (self._rest + text).replace("\r", "\n").split("\n")
        for line in filter(None, lines):
            yield from self._entry(line)
        self._rest = self._rest[:MOST_TEXT]

    def close(self) -> Iterator[SitemapEntry]:
        yield from self._entry(self._rest)

    def _entry(self, line: str) -> Iterator[SitemapEntry]:
        line = line.strip()
        if is_url_text(line):
            yield {"loc": line}
        elif line:
            self.broken += 1
