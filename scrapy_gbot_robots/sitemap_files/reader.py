"""SitemapReader: reads one sitemap file piece by piece, gzipped or not, within the limits of sitemaps.org.

Pure: bytes in, sitemap entries out. A file passes through a chain of iterators, and each reads only what the next one wants:

    cut into pieces -> gunzipped -> limited to MAX_BYTES -> cut again -> decoded -> format -> entries

So the first entry comes before the whole file is read. Reading costs no more than `MAX_BYTES` of work and next to no memory,
whatever the file contains. A file that ends early is used as far as it goes.
Source: sitemaps.org, "Sitemap file requirements".
"""

from __future__ import annotations

import zlib
from itertools import chain
from typing import TYPE_CHECKING

from ..policy.decoding import gunzipped
from .charset import decoded
from .formats import format_of
from .xml import NotASitemap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .formats import SitemapFormat
    from .xml import SitemapEntry

MAX_BYTES = 52_428_800  # of one file, uncompressed (sitemaps.org, "Sitemap file requirements")
MAX_ENTRIES = 50_000  # of one file (the same)

_PIECE = 8_192  # bytes read at a time: work of a millisecond, or of two if the file has nothing but elements
_HEAD = 1_024  # characters that show the format
_GZIP = b"\x1f\x8b"
_MOST_PIECES = 3_200  # pieces of 64 KiB, or of one gzip member, that a layer of gzip unpacks to
_MOST_GZIPS = 2  # layers of gzip: some servers compress a file that is compressed already


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
        self._format: SitemapFormat | None = None
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
        texts = decoded(pieces, self._charset)
        head = ""
        for text in texts:
            head = (head + text).lstrip()
            if len(head) >= _HEAD:
                break
            yield None
        self._format, head = format_of(head)
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
