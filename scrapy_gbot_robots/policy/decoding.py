"""The bytes of a robots.txt as its site served them, without content codings and browser's page.

Pure. Only the first bytes of a compressed robots.txt are decoded, whatever follows: a coding is a
generator that turns pieces into pieces, and a decompression bomb costs one piece. Of two codings
the outer one has a bound of its own, since the inner one may make nothing of what it gets. Scrapy's
HttpCompressionMiddleware is no use here: it decodes the whole body or drops it.
Sources: RFC 9110 8.4 (Content-Encoding), RFC 1952 2.2 (gzip), RFC 1950 (zlib), RFC 7932 (brotli),
RFC 8878 and 9659 (zstd).
"""

from __future__ import annotations

import html
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain
from typing import Any, TypeAlias

Pieces: TypeAlias = Iterator[bytes]  # of a body

RENDERED = "playwright"  # the flag that scrapy-playwright sets on a response from a browser

# bytes that a decoder is given and gives at a time
_FED = 8_192
_PIECE = 65_536
_MOST_CODINGS = 2
# of an outer coding, beside those that the text needs: a zstd block of the inner one is 128 KiB
_OUTER_BYTES = 2**21
_MOST_PIECES = 1_000  # of an outer coding, beside those that long texts need
_GZIP = 16 + zlib.MAX_WBITS
_ZLIB = zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_WINDOW_LOG = 23  # RFC 9659: no more than 8 MiB of memory for a content coding

# What a browser takes for binary (mimesniff.spec.whatwg.org 3).
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")

_TEXT_FILE = re.compile(
    rb"\A<html><head>(?:<(?:meta|link)[^<>]{0,200}>){0,4}</head><body><pre[^<>]{0,200}>([^<]*)</pre></body></html>\Z"
)


class DecodeError(ValueError):
    """The body is not what its Content-Encoding says, or ends too early."""


def as_served(body: bytes, flags: Collection[str]) -> bytes:
    """Return the text file in `body` if `flags` say that a browser made the page around it.

    Otherwise return `body` itself.

    A browser shows a text file escaped, in a `pre` element. The parser would not see the first
    User-agent line of such a page, and so would lose the rules below it.
    """
    if RENDERED not in flags:
        return body
    element = _TEXT_FILE.match(body)
    if element is None:
        return body
    text = element[1].decode("utf-8", "surrogateescape")
    return html.unescape(text).encode("utf-8", "surrogateescape")


def decoded(
    body: bytes, content_encoding: str, limit: int, *, whole: bool = True, may_be_empty: bool = True
) -> tuple[bytes, bool]:
    """Undo the content coding of `body`, for the first `limit` decoded bytes.

    A word that names no coding, such as `utf-8`, `none` or `aws-chunked`, is a server's mistake.
    Browsers read such a body as it is; this function does so, too, if the body is text. In a coding
    that is not known here it is no text.

    Args:
        body: the bytes as they came over the wire.
        content_encoding: the Content-Encoding header's value. No more than two codings are undone,
            the last one first.
        limit: the most decoded bytes to return.
        whole: whether `body` is complete. In a body that was cut off, an early end is no error.
        may_be_empty: whether a body of no bytes is an empty file in any coding, as some servers
            send it.

    Returns:
        The decoded bytes, and whether there were more.

    Raises:
        DecodeError: the body is broken or incomplete, or the coding is unknown.
    """
    words = [word.strip() for word in content_encoding.lower().split(",")]
    codings = [word for word in words if word in _DECODERS]
    named = content_encoding[:80]
    not_understood = DecodeError(f"Content-Encoding {named!r} is not understood")
    if may_be_empty and not body:
        return b"", not whole
    if len(codings) > _MOST_CODINGS:
        raise not_understood
    pieces: Pieces = (body[start : start + _FED] for start in range(0, len(body), _FED))
    pieces = _undone(pieces, codings, limit)
    out = bytearray()
    try:
        for piece in pieces:
            out += piece
            if len(out) > limit:
                break
    except EOFError:
        if whole:
            raise DecodeError(f"the {named} body ends too early") from None
    # zlib.error, brotli.error, and whatever else a decoder raises on hostile bytes
    except Exception as error:
        raise DecodeError(f"the {named} body is broken: {error}") from error
    text = bytes(out[:limit])
    unknown = set(words) - {"", "identity", *codings}
    if unknown and _BINARY.search(text):
        raise not_understood
    return text, len(out) > limit or not whole


