"""Recover the bytes of a robots.txt from the body of a response.

`decoded` undoes content codings such as gzip. `as_served` removes the page that a browser makes
around a text file.

Only the first bytes of a compressed robots.txt are decoded, however long the file is. Each decoder
is a generator that yields small pieces, so a decompression bomb does no harm. Scrapy's
HttpCompressionMiddleware is not used, because it decodes the whole body, or drops a body that is
too long.

The sources are RFC 9110 8.4 (Content-Encoding), RFC 1952 2.2 (gzip), RFC 1950 (zlib), RFC 7932
(brotli), and RFC 8878 and 9659 (zstd).
"""

from __future__ import annotations

import codecs
import html
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

# The type of a body that is read or decoded piece by piece. Each piece is a bytes object.
Pieces: TypeAlias = Iterator[bytes]

# scrapy-playwright adds this flag to a response that comes from a browser.
RENDERED = "playwright"

# A decoder gets at most `_FED` bytes at a time, and yields at most `_PIECE` bytes at a time.
_FED = 8_192
_PIECE = 65_536
_MOST_CODINGS = 2
# If a body has two codings, `_bounded` limits the bytes and pieces that the outer decoder yields.
# Each limit is the sum of one of the next two numbers and a part that grows with the allowed size
# of a robots.txt. The two numbers are large, because the inner decoder may read many bytes before
# it yields the first one. A zstd decoder, for example, reads up to 128 KiB.
_OUTER_BYTES = 2**21
_MOST_PIECES = 1_000
# Values for zlib's parameter `wbits`, which selects the format of the compressed data.
_GZIP = 16 + zlib.MAX_WBITS
_ZLIB = zlib.MAX_WBITS
_RAW = -zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_WINDOW_LOG = 23  # RFC 9659 limits the window of a content coding to 8 MiB.

# If a body contains one of these bytes, a browser does not treat it as text
# (mimesniff.spec.whatwg.org 3).
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
# The length of the shortest text with a rule, in bytes.
_SHORTEST_FILE = len(b"user-agent:*\ndisallow:/")

# The page that a browser makes around a text file. The group of this expression matches the text of
# the file, in which characters such as "<" are escaped.
_TEXT_FILE = re.compile(
    rb"\A<html><head>(?:<(?:meta|link)[^<>]{0,200}>){0,4}</head><body><pre[^<>]{0,200}>([^<]*)</pre></body></html>\Z"
)


class DecodeError(ValueError):
    """Raised if a body does not have the coding named in its header, or if it ends too early."""


class NoDecoderError(DecodeError):
    """Raised if no installed module can decode the body. The body may be correct."""


def as_served(body: bytes, flags: Collection[str]) -> bytes:
    """Return the text file that the server sent, without the page that a browser made around it.

    To show a text file, a browser makes a page with the text in a `pre` element. The parser for
    robots.txt files would miss the first line of the text, which follows a tag on the same line.

    Args:
        body: the body of a response, without content codings. If it is not a page of this kind, it
            is returned unchanged.
        flags: the flags of the response. If they do not contain `RENDERED`, the response does not
            come from a browser, and `body` is returned unchanged.
    """
    if RENDERED not in flags:
        return body
    element = _TEXT_FILE.match(body)
    if element is None:
        return body
    text = element[1].decode("utf-8", "surrogateescape")
    return html.unescape(text).encode("utf-8", "surrogateescape")


def is_decoded(body: bytes) -> bool:
    """Return whether `body` is certainly text, and not the bytes of a content coding.

    It is text if its beginning is UTF-8 and contains no byte of binary data. Encoded data contains
    such bytes, but perhaps not among its first few bytes. So the result is False if the body is
    shorter than the shortest robots.txt with a rule.
    """
    head = body[:_PIECE]
    if len(head) < _SHORTEST_FILE or _BINARY.search(head):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # `head` may end within a character.
    except UnicodeDecodeError:
        return False
    return True


