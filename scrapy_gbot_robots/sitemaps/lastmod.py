"""The date of a page's last change, as sitemaps and feeds write it: W3C dates of any length, and RFC 822 dates.

Sources: sitemaps.org, "lastmod" (W3C Datetime, also without the time); RSS 2.0, "pubDate" (RFC 822).
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

_W3C = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d?)(?:-(?P<day>\d\d?)"
    r"(?:[T ]+(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?)?)?)?"
    r"\s*(?P<zone>Z|[+-]\d\d:?\d\d)?",
    re.ASCII | re.IGNORECASE,
)
_MOST_CHARS = 64


def latest(text: str) -> datetime | None:
    """The last moment of a date: "2026" means the end of 2026. A time without a zone is in UTC.

    Returns:
        The moment in UTC; None if `text` is no date.
    """
    text = text.strip()[:_MOST_CHARS]
    found = _W3C.fullmatch(text)
    try:
        moment = _end_of(found) if found else parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def since(text: str) -> datetime:
    """The first moment, in UTC, of a date that a user gives, such as "2026-01-31" or "2026-01-31T12:00+02:00".

    Raises:
        ValueError: `text` is no W3C date.
    """
    found = _W3C.fullmatch(text.strip())
    try:
        if found:
            return _start_of(found)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"since must be a date such as 2026-01-31 or 2026-01-31T12:00Z, got {text!r}")


def _start_of(found: re.Match[str]) -> datetime:
    numbers = {name: int(value) for name, value in found.groupdict().items() if name != "zone" and value}
    moment = datetime(**{"month": 1, "day": 1, **numbers}, tzinfo=timezone.utc)
    zone = found["zone"]
    if zone and zone.upper() != "Z":
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        moment -= -offset if zone[0] == "-" else offset
    return moment


def _end_of(found: re.Match[str]) -> datetime:
    start = _start_of(found)
    if found["hour"] is not None:
        return start
    longest = 1 if found["day"] else 31 if found["month"] else 366
    after = start + timedelta(days=longest)
    if not found["day"]:
        after = after.replace(day=1, month=after.month if found["month"] else 1)
    return after - timedelta(seconds=1)
