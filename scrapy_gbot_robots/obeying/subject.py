"""Which robots.txt decides about a request, by its URL, its method and its meta alone.

A request that goes back to its scheduler has a mark in its meta, so that any queue can store it.
`returned` sets the mark, and `restore` removes it. Other marks go with a request to the downloader
and back. `clear_own_meta` removes them before the spider gets the request.
"""

from __future__ import annotations

from functools import lru_cache

from scrapy import Request

from ..core.url_forms import as_sent
from ..core.urls import Origin, origin_of_robots_txt
from ..meta import CHECKED, JUDGED_AS, OWN_META, OWN_SLOT, RETURNED, SITEMAP

# Google's page, "File location & range of validity"
SCHEMES = frozenset({"http", "https", "ftp"})
_ORDINARY = ("https://", "http://")  # Nearly all URLs begin with one of these.
_BEFORE_HOST = len("https://")  # No slash that ends a host comes before this index.
# Web sockets begin with an HTTP request to the same host and port (RFC 6455 1.3).
_WEB_SOCKETS = {"ws": "http", "wss": "https"}
_ALREADY_KNOWN = {"dont_cache": True, "dont_retry": True}  # Scrapy's own keys


def _scheme_of(url: str) -> tuple[str, str]:
    """Split `url`, as it is sent, into the scheme whose robots.txt decides, and the rest."""
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    return _WEB_SOCKETS.get(scheme, scheme), rest


def is_subject(request: Request) -> bool:
    """Whether a robots.txt decides about `request`.

    If `dont_obey_robotstxt` is set in its meta, none decides. A GET request for a robots.txt is
    subject to that robots.txt, because the file may be known already.
    """
    if request.meta.get("dont_obey_robotstxt"):
        return False
    url = request.url
    if not url.startswith(_ORDINARY) and _scheme_of(as_sent(url))[0] not in SCHEMES:
        return False
    return request.method == "GET" or origin_of_robots_txt(url) is None


def origin_of(request: Request) -> Origin:
    """Return the origin whose robots.txt decides about `request`, which must be subject to one.

    Raises:
        ValueError: the URL has no valid origin.
    """
    url = request.url
    if url.startswith(_ORDINARY):
        slash = url.find("/", _BEFORE_HOST)
        if slash > 0:
            return _origin_of_beginning(url[: slash + 1])
    return _origin_of(url)


def _origin_of(url: str) -> Origin:
    return Origin.of(":".join(_scheme_of(as_sent(url))))


# The argument is a URL up to the first slash of its path, because the rest does not matter.
_origin_of_beginning = lru_cache(maxsize=1_000)(_origin_of)


def is_unchecked_sitemap(request: Request) -> bool:
    """Whether `request` is for a sitemap file whose place has not been checked yet.

    Before that check, no robots.txt is requested for the file. The request goes through the
    middlewares, and comes back to wait. Most sitemaps are checked when they are found, and wait
    like pages.
    """
    if SITEMAP not in request.meta or RETURNED in request.meta:
        return False
    return request.meta.get(CHECKED) != request.url


def returned(request: Request) -> Request:
    """Mark `request` as it goes back to its scheduler, whose duplicate filter has seen it.

    Return the same request.
    """
    request.meta.setdefault(RETURNED, request.dont_filter)
    request.dont_filter = True
    return request


def restore(request: Request) -> None:
    """Undo `returned` and `mark_known`: remove the marks, and restore the request's own values."""
    if RETURNED in request.meta:
        request.dont_filter = request.meta.pop(RETURNED)
    own = request.meta.pop(OWN_META, None)
    if own is not None:
        for key in _ALREADY_KNOWN:
            request.meta.pop(key, None)
        request.meta.update(own)


def mark_known(request: Request) -> None:
    """Mark `request` so that no middleware stores its response, or sends the request again.

    The response is known already. `restore` undoes this.
    """
    meta = request.meta
    meta[OWN_META] = {key: meta[key] for key in _ALREADY_KNOWN if key in meta}
    meta.update(_ALREADY_KNOWN)


def clear_own_meta(request: Request) -> None:
    """Remove all marks from the meta of `request`, when its way through the middlewares ends."""
    restore(request)
    for key in (CHECKED, JUDGED_AS, OWN_SLOT):
        request.meta.pop(key, None)
