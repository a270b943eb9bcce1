"""Projects that rotate their User-Agent: the items are those of Scrapy alone, and the log says whose rules were read."""

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import cycle
from socket import socket
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from typing_extensions import Self

from ..support.crawls import Pages, crawl, in_reactor, own_warnings, pages
from ..support.rows import row, table
from ..support.web import Content, Reply, Site, raw, redirect

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0"
STOCK = "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware"
PATHS = ("/a", "/b", "/browsers", "/testbot")
ROBOTS = "user-agent: mozilla\ndisallow: /browsers\n\nuser-agent: testbot\ndisallow: /testbot"


class Rotating:
    """Gives each request another User-Agent, whatever it had."""

    def __init__(self) -> None:
        self._names = cycle([CHROME, FIREFOX])

    def process_request(self, request: Request, spider: Any = None) -> None:
        request.headers["User-Agent"] = next(self._names)


class Choosing(UserAgentMiddleware):
    """A subclass of Scrapy's middleware that gives a User-Agent to requests without one."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls("")

    def process_request(self, request: Request, spider: Any = None) -> None:
        request.headers.setdefault("User-Agent", CHROME)


class Naming(Pages):
    """Names the User-Agent of each request itself."""

    name = "naming"

    async def start(self) -> AsyncIterator[Request]:
        async for request in super().start():
            request.headers["User-Agent"] = FIREFOX
            yield request


def placed(middleware: type, place: int) -> dict[str, Any]:
    """Settings: `middleware` in the place of Scrapy's."""
    return {"DOWNLOADER_MIDDLEWARES": {STOCK: None, middleware: place}}


BEHIND = placed(Rotating, 400)


@table(
    "settings, spider, refused",
    row("behind", BEHIND, Pages, "/testbot"),
    row("subclass", placed(Choosing, 500), Pages, "/testbot"),
    row("before", placed(Rotating, 50), Pages, "/browsers"),
    row("by-the-spider", {}, Naming, "/browsers"),
    row("named", {"ROBOTSTXT_USER_AGENT": "testbot", **BEHIND}, Pages, "/testbot"),
    row(
        "named-and-before",
        {"ROBOTSTXT_USER_AGENT": "testbot", **placed(Rotating, 50)},
        Pages,
        "/testbot",
    ),
)
@in_reactor
async def test_rules_for_the_name_count(settings: Any, spider: type[Pages], refused: str) -> None:
    with Site({"/robots.txt": ROBOTS, "*": b"ok"}) as site:
        urls = [site.url(path) for path in PATHS]
        alone = await crawl(spider, {"ROBOTSTXT_OBEY": False, **settings}, addon=False, urls=urls)
        crawler = await crawl(spider, settings, urls=urls)
        assert set(pages(alone).crawled) - set(pages(crawler).crawled) == {site.url(refused)}


class Retrying(Pages):
    """Makes a request for another page of the one for this page, as spiders do that see a captcha."""

    name = "retrying"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request]:
        assert response.request is not None
        yield response.request.replace(url=response.urljoin("/testbot"))


OF_BOTH = {"USER_AGENT": "testbot/1.0", **BEHIND}


@in_reactor
async def test_redirects_and_retries_are_judged_by_the_first_name() -> None:
    replies = iter([Reply(503), Reply(200, b"ok")])

    def recover(connection: socket) -> None:
        next(replies)(connection)

    of_site: dict[str, Content] = {
        "/robots.txt": ROBOTS,
        "/moved": redirect("/testbot"),
        "/browsers": recover,
        "*": b"ok",
    }
    with Site(of_site) as site:
        urls = [site.url("/moved"), site.url("/browsers")]
        crawler = await crawl(Pages, {**OF_BOTH, "RETRY_ENABLED": True}, urls=urls)
        assert sorted(site.paths()) == ["/browsers", "/browsers", "/moved", "/robots.txt"]
        assert set(pages(crawler).refused) == {site.url("/testbot")}
        meta = pages(crawler).crawled[site.url("/browsers")].meta
        assert not any("gbot" in key for key in meta)


