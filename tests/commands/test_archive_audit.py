"""`scrapy robots audit` by an archive of robots.txt files: files in, a file and a summary out."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

from ..support.archives import response, warc
from ..support.command import run_here, run_on_terminal, without_colour

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

pytest.importorskip("duckdb", reason="duckdb is not installed")
pytest.importorskip("fastwarc", reason="fastwarc is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

ROBOTS = b"user-agent: *\ndisallow: /no\n\nuser-agent: googlebot\ndisallow: /google\n"
URLS = ["https://a.example/no", "https://a.example/google", "http://b.example/no", "https://a.example/,\"'ü"]
ANSWERS = [
    {"url": "http://b.example/no", "Googlebot": 1, "examplebot": 1},
    {"url": "https://a.example/,\"'ü", "Googlebot": 1, "examplebot": 1},
    {"url": "https://a.example/google", "Googlebot": 0, "examplebot": 1},
    {"url": "https://a.example/no", "Googlebot": 1, "examplebot": 0},
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with an archive and lists of URLs in every form."""
    answers = [response("https://a.example/robots.txt", ROBOTS), response("http://b.example/robots.txt", b"", 404)]
    warc(tmp_path / "a.warc.gz", answers)
    bodies = {"url": ["https://a.example/robots.txt", "http://b.example/robots.txt"], "status": [200, 404]}
    pq.write_table(pa.table({**bodies, "body": [ROBOTS, b""]}), tmp_path / "a.parquet")
    (tmp_path / "urls.txt").write_text("\n".join(URLS))
    pq.write_table(pa.table({"id": range(len(URLS)), "url": URLS}), tmp_path / "urls.parquet")
    with (tmp_path / "urls.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "url"), *enumerate(URLS)])
    return tmp_path


def audit(home: Path, *arguments: str, **named: str) -> Any:
    options = {"robots": "a.warc.gz", "urls": "urls.txt", "as": "googlebot,examplebot", "output": "out.jsonl", **named}
    return run_here("audit", *(f"--{name}={value}" for name, value in options.items()), *arguments, cwd=home)


def answers(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="", encoding="utf-8") as file:
        return [{k: v if k == "url" else int(v) for k, v in row.items()} for row in csv.DictReader(file)]


@pytest.mark.parametrize("robots", ["a.warc.gz", "a.parquet"])
@pytest.mark.parametrize(
    ("urls", "output"), [("urls.txt", "o.jsonl"), ("urls.parquet", "o.parquet"), ("urls.csv", "o.csv")]
)
def test_every_form_of_file_gives_the_same_answers(home: Path, robots: str, urls: str, output: str) -> None:
    ended = audit(home, robots=robots, urls=urls, output=output)
    assert ended.status == 1, ended.err
    assert ended.out == ""
    assert answers(home / output) == ANSWERS
    assert {path.name for path in home.glob("o.*")} == {output}


def test_urls_come_from_standard_input(home: Path) -> None:
    arguments = ("--robots", "a.warc.gz", "--urls", "-", "--as", "googlebot,examplebot", "--output", "o.csv")
    assert run_here("audit", *arguments, cwd=home, stdin="\n".join(URLS).encode()).status == 1
    assert answers(home / "o.csv") == ANSWERS


def test_summary_says_what_came_of_it(home: Path) -> None:
    warc(home / "a.warc.gz", [response("https://a.example/robots.txt", ROBOTS), b"broken"])
    (home / "urls.txt").write_text("\n".join([*URLS, "nothing", "https://c.example/"]))
    ended = audit(home)
    assert ended.status == 2
    lines = ended.err.splitlines()
    assert lines[0].startswith("5 URLs in ")
    assert lines[1] == "robots.txt files of 1 origin in the archive"
    assert lines[2].startswith("damaged in 1 place, such as: byte ")
    assert lines[3:5] == [
        "not in the archive: the robots.txt of 2 origins",
        "1 line left out: no URL, such as: nothing",
    ]
    assert [line.split() for line in lines[5:]] == [
        ["CRAWLER", "ALLOWED", "DISALLOWED", "UNREACHABLE"],
        ["Googlebot", "2", "1", "2"],
        ["examplebot", "2", "1", "2"],
    ]


@pytest.mark.parametrize(("path", "status"), [("yes", 0), ("no", 1)])
def test_exit_status_says_whether_anything_is_disallowed(home: Path, path: str, status: int) -> None:
    (home / "urls.txt").write_text(f"https://a.example/{path}")
    assert audit(home).status == status


def test_policy_of_the_project_counts(home: Path) -> None:
    (home / "urls.txt").write_text("https://c.example/")
    assert audit(home).status == 2
    assert audit(home, "-s", "GBOT_ROBOTS_UNREACHABLE=allow", output="o.csv").status == 0
    assert answers(home / "o.csv") == [{"url": "https://c.example/", "Googlebot": 1, "examplebot": 1}]


def test_workers_judge_in_processes_of_their_own(home: Path) -> None:
    assert audit(home, workers="2").status == 1
    assert answers(home / "out.jsonl") == ANSWERS


def test_progress_is_shown_on_a_terminal(home: Path) -> None:
    arguments = ["--robots=a.warc.gz", "--urls=urls.txt", "--as=googlebot", "--output=o.csv"]
    ended = run_on_terminal("audit", *arguments, cwd=home)
    assert ended.status == 1
    assert "Reading the archive" in without_colour(ended.out)
    assert "Judging" in without_colour(ended.out)


@pytest.mark.parametrize(
    ("named", "error"),
    [
        ({"urls": "none.txt"}, "none.txt: No such file"),
        ({"urls": "none.parquet"}, "none.parquet: No such file"),
        ({"urls": "numbers.parquet"}, "numbers.parquet: the column 'url' holds int64, not text"),
        ({"urls": "other.parquet"}, "other.parquet has no column 'url'; its columns are 'link'"),
        ({"urls": "other.csv"}, "other.csv has no column 'url'; its columns are 'link'"),
        ({"urls": "empty.csv"}, "empty.csv: the file is empty"),
        ({"urls": "text.parquet"}, "text.parquet: "),
        ({"urls": "words.txt"}, "words.txt: no line of it is a URL: one"),
        ({"robots": "none.warc"}, "none.warc: No such file"),
        ({"robots": "words.warc"}, "words.warc: this is no WARC"),
        ({"robots": "other.parquet"}, "other.parquet has no column 'url' and 'status' and 'body'"),
        ({"output": "out.txt"}, "out.txt: the name must end in one of .parquet, .csv, .jsonl"),
        ({"output": "none/out.csv"}, "none/out.csv: No such file"),
        ({"output": "urls.csv"}, "urls.csv: there is such a file, and it will not be overwritten"),
        ({"workers": "0"}, "--workers must be at least 1, got 0"),
        ({"output": ""}, "--output FILE says where the answers go"),
    ],
    ids=lambda value: " ".join(value.values()) if isinstance(value, dict) else "",
)
def test_what_cannot_be_done_is_said_in_a_line_and_leaves_nothing(
    home: Path, named: dict[str, str], error: str
) -> None:
    pq.write_table(pa.table({"url": [1]}), home / "numbers.parquet")
    pq.write_table(pa.table({"link": ["x"]}), home / "other.parquet")
    (home / "other.csv").write_text("link\nx\n")
    (home / "empty.csv").touch()
    (home / "text.parquet").write_text("text")
    for name in ("words.txt", "words.warc"):
        (home / name).write_text("one\ntwo\n")
    before = set(home.iterdir())
    ended = audit(home, **named)
    assert ended.status == 2
    assert ended.err.count("\n") == 1
    assert error in ended.err
    assert set(home.iterdir()) == before


def test_output_goes_with_an_archive(home: Path) -> None:
    (home / "robots.txt").write_bytes(ROBOTS)
    ended = audit(home, robots="robots.txt")
    assert ended.status == 2
    assert "--output needs an archive" in ended.err


def test_url_that_is_not_utf_8_or_has_line_ends_is_judged(home: Path) -> None:
    urls = pa.array(
        [b"https://a.example/no\xff", b"https://a.example/a\nb", b"https://a.example/" + b"x" * 20_000, None]
    )
    pq.write_table(pa.table({"url": urls}), home / "odd.parquet")
    ended = audit(home, urls="odd.parquet")
    assert ended.status == 1
    assert "2 lines left out: no URL" in ended.err
    assert [row["url"] for row in answers(home / "out.jsonl")] == ["https://a.example/a\nb", "https://a.example/no%FF"]
