"""GbotRobotParser: all that Scrapy wants of a RobotParser, also in Scrapy's own middleware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Crawler, GbotRobotParser, GbotRobotsTxtMiddleware, Origin, RobotsTxt
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.obeying.answer import Answer
from scrapy_gbot_robots.obeying.robotparser import AnswerRobotParser
from scrapy_gbot_robots.policy.outages import Copy, Decision, Kind, State

from ..support.crawls import Pages, crawl, in_reactor, pages, stats
from ..support.web import Reply, Site

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


@pytest.mark.parametrize(
    ("body", "url", "allowed"),
    [
        pytest.param("Disallow: /shop\nAllow: /shop/open", "/shop/open/1", True, id="longer-allow-wins"),
        pytest.param("Disallow: /shop\nAllow: /shop/open", "/shop/shut", False, id="disallow-by-prefix"),
        pytest.param("Allow: /s\nDisallow: /shop", "/shop", False, id="order-does-not-matter"),
        pytest.param("Disallow: /*/secret", "/any/secret/x", False, id="star-in-the-middle"),
        pytest.param("Disallow: /*/secret", "/secret", True, id="star-needs-its-slashes"),
        pytest.param("Disallow: /end$", "/end", False, id="dollar-matches-the-end"),
        pytest.param("Disallow: /end$", "/ending", True, id="dollar-matches-only-the-end"),
        pytest.param("Disallow: /wiki/Käse", "/wiki/K%C3%A4se", False, id="raw-rule-encoded-url"),
        pytest.param("Disallow: /wiki/K%c3%a4se", "/wiki/Käse", False, id="encoded-rule-raw-url"),
        pytest.param("", "/", True, id="empty-file"),
    ],
)
def test_rules_decide(body: str, url: str, allowed: bool) -> None:
    assert parser(f"User-agent: *\n{body}").allowed(f"https://site.local{url}", "any") is allowed


def test_garbage_allows_everything() -> None:
    assert parser(b"GIF89a\xd3\xfe\x00\x3e\xa2").allowed("https://site.local/", "any")


def test_bytes_that_are_not_utf8_leave_other_rules_intact() -> None:
    robots = parser(b"User-agent: *\nDisallow: /caf\xe9\nDisallow: /tea")
    assert not robots.allowed("https://site.local/tea", "any")
    assert not robots.allowed("https://site.local/caf%E9", "any")


def test_agent_that_is_not_ascii_has_no_group_of_its_own() -> None:
    robots = parser("User-agent: Üni\nDisallow: /\n\nUser-agent: *\nDisallow: /x")
    assert not robots.allowed("https://site.local/x", "Üni")


@pytest.mark.parametrize(
    ("text", "agent", "delay"),
    [
        pytest.param("User-agent: a\nCrawl-delay: 5", "a", 5.0, id="of-the-named-group"),
        pytest.param(
            "User-agent: a\nCrawl-delay: 5\n\nUser-agent: *\nCrawl-delay: 9\nDisallow: /x", "b", 9.0, id="of-star"
        ),
        pytest.param("User-agent: a\nCrawl-delay: 0.5", "a", 0.5, id="fraction"),
        pytest.param("User-agent: a\nDisallow: /", "a", None, id="absent"),
        pytest.param("User-agent: a\nCrawl-delay: soon", "a", None, id="malformed"),
        pytest.param("", "a", None, id="empty-file"),
    ],
)
def test_crawl_delay_is_reported(text: str, agent: str, delay: float | None) -> None:
    assert parser(text).crawl_delay(agent) == delay
    assert parser(text).crawl_delay(agent.encode()) == delay


def test_google_crawlers_fall_back_to_their_other_tokens() -> None:
    robots = parser("User-agent: googlebot\nDisallow: /x\n\nUser-agent: *\nDisallow: /")
    assert robots.allowed("https://site.local/y", "Googlebot-Image")
    assert not robots.allowed("https://site.local/x", "Googlebot-Image/1.0")


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


class Parsers(GbotRobotsTxtMiddleware):
    """Does what Scrapy's own middleware does, with the parts that it inherits."""

    given: ClassVar[list[Any]] = []

    async def process_request(self, request: Request, spider: Any = None) -> None:
        if not request.meta.get("dont_obey_robotstxt"):
            parser = await self.robot_parser(request)
            self.given.append(parser)
            self.process_request_2(parser, request)


AS_STOCK: dict[str, Any] = {
    "ROBOTSTXT_OBEY": True,
    "GBOT_ROBOTS_STORAGE": "memory",
    "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0,
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
        Parsers: 100,
    },
}


async def parsers_given(site: Site, paths: list[str]) -> list[Any]:
    Parsers.given = []
    await crawl(Pages, AS_STOCK, addon=False, urls=[site.url(path) for path in paths])
    return Parsers.given


@in_reactor
async def test_inherited_robot_parser_answers_from_the_look_up() -> None:
    rules = "user-agent: testbot\ncrawl-delay: 3\ndisallow: /no\n\nuser-agent: other\ndisallow: /yes"
    with Site({"/robots.txt": rules, "*": b"ok"}) as site:
        parsers = await parsers_given(site, ["/yes", "/no", "/yes?2"])
        assert sorted(site.paths()) == ["/robots.txt", "/yes", "/yes?2"]
        for parser in parsers:
            assert not parser.allowed(site.url("/yes"), "other")  # this crawl has looked nothing up for that agent
            assert parser.crawl_delay("testbot") == 3.0


