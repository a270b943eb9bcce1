"""Reads response headers: how long a robots.txt is fresh, when to ask again, and who answered.

Header values are hostile, so no function here raises for any bytes, and work and numbers are
bounded. Scrapy's `parse_cachecontrol` does not fit for two reasons. It splits quoted strings at
their commas, and it takes the last of several `max-age`, but by RFC 9111 4.2.1 the first counts.
Sources: Google's page "Caching"; RFC 9309 2.4; RFC 9111 4.2.1 and 5.2.2 (Cache-Control), 5.1 (Age);
RFC 9110 10.2.3 (Retry-After); RFC 9209 2 and RFC 8941 4.2 (Proxy-Status).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

_HEADER_BYTES = 4096  # The rest of a longer header is ignored.
_PROXY_STATUS_BYTES = 65_536  # Of all Proxy-Status headers together.
_DATE_BYTES = 64
_FOREVER = 2.0**31  # Seconds. RFC 9111 1.2.2 replaces a larger number by this one.

# A directive ends at the first comma outside quoted strings.
_DIRECTIVE = re.compile(r'(?:[^,"]+|"(?:[^"\\]|\\.)*"?)+', re.DOTALL)
_SECONDS = re.compile(r"-?[0-9]+")

# The syntax of a list of RFC 9651, which adds dates and display strings to RFC 8941. First come the
# separators, then the parts of a member.
_OWS = r"[ \t]*"
_NEXT_MEMBER = re.compile(rf"{_OWS},{_OWS}(?!\Z)")
_STRING = r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"'
_BARE_TOKEN = r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*"  # noqa: S105 - not a password
_NUMBER = r"-?[0-9]{1,15}(?:\.[0-9]{1,3})?"
_DISPLAY_STRING = r'%"[\x20\x21\x23-\x7e]*"'
_DATE = r"@-?[0-9]{1,15}"
_BARE_ITEM = (
    rf"{_STRING}|{_BARE_TOKEN}|:[A-Za-z0-9+/=]*:|\?[01]|{_NUMBER}|{_DISPLAY_STRING}|{_DATE}"
)
_ITEM = re.compile(_BARE_ITEM)
_PARAMETER = re.compile(rf"; *([a-z*][a-z0-9_.*-]*)(?:=({_BARE_ITEM}))?")


def max_age(cache_control: Iterable[bytes], age: bytes | None = None) -> float | None:
    """Return for how many seconds a response is fresh by its headers; None if they set no time.

    `no-store` and `no-cache` give 0.0, even together with a `max-age`. `no-cache="field"` limits
    only that field, and is ignored. The first of several `max-age` counts (RFC 9111 4.2.1). A
    `max-age` that is not a number is ignored, and a negative one is 0.0. `s-maxage` is ignored,
    because it is for shared caches.

    Args:
        cache_control: the values of all Cache-Control headers.
        age: the value of the Age header. This time, which the response has spent in caches, is
            subtracted.
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
    """Return after how many seconds the server wants the next request.

    Args:
        value: the value of the Retry-After header, a number of seconds or an HTTP date.
        now: the present time in seconds since the epoch. A date counts from it.

    Returns:
        The seconds from now on; 0.0 for a past date, None if the header is missing or has another
        form.
    """
    text = _text(value)
    if (seconds := _seconds(text)) is not None:
        return seconds
    moment = date_in(text)
    if moment is None:
        return None
    return min(max(0.0, moment.timestamp() - now), _FOREVER)


def proxy_fault(proxy_status: Iterable[bytes], squid_error: bytes | None = None) -> str:
    """Return which proxy reports that it could not get a response, and its error.

    Args:
        proxy_status: the values of all Proxy-Status headers. The first member with the parameter
            `error` reports a failure (RFC 9209 2.1.1). RFC 9651 demands that a field which is not a
            list is ignored as a whole.
        squid_error: the value of the header X-Squid-Error, which takes precedence.

    Returns:
        Such as "Proxy-Status: cache.example; error=dns_error", or "" if no proxy reports a failure.
    """
    said = _text(squid_error)
    if said:
        return f"X-Squid-Error: {said}"
    for name, parameters in _members(_text(b",".join(proxy_status), _PROXY_STATUS_BYTES)):
        if "error" in parameters:
            return f"Proxy-Status: {name}; error={parameters['error']}"
    return ""


def _members(field: str) -> list[tuple[str, dict[str, str]]]:
    """Read a list of RFC 9651 4.2.1 as pairs of an item and its parameters.

    The result is empty if `field` is not a list. Inner lists are not read, because Proxy-Status
    does not have them.
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
            parameters[parameter[1]] = parameter[2] or "?1"  # A parameter without a value is true.
            at = parameter.end()
        members.append((item[0], parameters))
        following = _NEXT_MEMBER.match(field, at)
        if following is None:
            break
        at = following.end()
    if at < len(field):
        return []
    return members


def _text(value: bytes | None, most_bytes: int = _HEADER_BYTES) -> str:
    if value is None:
        return ""
    return value[:most_bytes].decode("latin-1").strip()


def _seconds(text: str) -> float | None:
    """Read a whole number of seconds, clamped to 0 and `_FOREVER`; None for any other text."""
    if not _SECONDS.fullmatch(text):
        return None
    return min(max(0.0, float(text)), _FOREVER)


def date_in(text: str, read: Callable[[str], datetime] = parsedate_to_datetime) -> datetime | None:
    """Read a date and return it in UTC; None if `text` is not a date.

    `read` parses the text. By default, the text is an HTTP date in one of the three forms of RFC
    9110 5.6.7.
    """
    try:
        moment = read(text[:_DATE_BYTES])
        if moment.tzinfo is None:  # HTTP dates are always GMT; asctime has no zone.
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
