"""RobotsSitemapSpider crawls the pages that the sitemaps of the given hosts list.

The spider requests the robots.txt of each host. A `SitemapFeed` (discovery.py) schedules requests
for the sitemaps that the robots.txt lists. The spider yields requests for pages while it reads a
sitemap. So the first pages are downloaded before a large sitemap has been read to its end.

The *fate* of a page is what has become of it, for example "crawled" or "forbidden". The spider
counts the fates of pages in stats. A sitemap has a fate, too, for example "lists nothing". If none
of a host's sitemaps has entries, the spider logs the fates of these sitemaps, as the reason why the
host has no usable sitemap.
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
from ..engine import follows_sitemap, is_idle, page_callback
from ..exceptions import ForbiddenByRobotsTxt
from ..meta import ANSWERED, CHECKED, LISTED, PROBE, SITEMAP, UNCOUNTED
from ..policy.outages import State
from ..settings import GbotSettings, warn_of_mistakes
from ..signals import request_forbidden
from .ahead import PagesAhead
from .discovery import SitemapDiscovery, add_to_stat
from .reader import MAX_BYTES, SitemapEntry, SitemapReader, day_of, is_before
from .urls import (
    FoundSitemap,
    Skipped,
    covers,
    given_in,
    guesses_of,
    is_utf_16,
    origins_of,
    scope_of,
)

# The greatest size of a sitemap that is downloaded, in bytes. It is twice the size that
# sitemaps.org allows (MAX_BYTES), so that the spider can read the first MAX_BYTES bytes of a file
# that is a little too large.
MOST_DOWNLOADED = 2 * MAX_BYTES

_OK = range(200, 300)
_TROUBLE = frozenset({429, *range(500, 1000)})
_IDLE_POLL_SECS = 0.1
# The spider waits for the robots.txt of at most this many hosts at a time. When this limit is
# reached, the spider pauses before it reads the next host of its list.
_MOST_ASKED = 100
# After this number of requests, or after `_TURN_SECS` seconds, the spider pauses and lets the
# reactor run. The number is small, because Scrapy needs some time to schedule each request.
_TURN_REQUESTS = 5
_TURN_SECS = 0.001
# The signals of Scrapy that the spider handles. The handler of the signal `spider_opened` is the
# method `_spider_opened`, and so on.
_HEARD = "request_dropped response_received spider_opened spider_closed".split()
# The *fate* of a sitemap is a string that describes what has become of it. `_FOUND` means that the
# sitemap has at least one entry. Any other fate, such as "lists nothing", is the reason why it has
# none.
_FOUND = ""
# If a host has no usable sitemap, the spider logs a reason. The reason describes at most
# `_MOST_TOLD` sitemaps, and has at most `_MOST_WHY` characters.
_MOST_TOLD = 3
_MOST_WHY = 2_000

# The *fates* of the URLs that sitemaps list. Each fate describes what has become of a URL. The
# values are the words for the fates in the last log line of the spider.
#
# The stat `gbot_robots/sitemaps/entries/FATE` contains the number of URLs with this fate. Only the
# fate "lost" has no stat. It is the fate of the URLs that none of these stats counts.
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

# If the STATS_CLASS keeps no stats, this line is logged in place of the results.
_NO_NUMBERS = "this crawl keeps no stats (STATS_CLASS), so its hosts and URLs are not counted"

logger = logging.getLogger(__name__)


class RobotsSitemapSpider(SitemapSpider):
    """Crawls the pages that the sitemaps of the given hosts list.

    A subclass must have a `name`, and either a method `parse` or the attribute `sitemap_rules`.

    The class is derived from Scrapy's SitemapSpider. So the attributes `sitemap_rules`,
    `sitemap_follow` and `sitemap_alternate_links` and the method `sitemap_filter` work as in that
    class. The sitemaps in `sitemap_urls` are crawled in addition to the sitemaps of the hosts. In
    the request for a page, `request.meta[meta.LISTED]` contains the URL of the sitemap that lists
    the page, and the date of the page's last change.

    Attributes (of the class, or arguments `-a name=value`):
        hosts: a list of hosts, or a string with commas between hosts. A host is written as
            `example.org`, as `example.org:8080` or as a URL.
        hosts_file: the path of a file with one host on each line. "#" begins a comment.
        sitemap_scope: the hosts on which pages are crawled. "hosts" means the given hosts, with or
            without "www.", and their subdomains. "any" means all hosts. Pages on hosts outside the
            scope are skipped, and `gbot_robots/sitemaps/entries/host` counts them.
        sitemap_guess: the paths to try on a host whose robots.txt lists no sitemap, as a list or a
            string with commas. They are tried in order, until one of them is a sitemap with
            entries. True means `/sitemap.xml`. "common" means seven paths that software often uses.
        sitemap_since: a day, a month or a year, such as 2026-01-31 or 2026-01. A page or a sitemap
            is skipped if, according to the file that lists it, its last change was earlier.
    """

    hosts: str | Sequence[str] = ()
    hosts_file: str | Path | None = None
    sitemap_scope: str = "hosts"
    sitemap_guess: bool | str | Sequence[str] = False
    sitemap_since: str | None = None

    # With the value True, `SitemapDiscovery` does not schedule sitemaps for this spider. Otherwise
    # it would also schedule the sitemaps of hosts that the user has not named.
    _feeds_itself = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make the spider. Each keyword argument sets the attribute of the same name.

        Raises:
            OSError: the `hosts_file` cannot be read.
            ValueError: no hosts are given, or an argument has an invalid value.
        """
        super().__init__(*args, **kwargs)
        if not (self.hosts or self.hosts_file or self.sitemap_urls):
            raise ValueError(
                "No hosts are given. Name them: -a hosts=example.org,example.net "
                "or -a hosts_file=hosts.txt"
            )
        if self.hosts_file and not Path(self.hosts_file).is_file():
            raise ValueError(f"hosts_file must be a file, got {str(self.hosts_file)!r}")
        if self.hosts_file and is_utf_16(self.hosts_file):
            raise ValueError(f"hosts_file {str(self.hosts_file)!r} is UTF-16; save it as UTF-8")
        if self.sitemap_scope not in {"hosts", "any"}:
            raise ValueError(f"sitemap_scope must be one of hosts, any, got {self.sitemap_scope!r}")
        if self.sitemap_since and day_of(self.sitemap_since) != self.sitemap_since:
            raise ValueError(
                f"sitemap_since must be a date such as 2026-01-31, got {self.sitemap_since!r}"
            )
        self._guesses = guesses_of(self.sitemap_guess)
        # The hosts, as the user wrote them, whose robots.txt was requested but has not arrived yet.
        # In a resumed crawl, the duplicate filter may drop the request, because an earlier run has
        # already made it. `_request_dropped` then removes the host from this set.
        self._asked: set[str] = set()
        # An iterator that numbers the sitemap files, in the order in which the spider begins to
        # read them.
        self._files = number()
        self._first_without = ""  # The first host without a sitemap, and the reason, for the log.

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Increase SCRAPER_SLOT_MAX_ACTIVE_SIZE, unless the project sets it.

        While the responses in memory are larger than this setting, Scrapy sends no requests. The
        default of 5 MB would stop the crawl while the spider reads a large sitemap.
        """
        super().update_settings(settings)
        # The project's settings have a higher priority than "addon". So if the project sets this
        # setting, its value is not changed.
        settings.set("SCRAPER_SLOT_MAX_ACTIVE_SIZE", MOST_DOWNLOADED, "addon")

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider, and connect its handlers to the signals in `_HEARD`.

        Raises:
            ValueError: no hosts are given, or an argument or a setting has an invalid value.
        """
        spider = super().from_crawler(crawler, *args, **kwargs)
        # The settings are checked here and not in `_spider_opened`, because an exception in a
        # handler of a signal would not end the crawl.
        GbotSettings.of(crawler.settings)
        for name in _HEARD:
            crawler.signals.connect(getattr(spider, f"_{name}"), getattr(signals, name))
        return spider

    async def _spider_opened(self) -> None:
        """Set the attributes that depend on the settings of the crawl."""
        self._gbot = GbotSettings.of(self.settings)
        # If the crawl uses the add-on, these warnings were logged before, and this call logs
        # nothing.
        warn_of_mistakes(self.settings)
        self._ahead = PagesAhead(self.crawler, self._gbot.sitemaps_ahead)
        discovery = self.crawler.get_extension(SitemapDiscovery)
        if discovery is None:  # GBOT_ROBOTS_SITEMAPS is "off", or the add-on is not used.
            discovery = SitemapDiscovery(self.crawler, self._gbot)
        self._feed = discovery.feed
        # The feed copies `request_meta` to its own requests for sitemaps. So the value of
        # `download_maxsize` that is set below applies to these requests as well.
        self._meta = self._feed.request_meta
        of_project = self.settings.getint("DOWNLOAD_MAXSIZE") or MOST_DOWNLOADED
        self._meta["download_maxsize"] = min(of_project, MOST_DOWNLOADED)
        self.crawler.signals.connect(self._request_forbidden, request_forbidden)
        self._scope = await run_in_thread(scope_of, chain(self._names(), self.sitemap_urls))

    def _spider_closed(self) -> None:
        """Log one line with the results of the crawl.

        The line contains the number of hosts without a sitemap, the first of these hosts, and the
        reason why it has none. It also contains the number of sitemaps, and the number of URLs for
        each fate.
        """
        stats = self.crawler.stats.get_stats()
        if not stats:
            self.logger.info(_NO_NUMBERS)
            return
        number = stats.get("gbot_robots/sitemaps/entries", 0)
        fates = {fate: stats.get(f"gbot_robots/sitemaps/entries/{fate}", 0) for fate in _FATES}
        fates["lost"] = max(0, number - sum(fates.values()))
        hosts = {each: stats.get(f"gbot_robots/hosts/{each}", 0) for each in ("denied", "invalid")}
        words = [f", {fates[fate]} {words}" for fate, words in _FATES.items() if fates[fate]]
        self.logger.info(
            "hosts: %d without a sitemap%s, %d unreachable%s; sitemaps %d, URLs %d found%s",
            stats.get("gbot_robots/hosts/without", 0),
            self._first_without,
            stats.get("gbot_robots/hosts/unreachable", 0),
            "".join(f", {hosts[outcome]} {outcome}" for outcome in hosts if hosts[outcome]),
            stats.get("gbot_robots/sitemaps/read", 0),
            number,
            "".join(words),
        )

    def _response_received(self, request: Request) -> None:
        """Count the page as crawled if `request` is for a page that a sitemap lists."""
        self._count_fate("crawled", request)

    def _request_forbidden(self, request: Request) -> None:
        """Count the page as forbidden if `request` is for a page that a sitemap lists."""
        self._count_fate("forbidden", request)

    def _count_fate(self, fate: str, request: Request) -> None:
        """Count the fate of a page if a sitemap lists it, unless the page was counted before.

        The spider marks its requests for such pages with the meta key `UNCOUNTED`. This method
        removes the key. So if the user's code makes a new request with a copy of the meta, the page
        is not counted again.
        """
        add_to_stat(self.crawler, f"entries/{fate}", request.meta.pop(UNCOUNTED, False))

    def _names(self) -> Iterator[str]:
        """Yield the robots.txt URLs in `sitemap_urls`, then the hosts that the user gave."""
        yield from filter(origin_of_robots_txt, self.sitemap_urls)
        yield from given_in(self.hosts, self.hosts_file)

    async def start(self) -> AsyncIterator[Any]:
        """Yield requests for the sitemaps in `sitemap_urls`, then for the robots.txt of each host.

        The robots.txt files of at most `_MOST_ASKED` hosts are requested at the same time.
        """
        for url in self.sitemap_urls:
            if origin_of_robots_txt(url) is None:
                yield Request(url, self._parse_sitemap, meta={**self._meta})
        for text in self._names():
            # The loop waits until some of the robots.txt files in `_asked` have arrived. If the
            # crawl is idle, no response will come, so the loop must not wait.
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
            why: the reason, as a string for the log.
        """
        self.logger.info("%s has no usable sitemap: %s", shown(host), shown(why, _MOST_WHY))

    def _robots_request(self, host: str, number: int = 0) -> Request:
        """Return the request for the robots.txt of a host.

        Args:
            host: the host as the user wrote it. If it has no scheme, there are two origins to try,
                one with https and one with http.
            number: the index of the origin in `origins_of(host)`.

        Raises:
            ValueError: `host` is not a valid host.
        """
        origins = origins_of(host)
        # With the key PROBE, the request fails at once if the server does not answer. The spider
        # can then try the second origin of the host. Without the key, the plugin would try the same
        # server again later.
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
        """Schedule the sitemaps that the robots.txt of a host lists.

        If the robots.txt lists no sitemaps, yield the request for the first path in
        `sitemap_guess`. If the robots.txt means full disallow (no page may be crawled), the host is
        counted as denied. If the server has failed, the host is counted as unreachable.

        The response may come from the plugin's middleware. It then has the flag `ANSWERED`, and a
        second flag that shows whether the robots.txt means full disallow. If the response comes
        from a server, the status code shows whether the server has failed.
        """
        origin = Origin.of(response.url)
        has_failed = response.status in _TROUBLE
        is_disallowed = State.FULL_DISALLOW.value in response.flags
        if is_disallowed or (has_failed and ANSWERED not in response.flags):
            outcome = "denied"
            if has_failed:
                outcome = "unreachable"
            self._report(outcome, host, f"its robots.txt has status {response.status}: {outcome}")
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
        # A line such as "Sitemap: /sitemap.xml" is not valid, because its URL is not absolute. But
        # there may be a sitemap at this path. If the robots.txt has such lines (`is_partial`), the
        # spider therefore also tries its guesses.
        lead = {"host": host, "number": len(new), "is_partial": bool(counts["skipped/malformed"])}
        for sitemap in new:
            for guess in await self._request_listed(sitemap, lead):
                yield guess

    async def _request_listed(
        self, sitemap: FoundSitemap, lead: Mapping[str, Any]
    ) -> Iterator[Request]:
        """Schedule the request for a sitemap that the robots.txt of a host lists.

        The user's code may skip the sitemap, or replace the request with a different one. In both
        cases the spider gets no response for the sitemap, so this method itself records the fate of
        the sitemap.

        Args:
            sitemap: the sitemap.
            lead: the arguments `host`, `number` and `is_partial` for `_listed_ended`.

        Returns:
            No requests if the spider will get the response. Otherwise the requests that
            `_listed_ended` yields.
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

        When the first sitemap with entries is found, the host is counted as "listed".

        When the fates of all sitemaps of the host are known, the spider may also try its guesses,
        the paths of `sitemap_guess`. It does so if none of the sitemaps has entries, or if
        `is_partial` is true. Then this method yields the request for the first guess.

        Args:
            fate: `_FOUND`, or the reason why the sitemap lists nothing.
            host: the host as the user wrote it.
            robots_url: the URL of the host's robots.txt.
            url: the URL of the sitemap.
            number: the number of sitemaps that the robots.txt lists.
            is_partial: whether the robots.txt has Sitemap lines whose URL is not absolute.
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
        """The fates of sitemaps, for each host that has sitemaps left to read.

        The fate of a sitemap is a string that describes what has become of it. The keys are the
        hosts as the user wrote them. Each value is a dict from the URLs of the host's sitemaps to
        the fates that are known so far. With a JOBDIR, the dicts are in the spider's `state`, which
        Scrapy saves for the next run.
        """
        state: dict[str, Any] = {}
        if self.settings.get("JOBDIR"):
            state = getattr(self, "state", state)
        fates: dict[str, dict[str, str]] = state.setdefault("gbot_robots_sitemaps", {})
        return fates

    def _robots_txt_failed(self, failure: Any) -> Iterator[Request]:
        """Handle a robots.txt that could not be fetched, or that is forbidden.

        If the host has a second origin (http after https, for example), yield the request for the
        robots.txt of that origin. If there is no further origin, the host is counted as
        "unreachable" or, if the robots.txt is forbidden, as "denied".
        """
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
        """Yield the request for the first guess.

        A guess is a path of `sitemap_guess` at which the host may have a sitemap. If there are no
        guesses, and no sitemap in the robots.txt has entries, the host is counted as a host without
        a sitemap.

        Args:
            host: the host as the user wrote it.
            robots_url: the URL of the host's robots.txt.
            status: the status code of the robots.txt.
            listed: a dict from the URL of each sitemap in the robots.txt to its fate.
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
        """Yield the request for the next guess, which is a path of `sitemap_guess`.

        If all guesses were tried, and no sitemap in the robots.txt has entries, the host is counted
        as a host without a sitemap.

        Args:
            host: the host as the user wrote it.
            status: the status code of the robots.txt.
            listed: a dict from the URL of each sitemap in the robots.txt to its fate.
            guessed: a dict from the URL of each guess so far to its fate.
            left: the URLs that have not been tried yet.
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
            # A site may redirect several guesses to the same URL. The duplicate filter must not
            # drop these requests, because the next guess is made only after a response.
            dont_filter=True,
        )

    def _ended(
        self,
        fate: str,
        *,
        lead: Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | None = None,
        url: str = "",
    ) -> Iterator[Request]:
        """Record the fate of a sitemap. Return the request for the next guess, if there is one.

        Args:
            fate: `_FOUND`, or the reason why the sitemap lists nothing.
            lead: the arguments of `_listed_ended` except `fate`; None if no robots.txt lists the
                sitemap.
            guess: the arguments of `_guess`; None if the URL of the sitemap was not a guess.
            url: the URL of the sitemap if it was a guess; otherwise "".
        """
        if lead is not None:
            return self._listed_ended(fate, **lead)
        if guess is None or fate == _FOUND:
            return iter(())
        guessed = {**guess["guessed"], url: fate}
        return self._guess(**{**guess, "guessed": guessed})

    def _sitemap_failed(self, failure: Any) -> Iterator[Request]:
        """Record why a sitemap could not be fetched, and return the request for the next guess."""
        request = failure.request
        fate = f"could not be fetched: {failure.value}"
        if "lead" in request.cb_kwargs:
            lead = request.cb_kwargs["lead"]
            logger.warning("%s, which %s lists, %s", lead["url"], lead["robots_url"], shown(fate))
        return self._ended(fate, **request.cb_kwargs)

    async def _parse_sitemap(self, response: Response, **origin: Any) -> AsyncIterator[Request]:  # type: ignore[override]
        """Yield requests for the URLs that a sitemap lists, then the request for the next guess.

        Args:
            response: the response with the sitemap.
            **origin: the arguments `lead`, `guess` and `url` of `_ended`, which describe how the
                spider has found the sitemap. All are missing if a sitemap index or the user's
                `sitemap_urls` contain the sitemap.
        """
        reader = SitemapReader(response.body)
        async for request in self._requests(reader, response):
            yield request
        add_to_stat(self.crawler, "read", reader.is_understood and response.status in _OK)
        add_to_stat(self.crawler, "entries/broken", reader.broken)
        if "guess" not in origin:
            self._report_unread(reader, response)
        fate = "lists nothing"
        # The sitemap is treated as found even if all of its entries are skipped.
        if reader.entries:
            fate = _FOUND
        for request in self._ended(fate, **origin):
            yield request

    def _report_unread(self, reader: SitemapReader, response: Response) -> None:
        """Log a sitemap that could not be read in full, or that has no entries.

        A sitemap that could not be read to its end is also counted as failed. A response with an
        error status is not counted here, because the downloader middleware has counted it.
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
        """Count the outcome of a host, and let `start` go on with the next host.

        If the host has no sitemap, `on_host_without_sitemap` is also called.

        Args:
            outcome: "listed", "guessed", "without", "unreachable", "denied" or "invalid". If all
                guesses of a "guessed" host fail, the host is later counted as "without" as well.
            host: the host as the user wrote it.
            why: the reason why the host has no sitemap; "" if it may have one.
        """
        self._asked.discard(host)
        self.crawler.stats.inc_value(f"gbot_robots/hosts/{outcome}")
        if outcome == "without" and not self._first_without:
            self._first_without = f" ({shown(host)}: {shown(why)})"
        if why:
            self.on_host_without_sitemap(host, why)

    def _request_dropped(self, request: Request) -> None:
        """Handle a request that the duplicate filter has dropped.

        1. A request for a robots.txt is dropped if an earlier run of the crawl has already made it.
           Then `start` must not wait for the response.
        2. A request for a sitemap is dropped if the crawl has already requested the same URL, for
           example because two hosts list this URL. Then the sitemap is treated as a sitemap with
           entries. But if a redirect led to the dropped request, the sitemap is treated as a
           sitemap without entries.
        3. A request for a page that a sitemap lists is counted as a duplicate.
        """
        engine: Any = self.crawler.engine
        if request.callback == self._parse_robots_txt:
            self._asked.discard(request.cb_kwargs["host"])
        if "lead" in request.cb_kwargs:
            fate = _FOUND
            if "redirect_urls" in request.meta:
                fate = "redirects to a URL that was requested before"
            for guess in self._listed_ended(fate, **request.cb_kwargs["lead"]):
                engine.crawl(guess)
        self._count_fate("duplicate", request)

    # The following methods make requests for the URLs that a sitemap file lists.

    async def _requests(self, reader: SitemapReader, response: Response) -> AsyncIterator[Request]:
        """Yield requests for the pages and sitemaps that a file lists, while the file is read.

        If the user has written a `sitemap_filter`, it gets all entries of the file, and the spider
        requests only the entries that the filter yields. The filter may also yield new entries. So
        a yielded entry is treated as a sitemap if the last entry that the filter has read from the
        file is a sitemap, and otherwise as a page.

        Args:
            reader: the reader of the file.
            response: the response with the file.
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
                has_turned = made >= _TURN_REQUESTS
                if has_turned:
                    if request and not await self._ahead.wait(request, file):
                        return
                    made = 0
                if has_turned or perf_counter() - since > _TURN_SECS:
                    tally.count()
                    await pause(0)
                    since = perf_counter()
                if entry is None:
                    continue
                is_sitemap = reader.is_sitemap
                for request in self._requests_of(entry, response, tally, is_sitemap=is_sitemap):
                    made += 1
                    yield request

    def _requests_of(
        self, entry: SitemapEntry, response: Response, tally: _Tally, *, is_sitemap: bool
    ) -> list[Request]:
        """Return the requests for the URLs of an entry.

        With `sitemap_alternate_links`, an entry may have several URLs. If the last change of the
        entry was before `sitemap_since`, the list is empty.
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

        If `sitemap_scope` or `sitemap_rules` exclude the page, return None. As in Scrapy, the
        patterns in `sitemap_rules` and `sitemap_follow` are matched against the URL before it is
        percent-encoded.

        Args:
            loc: the URL as it is written in the sitemap.
            entry: the entry that contains the URL.
            response: the response with the sitemap.
            tally: the `_Tally` that counts the URLs of this sitemap.
            is_sitemap: whether the URL is the URL of a sitemap and not of a page.

        Raises:
            Skipped: the crawl must not follow the URL, or `sitemap_follow` excludes the sitemap.
        """
        whole, url, origin = self._feed.check.listed(loc, response.url)
        if is_sitemap:
            meta = {**self._meta, SITEMAP: self._feed.check.below(url, response)}
            if not follows_sitemap(self, whole):
                raise Skipped("skipped/follow", url)
            tally.numbers["entries/sitemap"] += 1
            # Requests for sitemaps have a lower priority than requests for pages (0). So the
            # spider requests the pages of a sitemap before it reads many more sitemaps.
            request = Request(url, self._parse_sitemap, meta=meta, priority=-1)
            self._feed.check.note_checked(request, response.url)
            return request
        # `sitemap_scope` and `sitemap_rules` may exclude most URLs of a file. Raising `Skipped` for
        # each of these URLs would be slow, so the URLs are counted here.
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
    """Return the URL of a file for the log.

    After a redirect, the result contains the URL that was requested first and the URL to which it
    was redirected, as in "http://a.example/s.xml (redirected to https://a.example/s.xml)".
    """
    asked_for = file.meta.get("redirect_urls", [file.url])[0]
    if asked_for == file.url:
        return file.url
    return f"{asked_for} (redirected to {file.url})"


