"""The versions of a robots.txt that are kept beside its entry."""

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind, Outage
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

ORIGIN = "https://a.example"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "robots.sqlite"


def entry(body: bytes, at: float, status: int = 200) -> Entry:
    kind = Kind.RULES if status == 200 else Kind.NONE
    return Entry(Copy(kind, status, f"{ORIGIN}/robots.txt", body, False, "", at, at + 86_400))


def kept(path: Path, *entries: Entry, most: int = 3) -> list[tuple[float, int, bytes]]:
    with closing(SqliteStorage(path, history=most)) as storage:
        for each in entries:
            storage.put(ORIGIN, each)
    with closing(SqliteStorage(path, history=most, read_only=True)) as storage:
        return [
            (version.fetched_at, version.status, version.body)
            for version in storage.versions(ORIGIN)
        ]


YEARS = 10 * 365 * 86_400
OTHERS = entry(b"a", 1), entry(b"a", 2), entry(b"b", 3), entry(b"a", 4)
DOWN = Entry(entry(b"b", 2).copy, Outage(3, 1, 503, "HTTP 503", 4))
AHEAD = (
    entry(b"a", 100),
    entry(b"b", 100 + YEARS),
    entry(b"b", 200),
    entry(b"c", 300),
    entry(b"c", 400),
)


@pytest.mark.parametrize(
    ("entries", "versions"),
    [
        pytest.param(OTHERS, [(1, 200, b"a"), (3, 200, b"b"), (4, 200, b"a")], id="another-body"),
        pytest.param(
            [entry(b"a", 1), entry(b"", 2, 404)], [(1, 200, b"a"), (2, 404, b"")], id="vanished"
        ),
        pytest.param([entry(b"a", 1), DOWN], [(1, 200, b"a")], id="outage-is-none"),
        pytest.param(
            [entry(b"%d" % number, number) for number in range(10)],
            [(7, 200, b"7"), (8, 200, b"8"), (9, 200, b"9")],
            id="the-last-few",
        ),
        pytest.param(
            [entry(b"new", 5), entry(b"old", 1)], [(5, 200, b"new")], id="older-than-the-latest"
        ),
        pytest.param(
            AHEAD,
            [(100, 200, b"a"), (200, 200, b"b"), (300, 200, b"c")],
            id="clock-that-was-years-ahead",
        ),
    ],
)
def test_last_versions_with_another_body_are_kept(
    entries: list[Entry], versions: list[tuple[float, int, bytes]], path: Path
) -> None:
    assert kept(path, *entries) == versions


def test_file_that_has_no_history_gets_one_which_stays_when_the_setting_is_off_again(
    path: Path,
) -> None:
    for body in (b"before", b"a", b"after"):
        with closing(SqliteStorage(path, history=3 if body == b"a" else 0)) as storage:
            storage.put(ORIGIN, entry(body, 1))
            assert storage.get(ORIGIN) == entry(body, 1)
            assert [version.body for version in storage.versions(ORIGIN)] == (
                [b"a"] if body != b"before" else []
            )


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE copies SET value = x'00'",
        "UPDATE copies SET value = 'text'",
        "UPDATE copies SET fetched = 2",
        "UPDATE copies SET fetched = 0.5",
        "UPDATE copies SET fetched = -1",
    ],
)
def test_row_that_was_tampered_with_is_left_out(change: str, path: Path) -> None:
    kept(path, entry(b"a", 1))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    assert kept(path) == []


@pytest.mark.parametrize("fetched", ["soon", b"", math.inf, 1e12])
def test_row_of_another_program_is_left_out_and_displaces_no_version(
    fetched: object, path: Path
) -> None:
    kept(path, entry(b"a", 1))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO copies SELECT origin, ?, value FROM copies", (fetched,))
    assert kept(path, entry(b"b", 2), most=2) == [(1, 200, b"a"), (2, 200, b"b")]


def test_bomb_is_left_out(path: Path) -> None:
    with closing(SqliteStorage(path, history=3)) as storage:
        storage.put(ORIGIN, entry(bytes(10_000_000), 1))
    with closing(SqliteStorage(path, history=3, max_body=1000)) as storage:
        assert storage.versions(ORIGIN) == []
