"""SitemapReader: reads a sitemap file of any format piece by piece, within sitemaps.org's limits.

A file passes through a chain of iterators, and each reads only what the next one wants:

    cut into pieces -> gunzipped -> limited to MAX_BYTES -> decoded -> entries

So the first entry comes before the whole file is read. Reading costs no more than `MAX_BYTES` of
work and little memory, whatever the file contains. A file that ends early is used as far as it
goes. It knows no crawl and no network.
Source: sitemaps.org, "XML tag definitions", "Sitemap file requirements", "Other Sitemap formats",
"Entity escaping"; for characters XML 1.0, 2.2, 2.7, 4.1 and appendix F; for dates W3C Datetime, and
RSS 2.0, "pubDate".
"""

from __future__ import annotations

import codecs
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from email.utils import parsedate_to_datetime
from itertools import chain, islice
from typing import Any, TypeAlias
from xml.sax.saxutils import escape

from lxml import etree
from w3lib.encoding import html_body_declared_encoding, read_bom

from ..core.urls import shown
from ..policy.decoding import Pieces, gunzipped

MAX_BYTES = 52_428_800  # of one file, uncompressed (sitemaps.org, "Sitemap file requirements")
MAX_ENTRIES = 50_000  # of one file (the same)

_MOST_CHARS = 8_191  # of a value
_MOST_VALUES = 1_000  # of an entry; a page may have hundreds of translations
_MOST_BARREN = 2**20  # characters in a row without a complete entry: lxml keeps them in memory
_MOST_KEPT = 2**16  # characters in a row without the end of a tag
# bytes read at a time: work of a millisecond, or of two if the file has nothing but elements
_PIECE = 8_192
_HEAD = 1_024  # bytes that tell the charset, and characters that show the format
_GZIP = b"\x1f\x8b"
_MOST_PIECES = 3_200  # pieces of 64 KiB, or of one gzip member, that a layer of gzip unpacks to
_MOST_GZIPS = 2  # layers of gzip: some servers compress a file that is compressed already

# Charsets in which markup is ASCII, by the beginnings of Python's names. Other codecs of Python's,
# such as UTF-7, could make markup of text.
_CHARSETS = tuple("utf-8 ascii iso8859 cp125 koi8 gb big5 shift_jis cp932 euc cp949".split())
_SPOILT = "\ufffd"  # replaces anything that is not a character of XML; it occurs in no URL
# XML 1.0, 2.2; and DEL
_NO_CHARACTER = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

_URL_LINE = re.compile(r"^[ \t]*(?:https?|ftp)://\S", re.MULTILINE | re.IGNORECASE)
_XML_START = re.compile(r"<(?:\?xml|urlset|sitemapindex|rss|feed)\b")
# Where parts without escapes begin, with what ends them.
_VERBATIM = {"<![CDATA[": "]]>", "<!--": "-->", "<?": "?>"}
_REFERENCE = re.compile(r"&#(?:([0-9]{1,7})|[xX]([0-9A-Fa-f]{1,6}));")
_MARKS = re.compile(
    r"<!\[CDATA\[|<!--|<\?|\]\]>|-->|\?>"
    rf"|(?:{_REFERENCE.pattern})+|&(?!(?:amp|lt|gt|quot|apos);)"
)

# Of a W3C date; "2026" is a whole year.
DAY = re.compile(r"[12]\d{3}(?:-\d\d(?:-\d\d)?)?", re.ASCII)

# As in Scrapy: "loc", and if the file has them "lastmod", "alternate" (a list of URLs) and other
# elements by their names.
SitemapEntry: TypeAlias = dict[str, Any]
Entries: TypeAlias = Iterator[SitemapEntry | None]


class _NotASitemapError(ValueError):
    """The file has no sitemap format, or nothing more can be read from it."""


# The elements of entries, by the root.
_ENTRIES = {"urlset": "url", "sitemapindex": "sitemap", "rss": "item", "feed": "entry"}
_TAGS = tuple(f"{{*}}{name}" for name in _ENTRIES.values())
_DATES = frozenset({"pubDate", "date", "updated", "modified"})  # what RSS and Atom call lastmod


class SitemapReader:
    """Iterate over a reader to get the entries of a file.

    After a None it is time to let the reactor run.

    Attributes:
        is_index: whether the entries are sitemaps and not pages. Known from the first entry on.
        entries: how many entries have been read.
        broken: how many entries could not be read so far.
        over_limit: whether the file is larger than sitemaps.org allows. The rest is not read.
        trouble: why reading ended before the end of the file; empty if it did not.
    """

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.is_index = False
        self.entries = self.broken = 0
        self.over_limit = False
        self.trouble = ""

    def __iter__(self) -> Entries:
        try:
            for entry in self._read():
                if entry is not None:
                    if self.entries >= MAX_ENTRIES:
                        self.over_limit = True
                        return
                    self.entries += 1
                yield entry
        except (_NotASitemapError, etree.LxmlError) as error:
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
        """Read one URL a line."""
        rest = ""
        for text in chain(texts, (None,)):
            if text is None and (self.over_limit or self.trouble):
                return  # the last line may be cut
            rest += "\n" if text is None else text
            *lines, rest = rest.replace("\r", "\n").split("\n")
            rest = rest[: _MOST_CHARS + 1]
            for line in filter(None, map(str.strip, lines)):
                if _may_be_url(line):
                    yield {"loc": line}
                else:
                    self.broken += 1
            yield None

    def _xml(self, texts: Iterator[str]) -> Entries:
        """Read XML. lxml goes on after errors, expands no entity and fetches nothing."""
        parser = etree.XMLPullParser(
            ("end",),
            tag=_TAGS,
            encoding="utf-8",
            recover=True,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
            collect_ids=False,
        )
        root = ""
        barren = 0  # characters since the last complete entry
        for text in _repaired(texts):
            parser.feed(text.encode("utf-8", "replace"))
            barren += len(text)
            for _, element in parser.read_events():
                if not root:
                    root = _local(element.getroottree().getroot())
                    self.is_index = root == "sitemapindex"
                if _local(element) != _ENTRIES.get(root):
                    continue
                barren = 0
                entry = _entry(element)
                if _may_be_url(entry.get("loc", "")):
                    yield entry
                else:
                    self.broken += 1
                _forget(element)
            yield None
            if barren > _MOST_BARREN:
                raise _NotASitemapError(f"{_MOST_BARREN} characters in a row complete no entry")
        if not (self.entries or self.broken or self.over_limit or self.trouble):
            root = _local(parser.close())
            if root not in _ENTRIES:
                why = "there is no element in it"
                if root:
                    why = f"its first element is <{shown(root, 40)}>"
                raise _NotASitemapError(why)


