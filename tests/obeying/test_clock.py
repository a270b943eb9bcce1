"""Crawls whose clock jumps back and forth by days: no request waits for the calendar, and no server gets a storm of fetches."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from scrapy_gbot_robots.concurrency import pause, within
from scrapy_gbot_robots.obeying import lookup, waiting
from scrapy_gbot_robots.policy.outages import Entry, Outage
from scrapy_gbot_robots.storage import redis as redis_module
from scrapy_gbot_robots.storage.redis import RedisStorage

from ..support.clock import DAY, HOUR, Clock
from ..support.crawls import in_reactor, in_sqlite, together
from ..support.redis_server import redis_server
from ..support.until import until
from ..support.visits import CLOSED, Visitor, fetches, visit
from ..support.web import Reply, Site

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The length of each pause, in seconds."""
    secs: list[float] = []

    async def noted(for_secs: float) -> None:
        secs.append(for_secs)
        await pause(for_secs)

    async def noted_within(for_secs: float, work: Coroutine[Any, Any, None]) -> None:
        secs.append(for_secs)
        await within(for_secs, work)

    monkeypatch.setattr(waiting, "within", noted_within)
    monkeypatch.setattr(lookup, "pause", noted)
    return secs


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    return {"GBOT_ROBOTS_STORAGE": request.param, "GBOT_ROBOTS_SQLITE_PATH": str(tmp_path / "robots.sqlite")}


@in_reactor
async def test_each_jump_costs_one_fetch_at_the_most(clock: Clock, storage: dict[str, Any]) -> None:
    with Site({"/robots.txt": b"user-agent: *\ndisallow: /no", "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            for jumps, days in enumerate((3, -3, 7, -20, 10, 0.001, -0.001), start=1):
                clock.goes_on(days * DAY)
                asked = (deferred_from_coro(visitor.may(site.url(path))) for path in ("/", "/no") * 5)
                answers = await together(*asked)
                assert answers == [True, False] * 5
                assert fetches(site) <= jumps
            assert fetches(site) == 5  # the last two are less than what clocks may differ by

        await visit(script, **storage)


@pytest.mark.parametrize("days", [-3, 3, -240 / DAY], ids=["back", "forth", "back-by-minutes"])
@in_reactor
async def test_jump_while_requests_are_held_changes_nothing_for_them(
    days: float, clock: Clock, pauses: list[float]
) -> None:
    with Site({"/robots.txt": Reply(503), "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            held = deferred_from_coro(visitor.may(site.url("/")))
            await until(lambda: fetches(site) == 1)
            await until(lambda: bool(pauses))
            clock.goes_on(days * DAY)
            await until(lambda: fetches(site) == 2)
            site.pages["/robots.txt"] = b""
            assert await maybe_deferred_to_future(held)
            assert fetches(site) == 3

        await visit(script, GBOT_ROBOTS_UNREACHABLE_WAIT_SECS=30)
        assert all(0 <= secs <= 4 for secs in pauses)


@in_reactor
async def test_request_held_while_the_clock_is_set_back_is_given_up_in_time(clock: Clock, pauses: list[float]) -> None:
    with Site({"/robots.txt": Reply(503), "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            held = deferred_from_coro(visitor.may(site.url("/")))
            await until(lambda: bool(pauses))
            clock.goes_on(-3 * DAY)
            assert not await maybe_deferred_to_future(held)

        await visit(script, GBOT_ROBOTS_UNREACHABLE_WAIT_SECS=1.2)
        assert sum(pauses) < 3


@in_reactor
async def test_outage_and_answer_of_a_process_whose_clock_is_ahead_are_of_use_to_this_one(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_module, "time", clock)
    with redis_server() as server, Site({"/robots.txt": b"", "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            held = deferred_from_coro(visitor.may(site.url("/")))
            await pause(0.5)
            assert not held.called
            assert await maybe_deferred_to_future(held)

        now = time.time()
        with closing(RedisStorage(server.url)) as other:
            other.put(site.url(""), Entry(None, Outage(now - 3, 2, 503, "HTTP 503", now + 3)))
        clock.goes_on(-240)
        await visit(script, GBOT_ROBOTS_STORAGE="redis", REDIS_URL=server.url, GBOT_ROBOTS_UNREACHABLE_WAIT_SECS=20)
        assert fetches(site) == 1


@pytest.mark.parametrize("ahead", [12 * HOUR, 5 * DAY], ids=["half-a-day", "days"])
@pytest.mark.parametrize("first", [Reply(200, b""), Reply(503)], ids=["answer", "outage"])
@in_reactor
async def test_entry_from_a_run_whose_clock_was_ahead_is_fetched_again_once(
    first: Reply, ahead: float, clock: Clock, tmp_path: Path
) -> None:
    settings = in_sqlite(tmp_path / "robots.sqlite")
    with Site({"/robots.txt": first, "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            seen.append(await visitor.may(site.url("/")))

        seen: list[bool] = []
        clock.goes_on(ahead)
        await visit(script, **settings)
        site.pages["/robots.txt"] = CLOSED
        clock.goes_on(-ahead)
        await visit(script, **settings)
        await visit(script, **settings)
        assert seen == [first.status == 200, False, False]
        assert fetches(site) == 2
