"""What is known of one origin's robots.txt: the last definite answer, and the outage that is on.

Facts only, never a verdict: crawlers of different names share an entry (Google's page, "Caching"). Times are seconds
since the epoch. `ladder` makes entries and reads them, `storage` keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a definite answer was."""

    RULES = "rules"  # a robots.txt, maybe an empty one
    NONE = "none"  # that there is none


@dataclass(frozen=True, slots=True)
class Copy:
    """The last definite answer."""

    kind: Kind
    status: int
    url: str  # that gave it, redirects followed
    body: bytes  # content-decoded; empty where there is no robots.txt
    cut: bool  # more was served than `body`
    why: str  # such as "HTTP 404"
    fetched_at: float
    fresh_until: float


@dataclass(frozen=True, slots=True)
class Outage:
    """The time since which no definite answer came."""

    since: float  # the first failure
    failures: int
    status: int | None  # of the last failure; None: there was no answer at all
    why: str  # of the last failure
    retry_at: float  # when to ask again
    site_available: bool = False  # another URL of the origin has answered since the first failure


@dataclass(frozen=True, slots=True)
class Entry:
    """All that is kept for one origin: a copy, an outage, or an outage over a copy."""

    copy: Copy | None = None
    outage: Outage | None = None
