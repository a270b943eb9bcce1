r"""Entry <-> bytes, for a storage to which other versions, other programs and attackers may write, too.

Any bytes that `encode` would not write are a miss (None): nothing raises, nothing is evaluated or imported, and decoding
never takes more memory than the longest body allowed. An entry is one line that people can read, and the body:

    GRB2 1c291ca3 {"body": {"bytes": 9, "zlib": false}, "copy": {"kind": "rules", ...}, "outage": null}\n
    disallow:

`GRB2` is the version of this layout. The CRC-32 of everything after it follows in hexadecimal, then the facts as JSON in
ASCII with sorted names. A new field makes a new version; an entry of another version is a miss.
"""

from __future__ import annotations

import json
import math
import zlib
from typing import TYPE_CHECKING, Any

from ..policy.outages import Copy, Entry, Kind, Outage
from .base import MAX_BODY

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = b"GRB2"
_CRC_AT = len(VERSION) + 1
_FACTS_AT = _CRC_AT + 8 + 1

_MOST_FAILURES = 2**32 - 1
_STATUSES = range(-(2**31), 2**31)  # a server can send any number
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
    if not data.startswith(VERSION) or data[_CRC_AT - 1 : _FACTS_AT] != b" %08x " % zlib.crc32(data[_FACTS_AT:]):
        return None
    end = data.find(b"\n", _FACTS_AT, _FACTS_AT + _FACTS_BYTES)
    try:
        head = data[_FACTS_AT:end]
        facts = json.loads(head)
        packed = facts["body"]["zlib"] is True
        body = _unpacked(data[end + 1 :], facts["body"]["bytes"], max_body) if packed else data[end + 1 :]
        entry = Entry(_copy(facts["copy"], body), _outage(facts["outage"]))
        is_as_written = end > 0 and len(body) <= max_body and _facts(entry, packed=packed) == head
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, zlib.error):
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
    copy, outage = entry.copy, entry.outage
    facts = {
        "body": {"bytes": len(copy.body) if copy is not None else 0, "zlib": packed},
        "copy": None if copy is None else _copy_facts(copy),
        "outage": None if outage is None else _outage_facts(outage),
    }
    return _JSON.encode(facts).encode("ascii")


def _copy_facts(copy: Copy) -> dict[str, Any]:
    return {
        "cut": copy.cut,
        "fetched_at": float(copy.fetched_at),
        "fresh_until": float(copy.fresh_until),
        "kind": copy.kind.value,
        "status": copy.status,
        "url": _fit(copy.url),
        "why": _fit(copy.why),
    }


def _outage_facts(outage: Outage) -> dict[str, Any]:
    return {
        "failures": min(outage.failures, _MOST_FAILURES),
        "retry_at": float(outage.retry_at),
        "since": float(outage.since),
        "site_available": outage.site_available,
        "status": outage.status,
        "why": _fit(outage.why),
    }


def _copy(facts: Mapping[str, Any] | None, body: bytes) -> Copy | None:
    """Read the facts of a copy. Unknown fields are found by `decode`, which writes the facts again and compares."""
    if facts is None:
        if body:
            raise ValueError("a body without a copy")
        return None
    return Copy(
        Kind(facts["kind"]),
        _status(facts["status"]),
        _text(facts["url"]),
        body,
        _flag(facts["cut"]),
        _text(facts["why"]),
        _time(facts["fetched_at"]),
        _time(facts["fresh_until"]),
    )


def _outage(facts: Mapping[str, Any] | None) -> Outage | None:
    if facts is None:
        return None
    failures, status = facts["failures"], facts["status"]
    if type(failures) is not int or failures < 0:
        raise ValueError("no number of failures")
    return Outage(
        _time(facts["since"]),
        failures,
        None if status is None else _status(status),
        _text(facts["why"]),
        _time(facts["retry_at"]),
        _flag(facts["site_available"]),
    )


def _status(value: Any) -> int:
    if type(value) is not int or value not in _STATUSES:
        raise ValueError("no status")
    return value


def _time(value: Any) -> float:
    if type(value) is not float or not math.isfinite(value):
        raise ValueError("no time")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("no flag")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > _TEXT_CHARS:
        raise ValueError("no text, or too long a one")
    return value


def _fit(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
