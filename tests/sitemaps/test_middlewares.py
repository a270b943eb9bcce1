"""The two middlewares around a SitemapSpider: where it starts, where sitemaps may lie, and what is counted."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from ..support import sitemap_web
from ..support.crawls import crawl, in_reactor, own_warnings, stats
from ..support.rows import row, table
from ..support.sitemap_web import Hosts, Sitemaps, parsed, sitemap_lines, sitemap_stats, urlset, xml
from ..support.web import Reply, Site, redirect


class Dropping:
    """A downloader middleware of a project's, which drops a sitemap."""

    def process_request(self, request: Request) -> None:
        if request.url.endswith("/dropped.xml"):
            raise IgnoreRequest


@pytest.mark.parametrize("position", [50, 543])
@in_reactor
async def test_sitemap_that_cannot_be_fetched_is_counted_once(position: int, site: Site) -> None:
    with Site({}) as gone:
        url = gone.url("/s.xml")
    listed = sitemap_lines(url, site.url("/500.xml"), site.url("/dropped.xml"))
    site.pages |= {"/robots.txt": listed, "/500.xml": Reply(500)}
    settings: dict[str, Any] = {"RETRY_ENABLED": True, "RETRY_TIMES": 2}
    settings["DOWNLOADER_MIDDLEWARES"] = {Dropping: position}
    crawler = await crawl(Sitemaps, settings, start_urls=[site.url()])
    assert site.paths().count("/500.xml") == 3
    assert sitemap_stats(crawler) == {"found": 3, "fed": 3, "failed": 2, "disallowed": 1}


@table("spider, mode", (Sitemaps, "auto"), (Hosts, "auto"), (Hosts, "off"), (Hosts, "collect"))
@pytest.mark.parametrize(("hosts", "read"), [("any", True), ("same-host", False)])
@in_reactor
async def test_redirects_and_indexes_lead_only_where_sitemaps_may_live(
    hosts: str, read: bool, spider: type[sitemap_web.Remembers], mode: str, site: Site, other: Site
) -> None:
    site.pages["/robots.txt"] = sitemap_lines(site.url("/moved.xml"), site.url("/i.xml"))
    site.pages["/moved.xml"] = redirect(other.url("/moved.xml"))
    site.pages["/i.xml"] = xml(sitemap_web.index(other.url("/part.xml")))
    other.pages["/moved.xml"] = xml(urlset(site.url("/1")))
    other.pages["/part.xml"] = xml(urlset(site.url("/2")))
    settings = {"GBOT_ROBOTS_SITEMAPS": mode, "GBOT_ROBOTS_SITEMAPS_HOSTS": hosts}
    crawler = await crawl(spider, settings, **sitemap_web.given(spider, site))
    assert set(parsed(crawler)) == ({site.url("/1"), site.url("/2")} if read else set())
    of_index = "entries/host" if spider is Hosts else "skipped/host"
    assert sitemap_stats(crawler).get(of_index, 0) == (0 if read else 1 + (spider is Sitemaps))
    assert "failed" not in sitemap_stats(crawler)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("spider", [Sitemaps, Hosts])
@in_reactor
async def test_sitemap_indexes_without_end_are_followed_only_so_far(
    spider: type[sitemap_web.Remembers], named: bool, site: Site
) -> None:
    first = site.url("/0.xml")
    site.pages["/robots.txt"] = sitemap_lines(first)
    for n in range(20):
        site.pages[f"/{n}.xml"] = xml(
            sitemap_web.index(site.url(f"/{n + 1}.xml"), site.url(f"/{n}.xml"))
        )
    start = {"sitemap_urls": [first]} if named else sitemap_web.given(spider, site)
    crawler = await crawl(spider, **start)
    assert site.paths() == ["/robots.txt", "/0.xml", "/1.xml", "/2.xml", "/3.xml"]
    place = "entries" if spider is Hosts else "skipped"
    assert sitemap_stats(crawler)[f"{place}/depth"] == 2


@in_reactor
async def test_spider_may_list_local_files_itself(site: Site, tmp_path: Path) -> None:
    (tmp_path / "listed.xml").write_bytes(urlset(site.url("/page")))
    (tmp_path / "index.xml").write_bytes(sitemap_web.index((tmp_path / "listed.xml").as_uri()))
    crawler = await crawl(Sitemaps, sitemap_urls=[(tmp_path / "index.xml").as_uri()])
    assert set(parsed(crawler)) == {site.url("/page")}


@in_reactor
async def test_domains_alone_lead_to_their_robots_txt(caplog: pytest.LogCaptureFixture) -> None:
    crawler = await crawl(Sitemaps, allowed_domains=["127.0.0.9"])
    assert stats(crawler)["robotstxt/request_count"] == 1
    (warning,) = own_warnings(caplog)
    assert warning.startswith("Could not fetch https://127.0.0.9/robots.txt (")


@in_reactor
async def test_wrong_start_url_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    await crawl(Sitemaps, start_urls=["nonsense"])
    assert "ValueError: not an absolute URL with a host: nonsense" in caplog.text


