"""SitemapReader: reads a sitemap file of any format piece by piece, within sitemaps.org's limits.

A file passes through a chain of iterators, and each reads only what the next one wants:

    cut into pieces -> gunzipped -> limited to MAX_BYTES -> decoded -> tags or lines -> entries

So the first entry comes before the whole file is read. Whatever the file contains, reading takes
little memory, and no more time than reading `MAX_BYTES` takes. If a file ends early, its entries up
to that point are used. The module needs neither a crawl nor a network.

XML is read tag by tag, so broken markup affects only the entry around it.
Source: sitemaps.org, "XML tag definitions", "Sitemap file requirements", "Other Sitemap formats",
"Entity escaping"; for charsets XML 1.0, appendix F; for dates W3C Datetime, and RSS 2.0, "pubDate";
RSS 1.0, which is RDF.
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

# The longest URL as written, in characters. sitemaps.org allows fewer than 2,048.
MOST_URL_CHARS = 8_191
# How many characters in a row may contain no complete entry. They are kept in memory.
_MOST_BARREN = 2**20
_PIECE = 4_096  # bytes that are read at a time, which takes about a millisecond
_TURN_TAGS = 256  # tags that are read before the reactor runs, which takes about a millisecond
_HEAD = 8_192  # bytes in which the charset and the beginning of XML are looked for
_GZIP = b"\x1f\x8b"
_ZIPPED_PIECE = 65_536  # bytes of a gzipped file that are unpacked at a time
# How many pieces are unpacked at most. Each gzip member and each `_ZIPPED_PIECE` gives at least one
# piece of at most 64 KiB. The longest file in one member gives 2,400.
_MOST_PIECES = 3_200

# ASCII-compatible charsets, as prefixes of Python's names for codecs. Under other codecs, such as
# UTF-7, plain text could decode to markup.
_CHARSETS = tuple("utf-8 ascii iso8859 cp125 koi8 gb big5 shift_jis cp932 euc cp949".split())
_MARK = "\ufeff"  # The byte order mark after decoding.
_ABSOLUTE = re.compile(
    rf"(?=.{{,{MOST_URL_CHARS}}}\Z)https?://[^\s/?#{SPOILT}][^\s{SPOILT}]*", re.IGNORECASE
)
# Browsers drop these characters anywhere in a URL (URL standard, 4.4).
_WRAPS = re.compile(r"[\t\n\r]")
# A URL with a scheme, or a relative URL. The first segment of a relative URL has no colon (RFC
# 3986, 4.2) and does not begin with a quotation mark, a bracket or an invisible character.
URL = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:|[/?#]|[\w.~%!$'()*+,;=@-][^:/?#]*(?:[/?#]|\Z)).*", re.DOTALL
)
_INVISIBLE = "\xad\u200b\u200e\u200f\u2060\ufeff"  # No URL ends with one of these.
# A second URL behind white space. A value with one is not a single URL that lacks its escapes.
_SECOND_URL = re.compile(r"\s[A-Za-z][A-Za-z0-9+.-]*://")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_XML_START = re.compile(r"<(?:(\w+):)?(urlset|sitemapindex|rss|feed|rdf)\b", re.IGNORECASE)

# A W3C date, with a time in the forms that occur in real files. "2026" is a whole year.
_DATE = re.compile(
    r"([12]\d{3})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[Tt\s]\s*\d\d?(?::\d\d){1,2}(?:[.,]\d+)?\s*(?:[AaPp]\.?[Mm]\.?)?\s*"
    r"(?:[Zz]|UTC|GMT|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII,
)

# An entry as in Scrapy, with the keys "loc" and, if the file has them, "lastmod", "alternate" (a
# list of URLs) and the names of other elements.
SitemapEntry: TypeAlias = dict[str, Any]
Entries: TypeAlias = Iterator[SitemapEntry | None]
# For each name of an entry's element, the keys of its child elements by their names.
Kinds: TypeAlias = Mapping[str, Mapping[str, str]]


# For each root element in lower case, the elements that are entries, and their child elements for
# the URL, the date and the like. Such a child must have the prefix of its entry. Sitemaps and pages
# may be mixed.
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
# Keys that no other element may have: Scrapy has a list for "alternate", made of links.
_TAKEN = frozenset({"loc", "lastmod", "link", "alternate"})

# Patterns of plain entries. Most files contain nothing but entries in this form. No character can
# belong to two neighbouring repetitions, and each repetition is bounded, so a text that does not
# match is scanned only a few times.
_SPACE = r"\s{0,64}"
_VALUE = rf"[^<{SPOILT}]{{0,8191}}"
_DATE_OR_WORD = rf"[^<&{SPOILT}]{{0,64}}"  # without escapes
# A URL that is used as it is written. Any other value may need unescaping, or not be a URL.
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
# The usual elements of an entry, in their usual order.
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
# How many characters of an entry without its end tag are kept, because it may be a plain entry.
_MOST_AWAITED = 8_192


class SitemapReader:
    """Reads a sitemap file. Iterating over a reader yields the entries of the file.

    It also yields None now and then, when the caller should let the reactor run.

    Attributes:
        is_sitemap: whether the entry that was read last is a sitemap and not a page.
        entries: how many entries have been read.
        broken: how many entries could not be read so far, plus the number of `loc` values that are
            surplus or outside entries.
        trouble: in words, why reading ended before the end of the file, or that the file ends too
            early; "" if neither.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.is_sitemap = False
        self.entries = self.broken = 0
        self.trouble = ""
        self._barren = 0  # characters since the last entry
        self._entry: _Entry | None = None  # The entry that is being read tag by tag.
        self._root = ""  # The root element's name in lower case, without its prefix.
        self._is_open = False  # Whether the root's end tag is still missing.
        self._base = ""  # The root's base for relative URLs (XML Base), if any.

    @property
    def is_understood(self) -> bool:
        """Whether the file is a sitemap, even one that lists nothing or is cut."""
        return self.entries > 0 or not self.trouble

    def __iter__(self) -> Entries:
        """Yield the entries, and None when the reactor should run; set `trouble`.

        The root element decides the format. A file that does not begin with markup is a list of
        URLs.
        """
        texts = _decoded(self._limited(_unpacked(self._body)))
        head = _COMMENT.sub("", next(texts, "")).removeprefix(_MARK).lstrip()
        root = _XML_START.search(head)
        entries: Entries = iter(())
        if root is not None:  # A warning of the program that made the file may precede it.
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
            self.broken = 0  # The file is not a list, so its lines are not broken entries.
            if not self.trouble:
                self.trouble = "it is empty"
                if head:
                    self.trouble = f'it is not a sitemap; it begins with "{shown(head, 40)}"'

    def _limited(self, pieces: Pieces) -> Pieces:
        """Yield the first `MAX_BYTES`, or fewer if unpacking fails. Then set `trouble`."""
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
        """Read one absolute URL a line."""
        rest = ""
        for text in texts:
            *lines, rest = (rest + text).replace("\r", "\n").split("\n")
            rest = rest[: MOST_URL_CHARS + 1]  # The rest of a longer, broken line is dropped.
            yield from map(self._line, lines)
            yield None
        if not self.trouble:  # If reading has ended early, the last line may be cut.
            yield self._line(rest)

    def _line(self, line: str) -> SitemapEntry | None:
        """Read a line, which is broken unless it is empty or an absolute URL.

        A relative URL counts as broken, because any line of prose could be taken for one.
        """
        line = line.strip()
        if _ABSOLUTE.fullmatch(line):
            return {"loc": line}
        self.broken += bool(line)
        return None

    def _xml(self, texts: Iterator[str], kinds: Kinds, prefixes: Collection[str]) -> Entries:
        """Yield the entries of XML, and None for each piece and each broken entry.

        Patterns read plain entries. All others are read tag by tag, which takes longer.
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
        """Take the next tag; return the entry that it ends, if any.

        The element of an entry has one of the `prefixes`: the root's prefix, or "". An entry that
        is never closed ends where the next one begins. A `loc` outside entries counts as broken.
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
        """Take a tag of the root: note its base, or that it has ended and ends open children."""
        self._is_open = not tag.is_end
        if self._entry is None:
            self._base = _base_of(tag)
        elif tag.is_end:
            self._entry.close_child(tag.text)

    def _plain_entries(self, markup: Markup) -> Entries:
        """Yield the plain entries up to the next other entry, in the form of `_finish`."""
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
        """Yield texts until too many characters in a row complete no entry. Then set `trouble`."""
        for text in texts:
            yield text
            if self._barren > _MOST_BARREN:
                self.trouble = f"{_MOST_BARREN} characters in a row complete no entry"
                return

    def _finish(self, entry: _Entry) -> SitemapEntry | None:
        """Return the values of an entry, or None if it has no URL.

        Note whether the entry is a sitemap, and count its broken values.
        """
        self._barren = 0
        if entry.kind != "entry":  # An Atom entry may have several links.
            self.broken += entry.surplus
        if not entry.values.get("loc"):
            if not entry.permalink:
                self.broken += 1
                return None
            entry.values["loc"] = entry.permalink
        self.is_sitemap = entry.kind == "sitemap"
        return entry.values


