"""Reads the entries of a sitemap file in any format, within the limits of sitemaps.org.

An *entry* is a page or a sitemap that the file lists. `SitemapReader` passes the file through a
chain of generators:

    cut into pieces -> gunzipped -> limited to MAX_BYTES -> decoded -> tags or lines -> entries

Each generator reads only as much as the next one needs. So the first entry is available before the
rest of the file has been read. Memory and time are bounded for any input. If a file is truncated,
the entries that it still contains are used. XML is read tag by tag, so a markup error affects only
the entry that contains the error.

This module uses neither Scrapy nor the network.
Sources: sitemaps.org, "XML tag definitions", "Sitemap file requirements", "Other Sitemap formats",
"Entity escaping"; XML 1.0, appendix F, for charsets; W3C Datetime and RSS 2.0, "pubDate", for
dates; RSS 1.0, which is a form of RDF.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date
from email.utils import parsedate_to_datetime
from itertools import chain, count
from typing import Any, TypeAlias
from urllib.parse import urljoin

from w3lib.encoding import html_body_declared_encoding, read_bom

from ..core.urls import shown
from ..policy.decoding import Pieces, gunzipped
from .markup import MOST_KEPT, NO_CHARACTER, SPOILT, Markup, Tag, unescaped

# The limits of one uncompressed file (sitemaps.org, "Sitemap file requirements").
MAX_BYTES = 52_428_800
MAX_ENTRIES = 50_000
_TOO_LONG = f"it has more entries than {MAX_ENTRIES} or more bytes than {MAX_BYTES}"

# The greatest length of a URL as written, in characters. sitemaps.org allows at most 2,047.
MOST_URL_CHARS = 8_191
# The reader stops when it has read more than this number of characters without a complete entry.
# It has to keep these characters in memory.
_MOST_BARREN = 2**20
_PIECE = 4_096  # The size of a piece in bytes. Reading a piece takes about a millisecond.
# Reading this number of tags takes about a millisecond. Then the reader lets the reactor run.
_TURN_TAGS = 256
# The reader looks for the charset and the root element only in this number of bytes at the
# beginning of a file.
_HEAD = 8_192
_GZIP = b"\x1f\x8b"
_ZIPPED_PIECE = 65_536  # This number of bytes of a gzipped file is read at a time.
# The greatest number of pieces that `gunzipped` may yield for a gzipped file. A file with many
# empty gzip members has many pieces, because a piece ends where a gzip member ends. A file
# of 50 MiB (`MAX_BYTES`) that is a single gzip member has about 2,400 pieces.
_MOST_PIECES = 3_200

# The charset that a file declares is used only if the name of Python's codec for it starts with one
# of these strings. These charsets are compatible with ASCII. With any other charset, such as UTF-7,
# harmless text could become markup.
_CHARSETS = tuple("utf-8 ascii iso8859 cp125 koi8 gb big5 shift_jis cp932 euc cp949".split())
_MARK = "\ufeff"  # The byte order mark, as a character of decoded text.
_ABSOLUTE = re.compile(
    rf"(?=.{{,{MOST_URL_CHARS}}}\Z)https?://[^\s/?#{SPOILT}][^\s{SPOILT}]*", re.IGNORECASE
)
# As in browsers, tabs and line breaks are removed from a URL (URL standard, 4.4).
_WRAPS = re.compile(r"[\t\n\r]")
# Matches a URL with a scheme, or a relative URL. A relative URL has no colon before its first slash
# (RFC 3986, 4.2), and does not begin with a quotation mark, a bracket or an invisible character.
URL = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:|[/?#]|[\w.~%!$'()*+,;=@-][^:/?#]*(?:[/?#]|\Z)).*", re.DOTALL
)
# Invisible characters. A valid URL does not end with one of them.
_INVISIBLE = "\xad\u200b\u200e\u200f\u2060\ufeff"
# Matches white space and the beginning of a second URL after it. If a value contains two URLs, it
# is not used. White space alone does not matter, because real files contain URLs with blanks.
_SECOND_URL = re.compile(r"\s[A-Za-z][A-Za-z0-9+.-]*://")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_XML_START = re.compile(r"<(?:(\w+):)?(urlset|sitemapindex|rss|feed|rdf)\b", re.IGNORECASE)

# Matches a W3C date such as "2026", "2026-01" or "2026-01-31". A time may follow, in any form that
# is common in real files.
_DATE = re.compile(
    r"([12]\d{3})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[Tt\s]\s*\d\d?(?::\d\d){1,2}(?:[.,]\d+)?\s*(?:[AaPp]\.?[Mm]\.?)?\s*"
    r"(?:[Zz]|UTC|GMT|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII,
)

# An entry is a dict as in Scrapy's SitemapSpider. The value of "loc" is the URL. The other keys are
# "lastmod", "alternate" (a list of URLs) and the names of other elements, if the file has them.
SitemapEntry: TypeAlias = dict[str, Any]
Entries: TypeAlias = Iterator[SitemapEntry | None]
# Describes a format of sitemaps, for example {"item": {"link": "loc"}} for RSS. A key is the name
# of an element that is an entry. The value maps the names of the element's children to keys of
# `SitemapEntry`.
Kinds: TypeAlias = Mapping[str, Mapping[str, str]]


# The elements of each format of sitemaps. A key is the name of the root element in lower case, and
# the value is the `Kinds` of the format. A child element must have the same namespace prefix as its
# entry. One file may list both sitemaps and pages.
_LISTED = {name: name for name in ("loc", "lastmod", "changefreq", "priority")}
_OF_SITEMAPS = {"url": _LISTED, "sitemap": _LISTED}
_OF_RSS = {"item": {"link": "loc", "pubdate": "lastmod", "dc:date": "lastmod", "guid": "guid"}}
_ENTRIES: Mapping[str, Kinds] = {
    "urlset": _OF_SITEMAPS,
    "sitemapindex": _OF_SITEMAPS,
    "rss": _OF_RSS,
    "rdf": _OF_RSS,
    "feed": {"entry": {"link": "loc", "updated": "lastmod", "modified": "lastmod"}},
}
# If the format does not define a child element, the name of the element becomes a key of the entry.
# But an element with one of these names is ignored. For example, an element <alternate> must not
# replace the list of URLs whose key is "alternate".
_TAKEN = frozenset({"loc", "lastmod", "link", "alternate"})

# The following patterns match a *plain entry*, which has the usual form. Most files contain only
# plain entries. Reading an entry with a pattern is much faster than reading it tag by tag. Each
# repetition in the patterns has a limit, and two adjacent repetitions never match the same
# character, so there is little backtracking.
_SPACE = r"\s{0,64}"
_VALUE = rf"[^<{SPOILT}]{{0,8191}}"
_DATE_OR_WORD = rf"[^<&{SPOILT}]{{0,64}}"  # matches a value that contains no entities
# Matches a URL that contains no entities and needs no further check.
_PLAIN_URL = r"https?://[\w.:-]{1,255}/[!$%'-;=?-Z_a-z~]{0,2000}"
_PLAIN_CHILD = re.compile(
    rf"""
    (?:<(?P<link>(?:\w{{1,40}}:)?)link
        (?:\s{{1,64}}(?:
            rel="alternate"
            |href="(?:(?P<plain_href>{_PLAIN_URL})
                |(?(plain_href)(?!)|(?P<href>[^"<>{SPOILT}]{{0,8191}})))"
            |(?!rel=|href=)[\w:.-]{{1,40}}="[^"<>]{{0,400}}"
        )){{1,8}}{_SPACE}(?:/>|></(?P=link)link>)
    |<(?!(?i:loc|link|alternate|url|sitemap)>)(?P<name>\w{{1,40}}(?::\w{{1,40}})?)>
        (?P<text>{_VALUE})
        (?P<inner>(?:<(?!/(?P=name)>)/?\w{{1,40}}:[^<>]{{1,400}}>[^<]{{0,8191}}){{0,64}})
        </(?P=name)>
    ){_SPACE}
    """,
    re.ASCII | re.VERBOSE,
)
# Matches the beginning of a plain entry, with the usual elements in their usual order.
_PLAIN_START = re.compile(
    rf"""
    {_SPACE}<(?P<kind>url|sitemap)>{_SPACE}
    <loc>(?:(?P<plain_loc>{_PLAIN_URL})|(?P<loc>{_VALUE}))</loc>{_SPACE}
    (?:<lastmod>(?P<lastmod>{_DATE_OR_WORD})</lastmod>{_SPACE})?
    (?:<changefreq>(?P<changefreq>{_DATE_OR_WORD})</changefreq>{_SPACE})?
    (?:<priority>(?P<priority>{_DATE_OR_WORD})</priority>{_SPACE})?
    """,
    re.ASCII | re.VERBOSE,
)
_BEGUN = re.compile(rf"{_SPACE}<(url|sitemap)>", re.ASCII)
# The patterns match only complete entries. So the reader waits for the end tag of an entry, until
# more than this number of characters of the entry has arrived.
_MOST_AWAITED = 8_192


class SitemapReader:
    """Reads a sitemap file. Iterating over the reader yields the entries of the file.

    About once per millisecond, the iterator yields None, so that the caller can let the reactor
    run.

    Args:
        body: the bytes of the file, which may be gzipped.

    Attributes:
        is_sitemap: True if the last entry that was yielded is a sitemap; False if it is a page.
        entries: the number of entries that have been read.
        broken: the number of entries that could not be read. It also includes each `loc` outside of
            an entry, and each further `loc` in an entry that already has one.
        trouble: what is wrong with the file: it is not a sitemap, it is truncated, or it could not
            be read to its end; "" if nothing is wrong.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.is_sitemap = False
        self.entries = self.broken = 0
        self.trouble = ""
        self._barren = 0  # The number of characters since the last complete entry.
        self._entry: _Entry | None = None  # The entry that is being read tag by tag.
        self._root = ""  # The name of the root element in lower case, without its prefix.
        self._is_open = False  # True while the root element is not closed.
        self._base = ""  # The base URL of the root element (its attribute xml:base), or "".

    @property
    def is_understood(self) -> bool:
        """Whether the file is a sitemap, even if it is truncated or lists nothing."""
        return self.entries > 0 or not self.trouble

    def __iter__(self) -> Entries:
        """Yield the entries, and None when the caller should let the reactor run.

        The root element determines the format. If the file does not begin with markup, it is read
        as a list of URLs. After the last entry, `trouble` contains what is wrong with the file.
        """
        texts = _decoded(self._limited(_unpacked(self._body)))
        head = _COMMENT.sub("", next(texts, "")).removeprefix(_MARK).lstrip()
        root = _XML_START.search(head)
        entries: Entries = iter(())
        if root is not None:  # The root element may follow other text, such as a warning of PHP.
            prefix, name = root.groups("")
            self._root = name.lower()
            xml = chain((head[root.start() :],), texts)
            entries = self._xml(xml, _ENTRIES[self._root], {"", prefix})
        elif not head.startswith("<"):
            entries = self._lines(chain((head,), texts))
        for entry in entries:
            if self.entries + self.broken + (entry is not None) > MAX_ENTRIES:
                self.trouble = _TOO_LONG
                break
            self.entries += entry is not None
            yield entry
        if root is not None and self._is_open and not self.trouble:
            self.trouble = f"the file ends early, without </{root[0][1:]}>"
        if root is None and not self.entries:
            self.broken = 0  # The file is not a list of URLs, so its lines are not broken entries.
            if not self.trouble:
                self.trouble = "it is empty"
                if head:
                    self.trouble = f'it is not a sitemap; it begins with "{shown(head, 40)}"'

    def _limited(self, pieces: Pieces) -> Pieces:
        """Yield the first `MAX_BYTES` bytes of a file. If it has more bytes, set `trouble`.

        `trouble` is also set if a gzipped file cannot be unpacked to its end.
        """
        left = MAX_BYTES
        try:
            for piece in pieces:
                yield piece[:left]
                left -= len(piece)
                if left < 0:
                    self.trouble = _TOO_LONG
                    return
        except (EOFError, zlib.error) as error:
            self.trouble = str(error) or "the compressed data ends too early"

    def _lines(self, texts: Iterator[str]) -> Entries:
        """Yield the entries of a text file with one absolute URL on each line."""
        rest = ""
        for text in texts:
            *lines, rest = (rest + text).replace("\r", "\n").split("\n")
            rest = rest[: MOST_URL_CHARS + 1]  # A longer line counts as broken anyway.
            yield from map(self._line, lines)
            yield None
        if not self.trouble:  # If there is trouble, the last line may be truncated.
            yield self._line(rest)

    def _line(self, line: str) -> SitemapEntry | None:
        """Return the entry for a line, or None if the line is not an absolute URL.

        `broken` counts the lines that are neither empty nor an absolute URL. Relative URLs are not
        accepted, because any line of an ordinary text could be a relative URL.
        """
        line = line.strip()
        if _ABSOLUTE.fullmatch(line):
            return {"loc": line}
        self.broken += bool(line)
        return None

    def _xml(self, texts: Iterator[str], kinds: Kinds, prefixes: Collection[str]) -> Entries:
        """Yield the entries of an XML file, and None after each piece and for each broken entry.

        Entries of the usual form (*plain entries*) are read with patterns. All other entries are
        read tag by tag, which is slower.

        Args:
            texts: the pieces of the file. The first one begins with the root element.
            kinds: the elements that are entries in this format.
            prefixes: the namespace prefixes that an entry may have.
        """
        markup = Markup()
        has_plain = kinds is _OF_SITEMAPS and {*prefixes} == {""}
        for text in chain(self._up_to_barren(texts), ("",)):
            markup.feed(text)
            tags = markup.tags()
            for number in count(1):
                is_between = self._entry is None and markup.is_between_tags
                if has_plain and is_between and not self._base:
                    yield from self._plain_entries(markup)
                    if text and _is_awaited(markup):
                        break
                tag = next(tags, None)
                if tag is None:
                    break
                if number % _TURN_TAGS == 0:
                    yield None
                ended = self._take(tag, kinds, prefixes)
                if ended is not None:
                    yield self._finish(ended)
            self._barren += len(text)
            yield None
        if self._entry is not None:
            yield self._finish(self._entry)

    def _take(self, tag: Tag, kinds: Kinds, prefixes: Collection[str]) -> _Entry | None:
        """Process the next tag. If an entry ends with this tag, return the entry, otherwise None.

        If the end tag of an entry is missing, the entry ends where the next entry begins. A `loc`
        outside of an entry counts as a broken entry.

        Args:
            tag: the tag.
            kinds: the elements that are entries in this format.
            prefixes: the namespace prefixes that an entry may have: the prefix of the root element,
                and "".
        """
        ended = None
        if tag.local == self._root:
            self._take_root(tag)
        if tag.local in kinds and tag.prefix in prefixes:
            ended = self._entry
            self._entry = None
            if ended is not None:
                ended.close_child(tag.text)
            if not tag.is_end:
                self._entry = _Entry(tag, kinds[tag.local], self._base)
        elif self._entry is not None:
            self._entry.add(tag)
        elif tag.local == "loc" and tag.prefix in prefixes and not tag.is_end:
            self.broken += 1
        return ended

    def _take_root(self, tag: Tag) -> None:
        """Process a start tag or an end tag of the root element.

        The start tag may set the base URL. If the end tags of the last entry and of its last child
        are missing, the end tag of the root element also ends this child.
        """
        self._is_open = not tag.is_end
        if self._entry is None:
            self._base = _base_of(tag)
        elif tag.is_end:
            self._entry.close_child(tag.text)

    def _plain_entries(self, markup: Markup) -> Entries:
        """Yield the *plain entries* at the current position of `markup`.

        A plain entry has the usual form, so regular expressions can read it. The method returns at
        the first entry that is not plain. For a plain entry without a URL, it yields None.
        """
        text = markup.text
        while start := _PLAIN_START.match(text, markup.at):
            kind, plain_loc, loc, lastmod, changefreq, priority = start.groups()
            values: SitemapEntry = {"loc": plain_loc or _url(_usable(loc))}
            if lastmod is not None:
                values["lastmod"] = lastmod.strip()
            if changefreq is not None:
                values["changefreq"] = changefreq.strip()
            if priority is not None:
                values["priority"] = priority.strip()
            end_tag = f"</{kind}>"
            at = start.end()
            while not text.startswith(end_tag, at):
                child = _PLAIN_CHILD.match(text, at)
                if child is None:
                    return
                at = child.end()
                _add_child(values, child)
            markup.at = at + len(end_tag)
            self._barren = 0
            if values["loc"]:
                self.is_sitemap = kind == "sitemap"
                yield values
            else:
                self.broken += 1
                yield None

    def _up_to_barren(self, texts: Iterator[str]) -> Iterator[str]:
        """Yield `texts`.

        If more than `_MOST_BARREN` characters in a row contain no complete entry, set `trouble` and
        yield no more texts.
        """
        for text in texts:
            yield text
            if self._barren > _MOST_BARREN:
                self.trouble = f"{_MOST_BARREN} characters in a row contain no complete entry"
                return

    def _finish(self, entry: _Entry) -> SitemapEntry | None:
        """Return the values of a complete entry, or None if it has no URL.

        Also set `is_sitemap`, and add the number of mistakes in the entry to `broken`.
        """
        self._barren = 0
        if entry.kind != "entry":  # In Atom, an <entry> may have several links.
            self.broken += entry.surplus
        if not entry.values.get("loc"):
            if not entry.permalink:
                self.broken += 1
                return None
            entry.values["loc"] = entry.permalink
        self.is_sitemap = entry.kind == "sitemap"
        return entry.values


class _Entry:
    """An entry that is being read tag by tag.

    Args:
        tag: the start tag of the entry.
        keys: a dict from the names of child elements to the keys in `SitemapEntry` (`Kinds`).
        base: the base URL of the root element, or "".

    Attributes:
        kind: the name of the entry's element without its prefix, such as "url" or "item".
        values: the `SitemapEntry`. If several elements have the same key, the first value that is
            not empty is kept.
        surplus: the number of `loc` values after the first one.
        permalink: the URL in the <guid> of an RSS item, or "". It is used if the item has no link.
    """

    def __init__(self, tag: Tag, keys: Mapping[str, str], base: str) -> None:
        self.kind = tag.local
        self.values: SitemapEntry = {}
        self.surplus = 0
        self.permalink = ""
        self._keys = keys
        self._prefix = tag.prefix
        self._base = _base_of(tag, base)
        # The start tag of the child element whose end tag has not come yet; None between children.
        self._child: Tag | None = None

    def add(self, tag: Tag) -> None:
        """Process the next tag in the entry.

        At the end tag of a child element, this method adds the value of the child.

        A new element may begin before this end tag. If the format defines both the child and the
        new element, the end tag is missing, so the child ends here. Otherwise the new element is
        inside the child. A child that contains an element has no value, so its text is set to
        `SPOILT`.
        """
        child = self._child
        if child is not None and tag.name == f"/{child.name}":
            self._add(child, child.text + tag.text)
            self._child = None
            return
        if child is not None and self._key_of(child) and self._key_of(tag) and not tag.is_end:
            self.close_child(tag.text)
            child = None
        if child is not None:  # The child contains another element.
            self._child = child._replace(text=SPOILT)
        elif not tag.is_end:
            self._child = tag._replace(text="")

    def close_child(self, text: str) -> None:
        """Add the value of a child whose end tag is missing, unless the child contains an element.

        Args:
            text: the text after the start tag of the child.
        """
        if self._child is not None and not self._child.text:
            self._add(self._child, text)
            self._child = None

    def _key_of(self, element: Tag) -> str:
        """Return the key in `values` for an element, or "" if the format does not define it.

        An element with the same namespace prefix as the entry is looked up by its name without the
        prefix. Any other element is looked up by its whole name, such as "dc:date".
        """
        name = element.local
        if element.prefix != self._prefix:
            name = f"{element.prefix}:{name}"
        return self._keys.get(name, "")

    def _add(self, element: Tag, text: str) -> None:
        """Add the value of a child element to `values`.

        The value of a link is its attribute `href`. The value of any other element is its text.

        If the format defines the element, it also defines the key (`_key_of`). A link that the
        format does not define is added to the list "alternate". The key of any other element is its
        name without the prefix. If this name is in `_TAKEN`, the element is ignored.
        """
        key = self._key_of(element)
        is_link = element.local == "link" and "href" in element.attributes()
        if is_link:
            text = _target(element)
        value = _usable(text)
        if is_link or key == "loc":
            value = _joined(_base_of(element, self._base), _url(value))
        if key == "guid" and _is_permalink(element, value):
            self.permalink = value
        if not key and element.local not in _TAKEN:
            key = element.local
        if key and not self.values.get(key):
            self.values[key] = value  # As in Scrapy, the value of an empty element is "".
        elif key == "loc" and value:
            self.surplus += 1
        elif is_link and value:
            self.values.setdefault("alternate", []).append(value)


def _is_awaited(markup: Markup) -> bool:
    """Return whether the reader should wait for the end tag of the entry at `markup.at`.

    The result is True if an entry begins there, its end tag has not arrived yet, and at most
    `_MOST_AWAITED` characters of it have arrived.
    """
    if len(markup.text) - markup.at > _MOST_AWAITED:
        return False
    begun = _BEGUN.match(markup.text, markup.at)
    return begun is not None and markup.text.find(f"</{begun[1]}>", begun.end()) < 0


def _add_child(values: SitemapEntry, child: re.Match[str]) -> None:
    """Add the value of a child element to an entry, by the same rules as `_Entry._add`.

    Args:
        values: the entry.
        child: the match of `_PLAIN_CHILD`.
    """
    _, plain_href, href, name, text, inner = child.groups()
    if name is None:
        target = plain_href or _url(_usable(href or ""))
        if target:
            values.setdefault("alternate", []).append(target)
        return
    prefix, _, key = name.lower().rpartition(":")
    if values.get(key) or (key in _TAKEN and (prefix or key != "lastmod")):
        return
    if inner:
        values[key] = ""
    elif "&" in text:
        values[key] = _usable(text)
    else:
        values[key] = text.strip()


def _target(link: Tag) -> str:
    """Return the `href` of a link, or "" if the `rel` of the link is not "alternate"."""
    attributes = link.attributes()
    # "alternate" is the default of `rel` (RFC 4287, 4.2.7.2).
    if attributes.get("rel", "alternate") != "alternate":
        return ""
    return attributes["href"]


def _base_of(element: Tag, outer: str = "") -> str:
    """Return the base URL for the relative URLs in an element (XML Base, 4).

    Args:
        element: the start tag of the element. Its attribute xml:base sets the base URL.
        outer: the base URL of the parent element, or "". It is used if `element` has no xml:base.
    """
    if "xml:base" not in element.more:
        return outer
    base = _url(_usable(element.attributes().get("xml:base", "")))
    return _joined(outer, base) or outer


def _joined(base: str, url: str) -> str:
    """Resolve `url` against `base`, and return the absolute URL; "" if it would not be valid.

    If `base` is empty, return `url` unchanged.
    """
    if not base or not url:
        return url
    try:
        return urljoin(base, url)
    except ValueError:
        return ""


def _is_permalink(guid: Tag, value: str) -> bool:
    """Return whether the <guid> of an RSS item is the URL of its page.

    The result is False if the attribute isPermaLink is "false", or if the value is not an absolute
    URL.
    """
    attributes = {name.lower(): word.lower() for name, word in guid.attributes().items()}
    return attributes.get("ispermalink") != "false" and _ABSOLUTE.fullmatch(value) is not None


def _url(value: str) -> str:
    """Return `value` without tabs and line breaks; "" if it is not a URL or contains two URLs."""
    if _SECOND_URL.search(value):
        return ""
    url = _WRAPS.sub("", value)
    if url.endswith(tuple(_INVISIBLE)) or not URL.fullmatch(url):
        return ""
    return url


def _usable(text: str) -> str:
    """Return `text` with its entities replaced; "" if it is too long or contains `SPOILT`."""
    value = ""
    if len(text) <= MOST_KEPT:
        value = unescaped(text).strip()
    if len(value) > MOST_URL_CHARS or SPOILT in value:
        return ""
    return value


def _cut(pieces: Iterable[bytes], size: int = _PIECE) -> Pieces:
    """Split `pieces` into smaller pieces of at most `size` bytes, and yield them."""
    for piece in pieces:
        for start in range(0, len(piece), size):
            yield piece[start : start + size]


def _bounded(pieces: Pieces) -> Pieces:
    """Yield the pieces of an unpacked file, at most `_MOST_PIECES`.

    Without this limit, a file of many empty gzip members would take a long time to unpack.

    Raises:
        EOFError: there are more than `_MOST_PIECES` pieces.
    """
    for number, piece in enumerate(pieces):
        if number == _MOST_PIECES:
            raise EOFError(f"it has more than {_MOST_PIECES} gzipped parts")
        yield piece


def _unpacked(body: bytes) -> Pieces:
    """Yield the bytes of a file in pieces. If the file is gzipped, unpack it."""
    if body.startswith(_GZIP):
        return _cut(_bounded(gunzipped(_cut((body,), _ZIPPED_PIECE))))
    return _cut((body,))


def _decoded(pieces: Pieces) -> Iterator[str]:
    """Yield the pieces of a file as text, decoded with its charset (`_charset_of`).

    `SPOILT` replaces bytes that cannot be decoded, and characters that XML does not allow.
    """
    first = b""
    while len(first) < _HEAD and (piece := next(pieces, b"")):
        first += piece
    for text in codecs.iterdecode(chain((first,), pieces), _charset_of(first), "replace"):
        yield NO_CHARACTER.sub(SPOILT, text)


def _charset_of(first: bytes) -> str:
    """Return the charset of a file.

    A byte order mark determines the charset. Without a byte order mark, the charset is UTF-16 if
    two of the first four bytes are zero. Otherwise it is the charset that the file declares. If the
    file declares no charset, or a charset that is not compatible with ASCII, the charset is UTF-8.

    Args:
        first: the first bytes of the file.
    """
    charset, _ = read_bom(first)
    if charset is not None:
        return charset
    # A file in UTF-16 may have no byte order mark (XML 1.0, appendix F). Its first characters are
    # in ASCII, so every second byte is zero.
    if first[1:4:2] == b"\0\0":
        return "utf-16-le"
    if first[0:4:2] == b"\0\0":
        return "utf-16-be"
    declared = html_body_declared_encoding(first)
    if declared is None or not declared.startswith(_CHARSETS):
        return "utf-8"
    return declared


def day_of(text: str) -> str:
    """Return the date in `text` as "2026-01-31", "2026-01" or "2026"; "" if `text` is not a date.

    A time and a time zone after the date are ignored. A Unix timestamp does not count as a date,
    and neither does an impossible day, such as 2026-02-30.
    """
    match = _DATE.fullmatch(text.strip())
    try:
        if match is None:
            return parsedate_to_datetime(text).date().isoformat()
        parts = [part for part in match.groups() if part]
        date(*map(int, [*parts, "1", "1"][:3]))  # This raises ValueError for an impossible day.
    except (ValueError, OverflowError):
        return ""
    return "-".join(parts)


def is_before(lastmod: str, day: str) -> bool:
    """Return whether the date `lastmod` is before the date `day`.

    If one of the dates has no day or no month, only the parts that both dates have are compared.
    For example, "2026" is not before "2026-01-31", because both are in the same year. The result is
    False if `lastmod` is not a date.
    """
    text = day_of(lastmod)
    return text[: len(day)] < day[: len(text)]
