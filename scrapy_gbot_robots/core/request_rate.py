"""`Request-rate: 1/10`: how often a site wants to be asked, as seconds from one request to the next.

Neither Google nor RFC 9309 has this field. A crawl heeds it only if it also heeds crawl delays. The value is a number of
documents, a slash, and a time in seconds, or with s, m or h after it. Text after a blank, such as hours of the day, is
ignored: the rate counts at any time.
Source: Sean Conner's draft "An Extended Standard for Robot Exclusion", which the field comes from.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .groups import FieldLine

FIELD: Final = "request-rate"
_RATE: Final = re.compile(r"([0-9]{1,9})\s?/\s?([0-9]{1,9})([smh]?)(?![0-9a-z])", re.IGNORECASE)
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}


def slowest(lines: Iterable[FieldLine], agent: str) -> float | None:
    """Return the largest number of seconds between two requests by the lines for `agent`, None if there is none."""
    found = (seconds_between(line.value) for line in lines if agent in line.agents)
    return max((secs for secs in found if secs is not None), default=None)


def seconds_between(value: str) -> float | None:
    """Return the seconds from one request to the next, None if `value` is no rate."""
    rate = _RATE.match(value)
    if rate is None or not int(rate[1]):
        return None
    return int(rate[2]) * _SECONDS[rate[3].lower()] / int(rate[1])
