"""Entries out of the XML formats: urlset, sitemapindex, RSS and Atom, as they pass.

lxml parses and goes on after errors; a tree is never built, so that size costs no memory; no entity is expanded and
nothing fetched. Source: sitemaps.org, "XML tag definitions", "Sitemap index files", "Entity escaping".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from lxml import etree

from ..core.urls import shown
from .ampersands import SPOILT, Ampersands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MOST_TEXT = 8_192  # characters of a value

_MOST_VALUES = 1_000  # of an entry; a page may have hundreds of translations
_MOST_BROKEN = 50_000  # entries
_MOST_DEEP = 100  # elements within one another
_MOST_ELEMENTS = 200_000  # on end that complete no entry
_MOST_IDLE = 2**22  # characters on end in which no element begins or ends
_ENTRY_DEPTH = 2  # the root is at 1

SitemapEntry: TypeAlias = (
    "dict[str, Any]"  # as in Scrapy: "loc", and if given "lastmod", "alternate" (a list), and others
)


class NotASitemap(ValueError):  # noqa: N818  it says what the file is
    """The file is none of the formats of a sitemap, or nothing more can be made of it."""


def is_url_text(text: str) -> bool:
    """Whether `text` may be the text of a URL: neither too long nor with a character that was none."""
    return 0 < len(text) < MOST_TEXT and SPOILT not in text


class _Vocabulary(NamedTuple):
    """What one XML format calls things; names are in lower case and without namespace."""

    entry: str
    loc: str
    lastmod: tuple[str, ...]
    is_index: bool = False
    loc_is_href: bool = False


_BY_ROOT = {
    "urlset": _Vocabulary("url", "loc", ("lastmod",)),
    "sitemapindex": _Vocabulary("sitemap", "loc", ("lastmod",), is_index=True),
    "rss": _Vocabulary("item", "link", ("pubdate", "date")),
    "rdf": _Vocabulary("item", "link", ("date",)),  # RSS 1.0
    "feed": _Vocabulary("entry", "link", ("updated", "modified"), loc_is_href=True),  # Atom 1.0 and 0.3
}


class _Target:
    """What lxml tells of the elements as they pass. A tree is never built, so that size costs no memory."""

    def __init__(self) -> None:
        self.vocabulary: _Vocabulary | None = None
        self.ready: list[SitemapEntry] = []
        self.broken = 0
        self.events = 0  # elements that began or ended
        self._last_entry = 0  # how many of these there were at the last entry
        self._depth = 0
        self._entry: SitemapEntry | None = None
        self._name = ""  # of the value that is being read
        self._text: list[str] = []
        self._chars = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = _local(tag)
        self.events += 1
        self._depth += 1
        if self.vocabulary is None:
            self.vocabulary = _BY_ROOT.get(name)
            if self.vocabulary is None:
                raise NotASitemap(f"its first element is <{shown(name, 40)}>")
        elif name == self.vocabulary.entry:
            self.finish()
            self._last_entry = self.events
            self._entry, self._depth = {}, _ENTRY_DEPTH  # wherever it is: what is before it may not have been closed
        elif self._depth > _MOST_DEEP:
            raise NotASitemap(f"elements are more than {_MOST_DEEP} deep within one another")
        elif self.events - self._last_entry > 2 * _MOST_ELEMENTS:
            raise NotASitemap(f"{_MOST_ELEMENTS} elements on end are no entry")
        elif self._entry is not None:
            if self._name:
                self._chars = MOST_TEXT  # a value with an element in it is none
            elif self._depth == _ENTRY_DEPTH + 1:
                self._name, self._text, self._chars = name, [], 0
                self._take_link(name, attributes)

    def data(self, text: str) -> None:
        if self._name and self._chars < MOST_TEXT:
            self._text.append(text)
            self._chars += len(text)

    def end(self, tag: str) -> None:
        name = _local(tag)
        self.events += 1
        self._depth = max(self._depth - 1, 0)
        if self._name == name and self._depth == _ENTRY_DEPTH:
            value = "".join(self._text).strip() if self._chars < MOST_TEXT else SPOILT
            self._name = ""
            if value:
                self._take(name, value)
        elif self.vocabulary is not None and name == self.vocabulary.entry:
            self.finish()

    def close(self) -> None:
        """Say nothing: lxml wants the method."""

    def finish(self) -> None:
        """Make what was read of an entry ready, if it can be made out."""
        entry, self._entry, self._name = self._entry, None, ""
        if entry is not None:
            if is_url_text(entry.get("loc", "")):
                self.ready.append(entry)
            else:
                self.broken += 1
                if self.broken > _MOST_BROKEN:
                    raise NotASitemap(f"more than {_MOST_BROKEN} entries are broken")

    def _take_link(self, name: str, attributes: Mapping[str, str]) -> None:
        href = attributes.get("href", "").strip()
        is_alternate = name == "link" and attributes.get("rel", "alternate") == "alternate"
        if not href or not is_alternate or self.vocabulary is None or self._entry is None:
            return
        if self.vocabulary.loc_is_href:
            self._entry.setdefault("loc", href)
            return
        alternate = self._entry.setdefault("alternate", [])
        if len(alternate) < _MOST_VALUES:
            alternate.append(href)

    def _take(self, name: str, value: str) -> None:
        """Take a value under the name that sitemaps have for it; the first of several counts."""
        entry, vocabulary = self._entry, self.vocabulary
        if entry is None or vocabulary is None or len(entry) >= _MOST_VALUES:
            return
        if name == vocabulary.loc and not vocabulary.loc_is_href:
            entry.setdefault("loc", value)
        elif name in vocabulary.lastmod:
            entry.setdefault("lastmod", value)
        elif name not in _OWN_NAMES and value != SPOILT:
            entry.setdefault(name, value)


_OWN_NAMES = frozenset({"loc", "lastmod", "alternate", "link"})


def _local(tag: str) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


class Xml:
    """Any of the XML formats, by way of lxml's parser, which goes on after errors."""

    def __init__(self) -> None:
        self._target = _Target()
        self._parser = etree.XMLParser(
            target=self._target,
            encoding="utf-8",
            recover=True,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )
        self._ampersands = Ampersands()
        self._idle = 0  # characters since an element began or ended

    @property
    def is_index(self) -> bool:
        """Whether the entries are sitemaps."""
        return self._target.vocabulary is not None and self._target.vocabulary.is_index

    @property
    def broken(self) -> int:
        """How many entries could not be made out so far."""
        return self._target.broken

    def feed(self, text: str) -> Iterator[SitemapEntry]:
        """Take the next characters; yield the entries that they complete.

        Raises:
            NotASitemap: nothing can be made of what follows.
        """
        events = self._target.events
        trouble = self._try(lambda: self._parser.feed(self._ampersands.repaired(text).encode("utf-8", "replace")))
        yield from self._ready()
        self._idle = self._idle + len(text) if events == self._target.events else 0
        if trouble or self._idle > _MOST_IDLE:
            raise NotASitemap(trouble or "an element has no end")

    def close(self) -> Iterator[SitemapEntry]:
        """Yield what is complete now that the file has ended; raises as `feed` does."""
        trouble = self._try(lambda: self._parser.feed(self._ampersands.rest().encode("utf-8", "replace")))
        trouble = trouble or self._try(self._parser.close) or self._try(self._target.finish)
        yield from self._ready()
        if self._target.vocabulary is None:
            raise NotASitemap(trouble or "there is no element in it")

    @staticmethod
    def _try(act: Callable[[], object]) -> str:
        """Do something that may find that this is no sitemap; say what it found."""
        try:
            act()
        except (NotASitemap, etree.LxmlError) as error:
            return str(error)
        return ""

    def _ready(self) -> Iterator[SitemapEntry]:
        ready, self._target.ready = self._target.ready, []
        return iter(ready)
