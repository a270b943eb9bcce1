"""`scrapy robots audit`: an answer for each URL of a list, by one robots.txt, by two, or by hosts."""

import csv
import io
import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scrapy_gbot_robots.bulk.url_list import UrlList

from ..support.command import (
    COMMAND,
    environment,
    jsonl,
    project,
    run,
    run_here,
    run_on_terminal,
    without_colour,
)
from ..support.processes import output, sleeps, start
from ..support.systems import needs_posix, needs_proc
from ..support.until import block_until
from ..support.web import Reply, Site

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


def counts(summary: str) -> list[list[str]]:
    """The rows of the summary about the crawlers."""
    return [line.split() for line in summary.splitlines() if re.search(r"^\S+ +\d+ +\d+", line)]


def test_json_lines_and_csv_say_the_same_for_each_crawler(files: Path) -> None:
    arguments = [
        "audit",
        "--urls",
        "urls.txt",
        "--robots",
        "old.txt",
        "--as",
        "googlebot-news,other,googlebot-news",
    ]
    as_json = jsonl(run_here(*arguments, "--format", "jsonl", cwd=files).out)
    as_csv = csv.DictReader(io.StringIO(run_here(*arguments, "--format", "csv", cwd=files).out))
    assert [{key: str(value) for key, value in row.items()} for row in as_json] == list(as_csv)
    assert [row["url"] for row in as_json] == URLS
    assert [(row["Googlebot-News"], row["other"]) for row in as_json] == [(1, 0)] * 3 + [
        (1, 1),
        (0, 1),
        (1, 1),
    ]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_rows_lose_no_column_to_another_of_its_name(files: Path, form: str) -> None:
    (files / "urls.csv").write_text("url,id\nhttps://example.com/a,7\n")
    ended = run_here(
        *["audit", "--urls", "urls.csv", "--robots", "old.txt", "--as", "id", "--format", form],
        cwd=files,
    )
    assert (ended.status, ended.out) == (2, "")
    why = f"--format {form} must have one column 'id'; its columns are 'url', 'id', 'id'\n"
    assert ended.err.endswith(why)


def test_text_has_a_line_for_each_url_and_crawler_with_the_deciding_rule(files: Path) -> None:
    arguments = ("audit", "--urls", "-", "--robots", "old.txt", "--as", "a,googlebot")
    ended = run_here(*arguments, cwd=files, stdin=f"{URLS[0]}\n{URLS[4]}\n".encode())
    assert ended.out == (
        "ANSWER       CRAWLER    RULE                                      URL\n"
        "disallowed   a          Disallow: /a (line 2)                     https://example.com/a\n"
        "allowed      Googlebot  no rule matches                           https://example.com/a\n"
        "allowed      a          no rule matches                           https://example.com/g\n"
        "disallowed   Googlebot  Disallow: /g (line 6)                     https://example.com/g\n"
    )
    text = "TEXT".lower()  # as from a command line, it is not the object of a literal
    again = run_here(*arguments, "--format", text, cwd=files, stdin=f"{URLS[0]}\n".encode())
    assert again.out == "".join(ended.out.splitlines(keepends=True)[:3])


def test_diff_shows_the_urls_that_change_and_both_reasons(files: Path) -> None:
    arguments = ("audit", "--urls", "urls.txt", "--as", "a", "--diff", "old.txt", "new.txt")
    ended = run_here(*arguments, "--fail-on", "disallowed", cwd=files)
    assert ended.status == 1
    _, *lines = [re.split(" {2,}", line) for line in ended.out.splitlines()]
    assert lines == [
        ["allowed", "a", "Allow: /a/open (line 3)", URLS[1]],
        ["disallowed", "a_before", "Disallow: /a (line 2)", URLS[1]],
        ["allowed", "a", "no rule matches", URLS[2]],
        ["disallowed", "a_before", "Disallow: /b (line 3)", URLS[2]],
        ["disallowed", "a", "Disallow: /c, (line 4)", URLS[3]],
        ["allowed", "a_before", "no rule matches", URLS[3]],
    ]
    assert counts(ended.err) == [["a", "2", "1", "0"], ["a_before", "1", "2", "0"]]
    opened = run_here(*arguments, "--format", "csv", "--only", "allowed", cwd=files).out
    assert opened == f"url,a,a_before\n{URLS[1]},1,0\n{URLS[2]},1,0\n"
    same = run_here(
        *arguments[:-1], "old.txt", "--format", "csv", "--fail-on", "disallowed", cwd=files
    )
    assert (same.status, same.out) == (0, "url,a,a_before\n")


