"""Decodes the bytes of a sitemap.

Pure. The first bytes of the file say the charset; if they do not, it is UTF-8. If then bytes are not UTF-8, the charset that
the server names takes over. Source: sitemaps.org, "Sitemap file requirements"; XML 1.0, appendix F.
"""

from __future__ import annotations

import codecs
import re
from itertools import chain
from typing import TYPE_CHECKING

from w3lib.encoding import read_bom, resolve_encoding

from .ampersands import NO_CHARACTER, SPOILT

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = 1_024  # bytes that tell a charset
_DECLARED = re.compile(rb"^\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([A-Za-z0-9._:-]{1,40})[\"']")
_WIDE = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}  # XML in two bytes a character and without a byte order mark
# Charsets in which markup is ASCII, by the beginnings of Python's names. Other codecs of Python's, such as UTF-7, could
# make markup of text.
_CHARSETS = ("utf-8", "ascii", "iso8859", "cp125", "koi8", "gb", "big5", "shift_jis", "cp932", "euc", "cp949")


def decoded(pieces: Iterator[bytes], server_charset: str | None) -> Iterator[str]:
    """Decode the `pieces` of a file one by one. U+FFFD, which no URL has, replaces anything that is not a character of XML.

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
    for text in _decoded(chain((first[len(mark or b"") :],), pieces), charset or "utf-8", otherwise):
        yield NO_CHARACTER.sub(SPOILT, text)


def _usable(charset: str | None) -> str | None:
    return charset if charset is not None and charset.startswith(_CHARSETS) else None


def _decoded(pieces: Iterator[bytes], charset: str, otherwise: str | None) -> Iterator[str]:
    """Decode `pieces`. From where `charset` fails, decode in the charset `otherwise` if there is one."""
    decoder = codecs.getincrementaldecoder(charset)("strict" if otherwise else "replace")
    for piece in chain(pieces, (None,)):
        begun, _ = decoder.getstate()  # the bytes of a character that has not ended
        try:
            yield decoder.decode(piece or b"", final=piece is None)
        except UnicodeDecodeError:
            decoder = codecs.getincrementaldecoder(otherwise or charset)("replace")
            yield decoder.decode(begun + (piece or b""), final=piece is None)
