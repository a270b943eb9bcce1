"""`--purpose`: what sites say about the use of their pages, in `check` and `audit`."""

import json
from pathlib import Path

import pytest

from ..support.command import run, run_here
from ..support.web import Site

ROBOTS_TXT = (
    "user-agent: *\ndisallow: /no\ncontent-usage: train-ai=n\ncontent-usage: /open/ train-ai=y\n"
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    (tmp_path / "urls.txt").write_text(
        "https://a.example/x\nhttps://a.example/open/x\nhttps://a.example/no\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("path", "purposes", "status", "word"),
    [
        ("/x", ["train-ai"], 1, "= train-ai: refused (line 3)"),
        ("/open/x", ["train-ai"], 0, "= train-ai: granted (line 4)"),
        ("/x", ["search"], 0, "= search: unsaid (line 3)"),
        ("/x", ["search", "train-ai"], 1, "= train-ai: refused (line 3)"),
        ("/x", ["search", "train-ai"], 1, "= reason: robots.txt refuses train-ai (line 3)"),
        ("/x", [], 0, "allowed: /x"),
        ("/no", ["train-ai"], 1, "= train-ai: unsaid\n"),
    ],
)
def test_check_says_what_the_site_says_of_a_purpose(
    path: str, purposes: list[str], status: int, word: str, files: Path
) -> None:
    options = [option for purpose in purposes for option in ("--purpose", purpose)]
    ended = run_here("check", path, "--robots", "robots.txt", "--as", "mybot", *options, cwd=files)
    assert (ended.status, ended.err) == (status, "")
    assert ended.out.startswith(("allowed: ", "disallowed: ")[status])
    assert word in ended.out


@pytest.mark.parametrize(
    ("override", "word", "status"),
    [
        ({"rules": "ignore"}, "refused (line 3)", 0),
        ({"rules": "user-agent: *\nallow: /"}, "unsaid", 0),
        ({"rules": "user-agent: *\ncontent-usage: train-ai=n"}, "refused (line 2)", 1),
    ],
    ids=["ignore", "rules", "rules-that-refuse"],
)
def test_an_override_of_the_rules_speaks_of_purposes_in_place_of_the_site(
    override: dict[str, object], word: str, status: int, tmp_path: Path
) -> None:
    overrides = json.dumps({"127.0.0.1": {**override, "reason": "a contract"}})
    with Site({"/robots.txt": ROBOTS_TXT}) as site:
        check = ("check", site.url("/x"), "--as", "mybot", "--purpose", "train-ai")
        ended = run(*check, "-s", f"GBOT_ROBOTS_OVERRIDES={overrides}", cwd=tmp_path)
    assert ended.out.startswith(("allowed: ", "disallowed: ")[status])
    assert (ended.status, f"  = train-ai: {word}\n" in ended.out) == (status, True)
    says = "disallowed: override for 127.0.0.1 (a contract): robots.txt refuses train-ai (line 2)"
    assert (f"  = it says: {says}\n" in ended.out) == (status == 1)


def test_programs_are_told_too(files: Path) -> None:
    out = run_here(
        "check",
        "/x",
        "--robots",
        "robots.txt",
        "--as",
        "mybot",
        "--purpose",
        "train-ai",
        "--json",
        cwd=files,
    ).out
    facts = json.loads(out)
    assert facts["preferences"] == {"train-ai": "refused", "use": None, "lines": [3]}
    assert [facts["allowed"], facts["reason"], facts["rule"]] == [
        False,
        "robots.txt refuses train-ai (line 3)",
        None,
    ]


def test_audit_disallows_what_is_refused(files: Path) -> None:
    audit = [
        "audit",
        "--urls",
        "urls.txt",
        "--robots",
        "robots.txt",
        "--as",
        "mybot",
        "--format",
        "jsonl",
    ]
    ended = run_here(*audit, "--purpose", "train-ai", cwd=files)
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [row["mybot"] for row in rows] == [0, 1, 0]
    text = run_here(*audit[:-2], "--purpose", "train-ai", cwd=files).out
    assert "robots.txt refuses train-ai (line 3)" in text.splitlines()[1]
    plain = [json.loads(line)["mybot"] for line in run_here(*audit, cwd=files).out.splitlines()]
    assert plain == [1, 1, 0]


def test_purposes_of_the_settings_are_not_read(files: Path) -> None:
    own = ("--robots", "robots.txt", "--as", "mybot", "-s", "GBOT_ROBOTS_PURPOSES=train-ai")
    assert run_here("check", "/x", *own, cwd=files).status == 0
    ended = run_here("audit", "--urls", "urls.txt", *own, "--format", "csv", cwd=files)
    assert [line[-1] for line in ended.out.splitlines()[1:]] == ["1", "1", "0"]


def test_audit_by_host_disallows_what_is_refused(tmp_path: Path) -> None:
    with Site({"/robots.txt": ROBOTS_TXT}) as site:
        (tmp_path / "urls.txt").write_text(f"{site.url('/x')}\n{site.url('/open/x')}\n")
        audit = [
            "audit",
            "--urls",
            "urls.txt",
            "--as",
            "mybot",
            "--format",
            "jsonl",
            "--purpose",
            "train-ai",
        ]
        ended = run(*audit, cwd=tmp_path)
    assert [json.loads(line)["mybot"] for line in ended.out.splitlines()] == [0, 1]