def as_browser(request: Request) -> Request:
    """Return `request` with the User-Agent header of a browser, for a retry."""
    request.headers["User-Agent"] = CHROME
    return request.replace(dont_filter=True)


class OnABan:
    def process_response(
        self, request: Request, response: Response, spider: Any = None
    ) -> Request | Response:
        return as_browser(request) if response.status == 403 else response


class OnAFailure:
    def process_exception(
        self, request: Request, exception: Exception, spider: Any = None
    ) -> Request | None:
        return None if isinstance(exception, IgnoreRequest) else as_browser(request)


@pytest.mark.parametrize("place", [50, 550])
@table(
    "retrying, first",
    row("after-a-response", OnABan, Reply(403)),
    row("after-a-failure", OnAFailure, raw(b"")),
)
@in_reactor
async def test_retry_by_a_middleware_that_gets_no_requests_is_judged_by_the_first_name(
    retrying: type, first: Callable[[socket], None], place: int
) -> None:
    replies: Iterator[Callable[[socket], None]] = iter([first, redirect("/testbot")])

    def reply(connection: socket) -> None:
        next(replies)(connection)

    of_site: dict[str, Content] = {"/robots.txt": ROBOTS, "/browsers": reply, "*": b"ok"}
    settings = {"USER_AGENT": "testbot/1.0", "DOWNLOADER_MIDDLEWARES": {retrying: place}}
    with Site(of_site) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/browsers")])
        assert site.paths() == ["/robots.txt", "/browsers", "/browsers"]
        assert set(pages(crawler).refused) == {site.url("/testbot")}


@in_reactor
async def test_request_that_a_callback_sends_again_is_judged_by_the_first_name() -> None:
    with Site({"/robots.txt": ROBOTS, "*": b"ok"}) as site:
        await crawl(Retrying, OF_BOTH, urls=[Request(site.url("/a"))])
        assert site.paths() == ["/robots.txt", "/a"]


class Outer:
    """Follows redirects, and is nearer to the engine than the plugin's middleware."""

    def process_response(
        self, request: Request, response: Response, spider: Any = None
    ) -> Request | Response:
        location = response.headers.get("Location")
        if location is None:
            return response
        return request.replace(url=response.urljoin(location.decode()))


class Counting(Rotating):
    """Gives each request a User-Agent that no other request has."""

    def __init__(self) -> None:
        super().__init__()
        self._names = cycle(FIREFOX.replace("120", str(version)) for version in range(100))


@pytest.mark.parametrize("rotating", [Rotating, Counting])
@in_reactor
async def test_redirect_by_a_middleware_before_ours_is_judged_by_the_first_name(
    rotating: type[Rotating],
) -> None:
    of_site: dict[str, Content] = {
        "/robots.txt": ROBOTS,
        "/far": redirect("/moved"),
        "/moved": redirect("/testbot"),
        "/also": redirect("/browsers"),
        "*": b"ok",
    }
    settings = {
        "USER_AGENT": "testbot/1.0",
        "REDIRECT_ENABLED": False,
        "DOWNLOADER_MIDDLEWARES": {Outer: 50, rotating: 600},
    }
    with Site(of_site) as site:
        urls = [site.url("/far"), site.url("/also")]
        crawler = await crawl(Pages, settings, urls=urls)
        assert sorted(site.paths()) == ["/also", "/browsers", "/far", "/moved", "/robots.txt"]
        assert set(pages(crawler).refused) == {site.url("/testbot")}
        meta = pages(crawler).crawled[site.url("/browsers")].meta
        assert not any("gbot" in key for key in meta)


class Archiving:
    """Keeps a copy of the request in the response."""

    def process_response(
        self, request: Request, response: Response, spider: Any = None
    ) -> Response:
        return response.replace(request=request.copy())


