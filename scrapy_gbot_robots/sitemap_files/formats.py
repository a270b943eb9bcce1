"""The sitemap formats: XML of several kinds, and plain text with one URL a line. The first characters tell them apart.

Pure: characters in, sitemap entries out. A broken entry costs no other.
Source: sitemaps.org, "Other Sitemap formats".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from .xml import MOST_CHARS, NotASitemap, Xml, is_url_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .xml import SitemapEntry

_URL_LINE = re.compile(r"^[ \t]*(?:https?|ftp)://\S", re.MULTILINE | re.IGNORECASE)
_XML_START = re.compile(r"<(?:\?xml|urlset|sitemapindex|rss|feed|rdf:RDF)\b")


def format_of(head: str) -> tuple[SitemapFormat, str]:
    """Return the format that the first characters of a file show, and these characters from where the sitemap begins.

    Raises:
        NotASitemap: the file has no sitemap format.
    """
    head = head.lstrip()
    start = _XML_START.search(head)  # a program's warning may stand before it
    if start or head.startswith("<"):
        return Xml(), head[start.start() :] if start else head
    if _URL_LINE.search(head):
        return _PlainText(), head
    raise NotASitemap("neither XML nor a list of URLs" if head else "it is empty")


class _PlainText:
    """One URL a line. Has the methods and attributes of `Xml`."""

    is_index = False

    def __init__(self) -> None:
        self.broken = 0
        self._rest = ""

    def feed(self, text: str) -> Iterator[SitemapEntry]:
        *lines, self._rest = (self._rest + text).replace("\r", "\n").split("\n")
        for line in lines:
            yield from self._entry(line.strip())
        self._rest = self._rest[: MOST_CHARS + 1]

    def finish(self) -> Iterator[SitemapEntry]:
        return self._entry(self._rest.strip())

    def _entry(self, line: str) -> Iterator[SitemapEntry]:
        if is_url_text(line):
            yield {"loc": line}
        elif line:
            self.broken += 1


SitemapFormat: TypeAlias = "Xml | _PlainText"
