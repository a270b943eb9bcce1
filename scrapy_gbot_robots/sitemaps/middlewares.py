"""Two middlewares that make it safe to feed sitemaps to a SitemapSpider.

They are off for all other spiders.

The spider middleware makes a spider without start requests start from robots.txt files. It drops
requests with which a document from the network leads to the local machine. It leaves all other
requests of the spider as they are.

When the spider itself requests a robots.txt, the downloader middleware gives it only the sitemap
lines that this plugin accepts, or no line if the plugin has already fed those sitemaps. It checks
whether a sitemap may be at its URL, and counts what became of the sitemap.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response, TextResponse
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from typing_extensions import Self

from ..concurrency import run_in_thread, within
from ..core.robots import sitemap_lines_of
from ..core.urls import Origin, as_text, origin_of_robots_txt
from ..engine import sitemap_callback
from ..exceptions import ForbiddenByRobotsTxt
from ..fetching.private_hosts import leads_inside
from ..meta import ANSWERED, CHECKED, SITEMAP
from ..settings import GbotSettings
from .discovery import (
    SitemapDiscovery,
    add_to_stat,
    feeds_itself,
    may_be_fed,
    reads_sitemap,
)
from .urls import Skipped, UrlCheck, check_machine

_OK = range(200, 300)

logger = logging.getLogger(__name__)


class _SitemapSkipped(IgnoreRequest):
    """A sitemap was skipped because of its URL. It is counted already."""


class SitemapSpiderMiddleware(BaseSpiderMiddleware):
    """Checks the input and output of a SitemapSpider to which sitemaps are fed."""

    def __init__(self, crawler: Crawler) -> None:
        """Make the middleware.

        Raises:
            NotConfigured: no sitemaps are fed to this spider, or GBOT_ROBOTS_SITEMAPS is neither
            "auto" nor "feed".
        """
        super().__init__(crawler)
        discovery = crawler.get_extension(SitemapDiscovery)
        if discovery is None or not discovery.feed.may_feed:
            raise NotConfigured
        self._feed = discovery.feed

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Start a spider without start requests from the robots.txt files of its `start_urls`.

        If it has no `start_urls`, use its `allowed_domains`, by https. Scrapy alone would request
        nothing. If the spider is not to be fed, it gets no start requests.
        """
        has_requests = False
        async for output in start:
            if isinstance(output, Request):
                has_requests = True
                if not self._reads_robots_txt(output):
                    self._feed.leads_on = True
            yield output
        spider: Any = self.crawler.spider
        if has_requests or not self._feed.is_open:
            return
        for origin in self._feed.home:
            url = origin.robots_url
            meta = {SITEMAP: {"robotstxt": url, "line": 0}, CHECKED: url}
            yield Request(url, sitemap_callback(spider), meta=meta)

    def _reads_robots_txt(self, request: Request) -> bool:
        """Whether the spider itself reads the sitemap lines of the robots.txt of `request`."""
        is_robots_txt = origin_of_robots_txt(request.url) is not None
        return is_robots_txt and reads_sitemap(self.crawler, request)

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Check a request that the spider's code makes from a sitemap or robots.txt.

        Return the request, or None if its URL may not be followed; that is counted and logged. Note
        in the meta of a request for a sitemap which file lists it. Let the sitemap be offsite if
        that file is a robots.txt, or a sitemap index on the sitemap's own host. All other requests
        pass as they are.
        """
        check = self._feed.check
        if response is None or not reads_sitemap(self.crawler, response.request):
            return request
        # URLs that a file on the spider's own disk lists are not checked.
        if response.url.partition(":")[0] not in check.schemes:
            return request
        is_sitemap = reads_sitemap(self.crawler, request)
        try:
            _, _, origin = check.listed(request.url, response.url)
            _forget_file(request)
            if is_sitemap:
                request.meta[SITEMAP] = source = check.below(request.url, response)
                check.note_checked(request, response.url)
                # Source: sitemaps.org, "Sitemap index files".
                if not source["level"] or origin.host == Origin.of(response.url).host:
                    request.meta.setdefault("allow_offsite", True)
        except Skipped as skipped:
            if is_sitemap:
                add_to_stat(self.crawler, skipped.stat)
            else:
                add_to_stat(self.crawler, f"entries/{skipped.reason}")
            logger.info("%s: %s", response.url, skipped)
            return None
        self._feed.leads_on = True
        return request


class SitemapDownloaderMiddleware:
    """Skips sitemaps at URLs where they may not be, and rewrites robots.txt files for spiders.

    It counts sitemaps that are disallowed or could not be fetched. If a SitemapSpider itself
    requests a robots.txt, the response contains the sitemap lines that this plugin finds in it.

    It must stand before the middlewares that retry or redirect, so that it sees the URL of each
    redirect, and only the last response to a request. The add-on puts it there.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self.crawler = crawler
        self._settings = settings
        self._check = UrlCheck.of(settings, crawler.settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware.

        Raises:
            NotConfigured: no sitemaps are fed to this spider, and it is not a
            RobotsSitemapSpider.
        """
        settings = GbotSettings.of(crawler.settings)
        if not (may_be_fed(crawler, settings) or feeds_itself(crawler)):
            raise NotConfigured
        return cls(crawler, settings)

    async def process_request(self, request: Request) -> None:
        """Check the URL of a sitemap that a file lists, or to which a redirect leads.

        Raises:
            IgnoreRequest: the sitemap may not be at this URL; it is counted and logged.
        """
        source = request.meta.get(SITEMAP, {})
        if not source and not reads_sitemap(self.crawler, request):
            return
        listed_at = source.get("index", source.get("robotstxt"))
        found_at = request.meta.get("redirect_urls", [listed_at])[-1]
        if not found_at:  # The user named the sitemap, and no redirect led to it.
            return
        try:
            self._check.listed(request.url)  # A redirect may lead to an impossible host.
            self._check.check_host(request.url, source.get("robotstxt"))
            check_machine(request.url, found_at)
            await self._check_address(request.url, found_at)
        except Skipped as skipped:
            add_to_stat(self.crawler, skipped.stat)
            logger.info("%s: %s", found_at, skipped)
            raise _SitemapSkipped(str(skipped)) from None

    async def _check_address(self, url: str, found_at: str) -> None:
        """Check that a URL from a public host does not lead to a private address.

        Raises:
            Skipped: it leads there ("private"), or its host takes too long to resolve.
        """
        if not self._check.denies_private:
            return
        try:
            is_inside = await within(self._settings.timeout_secs, leads_inside(url, found_at))
        except TimeoutError:  # The host may have any address.
            is_inside = True
        if is_inside:
            raise Skipped("skipped/private", url)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Count a listed sitemap whose response has an error status; rewrite a robots.txt.

        A robots.txt for the spider's code keeps only its sitemap lines, as `_sitemap_lines` returns
        them, or no line if the feed has them already. Skipped lines are counted.
        """
        if response.status not in _OK:
            if _is_fed_or_of_an_index(request):
                add_to_stat(self.crawler, "failed")
            return response
        if origin_of_robots_txt(response.url) is None or not reads_sitemap(self.crawler, request):
            return response
        lines: list[str] = []
        # In all other cases the feed has the lines already.
        if SITEMAP not in request.meta or ANSWERED not in response.flags:
            lines, skips = await run_in_thread(self._sitemap_lines, response)
            for skipped in skips:
                add_to_stat(self.crawler, skipped.stat)
            if skips:
                logger.info("%s: %s", response.url, skips[0])
        return response.replace(cls=TextResponse, body="".join(lines), encoding="utf-8")

    def _sitemap_lines(self, response: Response) -> tuple[list[str], list[Skipped]]:
        """Return the sitemap lines of a robots.txt, with URLs as requested, and the skipped ones.

        Scrapy's reader would miss some of the original lines, and fail on others. As in Scrapy, the
        number of lines is not limited, they may name any host, and relative URLs are resolved.
        """
        lines, skips = [], []
        for line in sitemap_lines_of(self._settings.parse(response.body)):
            try:
                _, url, _ = self._check.listed(as_text(line.raw), response.url)
            except Skipped as skipped:
                skips.append(skipped)
                continue
            lines.append(f"Sitemap: {url}\n")
        return lines, skips

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Count a listed sitemap that is disallowed or could not be fetched."""
        if _is_fed_or_of_an_index(request):
            if isinstance(exception, ForbiddenByRobotsTxt):
                add_to_stat(self.crawler, "disallowed")
            elif not isinstance(exception, _SitemapSkipped):
                add_to_stat(self.crawler, "failed")


def _is_fed_or_of_an_index(request: Request) -> bool:
    """Whether the plugin has fed the sitemap, or a sitemap index lists it.

    A sitemap that the spider itself finds in a robots.txt is neither, nor is a guessed one.
    """
    source = request.meta.get(SITEMAP, {})
    return bool(source.get("line") or source.get("level"))


def _forget_file(request: Request) -> None:
    """Remove keys that code may have copied from the meta of the file that lists the URL."""
    request.meta.pop(CHECKED, None)
    if request.meta.pop(SITEMAP, None) is not None:
        request.meta.pop("allow_offsite", None)
