"""SitemapDiscovery: collects the sitemaps that each robots.txt lists, and feeds them to a running SitemapSpider.

It listens to the signal `robotstxt_known` and does not know the middleware that sends it. `Listings` knows which sitemaps
are new. `SitemapFeed` shows a sitemap to handlers, then schedules it as if the spider had listed it. Scrapy's duplicate
filter makes sure that each sitemap is requested once, also across a JOBDIR and a fleet.
Source: Google's page, "sitemap".
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request, Spider, signals
from scrapy.exceptions import DontCloseSpider, IgnoreRequest, NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spiders import SitemapSpider
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.spider import DefaultSpider

from ..concurrency import Background, run_in_thread
from ..core.urls import Origin
from ..engine import follows_sitemap, pull_soon, sitemap_callback, spider_middlewares
from ..meta import SITEMAP
from ..settings import GbotSettings
from ..signals import robotstxt_known, sitemap_found
from .urls import SitemapChoice, UrlCheck

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator, Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from ..core.robots import RobotsTxt
    from .urls import FoundSitemap

_MOST_GUESTS = 1_000  # origins
_MOST_CHARS = 16 * 2**20  # of all URLs that are kept
_NO_META: Mapping[str, Any] = MappingProxyType({})
_ANY_SPIDER = (Spider, DefaultSpider)  # a crawler with one of these may get a spider of another class later

STATS = "gbot_robots/sitemaps/"

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


class _Listing(NamedTuple):
    """What the robots.txt of one origin lists."""

    sitemaps: tuple[FoundSitemap, ...]  # by the last reading
    taken: int  # how many were new, over all readings

    @property
    def chars(self) -> int:
        return sum(len(sitemap.url) for sitemap in self.sitemaps)


class Listings:
    """The sitemap lines of one crawl's robots.txt files, for at most `GBOT_ROBOTS_CACHE_SIZE` origins."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._settings = settings
        self._stats = SitemapStats(crawler)
        self._check = UrlCheck.of(settings, crawler.settings)
        self._listings: OrderedDict[Origin, _Listing] = OrderedDict()
        self._chars = 0

    def found(self) -> Mapping[str, list[str]]:
        """The URLs of sitemaps, by the URL of the robots.txt that lists them. Origins read last come last."""
        return {
            origin.robots_url: [sitemap.url for sitemap in listing.sitemaps]
            for origin, listing in self._listings.items()
            if listing.sitemaps
        }

    def concerns(self, origin: Origin, robotstxt: RobotsTxt) -> bool:
        """Whether the robots.txt of `origin` may list sitemaps now, or did before."""
        return robotstxt.may_list_sitemaps or origin in self._listings

    async def read(
        self, origin: Origin, robotstxt: RobotsTxt, log_level: int = logging.INFO
    ) -> tuple[SitemapChoice, tuple[FoundSitemap, ...]]:
        """Read the sitemap lines of the robots.txt of `origin`. Log the lines that are not used with `log_level`.

        Returns:
            What became of the lines, and the sitemaps that are new: those that no earlier call returned.
        """
        check = self._check
        if robotstxt.may_list_sitemaps:
            choice = await run_in_thread(lambda: check.choose(origin, robotstxt.sitemap_lines))
        else:
            choice = check.choose(origin, ())
        before = self._listings.pop(origin, None)
        if before is None:
            self._count_lines(choice)
            _log_lines(origin, choice, check.most, log_level)
            new, taken = choice.sitemaps, 0
        else:
            self._chars -= before.chars
            new, taken = self._more(before, choice), before.taken
        self._keep(origin, _Listing(choice.sitemaps, taken + len(new)))
        return choice, new

    def _more(self, before: _Listing, choice: SitemapChoice) -> tuple[FoundSitemap, ...]:
        """The sitemaps that a robots.txt has gained since it was last read, up to GBOT_ROBOTS_SITEMAPS_MAX in total."""
        known = {sitemap.url for sitemap in before.sitemaps}
        more = tuple(sitemap for sitemap in choice.sitemaps if sitemap.url not in known)
        new = more[: max(0, self._settings.sitemaps_max - before.taken)]
        self._stats.count("found", len(more))
        self._stats.count("capped", len(more) - len(new))
        return new

    def _keep(self, origin: Origin, listing: _Listing) -> None:
        self._listings[origin] = listing
        self._chars += listing.chars
        while len(self._listings) > self._settings.cache_size or self._chars > _MOST_CHARS:
            _, dropped = self._listings.popitem(last=False)
            self._chars -= dropped.chars

    def _count_lines(self, choice: SitemapChoice) -> None:
        self._stats.count("found", choice.found)
        self._stats.count("duplicate", choice.duplicate)
        self._stats.count("capped", choice.capped)
        for reason, count in choice.refused.items():
            self._stats.refused(reason, count)


def _log_lines(origin: Origin, choice: SitemapChoice, most: int, log_level: int) -> None:
    if choice.refused:
        count = choice.refused.total()
        logger.log(
            log_level,
            "%s: %s not used: %s",
            origin.robots_url,
            "1 sitemap line is" if count == 1 else f"{count} sitemap lines are",
            "; ".join(choice.why),
        )
    if choice.capped:
        logger.log(
            log_level,
            "%s lists more sitemaps than GBOT_ROBOTS_SITEMAPS_MAX = %d: %s left out",
            origin.robots_url,
            most,
            "1 is" if choice.capped == 1 else f"{choice.capped} are",
        )


