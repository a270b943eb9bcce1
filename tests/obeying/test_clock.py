"""Crawls whose clock jumps back and forth by days: no request waits for the calendar, and no server gets a storm of fetches."""

import time
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.policy.outages import Entry, Outage
from scrapy_gbot_robots.storage import redis as redis_module

from ..support.clock import DAY, HOUR, Clock
from ..support.crawls import in_reactor, in_sqlite, stats, together, under_way
from ..support.redis_server import redis_server, storage_at
from ..support.until import until
from ..support.visits import CLOSED, Visitor, fetches, visit
from ..support.web import Reply, Site


@pytest.mark.parametrize("storage", ["memory", "sqlite"])
@in_reactor
async def test_each_jump_costs_one_fetch_at_the_most(
    storage: str, clock: Clock, site: Site, tmp_path: Path
) -> None:
    site.pages["/robots.txt"] = b"user-agent: *\ndisallow: /no"

    async def script(visitor: Visitor) -> None:
        for jumps, days in enumerate((3, -3, 7, -20, 10, 86 / DAY, -89 / DAY), start=1):
            clock.goes_on(days * DAY)
            answers = await together(
                *(under_way(visitor.may(site.url(path))) for path in ("/", "/no") * 5)
            )
            assert answers == [True, False] * 5
            assert fetches(site) <= jumps
        assert fetches(site) == 5  # the last two are less than what clocks may differ by

    await visit(script, **{**in_sqlite(tmp_path / "robots.sqlite"), "GBOT_ROBOTS_STORAGE": storage})


@pytest.mark.parametrize("days", [-3, 3, -240 / DAY], ids=["back", "forth", "back-by-minutes"])
@in_reactor
async def test_jump_while_requests_are_held_changes_nothing_for_them(
    days: float, clock: Clock, site: Site
) -> None:
    site.pages["/robots.txt"] = Reply(503)

    async def script(visitor: Visitor) -> None:
        held = under_way(visitor.may(site.url("/")))
        await until(lambda: is_held(visitor))
        clock.goes_on(days * DAY)
        await until(lambda: fetches(site) == 2)
        site.pages["/robots.txt"] = b""
        assert await together(held) == [True]
        assert fetches(site) == 3

    await visit(script, GBOT_ROBOTS_UNREACHABLE_WAIT_SECS=30)


def is_held(visitor: Visitor) -> bool:
    return stats(visitor.crawler).get("gbot_robots/held") == 1


@in_reactor
async def test_request_held_while_the_clock_is_set_back_is_given_up_in_time(
    clock: Clock, site: Site
) -> None:
    site.pages["/robots.txt"] = Reply(503)

    async def script(visitor: Visitor) -> None:
        held = under_way(visitor.may(site.url("/")))
        await until(lambda: is_held(visitor))
        clock.goes_on(-3 * DAY)
        assert await together(held) == [False]

    await visit(script, GBOT_ROBOTS_UNREACHABLE_WAIT_SECS=1.2)


@in_reactor
async def test_outage_and_answer_of_a_process_whose_clock_is_ahead_are_of_use_to_this_one(
    clock: Clock, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_module, "time", clock)

    async def script(visitor: Visitor) -> None:
        held = under_way(visitor.may(site.url("/")))
        await pause(0.5)
        assert not held.called
        assert await together(held) == [True]

    with redis_server() as server:
        now = time.time()
        with closing(storage_at(server.url)) as other:
            other.put(site.url(""), Entry(None, Outage(now - 3, 2, 503, "HTTP 503", now + 6)))
        clock.goes_on(-240)
        await visit(
            script,
            GBOT_ROBOTS_STORAGE="redis",
            REDIS_URL=server.url,
            GBOT_ROBOTS_UNREACHABLE_WAIT_SECS=20,
        )
        assert fetches(site) == 1


@pytest.mark.parametrize(
    ("first", "ahead"), [(Reply(200), 12 * HOUR), (Reply(503), 5 * DAY)], ids=["answer", "outage"]
)
@in_reactor
async def test_entry_from_a_run_whose_clock_was_ahead_is_fetched_again_once(
    first: Reply, ahead: float, clock: Clock, site: Site, tmp_path: Path
) -> None:
    seen: list[bool] = []

    async def script(visitor: Visitor) -> None:
        seen.append(await visitor.may(site.url("/")))

    site.pages["/robots.txt"] = first
    for jump in (ahead, -ahead, 0):
        clock.goes_on(jump)
        await visit(script, **in_sqlite(tmp_path / "robots.sqlite"))
        site.pages["/robots.txt"] = CLOSED
    assert seen == [first.status == 200, False, False]
    assert fetches(site) == 2
