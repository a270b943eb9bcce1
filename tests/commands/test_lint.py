"""`scrapy robots lint`: from files, standard input and sites, as text and JSON. docs/command.md has what people see."""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from ..support.command import jsonl, run, run_here
from ..support.documentation import text_of
from ..support.rows import row, table
from ..support.web import Reply, Site

BAD = b"disallow: /early\nuser-agent: *bot\ndisalllow: /x\nCrawl-delay:\t3 # no\ndisallow: /caf\xe9\nsitemap: /s.xml\n"


def test_json_has_one_object_a_remark(tmp_path: Path) -> None:
    ended = run_here("lint", "-", "--json", cwd=tmp_path, stdin=BAD)
    remarks = jsonl(ended.out)
    levels = [(remark["level"], remark["line"]) for remark in remarks]
    assert levels[:2] == [("error", 1), ("error", 2)]
    assert {tuple(remark) for remark in remarks} == {("source", "level", "line", "kind", "text")}
    assert run_here("lint", "-", "--json", cwd=tmp_path, stdin=b"") == (0, "", "")


def test_source_that_is_named_twice_is_linted_once(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(BAD)
    for source in ("-", "bad.txt"):
        once = run_here("lint", source, "--json", cwd=tmp_path, stdin=BAD)
        assert once.out
        assert run_here("lint", source, source, "--json", cwd=tmp_path, stdin=BAD) == once


def test_several_files_and_sites_are_linted_in_one_run(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_bytes(b"user-agent: *\ndisallow: /x\n")
    (tmp_path / "bad.txt").write_bytes(BAD)
    with Site({"/robots.txt": BAD * 10}) as site, Site({"*": Reply(404)}) as none:
        sources = ["good.txt", "bad.txt", "missing.txt", site.url("/any"), none.url()]
        ended = run("lint", *sources, "-s", "GBOT_ROBOTS_MAX_BYTES=100", cwd=tmp_path)
        assert site.paths() == ["/robots.txt"]
    assert ended.status == 2
    assert "good.txt: clean\n" in ended.out
    assert f"{site.url('/robots.txt')}:2: error" in ended.out
    assert "the file was cut here, after 100 bytes" in ended.out
    assert "error: missing.txt: No such file or directory; a site is named by its URL" in ended.err
    nothing = "there is nothing to read: HTTP 404, so crawlers may fetch everything\n"
    assert f"error: {none.url('/robots.txt')}: {nothing}" in ended.err


@table("name", row("UTF-8-name", "café.txt".encode()), row("latin-1-name", b"caf\xe9.txt"))
def test_file_is_found_and_called_by_its_name_in_the_c_locale(name: bytes, tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/" + name
    try:
        with open(raw, "wb") as file:  # noqa: PTH123  a path of bytes
            file.write(BAD)
    except OSError:
        pytest.skip("this file system takes no such name")
    asked = f'exec "{sys.executable}" -m scrapy_gbot_robots lint --json {os.fsdecode(name)} missing-é.txt'
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = run(cwd=tmp_path, command=["sh", "-c", asked, "sh"], env=locale)
    (source,) = {remark["source"] for remark in jsonl(ended.out)}
    assert (source.startswith("caf"), source.isprintable()) == (True, True)
    assert ended.err.startswith("error: missing-")
    assert ".txt: No such file or directory; " in ended.err
    assert ended.status == 2


@table(
    "body, option, status",
    (BAD, "--fail-on error", 1),
    (b"user-agent: *\ncrawl-delay: x\ndisallow: /x\n", "--fail-on error", 0),
    (b"user-agent: *\ncrawl-delay: x\ndisallow: /x\n", "", 1),
    (b"user-agent: *\ncrawl-delay: 3\nrequest-rate: 1/5\ndisallow: /x\n", "", 0),
    (b"user-agent: bot\ndisallow: /a$b\n", "--fail-on note", 1),
    (b"user-agent: *\ndisallow: /\n", "--fail-on error,whole-site-disallowed", 1),
    (b"user-agent: *\ndisallow: /\nallow: /ads.txt\n", "--fail-on home-page-disallowed", 1),
    (b"user-agent: *\ndisallow: /\nallow: /ads.txt\n", "--fail-on warning", 0),
    (b"user-agent: *\ndisallow: /\ncrawl-delay: x\n", "--fail-on unused-field", 1),
    (b"user-agent: *\ndisallow: /\ncrawl-delay: x\n", "--fail-on 'unused field'", 1),
)
def test_fail_on_says_what_fails(tmp_path: Path, body: bytes, option: str, status: int) -> None:
    ended = run_here("lint", "-", *shlex.split(option), cwd=tmp_path, stdin=body)
    assert ended.status == status
    assert "clean" not in ended.out, "all findings are shown"


@table(
    "name, field, status",
    row("error", "robots.txt", "disalllow: /x", 1),
    row("warning", "public/robots.txt", "disallow: /", 0),
)
def test_pre_commit_fails_on_an_error(name: str, field: str, status: int, tmp_path: Path) -> None:
    hook = dict(re.findall(r"^  (\w+): (.*)$", text_of(".pre-commit-hooks.yaml"), re.MULTILINE))
    assert re.search(hook["files"], name)
    assert not re.search(hook["files"], f"my-{name}.bak")
    (tmp_path / "public").mkdir()
    (tmp_path / name).write_text(f"user-agent: *\n{field}\n")
    command, *words = hook["entry"].split()
    assert command == "gbot-robots"
    words += hook["args"].strip("[]").split(", ")
    ended = run_here(*words, name, cwd=tmp_path)
    assert (ended.status, ended.err) == (status, "")


def test_ignored_kinds_are_neither_shown_nor_counted(tmp_path: Path) -> None:
    body = b"user-agent: *\ncrawl-delay: x\ncrawl-delay: y\ndisallow: /\n"
    for ignored in ("whole site disallowed,Unused field", "warning"):
        ended = run_here("lint", "-", "--ignore", ignored, cwd=tmp_path, stdin=body)
        assert ended == (0, "-: clean (3 findings left out)\n", "")
    asked = ("lint", "-", "--ignore", "typo", "--ignore", "unused-field")
    ended = run_here(*asked, cwd=tmp_path, stdin=body)
    assert (ended.status, ended.out.count(": warning: ")) == (1, 1)
    assert "-: 1 warning (2 findings left out)\n" in ended.out


@table(
    "ignored, shown, status",
    ("note", ["error", "warning"], 1),
    ("warning", ["error"], 1),
    ("error", [], 0),
    ("note,misspelt-field", ["warning"], 1),
)
def test_ignored_level_keeps_worse_findings(
    tmp_path: Path, ignored: str, shown: list[str], status: int
) -> None:
    body = b"user-agent: *\ndisalllow: /x\ndisallow: /a$b\ncrawl-delay: x\n"
    ended = run_here("lint", "-", "--json", "--ignore", ignored, cwd=tmp_path, stdin=body)
    assert ([found["level"] for found in jsonl(ended.out)], ended.status) == (shown, status)


def test_finding_ends_with_the_kind_that_ignore_takes(tmp_path: Path) -> None:
    ended = run_here("lint", "-", cwd=tmp_path, stdin=BAD)
    heads = [line for line in ended.out.splitlines() if line.startswith("-:") and "[" in line]
    shown = [re.search(r" \[([a-z0-9-]+)\]$", line) for line in heads]
    kinds = [found[1] for found in shown if found is not None]
    asked = run_here("lint", "-", "--json", cwd=tmp_path, stdin=BAD)
    assert kinds == [found["kind"].lower().replace(" ", "-") for found in jsonl(asked.out)]
    assert "misspelt-field" in kinds
    assert "/lint/ " in ended.out
    without = ",".join({*kinds} - {"misspelt-field"})
    ended = run_here("lint", "-", "--ignore", without, cwd=tmp_path, stdin=BAD)
    assert ended.out.startswith('-:3: error: unknown field "disalllow"')
    assert "/lint/#misspelt-field " in ended.out
    page = text_of("docs/lint.md")
    assert "\n### misspelt-field\n" in page


@table("option", "--ignore", "--fail-on")
def test_word_that_is_no_kind_is_an_error(option: str, tmp_path: Path) -> None:
    ended = run_here("lint", "-", option, "note,misspelt-feld", cwd=tmp_path, stdin=BAD)
    assert (ended.status, ended.out) == (2, "")
    hint = "did you mean misspelt-field?"
    assert f'argument {option}: unknown level or kind "misspelt-feld"; {hint}\n' in ended.err


def test_default_files_of_shops_have_the_findings_of_the_page(tmp_path: Path) -> None:
    """The lines are an excerpt of what WordPress, Yoast SEO and Shopify generate."""
    wordpress = b"User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n"
    yoast = b"User-agent: *\nDisallow:\n\nSitemap: https://blog.example/sitemap_index.xml\n\n"
    shopify = (
        b"User-agent: *\nDisallow: /collections/*%2B*\nDisallow: /collections/*%2b*\n"
        b"Disallow: /products/*-" + b"[a-f0-9]" * 8 + b"-remote\n\n"
        b"User-agent: MJ12bot\nCrawl-delay: 10\n\nUser-agent: Pinterest\nCrawl-delay: 1\n\n"
    )
    own = b"User-agent: GPTBot\nDisallow: /\n\n"

    def findings(text: bytes, *options: str) -> tuple[int | None, set[tuple[str, str]]]:
        ended = run_here("lint", "-", "--json", *options, cwd=tmp_path, stdin=text)
        return ended.status, {(each["level"], each["kind"]) for each in jsonl(ended.out)}

    assert findings(wordpress) == findings(yoast) == (0, set())
    assert findings(yoast + wordpress) == (0, {("note", "group in parts")})
    status, found = findings(shopify)
    assert status == 1
    assert {kind for level, kind in found if level == "error"} == {"regular expression"}
    assert {level for level, _ in found} == {"error", "note"}
    for text in (shopify, own + shopify):
        status, found = findings(text, "--ignore", "regular-expression")
        assert (status, {level for level, _ in found}) == (0, {"note"})
    status, found = findings(shopify + own, "--ignore", "regular-expression")
    assert status == 1
    assert {kind for level, kind in found if level != "note"} == {"joined groups"}


def test_matcher_of_the_page_makes_annotations_of_errors_and_warnings(tmp_path: Path) -> None:
    """As GitHub reads a problem matcher: a line at a time."""
    page = text_of("docs/site-owners.md")
    (block,) = re.findall(r'^{\n.*"problemMatcher".*?^}', page, re.MULTILINE | re.DOTALL)
    (matcher,) = json.loads(block)["problemMatcher"]
    (pattern,) = matcher["pattern"]
    (tmp_path / "a b.txt").write_bytes(BAD + b"user-agent: x\n")
    ended = run_here("lint", "a b.txt", cwd=tmp_path)
    read = [re.match(pattern["regexp"], line) for line in ended.out.splitlines()]
    groups = [pattern[name] for name in ("file", "line", "severity")]
    places = [match.group(*groups) for match in read if match is not None]
    assert places[0] == ("a b.txt", "1", "error")
    assert len(places) == ended.out.count(": error: ") + ended.out.count(": warning: ")
    assert ": note: " in ended.out, "GitHub would take a note for an error"
