"""RobotsSitemapSpider takes nothing but hosts, and crawls the pages that their sitemaps list.

Each host's robots.txt lists its sitemaps. The answers of `obeying` reach the spider as responses.
`SitemapFeed` schedules the sitemaps. A sitemap file becomes requests while it is read, so the first
request goes out before the last entry is found.
Source: sitemaps.org's protocol and Scrapy's SitemapSpider.
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

# How many bytes of a sitemap file may be downloaded. Of a file that is a little too long, the first
# MAX_BYTES are used.
MOST_DOWNLOADED = 2 * MAX_BYTES

_OK = range(200, 300)
_TROUBLE = frozenset({429, *range(500, 1000)})
_IDLE_POLL_SECS = 0.1
# How many hosts are asked at a time, each over a connection of its own. The list of hosts is not
# read further ahead.
_MOST_ASKED = 100
# How many requests are made before the reactor runs. The number is small, because to schedule a
# request takes longer than to make it.
_TURN_REQUESTS = 5
_TURN_SECS = 0.001  # For how many seconds entries are read before the reactor runs.
# Scrapy's signals for which the spider has handlers: methods of these names, with a "_" before.
_HEARD = "request_dropped response_received spider_opened spider_closed".split()
# The fate of a sitemap that lists anything. Any other fate is a text that explains why it does not.
_FOUND = ""
_MOST_TOLD = 3  # How many sitemaps of a robots.txt are named in the reason for a host.
_MOST_WHY = 2_000  # How many characters of that reason are logged.

# What may become of a URL that a sitemap file lists, with the words for it in the last line of the
# log. The stats "gbot_robots/sitemaps/entries/..." count each fate but "lost", which is the rest.
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
    `sitemap_alternate_links`, `sitemap_filter`, and `sitemap_urls` beside the hosts.
    For each page, `request.meta[meta.LISTED]` contains the sitemap that lists the page, and the
    date of the page's last change.

    Attributes (of the class, or arguments `-a name=value`):
        hosts: a list, or text with commas: `example.org`, `example.org:8080` or a URL.
        hosts_file: path of a file with a host on each line; "#" begins a comment.
        sitemap_scope: "hosts" crawls pages only on the given hosts, with or without "www.", and on
            their subdomains. "any" crawls them on all hosts. The stat
            `gbot_robots/sitemaps/entries/host` counts the pages that are skipped.
        sitemap_guess: whether `/sitemap.xml` is tried on a host that lists no sitemap; or a list,
            or text with commas, of the paths that are tried in order until one lists anything.
            "common" tries seven paths at which software puts sitemaps.
        sitemap_since: a day, a month or a year, such as 2026-01-31 or 2026-01. Pages and sitemaps
            are skipped if the file that lists them gives an earlier date for their last change.
    """

    hosts: str | Sequence[str] = ()
    hosts_file: str | Path | None = None
    sitemap_scope: str = "hosts"
    sitemap_guess: bool | str | Sequence[str] = False
    sitemap_since: str | None = None

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
        # The hosts, as written, whose robots.txt was requested and has neither come nor failed; at
        # most `_MOST_ASKED`. In a resumed crawl a host may still be in the queue. Then the
        # duplicate filter drops its request, and `_request_dropped` removes the host from here.
        self._asked: set[str] = set()
        self._files = number()  # This gives each sitemap file a number when it is begun.
        self._first_without = ""  # The first host without a sitemap and why, for the last line.

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Raise SCRAPER_SLOT_MAX_ACTIVE_SIZE, unless it is set.

        With Scrapy's default of 5 MB, no request would go out while a large sitemap is read.
        """
        super().update_settings(settings)
        # A project's settings have a higher priority than "addon".
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
        """Take the feed of the crawl, bound the size of sitemap files, and read the scope."""
        self._gbot = GbotSettings.of(self.settings)
        discovery = self.crawler.get_extension(SitemapDiscovery)
        if discovery is None:  # GBOT_ROBOTS_SITEMAPS is "off", or the add-on is not used.
            discovery = SitemapDiscovery(self.crawler, self._gbot)
        self._feed = discovery.feed
        # The feed has the same dict, so its own requests get this limit, too.
        self._meta = self._feed.request_meta
        of_project = self.settings.getint("DOWNLOAD_MAXSIZE") or MOST_DOWNLOADED
        self._meta["download_maxsize"] = min(of_project, MOST_DOWNLOADED)
        self.crawler.signals.connect(self._request_forbidden, request_forbidden)
        self._scope = await run_in_thread(scope_of, chain(self._names(), self.sitemap_urls))

    def _spider_closed(self) -> None:
        """Log how many hosts have no sitemap, and what became of the URLs of the other hosts.

        The first host without a sitemap is named, with the reason.
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
        """Count a page that a sitemap lists as crawled."""
        self._count_fate("crawled", request)

    def _request_forbidden(self, request: Request) -> None:
        """Count a page that a sitemap lists as forbidden."""
        self._count_fate("forbidden", request)

    def _count_fate(self, fate: str, request: Request) -> None:
        """Count once what became of a page that a sitemap lists.

        The first call removes the mark from the request's meta, so later requests with a copy of
        that meta are not counted.
        """
        add_to_stat(self.crawler, f"entries/{fate}", request.meta.pop(UNCOUNTED, False))

    def _names(self) -> Iterator[str]:
        """Yield the hosts as written: robots.txt files in `sitemap_urls` first, then the others."""
        yield from filter(origin_of_robots_txt, self.sitemap_urls)
        yield from given_in(self.hosts, self.hosts_file)

    async def start(self) -> AsyncIterator[Any]:
        """Request the sitemaps that the user names, then robots.txt files, a hundred at a time."""
        for url in self.sitemap_urls:
            if origin_of_robots_txt(url) is None:
                yield Request(url, self._parse_sitemap, meta={**self._meta})
        for text in self._names():
            # In an idle crawl no response will come that would remove a host from `_asked`.
            while len(self._asked) >= _MOST_ASKED and not is_idle(self.crawler):
                await pause(_IDLE_POLL_SECS)
            self._asked.add(text)
            try:
                yield self._robots_request(text)
            except ValueError as error:
                self._report("invalid", text, str(error))

    def on_host_without_sitemap(self, host: str, why: str) -> None:
        """Log a host that leads to no sitemap. May be overridden.

        Args:
            host: as the user wrote it.
            why: the reason, in words.
        """
        self.logger.info("%s leads to no sitemap: %s", shown(host), shown(why, _MOST_WHY))

    def _robots_request(self, host: str, number: int = 0) -> Request:
        """Return the request for the robots.txt of a host, as the user wrote it.

        A host may have several origins, one with https and one with http. `number` is the index of
        the one to try.

        Raises:
            ValueError: `host` is not a host.
        """
        origins = origins_of(host)
        # With PROBE, nothing waits for a host that does not answer to one of several schemes.
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
        """Feed the sitemaps that a host's robots.txt lists; if it lists none, yield a guess.

        Report what became of the host. It has no sitemap if its robots.txt means full disallow, or
        if its server fails. Flags of the response show what the robots.txt means to this crawl. If
        the flag `ANSWERED` is missing, nothing has judged the robots.txt, and the status decides.
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
        # A line without an absolute URL may mean one of the guesses.
        lead = {"host": host, "number": len(new), "is_partial": bool(counts["skipped/malformed"])}
        for sitemap in new:
            for guess in await self._request_listed(sitemap, lead):
                yield guess

    async def _request_listed(
        self, sitemap: FoundSitemap, lead: Mapping[str, Any]
    ) -> Iterator[Request]:
        """Request one of the sitemaps that the robots.txt of a host lists.

        `lead` has all arguments of `_listed_ended` but the URLs and the fate. If the user skips the
        sitemap, or replaces its request, the fate is known already, so return the requests that
        follow from it.
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
        """Note the fate of a sitemap that a host's robots.txt lists; after the last, guess.

        The host counts as "listed" when the first of its sitemaps turns out to list anything. If
        none of them does, or if the robots.txt has lines that are not understood (`is_partial`),
        guesses are tried.

        Args:
            fate: `_FOUND`, or in words why the sitemap lists nothing.
            host: the host, as the user wrote it.
            robots_url: the URL of the host's robots.txt.
            url: the URL of the sitemap.
            number: how many sitemaps the robots.txt lists.
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
        """For each host, the known fates of its listed sitemaps by URL, until all are known.

        With a JOBDIR the next run starts with the same fates, because Scrapy keeps the spider's
        `state`.
        """
        state: dict[str, Any] = {}
        if self.settings.get("JOBDIR"):
            state = getattr(self, "state", state)
        fates: dict[str, dict[str, str]] = state.setdefault("gbot_robots_sitemaps", {})
        return fates

    def _robots_txt_failed(self, failure: Any) -> Iterator[Request]:
        """Try the host's next origin. After the last one, report why the host has no sitemap."""
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
        """Yield the request for the first guess, if there are any.

        `status` is the status code of the robots.txt, and `listed` has the fates of the sitemaps
        that the robots.txt lists.
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
        """Yield the request for the first of the guesses that are `left`.

        If none is left, report why the host has no sitemap, unless a listed one was found.
        `listed` and `guessed` have the fates of sitemaps by URL.
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
        """Note the fate of a sitemap; return the requests that follow from that.

        Args:
            fate: `_FOUND`, or in words why the sitemap lists nothing.
            lead: the arguments of `_listed_ended`, if a robots.txt lists the sitemap.
            guess: the arguments of `_guess`, if the sitemap was guessed.
            url: the URL of a guessed sitemap.
        """
        if lead is not None:
            return self._listed_ended(fate, **lead)
        if guess is None or fate == _FOUND:
            return iter(())
        guessed = {**guess["guessed"], url: fate}
        return self._guess(**{**guess, "guessed": guessed})

    def _sitemap_failed(self, failure: Any) -> Iterator[Request]:
        """Note why the sitemap of a host could not be fetched."""
        request = failure.request
        fate = f"could not be fetched: {failure.value}"
        if "lead" in request.cb_kwargs:
            lead = request.cb_kwargs["lead"]
            logger.warning("%s, which %s lists, %s", lead["url"], lead["robots_url"], shown(fate))
        return self._ended(fate, **request.cb_kwargs)

    async def _parse_sitemap(self, response: Response, **origin: Any) -> AsyncIterator[Request]:  # type: ignore[override]
        """Yield requests for the URLs of a sitemap, then the requests that follow from its fate.

        `origin` has the arguments of `_ended`, if the sitemap was guessed or a robots.txt lists it.
        """
        reader = SitemapReader(response.body)
        async for request in self._requests(reader, response):
            yield request
        add_to_stat(self.crawler, "read", reader.is_understood and response.status in _OK)
        add_to_stat(self.crawler, "entries/broken", reader.broken)
        if "guess" not in origin:
            self._report_unread(reader, response)
        fate = "lists nothing"
        if reader.entries:  # A sitemap counts as found even if all its entries are skipped.
            fate = _FOUND
        for request in self._ended(fate, **origin):
            yield request

    def _report_unread(self, reader: SitemapReader, response: Response) -> None:
        """Log which entries of a file could not be read. If reading ended early, it has failed.

        A file that came with an error status is counted as failed already.
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
        """Count a host, let `start` ask another one, and report why this one has no sitemap.

        The outcome is "listed", "guessed", "without", "unreachable", "denied" or "invalid". A host
        may be "without" after it was "guessed".
        """
        self._asked.discard(host)
        self.crawler.stats.inc_value(f"gbot_robots/hosts/{outcome}")
        if outcome == "without" and not self._first_without:
            self._first_without = f" ({shown(host)}: {shown(why)})"
        if why:
            self.on_host_without_sitemap(host, why)

    def _request_dropped(self, request: Request) -> None:
        """Count a listed URL that the duplicate filter drops, and note what follows from it.

        An earlier run may have requested the robots.txt of a host, so `start` does not wait for it.
        A dropped sitemap counts as found, because another host has listed it before.
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
        """Yield a request for each page or sitemap that the file lists, while it is read.

        The spider's `sitemap_filter` gets sitemaps and pages alike. In a file with both, an entry
        that the filter yields is taken for the kind of entry that was read last.
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
        """Wait until fewer than GBOT_ROBOTS_SITEMAPS_AHEAD pages are left in a download slot.

        It is the slot of `request`, the last request that the file has led to. `file` is the file's
        number, in the order in which files are begun. If requests wait on disk, or in a queue that
        is not Scrapy's, the file is read to its end at once.

        Returns:
            False if the crawl closes, because the requests for the rest of the file would be lost.
        """
        most = self._gbot.sitemaps_ahead
        backlog = pages_ahead(self.crawler)
        if not most or backlog is None or request is None:
            return True
        return await backlog.wait(request, most, file)

    def _requests_of(
        self, entry: SitemapEntry, response: Response, tally: _Tally, *, is_sitemap: bool
    ) -> list[Request]:
        """Return the requests for the URLs of an entry, or none if it is too old.

        An entry is too old if it was changed before `sitemap_since`.
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
        """Return the request for one URL of a file, or None if the spider's attributes skip it.

        As in Scrapy, the spider's patterns are matched against the URL as it stands in the file.

        Raises:
            Skipped: the URL must not be followed.
        """
        whole, url, origin = self._feed.check.listed(loc, response.url)
        if is_sitemap:
            meta = {**self._meta, SITEMAP: self._feed.check.below(url, response)}
            if not follows_sitemap(self, whole):
                raise Skipped("skipped/follow", url)
            tally.numbers["entries/sitemap"] += 1
            # The pages come first, so that files are not read ahead of them.
            request = Request(url, self._parse_sitemap, meta=meta, priority=-1)
            self._feed.check.note_checked(request, response.url)
            return request
        # These rules may skip nearly all URLs of a file. An exception for each would take too long.
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
    """Return the URL that was requested and, after a redirect, the URL of the file itself."""
    asked_for = file.meta.get("redirect_urls", [file.url])[0]
    if asked_for == file.url:
        return file.url
    return f"{asked_for} (redirected to {file.url})"


class _Tally:
    """Collects what becomes of the URLs of one sitemap file, for the stats and the log.

    A file may list 50,000 URLs. To change a stat and write a log line for each would take longer
    than to read the file.
    """

    def __init__(self, crawler: Crawler, file: str) -> None:
        self._crawler = crawler
        self._file = file  # The file's name in the log.
        self.numbers: Counter[str] = Counter()  # What is not in the stats yet, by stat.
        self._new: Counter[str] = Counter()  # Skipped URLs that are not in the stats yet.
        self._skipped: Counter[str] = Counter()  # All skipped URLs of the file.
        self._first: dict[str, Skipped] = {}  # The first skipped URL, by stat.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Add the rest to the stats, and log one line for each reason why URLs were skipped."""
        self.count()
        for stat, first in self._first.items():
            others = self._skipped[stat] - 1
            more = ""
            if others:
                more = f" (and {others:,} more)"
            logger.debug("%s: %s%s", self._file, first, more)

    def skip(self, stat: str, url: str, rule: str) -> None:
        """Note a URL that is not followed; the arguments are the arguments of `Skipped`."""
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
    """Return in words why a host has no sitemap.

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
