"""SitemapDiscovery: collects the sitemaps that robots.txt files list, and feeds a SitemapSpider.

It listens to the signal `robotstxt_known` and does not know the middleware that sends it.
`SitemapFeed` knows which sitemaps are new, shows each to handlers, then schedules it as if the
spider had listed it. Scrapy's duplicate filter makes sure that each sitemap is requested once, also
across a JOBDIR and a fleet. The functions at the end say which spiders are fed, and how they make
requests.
Source: Google's page, "sitemap".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import cached_property, partial
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response, TextResponse
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spiders import CrawlSpider, SitemapSpider
from typing_extensions import Self

from ..concurrency import run_in_thread
from ..core.robots import RobotsTxt, may_list_sitemaps, size_of
from ..core.urls import Origin, origin_of_robots_txt, shown
from ..engine import follows_sitemap, sitemap_callback, spider_middlewares
from ..meta import ANSWERED, SITEMAP
from ..settings import GbotSettings
from ..signals import robotstxt_known, sitemap_found
from .urls import FATES, RULES, FoundSitemap, UrlCheck

_READ_IN_THREAD_BYTES = 4 * 2**10  # so many bytes of sitemap lines take 2 ms to read
_MOST_CHARS = 16 * 2**20  # of all URLs that are kept, those of robots.txt files, too

_NOT_FED = (
    "%s lists %d sitemaps that the spider is not fed, such as %s: it names its sitemaps itself, or"
    " finds its pages by links. GBOT_ROBOTS_SITEMAPS = 'feed' changes this"
)

logger = logging.getLogger(__name__)


class SitemapDiscovery:
    """The extension. `GBOT_ROBOTS_SITEMAPS` says what becomes of found sitemaps.

    With "auto" and "feed" it feeds a SitemapSpider other than RobotsSitemapSpider; with "auto" only
    one that does not find its pages in another way. For all other spiders it only collects.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._feeds = feeds(crawler, settings)
        self.feed = SitemapFeed(crawler, settings)

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
        if not feeds_itself(crawler):
            crawler.signals.connect(discovery._robotstxt_known, robotstxt_known)
        return discovery

    @property
    def found(self) -> Mapping[str, list[str]]:
        """The URLs of the found sitemaps, by the URL of the robots.txt that lists them.

        The last 16 MiB of URLs are kept. Origins that list no sitemap are left out.
        """
        listed = self.feed.listed.items()
        return {robots_url: list(urls) for robots_url, urls in listed if urls}

    def _robotstxt_known(
        self, origin: Origin, robotstxt: RobotsTxt, request: Request
    ) -> Coroutine[Any, Any, None] | None:
        """Read the sitemap lines, if there can be any: most origins cost no coroutine."""
        if not may_list_sitemaps(robotstxt):
            return None
        return self._read(origin, robotstxt, request)

    async def _read(self, origin: Origin, robotstxt: RobotsTxt, request: Request) -> None:
        spider: Any = self._crawler.spider
        is_for_the_spider = self._feeds and self._is_for_the_spider(origin, request)
        is_fed = is_for_the_spider and takes_found_sitemaps(spider, self._settings)
        is_asked_for = is_fed or self._settings.sitemaps == "collect"
        new, _ = await self.feed.read(
            origin, robotstxt, logging.INFO if is_asked_for else logging.DEBUG
        )
        if is_fed:
            robots_request = Request(origin.robots_url)
            response = TextResponse(origin.robots_url, flags=[ANSWERED], request=robots_request)
            await self.feed.feed(new, response)
            return
        for sitemap in new:
            await self.feed.show(sitemap, None)
        if is_for_the_spider:
            others = [sitemap.url for sitemap in new if sitemap.url not in self._named]
            self._count_what_is_not_fed(origin, others)

    def _is_for_the_spider(self, origin: Origin, request: Request) -> bool:
        """Whether the spider is to read the sitemaps of `origin`, and does not do so by itself.

        If there are no `allowed_domains`, the crawl is open to an origin that it does not visit
        only to fetch a sitemap that another origin's robots.txt lists.
        """
        spider: Any = self._crawler.spider
        if origin.robots_url in self._named:
            return False
        source = request.meta.get(SITEMAP)
        is_read_by_it = source is None and request.callback == sitemap_callback(spider)
        if is_read_by_it and origin_of_robots_txt(request.url) == origin:
            return False
        domains = allowed_domains_of(spider)
        if domains:
            return any(f".{origin.host}".endswith(f".{domain}") for domain in domains)
        if source is None or source.get("robotstxt") == origin.robots_url:
            return True
        return origin in self.feed.home

    def _count_what_is_not_fed(self, origin: Origin, others: list[str]) -> None:
        """Count the sitemaps that a spider is not fed since it finds its pages itself.

        The log says so once in a crawl.
        """
        is_told = self._crawler.stats.get_value("gbot_robots/sitemaps/not_fed", 0)
        count(self._crawler, "not_fed", len(others))
        if others and not is_told:
            logger.info(_NOT_FED, origin.robots_url, len(others), others[0])

    @cached_property
    def _named(self) -> frozenset[str]:
        """The spider's `sitemap_urls`, those of robots.txt files as `Origin` writes them."""
        spider: Any = self._crawler.spider
        names: set[str] = set()
        for url in spider.sitemap_urls:
            origin = origin_of_robots_txt(url)
            names.add(url if origin is None else origin.robots_url)
        return frozenset(names)


