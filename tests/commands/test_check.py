"""`scrapy robots check`: the verdict, the line in place, the group and the robots.txt it rests on, the exit status."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from ..support.command import COMMAND, environment, project, run, run_here, run_on_terminal, without_colour
from ..support.processes import output, sleeps, start
from ..support.reactors import as_arguments, ways_to_run
from ..support.until import block_until
from ..support.web import Reply, Site, redirect

if TYPE_CHECKING:
    from pathlib import Path
    from socket import socket

__all__ = ["project"]

ROBOTS_TXT = """\
User-agent: googlebot
Disallow: /images/

User-agent: testbot/2.0\t# any version
Disallow: /cart/
Allow: /cart/help
Disallow: /menü

User-agent: *
Disallow: /
"""


@pytest.mark.parametrize(
    ("url", "agent", "status", "said"),
    [
        pytest.param("/cart/help", "testbot", 0, "6 | Allow: /cart/help", id="allowed"),
        pytest.param("/cart/1", "testbot", 1, "4 | User-agent: testbot/2.0 # any version\n", id="tab-in-the-line"),
        pytest.param("/men%c3%bc", "testbot", 1, "7 | Disallow: /menü", id="not-ascii"),
        pytest.param(
            "/images/a.png", "Googlebot-Image", 1, '"googlebot" (line 1): the fall-back, since no', id="fall-back"
        ),
        pytest.param("/x", "stranger", 1, '"*" (line 9): no group names stranger', id="star"),
        pytest.param("/images/", "*", 1, "= crawler: *; it heeds the group of *\n", id="none-that-a-group-names"),
        pytest.param("https://a.example/robots.txt", "stranger", 0, "a robots.txt itself is never", id="S8.10-itself"),
        pytest.param("/x", "AdsBot-Google", 0, "no group names AdsBot-Google, and it ignores *", id="ignores-star"),
        pytest.param("/x", "Google-Safety", 0, "this crawler does not heed robots.txt", id="ignores-robots-txt"),
        pytest.param(
            "/y", "Mozilla/5.0 (compatible; TestBot/3; +http://x)", 0, "TestBot, from --as", id="whole-header"
        ),
    ],
)
def test_group_and_reason_are_named(tmp_path: Path, url: str, agent: str, status: int, said: str) -> None:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    ended = run_here("check", url, "--as", agent, "--file", "robots.txt", cwd=tmp_path)
    assert (ended.status, ended.err) == (status, "")
    assert said in ended.out


def test_cache_is_asked_first_and_fresh_asks_again(project: Path) -> None:
    with Site({"/robots.txt": ROBOTS_TXT}) as site, Site({"*": Reply(503, headers={"Retry-After": "600"})}) as ill:
        urls = [site.url("/cart/1"), site.url("/cart/help"), site.url("/robots.txt"), ill.url("/x")]
        first = run("check", *urls, cwd=project)
        assert first.status == 2
        assert 'crawler: testbot, from USER_AGENT "testbot/1.0 (+https://example.com/bot)"' in first.out
        assert "HTTP 200" in first.out
        assert (first.out.count("fetched: just now"), first.out.count("tried: just now")) == (3, 1)
        assert "a robots.txt itself is never disallowed" in first.out
        assert "storage" not in first.out
        second = run("check", *urls, cwd=project)
        blocks = [re.sub("(fetched|fresh): .*", "", ended.out).split("\n\n")[:3] for ended in (first, second)]
        assert blocks[0] == blocks[1]
        assert second.out.count("ago, from the storage (sqlite)") == 3
        assert re.search(r"tried: unreachable for \d+ (s|min), from the storage \(sqlite\)", second.out)
        assert [each.paths() for each in (site, ill)] == [["/robots.txt"]] * 2
        site.pages["/robots.txt"] = b"user-agent: *\ndisallow:"
        no_cache = ("-s", "HTTPCACHE_ENABLED=True", "-s", "HTTPCACHE_IGNORE_MISSING=True")  # of Scrapy's
        third = run("check", "--fresh", "--json", *urls[:2], "--as", "testbot,otherbot", *no_cache, cwd=project)
        assert third.status == 0
        found = [json.loads(line) for line in third.out.splitlines()]
        assert [(row["allowed"], row["robots_txt"]["from_cache"]) for row in found] == [(True, False)] * 4
        assert site.paths() == ["/robots.txt"] * 2


def test_each_crawler_that_is_named_is_answered_for_each_url(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    who = ("--as", "testbot,Googlebot", "--as", "Mozilla/5.0 (compatible, like; TestBot/3)", "--as", "testbot")
    ended = run_here("check", "/cart/1", "/images/", *who, "--file", "robots.txt", "--json", cwd=tmp_path)
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [(row["url"], row["crawler"]["name"], row["allowed"]) for row in rows] == [
        ("/cart/1", "testbot", False),
        ("/cart/1", "Googlebot", True),
        ("/cart/1", "TestBot", False),
        ("/images/", "testbot", True),
        ("/images/", "Googlebot", False),
        ("/images/", "TestBot", True),
    ]


def test_a_url_is_judged_as_typed_in_the_c_locale(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_bytes(b"user-agent: *\ndisallow: /caf\xc3\xa9\n")
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0"}
    ended = run("check", "/café", "https://example.com/café/x", "--file", "robots.txt", cwd=tmp_path, env=locale)
    assert ended.status == 1
    assert ended.out.count("disallowed: ") == 2


def test_redirects_status_and_outcome_are_shown_as_a_crawl_sees_them(tmp_path: Path) -> None:
    with (
        Site({"/robots.txt": ROBOTS_TXT}) as end,
        Site({"/robots.txt": redirect(end.url("/robots.txt"), 301)}) as start,
        Site({"*": Reply(404, b"user-agent: *\ndisallow: /")}) as none,
        Site({"/robots.txt": Reply(503)}) as ill,
        Site({"*": Reply(403, headers={"cf-mitigated": "challenge"})}) as wall,
        Site({}) as gone,
        ThreadingHTTPServer(
            ("127.0.0.1", 0), BaseHTTPRequestHandler
        ) as plain,  # it answers whatever is no HTTP at once
    ):
        gone.__exit__(None, None, None)
        threading.Thread(target=plain.serve_forever, args=(0.02,), daemon=True).start()
        urls = [start.url("/x"), none.url("/x"), ill.url("/x"), gone.url("/x"), ill.url("/robots.txt"), wall.url("/x")]
        ended = run("check", *urls, f"https://127.0.0.1:{plain.server_port}", cwd=tmp_path)
        plain.shutdown()
        assert (ended.status, ended.err) == (2, "")
        assert f"redirected: 301 {start.url('/robots.txt')}, then 200 {end.url('/robots.txt')}" in ended.out
        assert f"disallowed: {urls[0]}\n --> {start.url('/robots.txt')}:10\n" in ended.out
        assert f"allowed: {urls[1]}\n" in ended.out
        assert "full allow, since there is no robots.txt: HTTP 404" in ended.out
        assert f"disallowed for now: {urls[2]}\n" in ended.out
        assert "full disallow for now: robots.txt unreachable: HTTP 503" in ended.out
        assert f"disallowed for now: {urls[3]}\n" in ended.out
        assert "robots.txt unreachable: connection refused" in ended.out
        assert f"allowed: {urls[4]}\n" in ended.out
        assert "full allow, since a wall answered, not the site: HTTP 403 of Cloudflare's challenge" in ended.out
        assert f"; if the server speaks no TLS, try http://127.0.0.1:{plain.server_port}\n" in ended.out
    assert not list(tmp_path.iterdir()), "outside a project, nothing is left behind"


@pytest.mark.slow
@pytest.mark.parametrize("way", ways_to_run("select", "reactorless"))
def test_answers_are_the_same_under_every_reactor_and_without_one(way: dict[str, object], tmp_path: Path) -> None:
    with Site({"/robots.txt": ROBOTS_TXT}) as end, Site({"/robots.txt": redirect(end.url("/robots.txt"))}) as start:
        ended = run("check", start.url("/cart"), *as_arguments(way), "--nolog", cwd=tmp_path)
        assert (ended.status, ended.err) == (1, "")
        assert f"then 200 {end.url('/robots.txt')}" in ended.out


@pytest.mark.parametrize(
    ("arguments", "body", "status", "note"),
    [
        ((), bytes(range(256)), 0, "-: this is not UTF-8 text: no line of it is understood, so all is allowed"),
        ((), b"<!DOCTYPE html>", 0, "-: this is a web page, not a robots.txt: it has no rules, so all is allowed"),
        ((), b"Forbidden", 0, "-: this is no robots.txt: no line of it is understood, so all is allowed"),
        (("-s", "GBOT_ROBOTS_STRIKT=1"), b"", 0, "GBOT_ROBOTS_STRIKT is no setting; did you mean GBOT_ROBOTS_STRICT?"),
        (
            ("--as", "Googlebott"),
            b"user-agent: *\ndisallow: /",
            1,
            '"Googlebott" is no crawler of Google\'s; did you mean Googlebot?',
        ),
    ],
    ids=["binary", "web-page", "text", "setting", "crawler"],
)
def test_what_is_probably_a_mistake_is_noted_and_answered(
    arguments: tuple[str, ...], body: bytes, status: int, note: str, tmp_path: Path
) -> None:
    ended = run_here("check", "https://example.com/x", "--file", "-", *arguments, cwd=tmp_path, stdin=body)
    assert (ended.status, ended.err) == (status, f"note: {note}\n")
    assert "https://example.com/x\n --> -" in ended.out


HOSTILE = b"user-agent: *\x1b]0;title\x07 \xff\ndisallow: /\x1b[31m\xc2\x9b31m\xe2\x80\xae*\r\nsitemap: \x1b[2J\n"


def test_no_control_character_reaches_the_output(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_bytes(HOSTILE)
    url = "https://example.com/\x1b[31m%c2%9b31m\u202ex"
    audit = ("audit", "--urls", "-", "--robots", "robots.txt")
    runs = [("check", url, "--file", "robots.txt"), ("lint", "robots.txt")]
    runs += [audit, (*audit, "--format", "csv"), (*audit, "--format", "jsonl")]
    for arguments in runs:
        ended = run_here(*arguments, cwd=tmp_path, stdin=url.encode())
        assert ended.out
        assert all(line.isprintable() for line in (ended.out + ended.err).split("\n"))


def test_colour_is_for_terminals_and_says_nothing_that_words_do_not(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    arguments = ("check", "https://example.com/cart/1", "--as", "testbot", "--file", "robots.txt")
    plain = run_here(*arguments, cwd=tmp_path)
    coloured = run_on_terminal(*arguments, cwd=tmp_path)
    assert "\x1b[" in coloured.out
    assert without_colour(coloured.out) == plain.out
    assert coloured.status == plain.status == 1


@pytest.mark.slow
def test_without_rich_a_terminal_gets_plain_text(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    script = (
        "import sys; sys.modules['rich'] = None; import scrapy_gbot_robots.commands.command as c; sys.exit(c.main())"
    )
    arguments = ("check", "https://example.com/cart/1", "--as", "testbot", "--file", "robots.txt")
    ended = run_on_terminal(*arguments, cwd=tmp_path, command=[sys.executable, "-c", script])
    assert ended.out == run_here(*arguments, cwd=tmp_path).out


def test_ctrl_c_ends_at_once_and_quietly(project: Path) -> None:
    def hang(connection: socket) -> None:
        time.sleep(5)

    with Site({"/robots.txt": hang}) as site:
        with start([*COMMAND, "check", site.url("/x")], project, environment()) as process:
            block_until(lambda: site.asked)
            time.sleep(0.3)  # until the request is well under way
            process.send_signal(signal.SIGINT)
            assert output(process) == ("", "")
        assert process.returncode == 130


def test_ctrl_c_ends_the_waiting_for_input(project: Path) -> None:
    command = [*COMMAND, "audit", "--urls", "-"]
    with Site({"/robots.txt": ROBOTS_TXT}) as site:
        with start(command, project, environment(), stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(site.url("/x\n") * 500)  # more than the buffer of the output takes
            process.stdin.flush()
            out = process.stdout.readline() + process.stdout.readline()
            block_until(lambda: sleeps(process))  # it waits for more
            process.send_signal(signal.SIGINT)
            _, err = output(process)
            assert process.returncode == 130
        assert site.url("/x") in out
        assert err.startswith("Interrupted. So far:\n\n500 URLs in")


def test_sigterm_ends_quietly(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with start([*COMMAND, "lint", "fifo"], tmp_path, environment()) as process:
        block_until(lambda: _opens(tmp_path / "fifo"), despite=(OSError,))
        block_until(lambda: sleeps(process))  # it is reading
        process.send_signal(signal.SIGTERM)
        assert output(process) == ("", "")
    assert process.returncode == 143


def test_other_threads_than_the_main_one_may_run_it_though_signals_are_not_theirs(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    script = (
        "import sys; from concurrent.futures import ThreadPoolExecutor as P; from scrapy_gbot_robots.commands.command import main; "
        "sys.exit(P().submit(main, sys.argv[1:]).result())"
    )
    arguments = ("audit", "--urls", "-", "--robots", "robots.txt", "--format", "csv", "--as", "testbot")
    ended = run(*arguments, cwd=tmp_path, command=[sys.executable, "-c", script], stdin=b"http://a.example/cart/\n")
    assert (ended.status, ended.out) == (0, "url,testbot\nhttp://a.example/cart/,0\n"), ended.err


def _opens(fifo: Path) -> bool:
    os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)  # raises OSError while nobody reads
    return True


def test_a_reader_that_has_gone_is_no_traceback(tmp_path: Path) -> None:
    script = f"{shlex.join([*COMMAND, '-h'])} | true; exit ${{PIPESTATUS[0]}}"
    ended = run(cwd=tmp_path, command=["bash", "-c", script])
    assert (ended.status in {0, 141}, ended.err) == (True, "")


def test_entry_point_is_a_scrapy_command(project: Path) -> None:
    scrapy = [sys.executable, "-m", "scrapy"]
    if "\n  robots " not in run(cwd=project, command=scrapy).out:
        pytest.skip("the package is not installed, so Scrapy does not know its entry point")
    (project / "robots.txt").write_text(ROBOTS_TXT)
    ended = run("robots", "check", "/cart/1", "--file", "robots.txt", cwd=project, command=scrapy)
    assert ended.status == 1
    assert "testbot, from USER_AGENT" in ended.out
