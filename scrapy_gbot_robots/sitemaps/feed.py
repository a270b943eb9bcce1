"""SitemapDiscovery: collects the sitemaps that each robots.txt lists, and feeds them to a running SitemapSpider.

It listens to the signal `robotstxt_known` and does not know the middleware that sends it. `SitemapFeed` knows which sitemaps
are new, shows each to handlers, then schedules it as if the spider had listed it. Scrapy's duplicate filter makes sure that
each sitemap is requested once, also across a JOBDIR and a fleet.
Source: Google's page, "sitemap".
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import cached_property, partial
from inspect import signature
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response, TextResponse
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spiders import CrawlSpider, SitemapSpider
from typing_extensions import Self

from ..concurrency import run_in_thread
from ..core.robots import RobotsTxt, may_list_sitemaps, size_of
from ..core.urls import Origin, shown
from ..engine import follows_sitemap, sitemap_callback, spider_middlewares
from ..meta import ANSWERED, SITEMAP
from ..settings import GbotSettings
from ..signals import robotstxt_known, sitemap_found
from .urls import RULES, FoundSitemap, UrlCheck

_READ_IN_THREAD_BYTES = 4 * 2**10  # so many bytes of sitemap lines take 2 ms to read
_MOST_CHARS = 16 * 2**20  # of all URLs that are kept

_NOT_FED = (
    "%s lists sitemaps that the spider's sitemap_urls do not, %d in all, such as %s. The spider names its sitemaps, so it"
    " is fed no others: GBOT_ROBOTS_SITEMAPS = 'feed' changes this"
)
_NOT_FED_FOR_LINKS = (
    "%s lists sitemaps, %d in all, such as %s. The spider is a CrawlSpider, too, and names none, so it is fed none:"
    " GBOT_ROBOTS_SITEMAPS = 'feed' changes this"
)

logger = logging.getLogger(__name__)


class SitemapDiscovery:
    """The extension. `GBOT_ROBOTS_SITEMAPS` says whether found sitemaps are fed, only collected, or ignored.

    It feeds a SitemapSpider other than RobotsSitemapSpider; with "auto" only one that names no
    sitemap file, since the others have chosen. For all other spiders it only collects.

    Attributes:
        feed: what each robots.txt lists. RobotsSitemapSpider uses it, too.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._feeds = feeds(crawler, settings)
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
        return discovery

    @property
    def found(self) -> Mapping[str, list[str]]:
        """The URLs of the found sitemaps, by the URL of the robots.txt that lists them.

        The last `GBOT_ROBOTS_CACHE_SIZE` origins are kept. Origins that list no sitemap are left
        out.
        """
        return {robots_url: urls for robots_url, urls in self.feed.listed.items() if urls}

    def _robotstxt_known(
        self, origin: Origin, robotstxt: RobotsTxt, request: Request | None
    ) -> Coroutine[Any, Any, None] | None:
        """Read the sitemap lines, if there can be any: most origins of a broad crawl cost no coroutine."""
        return self._read(origin, robotstxt, request) if may_list_sitemaps(robotstxt) else None

    async def _read(self, origin: Origin, robotstxt: RobotsTxt, request: Request | None) -> None:
        spider: Any = self._crawler.spider
        concerns = self._feeds and self._concerns(origin, request)
        is_fed = concerns and takes_more(spider, self._settings)
        new, _ = await self.feed.read(
            origin, robotstxt, is_told=is_fed or self._settings.sitemaps == "collect"
        )
        if is_fed:
            answer = TextResponse(
                origin.robots_url, flags=[ANSWERED], request=Request(origin.robots_url)
            )
            await self.feed.feed(new, answer)
            return
        for sitemap in new:
            await self.feed.show(sitemap, None)
        if concerns:
            self._tell(origin, [sitemap.url for sitemap in new if sitemap.url not in self._named])

    def _concerns(self, origin: Origin, request: Request | None) -> bool:
        """Whether the crawl is to read the sitemaps of `origin`, and the spider's own code does not read its robots.txt.

        If there are no `allowed_domains`, the crawl is open to an origin that it does not visit
        only to fetch a sitemap that another origin's robots.txt lists.
        """
        spider: Any = self._crawler.spider
        source = None if request is None else request.meta.get(SITEMAP)
        if origin.robots_url in self._named or (
            request is not None
            and source is None
            and request.callback == sitemap_callback(spider)
            and Origin.of_robots_txt(request.url) == origin
        ):
            return False
        if domains := allowed_domains_of(spider):
            return any(f".{origin.host}".endswith(f".{domain}") for domain in domains)
        return (
            source is None
            or source.get("robotstxt") == origin.robots_url
            or origin in self.feed.home
        )

    def _tell(self, origin: Origin, others: list[str]) -> None:
        """Count what a spider that names its sitemaps is not fed besides them. Log it once in a crawl."""
        count(self._crawler, "not_fed", len(others))
        if others and not self._has_told:
            self._has_told = True
            spider: Any = self._crawler.spider
            logger.info(
                _NOT_FED_FOR_LINKS if follows_links(spider) else _NOT_FED,
                origin.robots_url,
                len(others),
                others[0],
                extra={"spider": self._crawler.spider},
            )

    @cached_property
    def _named(self) -> frozenset[str]:
        """The spider's `sitemap_urls`, those of robots.txt files as `Origin` writes them."""
        spider: Any = self._crawler.spider
        origins = {url: Origin.of_robots_txt(url) for url in spider.sitemap_urls}
        return frozenset(
            url if origin is None else origin.robots_url for url, origin in origins.items()
        )


