"""RobotsSitemapSpider crawls the pages that the sitemaps of the given hosts list.

The spider requests the robots.txt of each host, and `SitemapFeed` schedules requests for the
sitemaps that the robots.txt lists. The requests for pages are made while a sitemap is read, so the
first pages are downloaded before a large sitemap has been read to its end.
Sources: the protocol of sitemaps.org; Scrapy's SitemapSpider.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from itertools import count as number
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urljoin

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.spiders import SitemapSpider
from typing_extensions import Self

from ..concurrency import pause, run_in_thread
from ..core.urls import Origin, origin_of_robots_txt, shown
from ..engine import follows_sitemap, is_idle, page_callback, pages_ahead
from ..exceptions import ForbiddenByRobotsTxt
from ..meta import ANSWERED, CHECKED, LISTED, PROBE, SITEMAP, UNCOUNTED
from ..policy.outages import State
from ..settings import GbotSettings
from ..signals import request_forbidden
from .discovery import SitemapDiscovery, add_to_stat
from .reader import MAX_BYTES, SitemapEntry, SitemapReader, day_of, is_before
from .urls import FoundSitemap, Skipped, covers, given_in, guesses_of, origins_of, scope_of

# The greatest size of a download of a sitemap, in bytes. It is larger than MAX_BYTES, so that the
# first MAX_BYTES of a file that is somewhat too long can be used.
MOST_DOWNLOADED = 2 * MAX_BYTES

_OK = range(200, 300)
_TROUBLE = frozenset({429, *range(500, 1000)})
_IDLE_POLL_SECS = 0.1
# The number of hosts whose robots.txt files are requested at the same time. The list of hosts is
# read no faster than that.
_MOST_ASKED = 100
# The reactor runs each time that this number of requests has been yielded. The number is small,
# because Scrapy needs some time to schedule each request.
_TURN_REQUESTS = 5
_TURN_SECS = 0.001  # The reactor also runs after this time, in seconds.
# Scrapy's signals that the spider handles. The handler of `spider_opened` is `_spider_opened`, and
# so on.
_HEARD = "request_dropped response_received spider_opened spider_closed".split()
# The fate of a sitemap with at least one entry. Any other fate is a text that explains why the
# sitemap has no entries.
_FOUND = ""
_MOST_TOLD = 3  # The greatest number of sitemaps that are named in the reason for a host.
_MOST_WHY = 2_000  # The greatest length of that reason in the log, in characters.

# The fates of URLs that a sitemap lists, and the words for each fate in the last line of the log.
# The stat `gbot_robots/sitemaps/entries/FATE` counts each fate except "lost". URLs that none of
# these stats counts are "lost".
_FATES = {
    "crawled": "crawled",
    "forbidden": "forbidden",
    "sitemap": "sitemaps",
    "old": "older than sitemap_since",
    "host": "on other hosts than sitemap_scope = 'hosts' allows",
    "rules": "in no sitemap_rules",
    "follow": "not in sitemap_follow",
    "malformed": "malformed",
    "scheme": "of other schemes",
    "private": "on private hosts",
    "loopback": "on the machine that crawls",
    "depth": "too deep",
    "duplicate": "seen before",
    "lost": "not fetched",
}

logger = logging.getLogger(__name__)


class RobotsSitemapSpider(SitemapSpider):
    """Crawls the pages that the sitemaps of some hosts list.

    A subclass has a `name` and a `parse` or `sitemap_rules`.

    All attributes of a SitemapSpider work: `sitemap_rules`, `sitemap_follow`,
    `sitemap_alternate_links`, `sitemap_filter`, and `sitemap_urls` in addition to the hosts.
    For each page, `request.meta[meta.LISTED]` contains the URL of the sitemap that lists the page,
    and the date of the page's last change.

    Attributes (of the class, or arguments `-a name=value`):
        hosts: a list of hosts, or a text with commas between hosts. A host is `example.org`,
            `example.org:8080` or a URL.
        hosts_file: the path of a file with one host on each line; "#" begins a comment.
        sitemap_scope: "hosts" crawls pages only on the given hosts, with or without "www.", and on
            their subdomains. "any" crawls them on all hosts. The stat
            `gbot_robots/sitemaps/entries/host` counts the pages that are skipped.
        sitemap_guess: the paths to try on a host whose robots.txt lists no sitemap, as a list or a
            text with commas. They are tried in order until one is a sitemap with entries. True
            tries `/sitemap.xml`. "common" tries seven paths that software often uses.
        sitemap_since: a day, a month or a year, such as 2026-01-31 or 2026-01. Pages and sitemaps
            are skipped if the file that lists them gives an earlier date for their last change.
    """

    hosts: str | Sequence[str] = ()
    hosts_file: str | Path | None = None
    sitemap_scope: str = "hosts"
    sitemap_guess: bool | str | Sequence[str] = False
    sitemap_since: str | None = None

    # SitemapDiscovery must not feed this spider, because it would also feed the sitemaps of hosts
    # that the user did not name.
    _feeds_itself = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make the spider. The arguments set the attributes of the same names.

        Raises:
            ValueError: no hosts are given, or an argument has a wrong value.
        """
        super().__init__(*args, **kwargs)
        if not (self.hosts or self.hosts_file or self.sitemap_urls):
            raise ValueError(
                "No hosts are given. Name them: -a hosts=example.org,example.net "
                "or -a hosts_file=hosts.txt"
            )
        if self.hosts_file and not Path(self.hosts_file).is_file():
            raise ValueError(f"hosts_file must be a file, got {str(self.hosts_file)!r}")
        if self.sitemap_scope not in {"hosts", "any"}:
            raise ValueError(f"sitemap_scope must be one of hosts, any, got {self.sitemap_scope!r}")
        if self.sitemap_since and day_of(self.sitemap_since) != self.sitemap_since:
            raise ValueError(
                f"sitemap_since must be a date such as 2026-01-31, got {self.sitemap_since!r}"
            )
        self._guesses = guesses_of(self.sitemap_guess)
        # The hosts, as the user wrote them, whose robots.txt was requested and has not been handled
        # yet. If the queue of a resumed crawl contains the same request, the duplicate filter drops
        # the new one, and `_request_dropped` removes the host from the set.
        self._asked: set[str] = set()
        self._files = number()  # Yields a number for each sitemap file when reading it begins.
        self._first_without = ""  # The first host without a sitemap, and the reason.

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Increase SCRAPER_SLOT_MAX_ACTIVE_SIZE, unless the project sets it.

        With Scrapy's default of 5 MB, Scrapy would send no requests while it reads a large sitemap.
        """
        super().update_settings(settings)
        # A value in the project's settings stays, because it has a higher priority than "addon".
        settings.set("SCRAPER_SLOT_MAX_ACTIVE_SIZE", MOST_DOWNLOADED, "addon")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider, and connect its handlers of the signals in `_HEARD`.

        Raises:
            ValueError: no hosts are given, or an argument has a wrong value.
        """
        spider = super().from_crawler(crawler, *args, **kwargs)
        for name in _HEARD:
            crawler.signals.connect(getattr(spider, f"_{name}"), getattr(signals, name))
        return spider

    async def _spider_opened(self) -> None:
        """Prepare the feed, the limit for the size of sitemaps, and the scope of the crawl."""
        self._gbot = GbotSettings.of(self.settings)
        discovery = self.crawler.get_extension(SitemapDiscovery)
        if discovery is None:  # GBOT_ROBOTS_SITEMAPS is "off", or the add-on is not used.
            discovery = SitemapDiscovery(self.crawler, self._gbot)
        self._feed = discovery.feed
        # This is the dict of the feed, so the limit also applies to the requests of the feed.
        self._meta = self._feed.request_meta
        of_project = self.settings.getint("DOWNLOAD_MAXSIZE") or MOST_DOWNLOADED
        self._meta["download_maxsize"] = min(of_project, MOST_DOWNLOADED)
        self.crawler.signals.connect(self._request_forbidden, request_forbidden)
        self._scope = await run_in_thread(scope_of, chain(self._names(), self.sitemap_urls))

    def _spider_closed(self) -> None:
        """Log the numbers of hosts without a sitemap, of sitemaps, and of their URLs by fate.

        The line names the first host without a sitemap and the reason.
        """
        stats = self.crawler.stats.get_stats()
        number = stats.get("gbot_robots/sitemaps/entries", 0)
        fates = {fate: stats.get(f"gbot_robots/sitemaps/entries/{fate}", 0) for fate in _FATES}
        fates["lost"] = max(0, number - sum(fates.values()))
        words = [f", {fates[fate]} {words}" for fate, words in _FATES.items() if fates[fate]]
        self.logger.info(
            "hosts: %d without a sitemap%s, %d unreachable; sitemaps %d, URLs %d found%s",
            stats.get("gbot_robots/hosts/without", 0),
            self._first_without,
            stats.get("gbot_robots/hosts/unreachable", 0),
            stats.get("gbot_robots/sitemaps/read", 0),
            number,
            "".join(words),
        )

    def _response_received(self, request: Request) -> None:
        """Count the page as crawled if a sitemap lists it."""
        self._count_fate("crawled", request)

    def _request_forbidden(self, request: Request) -> None:
        """Count the page as forbidden if a sitemap lists it."""
        self._count_fate("forbidden", request)

    def _count_fate(self, fate: str, request: Request) -> None:
        """Count the fate of a page if a sitemap lists it and it was not counted before.

        The key that marks the page is removed from the meta of its request. A later request with a
        copy of the meta, such as a retry, is therefore not counted again.
        """
        add_to_stat(self.crawler, f"entries/{fate}", request.meta.pop(UNCOUNTED, False))

    def _names(self) -> Iterator[str]:
        """Yield the robots.txt files in `sitemap_urls`, then the hosts as the user wrote them."""
        yield from filter(origin_of_robots_txt, self.sitemap_urls)
        yield from given_in(self.hosts, self.hosts_file)

    async def start(self) -> AsyncIterator[Any]:
        """Yield requests for the sitemaps in `sitemap_urls`, then for the robots.txt of each host.

        At most `_MOST_ASKED` robots.txt files are requested at the same time.
        """
        for url in self.sitemap_urls:
            if origin_of_robots_txt(url) is None:
                yield Request(url, self._parse_sitemap, meta={**self._meta})
        for text in self._names():
            # In an idle crawl there is no response to wait for, so `_asked` would stay full.
            while len(self._asked) >= _MOST_ASKED and not is_idle(self.crawler):
                await pause(_IDLE_POLL_SECS)
            self._asked.add(text)
            try:
                yield self._robots_request(text)
            except ValueError as error:
                self._report("invalid", text, str(error))

    def on_host_without_sitemap(self, host: str, why: str) -> None:
        """Log a host without a usable sitemap. A subclass may override this method.

        Args:
            host: the host as the user wrote it.
            why: the reason, in words.
        """
        self.logger.info("%s leads to no sitemap: %s", shown(host), shown(why, _MOST_WHY))

    def _robots_request(self, host: str, number: int = 0) -> Request:
        """Return the request for the robots.txt of a host.

        Args:
            host: the host as the user wrote it. Without a scheme, it has two origins: one with
                https and one with http.
            number: the index of the origin to request.

        Raises:
            ValueError: `host` is not a valid host.
        """
        origins = origins_of(host)
        # With PROBE, an origin at which no server answers fails at once. The crawl does not wait
        # for the server to come back, because the host has a second origin to try.
        return Request(
            origins[number].robots_url,
            callback=self._parse_robots_txt,
            errback=self._robots_txt_failed,
            meta={"allow_offsite": True, "handle_httpstatus_all": True, PROBE: len(origins) > 1},
            cb_kwargs={"host": host, "number": number},
        )

    async def _parse_robots_txt(
        self, response: Response, host: str, **_: Any
    ) -> AsyncIterator[Request]:
        """Schedule the sitemaps that the robots.txt of a host lists; without any, yield a guess.

        The host is reported as denied if its robots.txt means full disallow (nothing may be
        crawled), and as unreachable if its server fails. The plugin's middleware marks its
        responses with the flag `ANSWERED`, and another flag shows full disallow. If the middleware
        is not in use, the status code decides.
        """
        origin = Origin.of(response.url)
        has_failed = response.status in _TROUBLE
        is_disallowed = State.FULL_DISALLOW.value in response.flags
        if is_disallowed or (has_failed and ANSWERED not in response.flags):
            outcome = "denied"
            if has_failed:
                outcome = "unreachable"
            self._report(outcome, host, f"its robots.txt is HTTP {response.status}: {outcome}")
            return
        new: list[FoundSitemap] = []
        if response.status in _OK:
            robotstxt = self._gbot.parse(response.body)
            new, counts = await self._feed.choose(origin, robotstxt)
        if not new:
            for guess in self._begin_guesses(host, origin.robots_url, response.status, {}):
                yield guess
            return
        self._asked.discard(host)
        # A sitemap line without an absolute URL, such as "Sitemap: /sitemap.xml", may have meant a
        # path that `sitemap_guess` contains, so the guesses are tried, too.
        lead = {"host": host, "number": len(new), "is_partial": bool(counts["skipped/malformed"])}
        for sitemap in new:
            for guess in await self._request_listed(sitemap, lead):
                yield guess

    async def _request_listed(
        self, sitemap: FoundSitemap, lead: Mapping[str, Any]
    ) -> Iterator[Request]:
        """Schedule the request for a sitemap that the robots.txt of a host lists.

        `lead` contains the arguments of `_listed_ended`, except the URLs and the fate. Usually
        nothing is returned. If the user's code has skipped the sitemap or replaced its request, the
        spider will not see the response. The result of `_listed_ended` is then returned.
        """
        lead = {**lead, "robots_url": sitemap.robotstxt, "url": sitemap.url}
        fate = _FOUND
        try:
            request = await self._feed.schedule(
                sitemap, errback=self._sitemap_failed, cb_kwargs={"lead": lead}
            )
            if "lead" in request.cb_kwargs:
                return iter(())
        except Skipped as skipped:
            fate = f"is skipped by {skipped.rule}"
        return self._listed_ended(fate, **lead)

    def _listed_ended(
        self,
        fate: str,
        *,
        host: str,
        robots_url: str,
        url: str,
        number: int,
        is_partial: bool,
    ) -> Iterator[Request]:
        """Record the fate of a sitemap that a robots.txt lists.

        The host is counted as "listed" when the first of its sitemaps has been found to have
        entries. After the last sitemap of the host, yield the request for a guess if no sitemap has
        entries, or if `is_partial`.

        Args:
            fate: `_FOUND`, or in words why the sitemap lists nothing.
            host: the host, as the user wrote it.
            robots_url: the URL of the host's robots.txt.
            url: the URL of the sitemap.
            number: the number of sitemaps that the robots.txt lists.
            is_partial: whether the robots.txt has sitemap lines without an absolute URL.
        """
        fates = self._fates.setdefault(host, {})
        if fate == _FOUND and _FOUND not in fates.values():
            self._report("listed", host)
        fates[url] = fate
        if len(fates) < number:
            return
        del self._fates[host]
        if is_partial or _FOUND not in fates.values():
            yield from self._begin_guesses(host, robots_url, _OK[0], fates)

    @cached_property
    def _fates(self) -> dict[str, dict[str, str]]:
        """The fates of listed sitemaps by URL, for each host with unfinished sitemaps.

        With a JOBDIR they are in the spider's `state`, which Scrapy saves for the next run.
        """
        state: dict[str, Any] = {}
        if self.settings.get("JOBDIR"):
            state = getattr(self, "state", state)
        fates: dict[str, dict[str, str]] = state.setdefault("gbot_robots_sitemaps", {})
        return fates

    def _robots_txt_failed(self, failure: Any) -> Iterator[Request]:
        """Request the robots.txt of the host's next origin; after the last one, report the host."""
        host = failure.request.cb_kwargs["host"]
        number = failure.request.cb_kwargs["number"] + 1
        if number < len(origins_of(host)):
            yield self._robots_request(host, number)
            return
        error = failure.value
        outcome = "unreachable"
        if isinstance(error, ForbiddenByRobotsTxt):
            outcome = "denied"
        self._report(outcome, host, str(error))

    def _begin_guesses(
        self, host: str, robots_url: str, status: int, listed: Mapping[str, str]
    ) -> Iterator[Request]:
        """Yield the request for the first guess; if there are no guesses, report the host.

        Args:
            host: the host, as the user wrote it.
            robots_url: the URL of the host's robots.txt.
            status: the status code of the robots.txt.
            listed: the fates of the sitemaps that the robots.txt lists, by URL.
        """
        urls = [urljoin(robots_url, path) for path in self._guesses]
        urls = [url for url in urls if url not in listed]
        if urls:
            self._report("guessed", host)
        return self._guess(host, status, listed, {}, urls)

    def _guess(
        self,
        host: str,
        status: int,
        listed: Mapping[str, str],
        guessed: Mapping[str, str],
        left: Sequence[str],
    ) -> Iterator[Request]:
        """Yield the request for the next guess; if there is none, report the host.

        The host is not reported if a sitemap that its robots.txt lists has entries.

        Args:
            host: the host, as the user wrote it.
            status: the status code of the robots.txt.
            listed: the fates of the sitemaps that the robots.txt lists, by URL.
            guessed: the fates of the guesses so far, by URL.
            left: the URLs that have not been tried.
        """
        if not left:
            if _FOUND not in listed.values():
                self._report("without", host, _why_without(status, listed, guessed))
            return
        url, *others = left
        guess = {"host": host, "status": status, "listed": listed, "guessed": guessed}
        yield Request(
            url,
            self._parse_sitemap,
            errback=self._sitemap_failed,
            meta={
                **self._meta,
                SITEMAP: {"robotstxt": Origin.of(url).robots_url, "line": 0},
                CHECKED: url,
            },
            cb_kwargs={"guess": {**guess, "left": others}, "url": url},
            dont_filter=True,  # A site may redirect several guesses to the same page.
        )

    def _ended(
        self,
        fate: str,
        *,
        lead: Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | None = None,
        url: str = "",
    ) -> Iterator[Request]:
        """Record the fate of a sitemap; return the requests for further guesses, if any.

        Args:
            fate: `_FOUND`, or in words why the sitemap lists nothing.
            lead: the other arguments of `_listed_ended`, if a robots.txt lists the sitemap.
            guess: the arguments of `_guess`, if the URL of the sitemap was a guess.
            url: that URL.
        """
        if lead is not None:
            return self._listed_ended(fate, **lead)
        if guess is None or fate == _FOUND:
            return iter(())
        guessed = {**guess["guessed"], url: fate}
        return self._guess(**{**guess, "guessed": guessed})

    def _sitemap_failed(self, failure: Any) -> Iterator[Request]:
        """Record the error as the fate of a sitemap; return the requests for further guesses."""
        request = failure.request
        fate = f"could not be fetched: {failure.value}"
        if "lead" in request.cb_kwargs:
            lead = request.cb_kwargs["lead"]
            logger.warning("%s, which %s lists, %s", lead["url"], lead["robots_url"], shown(fate))
        return self._ended(fate, **request.cb_kwargs)

    async def _parse_sitemap(self, response: Response, **origin: Any) -> AsyncIterator[Request]:  # type: ignore[override]
        """Yield requests for the URLs that a sitemap lists, then for further guesses, if any.

        `origin` contains the other arguments of `_ended`. It is empty for a sitemap that a sitemap
        index or the user's `sitemap_urls` list.
        """
        reader = SitemapReader(response.body)
        async for request in self._requests(reader, response):
            yield request
        add_to_stat(self.crawler, "read", reader.is_understood and response.status in _OK)
        add_to_stat(self.crawler, "entries/broken", reader.broken)
        if "guess" not in origin:
            self._report_unread(reader, response)
        fate = "lists nothing"
        if reader.entries:  # The entries count even if all of them are skipped.
            fate = _FOUND
        for request in self._ended(fate, **origin):
            yield request

    def _report_unread(self, reader: SitemapReader, response: Response) -> None:
        """Log a sitemap that could not be read in full; count it as failed if reading ended early.

        A response with an error status is only logged, because the downloader middleware has
        counted it.
        """
        name = _name_of(response)
        result = f"{reader.entries} URLs read, {reader.broken} broken entries"
        if response.status not in _OK:
            logger.warning("%s: HTTP %d: %s", name, response.status, result)
        elif reader.trouble:
            add_to_stat(self.crawler, "failed")
            logger.warning("%s: %s; %s", name, result, shown(reader.trouble))
        elif reader.broken or not reader.entries:
            logger.info("%s: %s", name, result)

    def _report(self, outcome: str, host: str, why: str = "") -> None:
        """Count a host by its outcome, and let `start` continue with another host.

        Args:
            outcome: "listed", "guessed", "without", "unreachable", "denied" or "invalid". A host
                that was counted as "guessed" may be counted as "without" later.
            host: the host, as the user wrote it.
            why: if the host has no sitemap, the reason for `on_host_without_sitemap`; else "".
        """
        self._asked.discard(host)
        self.crawler.stats.inc_value(f"gbot_robots/hosts/{outcome}")
        if outcome == "without" and not self._first_without:
            self._first_without = f" ({shown(host)}: {shown(why)})"
        if why:
            self.on_host_without_sitemap(host, why)

    def _request_dropped(self, request: Request) -> None:
        """Handle a request that the duplicate filter has dropped.

        The request for a robots.txt is dropped if an earlier run of the crawl has made it, so
        `start` must not wait for the response. A sitemap is dropped if it was requested before, for
        example for another host. It counts as a sitemap with entries, unless a redirect led to it.
        A page is counted as a duplicate.
        """
        engine: Any = self.crawler.engine
        if request.callback == self._parse_robots_txt:
            self._asked.discard(request.cb_kwargs["host"])
        if "lead" in request.cb_kwargs:
            fate = _FOUND
            if "redirect_urls" in request.meta:
                fate = "redirects to what was requested before"
            for guess in self._listed_ended(fate, **request.cb_kwargs["lead"]):
                engine.crawl(guess)
        self._count_fate("duplicate", request)

    # The requests that a sitemap file leads to

    async def _requests(self, reader: SitemapReader, response: Response) -> AsyncIterator[Request]:
        """Yield requests for the pages and sitemaps that a file lists, while the file is read.

        The spider's `sitemap_filter` gets the entries for sitemaps and for pages. An entry that the
        filter yields is treated as a sitemap if the last entry that the filter read is a sitemap.
        """
        entries: Iterable[SitemapEntry | None] = reader
        if type(self).sitemap_filter is not SitemapSpider.sitemap_filter:
            entries = self.sitemap_filter(entry for entry in reader if entry is not None)
        file = next(self._files)
        made = 0
        request = None
        since = perf_counter()
        with _Tally(self.crawler, _name_of(response)) as tally:
            for entry in entries:
                if made >= _TURN_REQUESTS and not await self._may_read_on(request, file):
                    return
                if made >= _TURN_REQUESTS or perf_counter() - since > _TURN_SECS:
                    tally.count()
                    await pause(0)
                    made = 0
                    since = perf_counter()
                if entry is None:
                    continue
                is_sitemap = reader.is_sitemap
                for request in self._requests_of(entry, response, tally, is_sitemap=is_sitemap):
                    made += 1
                    yield request

    async def _may_read_on(self, request: Request | None, file: int) -> bool:
        """Wait until fewer than GBOT_ROBOTS_SITEMAPS_AHEAD pages wait in a download slot.

        There is no wait if the queue of the crawl is on disk or is not a queue of Scrapy, because
        the pages then take no memory here.

        Args:
            request: the last request that was made from the file. The slot is its slot.
            file: the number of the file, in the order in which files were begun.

        Returns:
            False if the crawl is closing. Reading must then end, because the requests for the rest
            of the file would be lost.
        """
        most = self._gbot.sitemaps_ahead
        backlog = pages_ahead(self.crawler)
        if not most or backlog is None or request is None:
            return True
        return await backlog.wait(request, most, file)

    def _requests_of(
        self, entry: SitemapEntry, response: Response, tally: _Tally, *, is_sitemap: bool
    ) -> list[Request]:
        """Return the requests for the URLs of an entry.

        The list is empty if the entry's last change was before `sitemap_since`.
        """
        locs = [entry["loc"]]
        if self.sitemap_alternate_links:
            locs += entry.get("alternate", ())
        tally.numbers["entries"] += len(locs)
        if self.sitemap_since and is_before(entry.get("lastmod", ""), self.sitemap_since):
            tally.numbers["entries/old"] += len(locs)
            return []
        requests = []
        for loc in locs:
            try:
                request = self._request_of(loc, entry, response, tally, is_sitemap=is_sitemap)
            except Skipped as skipped:
                tally.skip(*skipped.args)
                continue
            if request is not None:
                requests.append(request)
        return requests

    def _request_of(
        self,
        loc: str,
        entry: SitemapEntry,
        response: Response,
        tally: _Tally,
        *,
        is_sitemap: bool,
    ) -> Request | None:
        """Return the request for a URL that a sitemap lists.

        Return None for a page that `sitemap_scope` or `sitemap_rules` exclude. As in Scrapy, the
        patterns of the spider are matched against the URL before it is encoded.

        Raises:
            Skipped: the crawl must not follow the URL, or `sitemap_follow` excludes the sitemap.
        """
        whole, url, origin = self._feed.check.listed(loc, response.url)
        if is_sitemap:
            meta = {**self._meta, SITEMAP: self._feed.check.below(url, response)}
            if not follows_sitemap(self, whole):
                raise Skipped("skipped/follow", url)
            tally.numbers["entries/sitemap"] += 1
            # Pages have a higher priority, so that sitemaps are not read long before their pages.
            request = Request(url, self._parse_sitemap, meta=meta, priority=-1)
            self._feed.check.note_checked(request, response.url)
            return request
        # `sitemap_scope` and `sitemap_rules` may exclude most URLs of a file. Raising an exception
        # for each of them would be slow.
        if self.sitemap_scope == "hosts" and not covers(self._scope, origin):
            tally.skip("skipped/host", url, "sitemap_scope = 'hosts'")
            return None
        callback = page_callback(self, whole)
        if callback is None:
            tally.skip("rules", url, "the spider's sitemap_rules")
            return None
        listed = {"sitemap": response.url, "lastmod": entry.get("lastmod", "")}
        return Request(url, callback, meta={LISTED: listed, UNCOUNTED: True})


