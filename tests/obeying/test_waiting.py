"""Requests that wait for a robots.txt: in order, fair to other requests, and none is lost. `test_queue` has the details."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider, signals, version_info
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import IgnoreRequest
from twisted.internet.defer import gatherResults

from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.obeying import queue as queue_module
from scrapy_gbot_robots.obeying import waiting

from ..support.crawls import Pages, crawl, in_reactor, pages, stats
from ..support.processes import output, start
from ..support.reactors import as_arguments, ways_to_run
from ..support.until import block_until
from ..support.visits import Gate, Opening
from ..support.web import Reply, Site, raw

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path
    from socket import socket

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self


RULES = b"user-agent: *\ndisallow: /page\n"


@in_reactor
async def test_host_that_is_gone_is_refused_soon_and_the_exception_has_the_cause() -> None:
    with Site({"*": b"ok"}) as healthy:
        with Site({}) as gone:
            url = gone.url("/a")
        crawler = await crawl(Pages, {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 600}, urls=[url, healthy.url("/")])
        (error,) = pages(crawler).refused.values()
        assert isinstance(error, ForbiddenByRobotsTxt)
        assert "ConnectionRefused" in type(error.cause).__name__
        assert error.__cause__ is error.cause
        assert "connection refused" in str(error)
        assert stats(crawler)["gbot_robots/gone"] == 1
        assert stats(crawler)["gbot_robots/unreachable"] == 3


class Inside(Spider):
    """Downloads from within a callback, past the scheduler."""

    name = "inside"

    def __init__(self, outer: str, inner: list[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.outer, self.inner = outer, inner
        self.results: list[Any] = []

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.outer)

    async def parse(self, response: Response, **kwargs: Any) -> None:
        self.results = [await self.result(url) for url in self.inner]

    async def result(self, url: str) -> bytes | IgnoreRequest:
        assert self.crawler.engine is not None
        try:
            return (await self.crawler.engine.download_async(Request(url))).body
        except IgnoreRequest as error:
            return error


async def results_inside(inner: list[str], settings: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    with Site({"*": b"ok"}) as outer:
        crawler = await crawl(Inside, settings, outer=outer.url("/x"), inner=inner)
        assert isinstance(crawler.spider, Inside)
        return crawler.spider.results, stats(crawler)


@in_reactor
async def test_download_from_a_callback_waits_like_any_other_request_and_is_held_once() -> None:
    rules = Reply(200, RULES, after_secs=0.3)
    with Site({"/robots.txt": rules, "*": b"ok"}) as site, Site({"/robots.txt": Reply(503)}) as ill:
        urls = [site.url("/free"), site.url("/page"), ill.url("/free")]
        (free, *refused), counts = await results_inside(urls, {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 1.2})
        assert free == b"ok"
        assert [type(each) for each in refused] == [ForbiddenByRobotsTxt] * 2
        assert counts["gbot_robots/held"] == counts["gbot_robots/given_up"] == 1


@in_reactor
async def test_download_from_a_callback_is_refused_when_the_crawl_closes() -> None:
    with Site({"/robots.txt": raw(30.0)}) as site:
        (refused,), _ = await results_inside([site.url("/free")], {"CLOSESPIDER_TIMEOUT": 1})
        assert isinstance(refused, ForbiddenByRobotsTxt)
        assert "closed" in str(refused)


RESUMED = """
from scrapy import Request, Spider

