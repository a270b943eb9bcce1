"""RobotsSitemapSpider: given hosts and nothing else, it crawls the pages that their sitemaps list.

Each host's robots.txt says where its sitemaps are; the answers of `obeying` reach the spider as responses. `feed` schedules
the sitemaps. A sitemap file becomes requests while it is read: the first goes out before the last entry is found.
Source: sitemaps.org's protocol and Scrapy's SitemapSpider.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.spiders import SitemapSpider
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from twisted.internet.task import LoopingCall
from twisted.python.failure import Failure
from typing_extensions import Self

from ..concurrency import pause, run_in_thread
from ..core.urls import Origin, shown
from ..engine import follows_sitemap, is_idle, page_callback, sitemap_callback
from ..exceptions import ForbiddenByRobotsTxt, UnreachableRobotsTxt
from ..meta import ANSWERED, LISTED, PROBE, SITEMAP
from ..policy.outages import State
from ..settings import GbotSettings
from ..signals import request_forbidden
from .feed import SitemapDiscovery, SitemapFeed, count, request_maker
from .hosts import covers, given_in, origins_of, survey
from .reader import DAY, MAX_BYTES, MAX_ENTRIES, SitemapEntry, SitemapReader, is_before
from .urls import Refused, UrlCheck, resolved

ROOM = 2 * MAX_BYTES  # bytes that may be downloaded: of a file that is a little too long, MAX_BYTES are used

_OK = range(200, 300)
_IDLE_POLL_SECS = 0.1
_MOST_ASKED = 100  # hosts at a time, each by a connection; the list of hosts is read no further ahead
_GUESS = "/sitemap.xml"
_SCOPES = ("hosts", "any")
_YES = frozenset({"1", "true", "yes", "on"})
_TURN_SECS = 0.001  # how long a file is read before the reactor runs
_TURN_REQUESTS = 5  # how many requests are made before the reactor runs: scheduling takes longer than making one
_GZIPS = frozenset({b"gzip", b"x-gzip"})  # content codings that SitemapReader undoes
_NO_SOURCE: dict[str, Any] = {"robotstxt": "", "line": 0}  # meta.SITEMAP of a sitemap that no robots.txt lists

logger = logging.getLogger(__name__)


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
        since: a day, such as 2026-01-31. Pages and sitemaps that were last changed before it, as the file that lists them
            says, are left out.
    """

    hosts: str | Sequence[str] = ()
    hosts_file: str | Path | None = None
    scope: str = "hosts"
    guess: bool | str = False
    since: str | None = None

    _feeds_itself = True  # SitemapDiscovery would also feed sitemaps of hosts that the user did not name

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the attributes as arguments.

        Raises:
            ValueError: no hosts are given, or an argument has a wrong value.
        """
        super().__init__(*args, **kwargs)
        if not (self.hosts or self.hosts_file or self.sitemap_urls):
            raise ValueError("Say which hosts: -a hosts=example.org,example.net or -a hosts_file=hosts.txt")
        if self.hosts_file and not Path(self.hosts_file).is_file():
            raise ValueError(f"hosts_file must be a file, got {str(self.hosts_file)!r}")
        if self.scope not in _SCOPES:
            raise ValueError(f"scope must be one of {', '.join(_SCOPES)}, got {self.scope!r}")
        if self.since and not DAY.fullmatch(self.since):
            raise ValueError(f"since must be a date such as 2026-01-31, got {self.since!r}")
        self._guesses = str(self.guess).lower() in _YES

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
        self._progress = Progress(self.crawler)
        self._intake = SitemapIntake(self, UrlCheck.of(gbot, self.settings), self.since, self._progress.counts)
        self.crawler.signals.connect(self._request_dropped, signals.request_dropped)
        self.crawler.signals.connect(self._spider_opened, signals.spider_opened)

    async def _spider_opened(self) -> None:
        """Read the list of hosts once, before the first request: for their number and for the scope."""
        discovery = self.crawler.get_extension(SitemapDiscovery)
        self._feed = SitemapFeed(self.crawler, self._gbot) if discovery is None else discovery.feed
        number, scope = await run_in_thread(lambda: survey(chain(self._given(), self.sitemap_urls)))
        self._progress.hosts = number - len(self.sitemap_urls)
        self._intake.scope = scope if self.scope == "hosts" else None

    def _given(self) -> Iterator[str]:
        """Yield the hosts as the user wrote them: robots.txt files among `sitemap_urls`, `hosts`, and `hosts_file`."""
        yield from (url for url in self.sitemap_urls if Origin.of_robots_txt(url) is not None)
        yield from given_in(self.hosts, self.hosts_file)

    async def start(self) -> AsyncIterator[Any]:
        """Request each host's robots.txt. The list of hosts is read no faster than the hosts answer."""
        for url in self.sitemap_urls:
            if Origin.of_robots_txt(url) is None:
                yield self._intake.request(url)
        counts = self._progress.counts
        for text in self._given():
            while counts["asked"] - counts["done"] >= _MOST_ASKED and not is_idle(self.crawler):
                await pause(_IDLE_POLL_SECS)
            counts["asked"] += 1
            try:
                first, *others = origins_of(text)
            except ValueError as error:
                self._report("invalid", text, str(error))
            else:
                yield self._robots_request(text, str(first), *map(str, others), is_probe=bool(others))

    def host_without_sitemap(self, host: str, why: str) -> None:
        """Log a host that leads to no sitemap. May be overridden.

        Args:
            host: as the user wrote it.
            why: the reason, in words.
        """
        self.logger.info("%s leads to no sitemap: %s", shown(host), shown(why))

    def _robots_request(self, host: str, origin: str, otherwise: str = "", *, is_probe: bool) -> Request:
        return Request(
            Origin.of(origin).robots_url,
            callback=self._parse_robots_txt,
            errback=self._robots_txt_failed,
            meta={"allow_offsite": True, "handle_httpstatus_all": True, PROBE: is_probe},
            cb_kwargs={"host": host, "origin": origin, "otherwise": otherwise},
        )

    async def _parse_robots_txt(
        self, response: Response, host: str, origin: str, otherwise: str = ""
    ) -> AsyncIterator[Request]:
        why = f"its robots.txt is HTTP {response.status}"
        if shut := _shut(response):
            self._report(shut, host, f"{why}: {shut}")
            return
        if response.status in _OK:
            robotstxt = self._gbot.parse(response.body)
            place = Origin.of(origin)
            choice = await self._feed.read(place, robotstxt)
            lists_any = bool(self._feed.listed.get(place.robots_url))
            await self._feed.feed(choice.sitemaps, response, self._intake.request_meta)
            if lists_any:
                self._report("listed", host)
                return
            unused = f" that can be used: {'; '.join(choice.why)}" if choice.why else ""
            why = f"its robots.txt lists none{unused}"
        if self._guesses:
            self._report("guessed", host)
            url = f"{origin}{_GUESS}"
            source = {"robotstxt": response.url, "line": 0, "guessed": True}
            yield self._intake.request(url, source, errback=self._guess_failed, cb_kwargs={"host": host})
        else:
            self._report("without", host, why)

    def _robots_txt_failed(self, failure: Failure) -> Iterator[Request]:
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        host, otherwise, error = request.cb_kwargs["host"], request.cb_kwargs["otherwise"], failure.value
        is_silent = isinstance(error, UnreachableRobotsTxt) or not isinstance(error, IgnoreRequest)
        if otherwise and is_silent:
            yield self._robots_request(host, otherwise, is_probe=True)
        else:
            self._report("refused" if isinstance(error, ForbiddenByRobotsTxt) else "unreachable", host, str(error))

    async def _parse_sitemap(self, response: Response, host: str = "") -> AsyncIterator[Request]:  # type: ignore[override]
        """Yield requests for what a sitemap lists. `host` is set if the sitemap was guessed on that host."""
        if (origin := Origin.of_robots_txt(response.url)) is not None:
            self._progress.counts["asked"] += 1
            requests = self._parse_robots_txt(response, str(origin), str(origin))
        else:
            requests = self._intake.requests(response)
        leads_to_nothing = True
        async for request in requests:
            leads_to_nothing = False
            yield request
        if host and leads_to_nothing:
            why = f"its robots.txt lists none, and {response.url} lists nothing"
            self._report("without", host, why, is_done=False)

    def _guess_failed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        error = failure.value
        cause = f"HTTP {error.response.status}" if isinstance(error, HttpError) else str(error)
        why = f"its robots.txt lists none, and {request.url} could not be fetched: {cause}"
        self._report("without", request.cb_kwargs["host"], why, is_done=False)

    def _report(self, outcome: str, host: str, why: str = "", *, is_done: bool = True) -> None:
        """Count a host, as done unless it was counted as guessed before.

        Args:
            outcome: "listed", "guessed", "without", "unreachable", "refused" or "invalid".
            host: as the user wrote it.
            why: it leads to no sitemap.
            is_done: whether its robots.txt has answered or failed now.
        """
        self._progress.counts.update({"done": is_done, outcome: 1})
        self.crawler.stats.inc_value(f"gbot_robots/hosts/{outcome}")
        if why:
            self.host_without_sitemap(host, why)

    def _request_dropped(self, request: Request) -> None:
        """Count a host as done if its robots.txt was requested before, in this run or an earlier one of the JOBDIR."""
        if request.callback == self._parse_robots_txt:
            self._progress.counts["done"] += 1


