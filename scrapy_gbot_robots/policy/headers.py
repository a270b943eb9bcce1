"""Read the headers of a response to a robots.txt request.

`max_age` returns the time for which the file is fresh. `retry_after` returns the time for which the
crawl should wait before the next request. `proxy_fault` returns the report of a proxy that could
not reach the server.

A header may contain any bytes. So the functions raise no exception if a value is invalid, and read
only the beginning of a long value. Scrapy's `parse_cachecontrol` is not used, for two reasons. It
splits quoted strings at their commas. If there are several `max-age` directives, it takes the last
one, but RFC 9111 4.2.1 prefers the first one.

The sources are Google's page, "Caching"; RFC 9309 2.4; RFC 9111 4.2.1 and 5.2.2 (Cache-Control),
and 5.1 (Age); RFC 9110 10.2.3 (Retry-After); RFC 9209 2 and RFC 8941 4.2 (Proxy-Status).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

_HEADER_BYTES = 4096  # Only this many bytes at the beginning of a header are read.
_PROXY_STATUS_BYTES = 65_536  # the greatest length of all Proxy-Status headers together
_DATE_BYTES = 64  # Only this many bytes at the beginning of a date are read.
_FOREVER = 2.0**31  # A larger number of seconds is lowered to this one (RFC 9111 1.2.2).

# A directive of a Cache-Control header. It ends at the first comma outside quoted strings.
_DIRECTIVE = re.compile(r'(?:[^,"]+|"(?:[^"\\]|\\.)*"?)+', re.DOTALL)
_SECONDS = re.compile(r"-?[0-9]+")

# The syntax of a list (RFC 9651). A list consists of members with commas between them. Each member
# is an item with parameters. RFC 9651 replaces RFC 8941, and adds dates and display strings.
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


# Proxies add these headers only to their own error responses. A proxy sends an error response if it
# could not get a response from the site, or if it does not pass on the response of the site.
PROXY_ERRORS = (
    "X-Squid-Error",
    # Sources of the next two names: docs.zyte.com/smart-proxy-manager/errors.html, and the package
    # scrapy-zyte-smartproxy.
    "X-Crawlera-Error",
    "Zyte-Error",
    # Source: scrapy-zyte-smartproxy, for Zyte API in proxy mode.
    "Zyte-Error-Type",
    # Sources: the pages /proxy-networks/errorCatalog and /scraping-automation/serp-api/debugging of
    # docs.brightdata.com.
    "X-BRD-Err-Code",
    "X-BRD-Error-Code",
    # Source: help.brightdata.com, article 13294853383313.
    "X-Luminati-Error-Code",
    "X-Luminati-Error",
)


def max_age(cache_control: Iterable[bytes], age: bytes | None = None) -> float | None:
    """Return the number of seconds for which a response is fresh; None if no header sets it.

    The result is 0.0 for `no-store` and for `no-cache`, even if there is a `max-age` as well.
    `no-cache="field"` is ignored, because it limits only the header `field`. If there are several
    `max-age` directives, the first one is used (RFC 9111 4.2.1). A `max-age` that is not a number
    is ignored, and a negative one counts as 0. `s-maxage` is ignored, because it is for shared
    caches.

    Args:
        cache_control: the values of all Cache-Control headers.
        age: the value of the Age header, which is the time in seconds that the response has already
            spent in caches. It is subtracted from the result.
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
    """Return the number of seconds after which the server wants the next request.

    Args:
        value: the value of the Retry-After header, a number of seconds or an HTTP date.
        now: the present time in seconds since the epoch.

    Returns:
        The number of seconds to wait, counted from `now`. It is 0.0 for a date in the past, and
        None if the header is missing, or is neither a number nor a date.
    """
    text = _text(value)
    if (seconds := _seconds(text)) is not None:
        return seconds
    moment = date_in(text)
    if moment is None:
        return None
    return min(max(0.0, moment.timestamp() - now), _FOREVER)


def proxy_fault(proxy_status: Iterable[bytes], errors: Mapping[str, bytes | None]) -> str:
    """Return the error that a proxy reports, or "".

    Args:
        proxy_status: the values of all Proxy-Status headers. In these headers, each proxy may add
            an item to a list. An item with the parameter `error` is the report of a failure (RFC
            9209 2.1.1). The first of these items is used. If any part of the list is not valid, the
            whole list is ignored (RFC 9651).
        errors: the values of the headers in `PROXY_ERRORS`, by name; None or b"" for a header that
            is missing. If a header has a value, the result contains this value, and `proxy_status`
            is not used.

    Returns:
        A string such as "Proxy-Status: cache.example; error=dns_error"; "" if no proxy reports a
        failure.
    """
    for name, value in errors.items():
        report = _text(value)
        if report:
            return f"{name}: {report}"
    for name, parameters in _members(_text(b",".join(proxy_status), _PROXY_STATUS_BYTES)):
        if "error" in parameters:
            return f"Proxy-Status: {name}; error={parameters['error']}"
    return ""


def _members(field: str) -> list[tuple[str, dict[str, str]]]:
    """Return the members of a list (RFC 9651 4.2.1) as pairs of an item and its parameters.

    The result is empty if `field` is not a valid list. A field with inner lists is not read,
    because Proxy-Status does not have inner lists.
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
            # A parameter without a value is true, which is written as "?1".
            parameters[parameter[1]] = parameter[2] or "?1"
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
    """Return a string as a number of seconds; None if the string is not a whole number.

    A negative number becomes 0, and a number above `_FOREVER` becomes `_FOREVER`.
    """
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
        # The asctime form of an HTTP date has no time zone. All HTTP dates are in GMT.
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
