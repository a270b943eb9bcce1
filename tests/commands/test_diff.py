"""`scrapy robots diff` and `history`: what changed between versions of a robots.txt, for people, programs and URLs."""

import hashlib
import json
import time
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from scrapy_gbot_robots.commands import diff
from scrapy_gbot_robots.core.changes import changes
from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.command import jsonl, run, run_here
from ..support.web import Reply, Site

OLD = "user-agent: *\ndisallow: /a\ncrawl-delay: 2\n\nuser-agent: mybot\ndisallow: /b\n"
DAY = 86_400
BODIES = (
    b"user-agent: *\ndisallow: /a\n",
    b"# new\nuser-agent: *\ndisallow: /a\n",
    b"user-agent: *\ndisallow: /\ncontent-signal: search=no",
)
NEW = "# new\nuser-agent: *\ndisallow: /\n\nuser-agent: mybot\ndisallow: /b\nallow: /b/c\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "old.txt").write_text(OLD)
    (tmp_path / "new.txt").write_text(NEW)
    return tmp_path


@pytest.fixture
def at(tmp_path: Path) -> list[str]:
    """Settings that name a file with three versions: of half a second past 1:00 on 1, 3 and 5 January."""
    path = tmp_path / "robots.sqlite"
    with closing(SqliteStorage(path, history=9)) as storage:
        for number, body in enumerate(BODIES):
            then = 2.0 * number * DAY + 3600.5
            url = "https://a.example/robots.txt"
            storage.put(
                "https://a.example",
                Entry(Copy(Kind.RULES, 200, url, body, False, "", then, then + DAY)),
            )
    return ["-s", f"GBOT_ROBOTS_SQLITE_PATH={path}"]


def test_same_rules_are_status_0(files: Path) -> None:
    (files / "same.txt").write_text(
        "# another day\n" + OLD.upper().replace("/A", "/a").replace("/B", "/b")
    )
    assert run_here("diff", "old.txt", "same.txt", cwd=files) == (
        0,
        "old.txt -> same.txt: 0 user agents changed\n",
        "",
    )


@pytest.mark.parametrize(
    "line", ["diff {} old.txt", "lint {}", "agents {}", "test expected.txt --robots {}"]
)
def test_stored_copy_does_not_stand_for_what_a_site_has_now(line: str, files: Path) -> None:
    (files / "expected.txt").write_text("deny * /a")
    with Site({"*": Reply(503)}) as ill, closing(SqliteStorage(files / "file")) as storage:
        url, now = ill.url("/robots.txt"), time.time()
        copy = Copy(Kind.RULES, 200, url, OLD.encode(), False, "", now, now + DAY)
        storage.put(ill.url(""), Entry(copy))
        words = line.format(ill.url()).split()
        ended = run(*words, "-s", "GBOT_ROBOTS_SQLITE_PATH=file", cwd=files)
    assert (ended.status, ended.out.count("\n")) == (2, 0)
    assert f"error: {url}: robots.txt unreachable: HTTP 503\n" in ended.err


@pytest.mark.parametrize("line", ["diff {} old.txt", "test expected.txt --robots {}"])
def test_site_that_the_settings_refuse_has_no_rules_to_read(line: str, files: Path) -> None:
    (files / "expected.txt").write_text("allow * /a")
    with Site({"*": Reply(403)}) as site:
        words = line.format(site.url()).split()
        assert run(*words, cwd=files).status == int(words[0] == "diff"), "as an empty file"
        ended = run(*words, "-s", "GBOT_ROBOTS_REFUSED=disallow", cwd=files)
    assert (ended.status, ended.out) == (2, "")
    why = "there are no rules to read; GBOT_ROBOTS_REFUSED disallows the whole site: HTTP 403\n"
    assert ended.err.endswith(f"{site.url('/robots.txt')}: {why}")


@pytest.mark.parametrize("name", ["2026-11-01", "20261101"])
def test_file_may_have_a_date_for_a_name(name: str, files: Path) -> None:
    (files / name).write_text(OLD)
    assert run_here("diff", "old.txt", name, cwd=files).status == 0


def test_programs_get_an_object_a_line(files: Path) -> None:
    everyone, mybot = jsonl(run_here("diff", "old.txt", "new.txt", "--json", cwd=files).out)
    assert (everyone["full_disallow"], everyone["crawl_delay"]) == (True, [2.0, None])
    assert (everyone["agents"], everyone["group"]) == (["*"], None)
    assert everyone["added"] == [{"rule": "Disallow: /", "line": 3}]
    assert everyone["removed"] == [{"rule": "Disallow: /a", "line": 2}]
    assert mybot == {
        "agents": ["mybot"],
        "added": [{"rule": "Allow: /b/c", "line": 7}],
        "removed": [],
        "group": None,
        "full_disallow": None,
        "crawl_delay": [None, None],
        "preferences": [],
        "compared": True,
    }


