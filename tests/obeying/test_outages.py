"""Outages of weeks, over many runs: what counts in the end, whatever the clock does and the storage drops."""

from pathlib import Path
from typing import Any

import pytest

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.storage.client import StorageClient

from ..support.clock import DAY, HOUR, Clock
from ..support.crawls import Pages, crawl, in_reactor, in_sqlite, pages
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
        no = await visitor.may(site.url("/no"))  # first, since no probe may ask for it
        seen.append((await visitor.may(site.url("/yes")), no))

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
async def test_site_whose_pages_answer_is_known_to_be_up_by_the_next_process_which_needs_no_probe(  # S2.23, S2.24
    clock: Clock, site: Site, settings: dict[str, Any]
) -> None:
    settings |= {"GBOT_ROBOTS_UNREACHABLE": "google-2026"}
    assert await visits(site, clock, [0], **settings) == [AS_THE_COPY]
    site.pages["/robots.txt"] = Reply(503)
    days = [1.5, 15, 29, 31.9, 32.1, 60, 90]
    assert await visits(site, clock, days, **settings) == [SHUT, *[AS_THE_COPY] * 3, *[OPEN] * 3]


@in_reactor
async def test_site_that_never_had_a_robots_txt_is_probed_too(  # S2.23
    clock: Clock, site: Site, settings: dict[str, Any]
) -> None:
    settings |= {"GBOT_ROBOTS_UNREACHABLE": "google-2026"}
    site.pages.update({"/robots.txt": Reply(503), "*": Reply(500)})
    await visits(site, clock, [0], **settings)
    site.pages["*"] = b"ok"
    assert await visits(site, clock, [40], **settings) == [OPEN]


@pytest.mark.parametrize("at_a_time", [1, 16])
@in_reactor
async def test_requests_beside_the_one_page_wait_and_go_on_when_it_shows_that_the_site_is_up(  # S2.23
    at_a_time: int, clock: Clock, site: Site, settings: dict[str, Any]
) -> None:
    settings |= {"GBOT_ROBOTS_UNREACHABLE": "google-2026", "CONCURRENT_REQUESTS": at_a_time}
    site.pages.update({"/robots.txt": Reply(503), "*": Reply(500)})
    await visits(site, clock, [0], **settings)
    site.pages["*"] = b"ok"
    clock.goes_on(40 * DAY)
    urls = [site.url(f"/{number}") for number in range(20)]
    settings["GBOT_ROBOTS_UNREACHABLE_WAIT_SECS"] = 3
    assert set(pages(await crawl(Pages, settings, urls=urls)).crawled) == set(urls)


@in_reactor
async def test_storage_is_told_once_that_a_site_is_up(  # S2.23
    clock: Clock, site: Site, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings |= {"GBOT_ROBOTS_UNREACHABLE": "google-2026"}
    asked: list[str] = []
    get = StorageClient.get

    async def noted(entries: StorageClient, origin: str) -> Entry | None:
        asked.append(origin)
        return await get(entries, origin)

    async def script(visitor: Visitor) -> None:
        for _ in range(5):
            assert await visitor.may(site.url("/yes"))

    await visits(site, clock, [0], **settings)
    site.pages["/robots.txt"] = Reply(503)
    await visits(site, clock, [1], **settings)
    monkeypatch.setattr(StorageClient, "get", noted)
    clock.goes_on(DAY)
    await visit(script, **settings)
    assert asked == [site.url("")]


@in_reactor
async def test_one_page_is_requested_as_a_probe_if_only_that_is_missing(  # S2.23
    clock: Clock, site: Site, settings: dict[str, Any]
) -> None:
    settings |= {"GBOT_ROBOTS_UNREACHABLE": "google-2026"}
    await visits(site, clock, [0], **settings)
    site.pages.update({"/robots.txt": Reply(503), "*": Reply(500)})
    await visits(site, clock, [1], **settings)
    site.asked.clear()

    async def script(visitor: Visitor) -> None:
        assert not await visitor.may(
            site.url("/no")
        )  # the last copy disallows it: no page to try with
        assert await visitor.may(site.url("/probe"))  # which the server answers by 500
        assert not await visitor.may(site.url("/more"))
        site.pages["*"] = b"ok"
        clock.goes_on(HOUR + 1)
        for path in ("/probe", "/more", "/no"):  # as if there were no robots.txt
            assert await visitor.may(site.url(path))

    clock.goes_on(40 * DAY)
    await visit(script, **settings)
    pages = [path for path in site.paths() if path != "/robots.txt"]
    assert pages == ["/probe", "/probe", "/more", "/no"]