class SitemapFeed:
    """What the robots.txt files of one crawl list, and its way into the crawl.

    `SitemapDiscovery` and `RobotsSitemapSpider` share it.

    Attributes:
        check: which URLs may be followed.
        listed: URLs of sitemaps, by the URL of the robots.txt that lists them or did so before. It
            remembers `_MOST_CHARS`. The robots.txt that was read last comes last.
        request_meta: the meta of each request for a sitemap file.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self.check = UrlCheck.of(settings, crawler.settings)
        self.listed: dict[str, tuple[str, ...]] = {}
        # `allowed_domains` hold for the pages that a sitemap lists.
        self.request_meta: dict[str, Any] = {"allow_offsite": True}
        self._chars = 0
        handler = getattr(crawler.spider, "sitemap_found", None)
        if handler is not None:
            crawler.signals.connect(handler, sitemap_found)

    @cached_property
    def home(self) -> Mapping[Origin, None]:
        """The origins of the spider's `start_urls`, else of its `allowed_domains`, by https."""
        spider: Any = self._crawler.spider
        urls = spider.start_urls
        if not urls:
            urls = [f"https://{domain}" for domain in allowed_domains_of(spider)]
        origins = map(self._origin_to_start_from, urls)
        return dict.fromkeys(origin for origin in origins if origin is not None)

    def _origin_to_start_from(self, url: str) -> Origin | None:
        try:
            return Origin.of(url)
        except ValueError as error:
            name = self._crawler.spidercls.name
            logger.warning("%s cannot start from %s: %s", name, shown(str(url)), error)
            return None

    async def read(
        self, origin: Origin, robotstxt: RobotsTxt, level: int = logging.INFO
    ) -> tuple[list[FoundSitemap], str]:
        """Read the sitemap lines of the robots.txt of `origin`.

        Returns:
            The sitemaps that no earlier call returned, and in words what left the others out. The
            first call logs the latter at this `level`. Below INFO, the others are not counted.
        """
        before = self.listed.get(origin.robots_url, ())
        is_new = origin.robots_url not in self.listed
        choose = partial(self.check.choose, origin, robotstxt, before)
        if size_of(robotstxt) > _READ_IN_THREAD_BYTES:
            new, counts, first_lines = await run_in_thread(choose)
        else:
            new, counts, first_lines = choose()
        left_out = ", ".join(
            f"{counts[name]} by {rule} ({first_lines[name]})"
            for name, rule in RULES.items()
            if name in first_lines
        )
        if left_out and is_new:
            logger.log(level, "%s: sitemaps left out: %s", origin.robots_url, left_out)
        for name, number in counts.items():
            if level == logging.INFO or name == "found":
                count(self._crawler, name, number)
        self._remember(origin.robots_url, before, new)
        return new, left_out

    def _remember(self, robots_url: str, before: tuple[str, ...], new: list[FoundSitemap]) -> None:
        """Note what a robots.txt lists; forget what was read longest ago if that is too much."""
        if self.listed.pop(robots_url, None) is None:
            self._chars += len(robots_url)
        # Python's garbage collector does not visit a tuple of texts again and again, as it does a
        # list.
        self.listed[robots_url] = (*before, *(sitemap.url for sitemap in new))
        self._chars += sum(len(sitemap.url) for sitemap in new)
        while self._chars > _MOST_CHARS:
            forgotten = next(iter(self.listed))
            self._chars -= sum(map(len, (forgotten, *self.listed.pop(forgotten))))

    async def feed(self, sitemaps: Iterable[FoundSitemap], response: Response) -> None:
        """Schedule requests for `sitemaps`, which the robots.txt `response` lists."""
        spider: Any = self._crawler.spider
        engine: Any = self._crawler.engine
        make = request_maker(spider)
        parse = sitemap_callback(spider)
        for sitemap in sitemaps:
            if not follows_sitemap(spider, sitemap.url):
                count(self._crawler, "refused/follow")
                continue
            entry = {"loc": sitemap.url}
            made = make(sitemap.url, parse, entry, source="robotstxt", response=response)
            if made is None:
                count(self._crawler, "refused/vetoed")
                continue
            made.meta["is_start_request"] = True
            made.meta.update(self.request_meta)
            made.meta[SITEMAP] = {"robotstxt": sitemap.robotstxt, "line": sitemap.line}
            request = await self.show(sitemap, made)
            if request is None:
                count(self._crawler, "refused/vetoed")
                continue
            processed = self._processed(request)
            if processed is None:
                count(self._crawler, "refused/middleware")
                continue
            engine.crawl(processed)
            count(self._crawler, "fed")

    async def show(self, sitemap: FoundSitemap, request: Request | None) -> Request | None:
        """Show a found sitemap to the handlers of `sitemap_found`, the spider's method among them.

        Returns the request to schedule, which a handler may have replaced; None if a handler vetoed
        it.
        """
        results = await self._crawler.signals.send_catch_log_async(
            sitemap_found,
            sitemap=sitemap,
            request=request,
            spider=self._crawler.spider,
            dont_log=IgnoreRequest,
        )
        for _, result in results:
            if result is False or isinstance(result, Exception):
                return None
            if isinstance(result, Request):  # the last one counts
                request = result
        return request

    def _processed(self, request: Request) -> Request | None:
        """Pass a request through the spider middlewares for start requests; None if one drops it.

        A middleware that overrides `process_start` itself is left out: Scrapy calls that once, for
        all start requests.
        """
        processed: Request | None = request
        # In the order in which start requests pass.
        for middleware in reversed(spider_middlewares(self._crawler)):
            if processed is not None and isinstance(middleware, BaseSpiderMiddleware):
                try:
                    processed = middleware.get_processed_request(processed, None)
                except Exception:
                    logger.exception("%s failed for %s", type(middleware).__name__, request.url)
                    return None
        return processed