def _shut(response: Response) -> str:
    """Say "unreachable" or "refused" of the response for a robots.txt; nothing if it is neither."""
    is_refused = State.FULL_DISALLOW.value in response.flags
    if not is_refused and ANSWERED in response.flags:
        return ""
    is_unreachable = (
        response.status == HTTPStatus.TOO_MANY_REQUESTS or response.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    )
    return "unreachable" if is_unreachable else "refused" if is_refused else ""


class SitemapIntake:
    """Turns the sitemap files of one spider into requests.

    Attributes:
        scope: the hosts that pages may be on; None for any.
        request_meta: the meta of each request for a sitemap file.
    """

    def __init__(self, spider: SitemapSpider, check: UrlCheck, since: str | None, counts: Counter[str]) -> None:
        self._spider = spider
        self._counts = counts
        self._check = check
        self._since = since
        self._make, self._parse = request_maker(spider), sitemap_callback(spider)
        largest = spider.settings.getint("DOWNLOAD_MAXSIZE")
        self.request_meta = {
            "allow_offsite": True,  # for the file; allowed_domains hold for the pages that it lists
            "download_maxsize": min(largest or ROOM, ROOM),
            "download_warnsize": 0,
        }
        self.scope: frozenset[str] | None = None
        spider.crawler.signals.connect(self._downloaded, signals.response_downloaded)

    def request(self, url: str, source: Mapping[str, Any] = _NO_SOURCE, **kwargs: Any) -> Request:
        """The request for a sitemap file. `source` becomes its `meta.SITEMAP`; `kwargs` go to Request."""
        meta = {**self.request_meta, SITEMAP: dict(source)}
        return Request(url, callback=self._parse, meta=meta, **kwargs)

    async def requests(self, response: Response) -> AsyncIterator[Request]:
        """Yield a request for each page or sitemap that the file lists, while it is read."""
        reader = SitemapReader(response.body)
        entries: Iterable[SitemapEntry | None] = reader
        if type(self._spider).sitemap_filter is not SitemapSpider.sitemap_filter:
            entries = self._spider.sitemap_filter(entry for entry in reader if entry is not None)
        left_out: Counter[str] = Counter()
        turn, made = time.monotonic(), 0
        for entry in entries:
            if entry is not None:
                for request in self._requests_of(entry, response, left_out, is_index=reader.is_index):
                    made += 1
                    yield request
            if made >= _TURN_REQUESTS or time.monotonic() - turn > _TURN_SECS:
                await pause(0)
                turn, made = time.monotonic(), 0
        self._finished(reader, response, left_out)

    def _requests_of(
        self, entry: SitemapEntry, response: Response, left_out: Counter[str], *, is_index: bool
    ) -> Iterator[Request]:
        lastmod = entry.get("lastmod", "")
        if self._since and is_before(lastmod, self._since):
            left_out["old"] += 1
            return
        alternates = entry.get("alternate", ()) if self._spider.sitemap_alternate_links else ()
        for loc in (entry["loc"], *alternates):
            try:
                text = resolved(loc, response.url)
                url, origin = self._check.listed(text, response.url)
                if is_index:
                    source = self._check.below(url, response.url, response.meta.get(SITEMAP, _NO_SOURCE))
            except Refused as refusal:
                left_out[refusal.reason] += 1
                logger.debug("%s: %s", response.url, refusal)
                continue
            if is_index:
                if follows_sitemap(self._spider, text):
                    request = self._make(url, self._parse, entry, source="sitemapindex", response=response)
                    request.meta.update(self.request_meta, **{SITEMAP: source})
                    yield request
            elif self.scope is not None and not covers(self.scope, origin):
                left_out["host"] += 1
                logger.debug("%s: scope is 'hosts' and this page is on another host: %s", response.url, shown(url))
            elif (callback := page_callback(self._spider, text)) is not None:
                self._counts["pages"] += 1
                request = self._make(url, callback, entry, source="urlset", response=response)
                if request.meta.pop(SITEMAP, None) is not None:  # the hook may copy the meta of the file
                    request.meta.pop("allow_offsite", None)
                request.meta[LISTED] = {"sitemap": response.url, "lastmod": lastmod}
                yield request

    def _downloaded(self, response: Response, request: Request) -> None:
        """Leave unpacking to SitemapReader. Scrapy would unpack the whole file in memory, and fail a large one."""
        codings = b",".join(response.headers.getlist("Content-Encoding")).lower().replace(b" ", b"").split(b",")
        if request.callback == self._parse and _GZIPS.issuperset(codings):
            del response.headers["Content-Encoding"]

    def _finished(self, reader: SitemapReader, response: Response, left_out: Counter[str]) -> None:
        url = response.url
        has_failed = bool(reader.trouble) and not response.meta.get(SITEMAP, _NO_SOURCE).get("guessed")
        self._counts["files"] += 1
        counts = {"read": 1, "entries": reader.entries, "over_limit": reader.over_limit, "failed": has_failed}
        counts |= {"entries/broken": reader.broken, **{f"entries/{why}": number for why, number in left_out.items()}}
        for name, number in counts.items():
            count(self._spider.crawler, name, number)
        if left_out["host"]:
            others = "%s lists %d pages on other hosts than the given ones. scope = 'any' crawls such pages, too"
            logger.info(others, url, left_out["host"])
        if reader.over_limit:
            too_long = "%s has more than the %d entries or %d bytes that a sitemap may have. The rest is not read"
            logger.warning(too_long, url, MAX_ENTRIES, MAX_BYTES)
        if has_failed:
            found = f"was read only up to entry {reader.entries}" if reader.entries else "is no sitemap"
            logger.warning("%s %s: %s", url, found, shown(reader.trouble))