class Resumed(Spider):
    name = "resumed"
    custom_settings = {"ADDONS": {"scrapy_gbot_robots.Addon": 500}, "TELNETCONSOLE_ENABLED": False}

    async def start(self):
        for number in range(5):
            yield Request(f"{self.site}/{number}")

    def parse(self, response):
        print("CRAWLED", response.url, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", ways_to_run("asyncio", "select"))
def test_held_requests_survive_any_number_of_interruptions_with_jobdir(way: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "resumed.py").write_text(RESUMED)
    with Site({"/robots.txt": Reply(503), "*": b"ok"}) as site:
        command = [sys.executable, "-m", "scrapy", "runspider", "resumed.py", "-a", f"site={site.url('')}"]
        command += as_arguments({**way, "JOBDIR": "job"})
        for run in (1, 2):
            process = start(command, tmp_path)
            block_until(lambda: len(site.asked) >= 2 * run)  # noqa: B023 - asked again, so that requests are held
            process.send_signal(signal.SIGINT)
            out, log = output(process)
            assert "CRAWLED" not in out
            assert "Traceback" not in log
        site.pages["/robots.txt"] = b""
        out, log = output(start(command, tmp_path))
        assert sorted(out.split()[1::2]) == [site.url(f"/{number}") for number in range(5)], log
        assert "Traceback" not in log


# Scrapy 2.14 does not close a disk queue that has become empty, and 2.19 does.
UNCLOSED_QUEUES = ["ignore::pytest.PytestUnraisableExceptionWarning"] if version_info < (2, 19) else []
SLOW = Reply(200, b"user-agent: *\ndisallow: /no", after_secs=1.2)


class Failing:
    """A robots.txt that is unreachable so many times, then allows everything. Fetches come after 0, 1, 3, 7 seconds."""

    def __init__(self, times: int) -> None:
        self.times = times

    def __call__(self, connection: socket) -> None:
        self.times -= 1
        Reply(503 if self.times >= 0 else 404)(connection)


class Flapping:
    """A robots.txt that allows everything at the first fetch, is unreachable at the second, and so on in turn."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, connection: socket) -> None:
        self.asked += 1
        Reply(404 if self.asked % 2 else 503)(connection)


class Watched(Pages):
    """Notes the most pages that were under way in the downloader, in all and of one host."""

    name = "watched"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.under_way: list[str] = []
        self.most = self.scheduled = 0
        self.most_by_host: dict[str, int] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.reached, signals.request_reached_downloader)
        crawler.signals.connect(spider.left, signals.request_left_downloader)
        crawler.signals.connect(spider.was_scheduled, signals.request_scheduled)
        return spider

    def was_scheduled(self) -> None:
        self.scheduled += 1

    def reached(self, request: Request) -> None:
        if not request.url.endswith("/robots.txt"):
            host = request.url.split("/")[2]
            self.under_way.append(host)
            self.most = max(self.most, len(self.under_way))
            self.most_by_host[host] = max(self.most_by_host.get(host, 0), self.under_way.count(host))

    def left(self, request: Request) -> None:
        if not request.url.endswith("/robots.txt"):
            self.under_way.remove(request.url.split("/")[2])


class Gated(Watched, Opening):
    """Opens a gate, and notes what was under way."""

    name = "gated"


def hosts(number: int, site: Site) -> list[str]:
    return [f"http://127.0.1.{last}:{site.port}" for last in range(1, number + 1)]


@in_reactor
async def test_requests_that_waited_are_checked_and_no_more_are_under_way_than_the_settings_allow() -> None:
    with Site({"/robots.txt": SLOW, "*": Reply(200, b"ok", after_secs=0.01)}, host="0.0.0.0") as site:
        urls = [f"{host}/{number}" for number in range(4) for host in hosts(30, site)]
        forbidden = [f"{host}/no/{number}" for number in range(2) for host in hosts(30, site)]
        crawler = await crawl(Watched, {"CONCURRENT_REQUESTS": 8}, urls=[*forbidden, *urls])
        assert set(pages(crawler).crawled) == set(urls)
        assert set(pages(crawler).refused) == set(forbidden)
        assert len(site.asked) == 30 + len(urls)
        assert isinstance(crawler.spider, Watched)
        assert crawler.spider.most <= 8


class Trickle(Watched):
    """Crawls its URLs, and one page after another of a host that answers."""

    name = "trickle"

    def __init__(self, host: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.host = host
        self.order: list[str] = []

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request]:
        self.order.append(response.url.split("/")[2])
        if response.url.startswith(self.host) and len(self.order) < 300:
            yield Request(f"{self.host}/{len(self.order)}-next", self.parse)


@in_reactor
async def test_other_hosts_go_on_beside_requests_that_waited_and_go_on_slowly() -> None:
    with (
        Site({"/robots.txt": SLOW, "*": b"ok"}) as slow,
        Site({"/robots.txt": b"", "*": b"ok"}, host="0.0.0.0") as fast,
    ):
        (host,) = hosts(1, fast)
        urls = [slow.url(f"/{number}") for number in range(80)] + [f"{host}/1"]
        settings = {"CONCURRENT_REQUESTS": 8, "DOWNLOAD_SLOTS": {"127.0.0.1": {"delay": 0.03}}}
        crawler = await crawl(Trickle, {**settings}, urls=urls, host=host)
        assert isinstance(crawler.spider, Trickle)
        asked = ["slow" if each == f"127.0.0.1:{slow.port}" else "fast" for each in crawler.spider.order]
        assert asked.count("slow") == 80
        runs = "".join(each[0] for each in asked).split("f")
        assert max(map(len, runs[: asked.count("fast")])) <= 2 * 8


@in_reactor
async def test_host_that_settles_first_does_not_fill_the_downloader_with_requests_that_its_delay_keeps_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue_module, "QUEUED_SECS", 0.2)
    gate = Gate("")
    with (
        Site({"/robots.txt": b"", "*": b"ok"}) as first,
        Site({"/robots.txt": gate, "*": b"ok"}, host="0.0.0.0") as late,
    ):
        urls = [f"{host}/{number}" for number in range(4) for host in hosts(8, late)]
        urls += [first.url(f"/{number}") for number in range(12)]
        settings = {"CONCURRENT_REQUESTS": 8, "DOWNLOAD_SLOTS": {"127.0.0.1": {"delay": 0.2}}}
        crawler = await crawl(Gated, settings, urls=urls, gate=gate, after=10)  # two are left when none waits any more
        assert len(pages(crawler).crawled) == 44
        assert isinstance(crawler.spider, Gated)
        assert crawler.spider.most_by_host[f"127.0.0.1:{first.port}"] <= 3


@in_reactor
async def test_outage_shorter_than_the_wait_costs_no_page() -> None:
    with Site({"/robots.txt": Failing(2), "*": b"ok"}) as site:
        urls = [site.url(f"/{number}") for number in range(150)]
        settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 20}
        crawler = await crawl(Pages, settings, urls=urls)
        assert set(pages(crawler).crawled) == set(urls)
        assert stats(crawler)["gbot_robots/held"] == 150


@in_reactor
async def test_good_answer_serves_all_requests_that_waited_for_it_even_if_it_expires_at_once() -> None:
    flapping = Flapping()
    with Site({"/robots.txt": flapping, "*": b"ok"}) as site:
        urls = [site.url(f"/{number}") for number in range(60)]
        settings = {"GBOT_ROBOTS_MAX_AGE_SECS": 0, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 20}
        crawler = await crawl(Pages, {**settings, "CONCURRENT_REQUESTS": 4}, urls=urls)
        assert set(pages(crawler).crawled) == set(urls)
        assert flapping.asked <= 6


@in_reactor
async def test_requests_whose_wait_is_over_are_refused_with_the_reason_and_the_crawl_ends() -> None:
    with Site({"/robots.txt": Reply(503)}, host="0.0.0.0") as site:
        urls = [f"{host}/{number}" for number in range(10) for host in hosts(10, site)]
        crawler = await crawl(Pages, {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 1.2}, urls=urls)
        assert set(pages(crawler).refused) == set(urls)
        assert all(isinstance(error, ForbiddenByRobotsTxt) for error in pages(crawler).refused.values())
        assert "HTTP 503" in str(pages(crawler).refused[urls[0]])
        assert site.paths() == ["/robots.txt"] * 20
        counts = stats(crawler)
        assert counts["gbot_robots/given_up"] == counts["gbot_robots/held"] == counts["scheduler/enqueued"] == 100
        assert counts["finish_reason"] == "finished"


async def assert_good_come_first(
    urls: list[Any], good: list[str], gate: Gate, settings: dict[str, Any]
) -> dict[str, Any]:
    """Crawl `urls`, four at a time. The gate is opened when as many pages are crawled as are `good`. Return the stats."""
    crawler = await crawl(Opening, {**settings, "CONCURRENT_REQUESTS": 4}, urls=urls, gate=gate, after=len(good))
    crawled = list(pages(crawler).crawled)
    assert set(crawled[: len(good)]) == set(good)
    assert set(crawled) == {url.url if isinstance(url, Request) else url for url in urls}
    return stats(crawler)


@in_reactor
async def test_requests_that_wait_keep_no_healthy_host_waiting() -> None:
    gate = Gate("")
    with (
        Site({"/robots.txt": gate, "*": b"ok"}, host="0.0.0.0") as ill,
        Site({"/robots.txt": b"", "*": b"ok"}) as healthy,
    ):
        bad = [f"{host}/{number}" for number in range(12) for host in hosts(5, ill)]
        good = [healthy.url(f"/{number}") for number in range(30)]
        counts = await assert_good_come_first(bad + good, good, gate, {})
        assert 60 <= counts["gbot_robots/waiting_most"] <= 90
        assert counts["scheduler/enqueued"] == 90


@pytest.mark.filterwarnings(*UNCLOSED_QUEUES)
@in_reactor
async def test_requests_that_no_disk_queue_can_keep_do_not_hide_those_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate("")
    with Site({"/robots.txt": gate, "*": b"ok"}) as ill, Site({"*": b"ok"}, host="0.0.0.0") as healthy:
        good = [f"{hosts(1, healthy)[0]}/{number}" for number in range(20)]
        bad = [Request(ill.url(f"/{number}"), meta={"not to be pickled": lambda: None}) for number in range(30)]
        counts = await assert_good_come_first(bad + good, good, gate, {"JOBDIR": str(tmp_path)})
        assert counts["scheduler/unserializable"] >= 30
        assert counts["scheduler/enqueued"] == 50


@in_reactor
async def test_closing_crawl_does_not_wait_for_requests_that_waited() -> None:
    with Site({"/robots.txt": SLOW, "*": b"ok"}) as site:
        urls = [site.url(f"/{number}") for number in range(200)]
        settings = {"CLOSESPIDER_PAGECOUNT": 3, "DOWNLOAD_DELAY": 0.05, "CONCURRENT_REQUESTS": 8}
        crawler = await crawl(Pages, settings, urls=urls)
        assert stats(crawler)["finish_reason"] == "closespider_pagecount"
        assert len(pages(crawler).crawled) <= 3 + 2 * 8


class Plain(BaseScheduler):
    """A scheduler of the user's own, with the methods that Scrapy needs; it drops URLs that it has seen."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.seen: set[str] = set()

    def has_pending_requests(self) -> bool:
        return bool(self.requests)

    def enqueue_request(self, request: Request) -> bool:
        if request.url in self.seen and not request.dont_filter:
            return False
        self.seen.add(request.url)
        self.requests.append(request)
        return True

    def next_request(self) -> Request | None:
        return self.requests.pop() if self.requests else None


# Requests that come past the queue.


@in_reactor
async def test_any_scheduler_gets_requests_back_once_as_they_were_if_their_places_no_longer_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "PATIENCE_SECS", 0.3)
    with Site({"/robots.txt": SLOW, "*": b"ok"}) as site:
        urls = [Request(site.url(f"/{number}"), priority=number, dont_filter=number % 2 == 0) for number in range(20)]
        crawler = await crawl(Watched, {"SCHEDULER": Plain, "CONCURRENT_REQUESTS": 4}, urls=urls)
        assert isinstance(crawler.spider, Watched)
        assert crawler.spider.most <= 4 + 4
        assert 20 < crawler.spider.scheduled <= 2 * 20
        crawled = [response.request for response in pages(crawler).crawled.values()]
        assert len(crawled) == 20
        for request in crawled:
            assert request is not None
            assert request.dont_filter is (request.priority % 2 == 0)
            assert request.url.endswith(f"/{request.priority}")
            assert not [key for key in request.meta if key.startswith("_gbot_robots")]


