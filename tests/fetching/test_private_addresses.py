"""GBOT_ROBOTS_DENY_PRIVATE in real crawls: what a public site names on a private address is not asked for.

The public sites are reached through a proxy on loopback: what that is asked for is what the crawl asks for.
"""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.abstract import isIPAddress
from twisted.internet.address import IPv4Address
from twisted.internet.interfaces import IHostnameResolver
from zope.interface import implementer

from scrapy_gbot_robots.fetching import private_hosts

from ..support.crawls import Pages, crawl, in_reactor, pages, stats
from ..support.rows import row, table
from ..support.sitemap_web import Hosts, Sitemaps, index, sitemap_lines, urlset, xml
from ..support.web import Content, Reply, Site, redirect
from .scenarios import RULES

REFUSE = {"GBOT_ROBOTS_DENY_PRIVATE": True}
PUBLIC = "http://public.example"
SLOW = "slow.example"
NAMES = {
    "public.example": ["93.184.216.34"],
    "other.example": ["1.1.1.1"],
    "inside.example": ["1.1.1.1", "10.0.0.7"],
    "both.example": ["10.0.0.8", "1.1.1.1"],
    "zone.example": ["fe80::1%eth0"],
    "mapped.example": ["::ffff:10.0.0.1"],
    **{
        f"{name}.example": ["93.184.216.34"]
        for name in ("loopback metadata name another nowhere zone-next mapped-next").split()
    },
}


@implementer(IHostnameResolver)
class Names:
    """Knows what `NAMES` says, and addresses."""

    def resolveHostName(self, receiver: Any, name: str, *_: Any, **more: Any) -> None:  # noqa: N802
        receiver.resolutionBegan(self)
        for address in NAMES.get(name, [name] if isIPAddress(name) else ()):
            receiver.addressResolved(IPv4Address("TCP", address, more.get("portNumber", 0)))
        if name != SLOW:
            receiver.resolutionComplete()


@pytest.fixture(autouse=True)
def _names() -> Iterator[None]:
    from twisted.internet import reactor

    loop: Any = reactor
    before = loop.installNameResolver(Names())
    yield
    loop.installNameResolver(before)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with Site({"*": b"ok"}) as site:
        monkeypatch.setenv("http_proxy", site.url(""))
        yield site


REDIRECTS = {  # where the robots.txt of a public site leads, and whether that is inside
    "loopback.example": ("http://127.0.0.1:9/r", True),
    "metadata.example": ("http://169.254.169.254/latest/meta-data", True),
    "name.example": ("http://inside.example/r", True),
    "both.example": ("http://127.0.0.1/r", True),
    "zone-next.example": ("http://zone.example/r", True),
    "mapped-next.example": ("http://mapped.example/r", True),
    "another.example": ("http://other.example/r", False),
    "nowhere.example": ("http://unknown.example/r", False),
}


@pytest.mark.parametrize("refuses", [True, False])
@in_reactor
async def test_redirect_of_a_public_robots_txt_to_a_private_address_is_a_404(
    refuses: bool, proxy: Site, caplog: pytest.LogCaptureFixture
) -> None:
    for host, (target, _) in REDIRECTS.items():
        proxy.pages |= {
            f"http://{host}/robots.txt": redirect("/1"),
            f"http://{host}/1": redirect(target),
            target: RULES,
        }
    urls = [f"http://{host}/{name}" for host in REDIRECTS for name in ("page", "free")]
    crawler = await crawl(Pages, {"GBOT_ROBOTS_DENY_PRIVATE": refuses}, urls=urls)
    inside = {host: target for host, (target, is_inside) in REDIRECTS.items() if is_inside}
    refused = inside if refuses else {}
    free = {f"http://{host}/free" for host in REDIRECTS}
    assert set(pages(crawler).crawled) == free | {f"http://{host}/page" for host in refused}
    targets = {target for target, _ in REDIRECTS.values()}
    assert targets - set(proxy.paths()) == set(refused.values())
    for stat in ("redirects/denied", "unavailable"):
        assert stats(crawler).get(f"gbot_robots/{stat}", 0) == len(refused)
    said = [line for line in caplog.messages if "DENY_PRIVATE" in line]
    assert {line.split()[0] for line in said} == {f"http://{host}/robots.txt" for host in refused}
    assert sorted(line.split()[-1] for line in said) == sorted(refused.values())


@in_reactor
async def test_redirects_to_private_addresses_are_warned_of_ten_times(
    proxy: Site, caplog: pytest.LogCaptureFixture
) -> None:
    hosts = [f"192.0.3.{number}" for number in range(1, 13)]
    for host in hosts:
        proxy.pages[f"http://{host}/robots.txt"] = redirect("http://127.0.0.1:9/r")
    crawler = await crawl(Pages, REFUSE, urls=[f"http://{host}/" for host in hosts])
    assert stats(crawler)["gbot_robots/redirects/denied"] == 12
    levels = [line.levelname for line in caplog.records if "DENY_PRIVATE" in line.getMessage()]
    assert levels == ["WARNING"] * 10


