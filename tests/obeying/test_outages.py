"""Outages over many runs: what counts in the end, whatever the clock does and the storage drops; hosts that are gone."""

from pathlib import Path
from typing import Any

import pytest

from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt

from ..support.clock import DAY, Clock
from ..support.crawls import Pages, as_scrapy_runs_it, crawl, in_sqlite, pages, stats, together
from ..support.redis_server import redis_server
from ..support.rows import row, table
from ..support.visits import visiting
from ..support.web import Reply, Site, free_port

RULES = b"user-agent: *\ndisallow: /no"


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return in_sqlite(tmp_path / "robots.sqlite")


# May the page be crawled that the rules allow, and that which they forbid?
SHUT, COPY, OPEN = (False, False), (True, False), (True, True)
HALF_A_DAY = {0: COPY, 1.5: SHUT, 15: COPY, 29: COPY, 31.9: COPY, 32.1: OPEN, 60: OPEN, 90: OPEN}


@table(
    "policy, first, days",
    row("S2.17-google-copy", "google", RULES, {0: COPY, 31: SHUT, 62: COPY, 93: COPY}),
    row("S2.17-google-no-copy", "google", Reply(503), {0: SHUT, 31: OPEN, 62: OPEN, 93: OPEN}),
    row("S2.24-rfc9309-copy", "rfc9309", RULES, {0: COPY, 31: SHUT, 62: COPY, 93: COPY}),
    row("S2.24-allow-copy", "allow", RULES, {0: COPY, 31: COPY, 62: COPY, 93: COPY}),
    row("S2.23-S2.24-google-2026", "google-2026", RULES, HALF_A_DAY),
)
@as_scrapy_runs_it
async def test_crawls_over_months_find_what_the_ladder_needs(
    policy: str,
    first: bytes | Reply,
    days: dict[float, tuple[bool, bool]],
    clock: Clock,
    site: Site,
    settings: dict[str, Any],
) -> None:
    seen: dict[float, tuple[bool, bool]] = {}
    now = 0.0
    site.pages["/robots.txt"] = first
    for day in days:
        clock.goes_on((day - now) * DAY)
        now = day
        async with visiting(GBOT_ROBOTS_UNREACHABLE=policy, **settings) as visitor:
            seen[now] = await visitor.may(site.url("/yes")), await visitor.may(site.url("/no"))
        site.pages["/robots.txt"] = Reply(503)
    assert seen == days


@as_scrapy_runs_it
async def test_soft_404_that_an_earlier_crawl_stored_counts_if_this_crawls_setting_is_on(
    site: Site, settings: dict[str, Any]
) -> None:
    page = b"<html><title>404 Not Found</title></html>"
    site.pages["/robots.txt"] = Reply(500, page, {"Content-Type": "text/html"})
    for soft_404 in (True, False, True):
        async with visiting(GBOT_ROBOTS_SOFT_404=soft_404, **settings) as visitor:
            assert await visitor.may(site.url("/")) is soft_404


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
                names = ("origins/gone", "unreachable", "forbidden/unreachable")
                assert [stats(crawler)[f"gbot_robots/{name}"] for name in names] == [2, tries, 2]
                assert set(pages(crawler).crawled) == {site.url("/page")}
        with Site({"/robots.txt": RULES, "*": b"ok"}, port=port):
            for each in storages[:2]:
                (crawler,) = await together(crawl(Pages, each, urls=gone[:1]))
                assert set(pages(crawler).crawled) == {gone[0]}
