"""Robots.txt files that hang take no connection that a page, or another robots.txt, needs, whatever handler downloads them."""

import threading
from contextlib import ExitStack
from socket import socket
from typing import Any, ClassVar

import pytest
from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Response

from ..support.crawls import (
    DOWNLOAD_HANDLERS,
    QUIET,
    Pages,
    by_each_handler,
    crawl,
    in_reactor,
    own_warnings,
    pages,
)
from ..support.web import Reply, Site
from .scenarios import RULES

HEALTHY = 3
PATIENT: dict[str, Any] = {"GBOT_ROBOTS_TIMEOUT_SECS": 40, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60}


@pytest.mark.parametrize("ladder", ["google", "allow"])
@pytest.mark.parametrize(("connections", "hanging"), [(1, 2), (4, 4)])
@pytest.mark.parametrize("handler", by_each_handler())
@in_reactor
async def test_hosts_that_hang_take_no_connection_from_pages_and_other_robots_txt_files(
    handler: dict[str, Any], connections: int, hanging: int, ladder: str
) -> None:
    came: list[int] = []  # the pages of healthy hosts
    all_came = threading.Event()

    def page(connection: socket) -> None:
        came.append(1)
        if len(came) == HEALTHY:
            all_came.set()
        Reply(200, b"ok")(connection)

    def hangs(connection: socket) -> None:
        """Answer when the healthy hosts have been crawled; without that, break the connection."""
        if all_came.wait(20):
            Reply(200, RULES)(connection)

    with ExitStack() as stack:
        ill = [Site({"/robots.txt": hangs, "*": b"ok"}) for _ in range(hanging)]
        every = [*ill, *(Site({"/robots.txt": RULES, "*": page}) for _ in range(HEALTHY))]
        for site in every:
            stack.enter_context(site)
        limits = {"CONCURRENT_REQUESTS": connections, "GBOT_ROBOTS_UNREACHABLE": ladder}
        urls = [site.url(path) for path in ("/page", "/free") for site in every]
        crawler = await crawl(Pages, {**handler, **PATIENT, **limits}, urls=urls)
        assert set(pages(crawler).crawled) == {site.url("/free") for site in every}
        assert [site.paths().count("/robots.txt") for site in ill] == [1] * hanging


class Counted:
    """Notes which handlers of a class were made and closed."""

    made: ClassVar[list[object]] = []
    closed: ClassVar[list[object]] = []

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)  # type: ignore[call-arg]
        self.made.append(self)

    async def close(self) -> None:
        await super().close()  # type: ignore[misc]
        self.closed.append(self)


class OnlyOnce(Counted):
    """A handler of which there may be no second one."""

    def __init__(self, crawler: Crawler) -> None:
        if self.made:
            raise RuntimeError("the port is taken")
        super().__init__(crawler)


class CountedTwisteds(Counted, HTTP11DownloadHandler):
    """One of the user's own that derives from Scrapy's default handler."""


@pytest.fixture
def bounded() -> type:
    """A handler of Scrapy's that opens no more connections than CONCURRENT_REQUESTS."""
    if "TWISTED_REACTOR" in QUIET:
        pytest.skip("needs the asyncio reactor")
    path, _, name = DOWNLOAD_HANDLERS["aiohttp"].rpartition(".")
    lacks = "this Scrapy has no aiohttp handler, or it lacks aiohttp"
    kind: type = getattr(pytest.importorskip(path, reason=lacks, exc_type=ImportError), name)
    return kind


async def crawl_with(handler: type, *requests: str | Request) -> Crawler:
    Counted.made.clear()
    Counted.closed.clear()
    return await crawl(Pages, {"DOWNLOAD_HANDLERS": {"http": handler}}, urls=requests)


@in_reactor
async def test_bounded_handler_is_made_twice_if_need_be_and_closed(
    bounded: type, site: Site
) -> None:
    handler = type("Own", (Counted, bounded), {})
    exempt = Request(site.url("/page"), meta={"dont_obey_robotstxt": True}, dont_filter=True)
    await crawl_with(handler, exempt)
    assert len(Counted.made) == 1
    crawler = await crawl_with(handler, site.url("/page"), site.url("/free"))
    assert set(pages(crawler).crawled) == {site.url("/free")}
    assert len(Counted.made) == 2
    assert set(Counted.closed) == set(Counted.made)
    assert crawler.settings["CONCURRENT_REQUESTS"] == 16


@in_reactor
async def test_handler_that_is_made_once_serves_both(
    bounded: type, caplog: pytest.LogCaptureFixture, site: Site
) -> None:
    handler = type("Own", (OnlyOnce, bounded), {})
    crawler = await crawl_with(handler, site.url("/page"), site.url("/free"))
    assert set(pages(crawler).crawled) == {site.url("/free")}
    assert len(Counted.made) == 1
    (warning,) = own_warnings(caplog)
    assert "A second Own could not be created" in warning


class Browser:
    """A handler that has nothing of Scrapy's, and may cost a lot."""

    lazy = True
    made: ClassVar[list[object]] = []

    def __init__(self) -> None:
        self.made.append(self)

    async def download_request(self, request: Request) -> Response:
        return Response(request.url, body=RULES)

    async def close(self) -> None: ...


@in_reactor
async def test_handlers_that_bound_nothing_are_made_once(site: Site) -> None:
    await crawl_with(CountedTwisteds, site.url("/free"))
    assert len(Counted.made) == 1
    Browser.made.clear()
    await crawl_with(Browser, site.url("/free"))
    assert len(Browser.made) == 1
