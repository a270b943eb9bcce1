"""One answer per origin, for as long as it is good: crawls that ask again and again while the clock goes on."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import ExitStack, closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_gbot_robots import Origin, RobotsTxt
from scrapy_gbot_robots.concurrency import Closing, pause, within
from scrapy_gbot_robots.core.crawlers import Crawler as RobotsAgent
from scrapy_gbot_robots.fetching.fetcher import Fetcher
from scrapy_gbot_robots.obeying import lookup as lookups
from scrapy_gbot_robots.obeying.middleware import GbotRobotsTxtMiddleware
from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind
from scrapy_gbot_robots.signals import robotstxt_known
from scrapy_gbot_robots.storage.client import StorageClient
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.clock import DAY, HOUR, MINUTE, Clock
from ..support.crawls import Pages, crawl, in_reactor, in_sqlite, pages, stats, together, under_way
from ..support.until import until
from ..support.visits import CLOSED, Gate, Visitor, fetches, visit
from ..support.web import Reply, Site

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Request

    from scrapy_gbot_robots.policy.outcome import Outcome


# For how long an answer is good


@pytest.mark.parametrize(
    ("headers", "settings", "kept", "gone"),
    [
        pytest.param({}, {}, 22.9 * HOUR, 24.1 * HOUR, id="S3.1-a-day"),
        pytest.param({"Cache-Control": "max-age=300"}, {}, 260, 310, id="S3.4-max-age-shortens"),
        pytest.param(
            {"Cache-Control": "max-age=864000"},
            {"GBOT_ROBOTS_MAX_AGE_SECS": 5 * DAY},
            4.9 * DAY,
            5.1 * DAY,
            id="S3.5-max-age-lengthens-as-the-setting-says",
        ),
        pytest.param({"Cache-Control": "max-age=0"}, {}, 50, 70, id="S3.5-a-floor-under-max-age"),
        pytest.param(
            {"Cache-Control": "max-age=900", "Age": "600"}, {}, 250, 310, id="S3.4-time-spent-on-the-way-counts"
        ),
    ],
)
@in_reactor
async def test_answer_is_good_for(
    headers: dict[str, str], settings: dict[str, Any], kept: float, gone: float, clock: Clock
) -> None:
    with Site({"/robots.txt": Reply(404, b"user-agent: *\ndisallow: /no", headers), "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            assert await visitor.may(site.url("/"))
            clock.goes_on(kept)
            assert await visitor.may(site.url("/"))
            assert fetches(site) == 1
            site.pages["/robots.txt"] = CLOSED
            clock.goes_on(gone - kept)
            assert not await visitor.may(site.url("/"))
            assert fetches(site) == 2

        crawler = await visit(script, **settings)
        assert stats(crawler, "gbot_robots/lookup/") == {
            "gbot_robots/lookup/fetched": 2,
            "gbot_robots/lookup/memory": 1,
        }


@in_reactor
async def test_answer_is_good_for_as_long_in_the_next_run(tmp_path: Path, clock: Clock) -> None:
    settings = in_sqlite(tmp_path / "robots.sqlite")
    reply = Reply(200, CLOSED.encode(), {"Cache-Control": "max-age=300"})
    with Site({"/robots.txt": reply, "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            assert not await visitor.may(site.url("/"))

        lookups = []
        for _ in range(4):
            crawler = await visit(script, **settings)
            lookups.append(set(stats(crawler, "gbot_robots/lookup/")))
            clock.goes_on(200)
        storage, fetched = {"gbot_robots/lookup/storage"}, {"gbot_robots/lookup/fetched"}
        assert lookups == [fetched, storage, fetched, storage]
        assert fetches(site) == 2


@in_reactor
async def test_clock_that_is_set_back_does_not_keep_an_answer_for_longer(clock: Clock) -> None:
    with Site({"/robots.txt": b"", "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            clock.goes_on(7 * DAY)
            assert await visitor.may(site.url("/"))
            site.pages["/robots.txt"] = CLOSED
            clock.goes_on(-3)
            assert await visitor.may(site.url("/"))
            clock.goes_on(-6 * DAY)
            assert not await visitor.may(site.url("/"))
            assert fetches(site) == 2

        await visit(script)


# Refreshing ahead of time


@in_reactor
async def test_answer_in_use_is_refreshed_while_it_goes_on_to_be_given(clock: Clock) -> None:
    with Site({"/robots.txt": b"", "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            assert await visitor.may(site.url("/"), "abot")
            assert await visitor.may(site.url("/"), "bbot")
            site.pages["/robots.txt"] = gate = Gate(CLOSED)
            clock.goes_on(23.5 * HOUR)
            for _ in range(5):
                assert await visitor.may(site.url("/"), "abot")
            await until(lambda: fetches(site) == 2)
            assert await visitor.may(site.url("/"), "abot")
            gate.open()
            await pause(0.2)
            for agent in ("abot", "bbot"):  # it asks anew for all whose rules were known
                assert not await visitor.may(site.url("/"), agent)
            clock.goes_on(1 * HOUR)
            assert not await visitor.may(site.url("/"), "abot")
            assert fetches(site) == 2

        crawler = await visit(script)
        assert stats(crawler, "gbot_robots/lookup/") == {
            "gbot_robots/lookup/fetched": 1,
            "gbot_robots/lookup/storage": 1,  # the other agent
            "gbot_robots/lookup/refreshed": 1,
            "gbot_robots/lookup/memory": 9,
        }


@in_reactor
async def test_refresh_that_fails_takes_nothing_from_an_answer_that_is_still_good(clock: Clock) -> None:
    with Site({"/robots.txt": b"user-agent: *\ndisallow: /no", "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            assert await visitor.may(site.url("/"))
            site.pages["/robots.txt"] = Reply(503)
            clock.goes_on(23.5 * HOUR)
            for round in range(2, 4):
                assert await visitor.may(site.url("/"))
                await until(lambda: fetches(site) == round)  # noqa: B023
                await pause(0.1)
                assert await visitor.may(site.url("/"))
                assert not await visitor.may(site.url("/no"))
                assert fetches(site) == round
                clock.goes_on(6 * MINUTE)
            site.pages["/robots.txt"] = CLOSED
            clock.goes_on(HOUR)
            assert not await visitor.may(site.url("/"))

        await visit(script)


@pytest.mark.parametrize("has_fetched", [True, False], ids=["has-fetched", "has-the-lease"])
@in_reactor
async def test_refresh_is_left_to_another_process_that_has_fetched_or_does(
    has_fetched: bool, clock: Clock, tmp_path: Path
) -> None:
    path = tmp_path / "robots.sqlite"
    with Site({"/robots.txt": b"", "*": b"ok"}) as site, closing(SqliteStorage(path)) as other:

        async def script(visitor: Visitor) -> None:
            assert await visitor.may(site.url("/"))
            clock.goes_on(23.5 * HOUR)
            if has_fetched:
                now = clock.time()
                copy = Copy(
                    Kind.RULES, 200, site.url("/robots.txt"), CLOSED.encode(), False, "HTTP 200", now, now + DAY
                )
                other.put(site.url(""), Entry(copy))
            else:
                assert other.lease(site.url(""), DAY)
            assert await visitor.may(site.url("/"))  # the first one starts the refresh
            await pause(0.2)
            assert await visitor.may(site.url("/")) is not has_fetched

        crawler = await visit(script, **in_sqlite(path))
        assert fetches(site) == 1
        assert "gbot_robots/lookup/refreshed" not in stats(crawler)


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


class Buggy(Fetcher):
    """Raises an exception on demand."""

    fails = True

    async def fetch(self, origin: Origin, request: Request | None = None) -> Outcome:
        if self.fails:
            raise ZeroDivisionError
        return await super().fetch(origin, request)


class WithBuggyFetcher(GbotRobotsTxtMiddleware):
    fetcher_cls = Buggy


BUGGY = {"DOWNLOADER_MIDDLEWARES": {WithBuggyFetcher: 100}}


@in_reactor
async def test_fetch_that_ends_in_an_exception_is_a_network_failure_and_is_tried_again(
    clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "robots.sqlite"
    with Site({"/robots.txt": b"", "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            assert not await visitor.may(site.url("/"))
            assert f"Fetching {site.url('/robots.txt')} failed: ZeroDivisionError" in caplog.text
            assert "robots.txt unreachable: the fetch failed (ZeroDivisionError" in caplog.text
            monkeypatch.setattr(Buggy, "fails", False)
            clock.goes_on(2)
            assert await visitor.may(site.url("/"))  # its lease was given back
            monkeypatch.setattr(Buggy, "fails", True)
            clock.goes_on(23.5 * HOUR)
            assert await visitor.may(site.url("/"))
            await until(lambda: stats(visitor.crawler)["gbot_robots/errors"] == 2)
            assert await visitor.may(site.url("/"))
            monkeypatch.setattr(Buggy, "fails", False)
            clock.goes_on(11)
            assert await visitor.may(site.url("/"))
            await until(lambda: fetches(site) == 2)

        crawler = await visit(script, **in_sqlite(path), **BUGGY)
        assert stats(crawler)["gbot_robots/errors"] == 2
        assert caplog.text.count("Traceback") == 1


@in_reactor
async def test_error_of_our_own_is_a_disallow_for_a_while(
    clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Site({"/robots.txt": b"", "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            with monkeypatch.context() as patch:
                patch.setattr(lookups, "CachedAnswer", None)
                assert not await visitor.may(site.url("/"))
            assert f"Looking up {site.url('/robots.txt')} failed" in caplog.text
            assert not await visitor.may(site.url("/"))
            clock.goes_on(61)
            assert await visitor.may(site.url("/"))

        crawler = await visit(script)
        assert stats(crawler)["gbot_robots/errors"] == 1


# Who waits for what


@pytest.mark.parametrize("cancelled", [1, 4], ids=["the-first", "all"])
@in_reactor
async def test_cancelling_requests_strands_no_other_and_costs_no_answer(cancelled: int) -> None:
    gate = Gate("user-agent: *\ndisallow: /no")
    with Site({"/robots.txt": gate, "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            urls = [site.url(path) for path in ("/first", "/second", "/no", "/third")]
            waiting = [under_way(visitor.may(url)) for url in urls]
            await until(lambda: fetches(site) == 1)
            for each in waiting[:cancelled]:
                each.cancel()
            await pause(0.1)
            gate.open()
            assert await together(*waiting[cancelled:]) == [True, False, True][cancelled - 1 :]
            assert not await visitor.may(site.url("/no"))
            assert fetches(site) == 1
            assert "/first" not in site.paths()

        await visit(script)


@in_reactor
async def test_agents_in_any_number_share_one_body_and_are_read_once_each() -> None:
    groups = "".join(f"user-agent: bot{chr(97 + number)}\ndisallow: /{number}.\n\n" for number in range(26))
    with Site({"/robots.txt": Reply(200, groups.encode(), after_secs=0.1), "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            for _ in range(2):
                asked = [(number, f"/{own}.", number == own) for number in range(26) for own in (number, 99)]
                answers = await together(
                    *(under_way(visitor.may(site.url(path), f"bot{chr(97 + number)}/1.0")) for number, path, _ in asked)
                )
                assert answers == [not refused for _, _, refused in asked]
            assert fetches(site) == 1

        crawler = await visit(script, CONCURRENT_REQUESTS=100)
        assert stats(crawler).get("gbot_robots/lookup/storage", 0) < 26


@in_reactor
async def test_requests_that_wait_for_the_storage_are_no_more_than_the_downloader_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise a slow storage would get more and more to do."""
    finding, most = 0, 0
    find = StorageClient.find

    async def counted(*arguments: Any) -> Any:
        nonlocal finding, most
        finding += 1
        most = max(most, finding)
        await pause(0.02)
        try:
            return await find(*arguments)
        finally:
            finding -= 1

    monkeypatch.setattr(StorageClient, "find", counted)
    with ExitStack() as stack:
        sites = [stack.enter_context(Site({"/robots.txt": b"", "*": b"ok"})) for _ in range(40)]
        crawler = await crawl(Pages, {"CONCURRENT_REQUESTS": 2}, urls=[site.url("/") for site in sites])
        assert len(pages(crawler).crawled) == 40
        assert most <= 16  # the fewest look-ups that may always run; all would be 40