def decoded(
    body: bytes, content_encoding: str, limit: int, *, whole: bool = True, may_be_empty: bool = True
) -> tuple[bytes, bool]:
    """Undo the content codings of `body`, and return the first `limit` decoded bytes.

    Some servers send a Content-Encoding that is not the name of a coding, such as `utf-8`, `none`
    or `aws-chunked`. As browsers do, this function ignores an unknown word if the decoded body is
    text. If the body is not text, the function raises DecodeError, because the unknown word may be
    the name of a coding.

    Args:
        body: the bytes that the server sent.
        content_encoding: the value of the Content-Encoding header. If it names two codings, the
            last one is undone first.
        limit: the largest number of decoded bytes to return.
        whole: whether `body` is complete. If `whole` is False, `body` may end early.
        may_be_empty: whether a body of 0 bytes is an empty file, even if the header names a
            coding. Some servers send an empty file in this way.

    Returns:
        The first decoded bytes, and whether the file has more bytes than these.

    Raises:
        DecodeError: the body is broken or incomplete, the coding is unknown, or there are more than
            two codings.
        NoDecoderError: the module that can undo the coding is not installed, or is too old.
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
    except NoDecoderError:
        raise
    # If the bytes are hostile, decoders raise exceptions of many classes, such as zlib.error.
    except Exception as error:
        raise DecodeError(f"the {named} body is broken: {error}") from error
    text = bytes(out[:limit])
    unknown = set(words) - {"", "identity", *codings}
    if unknown and _BINARY.search(text):
        raise not_understood
    return text, len(out) > limit or not whole


def _undone(pieces: Pieces, codings: Sequence[str], limit: int) -> Pieces:
    """Undo `codings`, the last one first."""
    for outer in codings[:0:-1]:
        pieces = _bounded(_DECODERS[outer](pieces), limit)
    for inner in codings[:1]:
        pieces = _DECODERS[inner](pieces)
    return pieces


def _bounded(pieces: Pieces, limit: int) -> Pieces:
    """Yield the items of `pieces`. If there are too many of them, raise DecodeError.

    If a body has two codings, `pieces` is the output of the outer decoder, and the inner decoder
    reads it. A hostile body may contain millions of pieces for which the inner decoder yields
    nothing, such as empty gzip files.

    Raises:
        DecodeError: there are more pieces or bytes than a robots.txt of `limit` bytes can need.
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
    """Decompress `pieces` with zlib.

    Several gzip files may follow one another, with zero bytes between them (RFC 1952 2.2; gzip.org,
    FAQ 8). Any other bytes after the end are padding, and are ignored.

    Raises:
        EOFError: the pieces end too early.
        zlib.error: the bytes are not in the format that `wbits` selects.
    """
    stream = zlib.decompressobj(wbits)
    waiting = b""
    for piece in pieces:
        waiting += piece
        while waiting:
            if stream.eof:
                waiting = waiting.lstrip(b"\0")
                # `waiting` may be the beginning of another gzip file. The next piece shows whether
                # it is one.
                if _GZIP_MAGIC.startswith(waiting):
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

    Raises:
        EOFError: the pieces end too early.
        zlib.error: the bytes are not gzip.
    """
    return _unzipped(pieces, _GZIP)


def _inflated(pieces: Pieces) -> Pieces:
    """Decompress data that has the coding `deflate`.

    This coding is the zlib format (RFC 9110 8.4.1.2), but some servers send raw deflate data
    without the zlib header.
    """
    first = next(pieces, b"")
    wbits = _RAW
    # In the first byte of a zlib header, the lower four bits are 8 (`zlib.DEFLATED`). Raw deflate
    # data cannot begin with such a byte.
    if first and first[0] & 0x0F == zlib.DEFLATED:
        wbits = _ZLIB
    yield from _unzipped(chain((first,), pieces), wbits)


def _unbrotlied(pieces: Pieces) -> Pieces:
    stream = _module("br").Decompressor()
    for piece in pieces:
        waiting = piece
        # The decoder returns only a part of its output at a time. So ask it again, without new
        # input, until it returns nothing.
        while out := stream.process(waiting, output_buffer_limit=_PIECE):
            yield out
            waiting = b""
    if not stream.is_finished():
        raise EOFError


def _unzstd(pieces: Pieces) -> Pieces:
    """Decompress one zstd frame.

    Raises:
        DecodeError: there is a second frame.
        EOFError: the pieces end too early.
    """
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
    """Return the module that can decode `coding`.

    Raises:
        NoDecoderError: no such module is installed, or it is too old.
    """
    modules = _MODULES[coding]
    for name in modules.names:
        with suppress(ImportError, AttributeError):
            module = import_module(name)
            attrgetter(modules.needed)(module)
            return module
    raise NoDecoderError(f"to read the coding {coding}, install {modules.to_install}")


class _Modules(NamedTuple):
    """The modules that can decode one coding.

    Attributes:
        names: their names. The first module that is installed and not too old is used.
        needed: a class and its attribute. If a module lacks the attribute, it is too old.
        to_install: what a user has to install, as human-readable text.
    """

    names: tuple[str, ...]
    needed: str
    to_install: str


_MODULES = {
    # Both packages have had the attribute below, and `output_buffer_limit`, since version 1.2.
    "br": _Modules(
        ("brotli", "brotlicffi"),
        "Decompressor.can_accept_more_data",
        "brotli or brotlicffi, version 1.2 or newer",
    ),
    "zstd": _Modules(
        ("compression.zstd", "backports.zstd"),
        "ZstdDecompressor.needs_input",
        "backports.zstd, or Python 3.14 or newer",
    ),
}
_DECODERS: dict[str, Callable[[Pieces], Pieces]] = {
    "br": _unbrotlied,
    "deflate": _inflated,
    "gzip": gunzipped,
    "x-gzip": gunzipped,
    "zstd": _unzstd,
}
