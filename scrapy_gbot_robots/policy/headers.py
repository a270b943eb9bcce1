"""What response headers say about time: for how long a robots.txt is fresh, and when to ask again.

Header values are hostile: whatever the bytes, nothing here raises, and work and numbers are
bounded. Scrapy's `parse_cachecontrol` is no use here: it splits quoted strings at their commas, and
of several `max-age` it takes the last (RFC 9111 4.2.1: the first).
Sources: Google's page "Caching"; RFC 9309 2.4; RFC 9111 4.2.1 and 5.2.2 (Cache-Control), 5.1 (Age);
RFC 9110 10.2.3 (Retry-After).
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
