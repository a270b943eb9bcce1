"""Which URL a redirected robots.txt is fetched from next; if the redirects lead nowhere, they count as a 404.

Only HTTP redirects are followed, also to other hosts; never a meta refresh or a script. The file that is found counts for
the origin that was asked first. No rules are checked on the way: there are none yet.
Sources: Google's page, "Handling of errors and HTTP status codes", 3xx; RFC 9309 2.3.1.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from .outcome import Unavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SCHEMES = frozenset({"http", "https"})
_URL_CHARS = 8192  # a longer Location leads nowhere


def next_hop(status: int, location: bytes | str | None, asked: Sequence[str], max_redirects: int) -> str | Unavailable:
    """Return the URL to fetch after a redirect, without user-info and fragment, or a 404 if there is none.

    It is a 404 at hop `max_redirects` + 1, in a loop, and at a Location that is missing, unfit, or of a scheme other than
    http and https.

    Args:
        status: one of `REDIRECTS`.
        location: the Location header.
        asked: the URLs that were asked so far; the one that redirects is the last.
        max_redirects: how many redirects are followed.
    """
    here = asked[-1]
    target = _target(location, here)
    if target is None:
        return Unavailable(status, here, f"HTTP {status} without a Location that can be followed, as 404")
    if target in asked or target in {_target(url, here) for url in asked}:
        return Unavailable(status, here, f"HTTP {status} redirects in a loop, as 404")
    if len(asked) > max_redirects:
        return Unavailable(status, here, f"HTTP {status} after {max_redirects} redirects, as 404")
    return target


def to_private_address(status: int, here: str) -> Unavailable:
    """Return the 404 for a redirect to a private address, which GBOT_ROBOTS_REFUSE_PRIVATE refuses."""
    return Unavailable(status, here, f"HTTP {status} to a private address, as 404")


def _target(location: bytes | str | None, here: str) -> str | None:
    """Resolve a Location against the URL that sent it; None if the result is no URL to follow."""
    reference = _text(location or b"").strip()
    if not 0 < len(reference) <= _URL_CHARS or any(char < " " or char == "\x7f" for char in reference):
        return None
    try:
        return _bare(urljoin(here, reference))
    except ValueError:  # brackets without an IPv6 address in them, a port out of range, and the like
        return None


def _text(location: bytes | str) -> str:
    if isinstance(location, str):
        return location
    try:
        return location.decode()
    except UnicodeDecodeError:
        return location.decode("latin-1")


def _bare(url: str) -> str:
    """Return an absolute http or https URL without user-info and fragment. Raises ValueError for any other URL."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    if parts.scheme not in _SCHEMES or not parts.hostname or parts.port == 0 or any(char.isspace() for char in host):
        raise ValueError(f"not a URL to follow: {url!r}")
    return parts._replace(netloc=host.lower(), path=parts.path or "/", fragment="").geturl()
