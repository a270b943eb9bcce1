"""SitemapReader: reads one sitemap file piece by piece, gzipped or not, within the limits of sitemaps.org.

A file passes through a chain of iterators, and each reads only what the next one wants:

    cut into pieces -> gunzipped -> limited to MAX_BYTES -> cut again -> decoded -> format -> entries

So the first entry comes before the whole file is read. Reading costs no more than `MAX_BYTES` of work and next to no memory,
whatever the file contains. A file that ends early is used as far as it goes.
Source: sitemaps.org, "Sitemap file requirements" and "Other Sitemap formats"; XML 1.0, appendix F.
"""

from __future__ import annotations

import codecs
import re
import zlib
from itertools import chain
from typing import TYPE_CHECKING

from w3lib.encoding import read_bom, resolve_encoding

from ..policy.decoding import gunzipped
from .xml import MOST_CHARS, NO_CHARACTER, SPOILT, NotASitemap, Xml, is_url_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .xml import SitemapEntry

MAX_BYTES = 52_428_800  # of one file, uncompressed (sitemaps.org, "Sitemap file requirements")
MAX_ENTRIES = 50_000  # of one file (the same)

_PIECE = 8_192  # bytes read at a time: work of a millisecond, or of two if the file has nothing but elements
_HEAD = 1_024  # bytes that tell the charset, and characters that show the format
_GZIP = b"\x1f\x8b"
_MOST_PIECES = 3_200  # pieces of 64 KiB, or of one gzip member, that a layer of gzip unpacks to
_MOST_GZIPS = 2  # layers of gzip: some servers compress a file that is compressed already

_DECLARED = re.compile(rb"^\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([A-Za-z0-9._:-]{1,40})[\"']")
_WIDE = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}  # XML in two bytes a character and without a byte order mark
# Charsets in which markup is ASCII, by the beginnings of Python's names. Other codecs of Python's, such as UTF-7, could
# make markup of text.
_CHARSETS = ("utf-8", "ascii", "iso8859", "cp125", "koi8", "gb", "big5", "shift_jis", "cp932", "euc", "cp949")

_URL_LINE = re.compile(r"^[ \t]*(?:https?|ftp)://\S", re.MULTILINE | re.IGNORECASE)
_XML_START = re.compile(r"<(?:\?xml|urlset|sitemapindex|rss|feed|rdf:RDF)\b")


class SitemapReader:
    """Iterate over a reader to get the entries of a file. After a None it is time to let the reactor run.

    Attributes:
        entries: how many entries have been read.
        over_limit: whether the file is larger than sitemaps.org allows. The rest is not read.
        trouble: why reading ended before the end of the file; empty if it did not.
    """

    def __init__(self, body: bytes, charset: str | None = None) -> None:
        """Take a file, and the charset that its server names, if any. A declaration in the file comes first."""
        self._body = body
        self._charset = charset
        self._format: Xml | _PlainText | None = None
        self.entries = 0
        self.over_limit = False
        self.trouble = ""

    @property
    def is_index(self) -> bool:
        """Whether the entries are sitemaps and not pages. Known from the first entry on."""
        return self._format is not None and self._format.is_index

    @property
    def broken(self) -> int:
        """How many entries could not be read so far."""
        return self._format.broken if self._format is not None else 0

    def __iter__(self) -> Iterator[SitemapEntry | None]:
        try:
            for entry in self._read():
                if entry is not None:
                    if self.entries >= MAX_ENTRIES:
                        self.over_limit = True
                        return
                    self.entries += 1
                yield entry
        except NotASitemap as error:
            self.trouble = self.trouble or str(error)

    def _read(self) -> Iterator[SitemapEntry | None]:
        pieces = _cut(self._limited(_unpacked(_cut((self._body,)))))
        texts = _decoded(pieces, self._charset)
        head = ""
        for text in texts:
            head = (head + text).lstrip()
            if len(head) >= _HEAD:
                break
            yield None
        self._format, head = _format_of(head)
        for text in chain((head,), texts):
            yield from self._format.feed(text)
            yield None
        if not self.over_limit and not self.trouble:
            yield from self._format.finish()

    def _limited(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Pass on the first `MAX_BYTES`, and end early where decompressing fails."""
        left = MAX_BYTES
        try:
            for piece in pieces:
                yield piece[:left]
                left -= len(piece)
                if left < 0:
                    self.over_limit = True
                    return
        except (NotASitemap, EOFError, zlib.error) as error:
            self.trouble = str(error) or "the compressed data ends too early"


def _cut(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Make small pieces of large ones."""
    for piece in pieces:
        for start in range(0, len(piece), _PIECE):
            yield piece[start : start + _PIECE]


def _unpacked(pieces: Iterator[bytes], layers: int = 0) -> Iterator[bytes]:
    """Remove up to `_MOST_GZIPS` layers of gzip. The first bytes show whether there is a layer."""
    first = next(pieces, b"")
    while len(first) < len(_GZIP) and (more := next(pieces, b"")):
        first += more
    whole: Iterator[bytes] = chain((first,), pieces)
    if first.startswith(_GZIP) and layers < _MOST_GZIPS:
        whole = _unpacked(_bounded(gunzipped(whole)), layers + 1)
    yield from whole


def _bounded(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Stop a layer that unpacks to too many pieces. Empty pieces would never reach `MAX_BYTES`."""
    for number, piece in enumerate(pieces):
        if number > _MOST_PIECES:
            raise NotASitemap("there is no end to the compressed data")
        yield piece


def _decoded(pieces: Iterator[bytes], server_charset: str | None) -> Iterator[str]:
    """Decode the `pieces` of a file one by one. U+FFFD, which no URL has, replaces anything that is not a character of XML.

    The first bytes of the file say the charset; if they do not, it is UTF-8. If then bytes are not UTF-8, the charset that
    the server names takes over.

    Args:
        pieces: the file.
        server_charset: the charset that the server names, by Python's name for it.
    """
    first = b""
    for piece in pieces:
        first += piece
        if len(first) >= _HEAD:
            break
    charset, mark = read_bom(first)
    declared = _DECLARED.match(first)
    if charset is None:
        charset = _WIDE.get(first[:2]) or _usable(resolve_encoding(declared[1].decode("ascii")) if declared else None)
    otherwise = None if charset else _usable(server_charset)
    for text in _decoded_in(chain((first[len(mark or b"") :],), pieces), charset or "utf-8", otherwise):
        yield NO_CHARACTER.sub(SPOILT, text)


def _usable(charset: str | None) -> str | None:
    return charset if charset is not None and charset.startswith(_CHARSETS) else None


def _decoded_in(pieces: Iterator[bytes], charset: str, otherwise: str | None) -> Iterator[str]:
    """Decode `pieces`. From where `charset` fails, decode in the charset `otherwise` if there is one."""
    decoder = codecs.getincrementaldecoder(charset)("strict" if otherwise else "replace")
    for piece in chain(pieces, (None,)):
        begun, _ = decoder.getstate()  # the bytes of a character that has not ended
        try:
            yield decoder.decode(piece or b"", final=piece is None)
        except UnicodeDecodeError:
            decoder = codecs.getincrementaldecoder(otherwise or charset)("replace")
            yield decoder.decode(begun + (piece or b""), final=piece is None)


def _format_of(head: str) -> tuple[Xml | _PlainText, str]:
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