@in_reactor
async def test_request_goes_on_from_its_place_if_its_robots_txt_comes_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE_SECS", 30.0)
    with Site({"/robots.txt": SLOW, "*": b"ok"}) as site:
        urls = [site.url("/1"), site.url("/2")]
        crawler = await crawl(Watched, {"SCHEDULER": Plain}, urls=urls)
        assert set(pages(crawler).crawled) == set(urls)
        assert isinstance(crawler.spider, Watched)
        assert crawler.spider.scheduled == 2


@in_reactor
async def test_no_more_places_than_a_bound_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "MOST_UNCOUNTED", 3)
    gate = Gate("")
    with Site({"/robots.txt": gate, "*": b"ok"}) as ill:
        urls = [ill.url(f"/{number}") for number in range(20)]

        class Counting(Plain):
            def next_request(self) -> Request | None:
                request = super().next_request()
                if request is not None:
                    taken.append(request)
                    if len(taken) == 4 + 3:
                        gate.open()
                return request

        taken: list[Request] = []
        crawler = await crawl(Pages, {"SCHEDULER": Counting, "CONCURRENT_REQUESTS": 4}, urls=urls)
        assert set(pages(crawler).crawled) == set(urls)


@in_reactor
async def test_several_crawls_in_one_process_wait_for_themselves() -> None:
    with Site({"/robots.txt": SLOW, "*": b"ok"}) as site, Site({"*": b"ok"}) as usual:
        urls = [each.url(f"/{number}") for number in range(5) for each in (site, usual)]
        crawlers = await gatherResults([crawl(Pages, urls=urls) for _ in range(5)])
        for crawler in crawlers:
            assert set(pages(crawler).crawled) == set(urls)
            assert stats(crawler)["scheduler/enqueued"] == 10


