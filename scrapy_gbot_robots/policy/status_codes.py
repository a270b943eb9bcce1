"""What a response to a request for a robots.txt means, by its status code.

Pure. The caller has followed redirects before. `ladder` decides what follows from an outcome over time.
Sources: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.1.
"""

from __future__ import annotations

from .outcome import Failure, Fetched, Outcome, Unavailable, Unreachable, failed
from .soft404 import says_not_found

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
