"""Scrapy's HTTP cache has no part in robots.txt files: an old one never decides, and a replay asks for the one of today."""

from pathlib import Path
from typing import Any

from ..support.crawls import Pages, crawl, in_reactor, pages
from ..support.rows import row, table
from ..support.web import Reply, Site
from .scenarios import RULES

ETAG = {
    "ETag": '"1"',
    "Cache-Control": "max-age=86400",
    "Last-Modified": "Mon, 16 Nov 2026 08:00:00 GMT",
}


@table(
    "settings",
    row("dummy-policy", {}),
    row("rfc2616-policy", {"HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy"}),
    row("no-server-is-asked-for-pages", {"HTTPCACHE_IGNORE_MISSING": True}),
)
@in_reactor
async def test_robots_txt_is_neither_put_into_scrapys_http_cache_nor_taken_from_it(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    with Site({"/robots.txt": Reply(200, b"", ETAG), "*": Reply(200, b"ok", ETAG)}) as site:
        urls = [site.url("/page"), site.url("/free")]
        # Scrapy alone, with its own robots.txt, fills the cache.
        first = await crawl(Pages, {**cache, "ROBOTSTXT_OBEY": True}, addon=False, urls=urls)
        assert set(pages(first).crawled) == set(urls)
        stored = {path.read_text() for path in tmp_path.rglob("response_body")}
        site.pages["/robots.txt"] = Reply(200, RULES, ETAG)
        site.asked.clear()
        second = await crawl(Pages, {**cache, **settings}, urls=urls)
        assert set(pages(second).crawled) == {site.url("/free")}
        assert "cached" in pages(second).crawled[site.url("/free")].flags
        assert site.paths() == ["/robots.txt"]
        assert "if-none-match" not in site.asked[0].headers
        assert {path.read_text() for path in tmp_path.rglob("response_body")} == stored
