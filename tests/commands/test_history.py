"""`scrapy robots history`, and versions of the past in `diff`."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.command import run_here

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400
BODIES = (
    b"user-agent: *\ndisallow: /a\n",
    b"# new\nuser-agent: *\ndisallow: /a\n",
    b"user-agent: *\ndisallow: /\ncontent-signal: search=no",
)


@pytest.fixture
def at(tmp_path: Path) -> list[str]:
    """Settings that name a file with three versions: of the first, third and fifth of January 1970."""
    path = tmp_path / "robots.sqlite"
    with closing(SqliteStorage(path, history=9)) as storage:
        for number, body in enumerate(BODIES):
            then = 2.0 * number * DAY + 3600
            url = "https://a.example/robots.txt"
            storage.put("https://a.example", Entry(Copy(Kind.RULES, 200, url, body, False, "", then, then + DAY)))
    return ["-s", f"GBOT_ROBOTS_SQLITE_PATH={path}"]


def test_versions_are_listed_with_what_changed(at: list[str], tmp_path: Path) -> None:
    ended = run_here("history", "a.example", *at, cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    _, first, second, third = ended.out.splitlines()
    assert first.startswith("1970-01-01 01:00:00  200     27 ")
    assert second.startswith("1970-01-03 01:00:00  200     33 ")
    assert second.endswith("  nothing that a crawler reads")
    told = "1 rule added, 1 removed for 1 user agent; everything is disallowed to * now; preferences turned for *"
    assert third.endswith(f"  {told}")
    rows = [json.loads(line) for line in run_here("history", "a.example", "--json", *at, cwd=tmp_path).out.splitlines()]
    assert [row["changed_for"] for row in rows] == [None, [], ["*"]]
    assert (rows[0]["fetched"], len(rows[0]["sha256"])) == ("1970-01-01T01:00:00+00:00", 64)


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("a.example@1970-01-01", "a.example@1970-01-02", 0),
        ("a.example@1970-01-02", "https://a.example/any@1970-01-04T00:00:00", 0),
        ("a.example@1970-01-04", "a.example@1970-01-05", 1),
        ("a.example@1970-01-04", "a.example@2031-01-01", 1),
        ("a.example@1970-01-05T00:59:59", "a.example@1970-01-05T01:00:00+00:00", 1),
    ],
)
def test_diff_compares_what_counted_then(at: list[str], tmp_path: Path, old: str, new: str, status: int) -> None:
    ended = run_here("diff", old, new, *at, cwd=tmp_path)
    assert (ended.status, ended.err) == (status, "")


def test_origin_without_versions_is_status_1(at: list[str], tmp_path: Path) -> None:
    ended = run_here("history", "b.example", *at, cwd=tmp_path)
    assert (ended.status, ended.out) == (1, "")
    assert "GBOT_ROBOTS_HISTORY" in ended.err
