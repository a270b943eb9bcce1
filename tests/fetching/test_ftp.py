"""robots.txt files and sitemaps over FTP, by Scrapy's own FTP handler."""

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from ..support.crawls import Pages, crawl, in_reactor, pages, stats
from ..support.rows import row, table
from ..support.sitemap_web import Hosts, Sitemaps, given, parsed, urlset
from ..support.web import Site
from .scenarios import RULES


class OddFtp(socketserver.ThreadingTCPServer):
    """An FTP server that gives some of the `answers` to lines that begin so, in place of the usual ones.

    It has `files`; any other is b"ok".
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, answers: Mapping[bytes, bytes]) -> None:
        self.answers = answers
        self.files = {"/robots.txt": RULES}
        # what each file was asked for, after which USER and PASS
        self.logins: list[tuple[str, list[str]]] = []
        super().__init__(("127.0.0.1", 0), _Session)


class _Session(socketserver.StreamRequestHandler):
    server: OddFtp

    def handle(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening, contextlib.suppress(OSError):
            port = listening.getsockname()[1]
            replies = {
                b"USER": b"331 password, please",
                b"PASV": f"227 here (127,0,0,1,{port // 256},{port % 256})".encode(),
                b"RETR": b"150 coming",
            }
            self.connection.sendall(b"220 hello\r\n")
            login: list[str] = []
            for line in self.rfile:
                verb, _, name = line.strip().partition(b" ")
                if verb in {b"USER", b"PASS"}:
                    login.append(name.decode())
                reply = replies.get(verb, b"200 fine")
                for start, odd in self.server.answers.items():
                    if line.startswith(start):
                        reply = odd
                self.connection.sendall(reply + b"\r\n")
                if reply == b"150 coming":
                    self.server.logins.append((name.decode(), login))
                    data, _ = listening.accept()
                    with data:
                        data.sendall(self.server.files.get(name.decode(), b"ok"))
                    self.connection.sendall(b"226 done\r\n")


@contextmanager
def odd_ftp(answers: Mapping[bytes, bytes]) -> Iterator[tuple[OddFtp, str]]:
    with OddFtp(answers) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server, f"ftp://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@in_reactor
async def test_robots_txt_is_asked_for_anonymously_whatever_the_settings_say() -> None:
    with odd_ftp({}) as (server, site):
        settings = {"FTP_USER": "me", "FTP_PASSWORD": "secret"}
        crawler = await crawl(Pages, settings, urls=[f"{site}/free"])
        assert set(pages(crawler).crawled) == {f"{site}/free"}
        anonymous, mine = ("/robots.txt", ["anonymous", "guest"]), ("/free", ["me", "secret"])
        assert server.logins == [anonymous, mine]


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
        sites: dict[str, str] = {}
        for name, (answers, _) in REPLIES.items():
            _, sites[name] = stack.enter_context(odd_ftp(answers))
        urls = [f"{site}/free" for site in sites.values()]
        crawler = await crawl(Pages, {"GBOT_ROBOTS_TIMEOUT_SECS": 6}, urls=urls)
    crawled = {name: f"{site}/free" in pages(crawler).crawled for name, site in sites.items()}
    assert crawled == {name: is_crawled for name, (_, is_crawled) in REPLIES.items()}
    assert stats(crawler)["gbot_robots/unreachable"] == sum(not each for each in crawled.values())


@in_reactor
async def test_rules_of_an_ftp_site_decide_as_far_as_the_limit() -> None:
    with odd_ftp({}) as (_, site):
        for limit, cut in ((len(RULES), 0), (len(RULES) - 1, 1)):
            urls = [f"{site}/{name}" for name in ("free", "page")]
            crawler = await crawl(Pages, {"GBOT_ROBOTS_MAX_BYTES": limit}, urls=urls)
            assert set(pages(crawler).crawled) == {f"{site}/free"}
            assert stats(crawler).get("gbot_robots/cut", 0) == cut


CLOSED = b"User-agent: *\nDisallow: /"


@pytest.mark.parametrize("spider", [Sitemaps, Hosts])
@table("robots_txt, crawled", row("allowed", b"", True), row("disallowed", CLOSED, False))
@in_reactor
async def test_sitemap_on_ftp_leads_to_pages(spider: Any, robots_txt: bytes, crawled: bool) -> None:
    with odd_ftp({}) as (server, ftp), Site({"*": b"ok"}) as site:
        site.pages["/robots.txt"] = f"Sitemap: {ftp}/map%20one.xml".encode()
        server.files = {"/robots.txt": robots_txt, "/map one.xml": urlset(site.url("/page"))}
        crawler = await crawl(spider, **given(spider, site))
        assert set(parsed(crawler)) == ({site.url("/page")} if crawled else set())
        assert stats(crawler)["gbot_robots/sitemaps/fed"] == 1
        assert stats(crawler).get("gbot_robots/sitemaps/disallowed", 0) == (not crawled)