class SitemapStats:
    """Counts what became of sitemaps. docs/sitemaps.md names the stats."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    def count(self, name: str, count: int = 1) -> None:
        """Add `count` to the stat `name` below `STATS`."""
        if count:
            self._crawler.stats.inc_value(STATS + name, count)

    def refused(self, reason: str, count: int = 1) -> None:
        """Count URLs that are not followed: in total and by `reason`."""
        self.count("refused", count)
        self.count(f"refused/{reason}", count)


class SitemapFeed:
    """Feeds sitemaps to the SitemapSpider of one crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._stats = SitemapStats(crawler)
        self._scheduling: Request | None = None
        crawler.signals.connect(self._request_dropped, signals.request_dropped)

    async def feed(self, sitemaps: Iterable[FoundSitemap], more_meta: Mapping[str, Any] = _NO_META) -> list[str]:
        """Schedule requests for `sitemaps`, with `more_meta` in their meta. The spider must be a SitemapSpider.

        Returns:
            The URLs that were scheduled. URLs that were refused, or requested before, are not among them.
        """
        spider = self._crawler.spider
        assert isinstance(spider, SitemapSpider)  # noqa: S101  for the type checker
        fed: list[str] = []
        for sitemap in sitemaps:
            if not follows_sitemap(spider, sitemap.url):
                self._stats.refused("follow")
                continue
            meta = {
                "is_start_request": True,
                "allow_offsite": True,  # for the sitemap; allowed_domains hold for the pages that it lists
                SITEMAP: {"robotstxt": sitemap.robotstxt, "line": sitemap.line},
                **more_meta,
            }
            request = await self.show(sitemap, Request(sitemap.url, sitemap_callback(spider), meta=meta))
            if request is None:
                self._stats.refused("vetoed")
            elif (processed := self._processed(request)) is None:
                self._stats.refused("middleware")
            elif self._schedule(processed):
                fed.append(processed.url)
        return fed

    async def show(self, sitemap: FoundSitemap, request: Request | None) -> Request | None:
        """Show a found sitemap to the handlers of `sitemap_found` and to the spider's method of that name.

        Returns:
            The request to schedule, which a handler may have replaced; None if a handler vetoed it.
        """
        spider: Any = self._crawler.spider
        answered = await self._crawler.signals.send_catch_log_async(
            sitemap_found, sitemap=sitemap, request=request, spider=spider, dont_log=IgnoreRequest
        )
        answers = [answer for _, answer in answered]
        if hasattr(spider, "sitemap_found"):
            try:
                answers.append(await ensure_awaitable(spider.sitemap_found(sitemap, request)))
            except IgnoreRequest as veto:
                answers.append(veto)
            except Exception as error:
                logger.exception("%s.sitemap_found failed for %s", type(spider).__name__, sitemap.url)
                answers.append(error)
        if any(answer is False or isinstance(answer, Exception) for answer in answers):
            return None
        return next((answer for answer in reversed(answers) if isinstance(answer, Request)), request)

    def _processed(self, request: Request) -> Request | None:
        """Pass a request through the spider middlewares that take start requests one by one; None if one drops it.

        A middleware that overrides `process_start` itself is left out: Scrapy calls that once, for all start requests.
        """
        processed: Request | None = request
        for middleware in reversed(spider_middlewares(self._crawler)):  # in the order in which start requests pass
            if processed is not None and isinstance(middleware, BaseSpiderMiddleware):
                try:
                    processed = middleware.get_processed_request(processed, None)
                except Exception:
                    logger.exception("%s failed for %s", type(middleware).__name__, request.url)
                    return None
        return processed

    def _schedule(self, request: Request) -> bool:
        """Schedule a request; return False if the duplicate filter dropped it."""
        assert self._crawler.engine is not None  # noqa: S101  for the type checker
        self._scheduling = request
        self._crawler.engine.crawl(request)
        scheduled, self._scheduling = self._scheduling is not None, None
        self._stats.count("fed" if scheduled else "duplicate")
        return scheduled

    def _request_dropped(self, request: Request) -> None:
        if request is self._scheduling:
            self._scheduling = None


def may_read_sitemaps(crawler: Crawler) -> bool:
    """Whether the spider may read sitemap files: a SitemapSpider, or a spider with `feeds_itself`.

    True as well while the spider's class is not known.
    """
    spider = crawler.spider
    if spider is None and crawler.spidercls in _ANY_SPIDER:
        return True
    kind = crawler.spidercls if spider is None else type(spider)
    return issubclass(kind, SitemapSpider) or feeds_itself(spider or kind)


def feeds_itself(spider: object) -> bool:
    """Whether a spider requests the sitemaps of its hosts itself, as RobotsSitemapSpider does."""
    return bool(getattr(spider, "feeds_itself", False))


def fed_spider(crawler: Crawler, settings: GbotSettings) -> SitemapSpider | None:
    """The spider of an open crawl if found sitemaps are fed to it, else None."""
    spider = crawler.spider
    if settings.sitemaps != "feed" or not isinstance(spider, SitemapSpider) or feeds_itself(spider):
        return None
    return spider