class SitemapFeed:
    """What the robots.txt files of one crawl list, and its way into the crawl.

    `SitemapDiscovery` and `RobotsSitemapSpider` share it.

    Attributes:
        check: which URLs may be followed.
        listed: URLs of sitemaps, by the URL of the robots.txt that lists them or did so before. It remembers
            `GBOT_ROBOTS_CACHE_SIZE` origins and `_MOST_CHARS`. The robots.txt that was read last
            comes last.
        request_meta: the meta of each request for a sitemap file.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._most_origins = settings.cache_size
        self.check = UrlCheck.of(settings, crawler.settings)
        self.listed: OrderedDict[str, list[str]] = OrderedDict()
        self.request_meta: dict[str, Any] = {
            "allow_offsite": True
        }  # allowed_domains hold for the pages that it lists
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
        for url in spider.start_urls or [
            f"https://{domain}" for domain in allowed_domains_of(spider)
        ]:
            try:
                origins[Origin.of(url)] = None
            except ValueError as error:  # noqa: PERF203  there are few
                logger.warning("%s cannot start from %s: %s", spider.name, shown(str(url)), error)
        return origins

    async def read(
        self, origin: Origin, robotstxt: RobotsTxt, *, is_told: bool = True
    ) -> tuple[list[FoundSitemap], str]:
        """Read the sitemap lines of the robots.txt of `origin`.

        Returns:
            The sitemaps that no earlier call returned, and in words what left the others out.
            Unless that `is_told`, the others are neither counted nor logged.
        """
        known = self.listed.get(origin.robots_url)
        choose = partial(self.check.choose, origin, robotstxt, known or ())
        new, counts = (
            await run_in_thread(choose) if size_of(robotstxt) > _READ_IN_THREAD_BYTES else choose()
        )
        left_out = ", ".join(
            f"{counts[name]} by {rule}" for name, rule in RULES.items() if counts.get(name)
        )
        if left_out and is_told and known is None:
            logger.info("%s: sitemaps left out: %s", origin.robots_url, left_out)
        for name, number in counts.items():
            if is_told or name == "found":
                count(self._crawler, name, number)
        self.listed[origin.robots_url] = [*(known or ()), *(sitemap.url for sitemap in new)]
        self.listed.move_to_end(origin.robots_url)
        self._chars += sum(len(sitemap.url) for sitemap in new)
        while len(self.listed) > self._most_origins or self._chars > _MOST_CHARS:
            self._chars -= sum(map(len, self.listed.popitem(last=False)[1]))
        return new, left_out

    async def feed(self, sitemaps: Iterable[FoundSitemap], response: Response) -> None:
        """Schedule requests for `sitemaps`, which the robots.txt `response` lists."""
        spider: Any = self._crawler.spider
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101  for the type checker
        make, parse = request_maker(spider), sitemap_callback(spider)
        for sitemap in sitemaps:
            if not follows_sitemap(spider, sitemap.url):
                count(self._crawler, "refused/follow")
                continue
            made = make(
                sitemap.url, parse, {"loc": sitemap.url}, source="robotstxt", response=response
            )
            made.meta["is_start_request"] = True
            made.meta.update(
                self.request_meta,
                **{SITEMAP: {"robotstxt": sitemap.robotstxt, "line": sitemap.line}},
            )
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

        Returns the request to schedule, which a handler may have replaced; None if a handler vetoed
        it.
        """
        answered = await self._crawler.signals.send_catch_log_async(
            sitemap_found,
            sitemap=sitemap,
            request=request,
            spider=self._crawler.spider,
            dont_log=IgnoreRequest,
        )
        answers = [answer for _, answer in answered]
        if any(answer is False or isinstance(answer, Exception) for answer in answers):
            return None
        return next(
            (answer for answer in reversed(answers) if isinstance(answer, Request)), request
        )

    def _processed(self, request: Request) -> Request | None:
        """Pass a request through the spider middlewares that take start requests one by one; None if one drops it.

        A middleware that overrides `process_start` itself is left out: Scrapy calls that once, for
        all start requests.
        """
        processed: Request | None = request
        for middleware in reversed(
            spider_middlewares(self._crawler)
        ):  # in the order in which start requests pass
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
    return [
        domain.lower() for domain in ([domains] if isinstance(domains, str) else domains) if domain
    ]