def test_versions_may_be_those_of_sites_and_overrides_do_not_count(files: Path) -> None:
    overrides = {"example.com": {"rules": "disallow", "reason": "no"}}
    arguments = ["audit", "--urls", "urls.txt", "--as", "a", "--format", "csv"]
    arguments += ["-s", f"GBOT_ROBOTS_OVERRIDES={json.dumps(overrides)}"]
    with Site({"/robots.txt": NEW}) as site:
        ended = run(*arguments, "--diff", "old.txt", site.url("/page"), cwd=files)
    assert [line[-3:] for line in ended.out.splitlines()[1:]] == ["1,0", "1,0", "0,1"]
    by_one = run_here(*arguments, "--robots", "new.txt", cwd=files)
    assert [line[-1] for line in by_one.out.splitlines()[1:]] == list("011011")


def test_other_columns_stay_beside_the_answers_and_only_allowed_urls_can_be_asked_for(
    files: Path,
) -> None:
    with (files / "urls.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [("id", "url", "zone"), *((n, url, "ü, x") for n, url in enumerate(URLS)), (9, "", "")]
        )
    arguments = (
        "audit",
        "--urls",
        "urls.csv",
        "--robots",
        "old.txt",
        "--as",
        "a,googlebot",
        "--format",
        "csv",
    )
    every = list(csv.DictReader(io.StringIO(run_here(*arguments, cwd=files).out)))
    assert [(row["id"], row["url"], row["zone"]) for row in every] == [
        (str(n), url, "ü, x") for n, url in enumerate(URLS)
    ]
    ended = run_here(*arguments, "--only", "allowed", cwd=files)
    assert [row["id"] for row in csv.DictReader(io.StringIO(ended.out))] == ["3", "5"]
    assert counts(ended.err) == [["a", "3", "3", "0"], ["Googlebot", "5", "1", "0"]]
    assert "1 line left out: no URL of at most 16,384 bytes\n" in ended.err


def test_each_urls_own_robots_txt_is_asked_once(project: Path) -> None:
    with (
        Site({"/robots.txt": OLD}) as a,
        Site({"*": Reply(404)}) as b,
        Site({"*": Reply(500)}) as ill,
    ):
        urls = [
            a.url("/a"),
            b.url("/a"),
            a.url("/z"),
            "nonsense",
            ill.url("/a"),
            a.url("/robots.txt"),
            "http:///x",
        ]
        arguments = ("audit", "--urls", "-", "--as", "testbot,googlebot", "--format", "jsonl")
        ended = run(*arguments, cwd=project, stdin="\n".join(urls).encode())
        assert ended.status == 0
        rows = {row["url"]: row for row in jsonl(ended.out)}
        answers = {url: (row["testbot"], row["Googlebot"]) for url, row in rows.items()}
        assert answers == {
            a.url("/a"): (0, 1),
            b.url("/a"): (1, 1),
            a.url("/z"): (1, 1),
            ill.url("/a"): (2, 2),
            a.url("/robots.txt"): (1, 1),
        }
        run(*arguments, cwd=project, stdin=f"{a.url('/a')}\n{b.url('/a')}".encode())
        assert [site.paths() for site in (a, b, ill)] == [["/robots.txt"]] * 3
        assert "5 URLs in" in ended.err
        assert "2 lines left out: no URL of at most 16,384 bytes: nonsense" in ended.err


def test_urls_that_are_not_utf_8_are_judged_by_their_bytes_and_too_long_ones_left_out(
    files: Path,
) -> None:
    (files / "latin.txt").write_bytes(b"user-agent: *\ndisallow: /caf\xe9\n")
    arguments = ("audit", "--urls", "-", "--robots", "latin.txt", "--as", "a", "--format", "csv")
    longest = b"https://a.example/".ljust(16_384, b"d")
    urls = (b"https://a.example/caf\xe9/x", b"https://a.example/caf%C3%A9", longest, longest + b"d")
    ended = run_here(*arguments, cwd=files, stdin=b"\n".join(urls))
    assert ended.out == (
        "url,a\nhttps://a.example/caf%E9/x,0\nhttps://a.example/caf%C3%A9,1\n"
        f"{longest.decode()},1\n"
    )
    assert "1 line left out: no URL of at most 16,384 bytes\n" in ended.err