def test_change_that_agents_share_is_told_once(files: Path) -> None:
    agents = ["".join(letters) for letters in product("abcdefghij", repeat=3)]
    shared = "".join(f"user-agent: {agent}\n" for agent in reversed(agents))
    (files / "many.txt").write_text(shared + "disallow: /a\nallow: /a/b\n")
    (files / "few.txt").touch()
    (change,) = jsonl(run_here("diff", "few.txt", "many.txt", "--json", cwd=files).out)
    assert (change["agents"], change["group"]) == (agents, "added")
    assert [rule["rule"] for rule in change["added"]] == ["Disallow: /a", "Allow: /a/b"]
    title, *rules, end = run_here("diff", "few.txt", "many.txt", cwd=files).out.splitlines()
    assert title == f"User-agent: {', '.join(agents)}  (group added)"
    assert rules == ["  + Disallow: /a  (line 1001)", "  + Allow: /a/b  (line 1002)"]
    assert end == "few.txt -> many.txt: 1,000 user agents changed"


def test_preferences_that_turned_are_told(files: Path) -> None:
    (files / "no.txt").write_text(
        OLD + "content-signal: use=reference\ncontent-usage: /ok/ train-ai=y\n"
    )
    assert run_here("diff", "old.txt", "no.txt", cwd=files) == (
        1,
        "User-agent: mybot\n"
        "  preference use: not said -> reference\n"
        "  preference train_ai for /ok/: not said -> granted\n"
        "old.txt -> no.txt: 1 user agent changed\n",
        "",
    )
    change = json.loads(run_here("diff", "old.txt", "no.txt", "--json", cwd=files).out)
    assert change["preferences"][1] == {
        "path": "/ok/",
        "label": "train_ai",
        "before": None,
        "after": True,
    }


def test_agents_that_are_too_many_to_compare_are_told(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff, "changes", lambda old, new: changes(old, new, most_work=0))
    out = run_here("diff", "old.txt", "new.txt", cwd=files).out
    assert "User-agent: *, mybot\n  ? not compared: " in out


def test_versions_are_listed_with_what_changed(at: list[str], tmp_path: Path) -> None:
    ended = run_here("history", "a.example", *at, cwd=tmp_path)
    assert (ended.status, ended.err) == (0, "")
    _, first, second, third = ended.out.splitlines()
    assert first.startswith("1970-01-01T01:00:00+00:00  200     27 ")
    assert second.startswith("1970-01-03T01:00:00+00:00  200     33 ")
    assert third.endswith("  *")
    rows = jsonl(run_here("history", "a.example", "--json", *at, cwd=tmp_path).out)
    assert [row["changed_for"] for row in rows] == [None, [], ["*"]]
    digest = hashlib.sha256(BODIES[0]).hexdigest()
    assert first.split()[3] == digest[:12]
    assert rows[0] == {
        "fetched": "1970-01-01T01:00:00+00:00",
        "status": 200,
        "bytes": 27,
        "sha256": digest,
        "cut": False,
        "changed_for": None,
    }
    none = run_here("history", "b.example", *at, cwd=tmp_path)
    assert (none.status, none.out, "GBOT_ROBOTS_HISTORY" in none.err) == (1, "", True)


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("a.example@1970-01-01", "a.example@1970-01-02", 0),
        ("a.example@1970-01-02", "https://a.example/any@1970-01-04T00:00:00", 0),
        ("a.example@1970-01-04", "a.example@1970-01-05", 1),
        ("a.example@1970-01-04", "a.example@2031-01-01", 1),
        ("a.example@1970-01-05", "a.example@9999-12-31", 0),
        ("a.example@1970-01-05T00:59:59", "a.example@1970-01-05T01:00:00+00:00", 1),
    ],
)
def test_diff_compares_what_counted_then(
    at: list[str], tmp_path: Path, old: str, new: str, status: int
) -> None:
    ended = run_here("diff", old, new, *at, cwd=tmp_path)
    assert (ended.status, ended.err) == (status, "")
    audit = (
        "audit",
        "--urls",
        "-",
        "--format",
        "csv",
        "--as",
        "a",
        "--diff",
        old,
        new,
        "--fail-on",
        "disallowed",
    )
    assert run_here(*audit, *at, cwd=tmp_path, stdin=b"https://a.example/").status == status