SPIDER = """
from scrapy import Request, Spider

class Kept(Spider):
    name = "kept"
    custom_settings = {"ADDONS": {"scrapy_gbot_robots.Addon": 500}, "TELNETCONSOLE_ENABLED": False}

    async def start(self):
        for number in range(int(self.new)):
            yield Request(f"{self.site}/{number}")

    def parse(self, response):
        print("CRAWLED", response.url, flush=True)
"""


@pytest.mark.slow
def test_killed_crawl_loses_no_more_of_its_jobdir_than_what_waited_or_was_under_way(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(SPIDER)
    command = [sys.executable, "-m", "scrapy", "runspider", "kept.py", "-s", "JOBDIR=job"]
    command += ["-s", "GBOT_ROBOTS_STORAGE=memory", "-s", "DOWNLOAD_DELAY=0"]

    def begun(new: int, *more: str) -> subprocess.Popen[str]:
        return start([*command, "-a", f"site={site.url('')}", "-a", f"new={new}", *more], tmp_path)

    with Site({"/robots.txt": b"", "*": b"ok"}) as site:
        out, log = output(begun(200, "-s", "CLOSESPIDER_PAGECOUNT=3"))
        crawled = out.split()[1::2]
        site.pages["/robots.txt"] = Reply(503)
        asked = len(site.asked)
        process = begun(0)
        block_until(lambda: site.paths()[asked:].count("/robots.txt") >= 2)  # asked again: as many wait as may
        process.kill()
        output(process)
        site.pages["/robots.txt"] = b""
        out, log = output(begun(0))
        crawled += out.split()[1::2]
        assert len(set(crawled)) >= 200 - 16, log
        assert "Traceback" not in log