class Progress:
    """The counts of one crawl, and a log line of them at the end and as often as LOGSTATS_INTERVAL says.

    Attributes:
        hosts: how many hosts the crawl has; 0 while the list has not been read.
        counts: the hosts that were "asked" for their robots.txt, those that are "done" since they answered or failed, all by
            their outcome, the sitemap "files" that were read, the "pages" that they list, "crawled" and "blocked" ones.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._looping: AsyncioLoopingCall | LoopingCall | None = None  # made later: it needs a running reactor
        self.hosts = 0
        self.counts: Counter[str] = Counter()
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)
        crawler.signals.connect(self._response_received, signals.response_received)
        crawler.signals.connect(self._request_forbidden, request_forbidden)

    def _say(self) -> None:
        of = self.counts
        logger.info(
            "%s",
            f"hosts {of['done']:,}/{self.hosts:,} ({of['without']:,} without a sitemap, {of['unreachable']:,} unreachable), "
            f"sitemaps {of['files']:,}, URLs {of['pages']:,} found, {of['crawled']:,} crawled, {of['blocked']:,} blocked",
            extra={"spider": self._crawler.spider},
        )

    def _spider_opened(self) -> None:
        every_secs = self._crawler.settings.getfloat("LOGSTATS_INTERVAL")
        if every_secs > 0:
            self._looping = create_looping_call(self._say)
            self._looping.start(every_secs, now=False)

    def _spider_closed(self) -> None:
        if self._looping is not None and self._looping.running:
            self._looping.stop()
        self._say()

    def _response_received(self, request: Request) -> None:
        self.counts["crawled"] += LISTED in request.meta

    def _request_forbidden(self, request: Request, **_: Any) -> None:
        self.counts["blocked"] += LISTED in request.meta
