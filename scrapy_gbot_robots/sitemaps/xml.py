"""Reads entries from the XML formats: urlset, sitemap index, RSS and Atom.

lxml parses, goes on after errors, and calls the methods of `Xml`. It builds no tree: a tree, even one that is cleared entry
by entry, would hold the whole of a file whose first <url> never ends. It expands no entity and fetches nothing. Before lxml
gets the text, ampersands that a sitemap should have escaped are escaped: lxml would drop them together with the next word.

    <loc>http://e/?a=1&b=2&amp;c&eacute;</loc>   becomes   <loc>http://e/?a=1&amp;b=2&amp;c&amp;eacute;</loc>

It knows no crawl and no network.
Source: sitemaps.org, "XML tag definitions", "Sitemap index files", "Entity escaping"; XML 1.0, 2.2, 2.7 and 4.1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from lxml import etree

from ..core.urls import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_CHARS = 8_191  # of a value
SPOILT = "\ufffd"  # replaces anything that is not a character of XML; it occurs in no URL
NO_CHARACTER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")  # XML 1.0, 2.2; and DEL

_MOST_VALUES = 1_000  # of an entry; a page may have hundreds of translations
_MOST_DEEP = 100  # levels of elements
_MOST_BARREN = 2**22  # characters in a row without a complete entry
_ENTRY_DEPTH = 2  # the root has depth 1

_MARKS = re.compile(
    r"<!\[CDATA\[|<!--|\]\]>|-->"
    r"|&(?!(?:amp|lt|gt|quot|apos);)(?:#(?:([0-9]{1,7})|[xX]([0-9A-Fa-f]{1,6}));)?"
)
_VERBATIM = {"<![CDATA[": "]]>", "<!--": "-->"}  # beginning and end of the parts without escapes
_LONGEST_MARK = 10
_UNSURE = re.compile(r"[&<\]-][^;>]{0,9}\Z")  # may be the beginning of a mark

# As in Scrapy: "loc", and if the file has them "lastmod", "alternate" (a list of URLs) and other elements by their names.
SitemapEntry: TypeAlias = "dict[str, Any]"


class NotASitemap(ValueError):  # noqa: N818  it says what the file is
    """The file has no sitemap format, or nothing more can be read from it."""


def is_url_text(text: str) -> bool:
    """Whether `text` may be a URL: it is neither empty nor too long, and all of it is characters of XML."""
    return 0 < len(text) <= MOST_CHARS and SPOILT not in text


class _Vocabulary(NamedTuple):
    """The names of elements in one XML format, in lower case and without namespace."""

    entry: str
    keys: dict[str, str]  # the key of an entry for each element whose text is its "loc" or "lastmod"
    is_index: bool = False
    loc_is_href: bool = False  # of the element "link"


_BY_ROOT = {
    "urlset": _Vocabulary("url", {"loc": "loc", "lastmod": "lastmod"}),
    "sitemapindex": _Vocabulary("sitemap", {"loc": "loc", "lastmod": "lastmod"}, is_index=True),
    "rss": _Vocabulary("item", {"link": "loc", "pubdate": "lastmod", "date": "lastmod"}),
    "rdf": _Vocabulary("item", {"link": "loc", "date": "lastmod"}),  # RSS 1.0
    "feed": _Vocabulary("entry", {"updated": "lastmod", "modified": "lastmod"}, loc_is_href=True),  # Atom 1.0 and 0.3
}
_TAKEN = frozenset({"loc", "lastmod", "alternate", "link"})  # keys that no other element may fill


class Xml:
    """Any of the XML formats. Call `feed` with a file piece by piece, then `finish`.

    Meanwhile lxml calls `start`, `data`, `end` and `close`.

    Attributes:
        is_index: whether the entries are sitemaps. Known from the first entry on.
        broken: how many entries could not be read so far.
    """

    def __init__(self) -> None:
        self._parser = etree.XMLParser(
            target=self,
            encoding="utf-8",
            recover=True,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )
        self._ampersands = _Ampersands()
        self.is_index = False
        self.broken = 0
        self._ready: list[SitemapEntry] = []
        self._barren = 0  # characters since the last complete entry
        self._vocabulary: _Vocabulary | None = None
        self._depth = 0
        self._entry: SitemapEntry | None = None
        self._name = ""  # of the element whose text is being read; "" between such elements
        self._value = ""

    def feed(self, text: str) -> Iterator[SitemapEntry]:
        """Parse the next characters, and yield the entries that they complete.

        Raises:
            NotASitemap: nothing more can be read from the file.
        """
        trouble = self._parse(self._ampersands.repaired(text))
        self._barren = 0 if self._ready else self._barren + len(text)
        yield from self._ready
        self._ready.clear()
        if trouble or self._barren > _MOST_BARREN:
            raise NotASitemap(trouble or f"{_MOST_BARREN} characters in a row complete no entry")

    def finish(self) -> Iterator[SitemapEntry]:
        """Yield the last entries, once the file has ended. Raises as `feed` does."""
        trouble = self._parse(self._ampersands.rest(), is_last=True)
        self._end_entry()
        yield from self._ready
        if self._vocabulary is None:
            raise NotASitemap(trouble or "there is no element in it")

    def _parse(self, text: str, *, is_last: bool = False) -> str:
        """Let lxml parse `text`. Return "", or why nothing more can be read."""
        try:
            self._parser.feed(text.encode("utf-8", "replace"))
            if is_last:
                self._parser.close()
        except (NotASitemap, etree.LxmlError) as error:
            return str(error)
        return ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        name = _local(tag)
        self._depth += 1
        if self._vocabulary is None:
            if name not in _BY_ROOT:
                raise NotASitemap(f"its first element is <{shown(name, 40)}>")
            self._vocabulary = _BY_ROOT[name]
            self.is_index = self._vocabulary.is_index
        elif name == self._vocabulary.entry:
            self._end_entry()
            self._entry, self._depth = {}, _ENTRY_DEPTH  # even if an element before it was not closed
        elif self._depth > _MOST_DEEP:
            raise NotASitemap(f"more than {_MOST_DEEP} elements are within one another")
        elif self._name:
            self._value = SPOILT  # a value with an element in it is unusable
        elif self._entry is not None and self._depth == _ENTRY_DEPTH + 1:
            self._name, self._value = name, ""
            if name == "link" and attributes.get("rel", "alternate") == "alternate":
                self._take_link(self._entry, self._vocabulary, attributes.get("href", "").strip())

    def data(self, text: str) -> None:
        """Text follows, in any number of parts."""
        if self._name and len(self._value) <= MOST_CHARS:
            self._value += text

    def end(self, tag: str) -> None:
        """An element ends."""
        name = _local(tag)
        self._depth = max(self._depth - 1, 0)
        if self._name == name and self._depth == _ENTRY_DEPTH:
            self._take_value()
        elif self._vocabulary is not None and name == self._vocabulary.entry:
            self._end_entry()

    def close(self) -> None:
        """The document ends."""

    def _end_entry(self) -> None:
        """Put the entry that is being read among the ready ones, or count it as broken."""
        entry, self._entry, self._name = self._entry, None, ""
        if entry is not None and is_url_text(entry.get("loc", "")):
            self._ready.append(entry)
        elif entry is not None:
            self.broken += 1

    @staticmethod
    def _take_link(entry: SitemapEntry, vocabulary: _Vocabulary, href: str) -> None:
        if href and vocabulary.loc_is_href:
            entry.setdefault("loc", href)
        elif href and len(alternates := entry.setdefault("alternate", [])) < _MOST_VALUES:
            alternates.append(href)

    def _take_value(self) -> None:
        """Put a value into the entry. Of two values with one key, the first that is not empty counts."""
        entry, vocabulary, name, self._name = self._entry, self._vocabulary, self._name, ""
        if entry is None or vocabulary is None or len(entry) >= _MOST_VALUES:
            return
        key = vocabulary.keys.get(name, "" if name in _TAKEN else name)
        value = self._value.strip()
        if key != "loc" and not is_url_text(value):
            value = ""  # as in Scrapy, an empty element has a key
        if key:
            entry[key] = entry.get(key) or value


def _local(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


class _Ampersands:
    """Repairs one document. Feed it the text piece by piece, then call `rest`.

    All other markup is left to lxml. No entity but XML's own five is left to expand. Comments and CDATA sections have no
    escapes, so they stay as they are. The text comes in pieces, and a mark such as "&amp;" may lie across two of them: what
    may be the beginning of a mark waits for the next piece.
    """

    def __init__(self) -> None:
        self._until = ""  # the mark that ends the part without escapes; "" outside such a part
        self._kept = ""  # perhaps the beginning of a mark

    def repaired(self, text: str) -> str:
        """Return the next piece, repaired. A mark that may begin at its end is kept for the next call."""
        text = self._kept + text
        unsure = _UNSURE.search(text, max(0, len(text) - _LONGEST_MARK))
        end = unsure.start() if unsure else len(text)
        self._kept = text[end:]
        return _MARKS.sub(self._repair, text[:end])

    def rest(self) -> str:
        """Return what was kept. Call it when the document has ended."""
        return _MARKS.sub(self._repair, self._kept)

    def _repair(self, found: re.Match[str]) -> str:
        mark = found[0]
        if self._until:
            self._until = "" if mark == self._until else self._until
            return mark
        if mark[0] != "&":
            self._until = _VERBATIM.get(mark, "")
            return mark
        if mark == "&":
            return "&amp;"
        code = int(found[1]) if found[1] else int(found[2], 16)
        is_character = code <= 0x10FFFF and not NO_CHARACTER.match(chr(code))  # noqa: PLR2004  Unicode's last
        return mark if is_character else SPOILT  # lxml would drop it without a trace
