"""Requests that wait for a robots.txt: they delay no other request, and none is lost."""

from __future__ import annotations

import signal
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest

from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.obeying import patience, room

from ..support.crawls import Pages, crawl, in_reactor, pages, stats
from ..support.processes import output, start
from ..support.reactors import as_arguments, ways_to_run
from ..support.visits import CLOSED, Gate, Opening
from ..support.web import Reply, Site, raw

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from scrapy.http import Response


RULES = b"user-agent: *\ndisallow: /page\n"


@in_reactor
async def test_origins_that_do_not_answer_do_not_hold_up_the_others() -> None:
    gate = Gate(CLOSED)
    with Site({"/robots.txt": gate}) as dead, Site({"/robots.txt": b"", "*": b"ok"}) as alive:
        waiting = [dead.url(f"/{number}") for number in range(20)]
        going = [alive.url(f"/{number}") for number in range(20)]
        settings = {"CONCURRENT_REQUESTS": 2}
        crawler = await crawl(Opening, settings, urls=waiting + going, gate=gate, after=len(going))
        assert isinstance(crawler.spider, Opening)
        assert set(crawler.spider.ended[:20]) == set(going)
        assert set(crawler.spider.ended[20:]) == set(waiting)
        assert dead.paths() == ["/robots.txt"]


async def times_scheduled(secs: float, patience_secs: float, monkeypatch: pytest.MonkeyPatch) -> float:
    """How often each of two requests is scheduled whose robots.txt comes after `secs`: twice if it leaves its place."""
    monkeypatch.setattr(patience, "PATIENCE_SECS", patience_secs)
    with Site({"/robots.txt": Reply(200, RULES, after_secs=secs), "*": b"ok"}) as site:
        urls = [site.url("/1"), site.url("/2")]
        crawler = await crawl(Pages, urls=urls)
        assert set(pages(crawler).crawled) == set(urls)
        return float(stats(crawler)["scheduler/enqueued"]) / 2


@in_reactor
async def test_request_keeps_its_place_while_a_robots_txt_comes_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await times_scheduled(0.5, 30.0, monkeypatch) == 1


@in_reactor
async def test_patience_is_a_time_and_no_number_of_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "time", SimpleNamespace(monotonic=lambda: 1000.0))  # no time passes
    assert await times_scheduled(0.5, 0.1, monkeypatch) == 1


@in_reactor
async def test_request_leaves_its_place_when_its_patience_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await times_scheduled(1.0, 0.1, monkeypatch) == 2


@in_reactor
async def test_patience_is_short_where_others_want_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PATIENCE_SECS", 30.0)
    slow = Reply(200, RULES, after_secs=2.0)
    with Site({"/robots.txt": slow, "*": b"ok"}) as site, Site({"*": b"ok"}, host="0.0.0.0") as usual:
        urls = [f"http://127.0.1.{last}:{usual.port}/" for last in range(1, 41)] + [site.url("/1"), site.url("/2")]
        crawler = await crawl(Pages, {"CONCURRENT_REQUESTS": 1}, urls=urls)
        assert set(pages(crawler).crawled) == set(urls)
        assert stats(crawler)["scheduler/enqueued"] >= len(urls) + 2  # those of the slow site at least


@in_reactor
async def test_more_requests_than_the_room_takes_wait_in_the_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_EACH", 2)
    with Site({"/robots.txt": Reply(200, RULES, after_secs=0.5), "*": b"ok"}) as site:
        urls = [site.url(f"/{number}") for number in range(10)]
        crawler = await crawl(Pages, {"CONCURRENT_REQUESTS": 3}, urls=urls)
        assert set(pages(crawler).crawled) == set(urls)


@in_reactor
async def test_requests_whose_wait_is_over_are_refused_with_the_reason() -> None:
    with Site({"/robots.txt": Reply(503)}) as site:
        crawler = await crawl(Pages, {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 1.2}, urls=[site.url("/a"), site.url("/b")])
        refused = pages(crawler).refused
        assert set(refused) == {site.url("/a"), site.url("/b")}
        assert all(isinstance(error, ForbiddenByRobotsTxt) for error in refused.values())
        assert "HTTP 503" in str(refused[site.url("/a")])
        assert site.paths() == ["/robots.txt"] * 2
        assert stats(crawler)["gbot_robots/held"] == stats(crawler)["gbot_robots/given_up"] == 2


