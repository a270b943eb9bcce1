"""SitemapReader: reads a sitemap file of any format piece by piece, within sitemaps.org's limits.

A file passes through a chain of iterators, and each reads only what the next one wants:

    cut into pieces -> gunzipped -> limited to MAX_BYTES -> decoded -> tags or lines -> entries

So the first entry comes before the whole file is read. Reading costs no more than `MAX_BYTES` of
work and little memory, whatever the file contains. A file that ends early is used as far as it
goes. It knows no crawl and no network.

Many sitemaps are no well-formed XML. So XML is read tag by tag, without a tree: an element that is
never closed, or an end tag too many, costs the entry around it and no other. There is nothing to
expand or to fetch: an entity other than the five of XML is text, and so is a DTD.
Source: sitemaps.org, "XML tag definitions", "Sitemap file requirements", "Other Sitemap formats",
"Entity escaping"; for characters XML 1.0, 2.2, 2.7, 4.1 and appendix F; for dates W3C Datetime, and
RSS 2.0, "pubDate" and "guid"; RSS 1.0, which is RDF; Namespaces in XML 1.0, 6.
"""

from __future__ import annotations

import codecs
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from email.utils import parsedate_to_datetime
from itertools import chain, islice
from typing import Any, NamedTuple, TypeAlias

from w3lib.encoding import html_body_declared_encoding, read_bom

from ..core.urls import shown
from ..policy.decoding import Pieces, gunzipped

MAX_BYTES = 52_428_800  # of one file, uncompressed (sitemaps.org, "Sitemap file requirements")
MAX_ENTRIES = 50_000  # of one file (the same)

_MOST_CHARS = 8_191  # of a value
_MOST_BARREN = 2**20  # characters in a row without a complete entry: they are kept in memory
_MOST_KEPT = 2**16  # of the attributes of a tag, and of a value before its escapes are undone
_PIECE = 2_048  # bytes read at a time: work of a millisecond, if the file has nothing but "<"
_HEAD = 1_024  # bytes that tell the charset, and characters that show the format
_GZIP = b"\x1f\x8b"
_MOST_PIECES = 3_200  # pieces of 64 KiB, or of one gzip member, that a layer of gzip unpacks to
_MOST_GZIPS = 2  # layers of gzip: some servers compress a file that is compressed already

# Charsets in which markup is ASCII, by the beginnings of Python's names. Other codecs of Python's,
# such as UTF-7, could make markup of text.
_CHARSETS = tuple("utf-8 ascii iso8859 cp125 koi8 gb big5 shift_jis cp932 euc cp949".split())
# Two characters of ASCII in UTF-16, which needs no byte order mark (XML 1.0, appendix F).
_UTF_16 = {"utf-16-le": re.compile(rb"[^\0]\0[^\0]\0"), "utf-16-be": re.compile(rb"\0[^\0]\0[^\0]")}
_SPOILT = "\ufffd"  # replaces anything that is not a character of XML; it occurs in no URL
# XML 1.0, 2.2; and DEL
_NO_CHARACTER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

_URL_LINE = re.compile(r"^[ \t]*https?://\S", re.MULTILINE | re.IGNORECASE)
_ABSOLUTE = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)
_WRAPS = re.compile(r"[\t\n\r]")  # browsers drop them anywhere in a URL (URL standard, 4.4)
# A URL with a scheme; or a relative one, whose first segment has no colon (RFC 3986, 4.2) and does
# not begin with a quotation mark, a bracket or an invisible character.
_URL = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:|[/?#]|[\w.~%!$&'()*+,;=@-][^:/?#]*(?:[/?#]|\Z)).*", re.DOTALL
)
_INVISIBLE = "\xad\u200b\u200e\u200f\u2060\ufeff"  # no URL ends with one
_XML_START = re.compile(r"<(?:\?xml|(?:\w+:)?(?:urlset|sitemapindex|rss|feed|RDF))\b")

# Where a part without tags begins, behind its "<", with what ends it.
_VERBATIM = {"![CDATA[": "]]>", "!--": "-->", "?": "?>"}
_CDATA_ENDS = "]]>"
_FLUSH = "</end><"  # behind a file, it brings out the last tag
_ATTRIBUTE = re.compile(r"(?<!\S)([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ESCAPE = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos));", re.ASCII)
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}

