"""What response headers say: how long a robots.txt is fresh, when to ask again, and who answers.

Header values are hostile: whatever the bytes, nothing here raises, and work and numbers are
bounded. Scrapy's `parse_cachecontrol` is no use here: it splits quoted strings at their commas, and
of several `max-age` it takes the last (RFC 9111 4.2.1: the first).
Sources: Google's page "Caching"; RFC 9309 2.4; RFC 9111 4.2.1 and 5.2.2 (Cache-Control), 5.1 (Age);
RFC 9110 10.2.3 (Retry-After); RFC 9209 2 and RFC 8941 4.2 (Proxy-Status).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

_HEADER_BYTES = 4096  # the rest of a longer header is not read
_DATE_BYTES = 64
_FOREVER = 2.0**31  # RFC 9111 1.2.2: a number too large to hold counts as this

# up to a comma that is in no quoted string
_DIRECTIVE = re.compile(r'(?:[^,"]+|"(?:[^"\\]|\\.)*"?)+', re.DOTALL)
_SECONDS = re.compile(r"-?[0-9]+")

# The parts of a list of RFC 8941: what stands between its members, and those of a member.
_OWS = r"[ \t]*"
_NEXT_MEMBER = re.compile(rf"{_OWS},{_OWS}(?!\Z)")
_STRING = r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"'
_BARE_TOKEN = r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*"  # noqa: S105 - of the syntax
_BARE_ITEM = rf"{_STRING}|{_BARE_TOKEN}|:[A-Za-z0-9+/=]*:|\?[01]|-?[0-9]{{1,15}}(?:\.[0-9]{{1,3}})?"
_ITEM = re.compile(_BARE_ITEM)
_PARAMETER = re.compile(rf"; *([a-z*][a-z0-9_.*-]*)(?:=({_BARE_ITEM}))?")


def max_age(cache_control: Iterable[bytes], age: bytes | None = None) -> float | None:
    """Return for how many seconds a response is fresh by its headers; None if they do not say.

    `cache_control` takes every Cache-Control field line, `age` the Age header: time spent in caches
    on the way counts. `no-store` and `no-cache` give 0.0, also beside a `max-age`.
    `no-cache="field"` limits that field only, and is ignored here. The first of several `max-age`
    counts (RFC 9111 4.2.1). A `max-age` that is no number is ignored, a negative one is 0.0.
    `s-maxage` is ignored: it is for shared caches.
    """
    lifetime: float | None = None
    for directive in _DIRECTIVE.findall(_text(b",".join(cache_control))):
        name, equals, value = directive.partition("=")
        name = name.strip().lower()
        if name == "no-store" or (name == "no-cache" and not equals):
            return 0.0
        if name == "max-age" and lifetime is None:
            lifetime = _seconds(value.strip(' "'))
    if lifetime is None:
        return None
    spent = _seconds(_text(age))
    if spent is None:
        return lifetime
    return max(0.0, lifetime - spent)


def retry_after(value: bytes | None, now: float) -> float | None:
    """Return in how many seconds the server wants the next request.

    They count from `now`, in seconds since the epoch. Takes a number of seconds or an HTTP date; a
    past date gives 0.0. None for anything else.
    """
    text = _text(value)
    if (seconds := _seconds(text)) is not None:
        return seconds
    moment = date_in(text)
    if moment is None:
        return None
    return min(max(0.0, moment.timestamp() - now), _FOREVER)


def proxy_fault(proxy_status: Iterable[bytes], squid_error: bytes | None = None) -> str:
    """Return who says, and in which word, that a proxy could not get the answer; "" if none does.

    `proxy_status` takes every Proxy-Status field line. A member with the parameter `error` says so
    (RFC 9209 2.1.1). A field that is no list of RFC 8941 counts for nothing, as that says.
    `squid_error` is the header X-Squid-Error.
    """
    said = _text(squid_error)
    if said:
        return f"X-Squid-Error: {said}"
    for name, parameters in _members(_text(b",".join(proxy_status))):
        if "error" in parameters:
            return f"Proxy-Status: {name}; error={parameters['error']}"
    return ""


def _members(field: str) -> list[tuple[str, dict[str, str]]]:
    """Read a list of RFC 8941 4.2.1 as its items, with their parameters; empty if it is no list.

    No member of Proxy-Status is an inner list.
    """
    members: list[tuple[str, dict[str, str]]] = []
    field = field.strip(" ")
    at = 0
    while at < len(field):
        item = _ITEM.match(field, at)
        if item is None:
            return []
        at = item.end()
        parameters: dict[str, str] = {}
        while (parameter := _PARAMETER.match(field, at)) is not None:
            parameters[parameter[1]] = parameter[2] or "?1"  # without a value it is true
            at = parameter.end()
        members.append((item[0], parameters))
        following = _NEXT_MEMBER.match(field, at)
        if following is None:
            break
        at = following.end()
    if at < len(field):
        return []
    return members


def _text(value: bytes | None) -> str:
    if value is None:
        return ""
    return value[:_HEADER_BYTES].decode("latin-1").strip()


def _seconds(text: str) -> float | None:
    """Read a whole number of seconds, clamped to the range from 0 to `_FOREVER`."""
    if not _SECONDS.fullmatch(text):
        return None
    return min(max(0.0, float(text)), _FOREVER)


def date_in(text: str, read: Callable[[str], datetime] = parsedate_to_datetime) -> datetime | None:
    """Read a date in UTC; None if it is no date.

    By default it is an HTTP date, in any of the three forms of RFC 9110 5.6.7.
    """
    try:
        moment = read(text[:_DATE_BYTES])
        if moment.tzinfo is None:  # asctime has no zone; HTTP dates are always GMT
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
