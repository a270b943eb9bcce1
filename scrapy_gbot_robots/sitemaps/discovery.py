"""SitemapDiscovery: collects the sitemaps that robots.txt files list, and feeds a SitemapSpider.

It listens to the signal `robotstxt_known` and does not depend on the middleware that sends it.
`SitemapFeed` finds out which sitemaps are new, shows each to handlers, then schedules it as if the
spider had listed it. Scrapy's duplicate filter makes sure that each sitemap is requested once, also
across a JOBDIR and a fleet. The functions at the end decide which spiders are fed, and how they
make requests.
Source: Google's page, "sitemap".
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
from ..engine import follows_sitemap, reads_sitemaps, sitemap_callback
from ..meta import SITEMAP
from ..settings import GbotSettings
from ..signals import robotstxt_known, sitemap_found
from .urls import RULES, FoundSitemap, Skipped, UrlCheck

# How many characters all kept URLs may have together, those of the robots.txt files included.
_MOST_CHARS = 16 * 2**20
# A longer robots.txt is read in a thread, because reading it may take milliseconds.
_READ_IN_THREAD_BYTES = 4 * 2**10

_NOTHING_FED = (
    "No robots.txt led this spider to a sitemap, so it had nothing to read. Name the sitemaps in "
    'its sitemap_urls, or make it a RobotsSitemapSpider with sitemap_guess = "common"'
)

logger = logging.getLogger(__name__)


class SitemapDiscovery:
    """The extension. `GBOT_ROBOTS_SITEMAPS` decides what becomes of found sitemaps.

    With "auto" and "feed" it feeds a SitemapSpider other than RobotsSitemapSpider; with "auto" only
    one that does not find its pages in another way. For all other spiders it only collects.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self.feed = SitemapFeed(crawler, settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the extension. It listens unless the spider requests its hosts' sitemaps by itself.

        Raises:
            NotConfigured: GBOT_ROBOTS_SITEMAPS is "off".
        """
        settings = GbotSettings.of(crawler.settings)
        if settings.sitemaps == "off":
            raise NotConfigured
        discovery = cls(crawler, settings)
        if not feeds_itself(crawler):
            crawler.signals.connect(discovery.feed.robotstxt_known, robotstxt_known)
            crawler.signals.connect(discovery.feed.spider_closed, signals.spider_closed)
        return discovery

    @property
    def found(self) -> Mapping[str, list[str]]:
        """The URLs of the found sitemaps, by the URL of the robots.txt that lists them.

        The last 16 MiB of URLs are kept. Origins that list no sitemap are left out.
        """
        return {robots_url: [*urls] for robots_url, urls in self.feed.chosen.items() if urls}


class SitemapFeed:
    """The sitemaps that the robots.txt files of one crawl list, and their way into the crawl.

    `SitemapDiscovery` and `RobotsSitemapSpider` share it.

    Attributes:
        may_feed: whether the spider's class may be fed.
        check: decides which URLs may be followed.
        chosen: the URLs of the sitemaps that were chosen so far, by the URL of the robots.txt that
            lists them, at most `_MOST_CHARS` characters in all. The robots.txt that was met first
            comes first.
        request_meta: the meta of each request for a sitemap file.
        leads_on: whether the crawl has requested anything but the robots.txt files that it reads
            sitemaps from.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        """Make the feed; connect the spider's method `sitemap_found`, if any, to that signal."""
        self._crawler = crawler
        self._mode = settings.sitemaps
        self.may_feed = may_be_fed(crawler, settings)
        self.check = UrlCheck.of(settings, crawler.settings)
        self.chosen: dict[str, tuple[str, ...]] = {}
        # `allowed_domains` apply to the pages that a sitemap lists, not to the sitemap itself.
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
        """Whether a SitemapSpider is fed the sitemaps that its crawl finds.

        With "feed" it always is. With "auto" it is not fed if it finds its pages in another way:
        if it names a sitemap that is not a robots.txt, or if it is also a CrawlSpider and names no
        sitemap.
        """
        if self._mode == "feed":
            return True
        if not self._spider.sitemap_urls and isinstance(self._spider, CrawlSpider):
            return False
        return None not in self._named

    @cached_property
    def home(self) -> Mapping[Origin, None]:
        """The origins of the spider's `start_urls`, else of its `allowed_domains`, by https.

        A spider without start requests starts from their robots.txt files, in this order.

        Raises:
            ValueError: one of these is not a URL or domain.
        """
        urls = self._spider.start_urls
        if not urls:
            urls = [f"https://{domain}" for domain in allowed_domains_of(self._spider)]
        return dict.fromkeys(map(Origin.of, urls))  # A dict is a set that keeps its order.

    @cached_property
    def _named(self) -> frozenset[Origin | None]:
        """The origins whose robots.txt files `sitemap_urls` name; None for another file."""
        return frozenset(map(origin_of_robots_txt, self._spider.sitemap_urls))

    def robotstxt_known(
        self, origin: Origin, robotstxt: RobotsTxt, request: Request
    ) -> Coroutine[Any, Any, None] | None:
        """Handle the signal of this name: return a coroutine that takes the sitemap lines.

        Return None if the robots.txt has no sitemap lines, as most files have none. Then no
        coroutine has to run.
        """
        if not may_list_sitemaps(robotstxt):
            return None
        return self._take_known(origin, robotstxt, request)

    async def _take_known(self, origin: Origin, robotstxt: RobotsTxt, request: Request) -> None:
        """Feed the spider what a robots.txt lists, or only show it to handlers.

        If the spider is not fed, count the sitemaps that it misses. Sitemaps in its own
        `sitemap_urls` are not among them.
        """
        is_for_the_spider = self._is_for_the_spider(origin, request)
        is_fed = is_for_the_spider and self.is_open
        new = await self.take(origin, robotstxt, is_fed=is_fed)
        if is_for_the_spider and not is_fed:
            others = [sitemap for sitemap in new if sitemap.url not in self._spider.sitemap_urls]
            add_to_stat(self._crawler, "not_fed", len(others))

    def spider_closed(self, reason: str) -> None:
        """Log what helps if the spider depends on being fed, and was fed nothing.

        Log nothing in a resumed crawl whose earlier run has requested everything.
        """
        if reason != "finished" or self.leads_on or not (self.may_feed and self.is_open):
            return
        if any(name.startswith("scheduler/enqueued") for name in self._crawler.stats.get_stats()):
            logger.info(_NOTHING_FED)

    def _is_for_the_spider(self, origin: Origin, request: Request) -> bool:
        """Whether the spider should be fed the sitemaps of `origin`.

        If the spider reads them by itself, it should not. Otherwise `allowed_domains` decide, if
        there are any. Without them it should, unless the crawl has come to `origin` only for a
        sitemap that another origin lists, and does not start from `origin`. `request` is the
        request that needed the robots.txt.
        """
        if not self.may_feed or origin in self._named:
            return False
        source = request.meta.get(SITEMAP)
        is_read_by_it = source is None and reads_sitemap(self._crawler, request)
        if is_read_by_it and origin_of_robots_txt(request.url) == origin:
            return False
        domains = allowed_domains_of(self._spider)
        if domains:
            return f".{origin.host}".endswith(tuple(f".{domain}" for domain in domains))
        if source is None or source.get("robotstxt") == origin.robots_url:
            return True
        return origin in self.home

    async def take(
        self, origin: Origin, robotstxt: RobotsTxt, *, is_fed: bool
    ) -> list[FoundSitemap]:
        """Choose from the sitemap lines of the robots.txt of `origin`, and remember the choice.

        Schedule requests for the chosen sitemaps if the spider `is_fed`; else only show them to the
        handlers of `sitemap_found`. Return the sitemaps that no earlier call has chosen.

        Skipped sitemaps are counted only if the user wants sitemaps, because the spider is fed or
        the setting is "collect".
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
        """Choose from the sitemap lines of the robots.txt of `origin`, and remember the choice.

        Return the sitemaps that no earlier call has chosen, and how many lines there are for each
        stat, by its name. If sitemaps are wanted (`is_wanted`), skipped ones are counted in the
        stats, and the first call for this robots.txt also logs them.
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
        """Keep the chosen URLs; if there are too many, forget the robots.txt that was met first."""
        if robots_url not in self.chosen:
            self.chosen[robots_url] = ()
            self._chars += len(robots_url)
        self.chosen[robots_url] += urls
        self._chars += sum(map(len, urls))
        while self._chars > _MOST_CHARS:
            oldest = next(iter(self.chosen))
            self._chars -= len(oldest) + sum(map(len, self.chosen.pop(oldest)))

    async def schedule(self, sitemap: FoundSitemap, **more: Any) -> Request:
        """Show a sitemap to the handlers, then schedule and count a request for it.

        `more` are further arguments of the request. Return the request.

        Raises:
            Skipped: the spider or a handler skips the sitemap; the skip is counted.
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
        """Return the request for a sitemap, after the handlers have seen it.

        Raises:
            Skipped: the spider or a handler skips the sitemap.
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
        """Send `sitemap_found` for a sitemap. The spider's method of that name is a handler, too.

        Return the request to schedule, which a handler may have replaced, or None if a handler has
        vetoed the sitemap.
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
            if isinstance(result, Request):  # If several handlers return one, the last counts.
                request = result
        return request


def add_to_stat(crawler: Crawler, name: str, number: int = 1) -> None:
    """Add `number` to the stat `gbot_robots/sitemaps/NAME`."""
    if number:
        crawler.stats.inc_value(f"gbot_robots/sitemaps/{name}", number)


def skipped_by_rule(crawler: Crawler) -> list[str]:
    """Return one text for each rule that skipped sitemaps: how many, and by which rule."""
    words = []
    for name, rule in RULES.items():
        number = crawler.stats.get_value(f"gbot_robots/sitemaps/{name}", 0)
        if number:
            words.append(f"{number:,} by {rule}")
    return words


# Which spiders are fed, and how they read sitemaps


def feeds_itself(crawler: Crawler) -> bool:
    """Whether the crawl's spider requests the sitemaps of its hosts by itself."""
    return bool(getattr(crawler.spidercls, "_feeds_itself", False))


def may_be_fed(crawler: Crawler, settings: GbotSettings) -> bool:
    """Whether the crawl's spider may be fed; if so, middlewares check its files and requests."""
    if settings.sitemaps not in {"auto", "feed"}:
        return False
    return reads_sitemaps(crawler.spidercls) and not feeds_itself(crawler)


def reads_sitemap(crawler: Crawler, request: Request | None) -> bool:
    """Whether the response to `request` goes to the spider's method that reads sitemaps.

    The crawl's spider must be a SitemapSpider. That method of Scrapy's reads robots.txt files, too.
    """
    spider: Any = crawler.spider
    return request is not None and request.callback == sitemap_callback(spider)


def allowed_domains_of(spider: Spider) -> list[str]:
    """The spider's `allowed_domains` without empty ones. A plain string is one domain."""
    domains = getattr(spider, "allowed_domains", None) or ()
    if isinstance(domains, str):
        domains = [domains]
    return list(filter(None, domains))
