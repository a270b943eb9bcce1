"""RobotsSitemapSpider in real crawls: given hosts, it crawls the pages that their sitemaps list."""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.crawler import CrawlerRunner
from scrapy.utils.asyncio import call_later

from scrapy_gbot_robots import RobotsSitemapSpider
from scrapy_gbot_robots.meta import LISTED
from scrapy_gbot_robots.sitemap_files import reader

from ..fetching.scenarios import tls_context
from ..support.crawls import crawl, in_reactor, own_warnings, stats
from ..support.example import PROJECT
from ..support.reactors import as_arguments, ways_to_run
from ..support.sitemap_web import Remembers, Web, found, index, parsed, sitemap_stats, urlset, xml
from ..support.web import Reply, Site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler


class Hosts(Remembers, RobotsSitemapSpider):
    name = "hosts"
    progress_secs = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.without: dict[str, str] = {}

    def host_without_sitemap(self, host: str, why: str) -> None:
        super().host_without_sitemap(host, why)
        self.without[host] = why


def without(crawler: Crawler) -> dict[str, str]:
    assert isinstance(crawler.spider, Hosts)
    return crawler.spider.without


def host_stats(crawler: Crawler) -> dict[str, int]:
    return {name.rpartition("/")[2]: count for name, count in stats(crawler, "gbot_robots/hosts/").items()}


@pytest.fixture
def site() -> Iterator[Site]:
    """A host whose robots.txt lists /s.xml. Each test says what /s.xml is."""
    with Site({"*": b"<title>page</title>"}) as one:
        one.pages["/robots.txt"] = f"User-agent: *\nDisallow: /no\nSitemap: {one.url('/s.xml')}".encode()
        yield one


@pytest.mark.parametrize("addon", [True, False], ids=["with-the-add-on", "without"])
@in_reactor
async def test_pages_that_the_hosts_sitemaps_list_are_crawled(addon: bool) -> None:
    with Web() as web:
        settings = {"GBOT_ROBOTS_SITEMAPS_MAX": 7}
        web.good |= {web.sites["big"].url(f"/{number}.xml") for number in (4, 5)}
        web.pages |= {web.sites["big"].url(f"/j{number}") for number in (4, 5)}
        crawler = await crawl(Hosts, settings, addon=addon, hosts=web.given)
        bare, ill, guarded = (web.sites[name] for name in ("bare", "ill", "guarded"))
        if addon:
            assert web.robots_txts_asked() == dict.fromkeys(web.sites, 1)
        else:  # then the crawl obeys no robots.txt
            web.pages.add(web.sites["news"].url("/no/b"))
            web.good.add(guarded.url("/no/sitemap.xml"))
        assert set(parsed(crawler)) == web.pages
        assert web.asked() == sorted(web.good | web.pages)
        assert host_stats(crawler) == {"listed": 3, "without": 1, "unreachable": 1}
        assert without(crawler) == {bare.url(): "its robots.txt is HTTP 404", ill.url(): "its robots.txt is HTTP 503"}
        counted = sitemap_stats(crawler)
        assert (counted["found"], counted["fed"], counted["duplicate"]) == (15, 14, 2)
        assert (counted["refused/malformed"], counted["refused/scheme"]) == (2, 2)
        assert (counted["entries/scheme"], counted["entries/host"]) == (2, 1)
        assert counted.get("disallowed", 0) == addon


@in_reactor
async def test_discovery_finds_what_the_robots_txt_files_of_the_hosts_list(site: Site) -> None:
    with Site({"/robots.txt": b"Sitemap: http://127.0.0.1:1/met-on-the-way.xml", "*": b"ok"}) as other:
        site.pages["/s.xml"] = xml(urlset(other.url("/1")))
        crawler = await crawl(Hosts, hosts=[site.url()], scope="any")
        assert found(crawler) == {site.url("/robots.txt"): [site.url("/s.xml")]}
        assert sitemap_stats(crawler)["found"] == 1


@in_reactor
async def test_pages_on_other_hosts_are_crawled_if_the_scope_is_any() -> None:
    with Web() as web:
        crawler = await crawl(Hosts, hosts=web.given, scope="any")
        assert set(parsed(crawler)) == web.pages | {web.sites["cdn"].url("/not-asked-for")} | {
            web.sites["big"].url(f"/j{number}") for number in (4, 5)
        }
        assert web.sites["cdn"].url("/own.xml") not in web.asked()


