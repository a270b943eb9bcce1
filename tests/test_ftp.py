"""robots.txt files and sitemaps over FTP, by Scrapy's own FTP handler from a real FTP server."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from twisted.cred.checkers import AllowAnonymousAccess
from twisted.cred.portal import Portal
from twisted.protocols.ftp import FTPFactory, FTPRealm

from scrapy_gbot_robots import RobotsSitemapSpider

from .crawls import Pages, crawl, in_reactor, pages, stats
from .scenarios import RULES
from .sitemap_web import Remembers, Sitemaps, urlset
from .web import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = ("free", "page")


@contextmanager
def ftp_site(root: Path) -> Iterator[str]:
    """Serve `root` to anybody; gives the URL, without a trailing slash."""
    from twisted.internet import reactor

    for name in FILES:
        (root / name).write_bytes(b"ok")
    untyped: Any = (reactor, Portal, FTPRealm, FTPFactory, AllowAnonymousAccess)
    loop, portal, realm, factory, anybody = untyped
    port = loop.listenTCP(0, factory(portal(realm(str(root)), [anybody()])), interface="127.0.0.1")
    try:
        yield f"ftp://127.0.0.1:{port.getHost().port}"
    finally:
        port.stopListening()


async def crawled(site: str) -> set[str]:
    crawler = await crawl(Pages, urls=[f"{site}/{name}" for name in FILES])
    return {url.rpartition("/")[2] for url in pages(crawler).crawled}


@in_reactor
async def test_rules_of_an_ftp_site_decide(tmp_path: Path) -> None:
    with ftp_site(tmp_path) as site:
        (tmp_path / "robots.txt").write_bytes(RULES)
        assert await crawled(site) == {"free"}


@in_reactor
async def test_missing_file_is_full_allow(tmp_path: Path) -> None:
    with ftp_site(tmp_path) as site:
        assert await crawled(site) == {"free", "page"}


@in_reactor
async def test_server_that_is_not_there_is_full_disallow(tmp_path: Path) -> None:
    with ftp_site(tmp_path) as site:
        pass
    assert await crawled(site) == set()


class Given(Remembers, RobotsSitemapSpider):
    name = "given"
    progress_secs = 0


@pytest.mark.parametrize("fed", [True, False], ids=["fed-to-a-SitemapSpider", "RobotsSitemapSpider"])
@pytest.mark.parametrize(
    ("robots_txt", "crawled"), [(b"", True), (b"User-agent: *\nDisallow: /", False)], ids=["allowed", "disallowed"]
)
@in_reactor
async def test_sitemap_on_an_ftp_server_leads_to_pages(
    fed: bool, robots_txt: bytes, crawled: bool, tmp_path: Path
) -> None:
    with ftp_site(tmp_path) as ftp, Site({"*": b"ok"}) as site:
        site.pages["/robots.txt"] = f"Sitemap: {ftp}/map%20one.xml".encode()
        (tmp_path / "robots.txt").write_bytes(robots_txt)
        (tmp_path / "map one.xml").write_bytes(urlset(site.url("/page")))
        crawler = await crawl(Sitemaps, start_urls=[site.url()]) if fed else await crawl(Given, hosts=[site.url()])
        assert isinstance(crawler.spider, Remembers)
        assert set(crawler.spider.parsed) == ({site.url("/page")} if crawled else set())
        assert stats(crawler)["gbot_robots/sitemaps/fed"] == 1
        assert stats(crawler).get("gbot_robots/sitemaps/disallowed", 0) == (not crawled)


@in_reactor
async def test_sitemap_that_an_ftp_server_does_not_have_is_counted(tmp_path: Path) -> None:
    with ftp_site(tmp_path) as ftp, Site({"*": b"ok"}) as site:
        site.pages["/robots.txt"] = f"Sitemap: {ftp}/none.xml".encode()
        crawler = await crawl(Given, hosts=[site.url()])
        assert stats(crawler)["gbot_robots/sitemaps/failed"] == 1
