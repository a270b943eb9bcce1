"""`scrapy robots sitemaps`: what is listed, and the status of each, asked as a crawl would ask."""

import json
import re
from pathlib import Path
from socket import socket
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest

from ..support.command import run
from ..support.web import Reply, Site, redirect


def test_status_of_each_sitemap_is_shown(tmp_path: Path) -> None:
    def break_off(connection: socket) -> None:
        connection.close()

    with (
        Site({}) as site,
        Site({"/robots.txt": b"user-agent: *\ndisallow: /", "*": b"no"}) as closed,
    ):
        listed = [
            site.url(f"/{name}.xml")
            for name in ("good", "gzip", "gone", "moved", "broken", "hidden")
        ]
        lines = [f"Sitemap: {url}" for url in [*listed, closed.url("/x.xml"), closed.url("/y.xml")]]
        site.pages |= {
            "/robots.txt": "\n".join(
                ["user-agent: *", "disallow: /hidden", *lines, "Sitemap: /relative.xml"]
            ),
            "/good.xml": Reply(200, b"<urlset/>" * 100_000),
            "/gzip.xml": Reply(200, b"not gzip at all", {"Content-Encoding": "gzip"}),
            "/gone.xml": Reply(410, b"gone"),
            "/moved.xml": redirect("/good.xml", 301),
            "/broken.xml": break_off,
            "/hidden.xml": b"<urlset/>",
        }
        ended = run("sitemaps", "--json", site.url("/anything"), cwd=tmp_path)
        assert (ended.status, ended.err) == (1, "")
        found = [json.loads(line) for line in ended.out.splitlines()]
        assert [(row["line"], row["status"], row["found"].partition(": ")[0]) for row in found] == [
            (3, 200, "200"),
            (4, 200, "200"),
            (5, 410, "410"),
            (6, 301, "301"),
            (7, None, "no answer"),
            (8, None, 'disallowed by "Disallow'),
            (9, None, 'disallowed by "Disallow'),
            (10, None, 'disallowed by "Disallow'),
            (11, None, "malformed"),
        ]
        assert {row["robots_txt"] for row in found} == {site.url("/robots.txt")}
        assert [row["url"] for row in found] == [line.partition(" ")[2] for line in lines] + [
            "/relative.xml"
        ]
        assert "/hidden.xml" not in site.paths()
        assert closed.paths() == ["/robots.txt"], (
            "once, though two sitemaps need it at the same time"
        )


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "status"), [(399, 0), (400, 1)])
def test_sitemap_that_is_missing_is_status_1(answer: int, status: int, tmp_path: Path) -> None:
    with Site({"*": Reply(answer)}) as site:
        site.pages["/robots.txt"] = f"sitemap: {site.url('/s.xml')}"
        ended = run("sitemaps", site.url(), cwd=tmp_path)
    assert (ended.status, ended.err) == (status, "")
    assert f"{answer}     1     {site.url('/s.xml')}\n" in ended.out


@pytest.mark.slow
def test_hosts_are_asked_in_turn_without_end_and_the_worst_is_the_status(tmp_path: Path) -> None:
    with (
        Site({"/robots.txt": b"user-agent: *\ndisallow: /x", "*": b"ok"}) as empty,
        Site({"*": b"<urlset/>"}) as site,
        Site({"*": Reply(503)}) as ill,
    ):
        site.pages["/robots.txt"] = "\n".join(
            f"sitemap: {site.url(f'/{number}.xml')}" for number in range(1, 9)
        )
        fine = run(
            "sitemaps", empty.url(), site.url(), "-s", "GBOT_ROBOTS_SITEMAPS_MAX=1", cwd=tmp_path
        )
        assert fine.status == 0
        first, second, title, *rows = fine.out.splitlines()
        assert first == f"{empty.url('/robots.txt')}: 0 sitemaps"
        assert second == f"{site.url('/robots.txt')}: 8 sitemaps"
        too_many = "not requested: more than GBOT_ROBOTS_SITEMAPS_MAX"
        assert [re.split("  +", row) for row in (title, *rows)] == [
            ["STATUS", "LINE", "SITEMAP"],
            *(
                [too_many if line > 1 else "200", str(line), site.url(f"/{line}.xml")]
                for line in range(1, 9)
            ),
        ]
        assert site.paths() == ["/robots.txt", "/1.xml"]
        ended = run("sitemaps", ill.url(), empty.url(), cwd=tmp_path)
        assert ended.status == 2
        assert f"{ill.url('/robots.txt')}: robots.txt unreachable" in ended.out
        assert f"{empty.url('/robots.txt')}: 0 sitemaps" in ended.out


@pytest.mark.parametrize("hangs_up", [False, True], ids=["waits", "hangs-up"])
def test_host_of_a_server_without_tls_gets_a_hint(hangs_up: bool, tmp_path: Path) -> None:
    """Such a server may wait for the end of what it takes for a line."""

    class Plain(BaseRequestHandler):
        def handle(self) -> None:
            while self.request.recv(1_000) and not hangs_up:
                pass

    with ThreadingTCPServer(("127.0.0.1", 0), Plain) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        host = f"127.0.0.1:{server.server_address[1]}"
        ended = run("sitemaps", host, "-s", "GBOT_ROBOTS_TIMEOUT_SECS=2", cwd=tmp_path)
        server.shutdown()
    assert ended.status == 2
    assert ended.out.startswith(f"https://{host}/robots.txt: robots.txt unreachable: ")
    assert ended.out.endswith(f"; if the server speaks no TLS, try http://{host}\n")
