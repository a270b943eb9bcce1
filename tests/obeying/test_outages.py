"""Outages over many runs: what counts in the end, whatever the clock does and the storage drops; hosts that are gone."""

from pathlib import Path
from typing import Any

import pytest

from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt

from ..support.clock import DAY, Clock
from ..support.crawls import (
    Pages,
    as_scrapy_runs_it,
    crawl,
    in_reactor,
    in_sqlite,
    pages,
    stats,
    together,
)
from ..support.redis_server import redis_server
from ..support.rows import row, table
from ..support.visits import Visitor, visit
from ..support.web import Reply, Site, free_port

RULES = b"user-agent: *\ndisallow: /no"


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return in_sqlite(tmp_path / "robots.sqlite")


async def visits(
    site: Site, clock: Clock, days: list[float], **settings: Any
) -> list[tuple[bool, bool]]:
    """Crawl a page that the rules allow and one that they forbid, on each of `days`, with a run for each day."""
    seen: list[tuple[bool, bool]] = []
    now = 0.0

    async def script(visitor: Visitor) -> None:
        seen.append((await visitor.may(site.url("/yes")), await visitor.may(site.url("/no"))))

    for day in days:
        clock.goes_on((day - now) * DAY)
        now = day
        await visit(script, **settings)
    return seen


SHUT, AS_THE_COPY, OPEN = (False, False), (True, False), (True, True)


@table(
    "policy, first, seen",
    row("S2.17-google-copy", "google", RULES, [AS_THE_COPY, SHUT, AS_THE_COPY, AS_THE_COPY]),
    row("S2.17-google-no-copy", "google", Reply(503), [SHUT, OPEN, OPEN, OPEN]),
    row("S2.24-rfc9309-copy", "rfc9309", RULES, [AS_THE_COPY, SHUT, AS_THE_COPY, AS_THE_COPY]),
    row("S2.24-allow-copy", "allow", RULES, [AS_THE_COPY] * 4),
)
@in_reactor
async def test_crawl_that_comes_each_month_finds_what_the_ladder_needs(
    policy: str,
    first: bytes | Reply,
    seen: list[tuple[bool, bool]],
    clock: Clock,
    site: Site,
    settings: dict[str, Any],
) -> None:
    settings["GBOT_ROBOTS_UNREACHABLE"] = policy
    site.pages["/robots.txt"] = first
    assert await visits(site, clock, [0], **settings) == seen[:1]
    site.pages["/robots.txt"] = Reply(503)
    assert await visits(site, clock, [31, 62, 93], **settings) == seen[1:]


@in_reactor
async def test_google_2026_opens_in_half_a_day_and_again_after_a_month(  # S2.23, S2.24
    clock: Clock, site: Site, settings: dict[str, Any]
) -> None:
    settings |= {"GBOT_ROBOTS_UNREACHABLE": "google-2026"}
    assert await visits(site, clock, [0], **settings) == [AS_THE_COPY]
    site.pages["/robots.txt"] = Reply(503)
    days = [1.5, 15, 29, 31.9, 32.1, 60, 90]
    assert await visits(site, clock, days, **settings) == [SHUT, *[AS_THE_COPY] * 3, *[OPEN] * 3]


@as_scrapy_runs_it
async def test_each_run_finds_soon_that_hosts_are_gone_and_the_next_that_one_is_back(
    site: Site, settings: dict[str, Any]
) -> None:
    port = free_port()
    # the name is in the error's own words, which say nothing of a redirect
    gone = [f"http://127.0.0.1:{port}/a", "http://redirected.invalid/a"]
    urls = [*gone, site.url("/page")]
    site.pages["/page"] = Reply(200, b"ok", after_secs=1.0)  # so the network is up
    waits = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 600}
    with redis_server() as server:
        redis = {"GBOT_ROBOTS_STORAGE": "redis", "GBOT_ROBOTS_REDIS_URL": server.url}
        storages = [{**waits, **settings}, {**waits, **redis}, waits]
        for tries, kept_in in ((6, storages), (2, storages[:2])):
            crawls = [crawl(Pages, each, urls=urls) for each in kept_in]
            for crawler in await together(*crawls):
                refused = pages(crawler).refused.values()
                assert {type(error) for error in refused} == {ForbiddenByRobotsTxt}
                names = ("gone", "unreachable", "given_up")
                assert [stats(crawler)[f"gbot_robots/{name}"] for name in names] == [2, tries, 2]
                assert set(pages(crawler).crawled) == {site.url("/page")}
        with Site({"/robots.txt": RULES, "*": b"ok"}, port=port):
            for each in storages[:2]:
                (crawler,) = await together(crawl(Pages, each, urls=gone[:1]))
                assert set(pages(crawler).crawled) == {gone[0]}
