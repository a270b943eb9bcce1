"""`scrapy robots diff`: what changed between two robots.txt files, in words, for programs, and for URLs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from scrapy_gbot_robots.commands import diff
from scrapy_gbot_robots.core.changes import changes

from ..support.command import run_here

if TYPE_CHECKING:
    from pathlib import Path

OLD = "user-agent: *\ndisallow: /a\ncrawl-delay: 2\n\nuser-agent: mybot\ndisallow: /b\n"
NEW = "# new\nuser-agent: *\ndisallow: /\n\nuser-agent: mybot\ndisallow: /b\nallow: /b/c\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "old.txt").write_text(OLD)
    (tmp_path / "new.txt").write_text(NEW)
    (tmp_path / "urls.txt").write_text("https://a.example/a\nhttps://a.example/b/c\nhttps://a.example/z\n")
    return tmp_path


def test_same_rules_are_status_0(files: Path) -> None:
    (files / "same.txt").write_text("# another day\n" + OLD.upper().replace("/A", "/a").replace("/B", "/b"))
    assert run_here("diff", "old.txt", "same.txt", cwd=files) == (0, "old.txt -> same.txt: 0 user agents changed\n", "")


def test_changes_are_told_by_user_agent_with_their_lines(files: Path) -> None:
    ended = run_here("diff", "old.txt", "new.txt", cwd=files)
    assert ended == (
        1,
        "User-agent: *\n"
        "  ! everything is disallowed to it now\n"
        "  - Disallow: /a  (line 2)\n"
        "  + Disallow: /  (line 3)\n"
        "  crawl-delay: 2 s -> none\n"
        "User-agent: mybot\n"
        "  + Allow: /b/c  (line 7)\n"
        "old.txt -> new.txt: 2 user agents changed\n",
        "",
    )


def test_urls_whose_verdict_differs_are_told_for_those_who_changed_or_are_named(files: Path) -> None:
    out = run_here("diff", "old.txt", "new.txt", "--urls", "urls.txt", cwd=files).out
    flips = [line.split()[:4] for line in out.split("\n") if "https:" in line]
    assert flips == [
        ["now", "disallowed", "*", "https://a.example/b/c"],
        ["now", "allowed", "mybot", "https://a.example/b/c"],
        ["now", "disallowed", "*", "https://a.example/z"],
    ]
    named = run_here("diff", "old.txt", "new.txt", "--urls", "urls.txt", "--as", "mybot,otherbot", cwd=files).out
    assert "mybot  https://a.example/b/c" in named
    assert "otherbot  https://a.example/z" in named
    assert "mybot  https://a.example/z" not in named


def test_programs_get_an_object_a_line(files: Path) -> None:
    ended = run_here("diff", "old.txt", "new.txt", "--json", "--urls", "urls.txt", "--as", "mybot", cwd=files)
    everyone, mybot, flip = map(json.loads, ended.out.splitlines())
    assert everyone["full_disallow"] is True
    assert everyone["crawl_delay"] == [2.0, None]
    assert mybot["added"] == [{"rule": "Allow: /b/c", "line": 7}]
    assert (flip["url"], flip["agent"], flip["allowed"]) == ("https://a.example/b/c", "mybot", True)


def test_preferences_that_turned_are_told(files: Path) -> None:
    (files / "no.txt").write_text(OLD + "content-usage: train-ai=n, search=y\ncontent-usage: /ok/ train-ai=y\n")
    said = run_here("diff", "old.txt", "no.txt", cwd=files)
    assert said == (
        1,
        "User-agent: mybot\n"
        "  preference train_ai: not said -> refused\n"
        "  preference search: not said -> granted\n"
        "  preference train_ai for /ok/: not said -> granted\n"
        "old.txt -> no.txt: 1 user agent changed\n",
        "",
    )
    (change,) = map(json.loads, run_here("diff", "old.txt", "no.txt", "--json", cwd=files).out.splitlines())
    assert change["preferences"][2] == {"path": "/ok/", "label": "train_ai", "before": None, "after": True}
    assert change["compared"] is True
    (files / "use.txt").write_text(OLD + "content-signal: use=reference\n")
    assert "  preference use: not said -> reference\n" in run_here("diff", "old.txt", "use.txt", cwd=files).out


def test_agents_that_are_too_many_to_compare_are_told(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "changes", lambda old, new: changes(old, new, most_work=0))
    out = run_here("diff", "old.txt", "new.txt", cwd=files).out
    assert "User-agent: mybot\n  ? not compared: " in out


def test_urls_are_judged_for_as_many_user_agents_as_memory_allows(tmp_path: Path) -> None:
    names = [f"{first}{second}{third}" for first in "abcdefghij" for second in "abcdefghij" for third in "abcdefghij"]
    shared = "".join(f"user-agent: {name}\n" for name in names) + "".join(
        f"allow: /*{number}\n" for number in range(2_000)
    )
    (tmp_path / "old.txt").write_text(shared)
    (tmp_path / "new.txt").write_text(shared + "disallow: /new\n")
    (tmp_path / "urls.txt").write_text("/new")
    ended = run_here("diff", "old.txt", "new.txt", "--urls", "urls.txt", cwd=tmp_path)
    judged = [line.split()[2] for line in ended.out.splitlines() if line.startswith("now disallowed")]
    assert 10 < len(judged) < 200
    assert judged == names[: len(judged)]
    assert ended.err.startswith(f"URLs are judged for {len(judged)} of 1,000 user agents: ")
    assert "1,000 user agents changed" in ended.out
    named = run_here("diff", "old.txt", "new.txt", "--urls", "urls.txt", "--as", "jjj", cwd=tmp_path)
    assert "now disallowed  jjj  /new" in named.out
    assert named.err == ""


def test_lines_that_are_no_url_are_counted_and_the_first_is_shown(files: Path) -> None:
    (files / "urls.txt").write_text("/b/c\nhello\nhttps://a.example/b/c\nb/c\nhttps://a.example/b/c/" + "d" * 20_000)
    ended = run_here("diff", "old.txt", "new.txt", "--urls", "urls.txt", "--as", "mybot", cwd=files)
    assert [line.split()[3] for line in ended.out.splitlines() if line.startswith("now allowed")] == [
        "/b/c",
        "https://a.example/b/c",
    ]
    assert ended.err == "3 lines of urls.txt left out: no absolute URL and no path, such as: hello\n"
