"""robots.txt files and sitemaps over FTP, by Scrapy's own FTP handler."""

import socket
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from scrapy import Request

from scrapy_gbot_robots import Unavailable
from scrapy_gbot_robots.signals import robotstxt_served

from ..support.crawls import Pages, crawl, in_reactor, own_warnings, pages, stats
from ..support.rows import row, table
from ..support.sitemap_web import Hosts, Sitemaps, given, parsed, urlset
from ..support.web import Server, Site
from .scenarios import RULES

HALF_A_GREETING = b"220-Welcome\r\n"  # after which the connection ends


class OddFtp(Server):
    """An FTP server that gives some of the `answers` to lines that begin so, in place of the usual ones.

    It has `files`; any other is b"ok".
    """

    def __init__(self, answers: Mapping[bytes, bytes], greeting: bytes = b"220 hello\r\n") -> None:
        super().__init__("127.0.0.1")
        self.greeting = greeting
        self.answers = answers
        self.files = {"/robots.txt": RULES}
        # what each file was asked for, after which USER and PASS
        self.logins: list[tuple[str, list[str]]] = []

    def url(self, path: str = "/") -> str:
        return f"ftp://127.0.0.1:{self.port}{path}"

    def _serve(self, connection: socket.socket) -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as listening,
            connection.makefile("rb") as lines,
        ):
            port = listening.getsockname()[1]
            replies = {
                b"USER": b"331 password, please",
                b"PASV": f"227 here (127,0,0,1,{port // 256},{port % 256})".encode(),
                b"RETR": b"150 coming",
            }
            connection.sendall(self.greeting)
            if self.greeting == HALF_A_GREETING:
                return
            login: list[str] = []
            for line in lines:
                verb, _, name = line.strip().partition(b" ")
                if verb in {b"USER", b"PASS"}:
                    login.append(name.decode())
                reply = replies.get(verb, b"200 fine")
                for start, odd in self.answers.items():
                    if line.startswith(start):
                        reply = odd
                connection.sendall(reply + b"\r\n")
                if reply == b"150 coming":
                    self.logins.append((name.decode(), login))
                    data, _ = listening.accept()
                    with data:
                        data.sendall(self.files.get(name.decode(), b"ok"))
                    connection.sendall(b"226 done\r\n")


@in_reactor
async def test_robots_txt_is_asked_for_anonymously_whatever_the_settings_say() -> None:
    with OddFtp({}) as server:
        settings = {"FTP_USER": "me", "FTP_PASSWORD": "secret"}
        crawler = await crawl(Pages, settings, urls=[server.url("/free")])
        assert set(pages(crawler).crawled) == {server.url("/free")}
        anonymous, mine = ("/robots.txt", ["anonymous", "guest"]), ("/free", ["me", "secret"])
        assert server.logins == [anonymous, mine]


LOGIN = {"ftp_user": "me", "ftp_password": "secret"}
OF_PROJECT = {"FTP_USER": "me", "FTP_PASSWORD": "secret"}
NO_ANONYMOUS = {b"USER anonymous": b"530 members only", b"PASS guest": b"530 no"}


@table(
    "answers, settings, meta",
    row("S2.28-by-meta", NO_ANONYMOUS, {}, LOGIN),
    row("S2.28-by-settings", NO_ANONYMOUS, OF_PROJECT, {}),
    row("S2.28-refused-by-the-password", {b"PASS guest": b"530 no"}, OF_PROJECT, {}),
)
@in_reactor
async def test_login_of_the_page_is_used_where_the_anonymous_one_is_refused(
    answers: dict[bytes, bytes], settings: dict[str, Any], meta: dict[str, Any]
) -> None:
    requests: list[Request] = []

    def hear(request: Request) -> None:
        requests.append(request)

    with OddFtp(answers) as server:
        urls = [Request(server.url(path), meta=meta) for path in ("/page", "/free")]
        hears: dict[object, Any] = {robotstxt_served: hear}
        crawler = await crawl(Pages, settings, hears=hears, urls=urls)
        assert set(pages(crawler).crawled) == {server.url("/free")}
        assert server.logins == [("/robots.txt", ["me", "secret"]), ("/free", ["me", "secret"])]
    assert [request.meta["ftp_password"] for request in requests] == ["guest"]


