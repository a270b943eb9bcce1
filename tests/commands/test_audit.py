"""`scrapy robots audit`: a verdict for each URL of a list, in three formats, by one robots.txt, by hosts, or by two."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from ..support.command import COMMAND, environment, project, run, run_here, run_on_terminal, without_colour
from ..support.web import Reply, Site

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["project"]

OLD = b"user-agent: *\ndisallow: /a\ndisallow: /b\n\nuser-agent: googlebot\ndisallow: /g\n"
NEW = b"user-agent: *\ndisallow: /a\nallow: /a/open\ndisallow: /c,\n"
URLS = [f"https://example.com/{path}" for path in ("a", "a/open", "b", 'c,"d"', "g", "z")]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "old.txt").write_bytes(OLD)
    (tmp_path / "new.txt").write_bytes(NEW)
    (tmp_path / "urls.txt").write_text("\n".join(["", *URLS, "  "]), newline="\r\n")
    return tmp_path


def jsonl(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_each_url_gets_a_row_and_each_rule_its_count(files: Path) -> None:
    ended = run("audit", "--urls", "urls.txt", "--robots", "old.txt", cwd=files)
    assert ended.status == 1
    title, *rows = ended.out.splitlines()
    assert title.split() == ["VERDICT", "CRAWLER", "RULE", "URL"]
    assert [row.split()[-1] for row in rows] == URLS
    assert [row.split()[0] for row in rows] == ["disallowed"] * 3 + ["allowed"] * 3
    assert "Disallow: /a (line 2)" in rows[0]
    assert "6 URLs in" in ended.err
    assert "3 disallowed, 3 allowed" in ended.err
    summary = [re.split("  +", row) for row in ended.err.splitlines() if "old.txt" in row]
    counts = {rule: count for count, _, _, rule, _ in summary}
    assert counts == {"no rule matches": "3", "Disallow: /a (line 2)": "2", "Disallow: /b (line 3)": "1"}


def test_json_lines_and_csv_say_the_same_for_each_crawler(files: Path) -> None:
    arguments = ("audit", "--urls", "urls.txt", "--robots", "old.txt", "--as", "googlebot-news,other,googlebot-news")
    as_json = jsonl(run_here(*arguments, "--format", "jsonl", cwd=files).out)
    as_csv = list(csv.DictReader(io.StringIO(run_here(*arguments, "--format", "csv", cwd=files).out)))
    assert [row["url"] for row in as_json] == [row["url"] for row in as_csv] == [url for url in URLS for _ in range(2)]
    assert [row["crawler"] for row in as_csv][:2] == ["Googlebot-News", "other"]
    assert [row["allowed"] for row in as_csv] == ["yes" if row["allowed"] else "no" for row in as_json]
    assert [row["line"] or None for row in as_csv] == [row["line"] and str(row["line"]) for row in as_json]
    blocked = [(row["url"], row["crawler"], row["rule"], row["group"]) for row in as_json if not row["allowed"]]
    assert blocked == [
        (URLS[0], "other", "Disallow: /a", "*"),
        (URLS[1], "other", "Disallow: /a", "*"),
        (URLS[2], "other", "Disallow: /b", "*"),
        (URLS[4], "Googlebot-News", "Disallow: /g", "googlebot"),
    ]


def test_diff_shows_the_urls_that_change_and_both_reasons(files: Path) -> None:
    arguments = ("audit", "--urls", "urls.txt", "--diff", "old.txt", "new.txt")
    ended = run_here(*arguments, "--format", "jsonl", cwd=files)
    assert ended.status == 1
    changes = [(row["url"], row["allowed"], row["rule"], row["rule_before"]) for row in jsonl(ended.out)]
    assert changes == [
        (URLS[1], True, "Allow: /a/open", "Disallow: /a"),
        (URLS[2], True, None, "Disallow: /b"),
        (URLS[3], False, "Disallow: /c,", None),
    ]
    table = run_here(*arguments, cwd=files).out.splitlines()
    assert table[3].startswith("now disallowed")
    assert "Disallow: /c, (line 4); before: no rule matches" in table[3]
    assert "1 now disallowed, 2 now allowed" in ended.err
    same = run_here("audit", "--urls", "urls.txt", "--diff", "old.txt", "old.txt", cwd=files)
    assert (same.status, same.out.count("\n")) == (0, 1)
    as_csv = run_here(*arguments[:4], "old.txt", "old.txt", "--format", "csv", cwd=files)
    assert as_csv.out == (
        "url,crawler,allowed,rule,line,group,reason,robots_txt,rule_before,line_before,group_before,reason_before\n"
    )


def test_each_urls_own_robots_txt_is_asked_once(project: Path) -> None:
    with (
        Site({"/robots.txt": OLD}) as a,
        Site({"*": Reply(404)}) as b,
        Site({"/robots.txt": Reply(500)}) as ill,
    ):
        urls = [a.url("/a"), b.url("/a"), a.url("/z"), "nonsense", ill.url("/a"), a.url("/robots.txt"), "http:///x"]
        arguments = ("audit", "--urls", "-", "--as", "testbot,googlebot", "--format", "jsonl")
        ended = run(*arguments, cwd=project, stdin="\n".join(urls).encode())
        assert ended.status == 2
        rows = {(str(row["url"]), row["crawler"]): row for row in jsonl(ended.out)}
        assert len(rows) == 10
        assert {url for (url, crawler), row in rows.items() if row["allowed"] and crawler == "testbot"} == {
            b.url("/a"),
            a.url("/z"),
            a.url("/robots.txt"),
        }
        assert rows[a.url("/a"), "Googlebot"]["allowed"]
        assert rows[a.url("/a"), "testbot"]["robots_txt"] == a.url("/robots.txt")
        assert "HTTP 500" in str(rows[ill.url("/a"), "testbot"]["reason"])
        assert [site.paths() for site in (a, b, ill)] == [["/robots.txt"]] * 3
        assert "5 URLs in" in ended.err
        assert "2 lines left out; the first: no absolute URL with a host: nonsense" in ended.err
        assert f"could not be fetched: {ill.url('/robots.txt')} (1 URL)" in ended.err


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        pytest.param(["--urls", "no", "--robots", "old.txt"], b"", "no: No such file or directory", id="no-urls"),
        pytest.param(["--urls", ".", "--robots", "old.txt"], b"", ".: Is a directory", id="directory"),
        pytest.param(["--urls", "-", "--top", "-1"], b"", "--top must be at least 0, got -1", id="top"),
        pytest.param(["--urls", "-", "--robots", "no"], b"", "no: No such file or directory", id="no-robots"),
        pytest.param(["--urls", "-", "--diff", "old.txt", "no"], b"", "no: No such file or directory", id="no-new"),
        pytest.param(["--urls", "-", "--robots", "old.txt", "--as", "a,7"], b"", '"7" names no crawler', id="no-token"),
        pytest.param(
            ["--urls", "-", "--robots", "old.txt"], bytes(range(256)) * 2000, "no line of it is a URL", id="garbage"
        ),
        pytest.param(
            ["--urls", "-", "--robots", "old.txt"], b"https://a/" + b"a" * 10**6, "longer than", id="one-long-line"
        ),
    ],
)
def test_bad_input_is_one_line_and_status_2(files: Path, arguments: list[str], stdin: bytes, said: str) -> None:
    ended = run_here("audit", *arguments, cwd=files, stdin=stdin)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert len(ended.err) < 1000


def test_urls_that_are_not_utf_8_are_judged_by_their_bytes(files: Path) -> None:
    (files / "latin.txt").write_bytes(b"user-agent: *\ndisallow: /caf\xe9\n")
    stdin = b"https://example.com/caf\xe9/x\nhttps://example.com/caf%C3%A9\n"
    ended = run_here("audit", "--urls", "-", "--robots", "latin.txt", "--format", "jsonl", cwd=files, stdin=stdin)
    assert [(row["url"], row["allowed"]) for row in jsonl(ended.out)] == [
        ("https://example.com/caf%E9/x", False),
        ("https://example.com/caf%C3%A9", True),
    ]


def test_summary_names_the_most_frequent_rules_and_says_how_many_are_left(files: Path) -> None:
    ended = run_here("audit", "--urls", "urls.txt", "--robots", "old.txt", "--top", "1", cwd=files)
    assert "Disallow: /a (line 2)" in ended.err, "what is blocked comes first, however many URLs are allowed"
    assert "no rule matches" not in ended.err
    assert "... and 2 other rules" in ended.err
    ended = run_here("audit", "--urls", "urls.txt", "--robots", "old.txt", "--top", "2", cwd=files)
    assert ended.err.index("Disallow: /a") < ended.err.index("Disallow: /b")
    assert "... and 1 other rule\n" in ended.err


def test_ctrl_c_ends_an_audit_by_host_and_tells_what_came_of_it_so_far(project: Path) -> None:
    with Site({"/robots.txt": OLD}) as site:
        urls = site.url("/private/%d\n")
        with (project / "urls.txt").open("w") as file:
            file.writelines(urls % number for number in range(2_000_000))
        command = [*COMMAND, "audit", "--urls", "urls.txt", "--as", "mybot"]
        with subprocess.Popen(
            command, cwd=project, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout
            assert process.stderr
            assert process.stdout.readline()  # it is at work, and waits for what it writes to be read
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Interrupted. So far:" in err
    assert out.count(b"\n") < 1_000_000


def test_closed_pipe_is_no_error(files: Path) -> None:
    (files / "many.txt").write_text("https://example.com/a\n" * 200_000)
    with (
        subprocess.Popen(
            [*COMMAND, "audit", "--urls", "many.txt", "--robots", "old.txt"],
            cwd=files,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        ) as audit,
        subprocess.Popen(["head", "-n", "3"], stdin=audit.stdout, stdout=subprocess.PIPE) as head,
    ):
        assert audit.stdout is not None
        audit.stdout.close()
        assert head.communicate(timeout=30)[0].count(b"\n") == 3
        assert audit.stderr is not None
        assert audit.stderr.read() == b""
        assert audit.wait(timeout=30) == 141


def test_full_disk_is_one_line_and_status_2(files: Path) -> None:
    shell = ["sh", "-c", f'exec "{sys.executable}" -m scrapy_gbot_robots "$@" > /dev/full', "sh"]
    ended = run("audit", "--urls", "urls.txt", "--robots", "old.txt", cwd=files, command=shell)
    assert ended.status == 2
    assert "error: the output cannot be written" in ended.err.splitlines()[-1]


def test_progress_is_shown_on_a_terminal_and_rows_stay_clean(files: Path) -> None:
    pytest.importorskip("rich")
    (files / "many.txt").write_text("https://example.com/a\n" * 50_000)
    shell = ["sh", "-c", f'exec "{sys.executable}" -m scrapy_gbot_robots "$@" > rows.txt', "sh"]
    ended = run_on_terminal("audit", "--urls", "many.txt", "--robots", "old.txt", cwd=files, command=shell)
    assert ended.status == 1
    assert "Auditing" in ended.out
    assert "50,000 URLs in" in without_colour(ended.out)
    rows = (files / "rows.txt").read_text().splitlines()
    assert len(rows) == 50_001
    assert {row.split()[0] for row in rows} == {"VERDICT", "disallowed"}


def test_rows_on_a_terminal_show_the_progress_themselves(files: Path) -> None:
    pytest.importorskip("rich")
    ended = run_on_terminal("audit", "--urls", "urls.txt", "--robots", "old.txt", cwd=files)
    assert "Auditing" not in ended.out
    assert without_colour(ended.out).splitlines()[0].startswith("VERDICT ")


def test_memory_stays_the_same_however_many_urls() -> None:
    """A tenth and the whole of 200,000 URLs from a pipe: the peak of memory differs by a few MB at the most."""
    script = (
        "import sys; from scrapy_gbot_robots.commands.command import main; status = main(); "
        "print(*(line for line in open('/proc/self/status') if 'VmHWM' in line), file=sys.stderr); sys.exit(status)"
    )
    peaks = []
    for count in (20_000, 200_000):
        urls = "".join(f"https://example.com/{number % 7}/{number}\n" for number in range(count))
        done = subprocess.run(
            [sys.executable, "-c", script, "audit", "--urls", "-", "--robots", "/dev/null", "--format", "jsonl"],
            input=urls.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(),
            check=True,
        )
        peaks.append(int(done.stderr.split()[-2]))
    assert peaks[0] > 1000
    assert peaks[1] - peaks[0] < 8000