@in_reactor
async def test_closing_crawl_ends_the_wait_at_once() -> None:
    with Site({"/robots.txt": raw(30.0)}) as site:
        began = time.monotonic()
        crawler = await crawl(Pages, {"CLOSESPIDER_TIMEOUT": 1}, urls=[site.url("/a")])
        assert time.monotonic() - began < 25
        assert stats(crawler)["finish_reason"] == "closespider_timeout"
        assert not pages(crawler).crawled


class Inside(Spider):
    """Downloads from within a callback, past the scheduler."""

    name = "inside"

    def __init__(self, outer: str, inner: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.outer, self.inner = outer, inner
        self.result: Response | Exception | None = None

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.outer)

    async def parse(self, response: Response, **kwargs: Any) -> None:
        assert self.crawler.engine is not None
        try:
            self.result = await self.crawler.engine.download_async(Request(self.inner))
        except IgnoreRequest as error:
            self.result = error


@in_reactor
async def test_download_from_a_callback_waits_like_any_other_request() -> None:
    with Site({"*": b"ok"}) as outer, Site({"/robots.txt": Reply(200, RULES, after_secs=0.3), "*": b"ok"}) as inner:
        crawler = await crawl(Inside, outer=outer.url("/x"), inner=inner.url("/free"))
        assert getattr(crawler.spider.result, "body", None) == b"ok"  # type: ignore[union-attr]
        crawler = await crawl(Inside, outer=outer.url("/x"), inner=inner.url("/page"))
        assert isinstance(crawler.spider.result, ForbiddenByRobotsTxt)  # type: ignore[union-attr]


@in_reactor
async def test_download_from_a_callback_is_refused_when_the_crawl_closes() -> None:
    with Site({"*": b"ok"}) as outer, Site({"/robots.txt": raw(30.0)}) as inner:
        settings = {"CLOSESPIDER_TIMEOUT": 1}
        crawler = await crawl(Inside, settings, outer=outer.url("/x"), inner=inner.url("/free"))
        assert isinstance(crawler.spider.result, ForbiddenByRobotsTxt)  # type: ignore[union-attr]
        assert "closed" in str(crawler.spider.result)  # type: ignore[union-attr]


@in_reactor
async def test_download_from_a_callback_is_held_once_and_given_up_in_the_end() -> None:
    with Site({"*": b"ok"}) as outer, Site({"/robots.txt": Reply(503)}) as inner:
        settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 1.2}
        crawler = await crawl(Inside, settings, outer=outer.url("/x"), inner=inner.url("/free"))
        assert isinstance(crawler.spider.result, ForbiddenByRobotsTxt)  # type: ignore[union-attr]
        assert stats(crawler)["gbot_robots/held"] == stats(crawler)["gbot_robots/given_up"] == 1


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


def until_asked(site: Site, times: int) -> None:
    ends = time.monotonic() + 60
    while len(site.asked) < times:
        assert time.monotonic() < ends
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("way", ways_to_run("asyncio", "select"))
def test_held_requests_survive_any_number_of_interruptions_with_jobdir(way: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "resumed.py").write_text(RESUMED)
    with Site({"/robots.txt": Reply(503), "*": b"ok"}) as site:
        command = [sys.executable, "-m", "scrapy", "runspider", "resumed.py", "-a", f"site={site.url('')}"]
        command += as_arguments({**way, "JOBDIR": "job"})
        for run in (1, 2):
            process = start(command, tmp_path)
            until_asked(site, 2 * run)  # asked again, so that requests are held
            process.send_signal(signal.SIGINT)
            out, log = output(process)
            assert "CRAWLED" not in out
            assert "Traceback" not in log
        site.pages["/robots.txt"] = b""
        out, log = output(start(command, tmp_path))
        assert sorted(out.split()[1::2]) == [site.url(f"/{number}") for number in range(5)], log
        assert "Traceback" not in log
