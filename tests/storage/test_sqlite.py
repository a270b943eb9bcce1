"""What only the SQLite storage promises: what is in its way, time, and disks that fail."""

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.storage import sqlite
from scrapy_gbot_robots.storage.base import StorageError
from scrapy_gbot_robots.storage.codec import encode
from scrapy_gbot_robots.storage.sqlite import ForeignFileError, SqliteStorage

from ..support.clock import DAY, Clock
from ..support.entries import GONE, ORIGIN, RULES, assert_miss_that_takes_little_memory, rules
from ..support.processes import output, start
from ..support.rows import row, table
from ..support.systems import needs_proc


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "robots.sqlite"


def aside(path: Path) -> list[str]:
    """Names of what was set aside, WAL and shared memory left out."""
    found = names(path.parent)
    return sorted(each for each in found if "-" in each and not each.endswith(("-wal", "-shm")))


def filled(path: Path, entries: int = 200) -> bytes:
    """Begin a file of many pages; return its bytes."""
    with closing(SqliteStorage(path)) as storage:
        for number in range(entries):
            storage.put(f"https://host{number}.example:443", rules(os.urandom(1000)))
    return path.read_bytes()


def broken(path: Path, size: int = 6000) -> bytes:
    """Put a file there that is ours and cut short; return its bytes."""
    damaged = filled(path)[:size]
    path.write_bytes(damaged)
    return damaged


def set_aside_by_another(path: Path) -> None:
    for part in ("-wal", "-shm", ""):
        if Path(f"{path}{part}").exists():
            Path(f"{path}{part}").rename(f"{path}.set-aside-by-another{part}")


def names(directory: Path) -> set[str]:
    return {each.name for each in directory.iterdir()}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock.of(monkeypatch)


@pytest.fixture
def storage(path: Path) -> Iterator[SqliteStorage]:
    with closing(SqliteStorage(path, max_body=10_000)) as storage:
        yield storage


def execute(path: Path, statement: str, *values: object) -> list[Any]:
    """What another program does with the file."""
    with closing(sqlite3.connect(path)) as database, database:
        return database.execute(statement, values).fetchall()


def test_file_is_in_wal_mode_and_says_whose_it_is(path: Path, storage: SqliteStorage) -> None:
    assert path.read_bytes()[68:72] == b"GBRT"  # whatever becomes of its log
    assert path.with_name("robots.sqlite.lock").read_bytes() == b""
    assert execute(path, "PRAGMA journal_mode") == [("wal",)]


TOO_LONG = encode(rules(b"x" * 10_001))


@table(
    "change, values",
    row("text", "UPDATE entries SET value = ?", ("text",)),
    row("body-over-the-limit", "UPDATE entries SET value = ?", (TOO_LONG,)),
    row("huge", "UPDATE entries SET value = zeroblob(50000000)", ()),
)
def test_value_that_we_did_not_write_is_a_miss_and_nothing_of_a_huge_one_is_read(
    path: Path, storage: SqliteStorage, change: str, values: tuple[object, ...]
) -> None:
    storage.put(ORIGIN, Entry(RULES))
    execute(path, change, *values)
    assert_miss_that_takes_little_memory(storage)


def test_origin_that_is_no_text_harms_no_other(path: Path, storage: SqliteStorage) -> None:
    others = [f"https://host{number:04}.example" for number in range(1001)]
    for origin in others:
        storage.put(origin, Entry(RULES))
    copied = "INSERT INTO entries SELECT {}, used, value, token FROM entries LIMIT 1"
    execute(path, copied.format("?"), b"zz")
    for text in (b"a\xff", b"z\x80"):
        execute(path, copied.format("CAST(? AS TEXT)"), text)
    assert list(storage.origins())[:1001] == others  # over two pages
    assert len(list(storage.origins())) == 1003


def test_entry_stored_long_ago_is_gone(storage: SqliteStorage, clock: Clock) -> None:
    storage.put(ORIGIN, Entry(RULES))
    clock.goes_on(93 * DAY)  # three months are nothing to a crawl that comes each month
    assert list(storage.origins()) == [ORIGIN]
    clock.goes_on(8 * DAY)
    assert storage.get(ORIGIN) is None
    assert list(storage.origins()) == []


