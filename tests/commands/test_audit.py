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
from scrapy_gbot_robots.commands.command import main

from ..support import command as cli
from ..support.command import COMMAND, Run, jsonl, project, run, run_here
from ..support.processes import output, sleeps, start
from ..support.rows import row, table
from ..support.systems import needs_posix, needs_proc
from ..support.until import block_until
from ..support.web import Reply, Site

__all__ = ["project"]

OLD = b"user-agent: *\ndisallow: /a\ndisallow: /b\n\nuser-agent: googlebot\ndisallow: /g\n"
NEW = b"user-agent: *\ndisallow: /a\nallow: /a/open\ndisallow: /c,\n"
URLS = [f"https://example.com/{path}" for path in ("a", "a/open", "b", 'c,"d"', "g", "z")]
LEFT_OUT = "1 line left out: not a whole URL (https://host/path), or over 16,384 characters"
TO_FILE = ["sh", "-c", f'exec "{sys.executable}" -m scrapy_gbot_robots "$@" > $OUT', "sh"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "old.txt").write_bytes(OLD)
    (tmp_path / "new.txt").write_bytes(NEW)
    (tmp_path / "none.txt").touch()
    (tmp_path / "urls.txt").write_text("\n".join(["", *URLS, "  "]), newline="\r\n")
    return tmp_path


def audit(files: Path, words: str, *stdin: str | bytes) -> Run:
    """Audit by a file: the list of the fixture, or URLs that come by standard input."""
    lines = b"\n".join(line.encode() if isinstance(line, str) else line for line in stdin)
    arguments = shlex.split(f"--urls {'-' if stdin else 'urls.txt'} {words}")
    return run_here("audit", *arguments, cwd=files, stdin=lines)


def table_of(ended: Run) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(ended.out)))


def counts(summary: str) -> list[list[str]]:
    """The rows of the summary about the crawlers."""
    return [line.split() for line in summary.splitlines() if re.search(r"^\S+ +\d+ +\d+", line)]


