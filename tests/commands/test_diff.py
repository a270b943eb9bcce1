"""`scrapy robots diff`: what changed between two versions of a robots.txt, for people, programs and URLs."""

import time
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_gbot_robots.commands import diff
from scrapy_gbot_robots.core.changes import changes
from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.command import jsonl, run, run_here
from ..support.rows import table
from ..support.web import Reply, Site

OLD = "user-agent: *\ndisallow: /a\ncrawl-delay: 2\n\nuser-agent: mybot\ndisallow: /b\n"
DAY = 86_400
NEW = "# new\nuser-agent: *\ndisallow: /\n\nuser-agent: mybot\ndisallow: /b\nallow: /b/c\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "old.txt").write_text(OLD)
    (tmp_path / "new.txt").write_text(NEW)
    return tmp_path


def test_same_rules_are_status_0(files: Path) -> None:
    (files / "same.txt").write_text(OLD.replace("disallow", "# another day\nDISALLOW"))
    ended = run_here("diff", "old.txt", "same.txt", cwd=files)
    assert ended == (0, "old.txt -> same.txt: 0 user agents changed\n", "")


@table("line", "diff {} old.txt", "lint {}", "agents {}", "test expected.txt --robots {}")
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


@table("line", "diff {} old.txt", "agents {}/x", "test expected.txt --robots {}")
def test_site_that_the_settings_refuse_has_no_rules_to_read(line: str, files: Path) -> None:
    (files / "expected.txt").write_text("allow * /a")
    with Site({"*": Reply(403)}) as site:
        words = line.format(site.url()).split()
        statuses = {"diff": 1, "agents": 0, "test": 2}  # an empty file for diff and agents
        assert run(*words, cwd=files).status == statuses[words[0]]
        ended = run(*words, "-s", "GBOT_ROBOTS_ACCESS_DENIED=disallow", cwd=files)
    assert (ended.status, ended.out) == (2, "")
    why = (
        "there are no rules to read; GBOT_ROBOTS_ACCESS_DENIED disallows the whole site: HTTP 403\n"
    )
    assert ended.err.endswith(f"{site.url('/robots.txt')}: {why}")


@table("line", "diff {} old.txt", "agents {}/x", "test expected.txt --robots {}")
def test_note_names_a_site_that_sent_no_rules(line: str, files: Path) -> None:
    (files / "expected.txt").write_text("allow * /x")
    page = Reply(200, b"<!doctype html><title>Shop</title>", {"Content-Type": "text/html"})
    for reply, why in (
        (Reply(401), "HTTP 401"),
        (Reply(404), "HTTP 404"),
        (page, "HTTP 200; no rules: it is a web page"),
    ):
        with Site({"*": reply}) as site:
            ended = run(*line.format(site.url()).split(), cwd=files)
        url = site.url("/robots.txt")
        note = f"note: {url}: there are no rules, so everything is allowed: {why}\n"
        # `test` stops with an error in place of the note if the server denies access.
        is_denied = line.startswith("test") and why == "HTTP 401"
        assert ended.err.count(note) == (not is_denied)


def test_no_note_is_about_an_empty_robots_txt(files: Path) -> None:
    with Site({"/robots.txt": ""}) as site:
        assert "note" not in run("agents", site.url("/x"), cwd=files).err


def test_programs_get_an_object_a_line(files: Path) -> None:
    everyone, mybot = jsonl(run_here("diff", "old.txt", "new.txt", "--json", cwd=files).out)
    assert (everyone["user_agents"], everyone["full_disallow"]) == (["*"], True)
    assert everyone["added"] == [{"text": "Disallow: /", "line": 3}]
    assert [row["text"] for row in everyone["removed"]] == ["Disallow: /a", "Crawl-delay: 2"]
    assert mybot == {
        "user_agents": ["mybot"],
        "removed": [],
        "added": [{"text": "Allow: /b/c", "line": 7}],
        "group": None,
        "full_disallow": None,
        "compared": True,
    }


def test_lines_about_the_use_of_content_are_told(files: Path) -> None:
    lines = ["Content-Signal: use=reference", "Content-Usage: /ok/ train-ai=y"]
    (files / "no.txt").write_text("\n".join([OLD.rstrip(), *lines]).lower())
    ended = run_here("diff", "old.txt", "no.txt", cwd=files)
    assert ended.out == (
        f"User-agent: mybot\n  + {lines[0]}  (line 7)\n  + {lines[1]}  (line 8)\n"
        "old.txt -> no.txt: 1 user agent changed\n"
    )


def test_agents_too_many_to_compare_are_told(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "changes", lambda old, new: changes(old, new, most_work=0))
    out = run_here("diff", "old.txt", "new.txt", cwd=files).out
    assert "User-agent: *, mybot\n  ? not compared, because " in out
