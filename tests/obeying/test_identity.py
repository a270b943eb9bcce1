"""Whose rules count by default, and the warning at start-up about a User-Agent that names no crawler."""

from typing import Any

import pytest
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import UserAgent
from scrapy_gbot_robots.obeying.identity import CrawlerIdentity, of_project

from ..support.crawls import Pages
from ..support.rows import table

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36"


class Named(Pages):
    user_agent = CHROME


BY_HEADERS = {"USER_AGENT": "a", "DEFAULT_REQUEST_HEADERS": {"user-agent": "b"}}


@table(
    "settings, spider, text, source",
    ({"USER_AGENT": "a/1"}, None, "a/1", "USER_AGENT"),
    ({"USER_AGENT": "a"}, Named(), CHROME, "the spider's user_agent"),
    (BY_HEADERS, Named(), "b", "DEFAULT_REQUEST_HEADERS"),
    ({"ROBOTSTXT_USER_AGENT": "c", "USER_AGENT": "a"}, None, "c", "ROBOTSTXT_USER_AGENT"),
    ({"ROBOTSTXT_USER_AGENT": b"c", "USER_AGENT": "a"}, None, "c", "ROBOTSTXT_USER_AGENT"),
    ({"ROBOTSTXT_USER_AGENT": [], "USER_AGENT": "a"}, None, "a", "USER_AGENT"),
    ({"USER_AGENT": None}, None, "", "USER_AGENT"),
)
def test_user_agent_that_counts_is_found_in_every_place_that_sets_it(
    settings: dict[str, Any], spider: Pages | None, text: str, source: str
) -> None:
    assert of_project(Settings(settings), spider) == (text, source)


@table("value", ["mybot", "googlebot"], 5)
def test_name_that_is_no_text_ends_the_crawl_before_it_starts(value: object) -> None:
    crawler = get_crawler(Pages, {"ROBOTSTXT_USER_AGENT": value})
    said = "^ROBOTSTXT_USER_AGENT must be a text, got .*, set GBOT_ROBOTS_USER_AGENTS to a list"
    with pytest.raises(ValueError, match=said):
        CrawlerIdentity(crawler, None)
    with pytest.raises(ValueError, match=said):
        of_project(crawler.settings)
    CrawlerIdentity(crawler, UserAgent.of("mybot"))  # GBOT_ROBOTS_USER_AGENTS replaces it.


@table(
    "user_agent, said",
    ("Scrapy/2.14 (+https://scrapy.org)", None),
    (
        "Googlebot",
        "names a well-known crawler, so this crawl obeys the rules for Googlebot "
        "(if you mean that, set GBOT_ROBOTS_USER_AGENTS = ['Googlebot'])",
    ),
    ("AdsBot-Google", "obeys the rules for AdsBot-Google (if you mean that"),  # ignores "*"
    (CHROME, "no robots.txt can address this crawl"),
    ("1.0 (2)", "does not name your crawler"),
    ("bot2000/1.0", 'is read as "bot", because a product token has letters'),
    ("Google Favicon", "the rules for Googlebot-Image"),  # two words that are a name
    ("Google-Safety", "names Google-Safety, which ignores robots.txt, so this crawl obeys no"),
)
def test_user_agent_that_names_no_crawler_is_a_warning(user_agent: str, said: str | None) -> None:
    hint = of_project(Settings({"ROBOTSTXT_USER_AGENT": user_agent})).hint
    assert (said or "") in hint
    assert hint.startswith("ROBOTSTXT_USER_AGENT") is (said is not None)