def _may_be_url(text: str) -> bool:
    return 0 < len(text) <= _MOST_CHARS and _SPOILT not in text


def _entry(element: etree._Element) -> SitemapEntry:
    """Return what an element lists.

    Of several values with one key, the first that is not empty counts.
    """
    entry: SitemapEntry = {}
    alternates: list[str] = []
    for child in element[:_MOST_VALUES]:
        key = _local(child)
        value = ""
        if child.text and not len(child):  # with an element in it, it is unusable
            value = child.text.strip()
        if key == "link":
            # The text in RSS, the reference in Atom; in a urlset it leads to the page in another
            # language.
            key = "loc"
            href: str = ""
            if child.get("rel", "alternate") == "alternate":
                href = child.get("href", "").strip()
            if _local(element) == "entry":
                value = href
            elif href:
                alternates.append(href)
        elif key in _DATES:
            key = "lastmod"
        if key != "alternate" and not entry.get(key):  # "alternate" has the URLs of links
            # As in Scrapy, an empty element has a key.
            entry[key] = value if _may_be_url(value) else ""
    if alternates:
        entry["alternate"] = alternates
    return entry


def _forget(element: etree._Element) -> None:
    """Free an element that has been read, and what stands before it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _local(element: etree._Element | None) -> str:
    """The name of an element without its namespace; empty if there is none."""
    return str(getattr(element, "tag", "")).rpartition("}")[2]


def _repaired(texts: Iterator[str]) -> Iterator[str]:
    """Mend what lxml fails over: impossible character references, and bare ampersands.

    Ampersands that a sitemap should have escaped are escaped: lxml would drop the next word.

        <loc>http://e/?a=1&b=2&amp;c&eacute;</loc>              becomes
        <loc>http://e/?a=1&amp;b=2&amp;c&amp;eacute;</loc>

    CDATA sections, comments and processing instructions have no escapes: their ampersands stay.
    What stands behind the last ">" waits for the next piece, so no mark such as "&amp;" lies across
    two.
    """
    end_of_verbatim = ""
    tail = ""

    def repair(match: re.Match[str]) -> str:
        nonlocal end_of_verbatim
        mark = match[0]
        if mark.startswith("&#"):
            # Anywhere: in a broken file lxml may see no CDATA here.
            return _repaired_references(mark)
        if end_of_verbatim:
            if mark == end_of_verbatim:
                end_of_verbatim = ""
            return mark
        if mark == "&":
            return "&amp;"
        end_of_verbatim = _VERBATIM.get(mark, "")
        return mark

    for text in texts:
        ready, end, tail = (tail + text).rpartition(">")
        yield _MARKS.sub(repair, ready + end)
        if len(tail) > _MOST_KEPT:
            yield _MARKS.sub(repair, tail)
            tail = ""
    yield _MARKS.sub(repair, tail)


def _repaired_references(references: str) -> str:
    """Return character references such that lxml does not fail over them.

    If XML allows all of their characters, `references` is returned as it is. Otherwise it becomes
    text, in which the halves of a character are joined: "&#xD83D;&#xDE00;" becomes the one
    character U+1F600.
    """
    text = ""
    for match in _REFERENCE.finditer(references):
        decimal, hexadecimal = match.groups()
        code = int(decimal) if decimal else int(hexadecimal, 16)
        text += chr(code) if code <= sys.maxunicode else _SPOILT
    if not _NO_CHARACTER.search(text):
        return references
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return escape(_NO_CHARACTER.sub(_SPOILT, whole))


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
        charset = html_body_declared_encoding(first)
        if charset is None or not charset.startswith(_CHARSETS):
            charset = "utf-8"
    for text in codecs.iterdecode(chain((first,), pieces), charset, "replace"):
        yield _NO_CHARACTER.sub(_SPOILT, text)


def is_before(lastmod: str, day: str) -> bool:
    """Whether a date lies before `day`, as far as both go: "2026" is not before "2026-01-31".

    The day is taken as it is written, whatever the time zone. False if `lastmod` is no date.
    """
    match = DAY.match(lastmod)
    if match is not None:
        text = match[0]
    else:
        try:
            text = parsedate_to_datetime(lastmod).date().isoformat()
        except (ValueError, OverflowError):
            return False
    return text[: len(day)] < day[: len(text)]
