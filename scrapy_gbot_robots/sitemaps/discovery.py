"""Sitemap lines become crawled pages: what each robots.txt lists is collected and fed to a running SitemapSpider.

Listens to `robotstxt_known` and knows nothing of the middleware that sends it. Which lines are good is told by
`sitemap_urls`, how they are scheduled by `sitemap_feed`. Source: Google's page, "sitemap".
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.spiders import SitemapSpider

from ..concurrency import Background, run_in_thread
from ..core.origin import Origin
from ..meta import SITEMAP
from ..settings import GbotSettings
from ..signals import robotstxt_known
from .feed import SitemapFeed, SitemapStats, choosing_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from ..core.robots import RobotsTxt
    from .urls import Choice, FoundSitemap

_MOST_CHARS = 16 * 2**20  # of URLs in `found`
_MOST_GUESTS = 1_000

logger = logging.getLogger(__name__)


class _Listing(NamedTuple):
    """What the robots.txt of one origin has led to."""

    sitemaps: tuple[FoundSitemap, ...]  # as it lists them now
    taken: int  # how many have been fed or shown in all
    chars: int  # of their URLs


class SitemapDiscovery:
    """The extension. `GBOT_ROBOTS_SITEMAPS` says whether what is found is fed, only collected, or nothing is done.

    It feeds spiders that are SitemapSpiders and do not say `feeds_itself`; for others it collects. An origin that the
    crawl meets only because a sitemap of another one lives there is a guest: its own sitemaps are not fed, unless the
    crawl gets a page from it. An origin outside the spider's `allowed_domains` is not fed from either.

    Attributes:
        feeds: whether what is found is fed to the spider; known once that is open.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._feed = SitemapFeed(crawler)
        self._stats = SitemapStats(crawler)
        self._listings: OrderedDict[Origin, _Listing] = OrderedDict()
        self._chars = 0
        self._guests: OrderedDict[Origin, tuple[FoundSitemap, ...]] = OrderedDict()
        self._busy = 0
        self._background = Background()
        self.feeds = False

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
            (discovery._spider_opened, signals.spider_opened),
            (discovery._spider_idle, signals.spider_idle),
            (discovery._spider_closed, signals.spider_closed),
            (discovery._response_received, signals.response_received),
            (discovery._robotstxt_known, robotstxt_known),
        ):
            crawler.signals.connect(handler, signal)
        return discovery

    @property
    def found(self) -> Mapping[str, list[str]]:
        """URLs of sitemaps by the URL of the robots.txt that lists them.

        Of the origins met last, as many as `GBOT_ROBOTS_CACHE_SIZE`, those that list any.
        """
        return {
            origin.robots_url: [sitemap.url for sitemap in listing.sitemaps]
            for origin, listing in self._listings.items()
            if listing.sitemaps
        }

    async def feed_from(self, origin: Origin, robotstxt: RobotsTxt, meta: Mapping[str, Any]) -> Choice:
        """Feed the spider, a SitemapSpider, what the robots.txt of `origin` lists, by requests that have `meta` too.

        Returns:
            What was made of the sitemap lines.
        """
        choice, news = await self._collected(origin, robotstxt)
        await self._feed.feed(news, meta)
        return choice

    def _spider_opened(self, spider: Spider) -> None:
        self.feeds = (
            self._settings.sitemaps == "feed"
            and isinstance(spider, SitemapSpider)
            and not getattr(spider, "feeds_itself", False)
        )

    async def _robotstxt_known(self, origin: Origin, robotstxt: RobotsTxt, request: Request | None) -> None:
        spider = self._crawler.spider
        if getattr(spider, "feeds_itself", False):
            return
        with self._at_work():
            _, news = await self._collected(origin, robotstxt)
            if not self.feeds:
                for sitemap in news:
                    await self._feed.show(sitemap, None)
                return
            is_guest = origin in self._guests if request is None else _is_guest(origin, request)
            news = (*self._guests.pop(origin, ()), *news)
            if is_guest:
                self._guests[origin] = news
                if len(self._guests) > _MOST_GUESTS:
                    self._guests.popitem(last=False)
            elif _is_on_site(origin, spider):
                await self._feed.feed(news)

    async def _collected(self, origin: Origin, robotstxt: RobotsTxt) -> tuple[Choice, tuple[FoundSitemap, ...]]:
        """Read the sitemap lines of a robots.txt, off the reactor; return also which were not fed or shown before."""
        choosing = choosing_by(self._settings, self._crawler.settings)
        choice = await run_in_thread(lambda: choosing.choose(origin, robotstxt.sitemap_lines))
        before = self._listings.pop(origin, None)
        if before is None:
            self._count_lines(origin, choice)
            news = choice.sitemaps
            listing = _Listing(news, len(news), _chars(news))
        else:
            known = {sitemap.url for sitemap in before.sitemaps}
            more = tuple(sitemap for sitemap in choice.sitemaps if sitemap.url not in known)
            news = more[: max(0, self._settings.sitemaps_max - before.taken)]
            self._stats.count("found", len(more))
            self._stats.count("capped", len(more) - len(news))
            self._chars -= before.chars
            listing = _Listing(choice.sitemaps, before.taken + len(news), _chars(choice.sitemaps))
        self._keep(origin, listing)
        return choice, news

    def _keep(self, origin: Origin, listing: _Listing) -> None:
        self._listings[origin] = listing
        self._chars += listing.chars
        while len(self._listings) > self._settings.cache_size or self._chars > _MOST_CHARS:
            _, gone = self._listings.popitem(last=False)
            self._chars -= gone.chars

    def _count_lines(self, origin: Origin, choice: Choice) -> None:
        self._stats.count("found", choice.found)
        self._stats.count("duplicate", choice.duplicate)
        self._stats.count("capped", choice.capped)
        for reason, count in choice.refused.items():
            self._stats.refused(reason, count)
        if choice.refused:
            logger.info(
                "%s: %s not used: %s",
                origin.robots_url,
                "1 sitemap line is" if choice.refused.total() == 1 else f"{choice.refused.total()} sitemap lines are",
                "; ".join(choice.why),
            )
        if choice.capped:
            logger.info(
                "%s lists more sitemaps than GBOT_ROBOTS_SITEMAPS_MAX = %d: %d are left out",
                origin.robots_url,
                self._settings.sitemaps_max,
                choice.capped,
            )

    def _response_received(self, response: Response, request: Request) -> None:
        """See whether a guest has become a host: the crawl got from it what is no sitemap of another's."""
        if not self._guests or SITEMAP in request.meta or request.meta.get("dont_obey_robotstxt"):
            return
        try:
            news = self._guests.pop(Origin.of(request.url), ())
        except ValueError:
            return
        if news:
            self._background.start(self._feed_later(news))

    async def _feed_later(self, news: tuple[FoundSitemap, ...]) -> None:
        with self._at_work():
            await self._feed.feed(news)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """The crawl does not close before what was found is scheduled."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1

    def _spider_idle(self) -> None:
        if self._busy:
            raise DontCloseSpider

    def _spider_closed(self) -> None:
        self._background.cancel()


def _chars(sitemaps: tuple[FoundSitemap, ...]) -> int:
    return sum(len(sitemap.url) for sitemap in sitemaps)


def _is_guest(origin: Origin, request: Request) -> bool:
    """Whether the crawl meets `origin` with `request` only because a sitemap listed elsewhere lives there."""
    source = request.meta.get(SITEMAP)
    return source is not None and source.get("robotstxt") != origin.robots_url


def allowed_domains_of(spider: Spider | None) -> list[str]:
    """The domains a spider keeps to, in lower case; a single one given as a string is that domain, not its letters."""
    domains = getattr(spider, "allowed_domains", None) or ()
    return [domain.lower() for domain in ([domains] if isinstance(domains, str) else domains) if domain]


def _is_on_site(origin: Origin, spider: Spider | None) -> bool:
    domains = allowed_domains_of(spider)
    return not domains or any(origin.host == domain or origin.host.endswith(f".{domain}") for domain in domains)
