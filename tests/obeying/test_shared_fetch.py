"""One fetch for all processes that share a storage: what another process does, this one uses."""

from __future__ import annotations

import time
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.obeying import lookup
from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind
from scrapy_gbot_robots.storage.client import StorageClient
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.clock import DAY, HOUR, Clock
from ..support.crawls import in_reactor, in_sqlite, stats
from ..support.visits import CLOSED, Gate, Visitor, fetches, visit
from ..support.web import Site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock.of(monkeypatch)


async def assert_refreshes_nothing(
    clock: Clock, path: Path, meanwhile: Callable[[SqliteStorage, str], object], then: Callable[[Visitor, str], Any]
) -> None:
    """Assert that a crawl leaves it to others to refresh an answer that expires soon.

    `meanwhile` is what another process does to the storage in which this crawl keeps the origin; then this crawl does `then`.
    """
    with Site({"/robots.txt": b"", "*": b"ok"}) as site, closing(SqliteStorage(path)) as other:

        async def script(visitor: Visitor) -> None:
            assert await visitor.may(site.url("/"))
            clock.goes_on(23.5 * HOUR)
            meanwhile(other, site.url(""))
            await then(visitor, site.url("/"))

        crawler = await visit(script, **in_sqlite(path))
        assert fetches(site) == 1
        assert "gbot_robots/lookup/refreshed" not in stats(crawler)


@in_reactor
async def test_refresh_takes_what_another_process_has_fetched_meanwhile(clock: Clock, tmp_path: Path) -> None:
    def fetch(other: SqliteStorage, origin: str) -> None:
        now = clock.time()
        copy = Copy(Kind.RULES, 200, f"{origin}/robots.txt", CLOSED.encode(), False, "HTTP 200", now, now + DAY)
        other.put(origin, Entry(copy))

    async def until_closed(visitor: Visitor, url: str) -> None:
        ends = time.monotonic() + 20
        while await visitor.may(url):  # the first one starts the refresh
            assert time.monotonic() < ends
            await pause(0.02)

    await assert_refreshes_nothing(clock, tmp_path / "robots.sqlite", fetch, until_closed)


@in_reactor
async def test_refresh_is_left_to_the_process_that_has_the_lease(clock: Clock, tmp_path: Path) -> None:
    def lease(other: SqliteStorage, origin: str) -> None:
        assert other.lease(origin, DAY)

    async def goes_on(visitor: Visitor, url: str) -> None:
        assert await visitor.may(url)
        await pause(0.2)
        assert await visitor.may(url)

    await assert_refreshes_nothing(clock, tmp_path / "robots.sqlite", lease, goes_on)


@in_reactor
async def test_of_many_requests_that_come_one_refreshes_the_answer(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, looked = Gate(""), 0
    find = StorageClient.find

    async def noted(*arguments: Any) -> Any:
        nonlocal looked
        looked += 1
        return await find(*arguments)

    with Site({"/robots.txt": b"", "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            assert await visitor.may(site.url("/"))
            site.pages["/robots.txt"] = gate
            monkeypatch.setattr(StorageClient, "find", noted)
            clock.goes_on(23.5 * HOUR)
            for _ in range(10):
                assert await visitor.may(site.url("/"))
            assert looked == 1
            clock.goes_on(11)  # this refresh takes long: another try can do no harm
            assert await visitor.may(site.url("/"))
            assert looked == 2
            gate.open()

        await visit(script)


@in_reactor
async def test_holder_of_a_lease_is_looked_for_soon_and_then_ever_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secs: list[float] = []

    async def noted(for_secs: float) -> None:
        secs.append(for_secs)
        if len(secs) == 20:
            other.release(site.url(""), lease)

    monkeypatch.setattr(lookup, "pause", noted)
    path = tmp_path / "robots.sqlite"
    with Site({"/robots.txt": b"", "*": b"ok"}) as site, closing(SqliteStorage(path)) as other:
        lease = other.lease(site.url(""), DAY) or ""

        async def script(visitor: Visitor) -> None:
            assert await visitor.may(site.url("/"))

        await visit(script, **in_sqlite(path))
    assert secs[0] < 0.1
    assert all(one <= other <= 2 * one for one, other in pairwise(secs))
    assert secs[3] > 2 * secs[0]
    assert secs[-1] == secs[-2] == 1.0