class _Tally:
    """Counts the URLs of one sitemap file, and adds the numbers to the stats from time to time.

    A file may list 50,000 URLs. Changing a stat and logging a line for each of them would take
    longer than reading the file.

    Args:
        crawler: the crawl.
        file: the URL of the file, for the log.

    Attributes:
        numbers: the numbers that still have to be added to the stats. The keys are the names of the
            stats without the prefix `gbot_robots/sitemaps/`.
    """

    def __init__(self, crawler: Crawler, file: str) -> None:
        self._crawler = crawler
        self._file = file
        self.numbers: Counter[str] = Counter()
        # For each `Skipped.stat`, the number of skipped URLs that the stats do not include yet.
        self._new: Counter[str] = Counter()
        # For each `Skipped.stat`, the number of skipped URLs that the stats already include.
        self._skipped: Counter[str] = Counter()
        # For each `Skipped.stat`, the first URL that was skipped. It is shown in the log.
        self._first: dict[str, Skipped] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Add the remaining numbers to the stats. Log a line for each rule that applied."""
        self.count()
        for stat, first in self._first.items():
            others = self._skipped[stat] - 1
            more = ""
            if others:
                more = f" (and {others:,} more)"
            logger.debug("%s: %s%s", self._file, first, more)

    def skip(self, stat: str, url: str, rule: str) -> None:
        """Count a URL that is skipped. The arguments are the same as for `Skipped`."""
        if stat not in self._first:
            self._first[stat] = Skipped(stat, url, rule)
        self._new[stat] += 1

    def count(self) -> None:
        """Add the numbers to the stats, and reset them to zero."""
        for stat in self._new:
            self.numbers[f"entries/{self._first[stat].reason}"] += self._new[stat]
        for name in self.numbers:
            add_to_stat(self._crawler, name, self.numbers[name])
        self.numbers.clear()
        self._skipped += self._new
        self._new.clear()


def _why_without(status: int, listed: Mapping[str, str], guessed: Mapping[str, str]) -> str:
    """Return the reason why a host has no sitemap, as a string for the log.

    Args:
        status: the status code of the host's robots.txt.
        listed: a dict from the URL of each sitemap in the robots.txt to its fate.
        guessed: a dict from the URL of each guess (a path of `sitemap_guess`) to its fate.
    """
    why = f"its robots.txt has status {status}"
    if status in _OK:
        why = "its robots.txt lists no usable sitemap"
    if listed:
        parts = [f"{url}, which {fate}" for url, fate in listed.items()]
        why = f"its robots.txt lists only {' and '.join(parts[:_MOST_TOLD])}"
        if len(parts) > _MOST_TOLD:
            why += f" and {len(parts) - _MOST_TOLD} more"
    return "; ".join([why, *(f"{url} {fate}" for url, fate in guessed.items())])
