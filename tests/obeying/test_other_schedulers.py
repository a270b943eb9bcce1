"""Schedulers of the user's own behind a front: nothing is lost, no limit is exceeded, no host waits for another."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.obeying import front

from ..support.crawls import (
    Pages,
    as_scrapy_runs_it,
    crawl,
    crawl_until,
    errors,
    has_crawled,
    in_reactor,
    own_warnings,
    pages,
    stats,
    stop,
    together,
    under_way,
    waiting,
)
from ..support.random_worlds import SCHEDULERS
from ..support.rows import row, table
from ..support.schedulers import Duck, Fifo, Prefetches, ReplacesItsQueue, SaysNone
from ..support.until import until
from ..support.visits import Gate, Watched, fetches, hosts
from ..support.web import Reply, Site

SLOW = Reply(200, b"user-agent: *\ndisallow: /no", after_secs=0.6)


KINDS: dict[str, dict[str, Any]] = {
    **{kind: SCHEDULERS[kind] for kind in SCHEDULERS if not kind.startswith("redis-")},
    "says-none": {"SCHEDULER": SaysNone},
    "prefetches": {"SCHEDULER": Prefetches},
    "replaces-its-queue": {"SCHEDULER": ReplacesItsQueue},
}


@pytest.mark.parametrize("kind", KINDS)
@as_scrapy_runs_it
async def test_requests_wait_before_any_scheduler_and_come_as_they_were(kind: str) -> None:
    page = Reply(200, b"ok", after_secs=0.02)
    gate = Gate("user-agent: *\ndisallow: /no")
    with Site({"/robots.txt": gate, "*": page}, host="0.0.0.0") as site:
        requests = [
            Request(f"{host}/{number}", priority=number, dont_filter=number % 2 == 0)
            for number in range(4)
            for host in hosts(10, site)
        ]
        forbidden = [f"{host}/no" for host in hosts(10, site)]
        settings = {**KINDS[kind], "CONCURRENT_REQUESTS": 4}
        # While some are held, one that says that it has none is not asked for more.
        some_wait = waiting(1 if kind == "says-none" else 5)
        urls = [*forbidden, *requests]
        crawler = await crawl_until(some_wait, gate.open, Watched, settings, urls=urls)
    assert set(pages(crawler).refused) == set(forbidden)
    assert isinstance(crawler.spider, Watched)
    assert crawler.spider.most["all"] <= 4
    assert crawler.spider.scheduled == 50
    assert len(site.asked) == 10 + 40
    assert stats(crawler)["gbot_robots/waiting"] == 0
    crawled = [response.request for response in pages(crawler).crawled.values()]
    assert len(crawled) == 40
    for request in crawled:
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


@pytest.fixture(autouse=True)
def _works() -> None:
    Failing.fails, Failing.asked, Failing.enqueued = False, 0, 0


class Failing(Fifo):
    """Fails while the test says so, as one whose Redis is away."""

    fails = False
    fails_at = range(0)  # when it has got so many requests
    asked = enqueued = 0

    def enqueue_request(self, request: Request) -> bool:
        Failing.enqueued += 1
        self._check(Failing.enqueued in Failing.fails_at)
        return super().enqueue_request(request)

    def has_pending_requests(self) -> bool:
        self._check()
        return super().has_pending_requests()

    def next_request(self) -> Request | None:
        self._check()
        return super().next_request()

    def _check(self, fails: bool = False) -> None:
        Failing.asked += 1
        if fails or Failing.fails:
            raise ConnectionError("the queue is away")


@as_scrapy_runs_it
async def test_engine_does_not_wait_while_the_front_takes_what_has_to_wait(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time for one request is over at once here, so no more than one is taken at a time."""
    taken_together: list[int] = []
    next_request = front.Front.next_request

    def count(scheduler: front.Front) -> Request | None:
        before = Failing.asked
        request = next_request(scheduler)
        taken_together.append(Failing.asked - before)
        return request

    monkeypatch.setattr(front, "PULL_SECS", 0.0)
    monkeypatch.setattr(front.Front, "next_request", count)
    site.pages["/robots.txt"] = gate = Gate("")
    urls = [site.url(f"/{number}") for number in range(30)]
    crawler = await crawl_until(waiting(30), gate.open, Pages, {"SCHEDULER": Failing}, urls=urls)
    assert set(pages(crawler).crawled) == set(urls)
    assert max(taken_together) <= 2  # whether there is one, and which