def reads_sitemaps(crawler: Crawler) -> bool:
    """Whether the crawl's spider is a SitemapSpider."""
    return issubclass(crawler.spidercls, SitemapSpider)


def feeds_itself(crawler: Crawler) -> bool:
    """Whether the crawl's spider requests the sitemaps of its hosts itself, as RobotsSitemapSpider does."""
    return bool(getattr(crawler.spidercls, "_feeds_itself", False))


def feeds(crawler: Crawler, settings: GbotSettings) -> bool:
    """Whether the crawl's spider may be fed, and what it makes of a sitemap is checked."""
    return (
        settings.sitemaps in {"auto", "feed"}
        and reads_sitemaps(crawler)
        and not feeds_itself(crawler)
    )


def takes_more(spider: SitemapSpider, settings: GbotSettings) -> bool:
    """Whether a spider is fed sitemaps: always with "feed", with "auto" unless it says how it finds its pages."""
    if settings.sitemaps == "feed":
        return True
    if follows_links(spider):
        return False
    return all(Origin.of_robots_txt(url) is not None for url in spider.sitemap_urls)


def follows_links(spider: SitemapSpider) -> bool:
    """Whether a spider is a CrawlSpider as well, and names no sitemaps: it finds its pages by links."""
    return isinstance(spider, CrawlSpider) and not spider.sitemap_urls


def left_out(crawler: Crawler) -> dict[str, int]:
    """How many sitemaps did not reach a spider that reads sitemaps, by the setting or rule that left them out."""
    counts = {
        rule: crawler.stats.get_value(f"gbot_robots/sitemaps/{name}", 0)
        for name, rule in RULES.items()
    }
    return {rule: number for rule, number in counts.items() if number and reads_sitemaps(crawler)}


def request_maker(spider: SitemapSpider) -> Callable[..., Request]:
    """What makes the spider's requests for what files list: its hook `sitemap_request`, if it has one.

    Source: Scrapy's pull request 8175. A method of that name that takes other arguments is not the
    hook.
    """
    hook: Callable[..., Request] = getattr(spider, "sitemap_request", _plain_request)
    try:
        signature(hook).bind("", None, {}, source="", response=None)
    except TypeError:
        return _plain_request
    return hook


def _plain_request(url: str, callback: Callable[..., Any], entry: object, **_: object) -> Request:
    return Request(url, callback)
