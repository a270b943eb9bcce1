"""Describe the outcome of one attempt to fetch a robots.txt, and resolve redirects.

There are three outcomes. `Fetched` means that the server sent a robots.txt. `Unavailable` means
that the site certainly has no robots.txt, for example after a 404. `Unreachable` means that it is
not known whether the site has a robots.txt, for example after a 503 or a timeout. The module
outages.py decides what an outcome means for the requests of a crawl.

HTTP redirects are followed, even to other hosts. A redirect by a `meta` element or a script is not
followed. The rules in the file at the end of the redirects apply to the origin whose robots.txt was
requested.

The sources are Google's page, "Handling of errors and HTTP status codes", and RFC 9309 2.3.1.
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
# At most this many redirects are followed. If there are more, the result is the same as for a 404
# (Google's page).
MOST_REDIRECTS = 5
_SCHEMES = frozenset({"http", "https"})
_URL_CHARS = 8192  # A redirect with a longer Location header is not followed.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_DETAIL_CHARS = 200  # Only this many characters of an error message are kept.


@dataclass(frozen=True, slots=True)
class Fetched:
    """The server sent a robots.txt, so the rules in it apply (RFC 9309 2.3.1.1)."""

    status: int
    url: str  # The URL of the file, after redirects.
    body: bytes  # The file, without content codings.
    cut: bool = False  # Whether the server sent more bytes than `body`.
    # The number of seconds for which the file is fresh; None if no header sets it.
    max_age: float | None = None
    # The kind of the body, such as "a web page", if it clearly is not a robots.txt; otherwise "".
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """There is certainly no robots.txt, so nothing is restricted (RFC 9309 2.3.1.3).

    There is one exception. If the server denied access, as with a 403, or if a bot wall answered,
    the setting GBOT_ROBOTS_ACCESS_DENIED decides whether everything is allowed or disallowed.
    """

    # The HTTP status of the response. It may be a 5xx, because a 5xx with a "not found" page is
    # treated as a 404. It may also be a 3xx, because a redirect that is not followed is treated in
    # the same way.
    status: int
    url: str  # The URL of the response, after redirects.
    why: str
    # The number of seconds for which the response is fresh; None if no header sets it.
    max_age: float | None = None
    # The bot wall that answered in place of the site, and how it was recognised, such as
    # "DDoS-Guard, by its title"; "" if the site answered itself.
    wall: str = ""
    # Whether a proxy may have answered in place of the site. If so, this outcome is used only for a
    # short time, and only in this process.
    may_be_a_proxys: bool = False


class Failure(Enum):
    """The ways in which a fetch ends without a complete response.

    In each of these cases the outcome is `Unreachable`, because an incomplete response must not be
    taken for a short but complete file. The values are human-readable texts.
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
    NO_FILES = "this process cannot open more files"
    REPLACED = "the download failed, and another middleware put a response in its place"
    DROPPED = "another middleware dropped the request"
    MIDDLEWARE = "another middleware failed"
    OVERRIDE = "an override disallows the site to which it redirects"
    FETCHER = "the code that fetches it failed"
    OTHER = "the fetch failed"


# The failures which show that there is no server at the address of the origin.
NO_SERVER = frozenset({Failure.DNS, Failure.REFUSED})
# The failures that are caused by the crawl and not by the site. For example, a downloader
# middleware has dropped the request. A new fetch would fail in the same way.
NOT_ASKED = frozenset(
    {
        Failure.DROPPED,
        Failure.MIDDLEWARE,
        Failure.OVERRIDE,
        Failure.FETCHER,
        Failure.NO_HANDLER,
    }
)
# The failures that are not put into the storage, because a fetch in another process might succeed.
# NO_FILES is not in `NOT_ASKED`, because the process might soon be able to open files again.
_OF_THIS_PROCESS = NOT_ASKED | {Failure.NO_FILES}


@dataclass(frozen=True, slots=True)
class Unreachable:
    """It is not known what the site wants, so everything is restricted (RFC 9309 2.3.1.4)."""

    why: str  # The reason, as human-readable text. No code depends on it.
    status: int | None = None  # The HTTP status; None if no response came.
    # The number of seconds after which the server wants the next request; None if the server does
    # not set a number.
    retry_after: float | None = None
    failure: Failure | None = None  # The kind of failure; None if the server sent a response.
    redirected_to: str = ""  # The URL to which the fetch was redirected; "" if it was not.


Outcome: TypeAlias = Fetched | Unavailable | Unreachable


def failed(failure: Failure, detail: str = "") -> Unreachable:
    """Return the outcome of a fetch that ended in `failure`.

    `detail` is the message of the error, for people. At most `_DETAIL_CHARS` characters are kept.
    """
    why = failure.value
    detail = shown(" ".join(detail[:_DETAIL_CHARS].split()))
    if detail:
        why = f"{why} ({detail})"
    return Unreachable(why, failure=failure)