# A W3C date, with a time as people write it. "2026" is a whole year.
_DATE = re.compile(
    r"([12]\d{3})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[Tt\s]\s*\d\d?(?::\d\d){1,2}(?:[.,]\d+)?\s*(?:[AaPp]\.?[Mm]\.?)?\s*"
    r"(?:[Zz]|UTC|GMT|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII,
)

# As in Scrapy: "loc", and if the file has them "lastmod", "alternate" (a list of URLs) and other
# elements by their names.
SitemapEntry: TypeAlias = dict[str, Any]
Entries: TypeAlias = Iterator[SitemapEntry | None]
Prefixes: TypeAlias = Mapping[str, str]  # of namespaces; "" is that of elements without a prefix


class _NotASitemapError(ValueError):
    """The file has no sitemap format, or nothing more can be read from it."""


# The elements of entries, by the root. Sitemaps may stand among pages, and pages among sitemaps.
_OF_SITEMAPS = frozenset({"url", "sitemap"})
_ENTRIES = {
    "urlset": _OF_SITEMAPS,
    "sitemapindex": _OF_SITEMAPS,
    "rss": frozenset({"item"}),
    "RDF": frozenset({"item"}),
    "feed": frozenset({"entry"}),
}
_SITEMAPS_ORG = "http://www.sitemaps.org/schemas/sitemap/0.9"
_DUBLIN_CORE = frozenset({"http://purl.org/dc/elements/1.1/", "dc"})  # has the date of RSS 1.0
# Which values of an entry are its URL and its date, by the element of the entry. They count if they
# are in its namespace; so does the date of RSS 1.0.
_OF_PAGES = {"loc": "loc", "lastmod": "lastmod"}
_KEYS: dict[str, dict[str, str]] = {
    "url": _OF_PAGES,
    "sitemap": _OF_PAGES,
    "item": {"link": "loc", "pubDate": "lastmod"},
    "entry": {"link": "loc", "updated": "lastmod", "modified": "lastmod"},
}
# Keys that no other element may have: Scrapy has a list for "alternate", made of links.
_TAKEN = frozenset({"loc", "lastmod", "link", "alternate"})


