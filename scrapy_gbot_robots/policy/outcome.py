"""The outcome of one attempt to fetch a robots.txt: Fetched, Unavailable or Unreachable.

Pure. `status_codes` maps a response to its outcome. `ladder` decides what follows from an outcome over time.
Sources: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from ..core.urls import shown

_DETAIL_CHARS = 200  # of a foreign error message: enough to understand it, whatever its length


@dataclass(frozen=True, slots=True)
class Fetched:
    """The server sent a robots.txt: its rules decide (RFC 9309 2.3.1.1)."""

    status: int
    url: str  # the URL that served it, after redirects
    body: bytes  # content-decoded
    cut: bool = False  # whether the server sent more than is read
    max_age: float | None = None  # seconds it is fresh by its headers; None: they do not say
    recalled: bool = False  # from an HTTP cache: no server has said so now


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The site certainly has no robots.txt: nothing is restricted (RFC 9309 2.3.1.3)."""

    status: int  # as served, even for a redirect that was not followed or a 5xx that means 404
    url: str  # the URL that said so
    why: str
    max_age: float | None = None  # seconds it is fresh by its headers; None: they do not say
    recalled: bool = False  # from an HTTP cache: no server has said so now


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No definite answer: everything is restricted for now (RFC 9309 2.3.1.4)."""

    why: str
    status: int | None = None  # None: no response came at all
    retry_after: float | None = None  # for how many seconds the server wants to be left alone; None: it does not say
    recalled: bool = False  # from an HTTP cache: no server has said so now


Outcome: TypeAlias = Fetched | Unavailable | Unreachable


class Failure(Enum):
    """Ways in which a fetch ends without a whole response. Each is Unreachable: incomplete data is no short file."""

    DNS = "the host name does not resolve"
    REFUSED = "connection refused"
    RESET = "connection lost"
    TIMEOUT = "no answer in time"
    TRUNCATED = "the body ended early"
    CHUNKING = "broken chunked encoding"
    TLS = "TLS failed"
    BAD_CONTENT = "the body cannot be decompressed"
    INVALID = "not an HTTP answer"
    NO_HANDLER = "no download handler for this scheme"
    CANCELLED = "the fetch was cancelled"
    PROXY = "the proxy refused the request"
    STOPPED = "the download was stopped before its end"
    REPLACED = "the download failed, and another middleware put a response in its place"
    NOT_CACHED = "HTTPCACHE_IGNORE_MISSING is on, and Scrapy's HTTP cache does not have it"
    OTHER = "the fetch failed"


def failed(failure: Failure, detail: str = "") -> Unreachable:
    """Return the outcome of a fetch that ended in `failure`. `detail` is the error's own message, for people."""
    detail = shown(" ".join(detail[:_DETAIL_CHARS].split()))
    return Unreachable(f"{failure.value} ({detail})" if detail else failure.value)


def recalled(outcome: Outcome) -> Outcome:
    """Return `outcome` as one from an HTTP cache, fresh for no longer than `Policy.min_age_secs`."""
    if isinstance(outcome, Unreachable):
        return replace(outcome, recalled=True)
    return replace(outcome, recalled=True, max_age=0.0)