@pytest.mark.parametrize(
    ("robots", "crawled"),
    [
        pytest.param(Reply(404, b"user-agent: *\ndisallow: /"), ["/a", "/b"], id="S2.11-404"),
        pytest.param(Reply(503, b""), [], id="S2.14-503"),
    ],
)
@in_reactor
async def test_inherited_robot_parser_knows_what_a_status_means(robots: Reply, crawled: list[str]) -> None:
    with Site({"/robots.txt": robots, "*": b"ok"}) as site:
        parsers = await parsers_given(site, ["/a", "/b"])
        assert sorted(site.paths()) == [*crawled, "/robots.txt"]
        for parser in parsers:
            assert parser.allowed(site.url("/c").encode(), b"other") is bool(crawled)
            assert parser.allowed(site.url("/robots.txt"), "other")
            assert parser.crawl_delay("other") is None


@in_reactor
async def test_inherited_robot_parser_opens_no_door_where_there_is_no_origin() -> None:
    crawler = await crawl(Pages, AS_STOCK, addon=False, urls=["http:///x", "data:,hello"])
    assert set(pages(crawler).crawled) == {"data:,hello"}
    assert {type(error) for error in pages(crawler).refused.values()} == {ForbiddenByRobotsTxt}


def test_parser_of_an_answer_allows_nothing_to_an_agent_whose_rules_it_lacks() -> None:
    origin = Origin.of("https://site.local")
    copy = Copy(Kind.RULES, 200, origin.robots_url, b"", False, "HTTP 200", 0.0, 1.0)
    decision = Decision(State.RULES, "HTTP 200", False, 1.0, 1.0, copy)
    answer = Answer(origin, decision, 200, 0.0)
    answer.learn(RobotsTxt.parse(b"user-agent: a\ncrawl-delay: 2\ndisallow: /x"), [Crawler.of("a")])
    parser = AnswerRobotParser(answer)
    assert parser.allowed("https://site.local/y", "a")
    assert not parser.allowed("https://site.local/x", "a")
    assert not parser.allowed("https://site.local/y", "b")
    assert (parser.crawl_delay("a"), parser.crawl_delay("b")) == (2.0, None)


def test_sitemaps_are_the_urls_of_the_files_sitemap_lines() -> None:
    body = b"Sitemap: https://e/1\nUser-agent: a\nsite-map: http://f/2\nSitemap: /3\nSitemap: https://e/1\nDisallow: /"
    assert GbotRobotParser.from_crawler(None, body).sitemaps() == ("https://e/1", "http://f/2")  # type: ignore[arg-type]
    assert GbotRobotParser.from_crawler(None, b"Disallow: /").sitemaps() == ()  # type: ignore[arg-type]


class OnlyTheHook(GbotRobotsTxtMiddleware):
    """Allows one path and refuses another, whatever the robots.txt says; leaves the rest to its parent."""

    def process_request_2(self, rp: RobotParser | None, request: Request) -> None:
        assert rp is not None
        if request.url.endswith("/refused"):
            raise IgnoreRequest(f"refused here, {rp.allowed(request.url, 'testbot')} there")
        if not request.url.endswith("/agreed"):
            super().process_request_2(rp, request)


@in_reactor
async def test_subclass_that_overrides_only_the_hook_of_scrapy_is_asked() -> None:
    middlewares = {"scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None, OnlyTheHook: 100}
    settings = {**AS_STOCK, "DOWNLOADER_MIDDLEWARES": middlewares}
    with Site({"/robots.txt": "user-agent: *\ndisallow: /no", "*": b"ok"}) as site:
        urls = [site.url(path) for path in ("/yes", "/no", "/no/agreed", "/yes/refused")]
        crawler = await crawl(Pages, settings, addon=False, urls=urls)
        assert set(pages(crawler).crawled) == {site.url("/yes"), site.url("/no/agreed")}
        assert str(pages(crawler).refused[site.url("/yes/refused")]) == "refused here, True there"
        refusal = pages(crawler).refused[site.url("/no")]
        assert isinstance(refusal, ForbiddenByRobotsTxt)
        assert refusal.verdict.rule is not None
        assert refusal.verdict.rule.line == 2
        assert stats(crawler)["robotstxt/forbidden"] == 1


@in_reactor
async def test_hook_of_scrapy_heeds_any_parser_that_it_is_given() -> None:
    class OwnParser(OnlyTheHook):
        def process_request_2(self, rp: RobotParser | None, request: Request) -> None:
            own = GbotRobotParser.from_crawler(self.crawler, b"user-agent: *\ndisallow: /yes")
            GbotRobotsTxtMiddleware.process_request_2(self, own if request.url.endswith("/yes") else None, request)

    middlewares = {"scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None, OwnParser: 100}
    with Site({"/robots.txt": "user-agent: *\ndisallow: /no", "*": b"ok"}) as site:
        settings = {**AS_STOCK, "DOWNLOADER_MIDDLEWARES": middlewares}
        crawler = await crawl(Pages, settings, addon=False, urls=[site.url("/yes"), site.url("/no")])
        assert set(pages(crawler).crawled) == {site.url("/no")}
        assert isinstance(pages(crawler).refused[site.url("/yes")], ForbiddenByRobotsTxt)
