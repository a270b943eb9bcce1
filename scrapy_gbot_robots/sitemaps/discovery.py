"""SitemapDiscovery: collects the sitemaps that each robots.txt lists, and feeds them to a running SitemapSpider.

It listens to the signal `robotstxt_known` and does not know the middleware that sends it. `listings` knows which
sitemaps are new, `feed` schedules them. Source: Google's page, "sitemap".
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, NotConfigured

from ..concurrency import Background
from ..core.origin import Origin
from ..engine import pull_soon
from ..meta import SITEMAP
from ..settings import GbotSettings
from ..signals import robotstxt_known
from .feed import SitemapFeed, fed_spider, feeds_itself
from .listings import Listings

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator, Mapping

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.spiders import SitemapSpider
    from typing_extensions import Self

    from ..core.robots import RobotsTxt
    from .urls import FoundSitemap

_MOST_GUESTS = 1_000  # origins

logger = logging.getLogger(__name__)


class SitemapDiscovery:
    """The extension. `GBOT_ROBOTS_SITEMAPS` says whether found sitemaps are fed, only collected, or ignored.

    It feeds a SitemapSpider that has no `feeds_itself`. For other spiders it only collects. It does not feed the
    sitemaps of two kinds of origins: those outside the spider's `allowed_domains`, and guests. A guest is an origin
    that the crawl meets only because a sitemap of another origin is there. It stops being a guest when the crawl gets
    a page from it.

    Attributes:
        listings: what each robots.txt lists. A spider that feeds itself reads robots.txt files into it.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._feed = SitemapFeed(crawler)
        self.listings = Listings(crawler, settings)
        self._guests: OrderedDict[Origin, tuple[FoundSitemap, ...]] = OrderedDict()
        self._busy = 0
        self._background = Background()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension.

        Raises:
            NotConfigured: GBOT_ROBOTS_SITEMAPS is "off".
        """
        settings = GbotSettings.of(crawler.settings)
        if settings.sitemaps == "off":
            raise NotConfigured
        discovery = cls(crawler, settings)
        for handler, signal in (
            (discovery._spider_idle, signals.spider_idle),
            (discovery._spider_closed, signals.spider_closed),
            (discovery._robotstxt_known, robotstxt_known),
        ):
            crawler.signals.connect(handler, signal)
        return discovery

    @property
    def found(self) -> Mapping[str, list[str]]:
        """The URLs of the found sitemaps, by the URL of the robots.txt that lists them.

        The last `GBOT_ROBOTS_CACHE_SIZE` origins are kept. Origins that list no sitemap are left out.
        """
        return self.listings.found()

    def _robotstxt_known(
        self, origin: Origin, robotstxt: RobotsTxt, request: Request | None
    ) -> Coroutine[Any, Any, None] | None:
        """Read the sitemap lines, if there can be any: most origins of a broad crawl cost no coroutine."""
        if feeds_itself(self._crawler.spider):
            return None
        if origin not in self._guests and not self.listings.concerns(origin, robotstxt):
            return None
        return self._read(origin, robotstxt, request)

    async def _read(self, origin: Origin, robotstxt: RobotsTxt, request: Request | None) -> None:
        spider = fed_spider(self._crawler, self._settings)
        is_wanted = spider is not None or self._settings.sitemaps == "collect"
        with self._at_work():
            _, new = await self.listings.read(origin, robotstxt, logging.INFO if is_wanted else logging.DEBUG)
            if spider is None:
                for sitemap in new:
                    await self._feed.show(sitemap, None)
                return
            is_guest = origin in self._guests if request is None else _is_guest(origin, request)
            new = (*self._guests.pop(origin, ()), *new)
            if is_guest:
                self._add_guest(origin, new)
            else:
                await self._feed_from(origin, new, spider)

    async def _feed_from(self, origin: Origin, sitemaps: tuple[FoundSitemap, ...], spider: SitemapSpider) -> None:
        """Feed the spider the sitemaps that `origin` lists. Log it if the spider has `sitemap_urls`: it gets more."""
        if not _is_on_site(origin, spider):
            return
        fed = await self._feed.feed(sitemaps)
        if fed and spider.sitemap_urls and origin.robots_url not in spider.sitemap_urls:
            logger.info(
                "%s: feeding the spider %d sitemap%s that its sitemap_urls do not list: %s%s. "
                "GBOT_ROBOTS_SITEMAPS = 'collect' stops this",
                origin.robots_url,
                len(fed),
                "" if len(fed) == 1 else "s",
                fed[0],
                "" if len(fed) == 1 else f" and {len(fed) - 1} more",
                extra={"spider": spider},
            )

    def _add_guest(self, origin: Origin, sitemaps: tuple[FoundSitemap, ...]) -> None:
        if not self._guests:  # connected late: a crawl without guests pays nothing per response
            self._crawler.signals.connect(self._response_received, signals.response_received)
        self._guests[origin] = sitemaps
        if len(self._guests) > _MOST_GUESTS:
            self._guests.popitem(last=False)

    def _response_received(self, response: Response, request: Request) -> None:
        """Feed from a guest when the crawl gets a page from it: a response that is no sitemap of another origin."""
        if SITEMAP in request.meta or request.meta.get("dont_obey_robotstxt"):
            return
        try:
            origin = Origin.of(request.url)
        except ValueError:
            return
        sitemaps = self._guests.pop(origin, ())
        spider = fed_spider(self._crawler, self._settings)
        if sitemaps and spider is not None:
            self._background.start(self._feed_later(origin, sitemaps, spider))

    async def _feed_later(self, origin: Origin, sitemaps: tuple[FoundSitemap, ...], spider: SitemapSpider) -> None:
        with self._at_work():
            await self._feed_from(origin, sitemaps, spider)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Keep the crawl open until what was found is scheduled."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            if not self._busy:
                pull_soon(self._crawler)  # or a crawl that was kept open ends some seconds late

    def _spider_idle(self) -> None:
        if self._busy:
            raise DontCloseSpider

    def _spider_closed(self) -> None:
        self._background.cancel()


def _is_guest(origin: Origin, request: Request) -> bool:
    """Whether `request`, the first to `origin`, is for a sitemap that the robots.txt of another origin lists."""
    source = request.meta.get(SITEMAP)
    return source is not None and source.get("robotstxt") != origin.robots_url


def allowed_domains_of(spider: Spider | None) -> list[str]:
    """The spider's `allowed_domains` in lower case. A string is one domain, not a list of letters."""
    domains = getattr(spider, "allowed_domains", None) or ()
    return [domain.lower() for domain in ([domains] if isinstance(domains, str) else domains) if domain]


def _is_on_site(origin: Origin, spider: Spider) -> bool:
    """Whether the spider's `allowed_domains` allow `origin`."""
    domains = allowed_domains_of(spider)
    return not domains or any(origin.host == domain or origin.host.endswith(f".{domain}") for domain in domains)
