"""Outages of weeks, over many runs: what counts in the end, whatever the clock does and the storage drops."""

from pathlib import Path
from typing import Any

import pytest

from ..support.clock import DAY, Clock
from ..support.crawls import in_reactor, in_sqlite
from ..support.visits import Visitor, visit
from ..support.web import Reply, Site

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


@pytest.mark.parametrize(
    ("policy", "first", "seen"),
    [
        pytest.param(
            "google", RULES, [AS_THE_COPY, SHUT, AS_THE_COPY, AS_THE_COPY], id="S2.17-google-copy"
        ),
        pytest.param("google", Reply(503), [SHUT, OPEN, OPEN, OPEN], id="S2.17-google-no-copy"),
        pytest.param(
            "rfc9309", RULES, [AS_THE_COPY, SHUT, AS_THE_COPY, AS_THE_COPY], id="S2.24-rfc9309-copy"
        ),
        pytest.param("allow", RULES, [AS_THE_COPY] * 4, id="S2.24-allow-copy"),
    ],
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
