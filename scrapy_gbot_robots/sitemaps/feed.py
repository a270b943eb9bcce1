"""SitemapDiscovery: collects the sitemaps that each robots.txt lists, and feeds them to a running SitemapSpider.

It listens to the signal `robotstxt_known` and does not know the middleware that sends it. `SitemapFeed` knows which sitemaps
are new, shows each to handlers, then schedules it as if the spider had listed it. Scrapy's duplicate filter makes sure that
each sitemap is requested once, also across a JOBDIR and a fleet.
Source: Google's page, "sitemap".
"""

from __future__ import annotations

import logging
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from inspect import signature
from types import MappingProxyType
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, IgnoreRequest, NotConfigured
from scrapy.http import Response, TextResponse
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spiders import SitemapSpider
from typing_extensions import Self

from ..concurrency import Background, run_in_thread
from ..core.robots import RobotsTxt, may_list_sitemaps, sitemap_lines_of, size_of
from ..core.urls import Origin, shown
from ..engine import follows_sitemap, pull_soon, sitemap_callback, spider_middlewares
from ..meta import ANSWERED, SITEMAP
from ..settings import GbotSettings
from ..signals import robotstxt_known, sitemap_found
from .urls import MOST_LEVELS, FoundSitemap, SitemapChoice, UrlCheck

_MOST_GUESTS = 1_000  # origins
_READ_IN_THREAD_BYTES = 4 * 2**10  # so many bytes of sitemap lines take 2 ms to read
_MOST_CHARS = 16 * 2**20  # of all URLs that are kept
_NO_META: Mapping[str, Any] = MappingProxyType({})

logger = logging.getLogger(__name__)


