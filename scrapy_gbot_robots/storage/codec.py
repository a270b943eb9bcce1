r"""Entry <-> bytes: what is written to a storage that other versions, other programs and enemies may write to as well.

Anything that is not exactly what `encode` writes is a miss (None): no exception, nothing evaluated or imported, never
more memory than a body of the size asked for. Layout, big-endian:

    b"GRB" version   4 bytes   this module reads version 1
    packing          1 byte    0: the payload as it is, 1: by zlib
    crc32            4 bytes   of all that follows
    size             4 bytes   of the payload, uncompressed
    payload                    copy, then outage, each as one byte (there or not), its numbers, its texts

A text is its length in 4 bytes and UTF-8; so is a body, but for the UTF-8.
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any

from ..policy.entry import Copy, Entry, Kind, Outage
from .base import MAX_BODY

VERSION = b"GRB\x01"
_HEAD = struct.Struct(">4sBLL")
_SUM_FROM = struct.calcsize(">4sBL")
_PLAIN, _ZLIB = 0, 1

_LENGTH = struct.Struct(">L")
_COPY = struct.Struct(">B?idd")  # kind, cut, status, fetched_at, fresh_until
_OUTAGE = struct.Struct(">?iLdd")  # whether there is a status, status, failures, since, retry_at
_KINDS = (Kind.RULES, Kind.NONE)  # by their number
_MOST_FAILURES = 2**32 - 1  # that there is room for

_TEXT_BYTES = 32_768  # of a URL or a reason
_FACTS_BYTES = 4 * _TEXT_BYTES  # more than all but the body can take


def encode(entry: Entry) -> bytes:
    """Write `entry`, compressed where that makes it smaller."""
    payload = _payload(entry)
    packed = zlib.compress(payload)
    packing, data = (_ZLIB, packed) if len(packed) < len(payload) else (_PLAIN, payload)
    size = _LENGTH.pack(len(payload))
    return _HEAD.pack(VERSION, packing, zlib.crc32(size + data), len(payload)) + data


def decode(data: bytes, max_body: int = MAX_BODY) -> Entry | None:
    """Read what `encode` wrote; None for anything else, and where the body has more than `max_body` bytes."""
    try:
        version, packing, checksum, size = _HEAD.unpack_from(data)
        if version != VERSION or zlib.crc32(data[_SUM_FROM:]) != checksum or size > max_body + _FACTS_BYTES:
            return None
        payload = _unpacked(data[_HEAD.size :], packing, size)
        entry = _Reader(payload).entry()
        if len(payload) != size or _payload(entry) != payload:
            return None
    except (struct.error, zlib.error, ValueError, IndexError):
        return None
    return None if entry.copy and len(entry.copy.body) > max_body else entry


def longest(max_body: int = MAX_BODY) -> int:
    """Say how many bytes an entry can have that `decode` would read."""
    return _HEAD.size + _FACTS_BYTES + max_body


def _unpacked(data: bytes, packing: int, size: int) -> bytes:
    """Return the payload, of a larger one than `size` bytes never much more. Raises ValueError or zlib.error."""
    if packing == _PLAIN:
        return data
    stream = zlib.decompressobj()
    payload = stream.decompress(data, size + 1)
    if packing != _ZLIB or not stream.eof or stream.unused_data:
        raise ValueError("not packed as `encode` does")
    return payload


def _payload(entry: Entry) -> bytes:
    return _copy_bytes(entry.copy) + _outage_bytes(entry.outage)


def _copy_bytes(copy: Copy | None) -> bytes:
    if copy is None:
        return b"\0"
    facts = _COPY.pack(_KINDS.index(copy.kind), copy.cut, copy.status, copy.fetched_at, copy.fresh_until)
    return b"\1" + facts + _text_bytes(copy.url) + _text_bytes(copy.why) + _sized(copy.body)


def _outage_bytes(outage: Outage | None) -> bytes:
    if outage is None:
        return b"\0"
    status = (outage.status is not None, outage.status or 0)
    failures = min(outage.failures, _MOST_FAILURES)
    return b"\1" + _OUTAGE.pack(*status, failures, outage.since, outage.retry_at) + _text_bytes(outage.why)


def _text_bytes(text: str) -> bytes:
    return _sized(text.encode("utf-8", "replace"))


def _sized(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


class _Reader:
    """Reads a payload from front to end. Raises struct.error, ValueError or IndexError where it is not as written."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 0

    def entry(self) -> Entry:
        entry = Entry(self._copy() if self._there() else None, self._outage() if self._there() else None)
        if self._at != len(self._payload):
            raise ValueError("something is left over")
        return entry

    def _there(self) -> bool:
        return bool((b"\0", b"\1").index(self._piece(1)))

    def _copy(self) -> Copy:
        kind, cut, status, fetched_at, fresh_until = self._numbers(_COPY)
        url, why, body = self._text(), self._text(), self._piece(self._length())
        return Copy(_KINDS[kind], status, url, body, cut, why, fetched_at, fresh_until)

    def _outage(self) -> Outage:
        has_status, status, failures, since, retry_at = self._numbers(_OUTAGE)
        return Outage(since, failures, status if has_status else None, self._text(), retry_at)

    def _numbers(self, shape: struct.Struct) -> tuple[Any, ...]:
        numbers = shape.unpack(self._piece(shape.size))
        if not all(map(math.isfinite, numbers)):
            raise ValueError("a time that is none")
        return numbers

    def _text(self) -> str:
        if (length := self._length()) > _TEXT_BYTES:
            raise ValueError("a text too long")
        return self._piece(length).decode()

    def _length(self) -> int:
        return int(self._numbers(_LENGTH)[0])

    def _piece(self, length: int) -> bytes:
        piece = self._payload[self._at : self._at + length]
        if len(piece) != length:
            raise ValueError("the end came early")
        self._at += length
        return piece