def _undone(pieces: Pieces, codings: Sequence[str], limit: int) -> Pieces:
    """Undo codings in turn, the last first, since it was applied last."""
    for outer in codings[:0:-1]:
        pieces = _bounded(_DECODERS[outer](pieces), limit)
    for inner in codings[:1]:
        pieces = _DECODERS[inner](pieces)
    return pieces


def _bounded(pieces: Pieces, limit: int) -> Pieces:
    """Pass on what an outer coding decodes to, as far as `limit` bytes of text can need.

    Raises:
        DecodeError: there is more of it. The inner coding has made nothing of that, as of empty
            files.
    """
    bytes_left = 2 * limit + _OUTER_BYTES
    pieces_left = _MOST_PIECES + 2 * limit // _FED
    for piece in pieces:
        bytes_left -= len(piece)
        pieces_left -= 1
        if bytes_left < 0 or pieces_left < 0:
            raise DecodeError("the outer coding has no end")
        yield piece


def _unzipped(pieces: Pieces, wbits: int) -> Pieces:
    """Decompress with zlib.

    Gzip files may follow one another, with zeros between them (RFC 1952 2.2; gzip.org, FAQ 8).

    Anything else after the end is padding.
    """
    stream = zlib.decompressobj(wbits)
    waiting = b""
    for piece in pieces:
        waiting += piece
        while waiting:
            if stream.eof:
                waiting = waiting.lstrip(b"\0")
                if _GZIP_MAGIC.startswith(waiting):  # the next piece says whether a file begins
                    break
                if wbits != _GZIP or not waiting.startswith(_GZIP_MAGIC):
                    return
                stream = zlib.decompressobj(wbits)
            yield stream.decompress(waiting, _PIECE)
            waiting = stream.unconsumed_tail
            if stream.eof:
                waiting = stream.unused_data
        while not stream.eof and (rest := stream.decompress(b"", _PIECE)):
            yield rest
    if not stream.eof or (waiting and wbits == _GZIP):
        raise EOFError


def gunzipped(pieces: Pieces) -> Pieces:
    """Decompress gzip piece by piece.

    Raises EOFError at an early end and zlib.error at bytes that are not gzip.
    """
    return _unzipped(pieces, _GZIP)


def _inflated(pieces: Pieces) -> Pieces:
    """Decompress `deflate`: zlib by RFC 9110 8.4.1.2, and raw deflate from some servers."""
    first = next(pieces, b"")
    wbits = _RAW
    if first and first[0] & 0x0F == zlib.DEFLATED:  # no raw deflate begins so
        wbits = _ZLIB
    yield from _unzipped(chain((first,), pieces), wbits)


def _unbrotlied(pieces: Pieces) -> Pieces:
    stream = _module("br").Decompressor()
    for piece in pieces:
        waiting = piece
        # also while more input may come: the decoder keeps some output back
        while out := stream.process(waiting, output_buffer_limit=_PIECE):
            yield out
            waiting = b""
    if not stream.is_finished():
        raise EOFError


def _unzstd(pieces: Pieces) -> Pieces:
    """Decompress zstd of one frame."""
    zstd = _module("zstd")
    options = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    stream = zstd.ZstdDecompressor(options=options)
    for piece in pieces:
        waiting = piece
        while not stream.eof and (waiting or not stream.needs_input):
            yield stream.decompress(waiting, _PIECE)
            waiting = b""
        if stream.eof and (waiting or stream.unused_data):
            raise DecodeError("more than one frame")
    if not stream.eof:
        raise EOFError


def _module(coding: str) -> Any:
    for name in _MODULES[coding]:
        with suppress(ImportError):
            return import_module(name)
    raise DecodeError(f"there is no module for {coding}")


_MODULES = {  # zstd is in Python 3.14; Scrapy 2.18 and newer bring the backport, and brotli
    "br": ("brotli", "brotlicffi"),
    "zstd": ("compression.zstd", "backports.zstd"),
}
_DECODERS: dict[str, Callable[[Pieces], Pieces]] = {
    "br": _unbrotlied,
    "deflate": _inflated,
    "gzip": gunzipped,
    "x-gzip": gunzipped,
    "zstd": _unzstd,
}
