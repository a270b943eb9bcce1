r"""Entry <-> bytes, for a storage that others may write to.

Others are other versions, other programs and attackers. Bytes that are no entry are a miss (None):
nothing raises, nothing is evaluated or imported, and the memory that decoding takes is bounded. An
entry is one line that people can read, and the body:

    GRB3 1c291ca3 {"body": {"bytes": 9, "zlib": false}, "copy": {...}, "outage": null}\n
    disallow:

`GRB3` is the version of this layout. The CRC-32 of everything after it follows in hexadecimal, then
the facts as JSON in ASCII with sorted names. A new field makes a new version. An entry of any other
version is a miss.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..core.lines import MAX_BYTES
from ..policy.outages import Copy, Entry, Kind, Outage
from ..policy.outcome import Failure

__all__ = ["decode", "encode"]

VERSION = b"GRB3"
_CRC_AT = len(VERSION) + 1
_FACTS_AT = _CRC_AT + 8 + 1

_MOST_FAILURES = 2**32 - 1  # a longer back-off could not be computed
_MOST_STATUS = 2**31 - 1  # a server can send any number
_LATEST = 253_402_214_400.0  # the last day of the year 9999: no `datetime` is much later
_TEXT_CHARS = 32_768  # of a URL or a reason
_FACTS_BYTES = 4 * _TEXT_CHARS  # more than the facts can take

_PACK_FROM = 150  # bytes: a shorter body hardly becomes smaller
_ZLIB_LEVEL = 4  # takes a third of the time of the best level, and is a few percent larger
_Fields: TypeAlias = Mapping[str, Callable[[Any], Any]]

_JSON = json.JSONEncoder(sort_keys=True, allow_nan=False)


def encode(entry: Entry) -> bytes:
    """Return the bytes of `entry`.

    A body of 150 bytes and more is compressed if that makes it smaller.
    """
    body = _body(entry)
    if len(body) >= _PACK_FROM:
        packed = zlib.compress(body, _ZLIB_LEVEL)
        if len(packed) < len(body):
            return _encoded(entry, packed, packed=True)
    return _encoded(entry, body, packed=False)


def encode_unpacked(entry: Entry) -> bytes:
    """Return the bytes of `entry`, its body as it is: that takes no milliseconds."""
    return _encoded(entry, _body(entry), packed=False)


def _encoded(entry: Entry, body: bytes, *, packed: bool) -> bytes:
    summed = _facts(entry, packed=packed) + b"\n" + body
    return b"%s %08x %s" % (VERSION, zlib.crc32(summed), summed)


def _body(entry: Entry) -> bytes:
    if entry.copy is None:
        return b""
    return entry.copy.body


def decode(data: bytes, max_body: int = MAX_BYTES) -> Entry | None:
    """Return the entry in `data`, as `encode` writes it.

    None if `data` is no entry, or has a body of more than `max_body` bytes.
    """
    if data[: len(VERSION)] != VERSION:
        return None
    if data[_CRC_AT - 1 : _FACTS_AT] != b" %08x " % zlib.crc32(data[_FACTS_AT:]):
        return None
    end = data.find(b"\n", _FACTS_AT, _FACTS_AT + _FACTS_BYTES)
    if end < 0:
        return None
    head, body = data[_FACTS_AT:end], data[end + 1 :]
    try:
        facts = json.loads(head)
        packed = facts["body"]["zlib"] is True
        if packed:
            body = _unpacked(body, facts["body"]["bytes"], max_body)
        entry = Entry(_copy(facts["copy"], body), _outage(facts["outage"]))
        is_as_written = _facts(entry, packed=packed) == head
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        zlib.error,
    ):
        return None
    if not is_as_written or len(body) > max_body:
        return None
    if entry.copy is None and body:
        return None
    return entry


def most_bytes(max_body: int = MAX_BYTES) -> int:
    """Return the most bytes that an entry can have for `decode` to read it."""
    return _FACTS_AT + _FACTS_BYTES + max_body


def _unpacked(data: bytes, size: Any, max_body: int) -> bytes:
    """Decompress a body of `size` bytes; never much more, if it is larger.

    Raises ValueError or zlib.error.
    """
    if not isinstance(size, int) or not 0 <= size <= max_body:
        raise ValueError("an impossible size")
    stream = zlib.decompressobj()
    body = stream.decompress(data, size + 1)
    if len(body) != size or not stream.eof or stream.unused_data:
        raise ValueError("not compressed as `encode` does it")
    return body


def _copy(facts: dict[str, Any] | None, body: bytes) -> Copy | None:
    if facts is None:
        return None
    return Copy(**{**facts, "kind": Kind(facts["kind"]), "body": body})


def _outage(facts: dict[str, Any] | None) -> Outage | None:
    if facts is None:
        return None
    failure = facts["failure"]
    if failure is not None:
        facts = {**facts, "failure": Failure[failure]}
    return Outage(**facts)


def _facts(entry: Entry, *, packed: bool) -> bytes:
    """Return all of `entry` but its body, as JSON; `packed` says whether that is compressed."""
    facts = {
        "body": {"bytes": len(_body(entry)), "zlib": packed},
        "copy": _written(entry.copy, _COPY),
        "outage": _written(entry.outage, _OUTAGE),
    }
    return _JSON.encode(facts).encode("ascii")


def _written(part: Copy | Outage | None, fields: _Fields) -> dict[str, Any] | None:
    if part is None:
        return None
    return {name: write(getattr(part, name)) for name, write in fields.items()}


def _status(status: Any) -> int:
    return max(-_MOST_STATUS, min(int(status), _MOST_STATUS))


def _status_or_none(status: Any) -> int | None:
    if status is None:
        return None
    return _status(status)


def _name_or_none(failure: Failure | None) -> str | None:
    if failure is None:
        return None
    return failure.name


def _time(seconds: Any) -> float:
    """Bound a time to what a `datetime` can have."""
    return max(0.0, min(float(seconds), _LATEST))


def _number(failures: Any) -> int:
    return min(max(0, int(failures)), _MOST_FAILURES)


def _text(text: object) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return str(text)[:_TEXT_CHARS].encode("utf-8", "replace").decode()


# How each fact is written: one of another type, or out of bounds, would be written in another way.
_COPY: _Fields = {
    "cut": bool,
    "fetched_at": _time,
    "fresh_until": _time,
    "kind": lambda kind: kind.value,
    "status": _status,
    "url": _text,
    "why": _text,
}
_OUTAGE: _Fields = {
    "alike": _number,
    "failed_at": _time,
    "failure": _name_or_none,
    "failures": _number,
    "redirected_to": _text,
    "retry_at": _time,
    "since": _time,
    "status": _status_or_none,
    "why": _text,
}