# A robots.txt for which the spider asks itself: it gets what Scrapy alone would give it, but for what could hurt.


class ByStart(Sitemaps):
    async def start(self) -> AsyncIterator[Request]:
        for url in self.start_urls:
            yield Request(url, self._parse_sitemap)


def named(spider: type[Sitemaps], site: Site) -> dict[str, Any]:
    """What lets the spider itself ask for the robots.txt of the site."""
    urls = [site.url("/robots.txt")]
    return {"start_urls": urls, "sitemap_urls": urls if spider is Sitemaps else []}


@pytest.mark.parametrize("spider", [Sitemaps, ByStart])
@in_reactor
async def test_robots_txt_asked_for_has_no_bounds(spider: Any, site: Site, other: Site) -> None:
    settings = {"GBOT_ROBOTS_MAX_SITEMAPS": 2, "GBOT_ROBOTS_SITEMAPS_HOSTS": "same-host"}
    site.pages |= {f"/{number}.xml": xml(urlset(site.url(f"/page{number}"))) for number in range(4)}
    listed = map(site.url, ("/0.xml", "/1.xml", "/2.xml"))
    others = ("/3.xml", other.url("/s.xml"), "file:///etc/hostname", "data:,x")
    site.pages["/robots.txt"] = sitemap_lines(*listed, *others)  # Scrapy alone resolves /3.xml
    other.pages["/s.xml"] = xml(sitemap_web.index(other.url("/part.xml")))
    other.pages["/part.xml"] = xml(urlset(site.url("/other"), other.url("/no-allowed-domain")))
    crawler = await crawl(spider, settings, **named(spider, site), allowed_domains=[site.host])
    pages = ("/other", "/page0", "/page1", "/page2", "/page3")
    assert set(parsed(crawler)) == set(map(site.url, pages))
    assert "spider_exceptions/count" not in stats(crawler)
    assert sitemap_stats(crawler) == {"found": 4, "skipped/scheme": 2}


@table(
    "robots_txt, refused",
    row("field", b"Sitemap: /0.xml\nSitemap : {1}\nsite-map:{2}", {}),
    row("mark", b"\xef\xbb\xbfSitemap: {1}\nSitemap: /0.xml\nSitemap: {2}", {}),
    row("line-ends", b"Sitemap: /0.xml\nx:\rSitemap: {1}\rSitemap: {2}\r", {}),
    row("bad-line", b"Sitemap: http://[::1/x.xml\nSitemap: /0.xml\nSitemap: {1}\nSitemap: /2.xml", {"skipped/malformed": 1}),
    row("brackets", b"Sitemap: <{1}>\nSitemap: /0.xml\nSitemap: {1}\nSitemap: /2.xml", {"skipped/malformed": 1}),
    row("no-scheme", b"Sitemap: www.e.example:443/x\nSitemap: /0.xml\nSitemap: {1}\nSitemap: /2.xml", {"skipped/scheme": 1}),
)  # fmt: skip
@pytest.mark.parametrize("spider", [Sitemaps, ByStart])
@in_reactor
async def test_what_scrapys_reader_misses_in_a_robots_txt_that_the_spider_asks_for_follows(
    spider: type[Sitemaps], robots_txt: bytes, refused: dict[str, int], site: Site
) -> None:
    for number in range(3):
        path = f"/{number}.xml"
        site.pages[path] = xml(urlset(site.url(f"/page{number}")))
        robots_txt = robots_txt.replace(b"{%d}" % number, site.url(path).encode())
    site.pages["/robots.txt"] = Reply(200, robots_txt, {"Content-Type": "application/octet-stream"})
    start = {**named(spider, site), "sitemap_follow": ["nothing"]}
    crawler = await crawl(spider, {"GBOT_ROBOTS_MAX_SITEMAPS": 1}, **start)
    assert {site.url(f"/page{number}") for number in range(3)} == set(parsed(crawler))
    assert sorted(site.paths().count(f"/{number}.xml") for number in (1, 2)) == [1, 1]
    assert "spider_exceptions/count" not in stats(crawler)
    counted = sitemap_stats(crawler)
    assert {name: number for name, number in counted.items() if "skipped" in name} == refused


@in_reactor
async def test_robots_txt_stays_as_it_is_where_sitemaps_are_only_collected(site: Site) -> None:
    site.pages["/robots.txt"] = f"Sitemap: {site.url('/s.xml')}\nSitemap : {site.url('/other.xml')}"
    settings = {"GBOT_ROBOTS_SITEMAPS": "collect"}
    crawler = await crawl(Sitemaps, settings, sitemap_urls=[site.url("/robots.txt")])
    assert set(parsed(crawler)) == {site.url("/page")}


@in_reactor
async def test_redirect_of_a_sitemap_to_an_impossible_host_is_refused(site: Site) -> None:
    site.pages["/s.xml"] = redirect("http://[::1%25lo]:8080/")
    crawler = await crawl(Sitemaps, {"GBOT_ROBOTS_DENY_PRIVATE": True}, start_urls=[site.url()])
    assert sitemap_stats(crawler)["skipped/malformed"] == 1
    assert "failed" not in sitemap_stats(crawler)
