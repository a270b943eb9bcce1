"""What one attempt to fetch a robots.txt came to: Fetched, Unavailable or Unreachable.

Pure. Two tables map status codes and failures to outcomes. `ladder` decides what follows from an outcome over time.
Sources: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from ..core.urls import shown
from .soft404 import says_not_found

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


# The first row that contains the status decides; without a row it is Unreachable. So 1xx, 304 (the request was not
# conditional) and codes from 600 on count as server errors.
_STATUS_CODES: tuple[tuple[range, type[Outcome]], ...] = (
    (range(200, 300), Fetched),
    (range(304, 305), Unreachable),
    (range(300, 400), Unavailable),  # a redirect that was not followed ends as a 404
    (range(407, 408), Unreachable),  # only a proxy says this: it is not the site's answer (RFC 9110 15.5.8)
    (range(429, 430), Unreachable),
    (range(400, 500), Unavailable),
)
_SERVER_ERRORS = range(500, 600)
_PROXY_AUTHENTICATION_REQUIRED = 407
_THREE_DIGITS = range(1000)  # a server can send any number


def outcome_of(
    status: int,
    url: str,
    body: bytes,
    *,
    cut: bool = False,
    max_age: float | None = None,
    retry_after: float | None = None,
    soft_404: bool = True,
) -> Outcome:
    """Return the outcome of a whole HTTP (or FTP) response. The caller has followed redirects before.

    `body` is content-decoded; `cut` says that it was cut at a size limit. `max_age` and `retry_after` are seconds, as
    `headers` reads them. With `soft_404`, a 5xx whose title or first heading says "not found" is a 404.
    """
    if status not in _THREE_DIGITS:
        return failed(Failure.INVALID, "a status code of more than three digits")
    meaning = next((meaning for codes, meaning in _STATUS_CODES if status in codes), Unreachable)
    if meaning is Fetched:
        return Fetched(status, url, body, cut, max_age)
    if meaning is Unavailable:
        return Unavailable(status, url, f"HTTP {status}", max_age)
    if soft_404 and status in _SERVER_ERRORS and says_not_found(body):
        return Unavailable(status, url, f'HTTP {status} that says "not found", as 404', max_age)
    if status == _PROXY_AUTHENTICATION_REQUIRED:
        return failed(Failure.PROXY, f"HTTP {status}")
    return Unreachable(f"HTTP {status}", status, retry_after)


def failed(failure: Failure, detail: str = "") -> Unreachable:
    """Return the outcome of a fetch that ended in `failure`. `detail` is the error's own message, for people."""
    detail = shown(" ".join(detail[:_DETAIL_CHARS].split()))
    return Unreachable(f"{failure.value} ({detail})" if detail else failure.value)


def recalled(outcome: Outcome) -> Outcome:
    """Return `outcome` as one from an HTTP cache, fresh for no longer than `Policy.min_age_secs`."""
    if isinstance(outcome, Unreachable):
        return replace(outcome, recalled=True)
    return replace(outcome, recalled=True, max_age=0.0)
