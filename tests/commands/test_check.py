"""`scrapy robots check`: the verdict, the line in place, what it rests on, the exit status; `agents`."""

import json
import re
import signal
import sys
import time
from contextlib import closing
from importlib.metadata import entry_points
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from scrapy_gbot_robots.core.known_crawlers import KNOWN_CRAWLERS, PURPOSES
from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind, Outage
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support import command as cli
from ..support.command import COMMAND, jsonl, project, run, run_here
from ..support.processes import output, start
from ..support.reactors import as_arguments, ways_to_run
from ..support.rows import row, table
from ..support.systems import needs_posix
from ..support.until import block_until
from ..support.web import Reply, Site, redirect

__all__ = ["project"]

ROBOTS_TXT = """\
User-agent: googlebot
Disallow: /images/

User-agent: TestBot/2.0\t# any version
Disallow: /cart/
Allow: /cart/help
Disallow: /menü

User-agent: *
Disallow: /
"""


@table(
    "url, user_agent, status, said",
    ("/cart/help", "testbot", 0, "6 | Allow: /cart/help"),
    ("/cart/1", "testbot", 1, "4 | User-agent: TestBot/2.0 # any version\n"),  # a tab
    ("/men%c3%bc", "testbot", 1, "7 | Disallow: /menü"),
    ("/x", "stranger", 1, '"*" (line 9): no group names stranger'),
    ("/cart/1", "testBOT", 1, '"TestBot" (line 4): it names the crawler'),
    ("/images/", "*", 1, "= crawler: *\n"),
    ("https://a.example/robots.txt", "stranger", 0, "a robots.txt itself is never"),  # S8.10
    ("/y", "Mozilla/5.0 (compatible; TestBot/3; +http://x)", 0, "TestBot, from --as"),
)
def test_reasons_are_given(
    tmp_path: Path, url: str, user_agent: str, status: int, said: str
) -> None:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    ended = run_here("check", url, "--as", user_agent, "--robots", "robots.txt", cwd=tmp_path)
    assert (ended.status, ended.err) == (status, "")
    assert said in ended.out


def test_cache_is_asked_first_and_fresh_asks_again(project: Path) -> None:
    with (
        Site({"/robots.txt": ROBOTS_TXT}) as site,
        Site({"*": Reply(503, headers={"Retry-After": "600"})}) as ill,
    ):
        urls = [site.url("/cart/1"), site.url("/cart/help"), site.url("/robots.txt"), ill.url("/x")]
        first = run("check", *urls, cwd=project)
        assert first.status == 2
        source = 'USER_AGENT "testbot/1.0 (+https://example.com/bot)"'
        assert f"crawler: testbot, from {source}" in first.out
        assert len(re.findall(r"fetched: \d+ s ago", first.out)) == 3
        assert "a robots.txt itself is never disallowed" in first.out
        assert "storage" not in first.out
        second = run("check", *urls, cwd=project)
        assert second.out.count("robots.txt: rules: HTTP 200, from the storage (sqlite)\n") == 3
        assert "unreachable: HTTP 503, from the storage (sqlite)\n" in second.out
        varies = "fetched: .*|a crawl fetches it again: .*|, from the storage.*"
        assert re.sub(varies, "", second.out) == re.sub(varies, "", first.out)
        assert [each.paths() for each in (site, ill)] == [["/robots.txt"]] * 2
        site.pages["/robots.txt"] = b"user-agent: *\ndisallow:"
        words = "check --fresh --json --as testbot,otherbot"
        words += " -s HTTPCACHE_ENABLED=True -s HTTPCACHE_IGNORE_MISSING=True"  # Scrapy's cache
        third = run(*words.split(), *urls[:2], cwd=project)
        assert third.status == 0
        answers = [(row["allowed"], row["robots_txt"]["storage"]) for row in jsonl(third.out)]
        assert answers == [(True, None)] * 4
        assert site.paths() == ["/robots.txt"] * 2