class _Entry:
    """An entry, while it is read.

    Attributes:
        kind: the name of its element, without the prefix.
        values: its values by key. Of several values with one key, the first that is not empty is
            kept.
        surplus: how many values of `loc` follow the first one.
        permalink: the URL in an RSS item's guid, which is used if the item has no link; or "".
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
        """Take the next tag in the entry: a start tag opens a child, its end tag adds it.

        The text of a tag is the text before it. A text with `SPOILT` is not a value. A child that
        is never closed ends where the next one begins, if both are known elements of an entry.
        """
        child = self._child
        if child is not None and tag.name == f"/{child.name}":
            self._add(child, child.text + tag.text)
            self._child = None
            return
        if child is not None and self._key_of(child) and self._key_of(tag) and not tag.is_end:
            self.close_child(tag.text)
            child = None
        if child is not None:  # It contains another element.
            self._child = child._replace(text=SPOILT)
        elif not tag.is_end:
            self._child = tag._replace(text="")

    def close_child(self, text: str) -> None:
        """Add the open child, if any, with its `text`, unless it contains another element."""
        if self._child is not None and not self._child.text:
            self._add(self._child, text)
            self._child = None

    def _key_of(self, element: Tag) -> str:
        """The key of an element that the format defines; "" for any other element.

        The element is looked up by its name, with its prefix if that differs from the entry's.
        """
        name = element.local
        if element.prefix != self._prefix:
            name = f"{element.prefix}:{name}"
        return self._keys.get(name, "")

    def _add(self, element: Tag, text: str) -> None:
        """Add the value of an element: its text or, for a link with an `href`, the link's target.

        The key comes from `_keys`. If `_keys` lacks the element, the key is the element's name
        without the prefix, unless that is in `_TAKEN`. A link without a key is an "alternate".
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
            self.values[key] = value  # As in Scrapy, an empty element has a key, too.
        elif key == "loc" and value:
            self.surplus += 1
        elif is_link and value:
            self.values.setdefault("alternate", []).append(value)


