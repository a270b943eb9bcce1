r"""Convert an `Entry` to bytes for a storage, and back.

An `Entry` (policy/outages.py) is what a storage keeps for an origin. Its attribute `copy` contains
the robots.txt, and its attribute `outage` describes the failures of the last fetches.

The bytes in a storage may come from a different version of the plugin, from another program or from
an attacker. For bytes that are not an entry of this version, `decode` returns None, and raises no
exception. It uses a bounded amount of memory.

The bytes begin with `VERSION`, which must change whenever a field is added to `Copy` or `Outage`.
The bytes after `VERSION` are compressed with zlib. After decompression, they are one line of JSON
in ASCII, and then the body of the robots.txt:

    {"copy": {...}, "outage": null}\n
    disallow:
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
# The maximum length of the JSON in bytes. The JSON of a real entry is much shorter. Its only long
# values are URLs, and HTTP clients limit the length of URLs.
_FACTS_BYTES = 131_072
# The compression level. The highest level would take three times as long, and would make the data
# only a few percent smaller.
_ZLIB_LEVEL = 4

# The encoder writes only the name of a member of an enumeration, such as "RULES" for `Kind.RULES`.
_JSON = json.JSONEncoder(default=attrgetter("name"))
_Part = TypeVar("_Part", Copy, Outage)


def encode(entry: Entry, level: int = _ZLIB_LEVEL) -> bytes:
    """Return `entry` as bytes.

    Args:
        entry: the entry.
        level: the compression level of zlib, from 0 to 9. Level 0 does not compress. With any other
            level, encoding a long body takes milliseconds.
    """
    facts = {"copy": _facts_of(entry.copy), "outage": _facts_of(entry.outage)}
    body = b""
    if entry.copy is not None:
        body = entry.copy.body
    line = _JSON.encode(facts).encode("ascii")
    return VERSION + zlib.compress(line + b"\n" + body, level)


def decode(data: bytes, max_body: int = MAX_BYTES) -> Entry | None:
    """Return the entry whose encoded form is `data`.

    Return None if `data` is not an entry of this version, or if the body of the robots.txt in it
    has more than `max_body` bytes.
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
    """Return the maximum length of an encoded entry in bytes, before and after decompression."""
    return _FACTS_BYTES + max_body


def _facts_of(part: Copy | Outage | None) -> dict[str, Any] | None:
    if part is None:
        return None
    return {name: getattr(part, name) for name in part.__slots__ if name != "body"}


def _checked(part: _Part) -> _Part:
    """Check the types of the values in `part`, and return `part`.

    Raises:
        TypeError: a value does not have the type of its field, or is an infinite number or NaN.
    """
    for name, annotation in type(part).__annotations__.items():
        value = getattr(part, name)
        types = annotation.replace("None", "NoneType").split(" | ")
        if type(value).__name__ not in types:
            raise TypeError(name)
        if isinstance(value, float) and not isfinite(value):
            raise TypeError(name)
    return part