class SitemapDiscovery:
    """The extension. `GBOT_ROBOTS_SITEMAPS` says whether found sitemaps are fed, only collected, or ignored.

    It feeds a SitemapSpider other than RobotsSitemapSpider; with "auto" only one that names no sitemap file, since the
    others have chosen. For all other spiders it only collects. It does not feed the sitemaps of three kinds of origins:
    those whose robots.txt the spider asks for itself, those outside the spider's `allowed_domains`, and guests. A guest is
    an origin that the crawl visits only to fetch a sitemap that another origin's robots.txt lists. It stops being one when
    the crawl gets a page from it. Origins of `start_urls` are none.

    Attributes:
        feed: what each robots.txt lists. RobotsSitemapSpider uses it, too.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._feeds = feeds(crawler, settings)
        self._guests: OrderedDict[Origin, tuple[FoundSitemap, ...]] = OrderedDict()
        self._background = Background()
        self._feeding = 0
        self._has_told = False
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
        crawler.signals.connect(discovery._spider_idle, signals.spider_idle)
        crawler.signals.connect(discovery._background.cancel, signals.spider_closed)
        return discovery

    @property
    def found(self) -> Mapping[str, list[str]]:
        """The URLs of the found sitemaps, by the URL of the robots.txt that lists them.

        The last `GBOT_ROBOTS_CACHE_SIZE` origins are kept. Origins that list no sitemap are left out.
        """
        return {robots_url: urls for robots_url, urls in self.feed.listed.items() if urls}

    def _robotstxt_known(
        self, origin: Origin, robotstxt: RobotsTxt, request: Request | None
    ) -> Coroutine[Any, Any, None] | None:
        """Read the sitemap lines, if there can be any: most origins of a broad crawl cost no coroutine."""
        return self._read(origin, robotstxt, request) if may_list_sitemaps(robotstxt) else None

    async def _read(self, origin: Origin, robotstxt: RobotsTxt, request: Request | None) -> None:
        spider: Any = self._crawler.spider
        is_own = self._feeds and self._is_asked_for(origin, request, spider)
        is_fed = self._feeds and not is_own and takes_more(spider, self._settings)
        log_level = logging.INFO if is_fed or self._settings.sitemaps == "collect" else logging.DEBUG
        new = (await self.feed.read(origin, robotstxt, log_level, is_bounded=is_fed or not self._feeds)).sitemaps
        source = None if request is None else request.meta.get(SITEMAP)
        is_guest = source is not None and source.get("robotstxt") != origin.robots_url
        if is_fed and is_guest and origin not in self.feed.home:
            self._add_guest(origin, new)
        elif is_fed:
            await self._feed_from(origin, (*self._guests.pop(origin, ()), *new))
        else:
            for sitemap in new:
                await self.feed.show(sitemap, None)
            if self._feeds and not is_own and not is_guest and _is_on_site(origin, spider):
                self._tell(origin, [sitemap.url for sitemap in new if sitemap.url not in self._named])

    async def _feed_from(self, origin: Origin, sitemaps: tuple[FoundSitemap, ...]) -> None:
        if _is_on_site(origin, self._crawler.spider):
            response = TextResponse(origin.robots_url, flags=[ANSWERED], request=Request(origin.robots_url))
            await self.feed.feed(sitemaps, response)

    def _add_guest(self, origin: Origin, sitemaps: tuple[FoundSitemap, ...]) -> None:
        if not self._guests:  # connected late: a crawl without guests pays nothing per response
            self._crawler.signals.connect(self._response_received, signals.response_received)
        self._guests[origin] = sitemaps
        if len(self._guests) > _MOST_GUESTS:
            self._guests.popitem(last=False)

    def _response_received(self, request: Request) -> None:
        """Feed from a guest when the crawl gets a page from it: a response that is no sitemap of another origin."""
        if SITEMAP in request.meta or request.meta.get("dont_obey_robotstxt"):
            return
        with suppress(ValueError):
            origin = Origin.of(request.url)
            if sitemaps := self._guests.pop(origin, ()):
                self._feeding += 1
                self._background.start(self._feed_from(origin, sitemaps), then=self._fed)

    def _fed(self) -> None:
        self._feeding -= 1
        pull_soon(self._crawler)  # `_spider_idle` may have kept the crawl open

    def _spider_idle(self) -> None:
        if self._feeding:
            raise DontCloseSpider

    def _tell(self, origin: Origin, others: list[str]) -> None:
        """Count what a spider that names its sitemaps is not fed besides them. Log it once in a crawl."""
        count(self._crawler, "not_fed", len(others))
        if others and not self._has_told:
            self._has_told = True
            logger.info(
                "%s lists sitemaps that the spider's sitemap_urls do not, %d in all, such as %s. The spider names its "
                "sitemaps, so it is fed no others: GBOT_ROBOTS_SITEMAPS = 'feed' changes this",
                origin.robots_url,
                len(others),
                others[0],
                extra={"spider": self._crawler.spider},
            )

    def _is_asked_for(self, origin: Origin, request: Request | None, spider: SitemapSpider) -> bool:
        """Whether the spider itself asks for the robots.txt of `origin`. Then its own code reads that."""
        return origin.robots_url in self._named or (
            request is not None
            and SITEMAP not in request.meta
            and request.callback == sitemap_callback(spider)
            and Origin.of_robots_txt(request.url) == origin
        )

    @cached_property
    def _named(self) -> frozenset[str]:
        """The spider's `sitemap_urls`, those of robots.txt files as `Origin` writes them."""
        spider: Any = self._crawler.spider
        origins = {url: Origin.of_robots_txt(url) for url in spider.sitemap_urls}
        return frozenset(url if origin is None else origin.robots_url for url, origin in origins.items())


