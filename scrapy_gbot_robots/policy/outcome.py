"""The outcome of one attempt to fetch a robots.txt, and the targets of its redirects.

An outcome is Fetched, Unavailable or Unreachable.

Pure. `outages` decides what follows from an outcome over time. Only HTTP redirects are followed,
also to other hosts, but a meta refresh and a script are not. The file at the end counts for the
origin that was asked first. No rules are checked on the way, because none are known yet.
Sources: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias
from urllib.parse import urljoin, urlsplit

from ..core.urls import Origin, shown
from .web_pages import found_instead, means_not_found, wall_of

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5  # Google's page: at least five are followed, then the answer is a 404.
_SCHEMES = frozenset({"http", "https"})
_URL_CHARS = 8192  # A longer Location is not followed.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_DETAIL_CHARS = 200  # Characters that are kept of an error message of other code.


@dataclass(frozen=True, slots=True)
class Fetched:
    """The server sent a robots.txt, so the rules in it decide (RFC 9309 2.3.1.1)."""

    status: int
    url: str  # The URL that sent the file, after redirects.
    body: bytes  # Without content codings.
    cut: bool = False  # Whether the server sent more than `body`.
    # For how many seconds the file is fresh by its headers; None if they set no time.
    max_age: float | None = None
    # Such as "a web page", if the body clearly is not a robots.txt; else "".
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """There is certainly no robots.txt, so nothing is restricted (RFC 9309 2.3.1.3).

    With `Policy.access_denied`, a crawl may treat denied access and bot walls differently.
    """

    # The status that the server sent, even if it counts as a 404: a 5xx with a "not found" page, or
    # a redirect that was not followed.
    status: int
    url: str  # The URL that sent the response.
    why: str
    # For how many seconds the answer is fresh by its headers; None if they set no time.
    max_age: float | None = None
    # The bot wall that answered in place of the site, and its mark; "" if none did.
    wall: str = ""
    # Whether a proxy may have answered in place of the site. If so, the answer counts for a short
    # time, and only in this process.
    may_be_a_proxys: bool = False


class Failure(Enum):
    """The ways in which a fetch ends without a whole response.

    Each of them is Unreachable, because incomplete data must not count as a short file.
    """

    DNS = "the host name does not resolve"
    REFUSED = "connection refused"
    RESET = "connection lost"
    LOGIN = "login refused"
    TIMEOUT = "no answer in time"
    TRUNCATED = "the body ended early"
    CHUNKING = "broken chunked encoding"
    TLS = "TLS failed"
    NO_HTTP2 = "the server has no HTTP/2, and this download handler has no other way"
    BAD_CONTENT = "the body cannot be decompressed"
    INVALID = "not an HTTP answer"
    NO_HANDLER = "no download handler for this scheme"
    CANCELLED = "the fetch was cancelled"
    PROXY = "the proxy failed"
    REPLACED = "the download failed, and another middleware put a response in its place"
    # The project's own code failed, so no server was asked.
    DROPPED = "another middleware dropped the request"
    MIDDLEWARE = "another middleware failed"
    FETCHER = "the code that fetches it failed"
    OTHER = "the fetch failed"


# In these cases there is no server that could answer.
NO_SERVER = frozenset({Failure.DNS, Failure.REFUSED})
# This crawl itself causes these failures, again at each try. They show nothing about the site.
NOT_ASKED = frozenset({Failure.DROPPED, Failure.MIDDLEWARE, Failure.FETCHER, Failure.NO_HANDLER})


@dataclass(frozen=True, slots=True)
class Unreachable:
    """There is no definite answer, so everything is restricted for now (RFC 9309 2.3.1.4)."""

    why: str  # The reason for people. No code reads this text.
    status: int | None = None  # None if no response came at all.
    # After how many seconds the server wants the next request; None if it sets no time.
    retry_after: float | None = None
    failure: Failure | None = None  # The kind of failure; None if the status is the cause.
    redirected_to: str = ""  # The last URL of the fetch, if a redirect led there; else "".


Outcome: TypeAlias = Fetched | Unavailable | Unreachable


def failed(failure: Failure, detail: str = "") -> Unreachable:
    """Return the outcome of a fetch that ended in `failure`.

    `detail` is the message of the error, for people; at most `_DETAIL_CHARS` of it are kept.
    """
    why = failure.value
    detail = shown(" ".join(detail[:_DETAIL_CHARS].split()))
    if detail:
        why = f"{why} ({detail})"
    return Unreachable(why, failure=failure)


def after_redirect(outcome: Unreachable, url: str) -> Unreachable:
    """Return `outcome` with `url`, the last URL of the fetch, to which a redirect led."""
    why = outcome.why
    if outcome.failure is not None:
        why = f"{why}, redirected to {shown(url[:_DETAIL_CHARS])}"
    return replace(outcome, why=why, redirected_to=url)


# The first row that contains the status decides. A status in no row is Unreachable, as all 5xx are.
# So 1xx, 304 (because the request was not conditional) and codes from 600 on count as server
# errors.
_STATUS_CODES: tuple[tuple[Container[int], type[Outcome]], ...] = (
    (range(200, 300), Fetched),
    ({304, 429}, Unreachable),
    (range(300, 500), Unavailable),  # A redirect that was not followed counts as a 404.
)
_SERVER_ERRORS = range(500, 600)
_PROXY_AUTHENTICATION_REQUIRED = 407
# With these statuses a forward proxy denies access, too. Its response may look like the site's.
_OF_A_PROXY_TOO = frozenset({401, 402, 403, 451})
_THREE_DIGITS = range(1000)  # A server can send a larger number.


def meaning_of(status: int) -> type[Outcome]:
    """Return the kind of outcome that `status` alone leads to."""
    return next((meaning for codes, meaning in _STATUS_CODES if status in codes), Unreachable)


def outcome_of(
    status: int,
    url: str,
    body: bytes,
    *,
    soft_404: bool,
    proxy: str,
    headers: Mapping[str, str],
    cut: bool = False,
    max_age: float | None = None,
    retry_after: float | None = None,
) -> Outcome:
    """Return the outcome of a whole HTTP (or FTP) response.

    The caller has already followed redirects.

    Args:
        status: the status code. If there is a proxy, a 407 comes from the proxy and not from the
            site (RFC 9110 15.5.8).
        url: the URL that sent the response.
        body: the body without content codings.
        soft_404: whether a 5xx whose title or first heading means "not found" is a 404.
        proxy: the name of the proxy that may have answered in place of the site; "" without one.
        headers: the headers of `HEADERS` in `web_pages`, and the Content-Type, with names in lower
            case.
        cut: whether `body` was cut at a size limit.
        max_age: as `headers.max_age` returns it, in seconds.
        retry_after: as `headers.retry_after` returns it, in seconds.
    """
    if status not in _THREE_DIGITS:
        return failed(Failure.INVALID, "a status code of more than three digits")
    why = f"HTTP {status}"
    may_be_a_proxys = False
    if proxy and status == _PROXY_AUTHENTICATION_REQUIRED:
        return proxy_failed(proxy, status)
    if proxy and status in _OF_A_PROXY_TOO and url.startswith("http:"):
        may_be_a_proxys = True
        why = f"HTTP {status} through the proxy {proxy}"
    meaning = meaning_of(status)
    may_be_404 = soft_404 and status in _SERVER_ERRORS
    if may_be_404 and means_not_found(body, headers.get("content-type", "")):
        return Unavailable(status, url, f'{why} with a "not found" page, as 404', max_age)
    if meaning is Unreachable:
        return Unreachable(why, status, retry_after)
    wall = wall_of(status, headers, body)
    if wall:
        return Unavailable(status, url, f"{why} of {wall}", max_age, wall, may_be_a_proxys)
    if meaning is Fetched:
        return Fetched(status, url, body, cut, max_age, found_instead(body))
    return Unavailable(status, url, why, max_age, may_be_a_proxys=may_be_a_proxys)


def proxy_failed(
    proxy: str, status: int, fault: str = "", retry_after: float | None = None
) -> Unreachable:
    """Return the outcome of a response that comes from a proxy and not from the site.

    Args:
        proxy: the name of the proxy; "" if this crawl does not know it.
        status: the status code.
        fault: the error that the proxy reports, as `headers.proxy_fault` returns it.
        retry_after: as `headers.retry_after` returns it, in seconds.
    """
    detail = ", ".join(filter(None, (f"HTTP {status}", fault)))
    if proxy:
        detail = f"{proxy}: {detail}"
    return replace(failed(Failure.PROXY, detail), retry_after=retry_after)


def is_for_this_process(outcome: Outcome) -> bool:
    """Return whether `outcome` counts in this process only, as other processes may get another."""
    if isinstance(outcome, Unreachable):
        return outcome.failure in NOT_ASKED
    return isinstance(outcome, Unavailable) and outcome.may_be_a_proxys


def next_hop(status: int, location: bytes | None, trail: Sequence[str]) -> str | Unavailable:
    """Return the URL to fetch after a redirect, or a 404 if the redirect is not followed.

    The URL does not have user-info or a fragment. The result is a 404 after `MOST_REDIRECTS`, in a
    loop, and if the Location is missing, invalid, or has a scheme other than http and https.

    Args:
        status: one of `REDIRECTS`.
        location: the value of the Location header; None if it is missing.
        trail: the URLs that were asked so far. The last one sent the redirect.
    """
    target = _target(location or b"", trail[-1])
    if target is None:
        why = "without a Location that can be followed"
    elif target in trail:
        why = "redirects in a loop"
    elif len(trail) > MOST_REDIRECTS:
        why = f"after {MOST_REDIRECTS} redirects"
    else:
        return target
    return dead_end(status, trail[-1], why)


def dead_end(status: int, url: str, why: str) -> Unavailable:
    """Return the 404 that replaces a redirect by `url` if it is not followed because of `why`."""
    return Unavailable(status, url, f"HTTP {status} {why}, as 404")


def _target(location: bytes, here: str) -> str | None:
    """Resolve a Location against `here`, the URL that sent it; None if it is not to be followed.

    User-info and fragment are removed.
    """
    # Like browsers, accept raw bytes and take backslashes for slashes (WHATWG URL).
    try:
        text = location.decode()
    except UnicodeDecodeError:
        text = location.decode("latin-1")
    reference = text.strip().replace("\\", "/")
    if not 0 < len(reference) <= _URL_CHARS or _CONTROL.search(reference):
        return None
    try:
        parts = urlsplit(urljoin(here, reference))
        host = parts.netloc.rpartition("@")[2].lower()
        url = parts._replace(netloc=host, path=parts.path or "/", fragment="").geturl()
        scheme = Origin.of(url).scheme
    # Brackets without an IPv6 address, a port out of range and other errors lead here.
    except ValueError:
        return None
    if scheme not in _SCHEMES:
        return None
    return url
