"""The same crawl in each way in which Scrapy can run. Each crawl has its own process, because a process has one reactor."""

from pathlib import Path

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from typing_extensions import Self

from .support.crawls import in_sqlite
from .support.fleet import Worker
from .support.reactors import ways_to_run
from .support.web import Reply, Site, redirect

pytestmark = pytest.mark.slow

RULES = b"user-agent: *\ndisallow: /page\n"


class WaitsForAPage:
    """A downloader middleware. For a page of one site it waits before it asks for that site's robots.txt."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        stuck = self.crawler.settings["STUCK"]
        if request.url == f"{stuck}/robots.txt":
            assert self.crawler.engine
            await self.crawler.engine.download_async(Request(f"{stuck}/token"))


SETTINGS = {
    "DOWNLOADER_MIDDLEWARES": {f"{__name__}.WaitsForAPage": 600},
    "GBOT_ROBOTS_CRAWL_DELAY": True,
    "GBOT_ROBOTS_DENY_PRIVATE": True,
    "GBOT_ROBOTS_TIMEOUT_SECS": 10,
    "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 2,  # asked again after one second, and not before three
}


@pytest.mark.crawl
@pytest.mark.parametrize("way", ways_to_run())
def test_crawl_is_the_same_under_every_reactor(way: dict[str, object], tmp_path: Path) -> None:
    with (
        Site({"/robots.txt": Reply(200, RULES, after_secs=0.2), "*": b"ok"}) as slow,
        Site(
            {"/robots.txt": redirect("/r"), "/r": RULES + b"crawl-delay: 0.01", "*": b"ok"}
        ) as moved,
        Site({"/robots.txt": Reply(404, RULES), "*": b"ok"}) as absent,
        Site({"/robots.txt": Reply(503), "*": b"ok"}) as ill,
        Site({"/robots.txt": redirect("http://no-such-name.invalid/"), "*": b"ok"}) as lost,
        Site({"/robots.txt": RULES, "*": b"ok"}) as stuck,
    ):
        sites = (slow, moved, absent, ill)
        settings = {**SETTINGS, **in_sqlite(tmp_path / "robots.sqlite"), **way}
        paths = [f"/{kind}/{number}" for number in range(4) for kind in ("free", "page")]
        urls = [site.url(path) for site in (*sites, lost, stuck) for path in paths]
        worker = Worker(urls, {**settings, "STUCK": stuck.url("")})
        report = worker.report()
        expected = {site.url(f"/free/{n}") for site in (slow, moved, absent) for n in range(4)}
        expected |= {absent.url(f"/page/{n}") for n in range(4)}
        assert set(report["crawled"]) == expected, worker.log
        assert worker.log.count("ERROR: A downloader middleware failed on the request for") == 1
        assert f"{stuck.url('/robots.txt')}: TimeoutError: the downloader" in worker.log
        assert not stuck.asked
        assert [site.paths().count("/robots.txt") for site in sites[:3]] == [1, 1, 1]
        assert ill.paths().count("/robots.txt") >= 2
        assert set(lost.paths()) == {"/robots.txt"}
        assert (
            report["stats"]["gbot_robots/requests/held"] == 16
        )  # all requests of `ill` and `lost`, once
        assert (tmp_path / "robots.sqlite").exists()