@in_reactor
async def test_copy_of_a_request_in_a_response_has_no_key_of_the_plugin() -> None:
    settings = {"USER_AGENT": "testbot/1.0", "DOWNLOADER_MIDDLEWARES": {Archiving: 50}}
    with Site({"/robots.txt": ROBOTS, "*": b"ok"}) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/browsers")])
        meta = pages(crawler).crawled[site.url("/browsers")].meta
    assert not any("gbot" in key for key in meta)


class Leaving(Retrying):
    """Makes a request that is subject to robots.txt of one that is exempt."""

    name = "leaving"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request]:
        for request in super().parse(response):
            assert not any("gbot" in key for key in response.meta)
            yield request.replace(meta={})


@table(
    "path, meta",
    row("exempt", "/a", {"dont_obey_robotstxt": True}),
    row("robots-txt", "/robots.txt", {}),
)
@in_reactor
async def test_request_that_is_made_of_an_exempt_one_is_judged_by_the_first_name(
    path: str, meta: dict[str, Any], log: Any
) -> None:
    with Site({"/robots.txt": ROBOTS, "*": b"ok"}) as site:
        settings = {**OF_BOTH, "GBOT_ROBOTS_STORAGE": "memory"}
        await crawl(Leaving, settings, urls=[Request(site.url(path), meta=meta)])
        assert "/testbot" not in site.paths()
        assert path in site.paths()
    assert "was judged by" not in log.text


class Explicit(Pages):
    """Names another User-Agent in each request, and sends it again for a page of each."""

    name = "explicit"

    async def start(self) -> AsyncIterator[Request]:
        for name, url in zip(["testbot/1", "mozilla/2"], self.urls, strict=True):
            yield Request(str(url), headers={"User-Agent": name})

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request]:
        assert response.request is not None
        if response.url.endswith(("/a", "/b")):
            for path in ("/testbot", "/browsers"):
                yield response.request.replace(url=response.urljoin(f"{path}{response.url[-1:]}"))


@in_reactor
async def test_names_of_two_requests_stay_apart_if_their_new_headers_do() -> None:
    with Site({"/robots.txt": ROBOTS, "*": b"ok"}) as site:
        urls = [site.url("/a"), site.url("/b")]
        settings = {"DOWNLOADER_MIDDLEWARES": {Counting: 600}}
        await crawl(Explicit, settings, urls=urls)
        assert sorted(site.paths()) == ["/a", "/b", "/browsersa", "/robots.txt", "/testbotb"]


@table(
    "settings, said",
    row(
        "off",
        BEHIND,
        "Scrapy's UserAgentMiddleware is off. A request that has no User-Agent header yet is judged by",
    ),
    row(
        "changed",
        {"DOWNLOADER_MIDDLEWARES": {Rotating: 600}},
        "was judged by the rules for testbot",
    ),
    row("named", {**BEHIND, "ROBOTSTXT_USER_AGENT": "testbot"}, None),
    row("asked-as", {**BEHIND, "GBOT_ROBOTS_USER_AGENTS": ["testbot"]}, None),
    row(
        "by-default-headers",
        {
            "DOWNLOADER_MIDDLEWARES": {STOCK: None},
            "DEFAULT_REQUEST_HEADERS": {"User-Agent": "testbot"},
        },
        None,
    ),
    row("before", placed(Rotating, 50), "Scrapy's UserAgentMiddleware is off"),
    row("alone", {}, None),
)
@in_reactor
async def test_one_warning_names_the_remedy_where_the_name_may_be_another(
    settings: Any, said: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with Site({"/robots.txt": ROBOTS, "*": b"ok"}) as site:
        await crawl(Pages, settings, urls=[site.url(path) for path in PATHS])
    warnings = [
        each for each in own_warnings(caplog) if "User-Agent" in each or "UserAgent" in each
    ]
    assert len(warnings) == (said is not None)
    for warning in warnings:
        assert (said or "") in warning
        assert "Set ROBOTSTXT_USER_AGENT to your crawler's name" in warning
