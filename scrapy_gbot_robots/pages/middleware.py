"""The spider middleware of `GBOT_ROBOTS_PAGE_RULES` reads a page's directives and acts on them.

Scrapy does not show which requests follow a link. So a request from a callback is dropped if its
URL is a link of the page, and the page or that link has "nofollow". All other requests pass. Items
are dropped here and not in a pipeline, because a pipeline does not get the page. Scrapy counts them
like any dropped item.
Source: Google's page "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications".
"""

from __future__ import annotations

import logging
import time
from typing import Any
from urllib.parse import urldefrag
from weakref import WeakKeyDictionary

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.http import HtmlResponse, Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from ..meta import FOLLOW, PAGE_RULES
from ..obeying.identity import CrawlerIdentity
from ..obeying.middleware import identity_of
from ..settings import GbotSettings
from .directives import KNOWN, at_time, directives_of, links_not_to_follow

_LINK_METHODS = frozenset({"GET", "HEAD"})

logger = logging.getLogger(__name__)


class PageRulesMiddleware(BaseSpiderMiddleware):
    """Puts a page's directives into `response.meta["gbot_robots_page_rules"]`, and acts on them.

    It drops requests for links that are not to be followed, and the items of pages with a directive
    that `GBOT_ROBOTS_PAGE_RULES_DROP` lists.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Read the settings.

        Raises:
            NotConfigured: `GBOT_ROBOTS_PAGE_RULES` is off.
        """
        super().__init__(crawler)
        settings = GbotSettings.of(crawler.settings)
        if not settings.page_rules:
            raise NotConfigured
        self._identity = CrawlerIdentity(crawler, settings.asked_as)
        # The result of `links_not_to_follow` for each page.
        self._links_not_to_follow: WeakKeyDictionary[Response, set[str]] = WeakKeyDictionary()
        self._drop = frozenset(map(str.lower, settings.page_rules_drop))
        for word in sorted(self._drop - KNOWN):
            logger.warning(
                "GBOT_ROBOTS_PAGE_RULES_DROP has %r, which is not a known directive; "
                "is it spelt right?",
                word,
            )

    def process_spider_input(self, response: Response, spider: Spider | None = None) -> None:
        """Read the page's directives before its callback is called."""
        request = response.request
        if request is None:
            return
        # The middleware that has judged the request decides for which user agent it was judged.
        identity = identity_of(self.crawler) or self._identity
        directives = directives_of(response, identity.tokens(request))
        request.meta[PAGE_RULES] = directives = at_time(time.time(), directives)
        for name in KNOWN & directives.keys():  # Other names could make any number of stats.
            self.crawler.stats.inc_value(f"gbot_robots/page_rules/{name}")

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Drop a request that the page asks not to follow.

        The page is parsed only if a request may be a link.
        """
        if (
            not isinstance(response, HtmlResponse)
            or request.method not in _LINK_METHODS
            or request.meta.get(FOLLOW)
        ):
            return request
        if response not in self._links_not_to_follow:
            self._links_not_to_follow[response] = links_not_to_follow(
                response, whole_page="nofollow" in response.meta.get(PAGE_RULES, ())
            )
        if urldefrag(request.url).url not in self._links_not_to_follow[response]:
            return request
        self.crawler.stats.inc_value("gbot_robots/page_rules/links_left")
        logger.debug("Not followed, as %s asks: %s", response.url, request)
        return None

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Drop an item if its page has a directive of the setting; log, count and signal it."""
        if response is None:
            return item
        reasons = sorted(self._drop.intersection(response.meta.get(PAGE_RULES, ())))
        if not reasons:
            return item
        for reason in reasons:
            self.crawler.stats.inc_value(f"gbot_robots/page_rules/items_dropped/{reason}")
        error = DropItem(
            f"the page has {', '.join(reasons)}, which GBOT_ROBOTS_PAGE_RULES_DROP lists: "
            f"{response.url}"
        )
        logger.debug("Dropped an item: %s", error)
        self.crawler.signals.send_catch_log(
            signals.item_dropped,
            item=item,
            response=response,
            exception=error,
            spider=self.crawler.spider,
        )
        return None
