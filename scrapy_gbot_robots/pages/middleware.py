"""The spider middleware of `GBOT_ROBOTS_TAGS`: it reads a page's directives, and acts on nofollow and `_TAGS_DROP`.

Scrapy does not say which requests follow a link. So a request that a callback makes is dropped if its URL is a link of the
page, and the page or that link says nofollow. Other requests go on. Items are dropped here and not in a pipeline, because a
pipeline does not know the page. Scrapy counts them as it counts any dropped item.
Source: Google's page "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications".
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from scrapy import Request, signals
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.http import HtmlResponse

from ..meta import FOLLOW, TAGS
from ..obeying.identity import CrawlerIdentity
from ..settings import GbotSettings
from .directives import KNOWN, at_time
from .page import NOFOLLOW, QUALIFIED, directives_of, links_left

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from .directives import Directives

_LINK_METHODS = frozenset({"GET", "HEAD"})

logger = logging.getLogger(__name__)


class RobotsTagsMiddleware:
    """Puts a page's directives into `response.meta["robots_tags"]`, and acts on nofollow and `GBOT_ROBOTS_TAGS_DROP`."""

    def __init__(self, crawler: Crawler) -> None:
        settings = GbotSettings.of(crawler.settings)
        if not settings.tags:
            raise NotConfigured
        self._crawler = crawler
        self._identity = CrawlerIdentity(crawler, settings.asked_as)
        self._rels = QUALIFIED if settings.tags_links else NOFOLLOW
        self._drop = frozenset(map(str.lower, settings.tags_drop))
        for word in sorted(self._drop - KNOWN):
            logger.warning("GBOT_ROBOTS_TAGS_DROP has %r, which is no known directive; is it spelt right?", word)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware.

        Raises:
            NotConfigured: `GBOT_ROBOTS_TAGS` is off.
        """
        return cls(crawler)

    def process_spider_input(self, response: Response, spider: Spider | None = None) -> None:
        """Read the page's directives before its callback is called."""
        request = response.request
        if request is None:
            return
        request.meta[TAGS] = found = at_time(time.time(), directives_of(response, self._identity.tokens(request)))
        for name in KNOWN & found.keys():  # other names could be any number of stats
            self._crawler.stats.inc_value(f"gbot_robots/tags/{name}")

    def process_spider_output(
        self, response: Response, result: Iterable[Any], spider: Spider | None = None
    ) -> Iterator[Any]:
        """Drop requests that the page asks not to follow, and items that its directives drop."""
        return filter(self._filter(response), result)

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any], spider: Spider | None = None
    ) -> AsyncIterator[Any]:
        """Do what `process_spider_output` does, for asynchronous callbacks."""
        goes_on = self._filter(response)
        async for given in result:
            if goes_on(given):
                yield given

    def _filter(self, response: Response) -> Callable[[Any], bool]:
        """Return the function that says which requests and items go on, of those that the page's callback yields."""
        found: Directives = {} if response.request is None else response.request.meta.get(TAGS, {})
        reasons = sorted(self._drop & found.keys())
        left: set[str] | None = None  # the page is parsed only if a request may be a link

        def goes_on(given: Any) -> bool:
            nonlocal left
            if not isinstance(given, Request):
                if reasons and given is not None:
                    self._tell_dropped(given, response, reasons)
                return given is None or not reasons
            if given.method not in _LINK_METHODS or given.meta.get(FOLLOW) or not isinstance(response, HtmlResponse):
                return True
            if left is None:
                left = links_left(response, self._rels, whole_page="nofollow" in found)
            if urldefrag(given.url).url not in left:
                return True
            self._crawler.stats.inc_value("gbot_robots/tags/links_left")
            logger.debug(
                "Not followed, as %(page)s asks: %(request)s",
                {"page": response.url, "request": given},
                extra={"spider": self._crawler.spider},
            )
            return False

        return goes_on

    def _tell_dropped(self, item: Any, response: Response, reasons: list[str]) -> None:
        """Log and count an item that is dropped, and send Scrapy's signal for it."""
        crawler = self._crawler
        assert crawler.spider is not None  # noqa: S101  for the type checker
        for reason in reasons:
            crawler.stats.inc_value(f"gbot_robots/tags/items_dropped/{reason}")
        error = DropItem(f"the page says {', '.join(reasons)}, which GBOT_ROBOTS_TAGS_DROP drops: {response.url}")
        logger.debug("Dropped an item: %s", error, extra={"spider": crawler.spider})
        crawler.signals.send_catch_log(
            signals.item_dropped, item=item, response=response, exception=error, spider=crawler.spider
        )
