"""An HTTP answer in an archive, read as Scrapy's default client reads it from the wire.

Half an answer is none: what a crawl would not accept must not allow anything here. So a body ends
where its length or its last chunk says, and a head that this client rejects is rejected.
Archives may have undone the chunks and kept the header that announces them: that is read, too.
Sources: RFC 9112 (HTTP/1.1); twisted.web._newclient, as Scrapy's HTTP11DownloadHandler uses it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from ..core.urls import shown

MOST_HEAD = 65_536  # bytes of a status line and the headers

_MOST_HEADS = 20  # of one answer
_MOST_CHUNK_LINE = 1_024  # bytes of a line that begins a chunk
# "h2" is how archives of 1.0.0rc1 name HTTP/2.
_STATUS_LINE = re.compile(rb"(HTTP/\d(?:\.\d)?|h[23]) (\d{3})(?: .*)?")
_FRAMED = (b"HTTP/2", b"HTTP/3", b"h")  # frames say where a body ends
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_END_OF_FIELD = re.compile(rb"\n(?![ \t])")  # a header may go on in the next line
_LENGTH = re.compile(r"[ \t]*[0-9]{1,1000}[ \t]*")
_TOKEN = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[^\r\n]*)?\r\n")
# What nobody but a server writes that means to begin a chunk.
_LIKE_A_CHUNK = re.compile(rb"[ \t+-]*(?:0[xX])?[0-9A-Fa-f_]{1,16}[ \t]*(?:;[^\r\n]*)?\r?\n")
_TRAILERS = re.compile(rb"(?:[^\r\n]+\r\n)*\r\n")

_BY_LENGTH = "length"  # of WARC-Truncated, as against "time" and "disconnect"
_CHUNKED = "chunked"
# Of a connection, which HTTP/2 and 3 forbid (RFC 9113 8.2.2).
_OF_CONNECTION = (
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
)
_INFORMATION = range(100, 200)
_WITHOUT_BODY = frozenset({204, 304})
SUCCESS = range(200, 300)  # with another status, the body is not needed


# The values of each header in their order, by its name in lower case.
Headers: TypeAlias = dict[str, list[str]]


class NoMessageError(ValueError):
    """There is no HTTP answer."""


class BrokenMessageError(ValueError):
    """There is an HTTP answer, but no client would accept it, or not all of it is there."""


class Message(NamedTuple):
    """An HTTP answer without its transfer coding."""

    status: int
    headers: Headers
    body: bytes  # as much as was asked for
    is_cut: bool  # whether there was more of the body
    may_be_empty: bool  # whether an empty body is a whole one: the answer says that it ends here


def message_of(block: bytes, truncated: str, most: int) -> Message:
    """Read an answer, with up to `most` bytes of its body.

    Args:
        block: the answer, or its beginning.
        truncated: why whoever made the archive has no more than this beginning: "length" if they
            kept no more, another word if no more arrived; "" for a whole answer.
        most: the most bytes of the body to return. If the answer is longer than `block`, this has
            more of the body.

    Raises:
        NoMessageError: `block` does not begin with a whole head.
        BrokenMessageError: a client would not accept this answer, or its body ends early and the
            status does not decide alone.
    """
    head = _answer_head(block)
    if head.status in _WITHOUT_BODY and not head.is_framed:
        return Message(head.status, head.headers, b"", is_cut=False, may_be_empty=True)
    codings = _codings_of(head)
    length = None
    if not codings:
        length = _length_of(head)
    is_cut = truncated == _BY_LENGTH
    may_be_empty = bool(codings) or length is not None or head.is_framed
    try:
        if truncated and not is_cut:
            raise BrokenMessageError(f"the body ended early ({shown(truncated, 20)})")  # noqa: TRY301
        if codings:
            body, is_cut = _dechunked(head.rest, most, is_cut=is_cut)
        else:
            body, is_cut = _measured(head, most, length, is_cut=is_cut)
    except BrokenMessageError:
        if head.status in SUCCESS:
            raise
        body = b""
    return Message(head.status, head.headers, body, is_cut, may_be_empty)


class _Head(NamedTuple):
    status: int
    headers: Headers
    rest: bytes  # what follows
    is_framed: bool  # whether it came over HTTP/2 or 3, whose frames say where a body ends


def _answer_head(block: bytes) -> _Head:
    """Return the head of the answer itself, after those that only say that it will come."""
    for _ in range(_MOST_HEADS):
        head = _head(block)
        if head.status not in _INFORMATION:
            return head
        block = head.rest
        if not block:
            break
    raise BrokenMessageError("the answer itself is missing")


def _head(block: bytes) -> _Head:
    end = _END_OF_HEAD.search(block, 0, MOST_HEAD)
    if end is None:
        raise NoMessageError("no HTTP answer")
    first, _, fields = block[: end.start()].partition(b"\n")
    status = _STATUS_LINE.fullmatch(first.removesuffix(b"\r"))
    if status is None:
        raise NoMessageError("no HTTP answer")
    if fields.startswith((b" ", b"\t")):
        raise BrokenMessageError("a header begins with a blank")
    headers: Headers = {}
    for field in _END_OF_FIELD.split(fields):
        name, colon, value = field.partition(b":")
        if not colon:
            continue  # as in browsers
        if not _TOKEN.fullmatch(name):
            raise BrokenMessageError(f"{_text(name)[:40]!r} is no name of a header")
        text = b"".join(value.splitlines()).strip()
        headers.setdefault(name.decode("ascii").lower(), []).append(_text(text))
    return _Head(int(status[2]), headers, block[end.end() :], status[1].startswith(_FRAMED))


def _codings_of(head: _Head) -> Sequence[str]:
    """Return the transfer codings. Raises BrokenMessageError if a client would reject them."""
    codings = head.headers.get("transfer-encoding", ())
    if codings and {coding.lower() for coding in codings} != {_CHUNKED}:
        raise BrokenMessageError(f"Transfer-Encoding {', '.join(codings)[:80]!r} is not undone")
    if head.is_framed:
        for name in _OF_CONNECTION:
            if name in head.headers:
                raise BrokenMessageError(f"HTTP/2 has no header {name!r}")
    return codings


def _length_of(head: _Head) -> int | None:
    """Return the Content-Length; None if there is none."""
    if "content-length" not in head.headers:
        return None
    values = ",".join(head.headers["content-length"]).split(",")
    for value in values:
        if not _LENGTH.fullmatch(value):
            raise BrokenMessageError(f"Content-Length {value[:40]!r} is no length")
    lengths = list(map(int, values))
    if len(set(lengths)) > 1 or (head.is_framed and len(lengths) > 1):
        raise BrokenMessageError("two lengths are given")
    return lengths[0]


def _measured(head: _Head, most: int, length: int | None, *, is_cut: bool) -> tuple[bytes, bool]:
    """Return a body of `length` bytes, or as long as the answer is, and whether it is cut."""
    raw = head.rest
    if length is not None and len(raw) >= length:
        if head.is_framed and length < len(raw):
            raise BrokenMessageError("the body is longer than its length says")
        raw, is_cut = raw[:length], False
    elif length is not None and len(raw) <= most and not is_cut:
        raise BrokenMessageError("the body ended early")
    return raw[:most], is_cut or len(raw) > most


def _dechunked(raw: bytes, most: int, *, is_cut: bool) -> tuple[bytes, bool]:
    """Return a body that came in chunks, and whether it is cut.

    The archive may have undone the chunks.
    """
    if raw and not _LIKE_A_CHUNK.match(raw):
        return raw[:most], is_cut or len(raw) > most
    body = bytearray()
    end = 0
    while len(body) <= most:
        chunk = _CHUNK.match(raw, end, end + _MOST_CHUNK_LINE)
        if chunk is None:
            break
        begin, size = chunk.end(), int(chunk[1], 16)
        if size == 0 and _TRAILERS.match(raw, begin):
            return bytes(body), False
        if size == 0:
            break
        body += raw[begin : begin + size]
        end = begin + size + len(b"\r\n")
        if not b"\r\n".startswith(raw[begin + size : end]):
            raise BrokenMessageError("a chunk is broken")
    else:
        return bytes(body[:most]), True
    if not is_cut or end < len(raw) - _MOST_CHUNK_LINE:  # it may be cut within that line
        raise BrokenMessageError("the chunks have no end")
    return bytes(body), True


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