def test_sweeping_keeps_pace_with_the_crawl_and_gives_pages_back(path: Path, clock: Clock) -> None:
    with closing(SqliteStorage(path)) as storage:
        for number in range(500):
            storage.put(f"https://host{number}.example:443", rules(os.urandom(2000)))
        execute(path, "PRAGMA wal_checkpoint(TRUNCATE)")
        size = path.stat().st_size
        clock.goes_on(101 * DAY)
        for number in range(15):
            storage.put(f"https://new{number % 14}.example:443", Entry(RULES))  # which also sweeps
        assert execute(path, "SELECT count(*) FROM entries") == [(14,)]
    assert path.stat().st_size < size / 4


def test_lease_that_none_of_us_took_is_free(
    path: Path, storage: SqliteStorage, clock: Clock
) -> None:
    execute(path, "INSERT INTO leases VALUES (?, ?, ?)", ORIGIN, "forged", 1e12)
    for _ in range(2):
        assert storage.lease(ORIGIN, 60)
        assert storage.lease(ORIGIN, 60) is None
        clock.goes_on(-DAY)  # it is set back


def test_leases_of_the_dead_go_when_another_ends(path: Path, storage: SqliteStorage) -> None:
    execute(path, "INSERT INTO leases VALUES (?, ?, ?)", "https://dead.example", "dead", 1e9)
    token = storage.lease(ORIGIN, 60)
    storage.release("https://other.example", "another's")
    assert execute(path, "SELECT origin, token FROM leases") == [(ORIGIN, token)]


# What is in the way


