"""The spider middleware that obeys page rules, if `GBOT_ROBOTS_PAGE_RULES` is on.

The page rules, or *directives*, are in the headers, meta tags and links of a page (directives.py).

A request does not show whether a callback has made it from a link. So a request is dropped if the
page has a link with the same URL, and if "nofollow" applies to this link or to the whole page. All
other requests pass.

If the setting `GBOT_ROBOTS_PAGE_RULES_DROP` lists a directive of the page, the items from the page
are dropped. This happens here and not in a pipeline, because a pipeline does not get the page.
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

from ..engine import refuse_as_add_on
from ..meta import FOLLOW, PAGE_RULES
from ..obeying.identity import CrawlerIdentity
from ..obeying.middleware import identity_of
from ..settings import GbotSettings
from .directives import KNOWN, at_time, directives_of, links_not_to_follow

_LINK_METHODS = frozenset({"GET", "HEAD"})

logger = logging.getLogger(__name__)


class PageRulesMiddleware(BaseSpiderMiddleware):
    """Puts a page's directives into `response.meta["gbot_robots_page_rules"]`, and obeys them.

    It drops requests for links that crawlers should not follow according to the page. If a page has
    a directive that `GBOT_ROBOTS_PAGE_RULES_DROP` lists, it drops the items from this page.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Make the middleware.

        Raises:
            NotConfigured: `GBOT_ROBOTS_PAGE_RULES` is off.
        """
        refuse_as_add_on(type(self), crawler)
        super().__init__(crawler)
        settings = GbotSettings.of(crawler.settings)
        if not settings.page_rules:
            raise NotConfigured
        self._identity = CrawlerIdentity(crawler, settings.asked_as)
        # For each page, the result of `links_not_to_follow`.
        self._links_not_to_follow: WeakKeyDictionary[Response, set[str]] = WeakKeyDictionary()
        self._drop = frozenset(map(str.lower, settings.page_rules_drop))
        for word in sorted(self._drop - KNOWN):
            logger.warning(
                "GBOT_ROBOTS_PAGE_RULES_DROP has %r, which is not a known directive; "
                "is it spelt right?",
                word,
            )

    def process_spider_input(self, response: Response, spider: Spider | None = None) -> None:
        """Put the directives of the page into its meta, before the callback of the spider runs."""
        request = response.request
        if request is None:
            return
        # Use the same user agent as when the request was checked against a robots.txt.
        identity = identity_of(self.crawler) or self._identity
        directives = directives_of(response, identity.tokens(request))
        request.meta[PAGE_RULES] = directives = at_time(time.time(), directives)
        # Only known directives are counted, because there may be any number of unknown directives.
        for name in KNOWN & directives.keys():
            self.crawler.stats.inc_value(f"gbot_robots/page_rules/{name}")

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Return `request`, or None if its URL is in a link that crawlers should not follow.

        If the result is None, Scrapy drops the request. The links of the page are read only if the
        request could have been made from one of them.
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
        logger.debug("Not followed, because %s asks for it: %s", response.url, request)
        return None

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Return `item`, or None to drop it.

        The item is dropped if its page has a directive that `GBOT_ROBOTS_PAGE_RULES_DROP` lists. A
        dropped item is logged and counted, and Scrapy's signal `item_dropped` is sent.
        """
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