def test_summary_names_the_most_frequent_rules_and_says_how_many_are_left(files: Path) -> None:
    letters = "abcdefghijklmnopqrstu"
    (files / "many.txt").write_text(
        "user-agent: *\n" + "".join(f"disallow: /{letter}\n" for letter in letters)
    )
    urls = ["b", *letters, *("/1" * 3)]
    stdin = "".join(f"https://example.com/{path}\n" for path in urls).encode()
    ended = run_here("audit", "--urls", "-", "--robots", "many.txt", cwd=files, stdin=stdin)
    rules = re.findall(r"Disallow: /(\w) \(line", ended.err)
    assert rules == [*"ba", *letters[2:20]], "the most frequent one first"
    assert "no rule matches" not in ended.err, (
        "what is blocked comes first, however many URLs are allowed"
    )
    assert ended.err.endswith("... and 2 other rules\n")
    twenty = "\n".join(f"https://example.com/{letter}" for letter in letters[:20]).encode()
    ended = run_here("audit", "--urls", "-", "--robots", "many.txt", cwd=files, stdin=twenty)
    assert ended.err.endswith("  Disallow: /t (line 21)\n")


@needs_posix
def test_ctrl_c_ends_an_audit_by_host_and_tells_what_came_of_it_so_far(project: Path) -> None:
    with Site({"/robots.txt": OLD}) as site:
        (project / "urls.txt").write_text(
            "".join(site.url(f"/private/{number}\n") for number in range(300_000))
        )
        with start(
            [*COMMAND, "audit", "--urls", "urls.txt", "--as", "mybot"], project, environment()
        ) as process:
            assert process.stdout is not None
            assert (
                process.stdout.readline()
            )  # it is at work, and waits for what it writes to be read
            process.send_signal(signal.SIGINT)
            out, err = output(process)
    assert process.returncode == 130
    assert "Interrupted. So far:" in err
    assert out.count("\n") < 150_000


