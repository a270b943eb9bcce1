"""Several processes share one storage, and some of them are killed."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.entries import ORIGIN
from ..support.redis_server import KINDS
from ..support.storage_worker import opened, start

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Servers

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("GBOT_ROBOTS_TEST_KILLS", "5"))


@pytest.fixture(params=["sqlite", *KINDS])
def where(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'robots.sqlite'}"
    return f"redis:{servers.one(request.param)['GBOT_ROBOTS_REDIS_URL']}"


def shared(where: str, processes: int, origins: int) -> list[str]:
    """Origins fetched by all processes together."""
    workers = [start(where, "share", str(origins)) for _ in range(processes)]
    outputs = [worker.communicate(timeout=30)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * processes
    return sorted(line for output in outputs for line in output.split())


def test_each_origin_is_fetched_once(where: str) -> None:
    fetched = shared(where, 4, 60)
    assert len(fetched) == 60
    assert len(set(fetched)) == 60


def test_killed_holder_loses_its_lease_in_time(where: str) -> None:
    with closing(opened(where)) as storage:
        holder = start(where, "hold", ORIGIN, "1.0")
        assert holder.stdout
        assert holder.stdout.readline() != "None\n"
        holder.kill()
        assert storage.lease(ORIGIN, 60) is None
        holder.communicate()
        deadline = time.monotonic() + 5
        while not (token := storage.lease(ORIGIN, 60)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert token


def test_processes_that_find_a_broken_file_at_once_begin_one_new_file(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    SqliteStorage(path).close()
    damaged = path.read_bytes()[:6000]
    path.write_bytes(damaged)
    fetched = shared(f"sqlite:{path}", 5, 40)
    assert len(fetched) == len(set(fetched)) == 40
    aside = [each for each in tmp_path.glob("robots.sqlite.set-aside-*") if not each.name.endswith(("-wal", "-shm"))]
    assert [each.read_bytes() for each in aside] == [damaged]


def test_kill_while_writing_leaves_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    for kill in range(KILLS):
        writers = [start(f"sqlite:{path}", "write", str(kill * 2 + number)) for number in range(2)]
        for writer in writers:
            assert writer.stdout
            assert writer.stdout.readline() == "written\n"
        time.sleep(random.random() * 0.05)
        for writer in writers:
            writer.kill()
        for writer in writers:
            writer.communicate()
        with closing(sqlite3.connect(path)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    told: list[str] = []
    with closing(SqliteStorage(path, tell=told.append)) as storage:
        origins = list(storage.origins())
        assert origins
        assert all(storage.get(origin) for origin in origins)
    assert told == []
