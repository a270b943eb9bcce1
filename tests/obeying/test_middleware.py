"""The middleware in real crawls: which requests go on, which are ignored, and what the crawl is told."""

import threading
from pathlib import Path
from socket import socket
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.statscollectors import MemoryStatsCollector

from scrapy_gbot_robots import GbotRobotsTxtMiddleware, Origin
from scrapy_gbot_robots.core.rules import Rules
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.policy.outages import State

from ..support.crawls import Pages, crawl, errors, in_reactor, in_sqlite, own_warnings, pages, stats
from ..support.rows import row, table
from ..support.web import Reply, Site, free_port

RULES = "user-agent: testbot\ndisallow: /no\n\nuser-agent: *\ndisallow: /"


@in_reactor
async def test_rules_decide_unless_a_request_is_exempt_and_the_refusal_says_so(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "scrapy_gbot_robots")
    exempt = [Request(site.url("/no"), meta={"dont_obey_robotstxt": True}), "data:,hello"]
    urls = [site.url(path) for path in ("/yes", "/no/way", "/robots.txt")]
    crawler = await crawl(Pages, urls=[*urls, *exempt])
    assert {*pages(crawler).crawled} == {urls[0], urls[2], site.url("/no"), "data:,hello"}
    refusal = pages(crawler).refused[site.url("/no/way")]
    assert isinstance(refusal, ForbiddenByRobotsTxt)
    assert isinstance(refusal, IgnoreRequest)
    assert refusal.verdict.rule is not None
    assert (refusal.verdict.rule.pattern, refusal.verdict.rule.line) == ("/no", 2)
    assert refusal.origin == Origin.of(site.url(""))
    assert refusal.state is State.RULES
    assert stats(crawler)["robotstxt/forbidden"] == 1
    said = f'<GET {site.url("/no/way")}>: disallowed by "Disallow: /no" (line 2, group "testbot")'
    assert f"Forbidden by robots.txt: {said} ({site.url('/robots.txt')})" in caplog.messages


class Choosy:
    """Lets only listed paths pass, as projects do that must not leave a part of a site."""

    passes: tuple[str, ...] = ("/a", "/b")

    def process_request(self, request: Request, spider: Any = None) -> None:
        if not request.url.endswith(self.passes):
            raise IgnoreRequest("not on my list")


