"""SitemapDiscovery: collects the sitemaps that each robots.txt lists, and feeds them to a running SitemapSpider.

It listens to the signal `robotstxt_known` and does not know the middleware that sends it. `SitemapFeed` knows which sitemaps
are new, shows each to handlers, then schedules it as if the spider had listed it. Scrapy's duplicate filter makes sure that
each sitemap is requested once, also across a JOBDIR and a fleet.
Source: Google's page, "sitemap".
"""

from __future__ import annotations

import logging
import sys
from collections import OrderedDict
from contextlib import contextmanager, suppress
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.exceptions import DontCloseSpider, IgnoreRequest, NotConfigured
from scrapy.http import TextResponse
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spiders import SitemapSpider
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.spider import DefaultSpider

from ..concurrency import Background, run_in_thread
from ..core.robots import may_list_sitemaps, sitemap_lines_of
from ..core.urls import Origin
from ..engine import follows_sitemap, pull_soon, sitemap_callback, spider_middlewares
from ..meta import ANSWERED, SITEMAP
from ..settings import GbotSettings
from ..signals import robotstxt_known, sitemap_found
from .urls import MOST_LEVELS, SitemapChoice, UrlCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from ..core.robots import RobotsTxt
    from .urls import FoundSitemap

_MOST_GUESTS = 1_000  # origins
_MOST_CHARS = 16 * 2**20  # of all URLs that are kept
_NO_META: Mapping[str, Any] = MappingProxyType({})
_ANY_SPIDER = (Spider, DefaultSpider)  # a crawler with one of these may get a spider of another class later

CHECKED = frozenset({"auto", "feed"})  # values of GBOT_ROBOTS_SITEMAPS

logger = logging.getLogger(__name__)


class SitemapDiscovery:
    """The extension. `GBOT_ROBOTS_SITEMAPS` says whether found sitemaps are fed, only collected, or ignored.

    It feeds a SitemapSpider that has no `feeds_itself`; with "auto" only one that names no sitemap file, since the others
    have chosen. For all other spiders it only collects. It does not feed the sitemaps of three kinds of origins: those whose
    robots.txt the spider asks for itself, those outside the spider's `allowed_domains`, and guests. A guest is an origin
    that the crawl visits only to fetch a sitemap that another origin's robots.txt lists. It stops being one when the crawl
    gets a page from it.

    Attributes:
        feed: what each robots.txt lists. A spider that feeds itself uses it, too.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._guests: OrderedDict[Origin, tuple[FoundSitemap, ...]] = OrderedDict()
        self._background = Background()
        self._busy = 0
        self._named: frozenset[str] | None = None
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
        crawler.signals.connect(discovery._spider_idle, signals.spider_idle)
        crawler.signals.connect(discovery._spider_closed, signals.spider_closed)
        crawler.signals.connect(discovery._robotstxt_known, robotstxt_known)
        return discovery

    @property
    def found(self) -> Mapping[str, list[str]]:
        """The URLs of the found sitemaps, by the URL of the robots.txt that lists them.

        The last `GBOT_ROBOTS_CACHE_SIZE` origins are kept. Origins that list no sitemap are left out.
        """
        return self.feed.found()

    def _robotstxt_known(
        self, origin: Origin, robotstxt: RobotsTxt, request: Request | None
    ) -> Coroutine[Any, Any, None] | None:
        """Read the sitemap lines, if there can be any: most origins of a broad crawl cost no coroutine."""
        if feeds_itself(self._crawler.spider) or not self.feed.concerns(origin, robotstxt):
            return None
        return self._read(origin, robotstxt, request)

    async def _read(self, origin: Origin, robotstxt: RobotsTxt, request: Request | None) -> None:
        spider = checked_spider(self._crawler, self._settings)
        is_own = spider is not None and self._is_asked_for(origin, request, spider)
        is_fed = spider is not None and not is_own and takes_more(spider, self._settings)
        log_level = logging.INFO if is_fed or self._settings.sitemaps == "collect" else logging.DEBUG
        source = None if request is None else request.meta.get(SITEMAP)
        is_guest = source is not None and source.get("robotstxt") != origin.robots_url
        with self._at_work():
            _, new = await self.feed.read(origin, robotstxt, log_level, is_bounded=spider is None or is_fed)
            if spider is not None and is_fed and not is_guest:
                await self._feed_from(origin, (*self._guests.pop(origin, ()), *new), spider)
                return
            if is_fed:
                self._add_guest(origin, new)
                return
            for sitemap in new:
                await self.feed.show(sitemap, None)
            if spider is not None and not is_own and not is_guest and _is_on_site(origin, spider):
                self._tell(origin, [sitemap.url for sitemap in new], spider, is_fed=False)

    async def _feed_from(self, origin: Origin, sitemaps: tuple[FoundSitemap, ...], spider: SitemapSpider) -> None:
        if _is_on_site(origin, spider):
            response = TextResponse(origin.robots_url, flags=[ANSWERED], request=Request(origin.robots_url))
            self._tell(origin, await self.feed.feed(sitemaps, response), spider, is_fed=True)

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
            sitemaps, spider = self._guests.pop(origin, ()), checked_spider(self._crawler, self._settings)
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

    def _tell(self, origin: Origin, urls: list[str], spider: SitemapSpider, *, is_fed: bool) -> None:
        """Say which sitemaps a spider with `sitemap_urls` is fed besides them, or once in a crawl that it is not fed any."""
        others = [url for url in urls if url not in self._named_urls(spider)] if spider.sitemap_urls else []
        if not is_fed:
            count(self._crawler, "not_fed", len(others))
        if not others or (not is_fed and self._has_told):
            return
        self._has_told = True
        logger.info(
            "%s lists %d sitemap%s that the spider's sitemap_urls do not: %s%s. %s",
            origin.robots_url,
            len(others),
            "" if len(others) == 1 else "s",
            others[0],
            "" if len(others) == 1 else f" and {len(others) - 1} more",
            "The spider is fed: GBOT_ROBOTS_SITEMAPS = 'collect' stops this"
            if is_fed
            else "The spider names its sitemaps, so it is fed no others: GBOT_ROBOTS_SITEMAPS = 'feed' changes this",
            extra={"spider": spider},
        )

    def _is_asked_for(self, origin: Origin, request: Request | None, spider: SitemapSpider) -> bool:
        """Whether the spider itself asks for the robots.txt of `origin`. Then its own code reads that."""
        return origin.robots_url in self._named_urls(spider) or (
            request is not None
            and SITEMAP not in request.meta
            and request.callback == sitemap_callback(spider)
            and Origin.of_robots_txt(request.url) == origin
        )

    def _named_urls(self, spider: SitemapSpider) -> frozenset[str]:
        """The spider's `sitemap_urls`, those of robots.txt files as `Origin` writes them."""
        if self._named is None:
            origins = map(Origin.of_robots_txt, spider.sitemap_urls)
            pairs = zip(spider.sitemap_urls, origins, strict=True)
            self._named = frozenset(url if origin is None else origin.robots_url for url, origin in pairs)
        return self._named

    def _spider_idle(self) -> None:
        if self._busy:
            raise DontCloseSpider

    def _spider_closed(self) -> None:
        self._background.cancel()


