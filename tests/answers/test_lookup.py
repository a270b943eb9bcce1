"""One answer per origin, for as long as it is good: crawls that ask again and again while the clock goes on."""

import logging
import threading
import time
from contextlib import closing
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest
from scrapy.crawler import Crawler

from scrapy_gbot_robots import Origin, RobotsTxt
from scrapy_gbot_robots.answers import lookup as lookups
from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.fetching.fetcher import Fetcher
from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind
from scrapy_gbot_robots.signals import robotstxt_known
from scrapy_gbot_robots.storage.client import StorageClient
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.clock import DAY, HOUR, MINUTE, Clock
from ..support.crawls import as_scrapy_runs_it, in_sqlite, stats, together, under_way
from ..support.rows import row, table
from ..support.until import FAR_TOO_LONG_SECS, until
from ..support.visits import CLOSED, Gate, fetches, visiting
from ..support.web import Reply, Site

# For how long an answer is good

ON_THE_WAY = {"Cache-Control": "max-age=900", "Age": "600"}


@table(
    "headers, kept, gone",
    row("S3.1-a-day", {}, 22.9 * HOUR, 24.1 * HOUR),
    row("S3.4-time-on-the-way-counts", ON_THE_WAY, 250, 310),
)
@as_scrapy_runs_it
async def test_answer_is_good_for(
    headers: dict[str, str], kept: float, gone: float, clock: Clock, site: Site
) -> None:
    site.pages["/robots.txt"] = Reply(404, b"user-agent: *\ndisallow: /no", headers)
    async with visiting() as visitor:
        assert await visitor.may(site.url("/"))
        clock.goes_on(kept)
        assert await visitor.may(site.url("/"))
        assert fetches(site) == 1
        site.pages["/robots.txt"] = CLOSED
        clock.goes_on(gone - kept)
        assert not await visitor.may(site.url("/"))
    assert stats(visitor.crawler, "gbot_robots/lookup/") == {"fetched": 2, "memory": 1}


@table("max_bytes, may, asked", (30, True, 1), (1_000, False, 2))
@as_scrapy_runs_it
async def test_stored_copy_that_a_smaller_limit_has_cut_is_fetched_again(
    max_bytes: int, may: bool, asked: int, tmp_path: Path, site: Site
) -> None:
    site.pages["/robots.txt"] = b"user-agent: *\n# 30 bytes long\ndisallow: /\n"
    stored = in_sqlite(tmp_path / "robots.sqlite")
    async with visiting(**stored, GBOT_ROBOTS_MAX_BYTES=30) as visitor:
        assert await visitor.may(site.url("/"))
    async with visiting(**stored, GBOT_ROBOTS_MAX_BYTES=max_bytes) as visitor:
        assert await visitor.may(site.url("/")) is may
    async with visiting(**stored, GBOT_ROBOTS_MAX_BYTES=max_bytes) as visitor:
        assert await visitor.may(site.url("/")) is may
    assert fetches(site) == asked


# Refreshing ahead of time


