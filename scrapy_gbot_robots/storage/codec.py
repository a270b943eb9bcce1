r"""Entry <-> bytes, for a storage that others may write to.

Others are other versions, other programs and attackers. Bytes that are no entry are a miss (None):
nothing raises, nothing is evaluated or imported, and the memory that decoding takes is bounded. An
entry is one line that people can read, and the body:

    GRB3 1c291ca3 {"body": {"bytes": 9, "zlib": false}, "copy": {...}, "outage": null}\n
    disallow:

`GRB3` is the version of this layout: an entry of any other version is a miss, and a new field makes
a new version. The CRC-32 of everything after it follows in hexadecimal, then the facts as JSON in
ASCII with sorted names.

Plan: each fact has one function that writes it within its bounds. What was read is written again: a
fact of another type, out of bounds, too many or missing would be written in another way.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeAlias

from ..core.lines import MAX_BYTES
from ..policy.outages import Copy, Entry, Kind, Outage
from ..policy.outcome import Failure

__all__ = ["decode", "encode"]

VERSION = b"GRB3"
_FACTS_AT = len(VERSION) + 10  # behind the checksum and two blanks

_MOST_FAILURES = 2**32 - 1  # a longer back-off could not be computed
_MOST_STATUS = 2**31 - 1  # a server can send any number
_LATEST = 253_402_214_400.0  # the last day of the year 9999: no `datetime` is much later
_TEXT_CHARS = 32_768  # of a URL or a reason
_FACTS_BYTES = 4 * _TEXT_CHARS  # more than the facts can take

_PACK_FROM = 150  # bytes: a shorter body hardly becomes smaller
_ZLIB_LEVEL = 4  # takes a third of the time of the best level, and is a few percent larger
_Write: TypeAlias = Callable[[Any], Any]

_JSON = json.JSONEncoder(sort_keys=True, allow_nan=False)


def encode(entry: Entry, *, packs: bool = True) -> bytes:
    """Return the bytes of `entry`.

    If it `packs`, a body of 150 bytes and more is compressed, which may take milliseconds.
    """
    body = packed = _body(entry)
    if packs and len(body) >= _PACK_FROM:
        packed = zlib.compress(body, _ZLIB_LEVEL)
    return _sealed(_facts(entry, packed=packed is not body), packed)


def decode(data: bytes, max_body: int = MAX_BYTES) -> Entry | None:
    """Return the entry in `data`, as `encode` writes it.

    None if `data` is no entry, or has a body of more than `max_body` bytes.
    """
    end = data.find(b"\n", _FACTS_AT, _FACTS_AT + _FACTS_BYTES)
    head = data[_FACTS_AT:end]
    body = data[end + 1 :]
    if end < 0 or data != _sealed(head, body):
        return None
    try:
        facts = json.loads(head)
        packed = facts["body"]["zlib"] is True
        if packed:
            body = _unpacked(body, max_body)
        entry = _read(facts["copy"], facts["outage"], body)
        is_as_written = head == _facts(entry, packed=packed)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    if not is_as_written or body != _body(entry) or len(body) > max_body:
        return None
    return entry


def most_bytes(max_body: int = MAX_BYTES) -> int:
    """Return the most bytes that an entry can have for `decode` to read it."""
    return _FACTS_AT + _FACTS_BYTES + max_body


def _sealed(facts: bytes, body: bytes) -> bytes:
    """Return the facts and the body behind the version and the checksum of both."""
    summed = facts + b"\n" + body
    return b"%s %08x %s" % (VERSION, zlib.crc32(summed), summed)


def _unpacked(data: bytes, max_body: int) -> bytes:
    """Decompress a body, or hardly more of it than `max_body` bytes.

    Raises:
        ValueError: it is longer, or not compressed as `encode` does it.
    """
    stream = zlib.decompressobj()
    try:
        body = stream.decompress(data, max_body + 1)
    except zlib.error as error:
        raise ValueError("not compressed") from error
    if not stream.eof or stream.unused_data:
        raise ValueError("not compressed as `encode` does it")
    return body


def _body(entry: Entry) -> bytes:
    if entry.copy is None:
        return b""
    return entry.copy.body


def _read(copy: Any, outage: Any, body: bytes) -> Entry:
    if copy is not None:
        copy = Copy(**{**copy, "kind": Kind(copy["kind"]), "body": body})
    if outage is not None:
        failure = outage["failure"]
        if failure is not None:
            failure = Failure[failure]
        outage = Outage(**{**outage, "failure": failure})
    return Entry(copy, outage)


def _facts(entry: Entry, *, packed: bool) -> bytes:
    """Return all of `entry` but its body as JSON; `packed`: whether the body is compressed."""
    facts = {
        "body": {"bytes": len(_body(entry)), "zlib": packed},
        "copy": _written(entry.copy, _COPY),
        "outage": _written(entry.outage, _OUTAGE),
    }
    return _JSON.encode(facts).encode("ascii")


def _written(part: Copy | Outage | None, fields: Mapping[str, _Write]) -> dict[str, Any] | None:
    if part is None:
        return None
    return {name: write(getattr(part, name)) for name, write in fields.items()}


def _number(kind: type[int | float], least: float, most: float) -> _Write:
    return lambda number: kind(max(least, min(number, most)))


def _or_none(write: _Write) -> _Write:
    return lambda value: None if value is None else write(value)


def _text(text: object) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return str(text)[:_TEXT_CHARS].encode("utf-8", "replace").decode()


_count = _number(int, 0, _MOST_FAILURES)
_status = _number(int, -_MOST_STATUS, _MOST_STATUS)
# a time that a `datetime` can have
_time = _number(float, 0.0, _LATEST)
_COPY: Mapping[str, _Write] = {
    "cut": bool,
    "fetched_at": _time,
    "fresh_until": _time,
    "kind": attrgetter("value"),
    "status": _status,
    "url": _text,
    "why": _text,
}
_OUTAGE: Mapping[str, _Write] = {
    "alike": _count,
    "failed_at": _time,
    "failure": _or_none(attrgetter("name")),
    "failures": _count,
    "redirected_to": _text,
    "retry_at": _time,
    "since": _time,
    "status": _or_none(_status),
    "why": _text,
}
