"""A crawl with Scrapy's HTTP cache is replayed when its servers are gone, and never works by an old robots.txt otherwise."""

import gzip
import logging
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.extensions.httpcache import FilesystemCacheStorage
from scrapy.http import Response

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.signals import robotstxt_served
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.crawls import Pages, crawl, in_reactor, in_sqlite, own_warnings, pages, stats
from ..support.entries import GONE, rules
from ..support.web import Reply, Site, raw, redirect
from .scenarios import RULES, hops

NAMES = [f"free{number}" for number in range(10)]
LONG = RULES + b"#" * 2000
NOISY = RULES + b"#" + random.Random(1).randbytes(200_000).hex().encode()  # large as gzip, too
PURE = {"HTTPCACHE_IGNORE_MISSING": True}


@pytest.fixture
def cached(tmp_path: Path) -> dict[str, Any]:
    """Settings of a crawl with an HTTP cache of its own, whose robots.txt files are forgotten when it ends."""
    return {
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path / "httpcache"),
        "GBOT_ROBOTS_STORAGE": "memory",
        "GBOT_ROBOTS_MAX_BYTES": 1000,
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0,
    }


def urls(site: Site) -> list[str]:
    return [*(site.url(f"/{name}") for name in NAMES), site.url("/page")]


def free(site: Site) -> set[str]:
    return {site.url(f"/{name}") for name in NAMES}


