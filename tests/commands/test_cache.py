"""`scrapy robots cache`: what the storage holds, as facts and as a file, and how to forget it."""

import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind, Outage
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.command import jsonl, project, run, run_here
from ..support.entries import RULES
from ..support.redis_server import redis_server, storage_at
from ..support.rows import row, table

__all__ = ["project"]

HOUR = 3600


@pytest.fixture
def kept(project: Path) -> Path:
    """A project whose storage holds a robots.txt, a 404, and one that is unreachable."""
    path = project / ".scrapy" / "gbot_robots" / "robots.sqlite"
    path.parent.mkdir(parents=True)
    now = time.time()
    url, body = "https://www.a.example/robots.txt", b"user-agent: *\ndisallow: /\x1b[31m\n"
    rules = Copy(Kind.RULES, 200, url, body, False, "HTTP 200", now - HOUR, now + 2.5 * HOUR)
    none = Copy(Kind.NONE, 404, url, b"", False, "HTTP 404", now - HOUR / 2, now + 1.5 * HOUR)
    down = Outage(now - 1.5 * HOUR, 3, None, "connection refused", now - 1)
    with closing(SqliteStorage(path)) as storage:
        storage.put("https://a.example", Entry(rules))
        storage.put("https://b.example:8443", Entry(none))
        storage.put("http://c.example", Entry(None, down))
    return project


def test_list_has_a_line_for_each_origin(kept: Path) -> None:
    ended = run_here("cache", "list", cwd=kept)
    assert (ended.status, ended.err) == (0, "")
    *rows, where = ended.out.splitlines()
    outage = "full disallow for now: robots.txt unreachable for 1 h: connection refused"
    assert sorted(rows) == [
        f"http://c.example: {outage} (a crawl fetches it again now)",
        "https://a.example: rules: HTTP 200 (fetched 1 h ago, a crawl fetches it again in 2 h)",
        "https://b.example:8443: full allow: HTTP 404 (fetched 30 min ago, a crawl fetches it again in 1 h)",
    ]
    assert where == f"3 origins in sqlite at {kept}/.scrapy/gbot_robots/robots.sqlite"


def test_list_can_be_narrowed_and_read_by_programs(kept: Path) -> None:
    ended = run_here("cache", "list", "a.example", "https://b.example:8443/x", "--json", cwd=kept)
    a, b = jsonl(ended.out)
    assert (a["origin"], b["origin"]) == ("https://a.example", "https://b.example:8443")
    assert (a["state"], a["copy"]["body"]) == ("rules", 31)
    assert 2.4 * HOUR < a["fresh_secs"] <= 2.5 * HOUR


def test_show_has_the_facts_and_the_file(kept: Path) -> None:
    ended = run_here("cache", "show", "a.example", "http://c.example/any/page", cwd=kept)
    assert (ended.status, ended.err) == (0, "")
    for said in (
        "  = robots.txt: rules: HTTP 200\n",
        "  = served by: https://www.a.example/robots.txt\n",
        "   1 | user-agent: *\n   2 | disallow: /\\x1b[31m\n",
        "  = robots.txt: full disallow for now: robots.txt unreachable for 1 h: connection refused\n",
        "  = failures: 3 in a row\n",
    ):
        assert said in ended.out
    assert ended.out.count("served by") == 1


def test_a_host_stands_for_https_and_a_url_for_its_origin(kept: Path) -> None:
    missing = "{}: not in the storage\n".format
    hosts = "http://a.example c.example https://b.example:8443/x"
    neither = missing("http://a.example") + missing("https://c.example")
    for words, *ended in (
        (f"forget {hosts}", 1, "https://b.example:8443: forgotten\n", neither),
        ("forget a.example", 0, "https://a.example: forgotten\n", ""),
        ("show a.example", 1, "", missing("https://a.example")),
    ):
        assert run_here("cache", *words.split(), cwd=kept) == tuple(ended)


def test_all_can_be_forgotten(kept: Path) -> None:
    where = f"sqlite at {kept}/.scrapy/gbot_robots/robots.sqlite"
    ended = run_here("cache", "forget", "--all", cwd=kept)
    *origins, last = ended.out.splitlines()
    assert (ended.status, len(origins), last) == (0, 3, f"3 origins forgotten in {where}")
    assert run_here("cache", "list", cwd=kept).out.endswith(f"0 origins in {where}\n")


