"""`scrapy crawl discover -a hosts=example.org,example.net`: crawl what the sitemaps in these hosts' robots.txt list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.spiders import SitemapSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response


class DiscoverSpider(SitemapSpider):
    """Yields the URL and the title of each page that a sitemap lists."""

    name = "discover"

    def __init__(self, hosts: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        names = [host.strip() for host in hosts.split(",") if host.strip()]
        if not names:
            raise ValueError("Say which hosts: scrapy crawl discover -a hosts=example.org,example.net")
        self.sitemap_urls = [f"{host if '://' in host else f'https://{host}'}/robots.txt" for host in names]

    def parse(self, response: Response) -> Iterator[dict[str, str | None]]:
        yield {"url": response.url, "title": response.css("title::text").get()}
