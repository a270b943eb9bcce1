"""GbotRobotParser: all that Scrapy wants of a RobotParser, also in Scrapy's own middleware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import GbotRobotParser, GbotRobotsTxtMiddleware

from ..support.crawls import Pages, crawl, in_reactor, own_warnings, pages
from ..support.web import Site

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.robotstxt import RobotParser


def parser(text: str | bytes, settings: dict[str, Any] | None = None) -> GbotRobotParser:
    body = text.encode() if isinstance(text, str) else text
    return GbotRobotParser.from_crawler(get_crawler(settings_dict=settings), body)


@pytest.mark.parametrize("kind", [str, bytes], ids=["str", "bytes"])
def test_urls_and_agents_may_be_str_or_bytes(kind: type) -> None:
    def as_kind(text: str) -> str | bytes:
        return text if kind is str else text.encode()

    robots = parser("User-agent: one\nDisallow: /a\n\nUser-agent: *\nDisallow: /b")
    assert not robots.allowed(as_kind("https://site.local/a"), as_kind("one"))
    assert robots.allowed(as_kind("https://site.local/b"), as_kind("one"))
    assert robots.allowed(as_kind("https://site.local/a"), as_kind("two"))
    assert not robots.allowed(as_kind("https://site.local/b"), as_kind("two"))


def test_agent_that_is_not_ascii_has_no_group_of_its_own() -> None:
    robots = parser("User-agent: Üni\nDisallow: /\n\nUser-agent: *\nDisallow: /x")
    assert not robots.allowed("https://site.local/x", "Üni")


@pytest.mark.parametrize(
    ("text", "agent", "delay"),
    [
        pytest.param("User-agent: a\nCrawl-delay: 5", "a", 5.0, id="of-the-named-group"),
        pytest.param("User-agent: a\nDisallow: /", "a", None, id="absent"),
    ],
)
def test_crawl_delay_is_reported(text: str, agent: str, delay: float | None) -> None:
    assert parser(text).crawl_delay(agent) == delay
    assert parser(text).crawl_delay(agent.encode()) == delay


def test_strict_setting_reaches_the_parser() -> None:
    text = "User-agent: *\nDissallow: /typo"
    assert not parser(text).allowed("https://site.local/typo", "any")
    assert parser(text, {"GBOT_ROBOTS_STRICT": True}).allowed("https://site.local/typo", "any")


def test_works_without_a_crawler() -> None:
    robots = GbotRobotParser.from_crawler(None, b"User-agent: *\nDisallow: /x")  # type: ignore[arg-type]  # Scrapy may
    assert not robots.allowed("https://site.local/x", "any")


@in_reactor
async def test_works_in_scrapys_own_middleware() -> None:
    with Site({"/robots.txt": "user-agent: testbot/1.2\ncrawl-delay: 1\ndisallow: /no", "*": b"ok"}) as site:
        settings = {"ROBOTSTXT_OBEY": True, "ROBOTSTXT_PARSER": "scrapy_gbot_robots.GbotRobotParser"}
        crawler = await crawl(Pages, settings, addon=False, urls=[site.url("/yes")])
        assert set(pages(crawler).crawled) == {site.url("/yes")}
        crawler = await crawl(Pages, settings, addon=False, urls=[site.url("/no")])
        assert isinstance(pages(crawler).refused[site.url("/no")], IgnoreRequest)


def test_sitemaps_are_the_urls_of_the_files_sitemap_lines() -> None:
    body = b"Sitemap: https://e/1\nUser-agent: a\nsite-map: http://f/2\nSitemap: /3\nSitemap: https://e/1\nDisallow: /"
    assert GbotRobotParser.from_crawler(None, body).sitemaps() == ("https://e/1", "http://f/2")  # type: ignore[arg-type]
    assert GbotRobotParser.from_crawler(None, b"Disallow: /").sitemaps() == ()  # type: ignore[arg-type]


@in_reactor
async def test_hooks_of_scrapys_middleware_are_not_called_which_the_log_says(caplog: pytest.LogCaptureFixture) -> None:
    class OnlyTheHook(GbotRobotsTxtMiddleware):
        def process_request_2(self, rp: RobotParser | None, request: Request) -> None:
            raise AssertionError(request)

    middlewares = {"scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None, OnlyTheHook: 100}
    with Site({"/robots.txt": "user-agent: *\ndisallow: /no", "*": b"ok"}) as site:
        urls = [site.url("/yes"), site.url("/no")]
        crawler = await crawl(Pages, {"DOWNLOADER_MIDDLEWARES": middlewares}, urls=urls)
        assert set(pages(crawler).crawled) == {site.url("/yes")}
    assert [text for text in own_warnings(caplog) if "OnlyTheHook.process_request_2 is never called" in text]
