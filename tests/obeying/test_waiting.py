"""Requests that wait for a robots.txt: in order, fair to other requests, and none is lost. `test_room` has the details."""

import re
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from socket import socket
from typing import Any, ClassVar

import pytest
from scrapy import Request
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from typing_extensions import Self

from scrapy_gbot_robots import GbotRobotsTxtMiddleware
from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt

from ..support.crawls import (
    Pages,
    as_scrapy_runs_it,
    begin,
    crawl,
    crawl_until,
    in_reactor,
    pages,
    stats,
    stop,
    together,
    under_way,
    waiting,
)
from ..support.fleet import Worker
from ..support.rows import row, table
from ..support.schedulers import Fifo
from ..support.until import block_until, until
from ..support.visits import Gate, Watched, fetches, hosts, visiting
from ..support.web import Reply, Site, free_port

SLOW = Reply(200, b"user-agent: *\ndisallow: /no", after_secs=1.2)


GONE = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 600}
NO_NAMES = ["www..example.com", ".example.com", f"{'a' * 64}.example", ".".join(["a" * 63] * 4)]


@table(
    "host, settings, cause",
    row("nobody-listens", "127.0.0.1:{closed}", GONE, "ConnectionRefused"),
    row("silent", "127.0.0.1:{silent}", {"GBOT_ROBOTS_TIMEOUT_SECS": 0.3}, "Timeout"),
    *((host, GONE, "CannotResolveHost|DNSLookup") for host in NO_NAMES),
)
@in_reactor
async def test_host_that_is_gone_is_refused_soon_and_the_exception_has_the_cause(
    host: str, settings: dict[str, Any], cause: str, site: Site
) -> None:
    with Site({"/robots.txt": Gate("")}) as silent:
        url = f"http://{host.format(closed=free_port(), silent=silent.port)}/"
        # A server that answers shows that the network is up.
        urls = [url, site.url("/")] if settings is GONE else [url]
        crawler = await crawl(Pages, settings, urls=urls)
    (error,) = pages(crawler).refused.values()
    assert isinstance(error, ForbiddenByRobotsTxt)
    assert re.search(cause, type(error.cause).__name__)
    assert error.__cause__ is error.cause
    assert stats(crawler).get("gbot_robots/origins/gone", 0) == (settings is GONE)


@as_scrapy_runs_it
async def test_a_quarter_of_downloads_past_the_scheduler_waits_for_an_outage(site: Site) -> None:
    with Site({"/robots.txt": Reply(503), "*": b"ok"}) as ill:
        settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 600, "CONCURRENT_REQUESTS": 8}
        async with visiting(**settings) as visitor:
            downloads = [under_way(visitor.may(ill.url(f"/{number}"))) for number in range(6)]
            await until(lambda: len([each for each in downloads if each.called]) == 4)
            assert await visitor.may(site.url("/"))
            ill.pages["/robots.txt"] = b""
            assert sorted(await together(*downloads)) == [False] * 4 + [True] * 2
    assert stats(visitor.crawler)["gbot_robots/requests/held"] == 2


@table("scheduler", row("Scrapy's", {}), row("another", {"SCHEDULER": Fifo}))
@as_scrapy_runs_it
async def test_downloads_that_wait_for_a_silent_robots_txt_keep_no_page_waiting_and_the_crawl_open(
    scheduler: dict[str, Any], site: Site
) -> None:
    gate = Gate("")
    with Site({"/robots.txt": gate, "*": b"ok"}) as silent:
        async with visiting(**scheduler, CONCURRENT_REQUESTS=4) as visitor:
            downloads = [under_way(visitor.may(silent.url(f"/{n}"))) for n in range(30)]
            await until(lambda: fetches(silent) == 1)
            visitor.schedule(*(site.url(f"/{n}") for n in range(30)))
            await until(lambda: len(site.asked) == 1 + 30)
            assert not [each for each in downloads if each.called]
            visitor.leaves = True
            await pause(0.5)  # nothing is scheduled or downloaded any more
            gate.open()
            assert await together(*downloads) == [True] * 30
        assert set(silent.paths()) == {"/robots.txt", *(f"/{n}" for n in range(30))}


@as_scrapy_runs_it
async def test_downloads_past_the_scheduler_wait_no_more_when_the_wait_is_over(site: Site) -> None:
    site.pages["/robots.txt"] = Reply(503)
    async with visiting(GBOT_ROBOTS_UNREACHABLE_WAIT_SECS=1.2) as visitor:
        assert not await visitor.may(site.url("/"))
        names = ("gbot_robots/requests/held", "gbot_robots/forbidden/unreachable")
        assert [stats(visitor.crawler)[name] for name in names] == [1, 1]
        site.pages["/robots.txt"] = gate = Gate("")
        asked = fetches(site)
        while fetches(site) == asked:  # until it may be asked for again
            assert not await visitor.may(site.url("/"))
            await pause(0.1)
        for _ in range(3):
            assert not await visitor.may(site.url("/"))  # though a look-up runs, for long
        gate.open()
        while not await visitor.may(site.url("/")):
            await pause(0.1)


