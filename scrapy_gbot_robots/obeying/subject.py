"""Finds the robots.txt to which a request is subject, from the request's URL, method and meta.

This module also sets and removes the plugin's own marks in the meta of a request. If a request goes
back to its scheduler to wait, `returned` marks it. `restore` removes this mark when the request
comes again. A queue, for example in Redis, stores the mark together with the request. Other marks
stay in the meta during the download. `clear_own_meta` removes them before the spider gets the
response.
"""

from __future__ import annotations

from functools import lru_cache

from scrapy import Request

from ..core.url_forms import as_sent
from ..core.urls import Origin, origin_of_robots_txt
from ..meta import CHECKED, JUDGED_AS, OWN_META, OWN_SLOT, RETURNED, SITEMAP

# The schemes whose URLs are subject to a robots.txt (Google's page, "File location & range of
# validity").
SCHEMES = frozenset({"http", "https", "ftp"})
_ORDINARY = ("https://", "http://")  # Nearly all URLs begin with one of these.
_BEFORE_HOST = len("https://")  # The slash that ends the host cannot come before this index.
# A web socket begins with an HTTP request to the same host and port (RFC 6455 1.3). So a ws or wss
# URL is subject to the robots.txt of the http or https URL.
_WEB_SOCKETS = {"ws": "http", "wss": "https"}
# Scrapy's meta keys for a request whose response is known already, with their values.
_ALREADY_KNOWN = {"dont_cache": True, "dont_retry": True}


def _scheme_of(url: str) -> tuple[str, str]:
    """Split `url` at its first colon; return the scheme of its robots.txt, and the rest.

    The robots.txt of a ws URL has the scheme "http", and the robots.txt of a wss URL "https".
    """
    scheme, _, rest = url.partition(":")
    scheme = scheme.lower()
    return _WEB_SOCKETS.get(scheme, scheme), rest


def is_subject(request: Request) -> bool:
    """Whether `request` is subject to a robots.txt, and not exempt.

    A request with `dont_obey_robotstxt` in its meta is exempt. A GET request for a robots.txt is
    not exempt, because it need not be sent if the file is known already.
    """
    if request.meta.get("dont_obey_robotstxt"):
        return False
    url = request.url
    if not url.startswith(_ORDINARY) and _scheme_of(as_sent(url))[0] not in SCHEMES:
        return False
    return request.method == "GET" or origin_of_robots_txt(url) is None


def origin_of(request: Request) -> Origin:
    """Return the origin whose robots.txt decides whether `request` is allowed.

    Args:
        request: a request for which `is_subject` is true.

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


# The same as `_origin_of`, with a cache. The argument is a URL up to the first slash of its path,
# such as "https://example.com/", so the cache has one entry for all pages of a host.
_origin_of_beginning = lru_cache(maxsize=1_000)(_origin_of)


def is_unchecked_sitemap(request: Request) -> bool:
    """Whether `request` is for a sitemap file whose URL still has to be checked.

    Some sitemap files must not be requested, for example those on private hosts. Before the URL is
    checked, the request must not cause a fetch of a robots.txt. So the room hands it out at once,
    and the middlewares of `sitemaps` check its URL. After that, `GbotRobotsTxtMiddleware`
    sends it back to wait if its robots.txt is not known. Most sitemap files are checked when they
    are found, so their requests wait like requests for pages.
    """
    if SITEMAP not in request.meta or RETURNED in request.meta:
        return False
    return request.meta.get(CHECKED) != request.url


def returned(request: Request) -> Request:
    """Mark `request`, which goes back to its scheduler, and return it.

    The duplicate filter of the scheduler has seen the request before, so `dont_filter` is set.
    """
    request.meta.setdefault(RETURNED, request.dont_filter)
    request.dont_filter = True
    return request


def restore(request: Request) -> None:
    """Undo `returned` and `mark_known`, if they have marked `request`.

    `dont_filter` and the values in the meta are again as they were before.
    """
    if RETURNED in request.meta:
        request.dont_filter = request.meta.pop(RETURNED)
    own = request.meta.pop(OWN_META, None)
    if own is not None:
        for key in _ALREADY_KNOWN:
            request.meta.pop(key, None)
        request.meta.update(own)


def mark_known(request: Request) -> None:
    """Mark `request` so that Scrapy's middlewares do not cache its response or retry the request.

    Call this if the plugin returns a stored response. `restore` removes the mark.
    """
    meta = request.meta
    meta[OWN_META] = {key: meta[key] for key in _ALREADY_KNOWN if key in meta}
    meta.update(_ALREADY_KNOWN)


def clear_own_meta(request: Request) -> None:
    """Remove all marks of the plugin from the meta of `request`, before the spider gets it."""
    restore(request)
    for key in (CHECKED, JUDGED_AS, OWN_SLOT):
        request.meta.pop(key, None)
