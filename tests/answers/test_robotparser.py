"""GbotRobotParser: all that Scrapy wants of a RobotParser, also in Scrapy's own middleware."""

import re
from typing import Any

import pytest
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.test import get_crawler

from benchmarks.beside_scrapy import QUESTIONS, verdicts
from scrapy_gbot_robots import GbotRobotParser

from ..support.crawls import Pages, crawl, in_reactor, pages
from ..support.documentation import HOME
from ..support.rows import table
from ..support.web import Site


def parser(text: str, settings: dict[str, Any] | None = None) -> GbotRobotParser:
    return GbotRobotParser.from_crawler(get_crawler(settings_dict=settings), text.encode())


@table(
    "path, user_agent, allowed",
    ("/a", "one", False),
    ("/b", "one", True),
    ("/a", "Üni", True),
    ("/b", "Üni", False),
)
def test_urls_and_agents_may_be_str_or_bytes(path: str, user_agent: str, allowed: bool) -> None:
    robots = parser("User-agent: one\nDisallow: /a\n\nUser-agent: *\nDisallow: /b")
    url = f"https://site.local{path}"
    assert (
        robots.allowed(url, user_agent)
        is robots.allowed(url.encode(), user_agent.encode())
        is allowed
    )


def test_crawl_delay_is_reported() -> None:
    for user_agent in ("a", b"a"):
        assert parser("User-agent: a\nCrawl-delay: 5").crawl_delay(user_agent) == 5.0
        assert parser("User-agent: a\nDisallow: /").crawl_delay(user_agent) is None


def test_settings_reach_the_parser() -> None:
    text = "User-agent: *\nDissallow: /typo"
    assert not parser(text).allowed("https://site.local/typo", "any")
    assert parser(text, {"GBOT_ROBOTS_MAX_BYTES": 20}).allowed("https://site.local/typo", "any")


@in_reactor
async def test_works_in_scrapys_own_middleware(site: Site) -> None:
    site.pages["/robots.txt"] = "user-agent: testbot/1.2\ncrawl-delay: 1\ndisallow: /no"
    settings = {"ROBOTSTXT_OBEY": True, "ROBOTSTXT_PARSER": "scrapy_gbot_robots.GbotRobotParser"}
    crawler = await crawl(Pages, settings, addon=False, urls=[site.url("/yes"), site.url("/no")])
    assert set(pages(crawler).crawled) == {site.url("/yes")}
    assert isinstance(pages(crawler).refused[site.url("/no")], IgnoreRequest)


def test_sitemaps_are_the_urls_of_the_files_sitemap_lines() -> None:
    body = b"Sitemap: https://e/1\nUser-agent: a\nsite-map: http://f/2\nSitemap: /3\nSitemap: https://e/1\nDisallow: /"
    assert GbotRobotParser.from_crawler(None, body).sitemaps() == ("https://e/1", "http://f/2")  # type: ignore[arg-type]
    assert GbotRobotParser.from_crawler(None, b"Disallow: /").sitemaps() == ()  # type: ignore[arg-type]


def rows_of_the_page() -> list[tuple[str, str, str, str]]:
    """Of docs/migration.md: a robots.txt, a path, what Protego says, and what we say."""
    page = (HOME / "docs" / "migration.md").read_text(encoding="utf-8")
    verdict = "(disallowed|allowed)"
    rows = re.findall(rf"^\| (`.*`) \| `([^`]*)` \| {verdict} \| {verdict} \|", page, re.MULTILINE)
    assert len(rows) == 15
    return rows


@pytest.mark.parametrize(("lines", "path", "stock", "ours"), rows_of_the_page())
def test_rows_of_the_page_are_what_parsers_say(
    lines: str, path: str, stock: str, ours: str
) -> None:
    text = "\n".join(re.findall("`([^`]*)`", lines))
    if not text.startswith("user-agent"):
        text = f"user-agent: *\n{text}"
    words = {True: "allowed", False: "disallowed"}
    assert tuple(map(words.get, verdicts(text.encode(), "mybot", path))) == (stock, ours)
    assert (text, "mybot", path) in [question[1:] for question in QUESTIONS]