class TakesAToken:
    """An item pipeline that downloads a page before the spider is open."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def open_spider(self) -> None:
        assert self.crawler.engine
        # Before the spider is open, OffsiteMiddleware of Scrapy 2.14 cannot judge a request.
        meta = {"allow_offsite": True}
        request = Request(self.crawler.settings["TOKEN"], meta=meta)
        with pytest.raises(ForbiddenByRobotsTxt, match="HTTP 503"):
            await self.crawler.engine.download_async(request)

    def process_item(self, item: Any) -> Any:
        return item


@as_scrapy_runs_it
async def test_download_before_the_spider_is_open_ends_when_the_wait_is_over(site: Site) -> None:
    settings = {"ITEM_PIPELINES": {TakesAToken: 1}, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 1.2}
    with Site({"/robots.txt": Reply(503), "*": b"ok"}) as ill:
        settings["TOKEN"] = ill.url("/token")
        crawler, ended = begin(Pages, settings, urls=[site.url("/")])
        await until(lambda: ended.called)
        await together(ended)
        assert set(ill.paths()) == {"/robots.txt"}
    assert set(pages(crawler).crawled) == {site.url("/")}


@pytest.mark.slow
def test_killed_crawl_loses_what_waited_or_was_under_way_alone(site: Site, tmp_path: Path) -> None:
    settings = {"JOBDIR": str(tmp_path), "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60}

    def crawled(urls: list[str], **more: Any) -> list[str]:
        worker = Worker(urls, {**settings, **more})
        report = worker.report()
        assert "Traceback" not in worker.log
        return [*report["crawled"]]

    before = crawled([site.url(f"/{number}") for number in range(200)], CLOSESPIDER_PAGECOUNT=3)
    site.pages["/robots.txt"] = Reply(503)
    asked = len(site.asked)
    killed = Worker([], settings)
    # asked again: as many wait as may
    block_until(lambda: site.paths()[asked:].count("/robots.txt") >= 2)
    killed.kill()
    site.pages["/robots.txt"] = b""
    assert len({*before, *crawled([])}) >= 200 - 16


class Exempting:
    """A downloader middleware of a project's, which knows what needs no robots.txt."""

    def process_request(self, request: Request) -> None:
        if "/api/" in request.url:
            request.meta["dont_obey_robotstxt"] = True


class Bypassing(GbotRobotsTxtMiddleware):
    """A subclass as projects wrote them before there was `is_subject_to_robots`."""

    async def process_request(self, request: Request, spider: Any = None) -> Any:
        if "/api/" in request.url:
            return None
        return await super().process_request(request)


class Knowing(GbotRobotsTxtMiddleware):
    """A subclass as the pages recommend."""

    def is_subject_to_robots(self, request: Request) -> bool:
        return "/api/" not in request.url and super().is_subject_to_robots(request)


class UntilThree(Pages):
    """Ends the crawl with the third page."""

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request] | None:
        super().parse(response)
        if len(self.crawled) == 3:
            raise CloseSpider("three pages")
        return None


@pytest.mark.parametrize("middleware", [{Exempting: 60}, {Bypassing: 100}, {Knowing: 100}])
@pytest.mark.parametrize("scheduler", [Scheduler, Fifo])
@in_reactor
async def test_what_the_projects_own_code_exempts_does_not_wait_nor_behind_requests_that_do(
    middleware: dict[type, int], scheduler: type, site: Site
) -> None:
    asked = threading.Event()

    def robots_txt(connection: socket) -> None:
        asked.set()
        Reply(503, headers={"Retry-After": "600"})(connection)

    def page(connection: socket) -> None:
        # Else the crawl may end before the request for the robots.txt has come.
        asked.wait(30)
        Reply(200)(connection)

    site.pages = {"/robots.txt": robots_txt, "*": page}
    exempt = [site.url(f"/api/{number}") for number in range(3)]
    before = [site.url(f"/before/{number}") for number in range(30)]
    after = [site.url(f"/after/{number}") for number in range(30)]
    settings = {
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 300,
        "DOWNLOADER_MIDDLEWARES": middleware,
        "SCHEDULER": scheduler,
        "CLOSESPIDER_TIMEOUT": 60,
    }
    crawler = await crawl(UntilThree, settings, urls=[*before, *exempt, *after])
    assert sorted(pages(crawler).crawled) == exempt
    assert fetches(site) == 1


