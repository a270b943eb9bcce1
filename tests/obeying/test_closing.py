"""Crawls that are closed while work is under way: no task, thread or error is left, and nothing hangs."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.engine import is_closing
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.obeying.room import LOOK_SECS
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.clock import HOUR, Clock
from ..support.crawls import as_scrapy_runs_it, errors, in_sqlite, stats, under_way
from ..support.until import FAR_TOO_LONG_SECS, until
from ..support.visits import Gate, Visitor, fetches, visiting
from ..support.web import Reply, Site

LATE_SECS = 3 * FAR_TOO_LONG_SECS  # when an answer comes, or the wait for it ends


async def in_flight(visitor: Visitor, site: Site, clock: Clock) -> None:
    ask(visitor, site)
    await until(lambda: fetches(site) == 1)


async def held(visitor: Visitor, site: Site, clock: Clock) -> None:
    site.pages["/robots.txt"] = Reply(503)
    ask(visitor, site)
    await until(lambda: stats(visitor.crawler).get("gbot_robots/requests/held"))


async def refreshed(visitor: Visitor, site: Site, clock: Clock) -> None:
    gate, site.pages["/robots.txt"] = site.pages["/robots.txt"], b""
    assert await visitor.may(site.url("/"))
    site.pages["/robots.txt"] = gate
    clock.goes_on(23.5 * HOUR)
    assert await visitor.may(site.url("/"))
    await until(lambda: fetches(site) == 2)


async def leased_by_another(visitor: Visitor, site: Site, clock: Clock) -> None:
    path = visitor.crawler.settings["GBOT_ROBOTS_SQLITE_PATH"]
    with closing(SqliteStorage(path)) as other:
        assert other.lease(site.url(""), HOUR)
    ask(visitor, site)
    await pause(0.3)
    assert fetches(site) == 0


def ask(visitor: Visitor, site: Site) -> None:
    """Let the crawl ask for some pages."""
    visitor.schedule(*(site.url(f"/{number}") for number in range(5)))


def tasks() -> set[asyncio.Task[Any]]:
    """All tasks but the one that asks; there are none without asyncio."""
    return asyncio.all_tasks() - {asyncio.current_task()} if is_asyncio_available() else set()


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("gbot_robots")}


@asynccontextmanager
async def closed_without_a_trace(
    caplog: pytest.LogCaptureFixture, then: Callable[[], object], **settings: Any
) -> AsyncIterator[Visitor]:
    """Close a crawl in mid-work. `then` lets the servers answer that have not: Scrapy cannot cancel a download."""

    settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": LATE_SECS, **settings}
    tasks_before, threads_before, began = tasks(), threads(), time.monotonic()
    async with visiting(GBOT_ROBOTS_TIMEOUT_SECS=LATE_SECS, **settings) as visitor:
        yield visitor
        visitor.closes = True
    assert time.monotonic() - began < FAR_TOO_LONG_SECS  # what it did not wait for takes longer
    assert stats(visitor.crawler)["finish_reason"] == "enough"
    then()
    await until(lambda: tasks() <= tasks_before)
    await until(lambda: threads() <= threads_before)
    gc.collect()  # then errors that no code has handled are logged
    await pause(0)
    assert errors(caplog) == []


@pytest.mark.parametrize(
    "under_way", [in_flight, held, refreshed, leased_by_another], ids=lambda each: each.__name__
)
@as_scrapy_runs_it
async def test_closing_leaves_no_task_thread_lease_or_error(
    under_way: Callable[[Visitor, Site, Clock], Awaitable[None]],
    clock: Clock,
    site: Site,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = in_sqlite(tmp_path / "robots.sqlite")
    site.pages["/robots.txt"] = gate = Gate("")
    async with closed_without_a_trace(caplog, gate.open, **settings) as visitor:
        await under_way(visitor, site, clock)
    assert [path for path in site.paths() if path[1:].isdigit()] == []
    with closing(sqlite3.connect(tmp_path / "robots.sqlite")) as database:
        leases = database.execute("SELECT origin FROM leases").fetchall()
    assert leases == [(site.url(""),)] * (under_way is leased_by_another)


@as_scrapy_runs_it
async def test_request_that_waits_alone_is_forbidden(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.pages["/robots.txt"] = gate = Gate("")
    async with visiting() as visitor:
        assert visitor.crawler.engine
        waits = under_way(visitor.crawler.engine.download_async(Request(site.url("/"))))
        await until(lambda: fetches(site) == 1)
        visitor.closes = True
    gate.open()
    with pytest.raises(ForbiddenByRobotsTxt, match="the crawl closed"):
        await maybe_deferred_to_future(waits)
    assert "robotstxt/forbidden" not in stats(visitor.crawler)
    assert errors(caplog) == []


@as_scrapy_runs_it
async def test_request_that_comes_late_does_not_delay_closing_and_starts_no_look_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Slow:
        """Another middleware, which has two requests until the crawl has begun to close."""

        has = 0
        crawler: Crawler

        @classmethod
        def from_crawler(cls, crawler: Crawler) -> Slow:
            cls.crawler = crawler
            return cls()

        async def process_request(self, request: Request) -> None:
            if request.url in late:
                Slow.has += 1
                await until(lambda: is_closing(self.crawler))
                await pause(5 * LOOK_SECS)

    with (
        Site({"/robots.txt": Reply(503, headers={"Retry-After": "600"})}) as site,
        Site({"*": b"ok"}) as unknown,
    ):
        late = [site.url("/late"), unknown.url("/")]
        settings = {"DOWNLOADER_MIDDLEWARES": {Slow: 60}}
        async with closed_without_a_trace(caplog, lambda: None, **settings) as visitor:
            ask(visitor, site)
            for url in late:
                under_way(visitor.may(url))
            await until(
                lambda: (
                    Slow.has == 2 and stats(visitor.crawler).get("gbot_robots/requests/held") == 5
                )
            )
        assert site.paths() == ["/robots.txt"]
        assert unknown.asked == []