@pytest.mark.parametrize(
    ("page", "crawled"),
    [
        (urlset("http://{}/i"), True),
        (b"<!DOCTYPE html><title>no</title>", False),
        (urlset(), False),
        (Reply(404), False),
    ],
    ids=["sitemap", "error-page", "empty-sitemap", "404"],
)
@in_reactor
async def test_sitemap_is_guessed_where_none_is_listed(page: bytes | Reply, crawled: bool) -> None:
    with Site({"/robots.txt": Reply(404), "*": b"ok"}) as site:
        here = f"{site.host}:{site.port}"
        site.pages["/sitemap.xml"] = page.replace(b"{}", here.encode()) if isinstance(page, bytes) else page
        crawler = await crawl(Hosts, hosts=here, guess="1")
        assert set(parsed(crawler)) == ({site.url("/i")} if crawled else set())
        assert host_stats(crawler) == {"guessed": 1} if crawled else {"guessed": 1, "without": 1}
        assert list(without(crawler)) == ([] if crawled else [here])
        assert "failed" not in sitemap_stats(crawler)


@pytest.mark.parametrize("addon", [True, False], ids=["with-the-add-on", "without"])
@in_reactor
async def test_server_error_that_says_not_found_is_no_robots_txt(addon: bool) -> None:
    with Site({"/robots.txt": Reply(500, b"<title>Page not found</title>"), "*": b"ok"}) as site:
        site.pages["/sitemap.xml"] = xml(urlset(site.url("/1")))
        crawler = await crawl(Hosts, addon=addon, hosts=[site.url()], guess=True)
        assert set(parsed(crawler)) == {site.url("/1")}


@in_reactor
async def test_host_whose_lines_are_all_bad_has_no_sitemap() -> None:
    with Site({"/robots.txt": b"Sitemap: /s.xml"}) as site:
        crawler = await crawl(Hosts, hosts=[site.url()])
        assert without(crawler) == {
            site.url(): "its robots.txt lists none that can be used: line 1: no absolute URL with a host: /s.xml"
        }


FEED = "<rss><channel><link>{0}x</link><item><link>{0}1</link></item><item><link>{0}2</link></item></channel></rss>"
ATOM = '<feed><entry><link href="{0}1"/></entry><entry><link href="{0}2"/></entry></feed>'


@pytest.mark.parametrize("gzipped", [False, True], ids=["plain", "gzipped"])
@pytest.mark.parametrize("form", [urlset("{0}1", "{0}2").decode(), FEED, ATOM, "{0}1\n{0}2"])
@in_reactor
async def test_format_is_told_by_content_whatever_the_type_and_name(form: str, gzipped: bool, site: Site) -> None:
    body = form.replace("{0}", site.url()).encode()
    for path, headers in (
        ("/s.xml", {"Content-Type": "text/html"}),
        ("/s?page=1", {}),
        ("/s.jpg", {"Content-Type": "a"}),
    ):
        site.pages["/robots.txt"] = f"Sitemap: {site.url(path)}".encode()
        site.pages[path] = Reply(200, gzip.compress(body) if gzipped else body, headers)
        crawler = await crawl(Hosts, hosts=[site.url()])
        assert set(parsed(crawler)) == {site.url("/1"), site.url("/2")}


@in_reactor
async def test_bad_entries_cost_no_other(site: Site) -> None:
    bad = (
        "",
        "relative",
        "http://[",
        "file:///etc/hostname",
        "javascript:alert(1)",
        "http://e/\x01",
        "//x/y",
        "mailto:a@b",
    )
    site.pages["/s.xml"] = xml(urlset(site.url("/1"), *bad, site.url("/ü a?b&c"), f"HTTP://127.0.0.1:{site.port}/3"))
    crawler = await crawl(Hosts, hosts=[site.url()])
    assert set(parsed(crawler)) == {site.url("/1"), site.url("/%C3%BC%20a?b&c"), site.url("/3")}
    counted = sitemap_stats(crawler)
    assert (counted["entries/broken"], counted["entries/malformed"], counted["entries/scheme"]) == (2, 3, 3)
    assert "failed" not in counted
    assert "spider_exceptions/count" not in stats(crawler)


