"""A robots.txt is asked for with what the project has set for its host, and no other host gets that."""

from base64 import b64encode
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.settings import default_settings

from scrapy_gbot_robots import Fetcher, GbotRobotsTxtMiddleware, Origin
from scrapy_gbot_robots.fetching.fetcher import is_at_home
from scrapy_gbot_robots.signals import robotstxt_served

from ..support.crawls import Pages, crawl, in_reactor, pages
from ..support.rows import row, table
from ..support.web import Asked, Content, Reply, Site, redirect
from .scenarios import RULES

BASIC = "Basic " + b64encode(b"me:secret").decode()
NEAR, FAR = "127.0.0.2", "127.0.0.3"
USER = {"HTTPAUTH_USER": "me", "HTTPAUTH_PASS": "secret"}
META_KEYS = ["http_user", "http_pass"]


class Guarded(Site):
    """Lets in who has the password, or the session."""

    def _content(self, path: str, headers: Mapping[str, str]) -> Content:
        if headers.get("authorization") == BASIC or headers.get("cookie") == "session=1":
            return super()._content(path, headers)
        return Reply(401, b"who are you?", {"WWW-Authenticate": 'Basic realm="x"'})


class WithMeta(Pages):
    """Its requests have their credentials in their meta."""

    async def start(self) -> Any:
        async for request in super().start():
            yield request.replace(meta={"http_user": "me", "http_pass": "secret"})


class WithAttributes(Pages):
    """Has its credentials in attributes, as spiders had them before the settings."""

    http_user = "me"
    http_pass = "secret"


class OwnFetcher(Fetcher):
    """Asks for each robots.txt with headers of its own."""

    own: ClassVar[dict[str, str]] = {}

    def robots_request(self, url: str, request: Request | None) -> Request:
        robots_request = super().robots_request(url, request)
        robots_request.headers.update(self.own)
        return robots_request


def asking_with(**own: str) -> dict[str, Any]:
    """Settings of a crawl whose `Fetcher` sets headers. Its pages have the password by the settings."""
    fetcher = type("WithHeaders", (OwnFetcher,), {"own": own})
    middleware = type("Own", (GbotRobotsTxtMiddleware,), {"fetcher_cls": fetcher})
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


async def crawl_guarded(
    spider: type[Pages], settings: dict[str, Any], site: Site, **more: Any
) -> Crawler:
    """Crawl two pages, with the port that Scrapy counts among a domain."""
    domain = f"{NEAR}:{site.port}"
    urls = [site.url("/page"), site.url("/free")]
    settings = with_domain(settings, site)
    return await crawl(spider, settings, urls=urls, http_auth_domain=domain, **more)


def credentials(asked: Asked) -> set[str]:
    return {"authorization", "cookie"} & asked.headers.keys()


@pytest.mark.parametrize(("spider", "settings"), WAYS)
@pytest.mark.filterwarnings("ignore:Use the HTTPAUTH_USER")
@in_reactor
async def test_robots_txt_of_a_guarded_site_is_asked_for_with_the_projects_credentials(
    spider: type[Pages], settings: dict[str, Any]
) -> None:
    told: list[Request] = []

    def hear(request: Request) -> None:
        told.append(request)

    with Guarded({"/robots.txt": redirect("/1"), "/1": RULES, "*": b"ok"}, host=NEAR) as site:
        crawler = await crawl_guarded(spider, settings, site, hears={robotstxt_served: hear})
        assert set(pages(crawler).crawled) == {site.url("/free")}
        assert site.paths() == ["/robots.txt", "/1", "/free"]
    (request,) = told
    assert not {b"Authorization", b"Cookie"} & request.headers.keys()


@pytest.mark.parametrize(("spider", "settings"), WAYS)
@pytest.mark.filterwarnings("ignore:Use the HTTPAUTH_USER")
@in_reactor
async def test_no_other_host_gets_these_credentials_by_a_redirect_of_a_robots_txt(
    spider: type[Pages], settings: dict[str, Any]
) -> None:
    with ExitStack() as stack:
        far = stack.enter_context(Site({"*": RULES}, host=FAR))
        port = stack.enter_context(Site({"*": redirect(far.url("/r"))}, host=NEAR))
        guarded = Guarded({"/robots.txt": redirect(port.url("/r")), "*": b"ok"}, host=NEAR)
        near = stack.enter_context(guarded)
        crawler = await crawl_guarded(spider, settings, near)
        assert set(pages(crawler).crawled) == {near.url("/free")}
        assert credentials(near.asked[0])
        assert [credentials(asked) for asked in (*port.asked, *far.asked)] == [set(), set()]


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
