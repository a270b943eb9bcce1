"""GBOT_ROBOTS_CRAWL_DELAY in real crawls: the times of requests, whatever else changes Scrapy's download slots."""

import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from itertools import pairwise
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_gbot_robots.engine import around_sending

from ..support.crawls import (
    Pages,
    as_scrapy_runs_it,
    crawl,
    crawl_until,
    has_crawled,
    in_reactor,
    stats,
)
from ..support.rows import row, table
from ..support.visits import Gate
from ..support.web import Site, redirect

DELAY = 0.2
SLACK = 0.02  # of the reactor's timers
ON: dict[str, Any] = {"GBOT_ROBOTS_CRAWL_DELAY": True}
RULES = f"user-agent: testbot\ncrawl-delay: {DELAY}\n\nuser-agent: *\ncrawl-delay: 20"


class Paced(Pages):
    """Remembers when each request is sent, and the shortest of a hundred random delays of each page's download slot.

    When /1 has come, it does `then`, which says what else to request.
    """

    name = "paced"

    def __init__(self, then: Callable[[Any], list[str]] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.then = then
        self.waits: list[float] = []
        # When the slot let it go: it may be sent late, and come later.
        self.sent: dict[str, float] = {}

    async def start(self) -> AsyncIterator[Request]:
        around_sending(self.crawler, self.send)
        async for request in super().start():
            yield request

    async def send(
        self, send: Callable[[Request], Coroutine[Any, Any, Response]], request: Request
    ) -> Response:
        self.sent[request.url] = self.slots[request.meta["download_slot"]].lastseen
        return await send(request)

    def gap(self, *urls: str) -> float:
        """The shortest time between two requests, of those to URLs that begin so."""
        times = sorted(at for url, at in self.sent.items() if url.startswith(urls))
        assert len(times) > 1
        return min(later - earlier for earlier, later in pairwise(times))

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request] | None:
        super().parse(response)
        slot = self.slots[response.meta["download_slot"]]
        self.waits.append(min(slot.download_delay() for _ in range(100)))
        if self.then is None or not response.url.endswith("/1"):
            return None
        return (response.follow(url, self.parse) for url in self.then(self))

    @property
    def slots(self) -> dict[str, Any]:
        assert self.crawler.engine is not None
        return self.crawler.engine.downloader.slots


async def paced(urls: list[Any], settings: dict[str, Any], **more: Any) -> Any:
    return await crawl(Paced, {**ON, **settings}, urls=urls, **more)


AUTOTHROTTLE = {
    "AUTOTHROTTLE_ENABLED": True,
    "AUTOTHROTTLE_START_DELAY": 0,
    "AUTOTHROTTLE_MAX_DELAY": 0.1,
}
SMALLER = {"DOWNLOAD_SLOTS": {"127.0.0.1": {"delay": 0.01, "concurrency": 9}}}
LARGER = {"DOWNLOAD_SLOTS": {"127.0.0.1": {"delay": 0.4}}}


@table(
    "settings, delay",
    row("off-by-default", {"GBOT_ROBOTS_CRAWL_DELAY": False}, 0),
    row("on", {}, DELAY),
    row("shorter-than-the-longest", {"GBOT_ROBOTS_CRAWL_DELAY": 20}, DELAY),
    row("smaller-DOWNLOAD_DELAY", {"DOWNLOAD_DELAY": 0.01}, DELAY),
    row("smaller-DOWNLOAD_SLOTS", SMALLER, DELAY),
    row("AutoThrottle", AUTOTHROTTLE, DELAY),
    row("one-at-a-time", {"CONCURRENT_REQUESTS": 1}, DELAY),
    row("larger-DOWNLOAD_DELAY", {"DOWNLOAD_DELAY": 0.4}, 0.4),
    row("larger-DOWNLOAD_SLOTS", LARGER, 0.4),
)
@in_reactor
async def test_requests_keep_the_crawl_delay_from_robots_txt_on_or_a_larger_one_of_the_user(
    settings: dict[str, Any], delay: float, site: Site
) -> None:
    crawler = await paced([site.url(f"/{number}") for number in range(3)], settings)
    assert crawler.spider.gap(site.url("")) >= delay - SLACK
    assert crawler.spider.waits == [delay] * 3  # never less at random
    assert stats(crawler).get("gbot_robots/crawl_delay", 0) == bool(delay)