@pytest.fixture(
    params=[
        pytest.param({"/robots.txt": RULES}, id="plain"),
        pytest.param({"/robots.txt": Reply(404)}, id="missing"),
        pytest.param({"/robots.txt": redirect("/1"), **hops(2)}, id="redirected"),
        pytest.param(
            {"/robots.txt": Reply(200, gzip.compress(LONG), {"Content-Encoding": "gzip"})},
            id="gzip-cut",
        ),
        pytest.param(
            {"/robots.txt": Reply(200, gzip.compress(NOISY), {"Content-Encoding": "gzip"})},
            id="gzip-of-which-no-more-was-loaded",
        ),
    ]
)
def pages_of_site(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {**request.param, "*": b"ok"}


@pytest.mark.parametrize("settings", [{}, PURE], ids=["network-gone", "HTTPCACHE_IGNORE_MISSING"])
@in_reactor
async def test_crawl_is_replayed_without_its_server_and_nothing_is_told_as_served(
    settings: dict[str, Any], pages_of_site: dict[str, Any], cached: dict[str, Any]
) -> None:
    served: list[str] = []

    def hear(request: Request) -> None:
        served.append(request.url)

    with Site(pages_of_site) as site:
        first = await crawl(Pages, cached, hears={robotstxt_served: hear}, urls=urls(site))
        assert set(pages(first).crawled) >= free(site)
    again = await crawl(
        Pages, {**cached, **settings}, hears={robotstxt_served: hear}, urls=urls(site)
    )
    assert len(served) == 1
    assert pages(again).crawled.keys() == pages(first).crawled.keys()
    assert pages(again).refused.keys() == pages(first).refused.keys()
    assert {"cached" in response.flags for response in pages(again).crawled.values()} == {True}
    assert stats(again)["gbot_robots/http_cache/recalled"] >= 1
    assert "gbot_robots/http_cache/stored" not in stats(again)


@in_reactor
async def test_cache_that_scrapy_alone_has_filled_is_replayed(cached: dict[str, Any]) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        alone = {**cached, "ROBOTSTXT_OBEY": True}
        first = await crawl(Pages, alone, addon=False, urls=urls(site))
        assert set(pages(first).crawled) >= free(site)
    again = await crawl(Pages, cached, urls=urls(site))
    assert set(pages(again).crawled) == free(site)


CHANGED = b"user-agent: *\ndisallow: /free"


@pytest.mark.parametrize(
    ("answer", "left", "replayed"),
    [
        pytest.param(CHANGED, {"page"}, {"page"}, id="rules-that-have-changed-count-at-once"),
        pytest.param(Reply(503), set(), {*NAMES}, id="trouble-does-not-take-the-place-of-rules"),
        pytest.param(
            raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"),
            set(),
            {*NAMES},
            id="half-an-answer",
        ),
        pytest.param(
            raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", 60),
            set(),
            {*NAMES},
            id="headers-and-silence",
        ),
    ],
)
@in_reactor
async def test_live_server_decides_whatever_the_cache_has(
    answer: Any, left: set[str], replayed: set[str], cached: dict[str, Any]
) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        await crawl(Pages, cached, urls=urls(site))
        site.pages["/robots.txt"] = answer
        settings = {**cached, "GBOT_ROBOTS_TIMEOUT_SECS": 1}
        crawler = await crawl(Pages, settings, urls=urls(site))
        assert set(pages(crawler).crawled) == {site.url(f"/{name}") for name in left}
    again = await crawl(Pages, cached, urls=urls(site))
    assert set(pages(again).crawled) == {site.url(f"/{name}") for name in replayed}


@in_reactor
async def test_redirect_of_a_server_that_is_silent_now_is_followed_in_the_cache(
    cached: dict[str, Any],
) -> None:
    with Site({"/robots.txt": redirect("/r"), "/r": RULES, "*": b"ok"}) as site:
        first = await crawl(Pages, cached, urls=urls(site))
        site.pages.update({"/robots.txt": raw(60.0), "/r": raw(60.0)})
        settings = {**cached, "GBOT_ROBOTS_TIMEOUT_SECS": 1}
        again = await crawl(Pages, settings, urls=urls(site))
    assert set(pages(first).crawled) == set(pages(again).crawled) == free(site)


@in_reactor
async def test_pure_replay_asks_no_server_and_allows_nothing_that_the_cache_does_not_know(
    cached: dict[str, Any],
) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl(Pages, {**cached, **PURE}, urls=urls(site))
        assert not site.asked
        assert not pages(crawler).crawled
        assert "HTTPCACHE_IGNORE_MISSING" in str(pages(crawler).refused[site.url("/page")])


@in_reactor
async def test_pure_replay_neither_waits_for_what_the_cache_does_not_know_nor_stores_an_outage(
    cached: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "robots.sqlite"
    settings = {
        **cached,
        **in_sqlite(path),
        **PURE,
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60,
        "CLOSESPIDER_TIMEOUT": 10,
    }
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl(Pages, settings, urls=urls(site))
        assert not site.asked
    assert stats(crawler)["finish_reason"] == "finished"
    assert stats(crawler)["robotstxt/request_count"] == 1
    with closing(SqliteStorage(path)) as storage:
        assert storage.get(site.url("")) is None


@pytest.mark.parametrize(
    "settings",
    [{"HTTPCACHE_IGNORE_SCHEMES": ["http"]}, {"HTTPCACHE_IGNORE_HTTP_CODES": [200]}],
    ids=lambda each: next(iter(each)),
)
@in_reactor
async def test_what_the_policy_leaves_out_is_not_stored(
    settings: dict[str, Any], cached: dict[str, Any]
) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl(
            Pages,
            {**cached, **settings, **PURE, "HTTPCACHE_IGNORE_MISSING": False},
            urls=urls(site),
        )
        assert set(pages(crawler).crawled) == free(site)
        assert "gbot_robots/http_cache/stored" not in stats(crawler)
    again = await crawl(Pages, {**cached, **settings}, urls=urls(site))
    assert not pages(again).crawled


@in_reactor
async def test_what_is_recalled_is_not_stored_for_other_crawls(
    cached: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "robots.sqlite"
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        await crawl(Pages, cached, urls=urls(site))
    settings = {**cached, **in_sqlite(path)}
    again = await crawl(Pages, settings, urls=urls(site))
    assert set(pages(again).crawled) == free(site)
    with closing(SqliteStorage(path)) as storage:
        assert storage.get(site.url("")) is None
        assert storage.lease(site.url(""), 9)  # and nobody waits for the lease


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(rules(CHANGED), id="file-that-is-too-old"),
        pytest.param(Entry(None, GONE), id="outage"),
    ],
)
@in_reactor
async def test_what_is_recalled_counts_before_what_the_storage_has_and_is_no_longer_good(
    stored: Entry, cached: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "robots.sqlite"
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        await crawl(Pages, cached, urls=urls(site))
    with closing(SqliteStorage(path)) as storage:
        storage.put(site.url(""), stored)
    again = await crawl(Pages, {**cached, **in_sqlite(path)}, urls=urls(site))
    assert set(pages(again).crawled) == free(site)
    assert set(pages(again).refused) == {site.url("/page")}
    with closing(SqliteStorage(path)) as storage:
        assert storage.get(site.url("")) == stored


class Broken(FilesystemCacheStorage):
    """A cache storage of the user's that fails for each robots.txt."""

    def retrieve_response(self, spider: Spider, request: Request) -> Response | None:
        if request.url.endswith("/robots.txt"):
            raise OSError("no disk")
        return super().retrieve_response(spider, request)

    def store_response(self, spider: Spider, request: Request, response: Response) -> None:
        if request.url.endswith("/robots.txt"):
            raise OSError("no disk")
        super().store_response(spider, request, response)


@in_reactor
async def test_cache_storage_that_fails_is_said_once_and_costs_no_page(
    cached: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    settings = {**cached, "HTTPCACHE_STORAGE": f"{__name__}.Broken"}
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl(Pages, settings, urls=urls(site))
        assert set(pages(crawler).crawled) == free(site)
        assert stats(crawler)["gbot_robots/http_cache/errors"] == 1
    again = await crawl(Pages, settings, urls=urls(site))
    assert not pages(again).crawled
    said = [line for line in own_warnings(caplog) if "HTTP cache" in line]
    assert len(said) == 2
    assert all(site.url("/robots.txt") in line for line in said)