@in_reactor
async def test_broken_file_is_used_as_far_as_it_goes_and_counted(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    many = gzip.compress(urlset(*(site.url(f"/{number}") for number in range(3000))))
    site.pages["/s.xml"] = many[: len(many) // 2]
    site.pages["/robots.txt"] = f"Sitemap: {site.url('/s.xml')}\nSitemap: {site.url('/html')}".encode()
    crawler = await crawl(Hosts, {"CLOSESPIDER_PAGECOUNT": 50}, hosts=[site.url()])
    assert len(parsed(crawler)) > 40
    assert sitemap_stats(crawler)["failed"] == 2
    warnings = [record.getMessage() for record in caplog.records if record.name.endswith("intake")]
    assert sorted(re.sub(r"entry \d+", "entry N", warning) for warning in warnings) == [
        f"{site.url('/html')} is no sitemap: its first element is <title>",
        f"{site.url('/s.xml')} was read only up to entry N: the compressed data ends too early",
    ]


@in_reactor
async def test_sitemap_indexes_may_loop_and_have_no_end(site: Site) -> None:
    site.pages["/s.xml"] = xml(index(site.url("/s.xml"), site.url("/i1.xml"), "file:///etc/hostname", "http://["))
    site.pages |= {f"/i{n}.xml": index(site.url("/s.xml"), site.url(f"/i{n + 1}.xml")) for n in range(20)}
    crawler = await crawl(Hosts, hosts=[site.url()])
    assert site.paths() == ["/robots.txt", "/s.xml", "/i1.xml", "/i2.xml", "/i3.xml"]
    assert sitemap_stats(crawler)["entries/depth"] == 2
    assert sitemap_stats(crawler)["entries/scheme"] == 1


@pytest.mark.parametrize(
    ("path", "crawled"),
    [
        pytest.param("/catalog/show?item=23", True, id="S10.25-at-or-below-the-sitemap"),
        pytest.param("/image/show?item=23", True, id="S10.25-elsewhere-on-the-host"),
        pytest.param("https://{host}:{port}/catalog/page1.php", True, id="S10.25-other-scheme"),
        pytest.param("http://{host}:1/catalog/page1.php", False, id="S10.25-other-port-is-another-host"),
    ],
)
@in_reactor
async def test_sitemap_may_list_pages_that_do_not_lie_below_it(path: str, crawled: bool, site: Site) -> None:
    """sitemaps.org says otherwise, but search engines accept it. `scope` decides."""
    listed = path.format(host=site.host, port=site.port) if path.startswith("http") else site.url(path)
    site.pages["/robots.txt"] = f"Sitemap: {site.url('/catalog/sitemap.xml')}".encode()
    site.pages["/catalog/sitemap.xml"] = xml(urlset(listed))
    crawler = await crawl(Hosts, {"GBOT_ROBOTS_TIMEOUT_SECS": 1}, hosts=[site.url()])
    assert sitemap_stats(crawler).get("entries/host", 0) == (not crawled)
    enqueued = stats(crawler)["scheduler/enqueued"]
    assert (enqueued > 2) == crawled  # a request that waits outside the downloader is enqueued more than once


@pytest.mark.parametrize(("hosts", "read"), [("any", 2), ("same-host", 1)])
@in_reactor
async def test_indexes_lead_only_where_sitemaps_may_live(hosts: str, read: int, site: Site) -> None:
    with Site({"/robots.txt": Reply(404)}, host="127.0.0.2") as other:
        site.pages["/s.xml"] = xml(index(other.url("/part.xml")))
        other.pages["/part.xml"] = xml(urlset(site.url("/1")))
        crawler = await crawl(Hosts, {"GBOT_ROBOTS_SITEMAPS_HOSTS": hosts}, hosts=[site.url()])
        assert sitemap_stats(crawler)["read"] == read


@in_reactor
async def test_last_change_reaches_the_callback_and_since_filters_by_it(site: Site) -> None:
    pages = [urlset(site.url(f"/{date}"), lastmod=date) for date in ("2025-12-31", "2026-01-01", "2026", "soon", "")]
    names = [f"/{number}.xml" for number in range(len(pages))]
    site.pages |= dict(zip(names, map(xml, pages), strict=True))
    site.pages["/old.xml"] = xml(urlset(site.url("/in-an-old-sitemap")))
    site.pages["/s.xml"] = xml(index(*map(site.url, names)) + b"")
    site.pages["/o.xml"] = xml(index(site.url("/old.xml"), lastmod="2020-05-05"))
    site.pages["/robots.txt"] = f"Sitemap: {site.url('/s.xml')}\nSitemap: {site.url('/o.xml')}".encode()
    crawler = await crawl(Hosts, hosts=[site.url()], since="2026-01-01")
    assert {url: response.meta[LISTED] for url, response in parsed(crawler).items()} == {
        site.url("/2026-01-01"): {"sitemap": site.url("/1.xml"), "lastmod": "2026-01-01"},
        site.url("/2026"): {"sitemap": site.url("/2.xml"), "lastmod": "2026"},
        site.url("/soon"): {"sitemap": site.url("/3.xml"), "lastmod": "soon"},
        site.url(): {"sitemap": site.url("/4.xml"), "lastmod": ""},
    }
    assert sitemap_stats(crawler)["entries/old"] == 2
    assert "/old.xml" not in site.paths()


@in_reactor
async def test_attributes_of_a_sitemap_spider_work(site: Site) -> None:
    class Choosy(Hosts):
        sitemap_rules = (("/shoes/", "parse_shoe"), ("/hats/", "parse"))
        sitemap_follow = ("/s.xml", "/part")
        sitemap_alternate_links = True

        def parse_shoe(self, response: Any) -> None:
            self.parsed["shoe"] = response

        def sitemap_filter(self, entries: Any) -> Any:
            for entry in entries:
                if "secret" not in entry["loc"]:
                    yield entry

    links = f'<x:link xmlns:x="x" rel="alternate" hreflang="de" href="{site.url("/hats/de")}"/>'
    entry = f"<url><loc>{site.url('/shoes/1')}</loc>{links}</url>"
    site.pages["/s.xml"] = xml(index(site.url("/part.xml"), site.url("/other.xml")))
    site.pages["/part.xml"] = urlset(site.url("/hats/secret"), site.url("/x")).replace(b"</urlset>", entry.encode())
    crawler = await crawl(Choosy, hosts=[site.url()])
    assert set(parsed(crawler)) == {"shoe", site.url("/hats/de")}
    assert site.paths().count("/other.xml") == 0


@in_reactor
async def test_sitemap_urls_are_crawled_beside_hosts(site: Site) -> None:
    with Site({"*": b"ok"}) as other:
        site.pages["/s.xml"] = xml(urlset(site.url("/1")))
        other.pages["/mine"] = xml(urlset(other.url("/2")))
        urls = [other.url("/mine"), site.url("/robots.txt")]
        crawler = await crawl(Hosts, sitemap_urls=urls)
        assert set(parsed(crawler)) == {site.url("/1"), other.url("/2")}
        assert host_stats(crawler) == {"listed": 1}


@in_reactor
async def test_robots_txt_may_be_requested_by_the_spiders_own_start(site: Site) -> None:
    class Own(Hosts):
        async def start(self) -> AsyncIterator[Any]:
            async for request in super().start():
                yield request
            yield Request(self.site.url("/robots.txt"), self._parse_sitemap)

        site: Site

    site.pages["/s.xml"] = xml(urlset(site.url("/1")))
    with Site({"/robots.txt": Reply(404)}) as bare:
        crawler = await crawl(Own, hosts=[bare.url()], site=site, scope="any")
        assert set(parsed(crawler)) == {site.url("/1")}
        assert host_stats(crawler) == {"listed": 1, "without": 1}


@in_reactor
async def test_pages_on_other_hosts_are_logged_with_what_crawls_them(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "scrapy_gbot_robots.spider.intake")
    site.pages["/s.xml"] = xml(urlset(site.url("/1"), "http://other.example/1"))
    await crawl(Hosts, hosts=[site.url()])
    assert [record.getMessage() for record in caplog.records if record.name.endswith("intake")] == [
        f"{site.url('/s.xml')} lists 1 page on other hosts than the given ones. scope = 'any' crawls such pages, too"
    ]


@in_reactor
async def test_hosts_come_from_a_file_no_faster_than_they_answer(tmp_path_factory: pytest.TempPathFactory) -> None:
    with contextlib.ExitStack() as stack:
        sites = [stack.enter_context(Site({"*": b"ok"})) for _ in range(6)]
        for site in sites:
            site.pages["/robots.txt"] = Reply(200, f"Sitemap: {site.url('/s.xml')}".encode(), after_secs=0.2)
            site.pages["/s.xml"] = xml(urlset(site.url("/page")))
        path = tmp_path_factory.mktemp("hosts") / "hosts.txt"
        lines = ["# six", *(f"127.0.0.1:{site.port}  # a comment" for site in sites), "", "no host", sites[0].url()]
        path.write_text("\n".join(lines))
        crawler = await crawl(Hosts, hosts_file=str(path), most_asked="2")
        assert set(parsed(crawler)) == {site.url("/page") for site in sites}
        assert host_stats(crawler) == {"listed": 6, "invalid": 1}
        assert list(without(crawler)) == ["no host"]
        asked = sorted(site.asked[0].at for site in sites)
        assert all(later - earlier > 0.15 for earlier, later in zip(asked, asked[2:], strict=False))


@in_reactor
async def test_server_with_tls_only_is_found() -> None:
    with Site({"*": b"ok"}, tls=tls_context()) as site:
        site.pages["/robots.txt"] = f"Sitemap: {site.url('/s.xml')}".encode()
        site.pages["/s.xml"] = xml(urlset(site.url("/page")))
        crawler = await crawl(Hosts, {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60}, hosts=f"127.0.0.1:{site.port}")
        assert set(parsed(crawler)) == {site.url("/page")}


@in_reactor
async def test_server_without_tls_is_found_on_a_port_that_looks_like_it() -> None:
    for port in range(20443, 60443, 1000):
        with contextlib.suppress(OSError):
            site = Site({"*": b"ok"}, port=port)
            break
    with site:
        site.pages["/robots.txt"] = f"Sitemap: {site.url('/s.xml')}".encode()
        site.pages["/s.xml"] = xml(urlset(site.url("/page")))
        settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60, "GBOT_ROBOTS_TIMEOUT_SECS": 0.3}
        crawler = await crawl(Hosts, settings, hosts=f"127.0.0.1:{port}")
        assert set(parsed(crawler)) == {site.url("/page")}
        assert stats(crawler)["robotstxt/request_count"] == 2


@in_reactor
async def test_host_that_does_not_answer_is_given_up_without_waiting() -> None:
    with Site({}) as gone:
        host = f"127.0.0.1:{gone.port}"
    crawler = await crawl(Hosts, {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60}, hosts=host)
    assert host_stats(crawler) == {"unreachable": 1}
    assert "connection refused" in without(crawler)[host]


@in_reactor
async def test_host_that_is_unreachable_for_a_moment_is_waited_for(site: Site) -> None:
    site.pages["/s.xml"] = xml(urlset(site.url("/1")))
    call_later(0.5, site.pages.update, {"/robots.txt": site.pages["/robots.txt"]})
    site.pages["/robots.txt"] = Reply(503)
    crawler = await crawl(Hosts, {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60}, hosts=f"127.0.0.1:{site.port}")
    assert set(parsed(crawler)) == {site.url("/1")}


@in_reactor
async def test_progress_is_logged_during_the_crawl_and_at_its_end(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "scrapy_gbot_robots.spider.progress")
    site.pages["/slow"] = Reply(200, b"ok", after_secs=0.7)
    site.pages["/s.xml"] = xml(urlset(site.url("/slow"), site.url("/no/1"), site.url("/no/2"), site.url("/fast")))
    with Site({"/robots.txt": Reply(404)}) as bare:
        await crawl(Hosts, hosts=[site.url(), bare.url()], progress_secs="0.2")
    lines = [record.getMessage() for record in caplog.records if record.name == "scrapy_gbot_robots.spider.progress"]
    assert len(lines) >= 2
    assert all(before != line for before, line in pairwise(lines[:-1]))  # nothing is logged while there is no progress
    begun = "hosts 2/2 (1 without a sitemap, 0 unreachable), sitemaps 1, URLs 4 found, 1 crawled, 2 blocked"
    assert begun in lines[:-1]
    assert lines[-1] == "hosts 2/2 (1 without a sitemap, 0 unreachable), sitemaps 1, URLs 4 found, 2 crawled, 2 blocked"


@in_reactor
async def test_first_page_is_requested_before_a_large_sitemap_is_read_through(site: Site) -> None:
    class Noting(Hosts):
        known = 0

        def parse(self, response: Any, **kwargs: Any) -> None:
            assert self.crawler.stats is not None
            self.known = self.known or self.crawler.stats.get_value("scheduler/enqueued")

    locs = (site.url(f"/{number}?{'x' * 2000}") for number in range(2700))
    site.pages["/s.xml"] = xml(urlset(*locs))  # more than the 5 MB at which Scrapy would hold requests back
    crawler = await crawl(Noting, {"CLOSESPIDER_PAGECOUNT": 20}, hosts=[site.url()])
    assert isinstance(crawler.spider, Noting)
    assert 0 < crawler.spider.known < 1000


@in_reactor
async def test_reactor_runs_after_every_few_requests(site: Site) -> None:
    class Looking(Hosts):
        most = known = 0
        is_open = True

        async def start(self) -> AsyncIterator[Any]:
            self.look()
            async for request in super().start():
                yield request

        def look(self) -> None:
            assert self.crawler.stats is not None
            now = self.crawler.stats.get_value("scheduler/enqueued", 0)
            self.most, self.known = max(self.most, now - self.known), now
            if self.is_open:
                call_later(0, self.look)

        def closed(self, reason: str) -> None:
            self.is_open = False

    site.pages["/s.xml"] = xml(urlset(*(site.url(f"/no/{number}") for number in range(600))))
    crawler = await crawl(Looking, hosts=[site.url()])
    assert isinstance(crawler.spider, Looking)
    assert crawler.spider.known > 600
    assert crawler.spider.most < 50


@in_reactor
async def test_sitemap_that_unpacks_to_more_than_may_be_downloaded_is_read(site: Site) -> None:
    locs = [site.url(f"/no/{number}") for number in range(500)]
    body = gzip.compress(urlset(*locs))
    site.pages["/s.xml"] = Reply(200, body, {"Content-Type": "text/xml", "Content-Encoding": "gzip"})
    crawler = await crawl(Hosts, {"DOWNLOAD_MAXSIZE": len(body)}, hosts=[site.url()])
    assert sitemap_stats(crawler)["entries"] == len(locs)


@in_reactor
async def test_sitemap_over_the_limit_is_counted_and_used_up_to_the_limit(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(reader, "MAX_ENTRIES", 2)
    site.pages["/s.xml"] = xml(urlset(*(site.url(f"/{number}") for number in range(3))))
    crawler = await crawl(Hosts, hosts=[site.url()])
    assert set(parsed(crawler)) == {site.url("/0"), site.url("/1")}
    assert sitemap_stats(crawler)["over_limit"] == 1
    [warning] = own_warnings(caplog)
    assert warning.startswith(
        f"{site.url('/s.xml')} has more than the 50000 entries or 52428800 bytes that a sitemap may"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Say which hosts"),
        ({"hosts": ""}, "Say which hosts"),
        ({"hosts_file": "nowhere.txt"}, "hosts_file must be a file, got 'nowhere.txt'"),
        ({"hosts": "a.com", "since": "yesterday"}, "since must be a date"),
        ({"hosts": "a.com", "scope": "all"}, "scope must be one of hosts, any, got 'all'"),
        ({"hosts": "a.com", "progress_secs": "often"}, "progress_secs must be a number >= 0, got 'often'"),
        ({"hosts": "a.com", "progress_secs": "-1"}, "progress_secs must be a number >= 0, got '-1'"),
        ({"hosts": "a.com", "most_asked": 0}, "most_asked must be a number >= 1, got 0"),
        ({"hosts": "a.com", "most_asked": "inf"}, "most_asked must be a number >= 1, got 'inf'"),
    ],
)
def test_wrong_argument_is_named(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CrawlerRunner().create_crawler(Hosts)._create_spider(**{"progress_secs": "1", **arguments})


def test_large_sitemaps_may_be_parsed_unless_the_user_sets_a_limit() -> None:
    assert CrawlerRunner().create_crawler(Hosts).settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE") == 104_857_600
    runner = CrawlerRunner({"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1})
    assert runner.create_crawler(Hosts).settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE") == 1


@pytest.mark.parametrize("way", ways_to_run("select", "reactorless"))
def test_hosts_are_crawled_under_another_reactor_and_without_one(way: dict[str, Any], site: Site) -> None:
    site.pages["/s.xml"] = xml(urlset(*(site.url(f"/{number}") for number in range(20))))
    settings = {**way, "GBOT_ROBOTS_STORAGE": "memory", "DOWNLOAD_DELAY": "0"}
    command = [sys.executable, "-m", "scrapy", "crawl", "discover", "-a", f"hosts=127.0.0.1:{site.port}"]
    command += as_arguments(settings)
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True, timeout=30)
    assert sorted(site.paths()) == sorted(["/robots.txt", "/s.xml", *(f"/{number}" for number in range(20))])
    assert "Traceback" not in run.stderr
    assert "URLs 20 found, 20 crawled, 0 blocked" in run.stderr


STOCK = """
from scrapy.spiders import SitemapSpider

class Stock(SitemapSpider):
    name = "stock"
    custom_settings = {"ADDONS": {"scrapy_gbot_robots.Addon": 500}}

    def __init__(self, site, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [site]

    def parse(self, response):
        yield {"url": response.url}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("spider", "asked"), [("discover", 1), ("discover", 20), ("stock", 10)])
def test_interrupted_crawl_that_is_resumed_ends_with_the_same_pages(spider: str, asked: int, tmp_path: Path) -> None:
    """SIGINT, as Ctrl-C sends it, to a real process; then the same command again."""
    with Site({"*": Reply(200, b"<title>page</title>", after_secs=0.05)}) as site:
        site.pages["/robots.txt"] = Reply(200, f"Sitemap: {site.url('/s.xml')}".encode(), after_secs=0.3)
        site.pages["/s.xml"] = xml(index(*(site.url(f"/s{number}.xml") for number in range(3))))
        for number in range(3):
            locs = (site.url(f"/{page}") for page in range(20 * number, 20 * number + 20))
            site.pages[f"/s{number}.xml"] = Reply(200, urlset(*locs), {"Content-Type": "text/xml"}, after_secs=0.1)
        (tmp_path / "stock.py").write_text(STOCK)
        own = {
            "discover": ["crawl", "discover", "-a", f"hosts=127.0.0.1:{site.port}"],
            "stock": ["runspider", str(tmp_path / "stock.py"), "-a", f"site={site.url()}"],
        }[spider]
        settings = {"JOBDIR": str(tmp_path / "job"), "GBOT_ROBOTS_STORAGE": "memory", "DOWNLOAD_DELAY": "0"}
        settings["CONCURRENT_REQUESTS_PER_DOMAIN"] = "4"
        command = [sys.executable, "-m", "scrapy", *own, "-o", str(tmp_path / "items.jl")]
        command += as_arguments(settings)
        pipes: Any = {"cwd": PROJECT, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes) as process:
            deadline = time.monotonic() + 30
            while len(site.asked) < asked and time.monotonic() < deadline:
                time.sleep(0.005)
            os.kill(process.pid, signal.SIGINT)
            first = process.communicate(timeout=30)[1]
        assert "Closing spider (shutdown)" in first
        assert len(site.asked) < 60
        again = subprocess.run(command, **pipes, check=True, timeout=30)
        items = [json.loads(line)["url"] for line in (tmp_path / "items.jl").read_text().splitlines()]
        assert sorted(items) == sorted(site.url(f"/{page}") for page in range(60))
        paths = [path for path in site.paths() if path != "/robots.txt"]
        assert len(paths) == len(set(paths)) == 64
        assert "Traceback" not in first + again.stderr
