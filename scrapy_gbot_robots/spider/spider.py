"""RobotsSitemapSpider: given hosts and nothing else, it crawls the pages that their sitemaps list.

Each host's robots.txt says where its sitemaps are. The room `sitemaps` schedules them, `intake` reads them, `hosts` reads
the user's list of hosts, `progress` logs how far the crawl is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.spiders import SitemapSpider

from ..concurrency import pause, run_in_thread
from ..core.origin import Origin
from ..core.robots import RobotsTxt
from ..core.urls import shown
from ..engine import is_idle
from ..exceptions import UnreachableRobotsTxt
from ..meta import ANSWERED, PROBE
from ..policy.outages import State
from ..policy.outcome import Unreachable, outcome_of
from ..settings import GbotSettings
from ..sitemaps.discovery import SitemapDiscovery
from ..sitemaps.feed import SitemapFeed
from ..sitemaps.listings import Listings
from ..sitemaps.urls import UrlCheck
from .arguments import Arguments
from .hosts import Host
from .intake import ROOM, SitemapIntake
from .progress import Progress

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure
    from typing_extensions import Self

_OK = range(200, 300)
_IDLE_POLL_SECS = 0.1
_GUESS = "/sitemap.xml"


class RobotsSitemapSpider(SitemapSpider):
    """Crawls the pages that the sitemaps of some hosts list. A subclass has a `name` and a `parse` or `sitemap_rules`.

    All attributes of a SitemapSpider work: `sitemap_rules`, `sitemap_follow`, `sitemap_alternate_links`, `sitemap_filter`,
    and `sitemap_urls` beside the hosts. `request.meta[meta.LISTED]` of a page has the sitemap that lists the page, and
    the date of its last change.

    Attributes (of the class, or arguments `-a name=value`):
        hosts: a list, or text with commas: `example.org`, `example.org:8080` or a URL.
        hosts_file: path of a file with a host on each line.
        scope: "hosts" crawls pages only on the given hosts, with or without "www.", and on their subdomains. "any" crawls
            them on all hosts. The stat `gbot_robots/sitemaps/entries/host` counts the pages that are left out.
        guess: whether `/sitemap.xml` is tried on a host that lists no sitemap.
        since: a date. Pages and sitemaps that were last changed before it, as the file that lists them says, are left out.
        most_asked: how many hosts are asked at a time, each by a connection. The list is read no further ahead.
        progress_secs: how often progress is logged, in seconds; 0 is never.
    """

    hosts: str | Sequence[str] = ()
    hosts_file: str | Path | None = None
    scope: str = "hosts"
    guess: bool | str = False
    since: str | None = None
    most_asked: int | str = 100
    progress_secs: float | str = 5.0

    feeds_itself = True  # SitemapDiscovery would also feed sitemaps of hosts that the user did not name

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the attributes as arguments.

        Raises:
            ValueError: no hosts are given, or an argument has a wrong value.
        """
        super().__init__(*args, **kwargs)
        self._arguments = Arguments.of(self)

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Raise SCRAPER_SLOT_MAX_ACTIVE_SIZE. With 5 MB, no request would go out while a large sitemap is read."""
        super().update_settings(settings)
        if (settings.getpriority("SCRAPER_SLOT_MAX_ACTIVE_SIZE") or 0) <= SETTINGS_PRIORITIES["default"]:
            settings.set("SCRAPER_SLOT_MAX_ACTIVE_SIZE", ROOM, "spider")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider.

        Raises:
            ValueError: as `__init__`.
        """
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider._prepare(GbotSettings.of(crawler.settings))  # noqa: SLF001  its own
        return spider

    def _prepare(self, gbot: GbotSettings) -> None:
        self._gbot = gbot
        self._feed = SitemapFeed(self.crawler)
        self._listings = Listings(self.crawler, gbot)
        self._intake = SitemapIntake(self, UrlCheck.of(gbot, self.settings), self._arguments.since)
        self._progress = Progress(self.crawler, self._intake, self._arguments.progress_secs)
        self.crawler.signals.connect(self._request_dropped, signals.request_dropped)
        self.crawler.signals.connect(self._spider_opened, signals.spider_opened)

    async def _spider_opened(self) -> None:
        """Read the list of hosts once, before the first request: for their number and for the scope."""
        discovery = self.crawler.get_extension(SitemapDiscovery)
        if discovery is not None:
            self._listings = discovery.listings
        self._progress.hosts, scope = await run_in_thread(self._arguments.hosts.survey, self.sitemap_urls)
        self._intake.scope = scope if self.scope == "hosts" else None

    async def start(self) -> AsyncIterator[Any]:
        """Request each host's robots.txt. The list of hosts is read no faster than the hosts answer."""
        for url in self.sitemap_urls:
            if Origin.of_robots_txt(url) is None:
                yield self._intake.request(url)
        progress = self._progress
        for text in self._arguments.hosts:
            while progress.asked - progress.done >= self._arguments.most_asked and not is_idle(self.crawler):
                await pause(_IDLE_POLL_SECS)
            progress.asked += 1
            try:
                host = Host.of(text)
            except ValueError as error:
                self._report("invalid", text, str(error))
            else:
                is_probe = host.otherwise is not None
                yield self._robots_request(text, host.origin, host.otherwise, is_probe=is_probe)

    def host_without_sitemap(self, host: str, why: str) -> None:
        """Log a host that leads to no sitemap. May be overridden.

        Args:
            host: as the user wrote it.
            why: the reason, in words.
        """
        self.logger.info("%s leads to no sitemap: %s", shown(host), shown(why))

    def _robots_request(
        self, host: str, origin: Origin, otherwise: Origin | None = None, *, is_probe: bool = False
    ) -> Request:
        return Request(
            origin.robots_url,
            callback=self._parse_robots_txt,
            errback=self._robots_txt_failed,
            meta={"allow_offsite": True, "handle_httpstatus_all": True, PROBE: is_probe},
            cb_kwargs={"host": host, "origin": str(origin), "otherwise": str(otherwise or "")},
        )

    async def _parse_robots_txt(
        self, response: Response, host: str, origin: str, otherwise: str = ""
    ) -> AsyncIterator[Request]:
        why = f"its robots.txt is HTTP {response.status}"
        if self._is_unreachable(response):
            self._report("unreachable", host, why)
            return
        if response.status in _OK:
            robotstxt = RobotsTxt.parse(response.body, strict=self._gbot.strict, max_bytes=self._gbot.max_bytes)
            choice, new = await self._listings.read(Origin.of(origin), robotstxt)
            await self._feed.feed(new, self._intake.request_meta)
            if choice.sitemaps:
                self._report("listed", host)
                return
            why = "its robots.txt lists none" + (
                f" that can be used: {'; '.join(choice.why)}" if choice.refused else ""
            )
        if self._arguments.guess:
            self._report("guessed", host)
            url = f"{origin}{_GUESS}"
            source = {"robotstxt": response.url, "line": 0, "guessed": True}
            yield self._intake.request(url, source, errback=self._guess_failed, cb_kwargs={"host": host})
        else:
            self._report("without", host, why)

    def _is_unreachable(self, response: Response) -> bool:
        """Whether the robots.txt is unreachable: by the plugin's answer, or by the response if the plugin is off."""
        if ANSWERED in response.flags:
            return State.FULL_DISALLOW.value in response.flags
        outcome = outcome_of(response.status, response.url, response.body, soft_404=self._gbot.soft_404)
        return isinstance(outcome, Unreachable)

    def _robots_txt_failed(self, failure: Failure) -> Iterator[Request]:
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        host, otherwise = request.cb_kwargs["host"], request.cb_kwargs["otherwise"]
        is_silent = isinstance(failure.value, UnreachableRobotsTxt) or not isinstance(failure.value, IgnoreRequest)
        if otherwise and is_silent:
            yield self._robots_request(host, Origin.of(otherwise), is_probe=True)
        else:
            self._report("unreachable", host, str(failure.value))

    async def _parse_sitemap(self, response: Response, host: str = "") -> AsyncIterator[Request]:  # type: ignore[override]
        """Yield requests for what a sitemap lists. `host` is set if the sitemap was guessed on that host."""
        if (origin := Origin.of_robots_txt(response.url)) is not None:
            self._progress.asked += 1
            requests = self._parse_robots_txt(response, str(origin), str(origin))
        else:
            requests = self._intake.requests(response)
        leads_to_nothing = True
        async for request in requests:
            leads_to_nothing = False
            yield request
        if host and leads_to_nothing:
            self._count_without(host, f"its robots.txt lists none, and {response.url} lists nothing")

    def _guess_failed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        error = failure.value
        why = f"HTTP {error.response.status}" if isinstance(error, HttpError) else str(error)
        self._count_without(
            request.cb_kwargs["host"], f"its robots.txt lists none, and {request.url} could not be fetched: {why}"
        )

    def _report(self, outcome: str, host: str, why: str = "") -> None:
        """Count a host as done. `outcome` is "listed", "guessed", "without", "unreachable" or "invalid"."""
        self._progress.done += 1
        self._progress.count_host(outcome)
        if why:
            self.host_without_sitemap(host, why)

    def _count_without(self, host: str, why: str) -> None:
        """Count a host that was counted as guessed, and whose guessed sitemap lists nothing."""
        self._progress.count_host("without")
        self.host_without_sitemap(host, why)

    def _request_dropped(self, request: Request) -> None:
        """Count a host as done if its robots.txt was requested before, in this run or an earlier one of the JOBDIR."""
        if request.callback == self._parse_robots_txt:
            self._progress.done += 1
