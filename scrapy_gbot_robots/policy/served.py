"""Content decoding that stops: of a compressed robots.txt the first bytes are decoded and no more, whatever follows.

Pure. Each coding is a generator that turns pieces into pieces, so that layers stack and none runs ahead of what is
asked of it; a bomb costs one piece. Why not Scrapy's HttpCompressionMiddleware: it decodes all or throws away all.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ACCEPTED = "gzip, deflate"  # what a robots.txt request says it accepts; `br` is understood when sent all the same

_PIECE = 65_536  # bytes decoded at a time
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_MAX_LAYERS = 4


class DecodeError(ValueError):
    """The body is not what its Content-Encoding says, or ends too early."""


def decoded(
    body: bytes, content_encoding: str, limit: int, *, whole: bool = True, may_be_empty: bool = True
) -> tuple[bytes, bool]:
    """Undo the content codings of `body` as far as its first `limit` bytes.

    Args:
        body: what came over the wire, in bytes.
        content_encoding: the Content-Encoding header's value; codings in the order they were applied.
        limit: how many decoded bytes are wanted at the most.
        whole: whether `body` is all there is; if it was cut off, an early end is no error.
        may_be_empty: whether no bytes at all are an empty file in any coding, as servers mean it that say so.

    Returns:
        The decoded bytes, and whether there were more.

    Raises:
        DecodeError: the body is broken or incomplete, or a coding is unknown.
    """
    codings = [name for name in (part.strip().lower() for part in content_encoding.split(",")) if name != "identity"]
    codings = [name for name in codings if name]
    if not codings or (may_be_empty and not body):
        return body[:limit], len(body) > limit or not whole
    unknown = [name for name in codings if name not in _DECODERS]
    if unknown or len(codings) > _MAX_LAYERS:
        raise DecodeError(f"Content-Encoding {content_encoding[:80]!r} is not understood")
    pieces: Iterable[bytes] = (body[start : start + _PIECE] for start in range(0, len(body), _PIECE))
    for name in reversed(codings):
        pieces = _DECODERS[name](iter(pieces))
    out = bytearray()
    try:
        for piece in pieces:
            out += piece
            if len(out) > limit:
                del out[limit:]
                return bytes(out), True
    except EOFError:
        if whole:
            raise DecodeError(f"the {content_encoding[:80]} body ends too early") from None
        return bytes(out), True
    except Exception as error:  # zlib.error, brotli.error, and whatever a decoder makes of hostile bytes
        raise DecodeError(f"the {content_encoding[:80]} body is broken: {error}") from error
    return bytes(out), not whole


def _unzipped(pieces: Iterator[bytes], wbits: int) -> Iterator[bytes]:
    stream = zlib.decompressobj(wbits)
    for piece in pieces:
        waiting = piece
        while waiting:
            if stream.eof:  # gzip files may follow one another; anything else behind the end is padding
                if wbits != _GZIP or not waiting.startswith(b"\x1f\x8b"):
                    return
                stream = zlib.decompressobj(wbits)
            yield stream.decompress(waiting, _PIECE)
            waiting = stream.unused_data if stream.eof else stream.unconsumed_tail
        while not stream.eof and (rest := stream.decompress(b"", _PIECE)):
            yield rest
    if not stream.eof:
        raise EOFError


def gunzipped(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Undo gzip piece by piece; raises EOFError at an early end and zlib.error at what is not gzip."""
    return _unzipped(pieces, _GZIP)


def _inflated(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """`deflate` is zlib by the letter of RFC 9110 8.4.1.2, and raw deflate from some servers."""
    first = next(pieces, b"")
    is_zlib = len(first) > 1 and first[0] & 0x0F == zlib.DEFLATED and (first[0] << 8 | first[1]) % 31 == 0

    def again() -> Iterator[bytes]:
        yield first
        yield from pieces

    yield from _unzipped(again(), _ZLIB if is_zlib else _RAW)


def _unbrotlied(pieces: Iterator[bytes]) -> Iterator[bytes]:
    import brotli  # noqa: PLC0415  not asked for, so not needed

    stream = brotli.Decompressor()
    for piece in pieces:
        yield stream.process(piece, output_buffer_limit=_PIECE)
        while not stream.can_accept_more_data():
            yield stream.process(b"", output_buffer_limit=_PIECE)
    if not stream.is_finished():
        raise EOFError


_DECODERS: dict[str, Callable[[Iterator[bytes]], Iterator[bytes]]] = {
    "br": _unbrotlied,
    "deflate": _inflated,
    "gzip": gunzipped,
    "x-gzip": gunzipped,
}