class SitemapFeed:
    """What the robots.txt files of one crawl list, and its way into the crawl.

    `SitemapDiscovery` and `RobotsSitemapSpider` share it.

    Attributes:
        listed: URLs of sitemaps, by the URL of the robots.txt that lists them or did so before. It remembers
            `GBOT_ROBOTS_CACHE_SIZE` origins and `_MOST_CHARS`. The robots.txt that was read last comes last.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._most_origins = settings.cache_size
        self._check = UrlCheck.of(settings, crawler.settings)
        self.listed: OrderedDict[str, list[str]] = OrderedDict()
        self._chars = 0
        self._scheduling: Request | None = None
        crawler.signals.connect(self._request_dropped, signals.request_dropped)
        handler = getattr(crawler.spider, "sitemap_found", None)
        if handler is not None:
            crawler.signals.connect(handler, sitemap_found)

    @cached_property
    def home(self) -> Mapping[Origin, None]:
        """The origins of the spider's `start_urls`; if it has none, those of its `allowed_domains`, by https."""
        spider: Any = self._crawler.spider
        origins: dict[Origin, None] = {}
        for url in spider.start_urls or [f"https://{domain}" for domain in allowed_domains_of(spider)]:
            try:
                origins[Origin.of(url)] = None
            except ValueError as error:  # noqa: PERF203  there are few
                logger.warning("%s cannot start from %s: %s", spider.name, shown(str(url)), error)
        return origins

    async def read(
        self, origin: Origin, robotstxt: RobotsTxt, log_level: int = logging.INFO, *, is_bounded: bool = True
    ) -> SitemapChoice:
        """Read the sitemap lines of the robots.txt of `origin`. Count the lines that are not used, and log them.

        Unless it `is_bounded`, no line that could be a sitemap is left out. The returned `sitemaps` are those that no
        earlier call returned.
        """
        check = self._check if is_bounded else self._check._replace(hosts="any", most=sys.maxsize)

        def choose() -> SitemapChoice:
            return check.choose(origin, sitemap_lines_of(robotstxt))

        choice = await run_in_thread(choose) if size_of(robotstxt) > _READ_IN_THREAD_BYTES else choose()
        known = self.listed.pop(origin.robots_url, None)
        new, counts = choice.sitemaps, choice.counts
        if known is not None:  # the robots.txt may have gained some, up to GBOT_ROBOTS_SITEMAPS_MAX in total
            more = tuple(sitemap for sitemap in new if sitemap.url not in known)
            new = more[: max(0, check.most - len(known))]
            counts = Counter(found=len(more), capped=len(more) - len(new))
        elif choice.why and is_bounded:
            logger.log(log_level, "%s: sitemap lines are not used: %s", origin.robots_url, "; ".join(choice.why))
        for name, number in counts.items():
            if is_bounded or name == "found":
                count(self._crawler, name, number)
        self.listed[origin.robots_url] = [*(known or ()), *(sitemap.url for sitemap in new)]
        self._chars += sum(len(sitemap.url) for sitemap in new)
        while len(self.listed) > self._most_origins or self._chars > _MOST_CHARS:
            self._chars -= sum(map(len, self.listed.popitem(last=False)[1]))
        return choice._replace(sitemaps=new)

    async def feed(
        self, sitemaps: Iterable[FoundSitemap], response: Response, more_meta: Mapping[str, Any] = _NO_META
    ) -> None:
        """Schedule requests for `sitemaps`, which the robots.txt `response` lists, with `more_meta` in their meta."""
        spider, engine = self._crawler.spider, self._crawler.engine
        assert isinstance(spider, SitemapSpider)  # noqa: S101  for the type checker
        assert engine is not None  # noqa: S101  as above
        make, parse = request_maker(spider), sitemap_callback(spider)
        for sitemap in sitemaps:
            if not follows_sitemap(spider, sitemap.url):
                count(self._crawler, "refused/follow")
                continue
            made = make(sitemap.url, parse, {"loc": sitemap.url}, source="robotstxt", response=response)
            meta = {
                "is_start_request": True,
                "allow_offsite": True,  # for the sitemap; allowed_domains hold for the pages that it lists
                SITEMAP: {"robotstxt": sitemap.robotstxt, "line": sitemap.line},
            }
            made.meta.update({**meta, **more_meta})
            request = await self.show(sitemap, made)
            processed = None if request is None else self._processed(request)
            if processed is None:
                count(self._crawler, "refused/vetoed" if request is None else "refused/middleware")
                continue
            self._scheduling = processed
            engine.crawl(processed)
            count(self._crawler, "fed" if self._scheduling else "duplicate")
            self._scheduling = None

    async def show(self, sitemap: FoundSitemap, request: Request | None) -> Request | None:
        """Show a found sitemap to the handlers of `sitemap_found`, of which the spider's method of that name is one.

        Returns the request to schedule, which a handler may have replaced; None if a handler vetoed it.
        """
        answered = await self._crawler.signals.send_catch_log_async(
            sitemap_found, sitemap=sitemap, request=request, spider=self._crawler.spider, dont_log=IgnoreRequest
        )
        answers = [answer for _, answer in answered]
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

    def _request_dropped(self, request: Request) -> None:
        """Note that the duplicate filter dropped the request that is being scheduled."""
        if request is self._scheduling:
            self._scheduling = None


