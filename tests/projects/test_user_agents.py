"""Projects that rotate their User-Agent: the items are those of Scrapy alone, and the log says whose rules were read."""

from collections.abc import AsyncIterator
from itertools import cycle
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware
from typing_extensions import Self

from ..support.crawls import Pages, crawl, in_reactor, pages
from ..support.rows import row, table
from ..support.web import Site

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
