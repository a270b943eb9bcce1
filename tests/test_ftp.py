"""robots.txt over FTP, by Scrapy's own FTP handler from a real FTP server."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from twisted.cred.checkers import AllowAnonymousAccess
from twisted.cred.portal import Portal
from twisted.protocols.ftp import FTPFactory, FTPRealm

from .crawls import Pages, crawl, in_reactor, pages
from .scenarios import RULES

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
