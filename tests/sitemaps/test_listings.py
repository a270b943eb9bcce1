"""The record of what each robots.txt lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Origin, RobotsTxt
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.sitemaps import feed as module
from scrapy_gbot_robots.sitemaps.feed import SitemapFeed

from ..support.crawls import as_scrapy_runs_it
from ..support.sitemap_web import Sitemaps

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

ORIGIN = Origin.of("https://e")


def feed_of(crawler: Crawler) -> SitemapFeed:
    return SitemapFeed(crawler, GbotSettings.of(crawler.settings))


def lists(*numbers: int) -> RobotsTxt:
    return RobotsTxt.parse(b"".join(b"Sitemap: https://e/%d\n" % number for number in numbers))


@pytest.fixture
def crawler() -> Crawler:
    return crawler_with()


def crawler_with(**settings: Any) -> Crawler:
    return get_crawler(Sitemaps, {"TELNETCONSOLE_ENABLED": False, **settings})


@as_scrapy_runs_it
async def test_sitemap_is_new_once_however_often_its_robots_txt_is_read() -> None:
    feed = feed_of(crawler_with())
    news = [(await feed.read(ORIGIN, lists(*numbers))).sitemaps for numbers in ((1, 2), (1, 2), (2, 3), ())]
    assert [[sitemap.url for sitemap in new] for new in news] == [
        ["https://e/1", "https://e/2"],
        [],
        ["https://e/3"],
        [],
    ]
    assert feed.listed == {"https://e/robots.txt": [f"https://e/{number}" for number in (1, 2, 3)]}


@as_scrapy_runs_it
async def test_origins_that_were_read_longest_ago_are_forgotten_first() -> None:
    feed = feed_of(crawler_with(GBOT_ROBOTS_CACHE_SIZE=2))
    for host in ("a", "b", "a", "c"):
        await feed.read(Origin.of(f"https://{host}"), lists(1))
    assert list(feed.listed) == ["https://a/robots.txt", "https://c/robots.txt"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("/1", "line 1: no absolute URL with a host: /1"),
        ("http://e/1 http://e/2", None),
        ("http://e/1 http://e/2 http://e/3", "GBOT_ROBOTS_SITEMAPS_MAX = 2 leaves out 1"),
    ],
)
@as_scrapy_runs_it
async def test_lines_that_are_not_used_are_said_once(
    lines: str, said: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    feed = feed_of(crawler_with(GBOT_ROBOTS_SITEMAPS_MAX=2))
    for _ in range(2):
        robotstxt = RobotsTxt.parse("".join(f"Sitemap: {url}\n" for url in lines.split()).encode())
        await feed.read(ORIGIN, robotstxt)
    messages = [record.getMessage() for record in caplog.records if "robots.txt" in record.getMessage()]
    assert messages == ([f"https://e/robots.txt: sitemap lines are not used: {said}"] if said else [])


@as_scrapy_runs_it
async def test_urls_of_all_sitemaps_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_CHARS", 3 * len("https://e/1"))
    feed = feed_of(crawler_with())
    for host in "abc":
        await feed.read(Origin.of(f"https://{host}"), lists(1))
    assert len(feed.listed) == 3
    await feed.read(Origin.of("https://d"), lists(1, 2))
    assert list(feed.listed) == ["https://c/robots.txt", "https://d/robots.txt"]