@needs_posix
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"]
)
def test_signals_end_the_waiting_for_input(project: Path, number: int, status: int) -> None:
    command = [*COMMAND, "audit", "--urls", "-"]
    with (
        Site({"/robots.txt": OLD}) as site,
        start(command, project, environment(), stdin=subprocess.PIPE) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(site.url("/x\n") * 500)  # more than the buffer of the output takes
        process.stdin.flush()
        assert process.stdout.readline()
        block_until(lambda: sleeps(process))  # it waits for more
        process.send_signal(number)
        _, err = output(process)
    assert process.returncode == status
    assert err.startswith("Interrupted. So far:\n\n500 URLs in")


def test_closed_pipe_is_no_error(files: Path) -> None:
    (files / "many.txt").write_text("https://example.com/a\n" * 200_000)
    audit = shlex.join([*COMMAND, "audit", "--urls", "many.txt", "--robots", "old.txt"])
    ended = run(cwd=files, command=["bash", "-c", f"{audit} | head -n 3; exit ${{PIPESTATUS[0]}}"])
    assert (ended.status, ended.out.count("\n"), ended.err) == (141, 3, "")


def test_full_disk_is_one_line_and_status_2(files: Path) -> None:
    shell = ["sh", "-c", f'exec "{sys.executable}" -m scrapy_gbot_robots "$@" > /dev/full', "sh"]
    ended = run("audit", "--urls", "urls.txt", "--robots", "old.txt", cwd=files, command=shell)
    assert ended.status == 2
    assert "error: the output cannot be written" in ended.err.splitlines()[-1]


def test_progress_is_shown_on_a_terminal_and_rows_stay_clean(files: Path) -> None:
    (files / "many.txt").write_text("https://example.com/a\n" * 50_000)
    shell = ["sh", "-c", f'exec "{sys.executable}" -m scrapy_gbot_robots "$@" > rows.txt', "sh"]
    arguments = ("audit", "--urls", "many.txt", "--robots", "old.txt", "--as", "a")
    ended = run_on_terminal(*arguments, cwd=files, command=shell)
    assert ended.status == 0
    assert "Auditing" in ended.out
    assert "50,000 URLs in" in without_colour(ended.out)
    rows = (files / "rows.txt").read_text().splitlines()
    assert len(rows) == 50_001
    assert {row.split()[0] for row in rows} == {"ANSWER", "disallowed"}


def test_rows_on_a_terminal_show_the_progress_themselves(files: Path) -> None:
    ended = run_on_terminal(
        "audit", "--urls", "urls.txt", "--robots", "old.txt", "--as", "a", cwd=files
    )
    assert "Auditing" not in ended.out
    assert without_colour(ended.out).splitlines()[0].startswith("ANSWER  ")


@needs_proc
@pytest.mark.slow
def test_memory_stays_the_same_however_many_urls(files: Path) -> None:
    script = (
        "import sys; from scrapy_gbot_robots.commands.command import main; status = main(); "
        "print(*(line for line in open('/proc/self/status') if 'VmHWM' in line), file=sys.stderr); sys.exit(status)"
    )
    peaks = []
    for count in (20_000, 200_000):
        urls = "".join(f"https://example.com/{number % 7}/{number}\n" for number in range(count))
        arguments = ("audit", "--urls", "-", "--robots", "old.txt", "--format", "jsonl")
        ended = run(
            *arguments, cwd=files, command=[sys.executable, "-c", script], stdin=urls.encode()
        )
        peaks.append(int(ended.err.split()[-2]))
    assert peaks[0] > 1000
    assert peaks[1] - peaks[0] < 8000


def test_csv_and_json_lines_are_read_and_other_columns_stay_beside_the_answers(
    tmp_path: Path,
) -> None:
    (tmp_path / "r.txt").write_bytes(OLD)
    lines = [
        {"id": 1, "url": URLS[0], "more": {"a": [1, None]}},
        {"id": None, "url": None},
        {"url": URLS[5], "more": "caf\u00e9", "a": "left out"},
    ]
    text = "\n".join(["\ufeff" + json.dumps(lines[0]), "", *map(json.dumps, lines[1:])])
    (tmp_path / "urls.jsonl").write_text(text, encoding="utf-8")
    arguments = ("audit", "--urls", "urls.jsonl", "--robots", "r.txt", "--as", "a", "--format")
    ended = run_here(*arguments, "jsonl", cwd=tmp_path)
    assert jsonl(ended.out) == [
        {"url": URLS[0], "id": 1, "more": {"a": [1, None]}, "a": 0},
        {"url": URLS[5], "id": None, "more": "caf\u00e9", "a": 1},
    ]
    assert "1 line left out: no URL of at most 16,384 bytes\n" in ended.err
    table = run_here(*arguments, "csv", cwd=tmp_path).out
    assert table == (
        f'url,id,more,a\n{URLS[0]},1,"{{""a"": [1, null]}}",0\n{URLS[5]},,caf\u00e9,1\n'
    )
    (tmp_path / "urls.csv").write_text(f"\ufeff{table}", encoding="utf-8")
    again = run_here(
        *arguments[:2], "urls.csv", *arguments[3:6], "b", "--format", "csv", cwd=tmp_path
    )
    assert [row["a"] + row["b"] for row in csv.DictReader(io.StringIO(again.out))] == ["00", "11"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("u.csv", "link\nx", "u.csv must have one column 'url'; its columns are 'link'"),
        ("u.csv", "url,url\nx,x", "u.csv must have one column 'url'; its columns are 'url', "),
        ("u.csv", "url,a,a\n", "u.csv must have one column 'a'; its columns are 'url', 'a', 'a'"),
        ("u.csv", "", "u.csv: the file is empty; its first line names the columns"),
        ("u.csv", "\ufeff", "u.csv: the file is empty; its first line names the columns"),
        ("u.csv", "id,url\n1,x\n2", "u.csv: line 3 has 1 columns, not 2"),
        ("u.csv", "url\rhttp://a/\r", "u.csv: new-line character seen in unquoted field"),
        ("u.csv", f"url\n{'x' * 200_000}", "u.csv: field larger than field limit"),
        ("u.csv", f"url\n{'x' * 2_000_000}", "u.csv: a line is longer than 1,048,576 bytes"),
        ("u.txt", f"{'x' * 2_000_000}\nhttp://a/", "u.txt: a line is longer than 1,048,576 bytes"),
        ("u.jsonl", "http://a/", "u.jsonl: line 1 is no JSON object"),
        ("u.jsonl", '{"url": "http://a/"}\n[1]\n', "u.jsonl: line 2 is no JSON object"),
        ("u.jsonl", "[" * 100_000, "u.jsonl: line 1 is no JSON object"),
        ("u.jsonl", '{"link": 1}', "u.jsonl must have one column 'url'; its columns are 'link'"),
        ("u.jsonl", f'{{"url": "{"x" * 2_000_000}"}}', "u.jsonl: a line is longer than 1,048,576"),
        ("u.jsonl", '{"url": 7}', "u.jsonl: no line of it is a URL"),
        ("u.txt", b"\xff\xfeh\0t\0", "u.txt: this is UTF-16; save it as UTF-8"),
    ],
)
def test_list_that_cannot_be_read_is_one_line_and_status_2(
    name: str, text: str | bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "r.txt").touch()
    ended = run_here("audit", "--urls", name, "--robots", "r.txt", cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


@needs_proc
def test_list_that_fails_while_it_is_read_is_one_line_and_status_2(tmp_path: Path) -> None:
    (tmp_path / "r.txt").touch()
    ended = run_here("audit", "--urls", "/proc/self/mem", "--robots", "r.txt", cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.endswith(" error: /proc/self/mem: Input/output error\n")


def test_json_lines_have_no_nan_and_csv_no_control_characters(tmp_path: Path) -> None:
    (tmp_path / "r.txt").touch()
    row = '{"url": "https://a.example/", "n": [NaN, -Infinity], "t": "a\\u001b[31m\\nb"}'
    (tmp_path / "u.jsonl").write_text(row)
    arguments = ("audit", "--urls", "u.jsonl", "--robots", "r.txt", "--as", "a", "--format")
    assert run_here(*arguments, "jsonl", cwd=tmp_path).out == (
        '{"url": "https://a.example/", "n": [null, null], "t": "a\\u001b[31m\\nb", "a": 1}\n'
    )
    table = run_here(*arguments, "csv", cwd=tmp_path).out
    assert table == 'url,n,t,a\nhttps://a.example/,"[null, null]",a\\x1b[31m\\nb,1\n'


@pytest.mark.parametrize("name", ["u.txt", "u.csv", "u.jsonl"])
def test_list_is_read_in_pieces_that_go_up_to_the_size_of_its_file(
    name: str, tmp_path: Path
) -> None:
    urls = [f"https://a.example/{number:06}" for number in range(40_000)]
    lines = ["url", *urls] if name == "u.csv" else urls
    if name == "u.jsonl":
        lines = [json.dumps({"url": url}) for url in urls]
    (tmp_path / name).write_text("\n".join(lines))
    with (tmp_path / name).open("rb") as file:
        listed = UrlList(file, name)
        read = 0
        for piece in listed.pieces():
            read += len(piece)
            assert len(piece) < 12_000
            assert listed.done <= 300_000 + 40 * read
    assert read == 40_000
    assert listed.done == (tmp_path / name).stat().st_size


@pytest.mark.parametrize(
    ("name", "come", "ids"),
    [
        pytest.param("-", b"http://a/1\n\n", ["/1"], id="empty-line"),
        pytest.param("-", b"http://a/1\nhttp://a/2\nhtt", ["/1", "/2"], id="half-a-line"),
        pytest.param("u.csv", b"\n\nurl\nhttp://a/1\n\n", ["/1"], id="csv"),
        pytest.param("u.jsonl", b'{"url": "http://a/1"}\n \n', ["/1"], id="json-lines"),
    ],
)
def test_lines_that_have_come_are_answered_before_more_is_read(
    name: str, come: bytes, ids: list[str]
) -> None:
    class Slow:
        reads = 0

        def read1(self, size: int) -> bytes:
            self.reads += 1
            return (come, b"")[self.reads - 1]

    file = Slow()
    piece = next(UrlList(file, name).pieces())
    assert file.reads == 1
    assert [row["url"] for row in piece] == [f"http://a{path}" for path in ids]


@pytest.mark.parametrize(
    ("url", "options", "status"),
    [
        ("https://a.example/yes", "--fail-on disallowed", 0),
        ("https://a.example/b", "--fail-on disallowed", 1),
        ("https://a.example/b", "", 0),
    ],
)
def test_exit_status_is_0_unless_it_shall_say_that_a_url_may_not_be_fetched(
    url: str, options: str, status: int, files: Path
) -> None:
    arguments = ("audit", "--urls", "-", "--robots", "old.txt", *options.split())
    assert run_here(*arguments, cwd=files, stdin=url.encode()).status == status


def test_wall_is_told_from_the_site_and_an_unreachable_site_is_no_success(project: Path) -> None:
    with (
        Site({"*": Reply(403, b"", {"cf-mitigated": "challenge"})}) as walled,
        Site({"*": Reply(503)}) as ill,
    ):
        urls = "\n".join([walled.url("/x"), ill.url("/x")]).encode()
        arguments = ("audit", "--urls", "-", "--as", "a", "--fail-on", "disallowed")
        ended = run(*arguments, cwd=project, stdin=urls)
    assert ended.status == 1
    assert "HTTP 403 of Cloudflare's challenge, by its header cf-mitigated" in ended.out
    assert "unreachable  a        robots.txt unreachable: HTTP 503" in ended.out
