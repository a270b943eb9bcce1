"""Robots.txt files in Scrapy's HTTP cache (`HTTPCACHE_ENABLED`), so that a crawl can be replayed.

Operations wanted: a crawl can be replayed when its servers are gone but its pages are in the HTTP cache. A crawl whose
servers answer never obeys an old robots.txt.

Plan: each robots.txt that a server sends is stored there, with its redirects, if `HTTPCACHE_POLICY` agrees. It is recalled
only if no server answers. With `HTTPCACHE_IGNORE_MISSING`, Scrapy asks no server, so it is recalled at once.

Boundary: Scrapy's cache storages are called in the reactor's thread, as Scrapy does for pages.
"""

from __future__ import annotations

import logging
from email.utils import formatdate
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.exceptions import IgnoreRequest

from ..engine import downloader_middleware
from .exchange import Exchange

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

_FLAGS = "X-Gbot-Robots-Flags"  # header of a stored response: its flags, which Scrapy's cache storages do not keep

logger = logging.getLogger(__name__)


class NotCachedError(Exception):
    """`HTTPCACHE_IGNORE_MISSING` is on, and the HTTP cache does not have this robots.txt."""


class HttpCache:
    """Stores responses to requests for robots.txt files in Scrapy's HTTP cache, and recalls them.

    If the cache's storage fails, the log says so once, and the storage counts as empty.
    """

    def __init__(self, crawler: Crawler, middleware: HttpCacheMiddleware) -> None:
        self._crawler = crawler
        self._policy = middleware.policy
        self._storage = middleware.storage
        self._is_replay = middleware.ignore_missing
        self._told: set[str] = set()

    @classmethod
    def of(cls, crawler: Crawler) -> Self | None:
        """The HTTP cache of a crawl whose engine runs; None if the middleware is off or not Scrapy's."""
        middleware = downloader_middleware(crawler, HttpCacheMiddleware)
        return None if middleware is None else cls(crawler, middleware)

    def store(self, exchange: Exchange) -> None:
        """Store the response of `exchange` if the policy agrees."""
        request, response = exchange.own, exchange.response
        if request is None or response is None or exchange.headers is None or not self._keeps(request):
            return
        headers = exchange.headers.copy()
        headers.setdefault("Date", formatdate(usegmt=True))  # as Scrapy's middleware does, for RFC2616Policy
        headers.setlist(_FLAGS, response.flags)
        stored = response.replace(headers=headers)
        try:
            if self._policy.should_cache_response(stored, request):
                self._storage.store_response(self._crawler.spider, request, stored)
                self._count("stored")
        except Exception as error:  # of a policy or storage of the user's
            self._failed("store", request, error)

    def replayed(self, own: Request) -> Exchange | None:
        """The exchange that answers `own` without a server; None if the server is to be asked.

        With `HTTPCACHE_IGNORE_MISSING`, the exchange has an error if the cache lacks the response.
        """
        if not (self._is_replay and self._keeps(own)):
            return None
        return self.recalled(own) or _without_response(own)

    def decides(self, own: Request, status: int | None) -> bool:
        """Whether the stored response for `own` decides during an outage that a response of `status` began.

        That is so if no server answered (None), as for `recalled_for`, or if none is asked.
        """
        return (status is None or self._is_replay) and self._keeps(own) and self._stored(own) is not None

    def recalled_for(self, exchange: Exchange) -> Exchange | None:
        """The stored exchange in place of one to which no server answered; None if a server did, or none is stored."""
        own, error = exchange.own, exchange.error
        answered = exchange.response is not None or exchange.headers_at is not None
        if own is None or error is None or answered or isinstance(error, IgnoreRequest) or not self._keeps(own):
            return None
        return self.recalled(own)

    def recalled(self, own: Request) -> Exchange | None:
        """The stored exchange for `own`; None if there is none."""
        response = self._stored(own)
        if response is None:
            return None
        flags = [flag.decode("latin-1") for flag in response.headers.getlist(_FLAGS)]
        response.headers.pop(_FLAGS, None)
        exchange = Exchange(0)
        exchange.own, exchange.request, exchange.recalled = own, own, True
        exchange.response, exchange.headers = response.replace(flags=flags), response.headers.copy()
        exchange.stopped = "download_stopped" in flags  # by our own limit, since no response that lost data is stored
        self._count("recalled")
        self._tell(
            logging.INFO, "recalled", "%s is taken from Scrapy's HTTP cache, as no server was asked or answered", own
        )
        return exchange

    def _stored(self, own: Request) -> Response | None:
        try:
            response: Response | None = self._storage.retrieve_response(self._crawler.spider, own)
        except Exception as error:  # as above
            self._failed("read", own, error)
            return None
        return response

    def _keeps(self, request: Request) -> bool:
        try:
            return bool(self._policy.should_cache_request(request))
        except Exception as error:  # of a policy of the user's
            self._failed("judge", request, error)
            return False

    def _failed(self, what: str, request: Request, error: Exception) -> None:
        self._count("errors")
        self._tell(
            logging.WARNING, what, f"Scrapy's HTTP cache could not {what} %s: {type(error).__name__}", request, error
        )

    def _tell(self, level: int, what: str, text: str, request: Request, error: Exception | None = None) -> None:
        """Say `text` once in a crawl; the stats say how often it happened."""
        if what not in self._told:
            self._told.add(what)
            logger.log(level, text, request.url, exc_info=error, extra={"spider": self._crawler.spider})

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(f"gbot_robots/http_cache/{name}")


def _without_response(own: Request) -> Exchange:
    exchange = Exchange(0)
    exchange.own, exchange.recalled, exchange.error = own, True, NotCachedError()
    return exchange
