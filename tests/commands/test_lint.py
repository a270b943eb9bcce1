"""`scrapy robots lint`: remarks with their lines in place, the worst first, from a file, standard input or a site."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from ..support.command import run, run_here
from ..support.web import Reply, Site

if TYPE_CHECKING:
    from pathlib import Path

BAD = (
    b"disallow: /early\nuser-agent: bot2000\ndisalllow: /x\nCrawl-delay:\t3 # no\ndisallow: /caf\xe9\nsitemap: /s.xml\n"
)


def test_remarks_are_shown_in_place_the_worst_first(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_bytes(BAD)
    ended = run("lint", "robots.txt", cwd=tmp_path)
    assert (ended.status, ended.err) == (1, "")
    assert ended.out == (
        "robots.txt:1: error: a rule before the first user-agent line is ignored\n"
        "1 | disallow: /early\n"
        "  | ^^^^^^^^^^^^^^^^\n"
        'robots.txt:2: error: of "bot2000" only "bot" counts\n'
        "2 | user-agent: bot2000\n"
        "  |             ^^^^^^^\n"
        'robots.txt:3: error: unknown field "disalllow", so the line is ignored; "disallow" is meant?\n'
        "3 | disalllow: /x\n"
        "  | ^^^^^^^^^\n"
        "robots.txt:5: error: not UTF-8: bytes are matched as they stand\n"
        "5 | disallow: /caf\\xe9\n"
        "  |           ^^^^^^^^\n"
        "robots.txt:6: error: not an absolute http, https or ftp URL: /s.xml\n"
        "6 | sitemap: /s.xml\n"
        "  |          ^^^^^^\n"
        'robots.txt:4: warning: Google does not use the field "Crawl-delay"\n'
        "4 | Crawl-delay: 3 # no\n"
        "  | ^^^^^^^^^^^\n"
        "robots.txt: 5 errors, 1 warning\n"
    )


def test_clean_is_status_0(tmp_path: Path) -> None:
    ended = run_here("lint", "-", cwd=tmp_path, stdin=b"user-agent: *\ndisallow: /x\n")
    assert ended == (0, "-: clean\n", "")


def test_json_has_one_object_a_remark(tmp_path: Path) -> None:
    ended = run_here("lint", "-", "--json", cwd=tmp_path, stdin=BAD)
    remarks = [json.loads(line) for line in ended.out.splitlines()]
    assert [(remark["level"], remark["line"]) for remark in remarks][:2] == [("error", 1), ("error", 2)]
    assert {tuple(remark) for remark in remarks} == {("level", "line", "kind", "text")}
    assert run_here("lint", "-", "--json", cwd=tmp_path, stdin=b"") == (0, "", "")


def test_settings_of_the_project_count(tmp_path: Path) -> None:
    body = b"user-agent: *\ndissallow: /x\ndisallow: /y\n"
    assert "was read as" in run_here("lint", "-", cwd=tmp_path, stdin=body).out
    assert "so the line is ignored" in run_here("lint", "-", "-s", "GBOT_ROBOTS_STRICT=1", cwd=tmp_path, stdin=body).out
    assert "cut here" in run_here("-s", "GBOT_ROBOTS_MAX_BYTES=30", "lint", "-", cwd=tmp_path, stdin=body).out


def test_a_site_is_asked_for_its_robots_txt_whatever_the_cache_holds(tmp_path: Path) -> None:
    with Site({"/robots.txt": BAD * 10}) as site:
        ended = run("lint", site.url("/shop"), "-s", "GBOT_ROBOTS_MAX_BYTES=100", cwd=tmp_path)
        assert site.paths() == ["/robots.txt"]
        assert ended.status == 1
        assert f"{site.url('/robots.txt')}:2: error" in ended.out
        assert "the file was cut here, after 100 bytes" in ended.out


def test_a_site_without_robots_txt_is_status_2(tmp_path: Path) -> None:
    with Site({"*": Reply(404, BAD)}) as site:
        ended = run("lint", site.url(), cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert "there is nothing to read: HTTP 404" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param("missing.txt", "missing.txt: No such file or directory", id="missing"),
        pytest.param(".", ".: Is a directory", id="directory"),
        pytest.param("mailto://x", "not an http, https or ftp URL", id="other-scheme"),
        pytest.param("/dev/zero", "/dev/zero: larger than", id="endless"),
    ],
)
def test_bad_input_is_one_line_and_status_2(tmp_path: Path, source: str, said: str) -> None:
    ended = run_here("lint", source, cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_binary_garbage_is_one_remark(tmp_path: Path) -> None:
    ended = run_here("lint", "-", cwd=tmp_path, stdin=bytes(range(256)) * 1000)
    assert ended.status == 1
    assert ended.out.count("\n") == 2


def test_a_huge_bad_file_is_quick(tmp_path: Path) -> None:
    began = time.monotonic()
    ended = run_here("lint", "-", cwd=tmp_path, stdin=b"user-agent: *\n" + b"disalllow: /x\n" * 10_000)
    assert ended.out.count(": error: ") == 10_000
    assert time.monotonic() - began < 120
