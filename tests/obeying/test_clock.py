"""Crawls whose clock jumps back and forth by days: no request waits for the calendar, and no server gets a storm of fetches."""

from pathlib import Path

import pytest

from ..support.clock import DAY, Clock
from ..support.crawls import as_scrapy_runs_it, in_sqlite, stats, together, under_way
from ..support.rows import row, table
from ..support.until import until
from ..support.visits import fetches, visiting
from ..support.web import Reply, Site


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
        await until(lambda: stats(visitor.crawler).get("gbot_robots/held") == 1)
        clock.goes_on(days * DAY)
        served = "robotstxt/response_status_count/503"
        await until(lambda: stats(visitor.crawler).get(served) == 2)
        if answers:
            site.pages["/robots.txt"] = b""
        assert await together(held) == [answers]
        assert fetches(site) == 3 or not answers