class SitemapReader:
    """Iterate over a reader to get the entries of a file.

    After a None it is time to let the reactor run.

    Attributes:
        is_index: whether the entry that was read last is a sitemap and not a page.
        entries: how many entries have been read.
        broken: how many entries, and values of `loc` beyond the first, could not be read so far.
        over_limit: whether the file is larger than sitemaps.org allows. The rest is not read.
        trouble: why reading ended before the end of the file; empty if it did not.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.is_index = False
        self.entries = self.broken = 0
        self.over_limit = False
        self.trouble = ""
        self._kinds: frozenset[str] = frozenset()  # of the elements of entries, by the root of XML
        self._prefixes: Prefixes = {}  # that the root declares
        self._namespace = ""  # of the root
        self._entry: _Entry | None = None  # that is being read

    def __iter__(self) -> Entries:
        try:
            for entry in self._read():
                if self.entries + self.broken + (entry is not None) > MAX_ENTRIES:
                    self.over_limit = True
                    return
                self.entries += entry is not None
                yield entry
        except _NotASitemapError as error:
            self.trouble = self.trouble or str(error)

    def _read(self) -> Entries:
        texts = _decoded(_cut(self._limited(_unpacked(_cut((self._body,))))))
        head = ""
        for text in texts:
            head = (head + text).lstrip()
            if len(head) >= _HEAD:
                break
            yield None
        start = _XML_START.search(head)
        if start is not None:
            head = head[start.start() :]  # a program's warning may stand before it
        whole = chain((head,), texts)
        if head.startswith("<"):
            yield from self._xml(whole)
        elif _URL_LINE.search(head):
            yield from self._lines(whole)
        elif head:
            raise _NotASitemapError("neither XML nor a list of URLs")
        else:
            raise _NotASitemapError("it is empty")

    def _limited(self, pieces: Pieces) -> Pieces:
        """Pass on the first `MAX_BYTES`, and end early where decompressing fails."""
        room = MAX_BYTES
        try:
            for piece in pieces:
                yield piece[:room]
                room -= len(piece)
                if room < 0:
                    self.over_limit = True
                    return
        except (EOFError, zlib.error) as error:
            self.trouble = str(error) or "the compressed data ends too early"

    def _lines(self, texts: Iterator[str]) -> Entries:
        """Read one absolute URL a line.

        Other lines are broken, a relative URL, too: what a headline or a column would be resolved
        to is a guess.
        """
        rest = ""
        for text in chain(texts, (None,)):
            if text is None and (self.over_limit or self.trouble):
                return  # the last line may be cut
            rest += "\n" if text is None else text
            *lines, rest = rest.replace("\r", "\n").split("\n")
            rest = rest[: _MOST_CHARS + 1]
            for line in filter(None, map(str.strip, lines)):
                if _is_usable(line) and _ABSOLUTE.fullmatch(line):
                    yield {"loc": line}
                else:
                    self.broken += 1
            yield None

    def _xml(self, texts: Iterator[str]) -> Entries:
        markup = _Markup()
        barren = 0  # characters since the last entry
        for text in chain(texts, (_FLUSH,)):
            barren += len(text)
            for tag in markup.tags(text):
                entry = self._entry_before(tag)
                if entry is not None:
                    barren = 0
                    yield from self._counted(entry)
            yield None
            if barren > _MOST_BARREN:
                raise _NotASitemapError(f"{_MOST_BARREN} characters in a row complete no entry")
        if self._entry is not None:
            yield from self._counted(self._entry)
        if not self._kinds and not self.trouble:
            raise _NotASitemapError("there is no element in it")

    def _entry_before(self, tag: _Tag) -> _Entry | None:
        """Take the next tag, and return the entry that ends with it or before it.

        An entry that is never closed ends where the next one begins.

        Raises:
            _NotASitemapError: the tag is the first, and no sitemap begins so.
        """
        name = tag.name.rpartition(":")[2].removeprefix("/")
        entry = self._entry
        if not self._kinds:
            if name not in _ENTRIES:
                raise _NotASitemapError(f"its first element is <{shown(name, 40)}>")
            self._kinds = _ENTRIES[name]
            self._prefixes = tag.prefixes()
            self._namespace = tag.namespace()
        elif entry is not None and not (name in self._kinds and entry.has(tag)):
            entry.add(tag)
        elif self._is_foreign(tag):
            pass
        elif name in self._kinds:
            self._entry = None if tag.is_end else _Entry(name, tag, self._prefixes)
            return entry
        elif name == "loc" and not tag.is_end and self._kinds is _OF_SITEMAPS:
            self.broken += 1
        return None

    def _is_foreign(self, tag: _Tag) -> bool:
        """Whether a tag outside of all entries belongs to another vocabulary than sitemaps."""
        namespace = tag.namespace(self._prefixes)
        is_declared = ":" in namespace  # else it is a prefix
        ours = (self._namespace, _SITEMAPS_ORG)
        return self._kinds is _OF_SITEMAPS and is_declared and namespace not in ours

    def _counted(self, entry: _Entry) -> Entries:
        """Yield what an entry lists, if it has a URL; count what is broken of it."""
        self.broken += entry.surplus
        loc = entry.values.get("loc") or entry.permalink
        if loc:
            self.is_index = entry.kind == "sitemap"
            yield {**entry.values, "loc": loc}
        else:
            self.broken += 1


def _is_usable(text: str) -> bool:
    return 0 < len(text) <= _MOST_CHARS and _SPOILT not in text


class _Tag(NamedTuple):
    """A tag, with the text up to the next tag."""

    name: str  # with its prefix; an end tag's with its slash
    attributes: str
    is_empty: bool  # whether the element ends with its start tag
    text: str

    @property
    def is_end(self) -> bool:
        return self.name.startswith("/")

    def attribute(self, name: str, default: str = "") -> str:
        """The value of an attribute."""
        for key, double, single in _ATTRIBUTE.findall(self.attributes):
            if key == name:
                return _unescaped(double or single).strip()
        return default

    def prefixes(self) -> Prefixes:
        """The namespaces that the element declares, by their prefixes."""
        if "xmlns" not in self.attributes:
            return {}
        declared = {}
        for key, double, single in _ATTRIBUTE.findall(self.attributes):
            word, _, prefix = key.partition(":")
            if word == "xmlns":
                declared[prefix] = _unescaped(double or single).strip()
        return declared

    def namespace(self, *outer: Prefixes) -> str:
        """The namespace of the element, which it declares itself or one of the `outer` does.

        It is the prefix if none does, because many files do not declare theirs.
        """
        prefix = self.name.removeprefix("/").rpartition(":")[0]
        for prefixes in (self.prefixes(), *outer):
            if prefix in prefixes:
                return prefixes[prefix]
        return prefix


class _Markup:
    """Finds the tags of XML, piece by piece."""

    def __init__(self) -> None:
        self._rest = ""  # what stands behind the last "<": the next piece may go on with it
        self._end = ""  # what ends the part without tags that is being read
        self._tag: tuple[str, str, bool] | None = None  # the last tag
        self._texts: list[str] = []  # behind it

    def tags(self, piece: str) -> Iterator[_Tag]:
        """Yield the tags whose text is complete with the next piece."""
        *parts, self._rest = (self._rest + piece).split("<")
        for part in parts:
            if self._end or part.startswith(("!", "?")):
                self._read_verbatim(part)
                continue
            words, end, text = part.partition(">")
            name, *attributes = words.removesuffix("/").split(None, 1) or [""]
            if not (end and name):
                self._texts.append(_SPOILT)  # a bare "<"
                continue
            if self._tag is not None:
                yield _Tag(*self._tag, "".join(self._texts))
            self._tag = (name, "".join(attributes)[:_MOST_KEPT], words.endswith("/"))
            self._texts = [text]

    def _read_verbatim(self, part: str) -> None:
        """Read a CDATA section, whose text counts, or what does not: a comment, an instruction."""
        if self._end:
            part = f"<{part}"
        for beginning, end in _VERBATIM.items():
            if not self._end and part.startswith(beginning):
                self._end = end
                part = part.removeprefix(beginning)
        inside, end, behind = part.partition(self._end or ">")  # else it is a declaration
        if self._end == _CDATA_ENDS:
            self._texts.append(inside.replace("&", "&amp;"))
        if end:
            self._end = ""
            self._texts.append(behind)


class _Entry:
    """An entry, while it is read.

    Attributes:
        kind: the name of its element, without the prefix.
        values: what it lists. Of several values with one key, the first that is not empty counts.
        permalink: the `guid` of an RSS item, if that is a URL.
        surplus: how many values of `loc` follow the first one.
    """

    def __init__(self, kind: str, tag: _Tag, outer: Prefixes) -> None:
        self.kind = kind
        self.values: SitemapEntry = {}
        self.permalink = ""
        self.surplus = 0
        self._outer = (tag.prefixes(), outer)
        self._namespace = tag.namespace(outer)
        self._child: _Tag | None = None  # the element in it that is open
        self._is_plain = True  # whether the child has only text

    def has(self, tag: _Tag) -> bool:
        """Whether an element is in the namespace of the entry."""
        return tag.namespace(*self._outer) == self._namespace

    def add(self, tag: _Tag) -> None:
        """Take the next tag in the entry."""
        if self._child is None:
            if tag.is_empty:
                self._add(tag, "")
            elif not tag.is_end:
                self._child = tag
                self._is_plain = True
        elif tag.name == f"/{self._child.name}":
            self._add(self._child, self._child.text if self._is_plain else "")
            self._child = None
        else:
            self._is_plain = False

    def _add(self, element: _Tag, text: str) -> None:
        """Add what an element says."""
        name = element.name.rpartition(":")[2]
        value = _usable(text)
        if name == "link" and self.kind != "item":
            value = _target(element)
            if value and self.kind != "entry":
                self.values.setdefault("alternate", []).append(value)
        key = self._key(name, element)
        if not key:
            return
        if key in ("loc", "guid"):
            value = _url(value)
        if not self.values.get(key):
            self.values[key] = value  # as in Scrapy, an empty element has a key
        elif key == "loc" and value and self.kind != "entry":
            self.surplus += 1
        if key == "guid" and self._is_permalink(element) and _ABSOLUTE.fullmatch(value):
            self.permalink = value

    def _key(self, name: str, element: _Tag) -> str:
        """The key for what an element says; empty if there is none."""
        key = ""
        if self.has(element):
            key = _KEYS[self.kind].get(name, "")
        elif name == "date" and element.namespace(*self._outer) in _DUBLIN_CORE:
            key = "lastmod"
        if not key and name not in _TAKEN:
            key = name
        return key

    def _is_permalink(self, guid: _Tag) -> bool:
        """Whether a `guid` is of RSS, and does not say that it is no URL."""
        says_no = guid.attribute("isPermaLink", "true").lower() == "false"
        return self.kind == "item" and self.has(guid) and not says_no


def _target(link: _Tag) -> str:
    """Where a link with an `href` leads, if to the same page in another form or language."""
    if link.attribute("rel", "alternate") != "alternate":
        return ""
    return _url(_usable(link.attribute("href")))


def _url(value: str) -> str:
    """A URL without the line breaks and tabs that wrap it; empty if the value is none."""
    url = _WRAPS.sub("", value)
    if url.endswith(tuple(_INVISIBLE)) or not _URL.fullmatch(url):
        return ""
    return url


def _usable(text: str) -> str:
    """A value without its escapes; empty if it is too long, or has what is no character."""
    if len(text) > _MOST_KEPT:
        return ""
    value = _unescaped(text).strip()
    return value if _is_usable(value) else ""


def _unescaped(text: str) -> str:
    """Undo XML's escapes; an ampersand that a sitemap should have escaped stays.

    The halves of a character are joined: "&#xD83D;&#xDE00;" becomes the one character U+1F600.
    """
    if "&" not in text:
        return text
    text = _ESCAPE.sub(_character, text)
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _NO_CHARACTER.sub(_SPOILT, text)


def _character(match: re.Match[str]) -> str:
    decimal, hexadecimal, name = match.groups()
    if name:
        return _NAMED[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if code <= sys.maxunicode else _SPOILT


def _cut(pieces: Iterable[bytes]) -> Pieces:
    """Make small pieces of large ones."""
    for piece in pieces:
        for start in range(0, len(piece), _PIECE):
            yield piece[start : start + _PIECE]


def _unpacked(pieces: Pieces, layers: int = 0) -> Pieces:
    """Remove up to `_MOST_GZIPS` layers of gzip. The first bytes show whether there is a layer."""
    first = next(pieces, b"")
    whole: Pieces = chain((first,), pieces)
    if first.startswith(_GZIP) and layers < _MOST_GZIPS:
        whole = _unpacked(filter(None, islice(gunzipped(whole), _MOST_PIECES)), layers + 1)
    yield from whole


def _decoded(pieces: Pieces) -> Iterator[str]:
    """Decode the `pieces` of a file one by one, as UTF-8 unless the file says another charset.

    U+FFFD, which no URL has, replaces anything that is not a character of XML.
    """
    first = b""
    for piece in pieces:
        first += piece
        if len(first) >= _HEAD:
            break
    charset, mark = read_bom(first)
    if charset is not None and mark is not None:
        first = first.removeprefix(mark)
    else:
        charset = _charset_of(first)
    for text in codecs.iterdecode(chain((first,), pieces), charset, "replace"):
        yield _NO_CHARACTER.sub(_SPOILT, text)


def _charset_of(first: bytes) -> str:
    """The charset of a file without a byte order mark."""
    for charset, beginning in _UTF_16.items():
        if beginning.match(first):
            return charset
    declared = html_body_declared_encoding(first)
    if declared is None or not declared.startswith(_CHARSETS):
        return "utf-8"
    return declared


def day_of(text: str) -> str:
    """The day, month or year that a date names, as in "2026-01-31"; empty if `text` is no date.

    The day is taken as it is written, whatever the time zone. A number, such as a Unix time, is no
    date, nor is an impossible one, such as 2026-02-30.
    """
    match = _DATE.fullmatch(text.strip())
    try:
        if match is None:
            return parsedate_to_datetime(text).date().isoformat()
        parts = [part for part in match.groups() if part]
        date(*map(int, [*parts, "1", "1"][:3]))
    except (ValueError, OverflowError):
        return ""
    return "-".join(parts)


def is_before(lastmod: str, day: str) -> bool:
    """Whether a date lies before `day`, as far as both go: "2026" is not before "2026-01-31".

    False if `lastmod` is no date.
    """
    text = day_of(lastmod)
    return text[: len(day)] < day[: len(text)]
