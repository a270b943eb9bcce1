"""The outcome of one attempt to fetch a robots.txt, and where its redirects lead.

An outcome is Fetched, Unavailable or Unreachable.

Pure. `outages` decides what follows from an outcome over time. Only HTTP redirects are followed,
also to other hosts; never a meta refresh or a script. The file that is found counts for the origin
that was asked first. No rules are checked on the way: there are none yet.
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
from .web_pages import found_instead, says_not_found, wall_of

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 5  # that are followed; Google's page: at least five, then as a 404
_SCHEMES = frozenset({"http", "https"})
_URL_CHARS = 8192  # a longer Location leads nowhere
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_DETAIL_CHARS = 200  # of a foreign error message: enough to understand it, whatever its length


@dataclass(frozen=True, slots=True)
class Fetched:
    """The server sent a robots.txt: its rules decide (RFC 9309 2.3.1.1)."""

    status: int
    url: str  # the URL that served it, after redirects
    body: bytes  # content-decoded
    cut: bool = False  # whether the server sent more than is read
    max_age: float | None = None  # seconds it is fresh by its headers; None: they do not say
    instead: str = ""  # what it is, such as "a web page", if it clearly is no robots.txt


@dataclass(frozen=True, slots=True)
class Unavailable:
    """There is certainly no robots.txt: nothing is restricted (RFC 9309 2.3.1.3).

    `Policy.access_denied` may say otherwise.
    """

    status: int  # as served, even for a redirect that was not followed or a 5xx that means 404
    url: str  # the URL that said so
    why: str
    max_age: float | None = None  # seconds it is fresh by its headers; None: they do not say
    wall: str = ""  # whose wall has answered in place of the site, and how that shows
    # Whether a proxy may have said so in place of the site: it counts for a short time, and for
    # the process that has been told.
    may_be_a_proxys: bool = False


class Failure(Enum):
    """Ways in which a fetch ends without a whole response.

    Each is Unreachable: incomplete data is no short file.
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
    # the project's own: no server was asked
    DROPPED = "another middleware dropped the request"
    MIDDLEWARE = "another middleware failed"
    FETCHER = "the code that fetches it failed"
    OTHER = "the fetch failed"


NO_SERVER = frozenset({Failure.DNS, Failure.REFUSED})  # there is none that could answer
# this crawl's own doing, at each try again: it says nothing of the site
NOT_ASKED = frozenset({Failure.DROPPED, Failure.MIDDLEWARE, Failure.FETCHER, Failure.NO_HANDLER})


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No definite answer: everything is restricted for now (RFC 9309 2.3.1.4)."""

    why: str  # for people: no code reads it
    status: int | None = None  # None: no response came at all
    # for how many seconds the server wants to be left alone; None: it does not say
    retry_after: float | None = None
    failure: Failure | None = None  # None: the status says it
    redirected_to: str = ""  # the URL that was asked last, if a redirect led there


Outcome: TypeAlias = Fetched | Unavailable | Unreachable


def failed(failure: Failure, detail: str = "") -> Unreachable:
    """Return the outcome of a fetch that ended in `failure`.

    `detail` is the error's own message, for people.
    """
    why = failure.value
    detail = shown(" ".join(detail[:_DETAIL_CHARS].split()))
    if detail:
        why = f"{why} ({detail})"
    return Unreachable(why, failure=failure)


def after_redirect(outcome: Unreachable, url: str) -> Unreachable:
    """Return `outcome` with the URL that was asked last."""
    why = outcome.why
    if outcome.failure is not None:
        why = f"{why}, redirected to {shown(url[:_DETAIL_CHARS])}"
    return replace(outcome, why=why, redirected_to=url)


# The first row that contains the status decides; without a row it is Unreachable, as 503 and all
# 5xx. So 1xx, 304 (the request was not conditional) and codes from 600 on count as server errors.
_STATUS_CODES: tuple[tuple[Container[int], type[Outcome]], ...] = (
    (range(200, 300), Fetched),
    ({304, 429}, Unreachable),
    (range(300, 500), Unavailable),  # a redirect that was not followed ends as a 404
)
_SERVER_ERRORS = range(500, 600)
_PROXY_AUTHENTICATION_REQUIRED = 407
# By which a forward proxy refuses, too. It may say so in the words of any site.
_OF_A_PROXY_TOO = frozenset({401, 402, 403, 451})
_THREE_DIGITS = range(1000)  # a server can send any number


def meaning_of(status: int) -> type[Outcome]:
    """Return what a status means if nothing in the response says otherwise."""
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

    The caller has followed redirects before.

    `body` is content-decoded; `cut` says that it was cut at a size limit. `headers` are those that
    `wall_of` looks at, and the Content-Type, with names in lower case. `max_age` and `retry_after`
    are seconds, as the module `headers` reads them. With `soft_404`, a 5xx whose title or first
    heading says "not found" is a 404. `proxy` names the proxy that could have answered in place of
    the site, and is "" if none could. Its 407 is its own word, not the site's (RFC 9110 15.5.8).
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
    if may_be_404 and says_not_found(body, headers.get("content-type", "")):
        return Unavailable(status, url, f'{why} that says "not found", as 404', max_age)
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
    """Return the outcome of a response that is a proxy's own.

    `proxy` names it, and is "" for one that this crawl does not know. `fault` is what the proxy
    says, as the module `headers` reads it.
    """
    detail = ", ".join(filter(None, (f"HTTP {status}", fault)))
    if proxy:
        detail = f"{proxy}: {detail}"
    return replace(failed(Failure.PROXY, detail), retry_after=retry_after)


def is_for_this_process(outcome: Outcome) -> bool:
    """Whether an outcome says nothing to other processes: their own fetch may have another."""
    if isinstance(outcome, Unreachable):
        return outcome.failure in NOT_ASKED
    return isinstance(outcome, Unavailable) and outcome.may_be_a_proxys


def next_hop(status: int, location: bytes | None, trail: Sequence[str]) -> str | Unavailable:
    """Return the URL to fetch after a redirect, or a 404 if there is none.

    The URL has no user-info and no fragment. It is a 404 after `MOST_REDIRECTS`, in a loop, and at
    a Location that is missing, unfit, or of a scheme other than http and https.

    Args:
        status: one of `REDIRECTS`.
        location: the Location header.
        trail: the URLs that were asked so far; the one that redirects is the last.
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
    """Return the 404 for which a redirect by `url` counts that is not followed."""
    return Unavailable(status, url, f"HTTP {status} {why}, as 404")


def _target(location: bytes, here: str) -> str | None:
    """Resolve a Location against the URL that sent it; None if it is no URL to follow.

    User-info and fragment are taken out.
    """
    # as browsers read it (WHATWG URL, "special" schemes)
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
    # brackets without an IPv6 address in them, a port out of range, and the like
    except ValueError:
        return None
    if scheme not in _SCHEMES:
        return None
    return url