@in_reactor
async def test_crawl_of_a_private_network_stays_possible() -> None:
    with (
        Site({"*": RULES}, host="127.0.0.2") as far,
        Site({"/robots.txt": redirect(far.url("/rules")), "*": b"ok"}) as near,
    ):
        crawler = await crawl(Pages, REFUSE, urls=[near.url("/page"), near.url("/free")])
        assert set(pages(crawler).crawled) == {near.url("/free")}


@pytest.mark.parametrize("inside", ["http://inside.example", "http://10.0.0.7"])
@in_reactor
async def test_no_private_site_is_reached_by_a_public_one(
    inside: str, proxy: Site, tmp_path: Path
) -> None:
    proxy.pages |= {
        f"{inside}/robots.txt": redirect(f"{PUBLIC}/r"),
        f"{PUBLIC}/r": redirect(f"{PUBLIC}/s"),
        f"{PUBLIC}/s": redirect("http://10.0.0.8/r"),
    }
    archive = tmp_path / "r.jsonl"
    settings = {**REFUSE, "GBOT_ROBOTS_RECORD": str(archive)}
    crawler = await crawl(Pages, settings, urls=[f"{inside}/page"])
    asked_for = {f"{inside}/page", f"{inside}/robots.txt", f"{PUBLIC}/r", f"{PUBLIC}/s"}
    assert sorted(proxy.paths()) == sorted(asked_for)
    assert stats(crawler)["gbot_robots/redirects/denied"] == 1
    rows = [json.loads(line) for line in archive.read_text().splitlines()]
    ended = (f"{inside}/robots.txt", f"{PUBLIC}/s", 302)
    assert [(row["url"], row["location"], row["status"]) for row in rows] == [ended]


BY_LINE = ["http://10.0.0.1/by-line.xml", "http://inside.example/by-line.xml"]
BY_INDEX = ["http://10.0.0.1/by-index.xml", "http://inside.example/by-index.xml"]
BY_REDIRECT, PAGE = "http://169.254.169.254/latest", "http://192.168.0.1/admin"
REDIRECTED, INDEX, PART = (f"{PUBLIC}/{name}.xml" for name in ("redirected", "index", "part"))
SITEMAPS: dict[str, Content] = {
    f"{PUBLIC}/robots.txt": sitemap_lines(*BY_LINE, REDIRECTED, INDEX),
    REDIRECTED: redirect(BY_REDIRECT),
    INDEX: xml(index(*BY_INDEX, PART)),
    PART: xml(urlset(PAGE, f"{PUBLIC}/page")),
    "*": Reply(404),
}
REACHED, REFUSED = {INDEX, PART, f"{PUBLIC}/page"}, {*BY_LINE, *BY_INDEX, BY_REDIRECT, PAGE}


def asked(proxy: Site) -> set[str]:
    return {path for path in proxy.paths() if not path.endswith("/robots.txt")}


BY_ROBOTS_TXT = {*REACHED, REDIRECTED}


@table(
    "spider, start, reached, refused",
    row("by-spider", Sitemaps, {"start_urls": [f"{PUBLIC}/"]}, BY_ROBOTS_TXT, REFUSED),
    row("by-host", Hosts, {"hosts": f"{PUBLIC}/", "sitemap_scope": "any"}, BY_ROBOTS_TXT, REFUSED),
    row("by-file", Sitemaps, {"sitemap_urls": [f"{PUBLIC}/robots.txt"]}, BY_ROBOTS_TXT, REFUSED),
    row("by-index", Sitemaps, {"sitemap_urls": [INDEX]}, REACHED, {*BY_INDEX, PAGE}),
)
@in_reactor
async def test_sitemaps_inside_are_refused(
    proxy: Site, spider: Any, start: Any, reached: set[str], refused: set[str]
) -> None:
    proxy.pages = dict(SITEMAPS)
    crawler = await crawl(spider, REFUSE, **start)
    assert asked(proxy) == reached
    of_entries = stats(crawler).get("gbot_robots/sitemaps/entries/private", 0)
    assert of_entries == {Sitemaps: 1, Hosts: 2}[spider]
    assert stats(crawler)["gbot_robots/sitemaps/skipped/private"] + of_entries == len(refused)
    await crawl(spider, **start)
    assert asked(proxy) >= refused  # by default they may live anywhere


MACHINE = "http://localhost/by-line.xml", "http://[::1]/by-index.xml", "http://127.1/by-redirect"
TO_MACHINE: dict[str, Content] = {
    f"{PUBLIC}/robots.txt": sitemap_lines(MACHINE[0], REDIRECTED, INDEX),
    REDIRECTED: redirect(MACHINE[2]),
    INDEX: xml(index(MACHINE[1], PART)),
    PART: xml(urlset(f"{PUBLIC}/page")),
    "*": Reply(404),
}


