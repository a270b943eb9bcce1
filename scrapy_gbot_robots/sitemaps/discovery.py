"""Collects the sitemaps that robots.txt files list, and schedules them for a SitemapSpider.

Whenever the crawl gets a robots.txt, the plugin sends the signal `robotstxt_known`. The extension
`SitemapDiscovery` handles this signal. Its `SitemapFeed` reads the Sitemap lines, sends the signal
`sitemap_found` for each new sitemap, and schedules the request for the sitemap. The response goes
to the spider's method that reads sitemaps. In this package, this is called *feeding* the sitemap to
the spider.

Scrapy's duplicate filter ensures that each sitemap is requested only once, even if the crawl is
resumed from a JOBDIR, or if several processes share the queue of requests.
Source: the section "sitemap" of Google's robots.txt specification.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.spiders import CrawlSpider
from typing_extensions import Self

from ..concurrency import run_in_thread
from ..core.robots import RobotsTxt, may_list_sitemaps, size_of
from ..core.urls import Origin, origin_of_robots_txt
from ..engine import follows_sitemap, reads_sitemaps, refuse_as_add_on, sitemap_callback
from ..meta import SITEMAP
from ..settings import GbotSettings, useless_without_discovery
from ..signals import robotstxt_known, sitemap_found
from .urls import RULES, FoundSitemap, Skipped, UrlCheck

# The greatest total length of the URLs in `SitemapFeed.chosen`, in characters.
_MOST_CHARS = 16 * 2**20
# If a robots.txt has more bytes than this number, its Sitemap lines are read in a thread, because
# reading them may take milliseconds.
_READ_IN_THREAD_BYTES = 4 * 2**10

_NOTHING_FED = (
    "No robots.txt led this spider to a sitemap, so it had nothing to read. Name the sitemaps in "
    'its sitemap_urls, or make it a RobotsSitemapSpider with sitemap_guess = "common"'
)

logger = logging.getLogger(__name__)


class SitemapDiscovery:
    """The extension that finds sitemaps in robots.txt files.

    If the spider is a SitemapSpider, the extension may schedule requests for the sitemaps, and the
    spider gets the responses. With `GBOT_ROBOTS_SITEMAPS = "feed"`, it always does so. With "auto",
    it does so only if the spider has no other source of pages (`SitemapFeed.is_open`).

    In all other crawls, the extension only collects the URLs of the sitemaps in `found`. A
    RobotsSitemapSpider requests its sitemaps by itself.

    Args:
        crawler: the crawl.
        settings: the settings of the crawl.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self.feed = SitemapFeed(crawler, settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension.

        If the spider is a RobotsSitemapSpider, the extension handles no signals, because the spider
        uses its feed directly.

        Raises:
            NotConfigured: GBOT_ROBOTS_SITEMAPS is "off".
        """
        refuse_as_add_on(cls, crawler)
        settings = GbotSettings.of(crawler.settings)
        if settings.sitemaps == "off":
            if not feeds_itself(crawler):
                for text in useless_without_discovery(crawler.settings):
                    logger.warning("%s", text)
            raise NotConfigured
        discovery = cls(crawler, settings)
        if not feeds_itself(crawler):
            crawler.signals.connect(discovery.feed.robotstxt_known, robotstxt_known)
            crawler.signals.connect(discovery.feed.spider_closed, signals.spider_closed)
        return discovery

    @property
    def found(self) -> Mapping[str, list[str]]:
        """A dict from the URL of each robots.txt to the URLs of the sitemaps found in it.

        The URLs have at most about 16 million characters in total. When this limit is exceeded, the
        oldest URLs are removed.
        """
        return {robots_url: [*urls] for robots_url, urls in self.feed.chosen.items() if urls}


class SitemapFeed:
    """Chooses sitemaps from the robots.txt files of one crawl, and schedules requests for them.

    A crawl has one `SitemapFeed`. If the spider is a `RobotsSitemapSpider`, the spider uses it. In
    any other crawl, the extension `SitemapDiscovery` uses it.

    Args:
        crawler: the crawl. If its spider has a method `sitemap_found`, this method becomes a
            handler of the signal of the same name.
        settings: the settings of the crawl.

    Attributes:
        may_feed: whether the plugin may schedule requests for sitemaps that the spider then reads
            (`may_be_fed`).
        check: the object that checks the URLs of sitemaps.
        chosen: a dict from the URL of each robots.txt to the URLs of its sitemaps that the crawl
            may request. The robots.txt that was read first comes first.
        request_meta: the meta that every request for a sitemap gets.
        leads_on: False while the crawl has requested only robots.txt files; True after its first
            request for a sitemap or a page.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._mode = settings.sitemaps
        self.may_feed = may_be_fed(crawler, settings)
        self.check = UrlCheck.of(settings, crawler.settings)
        self.chosen: dict[str, tuple[str, ...]] = {}
        # A sitemap may be on a host outside of the spider's `allowed_domains`, because these
        # domains restrict only the pages that the sitemap lists.
        self.request_meta: dict[str, Any] = {"allow_offsite": True}
        self._chars = 0
        self.leads_on = False
        handler = getattr(crawler.spider, "sitemap_found", None)
        if handler is not None:
            crawler.signals.connect(handler, sitemap_found)

    @property
    def _spider(self) -> Any:
        return self._crawler.spider

    @cached_property
    def is_open(self) -> bool:
        """Whether the plugin schedules requests for the sitemaps that robots.txt files list.

        The spider must be a SitemapSpider, because it has to read the responses.

        With GBOT_ROBOTS_SITEMAPS = "feed", the result is True. With "auto", the result is usually
        True, but it is False in each of these two cases:

        1. The spider's `sitemap_urls` contain the URL of a sitemap.
        2. The spider has no `sitemap_urls`, and is also a CrawlSpider, which follows links to find
           pages.
        """
        if self._mode == "feed":
            return True
        if not self._spider.sitemap_urls and isinstance(self._spider, CrawlSpider):
            return False
        return None not in self._named

    @cached_property
    def home(self) -> Mapping[Origin, None]:
        """The origins at which a crawl without start requests begins.

        They are the origins of the spider's `start_urls`, in the same order. If the spider has no
        `start_urls`, they are the https origins of its `allowed_domains`, such as
        "https://example.com". The crawl begins with the robots.txt files of these origins.

        Raises:
            ValueError: the spider's `start_urls` contain an invalid URL, or its `allowed_domains`
                contain an invalid domain.
        """
        urls = self._spider.start_urls
        if not urls:
            urls = [f"https://{domain}" for domain in allowed_domains_of(self._spider)]
        return dict.fromkeys(map(Origin.of, urls))  # Unlike a set, a dict keeps the order.

    @cached_property
    def _named(self) -> frozenset[Origin | None]:
        """The origins of the robots.txt files in the spider's `sitemap_urls`.

        If any URL in `sitemap_urls` is not the URL of a robots.txt, the set also contains None.
        """
        return frozenset(map(origin_of_robots_txt, self._spider.sitemap_urls))

    def robotstxt_known(
        self, origin: Origin, robotstxt: RobotsTxt, request: Request
    ) -> Coroutine[Any, Any, None] | None:
        """Handle the signal `robotstxt_known`. Return a coroutine that reads the Sitemap lines.

        If the robots.txt lists no sitemaps, which is the common case, return None. This is faster
        than running a coroutine that finds nothing.
        """
        if not may_list_sitemaps(robotstxt):
            return None
        return self._take_known(origin, robotstxt, request)

    async def _take_known(self, origin: Origin, robotstxt: RobotsTxt, request: Request) -> None:
        """Send `sitemap_found` for the sitemaps in a robots.txt, and schedule requests for them.

        The requests are scheduled only if the spider needs the sitemaps of this robots.txt
        (`_is_for_the_spider`), does not read the robots.txt itself (`_spider_reads`), and the
        plugin schedules sitemaps in this crawl (`is_open`). If only `is_open` is False, the stat
        `not_fed` counts the sitemaps, except those in `sitemap_urls`, which the spider itself
        requests. If the spider does not need the sitemaps, because they are of another origin, the
        stat `skipped/origin` counts them.
        """
        if not self.may_feed or self._spider_reads(origin, request):
            await self.take(origin, robotstxt, is_fed=False)
            return
        is_for_the_spider = self._is_for_the_spider(origin, request)
        is_fed = is_for_the_spider and self.is_open
        new = await self.take(origin, robotstxt, is_fed=is_fed)
        if is_for_the_spider and not is_fed:
            others = [sitemap for sitemap in new if sitemap.url not in self._spider.sitemap_urls]
            add_to_stat(self._crawler, "not_fed", len(others))
        elif self.is_open and not is_fed:
            add_to_stat(self._crawler, "skipped/origin", len(new))

    def spider_closed(self, reason: str) -> None:
        """Log advice if the crawl has found no sitemap and has requested no page.

        Nothing is logged if the crawl has not scheduled any request. For example, a crawl that is
        resumed from its JOBDIR may have nothing left to do.
        """
        if reason != "finished" or self.leads_on or not (self.may_feed and self.is_open):
            return
        if any(name.startswith("scheduler/enqueued") for name in self._crawler.stats.get_stats()):
            logger.info(_NOTHING_FED)

    def _is_for_the_spider(self, origin: Origin, request: Request) -> bool:
        """Return whether the spider needs the sitemaps in the robots.txt of `origin`.

        1. If the spider has `allowed_domains`, the result is True only if one of them contains the
           host of `origin`.
        2. If the spider has no `allowed_domains`, the result is usually True. There is one
           exception. If the crawl needs this robots.txt only because the robots.txt of a different
           host lists a sitemap on this host, the result is True only if `home` contains `origin`.

        Args:
            origin: the origin of the robots.txt.
            request: the request that needed the robots.txt.
        """
        domains = allowed_domains_of(self._spider)
        if domains:
            return f".{origin.host}".endswith(tuple(f".{domain}" for domain in domains))
        source = request.meta.get(SITEMAP)
        if source is None or source.get("robotstxt") == origin.robots_url:
            return True
        return origin in self.home

    def _spider_reads(self, origin: Origin, request: Request) -> bool:
        """Whether the spider's own code reads the robots.txt of `origin`.

        This is so if `sitemap_urls` contain the robots.txt, or if the spider made `request` for it.
        """
        if origin in self._named:
            return True
        is_its_own = SITEMAP not in request.meta and reads_sitemap(self._crawler, request)
        return is_its_own and origin_of_robots_txt(request.url) == origin

    async def take(
        self, origin: Origin, robotstxt: RobotsTxt, *, is_fed: bool
    ) -> list[FoundSitemap]:
        """Choose sitemaps from the robots.txt of `origin`, and request them if `is_fed` is true.

        Usually the stats count the sitemaps that are skipped. But if `is_fed` is False, and
        GBOT_ROBOTS_SITEMAPS is not "collect", the user is probably not interested in sitemaps. Then
        skipped sitemaps are not counted.

        Args:
            origin: the origin of the robots.txt.
            robotstxt: the parsed robots.txt.
            is_fed: True if requests for the new sitemaps should be scheduled. If it is False, only
                the signal `sitemap_found` is sent for each new sitemap.

        Returns:
            The sitemaps that no earlier call has chosen.
        """
        is_wanted = is_fed or self._mode == "collect"
        new, _ = await self.choose(origin, robotstxt, is_wanted=is_wanted)
        for sitemap in new:
            if not is_fed:
                await self._show(sitemap, None)
                continue
            with suppress(Skipped):
                await self.schedule(sitemap)
        return new

    async def choose(
        self, origin: Origin, robotstxt: RobotsTxt, *, is_wanted: bool = True
    ) -> tuple[list[FoundSitemap], Counter[str]]:
        """Choose sitemaps from the robots.txt of `origin`, and add their URLs to `chosen`.

        Args:
            origin: the origin of the robots.txt.
            robotstxt: the parsed robots.txt.
            is_wanted: whether the stats count the sitemaps that are skipped. If so, the first call
                for a robots.txt also logs their number.

        Returns:
            Two values. The first is a list of the sitemaps that no earlier call has chosen. The
            second is a `Counter` with the number of Sitemap lines for each stat. Its keys are stats
            without the prefix `gbot_robots/sitemaps/`, for example "found" or "skipped/host".
        """
        robots_url = origin.robots_url
        before = self.chosen.get(robots_url, ())
        choose = partial(self.check.choose, robots_url, robotstxt, before)
        if size_of(robotstxt) > _READ_IN_THREAD_BYTES:
            new, counts, first_skipped = await run_in_thread(choose)
        else:
            new, counts, first_skipped = choose()
        if first_skipped and is_wanted and robots_url not in self.chosen:
            number = counts.total() - counts["found"] - counts["duplicate"]
            logger.info("%s: sitemaps skipped: %d (%s)", robots_url, number, first_skipped)
        for name, number in counts.items():
            if is_wanted or name == "found":
                add_to_stat(self._crawler, name, number)
        self._remember(robots_url, tuple(sitemap.url for sitemap in new))
        return new, counts

    def _remember(self, robots_url: str, urls: tuple[str, ...]) -> None:
        """Add the URLs of sitemaps to `chosen`.

        If `chosen` becomes too large, remove the robots.txt files that were read first.
        """
        if robots_url not in self.chosen:
            self.chosen[robots_url] = ()
            self._chars += len(robots_url)
        self.chosen[robots_url] += urls
        self._chars += sum(map(len, urls))
        while self._chars > _MOST_CHARS:
            oldest = next(iter(self.chosen))
            self._chars -= len(oldest) + sum(map(len, self.chosen.pop(oldest)))

    async def schedule(self, sitemap: FoundSitemap, **more: Any) -> Request:
        """Send `sitemap_found` for a sitemap. Then schedule and return the request for it.

        The stat `fed` counts the request. If the sitemap is skipped, a different stat counts it.

        Args:
            sitemap: the sitemap.
            **more: further arguments for the `Request`.

        Raises:
            Skipped: the spider's `sitemap_follow` or a handler of the signal excludes the sitemap.
        """
        engine: Any = self._crawler.engine
        try:
            request = await self._request_for(sitemap, more)
        except Skipped as skipped:
            add_to_stat(self._crawler, skipped.stat)
            raise
        self.leads_on = True
        engine.crawl(request)
        add_to_stat(self._crawler, "fed")
        return request

    async def _request_for(self, sitemap: FoundSitemap, more: Mapping[str, Any]) -> Request:
        """Make the request for a sitemap, send `sitemap_found`, and return the request to schedule.

        Raises:
            Skipped: the spider's `sitemap_follow` or a handler of the signal excludes the sitemap.
        """
        url = sitemap.url
        if not follows_sitemap(self._spider, url):
            raise Skipped("skipped/follow", url)
        source = {"robotstxt": sitemap.robotstxt, "line": sitemap.line}
        meta = {**self.request_meta, "is_start_request": True, SITEMAP: source}
        made = Request(url, sitemap_callback(self._spider), meta=meta, **more)
        self.check.note_checked(made, sitemap.robotstxt)
        request = await self._show(sitemap, made)
        if request is None:
            raise Skipped("skipped/vetoed", url)
        return request

    async def _show(self, sitemap: FoundSitemap, request: Request | None) -> Request | None:
        """Send `sitemap_found` for a sitemap, and return the request to schedule.

        A handler of the signal may exclude the sitemap; the result is then None. It may also return
        a request that replaces `request`. If several handlers return requests, the last one is
        used.

        Args:
            sitemap: the sitemap.
            request: the request for the sitemap; None if no request should be scheduled.
        """
        results = await self._crawler.signals.send_catch_log_async(
            sitemap_found,
            sitemap=sitemap,
            request=request,
            spider=self._spider,
            dont_log=IgnoreRequest,
        )
        for _, result in results:
            if result is False or isinstance(result, Exception):
                return None
            if isinstance(result, Request):
                request = result
        return request


def add_to_stat(crawler: Crawler, name: str, number: int = 1) -> None:
    """Add `number` to the stat `gbot_robots/sitemaps/NAME`."""
    if number:
        crawler.stats.inc_value(f"gbot_robots/sitemaps/{name}", number)


def skipped_by_rule(crawler: Crawler) -> list[str]:
    """Return a string for each rule by which sitemaps were skipped in this crawl.

    For example, "3 by GBOT_ROBOTS_MAX_SITEMAPS" means that this setting excluded three sitemaps.
    """
    words = []
    for name, rule in RULES.items():
        number = crawler.stats.get_value(f"gbot_robots/sitemaps/{name}", 0)
        if number:
            words.append(f"{number:,} by {rule}")
    return words


# The following functions find out which sitemaps the spider of a crawl reads, and how.


def feeds_itself(crawler: Crawler) -> bool:
    """Return whether the spider is a RobotsSitemapSpider, which requests sitemaps by itself."""
    return bool(getattr(crawler.spidercls, "_feeds_itself", False))


def may_be_fed(crawler: Crawler, settings: GbotSettings) -> bool:
    """Return whether the plugin may schedule requests for sitemaps that the spider then reads.

    The spider must be a SitemapSpider but not a RobotsSitemapSpider, and GBOT_ROBOTS_SITEMAPS must
    be "auto" or "feed". In such a crawl, the two middlewares for sitemaps are enabled.
    """
    if settings.sitemaps not in {"auto", "feed"}:
        return False
    return reads_sitemaps(crawler.spidercls) and not feeds_itself(crawler)


def reads_sitemap(crawler: Crawler, request: Request | None) -> bool:
    """Return whether the callback of `request` is the spider's method that reads sitemaps.

    The spider must be a SitemapSpider. The spider's method also reads robots.txt files.
    """
    spider: Any = crawler.spider
    return request is not None and request.callback == sitemap_callback(spider)


def allowed_domains_of(spider: Spider) -> list[str]:
    """Return the spider's `allowed_domains` as a list, without empty strings.

    If `allowed_domains` is a string, the list contains only this string.
    """
    domains = getattr(spider, "allowed_domains", None) or ()
    if isinstance(domains, str):
        domains = [domains]
    return list(filter(None, domains))
