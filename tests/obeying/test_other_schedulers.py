"""Schedulers of the user's own behind a front: nothing is lost, no limit is exceeded, no host waits for another."""

from __future__ import annotations

from typing import Any
from unittest.mock import create_autospec

import pytest
from scrapy import Request, signals
from scrapy.crawler import Crawler

from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt

from ..support.crawls import (
    Pages,
    as_scrapy_runs_it,
    crawl,
    crawl_until,
    has_crawled,
    in_reactor,
    pages,
    stats,
    under_way,
    waiting,
)
from ..support.random_worlds import SCHEDULERS
from ..support.rows import row, table
from ..support.schedulers import Duck, Fifo, Prefetches, ReplacesItsQueue, SaysNone
from ..support.visits import Gate, Watched, hosts
from ..support.web import Reply, Site

SLOW = Reply(200, b"user-agent: *\ndisallow: /no", after_secs=0.6)


KINDS: dict[str, dict[str, Any]] = {
    **{kind: SCHEDULERS[kind] for kind in SCHEDULERS if not kind.startswith("redis-")},
    "says-none": {"SCHEDULER": SaysNone},
    "prefetches": {"SCHEDULER": Prefetches},
    "replaces-its-queue": {"SCHEDULER": ReplacesItsQueue},
}


# Those whose first one in is the first one out: all that have to wait come before the healthy host.
IN_ORDER = "default strict named-aware named-priority own-priority fifo names-itself".split()


@pytest.mark.parametrize("kind", KINDS)
@as_scrapy_runs_it
async def test_waiting_requests_of_any_scheduler_come_as_they_were_and_keep_no_healthy_host_waiting(
    kind: str, site: Site
) -> None:
    page = Reply(200, b"ok", after_secs=0.02)
    gate = Gate("user-agent: *\ndisallow: /no")
    with Site({"/robots.txt": gate, "*": page}, host="0.0.0.0") as ill:
        requests = [
            Request(f"{host}/{number}", priority=number, dont_filter=number % 2 == 0)
            for number in range(4)
            for host in hosts(6, ill)
        ]
        forbidden = [f"{host}/no" for host in hosts(6, ill)]
        healthy = [site.url(f"/{number}") for number in range(12)]
        settings = {**KINDS[kind], "CONCURRENT_REQUESTS": 4}
        # While some are held, one that says that it has none is not asked for more.
        has_come_so_far = waiting(1) if kind == "says-none" else has_crawled(12)
        urls = [*forbidden, *requests, *healthy]
        crawler = await crawl_until(has_come_so_far, gate.open, Watched, settings, urls=urls)
    assert set(pages(crawler).refused) == set(forbidden)
    assert isinstance(crawler.spider, Watched)
    assert crawler.spider.most["all"] <= 4
    assert crawler.spider.scheduled == 30 + 12
    assert len(ill.asked) == 6 + 24
    assert stats(crawler)["gbot_robots/waiting"] == 0
    assert stats(crawler)["gbot_robots/waiting/max"] >= 30 * (kind in IN_ORDER)
    crawled = [*pages(crawler).crawled.values()]
    assert kind == "says-none" or {page.url for page in crawled[:12]} == {*healthy}
    of_ill = [page.request for page in crawled if page.url not in healthy]
    assert len(of_ill) == 24
    for request in of_ill:
        assert request is not None
        assert request.dont_filter is (request.priority % 2 == 0)
        assert not [key for key in request.meta if key.startswith("_gbot_robots")]


@in_reactor
async def test_scheduler_with_a_front_is_still_the_users_own(site: Site) -> None:
    crawler = await crawl(Pages, {"SCHEDULER": Duck}, urls=[site.url("/")])
    scheduler_cls: Any = crawler.settings["SCHEDULER"]
    assert issubclass(scheduler_cls, Duck)
    assert crawler.settings.getpriority("SCHEDULER") == 20  # as the project had set it
    scheduler = scheduler_cls()
    scheduler.enqueue_request(Request("http://a.x/"))
    assert (len(scheduler), scheduler.requests[0].url) == (1, "http://a.x/")


@table(
    "methods, goes_to_see",
    row("may-exempt", {"process_request": lambda self, request: None}, True),
    row("exempts-nothing", {"process_response": lambda self, request, response: response}, False),
)
@in_reactor
async def test_requests_that_went_to_see_come_back_to_the_front_and_are_refused_after_the_wait(
    methods: dict[str, Any], goes_to_see: bool, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages["/robots.txt"] = Reply(503)
    urls = [site.url(f"/{number}") for number in range(5)]
    middleware = type("OfTheProjects", (), methods)
    settings: dict[str, Any] = {"SCHEDULER": Fifo, "DOWNLOADER_MIDDLEWARES": {middleware: 60}}
    settings["GBOT_ROBOTS_UNREACHABLE_WAIT_SECS"] = 1.2
    enqueue = create_autospec(Fifo.enqueue_request, side_effect=Fifo.enqueue_request)
    monkeypatch.setattr(Fifo, "enqueue_request", enqueue)
    crawler = await crawl(Watched, settings, urls=urls)
    assert set(pages(crawler).refused) == set(urls)
    for error in pages(crawler).refused.values():
        assert isinstance(error, ForbiddenByRobotsTxt)
        assert "HTTP 503" in str(error)
    assert set(site.paths()) == {"/robots.txt"}
    assert isinstance(crawler.spider, Watched)
    assert (crawler.spider.scheduled > 5) is goes_to_see  # some have come back
    names = ("forbidden/unreachable", "requests/held")
    assert [stats(crawler)[f"gbot_robots/{name}"] for name in names] == [5, 5]
    assert stats(crawler)["finish_reason"] == "finished"
    assert enqueue.call_count == 5


def end(crawler: Crawler) -> None:
    assert crawler.engine
    under_way(crawler.engine.stop_async())


@as_scrapy_runs_it
async def test_crawl_that_is_stopped_before_its_engine_runs_holds_nothing(site: Site) -> None:
    """As by a SIGTERM that comes early: Scrapy closes no scheduler then, and the engine goes on."""

    async def stop(spider: Pages) -> None:
        await spider.crawler.stop_async()

    site.pages["/robots.txt"] = SLOW
    urls = [site.url(f"/{number}") for number in range(30)]
    settings = {"SCHEDULER": Fifo, "CONCURRENT_REQUESTS": 4}
    hears = {signals.spider_opened: stop}
    crawler = await crawl_until(has_crawled(30), end, Pages, settings, urls=urls, hears=hears)
    assert set(pages(crawler).crawled) == set(urls)
    assert stats(crawler).get("gbot_robots/waiting/max", 0) == 0
