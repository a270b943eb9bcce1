"""Reads the entries of a sitemap file in any format, within the limits of sitemaps.org.

`SitemapReader` passes the file through a chain of generators, which work on demand:

    cut into pieces -> gunzipped -> limited to MAX_BYTES -> decoded -> tags or lines -> entries

The first entry is therefore available before the rest of the file has been read. Memory and time
are bounded for any input. If a file is truncated, the entries before the end are used. XML is read
tag by tag, so a markup error affects only the entry that contains it.

This module depends on neither Scrapy nor the network.
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
_TOO_LONG = f"it has more than the {MAX_ENTRIES} entries or {MAX_BYTES} bytes of a sitemap"

# The greatest length of a URL as written, in characters. sitemaps.org allows at most 2,047.
MOST_URL_CHARS = 8_191
# Reading stops after this number of characters without a complete entry, because the characters
# are kept in memory.
_MOST_BARREN = 2**20
_PIECE = 4_096  # The size of the pieces in bytes. Reading one takes about a millisecond.
_TURN_TAGS = 256  # The reactor runs after this number of tags, about every millisecond.
_HEAD = 8_192  # The charset and the root element are searched for in this number of bytes.
_GZIP = b"\x1f\x8b"
_ZIPPED_PIECE = 65_536  # The size of the pieces of a gzipped file, in bytes.
# The greatest number of unpacked pieces. A piece has at most 64 KiB, and a new piece begins with
# each gzip member and each `_ZIPPED_PIECE`. The largest file in one gzip member has 2,400 pieces.
_MOST_PIECES = 3_200

# The charsets that a file may declare, as prefixes of Python's codec names. All are compatible with
# ASCII. Another codec, such as UTF-7, could decode harmless text to markup.
_CHARSETS = tuple("utf-8 ascii iso8859 cp125 koi8 gb big5 shift_jis cp932 euc cp949".split())
_MARK = "\ufeff"  # The byte order mark after decoding.
_ABSOLUTE = re.compile(
    rf"(?=.{{,{MOST_URL_CHARS}}}\Z)https?://[^\s/?#{SPOILT}][^\s{SPOILT}]*", re.IGNORECASE
)
# Browsers drop these characters anywhere in a URL (URL standard, 4.4).
_WRAPS = re.compile(r"[\t\n\r]")
# A URL with a scheme, or a relative URL. The first segment of a relative URL contains no colon (RFC
# 3986, 4.2). It must not begin with a quotation mark, a bracket or an invisible character either.
URL = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:|[/?#]|[\w.~%!$'()*+,;=@-][^:/?#]*(?:[/?#]|\Z)).*", re.DOTALL
)
_INVISIBLE = "\xad\u200b\u200e\u200f\u2060\ufeff"  # A valid URL does not end with one of these.
# The beginning of a second URL after white space. A single URL may contain unescaped blanks, but a
# value with two URLs is not used.
_SECOND_URL = re.compile(r"\s[A-Za-z][A-Za-z0-9+.-]*://")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_XML_START = re.compile(r"<(?:(\w+):)?(urlset|sitemapindex|rss|feed|rdf)\b", re.IGNORECASE)

# A W3C date such as "2026", "2026-01" or "2026-01-31", with a time in any form that is common in
# real files.
_DATE = re.compile(
    r"([12]\d{3})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[Tt\s]\s*\d\d?(?::\d\d){1,2}(?:[.,]\d+)?\s*(?:[AaPp]\.?[Mm]\.?)?\s*"
    r"(?:[Zz]|UTC|GMT|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII,
)

# An entry in the form of Scrapy's SitemapSpider, with the key "loc". If the file contains them, the
# entry has the keys "lastmod", "alternate" (a list of URLs) and the names of other elements.
SitemapEntry: TypeAlias = dict[str, Any]
Entries: TypeAlias = Iterator[SitemapEntry | None]
# The elements that are entries, each with the names of its child elements and the key in the entry
# for the value of that child.
Kinds: TypeAlias = Mapping[str, Mapping[str, str]]


# The entries of each root element (in lower case). A child element must have the same namespace
# prefix as its entry. One file may list both sitemaps and pages.
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
# Keys that only the elements in `_ENTRIES` and links may set. The value of "alternate" is a list of
# URLs, so it must not come from an element of this name.
_TAKEN = frozenset({"loc", "lastmod", "link", "alternate"})

# The patterns of a plain entry. Most files contain only such entries, which are read much faster
# with a pattern than tag by tag. Each repetition is bounded, and two adjacent repetitions never
# match the same character, so there is little backtracking.
_SPACE = r"\s{0,64}"
_VALUE = rf"[^<{SPOILT}]{{0,8191}}"
_DATE_OR_WORD = rf"[^<&{SPOILT}]{{0,64}}"  # without escapes
# A URL that needs neither unescaping nor a further check.
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
# The beginning of a plain entry, with the usual elements in their usual order.
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
# If the end tag of an entry is missing, this number of characters is kept until more text arrives.
# The complete entry may then match the patterns.
_MOST_AWAITED = 8_192


class SitemapReader:
    """Reads a sitemap file. Iterating over the reader yields the entries of the file.

    After about each millisecond of work the iterator yields None, so that the caller can let the
    reactor run.

    Attributes:
        is_sitemap: whether the last entry that was yielded is a sitemap; otherwise it is a page.
        entries: the number of entries that have been read.
        broken: the number of entries that could not be read, plus the number of `loc` values that
            are the second of their entry, or outside of an entry.
        trouble: the reason why the file could not be read to its end, or is truncated or not a
            sitemap; "" if there is no trouble.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.is_sitemap = False
        self.entries = self.broken = 0
        self.trouble = ""
        self._barren = 0  # The number of characters since the last entry.
        self._entry: _Entry | None = None  # The entry that is being read tag by tag.
        self._root = ""  # The root element's name in lower case, without its prefix.
        self._is_open = False  # Whether the root's end tag is still missing.
        self._base = ""  # The base URL in the root element (XML Base), or "".

    @property
    def is_understood(self) -> bool:
        """Whether the file is a sitemap. It may be truncated, or may list nothing."""
        return self.entries > 0 or not self.trouble

    def __iter__(self) -> Entries:
        """Yield the entries, and None when the reactor should run; set `trouble` at the end.

        The root element determines the format. A file that does not begin with markup is read as a
        list of URLs.
        """
        texts = _decoded(self._limited(_unpacked(self._body)))
        head = _COMMENT.sub("", next(texts, "")).removeprefix(_MARK).lstrip()
        root = _XML_START.search(head)
        entries: Entries = iter(())
        if root is not None:  # Other text, such as a warning of PHP, may precede the root element.
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
            self.broken = 0  # The file is not a list of URLs, so its lines are not entries.
            if not self.trouble:
                self.trouble = "it is empty"
                if head:
                    self.trouble = f'it is not a sitemap; it begins with "{shown(head, 40)}"'

    def _limited(self, pieces: Pieces) -> Pieces:
        """Yield at most `MAX_BYTES`. If the file is longer or unpacking fails, set `trouble`."""
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
            rest = rest[: MOST_URL_CHARS + 1]  # A longer line is broken anyway.
            yield from map(self._line, lines)
            yield None
        if not self.trouble:  # Otherwise the last line may be truncated.
            yield self._line(rest)

    def _line(self, line: str) -> SitemapEntry | None:
        """Return the entry for a line; None if the line is empty or broken.

        A line is broken if it is not an absolute URL. Relative URLs are not accepted, because any
        line of prose could be one.
        """
        line = line.strip()
        if _ABSOLUTE.fullmatch(line):
            return {"loc": line}
        self.broken += bool(line)
        return None

    def _xml(self, texts: Iterator[str], kinds: Kinds, prefixes: Collection[str]) -> Entries:
        """Yield the entries of an XML file, and None for each piece and each broken entry.

        Plain entries are read with patterns. Other entries are read tag by tag, which is slower.
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
        """Process the next tag; return the entry that ends with it, or None.

        An element is an entry only if its prefix is in `prefixes`, which contains the prefix of the
        root element and "". If the end tag of an entry is missing, the entry ends where the next
        one begins. A `loc` outside of an entry counts as broken.
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
        """Process a start tag or end tag of the root element.

        A start tag may set the base URL. An end tag closes the open child of an open entry.
        """
        self._is_open = not tag.is_end
        if self._entry is None:
            self._base = _base_of(tag)
        elif tag.is_end:
            self._entry.close_child(tag.text)

    def _plain_entries(self, markup: Markup) -> Entries:
        """Yield the plain entries before the next entry that is not plain; None for broken ones."""
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
        """Yield the texts. Stop and set `trouble` if no entry was complete for `_MOST_BARREN`."""
        for text in texts:
            yield text
            if self._barren > _MOST_BARREN:
                self.trouble = f"{_MOST_BARREN} characters in a row complete no entry"
                return

    def _finish(self, entry: _Entry) -> SitemapEntry | None:
        """Return the values of a complete entry, or None if it has no URL.

        The attributes `is_sitemap` and `broken` are updated.
        """
        self._barren = 0
        if entry.kind != "entry":  # Several links are valid in an entry of Atom.
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

    Attributes:
        kind: the name of the entry's element, without the prefix.
        values: the values of the entry by key. If several elements have the same key, the first
            value that is not empty is kept.
        surplus: the number of `loc` values after the first one.
        permalink: the URL in the guid of an RSS item, or "". It is used if the item has no link.
    """

    def __init__(self, tag: Tag, keys: Mapping[str, str], base: str) -> None:
        self.kind = tag.local
        self.values: SitemapEntry = {}
        self.surplus = 0
        self.permalink = ""
        self._keys = keys
        self._prefix = tag.prefix
        self._base = _base_of(tag, base)
        self._child: Tag | None = None  # The child element that is open.

    def add(self, tag: Tag) -> None:
        """Process the next tag in the entry. The value of a child is added at its end tag.

        If the end tag of a child is missing, the child ends where the next one begins, but only if
        the format defines both elements. A child that contains another element has no value, so
        its text is set to `SPOILT`.
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
        """Add the open child with its `text`, unless the child contains another element."""
        if self._child is not None and not self._child.text:
            self._add(self._child, text)
            self._child = None

    def _key_of(self, element: Tag) -> str:
        """Return the key for an element that the format defines, or "" for any other element.

        If the prefix of the element differs from the prefix of the entry, the element is looked up
        by its name with the prefix, such as "dc:date".
        """
        name = element.local
        if element.prefix != self._prefix:
            name = f"{element.prefix}:{name}"
        return self._keys.get(name, "")

    def _add(self, element: Tag, text: str) -> None:
        """Add the value of a child: the target of a link with an `href`, else the child's text.

        If the format does not define the element, the key is the name of the element without its
        prefix. There is no value if that name is in `_TAKEN`, except that a link is added to the
        list "alternate".
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
    """Return whether an entry begins at `markup.at` whose end tag has not arrived yet.

    It is False if the part that has arrived is too long for a plain entry.
    """
    if len(markup.text) - markup.at > _MOST_AWAITED:
        return False
    begun = _BEGUN.match(markup.text, markup.at)
    return begun is not None and markup.text.find(f"</{begun[1]}>", begun.end()) < 0


def _add_child(values: SitemapEntry, child: re.Match[str]) -> None:
    """Add the value of a child element in a plain entry, by the same rules as `_Entry`."""
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
    """Return the base URL in an element; `outer` is the base URL in its parent (XML Base, 4)."""
    if "xml:base" not in element.more:
        return outer
    base = _url(_usable(element.attributes().get("xml:base", "")))
    return _joined(outer, base) or outer


def _joined(base: str, url: str) -> str:
    """Return `url` resolved against `base`, or "" if `url` cannot be resolved.

    If `base` is empty, return `url` unchanged.
    """
    if not base or not url:
        return url
    try:
        return urljoin(base, url)
    except ValueError:
        return ""


def _is_permalink(guid: Tag, value: str) -> bool:
    """Return whether the guid of an RSS item is the URL of its page, which is the default."""
    attributes = {name.lower(): word.lower() for name, word in guid.attributes().items()}
    return attributes.get("ispermalink") != "false" and _ABSOLUTE.fullmatch(value) is not None


def _url(value: str) -> str:
    """Return the URL in `value` without tabs and line breaks, or "" if `value` is not one URL."""
    if _SECOND_URL.search(value):
        return ""
    url = _WRAPS.sub("", value)
    if url.endswith(tuple(_INVISIBLE)) or not URL.fullmatch(url):
        return ""
    return url


def _usable(text: str) -> str:
    """Return the unescaped text of a value, or "" if it is too long or contains `SPOILT`."""
    value = ""
    if len(text) <= MOST_KEPT:
        value = unescaped(text).strip()
    if len(value) > MOST_URL_CHARS or SPOILT in value:
        return ""
    return value


def _cut(pieces: Iterable[bytes], size: int = _PIECE) -> Pieces:
    """Split `pieces` into pieces of at most `size` bytes."""
    for piece in pieces:
        for start in range(0, len(piece), size):
            yield piece[start : start + size]


def _bounded(pieces: Pieces) -> Pieces:
    """Yield the pieces; raise EOFError if there are more than `_MOST_PIECES`.

    Without the limit, a file of many empty gzip members would take a long time to unpack.
    """
    for number, piece in enumerate(pieces):
        if number == _MOST_PIECES:
            raise EOFError(f"it has more than {_MOST_PIECES} gzipped parts")
        yield piece


def _unpacked(body: bytes) -> Pieces:
    """Yield the pieces of a file, unpacked if the file is gzipped."""
    if body.startswith(_GZIP):
        return _cut(_bounded(gunzipped(_cut((body,), _ZIPPED_PIECE))))
    return _cut((body,))


def _decoded(pieces: Pieces) -> Iterator[str]:
    """Decode the pieces of a file. The charset is UTF-8 unless the file declares another one.

    `SPOILT` replaces undecodable bytes and characters that XML does not allow.
    """
    first = b""
    while len(first) < _HEAD and (piece := next(pieces, b"")):
        first += piece
    for text in codecs.iterdecode(chain((first,), pieces), _charset_of(first), "replace"):
        yield NO_CHARACTER.sub(SPOILT, text)


def _charset_of(first: bytes) -> str:
    """Return the charset of a file, given its first bytes.

    The charset is determined by the byte order mark, by the zero bytes of UTF-16, or by the
    declaration in the file. A declared charset is ignored if it is not compatible with ASCII, such
    as UTF-7. The default is UTF-8.
    """
    charset, _ = read_bom(first)
    if charset is not None:
        return charset
    # A file in UTF-16 may lack the byte order mark (XML 1.0, appendix F). Then every second byte of
    # its first ASCII characters is zero.
    if first[1:4:2] == b"\0\0":
        return "utf-16-le"
    if first[0:4:2] == b"\0\0":
        return "utf-16-be"
    declared = html_body_declared_encoding(first)
    if declared is None or not declared.startswith(_CHARSETS):
        return "utf-8"
    return declared


def day_of(text: str) -> str:
    """Return the day, month or year in `text`, such as "2026-01-31", or "" if `text` is not a date.

    The time zone is ignored. A Unix timestamp is not a date, and an impossible day such as
    2026-02-30 is not a date either.
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