@as_scrapy_runs_it
async def test_agents_that_wait_share_a_fetch_even_if_it_expires_at_once(site: Site) -> None:
    site.pages["/robots.txt"] = gate = Gate("user-agent: otherbot\ndisallow: /2")
    urls = [
        Request(site.url(f"/{number}"), headers={"User-Agent": user_agent}, dont_filter=True)
        for number in range(30)
        for user_agent in ("testbot", "otherbot")
    ]
    settings = {"GBOT_ROBOTS_MAX_AGE_SECS": 0, "CONCURRENT_REQUESTS": 2}
    crawler = await crawl_until(waiting(60), gate.open, Watched, settings, urls=urls)
    assert isinstance(crawler.spider, Watched)
    assert crawler.spider.most["all"] <= 2
    assert len([path for path in site.paths() if path != "/robots.txt"]) == 60 - 11
    assert fetches(site) <= 6


class Wandering:
    """A downloader middleware that sends requests on from host to host, each time that they come."""

    hosts: ClassVar[list[str]] = []
    sent: ClassVar[list[str]] = []

    def process_request(self, request: Request) -> None:
        for here, there in pairwise(self.hosts):
            if request.url.startswith(here):
                request._set_url(request.url.replace(here, there))
                self.sent.append(request.url)
                return


@pytest.fixture
def wandering(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings with that middleware, which sends no request on as yet."""
    monkeypatch.setattr(Wandering, "hosts", [])
    monkeypatch.setattr(Wandering, "sent", [])
    return {"DOWNLOADER_MIDDLEWARES": {Wandering: 60}}


@in_reactor
async def test_request_that_a_middleware_sends_elsewhere_is_judged_there(
    site: Site, wandering: dict[str, Any]
) -> None:
    with Site({"/robots.txt": b"user-agent: *\ndisallow: /here/no", "*": b"ok"}) as other:
        Wandering.hosts += [site.url("/here"), other.url("/here")]
        urls = [site.url("/here/yes"), site.url("/here/no")]
        crawler = await crawl(Pages, wandering, urls=urls)
        assert set(pages(crawler).crawled) == {other.url("/here/yes")}
        assert other.paths() == ["/robots.txt", "/here/yes"]


@in_reactor
async def test_scheduled_request_that_waits_keeps_its_place(wandering: dict[str, Any]) -> None:
    page = Reply(200, b"ok", after_secs=0.1)
    with Site({"/robots.txt": SLOW, "*": page}, host="0.0.0.0") as site:
        Wandering.hosts += hosts(3, site)
        first, _, last = Wandering.hosts
        settings = {**wandering, "CONCURRENT_REQUESTS": 2}
        crawler = await crawl(Watched, settings, urls=[f"{first}/{n}" for n in range(8)])
        assert set(pages(crawler).crawled) == {f"{last}/{n}" for n in range(8)}
    assert isinstance(crawler.spider, Watched)
    assert crawler.spider.most["all"] <= 2


@table("scheduler", row("Scrapy's", {}), row("another", {"SCHEDULER": Fifo}))
@as_scrapy_runs_it
async def test_request_that_waits_in_its_place_goes_back_when_the_crawl_closes(
    scheduler: dict[str, Any], site: Site, wandering: dict[str, Any], tmp_path: Path
) -> None:
    def all_wait(crawler: Crawler) -> bool:
        return len(Wandering.sent) == 5 and fetches(silent) == 1

    with Site({"/robots.txt": Gate(""), "*": b"ok"}) as silent:
        Wandering.hosts += [site.url("/here"), silent.url("/here")]
        settings = {**wandering, **scheduler, "JOBDIR": str(tmp_path)}
        urls = [Request(site.url(f"/here/{number}")) for number in range(5)]
        crawler = await crawl_until(all_wait, stop, Pages, settings, urls=urls)
        assert pages(crawler).refused == {}
        there = [silent.url(f"/here/{number}") for number in range(5)]
        if scheduler:
            assert sorted(request.url for request in Fifo.left) == there
            return
        silent.pages["/robots.txt"] = b""
        Wandering.hosts.clear()
        (crawler,) = await together(crawl(Pages, settings, urls=[]))
        assert sorted(pages(crawler).crawled) == there
        for response in pages(crawler).crawled.values():
            assert response.request is not None
            assert not response.request.dont_filter


@as_scrapy_runs_it
async def test_several_crawls_in_one_process_wait_for_themselves(site: Site) -> None:
    with Site({"/robots.txt": SLOW, "*": b"ok"}) as slow:
        urls = [each.url(f"/{number}") for number in range(5) for each in (slow, site)]
        for crawler in await together(*(crawl(Pages, urls=urls) for _ in range(5))):
            assert set(pages(crawler).crawled) == set(urls)
            assert stats(crawler)["scheduler/enqueued"] == 10
