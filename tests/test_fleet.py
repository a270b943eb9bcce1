"""Several processes crawl at once and share a storage; some are killed, and some servers die."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from .support.crawls import in_sqlite
from .support.fleet import Worker
from .support.redis_topologies import cluster, sentinels
from .support.until import block_until
from .support.visits import fetches
from .support.web import Reply, Site

Start = Callable[..., Worker]

pytestmark = pytest.mark.slow

RULES = b"user-agent: *\ndisallow: /no\n"
SLOW = Reply(200, RULES, after_secs=0.05)


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a process that crawls. All of them end with the test."""
    with ExitStack() as stack:

        def begin(urls: Iterable[str], settings: dict[str, Any]) -> Worker:
            worker = Worker(urls, settings)
            stack.callback(worker.kill)
            return worker

        yield begin


@contextmanager
def sites(number: int, robots: Reply = SLOW) -> Iterator[list[Site]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(Site({"/robots.txt": robots, "*": b"ok"})) for _ in range(number)
        ]


def urls_of(all_sites: list[Site]) -> list[str]:
    return [site.url(path) for site in all_sites for path in ("/yes", "/no")]


def reports_of_whole_crawls(crew: list[Worker], all_sites: list[Site]) -> list[dict[str, Any]]:
    """What the processes say at their end: each has crawled each page that it may, and no other."""
    reports = [worker.report() for worker in crew]
    for report in reports:
        assert sorted(report["crawled"]) == sorted(site.url("/yes") for site in all_sites)
        assert sorted(report["refused"]) == sorted(site.url("/no") for site in all_sites)
    return reports


def test_processes_with_one_storage_fetch_each_file_once(start: Start, tmp_path: Path) -> None:
    with sites(20) as all_sites:
        crew = [start(urls_of(all_sites), in_sqlite(tmp_path / "robots.sqlite")) for _ in range(3)]
        reports = reports_of_whole_crawls(crew, all_sites)
        assert {fetches(site) for site in all_sites} == {1}
        assert sum(report["stats"].get("gbot_robots/lookup/fetched", 0) for report in reports) == 20
        assert sum(report["stats"].get("gbot_robots/lookup/storage", 0) for report in reports) == 40
        assert [worker.warnings() for worker in crew] == [[], [], []]


def test_killed_process_leaves_its_fetch_to_another(start: Start, tmp_path: Path) -> None:
    with sites(1, Reply(200, after_secs=30)) as (slow,):
        settings = in_sqlite(tmp_path / "robots.sqlite") | {"GBOT_ROBOTS_TIMEOUT_SECS": 4}
        holder = start(urls_of([slow]), settings)
        block_until(lambda: fetches(slow) == 1)
        other = start(urls_of([slow]), settings)
        slow.pages["/robots.txt"] = SLOW
        holder.kill()
        reports_of_whole_crawls([other], [slow])
        assert fetches(slow) == 2


@pytest.mark.parametrize("topology", [sentinels, cluster])
def test_server_that_dies_in_a_crawl_loses_none(start: Start, topology: Any) -> None:
    with topology() as servers, sites(16) as all_sites:
        # One page after another, so that there is time for something to happen. A lease that a dead master handed on
        # lasts for two time-outs.
        settings = {**servers.settings, "CONCURRENT_REQUESTS": 1, "GBOT_ROBOTS_TIMEOUT_SECS": 5}
        settings |= {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60}
        crew = [start(urls_of(all_sites), settings) for _ in range(2)]
        block_until(lambda: sum(fetches(site) > 0 for site in all_sites) >= 5)
        servers.masters[0].kill()
        reports_of_whole_crawls(crew, all_sites)
        warnings = [line for worker in crew for line in worker.warnings()]
        assert warnings
        assert [line for line in warnings if "The robots.txt storage failed" not in line] == []
        if topology is sentinels:  # a cluster without replicas lacks what its dead master had
            servers.fail_over()
            late = start(urls_of(all_sites), settings)
            reports_of_whole_crawls([late], all_sites)
            assert late.warnings() == []
