"""`scrapy robots stats`: what the robots.txt files of an archive are like, as tables and JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ..support.archives import response, warc
from ..support.command import run_here

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

for needed in ("duckdb", "pyarrow"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

ROBOTS = {
    "a": b"User-agent: *\nDisallow: /\nUser-agent: Googlebot/2.1\nDisallow:\n# a comment: here\n",
    "b": b"user-agent: googlebot\nuser-agent: <b>bot\ndisalow: /\nallow: /$\nuser-agent: GPTBot\nDisallow: /x\nDisallow: /*\n",
    "c": b"sitemap: https://c.example/s.xml\nCrawl-delay: 3\n<b>Fi\x07eld: x\n<B>Fi\x07eld: y\n"
    b"User-agent: *\nContent-Signal: search=yes, ai-train=no\n",
    "d": b"",
    "e": b"#" * 600_000,
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    answers = [response(f"https://{name}.example/robots.txt", body) for name, body in ROBOTS.items()]
    answers += [
        response("https://a.example/robots.txt", b"User-agent: old", date="2020-01-01T00:00:00Z"),
        response("https://f.example/robots.txt", b"", 301, headers={"Location": "https://a.example/robots.txt"}),
        response("https://g.example/robots.txt", b"User-agent: none", 404),
        response("https://h.example/robots.txt", b"", 503),
        response("https://i.example/robots.txt", b"", 302, headers={"Location": "https://away.example/robots.txt"}),
    ]
    return warc(tmp_path / "a.warc.gz", answers)


def stats(archive: Path, *arguments: str) -> Any:
    return run_here("stats", archive.name, *arguments, cwd=archive.parent)


def test_everything_is_counted_once_an_origin(archive: Path) -> None:
    ended = stats(archive, "--json", "--as", "Googlebot-Image,otherbot,AdsBot-Google")
    assert (ended.status, ended.err) == (0, "")
    found = json.loads(ended.out)
    fields = {row["name"]: (row["files"], row["lines"]) for row in found.pop("fields")}
    agents = {row["name"]: (row["files"], row["blocked"]) for row in found.pop("agents")}
    assert found == {
        "origins": 9,
        "states": {"full allow": 1, "full disallow": 2, "rules": 6},
        "statuses": {"none": 1, "200": 6, "404": 1, "503": 1},
        "bytes": 2 * len(ROBOTS["a"]) + len(ROBOTS["b"]) + len(ROBOTS["c"]) + 512_000,
        "sizes": [
            {"up_to_bytes": 0, "files": 1},
            {"up_to_bytes": 100, "files": 2},
            {"up_to_bytes": 1_000, "files": 2},
            {"up_to_bytes": 10_000, "files": 0},
            {"up_to_bytes": 100_000, "files": 0},
            {"up_to_bytes": 512_000, "files": 0},
            {"up_to_bytes": None, "files": 1},
        ],
        "crawlers": [
            {"name": "Googlebot-Image", "files": 6, "blocked": 0},
            {"name": "otherbot", "files": 6, "blocked": 2},
            {"name": "AdsBot-Google", "files": 6, "blocked": 0},
        ],
        "preferences": {
            "train_ai": {"granted": 0, "refused": 1},
            "search": {"granted": 1, "refused": 0},
            "ai_use": {"granted": 0, "refused": 0},
        },
    }
    assert fields == {
        "content-signal": (1, 1),
        "user-agent": (4, 8),
        "disallow": (3, 7),
        "allow": (1, 1),
        "sitemap": (1, 1),
        "crawl-delay": (1, 1),
        "<b>fi\\x07eld": (1, 2),
    }
    assert agents == {"*": (3, 2), "googlebot": (3, 0), "gptbot": (1, 1), "(none)": (1, 0)}


def test_tables_are_for_people_and_as_long_as_is_asked_for(archive: Path) -> None:
    ended = stats(archive, "--top", "1")
    assert ended.status == 0
    lines = ended.out.splitlines()
    assert lines[0].startswith("9 origins, 512,")
    assert "6        66.7 %  rules" in lines
    assert "1        11.1 %  no answer" in lines
    assert "1      16.7 %  more than is read" in lines
    assert lines[lines.index("Fields") + 2].split() == ["4", "66.7", "%", "8", "user-agent"]
    assert not any("sitemap" in line or "Crawlers" in line for line in lines)


def test_empty_shares_are_no_error(tmp_path: Path) -> None:
    archive = warc(tmp_path / "a.warc", [response("https://a.example/robots.txt", b"", 404)])
    assert "0        0.0 %    rules" in stats(archive).out


def test_what_cannot_be_done_is_said_in_a_line(archive: Path) -> None:
    errors = {
        "robots.txt": "robots.txt: not an archive by its name: .warc, .warc.gz, .parquet",
        "none.warc": "none.warc: No such file",
    }
    for name, error in errors.items():
        ended = stats(archive.with_name(name))
        assert (ended.status, error in ended.err, ended.err.count("\n")) == (2, True, 1), ended.err


def test_several_archives_are_counted_as_one_and_their_damage_is_said(archive: Path) -> None:
    late = response("https://h.example/robots.txt", b"user-agent: *\ndisallow: /", date="2027-01-01T00:00:00Z")
    warc(archive.with_name("b.warc"), [late, b"broken"])
    ended = stats(archive, "b.warc", "--json")
    assert ended.err.startswith("damaged in 1 place, such as: byte ")
    both = json.loads(ended.out)
    assert both["statuses"] == {"none": 1, "200": 7, "404": 1}
    assert both["origins"] == 9
