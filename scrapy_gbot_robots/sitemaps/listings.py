"""What each robots.txt of a crawl lists: which sitemaps may be fed, and which of them are new.

`SitemapDiscovery` and `RobotsSitemapSpider` share this record. Its memory is bounded.
Source: Google's page, "sitemap".
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from ..concurrency import run_in_thread
from .feed import SitemapStats
from .urls import SitemapChoice, UrlCheck

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from ..core.origin import Origin
    from ..core.robots import RobotsTxt
    from ..settings import GbotSettings
    from .urls import FoundSitemap

_MOST_CHARS = 16 * 2**20  # of all URLs that are kept

logger = logging.getLogger(__name__)


class _Listing(NamedTuple):
    """What the robots.txt of one origin lists."""

    sitemaps: tuple[FoundSitemap, ...]  # by the last reading
    taken: int  # how many were new, over all readings

    @property
    def chars(self) -> int:
        return sum(len(sitemap.url) for sitemap in self.sitemaps)


class Listings:
    """The sitemap lines of one crawl's robots.txt files, for at most `GBOT_ROBOTS_CACHE_SIZE` origins."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._settings = settings
        self._stats = SitemapStats(crawler)
        self._check = UrlCheck.of(settings, crawler.settings)
        self._listings: OrderedDict[Origin, _Listing] = OrderedDict()
        self._chars = 0

    def found(self) -> Mapping[str, list[str]]:
        """The URLs of sitemaps, by the URL of the robots.txt that lists them. Origins read last come last."""
        return {
            origin.robots_url: [sitemap.url for sitemap in listing.sitemaps]
            for origin, listing in self._listings.items()
            if listing.sitemaps
        }

    def concerns(self, origin: Origin, robotstxt: RobotsTxt) -> bool:
        """Whether the robots.txt of `origin` may list sitemaps now, or did before."""
        return robotstxt.may_list_sitemaps or origin in self._listings

    async def read(
        self, origin: Origin, robotstxt: RobotsTxt, log_level: int = logging.INFO
    ) -> tuple[SitemapChoice, tuple[FoundSitemap, ...]]:
        """Read the sitemap lines of the robots.txt of `origin`. Log the lines that are not used with `log_level`.

        Returns:
            What became of the lines, and the sitemaps that are new: those that no earlier call returned.
        """
        check = self._check
        if robotstxt.may_list_sitemaps:
            choice = await run_in_thread(lambda: check.choose(origin, robotstxt.sitemap_lines))
        else:
            choice = check.choose(origin, ())
        before = self._listings.pop(origin, None)
        if before is None:
            self._count_lines(choice)
            _log_lines(origin, choice, check.most, log_level)
            new, taken = choice.sitemaps, 0
        else:
            self._chars -= before.chars
            new, taken = self._more(before, choice), before.taken
        self._keep(origin, _Listing(choice.sitemaps, taken + len(new)))
        return choice, new

    def _more(self, before: _Listing, choice: SitemapChoice) -> tuple[FoundSitemap, ...]:
        """The sitemaps that a robots.txt has gained since it was last read, up to GBOT_ROBOTS_SITEMAPS_MAX in total."""
        known = {sitemap.url for sitemap in before.sitemaps}
        more = tuple(sitemap for sitemap in choice.sitemaps if sitemap.url not in known)
        new = more[: max(0, self._settings.sitemaps_max - before.taken)]
        self._stats.count("found", len(more))
        self._stats.count("capped", len(more) - len(new))
        return new

    def _keep(self, origin: Origin, listing: _Listing) -> None:
        self._listings[origin] = listing
        self._chars += listing.chars
        while len(self._listings) > self._settings.cache_size or self._chars > _MOST_CHARS:
            _, dropped = self._listings.popitem(last=False)
            self._chars -= dropped.chars

    def _count_lines(self, choice: SitemapChoice) -> None:
        self._stats.count("found", choice.found)
        self._stats.count("duplicate", choice.duplicate)
        self._stats.count("capped", choice.capped)
        for reason, count in choice.refused.items():
            self._stats.refused(reason, count)


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
