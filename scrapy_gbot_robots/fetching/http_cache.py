"""Robots.txt files in Scrapy's HTTP cache (`HTTPCACHE_ENABLED`): a crawl can be replayed when its servers are gone.

Each robots.txt that a server sends is stored there, with its redirects, if `HTTPCACHE_POLICY` agrees. It is recalled only
if no server answers: a live crawl never obeys an old one. With `HTTPCACHE_IGNORE_MISSING`, Scrapy asks no server, so it is
recalled at once. Scrapy's cache storages are called in the reactor's thread, as Scrapy does for pages.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.http import Response

logger = logging.getLogger(__name__)


class HttpCache:
    """The HTTP cache of a crawl. If its storage or policy fails, the log says so once, and the cache counts as empty."""

    def __init__(self, crawler: Crawler, middleware: HttpCacheMiddleware) -> None:
        self._crawler = crawler
        self._middleware = middleware
        self._has_failed = False

    def replays(self, own: Request) -> bool:
        """Whether no server is to be asked for `own`."""
        with self._failing_safely(own):
            return bool(self._middleware.ignore_missing and self._middleware.policy.should_cache_request(own))
        return False

    def stored(self, own: Request) -> Response | None:
        """The stored response for `own`; None if there is none."""
        with self._failing_safely(own):
            response: Response | None = self._middleware.storage.retrieve_response(self._crawler.spider, own)
            return response
        return None

    def store(self, own: Request, response: Response) -> None:
        """Store what a server has sent for `own`, if the policy agrees."""
        policy = self._middleware.policy
        with self._failing_safely(own):
            if policy.should_cache_request(own) and policy.should_cache_response(response, own):
                self._middleware.storage.store_response(self._crawler.spider, own, response)
                self._crawler.stats.inc_value("gbot_robots/http_cache/stored")

    @contextmanager
    def _failing_safely(self, own: Request) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # of a policy or storage of the user's
            self._crawler.stats.inc_value("gbot_robots/http_cache/errors")
            if not self._has_failed:
                extra = {"spider": self._crawler.spider}
                logger.warning("Scrapy's HTTP cache failed for %s: %r", own.url, error, exc_info=error, extra=extra)
            self._has_failed = True
