"""`scrapy crawl discover -a hosts=example.org,example.net`: crawl what the sitemaps in these hosts' robots.txt list.

More arguments:

* `-a hosts_file=hosts.txt`: a file with a host on each line
* `-a sitemap_guess=1`: try /sitemap.xml on hosts that list no sitemap
* `-a sitemap_since=2026-01-01`: leave out pages that have not changed since that day
* `-a sitemap_scope=any`: crawl listed pages on other hosts, too
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_gbot_robots import RobotsSitemapSpider
from scrapy_gbot_robots.meta import LISTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response


class DiscoverSpider(RobotsSitemapSpider):
    """Yields the URL and the title of each page that a sitemap lists, and when it was last changed."""

    name = "discover"

    def parse(self, response: Response) -> Iterator[dict[str, str | None]]:
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "lastmod": response.meta[LISTED]["lastmod"],
        }