def _is_awaited(markup: Markup) -> bool:
    """Whether an entry has begun that may be plain, but whose end has not arrived yet."""
    if len(markup.text) - markup.at > _MOST_AWAITED:
        return False
    begun = _BEGUN.match(markup.text, markup.at)
    return begun is not None and markup.text.find(f"</{begun[1]}>", begun.end()) < 0


def _add_child(values: SitemapEntry, child: re.Match[str]) -> None:
    """Add the value of an element in a plain entry, as `_Entry` would."""
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
    """The `href` of a link; "" if its `rel` shows that the target is not a form of the page."""
    attributes = link.attributes()
    # A link without `rel` is an "alternate" (RFC 4287 4.2.7.2).
    if attributes.get("rel", "alternate") != "alternate":
        return ""
    return attributes["href"]


def _base_of(element: Tag, outer: str = "") -> str:
    """The base for URLs in an element; `outer` is its parent's base (XML Base, 4)."""
    if "xml:base" not in element.more:
        return outer
    base = _url(_usable(element.attributes().get("xml:base", "")))
    return _joined(outer, base) or outer


def _joined(base: str, url: str) -> str:
    """The `url`, resolved against `base` if there is one; "" if that is not possible."""
    if not base or not url:
        return url
    try:
        return urljoin(base, url)
    except ValueError:
        return ""