@table(
    "spider, start, counted",
    row("by-spider", Sitemaps, {"start_urls": [f"{PUBLIC}/"]}, 3),
    row("by-host", Hosts, {"hosts": f"{PUBLIC}/"}, 2),
    row("by-file", Sitemaps, {"sitemap_urls": [f"{PUBLIC}/robots.txt"]}, 3),
)
@in_reactor
async def test_sitemaps_on_the_machine_itself_are_skipped_whatever_the_settings_are(
    proxy: Site, spider: Any, start: Any, counted: int
) -> None:
    proxy.pages = dict(TO_MACHINE)
    crawler = await crawl(spider, {"GBOT_ROBOTS_SITEMAPS": "feed"}, **start)
    assert set(proxy.paths()) == {f"{PUBLIC}/robots.txt", *BY_ROBOTS_TXT}
    assert stats(crawler)["gbot_robots/sitemaps/skipped/loopback"] == counted
    of_entries = stats(crawler).get("gbot_robots/sitemaps/entries/loopback", 0)
    assert of_entries == 3 - counted


@table(
    "host, is_machine",
    *[(host, True) for host in "localhost LOCALHOST. a.localhost localhost.localdomain".split()],
    *[(host, True) for host in "127.0.0.1 127.9.9.9 127.1 2130706433 0x7f000001 0.0.0.0".split()],
    *[(host, True) for host in "[::1] [::] [::ffff:127.0.0.1] [::7f00:1]".split()],
    *[(host, False) for host in "localhost.example notlocalhost e.example 10.0.0.1".split()],
    *[(host, False) for host in "128.0.0.1 1.127.0.1 [::2] [fe80::1] [2001:db8::1]".split()],
    *[(host, False) for host in "nolocalhost.localdomain router.local".split()],
)
def test_host_means_the_machine_that_asks(host: str, is_machine: bool) -> None:
    assert private_hosts.is_this_machine(host) == is_machine


NAMED = {"sitemap_urls": ["http://10.0.0.1/s.xml", f"{PUBLIC}/far.xml"]}


@table(
    "spider, arguments",
    row("SitemapSpider", Sitemaps, {"start_urls": ["http://10.0.0.1/"]}),
    row("RobotsSitemapSpider", Hosts, {"hosts": "http://10.0.0.1/", "sitemap_scope": "any"}),
    row("SitemapSpider-by-the-user", Sitemaps, NAMED),
    row("RobotsSitemapSpider-by-the-user", Hosts, {**NAMED, "sitemap_scope": "any"}),
)
@in_reactor
async def test_sitemap_of_a_private_site_does_not_lead_inside_by_way_of_a_public_one(
    proxy: Site, spider: Any, arguments: dict[str, Any]
) -> None:
    proxy.pages = {
        "http://10.0.0.1/robots.txt": f"sitemap: {PUBLIC}/far.xml\nsitemap: http://10.0.0.1/s.xml",
        "http://10.0.0.1/s.xml": redirect(f"{PUBLIC}/farther.xml"),
        f"{PUBLIC}/far.xml": redirect("http://10.0.0.8/near.xml"),
        f"{PUBLIC}/farther.xml": redirect("http://10.0.0.9/near.xml"),
        "*": Reply(404),
    }
    crawler = await crawl(spider, REFUSE, **arguments)
    allowed = {"http://10.0.0.1/s.xml", f"{PUBLIC}/far.xml", f"{PUBLIC}/farther.xml"}
    assert asked(proxy) - {"http://10.0.0.1/"} == allowed
    assert stats(crawler)["gbot_robots/sitemaps/skipped/private"] == 2


@in_reactor
async def test_name_that_takes_too_long_to_resolve_opens_no_door(proxy: Site) -> None:
    proxy.pages |= {f"{PUBLIC}/robots.txt": redirect(f"http://{SLOW}/r")}
    settings = {**REFUSE, "GBOT_ROBOTS_TIMEOUT_SECS": 3}
    crawler = await crawl(Pages, settings, urls=[f"{PUBLIC}/free"])
    assert proxy.paths() == [f"{PUBLIC}/robots.txt"]
    assert stats(crawler)["gbot_robots/unreachable"] == 1
    proxy.pages |= {f"{PUBLIC}/robots.txt": f"sitemap: http://{SLOW}/s.xml"}
    crawler = await crawl(Sitemaps, settings, start_urls=[f"{PUBLIC}/"])
    assert set(proxy.paths()) == {f"{PUBLIC}/robots.txt"}
    assert stats(crawler)["gbot_robots/sitemaps/skipped/private"] == 1


def test_names_are_resolved_without_a_reactor_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_hosts, "is_reactor_installed", lambda: False)
    names = [private_hosts._addresses(name) for name in ("localhost", "no-such-name.invalid")]
    with ThreadPoolExecutor() as elsewhere:  # where no event loop runs
        local, nowhere = elsewhere.map(asyncio.run, names)
    assert "127.0.0.1" in local
    assert nowhere == []
