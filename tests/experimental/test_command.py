"""`--purpose`: what sites say about the use of their pages, in `check` and `audit`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ..support.command import Run, run, run_here
from ..support.rows import table
from ..support.web import Site

USAGE = "content-usage: train-ai=n\ncontent-usage: /open/ train-ai=y\n"
ROBOTS_TXT = f"user-agent: *\ndisallow: /no\n{USAGE}"
URLS = "https://a.example/x\nhttps://a.example/open/x\nhttps://a.example/no\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    (tmp_path / "urls.txt").write_text(URLS)
    return tmp_path


@table(
    "path, purposes, status, word",
    ("/x", ["train-ai"], 1, "= train-ai: refused (line 3)"),
    ("/open/x", ["train-ai"], 0, "= train-ai: granted (line 4)"),
    ("/x", ["search"], 0, "= search: unsaid (line 3)"),
    ("/x", ["search", "train-ai"], 1, "= train-ai: refused (line 3)"),
    ("/x", ["search", "train-ai"], 1, "= reason: robots.txt refuses train-ai (line 3)"),
    ("/x", [], 0, "allowed: /x"),
    ("/no", ["train-ai"], 1, "= train-ai: unsaid\n"),
)
def test_check_says_what_the_site_says_of_a_purpose(
    path: str, purposes: list[str], status: int, word: str, files: Path
) -> None:
    options = [option for purpose in purposes for option in ("--purpose", purpose)]
    ended = run_here("check", path, "--robots", "robots.txt", "--as", "mybot", *options, cwd=files)
    assert (ended.status, ended.err) == (status, "")
    assert ended.out.startswith(("allowed: ", "disallowed: ")[status])
    assert word in ended.out


@table(
    "rules, word, status",
    ("ignore", "refused (line 3)", 0),
    ("user-agent: *\nallow: /", "unsaid", 0),
    ("user-agent: *\ncontent-usage: train-ai=n", "refused (line 2)", 1),
)
def test_an_override_of_the_rules_speaks_of_purposes_in_place_of_the_site(
    rules: str, word: str, status: int, tmp_path: Path
) -> None:
    overrides = json.dumps({"127.0.0.1": {"rules": rules, "reason": "a contract"}})
    with Site({"/robots.txt": ROBOTS_TXT}) as site:
        check = ("check", site.url("/x"), "--as", "mybot", "--purpose", "train-ai")
        ended = run(*check, "-s", f"GBOT_ROBOTS_OVERRIDES={overrides}", cwd=tmp_path)
    assert ended.out.startswith(("allowed: ", "disallowed: ")[status])
    assert (ended.status, f"  = train-ai: {word}\n" in ended.out) == (status, True)
    says = "disallowed: override for 127.0.0.1 (a contract): robots.txt refuses train-ai (line 2)"
    assert (f"  = GBOT_ROBOTS_OVERRIDES: {says}\n" in ended.out) == (status == 1)


def test_programs_are_told_too(files: Path) -> None:
    check = "check /x --robots robots.txt --as mybot --purpose train-ai --json"
    facts = json.loads(run_here(*check.split(), cwd=files).out)
    assert facts["preferences"] == {"train-ai": "refused", "use": None, "lines": [3]}
    why = "robots.txt refuses train-ai (line 3)"
    assert [facts["allowed"], facts["reason"], facts["rule"]] == [False, why, None]


AUDIT = "audit --urls urls.txt --as mybot".split()
PURPOSE, BY_FILE = ("--purpose", "train-ai"), ("--robots", "robots.txt")


def test_audit_disallows_what_is_refused(files: Path) -> None:
    def answers(*options: str, by: Callable[..., Run] = run_here) -> list[int]:
        out = by(*AUDIT, "--format", "jsonl", *options, cwd=files).out
        return [json.loads(line)["mybot"] for line in out.splitlines()]

    assert answers(*BY_FILE) == [1, 1, 0]
    own = ("-s", "GBOT_ROBOTS_PURPOSES=train-ai")  # which the command does not read
    assert answers(*BY_FILE, *own) == [1, 1, 0]
    assert run_here("check", "/x", *BY_FILE, "--as", "mybot", *own, cwd=files).status == 0
    assert answers(*BY_FILE, *PURPOSE) == [0, 1, 0]
    text = run_here(*AUDIT, *BY_FILE, *PURPOSE, cwd=files).out
    assert "robots.txt refuses train-ai (line 3)" in text.splitlines()[1]
    with Site({"/robots.txt": ROBOTS_TXT}) as site:
        (files / "urls.txt").write_text(f"{site.url('/x')}\n{site.url('/open/x')}\n")
        assert answers(*PURPOSE, by=run) == [0, 1]