def _is_on_site(origin: Origin, spider: Spider) -> bool:
    """Whether the spider's `allowed_domains` allow `origin`."""
    domains = allowed_domains_of(spider)
    return not domains or any(origin.host == domain or origin.host.endswith(f".{domain}") for domain in domains)


class SitemapFeed:
    """What the robots.txt files of one crawl list, and its way into the crawl.

    `SitemapDiscovery` and `RobotsSitemapSpider` share it. It remembers `GBOT_ROBOTS_CACHE_SIZE` origins and `_MOST_CHARS`.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._most_origins = settings.cache_size
        self._check = UrlCheck.of(settings, crawler.settings)
        # The sitemaps of an origin by the last reading, and how many were new over all readings.
        self._listed: OrderedDict[Origin, tuple[tuple[FoundSitemap, ...], int]] = OrderedDict()
        self._chars = 0
        self._scheduling: Request | None = None
        crawler.signals.connect(self._request_dropped, signals.request_dropped)

    def found(self) -> dict[str, list[str]]:
        """The URLs of sitemaps, by the URL of the robots.txt that lists them. Origins read last come last."""
        listed = self._listed.items()
        return {origin.robots_url: [each.url for each in sitemaps] for origin, (sitemaps, _) in listed if sitemaps}

    def concerns(self, origin: Origin, robotstxt: RobotsTxt) -> bool:
        """Whether the robots.txt of `origin` may list sitemaps now, or did before."""
        return may_list_sitemaps(robotstxt) or origin in self._listed

    async def read(
        self, origin: Origin, robotstxt: RobotsTxt, log_level: int = logging.INFO, *, is_bounded: bool = True
    ) -> tuple[SitemapChoice, tuple[FoundSitemap, ...]]:
        """Read the sitemap lines of the robots.txt of `origin`. Count the lines that are not used, and log them.

        Args:
            origin: of the robots.txt.
            robotstxt: what it says.
            log_level: for these lines.
            is_bounded: whether a choice is made among the lines. If not, none that could be a sitemap is left out.

        Returns:
            What became of the lines, and the sitemaps that are new: those that no earlier call returned.
        """
        check = self._check if is_bounded else self._check._replace(hosts="any", most=sys.maxsize)
        if may_list_sitemaps(robotstxt):
            choice = await run_in_thread(lambda: check.choose(origin, sitemap_lines_of(robotstxt)))
        else:
            choice = check.choose(origin, ())
        before, taken = self._listed.pop(origin, (None, 0))
        if before is None:
            new = choice.sitemaps
            counts = {"found": choice.found}
            if is_bounded:
                counts |= {"duplicate": choice.duplicate, "capped": choice.capped}
                counts |= {f"refused/{reason}": number for reason, number in choice.refused.items()}
                _log_lines(origin, choice, check.most, log_level)
        else:  # the robots.txt may have gained some, up to GBOT_ROBOTS_SITEMAPS_MAX in total
            self._chars -= _chars_of(before)
            known = {sitemap.url for sitemap in before}
            more = tuple(sitemap for sitemap in choice.sitemaps if sitemap.url not in known)
            new = more[: max(0, check.most - taken)]
            counts = {"found": len(more), "capped": len(more) - len(new)}
        for name, number in counts.items():
            count(self._crawler, name, number)
        self._listed[origin] = choice.sitemaps, taken + len(new)
        self._chars += _chars_of(choice.sitemaps)
        while len(self._listed) > self._most_origins or self._chars > _MOST_CHARS:
            _, (dropped, _) = self._listed.popitem(last=False)
            self._chars -= _chars_of(dropped)
        return choice, new

    async def feed(
        self, sitemaps: Iterable[FoundSitemap], response: Response, more_meta: Mapping[str, Any] = _NO_META
    ) -> list[str]:
        """Schedule requests for `sitemaps`. The spider must be a SitemapSpider.

        Args:
            sitemaps: what the robots.txt lists.
            response: the robots.txt, for the spider's `sitemap_request`.
            more_meta: goes into the meta of the requests.

        Returns:
            The URLs that were scheduled. URLs that were refused, or requested before, are not among them.
        """
        spider, engine = self._crawler.spider, self._crawler.engine
        assert isinstance(spider, SitemapSpider)  # noqa: S101  for the type checker
        assert engine is not None  # noqa: S101  as above
        make, parse = request_maker(spider), sitemap_callback(spider)
        fed: list[str] = []
        for sitemap in sitemaps:
            if not follows_sitemap(spider, sitemap.url):
                count(self._crawler, "refused/follow")
                continue
            meta = {
                "is_start_request": True,
                "allow_offsite": True,  # for the sitemap; allowed_domains hold for the pages that it lists
                SITEMAP: {"robotstxt": sitemap.robotstxt, "line": sitemap.line},
                **more_meta,
            }
            made = make(sitemap.url, parse, {"loc": sitemap.url}, source="robotstxt", response=response)
            made.meta.update(meta)
            request = await self.show(sitemap, made)
            processed = None if request is None else self._processed(request)
            if processed is None:
                count(self._crawler, "refused/vetoed" if request is None else "refused/middleware")
                continue
            self._scheduling = processed
            engine.crawl(processed)
            if self._scheduling is None:
                count(self._crawler, "duplicate")
            else:
                count(self._crawler, "fed")
                fed.append(processed.url)
            self._scheduling = None
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

    def _request_dropped(self, request: Request) -> None:
        """Note that the duplicate filter dropped the request that is being scheduled."""
        if request is self._scheduling:
            self._scheduling = None


def _chars_of(sitemaps: Iterable[FoundSitemap]) -> int:
    return sum(len(sitemap.url) for sitemap in sitemaps)


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


def count(crawler: Crawler, name: str, number: int = 1) -> None:
    """Add `number` to the stat `gbot_robots/sitemaps/NAME`. What is below "refused/" counts in "refused", too."""
    for each in (name, "refused") if name.startswith("refused/") else (name,):
        if number:
            crawler.stats.inc_value(f"gbot_robots/sitemaps/{each}", number)


def allowed_domains_of(spider: Spider | None) -> list[str]:
    """The spider's `allowed_domains` in lower case. A string is one domain, not a list of letters."""
    domains = getattr(spider, "allowed_domains", None) or ()
    return [domain.lower() for domain in ([domains] if isinstance(domains, str) else domains) if domain]


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
    return {rule: number for rule, number in counts.items() if number and may_read_sitemaps(crawler)}


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


def checked_spider(crawler: Crawler, settings: GbotSettings) -> SitemapSpider | None:
    """The spider of an open crawl if it is a SitemapSpider that this room may feed, and checks; else None."""
    spider = crawler.spider
    if settings.sitemaps in CHECKED and isinstance(spider, SitemapSpider) and not feeds_itself(spider):
        return spider
    return None


def takes_more(spider: SitemapSpider, settings: GbotSettings) -> bool:
    """Whether a spider is fed sitemaps: always with "feed", with "auto" unless it names sitemap files itself."""
    return settings.sitemaps == "feed" or all(Origin.of_robots_txt(url) is not None for url in spider.sitemap_urls)