def test_json_lines_and_csv_say_the_same_for_each_crawler(files: Path) -> None:
    words = "--robots old.txt --as googlebot-news,other,googlebot-news --format"
    as_json = jsonl(audit(files, f"{words} jsonl").out)
    as_text = [{key: str(value) for key, value in row.items()} for row in as_json]
    assert as_text == table_of(audit(files, f"{words} csv"))
    assert [row["url"] for row in as_json] == URLS
    answers = [f"{row['googlebot-news']}{row['other']}" for row in as_json]
    assert answers == ["10", "10", "10", "11", "01", "11"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_rows_lose_no_column_to_another_of_its_name(files: Path, form: str) -> None:
    (files / "urls.csv").write_text("url,id\nhttps://example.com/a,7\n")
    ended = audit(files, f"--urls urls.csv --robots old.txt --as id --format {form}")
    assert (ended.status, ended.out) == (2, "")
    why = f"--format {form} must have one column 'id'; its columns are 'url', 'id', 'id'\n"
    assert ended.err.endswith(why)


def test_text_has_a_line_for_each_url_and_crawler_with_the_deciding_rule(files: Path) -> None:
    ended = audit(files, "--robots old.txt --as a,googlebot", URLS[0], URLS[4])
    assert ended.out == (
        "ANSWER       CRAWLER    RULE                                      URL\n"
        "disallowed   a          Disallow: /a (line 2)                     https://example.com/a\n"
        "allowed      googlebot  no rule matches                           https://example.com/a\n"
        "allowed      a          no rule matches                           https://example.com/g\n"
        "disallowed   googlebot  Disallow: /g (line 6)                     https://example.com/g\n"
    )


def test_empty_rule_is_called_empty(files: Path) -> None:
    (files / "empty.txt").write_text("user-agent: a\ndisallow:\n")
    ended = audit(files, "--robots empty.txt --as a", URLS[0])
    assert re.split(" {2,}", ended.out.splitlines()[1])[2] == "empty Disallow: (line 2)"


def test_diff_shows_the_urls_that_change_and_both_reasons(files: Path) -> None:
    words = "--as a --fail-on disallowed --diff old.txt"
    ended = audit(files, f"{words} new.txt")
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
    assert ", 3 of them judged differently, in " in ended.err
    opened = audit(files, f"{words} new.txt --format csv --only allowed").out
    assert opened == f"url,a,a_before\n{URLS[1]},1,0\n{URLS[2]},1,0\n"
    closed = audit(files, f"{words} new.txt --format csv --only disallowed")
    assert table_of(closed) == [{"url": URLS[3], "a": "0", "a_before": "1"}]
    same = audit(files, f"{words} old.txt --format csv")
    assert (same.status, same.out) == (0, "url,a,a_before\n")
    assert ", 0 of them judged differently, in " in same.err


def test_versions_may_be_those_of_sites_and_overrides_do_not_count(files: Path) -> None:
    overrides = {"example.com": {"rules": "disallow", "reason": "no"}}
    arguments = ["audit", "--urls", "urls.txt", "--as", "a", "--format", "csv"]
    arguments += ["-s", f"GBOT_ROBOTS_OVERRIDES={json.dumps(overrides)}"]
    with Site({"/robots.txt": NEW}) as site:
        ended = run(*arguments, "--diff", "old.txt", site.url("/page"), cwd=files)
    assert [line[-3:] for line in ended.out.splitlines()[1:]] == ["1,0", "1,0", "0,1"]
    by_one = run_here(*arguments, "--robots", "new.txt", cwd=files)
    assert [line[-1] for line in by_one.out.splitlines()[1:]] == list("011011")


def test_other_columns_stay_beside_the_answers_and_only_allowed_urls_may(files: Path) -> None:
    with (files / "urls.csv").open("w", newline="") as file:
        rows = [("id", "url", "zone"), *((n, url, "ü, x") for n, url in enumerate(URLS))]
        csv.writer(file).writerows([*rows, (9, "", "")])
    words = "--urls urls.csv --robots old.txt --as a,googlebot --format csv"
    every = [(row["id"], row["url"], row["zone"]) for row in table_of(audit(files, words))]
    assert every == [(str(n), url, "ü, x") for n, url in enumerate(URLS)]
    ended = audit(files, f"{words} --only allowed")
    assert [row["id"] for row in table_of(ended)] == ["3", "5"]
    assert counts(ended.err) == [["a", "3", "3", "0"], ["googlebot", "5", "1", "0"]]
    assert f"{LEFT_OUT}\n" in ended.err


def test_only_disallowed_writes_urls_that_a_crawler_may_not_fetch(files: Path) -> None:
    words = "--robots old.txt --as a,googlebot --only disallowed"
    ended = audit(files, f"{words} --format csv")
    closed = [
        f"{URLS[n]},{answers}" for n, answers in ((0, "0,1"), (1, "0,1"), (2, "0,1"), (4, "1,0"))
    ]
    assert ended.out.splitlines() == ["url,a,googlebot", *closed]
    assert counts(ended.err) == [["a", "3", "3", "0"], ["googlebot", "5", "1", "0"]]
    rows = jsonl(audit(files, f"{words} --format jsonl").out)
    assert [row["url"] for row in rows] == [URLS[0], URLS[1], URLS[2], URLS[4]]
    text = audit(files, words, URLS[3], URLS[4]).out
    assert text == (
        "ANSWER       CRAWLER    RULE                                      URL\n"
        "allowed      a          no rule matches                           https://example.com/g\n"
        "disallowed   googlebot  Disallow: /g (line 6)                     https://example.com/g\n"
    )


def test_url_of_an_unreachable_robots_txt_counts_as_disallowed(project: Path) -> None:
    with Site({"/robots.txt": OLD}) as a, Site({"*": Reply(500)}) as ill:
        lines = "\n".join([a.url("/z"), ill.url("/z")]).encode()
        arguments = ("audit", "--urls", "-", "--as", "testbot", "--format", "csv")
        closed = run(*arguments, "--only", "disallowed", cwd=project, stdin=lines)
        assert closed.out == f"url,testbot\n{ill.url('/z')},2\n"
        opened = run(*arguments, "--only", "allowed", cwd=project, stdin=lines)
        assert opened.out == f"url,testbot\n{a.url('/z')},1\n"


def test_each_urls_own_robots_txt_is_asked_once(project: Path) -> None:
    with (
        Site({"/robots.txt": OLD}) as a,
        Site({"*": Reply(404)}) as b,
        Site({"*": Reply(500)}) as ill,
    ):
        answers = {
            a.url("/a"): (0, 1),
            b.url("/a"): (1, 1),
            a.url("/z"): (1, 1),
            ill.url("/a"): (2, 2),
            a.url("/robots.txt"): (1, 1),
        }
        arguments = ("audit", "--urls", "-", "--as", "testbot,googlebot", "--format", "jsonl")
        lines = "\n".join(["nonsense", *answers, "http:///x"])
        ended = run(*arguments, cwd=project, stdin=lines.encode())
        assert ended.status == 0
        rows = jsonl(ended.out)
        assert {row["url"]: (row["testbot"], row["googlebot"]) for row in rows} == answers
        run(*arguments, cwd=project, stdin=f"{a.url('/a')}\n{b.url('/a')}".encode())
        assert [site.paths() for site in (a, b, ill)] == [["/robots.txt"]] * 3
    assert "5 URLs in" in ended.err
    assert (
        "2 lines left out: not a whole URL (https://host/path), or over 16,384 characters: nonsense"
        in ended.err
    )


def test_urls_not_in_utf_8_are_judged_by_bytes_and_too_long_ones_left_out(files: Path) -> None:
    (files / "latin.txt").write_bytes(b"user-agent: *\ndisallow: /caf\xe9\n")
    longest = b"https://a.example/".ljust(16_384, b"d")
    urls = (b"https://a.example/caf\xe9/x", b"https://a.example/caf%C3%A9", longest, longest + b"d")
    ended = audit(files, "--robots latin.txt --as a --format csv", *urls)
    answers = [(row["url"], row["a"]) for row in table_of(ended)]
    utf_8 = ("https://a.example/caf%C3%A9", "1")
    assert answers == [("https://a.example/caf%E9/x", "0"), utf_8, (longest.decode(), "1")]
    assert f"{LEFT_OUT}\n" in ended.err


def test_summary_names_the_most_frequent_rules_and_says_how_many_are_left(files: Path) -> None:
    letters = "abcdefghijklmnopqrstu"
    rules = "".join(f"disallow: /{letter}\n" for letter in letters)
    (files / "many.txt").write_text(f"user-agent: *\n{rules}")
    urls = [f"https://example.com/{path}" for path in ["b", *letters, *("/1" * 3)]]
    ended = audit(files, "--robots many.txt", *urls)
    rows = re.findall(r"Disallow: /(\w) \(line", ended.err)
    assert rows == [*"ba", *letters[2:20]], "the most frequent one first"
    assert "no rule matches" not in ended.err, "what is blocked comes first"
    assert ended.err.endswith("... and 2 other rules\n")
    assert audit(files, "--robots many.txt", *urls[1:21]).err.endswith("Disallow: /t (line 21)\n")


@needs_posix
def test_ctrl_c_ends_an_audit_by_host_and_tells_what_came_of_it_so_far(project: Path) -> None:
    with Site({"/robots.txt": OLD}) as site:
        urls = (site.url(f"/private/{number}\n") for number in range(300_000))
        (project / "urls.txt").write_text("".join(urls))
        command = [*COMMAND, "audit", "--urls", "urls.txt", "--as", "mybot"]
        with start(command, project, cli.environment()) as process:
            assert process.stdout is not None
            assert process.stdout.readline()  # it is at work, and waits for its reader
            process.send_signal(signal.SIGINT)
            out, err = output(process)
    assert process.returncode == 130
    assert "Interrupted. So far:" in err
    assert out.count("\n") < 150_000


@needs_posix
@table("number, status", (signal.SIGINT, 130), (signal.SIGTERM, 143))
def test_signals_end_the_waiting_for_input(project: Path, number: int, status: int) -> None:
    command = [*COMMAND, "audit", "--urls", "-"]
    with (
        Site({"/robots.txt": OLD}) as site,
        start(command, project, cli.environment(), stdin=subprocess.PIPE) as process,
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
    command = shlex.join([*COMMAND, "audit", "--urls", "many.txt", "--robots", "old.txt"])
    shell = ["bash", "-c", f"{command} | head -n 3; exit ${{PIPESTATUS[0]}}"]
    ended = run(cwd=files, command=shell)
    assert (ended.status, ended.out.count("\n"), ended.err) == (141, 3, "")


def test_full_disk_is_one_line_and_status_2(files: Path) -> None:
    words = "audit --urls urls.txt --robots old.txt".split()
    ended = run(*words, cwd=files, command=TO_FILE, env={"OUT": "/dev/full"})
    assert ended.status == 2
    assert "error: the output cannot be written" in ended.err.splitlines()[-1]


def test_closed_stream_is_one_line_and_status_2(files: Path) -> None:
    lint = shlex.join([*COMMAND, "lint"])
    for words, said in (
        ("old.txt >&-", "error: the output cannot be written: it is closed\n"),
        ("old.txt >&- 2>&-", ""),
        ("- <&-", "error: standard input is closed\n"),
        ("no.txt 2>&-", ""),
    ):
        ended = run(cwd=files, command=["bash", "-c", f"{lint} {words}"])
        assert (ended.status, ended.out, ended.err[-len(said) :]) == (2, "", said), words


def test_progress_is_shown_on_a_terminal_unless_rows_show_it(files: Path) -> None:
    (files / "many.txt").write_text("https://example.com/a\n" * 50_000)
    words = "audit --robots old.txt --as a --urls".split()
    command = ["env", "OUT=rows.txt", *TO_FILE]
    ended = cli.run_on_terminal(*words, "many.txt", cwd=files, command=command)
    assert ended.status == 0
    shown = cli.without_colour(ended.out)
    assert re.search(r"Auditing: [0-9,]+ URLs\r", shown)
    assert "50,000 URLs in" in shown
    rows = (files / "rows.txt").read_text().splitlines()
    assert len(rows) == 50_001
    assert {row.split()[0] for row in rows} == {"ANSWER", "disallowed"}
    ended = cli.run_on_terminal(*words, "urls.txt", cwd=files)
    assert "Auditing" not in ended.out
    assert cli.without_colour(ended.out).splitlines()[0].startswith("ANSWER  ")


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
        words = "audit --urls - --robots old.txt --format jsonl".split()
        ended = run(*words, cwd=files, command=[sys.executable, "-c", script], stdin=urls.encode())
        peaks.append(int(ended.err.split()[-2]))
    assert peaks[0] > 1000
    assert peaks[1] - peaks[0] < 8000


def test_csv_and_json_lines_are_read_and_other_columns_stay_beside_the_answers(files: Path) -> None:
    lines = [
        {"id": 1, "url": URLS[0], "more": {"a": [1, None]}},
        {"id": None, "url": None},
        {"url": URLS[5], "more": "caf\u00e9"},
    ]
    text = "\n".join(["\ufeff" + json.dumps(lines[0]), "", *map(json.dumps, lines[1:])])
    (files / "urls.jsonl").write_text(text, encoding="utf-8")
    words = "--urls urls.jsonl --robots old.txt --as a --format"
    ended = audit(files, f"{words} jsonl")
    assert jsonl(ended.out) == [
        {"url": URLS[0], "id": 1, "more": {"a": [1, None]}, "a": 0},
        {"url": URLS[5], "more": "caf\u00e9", "a": 1},
    ]
    assert f"{LEFT_OUT}\n" in ended.err
    rows = audit(files, f"{words} csv").out
    cell = '"{""a"": [1, null]}"'
    assert rows == f"id,url,more,a\n1,{URLS[0]},{cell},0\n,{URLS[5]},caf\u00e9,1\n"
    (files / "urls.csv").write_text(f"\ufeff{rows}", encoding="utf-8")
    again = table_of(audit(files, "--urls urls.csv --robots old.txt --as b --format csv"))
    assert [row["a"] + row["b"] for row in again] == ["00", "11"]


def test_key_that_only_a_later_line_has_is_kept_or_said_to_have_no_column(files: Path) -> None:
    lines = [{"url": URLS[0]}, {"title": "kept", "url": URLS[5]}]
    (files / "urls.jsonl").write_text("\n".join(map(json.dumps, lines)))
    words = "--urls urls.jsonl --robots old.txt"
    ended = audit(files, f"{words} --as a --format jsonl")
    assert jsonl(ended.out) == [{"url": URLS[0], "a": 0}, {"title": "kept", "url": URLS[5], "a": 1}]
    assert audit(files, words).status == 0
    for name, form in (("a", "csv"), ("title", "jsonl")):
        ended = audit(files, f"{words} --as {name} --format {form}")
        assert ended.status == 2
        said = f"error: --format {form} has no column for the key 'title' of {URLS[5]}\n"
        assert ended.err.endswith(said)


LONG = "x" * 2_000_000


@table(
    "name, text, said",
    ("u.csv", "link\nx", "u.csv must have one column 'url'; its columns are 'link'"),
    ("u.csv", "url,url\nx,x", "u.csv must have one column 'url'; its columns are 'url', "),
    ("u.csv", "url,a,a\n", "u.csv must have one column 'a'; its columns are 'url', 'a', 'a'"),
    ("u.csv", "", "u.csv: the file is empty; its first line names the columns"),
    ("u.csv", "\ufeff", "u.csv: the file is empty; its first line names the columns"),
    ("u.csv", "id,url\n1,x\n2", "u.csv: line 3 has 1 columns, not 2"),
    ("u.csv", "url\rhttp://a/\r", "u.csv: new-line character seen in unquoted field"),
    ("u.csv", f"url\n{'x' * 200_000}", "u.csv: field larger than field limit"),
    ("u.csv", f"url\n{LONG}", "u.csv: a line is longer than 1,048,576 bytes"),
    ("u.txt", f"{LONG}\nhttp://a/", "u.txt: a line is longer than 1,048,576 bytes"),
    ("u.jsonl", "http://a/", "u.jsonl: line 1 is not a JSON object"),
    ("u.jsonl", '{"url": "http://a/"}\n[1]\n', "u.jsonl: line 2 is not a JSON object"),
    ("u.jsonl", "[" * 100_000, "u.jsonl: line 1 is not a JSON object"),
    ("u.jsonl", '{"link": 1}', "u.jsonl must have one column 'url'; its columns are 'link'"),
    ("u.jsonl", f'{{"url": "{LONG}"}}', "u.jsonl: a line is longer than 1,048,576"),
    ("u.jsonl", '{"url": 7}', "u.jsonl: none of its lines is a URL"),
    ("u.txt", b"\xff\xfeh\0t\0", "u.txt: the file is UTF-16; save it as UTF-8"),
    pytest.param("/proc/self/mem", "", "mem: Input/output error\n", marks=needs_proc),
)
def test_unreadable_list_is_one_line(name: str, text: str | bytes, said: str, files: Path) -> None:
    if name.startswith("u"):
        (files / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    ended = audit(files, f"--urls {name} --robots none.txt")
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_json_lines_have_no_nan_and_csv_no_control_characters_on_a_terminal(files: Path) -> None:
    row = '{"url": "https://a.example/", "n": [NaN, -Infinity, 1e400], "t": "a\\u001b[31m\\nb"}'
    (files / "u.jsonl").write_text(row)
    words = "--urls u.jsonl --robots none.txt --as a --format"
    assert audit(files, f"{words} jsonl").out == (
        '{"url": "https://a.example/", "n": [null, null, null], "t": "a\\u001b[31m\\nb", "a": 1}\n'
    )
    rows = 'url,n,t,a\nhttps://a.example/,"[null, null, null]",a\\x1b[31m\\nb,1\n'
    ended = cli.run_on_terminal("audit", *f"{words} csv".split(), cwd=files)
    assert cli.without_colour(ended.out).replace("\r", "").startswith(rows)


def test_csv_has_cells_as_they_came(files: Path) -> None:
    cells = ["two\nlines", "two\r\nlines", "a\rb", "a\tb", "\u202eü", "\x1b[31m", '"', ""]
    with (files / "urls.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [("url", "a\nnote"), *((URLS[0], cell) for cell in cells)]
        csv.writer(file).writerows(rows)
    command = [*COMMAND, *"audit --urls urls.csv --robots none.txt --as a --format csv".split()]
    out = subprocess.run(command, cwd=files, stdout=subprocess.PIPE, check=True).stdout
    with io.StringIO(out.decode(), newline="") as file:
        assert [row["a\nnote"] for row in csv.DictReader(file)] == cells


@table("form, encoding", ("csv", "cp1252"), ("csv", "utf-16"), ("jsonl", "utf-16"))
def test_data_is_utf_8_with_its_line_ends_on_every_system(
    form: str, encoding: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "u.csv").write_bytes('url,note\nhttp://a.example/caf\xe9/商,"a\nb"\n'.encode())
    # Windows encodes redirected output in this way, and ends its lines with \r\n.
    stream = io.TextIOWrapper(io.BytesIO(), encoding, newline="\r\n")
    monkeypatch.setattr(sys, "stdout", stream)
    words = f"audit --urls {files}/u.csv --robots {files}/none.txt --as a --format {form}"
    assert main(words.split()) == 0
    written = stream.buffer.getvalue().decode()
    wanted = 'url,note,a\nhttp://a.example/caf\xe9/商,"a\nb",1\n'
    if form == "jsonl":
        row = {"url": "http://a.example/caf\xe9/商", "note": "a\nb", "a": 1}
        wanted = json.dumps(row) + "\n"
    assert written == wanted


@pytest.mark.parametrize("name", ["u.txt", "u.csv", "u.jsonl"])
def test_list_is_read_in_pieces(name: str, tmp_path: Path) -> None:
    urls = [f"https://a.example/{number:06}" for number in range(40_000)]
    objects = [json.dumps({"url": url}) for url in urls]
    lines = {"u.txt": urls, "u.csv": ["url", *urls], "u.jsonl": objects}[name]
    (tmp_path / name).write_text("\n".join(lines))
    read = 0
    with (tmp_path / name).open("rb") as file:
        for piece in UrlList(file, name).pieces():
            read += len(piece)
            assert len(piece) < 12_000
            assert file.tell() <= 300_000 + 40 * read
    assert read == 40_000


@table(
    "name, come, paths",
    row("empty-line", "-", b"http://a/1\n\n", ["1"]),
    row("half-a-line", "-", b"http://a/1\nhttp://a/2\nhtt", ["1", "2"]),
    row("csv", "u.csv", b"\n\nurl\nhttp://a/1\n\n", ["1"]),
    row("json-lines", "u.jsonl", b'{"url": "http://a/1"}\n \n', ["1"]),
)
def test_lines_that_have_come_are_answered_first(name: str, come: bytes, paths: list[str]) -> None:
    class Slow:
        parts = iter((come,))

        def read1(self, size: int) -> bytes:
            return next(self.parts)

    piece = next(UrlList(Slow(), name).pieces())
    assert [row["url"] for row in piece] == [f"http://a/{path}" for path in paths]


def test_wall_is_told_from_the_site_and_an_unreachable_site_is_no_success(project: Path) -> None:
    challenge = Reply(403, b"", {"cf-mitigated": "challenge"})
    with Site({"*": challenge}) as walled, Site({"*": Reply(503)}) as ill:
        urls = "\n".join([walled.url("/x"), ill.url("/x")]).encode()
        words = "audit --urls - --as a --fail-on disallowed".split()
        ended = run(*words, cwd=project, stdin=urls)
    assert ended.status == 1
    assert "HTTP 403 of Cloudflare's challenge, by its header cf-mitigated" in ended.out
    assert "unreachable  a        robots.txt unreachable: HTTP 503" in ended.out
