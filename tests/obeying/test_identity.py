"""Whose rules count by default, and the warning at start-up about a User-Agent that names no crawler."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_gbot_robots.obeying.identity import of_project

from ..support.crawls import Pages, crawl, in_reactor
from ..support.web import Site

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36"


class Named(Pages):
    user_agent = CHROME


@pytest.mark.parametrize(
    ("settings", "spider", "text", "source"),
    [
        pytest.param({"USER_AGENT": "a/1"}, None, "a/1", "USER_AGENT", id="USER_AGENT"),
        pytest.param({"USER_AGENT": "a"}, Named(), CHROME, "the spider's user_agent", id="spider"),
        pytest.param(
            {"USER_AGENT": "a", "DEFAULT_REQUEST_HEADERS": {"user-agent": "b"}},
            Named(),
            "b",
            "DEFAULT_REQUEST_HEADERS",
            id="DEFAULT_REQUEST_HEADERS",
        ),
        pytest.param(
            {"ROBOTSTXT_USER_AGENT": "c", "USER_AGENT": "a"},
            None,
            "c",
            "ROBOTSTXT_USER_AGENT",
            id="ROBOTSTXT_USER_AGENT",
        ),
        pytest.param({"USER_AGENT": None}, None, "", "USER_AGENT", id="nothing"),
    ],
)
def test_user_agent_that_counts_is_found_in_every_place_that_sets_it(
    settings: dict[str, Any], spider: Pages | None, text: str, source: str
) -> None:
    assert of_project(Settings(settings), spider) == (text, source)


@pytest.mark.parametrize(
    ("user_agent", "said"),
    [
        pytest.param("Scrapy/2.14 (+https://scrapy.org)", None, id="scrapy"),
        pytest.param("mybot", None, id="token"),
        pytest.param("Mozilla/5.0 (compatible; mybot/2.1; +https://example.com)", None, id="compatible"),
        pytest.param("Googlebot-Image/1.0", None, id="google"),
        pytest.param("AdsBot-Google", None, id="ignores-star"),
        pytest.param(
            CHROME, 'is that of a browser: no robots.txt can name this crawl, only groups for "Mozilla"', id="browser"
        ),
        pytest.param("1.0 (2)", "names no crawler, so that only rules for * apply", id="no-token"),
        pytest.param("bot2000/1.0", 'is read as "bot": a product token is letters', id="digits"),
        pytest.param("Mozilla/5.0 (compatible; my.bot; +https://example.com)", 'is read as "my"', id="dot"),
        pytest.param("my bot/1.0", 'is read as "my"', id="two-words"),
        pytest.param("Google Favicon", None, id="two-words-that-are-a-name"),
        pytest.param("bot2000 bot/1.0", None, id="token-and-a-longer-name"),
        pytest.param(
            "Google-Safety", "Google-Safety heeds no robots.txt, so this crawl obeys no rules", id="ignores-robots"
        ),
    ],
)
def test_user_agent_that_names_no_crawler_is_a_warning(user_agent: str, said: str | None) -> None:
    hint = of_project(Settings({"ROBOTSTXT_USER_AGENT": user_agent})).hint
    if said is None:
        assert hint is None
    else:
        assert hint is not None
        assert said in hint
        assert hint.startswith("ROBOTSTXT_USER_AGENT")


@pytest.mark.parametrize(
    ("settings", "source"),
    [
        pytest.param({}, None, id="scrapy-s-own-has-one"),
        pytest.param({"USER_AGENT": "mybot/1.0 (+https://example.com/bot)"}, None, id="url"),
        pytest.param({"USER_AGENT": "mybot/1.0 (bot@example.com)"}, None, id="address"),
        pytest.param({"ROBOTSTXT_USER_AGENT": "mybot"}, None, id="only-the-name-for-robots.txt"),
        pytest.param({"USER_AGENT": "mybot/1.0"}, "USER_AGENT", id="none"),
        pytest.param({"USER_AGENT": CHROME, "ROBOTSTXT_USER_AGENT": "mybot"}, "USER_AGENT", id="browser"),
        pytest.param({"USER_AGENT": CHROME}, None, id="browser-which-a-warning-names-already"),
    ],
)
@in_reactor
async def test_user_agent_without_contact_is_a_hint_at_the_start(
    settings: dict[str, Any], source: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with Site({"*": b"ok"}) as site, caplog.at_level(logging.INFO):
        await crawl(Pages, settings, urls=[site.url("/a"), site.url("/b")])
    said = [r.getMessage() for r in caplog.records if "does not say how a site can reach you" in r.getMessage()]
    assert [line.partition(",")[0] for line in said] == ([source] if source else [])


@pytest.mark.filterwarnings("ignore:The 'user_agent' spider attribute")
@in_reactor
async def test_warning_about_the_user_agent_comes_once_in_a_crawl(caplog: pytest.LogCaptureFixture) -> None:
    with Site({"*": b"ok"}) as site, caplog.at_level(logging.WARNING):
        await crawl(Named, urls=[site.url("/a"), site.url("/b")])
    (hint,) = [record.getMessage() for record in caplog.records if "ROBOTSTXT_USER_AGENT" in record.getMessage()]
    assert hint.startswith("the spider's user_agent, 'Mozilla/5.0")
    assert hint.endswith("Set ROBOTSTXT_USER_AGENT to your crawler's name, such as 'mybot'")