def by_ftp(outcome: Outcome, reply: str) -> Outcome:
    """Return a copy of `outcome` whose `why` contains the error reply of an FTP server.

    The `status` does not change. It is the HTTP status that Scrapy's FTP handler has chosen.
    """
    if isinstance(outcome, Fetched):
        return outcome
    return replace(outcome, why=f"FTP {reply}")


def after_redirect(outcome: Unreachable, url: str) -> Unreachable:
    """Return `outcome` with a note that the fetch was redirected to `url`."""
    why = outcome.why
    if outcome.failure is not None:
        why = f"{why}, redirected to {shown(url[:_DETAIL_CHARS])}"
    return replace(outcome, why=why, redirected_to=url)


# The kind of outcome for each status. The first row that contains the status decides. For any other
# status, such as a 5xx, a 1xx or 600, the outcome is `Unreachable`. A 304 is an error, because the
# request was not conditional.
_STATUS_CODES: tuple[tuple[Container[int], type[Outcome]], ...] = (
    (range(200, 300), Fetched),
    ({304, 429}, Unreachable),
    (range(300, 500), Unavailable),  # A redirect that was not followed counts as a 404.
)
SERVER_ERRORS = range(500, 600)
_PROXY_AUTHENTICATION_REQUIRED = 407
# A response with one of these statuses may come from the site, or from a proxy that denies access.
_OF_A_PROXY_TOO = frozenset({401, 402, 403, 451})
_THREE_DIGITS = range(1000)  # Some servers send a status that is not in this range.


def meaning_of(status: int) -> type[Outcome]:
    """Return the kind of outcome for a response, if only its HTTP status is known."""
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
        url: the URL of the response.
        body: the body without content codings.
        soft_404: whether a 5xx whose title or first heading means "not found" is treated as a 404.
        proxy: the name of the proxy through which the request was sent; "" if there was none.
        headers: the Content-Type, and the headers in `web_pages.HEADERS`, with names in lower case.
        cut: whether `body` was cut at a size limit.
        max_age: the number of seconds for which the response is fresh, from `headers.max_age`.
        retry_after: the number of seconds after which the server wants the next request, from
            `headers.retry_after`.
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
    may_be_404 = soft_404 and status in SERVER_ERRORS
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
    """Return the outcome for a response that comes from a proxy and not from the site.

    Args:
        proxy: the name of the proxy; "" if the name is not known.
        status: the status code.
        fault: the error that the proxy reports, as `headers.proxy_fault` returns it.
        retry_after: the number of seconds after which the proxy wants the next request, from
            `headers.retry_after`.
    """
    detail = ", ".join(filter(None, (f"HTTP {status}", fault)))
    if proxy:
        detail = f"{proxy}: {detail}"
    return replace(failed(Failure.PROXY, detail), retry_after=retry_after)


def is_for_this_process(outcome: Outcome) -> bool:
    """Return whether only this process may use `outcome`.

    The outcome must not be put into the storage if another process may get a different outcome from
    the same site.
    """
    if isinstance(outcome, Unreachable):
        return outcome.failure in _OF_THIS_PROCESS
    return isinstance(outcome, Unavailable) and outcome.may_be_a_proxys


def next_hop(status: int, location: bytes | None, trail: Sequence[str]) -> str | Unavailable:
    """Return the URL to fetch after a redirect, or the outcome if the redirect is not followed.

    The URL does not have user-info or a fragment. A redirect is not followed if one of these
    conditions is true: there were already `MOST_REDIRECTS` redirects; the target was requested
    before; the Location is missing or invalid; the scheme of the target is not http or https. The
    outcome is then the same as for a 404.

    Args:
        status: one of `REDIRECTS`.
        location: the value of the Location header; None if it is missing.
        trail: the URLs that were requested so far. The last one sent the redirect.
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
    """Return the outcome of a redirect that is not followed, which counts as a 404.

    `url` sent the redirect, and `why` is the reason for not following it.
    """
    return Unavailable(status, url, f"HTTP {status} {why}, as 404")


def _target(location: bytes, here: str) -> str | None:
    """Return the absolute URL of a Location header; None if this URL must not be fetched.

    `here` is the URL of the response that contains this header. The result has no user-info and no
    fragment.
    """
    # As browsers do, accept non-ASCII bytes, and read a backslash as a slash (url.spec.whatwg.org).
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
    # The URL is not valid. For example, it has brackets without an IPv6 address, or a port out of
    # range.
    except ValueError:
        return None
    if scheme not in _SCHEMES:
        return None
    return url