def count(crawler: Crawler, name: str, number: int = 1) -> None:
    """Add `number` to the stat `gbot_robots/sitemaps/NAME`. What is below "refused/" counts in "refused", too."""
    for each in (name, "refused") if name.startswith("refused/") else (name,):
        if number:
            crawler.stats.inc_value(f"gbot_robots/sitemaps/{each}", number)


def allowed_domains_of(spider: Spider | None) -> list[str]:
    """The spider's `allowed_domains` in lower case. A string is one domain, not a list of letters."""
    domains = getattr(spider, "allowed_domains", None) or ()
    return [domain.lower() for domain in ([domains] if isinstance(domains, str) else domains) if domain]


def _is_on_site(origin: Origin, spider: Spider | None) -> bool:
    """Whether the spider's `allowed_domains` allow `origin`."""
    domains = allowed_domains_of(spider)
    return not domains or any(origin.host == domain or origin.host.endswith(f".{domain}") for domain in domains)


def reads_sitemaps(crawler: Crawler) -> bool:
    """Whether the crawl's spider is a SitemapSpider."""
    return issubclass(crawler.spidercls, SitemapSpider)


def feeds_itself(crawler: Crawler) -> bool:
    """Whether the crawl's spider requests the sitemaps of its hosts itself, as RobotsSitemapSpider does."""
    return bool(getattr(crawler.spidercls, "_feeds_itself", False))


def feeds(crawler: Crawler, settings: GbotSettings) -> bool:
    """Whether the crawl's spider may be fed, and what it makes of a sitemap is checked."""
    return settings.sitemaps in {"auto", "feed"} and reads_sitemaps(crawler) and not feeds_itself(crawler)


def takes_more(spider: SitemapSpider, settings: GbotSettings) -> bool:
    """Whether a spider is fed sitemaps: always with "feed", with "auto" unless it names sitemap files itself."""
    return settings.sitemaps == "feed" or all(Origin.of_robots_txt(url) is not None for url in spider.sitemap_urls)


def left_out(crawler: Crawler) -> dict[str, int]:
    """How many sitemaps did not reach a spider that reads sitemaps, by the setting or rule that left them out."""
    settings = GbotSettings.of(crawler.settings)
    rules = {
        "not_fed": f"GBOT_ROBOTS_SITEMAPS = {settings.sitemaps!r}",
        "capped": f"GBOT_ROBOTS_SITEMAPS_MAX = {settings.sitemaps_max}",
        "refused/host": f"GBOT_ROBOTS_SITEMAPS_HOSTS = {settings.sitemaps_hosts!r}",
        "refused/private": "GBOT_ROBOTS_REFUSE_PRIVATE = True",
        "refused/follow": "the spider's sitemap_follow",
        "refused/depth": f"the bound of {MOST_LEVELS} sitemap indexes above them",
        "refused/scheme": "their scheme",
        "refused/malformed": "their form",
    }
    counts = {rule: crawler.stats.get_value(f"gbot_robots/sitemaps/{name}", 0) for name, rule in rules.items()}
    return {rule: number for rule, number in counts.items() if number and reads_sitemaps(crawler)}


def request_maker(spider: SitemapSpider) -> Callable[..., Request]:
    """What makes the spider's requests for what files list: its hook `sitemap_request`, if it has one.

    Source: Scrapy's pull request 8175. A method of that name that takes other arguments is not the hook.
    """
    hook: Callable[..., Request] | None = getattr(spider, "sitemap_request", None)
    if hook is not None:
        with suppress(TypeError):
            signature(hook).bind("", None, {}, source="", response=None)
            return hook
    return lambda url, callback, entry, **_: Request(url, callback)
