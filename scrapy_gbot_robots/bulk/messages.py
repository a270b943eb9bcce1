"""An HTTP answer in an archive, read as Scrapy's default client reads it from the wire.

Half an answer is none: what a crawl would not accept must not allow anything here. So a body ends
where its length or its last chunk says, and a head that this client rejects is rejected.
Archives may have undone the chunks and kept the header that announces them: that is read, too.
Sources: RFC 9112 (HTTP/1.1); twisted.web._newclient, as Scrapy's HTTP11DownloadHandler uses it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..core.urls import shown

MOST_HEAD = 65_536  # bytes of a status line and the headers

_MOST_HEADS = 20  # of one answer
_MOST_CHUNK_LINE = 1_024  # bytes of a line that begins a chunk
# "h2" is how archives of 1.0.0rc1 name HTTP/2.
_STATUS_LINE = re.compile(rb"(HTTP/\d(?:\.\d)?|h[23]) (\d{3})(?: .*)?", re.DOTALL)
_FRAMED = (b"HTTP/2", b"HTTP/3", b"h")  # frames say where a body ends
_TOKEN = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[^\r\n]*)?\r\n")
# What nobody but a server writes that means to begin a chunk.
_LIKE_A_CHUNK = re.compile(rb"[ \t+-]*(?:0[xX])?[0-9A-Fa-f_]{1,16}[ \t]*(?:;[^\r\n]*)?\r?\n")
_TRAILERS = re.compile(rb"(?:[^\r\n]+\r\n)*\r\n")

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
_SUCCESS = range(200, 300)


class NoMessageError(ValueError):
    """There is no HTTP answer."""


class BrokenMessageError(ValueError):
    """There is an HTTP answer, but no client would accept it, or not all of it is there."""


class Headers:
    """The headers of an answer.

    Names are in lower case; the values of one name are in their order.
    """

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {}

    def add(self, line: bytes) -> None:
        """Add a line. One without a colon is passed over, as in browsers.

        Raises:
            BrokenMessageError: the name is none.
        """
        name, colon, value = line.partition(b":")
        if not colon:
            return
        if not _TOKEN.fullmatch(name):
            raise BrokenMessageError(f"{_text(name)[:40]!r} is no name of a header")
        value = b" ".join(value.strip().splitlines())
        self._values.setdefault(name.decode("ascii").lower(), []).append(_text(value))

    def all(self, name: str) -> list[str]:
        """Return the values of a header."""
        return self._values.get(name, [])

    def last(self) -> dict[str, str]:
        """Return the last value of each header: the one that counts in Scrapy."""
        return {name: values[-1] for name, values in self._values.items()}


class Message(NamedTuple):
    """An HTTP answer without its transfer coding."""

    status: int
    headers: Headers
    body: bytes  # as much as was asked for
    is_cut: bool  # whether there was more of the body
    may_be_empty: bool  # whether an empty body is a whole one: the answer says that it ends here


def message_of(block: bytes, *, is_cut: bool, broken: str, most: int) -> Message:
    """Read an answer, with up to `most` bytes of its body.

    Args:
        block: the answer, or its beginning.
        is_cut: whether whoever made the archive kept no more than this beginning.
        broken: why no more of it arrived, if whoever made the archive says so; else "".
        most: the most bytes of the body to return. If the answer is longer than `block`, this has
            more of the body.

    Raises:
        NoMessageError: `block` does not begin with a whole head.
        BrokenMessageError: a client would not accept this answer, or its body ends early and the
            status does not decide alone.
    """
    head = _answer_head(block)
    headers = head.headers
    if head.status in _WITHOUT_BODY and not head.is_http2_or_3:
        return Message(head.status, headers, b"", is_cut=False, may_be_empty=True)
    _check(headers, is_http2_or_3=head.is_http2_or_3)
    codings = headers.all("transfer-encoding")
    length = None
    if not codings:
        length = _length_of(headers)
    ends = bool(codings) or length is not None or head.is_http2_or_3
    try:
        if broken:
            raise BrokenMessageError(f"the body ended early ({shown(broken, 20)})")  # noqa: TRY301
        if codings:
            body, is_cut = _dechunked(head.rest, most, is_cut=is_cut)
        else:
            body, is_cut = _measured(head, most, length, is_cut=is_cut)
    except BrokenMessageError:
        if head.status in _SUCCESS:
            raise
        body, is_cut = b"", True  # with this status, the body is not needed
    return Message(head.status, headers, body, is_cut, may_be_empty=ends)


class _Head(NamedTuple):
    status: int
    headers: Headers
    rest: bytes  # what follows
    is_http2_or_3: bool  # whether it came over HTTP/2 or 3


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
    lines, rest = _lines_of_head(block)
    status = _STATUS_LINE.fullmatch(lines[0])
    if status is None:
        raise NoMessageError("no HTTP answer")
    headers = Headers()
    field: bytes | None = None
    for line in lines[1:]:
        if not line.startswith((b" ", b"\t")):
            if field is not None:
                headers.add(field)
            field = line
        elif field is not None:
            field += line  # a header may go on in the next line
        else:
            raise BrokenMessageError("a header begins with a blank")
    if field is not None:
        headers.add(field)
    return _Head(int(status[2]), headers, rest, status[1].startswith(_FRAMED))


def _lines_of_head(block: bytes) -> tuple[list[bytes], bytes]:
    """Return the lines before the first empty one, and the bytes after that."""
    lines: list[bytes] = []
    start = 0
    while True:
        end = block.find(b"\n", start, MOST_HEAD)
        if end < 0:
            raise NoMessageError("no HTTP answer")
        line = block[start:end].removesuffix(b"\r")
        start = end + 1
        if not line and lines:
            return lines, block[start:]
        lines.append(line)


def _check(headers: Headers, *, is_http2_or_3: bool) -> None:
    """Check what a client rejects, whatever the status says. Raises BrokenMessageError."""
    codings = headers.all("transfer-encoding")
    if codings and {coding.lower() for coding in codings} != {_CHUNKED}:
        raise BrokenMessageError(f"Transfer-Encoding {', '.join(codings)[:80]!r} is not undone")
    if not is_http2_or_3:
        return
    forbidden = [name for name in _OF_CONNECTION if headers.all(name)]
    if forbidden:
        raise BrokenMessageError(f"HTTP/2 has no header {forbidden[0]!r}")
    if "," in ",".join(headers.all("content-length")):
        raise BrokenMessageError("two lengths are given")


def _length_of(headers: Headers) -> int | None:
    """Return the Content-Length; None if there is none."""
    values = headers.all("content-length")
    if not values:
        return None
    lengths = set()
    for value in ",".join(values).split(","):
        digits = value.strip(" \t")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < _MOST_CHUNK_LINE):
            raise BrokenMessageError(f"Content-Length {value[:40]!r} is no length")
        lengths.add(int(digits))
    if len(lengths) > 1:
        raise BrokenMessageError("two lengths are given")
    return lengths.pop()


def _measured(head: _Head, most: int, length: int | None, *, is_cut: bool) -> tuple[bytes, bool]:
    """Return a body of `length` bytes, or as long as the answer is, and whether it is cut."""
    raw = head.rest
    if length is not None and len(raw) >= length:
        if head.is_http2_or_3 and length < len(raw):
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
    place = 0
    while len(body) <= most:
        line = _CHUNK.match(raw, place, place + _MOST_CHUNK_LINE)
        if line is None:
            break
        size, place = int(line[1], 16), line.end()
        if size == 0:
            if _TRAILERS.match(raw, place, place + MOST_HEAD) is None:
                break
            return bytes(body), False
        body += raw[place : place + size]
        place += size
        if len(raw) > place and not raw.startswith(b"\r\n", place):
            raise BrokenMessageError("a chunk is broken")
        place += len(b"\r\n")
    if len(body) > most:
        return bytes(body[:most]), True
    if not is_cut or place < len(raw) - _MOST_CHUNK_LINE:  # it may be cut within that line
        raise BrokenMessageError("the chunks have no end")
    return bytes(body), True


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
