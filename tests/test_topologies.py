"""A fleet whose Redis is a master with sentinels, or a cluster: servers die in mid-crawl, and nothing is lost."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from .support.fleet import workers
from .support.redis_topologies import cluster, sentinels
from .support.until import block_until
from .support.visits import fetches
from .support.web import Reply, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .support.fleet import Worker
    from .support.redis_topologies import Cluster, Sentinels

pytestmark = pytest.mark.slow

RULES = b"user-agent: *\ndisallow: /no\n"
SITES = 16


@pytest.fixture
def start() -> Iterator[Callable[..., Worker]]:
    with workers() as start:
        yield start


@contextmanager
def sites() -> Iterator[list[Site]]:
    with ExitStack() as stack:
        pages: dict[str, bytes | Reply] = {"/robots.txt": RULES, "*": Reply(200, b"ok", after_secs=0.02)}
        yield [stack.enter_context(Site(pages)) for _ in range(SITES)]


def crawl_of(
    all_sites: list[Site], start: Callable[..., Worker], servers: Cluster | Sentinels, processes: int
) -> list[Worker]:
    """Processes that go through the sites, one page after another, so that there is time for something to happen."""
    urls = [site.url(path) for site in all_sites for path in ("/yes", "/no")]
    # A lease that a dead master handed on lasts for two time-outs.
    settings = {**servers.settings, "CONCURRENT_REQUESTS": 1, "GBOT_ROBOTS_TIMEOUT_SECS": 5}
    return [start(urls, settings) for _ in range(processes)]


def until_some_are_crawled(all_sites: list[Site], number: int) -> None:
    block_until(lambda: sum(fetches(site) > 0 for site in all_sites) >= number)


def assert_nothing_is_lost_or_wrongly_crawled(all_sites: list[Site], crew: list[Worker]) -> None:
    for report in [worker.report() for worker in crew]:
        assert sorted(report["crawled"]) == sorted(site.url("/yes") for site in all_sites)
        assert sorted(report["refused"]) == sorted(site.url("/no") for site in all_sites)


def test_fleet_on_a_cluster_fetches_each_robots_txt_once(start: Callable[..., Worker]) -> None:
    with cluster() as servers, sites() as all_sites:
        crew = crawl_of(all_sites, start, servers, 2)
        assert_nothing_is_lost_or_wrongly_crawled(all_sites, crew)
        assert [*map(fetches, all_sites)] == [1] * SITES
        assert [worker.warnings() for worker in crew] == [[], []]


def test_fail_over_of_a_master_in_mid_crawl_loses_nothing(start: Callable[..., Worker]) -> None:
    with sentinels() as servers, sites() as all_sites:
        crew = crawl_of(all_sites, start, servers, 2)
        until_some_are_crawled(all_sites, 5)
        servers.master.kill()
        assert_nothing_is_lost_or_wrongly_crawled(all_sites, crew)
        servers.until_replica_is_master()
        (worker,) = crawl_of(all_sites, start, servers, 1)  # what was known before is known to the new master
        assert_nothing_is_lost_or_wrongly_crawled(all_sites, [worker])
        assert worker.warnings() == []


def test_node_of_a_cluster_that_dies_in_mid_crawl_loses_nothing(start: Callable[..., Worker]) -> None:
    with cluster() as servers, sites() as all_sites:
        crew = crawl_of(all_sites, start, servers, 2)
        until_some_are_crawled(all_sites, 5)
        servers.masters[1].kill()
        assert_nothing_is_lost_or_wrongly_crawled(all_sites, crew)
        assert all("The robots.txt storage failed" in line for worker in crew for line in worker.warnings())
