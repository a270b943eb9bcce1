"""Reading one sitemap file piece by piece: gzipped or not, in any charset, within the limits of sitemaps.org.

Pure: bytes in, entries out, lazily, so that the first entry is there before the file is read through. Whatever is in
it, a file costs no more than `MAX_BYTES` of work, and no memory to speak of; one that ends early is good up to there.
What the characters mean is told by `sitemap_formats`. Source: sitemaps.org, "Sitemap file requirements".
"""

from __future__ import annotations

import codecs
import re
import zlib
from itertools import chain
from typing import TYPE_CHECKING

from w3lib.encoding import read_bom, resolve_encoding

from ..policy.served import gunzipped
from .formats import format_of
from .xml import NotASitemap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .formats import Format
    from .xml import SitemapEntry

MAX_BYTES = 52_428_800  # uncompressed, and
MAX_ENTRIES = 50_000  # in one file (sitemaps.org, "Sitemap file requirements")

_PIECE = 8_192  # bytes read at a time: a millisecond, or two if there is nothing but elements
_HEAD = 1_024  # characters that tell a format
_GZIP = b"\x1f\x8b"
_MOST_PIECES = 3_200  # that gzip unpacks; they are of 64 KiB, or what a file in many members has in one
_MOST_GZIPS = 2  # within one another: servers compress what is compressed already


class SitemapReader:
    """Iterate over it for the entries of a file. None among them means: a good moment to let others have their turn.

    Attributes:
        entries: how many have been read.
        over_limit: whether the file has more than sitemaps.org allows; what is beyond it is not read.
        trouble: why reading ended before the end of the file; empty if it did not.
    """

    def __init__(self, body: bytes, charset: str | None = None) -> None:
        """Take a file, and the charset that its server says it has, by Python's name; the file itself knows better."""
        self._body = body
        self._charset = charset
        self._form: Format | None = None
        self.entries = 0
        self.over_limit = False
        self.trouble = ""

    @property
    def is_index(self) -> bool:
        """Whether the entries are sitemaps, not pages; known with the first of them."""
        return self._form is not None and self._form.is_index

    @property
    def broken(self) -> int:
        """How many entries could not be made out so far."""
        return self._form.broken if self._form is not None else 0

    def __iter__(self) -> Iterator[SitemapEntry | None]:
        try:
            yield from self._read()
        except NotASitemap as error:
            self.trouble = self.trouble or str(error)

    def _read(self) -> Iterator[SitemapEntry | None]:
        texts = _texts(_cut(self._limited(_unpacked(self._pieces()))), self._charset)
        head = ""
        for text in texts:
            head = (head + text).lstrip()
            if len(head) >= _HEAD:
                break
            yield None
        form, head = format_of(head)
        self._form = form
        yield from self._entries(form.feed(head))
        for text in texts:
            yield None
            yield from self._entries(form.feed(text))
            if self.over_limit:
                return
        if not self.over_limit and not self.trouble:
            yield from self._entries(form.close())

    def _pieces(self) -> Iterator[bytes]:
        for start in range(0, len(self._body), _PIECE):
            yield self._body[start : start + _PIECE]

    def _limited(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Let the first `MAX_BYTES` pass, or as many as can be decompressed."""
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

    def _entries(self, entries: Iterator[SitemapEntry]) -> Iterator[SitemapEntry]:
        for entry in entries:
            if self.entries >= MAX_ENTRIES:
                self.over_limit = True
                return
            self.entries += 1
            yield entry


def _cut(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Make small pieces of what was unpacked from one."""
    for piece in pieces:
        for start in range(0, len(piece), _PIECE):
            yield piece[start : start + _PIECE]


def _unpacked(pieces: Iterator[bytes], layers: int = 0) -> Iterator[bytes]:
    """Take off as many layers of gzip as there are, up to a few; a layer is known by its first bytes."""
    first = next(pieces, b"")
    while len(first) < len(_GZIP) and (more := next(pieces, b"")):
        first += more
    whole: Iterator[bytes] = chain((first,), pieces)
    if first.startswith(_GZIP) and layers < _MOST_GZIPS:
        whole = _unpacked(_bounded(gunzipped(whole)), layers + 1)
    yield from whole


def _bounded(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Stop a layer that says next to nothing at great length: many pieces, or many that are empty."""
    for number, piece in enumerate(pieces):
        if number > _MOST_PIECES:
            raise NotASitemap("there is no end to the compressed data")
        yield piece


_DECLARED = re.compile(rb"^\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([A-Za-z0-9._:-]{1,40})[\"']")
# Charsets in which markup is ASCII, by the beginnings of Python's names for them; Python knows stranger ones.
_CHARSETS = ("utf-8", "ascii", "iso8859", "cp125", "koi8", "gb", "big5", "shift_jis", "cp932", "euc", "cp949")
_WIDE = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}  # XML in two bytes a character, even if it does not say so
_CONTROLS = {code: "\ufffd" for code in (*range(0x20), 0x7F, 0xFFFE, 0xFFFF) if chr(code) not in "\t\n\r"}


def _texts(pieces: Iterator[bytes], said: str | None) -> Iterator[str]:
    """Decode; what is no character of XML becomes U+FFFD, which no URL has.

    The charset is UTF-8 unless the file's first bytes say another; if it is not UTF-8 after all, it is the one `said`.
    """
    first = b""
    for piece in pieces:
        first += piece
        if len(first) >= _HEAD:
            break
    charset, mark = read_bom(first)
    if charset is None:
        declared = _DECLARED.match(first)
        charset = _WIDE.get(first[:2]) or _usable(resolve_encoding(declared[1].decode("ascii")) if declared else None)
    otherwise = None if charset else _usable(said)
    whole = chain((first[len(mark or b"") :],), pieces)
    for text in _decoded(whole, charset or "utf-8", otherwise):
        yield text.translate(_CONTROLS)


def _usable(charset: str | None) -> str | None:
    return charset if charset is not None and charset.startswith(_CHARSETS) else None


def _decoded(pieces: Iterator[bytes], charset: str, otherwise: str | None) -> Iterator[str]:
    """Decode, and go on in the charset `otherwise`, if there is one, from where that fails."""
    decoder = codecs.getincrementaldecoder(charset)("strict" if otherwise else "replace")
    for piece in chain(pieces, (None,)):
        begun, _ = decoder.getstate()  # the bytes of a character that has not ended
        try:
            yield decoder.decode(piece or b"", final=piece is None)
        except UnicodeDecodeError:
            decoder = codecs.getincrementaldecoder(otherwise or charset)("replace")
            yield decoder.decode(begun + (piece or b""), final=piece is None)
