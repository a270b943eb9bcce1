"""What is known of one origin's robots.txt: the last definite answer, and the outage that goes on now, if any.

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
    url: str  # the URL that gave it, after redirects
    body: bytes  # content-decoded; empty if there is no robots.txt
    cut: bool  # whether the server sent more than `body`
    why: str  # such as "HTTP 404"
    fetched_at: float
    fresh_until: float


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which no definite answer came."""

    since: float  # the first failure
    failures: int
    status: int | None  # of the last failure; None: no response came at all
    why: str  # of the last failure
    retry_at: float  # when to ask again
    site_available: bool = False  # another URL of the origin has answered since the first failure


@dataclass(frozen=True, slots=True)
class Entry:
    """All that storage keeps for one origin: a copy, an outage, or a copy and the outage since."""

    copy: Copy | None = None
    outage: Outage | None = None