def test_stored_answer_after_a_fresh_fetch_that_failed_is_called_so(project: Path) -> None:
    with Site({"/robots.txt": ROBOTS_TXT}) as site:
        url = site.url("/cart/1")
        run("check", url, cwd=project)
        site.pages["/robots.txt"] = Reply(503, headers={"Retry-After": "600"})
        ended = run("check", url, "--fresh", cwd=project)
        (facts,) = jsonl(run("check", url, "--fresh", "--json", cwd=project).out)
    assert ended.status == 1
    assert (
        "  = robots.txt: rules: HTTP 200, from the storage (sqlite)\n"
        "  = note: the last fetch failed: HTTP 503; this answer still counts\n"
    ) in ended.out
    assert facts["robots_txt"]["storage"] == "sqlite"
    assert facts["robots_txt"]["outage"].items() >= {"failures": 2, "why": "HTTP 503"}.items()


def test_stored_copy_that_a_smaller_limit_has_cut_is_fetched_again(project: Path) -> None:
    with Site({"/robots.txt": b"user-agent: *\n# 30 bytes long\ndisallow: /\n"}) as site:
        limits = ("-s", "GBOT_ROBOTS_MAX_BYTES=30"), ("-s", "GBOT_ROBOTS_MAX_BYTES=1000")
        ended = [
            run("check", site.url("/x"), *limit, cwd=project) for limit in limits for _ in "ab"
        ]
        asked = site.paths()
    assert [each.status for each in ended] == [0, 0, 1, 1]
    assert asked == ["/robots.txt"] * 2


def test_programs_get_all_that_is_known_of_each_robots_txt(project: Path) -> None:
    with (
        Site({"/robots.txt": ROBOTS_TXT}) as end,
        Site({"/robots.txt": redirect(end.url("/robots.txt"))}) as start,
        Site({"*": Reply(503, headers={"Retry-After": "600"})}) as ill,
    ):
        urls, began = [start.url("/x"), ill.url("/x")], time.time()
        asked = ("check", "--json", *urls, "-s", "GBOT_ROBOTS_MAX_BYTES=100")
        moved, down = (row["robots_txt"] for row in jsonl(run(*asked, cwd=project).out))
        stored = jsonl(run(*asked, cwd=project).out)[0]["robots_txt"]
    times = moved["copy"]["fetched_at"], down["outage"]["since"]
    assert began <= min(times) <= max(times) <= time.time()
    assert 86_000 < moved.pop("fresh_secs") <= 86_400
    assert 0 < down.pop("fresh_secs") <= 600
    copy, outage = moved.pop("copy"), down.pop("outage")
    assert moved == {
        "url": start.url("/robots.txt"),
        "state": "rules",
        "temporary": False,
        "why": "HTTP 200",
        "storage": None,
        "outage": None,
    }
    served = {"kind": "rules", "status": 200, "url": end.url("/robots.txt")}
    assert copy.items() >= {**served, "body": 100, "cut": True}.items()
    assert down == {
        "url": ill.url("/robots.txt"),
        "state": "full disallow",
        "temporary": True,
        "why": "robots.txt unreachable: HTTP 503",
        "storage": None,
        "copy": None,
    }
    assert outage.items() >= {"failures": 1, "status": 503, "why": "HTTP 503"}.items()
    assert stored["storage"] == "sqlite"


def test_log_of_a_crawl_is_shown_only_on_demand(tmp_path: Path) -> None:
    with Site({"*": b""}) as site:
        plain = run("check", site.url("/x"), cwd=tmp_path)
        with_log = run("check", site.url("/x"), "-s", "LOG_LEVEL=DEBUG", cwd=tmp_path)
    assert (plain.err, "DEBUG: " in with_log.err) == ("", True)
    assert plain.out == with_log.out


def test_old_answer_is_asked_for_again_and_counts_if_the_server_fails(project: Path) -> None:
    now, then, body = time.time(), time.time() - 40 * 86_400, b"user-agent: *\ndisallow: /no"
    with Site({"*": Reply(503)}) as ill:
        url = ill.url("/robots.txt")
        path = project / ".scrapy" / "gbot_robots" / "robots.sqlite"
        path.parent.mkdir(parents=True)
        with closing(SqliteStorage(path)) as storage:
            old = Copy(Kind.RULES, 200, url, body, False, "HTTP 200", then, then + 86_400)
            outage = Outage(now - 31 * 86_400, 9, 503, "HTTP 503", now - 86_400)
            storage.put(ill.url(""), Entry(old, outage))
        for page, status in (("/yes", 0), ("/no", 1)):
            ended = run("check", ill.url(page), cwd=project)
            assert ended.status == status
            assert "the last answer counts" in ended.out
        assert ill.paths() == ["/robots.txt"]  # the outage is stored, too