@table(
    "settings, meta",
    row("S2.28-none", {}, {}),
    row("S2.28-of-no-use", {}, LOGIN),
    row("S2.28-of-no-use-in-settings", OF_PROJECT, {}),
)
@in_reactor
async def test_refused_login_is_told_as_such(
    settings: dict[str, Any], meta: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with OddFtp({b"PASS": b"530 Login incorrect."}) as server:
        request = Request(server.url("/free"), meta=meta)
        crawler = await crawl(Pages, settings, urls=[request])
        assert set(pages(crawler).refused) == {request.url}
    warning = own_warnings(caplog)[0]
    assert "login refused (530 Login incorrect.)" in warning
    assert "secret" not in caplog.text


REPLIES = {
    "S2.28-530-refused-user": ({b"USER": b"530 no"}, False),
    "S2.28-530-refused-login": ({b"PASS": b"530 no"}, False),
    "S2.28-421": ({b"USER": b"421 too many users"}, False),
    "S2.28-421-in-mid-session": ({b"RETR /robots": b"421 closing"}, False),
    "S2.28-450": ({b"RETR /robots": b"450 busy"}, False),
    "S2.28-550": ({b"RETR /robots": b"550 none"}, True),
    "S2.28-no-passive-mode": ({b"PASV": b"500 what"}, False),
}


@in_reactor
async def test_reply_that_is_no_file_is_unreachable_unless_there_is_none() -> None:
    with ExitStack() as stack:
        urls: dict[str, str] = {}
        for name, (answers, _) in REPLIES.items():
            urls[name] = stack.enter_context(OddFtp(answers)).url("/free")
        crawler = await crawl(Pages, {"GBOT_ROBOTS_TIMEOUT_SECS": 6}, urls=urls.values())
    crawled = {name: url in pages(crawler).crawled for name, url in urls.items()}
    assert crawled == {name: is_crawled for name, (_, is_crawled) in REPLIES.items()}
    assert stats(crawler)["gbot_robots/unreachable"] == sum(not each for each in crawled.values())


IN_WORDS = {
    "FTP 553 name not allowed": {b"RETR /robots": b"553 name not allowed"},
    "FTP 551 page not found": {b"RETR /robots": b"551 page not found"},
    "FTP 450 busy": {b"RETR /robots": b"450 busy"},
    "FTP 421 'too' many [5]": {b"USER": b"421 'too' many [5]"},
    "FTP 421 too \"many' (5 max)": {b"PASS": b"421 too \"many' (5 max)"},
    "FTP 421 first second last": {b"PASS": b"421-first\r\n421-second\r\n421 last"},
    "FTP 500 no passive mode": {b"PASV": b"500 no passive mode"},
    "FTP 504 no type": {b"TYPE": b"504 no type"},
    "login refused (430 Invalid username)": {b"PASS": b"430 Invalid username"},
    "login refused (530 members only)": {b"PASS": b"530-members\r\n530 only"},
}


@in_reactor
async def test_error_reply_is_named_as_the_server_sends_it() -> None:
    with ExitStack() as stack:
        urls: dict[str, str] = {}
        for name, answers in IN_WORDS.items():
            urls[name] = stack.enter_context(OddFtp(answers)).url("/free")
        crawler = await crawl(Pages, {"GBOT_ROBOTS_TIMEOUT_SECS": 6}, urls=urls.values())
    refused = pages(crawler).refused
    said = {name: str(refused[url]).partition("unreachable: ")[2] for name, url in urls.items()}
    assert said == {name: name for name in IN_WORDS}


@table(
    "greeting, said",
    row("several-lines", b"220-Welcome\r\n to our\r\n220-shop\r\n220 ready\r\n", ""),
    row(
        "two-greetings",
        b"220-Welcome\r\n220 to our shop\r\n220 ready\r\n",
        "the fetch failed (the FTP client cannot read a reply: invalid literal for int()",
    ),
    row("end", HALF_A_GREETING, "connection lost (Connection was closed cleanly.)"),
)
@in_reactor
async def test_greeting_of_any_form_is_told_without_objects_of_python(
    greeting: bytes, said: str
) -> None:
    with OddFtp({}, greeting) as server:
        crawler = await crawl(Pages, urls=[server.url("/free")])
    refused = pages(crawler).refused
    whys = [str(each).partition("unreachable: ")[2] for each in refused.values()]
    assert [why[: len(said)] for why in whys] == [said] * bool(said)


@table(
    "command, reply",
    row("to-a-login", b"USER", "421 Too many users"),
    row("in-mid-session", b"PASV", "421 Idle timeout"),
    row("to-the-file", b"RETR /robots", "450 File busy"),
)
@in_reactor
async def test_summary_names_an_error_reply(
    command: bytes, reply: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "scrapy_gbot_robots")
    with OddFtp({command: reply.encode()}) as server:
        await crawl(Pages, urls=[server.url("/free")])
        assert f"unreachable: {server.url('/robots.txt')} (FTP {reply}), 1 req" in caplog.text


@in_reactor
async def test_reply_550_is_named_as_the_server_sends_it() -> None:
    whys: list[str] = []

    def note(outcome: Unavailable) -> None:
        whys.append(outcome.why)

    hears: dict[object, Any] = {robotstxt_served: note}
    with OddFtp({b"RETR /robots": b"550 No such file"}) as server:
        crawler = await crawl(Pages, hears=hears, urls=[server.url("/free")])
        assert set(pages(crawler).crawled) == {server.url("/free")}
    assert whys == ["FTP 550 No such file"]


@in_reactor
async def test_rules_of_an_ftp_site_decide_as_far_as_the_limit() -> None:
    with OddFtp({}) as server:
        for limit, cut in ((len(RULES), 0), (len(RULES) - 1, 1)):
            urls = [server.url("/free"), server.url("/page")]
            crawler = await crawl(Pages, {"GBOT_ROBOTS_MAX_BYTES": limit}, urls=urls)
            assert set(pages(crawler).crawled) == {server.url("/free")}
            assert stats(crawler).get("gbot_robots/files/cut", 0) == cut


CLOSED = b"User-agent: *\nDisallow: /"


@pytest.mark.parametrize("spider", [Sitemaps, Hosts])
@table("robots_txt, crawled", row("allowed", b"", True), row("disallowed", CLOSED, False))
@in_reactor
async def test_sitemap_on_ftp_leads_to_pages(spider: Any, robots_txt: bytes, crawled: bool) -> None:
    with OddFtp({}) as server, Site({"*": b"ok"}) as site:
        site.pages["/robots.txt"] = f"Sitemap: {server.url('/map%20one.xml')}"
        server.files = {"/robots.txt": robots_txt, "/map one.xml": urlset(site.url("/page"))}
        crawler = await crawl(spider, **given(spider, site))
        assert set(parsed(crawler)) == ({site.url("/page")} if crawled else set())
        assert stats(crawler)["gbot_robots/sitemaps/fed"] == 1
        assert stats(crawler).get("gbot_robots/sitemaps/disallowed", 0) == (not crawled)