class Waits(Fifo):
    """Waits for a request if it has none, as scrapy-redis may: all that is held would wait, too."""

    waited_with_requests_held = 0

    def next_request(self) -> Request | None:
        room: Any = getattr(self, "_room", None)  # the front's
        if room is not None and room.occupancy.size and not self.requests:
            Waits.waited_with_requests_held += 1
        return super().next_request()


@as_scrapy_runs_it
async def test_empty_scheduler_is_asked_for_no_request_while_some_are_held(site: Site) -> None:
    site.pages["/robots.txt"] = gate = Gate("")
    urls = [site.url(f"/{number}") for number in range(5)]
    crawler = await crawl_until(waiting(5), gate.open, Pages, {"SCHEDULER": Waits}, urls=urls)
    assert set(pages(crawler).crawled) == set(urls)
    assert Waits.waited_with_requests_held == 0


@as_scrapy_runs_it
async def test_scheduler_that_fails_is_asked_again_each_few_seconds_while_what_is_held_goes_on(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in {"ASK_AGAIN_SECS": 0.1, "MOST_HELD": 25, "USABLE": 25}.items():
        monkeypatch.setattr(front, name, value)
    site.pages["/robots.txt"] = gate = Gate("")
    urls = [site.url(f"/{number}") for number in range(40)]
    running = crawl(Pages, {"SCHEDULER": Failing}, urls=urls)
    await until(lambda: Failing.enqueued == 40 and fetches(site) == 1)
    monkeypatch.setattr(front, "MOST_HELD", 30)
    Failing.fails, Failing.asked = True, 0
    await until(lambda: Failing.asked >= 4)
    monkeypatch.setattr(front, "ASK_AGAIN_SECS", 60.0)
    asked = Failing.asked
    await until(lambda: Failing.asked > asked)
    await pause(1.0)  # the engine wants requests all the time
    assert Failing.asked == asked + 1
    gate.open()
    await until(lambda: len(site.paths()) == 1 + 25)  # what is held
    Failing.fails = False
    (crawler,) = await together(running)
    assert set(pages(crawler).crawled) == set(urls)
    (warning,) = [line for line in own_warnings(caplog) if "scheduler failed" in line]
    assert "the queue is away" in warning


class Exempting:
    """A downloader middleware of a project's: so one request of a host goes and sees."""

    def process_request(self, request: Request) -> None:
        pass


class Counting:
    """Another, which can exempt nothing."""

    def process_response(self, request: Request, response: Response) -> Response:
        return response


@pytest.mark.parametrize(("middleware", "goes_to_see"), [(Exempting, True), (Counting, False)])
@in_reactor
async def test_request_that_went_to_see_comes_back_to_the_front_and_not_to_its_scheduler(
    middleware: type, goes_to_see: bool, site: Site
) -> None:
    site.pages["/robots.txt"] = Reply(503)
    urls = [site.url(f"/{number}") for number in range(5)]
    settings = {"SCHEDULER": Failing, "DOWNLOADER_MIDDLEWARES": {middleware: 60}}
    settings["GBOT_ROBOTS_UNREACHABLE_WAIT_SECS"] = 1.2
    crawler = await crawl(Watched, settings, urls=urls)
    assert set(pages(crawler).refused) == set(urls)
    assert isinstance(crawler.spider, Watched)
    assert (crawler.spider.scheduled > 5) is goes_to_see  # some have come back
    assert Failing.enqueued == 5


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
    assert stats(crawler).get("gbot_robots/waiting_most", 0) == 0


@table(
    "failures, tried_for_secs, lost",
    row("those-that-fail", 3, 10.0, 3),
    row("all-after-a-failure-if-the-time-is-over", 1, 0.0, 30),
)
@as_scrapy_runs_it
async def test_what_cannot_go_back_is_counted_in_the_log(
    failures: int,
    tried_for_secs: float,
    lost: int,
    site: Site,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(front, "GIVE_BACK_SECS", tried_for_secs)
    # As the thirty go back.
    monkeypatch.setattr(Failing, "fails_at", range(31, 31 + failures))
    site.pages["/robots.txt"] = Reply(503)
    urls = [site.url(f"/{number}") for number in range(30)]
    settings = {"SCHEDULER": Failing, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 600}
    await crawl_until(waiting(30), stop, Pages, settings, urls=urls)
    (error,) = [line for line in errors(caplog) if "as the crawl closed" in line]
    assert f" {lost} requests that waited for their robots.txt are lost" in error
    assert len(Fifo.left) == 30 - lost
