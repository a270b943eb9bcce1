"""A spider that reads no sitemaps pays nothing for them: no call per request, and no line in its log."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy_gbot_robots.sitemaps

from ..support.crawls import Pages, crawl, in_reactor, pages
from ..support.sitemap_web import Sitemaps, listing
from ..support.web import Site

if TYPE_CHECKING:
    from types import FrameType

    import pytest
    from scrapy import Spider

ROOM = str(Path(scrapy_gbot_robots.sitemaps.__file__).parent)


async def calls_into_the_room(spider: type[Spider], **arguments: Any) -> int:
    """How many calls of the room's functions a crawl makes."""
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(ROOM)

    crawling = crawl(spider, {"CONCURRENT_REQUESTS": 1}, **arguments)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        await crawling
    finally:
        sys.setprofile(before)
    return calls


@in_reactor
async def test_request_of_another_spider_calls_no_function_of_the_room() -> None:
    with Site({"*": b"ok"}) as site:
        listing(site)
        few, many = [
            await calls_into_the_room(Pages, urls=[site.url(f"/{n}") for n in range(most)]) for most in (2, 30)
        ]
        assert 0 < few == many  # the robots.txt is read in both
        of_sitemaps = [
            await calls_into_the_room(Sitemaps, sitemap_urls=[site.url(f"/{n}.xml") for n in range(most)])
            for most in (2, 30)
        ]
        assert of_sitemaps[0] < of_sitemaps[1]  # a cost per request would be seen


@in_reactor
async def test_bad_and_surplus_sitemap_lines_are_not_in_the_log_of_another_spider(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "scrapy_gbot_robots.sitemaps")
    with Site({"/robots.txt": b"Sitemap: /relative\n" + b"Sitemap: http://e/\nSitemap: http://f/", "*": b"ok"}) as site:
        limited = {"GBOT_ROBOTS_SITEMAPS_MAX": 1}
        crawler = await crawl(Pages, limited, urls=[site.url("/1")])
        assert site.url("/1") in pages(crawler).crawled
        assert [record for record in caplog.records if record.name.startswith("scrapy_gbot_robots.sitemaps")] == []
        await crawl(Pages, {**limited, "GBOT_ROBOTS_SITEMAPS": "collect"}, urls=[site.url("/1")])
        assert len([record for record in caplog.records if "sitemap" in record.getMessage()]) == 1  # it asked for them