@in_reactor
async def test_lookup_that_was_abandoned_starts_no_other() -> None:
    with Site({"/robots.txt": b"", "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            middleware = visitor.crawler.get_downloader_middleware(GbotRobotsTxtMiddleware)
            assert middleware is not None
            lookup, origin, agent = middleware._lookup, Origin.of(site.url("")), RobotsAgent.of("testbot")
            lookup.abandon()
            with pytest.raises(Closing):
                await within(5, lookup.ask(origin, agent))
            assert fetches(site) == 0

        await visit(script)


@in_reactor
async def test_wait_for_a_lease_that_another_process_never_gives_back_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "robots.sqlite"
    settings = {**in_sqlite(path), "GBOT_ROBOTS_TIMEOUT_SECS": 30}
    monkeypatch.setattr(lookups, "LEASE_TIMEOUTS", 0.03)
    with (
        Site({"/robots.txt": b"user-agent: *\ndisallow: /no", "*": b"ok"}) as site,
        closing(SqliteStorage(path)) as other,
    ):
        assert other.lease(site.url(""), DAY)

        async def script(visitor: Visitor) -> None:
            began = time.monotonic()
            paths = ("/", "/no")
            assert await together(*(under_way(visitor.may(site.url(path))) for path in paths)) == [True, False]
            assert time.monotonic() - began >= 0.9
            assert fetches(site) == 1

        await visit(script, **settings)
        (warning,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        assert warning == (
            f"{site.url('/robots.txt')}: another process has had the right to fetch it for 0.9 s without a result; this process fetches it now"
        )


@in_reactor
async def test_answer_of_another_process_serves_the_requests_that_waited_for_it_even_if_it_expires_at_once(
    tmp_path: Path,
) -> None:
    path = tmp_path / "robots.sqlite"
    settings = {**in_sqlite(path), "GBOT_ROBOTS_MAX_AGE_SECS": 0}
    with Site({"/robots.txt": Reply(503), "*": b"ok"}) as site, closing(SqliteStorage(path)) as other:
        lease = other.lease(site.url(""), DAY)
        assert lease

        async def script(visitor: Visitor) -> None:
            asked = under_way(visitor.may(site.url("/")))
            await until(lambda: bool(stats(visitor.crawler).get("gbot_robots/lease/waited")))
            now = time.time()
            other.put(
                site.url(""), Entry(Copy(Kind.NONE, 404, site.url("/robots.txt"), b"", False, "HTTP 404", now, now))
            )
            other.release(site.url(""), lease)
            assert await together(asked) == [True]
            assert fetches(site) == 0

        await visit(script, **settings)


@in_reactor
async def test_holder_of_a_lease_is_looked_for_soon_and_then_ever_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secs: list[float] = []

    async def noted(for_secs: float) -> None:
        secs.append(for_secs)
        if len(secs) == 20:
            other.release(site.url(""), lease)

    monkeypatch.setattr(lookups, "pause", noted)
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


# What is held


@pytest.mark.parametrize("storage", ["memory", "sqlite"])
@in_reactor
async def test_what_falls_out_of_memory_is_in_the_storage(storage: str, tmp_path: Path) -> None:
    settings = {"GBOT_ROBOTS_STORAGE": storage, "GBOT_ROBOTS_SQLITE_PATH": str(tmp_path / "robots.sqlite")}
    with Site({"/robots.txt": CLOSED}) as a, Site({"*": b"ok"}) as b, Site({"*": b"ok"}) as c:

        async def script(visitor: Visitor) -> None:
            for _ in range(3):
                assert not await visitor.may(a.url("/"))
                assert await visitor.may(b.url("/"))
                assert await visitor.may(c.url("/"))
                assert await visitor.may(b.url("/"))
            assert fetches(a) == fetches(b) == fetches(c) == 1

        crawler = await visit(script, GBOT_ROBOTS_CACHE_SIZE=2, **settings)
        assert stats(crawler, "gbot_robots/lookup/") == {
            "gbot_robots/lookup/fetched": 3,
            "gbot_robots/lookup/storage": 4,  # a and c, each time they come again
            "gbot_robots/lookup/memory": 5,  # b, which is used often
        }


@in_reactor
async def test_two_unreachable_origins_and_room_for_one_are_given_up_in_time() -> None:
    with Site({"/robots.txt": Reply(503)}) as a, Site({"/robots.txt": Reply(503)}) as b:

        async def script(visitor: Visitor) -> None:
            began = time.monotonic()
            assert await together(*(under_way(visitor.may(site.url("/"))) for site in (a, b))) == [False, False]
            assert 1.2 < time.monotonic() - began < 30

        await visit(script, GBOT_ROBOTS_CACHE_SIZE=1, GBOT_ROBOTS_UNREACHABLE_WAIT_SECS=1.5)


@in_reactor
async def test_signal_comes_once_for_each_robots_txt_fetched_or_stored(tmp_path: Path, clock: Clock) -> None:
    settings = in_sqlite(tmp_path / "robots.sqlite")
    with Site({"/robots.txt": b"sitemap: https://example.com/s.xml", "*": b"ok"}) as site:
        told: list[tuple[Origin, tuple[str, ...]]] = []

        async def script(visitor: Visitor) -> None:
            def hear(origin: Origin, robotstxt: RobotsTxt) -> None:
                told.append((origin, robotstxt.sitemaps))

            visitor.crawler.signals.connect(hear, robotstxt_known, weak=False)
            for agent in ("abot", "bbot", "abot"):
                assert await visitor.may(site.url("/"), agent)
            clock.goes_on(HOUR)

        once = [(Origin.of(site.url("")), ("https://example.com/s.xml",))]
        await visit(script, **settings)
        assert told == once
        await visit(script, **settings)
        assert told == once * 2
        assert fetches(site) == 1
        clock.goes_on(DAY)
        await visit(script, **settings)
        assert told == once * 3
        assert fetches(site) == 2


@pytest.mark.parametrize(("rules", "off"), [(40_000, True), (100, False)], ids=["large", "small"])
@in_reactor
async def test_only_a_large_robots_txt_is_read_off_the_reactor(rules: int, off: bool) -> None:
    body = b"user-agent: *\n" + b"".join(b"disallow: /%d\n" % number for number in range(rules))
    with Site({"/robots.txt": body, "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            assert not await visitor.may(site.url(f"/{rules - 1}"))
            assert await visitor.may(site.url("/x"))

        seen = []
        rules_for = RobotsTxt.rules_for

        def noted(robotstxt: RobotsTxt, agent: Any) -> Any:
            seen.append(threading.current_thread())
            return rules_for(robotstxt, agent)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RobotsTxt, "rules_for", noted)
            await visit(script)
        assert len(seen) == 1
        assert (seen[0] is not threading.current_thread()) is off