@table("ladder, crawls", row("refused", "google", False), row("allowed", "allow", True))
@in_reactor
async def test_robots_txt_request_that_the_project_drops_is_waited_for_by_no_request_and_named_at_once(
    ladder: str, crawls: bool, site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    urls = [site.url("/a"), site.url("/b")]
    settings = {
        **in_sqlite(tmp_path / "robots.sqlite"),
        "DOWNLOADER_MIDDLEWARES": {Choosy: 50},
        "GBOT_ROBOTS_UNREACHABLE": ladder,
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 20,
    }
    crawler = await crawl(Pages, settings, urls=urls)
    assert set(pages(crawler).crawled if crawls else pages(crawler).refused) == set(urls)
    assert stats(crawler)["gbot_robots/fetches/dropped"] >= 1
    assert "gbot_robots/requests/held" not in stats(crawler)
    assert stats(crawler).get("gbot_robots/forbidden/unreachable", 0) == (0 if crawls else 2)
    warning, *_ = [text for text in own_warnings(caplog) if text.startswith("Could not fetch")]
    assert warning.startswith(f"Could not fetch {site.url('/robots.txt')} (")
    assert "another middleware dropped the request (not on my list)" in warning
    assert "meta['dont_obey_robotstxt']" in warning
    assert "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS" not in warning
    # Nothing of it is stored: a project that is mended crawls on.
    mended = await crawl(Pages, {**settings, "DOWNLOADER_MIDDLEWARES": {}}, urls=urls)
    assert set(pages(mended).crawled) == set(urls)
    assert "gbot_robots/requests/held" not in stats(mended)


class WebSockets:
    """Answers requests by web sockets, which Scrapy itself cannot make."""

    def process_request(self, request: Request, spider: Any = None) -> Response | None:
        return Response(request.url, body=b"ok") if request.url.startswith("ws") else None


@in_reactor
async def test_web_socket_is_judged_by_the_robots_txt_of_the_same_host_and_port(site: Site) -> None:
    plain, closed = site.url("").replace("http:", "ws:"), f"127.0.0.1:{free_port()}"
    urls = [f"{plain}/yes", f"{plain}/no", f"wss://{closed}/yes"]
    crawler = await crawl(Pages, {"DOWNLOADER_MIDDLEWARES": {WebSockets: 900}}, urls=urls)
    assert set(pages(crawler).crawled) == {urls[0]}
    origins = [getattr(pages(crawler).refused[url], "origin", None) for url in urls[1:]]
    assert list(map(str, origins)) == [site.url(""), f"https://{closed}"]


WITHOUT_ORIGIN = "http://127.0.0.1:0/x http:///x http://:80/x http://user:pass@/x http://a%20b/x http://.../x ftp:///x".split()


@in_reactor
async def test_url_without_an_origin_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    crawler = await crawl(Pages, urls=WITHOUT_ORIGIN)
    assert not pages(crawler).crawled
    for refusal in pages(crawler).refused.values():
        assert isinstance(refusal, ForbiddenByRobotsTxt)
        assert refusal.origin is None
    assert stats(crawler)["robotstxt/forbidden"] == len(WITHOUT_ORIGIN)
    assert errors(caplog) == []


@in_reactor
async def test_odd_spelling_of_a_host_meets_the_same_rules(site: Site) -> None:
    hosts = ["LOCALHOST", "user:pass@localhost", "a@b@localhost", "%6Cocalhost", "ｌocalhost"]
    odd = [f"http://{host}:{site.port}/no" for host in hosts] + [f"HTTP://localhost:{site.port}/no"]
    await crawl(Pages, urls=[f"http://localhost:{site.port}/yes", *odd])
    assert site.paths() == ["/robots.txt", "/yes"]
    assert "authorization" not in site.asked[0].headers


@in_reactor
async def test_requests_held_in_an_outage_go_on_after_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="scrapy_gbot_robots")
    statuses = iter((503, 503))  # fetches come after 0, 1 and 3 seconds

    def robots_txt(connection: socket) -> None:
        Reply(next(statuses, 200), b"user-agent: *\ndisallow: /no")(connection)

    with Site({"/robots.txt": robots_txt, "*": b"ok"}) as site:
        allowed = [site.url(f"/{number}") for number in range(150)] + [site.url("/robots.txt")]
        settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 600}
        crawler = await crawl(Pages, settings, urls=[*allowed, site.url("/no")])
    assert set(pages(crawler).crawled) == set(allowed)
    assert set(pages(crawler).refused) == {site.url("/no")}
    assert stats(crawler)["gbot_robots/requests/held"] == 152
    assert site.paths().count("/robots.txt") == 3
    url = site.url("/robots.txt")
    assert [each.getMessage() for each in caplog.records if each.name.endswith(".events")] == [
        f"Could not fetch {url} (HTTP 503): for now, no page of this site is crawled "
        "(GBOT_ROBOTS_UNREACHABLE = 'google'). Its requests wait about 600 s for a retry "
        "(GBOT_ROBOTS_UNREACHABLE_WAIT_SECS)",
        f"{url} answers again",
    ]


@in_reactor
async def test_warning_names_a_pause_that_is_longer_than_the_wait(caplog: Any) -> None:
    busy = Reply(429, b"", {"Retry-After": "3600"})
    with Site({"/robots.txt": busy, "*": b"ok"}) as site:
        settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 1}
        crawler = await crawl(Pages, settings, urls=[site.url("/page")])
    assert set(pages(crawler).refused) == {site.url("/page")}
    (warning,) = [each.getMessage() for each in caplog.records if "Could not fetch" in each.msg]
    assert warning.endswith(
        "The next try is due in 3600 s, so its requests wait about 1 s "
        "(GBOT_ROBOTS_UNREACHABLE_WAIT_SECS), and are then forbidden"
    )


class Browser(Pages):
    user_agent = "Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0 Safari/537.36"


