"""Several processes share one storage, and some of them are killed."""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.processes import output
from ..support.processes import start as start_process

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("GBOT_ROBOTS_TEST_KILLS", "5"))
WORKER = """
import random, sys
from scrapy_gbot_robots.storage.sqlite import SqliteStorage
from tests.support.entries import rules

storage = SqliteStorage(sys.argv[1])
for number in range(int(sys.argv[3])):
    storage.put(f"https://{sys.argv[2]}-{number % 500}.example:443", rules(random.randbytes(random.randrange(20_000))))
    if number == 20:
        print("written", flush=True)
storage.close()
"""


def start(path: Path, name: str, times: int) -> subprocess.Popen[str]:
    """A process that puts so many entries of hosts with its name, and prints a line in the middle of it."""
    return start_process([sys.executable, "-c", WORKER, str(path), name, str(times)])


def test_processes_that_find_a_broken_file_at_once_begin_one_new_file(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    SqliteStorage(path).close()
    damaged = path.read_bytes()[:6000]
    path.write_bytes(damaged)
    workers = [start(path, f"worker{number}", 40) for number in range(5)]
    assert [output(worker)[0] for worker in workers] == ["written\n"] * 5
    with closing(SqliteStorage(path)) as storage:
        assert len(list(storage.origins())) == 200
    aside = [each for each in tmp_path.glob("robots.sqlite.set-aside-*") if not each.name.endswith(("-wal", "-shm"))]
    assert [each.read_bytes() for each in aside] == [damaged]


def test_kill_while_writing_leaves_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    for kill in range(KILLS):
        writers = [start(path, f"writer{kill}-{number}", 1_000_000) for number in range(2)]
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
    with closing(SqliteStorage(path)) as storage:
        origins = list(storage.origins())
        assert origins
        assert all(storage.get(origin) for origin in origins)
    assert not list(tmp_path.glob("*set-aside*"))
