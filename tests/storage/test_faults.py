"""Storages that fail at the start of a real crawl or later: the crawl goes on, warns once, and uses them again."""

import logging
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.storage import client as client_module
from scrapy_gbot_robots.storage import redis as redis_module
from scrapy_gbot_robots.storage.client import StorageClient
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.crawls import as_scrapy_runs_it, in_sqlite, stats, together, under_way
from ..support.entries import FAILED, WORKS, said
from ..support.redis_server import RedisServer, full, hanging, killed, redis_server, storage_at
from ..support.redis_topologies import cluster
from ..support.rows import table
from ..support.systems import needs_posix
from ..support.until import until
from ..support.visits import fetches, visiting
from ..support.web import Content, Site, free_port

Fault = Callable[[], AbstractContextManager[None]]

RULES = "user-agent: *\ndisallow: /no"


@contextmanager
def replica(server: RedisServer) -> Iterator[None]:
    with redis.Redis.from_url(server.url) as client:
        client.replicaof("127.0.0.1", free_port())
        yield
        client.replicaof("NO", "ONE")


REDIS: dict[str, Callable[[RedisServer], AbstractContextManager[None]]] = {
    "killed": killed,
    "hanging": hanging,
    "full": full,
    "read-only": replica,
}


@contextmanager
def disk_full() -> Iterator[None]:
    """No file may grow."""
    import resource  # which only POSIX has

    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


@contextmanager
def directory_gone(path: Path) -> Iterator[None]:
    """A file stands where the directory was."""
    aside = path.parent.rename(path.parent.with_name("aside"))
    path.parent.write_bytes(b"")
    yield
    # In one step, so that nobody makes a directory there.
    back = path.parent.with_name("back")
    back.symlink_to(aside, target_is_directory=True)
    back.replace(path.parent)


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger=client_module.__name__)
    monkeypatch.setattr(client_module, "TRY_AGAIN_SECS", 0.05)
    monkeypatch.setattr(redis_module, "_TIMEOUT_SECS", 0.5)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


async def assert_storage_is_replaced_and_taken_back(
    fault: Fault, at: str, settings: dict[str, Any], opened: Callable[[], Any], caplog: Any
) -> None:
    """Crawl three sites. The storage fails at the start or after the first site, and works again before the last."""

    async def is_crawled(site: Site) -> None:
        assert await visitor.may(site.url("/"))
        assert not await visitor.may(site.url("/no"))

    pages: dict[str, Content] = {"/robots.txt": RULES, "*": b"ok"}
    with Site(pages) as first, Site(pages) as second, Site(pages) as third:
        async with visiting(**settings) as visitor:
            if at == "mid-crawl":
                await is_crawled(first)
                assert said(caplog) == []
            with fault():
                await is_crawled(first)
                await is_crawled(second)
                for _ in range(2):  # the second trial fails, too
                    await pause(0.06)
                    await visitor.may(second.url("/robots.txt"))  # for which the storage is asked
                assert said(caplog) == [FAILED]
            await until(lambda: said(caplog) == [FAILED, WORKS])
            await is_crawled(third)
        assert stats(visitor.crawler)["gbot_robots/storage/fallback"] == 0
        assert [fetches(site) for site in (first, second, third)] == [1, 1, 1]
        assert said(caplog) == [FAILED, WORKS]
        with closing(opened()) as storage:
            assert storage.get(third.url("")).copy.body == RULES.encode()
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@table("fault, at", *((fault, "mid-crawl") for fault in REDIS), ("hanging", "start"))
@as_scrapy_runs_it
async def test_crawl_goes_on_from_memory_while_redis_fails(
    fault: str, at: str, server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"GBOT_ROBOTS_STORAGE": "redis", "REDIS_URL": server.url}
    opened = partial(storage_at, server.url)
    await assert_storage_is_replaced_and_taken_back(
        partial(REDIS[fault], server), at, settings, opened, caplog
    )


@table(
    "fault, at",
    pytest.param("full", "mid-crawl", marks=needs_posix),
    pytest.param("full", "start", marks=needs_posix),
    ("gone", "start"),
)
@as_scrapy_runs_it
async def test_crawl_goes_on_from_memory_while_sqlite_fails(
    fault: str, at: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "directory" / "robots.sqlite"
    path.parent.mkdir()
    faults: dict[str, Fault] = {"full": disk_full, "gone": partial(directory_gone, path)}
    await assert_storage_is_replaced_and_taken_back(
        faults[fault], at, in_sqlite(path), partial(SqliteStorage, path), caplog
    )
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@as_scrapy_runs_it
async def test_cluster_is_used_again_when_its_node_answers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with cluster() as servers:
        crawler = get_crawler(settings_dict=servers.settings)
        client = StorageClient.of(GbotSettings.of(crawler.settings), crawler)

        def errors() -> int:
            return int(stats(crawler)["gbot_robots/storage/errors"])

        async def leases(*origins: str) -> list[bool]:
            finds = [under_way(client.find(origin, bool)) for origin in origins]
            return [is_leased for _, is_leased in await together(*finds)]

        # Their keys are on the first, the second and the third node.
        near, far, lost = "https://a.example", "https://c.example", "https://b.example"
        one, _, gone = servers.masters  # redis-py asks the first one about commands
        try:
            assert await leases(near) == [True]
            gone.kill()
            assert await leases(near) == [False]
            assert await leases(far, lost) == [True, True]
            failed = errors()
            await until(lambda: errors() >= failed + 3)
            assert said(caplog) == [FAILED]  # though the other nodes answer
            gone.start()
            await until(lambda: said(caplog) == [FAILED, WORKS])
            # The trials leave nothing; the calls that failed may have taken a lease where they could.
            left = {b"gbot_robots:lease:{https://%s.example}" % name for name in (b"a", b"c")}
            with redis.RedisCluster(host="127.0.0.1", port=one.port) as other:
                await until(lambda: {*other.keys(target_nodes="primaries")} <= left)
            assert await leases(lost, near) == [True, False]
        finally:
            await client.close()