def _name_of(file: Response) -> str:
    """Return the name of a file for the log: the requested URL and, after a redirect, the last."""
    asked_for = file.meta.get("redirect_urls", [file.url])[0]
    if asked_for == file.url:
        return file.url
    return f"{asked_for} (redirected to {file.url})"


class _Tally:
    """Counts the URLs of one sitemap file, and adds the numbers to the stats from time to time.

    A file may list 50,000 URLs. If each of them changed a stat and wrote a line to the log, that
    would take longer than reading the file.
    """

    def __init__(self, crawler: Crawler, file: str) -> None:
        self._crawler = crawler
        self._file = file  # The name of the file in the log.
        self.numbers: Counter[str] = Counter()  # Not in the stats yet.
        self._new: Counter[str] = Counter()  # Skipped, not in the stats yet.
        self._skipped: Counter[str] = Counter()  # All that were skipped and are in the stats.
        self._first: dict[str, Skipped] = {}  # The first skipped URL, by stat.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Add the remaining numbers to the stats; log one line for each kind of skipped URL."""
        self.count()
        for stat, first in self._first.items():
            others = self._skipped[stat] - 1
            more = ""
            if others:
                more = f" (and {others:,} more)"
            logger.debug("%s: %s%s", self._file, first, more)

    def skip(self, stat: str, url: str, rule: str) -> None:
        """Count a URL that is not followed. The arguments are the same as for `Skipped`."""
        if stat not in self._first:
            self._first[stat] = Skipped(stat, url, rule)
        self._new[stat] += 1

    def count(self) -> None:
        """Add the numbers to the stats."""
        for stat in self._new:
            self.numbers[f"entries/{self._first[stat].reason}"] += self._new[stat]
        for name in self.numbers:
            add_to_stat(self._crawler, name, self.numbers[name])
        self.numbers.clear()
        self._skipped += self._new
        self._new.clear()


def _why_without(status: int, listed: Mapping[str, str], guessed: Mapping[str, str]) -> str:
    """Return the reason why a host has no sitemap, in words.

    Args:
        status: the status code of the host's robots.txt.
        listed: the fates of the sitemaps that the robots.txt lists, by URL.
        guessed: the fates of the guesses, by URL.
    """
    why = f"its robots.txt is HTTP {status}"
    if status in _OK:
        why = "its robots.txt lists none that can be used"
    if listed:
        told = [f"{url}, which {fate}" for url, fate in listed.items()]
        why = f"its robots.txt lists only {' and '.join(told[:_MOST_TOLD])}"
        if len(told) > _MOST_TOLD:
            why += f" and {len(told) - _MOST_TOLD} more"
    return "; ".join([why, *(f"{url} {fate}" for url, fate in guessed.items())])
