"""Which robots.txt a request is subject to, if to any: by its URL, its method and its meta alone.

A request that goes back to its scheduler carries a mark meanwhile, in meta, so that any queue can
keep it: `returned` sets it, `restore` takes it away. Other marks go with a request to the
downloader and back. `clear_own_meta` takes them away before the spider gets it.
"""

from __future__ import annotations

from functools import lru_cache

from scrapy import Request

from ..core.url_forms import as_sent
from ..core.urls import Origin, origin_of_robots_txt
from ..meta import CHECKED, JUDGED_AS, OWN_META, OWN_SLOT, RETURNED, SITEMAP

# Google's page, "File location & range of validity"
SCHEMES = frozenset({"http", "https", "ftp"})
_ORDINARY = ("https://", "http://")  # how nearly all URLs begin
_BEFORE_HOST = len("https://")  # characters; a host has one at least
# Web sockets begin with an HTTP request to the same host and port (RFC 6455 1.3).
_WEB_SOCKETS = {"ws": "http", "wss": "https"}
_ALREADY_KNOWN = {"dont_cache": True, "dont_retry": True}  # Scrapy's own keys


def _scheme_of(url: str) -> tuple[str, str]:
    """Split `url`, as it is sent, into the scheme whose robots.txt counts, and the rest."""
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    return _WEB_SOCKETS.get(scheme, scheme), rest


def is_subject(request: Request) -> bool:
    """Whether a robots.txt decides about `request`.

    None does if `dont_obey_robotstxt` is set in its meta. A request to get a robots.txt is subject
    to that robots.txt, which may be known already.
    """
    if request.meta.get("dont_obey_robotstxt"):
        return False
    url = request.url
    if not url.startswith(_ORDINARY) and _scheme_of(as_sent(url))[0] not in SCHEMES:
        return False
    return request.method == "GET" or origin_of_robots_txt(url) is None


def origin_of(request: Request) -> Origin:
    """The origin whose robots.txt decides about `request`, which is subject to one.

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


# of URLs up to the first slash of their path: what follows that makes no difference
_origin_of_beginning = lru_cache(maxsize=1_000)(_origin_of)


def is_unchecked_sitemap(request: Request) -> bool:
    """Whether it is still to be checked if the sitemap file of `request` may lie there.

    No robots.txt is requested for it before. It goes through the middlewares, and then comes back
    to wait. Most sitemaps are checked when they are found, and wait like pages.
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
    """Make a request that has come back what it was."""
    if RETURNED in request.meta:
        request.dont_filter = request.meta.pop(RETURNED)
    own = request.meta.pop(OWN_META, None)
    if own is not None:
        for key in _ALREADY_KNOWN:
            request.meta.pop(key, None)
        request.meta.update(own)


def mark_known(request: Request) -> None:
    """Let no middleware store what answers `request`, or ask for it again: it is known already.

    `restore` takes that back.
    """
    meta = request.meta
    meta[OWN_META] = {key: meta[key] for key in _ALREADY_KNOWN if key in meta}
    meta.update(_ALREADY_KNOWN)


def clear_own_meta(request: Request) -> None:
    """Give `request` the meta that its spider gave it, when its way through middlewares ends."""
    restore(request)
    for key in (CHECKED, JUDGED_AS, OWN_SLOT):
        request.meta.pop(key, None)
