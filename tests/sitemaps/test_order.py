"""In which order sitemaps and pages are requested, and how far sitemaps are read ahead of pages."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from socket import socket
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
import scrapy
from scrapy import Request, signals
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.sitemaps import ahead, spider

from ..support.crawls import as_scrapy_runs_it, crawl, crawl_until, stats, stop, together, under_way
from ..support.rows import table
from ..support.sitemap_web import (
    Hosts,
    Sitemaps,
    index,
    parsed,
    sitemap_lines,
    sitemap_stats,
    urlset,
    xml,
)
from ..support.web import Reply, Site

# As in Scrapy: with more at a time, more sitemaps are under way before the first page is known, and
# with fewer items, fewer requests of a sitemap wait for the scheduler.
SETTINGS = {"CONCURRENT_REQUESTS_PER_DOMAIN": 8, "CONCURRENT_ITEMS": 100}


@pytest.fixture
def neighbour() -> Iterator[Site]:
    """Another origin in the download slot of `site`, such as that of the other scheme."""
    with Site({"/robots.txt": Reply(404)}) as one:
        yield one


def serve_index(site: Site, place: Site, number: int, pages: int) -> None:
    """Let `site` list an index of `number` sitemaps of `pages` slow pages each; these are at `place`."""
    paths = [f"/{n}.xml" for n in range(number)]
    site.pages |= {
        "/robots.txt": sitemap_lines(site.url("/index.xml")),
        "/index.xml": xml(index(*map(place.url, paths))),
    }
    place.pages["*"] = Reply(200, b"<title>page</title>", after_secs=0.05)
    for n, path in enumerate(paths):
        place.pages[path] = xml(urlset(*(place.url(f"/{n}/{page}") for page in range(pages))))


@pytest.mark.parametrize("spider", [Sitemaps, Hosts])
@pytest.mark.parametrize("is_elsewhere", [False, True])
@as_scrapy_runs_it
async def test_pages_are_crawled_before_all_sitemaps_of_an_index_are_read(
    is_elsewhere: bool, spider: Any, site: Site, neighbour: Site
) -> None:
    if scrapy.version_info < (2, 15):
        pytest.skip("this Scrapy has no such order: it reads all sitemaps first, also by itself")
    place = neighbour if is_elsewhere else site
    serve_index(site, place, number=50, pages=10)
    start: dict[str, Any] = {"start_urls": [site.url()]}
    if spider is Hosts:
        start = {"hosts": [site.url()], "sitemap_scope": "any"}
    crawler = await crawl_until(lambda c: len(parsed(c)) >= 50, stop, spider, SETTINGS, **start)
    assert "robotstxt/forbidden" not in stats(crawler)
    sitemaps = [path for path in place.paths() if path.endswith(".xml")]
    assert len(sitemaps) < 25  # The wrong order reads all 50.


# How far files are read ahead of pages: GBOT_ROBOTS_SITEMAPS_AHEAD.

FIFO = {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}
ACROSS_HOSTS = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
# Scrapy downloads nothing while it works on more bytes: two of the files, or none.
TWO_FILES = {"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 150_000}
NO_FILE = {"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 2_000}
QUEUES: list[dict[str, Any]] = [{}, FIFO, ACROSS_HOSTS, NO_FILE]
REFUSED_SOON = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 1}


class Queue:
    """How many requests were scheduled, in the scheduler of a crawl, whenever a page came: at most."""

    def __init__(self) -> None:
        self.most = 0

    def look(self, request: Any, spider: Any) -> None:
        scheduler = spider.crawler.engine._slot.scheduler
        self.most = max(self.most, len(scheduler))


def serve_files(site: Site, number: int, pages: int, place: Site | None = None) -> set[str]:
    """Let `site` list an index of `number` sitemaps of `pages` pages each on `place`. Return the URLs of the pages."""
    place = place or site
    serve_index(site, site, number, 0)
    listed = set()
    for n in range(number):
        urls = [place.url(f"/{n}/{page}") for page in range(pages)]
        site.pages[f"/{n}.xml"] = xml(urlset(*urls) + b" " * 50_000)
        listed |= {*urls}
    site.pages["*"] = place.pages["*"] = b"<title>page</title>"
    return listed


async def most_queued(site: Site, settings: dict[str, Any]) -> int:
    """Crawl three sitemaps of 50 pages each; return the greatest number of requests in the scheduler."""
    listed = serve_files(site, number=3, pages=50)
    queue = Queue()
    settings = {**SETTINGS, "GBOT_ROBOTS_SITEMAPS_AHEAD": 8, **settings}
    hears = {signals.response_received: queue.look}
    (crawler,) = await together(crawl(Hosts, settings, hears=hears, hosts=[site.url()]))
    assert set(parsed(crawler)) == listed
    return queue.most


@table(
    "settings, least, most",
    ({}, 0, 60),  # 8 of pages, and those of the files that were begun when there were none
    pytest.param(FIFO, 0, 60, marks=pytest.mark.slow),
    pytest.param(ACROSS_HOSTS, 0, 80, marks=pytest.mark.slow),
    (TWO_FILES, 40, 80),  # the first of three is read to its end all the same
    (NO_FILE, 0, 400),
    ({"GBOT_ROBOTS_SITEMAPS_AHEAD": 0}, 100, 400),
    pytest.param({"GBOT_ROBOTS_SITEMAPS_AHEAD": 1}, 0, 60, marks=pytest.mark.slow),
)
@as_scrapy_runs_it
async def test_files_are_read_on_only_while_few_pages_wait(
    settings: dict[str, Any], least: int, most: int, site: Site
) -> None:
    assert least <= await most_queued(site, settings) <= most


@as_scrapy_runs_it
async def test_files_wait_for_pages_on_a_slow_machine_as_well(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spider, "_TURN_SECS", 0)  # Each entry takes as long as a turn.
    assert await most_queued(site, {}) <= 60


@as_scrapy_runs_it
async def test_file_that_was_begun_first_goes_on_first(monkeypatch: pytest.MonkeyPatch) -> None:
    number = 20
    monkeypatch.setattr(ahead, "pages_ahead", lambda crawler, request: number)
    crawler: Any = get_crawler()
    crawler.engine = SimpleNamespace()
    limit = ahead.PagesAhead(crawler, 10)
    went_on: list[int] = []

    async def read(file: int) -> None:
        assert await limit.wait(Request("http://a.x/"), file)
        went_on.append(file)

    works = [under_way(read(file)) for file in (2, 3, 1)]
    await pause(0.1)
    assert not went_on
    number = 5
    await together(*works)
    assert went_on == [1, 2, 3]


@as_scrapy_runs_it
async def test_pages_of_a_slow_host_hold_up_no_files_of_another(site: Site, other: Site) -> None:
    slow = serve_files(other, number=2, pages=20)
    fast = serve_files(site, number=2, pages=50)
    has_all = Event()
    left = {*fast}
    in_time: list[bool] = []

    def answer_at_last(connection: socket) -> None:
        in_time.append(has_all.wait(30))
        Reply(200, b"page")(connection)

    def look(request: Any, spider: Any) -> None:
        left.discard(request.url)
        if not left:
            has_all.set()

    other.pages["*"] = answer_at_last
    settings = {**SETTINGS, "GBOT_ROBOTS_SITEMAPS_AHEAD": 10}
    hosts = [other.url(), site.url()]
    hears = {signals.response_received: look}
    (crawler,) = await together(crawl(Hosts, settings, hears=hears, hosts=hosts))
    assert set(parsed(crawler)) == slow | fast
    assert all(in_time)


@as_scrapy_runs_it
async def test_files_of_pages_that_wait_for_a_dead_host_are_read_to_their_end(
    site: Site, other: Site
) -> None:
    listed = serve_files(site, number=2, pages=60, place=other)
    other.pages["/robots.txt"] = Reply(503)
    settings = {**SETTINGS, "GBOT_ROBOTS_SITEMAPS_AHEAD": 10, **REFUSED_SOON}
    (crawler,) = await together(crawl(Hosts, settings, hosts=[site.url()], sitemap_scope="any"))
    assert sitemap_stats(crawler)["entries/forbidden"] == len(listed)


@pytest.mark.parametrize("ahead", [10, 0])
@as_scrapy_runs_it
async def test_crawl_that_closes_while_files_wait_ends(ahead: int, site: Site) -> None:
    serve_files(site, number=3, pages=200)
    site.pages["*"] = Reply(200, b"page", after_secs=0.05)
    settings = {**SETTINGS, "GBOT_ROBOTS_SITEMAPS_AHEAD": ahead}
    come = lambda crawler: len(parsed(crawler)) >= 20  # noqa: E731
    crawler = await crawl_until(come, stop, Hosts, settings, hosts=[site.url()])
    number = sitemap_stats(crawler)["entries"]
    assert number == 603 if not ahead else number < 200


@pytest.mark.parametrize("ahead", [10, pytest.param(0, marks=pytest.mark.slow)])
@as_scrapy_runs_it
async def test_nothing_is_lost_if_a_crawl_with_a_queue_on_disk_closes_while_files_are_read(
    ahead: int, site: Site, tmp_path: Path
) -> None:
    listed = serve_files(site, number=3, pages=50)
    settings = {**SETTINGS, "GBOT_ROBOTS_SITEMAPS_AHEAD": ahead, "JOBDIR": str(tmp_path)}
    come = lambda crawler: len(parsed(crawler)) >= 5  # noqa: E731
    first = await crawl_until(come, stop, Hosts, settings, hosts=[site.url()])
    (second,) = await together(crawl(Hosts, settings, hosts=[site.url()]))
    assert len(parsed(first)) < 150
    assert set(parsed(first)) | set(parsed(second)) == listed
    pages = [path for path in site.paths() if path.count("/") == 2]
    assert len(pages) == len({*pages}) == 150


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))]
)
@as_scrapy_runs_it
async def test_random_sites_lose_no_page_whatever_the_queue_and_bound(
    seed: int, tmp_path: Path
) -> None:
    """Sites that list indexes, files, dead files and one another's; half of the crawls are stopped and resumed."""
    chance = Random(seed)
    with ExitStack() as web:
        number = chance.randint(1, 3)
        sites = [web.enter_context(Site({}, host=f"127.0.0.{n + 1}")) for n in range(number)]
        listed: set[str] = set()
        for site in sites:
            site.pages["*"] = Reply(200, b"page", after_secs=chance.choice([0, 0.01]))
            files = [f"/{n}.xml" for n in range(chance.randint(1, 6))]
            for path in files:
                if chance.random() < 0.2:
                    site.pages[path] = Reply(404)
                    continue
                owner = chance.choice(sites)
                pages = [owner.url(f"/p/{chance.randrange(100)}") for _ in range(20)]
                site.pages[path] = xml(urlset(*pages))
                listed |= {*pages}
            site.pages["/index.xml"] = xml(index(*map(site.url, files)))
            site.pages["/robots.txt"] = sitemap_lines(site.url("/index.xml"), site.url(files[0]))
        settings: dict[str, Any] = {
            **chance.choice(QUEUES),
            "GBOT_ROBOTS_SITEMAPS_AHEAD": chance.choice([1, 3, 20, 1_000]),
            "CONCURRENT_REQUESTS": chance.choice([1, 4, 16]),
        }
        hosts = [site.url() for site in sites]
        crawled: set[str] = set()
        if seed % 2:
            settings["JOBDIR"] = str(tmp_path)
            come = chance.randint(1, max(1, len(listed) // 2))
            first = await crawl_until(
                lambda crawler: len(parsed(crawler)) >= come, stop, Hosts, settings, hosts=hosts
            )
            crawled |= {*parsed(first)}
        (last,) = await together(crawl(Hosts, settings, hosts=hosts))
        assert crawled | {*parsed(last)} == listed
        asked = [site.url(path) for site in sites for path in site.paths() if "/p/" in path]
        assert len(asked) == len({*asked}) == len(listed)
