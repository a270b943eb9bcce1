"""A spider middleware and a downloader middleware that check the requests of a SitemapSpider.

Both are switched off if the spider is not a SitemapSpider.

The spider middleware checks the requests that the spider makes from sitemaps. It drops requests
that the crawl must not send, for example to the local machine. If the spider has no start requests,
the middleware adds requests for robots.txt files.

The downloader middleware checks the URLs of sitemaps, and the URLs to which a server redirects
them. It counts the sitemaps that are forbidden or that cannot be fetched. If the spider itself
requests a robots.txt, the middleware removes all lines from the response except the Sitemap lines
that the crawl may follow.
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
from ..engine import refuse_as_add_on, sitemap_callback
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
    """Raised for a sitemap that is skipped because of its URL. A stat has already counted it."""


async def check_request(request: Request, check: UrlCheck, timeout_secs: float) -> None:
    """Check the URL of a request for a sitemap, unless the URL comes from the user.

    A URL comes from the user if it is in `sitemap_urls`, for example. Other URLs come from a file
    that lists the sitemap, or from a redirect.

    Args:
        request: the request. `meta.SITEMAP` in its meta shows which file lists the sitemap.
        check: the `UrlCheck` of the crawl.
        timeout_secs: how many seconds the look-up of a host may take.

    Raises:
        Skipped: the crawl must not request the URL.
    """
    finder = found_at(request)
    if not finder:
        return
    check.listed(request.url)  # After a redirect, the host of the URL may be invalid.
    check.check_host(request.url, request.meta.get(SITEMAP, {}).get("robotstxt"))
    check_machine(request.url, finder)
    if not check.denies_private:
        return
    try:
        is_inside = await within(timeout_secs, leads_inside(request.url, finder))
    except TimeoutError:  # The IP address is not known, so it may be private.
        is_inside = True
    if is_inside:
        raise Skipped("skipped/private", request.url)


def found_at(request: Request) -> str | None:
    """Return the URL that led the crawl to a sitemap.

    After a redirect, this is the URL that the server has redirected. Otherwise it is the URL of the
    file that lists the sitemap. If the URL comes from the user, return None.
    """
    source = request.meta.get(SITEMAP, {})
    listed_at: str | None = source.get("index", source.get("robotstxt"))
    urls: list[str | None] = request.meta.get("redirect_urls", [listed_at])
    return urls[-1]


class SitemapSpiderMiddleware(BaseSpiderMiddleware):
    """Checks the requests that a SitemapSpider makes from sitemaps and robots.txt files.

    If the spider has no start requests, the middleware adds requests for robots.txt files.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Make the middleware.

        Raises:
            NotConfigured: the spider is not a SitemapSpider, or it is a RobotsSitemapSpider, or
                GBOT_ROBOTS_SITEMAPS is "collect" or "off".
        """
        refuse_as_add_on(type(self), crawler)
        super().__init__(crawler)
        discovery = crawler.get_extension(SitemapDiscovery)
        if discovery is None or not discovery.feed.may_feed:
            raise NotConfigured
        self._feed = discovery.feed

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield the start requests of the spider. If there are none, request robots.txt files.

        Without start requests, the crawl would end at once. So the middleware yields a request for
        the robots.txt of each host in the spider's `start_urls` or, if there are none, in its
        `allowed_domains`.

        If the plugin does not schedule requests for the sitemaps that these robots.txt files list
        (`SitemapFeed.is_open`), the middleware adds no requests.
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
        """Return whether `request` is for a robots.txt that the spider itself reads."""
        is_robots_txt = origin_of_robots_txt(request.url) is not None
        return is_robots_txt and reads_sitemap(self.crawler, request)

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Check a request that the spider has made from a sitemap or a robots.txt.

        If the crawl must not follow the URL of the request, the URL is counted and logged, and the
        result is None. Otherwise the result is the request. A request that the spider has made from
        any other response is not checked.

        If the request is for a sitemap, this method adds the URL of the file that lists the sitemap
        to the meta of the request. The spider's `allowed_domains` do not apply to a sitemap that a
        robots.txt lists, or that a sitemap index on the same host lists.
        """
        check = self._feed.check
        if response is None or not reads_sitemap(self.crawler, response.request):
            return request
        # A file on the local disk ("file:") was chosen by the user, so its URLs are not checked.
        if response.url.partition(":")[0] not in check.schemes:
            return request
        is_sitemap = reads_sitemap(self.crawler, request)
        try:
            _, _, origin = check.listed(request.url, response.url)
            _forget_file(request)
            if is_sitemap:
                request.meta[SITEMAP] = source = check.below(request.url, response)
                check.note_checked(request, response.url)
                # A sitemap index should list only sitemaps on its own host (sitemaps.org, "Sitemap
                # index files"). So `allowed_domains` apply to a sitemap on a different host.
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
    """Checks the URLs of sitemaps before they are requested, and counts sitemaps that fail.

    If a SitemapSpider itself requests a robots.txt, the middleware replaces the body of the
    response with the Sitemap lines that the crawl may follow.

    The add-on puts the middleware nearer to the engine than Scrapy's middlewares that retry and
    redirect. So after each redirect, the middleware gets the new request. If Scrapy retries a
    request, the middleware gets only the last response.

    Args:
        crawler: the crawl.
        settings: the settings of the crawl.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self.crawler = crawler
        self._settings = settings
        self._check = UrlCheck.of(settings, crawler.settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware.

        Raises:
            NotConfigured: the spider is not a SitemapSpider; or GBOT_ROBOTS_SITEMAPS is "collect"
                or "off", and the spider is not a RobotsSitemapSpider.
        """
        refuse_as_add_on(cls, crawler)
        settings = GbotSettings.of(crawler.settings)
        if not (may_be_fed(crawler, settings) or feeds_itself(crawler)):
            raise NotConfigured
        return cls(crawler, settings)

    async def process_request(self, request: Request) -> None:
        """Check the URL if `request` is for a sitemap.

        A URL that comes from the user, for example from `sitemap_urls`, is not checked. But if the
        server redirects it, the new URL is checked.

        Raises:
            IgnoreRequest: the crawl must not request this URL. The sitemap is counted and logged.
        """
        if not request.meta.get(SITEMAP) and not reads_sitemap(self.crawler, request):
            return
        try:
            await check_request(request, self._check, self._settings.timeout_secs)
        except Skipped as skipped:
            add_to_stat(self.crawler, skipped.stat)
            logger.info("%s: %s", found_at(request), skipped)
            raise _SitemapSkipped(str(skipped)) from None

    async def process_response(self, request: Request, response: Response) -> Response:
        """Count a sitemap that has an error status, or shorten a robots.txt for the spider.

        A sitemap is counted only if a robots.txt or a sitemap index lists it.

        If the response is a robots.txt that the spider itself reads, its new body contains only the
        lines that `_sitemap_lines` returns. If the plugin has already scheduled requests for the
        sitemaps in these lines, the new body is empty.
        """
        if response.status not in _OK:
            if _is_fed_or_of_an_index(request):
                add_to_stat(self.crawler, "failed")
            return response
        if origin_of_robots_txt(response.url) is None or not reads_sitemap(self.crawler, request):
            return response
        lines: list[str] = []
        # The `SitemapFeed` has already read the Sitemap lines if two conditions are true. First,
        # `process_start` has requested the robots.txt, so the meta has the key SITEMAP. Second, the
        # crawl already had the robots.txt, so the response has the flag ANSWERED.
        if SITEMAP not in request.meta or ANSWERED not in response.flags:
            lines, skips = await run_in_thread(self._sitemap_lines, response)
            for skipped in skips:
                add_to_stat(self.crawler, skipped.stat)
            if skips:
                logger.info("%s: %s", response.url, skips[0])
        return response.replace(cls=TextResponse, body="".join(lines), encoding="utf-8")

    def _sitemap_lines(self, response: Response) -> tuple[list[str], list[Skipped]]:
        """Return the Sitemap lines of a robots.txt, and an exception for each line that is skipped.

        Scrapy's SitemapSpider cannot read every Sitemap line that is valid for Google. So each line
        is written anew with an absolute, percent-encoded URL. As in Scrapy, the number of lines is
        not limited, and the sitemaps may be on any host.
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
        """Count a sitemap that is forbidden or could not be fetched.

        The sitemap is counted only if a robots.txt or a sitemap index lists it.
        """
        if _is_fed_or_of_an_index(request):
            if isinstance(exception, ForbiddenByRobotsTxt):
                add_to_stat(self.crawler, "disallowed")
            elif not isinstance(exception, _SitemapSkipped):
                add_to_stat(self.crawler, "failed")


def _is_fed_or_of_an_index(request: Request) -> bool:
    """Whether `request` is for a sitemap that the plugin has found, or that a sitemap index lists.

    The plugin finds sitemaps in robots.txt files. The result is False if the spider itself has
    found the sitemap in a robots.txt, or if the URL is only a guess (a path of `sitemap_guess`).
    """
    source = request.meta.get(SITEMAP, {})
    return bool(source.get("line") or source.get("level"))


def _forget_file(request: Request) -> None:
    """Remove the plugin's keys from the meta of a request that the spider has made.

    The spider may have copied the meta of the sitemap from which it has made the request.
    """
    request.meta.pop(CHECKED, None)
    if request.meta.pop(SITEMAP, None) is not None:
        request.meta.pop("allow_offsite", None)
