r"""Entry <-> bytes, for a storage to which other versions, other programs and attackers may write, too.

Any bytes that `encode` would not write are a miss (None): nothing raises, nothing is evaluated or
imported, and decoding never takes more memory than the longest body allowed. An entry is one line
that people can read, and the body:

    GRB2 1c291ca3 {"body": {"bytes": 9, "zlib": false}, "copy": {"kind": "rules", ...}, "outage": null}\n
    disallow:

`GRB2` is the version of this layout. The CRC-32 of everything after it follows in hexadecimal, then
the facts as JSON in ASCII with sorted names. A new field makes a new version; an entry of another
version is a miss.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from ..policy.outages import Copy, Entry, Kind, Outage

__all__ = ["decode", "encode"]

MAX_BODY = 512_000  # bytes of a body that a storage hands out unless told otherwise
VERSION = b"GRB2"
_CRC_AT = len(VERSION) + 1
_FACTS_AT = _CRC_AT + 8 + 1

_MOST_FAILURES = 2**32 - 1  # a longer back-off could not be computed
_MOST_STATUS = 2**31 - 1  # a server can send any number
_TEXT_CHARS = 32_768  # of a URL or a reason
_FACTS_BYTES = 4 * _TEXT_CHARS  # more than the facts can take

_PACK_FROM = 150  # bytes: a shorter body hardly becomes smaller
_ZLIB_LEVEL = 4  # takes a third of the time of the best level, and is a few percent larger
_JSON = json.JSONEncoder(sort_keys=True, allow_nan=False)


def encode(entry: Entry) -> bytes:
    """Return the bytes of `entry`. Its body is compressed if that makes it smaller."""
    body = entry.copy.body if entry.copy is not None else b""
    packed = zlib.compress(body, _ZLIB_LEVEL) if len(body) >= _PACK_FROM else body
    is_packed = len(packed) < len(body)
    summed = _facts(entry, packed=is_packed) + b"\n" + (packed if is_packed else body)
    return b"%s %08x %s" % (VERSION, zlib.crc32(summed), summed)


def decode(data: bytes, max_body: int = MAX_BODY) -> Entry | None:
    """Read bytes that `encode` wrote; None for any other bytes, and for a body of more than `max_body` bytes."""
    if not data.startswith(VERSION) or data[_CRC_AT - 1 : _FACTS_AT] != b" %08x " % zlib.crc32(
        data[_FACTS_AT:]
    ):
        return None
    end = data.find(b"\n", _FACTS_AT, _FACTS_AT + _FACTS_BYTES)
    try:
        head = data[_FACTS_AT:end]
        facts = json.loads(head)
        of_body, copy, outage = facts["body"], facts["copy"], facts["outage"]
        packed = of_body["zlib"] is True
        body = _unpacked(data[end + 1 :], of_body["bytes"], max_body) if packed else data[end + 1 :]
        entry = Entry(
            None if copy is None else Copy(**{**copy, "kind": Kind(copy["kind"]), "body": body}),
            None if outage is None else Outage(**outage),
        )
        is_sound = end > 0 and len(body) <= max_body and (copy is not None or not body)
        is_as_written = is_sound and _facts(entry, packed=packed) == head
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
    return entry if is_as_written else None


def longest(max_body: int = MAX_BODY) -> int:
    """Return the most bytes that an entry can have for `decode` to read it."""
    return _FACTS_AT + _FACTS_BYTES + max_body


def _unpacked(data: bytes, size: Any, max_body: int) -> bytes:
    """Decompress a body of `size` bytes; never much more, if it is larger. Raises ValueError or zlib.error."""
    if not isinstance(size, int) or not 0 <= size <= max_body:
        raise ValueError("an impossible size")
    stream = zlib.decompressobj()
    body = stream.decompress(data, size + 1)
    if len(body) != size or not stream.eof or stream.unused_data:
        raise ValueError("not compressed as `encode` does it")
    return body


def _facts(entry: Entry, *, packed: bool) -> bytes:
    facts = {
        "body": {"bytes": len(entry.copy.body) if entry.copy is not None else 0, "zlib": packed},
        "copy": _written(entry.copy, _COPY),
        "outage": _written(entry.outage, _OUTAGE),
    }
    return _JSON.encode(facts).encode("ascii")


def _written(
    part: Copy | Outage | None, fields: Mapping[str, Callable[[Any], Any]]
) -> dict[str, Any] | None:
    return (
        None
        if part is None
        else {name: write(getattr(part, name)) for name, write in fields.items()}
    )


def _status(status: Any) -> int:
    return max(-_MOST_STATUS, min(int(status), _MOST_STATUS))


def _text(text: object) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return str(text)[:_TEXT_CHARS].encode("utf-8", "replace").decode()


# How each fact is written: one of another type, or out of bounds, would be written in another way.
_COPY: dict[str, Callable[[Any], Any]] = {
    "cut": bool,
    "fetched_at": float,
    "fresh_until": float,
    "kind": lambda kind: kind.value,
    "status": _status,
    "url": _text,
    "why": _text,
}
_OUTAGE: dict[str, Callable[[Any], Any]] = {
    "failures": lambda number: min(max(0, int(number)), _MOST_FAILURES),
    "retry_at": float,
    "since": float,
    "site_available": bool,
    "status": lambda status: None if status is None else _status(status),
    "why": _text,
}