STOCK = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
OURS = "scrapy_gbot_robots.obeying.middleware.GbotRobotsTxtMiddleware"
BY_HAND: dict[str, Any] = {"ADDONS": {}, "ROBOTSTXT_OBEY": True}


@pytest.mark.filterwarnings("ignore:The 'user_agent' spider attribute")
@table(
    "spider, settings, told",
    row(
        "another-parser",
        Pages,
        {"ROBOTSTXT_PARSER": "scrapy.robotstxt.PythonRobotParser"},
        "ROBOTSTXT_PARSER = 'scrapy.robotstxt.PythonRobotParser' has no effect: "
        "GbotRobotsTxtMiddleware always uses GbotRobotParser",
    ),
    row(
        "scrapys-beside-ours",
        Pages,
        {**BY_HAND, "DOWNLOADER_MIDDLEWARES": {STOCK: 100, OURS: 101}},
        f"DOWNLOADER_MIDDLEWARES has {STOCK} and {OURS}. Each of them fetches and obeys "
        "robots.txt files. Set all but one to None, or use "
        'ADDONS = {"scrapy_gbot_robots.Addon": 500}',
    ),
    row("ours-alone", Pages, {**BY_HAND, "DOWNLOADER_MIDDLEWARES": {STOCK: None, OURS: 101}}, ""),
    row(
        "user-agent",
        Browser,
        {},
        "the spider's user_agent, 'Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0 "
        "Safari/537.36', does not name your crawler, so no robots.txt can address this "
        "crawl. Set ROBOTSTXT_USER_AGENT to your crawler's name, such as 'mybot'",
    ),
)
@in_reactor
async def test_what_is_probably_a_mistake_is_warned_of_once(
    spider: type[Pages],
    settings: dict[str, Any],
    told: str,
    site: Site,
    caplog: pytest.LogCaptureFixture,
) -> None:
    site.pages["/robots.txt"] = b""
    crawler = await crawl(spider, settings, urls=[site.url("/a"), site.url("/b")])
    assert len(pages(crawler).crawled) == 2
    assert own_warnings(caplog) == [told] * bool(told)


@in_reactor
async def test_question_that_hostile_rules_make_long_is_asked_in_a_thread(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[str, set[str]] = {}
    allowed = Rules.allowed

    def watched(rules: Rules, url: str | bytes) -> bool:
        threads.setdefault(str(url)[-3:], set()).add(threading.current_thread().name)
        return allowed(rules, url)

    monkeypatch.setattr(Rules, "allowed", watched)
    rules = [f"disallow: /*{'a' * 20}{number:04}ba" for number in range(1_000)]
    rules += ["disallow: /no", f"disallow: /*{'a' * 30}end"]
    site.pages["/robots.txt"] = "\n".join(["user-agent: *", *rules])
    urls = [site.url("/" + "a" * 3_000 + end) for end in ("yes", "end")] + [site.url("/no")]
    crawler = await crawl(Pages, {"URLLENGTH_LIMIT": 0}, urls=urls)
    assert list(pages(crawler).crawled) == [urls[0]]
    reactor = threading.current_thread().name
    assert reactor not in threads["yes"] | threads["end"]
    assert threads["/no"] == {reactor}


class Adding(GbotRobotsTxtMiddleware):
    """A subclass with a `process_response` of its own."""

    def process_response(self, request: Request, response: Response) -> Response:
        response.flags.append("added")
        return response


@in_reactor
async def test_subclass_keeps_its_own_process_response(site: Site) -> None:
    settings = {"DOWNLOADER_MIDDLEWARES": {Adding: 100}}
    crawler = await crawl(Pages, settings, urls=[site.url("/yes")])
    assert pages(crawler).crawled[site.url("/yes")].flags == ["added"]


def test_subclass_can_be_made_in_a_test_whose_settings_are_not_frozen() -> None:
    crawler = Crawler(Pages, {"ROBOTSTXT_OBEY": True, "GBOT_ROBOTS_STORAGE": "memory"})
    crawler.stats = MemoryStatsCollector(crawler)
    assert not crawler.settings.frozen
    assert isinstance(Adding(crawler), GbotRobotsTxtMiddleware)
