"""Turns a sitemap file into requests while it is read: the first goes out before the last entry is found.

The room `sitemap_files` reads the file, `sitemaps.urls` decides which URLs are followed.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.spiders import SitemapSpider
from scrapy.spiders.sitemap import iterloc
from w3lib.encoding import http_content_type_encoding

from ..concurrency import pause
from ..core.origin import Origin
from ..core.urls import shown
from ..engine import follows_sitemap, page_callback, sitemap_callback
from ..meta import LISTED, SITEMAP
from ..sitemap_files.lastmod import latest
from ..sitemap_files.reader import MAX_BYTES, MAX_ENTRIES, SitemapReader
from ..sitemaps.feed import SitemapStats
from ..sitemaps.urls import Refused, UrlCheck

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
    from datetime import datetime

    from scrapy.http import Response

    from ..sitemap_files.xml import SitemapEntry
    from .hosts import HostScope

ROOM = 2 * MAX_BYTES  # bytes that may be downloaded: of a file that is a little too long, MAX_BYTES are used

_TURN_SECS = 0.001  # how long a file is read before the reactor runs
_TURN_REQUESTS = 5  # how many requests are made before the reactor runs: scheduling takes longer than making one
_GZIPS = frozenset({b"gzip", b"x-gzip"})  # content codings that SitemapReader undoes
_NO_SOURCE: dict[str, Any] = {"robotstxt": "", "line": 0}  # meta.SITEMAP of a sitemap that no robots.txt lists

logger = logging.getLogger(__name__)


class SitemapIntake:
    """Turns the sitemap files of one spider into requests.

    Attributes:
        scope: the hosts that pages may be on; None for any.
        request_meta: the meta of each request for a sitemap file.
        files: how many files have been read.
        pages: how many requests for pages were made from these files.
    """

    def __init__(self, spider: SitemapSpider, check: UrlCheck, since: datetime | None) -> None:
        self._spider = spider
        self._check = check
        self._since = since
        self._stats = SitemapStats(spider.crawler)
        largest = spider.settings.getint("DOWNLOAD_MAXSIZE")
        self.request_meta = {
            "allow_offsite": True,  # for the file; allowed_domains hold for the pages that it lists
            "download_maxsize": min(largest or ROOM, ROOM),
            "download_warnsize": 0,
        }
        self.scope: HostScope | None = None
        self.files = 0
        self.pages = 0
        spider.crawler.signals.connect(self._downloaded, signals.response_downloaded)

    def request(self, url: str, source: Mapping[str, Any] = _NO_SOURCE, **kwargs: Any) -> Request:
        """The request for a sitemap file. `source` becomes its `meta.SITEMAP`; `kwargs` go to Request."""
        meta = {**self.request_meta, SITEMAP: dict(source)}
        return Request(url, callback=sitemap_callback(self._spider), meta=meta, **kwargs)

    async def requests(self, response: Response) -> AsyncIterator[Request]:
        """Yield a request for each page or sitemap that the file lists, while it is read."""
        content_type = response.headers.get("Content-Type") or b""
        reader = SitemapReader(response.body, http_content_type_encoding(content_type.decode("latin-1")))
        source = response.meta.get(SITEMAP, _NO_SOURCE)
        left_out: Counter[str] = Counter()
        turn, made = time.monotonic(), 0
        for entry in self._filtered(reader):
            if entry is not None:
                for request in self._requests_of(entry, response.url, source, left_out, is_index=reader.is_index):
                    made += 1
                    yield request
            if made >= _TURN_REQUESTS or time.monotonic() - turn > _TURN_SECS:
                await pause(0)
                turn, made = time.monotonic(), 0
        self._finished(reader, response.url, source, left_out)

    def _downloaded(self, response: Response, request: Request) -> None:
        """Leave unpacking to SitemapReader. Scrapy would unpack the whole file in memory, and fail a large one."""
        codings = b",".join(response.headers.getlist("Content-Encoding")).lower().replace(b" ", b"").split(b",")
        if request.callback == sitemap_callback(self._spider) and _GZIPS.issuperset(codings):
            del response.headers["Content-Encoding"]

    def _filtered(self, reader: SitemapReader) -> Iterable[SitemapEntry | None]:
        if type(self._spider).sitemap_filter is SitemapSpider.sitemap_filter:
            return reader
        return self._spider.sitemap_filter(entry for entry in reader if entry is not None)

    def _is_old(self, entry: SitemapEntry) -> bool:
        changed = latest(entry.get("lastmod", "")) if self._since is not None else None
        return changed is not None and self._since is not None and changed < self._since

    def _requests_of(
        self, entry: SitemapEntry, file_url: str, source: Mapping[str, Any], left_out: Counter[str], *, is_index: bool
    ) -> Iterator[Request]:
        if self._is_old(entry):
            left_out["old"] += 1
            return
        for loc in iterloc([entry], self._spider.sitemap_alternate_links):
            try:
                url = self._check.listed(loc, file_url)
                request = self._sitemap_below(url, loc, file_url, source) if is_index else self._page(url, loc)
            except Refused as refusal:
                left_out[refusal.reason] += 1
                logger.debug("%s: %s", file_url, refusal)
                continue
            if request is None:
                continue
            if not is_index:
                self.pages += 1
                request.meta[LISTED] = {"sitemap": file_url, "lastmod": entry.get("lastmod", "")}
            yield request

    def _sitemap_below(self, url: str, loc: str, index_url: str, source: Mapping[str, Any]) -> Request | None:
        below = self._check.below(url, index_url, source)
        return self.request(url, below) if follows_sitemap(self._spider, loc) else None

    def _page(self, url: str, loc: str) -> Request | None:
        if self.scope is not None and not self.scope.covers(Origin.of(url)):
            raise Refused("host", f"scope is 'hosts' and this page is on another host: {shown(url)}")
        callback = page_callback(self._spider, loc)
        return None if callback is None else Request(url, callback=callback)

    def _finished(self, reader: SitemapReader, url: str, source: Mapping[str, Any], left_out: Counter[str]) -> None:
        self.files += 1
        self._stats.count("read")
        self._stats.count("entries", reader.entries)
        left_out["broken"] = reader.broken
        for reason, count in left_out.items():
            self._stats.count(f"entries/{reason}", count)
        if left_out["host"]:
            logger.info(
                "%s lists %d page%s on other hosts than the given ones. scope = 'any' crawls such pages, too",
                url,
                left_out["host"],
                "" if left_out["host"] == 1 else "s",
            )
        if reader.over_limit:
            self._stats.count("over_limit")
            logger.warning(
                "%s has more than the %d entries or %d bytes that a sitemap may have. The rest is not read",
                url,
                MAX_ENTRIES,
                MAX_BYTES,
            )
        if reader.trouble and not source.get("guessed"):
            self._stats.count("failed")
            found = f"was read only up to entry {reader.entries}" if reader.entries else "is no sitemap"
            logger.warning("%s %s: %s", url, found, shown(reader.trouble))
