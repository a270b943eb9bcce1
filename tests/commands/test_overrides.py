"""`scrapy robots overrides`, and what `check` says of overrides and of several crawlers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ..support.command import project, run, run_here
from ..support.web import Reply, Site

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["project"]

RULES = (
    b"user-agent: otherbot\ndisallow: /other\n\nuser-agent: mybot\ndisallow: /mine\n\nuser-agent: *\ndisallow: /no\n"
)
OVERRIDES = {
    "partner.example": {"rules": "ignore", "reason": "contract 17", "until": "2999-12-31"},
    "old.example": {"rules": "disallow", "reason": "asked us to stop", "until": "2020-02-29"},
    "*.slow.example": {"as": "otherbot", "crawl_delay": 10, "reason": "their wish"},
}


def given(overrides: Any) -> tuple[str, str]:
    return "-s", f"GBOT_ROBOTS_OVERRIDES={json.dumps(overrides)}"


def test_overrides_are_listed_with_their_state(tmp_path: Path) -> None:
    ended = run_here("overrides", *given(OVERRIDES), cwd=tmp_path)
    assert ended.status == 1  # one has run out
    head, *rows, last = ended.out.splitlines()
    assert head.split() == ["key", "what", "reason", "until", "state"]
    assert [row.split("  ") for row in (" ".join(row.split()) for row in rows)] == [
        ["partner.example ignore contract 17 2999-12-31 in force"],
        ["old.example disallow asked us to stop 2020-02-29 run out"],
        ["*.slow.example as otherbot, crawl-delay 10 s their wish in force"],
    ]
    assert last == "3 overrides, 1 run out"


def test_overrides_are_listed_for_programs(tmp_path: Path) -> None:
    ended = run_here("overrides", "--json", *given({"a.example": OVERRIDES["partner.example"]}), cwd=tmp_path)
    assert ended.status == 0
    assert json.loads(ended.out) == {
        "key": "a.example",
        "what": "ignore",
        "rules": "ignore",
        "as": None,
        "crawl_delay": None,
        "reason": "contract 17",
        "until": "2999-12-31",
        "state": "in force",
    }
    assert run_here("overrides", cwd=tmp_path) == (0, "0 overrides\n", "")


def test_check_says_what_the_override_says_and_what_robots_txt_says(project: Path) -> None:
    with Site({"/robots.txt": RULES}) as site:
        overrides = given({"127.0.0.1": {"rules": "ignore", "reason": "contract 17", "until": "2999-12-31"}})
        ended = run("check", site.url("/no"), "--as", "testbot", *overrides, cwd=project)
        assert ended.status == 0
        assert ended.out.startswith(
            f"allowed: {site.url('/no')}\n"
            " --> GBOT_ROBOTS_OVERRIDES['127.0.0.1']\n"
            "  = override: ignore, until 2999-12-31\n"
            "  = reason: contract 17\n"
            "  = it says: allowed: override for 127.0.0.1 (contract 17)\n"
            '  = robots.txt itself says: disallowed by "Disallow: /no" (line 8, group "*")\n'
            f" --> {site.url('/robots.txt')}:8\n"
        )


def test_exit_status_is_that_of_the_override_and_audit_heeds_it_too(project: Path) -> None:
    with (
        Site({"/robots.txt": RULES}) as shut,
        Site({"/robots.txt": RULES}) as own,
        Site({"/robots.txt": RULES}) as other,
        Site({"/robots.txt": Reply(503)}) as ill,
    ):
        rules = {shut: {"rules": "disallow"}, own: {"rules": "user-agent: *\ndisallow: /own"}}
        rules |= {other: {"as": "otherbot"}, ill: {"rules": "ignore"}}
        overrides = given({site.url(""): {**fields, "reason": "x"} for site, fields in rules.items()})
        refused = [shut.url("/yes"), own.url("/own"), other.url("/other")]
        ended = run("check", *refused, *overrides, cwd=project)
        assert (ended.status, ended.out.count("disallowed: http")) == (1, 3), ended.out
        for said in ("itself says: allowed: no rule matches", 'disallowed by "Disallow: /own" (line 2'):
            assert said in ended.out
        assert "crawler: otherbot, from the override" in ended.out
        allowed = [own.url("/no"), other.url("/no"), ill.url("/a")]
        ended = run("check", *allowed, "--json", *overrides, cwd=project)
        assert ended.status == 0
        found = json.loads(ended.out.splitlines()[0])
        assert (found["allowed"], found["robots_txt"]["allowed"]) == (True, False)
        assert {name: found["override"][name] for name in ("key", "reason", "until")} == {
            "key": own.url(""), "reason": "x", "until": None
        }  # fmt: skip
        kept = run("check", ill.url("/a"), *given({"127.0.0.1": {"as": "b", "reason": "x"}}), cwd=project)
        assert kept.status == 2, "a robots.txt that decides is unreachable"
        urls = "\n".join([*refused, *allowed]).encode()
        audit = ("audit", "--urls", "-", "--as", "mybot", "--format", "jsonl")
        ended = run(*audit, *overrides, cwd=project, stdin=urls)
        assert [json.loads(line)["mybot"] for line in ended.out.splitlines()] == [0, 0, 0, 1, 1, 1], ended.err


# Several crawlers


@pytest.mark.parametrize(
    ("mode", "path", "status", "said"),
    [
        pytest.param("first", "/mine", 1, "nobot, mybot, otherbot", id="first-that-is-named"),
        pytest.param(None, "/other", 1, "it heeds the group of mybot", id="each-for-itself"),
    ],
)
def test_several_crawlers_may_be_taken_for_one(
    mode: str | None, path: str, status: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "robots.txt").write_bytes(RULES)
    how = () if mode is None else ("--mode", mode)
    ended = run_here("check", path, "--file", "robots.txt", "--as", "nobot,mybot,otherbot", *how, cwd=tmp_path)
    assert (ended.status, said in ended.out) == (status, True), ended.out
    assert ended.out.count("allowed: ") == (3 if mode is None else 1)


def test_verdict_of_all_names_the_crawler_and_its_group(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_bytes(RULES)
    asked = ("check", "/other", "--file", "robots.txt", "--as", "mybot,otherbot", "--mode", "all")
    assert '= group: "otherbot" (line 1): it names the crawler' in run_here(*asked, cwd=tmp_path).out
    found = json.loads(run_here(*asked, "--json", cwd=tmp_path).out)
    assert (found["crawlers"], found["crawler"]["name"]) == (["mybot", "otherbot"], "otherbot")


def test_crawlers_of_the_project_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_bytes(RULES)
    settings = ("-s", "GBOT_ROBOTS_AGENTS=mybot,otherbot", "-s", "GBOT_ROBOTS_AGENTS_MODE=all")
    ended = run_here("check", "/mine", "/other", "--file", "robots.txt", *settings, cwd=tmp_path)
    assert ended.out.count("disallowed: ") == 2
    assert "from GBOT_ROBOTS_AGENTS (all)" in ended.out