def test_without_redis_py_it_says_what_to_install(project: Path) -> None:
    script = "import sys; sys.modules['redis'] = None; from scrapy_gbot_robots.__main__ import console; console()"
    command = [sys.executable, "-c", script]
    ended = run("cache", "list", "-s", "GBOT_ROBOTS_STORAGE=redis", cwd=project, command=command)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.endswith("needs redis-py: pip install 'scrapy-gbot-robots[redis]'\n")


def test_entries_in_a_redis_are_listed_and_forgotten(project: Path) -> None:
    with redis_server() as server:
        settings = ("-s", "GBOT_ROBOTS_STORAGE=redis", "-s", f"GBOT_ROBOTS_REDIS_URL={server.url}")
        with closing(storage_at(server.url)) as storage:
            storage.put("https://a.example", Entry(RULES))
        shown, forgotten, empty = (
            run_here("cache", *arguments, *settings, cwd=project)
            for arguments in (["list"], ["forget", "--all"], ["list"])
        )
    where = f"in redis at {urlsplit(server.url).path}, database 0\n"
    assert shown.out.startswith("https://a.example: rules: ")
    assert shown.out.endswith(f"\n1 origin {where}")
    assert forgotten.out == f"https://a.example: forgotten\n1 origin forgotten {where}"
    assert empty.out == f"0 origins {where}"
    assert [ended.status for ended in (shown, forgotten, empty)] == [0, 0, 0]


def test_file_that_does_not_exist_is_told_and_not_made(project: Path) -> None:
    settings = ("-s", "GBOT_ROBOTS_SQLITE_PATH=typo/robots.sqlite")
    before = sorted(project.rglob("*"))
    for act in ("list", "show", "forget --all", "forget a.example"):
        ended = run_here("cache", *act.split(), *settings, cwd=project)
        assert ended.status == 2
        path = project / "typo/robots.sqlite"
        assert ended.err.endswith(f"the storage sqlite cannot be opened: {path} does not exist\n")
        assert sorted(project.rglob("*")) == before


@table(
    "content",
    row("no-bytes", ""),
    row("no-tables", "PRAGMA user_version = 1"),
    row("no-tables-and-a-log", "PRAGMA journal_mode = WAL; PRAGMA user_version = 1"),
)
def test_empty_file_is_told_and_left_alone(content: str, project: Path) -> None:
    path = project / "empty.sqlite"
    path.touch()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(content)
    before = path.read_bytes(), sorted(project.rglob("*"))
    for act in ("list", "show", "forget --all", "forget a.example"):
        ended = run_here(
            "cache", *act.split(), "-s", f"GBOT_ROBOTS_SQLITE_PATH={path}", cwd=project
        )
        assert ended.status == 2
        said = f"{path} is empty: no crawl has stored a robots.txt in it\n"
        assert ended.err.endswith(f"error: the storage sqlite cannot be opened: {said}")
        assert (path.read_bytes(), sorted(project.rglob("*"))) == before


def test_broken_file_is_told_and_left_alone(kept: Path) -> None:
    path = kept / ".scrapy" / "gbot_robots" / "robots.sqlite"
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 4000)
    before = path.read_bytes(), sorted(kept.rglob("*"))
    ended = run_here("cache", "list", cwd=kept)
    assert ended.status == 2
    assert f"the storage sqlite cannot be opened: cannot use {path}: " in ended.err
    assert (path.read_bytes(), sorted(kept.rglob("*"))) == before


def test_redis_in_place_of_a_file_says_which_settings_it_needs(project: Path) -> None:
    ended = run_here(
        "cache", "list", "-s", "GBOT_ROBOTS_SQLITE_PATH=redis://:pw@h:1/0", cwd=project
    )
    assert ended.status == 2
    assert ended.err.endswith(
        "got 'redis://h:1/0'. This is the URL of a Redis: set GBOT_ROBOTS_STORAGE to \"redis\" and "
        "GBOT_ROBOTS_REDIS_URL to the URL\n"
    )