def _is_permalink(guid: Tag, value: str) -> bool:
    """Whether the guid of an RSS item is the URL of its page: by default it is (RSS 2.0)."""
    attributes = {name.lower(): word.lower() for name, word in guid.attributes().items()}
    return attributes.get("ispermalink") != "false" and _ABSOLUTE.fullmatch(value) is not None


def _url(value: str) -> str:
    """A URL without line breaks and tabs; "" if the value is not a URL, or contains two."""
    if _SECOND_URL.search(value):
        return ""
    url = _WRAPS.sub("", value)
    if url.endswith(tuple(_INVISIBLE)) or not URL.fullmatch(url):
        return ""
    return url


def _usable(text: str) -> str:
    """A value without its escapes; "" if it is too long, or contains `SPOILT`."""
    value = ""
    if len(text) <= MOST_KEPT:
        value = unescaped(text).strip()
    if len(value) > MOST_URL_CHARS or SPOILT in value:
        return ""
    return value


def _cut(pieces: Iterable[bytes], size: int = _PIECE) -> Pieces:
    """Cut pieces into pieces of at most `size` bytes."""
    for piece in pieces:
        for start in range(0, len(piece), size):
            yield piece[start : start + size]


def _bounded(pieces: Pieces) -> Pieces:
    """Yield up to `_MOST_PIECES`; raise EOFError if there are more: even empty ones take time."""
    for number, piece in enumerate(pieces):
        if number == _MOST_PIECES:
            raise EOFError(f"it has more than {_MOST_PIECES} gzipped parts")
        yield piece


def _unpacked(body: bytes) -> Pieces:
    """Remove gzip, if the file begins with it."""
    if body.startswith(_GZIP):
        return _cut(_bounded(gunzipped(_cut((body,), _ZIPPED_PIECE))))
    return _cut((body,))


def _decoded(pieces: Pieces) -> Iterator[str]:
    """Decode the `pieces` of a file one by one, as UTF-8 unless the file declares another charset.

    U+FFFD, which occurs in no URL, replaces anything that is not a character of XML.
    """
    first = b""
    while len(first) < _HEAD and (piece := next(pieces, b"")):
        first += piece
    for text in codecs.iterdecode(chain((first,), pieces), _charset_of(first), "replace"):
        yield NO_CHARACTER.sub(SPOILT, text)


def _charset_of(first: bytes) -> str:
    """The charset by a file's byte order mark, its first two characters or its declaration.

    If there is none of these, it is UTF-8. A declared charset in which markup is not ASCII, such as
    UTF-7, is ignored.
    """
    charset, _ = read_bom(first)
    if charset is not None:
        return charset
    # Two ASCII characters in UTF-16, which needs no byte order mark (XML 1.0, appendix F).
    if first[1:4:2] == b"\0\0":
        return "utf-16-le"
    if first[0:4:2] == b"\0\0":
        return "utf-16-be"
    declared = html_body_declared_encoding(first)
    if declared is None or not declared.startswith(_CHARSETS):
        return "utf-8"
    return declared


def day_of(text: str) -> str:
    """The day, month or year of a date, such as "2026-01-31"; "" if `text` is not a date.

    The day is taken as it is written, whatever the time zone. A Unix time or another long number is
    not a date, and neither is an impossible day, such as 2026-02-30.
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
    """Whether the date `lastmod` is before `day`; False if `lastmod` is not a date.

    If one of them is less exact, the exact part is compared: "2026" is not before "2026-01-31".
    """
    text = day_of(lastmod)
    return text[: len(day)] < day[: len(text)]
