"""A robots.txt is asked for with what the project has set for its host, and no other host gets that."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import pytest
from scrapy import Request
from scrapy.settings import default_settings

from scrapy_gbot_robots import Fetcher, GbotRobotsTxtMiddleware, Origin
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.fetching.fetcher import is_at_home
from scrapy_gbot_robots.signals import robotstxt_served

from ..support.crawls import Pages, by_each_handler, crawl, in_reactor, pages
from ..support.rows import row, table
from ..support.web import Asked, Content, Reply, Site, redirect
from .scenarios import RULES

BASIC = "Basic " + b64encode(b"me:secret").decode()
NEAR, FAR = "127.0.0.2", "127.0.0.3"
USER = {"HTTPAUTH_USER": "me", "HTTPAUTH_PASS": "secret"}
META_KEYS = ["http_user", "http_pass"]


class Guarded(Site):
    """Lets in who has the password, or the session."""

    login = BASIC

    def _content(self, path: str, headers: Mapping[str, str]) -> Content:
        if headers.get("authorization") == self.login or headers.get("cookie") == "session=1":
            return super()._content(path, headers)
        return Reply(401, b"who are you?", {"WWW-Authenticate": 'Basic realm="x"'})


class OddlyGuarded(Guarded):
    """Has a user and a password with characters that must be escaped in a URL."""

    login = "Basic " + b64encode("me@x:s@/é".encode()).decode()


class WithMeta(Pages):
    """Its requests have their credentials in their meta."""

    async def start(self) -> Any:
        async for request in super().start():
            yield request.replace(meta={"http_user": "me", "http_pass": "secret"})


class WithAttributes(Pages):
    """Has its credentials in attributes, as spiders had them before the settings."""

    http_user = "me"
    http_pass = "secret"


def asking_with(**own: str) -> dict[str, Any]:
    """Settings of a crawl whose `Fetcher` sets headers. Its pages have the password by the settings."""

    class OwnFetcher(Fetcher):
        def make_robots_request(self, url: str, request: Request | None) -> Request:
            robots_request = super().make_robots_request(url, request)
            robots_request.headers.update(own)
            return robots_request

    middleware = type("Own", (GbotRobotsTxtMiddleware,), {"fetcher_cls": OwnFetcher})
    scrapys = "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware"
    by_settings = {"DEFAULT_REQUEST_HEADERS": {"Authorization": BASIC}}
    return {**by_settings, "DOWNLOADER_MIDDLEWARES": {middleware: 100, scrapys: None}}


has_settings = pytest.mark.skipif(
    not hasattr(default_settings, "HTTPAUTH_USER"),
    reason="this Scrapy has no HTTPAUTH settings, and no credentials in meta",
)
WAYS = [
    row("settings-for-a-domain", Pages, {**USER, "HTTPAUTH_DOMAIN": NEAR}, marks=has_settings),
    row("settings-for-all", Pages, {**USER, "HTTPAUTH_DOMAIN": None}, marks=has_settings),
    row("attributes-of-the-spider", WithAttributes, {}),
    row("meta", WithMeta, {"GBOT_ROBOTS_META_KEYS": META_KEYS}, marks=has_settings),
    row("fetcher", Pages, asking_with(Authorization=BASIC)),
    row("fetcher-with-a-cookie", Pages, asking_with(Cookie="session=1")),
]


def with_domain(settings: dict[str, Any], site: Site) -> dict[str, Any]:
    """The settings, with the port that Scrapy counts among a domain."""
    if settings.get("HTTPAUTH_DOMAIN"):
        return {**settings, "HTTPAUTH_DOMAIN": f"{site.host}:{site.port}"}
    return settings


def credentials(asked: Asked) -> set[str]:
    return {"authorization", "cookie"} & asked.headers.keys()


@pytest.mark.parametrize(("spider", "settings"), WAYS)
@pytest.mark.filterwarnings("ignore:Use the HTTPAUTH_USER")
@in_reactor
async def test_guarded_site_gets_the_projects_credentials_and_no_other_host_does_by_a_redirect(
    spider: type[Pages], settings: dict[str, Any]
) -> None:
    told: list[Request] = []

    def hear(request: Request) -> None:
        told.append(request)

    with (
        Guarded({"/2": RULES, "*": b"ok"}, host=NEAR) as near,
        Site({"*": redirect(near.url("/2"))}, host=FAR) as far,
        Site({"*": redirect(far.url("/r"))}, host=NEAR) as port,
    ):
        near.pages |= {"/robots.txt": redirect("/1"), "/1": redirect(port.url("/r"))}
        crawler = await crawl(
            spider,
            with_domain(settings, near),
            hears={robotstxt_served: hear},
            urls=[near.url("/page"), near.url("/free")],
            http_auth_domain=f"{NEAR}:{near.port}",
        )
        assert set(pages(crawler).crawled) == {near.url("/free")}
        assert near.paths() == ["/robots.txt", "/1", "/2", "/free"]
        assert [credentials(asked) for asked in (*port.asked, *far.asked)] == [set(), set()]
    (request,) = told
    assert not {b"Authorization", b"Cookie"} & request.headers.keys()


@pytest.mark.parametrize("handler", by_each_handler())
@in_reactor
async def test_login_in_the_url_of_a_page_is_sent_for_the_robots_txt_of_its_own_site_alone(
    handler: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    signalled: list[Request] = []

    def hear(request: Request) -> None:
        signalled.append(request)

    with (
        OddlyGuarded({"/robots.txt": RULES, "*": b"ok"}, host=NEAR) as near,
        OddlyGuarded({"*": RULES}, host=FAR) as far,
        OddlyGuarded({"/robots.txt": redirect(far.url("/r")), "*": b"ok"}, host=NEAR) as other,
        Site({"/robots.txt": RULES, "*": b"ok"}, host=NEAR) as without_login,
    ):
        login = "me%40x:s%40%2F%C3%A9"
        home = f"http://{login}@{near.host}:{near.port}"
        urls = [f"{home}/page", f"{home}/free"]
        urls += [f"http://{login}@{NEAR}:{site.port}/page" for site in (other, without_login)]
        hears: dict[object, Any] = {robotstxt_served: hear}
        crawler = await crawl(Pages, handler, hears=hears, urls=urls)
        assert isinstance(pages(crawler).refused[f"{home}/page"], ForbiddenByRobotsTxt)
        assert "/page" not in near.paths()
        # The first request has no login, because the URL may be a link of another site.
        asked = [each for each in near.asked if each.path == "/robots.txt"]
        logins = [each.headers.get("authorization") for each in asked]
        assert logins == [None, OddlyGuarded.login]
        assert [credentials(each) for each in far.asked] == [set()]
        assert [credentials(each) for each in without_login.asked] == [set()]
    assert [request.headers.get("Authorization") for request in signalled] == [None] * 3
    assert OddlyGuarded.login not in caplog.text


@table(
    "spider, settings",
    row("settings", Pages, USER, marks=has_settings),
    row("attributes-of-the-spider", WithAttributes, {}),
)
@pytest.mark.filterwarnings("ignore:Use the HTTPAUTH_USER")
@in_reactor
async def test_redirected_robots_txt_gets_credentials_if_its_host_belongs_to_their_domain(
    spider: type[Pages], settings: dict[str, Any]
) -> None:
    with (
        Guarded({"/r": RULES}, host=FAR) as far,
        Site({"/robots.txt": redirect(far.url("/r")), "*": b"ok"}, host=NEAR) as near,
    ):
        domain = f"{FAR}:{far.port}"
        if settings:
            settings = {**settings, "HTTPAUTH_DOMAIN": domain}
        urls = [near.url("/page"), near.url("/free")]
        crawler = await crawl(spider, settings, urls=urls, http_auth_domain=domain)
        assert set(pages(crawler).crawled) == {near.url("/free")}
        assert [credentials(asked) for asked in far.asked] == [{"authorization"}]
        assert [credentials(asked) for asked in near.asked] == [set(), set()]


class AddsALogin:
    """A middleware of the project that adds the login to requests that have none."""

    def process_request(self, request: Request) -> None:
        if b"Authorization" not in request.headers:
            request.headers["Authorization"] = BASIC


@table("order", row("before-ours", 50), row("before-the-defaults", 350))
@in_reactor
async def test_login_that_a_middleware_adds_reaches_the_robots_txt_of_its_site(order: int) -> None:
    with (
        Site({"*": RULES}, host=FAR) as far,
        Guarded({"/robots.txt": RULES, "*": b"ok"}, host=NEAR) as near,
        Guarded({"/robots.txt": redirect(far.url("/r")), "*": b"ok"}, host=NEAR) as other,
    ):
        settings = {
            "DOWNLOADER_MIDDLEWARES": {AddsALogin: order},
            "DEFAULT_REQUEST_HEADERS": {"Authorization": "Bearer all", "Cookie": "all=1"},
        }
        urls = [near.url("/page"), near.url("/free"), other.url("/page")]
        crawler = await crawl(Pages, settings, urls=urls)
        assert set(pages(crawler).crawled) == {near.url("/free")}
        assert [credentials(asked) for asked in far.asked] == [set()]
        assert credentials(near.asked[0]) == {"authorization"}


@has_settings
@table(
    "domain, logins",
    row("no-domain", None, [None, BASIC]),
    row("its-domain", NEAR, [None, BASIC]),
    row("another-domain", FAR, [None]),
)
@in_reactor
async def test_login_in_the_meta_of_a_page_is_sent_if_the_robots_txt_wants_one(
    domain: str | None, logins: list[str | None]
) -> None:
    with Guarded({"/robots.txt": RULES, "*": b"ok"}, host=NEAR) as near:
        meta = {"http_user": "me", "http_pass": "secret"}
        if domain:
            meta["http_auth_domain"] = f"{domain}:{near.port}"
        urls = [Request(near.url(path), meta=meta) for path in ("/page", "/free")]
        await crawl(Pages, urls=urls)
        asked = [each for each in near.asked if each.path == "/robots.txt"]
        assert [each.headers.get("authorization") for each in asked] == logins
        assert ("/page" in near.paths()) == (len(logins) == 1)  # A 401 alone allows everything.


@has_settings
@in_reactor
async def test_robots_txt_of_a_host_outside_the_domain_is_asked_for_without_credentials() -> None:
    with Site({"*": RULES}, host=FAR) as far, Site({"*": RULES}, host=NEAR) as near:
        headers = {"Authorization": "Bearer all", "Cookie": "all=1"}
        settings = {**USER, "HTTPAUTH_DOMAIN": NEAR, "DEFAULT_REQUEST_HEADERS": headers}
        urls = [far.url("/page"), near.url("/page")]
        await crawl(Pages, with_domain(settings, near), urls=urls)
        assert [credentials(asked) for asked in far.asked] == [set()]
        assert near.asked[0].headers["authorization"] == BASIC
        assert "cookie" not in near.asked[0].headers


@table(
    "origin, url, expected",
    ("http://a.example", "http://a.example/r", True),
    ("http://a.example", "https://a.example/r", True),
    ("https://a.example", "https://A.example:443/r", True),
    ("https://a.example", "http://a.example/r", False),
    ("http://a.example", "https://www.a.example/r", False),
    ("http://a.example", "http://b.example/r", False),
    ("http://a.example:8080", "http://a.example:8081/r", False),
    ("http://a.example:8080", "https://a.example/r", False),
    ("http://a.example", "https://a.example:8443/r", False),
)
def test_credentials_go_to_an_origin_or_its_https(origin: str, url: str, *, expected: bool) -> None:
    assert is_at_home(url, Origin.of(origin)) is expected
