"""RobotsSitemapSpider: given hosts and nothing else, it crawls the pages that their sitemaps list.

Each host's robots.txt says where its sitemaps are; the answers of `obeying` reach the spider as
responses. `SitemapFeed` schedules the sitemaps. A sitemap file becomes requests while it is read:
the first goes out before the last entry is found.
Source: sitemaps.org's protocol and Scrapy's SitemapSpider.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.spiders import SitemapSpider
from typing_extensions import Self

from ..concurrency import pause, run_in_thread
from ..core.urls import Origin, origin_of_robots_txt, shown
from ..engine import follows_sitemap, is_idle, page_callback
from ..exceptions import ForbiddenByRobotsTxt
from ..meta import ANSWERED, LISTED, PROBE, SITEMAP
from ..policy.outages import State
from ..settings import GbotSettings
from .discovery import (
    SitemapDiscovery,
    SitemapFeed,
    count,
    fates_of_urls,
    forget_file,
    request_maker,
)
from .reader import MAX_BYTES, MAX_ENTRIES, SitemapEntry, SitemapReader, day_of, is_before
from .urls import Guesses, Refused, Source, covers, given_in, origins_of, survey

# Bytes that may be downloaded: of a file that is a little too long, MAX_BYTES are used.
ROOM = 2 * MAX_BYTES

_OK = range(200, 300)
_TROUBLE = frozenset({429, *range(500, 1000)})
_IDLE_POLL_SECS = 0.1
# Hosts at a time, each by a connection; the list of hosts is read no further ahead.
_MOST_ASKED = 100
_SCOPES = ("hosts", "any")
_TURN_SECS = 0.001  # how long a file is read before the reactor runs
# How many requests are made before the reactor runs: scheduling takes longer than making one.
_TURN_REQUESTS = 5
_GZIPS = frozenset({b"gzip", b"x-gzip"})  # content codings that SitemapReader undoes
# `meta.SITEMAP` of a sitemap that no robots.txt lists
_NO_SOURCE: dict[str, Any] = {"robotstxt": "", "line": 0}
# The signals of Scrapy that the spider hears, each by its method of that name.
_HEARD = "request_dropped response_downloaded response_received spider_opened spider_closed".split()
_MOST_WHY = 2_000  # characters of why a host leads to no sitemap, in the log

_BROKEN = "%s lists %d URLs that can be read, and has broken entries: %d"
_TOO_LONG = (
    "%s has more than the %d entries or %d bytes that a sitemap may have. The rest is not read"
)

logger = logging.getLogger(__name__)


class RobotsSitemapSpider(SitemapSpider):
    """Crawls the pages that the sitemaps of some hosts list.

    A subclass has a `name` and a `parse` or `sitemap_rules`.

    All attributes of a SitemapSpider work: `sitemap_rules`, `sitemap_follow`,
    `sitemap_alternate_links`, `sitemap_filter`, and `sitemap_urls` beside the hosts.
    `request.meta[meta.LISTED]` of a page has the sitemap that lists the page, and the date of its
    last change.

    Attributes (of the class, or arguments `-a name=value`):
        hosts: a list, or text with commas: `example.org`, `example.org:8080` or a URL.
        hosts_file: path of a file with a host on each line; "#" begins a comment.
        scope: "hosts" crawls pages only on the given hosts, with or without "www.", and on their
            subdomains. "any" crawls them on all hosts. The stat `gbot_robots/sitemaps/entries/host`
            counts the pages that are left out.
        guess: whether `/sitemap.xml` is tried on a host that lists no sitemap; or the paths that
            are tried in order, a list or text with commas, until one lists a page.
        since: a day, a month or a year, such as 2026-01-31 or 2026-01. Pages and sitemaps that were
            last changed before it, as the file that lists them says, are left out.
    """

    hosts: str | Sequence[str] = ()
    hosts_file: str | Path | None = None
    scope: str = "hosts"
    guess: bool | str | Sequence[str] = False
    since: str | None = None

    # SitemapDiscovery would also feed sitemaps of hosts that the user did not name.
    _feeds_itself = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the attributes as arguments.

        Raises:
            ValueError: no hosts are given, or an argument has a wrong value.
        """
        super().__init__(*args, **kwargs)
        if not (self.hosts or self.hosts_file or self.sitemap_urls):
            raise ValueError(
                "Say which hosts: -a hosts=example.org,example.net or -a hosts_file=hosts.txt"
            )
        if self.hosts_file and not Path(self.hosts_file).is_file():
            raise ValueError(f"hosts_file must be a file, got {str(self.hosts_file)!r}")
        if self.scope not in _SCOPES:
            raise ValueError(f"scope must be one of {', '.join(_SCOPES)}, got {self.scope!r}")
        if self.since and day_of(self.since) != self.since:
            raise ValueError(f"since must be a date such as 2026-01-31, got {self.since!r}")
        self._guesses = Guesses(self.guess)
        self._hosts = 0  # of the crawl
        self._done = 0  # hosts whose robots.txt has answered or failed

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Raise SCRAPER_SLOT_MAX_ACTIVE_SIZE, unless it is set.

        With 5 MB, no request would go out while a large sitemap is read.
        """
        super().update_settings(settings)
        # This priority is below that of a project's settings.
        settings.set("SCRAPER_SLOT_MAX_ACTIVE_SIZE", ROOM, "addon")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider.

        Raises:
            ValueError: as `__init__`.
        """
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider._prepare()  # noqa: SLF001  its own
        return spider

    def _prepare(self) -> None:
        self._gbot = GbotSettings.of(self.settings)
        for name in _HEARD:
            self.crawler.signals.connect(getattr(self, f"_{name}"), getattr(signals, name))

    async def _spider_opened(self) -> None:
        """Prepare what the crawl needs before its first request.

        The list of hosts is read once here, for their number and the scope.
        """
        discovery = self.crawler.get_extension(SitemapDiscovery)
        if discovery is None:
            self._feed = SitemapFeed(self.crawler, self._gbot)
        else:
            self._feed = discovery.feed
        self._meta = self._feed.request_meta  # the feed's own requests get these limits, too
        limit = self.settings.getint("DOWNLOAD_MAXSIZE")
        self._meta["download_maxsize"] = min(limit, ROOM) if limit else ROOM
        self._make = request_maker(self)
        names = chain(self._names(), self.sitemap_urls)
        number, self._scope = await run_in_thread(lambda: survey(names))
        self._hosts = number - len(self.sitemap_urls)

    def _spider_closed(self) -> None:
        """Say what became of the hosts, and of each URL that their sitemaps list."""
        get = self.crawler.stats.get_value
        self.logger.info(
            "hosts %d/%d (%d without a sitemap, %d unreachable), sitemaps %d, URLs %s",
            self._done,
            self._hosts,
            get("gbot_robots/hosts/without", 0),
            get("gbot_robots/hosts/unreachable", 0),
            get("gbot_robots/sitemaps/read", 0),
            fates_of_urls(self.crawler),
        )

    def _response_received(self, request: Request) -> None:
        if LISTED in request.meta:
            count(self.crawler, "entries/crawled")

    def _names(self) -> Iterator[str]:
        """Yield the hosts as written: robots.txt files in `sitemap_urls`, `hosts`, `hosts_file`."""
        for url in self.sitemap_urls:
            if origin_of_robots_txt(url) is not None:
                yield url
        yield from given_in(self.hosts, self.hosts_file)

    async def start(self) -> AsyncIterator[Any]:
        """Request each host's robots.txt, up to a hundred at a time."""
        for url in self.sitemap_urls:
            if origin_of_robots_txt(url) is None:
                yield self._sitemap_request(url)
        for asked, text in enumerate(self._names()):
            while asked - self._done >= _MOST_ASKED and not is_idle(self.crawler):
                await pause(_IDLE_POLL_SECS)
            try:
                first, *others = origins_of(text)
            except ValueError as error:
                self._done += 1
                self._report("invalid", text, str(error))
            else:
                yield self._robots_request(text, first, *others, is_probe=bool(others))

    def host_without_sitemap(self, host: str, why: str) -> None:
        """Log a host that leads to no sitemap. May be overridden.

        Args:
            host: as the user wrote it.
            why: the reason, in words.
        """
        self.logger.info("%s leads to no sitemap: %s", shown(host), shown(why, _MOST_WHY))

    def _robots_request(
        self, host: str, origin: Origin, *others: Origin, is_probe: bool
    ) -> Request:
        return Request(
            origin.robots_url,
            callback=self._parse_robots_txt,
            errback=self._robots_txt_failed,
            meta={"allow_offsite": True, "handle_httpstatus_all": True, PROBE: is_probe},
            cb_kwargs={"host": host, "others": [str(other) for other in others]},
        )

    async def _parse_robots_txt(
        self, response: Response, host: str, **_: Any
    ) -> AsyncIterator[Request]:
        self._done += 1
        origin = Origin.of(response.url)
        why = f"its robots.txt is HTTP {response.status}"
        has_failed = response.status in _TROUBLE
        is_disallowed = State.FULL_DISALLOW.value in response.flags
        if is_disallowed or (has_failed and ANSWERED not in response.flags):
            outcome = "unreachable" if has_failed else "refused"
            self._report(outcome, host, f"{why}: {outcome}")
            return
        if response.status in _OK:
            new, left_out = await self._feed.read(origin, self._gbot.parse(response.body))
            await self._feed.feed(new, response)
            if new:
                self._report("listed", host)
                return
            why = "its robots.txt lists none"
            if left_out:
                why += f" that can be used; left out: {left_out}"
        guess = self._guesses.first(host, origin.robots_url)
        if guess is not None:
            self._report("guessed", host)
            yield self._sitemap_request(*guess, self._guess_failed)
        else:
            self._report("without", host, why)

    def _robots_txt_failed(self, failure: Any) -> Iterator[Request]:
        host = failure.request.cb_kwargs["host"]
        others = failure.request.cb_kwargs["others"]
        if others:
            yield self._robots_request(host, *map(Origin.of, others), is_probe=True)
            return
        error = failure.value
        self._done += 1
        outcome = "refused" if isinstance(error, ForbiddenByRobotsTxt) else "unreachable"
        self._report(outcome, host, str(error))

    async def _parse_sitemap(self, response: Response) -> AsyncIterator[Request]:  # type: ignore[override]
        """Yield requests for what a sitemap lists."""
        source = response.meta.get(SITEMAP, _NO_SOURCE)
        self._guesses.begin(source)
        async for request in self._requests(response, source):
            yield request
        for request in self._guess_again(source, "lists nothing"):
            yield request

    def _guess_failed(self, failure: Any) -> Iterator[Request]:
        source = failure.request.meta[SITEMAP]
        self._guesses.begin(source)
        return self._guess_again(source, "could not be fetched")

    def _guess_again(self, source: Source, why: str) -> Iterator[Request]:
        """Yield the request for the next guess if the last one has led to nothing."""
        tried = self._guesses.end(source, why)
        if not tried:
            return
        guess = self._guesses.after(source, tried)
        if guess is not None:
            yield self._sitemap_request(*guess, self._guess_failed)
        else:
            why = f"its robots.txt lists none; {', '.join(tried)}"
            self._report("without", source["guessed"], why)

    def _report(self, outcome: str, host: str, why: str = "") -> None:
        """Count a host, and say why it leads to no sitemap.

        The outcome is "listed", "guessed", "without", "unreachable", "refused" or "invalid". A host
        may be "without" after it was "guessed".
        """
        self.crawler.stats.inc_value(f"gbot_robots/hosts/{outcome}")
        if why:
            self.host_without_sitemap(host, why)

    def _request_dropped(self, request: Request) -> None:
        """Count a host as done if its robots.txt was requested before, maybe in an earlier run."""
        self._done += request.callback == self._parse_robots_txt
        if LISTED in request.meta:
            count(self.crawler, "entries/duplicate")
        source = request.meta.get(SITEMAP, _NO_SOURCE)
        self._guesses.begin(source)
        for guess in self._guess_again(source, "was requested before"):
            self.crawler.engine.crawl(guess)

    # Of a sitemap file

    def _sitemap_request(
        self, url: str, source: Source = _NO_SOURCE, errback: Any = None
    ) -> Request:
        """The request for a sitemap file. `source` becomes its `meta.SITEMAP`."""
        meta = {**self._meta, SITEMAP: dict(source)}
        return Request(url, self._parse_sitemap, errback=errback, meta=meta)

    async def _requests(self, response: Response, source: Source) -> AsyncIterator[Request]:
        """Yield a request for each page or sitemap that the file lists, while it is read."""
        reader = SitemapReader(response.body)
        turn = time.monotonic()
        made = chosen = 0
        for entry, is_sitemap in self._chosen(reader):
            if entry is not None:
                locs = self._locs(entry)
                chosen += 1
                self._guesses.lead_on(source, len(locs) * is_sitemap)
                for loc in locs:
                    try:
                        request = self._request_of(loc, entry, response, is_sitemap=is_sitemap)
                    except Refused as refusal:
                        count(self.crawler, f"entries/{refusal.reason}")
                        logger.debug("%s: %s", response.url, refusal)
                        continue
                    made += 1
                    yield request
            if made >= _TURN_REQUESTS or time.monotonic() - turn > _TURN_SECS:
                await pause(0)
                turn = time.monotonic()
                made = 0
        if reader.entries > chosen:  # the filter left some out, and they may be pages
            self._guesses.lead_on(source, 0)
        self._finished(reader, response)

    def _chosen(self, reader: SitemapReader) -> Iterator[tuple[SitemapEntry | None, bool]]:
        """Yield the entries that the spider's `sitemap_filter` lets pass, and which are sitemaps.

        The filter sees no difference between a sitemap and a page. So it is called for each run of
        entries of one kind; nearly all files have one run. If it takes no more, no more is read.
        """
        for is_sitemap, run in groupby(reader, lambda _: reader.is_index):
            rest = iter(run)
            entries: Iterable[SitemapEntry | None] = rest
            if type(self).sitemap_filter is not SitemapSpider.sitemap_filter:
                entries = self.sitemap_filter(entry for entry in rest if entry is not None)
            for entry in entries:
                yield entry, is_sitemap
            for _ in rest:
                return

    def _locs(self, entry: SitemapEntry) -> list[str]:
        """The URLs of an entry; none if it is too old."""
        if self.since and is_before(entry.get("lastmod", ""), self.since):
            count(self.crawler, "entries")
            count(self.crawler, "entries/old")
            return []
        locs = [entry["loc"]]
        if self.sitemap_alternate_links:
            locs += entry.get("alternate", ())
        count(self.crawler, "entries", len(locs))
        return locs

    def _request_of(
        self, loc: str, entry: SitemapEntry, response: Response, *, is_sitemap: bool
    ) -> Request:
        """Return the request for one URL of a file.

        Raises:
            Refused: it must not be followed.
        """
        whole, url, origin = self._feed.check.listed(loc, response.url)
        if is_sitemap:
            above = response.meta.get(SITEMAP, _NO_SOURCE)
            source = self._feed.check.below(url, response.url, above)
            if not follows_sitemap(self, whole):
                raise Refused("follow", url)
            request = self._made(url, self._parse_sitemap, entry, "sitemapindex", response)
            request.meta.update(self._meta, **{SITEMAP: source})
            if "guessed" in source and request.errback is None:
                request.errback = self._guess_failed
            count(self.crawler, "entries/sitemap")
            return request
        if self.scope == "hosts" and not covers(self._scope, origin):
            raise Refused("host", url, "scope = 'hosts'")
        callback = page_callback(self, whole)
        if callback is None:
            raise Refused("rules", url, "the spider's sitemap_rules")
        request = self._made(url, callback, entry, "urlset", response)
        request.meta[LISTED] = {"sitemap": response.url, "lastmod": entry.get("lastmod", "")}
        return request

    def _made(
        self, url: str, callback: Any, entry: SitemapEntry, source: str, response: Response
    ) -> Request:
        """Let the spider's hook make a request.

        Raises:
            Refused: the hook makes none.
        """
        request = self._make(url, callback, entry, source=source, response=response)
        if request is None:
            raise Refused("vetoed", url)
        forget_file(request)
        return request

    def _response_downloaded(self, response: Response, request: Request) -> None:
        """Leave unpacking to SitemapReader.

        Scrapy would unpack the whole file in memory, and fail a large one.
        """
        codings = b",".join(response.headers.getlist("Content-Encoding"))
        names = codings.lower().replace(b" ", b"").split(b",")
        if request.callback == self._parse_sitemap and _GZIPS.issuperset(names):
            del response.headers["Content-Encoding"]

    def _finished(self, reader: SitemapReader, response: Response) -> None:
        """Count and log what could not be read of a file."""
        url = response.url
        source = response.meta.get(SITEMAP, _NO_SOURCE)
        need_not_exist = "guessed" in source and "index" not in source
        count(self.crawler, "read")
        count(self.crawler, "over_limit", reader.over_limit)
        count(self.crawler, "entries/broken", reader.broken)
        if reader.broken:
            logger.info(_BROKEN, url, reader.entries, reader.broken)
        if reader.over_limit:
            logger.warning(_TOO_LONG, url, MAX_ENTRIES, MAX_BYTES)
        if need_not_exist:
            return
        if reader.trouble:
            count(self.crawler, "failed")
            result = "is no sitemap"
            if reader.entries:
                result = f"was read only up to entry {reader.entries}"
            logger.warning("%s %s: %s", url, result, shown(reader.trouble))
        elif not (reader.entries or reader.broken):
            logger.info("%s lists nothing", url)