def test_each_crawler_that_is_named_is_answered_for_each_url(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    words = "check /cart/1 /images/ --robots robots.txt --json --as testbot,Googlebot --as testbot"
    header = "Mozilla/5.0 (compatible, like; TestBot/3)"
    rows = jsonl(run_here(*words.split(), "--as", header, cwd=tmp_path).out)
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
    words = "check /café https://example.com/café/x --robots robots.txt"
    ended = run(*words.split(), cwd=tmp_path, env=locale)
    assert (ended.status, ended.out.count("disallowed: ")) == (1, 2)


def test_redirects_status_and_outcome_are_shown_as_a_crawl_sees_them(tmp_path: Path) -> None:
    with (
        Site({"/robots.txt": ROBOTS_TXT}) as end,
        Site({"/robots.txt": redirect(end.url("/robots.txt"), 301)}) as start,
        Site({"*": Reply(404, b"user-agent: *\ndisallow: /")}) as none,
        Site({"/robots.txt": Reply(503)}) as ill,
        Site({"*": Reply(403, headers={"cf-mitigated": "challenge"})}) as wall,
        Site({}) as gone,
    ):
        gone.__exit__(None, None, None)
        urls = [site.url("/x") for site in (start, none, ill, gone, wall)]
        urls.insert(4, ill.url("/robots.txt"))
        ended = run("check", *urls, cwd=tmp_path)
        assert (ended.status, ended.err) == (2, "")
        for said in (
            f"disallowed: {urls[0]}\n --> {start.url('/robots.txt')}:10\n",
            f"served by: {end.url('/robots.txt')}\n",
            f"allowed: {urls[1]}\n",
            "robots.txt: full allow: HTTP 404\n",
            f"disallowed for now: {urls[2]}\n",
            "robots.txt: full disallow for now: robots.txt unreachable: HTTP 503\n",
            f"disallowed for now: {urls[3]}\n",
            "robots.txt unreachable: connection refused",
            f"allowed: {urls[4]}\n",
            "robots.txt: full allow: HTTP 403 of Cloudflare's challenge",
        ):
            assert said in ended.out
    assert not list(tmp_path.iterdir()), "outside a project, nothing is left behind"


@pytest.mark.slow
@pytest.mark.parametrize("way", ways_to_run("select", "reactorless"))
def test_answers_are_the_same_under_every_reactor(way: dict[str, object], tmp_path: Path) -> None:
    with (
        Site({"/robots.txt": ROBOTS_TXT}) as end,
        Site({"/robots.txt": redirect(end.url("/robots.txt"))}) as start,
    ):
        ended = run(
            "check", start.url("/cart"), "-s", "LOG_ENABLED=False", *as_arguments(way), cwd=tmp_path
        )
        assert (ended.status, ended.err) == (1, "")
        assert f"served by: {end.url('/robots.txt')}\n" in ended.out


@pytest.mark.parametrize("option", ["--user-agent", "--as"])
def test_option_for_the_user_agent_has_a_short_form(option: str, tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text("User-agent: mybot\nDisallow: /x\n")
    (tmp_path / "urls.txt").write_text("https://shop.example/x\n")
    for words in ("check /x", "audit --urls urls.txt --fail-on disallowed"):
        for name, status in (("mybot", 1), ("otherbot", 0)):
            arguments = [*words.split(), "--robots", "robots.txt", option, name]
            assert run_here(*arguments, cwd=tmp_path).status == status
    for command in ("check", "audit"):
        described = run_here(command, "--help", cwd=tmp_path).out.replace(",", " ").split()
        assert {"--user-agent", "--as"} <= {*described}


def test_what_is_probably_a_mistake_is_noted_and_answered(tmp_path: Path) -> None:
    words = "check https://example.com/x --robots - --as GPT-Bot -s GBOT_ROBOTS_SITEMAP=1"
    ended = run_here(*words.split(), cwd=tmp_path)
    assert (ended.status, ended.err) == (
        0,
        "note: unknown setting GBOT_ROBOTS_SITEMAP: ignored. Did you mean GBOT_ROBOTS_SITEMAPS?\n"
        'note: no known crawler is called "GPT-Bot"; did you mean GPTBot?\n',
    )
    assert "https://example.com/x\n --> -" in ended.out


HOSTILE = b"user-agent: *\x1b]0;title\x07 \xff\ndisallow: /\x1b[31m\xc2\x9b31m\xe2\x80\xae*\r\nsitemap: \x1b[2J\n"


def test_no_control_character_reaches_the_output(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_bytes(HOSTILE)
    url = "https://example.com/\x1b[31m%c2%9b31m\u202ex"
    audit = ("audit", "--urls", "-", "--robots", "robots.txt")
    runs = [("check", url, "--robots", "robots.txt"), ("lint", "robots.txt")]
    runs += [audit, (*audit, "--format", "jsonl")]  # of CSV, test_audit tells
    for arguments in runs:
        ended = run_here(*arguments, cwd=tmp_path, stdin=url.encode())
        assert ended.out
        assert all(line.isprintable() for line in (ended.out + ended.err).split("\n"))


@table(
    "name, value, colour",
    ("LANG", "C", True),
    ("NO_COLOR", "1", False),
    ("TERM", "dumb", False),
)
def test_colour_adds_nothing_to_words(name: str, value: str, colour: bool, tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(ROBOTS_TXT)
    words = "check https://example.com/cart/1 --as testbot --robots robots.txt".split()
    command = ["env", f"{name}={value}", *COMMAND]
    shown = cli.run_on_terminal(*words, cwd=tmp_path, command=command)
    plain = run_here(*words, cwd=tmp_path)
    assert (cli.without_colour(shown.out), shown.status) == (plain.out, 1)
    assert ("\x1b[" in shown.out, "\x1b" in plain.out) == (colour, False)


@table(
    "command",
    "check {}",
    pytest.param("lint {}", marks=pytest.mark.slow),
    pytest.param("test - --robots {}", marks=pytest.mark.slow),
)
def test_wait_for_a_slow_host_is_shown_until_it_is_over(command: str, tmp_path: Path) -> None:
    slow = Reply(200, b"user-agent: *\ndisallow:", after_secs=2)
    with Site({"/robots.txt": slow}) as site:
        told = f"waiting for {site.url('/robots.txt')}"
        words = command.format(site.url("/")).split()
        shell = ["sh", "-c", 'exec "$0" -m scrapy_gbot_robots "$@" < /dev/null', sys.executable]
        on_terminal = cli.run_on_terminal(*words, cwd=tmp_path, command=shell)
        elsewhere = run(*words, cwd=tmp_path)
    assert on_terminal.out.count(f"\r\x1b[K{told}\r\x1b[K") == 1
    assert told not in elsewhere.out + elsewhere.err


def test_denied_robots_txt_is_not_said_to_be_absent(tmp_path: Path) -> None:
    allowed = "Google then allows everything, and for a crawl GBOT_ROBOTS_ACCESS_DENIED decides"
    note = f"  = note: the site denies access to it; {allowed}\n"
    for status, is_denied in ((401, True), (402, True), (403, True), (451, True), (404, False)):
        with Site({"*": Reply(status)}) as site:
            ended = run("check", site.url("/x"), cwd=tmp_path)
        assert ended.status == 0
        assert f"robots.txt: full allow: HTTP {status}\n" in ended.out
        assert (note in ended.out) == is_denied


def test_web_page_in_place_of_a_robots_txt_has_no_rules(project: Path) -> None:
    page = b"<!DOCTYPE html>\n<html><head><title>Shop</title></head><body>Hello</body></html>\n"
    with Site({"*": Reply(200, page, {"Content-Type": "text/html"})}) as site:
        ended = run("check", site.url("/x"), cwd=project)
        linted = run("lint", site.url(), cwd=project)
    said = "  = robots.txt: full allow: HTTP 200; no rules: it is a web page\n"
    assert (ended.status, said in ended.out) == (0, True)
    listed = run_here("cache", "list", cwd=project).out
    assert f": {said[16:-1]} (fetched " in listed
    assert said in run_here("cache", "show", cwd=project).out
    assert (linted.status, "this is a web page, not a robots.txt" in linted.out) == (1, True)


SELECT = ("-s", "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor")


@needs_posix
@table(
    "number, options, status",
    row("ctrl-c", signal.SIGINT, (), 130),
    row("sigterm", signal.SIGTERM, (), 143),
    row("sigterm-another-reactor", signal.SIGTERM, SELECT, 143),
)
def test_signal_ends_a_fetch_quietly(number: int, options: Any, status: int, project: Path) -> None:
    def hang(connection: socket) -> None:
        time.sleep(60)

    with Site({"/robots.txt": hang}) as site:
        command = [*COMMAND, "check", site.url("/x"), *options]
        with start(command, project, cli.environment()) as process:
            block_until(lambda: site.asked)
            time.sleep(0.3)  # until the request is well under way
            process.send_signal(number)
            out, err = output(process)
    assert (out, process.returncode) == ("", status)
    assert options or not err  # Scrapy 2.19 logs an error of its own under that reactor


def test_entry_point_is_a_scrapy_command(project: Path) -> None:
    if not entry_points(group="scrapy.commands", name="robots"):
        pytest.skip("the package is not installed, so Scrapy does not know its entry point")
    (project / "robots.txt").write_text(ROBOTS_TXT)
    scrapy = [sys.executable, "-m", "scrapy", "robots"]
    ended = run("check", "/cart/1", "--robots", "robots.txt", cwd=project, command=scrapy)
    assert ended.status == 1
    assert "testbot, from USER_AGENT" in ended.out
    ended = run("check", "--wrong", cwd=project, command=scrapy)
    assert ended.err.startswith("usage: scrapy robots check [-h] ")


# Overrides, and several crawlers

RULES = b"user-agent: otherbot\ndisallow: /other\n\nuser-agent: mybot\ndisallow: /mine\n\nuser-agent: *\ndisallow: /no\n"


def given(overrides: Any) -> tuple[str, str]:
    return "-s", f"GBOT_ROBOTS_OVERRIDES={json.dumps(overrides)}"


def test_check_says_what_the_override_says_and_what_robots_txt_says(project: Path) -> None:
    with Site({"/robots.txt": RULES}) as site:
        fields = {"rules": "ignore", "reason": "contract 17", "until": "2999-12-31"}
        overrides = given({"127.0.0.1": fields})
        ended = run("check", site.url("/no"), "--as", "testbot", *overrides, cwd=project)
        assert ended.status == 0
        assert ended.out.startswith(
            f"allowed: {site.url('/no')}\n"
            "  = GBOT_ROBOTS_OVERRIDES: allowed: override for 127.0.0.1 (contract 17)\n"
            '  = by robots.txt alone: disallowed by "Disallow: /no" (line 8, group "*")\n'
            f" --> {site.url('/robots.txt')}:8\n"
        )


def test_exit_status_is_that_of_the_override_and_audit_heeds_it_too(project: Path) -> None:
    with (
        Site({"/robots.txt": RULES}) as shut,
        Site({"/robots.txt": RULES}) as own,
        Site({"/robots.txt": Reply(503)}) as ill,
    ):
        rules = {shut: "disallow", own: "user-agent: *\ndisallow: /own", ill: "ignore"}
        agreed = {site.url(""): {"rules": text, "reason": "x"} for site, text in rules.items()}
        overrides = given(agreed)
        urls = [shut.url("/yes"), own.url("/own"), own.url("/no"), ill.url("/a")]
        audit = ("audit", "--urls", "-", "--as", "mybot", "--format", "jsonl", *overrides)
        ended = run(*audit, cwd=project, stdin="\n".join(urls).encode())
        assert [row["mybot"] for row in jsonl(ended.out)] == [0, 0, 1, 1], ended.err
        asked = [site.paths() for site in (shut, own, ill)]
        assert asked == [[]] * 3, "where an override decides, nothing is asked"
        ended = run("check", *urls, "--json", *overrides, cwd=project)
        assert ended.status == 1
        found = jsonl(ended.out)
        assert [row["allowed"] for row in found] == [False, False, True, True]
        assert [row["robots_txt"]["allowed"] for row in found] == [True, True, False, False]
        assert found[1]["reason"] == f"override for {own.url('')} (x)"
        assert found[1]["override"] == own.url("")


def test_audit_asks_where_an_override_allows_paths_beside_the_rules(tmp_path: Path) -> None:
    with Site({"/robots.txt": RULES}) as site:
        overrides = given({site.url(""): {"allow": ["/mine/agreed"], "reason": "x"}})
        urls = [site.url("/mine/agreed"), site.url("/mine"), site.url("/a")]
        audit = ("audit", "--urls", "-", "--as", "mybot", "--format", "jsonl", *overrides)
        ended = run(*audit, cwd=tmp_path, stdin="\n".join(urls).encode())
        assert [row["mybot"] for row in jsonl(ended.out)] == [1, 0, 1], ended.err
        assert site.paths() == ["/robots.txt"]


def test_agents_of_the_settings_are_one_crawler(tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_bytes(RULES)
    user_agents = ("-s", "GBOT_ROBOTS_USER_AGENTS=nobot,otherbot,mybot")
    ended = run_here("check", "/other", "--robots", "robots.txt", *user_agents, cwd=tmp_path)
    assert ended.status == 1
    assert "= crawler: nobot, otherbot, mybot, from GBOT_ROBOTS_USER_AGENTS\n" in ended.out
    assert '= group: "otherbot" (line 1): no group names nobot\n' in ended.out
    of_nobody = run_here("check", "/other", "--robots", "robots.txt", cwd=tmp_path)
    any_crawler = "* (any crawler that no group names; --as Googlebot asks for one)"
    assert f"= crawler: {any_crawler}\n" in of_nobody.out
    named = run_here(
        "check", "/", "--robots", "robots.txt", "-s", "USER_AGENT=mybot/1", cwd=tmp_path
    )
    assert '= crawler: mybot, from USER_AGENT "mybot/1"\n' in named.out


def test_url_is_judged_as_it_stands_by_a_file_and_in_each_form_by_a_site(tmp_path: Path) -> None:
    rules, path = b"user-agent: *\ndisallow: /private", "/x/../private"
    (tmp_path / "r.txt").write_bytes(rules)
    url = f"https://a.example{path}"
    (tmp_path / "expected.txt").write_text(f"allow * {url}")
    file = ("--robots", "r.txt")
    assert run_here("check", url, "--as", "a", *file, cwd=tmp_path).status == 0
    assert run_here("test", "expected.txt", *file, cwd=tmp_path).status == 0
    assert run_here("agents", url, "--only", "no", "--json", *file, cwd=tmp_path).out == ""
    with Site({"/robots.txt": rules}) as site:
        assert run("check", site.url(path), "--as", "a", cwd=tmp_path).status == 1
        audit = ("audit", "--urls", "-", "--as", "a", "--format", "csv", *file)
        ended = run_here(*audit, cwd=tmp_path, stdin=site.url(path).encode())
    assert ended.out.endswith(",0\n")


# The well-known crawlers

CRAWLED = (
    "user-agent: googlebot\ndisallow: /g\n\nuser-agent: GPTBot\nuser-agent: MJ12bot\ndisallow: /\n\n"
    "user-agent: *\ndisallow: /all\n"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "robots.txt").write_text(CRAWLED)
    return tmp_path


def asked(path: str, home: Path, *more: str) -> list[str]:
    ended = run_here("agents", path, "--robots", "robots.txt", *more, cwd=home)
    assert (ended.status, ended.err) == (0, "")
    return ended.out.splitlines()


def test_crawlers_are_forbidden_by_their_own_lines(home: Path) -> None:
    lines: dict[str, dict[str, int | None]] = {
        # two of them fall back
        "/g": {"Googlebot": 2, "Googlebot-News": 2, "Applebot": 2, "Bingbot": None},
        "/x": {"GPTBot": 6, "MJ12bot": 6},  # digits are no part of a token, in the file and here
        "/all": {"CCBot": 9, "Googlebot": None},
        "/robots.txt": {"GPTBot": None},
    }
    for path, expected in lines.items():
        found = {row["crawler"]: row for row in map(json.loads, asked(path, home, "--json"))}
        assert {name: found[name]["line"] for name in expected} == expected
        assert all(row["allowed"] == (row["line"] is None) for row in found.values())


def test_crawlers_of_google_for_ads_ignore_the_group_for_all(home: Path) -> None:
    rows = {row["crawler"]: row for row in map(json.loads, asked("/all", home, "--json"))}
    for name, is_allowed in (
        ("AdsBot-Google", True),
        ("Mediapartners-Google", True),
        ("GoogleOther", False),
        ("Storebot-Google", False),
    ):
        assert rows[name]["allowed"] == is_allowed
        assert ("; it ignores *" in rows[name]["reason"]) == is_allowed
    (named,) = (row for row in asked("/robots.txt", home) if row.startswith("AdsBot-Google "))
    assert "ignores" not in named


def test_one_table_has_every_crawler_and_what_it_is_for(home: Path) -> None:
    title, *rows, last = asked("/", home)
    names = [(known.tokens[0], known.purpose) for known in KNOWN_CRAWLERS]
    assert [(row.split()[0], re.split("  +", row)[2]) for row in rows] == names
    gap = title.index("may fetch it") - 2
    assert {row.index("  ", gap) for row in rows} == {gap}
    assert last.startswith("robots.txt: 2 of 52 crawlers may not fetch it")


@pytest.mark.parametrize(("only", "number"), [("no", 2), ("yes", len(KNOWN_CRAWLERS) - 2)])
def test_only_those_who_may_or_may_not_are_shown(only: str, number: int, home: Path) -> None:
    _, *rows, last = asked("/", home, "--only", only)
    assert [re.split("  +", row)[3] for row in rows] == [only] * number
    assert last.startswith("robots.txt: 2 of 52 crawlers may not fetch it")
    assert len(asked("/", home, "--only", only, "--json")) == number


def test_crawler_that_may_ignore_its_refusal_is_marked(home: Path) -> None:
    for path, shown in (("/all", "no, but it may ignore that"), ("/y", "yes")):
        (row,) = (line for line in asked(path, home) if line.startswith("ChatGPT-User "))
        assert re.split("  +", row)[3] == shown


@table(
    "name, purpose, obeys, second_hand",
    ("Googlebot", "search", True, False),
    ("Amazonbot", "AI training", True, False),
    ("Amzn-SearchBot", "AI answers", True, True),
    ("Amzn-User", "user-triggered", False, True),
    ("MistralAI-Index", "AI answers", True, False),
    ("MistralAI-Training", "AI training", True, False),
    ("meta-webindexer", "AI answers", True, True),
    ("meta-externalads", "ads", True, True),
    ("Storebot-Google", "search", True, False),
    ("GoogleOther", "data", True, False),
    ("AdsBot-Google", "ads", True, False),
    ("Mediapartners-Google", "ads", True, False),
    ("OAI-AdsBot", "ads", None, True),
    ("CloudflareBrowserRenderingCrawler", "data", None, False),
    ("Google-Agent", "user-triggered", False, True),
    ("Google-GeminiNotebook", "user-triggered", False, False),
    ("Bytespider", "AI training", None, True),
)
def test_crawlers_are_listed_by_what_their_operators_said_in_autumn_2026(
    name: str, purpose: str, obeys: bool | None, second_hand: bool
) -> None:
    (known,) = (known for known in KNOWN_CRAWLERS if known.tokens[0] == name)
    assert (known.purpose, known.obeys, known.second_hand) == (purpose, obeys, second_hand)


PAGES_OF_GOOGLE = "https://developers.google.com/crawling/docs/crawlers-fetchers"


@table(
    "name, page, as_of",
    ("Googlebot", "", "2026-09"),
    ("Google-Extended", "", "2026-09"),
    ("Google-Agent", "", "2026-08-19"),
    ("Google-GeminiNotebook", "/google-user-triggered-fetchers", "2026-11-28"),
)
def test_crawler_of_google_has_the_page_and_the_day_that_it_was_read_on(
    name: str, page: str, as_of: str
) -> None:
    (known,) = (known for known in KNOWN_CRAWLERS if known.tokens[0] == name)
    assert (known.source, known.as_of) == (PAGES_OF_GOOGLE + page, as_of)


def test_each_crawler_of_the_list_has_a_date_and_all_that_obey_a_source() -> None:
    for known in KNOWN_CRAWLERS:
        assert re.fullmatch(r"2026-\d\d(-\d\d)?", known.as_of)
        assert known.source.startswith("https://") or known.obeys is None
        assert known.second_hand or known.source


def test_crawler_of_which_nothing_says_that_it_obeys_is_marked(home: Path) -> None:
    (home / "robots.txt").write_text("User-agent: Bytespider\nDisallow: /\n")
    (row,) = (line for line in asked("/", home) if line.startswith("Bytespider "))
    assert re.split("  +", row)[3] == "no, if it obeys (its operator does not say)"


def test_each_crawler_stands_once_in_the_list() -> None:
    names = [known.tokens[0].lower() for known in KNOWN_CRAWLERS]
    assert len(names) == len(set(names))
    assert {known.purpose for known in KNOWN_CRAWLERS} == set(PURPOSES)
