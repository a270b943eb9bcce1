"""The fleet of docs/fleets.md: one spider, several processes, one Redis for queue, robots.txt files and sitemaps."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from .support.documentation import HOME, blocks
from .support.processes import ROOT
from .support.reactors import as_arguments
from .support.redis_server import RedisServer, redis_server
from .support.sitemap_web import urlset
from .support.until import FAR_TOO_LONG_SECS, block_until
from .support.web import Reply, Site

pytestmark = pytest.mark.slow

pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
redis = pytest.importorskip("redis", reason="the extra redis is not installed")

BLOCKS = [*blocks(HOME / "docs/fleets.md", "python")]
PAGES = 20  # that each site's sitemap lists, besides one that its robots.txt disallows
RULES = "user-agent: *\ndisallow: /no\n"
START = "fleet:start_urls"

# Scrapy's command line. An idle spider looks for work five times a second instead of every five seconds.
HURRIED = """
from scrapy.cmdline import execute
from scrapy.core.engine import ExecutionEngine

ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 0.2
execute()
"""


@contextmanager
def web(number: int) -> Iterator[list[Site]]:
    """Sites whose robots.txt lists a sitemap of their own and one that all sites share. A page takes a while."""
    page = Reply(200, b"<html></html>", {"Content-Type": "text/html"}, after_secs=0.05)
    with ExitStack() as stack:
        sites = [stack.enter_context(Site({"*": page})) for _ in range(number)]
        for site in sites:
            sitemaps = f"sitemap: {site.url('/s.xml')}\nsitemap: {sites[0].url('/c.xml')}"
            site.pages["/robots.txt"] = Reply(200, f"{RULES}{sitemaps}".encode(), after_secs=0.1)
            paths = [*(f"/{number}" for number in range(PAGES)), "/no"]
            site.pages["/s.xml"] = urlset(*map(site.url, paths))
        sites[0].pages["/c.xml"] = urlset(*(site.url("/common") for site in sites))
        yield sites


class Fleet:
    """Processes with the documented spider, each with a number in its user agent."""

    def __init__(self, directory: Path, server: RedisServer, stack: ExitStack) -> None:
        self.directory = directory
        self.server = server
        self.client: Any = stack.enter_context(redis.Redis.from_url(server.url))
        self.processes: list[subprocess.Popen[str]] = []
        self._stack = stack
        (block,) = (block for block in BLOCKS if block.text.startswith("# fleet.py\n"))
        (directory / "fleet.py").write_text(block.text)

    def start(self, number: int) -> None:
        for name in range(number):
            command = [sys.executable, "-c", HURRIED, "runspider", str(self.directory / "fleet.py")]
            settings = {
                "REDIS_URL": self.server.url,
                "USER_AGENT": f"fleetbot/{name}",
                "TELNETCONSOLE_ENABLED": False,
                "CONCURRENT_REQUESTS": 4,
                "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
                "DOWNLOAD_DELAY": 0,
                "LOG_FILE": str(self.directory / f"{name}.log"),
            }
            command += [*as_arguments(settings), "-o", str(self.directory / f"{name}.jsonl")]
            process = self._stack.enter_context(subprocess.Popen(command, cwd=ROOT, text=True))
            self._stack.callback(process.kill)
            self.processes.append(process)

    def stop(self) -> None:
        """Ask all processes to stop, and wait until they have."""
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(FAR_TOO_LONG_SECS)

    def log(self, name: int) -> str:
        path = self.directory / f"{name}.log"
        return path.read_text() if path.exists() else ""


def asked(sites: list[Site]) -> Counter[str]:
    return Counter(site.url(path) for site in sites for path in site.paths())


def expected(sites: list[Site]) -> Counter[str]:
    """All URLs that the fleet may fetch, once each."""
    paths = ["/robots.txt", "/", "/s.xml", "/common", *(f"/{number}" for number in range(PAGES))]
    return Counter([site.url(path) for site in sites for path in paths] + [sites[0].url("/c.xml")])


def workers(sites: list[Site]) -> set[str]:
    """The user agents of the processes that have asked."""
    return {asked.headers["user-agent"] for site in sites for asked in site.asked}


def test_each_robots_txt_sitemap_and_page_is_fetched_once_in_all(tmp_path: Path) -> None:
    with redis_server() as server, ExitStack() as stack, web(6) as sites:
        fleet = Fleet(tmp_path, server, stack)
        fleet.start(3)
        # or two do all
        block_until(lambda: all("Spider opened" in fleet.log(name) for name in range(3)))
        fleet.client.rpush(START, *(json.dumps({"url": site.url("/")}) for site in sites))
        block_until(lambda: asked(sites) >= expected(sites))
        time.sleep(1)  # no further request may come
        fleet.stop()
        assert asked(sites) == expected(sites)
        assert workers(sites) == {"fleetbot/0", "fleetbot/1", "fleetbot/2"}
        assert fleet.client.keys("gbot_robots:lease:*") == []
        assert len(fleet.client.keys("gbot_robots:entry:*")) == 6
        for name in range(3):
            assert "Traceback" not in fleet.log(name)
            assert "[scrapy_gbot_robots.storage.client] WARNING" not in fleet.log(name)
            assert "has nothing to start from" not in fleet.log(name)


HOSTS = """
from scrapy_gbot_robots import RobotsSitemapSpider


class Spider(RobotsSitemapSpider):
    name = "hosts"
    custom_settings = {
        "ADDONS": {"scrapy_gbot_robots.Addon": 500},
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "SCHEDULER_PERSIST": True,
        "GBOT_ROBOTS_SITEMAPS_AHEAD": 5,
        "GBOT_ROBOTS_STORAGE": "memory",
        "TELNETCONSOLE_ENABLED": False,
    }

    def parse(self, response):
        yield {"url": response.url}
"""


def test_hosts_whose_sitemaps_are_read_ahead_lose_nothing_at_a_stop(tmp_path: Path) -> None:
    """The queue is in Redis, so files are read to their end, and another process goes on."""
    with redis_server() as server, ExitStack() as stack, web(2) as sites:
        (tmp_path / "hosts.py").write_text(HOSTS)
        settings = {"REDIS_URL": server.url, "USER_AGENT": "hostsbot", "CONCURRENT_REQUESTS": 2}
        hosts = ",".join(site.url() for site in sites)
        command = [sys.executable, "-m", "scrapy", "runspider", str(tmp_path / "hosts.py")]
        command += ["-a", f"hosts={hosts}", *as_arguments(settings)]
        command += ["-o", str(tmp_path / "items.jsonl")]
        process = stack.enter_context(subprocess.Popen(command, cwd=ROOT, text=True))
        stack.callback(process.kill)
        block_until(lambda: len(asked(sites)) >= 12)
        process.send_signal(signal.SIGTERM)
        process.wait(FAR_TOO_LONG_SECS)
        first = asked(sites)
        assert len(first) < len(expected(sites)) - 10
        subprocess.run(command, cwd=ROOT, timeout=FAR_TOO_LONG_SECS, check=True)
        pages = {url: 1 for url in expected(sites) if not url.endswith(("/", "robots.txt"))}
        assert {url: asked(sites)[url] for url in pages} == pages
