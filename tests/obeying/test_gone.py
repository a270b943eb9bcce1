"""Hosts that are gone stay cheap in each run, from each storage, and one that is back is crawled at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.internet.defer import gatherResults

from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt

from ..support.crawls import Pages, crawl, in_reactor, in_sqlite, pages, stats
from ..support.redis_server import redis_server
from ..support.web import Reply, Site, free_port


def facts(crawler: Any) -> dict[str, Any]:
    """How many hosts were gone, how many fetches that took, and whether all else was crawled."""
    refused = pages(crawler).refused.values()
    assert all(isinstance(error, ForbiddenByRobotsTxt) for error in refused)
    counted = stats(crawler)
    names = ("gone", "unreachable", "given_up")
    return {name: counted.get(f"gbot_robots/{name}", 0) for name in names}


@in_reactor
async def test_each_run_finds_soon_that_hosts_are_gone_and_the_next_that_one_is_back(
    site: Site, tmp_path: Path
) -> None:
    port = free_port()
    # the name is in the error's own words, which say nothing of a redirect
    gone = [f"http://127.0.0.1:{port}/a", "http://redirected.invalid/a"]
    urls = [*gone, site.url("/page")]
    site.pages["/page"] = Reply(200, b"ok", after_secs=1.0)  # so the network is up
    waits = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 600}
    with redis_server() as server:
        redis = {"GBOT_ROBOTS_STORAGE": "redis", "GBOT_ROBOTS_REDIS_URL": server.url}
        storages = [{**waits, **in_sqlite(tmp_path / "robots.sqlite")}, {**waits, **redis}, waits]
        for tries, settings in ((6, storages), (2, storages[:2])):
            crawls = [crawl(Pages, each, urls=urls) for each in settings]
            for crawler in await gatherResults(crawls):
                assert facts(crawler) == {"gone": 2, "unreachable": tries, "given_up": 2}
                assert set(pages(crawler).crawled) == {site.url("/page")}
        with Site({"/robots.txt": b"user-agent: *\ndisallow: /no", "*": b"ok"}, port=port):
            for settings_ in storages[:2]:
                crawler = await crawl(Pages, settings_, urls=gone[:1])
                assert set(pages(crawler).crawled) == {gone[0]}
