"""`scrapy robots audit` and `stats` by archives of robots.txt files, and the files that these read and write."""

import csv
import json
import shlex
import signal
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.bulk.audit_files import answer_file
from scrapy_gbot_robots.bulk.judging import BulkError

from ..support.archives import response, warc
from ..support.command import (
    COMMAND,
    Run,
    environment,
    run,
    run_here,
    run_on_terminal,
    without_colour,
)
from ..support.processes import output, sleeps, start
from ..support.systems import needs_posix
from ..support.until import block_until

pytestmark = pytest.mark.slow

pytest.importorskip("duckdb", reason="duckdb is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

ROBOTS = b"user-agent: *\ndisallow: /no\n\nuser-agent: googlebot\ndisallow: /google\n"
URLS = [
    "https://a.example/no",
    "https://a.example/google",
    "http://b.example/no",
    "https://a.example/,\"'ü",
]
ANSWERS = [
    {"url": "http://b.example/no", "Googlebot": 1, "examplebot": 1},
    {"url": "https://a.example/,\"'ü", "Googlebot": 1, "examplebot": 1},
    {"url": "https://a.example/google", "Googlebot": 0, "examplebot": 1},
    {"url": "https://a.example/no", "Googlebot": 1, "examplebot": 0},
]


DEFAULTS = {
    "--robots": "a.warc.gz",
    "--urls": "urls.txt",
    "--as": "googlebot,examplebot",
    "--output": "out.jsonl",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with an archive and lists of URLs in every form."""
    answers = [
        response("https://a.example/robots.txt", ROBOTS),
        response("http://b.example/robots.txt", b"", 404),
    ]
    warc(tmp_path / "a.warc.gz", answers)
    bodies = {
        "url": ["https://a.example/robots.txt", "http://b.example/robots.txt"],
        "status": [200, 404],
    }
    pq.write_table(pa.table({**bodies, "body": [ROBOTS, b""]}), tmp_path / "a.parquet")
    (tmp_path / "urls.txt").write_text("\n".join(URLS))
    pq.write_table(pa.table({"id": range(len(URLS)), "url": URLS}), tmp_path / "urls.parquet")
    with (tmp_path / "urls.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "url"), *enumerate(URLS)])
    return tmp_path


def audit(home: Path, line: str = "") -> Run:
    """Run the audit with the options in `line`, and those of `DEFAULTS` that it does not name."""
    rest = [f"{name}={value}" for name, value in DEFAULTS.items() if name not in line]
    return run_here("audit", *shlex.split(line), *rest, cwd=home)


def answers(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return rows
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {k: v if k in {"url", "id"} else int(v) for k, v in row.items()}
            for row in csv.DictReader(file)
        ]


@pytest.mark.parametrize(
    ("robots", "urls", "output", "ids"),
    [
        ("a.warc.gz", "urls.txt", "o.jsonl", []),
        ("a.parquet", "urls.parquet", "o.parquet", [2, 3, 1, 0]),
        ("a.warc.gz", "urls.csv", "o.csv", ["2", "3", "1", "0"]),
    ],
)
def test_every_form_of_file_gives_the_same_answers(
    home: Path, robots: str, urls: str, output: str, ids: list[int | str]
) -> None:
    ended = audit(home, f"--robots {robots} --urls {urls} --output {output}")
    assert (ended.status, ended.out) == (0, ""), ended.err
    rows = answers(home / output)
    assert [row.pop("id") for row in rows if ids] == ids
    assert rows == ANSWERS
    assert {path.name for path in home.glob("o.*")} == {output}


@pytest.mark.parametrize("output", ["o.jsonl", "o.csv", "o.parquet"])
def test_columns_of_the_rows_that_are_asked_for_keep_their_types(home: Path, output: str) -> None:
    line = "--urls urls.parquet --only allowed --robots a.parquet --as examplebot"
    assert audit(home, f"{line} --output {output}").status == 0
    ids = [row["id"] for row in answers(home / output)]
    assert ids == (["2", "3", "1"] if output == "o.csv" else [2, 3, 1])


def test_json_lines_in_a_directory_are_left_out_and_that_is_said(home: Path) -> None:
    record = {
        "url": "http://b.example/robots.txt",
        "fetched": "2026-01-31T00:00:00Z",
        "status": 200,
        "cut": False,
        "body": ROBOTS.decode(),
    }
    (home / "all").mkdir()
    (home / "a.warc.gz").rename(home / "all" / "a.warc.gz")
    (home / "all" / "b.jsonl").write_text(json.dumps(record) + "\n")
    ended = audit(home, "--robots all")
    note = (
        "note: left out: all/b.jsonl, maybe answers of an audit; "
        "name the file itself if it is an archive\n"
    )
    assert (ended.status, ended.err.count(note)) == (0, 1)
    (home / "out.jsonl").unlink()
    (home / "all" / "a.warc.gz").unlink()
    (home / "all" / "b.jsonl").write_text(json.dumps(record) + "\nbroken\n")
    ended = audit(home, "--robots all ./all/b.jsonl")
    assert (ended.status, "left out: all" in ended.err) == (0, False), ended.err
    assert "damaged in 1 place," in ended.err, "it is read once"


def test_summary_says_what_came_of_it(home: Path) -> None:
    warc(home / "a.warc.gz", [response("https://a.example/robots.txt", ROBOTS), b"broken"])
    (home / "urls.txt").write_text("\n".join([*URLS, "nothing", "https://c.example/"]))
    ended = run("audit", *(f"{name}={value}" for name, value in DEFAULTS.items()), cwd=home)
    assert ended.status == 0
    lines = ended.err.splitlines()
    assert lines[0].startswith("5 URLs in ")
    assert lines[1] == "robots.txt files of 1 origin in the archive"
    assert lines[2].startswith("damaged in 1 place, such as: byte ")
    assert lines[3:5] == [
        "1 line left out: no URL, such as: nothing",
        "unreachable: http://b.example/robots.txt and 1 other",
    ]
    assert [line.split() for line in lines[5:]] == [
        ["CRAWLER", "ALLOWED", "DISALLOWED", "UNREACHABLE"],
        ["Googlebot", "2", "1", "2"],
        ["examplebot", "2", "1", "2"],
    ], "and the end of the process adds no word"


@pytest.mark.parametrize(
    "robots",
    [
        "more/b.warc.gz more/deep/a.warc more/c.parquet",
        "more more/b.warc.gz",
        "more/hosts more/c.parquet",
    ],
    ids=["files", "directory and a file of it", "directory of HOST/robots.txt"],
)
def test_archive_may_be_many_files_of_which_the_latest_capture_counts(
    home: Path, robots: str
) -> None:
    (home / "more" / "deep").mkdir(parents=True)
    url, late = "https://a.example/robots.txt", "2027-01-01T00:00:00Z"
    warc(home / "more" / "b.warc.gz", [response(url, ROBOTS, date=late)])
    warc(home / "more" / "deep" / "a.warc", [response(url, b"")])
    bodies = {"url": ["http://b.example/robots.txt", url], "status": [404, 200]}
    pq.write_table(
        pa.table({**bodies, "body": [b"", b""], "fetched_at": [1, 2]}), home / "more" / "c.parquet"
    )
    (home / "more" / "notes.txt").write_text("no archive")
    host = home / "more" / "hosts" / "a.example"
    host.mkdir(parents=True)
    (host / "robots.txt").write_bytes(ROBOTS)
    (host / "sitemap.xml").write_text("no archive")
    assert audit(home, f"--robots {robots}").status == 0
    assert answers(home / "out.jsonl") == ANSWERS


@pytest.mark.parametrize(("output", "workers"), [("o.jsonl", 1), ("o.parquet", 2)])
def test_deciding_rule_is_written_where_it_is_asked_for(
    home: Path, output: str, workers: int
) -> None:
    urls = [
        "https://a.example/no",
        "https://a.example/x",
        "https://a.example/robots.txt",
        "https://a.example/x/../no",
    ]
    hops = {
        "https://c.example/robots.txt": "https://away.example/x",
        "https://d.example/robots.txt": "/r.txt",
        "https://d.example/r.txt": "https://far.example/x",
    }
    warc(
        home / "more.warc",
        [response(url, b"", 301, headers={"Location": hop}) for url, hop in hops.items()],
    )
    ends = ["nothing", "http://b.example/", *(f"https://{name}.example/" for name in "cde")]
    (home / "urls.txt").write_text("\n".join([*urls, *ends]))
    line = f"--rules --as examplebot --output {output} --workers {workers}"
    assert audit(home, f"{line} --robots a.warc.gz more.warc").status == 0
    found = {row.pop("url"): tuple(row.values()) for row in answers(home / output)}
    lost = "robots.txt unreachable: the redirect leads to {}, which is not in the archive"
    assert found == {
        urls[0]: (0, "Disallow: /no", 2, "most specific rule"),
        urls[1]: (1, None, None, "no rule matches"),
        urls[2]: (1, None, None, "a robots.txt itself is never disallowed"),
        urls[3]: (0, "Disallow: /no", 2, "some download handlers send it as https://a.example/no"),
        "http://b.example/": (1, None, None, "HTTP 404"),
        "https://c.example/": (2, None, None, lost.format("https://away.example/x")),
        "https://d.example/": (2, None, None, lost.format("https://far.example/x")),
        "https://e.example/": (2, None, None, "robots.txt unreachable: not in the archive"),
    }


@pytest.mark.parametrize(
    ("url", "options", "status"),
    [
        ("https://a.example/yes", "--fail-on disallowed", 0),
        ("https://a.example/no", "--fail-on disallowed", 1),
        ("https://a.example/no", "", 0),
        ("http://x.example/", "--fail-on disallowed", 1),
        ("http://x.example/", "--fail-on disallowed -s GBOT_ROBOTS_UNREACHABLE=allow", 0),
    ],
)
def test_exit_status_is_0_unless_it_shall_say_that_a_url_may_not_be_fetched(
    home: Path, url: str, options: str, status: int
) -> None:
    (home / "urls.txt").write_text(url)
    assert audit(home, options).status == status


@pytest.mark.parametrize(("refused", "answer"), [("allow", 1), ("disallow", 0)])
def test_wall_is_told_from_the_site_and_means_what_the_setting_says(
    home: Path, refused: str, answer: int
) -> None:
    challenge, page = {"cf-mitigated": "challenge"}, b"<html><title>Just a moment...</title>"
    walls = [
        response("https://a.example/robots.txt", b"", 403, headers=challenge),
        response(
            "https://b.example/robots.txt", ROBOTS, headers=challenge
        ),  # the site's own, whatever it sends
        response("https://c.example/robots.txt", page, 503, headers=challenge),
    ]
    warc(home / "a.warc.gz", walls)
    rows = {"url": ["https://d.example/robots.txt"], "status": [200], "body": [page]}
    pq.write_table(pa.table(rows), home / "b.parquet")
    (home / "urls.txt").write_text("".join(f"https://{name}.example/x\n" for name in "abcd"))
    ended = audit(
        home, f"--robots a.warc.gz b.parquet --as a --rules -s GBOT_ROBOTS_REFUSED={refused}"
    )
    assert [(row["a"], row["a_reason"]) for row in answers(home / "out.jsonl")] == [
        (answer, "HTTP 403 of Cloudflare's challenge, by its header cf-mitigated"),
        (1, "no rule matches"),
        (2, "robots.txt unreachable: HTTP 503"),
        (answer, "HTTP 200 of Cloudflare's challenge, by its title"),
    ]
    assert "a wall answered, not the site: https://a.example/robots.txt and 1 other\n" in ended.err


def test_progress_is_shown_on_a_terminal(home: Path) -> None:
    ended = run_on_terminal(
        "audit", *(f"{name}={value}" for name, value in DEFAULTS.items()), cwd=home
    )
    assert ended.status == 0
    assert "Reading the archive" in without_colour(ended.out)
    assert "Judging" in without_colour(ended.out)
    ended = run_on_terminal("stats", "a.warc.gz", "a.parquet", cwd=home)
    assert ended.status == 0
    assert "Reading 2 archives" in without_colour(ended.out)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("--urls none.txt", "none.txt: No such file"),
        ("--urls none.parquet", "none.parquet: No such file"),
        ("--urls numbers.parquet", "numbers.parquet: the column 'url' holds int64, not text"),
        (
            "--urls twice.parquet",
            "twice.parquet has more than one column 'url'; its columns are 'url', 'url'",
        ),
        ("--urls text.parquet", "text.parquet: "),
        ("--urls other.csv", "other.csv has no column 'url'; its columns are 'link'"),
        ("--urls empty.csv", "empty.csv: the file is empty"),
        ("--urls short.csv", "short.csv: line 3 has 1 columns, not 2"),
        ("--urls words.txt", "words.txt: no line of it is a URL: one"),
        (
            "--urls urls.csv --as id",
            "out.jsonl: two columns would have the same name: 'url', 'id', 'id'",
        ),
        ("--urls bom.csv", "bom.csv: the file is empty; its first line names the columns"),
        ("--urls mac.csv", "mac.csv: its lines end in CR alone"),
        ("--urls wide.csv", "wide.csv: field larger than field limit"),
        ("--urls long.csv", "long.csv: a line is longer than 1,048,576 bytes"),
        ("--urls struct.parquet", "struct.parquet: the column 'url' holds struct"),
        ("--robots struct.parquet", "struct.parquet: the column 'url' holds struct"),
        ("--robots urls.parquet", "urls.parquet has no column 'status' and 'body'"),
        ("--robots body-list.parquet", "body-list.parquet: the column 'body' holds list"),
        ("--robots body-struct.parquet", "body-struct.parquet: the column 'body' holds struct"),
        ("--robots body-int.parquet", "body-int.parquet: the column 'body' holds int64, not text"),
        ("--robots location-list.parquet", "the column 'location' holds list"),
        ("--robots status-list.parquet", "status-list.parquet: "),
        ("--robots status-words.parquet", "status-words.parquet: "),
        ("--robots fetched_at-list.parquet", "fetched_at-list.parquet: "),
        (
            "--robots origins.parquet",
            "no URL in it is that of a robots.txt, such as https://a.example",
        ),
        (f"--robots {'x' * 300}", "xxx: No such file or directory; a site is named by its URL"),
        ("--robots words.warc", "words.warc: this is no WARC"),
        ("--robots a.warc.gz b.warc", "b.warc: No such file"),
        (
            "--robots empty",
            "empty: the directory has no .warc, .warc.gz, .parquet file, and no HOST/robots.txt",
        ),
        (
            "--robots lines",
            "and no HOST/robots.txt; left out: lines/a.jsonl and 1 other, maybe answers of an audit; "
            "name the file itself if it is an archive",
        ),
        ("--output out.txt", "out.txt: the name must end in one of .parquet, .csv, .jsonl"),
        ("--output none/out.csv", "none/out.csv: No such file"),
        ("--output urls.csv", "urls.csv: the file exists and will not be overwritten"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line_and_leaves_nothing(
    home: Path, line: str, error: str
) -> None:
    pq.write_table(pa.table({"url": [1]}), home / "numbers.parquet")
    pq.write_table(pa.table([["x"], ["y"]], names=["url", "url"]), home / "twice.parquet")
    (home / "other.csv").write_text("link\nx\n")
    (home / "bom.csv").write_bytes(b"\xef\xbb\xbf")
    (home / "mac.csv").write_bytes(b"url,id\rhttps://a.example/,1\r")
    (home / "wide.csv").write_text("x" * 131_073 + ",url\n")
    (home / "long.csv").write_text("url" + f",{'x' * 100_000}" * 11)
    row: dict[str, Any] = {"url": "https://a.example/robots.txt", "status": 200, "body": ROBOTS}
    odd: dict[str, dict[str, Any]] = {
        "struct": {"url": {"a": "x"}},
        "body-list": {"body": [ROBOTS]},
        "body-struct": {"body": {"a": ROBOTS}},
        "body-int": {"body": 1},
        "location-list": {"location": ["/x"]},
        "status-list": {"status": [200]},
        "status-words": {"status": "200 OK"},
        "fetched_at-list": {"fetched_at": [1.0]},
        "origins": {"url": "https://a.example"},
    }
    for name, cells in odd.items():
        pq.write_table(pa.Table.from_pylist([{**row, **cells}]), home / f"{name}.parquet")
    (home / "short.csv").write_text("url,id\nhttps://a.example/,1\nhttps://a.example/\n")
    (home / "empty.csv").touch()
    (home / "empty").mkdir()
    (home / "lines").mkdir()
    (home / "lines" / "a.jsonl").touch()
    (home / "lines" / "b.jsonl.gz").touch()
    for name in ("words.txt", "words.warc", "text.parquet"):
        (home / name).write_text("one\ntwo\n")
    before = set(home.iterdir())
    ended = audit(home, line)
    assert (ended.status, error in ended.err, ended.err.count("\n")) == (2, True, 1), ended.err
    assert set(home.iterdir()) == before


def test_null_bodies_and_statuses_in_text_are_read(home: Path) -> None:
    rows = {
        "url": ["https://a.example/robots.txt", "http://b.example/robots.txt"],
        "status": ["200", "404"],
        "body": pa.nulls(2),
    }
    pq.write_table(pa.table(rows), home / "null.parquet")
    assert audit(home, "--robots null.parquet --as a").status == 0
    assert [row["a"] for row in answers(home / "out.jsonl")] == [1] * 4


def test_other_urls_in_an_archive_are_told(home: Path) -> None:
    urls = ["https://a.example/robots.txt", "http://b.example", "https://c.example/x"]
    rows = {"url": urls, "status": [200] * 3, "body": [ROBOTS] * 3}
    pq.write_table(pa.table(rows), home / "some.parquet")
    err = audit(home, "--robots some.parquet").err
    assert "robots.txt files of 1 origin in the archive\n" in err
    assert "2 other URLs in it, used for redirects only, such as http://b.example/\n" in err


def test_file_that_appears_while_answers_are_written_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"

    def written() -> None:
        with answer_file(str(path), [("url", "string")]) as write:
            write([["https://a.example/"]])
            path.write_text("theirs")

    with pytest.raises(BulkError, match="it is not overwritten, and the rows are in ") as error:
        written()
    assert path.read_text() == "theirs"
    kept = Path(str(error.value).rpartition(" ")[2])
    assert kept.read_text() == "url\nhttps://a.example/\n"
    assert set(tmp_path.iterdir()) == {path, kept}


def test_file_that_stands_where_the_answers_grow_is_left_alone(home: Path) -> None:
    (home / "of_others.txt").write_text("theirs")
    (home / "o.csv.part").symlink_to("of_others.txt")
    assert audit(home, "--output o.csv").status == 0
    assert (home / "of_others.txt").read_text() == "theirs"
    assert (home / "o.csv.part").is_symlink()


def test_purpose_that_a_site_refuses_makes_its_urls_disallowed(home: Path) -> None:
    refusing = b"user-agent: *\ncontent-signal: ai-train=no\ndisallow: /no\n"
    warc(home / "a.warc.gz", [response("https://a.example/robots.txt", refusing)])
    (home / "urls.txt").write_text(
        "https://a.example/x\nhttps://a.example/robots.txt\nhttps://a.example/no"
    )
    assert audit(home, "--purpose train-ai --rules").status == 0
    rows = {
        row["url"]: (row["examplebot"], row["examplebot_reason"])
        for row in answers(home / "out.jsonl")
    }
    assert rows == {
        "https://a.example/x": (0, "robots.txt refuses train-ai (line 2)"),
        "https://a.example/robots.txt": (1, "a robots.txt itself is never disallowed"),
        "https://a.example/no": (0, "most specific rule"),
    }


def test_url_that_is_not_utf_8_or_has_line_ends_is_judged(home: Path) -> None:
    urls = [
        b"https://a.example/no\xff",
        b"https://a.example/a\nb",
        b"https://a.example/" + b"x" * 20_000,
        None,
    ]
    pq.write_table(pa.table({"url": pa.array(urls)}), home / "odd.parquet")
    rows = b"\n".join(b'1,"%s"' % (url or b"") for url in urls)
    (home / "odd.csv").write_bytes(b"id,url\n" + rows)
    for name in ("odd.parquet", "odd.csv"):
        assert "2 lines left out: no URL" in audit(home, f"--urls {name}").err
        assert [row["url"] for row in answers(home / "out.jsonl")] == [
            "https://a.example/a\nb",
            "https://a.example/no%FF",
        ]
        (home / "out.jsonl").unlink()


@needs_posix
def test_audit_that_is_ended_leaves_nothing_behind(home: Path) -> None:
    (home / "tmp").mkdir()
    before = set(home.iterdir())
    arguments = ["--robots", "a.warc.gz", "--urls", "-", "--as", "a", "--output", "o.csv"]
    env = environment(TMPDIR=str(home / "tmp"))
    with start([*COMMAND, "audit", *arguments], home, env, stdin=subprocess.PIPE) as audit:
        block_until(lambda: list(home.glob("tmp/*/bodies")) and sleeps(audit))
        audit.send_signal(signal.SIGTERM)
        assert (*output(audit), audit.returncode) == ("", "", 143)
    assert set(home.iterdir()) == before
    assert not list((home / "tmp").iterdir())


# What the robots.txt files of an archive are like

BODIES = {
    "a": b"User-agent: *\nDisallow: /\nUser-agent: Googlebot/2.1\nDisallow:\n# a comment: here\n",
    "b": b"user-agent: googlebot\nuser-agent: <b>bot\ndisalow: /\nallow: /$\nuser-agent: GPTBot\nDisallow: /x\nDisallow: /*\n",
    "c": b"sitemap: https://c.example/s.xml\nCrawl-delay: 3\n<b>Fi\x07eld: x\n<B>Fi\x07eld: y\n"
    b"User-agent: *\nContent-Signal: search=yes, ai-train=no\n",
    "d": b"",
    "e": b"#" * 600_000,
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    answers = [
        response(f"https://{name}.example/robots.txt", body) for name, body in BODIES.items()
    ]
    answers += [
        response("https://a.example/robots.txt", b"User-agent: old", date="2020-01-01T00:00:00Z"),
        response(
            "https://f.example/robots.txt",
            b"",
            301,
            headers={"Location": "https://a.example/robots.txt"},
        ),
        response("https://g.example/robots.txt", b"User-agent: none", 404),
        response("https://h.example/robots.txt", b"", 503),
        response(
            "https://i.example/robots.txt",
            b"",
            302,
            headers={"Location": "https://away.example/robots.txt"},
        ),
    ]
    return warc(tmp_path / "a.warc.gz", answers)


def stats(archive: Path, *arguments: str) -> Run:
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
        "bytes": 2 * len(BODIES["a"]) + len(BODIES["b"]) + len(BODIES["c"]) + 512_000,
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


def test_file_that_the_archive_has_in_part_counts_by_that_part(tmp_path: Path) -> None:
    cut = {"WARC-Truncated": "length"}
    answer = response("https://a.example/robots.txt", b"#" * 100, warc_headers=cut)
    ended = stats(warc(tmp_path / "a.warc.gz", [answer]), "--json")
    sizes = {row["up_to_bytes"]: row["files"] for row in json.loads(ended.out)["sizes"]}
    assert {size: files for size, files in sizes.items() if files} == {1_000: 1}


def test_tables_are_for_people_and_as_long_as_is_asked_for(archive: Path) -> None:
    ended = stats(archive, "--top", "1")
    assert ended.status == 0
    rows = [line.split("  ") for line in ended.out.splitlines()]
    lines = [[cell.strip() for cell in row if cell] for row in rows]
    assert lines[0][0].startswith("9 origins, 512,")
    assert ["rules", "6 (66.7 %)"] in lines
    assert ["none", "1 (11.1 %)"] in lines
    assert ["more", "1 (16.7 %)"] in lines
    assert lines[lines.index(["Fields"]) + 2] == ["user-agent", "4 (66.7 %)", "8"]
    assert not any("sitemap" in line or "Crawlers" in line for line in ended.out.splitlines())


def test_empty_shares_are_no_error(tmp_path: Path) -> None:
    archive = warc(tmp_path / "a.warc", [response("https://a.example/robots.txt", b"", 404)])
    assert "rules          0 (0.0 %)\n" in stats(archive).out


def test_preferences_that_are_granted_and_refused_are_counted(tmp_path: Path) -> None:
    answers = [
        response(
            f"https://{name}.example/robots.txt", f"user-agent: *\ncontent-signal: {said}".encode()
        )
        for name, said in (("a", "ai-train=yes"), ("b", "ai-train=no"), ("c", "search=no"))
    ]
    found = json.loads(stats(warc(tmp_path / "a.warc", answers), "--json").out)
    assert found["preferences"] == {
        "train_ai": {"granted": 1, "refused": 1},
        "search": {"granted": 0, "refused": 1},
        "ai_use": {"granted": 0, "refused": 0},
    }


def test_several_archives_are_counted_as_one_and_their_damage_is_said(archive: Path) -> None:
    late = response(
        "https://h.example/robots.txt", b"user-agent: *\ndisallow: /", date="2027-01-01T00:00:00Z"
    )
    warc(archive.with_name("b.warc"), [late, b"broken"])
    ended = stats(archive, "b.warc", "--json")
    assert ended.err.startswith("damaged in 1 place, such as: byte ")
    both = json.loads(ended.out)
    assert both["statuses"] == {"none": 1, "200": 7, "404": 1}
    assert both["origins"] == 9


HOME = [
    ("Disallow: /", 1),
    ("Disallow: *", 1),
    ("Disallow: /$", 1),
    ("Disallow: /*$", 1),
    ("Disallow: //", 0),
    ("Disallow: /*/", 0),
    ("Disallow:", 0),
    ("Disallow: /\nAllow: /", 0),
    ("Disallow: /*\nAllow: /", 1),
    ("Disallow: /\nAllow: /index.html", 0),
    ("Disallow: /**\nAllow: /index.html", 1),
    ("Disallow: /\nAllow: /a/index.html", 1),
    ("Disallow: /\nUser-agent: {}\nAllow: /$", 0),
]


def test_agent_is_blocked_if_no_rule_of_its_groups_allows_the_home_page(tmp_path: Path) -> None:
    agents = [f"bot{chr(97 + number)}" for number in range(len(HOME))]
    body = "\n".join(
        f"User-agent: {agent}\n{rules.format(agent)}"
        for agent, (rules, _) in zip(agents, HOME, strict=True)
    )
    archive = warc(tmp_path / "a.warc", [response("https://a.example/robots.txt", body.encode())])
    found = json.loads(stats(archive, "--json").out)["agents"]
    expected = {agent: blocked for agent, (_, blocked) in zip(agents, HOME, strict=True)}
    assert {row["name"]: row["blocked"] for row in found} == expected


def test_file_of_very_many_groups_is_counted_in_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = "abcdefghij"
    agents = ["".join(some) for some in product(letters, repeat=4)]
    body = "".join(f"user-agent: {agent}\ndisallow: /{agent}\n" for agent in agents)
    archive = warc(tmp_path / "a.warc", [response("https://a.example/robots.txt", body.encode())])
    asked: list[object] = []
    allowed = RobotsTxt.allowed

    def counted(self: RobotsTxt, url: Any, user_agent: Any) -> bool:
        asked.append(user_agent)
        return allowed(self, url, user_agent)

    monkeypatch.setattr(RobotsTxt, "allowed", counted)
    found = json.loads(stats(archive, "--json", "--top", "20000").out)["agents"]
    assert len(found) == 10_000
    assert not asked