@as_scrapy_runs_it
async def test_answer_in_use_is_refreshed_once_while_it_goes_on_to_be_given(
    clock: Clock, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, asked, gate = StorageClient.find, list[str](), Gate(CLOSED)

    async def noted(client: StorageClient, origin: str, *more: Any) -> Any:
        asked.append(origin)
        return await find(client, origin, *more)

    async with visiting() as visitor:
        assert await visitor.may(site.url("/"), "abot")
        assert await visitor.may(site.url("/"), "bbot")
        site.pages["/robots.txt"] = gate
        monkeypatch.setattr(StorageClient, "find", noted)
        clock.goes_on(23.5 * HOUR)
        for _ in range(5):
            assert await visitor.may(site.url("/"), "abot")
        assert len(asked) == 1
        await until(lambda: fetches(site) == 2)
        gate.open()
        await until(lambda: stats(visitor.crawler)["robotstxt/response_count"] == 2)
        for user_agent in ("abot", "bbot"):
            assert not await visitor.may(site.url("/"), user_agent)
        clock.goes_on(1 * HOUR)
        assert not await visitor.may(site.url("/"), "abot")
        assert fetches(site) == 2
    assert stats(visitor.crawler, "gbot_robots/lookup/") == {
        "fetched": 1,
        "storage": 2,  # the other agent, before and after
        "refreshed": 1,
        "memory": 7,
    }


@as_scrapy_runs_it
async def test_refresh_that_fails_takes_nothing_from_a_good_answer(
    clock: Clock, site: Site
) -> None:
    site.pages["/robots.txt"] = b"user-agent: *\ndisallow: /no"
    async with visiting() as visitor:
        assert await visitor.may(site.url("/"))
        site.pages["/robots.txt"] = Reply(503)
        clock.goes_on(23.5 * HOUR)
        for tries in (1, 2):
            assert await visitor.may(site.url("/"))
            await until(lambda: stats(visitor.crawler).get("gbot_robots/unreachable") == tries)  # noqa: B023
            assert await visitor.may(site.url("/"))
            assert not await visitor.may(site.url("/no"))
            assert fetches(site) == 1 + tries
            clock.goes_on(6 * MINUTE)
        site.pages["/robots.txt"] = CLOSED
        clock.goes_on(HOUR)
        assert not await visitor.may(site.url("/"))


def fetched(site: Site, status: int, body: bytes, now: float) -> Entry:
    """The entry of a process that has fetched the robots.txt of `site`."""
    kind, why = Kind.RULES if body else Kind.NONE, f"HTTP {status}"
    return Entry(Copy(kind, status, site.url("/robots.txt"), body, False, why, now, now + DAY))


@pytest.mark.parametrize("has_fetched", [True, False], ids=["has-fetched", "has-the-lease"])
@as_scrapy_runs_it
async def test_refresh_is_left_to_another_process_that_has_fetched_or_does(
    has_fetched: bool, clock: Clock, site: Site, tmp_path: Path
) -> None:
    path = tmp_path / "robots.sqlite"
    async with visiting(**in_sqlite(path)) as visitor:
        assert await visitor.may(site.url("/"))
        clock.goes_on(23.5 * HOUR)
        with closing(SqliteStorage(path)) as other:
            if has_fetched:
                other.put(site.url(""), fetched(site, 200, CLOSED.encode(), clock.time()))
            else:
                assert other.lease(site.url(""), DAY)
        assert await visitor.may(site.url("/"))  # the first one starts the refresh
        await until(lambda: stats(visitor.crawler).get("gbot_robots/lookup/storage"))
        for _ in range(3):  # these do not look again whether it is done
            assert await visitor.may(site.url("/")) is not has_fetched
        assert stats(visitor.crawler)["gbot_robots/lookup/storage"] == 1
        clock.goes_on(11)
        assert await visitor.may(site.url("/")) is not has_fetched
        if not has_fetched:
            await until(lambda: stats(visitor.crawler)["gbot_robots/lookup/storage"] == 2)
    assert fetches(site) == 1
    assert "gbot_robots/lookup/refreshed" not in stats(visitor.crawler)


@pytest.mark.parametrize("method", ["fetch", "make_robots_request"])
@as_scrapy_runs_it
async def test_bug_in_a_fetcher_is_one_error_and_is_neither_waited_for_nor_stored_but_tried_again(
    method: str,
    clock: Clock,
    site: Site,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*arguments: object) -> None:
        raise ZeroDivisionError

    wait = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 600}
    async with visiting(**in_sqlite(tmp_path / "robots.sqlite"), **wait) as visitor:
        with monkeypatch.context() as patch:
            patch.setattr(Fetcher, method, fail)
            for _ in range(2):
                assert not await visitor.may(site.url("/"))
                clock.goes_on(61)  # its lease was given back
        with closing(SqliteStorage(tmp_path / "robots.sqlite")) as storage:
            assert storage.get(site.url("")) is None
        assert await visitor.may(site.url("/"))
    (error,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert f"Fetching {site.url('/robots.txt')} failed: ZeroDivisionError" in error.getMessage()
    assert error.exc_info is not None
    assert error.exc_info[0] is ZeroDivisionError
    assert "/robots.txt (the code that fetches it failed (ZeroDivisionError" in caplog.text
    assert stats(visitor.crawler)["gbot_robots/errors"] == 2
    assert stats(visitor.crawler)["gbot_robots/fetches/dropped"] == 2


@as_scrapy_runs_it
async def test_error_of_our_own_is_a_disallow_for_a_while(
    clock: Clock, site: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with visiting() as visitor:
        with monkeypatch.context() as patch:
            patch.setattr(lookups, "CachedAnswer", None)
            assert not await visitor.may(site.url("/"))
        assert f"Looking up {site.url('/robots.txt')} failed" in caplog.text
        assert not await visitor.may(site.url("/"))
        clock.goes_on(61)
        assert await visitor.may(site.url("/"))
    assert stats(visitor.crawler)["gbot_robots/errors"] == 1
    assert stats(visitor.crawler)["gbot_robots/origins/full_disallow"] == 0


# Who waits for what


@pytest.mark.parametrize("cancelled", [1, 4], ids=["the-first", "all"])
@as_scrapy_runs_it
async def test_cancelling_requests_strands_none_and_costs_no_answer(
    cancelled: int, site: Site
) -> None:
    site.pages["/robots.txt"] = gate = Gate("user-agent: *\ndisallow: /no")
    async with visiting() as visitor:
        paths = ("/first", "/second", "/no", "/third")
        waiting = [under_way(visitor.may(site.url(path))) for path in paths]
        await until(lambda: fetches(site) == 1)
        for each in waiting[:cancelled]:
            each.cancel()
        await pause(0.1)
        gate.open()
        assert await together(*waiting[cancelled:]) == [True, False, True][cancelled - 1 :]
        assert not await visitor.may(site.url("/no"))
        assert fetches(site) == 1
        assert "/first" not in site.paths()


@as_scrapy_runs_it
async def test_agents_in_any_number_share_one_body_and_are_read_once_each(site: Site) -> None:
    bots = [f"bot{letter}" for letter in ascii_lowercase]
    groups = "".join(f"user-agent: {bot}\ndisallow: /{bot}.\n\n" for bot in bots)
    site.pages["/robots.txt"] = gate = Gate(groups)
    async with visiting(CONCURRENT_REQUESTS=100) as visitor:
        for _ in range(2):
            asked = [(bot, path) for bot in bots for path in (f"/{bot}.", "/99.")]
            may = [under_way(visitor.may(site.url(path), f"{bot}/1.0")) for bot, path in asked]
            await until(lambda: fetches(site) == 1)
            gate.open()
            assert await together(*may) == [False, True] * len(bots)
        assert fetches(site) == 1
    assert stats(visitor.crawler).get("gbot_robots/lookup/storage", 0) < 26


@as_scrapy_runs_it
async def test_lease_of_a_process_that_has_died_is_looked_at_ever_less_often_and_taken_over_when_it_ends(
    clock: Clock, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secs: list[float] = []

    async def noted(for_secs: float) -> None:
        secs.append(for_secs)
        await pause(for_secs)

    site.pages["/robots.txt"] = b"user-agent: *\ndisallow: /no"
    monkeypatch.setattr(lookups, "pause", noted)
    assert lookups._LONGEST_POLL_SECS == 1
    monkeypatch.setattr(lookups, "_LONGEST_POLL_SECS", 0.2)
    async with visiting(**in_sqlite(tmp_path / "robots.sqlite")) as visitor:
        with closing(SqliteStorage(tmp_path / "robots.sqlite")) as other:
            assert other.lease(site.url(""), HOUR)
        waiting = [under_way(visitor.may(site.url(path))) for path in ("/", "/no")]
        await until(lambda: len(secs) >= 5)
        clock.goes_on(HOUR)
        assert await together(*waiting) == [True, False]
    assert fetches(site) == 1
    assert secs[:3] == [0.05, 0.1, 0.2]
    assert set(secs[3:]) == {0.2}


@as_scrapy_runs_it
async def test_answer_of_another_process_serves_those_that_waited_and_a_lease_is_taken_over(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="scrapy_gbot_robots")
    path = tmp_path / "robots.sqlite"
    with Site({"*": b"ok"}) as left, closing(SqliteStorage(path)) as other:
        leases = [other.lease(each.url(""), DAY) or "" for each in (site, left)]
        async with visiting(**in_sqlite(path)) as visitor:
            waiting = [under_way(visitor.may(each.url("/"))) for each in (site, left)]
            await until(lambda: stats(visitor.crawler).get("gbot_robots/lease/waited") == 2)
            other.put(site.url(""), fetched(site, 404, b"", time.time()))
            for each, lease in zip((site, left), leases, strict=True):
                other.release(each.url(""), lease)  # of the second one as if its holder had died
            assert await together(*waiting) == [True, True]
    assert [fetches(site), fetches(left)] == [0, 1]
    url = site.url("/robots.txt")
    assert f"{url}: full allow, HTTP 404 (fetched by another crawl" in caplog.text


# What is held


@pytest.mark.parametrize("storage", ["memory", "sqlite"])
@as_scrapy_runs_it
async def test_what_falls_out_of_memory_is_in_the_storage(storage: str, tmp_path: Path) -> None:
    settings = {**in_sqlite(tmp_path / "robots.sqlite"), "GBOT_ROBOTS_STORAGE": storage}
    with Site({"/robots.txt": CLOSED}) as a, Site({"*": b"ok"}) as b, Site({"*": b"ok"}) as c:
        async with visiting(GBOT_ROBOTS_CACHE_ORIGINS=2, **settings) as visitor:
            for _ in range(3):
                assert not await visitor.may(a.url("/"))
                assert await visitor.may(b.url("/"))
                assert await visitor.may(c.url("/"))
                assert await visitor.may(b.url("/"))
            assert fetches(a) == fetches(b) == fetches(c) == 1
        assert stats(visitor.crawler, "gbot_robots/lookup/") == {
            "fetched": 3,
            "storage": 4,  # a and c, each time they come again
            "memory": 5,  # b, which is used often
        }


@as_scrapy_runs_it
async def test_two_unreachable_origins_and_room_for_one_are_given_up_in_time() -> None:
    with Site({"/robots.txt": Reply(503)}) as a, Site({"/robots.txt": Reply(503)}) as b:
        async with visiting(
            GBOT_ROBOTS_CACHE_ORIGINS=1, GBOT_ROBOTS_UNREACHABLE_WAIT_SECS=1.5
        ) as visitor:
            began = time.monotonic()
            waiting = [under_way(visitor.may(site.url("/"))) for site in (a, b)]
            assert await together(*waiting) == [False, False]
            assert 1.2 < time.monotonic() - began < FAR_TOO_LONG_SECS


@as_scrapy_runs_it
async def test_signal_and_log_line_come_once_for_each_robots_txt_fetched_or_stored(
    site: Site, tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="scrapy_gbot_robots.answers.events")
    site.pages["/robots.txt"] = b"sitemap: https://example.com/s.xml"
    told: list[tuple[Origin, tuple[str, ...]]] = []
    crawlers: list[Crawler] = []

    def hear(origin: Origin, robotstxt: RobotsTxt) -> None:
        told.append((origin, robotstxt.sitemaps))

    for later in (0, HOUR, HOUR + DAY):
        clock.goes_on(later)
        async with visiting(**in_sqlite(tmp_path / "robots.sqlite")) as visitor:
            crawlers.append(visitor.crawler)
            visitor.crawler.signals.connect(hear, robotstxt_known, weak=False)
            for user_agent in ("abot", "bbot", "abot"):
                assert await visitor.may(site.url("/"), user_agent)
    assert 3600 <= stats(crawlers[1])["gbot_robots/stored_age_secs/max"] < 3700
    assert told == [(Origin.of(site.url("")), ("https://example.com/s.xml",))] * 3
    assert fetches(site) == 2
    lines = [record.getMessage() for record in caplog.records if record.name.endswith(".events")]
    fetched = f"{site.url('/robots.txt')}: rules, HTTP 200 (fetched)"
    assert lines[0] == lines[2] == fetched
    assert lines[1] == fetched.replace("(fetched", "(from the storage")
    assert len(lines) == 3


@pytest.mark.parametrize(("rules", "off"), [(40_000, True), (100, False)], ids=["large", "small"])
@as_scrapy_runs_it
async def test_only_a_large_robots_txt_is_read_off_the_reactor(
    rules: int, off: bool, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [b"disallow: /%d" % number for number in range(rules)]
    site.pages["/robots.txt"] = b"\n".join([b"user-agent: *", *lines])
    threads, rules_for = list[threading.Thread](), RobotsTxt.rules_for

    def noted(robotstxt: RobotsTxt, user_agent: Any) -> Any:
        threads.append(threading.current_thread())
        return rules_for(robotstxt, user_agent)

    monkeypatch.setattr(RobotsTxt, "rules_for", noted)
    async with visiting() as visitor:
        assert not await visitor.may(site.url(f"/{rules - 1}"))
        assert await visitor.may(site.url("/x"))
    (thread,) = threads
    assert (thread is not threading.current_thread()) is off


# Clocks that jump by days: no request waits for the calendar, no server gets a storm of fetches


@pytest.mark.parametrize("storage", ["memory", "sqlite"])
@as_scrapy_runs_it
async def test_each_jump_costs_a_fetch_at_most(
    storage: str, clock: Clock, site: Site, tmp_path: Path
) -> None:
    site.pages["/robots.txt"] = b"user-agent: *\ndisallow: /no"
    async with visiting(
        **{**in_sqlite(tmp_path / "robots.sqlite"), "GBOT_ROBOTS_STORAGE": storage}
    ) as visitor:
        for jumps, days in enumerate((3, -3, 7, -20, 10, 86 / DAY, -89 / DAY), start=1):
            clock.goes_on(days * DAY)
            answers = await together(
                *(under_way(visitor.may(site.url(path))) for path in ("/", "/no") * 5)
            )
            assert answers == [True, False] * 5
            assert fetches(site) <= jumps
        assert fetches(site) == 5  # the last two are less than what clocks may differ by


@table(
    "days, wait_secs, answers",
    row("back", -3, 600, True),
    row("forth", 3, 600, True),
    row("back-by-minutes", -240 / DAY, 600, True),
    row("back-and-given-up-in-time", -3, 1.2, False),
)
@as_scrapy_runs_it
async def test_jump_while_requests_are_held_changes_nothing_for_them(
    days: float, wait_secs: float, answers: bool, clock: Clock, site: Site
) -> None:
    site.pages["/robots.txt"] = Reply(503)
    async with visiting(GBOT_ROBOTS_UNREACHABLE_WAIT_SECS=wait_secs) as visitor:
        held = under_way(visitor.may(site.url("/")))
        await until(lambda: stats(visitor.crawler).get("gbot_robots/requests/held") == 1)
        clock.goes_on(days * DAY)
        served = "robotstxt/response_status_count/503"
        await until(lambda: stats(visitor.crawler).get(served) == 2)
        if answers:
            site.pages["/robots.txt"] = b""
        assert await together(held) == [answers]
        assert fetches(site) == 3 or not answers
