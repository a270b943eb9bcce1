"""`scrapy robots test`: a site owner's expectations, met or shown with the line that decides otherwise."""

from pathlib import Path

import pytest

from ..support.command import jsonl, run, run_here
from ..support.rows import table
from ..support.web import Reply, Site

ROBOTS_TXT = (
    "user-agent: googlebot\nallow: /a\ndisallow: /g\n\nuser-agent: *\ndisallow: /b\ndisallow: /men%C3%BC\n"
    "sitemap: https://a.example/s.xml\n"
)
MET = """\
# what the shop wants
allow Googlebot /a      # a comment
ALLOW Googlebot-Image /b
deny googlebot /g#fragment
disallow * /b

deny stranger https://a.example/menü
allow * /robots.txt
sitemap https://a.example/s.xml
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    (tmp_path / "met.txt").write_text(MET, encoding="utf-8-sig")
    return tmp_path


def test_expectations_that_are_met_are_status_0(files: Path) -> None:
    asked = ("test", "met.txt", "--robots", "robots.txt")
    assert run_here(*asked, cwd=files) == (0, "robots.txt: 7 expectations, all met\n", "")
    rows = jsonl(run_here(*asked, "--json", cwd=files).out)
    assert [row["line"] for row in rows] == [2, 3, 4, 5, 7, 8, 9]
    assert all(row["met"] for row in rows)
    assert rows[0]["rule"] == {"line": 2, "allow": True, "pattern": "/a"}
    assert rows[-1] == {"line": 9, "expectation": "sitemap https://a.example/s.xml", "met": True}


@table(
    "header",
    "Googlebot/2.1 (+http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
)
def test_crawler_may_be_named_by_its_header(header: str, files: Path) -> None:
    expected = f"allow {header} /b\ndeny {header} /g # no comment of the header's\n"
    ended = run_here("test", "-", "--robots", "robots.txt", cwd=files, stdin=expected.encode())
    assert ended == (0, "robots.txt: 2 expectations, all met\n", "")


@table("expectations, robots, stdin", ("met.txt", "-", ROBOTS_TXT), ("-", "robots.txt", MET))
def test_either_may_be_stdin(files: Path, expectations: str, robots: str, stdin: str) -> None:
    asked = ("test", expectations, "--robots", robots)
    ended = run_here(*asked, cwd=files, stdin=stdin.encode())
    assert ended == (0, f"{robots}: 7 expectations, all met\n", "")


def test_probably_misspelt_crawler_is_noted_once(files: Path) -> None:
    expected = b"allow mybot /a\nallow Google-Bot /a\ndeny Gogglebot /b\ndeny Gogglebot /b\n"
    ended = run_here("test", "-", "--robots", "robots.txt", cwd=files, stdin=expected)
    assert (ended.status, ended.err) == (
        0,
        'note: -:2: no known crawler is called "Google-Bot"; did you mean Googlebot?\n'
        'note: -:3: no known crawler is called "Gogglebot"; did you mean Googlebot?\n',
    )


def test_what_is_not_met_is_shown_with_the_line_that_decides(files: Path) -> None:
    more = "allow Googlebot /a\nallow Googlebot /g/1\nsitemap https://a.example/t.xml\n"
    (files / "more.txt").write_text(more)
    ended = run_here("test", "more.txt", "--robots", "robots.txt", cwd=files)
    assert ended.status == 1
    first = (
        "more.txt:2: not met: allow Googlebot /g/1\n --> robots.txt:3\n1 | user-agent: googlebot\n"
    )
    assert ended.out.startswith(first)
    listed = "the robots.txt does not list this one; it lists 1 other sitemap"
    assert f"  = sitemaps: {listed}\n" in ended.out
    assert ended.out.endswith("robots.txt: 3 expectations, 2 not met\n")


def test_a_site_is_asked_as_a_crawl_would(files: Path) -> None:
    with Site({"/robots.txt": ROBOTS_TXT}) as site:
        (files / "own.txt").write_text(f"deny * {site.url('/b')}\ndeny googlebot /g\n")
        assert run("test", "own.txt", "--robots", site.url("/page"), cwd=files).status == 0
        assert site.paths() == ["/robots.txt"]
        other = run("test", "met.txt", "--robots", site.url(), cwd=files)
        assert other.status == 2
        why = f"{site.url('/robots.txt')} is not for the origin of this URL"
        assert f"met.txt:7: {why}: deny stranger https://a.example/menü\n" in other.err


@table(
    "text, said",
    ("permit * /a", 'must be "allow CRAWLER URL"'),
    ("allow /a", 'must be "allow CRAWLER URL"'),
    ("allow Googlebot /a /b", 'must be "allow CRAWLER URL"'),
    ("allow * a", "is not an absolute URL, or a path"),
    ("allow 7 /a", '"7" does not name a crawler'),
    ("deny * mailto://x", "not an http, https or ftp URL"),
    ("sitemap /s.xml", "not an absolute URL with a host"),
    ("sitemap https://a.example/1 https://a.example/2", 'must be "allow CRAWLER URL"'),
    ("allow * /a \x1b[31m", r"\x1b[31m"),
    ("allow my bot /a", 'must be "allow CRAWLER URL"'),
)
def test_a_line_that_is_no_expectation_is_named(files: Path, text: str, said: str) -> None:
    given = f"# fine\n{text}\nallow * /\n"
    ended = run_here(*"test - --robots robots.txt".split(), cwd=files, stdin=given.encode())
    assert (ended.status, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.startswith("python -m scrapy_gbot_robots test: error: -:2: ")
    assert said in line
    assert line.isprintable()


@table("charset", "utf-16-le", "utf-16-be")
def test_expectations_in_utf_16_are_named(files: Path, charset: str) -> None:
    """Windows PowerShell 5.1 writes UTF-16 into a file after `>`."""
    (files / "wide.txt").write_bytes("\ufeffallow Googlebot /\n".encode(charset))
    ended = run("test", "wide.txt", "--robots", "robots.txt", cwd=files)
    assert ended.status == 2
    assert "test: error: wide.txt: the file is UTF-16; save it as UTF-8" in ended.err


@table("status", 401, 402, 403, 407, 451)
def test_site_that_denies_access_is_not_tested(files: Path, status: int) -> None:
    """A wrong password must not make a job green."""
    (files / "open.txt").write_text("allow Googlebot /\n")
    with Site({"*": Reply(status)}) as site:
        asked = ("test", "open.txt", "--robots", site.url())
        ended = run(*asked, cwd=files)
        chosen = run(*asked, "-s", "GBOT_ROBOTS_ACCESS_DENIED=allow", cwd=files)
    assert (ended.status, ended.out) == (2, "")
    where = site.url("/robots.txt")
    why = f"the server denies access to it, so nothing was tested: HTTP {status}"
    assert f"test: error: {where}: {why}; " in ended.err
    assert "everything is allowed" not in ended.err
    assert (chosen.status, chosen.out) == (0, f"{where}: 1 expectation, all met\n")


def test_site_without_a_robots_txt_is_tested(files: Path) -> None:
    (files / "open.txt").write_text("allow Googlebot /\n")
    with Site({"*": Reply(404)}) as site:
        ended = run("test", "open.txt", "--robots", site.url(), cwd=files)
    assert ended.status == 0
    assert "everything is allowed: HTTP 404\n" in ended.err
