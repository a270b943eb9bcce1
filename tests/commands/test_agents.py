"""`scrapy robots agents`: the well-known crawlers, and what each may fetch."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_gbot_robots.core.known_crawlers import KNOWN_CRAWLERS, PURPOSES

from ..support.command import run, run_here
from ..support.web import Site

if TYPE_CHECKING:
    from pathlib import Path

ROBOTS_TXT = (
    "user-agent: googlebot\ndisallow: /g\n\nuser-agent: GPTBot\nuser-agent: MJ12bot\ndisallow: /\n\n"
    "user-agent: *\ndisallow: /all\n"
)


def asked(path: str, directory: Path) -> dict[str, dict[str, Any]]:
    (directory / "robots.txt").write_text(ROBOTS_TXT)
    ended = run_here("agents", path, "--robots", "robots.txt", "--json", cwd=directory)
    assert (ended.status, ended.err) == (0, "")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    return {row["crawler"]: row for row in rows}


@pytest.mark.parametrize(
    ("path", "crawler", "line"),
    [
        ("/g", "Googlebot", 2),
        ("/g", "Googlebot-News", 2),  # falls back
        ("/g", "Applebot", 2),  # falls back, too
        ("/g", "Bingbot", None),
        ("/x", "GPTBot", 6),
        ("/x", "MJ12bot", 6),  # its digits are no part of a token, in the file and here
        ("/all", "CCBot", 9),
        ("/all", "Googlebot", None),
    ],
)
def test_crawler_is_refused_by_this_line(path: str, crawler: str, line: int | None, tmp_path: Path) -> None:
    row = asked(path, tmp_path)[crawler]
    assert (row["line"], row["allowed"]) == (line, line is None)


def test_one_table_has_every_crawler_and_what_it_is_for(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    title, *rows, last = run_here("agents", "/", "--robots", "robots.txt", cwd=tmp_path).out.splitlines()
    assert [re.split("  +", row)[::2][:2] for row in rows] == [
        [known.tokens[0], known.purpose] for known in KNOWN_CRAWLERS
    ]
    assert {row.index("  ", title.index("may fetch it") - 2) for row in rows} == {title.index("may fetch it") - 2}
    assert ": 2 of " in last


@pytest.mark.parametrize(("only", "number"), [("no", 2), ("yes", len(KNOWN_CRAWLERS) - 2)])
def test_only_those_who_may_or_may_not_are_shown(only: str, number: int, tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    asked = ("agents", "/", "--robots", "robots.txt", "--only", only)
    _, *rows, last = run_here(*asked, cwd=tmp_path).out.splitlines()
    assert [re.split("  +", row)[3] for row in rows] == [only] * number
    assert last.startswith("robots.txt: 2 of 38 crawlers refused")
    assert len(run_here(*asked, "--json", cwd=tmp_path).out.splitlines()) == number


def test_site_is_fetched(tmp_path: Path) -> None:
    with Site({"/robots.txt": ROBOTS_TXT}) as site:
        ended = run("agents", site.url("/all"), cwd=tmp_path)
    assert ended.status == 0
    assert 'disallowed by "Disallow: /all" (line 9, group "*")' in ended.out


def test_crawler_that_may_ignore_its_refusal_is_marked(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("user-agent: *\ndisallow: /x\n")
    for path, shown in (("/x", "no, but it may ignore that"), ("/y", "yes")):
        out = run_here("agents", path, "--robots", "robots.txt", cwd=tmp_path).out
        (row,) = (line for line in out.splitlines() if line.startswith("Perplexity-User "))
        assert re.split("  +", row)[3] == shown


def test_each_crawler_stands_once_in_the_list() -> None:
    names = [known.tokens[0].lower() for known in KNOWN_CRAWLERS]
    assert len(names) == len(set(names))
    assert {known.purpose for known in KNOWN_CRAWLERS} == set(PURPOSES)
