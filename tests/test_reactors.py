"""The same crawl in each way in which Scrapy can run. Each crawl has its own process, because a process has one reactor."""

import sys
from pathlib import Path

import pytest

from .support.processes import run
from .support.reactors import as_arguments, ways_to_run
from .support.web import Reply, Site, redirect

pytestmark = pytest.mark.slow

RULES = b"user-agent: *\ndisallow: /page\n"
SPIDER = """
from scrapy import Request, Spider

class WaitsForAPage:
    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_request(self, request):
        if request.url == self.crawler.spider.stuck + "/robots.txt":
            await self.crawler.engine.download_async(Request(self.crawler.spider.stuck + "/token"))

class Everything(Spider):
    name = "everything"
    custom_settings = {
        "ADDONS": {"scrapy_gbot_robots.Addon": 500},
        "GBOT_ROBOTS_SQLITE_PATH": "robots.sqlite",
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 2,  # asked again after one second, and not before three
        "GBOT_ROBOTS_TIMEOUT_SECS": 10,
        "GBOT_ROBOTS_CRAWL_DELAY": True,
        "GBOT_ROBOTS_REFUSE_PRIVATE": True,
        "DOWNLOADER_MIDDLEWARES": {WaitsForAPage: 600},
    }

    async def start(self):
        for site in [*self.sites.split(","), self.stuck]:
            for number in range(4):
                yield Request(f"{site}/free/{number}")
                yield Request(f"{site}/page/{number}")

    def parse(self, response):
        print("CRAWLED", response.url, flush=True)
"""


@pytest.mark.crawl
@pytest.mark.parametrize("way", ways_to_run())
def test_crawl_is_the_same_under_every_reactor_and_none(
    way: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "everything.py").write_text(SPIDER)
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
        command = [sys.executable, "-m", "scrapy", "runspider", "everything.py", *as_arguments(way)]
        command += ["-a", "sites=" + ",".join(site.url("") for site in (*sites, lost))]
        command += ["-a", "stuck=" + stuck.url("").rstrip("/")]
        done = run(command, tmp_path)
        expected = {site.url(f"/free/{n}") for site in (slow, moved, absent) for n in range(4)}
        expected |= {absent.url(f"/page/{n}") for n in range(4)}
        assert set(done.stdout.split()[1::2]) == expected, done.stderr
        assert done.stderr.count("ERROR: A downloader middleware failed on the request for") == 1
        assert f"{stuck.url('/robots.txt')}: TimeoutError: the downloader" in done.stderr
        assert not stuck.asked
        assert [site.paths().count("/robots.txt") for site in sites[:3]] == [1, 1, 1]
        assert ill.paths().count("/robots.txt") >= 2
        assert set(lost.paths()) == {"/robots.txt"}
        assert "'gbot_robots/held': 16," in done.stderr  # all requests of `ill` and `lost`, once
        assert (tmp_path / "robots.sqlite").exists()