@in_reactor
async def test_delay_over_the_cap_is_capped(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    site.pages["/robots.txt"] = "user-agent: *\ncrawl-delay: 86400"
    crawler = await paced([site.url("/1"), site.url("/2")], {"GBOT_ROBOTS_CRAWL_DELAY": DELAY})
    assert crawler.spider.waits == [DELAY, DELAY]
    assert stats(crawler)["gbot_robots/crawl_delay"] == 1
    said = [line for line in caplog.messages if "(GBOT_ROBOTS_CRAWL_DELAY)" in line]
    asks = f"{site.url('/robots.txt')} asks for a crawl-delay of 86400 s; the crawl applies 0.2 s"
    assert said == [f"{asks} (GBOT_ROBOTS_CRAWL_DELAY)"]


SMALL = f"user-agent: *\ncrawl-delay: {DELAY / 3}"


@table("first, second", row("larger-first", RULES, SMALL), row("smaller-first", SMALL, RULES))
@as_scrapy_runs_it
async def test_largest_delay_of_the_origins_in_one_slot_counts(first: str, second: str) -> None:
    gate = Gate(second)
    with Site({"/robots.txt": first, "*": b"a"}) as a, Site({"/robots.txt": gate, "*": b"b"}) as b:
        urls = [site.url(f"/{n}") for n in range(4) for site in (a, b)]
        crawler: Any = await crawl_until(has_crawled(1), gate.open, Paced, ON, urls=urls)
        sent = crawler.spider.sent
        since = min(sent[b.url(f"/{n}")] for n in range(4))
        times = sorted(at for url, at in sent.items() if at >= since and "robots" not in url)
        assert len(times) >= 4
        assert min(later - earlier for earlier, later in pairwise(times)) >= DELAY - SLACK


@in_reactor
async def test_collected_slot_is_slowed_down_again(site: Site) -> None:
    def collect(spider: Paced) -> list[str]:
        assert spider.crawler.engine is not None
        spider.crawler.engine.downloader._slot_gc(-1000)
        assert not spider.slots
        return ["/2", "/3"]

    crawler = await paced([site.url("/1")], {}, then=collect)
    assert crawler.spider.gap(site.url("/2"), site.url("/3")) >= DELAY - SLACK


@in_reactor
async def test_delay_is_kept_among_redirects_between_hosts_and_own_slots(site: Site) -> None:
    dice = random.Random(12)
    delay = 0.05
    site.pages["/robots.txt"] = f"user-agent: *\ncrawl-delay: {delay}"
    with Site(site.pages, host="127.0.0.2") as other:
        urls: list[Any] = []
        for number in range(24):
            one, two = dice.sample([site, other], 2)
            one.pages[f"/to-{number}"] = redirect(two.url(f"/{number}"))
            urls.append(one.url(f"/to-{number}"))
            meta = {"download_slot": dice.choice(["own", one.host])}
            urls.append(Request(one.url(f"/own-{number}"), meta=meta))
        crawler = await paced(urls, {"CONCURRENT_REQUESTS": 16})
        hosts = site.url(""), other.url("")
    assert len(crawler.spider.crawled) == 48
    slot_of = {url: page.meta["download_slot"] for url, page in crawler.spider.crawled.items()}
    own = {url for url, slot in slot_of.items() if slot == "own"}
    assert len(own) >= 5
    assert all(slot_of[url] in url for url in slot_of.keys() - own)  # a redirected request, too
    by_host = {url: at for url, at in crawler.spider.sent.items() if url not in own}
    slots = [sorted(by_host[url] for url in by_host if url.startswith(host)) for host in hosts]
    slots.append(sorted(crawler.spider.sent[url] for url in own))
    gaps = [later - earlier for times in slots for earlier, later in pairwise(times)]
    assert len(gaps) > 48
    assert min(gaps) >= delay - 0.001  # as the slot lets them go: the server may see them later


@in_reactor
async def test_delay_goes_on_though_robots_txt_asks_for_less_later(site: Site) -> None:
    def change(spider: Paced) -> list[str]:
        site.pages["/robots.txt"] = b""
        return ["/2"]

    crawler = await paced([site.url("/1")], {"GBOT_ROBOTS_MAX_AGE_SECS": 0}, then=change)
    assert crawler.spider.waits == [DELAY, DELAY]
