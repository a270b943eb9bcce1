"""`scrapy robots sitemaps`: what is listed, and the status of each, asked as a crawl would ask."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from ..support.command import run
from ..support.web import Reply, Site, redirect

if TYPE_CHECKING:
    from pathlib import Path
    from socket import socket


def test_status_of_each_sitemap_is_shown(tmp_path: Path) -> None:
    def break_off(connection: socket) -> None:
        connection.close()

    with Site({}) as site, Site({"/robots.txt": b"user-agent: *\ndisallow: /", "*": b"no"}) as closed:
        names = ["good", "gzip", "gone", "moved", "loop", "broken", "hidden"]
        listed = [site.url(f"/{name}.xml") for name in names]
        lines = [f"Sitemap: {url}" for url in [*listed, closed.url("/x.xml")]]
        site.pages |= {
            "/robots.txt": "\n".join(["user-agent: *", "disallow: /hidden", *lines, "Sitemap: /relative.xml"]),
            "/good.xml": Reply(200, b"<urlset/>" * 100_000),
            "/gzip.xml": Reply(200, b"not gzip at all", {"Content-Encoding": "gzip"}),
            "/gone.xml": Reply(410, b"gone"),
            "/moved.xml": redirect("/good.xml", 301),
            "/loop.xml": redirect("/loop.xml"),
            "/broken.xml": break_off,
            "/hidden.xml": b"<urlset/>",
        }
        ended = run("sitemaps", "--json", site.url("/anything"), cwd=tmp_path)
        assert ended.status == 1
        assert not ended.err
        found = [json.loads(line) for line in ended.out.splitlines()]
        by_name = {sitemap["url"].rpartition("/")[2]: sitemap for sitemap in found}
        assert {name: by_name[f"{name}.xml"]["status"] for name in names} == {
            "good": 200,
            "gzip": 200,
            "gone": 410,
            "moved": 200,
            "loop": 302,
            "broken": None,
            "hidden": None,
        }
        assert by_name["moved.xml"]["found"] == "301, 200"
        assert "no answer" in by_name["broken.xml"]["found"]
        assert by_name["hidden.xml"]["found"].startswith('disallowed by "Disallow: /hidden" (line 2')
        assert by_name["x.xml"]["found"].startswith('disallowed by "Disallow: /" (line 2')
        assert by_name["relative.xml"]["found"].startswith("malformed: not an absolute")
        assert [sitemap["line"] for sitemap in found] == list(range(3, 12))
        assert "/hidden.xml" not in site.paths()
        assert closed.paths() == ["/robots.txt"]


@pytest.mark.slow
def test_hosts_are_asked_in_turn_without_end_and_the_worst_is_the_status(tmp_path: Path) -> None:
    with (
        Site({"/robots.txt": b"user-agent: *\ndisallow: /x", "*": b"ok"}) as empty,
        Site({"*": b"<urlset/>"}) as site,
        Site({"*": Reply(503)}) as ill,
    ):
        site.pages["/robots.txt"] = "\n".join(f"sitemap: {site.url(f'/{number}.xml')}" for number in range(1, 9))
        fine = run("sitemaps", empty.url(), site.url(), "-s", "GBOT_ROBOTS_SITEMAPS_MAX=1", cwd=tmp_path)
        assert fine.status == 0
        first, second, title, *rows = fine.out.splitlines()
        assert first == f"{empty.url('/robots.txt')}: 0 sitemaps"
        assert second == f"{site.url('/robots.txt')}: 8 sitemaps"
        too_many = "not requested: more than GBOT_ROBOTS_SITEMAPS_MAX"
        assert [re.split("  +", row) for row in (title, *rows)] == [
            ["STATUS", "LINE", "SITEMAP"],
            *([too_many if line > 1 else "200", str(line), site.url(f"/{line}.xml")] for line in range(1, 9)),
        ]
        assert site.paths() == ["/robots.txt", "/1.xml"]
        ended = run("sitemaps", ill.url(), empty.url(), cwd=tmp_path)
        assert ended.status == 2
        assert f"{ill.url('/robots.txt')}: robots.txt unreachable" in ended.out
        assert f"{empty.url('/robots.txt')}: 0 sitemaps" in ended.out