@table(
    "damage",
    row("cut-in-the-header", lambda whole: whole[:72]),
    row("cut-in-half", lambda whole: whole[: len(whole) // 2]),
    row("all-but-the-header", lambda whole: whole[:100] + b"\xff" * len(whole)),
    row("magic", lambda whole: bytes(16) + whole[16:]),
    row(
        "schema-that-is-no-text",
        lambda whole: whole.replace(b"CREATE INDEX", b"CR\xdfATE INDEX", 1),
    ),
)
def test_broken_files_of_ours_are_set_aside_and_new_ones_begun(
    path: Path, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    damaged = set()
    for _ in range(2):
        path.write_bytes(damage(filled(path)))
        damaged.add(path.read_bytes())
        with closing(SqliteStorage(path)) as storage:
            storage.put(ORIGIN, Entry(RULES))
            assert list(storage.origins()) == [ORIGIN]
    assert {path.with_name(name).read_bytes() for name in aside(path)} == damaged
    said = [f"it was renamed to {name}, and a new file replaces it" for name in aside(path)]
    assert [warning.rpartition(": ")[2] for warning in caplog.messages] == said


def test_file_that_breaks_in_use_is_set_aside(path: Path) -> None:
    whole = filled(path)
    with closing(SqliteStorage(path)) as storage:
        with path.open("r+b") as file:  # in place: it stays the same file
            file.seek(8192)
            file.write(os.urandom(len(whole) - 8192))
        assert storage.get("https://host77.example:443") is None
        storage.put(ORIGIN, Entry(RULES))
        assert list(storage.origins()) == [ORIGIN]
    assert len(aside(path)) == 1


@table(
    "theirs",
    row("tables", "CREATE TABLE mine (a)"),
    row("application", "PRAGMA application_id = 7"),
    row("settings", b"BOT_NAME = 'example'\n"),
    row("zeros", b"\0" * 8192),
    row("broken-database", b"SQLite format 3\0" + b"\xff" * 5000),
)
def test_foreign_file_is_neither_renamed_nor_overwritten(path: Path, theirs: str | bytes) -> None:
    if isinstance(theirs, str):
        execute(path, theirs)
    else:
        path.write_bytes(theirs)
    before = path.read_bytes()
    with pytest.raises(ForeignFileError, match=f"^{path} is not a database of scrapy-gbot-robots"):
        SqliteStorage(path)
    assert names(path.parent) == {path.name}
    assert path.read_bytes() == before


def test_file_that_another_process_renews_meanwhile_is_not_set_aside_again(path: Path) -> None:
    renewed = filled(path, 1)
    broken(path)
    with ThreadPoolExecutor() as threads:
        with sqlite._alone(path):
            opening = threads.submit(SqliteStorage, path)
            time.sleep(0.2)  # it has found the file broken, and waits for its turn
            set_aside_by_another(path)
            path.write_bytes(renewed)
        with closing(opening.result()) as storage:
            assert list(storage.origins()) == ["https://host0.example:443"]
    assert aside(path) == ["robots.sqlite.set-aside-by-another"]


@pytest.mark.parametrize("new", [True, False], ids=["new-file", "no-file"])
def test_new_file_that_another_process_puts_there_as_the_broken_one_is_opened_stays(
    path: Path, new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed = filled(path, 1)
    broken(path)
    connect = sqlite3.connect

    def connect_late(file: Path, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(file, **options)
        monkeypatch.undo()
        set_aside_by_another(path)
        if new:
            path.write_bytes(renewed)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_late)
    with closing(SqliteStorage(path)) as storage:
        assert list(storage.origins()) == ["https://host0.example:443"] * new
    assert aside(path) == ["robots.sqlite.set-aside-by-another"]


# Disks and directories that fail


@table(
    "place",
    row("no-directory", "file/robots.sqlite"),
    row("a-directory", "directory"),
    row("read-only-directory", "/proc/self/robots.sqlite", marks=needs_proc),
)
def test_path_that_cannot_be_opened_is_a_storage_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "directory").mkdir()
    with pytest.raises(StorageError, match=f"cannot use {tmp_path / place}: "):
        SqliteStorage(tmp_path / place)


def test_writer_that_ends_soon_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        closing(SqliteStorage(path)) as storage,
        closing(sqlite3.connect(path, check_same_thread=False)) as other,
    ):
        storage.put(ORIGIN, Entry(None, GONE))
        other.execute("BEGIN IMMEDIATE")
        Timer(0.1, other.rollback).start()
        storage.put(ORIGIN, Entry(RULES))
    monkeypatch.setattr(sqlite, "_BUSY_SECS", 0.1)
    with closing(SqliteStorage(path)) as storage, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="database is locked"):
            storage.put(ORIGIN, Entry(None, GONE))
        assert storage.get(ORIGIN) == Entry(RULES)


# Several processes

WRITER = """
import random, sys
from scrapy_gbot_robots.storage.sqlite import SqliteStorage
from tests.support.entries import rules
_, path, name, times = sys.argv
storage = SqliteStorage(path)
for number in range(int(times)):
    storage.put(f"https://{name}-{number % 500}.example:443", rules(random.randbytes(random.randrange(20_000))))
    if number == 20:
        print("written", flush=True)
"""


def writers(path: Path, count: int, times: int) -> list[subprocess.Popen[str]]:
    """Processes that put entries, that many times."""
    command = [sys.executable, "-c", WRITER, str(path)]
    return [start([*command, f"{number}", str(times)]) for number in range(count)]


@pytest.mark.slow
def test_processes_that_find_a_broken_file_at_once_begin_one_new_file(path: Path) -> None:
    damaged = broken(path)
    assert [output(writer)[0] for writer in writers(path, 5, 40)] == ["written\n"] * 5
    with closing(SqliteStorage(path)) as storage:
        assert len(list(storage.origins())) == 200
    assert [path.with_name(name).read_bytes() for name in aside(path)] == [damaged]


@pytest.mark.slow
def test_kill_while_writing_leaves_the_file_whole(path: Path) -> None:
    for _ in range(3):
        killed = writers(path, 2, 1_000_000)
        for writer in killed:
            assert writer.stdout
            assert writer.stdout.readline() == "written\n"
        time.sleep(random.random() * 0.05)
        for writer in killed:
            writer.kill()
        for writer in killed:
            writer.communicate()
        assert execute(path, "PRAGMA integrity_check") == [("ok",)]
    with closing(SqliteStorage(path)) as storage:
        origins = list(storage.origins())
        assert origins
        assert all(storage.get(origin) for origin in origins)
    assert not aside(path)