def count(crawler: Crawler, name: str, number: int = 1) -> None:
    """Add `number` to the stat `gbot_robots/sitemaps/NAME`.

    What is below "refused/" counts in "refused", too.
    """
    if not number:
        return
    crawler.stats.inc_value(f"gbot_robots/sitemaps/{name}", number)
    if name.startswith("refused/"):
        crawler.stats.inc_value("gbot_robots/sitemaps/refused", number)


def left_out(crawler: Crawler) -> dict[str, int]:
    """How many sitemaps did not reach a SitemapSpider, by the rule that left them out."""
    numbers: dict[str, int] = {}
    if reads_sitemaps(crawler):
        for name, rule in RULES.items():
            number = crawler.stats.get_value(f"gbot_robots/sitemaps/{name}", 0)
            if number:
                numbers[rule] = number
    return numbers


def fates_of_urls(crawler: Crawler) -> str:
    """How many URLs sitemap files list, and how many have each fate, in words."""
    get = crawler.stats.get_value
    number = get("gbot_robots/sitemaps/entries", 0)
    fates = {fate: get(f"gbot_robots/sitemaps/entries/{fate}", 0) for fate in FATES}
    disallowed = get("gbot_robots/sitemaps/disallowed", 0)
    fates["blocked"] = max(0, get("robotstxt/forbidden", 0) - disallowed)
    fates["lost"] = max(0, number - sum(fates.values()))
    words = [f"{fates[fate]} {words}" for fate, words in FATES.items() if fates[fate]]
    return ", ".join([f"{number} found", *words])


# What a spider takes


def reads_sitemaps(crawler: Crawler) -> bool:
    """Whether the crawl's spider is a SitemapSpider."""
    return issubclass(crawler.spidercls, SitemapSpider)


def feeds_itself(crawler: Crawler) -> bool:
    """Whether the crawl's spider requests the sitemaps of its hosts by itself."""
    return bool(getattr(crawler.spidercls, "_feeds_itself", False))


def feeds(crawler: Crawler, settings: GbotSettings) -> bool:
    """Whether the crawl's spider may be fed, and what it makes of a sitemap is checked."""
    if settings.sitemaps not in {"auto", "feed"}:
        return False
    return reads_sitemaps(crawler) and not feeds_itself(crawler)


def takes_found_sitemaps(spider: SitemapSpider, settings: GbotSettings) -> bool:
    """Whether a spider is fed the sitemaps that its crawl finds.

    With "feed" it always is. With "auto" it is, unless it names a sitemap that is no robots.txt, or
    is a CrawlSpider, too, and names none: it finds its pages by links.
    """
    if settings.sitemaps == "feed":
        return True
    if isinstance(spider, CrawlSpider) and not spider.sitemap_urls:
        return False
    return all(origin_of_robots_txt(url) is not None for url in spider.sitemap_urls)


def allowed_domains_of(spider: Spider | None) -> list[str]:
    """The spider's `allowed_domains` in lower case.

    A string is one domain, not a list of letters.
    """
    domains = getattr(spider, "allowed_domains", None)
    if not domains:
        return []
    if isinstance(domains, str):
        domains = [domains]
    return [domain.lower() for domain in domains if domain]


def request_maker(spider: SitemapSpider) -> Callable[..., Request | None]:
    """What makes the spider's requests for what files list: its hook, if it has one.

    The hook leaves out what it returns None for.
    Source: Scrapy's pull request 8175.
    """
    return getattr(spider, "sitemap_request", _plain_request)


def _plain_request(url: str, callback: Callable[..., Any], entry: object, **_: object) -> Request:
    return Request(url, callback)


def forget_file(request: Request) -> None:
    """Remove from a new request what code may copy of the meta of the file that lists its URL."""
    if request.meta.pop(SITEMAP, None) is not None:
        request.meta.pop("allow_offsite", None)
