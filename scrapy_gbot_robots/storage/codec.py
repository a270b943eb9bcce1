r"""Entry <-> bytes, for a storage that others may write to.

Others are other versions, other programs and attackers. Bytes that are no entry are a miss (None):
nothing raises, nothing is evaluated or imported, and the memory that decoding takes is bounded. An
entry is its version and, compressed by zlib, a line of JSON in ASCII, and the body:

    {"copy": {...}, "outage": null}\n
    disallow:

An entry of any other version than `VERSION` is a miss, and a new field makes a new version. zlib
has a checksum of its own. Each fact must have the type that its field has.
"""

from __future__ import annotations

import json
import zlib
from math import isfinite
from operator import attrgetter
from typing import Any, TypeVar

from ..core.lines import MAX_BYTES
from ..policy.outages import Copy, Entry, Kind, Outage
from ..policy.outcome import Failure

__all__ = ["decode", "encode"]

VERSION = b"GRB4"
_FACTS_BYTES = 131_072  # more than the facts take: clients bound the length of a URL
_ZLIB_LEVEL = 4  # takes a third of the time of the best level, and is a few percent larger

_JSON = json.JSONEncoder(default=attrgetter("name"))  # of an enumeration
_Part = TypeVar("_Part", Copy, Outage)


def encode(entry: Entry, level: int = _ZLIB_LEVEL) -> bytes:
    """Return the bytes of `entry`; `level` 0 does not compress, which may take milliseconds."""
    facts = {"copy": _facts_of(entry.copy), "outage": _facts_of(entry.outage)}
    body = b""
    if entry.copy is not None:
        body = entry.copy.body
    line = _JSON.encode(facts).encode("ascii")
    return VERSION + zlib.compress(line + b"\n" + body, level)


def decode(data: bytes, max_body: int = MAX_BYTES) -> Entry | None:
    """Return the entry in `data`, as `encode` writes it.

    None if `data` is no entry, or has a body of more than `max_body` bytes.
    """
    if not data.startswith(VERSION):
        return None
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(data[len(VERSION) :], most_bytes(max_body))
        end = text.index(b"\n", 0, _FACTS_BYTES)
        facts = json.loads(text[:end])
        copy = facts["copy"]
        body = text[end + 1 :]
        if copy is not None:
            copy = _checked(Copy(**{**copy, "kind": Kind[copy["kind"]], "body": body}))
        outage = facts["outage"]
        if outage is not None:
            failure = outage["failure"]
            if failure is not None:
                failure = Failure[failure]
            outage = _checked(Outage(**{**outage, "failure": failure}))
    except (zlib.error, ValueError, LookupError, TypeError, RecursionError):
        return None
    if not stream.eof or stream.unused_data or len(body) > max_body:
        return None
    return Entry(copy, outage)


def most_bytes(max_body: int = MAX_BYTES) -> int:
    """Return the most bytes that an entry can have for `decode` to read it."""
    return _FACTS_BYTES + max_body


def _facts_of(part: Copy | Outage | None) -> dict[str, Any] | None:
    if part is None:
        return None
    return {name: getattr(part, name) for name in part.__slots__ if name != "body"}


def _checked(part: _Part) -> _Part:
    """Return `part`. Raises TypeError if a field has another type, or is no finite number."""
    for name, annotation in type(part).__annotations__.items():
        value = getattr(part, name)
        types = annotation.replace("None", "NoneType").split(" | ")
        if type(value).__name__ not in types:
            raise TypeError(name)
        if isinstance(value, float) and not isfinite(value):
            raise TypeError(name)
    return part
