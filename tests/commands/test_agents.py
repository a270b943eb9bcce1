"""`scrapy robots agents`: the well-known crawlers, and what each may fetch."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

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


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    return tmp_path


def asked(path: str, home: Path, *more: str) -> list[str]:
    ended = run_here("agents", path, "--robots", "robots.txt", *more, cwd=home)
    assert (ended.status, ended.err) == (0, "")
    return ended.out.splitlines()


def test_crawlers_are_refused_by_their_own_lines(home: Path) -> None:
    lines: dict[str, dict[str, int | None]] = {
        "/g": {"Googlebot": 2, "Googlebot-News": 2, "Applebot": 2, "Bingbot": None},  # two of them fall back
        "/x": {"GPTBot": 6, "MJ12bot": 6},  # its digits are no part of a token, in the file and here
        "/all": {"CCBot": 9, "Googlebot": None},
    }
    for path, expected in lines.items():
        found = {row["crawler"]: row for row in map(json.loads, asked(path, home, "--json"))}
        assert {name: found[name]["line"] for name in expected} == expected
        assert all(row["allowed"] == (row["line"] is None) for row in found.values())


def test_one_table_has_every_crawler_and_what_it_is_for(home: Path) -> None:
    title, *rows, last = asked("/", home)
    assert [re.split("  +", row)[::2][:2] for row in rows] == [
        [known.tokens[0], known.purpose] for known in KNOWN_CRAWLERS
    ]
    assert {row.index("  ", title.index("may fetch it") - 2) for row in rows} == {title.index("may fetch it") - 2}
    assert last.startswith("robots.txt: 2 of 38 crawlers refused")


@pytest.mark.parametrize(("only", "number"), [("no", 2), ("yes", len(KNOWN_CRAWLERS) - 2)])
def test_only_those_who_may_or_may_not_are_shown(only: str, number: int, home: Path) -> None:
    _, *rows, last = asked("/", home, "--only", only)
    assert [re.split("  +", row)[3] for row in rows] == [only] * number
    assert last.startswith("robots.txt: 2 of 38 crawlers refused")
    assert len(asked("/", home, "--only", only, "--json")) == number


def test_site_is_fetched(tmp_path: Path) -> None:
    with Site({"/robots.txt": ROBOTS_TXT}) as site:
        ended = run("agents", site.url("/all"), cwd=tmp_path)
    assert ended.status == 0
    assert 'disallowed by "Disallow: /all" (line 9, group "*")' in ended.out


def test_crawler_that_may_ignore_its_refusal_is_marked(home: Path) -> None:
    for path, shown in (("/all", "no, but it may ignore that"), ("/y", "yes")):
        (row,) = (line for line in asked(path, home) if line.startswith("Perplexity-User "))
        assert re.split("  +", row)[3] == shown


def test_each_crawler_stands_once_in_the_list() -> None:
    names = [known.tokens[0].lower() for known in KNOWN_CRAWLERS]
    assert len(names) == len(set(names))
    assert {known.purpose for known in KNOWN_CRAWLERS} == set(PURPOSES)
