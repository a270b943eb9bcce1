"""Sitemap files become requests in real crawls: formats, broken files, limits, and turns for the reactor."""

import gzip
import logging
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.utils.asyncio import call_later

from ..support.crawls import crawl, in_reactor, own_warnings, stats
from ..support.rows import row, table
from ..support.sitemap_web import Hosts, index, parsed, sitemap_lines, sitemap_stats, urlset, xml
from ..support.web import Content, Reply, Site, redirect


@in_reactor
async def test_pages_may_lie_above_their_file(site: Site, log: Any) -> None:
    """S10.25: sitemaps.org says otherwise, but search engines accept it. `scope` decides: another port is another host."""
    listed = [site.url("/catalog/show?item=23"), site.url("/image/show?item=23")]
    other_scheme = f"https://{site.host}:{site.port}/page1"
    other_port = f"http://{site.host}:1/page1"
    site.pages["/robots.txt"] = sitemap_lines(site.url("/catalog/sitemap.xml"))
    site.pages["/catalog/sitemap.xml"] = xml(urlset(*listed, other_scheme, other_port))
    crawler = await crawl(Hosts, {"GBOT_ROBOTS_TIMEOUT_SECS": 4}, hosts=[site.url()])
    assert set(parsed(crawler)) == set(listed)
    assert sitemap_stats(crawler)["entries/host"] == 1
    assert "1 on other hosts than sitemap_scope = 'hosts' allows" in log.text


@in_reactor
async def test_bad_entries_cost_no_other_and_are_logged(site: Site, log: Any) -> None:
    log.set_level(logging.DEBUG, "scrapy_gbot_robots.sitemaps.spider")
    local = "file:///etc/hostname"
    bad = ("", "http://[", local, "javascript:alert(1)", "http://e/\x01", "mailto:a@b")
    good = (site.url("/ü a?b&c"), f"HTTP://127.0.0.1:{site.port}/3")
    site.pages["/s.xml"] = xml(urlset(site.url("/1"), *bad, *good))
    crawler = await crawl(Hosts, hosts=[site.url()])
    assert set(parsed(crawler)) == {site.url("/1"), site.url("/%C3%BC%20a?b&c"), site.url("/3")}
    counted = sitemap_stats(crawler)
    numbers = [counted[f"entries/{fate}"] for fate in ("broken", "malformed", "scheme")]
    assert (numbers, "failed" in counted) == ([2, 1, 3], False)
    assert "spider_exceptions/count" not in stats(crawler)
    skipped = [message for message in log.messages if ": skipped by " in message]
    assert skipped == [
        f"{site.url('/s.xml')}: skipped by the form of its URL, which must be absolute: http://[",
        f"{site.url('/s.xml')}: skipped by the scheme of its URL: {local} (and 2 more)",
    ]


class First(Hosts):
    def sitemap_filter(self, entries: Any) -> Any:
        yield next(iter(entries))


@pytest.mark.parametrize(("spider", "crawled"), [(Hosts, {"/a", "/b", "/c"}), (First, {"/a"})])
@in_reactor
async def test_sitemaps_may_stand_among_pages(spider: Any, crawled: set[str], site: Site) -> None:
    entries = urlset(*(site.url(f"/{name}") for name in "ab"))
    below = f"<sitemap><loc>{site.url('/below.xml')}</loc></sitemap>".encode()
    site.pages["/s.xml"] = xml(entries.replace(b"</urlset>", below + b"</urlset>"))
    site.pages["/below.xml"] = xml(urlset(site.url("/c")))
    crawler = await crawl(spider, hosts=[site.url()])
    assert set(parsed(crawler)) == set(map(site.url, crawled))


@in_reactor
async def test_relative_urls_are_resolved_by_that_of_the_file(site: Site) -> None:
    """As Scrapy 2.20 does (pull request 8210)."""
    here = f"{site.host}:{site.port}"
    alternate = f'<x:link xmlns:x="x" rel="alternate" href="//{here}/alternate"/>'
    listed = urlset("/a", f"//{here}/b?c", "d", "?e", "//[")
    listed = listed.replace(b"</url>", f"{alternate}</url>".encode(), 1)
    site.pages["/in/s.xml"] = xml(index("part.xml", "//other.example:1/i"))
    site.pages["/in/part.xml"] = xml(listed)
    site.pages["/robots.txt"] = sitemap_lines(site.url("/in/s.xml"))

    class Ruled(Hosts):
        sitemap_rules = ((f"^{site.url()}", "parse"),)  # sees the whole URL
        sitemap_alternate_links = True

    crawler = await crawl(Ruled, {"GBOT_ROBOTS_SITEMAPS_HOSTS": "same-host"}, hosts=[site.url()])
    paths = ("/a", "/alternate", "/b?c", "/in/d", "/in/part.xml?e")
    assert set(parsed(crawler)) == set(map(site.url, paths))
    assert sitemap_stats(crawler)["entries/malformed"] == 1
    assert sitemap_stats(crawler)["entries/host"] == 1


@in_reactor
async def test_broken_file_is_used_and_logged(site: Site, log: Any) -> None:
    many = gzip.compress(urlset(*(site.url(f"/{number}") for number in range(3000))))
    html = {"Content-Type": "text/html"}  # which says nothing: the format is told by the content
    files: dict[str, Content] = {
        "/cut.xml": many[: len(many) // 2],
        "/html": b"<title>page</title>",
        "/s.txt": Reply(200, f"Pages:\n{site.url('/page')}\n/relative\n".encode(), html),
        "/empty.xml": xml(urlset()),
        "/nothing": b"",
    }
    site.pages |= {**files, "/robots.txt": sitemap_lines(*map(site.url, files))}
    settings = {"CLOSESPIDER_PAGECOUNT": 50, "GBOT_ROBOTS_SITEMAPS_AHEAD": 0}
    crawler = await crawl(Hosts, settings, hosts=[site.url()])
    assert len(parsed(crawler)) > 40
    assert sitemap_stats(crawler)["failed"] == 3
    said = [message for message in log.messages if "broken entries" in message]
    assert sorted(re.sub(r": \d{3,} ", ": N ", message) for message in said) == [
        f"{site.url('/cut.xml')}: N URLs read, 1 broken entries; the compressed data ends too early",
        f"{site.url('/empty.xml')}: 0 URLs read, 0 broken entries",
        f"{site.url('/html')}: 0 URLs read, 0 broken entries; "
        'it is not a sitemap; it begins with "<title>page</title>"',
        f"{site.url('/nothing')}: 0 URLs read, 0 broken entries; it is empty",
        f"{site.url('/s.txt')}: 1 URLs read, 2 broken entries",
    ]
    assert sorted(own_warnings(log)) == sorted(message for message in said if ";" in message)


@in_reactor
async def test_only_files_that_are_sitemaps_count_as_read(site: Site) -> None:
    files: dict[str, Content] = {
        "/html": b"<title>page</title>",
        "/nothing": b"",
        "/empty.xml": xml(urlset()),
        "/cut.xml": xml(urlset(site.url("/page"))[:-9]),
        "/s.xml": xml(urlset(site.url("/other"))),
    }
    site.pages |= {**files, "/robots.txt": sitemap_lines(*map(site.url, files))}
    counted = sitemap_stats(await crawl(Hosts, hosts=[site.url()]))
    assert (counted["read"], counted["failed"]) == (3, 3)


@in_reactor
async def test_line_about_a_redirected_sitemap_names_the_one_that_is_listed(
    site: Site, log: Any
) -> None:
    log.set_level(logging.DEBUG, "scrapy_gbot_robots.sitemaps.spider")
    site.pages |= {"/s.xml": redirect("/2.xml"), "/2.xml": redirect("/home")}
    site.pages["/home"] = xml(urlset("mailto:a@e")[:-9])
    await crawl(Hosts, hosts=[site.url()])
    name = f"{site.url('/s.xml')} (redirected to {site.url('/home')})"
    assert [
        message for message in log.messages if message.startswith(f"{site.url('/s.xml')} ")
    ] == [
        f"{name}: skipped by the scheme of its URL: mailto:a@e",
        f"{name}: 1 URLs read, 0 broken entries; the file ends early, without </urlset>",
    ]


@pytest.mark.parametrize("body", [b"<title>404</title>", urlset("/page")])
@in_reactor
async def test_sitemap_with_an_error_status_counts_once(body: bytes, site: Site, log: Any) -> None:
    site.pages["/s.xml"] = Reply(404, body)
    settings = {"HTTPERROR_ALLOW_ALL": True}
    crawler = await crawl(Hosts, settings, hosts=[site.url()])
    counted = sitemap_stats(crawler)
    assert (counted["failed"], counted.get("read", 0)) == (1, 0)
    found = len(parsed(crawler))
    warning = f"{site.url('/s.xml')}: HTTP 404: {found} URLs read, 0 broken entries"
    assert own_warnings(log) == [warning]


class Copying(Hosts):
    """Yields requests with the meta of a listed page, or of one that is forbidden."""

    def parse(self, response: Any, **kwargs: Any) -> Any:
        self.parsed[response.url] = response
        if len(self.parsed) < 3:
            yield response.request.replace(dont_filter=True)
            yield Request(response.urljoin("/other"), self.parse, meta=response.meta)
            yield Request(response.urljoin("/no/other"), self.parse, meta=response.meta)
            yield Request(response.url, self.parse, meta=response.meta)


@in_reactor
async def test_requests_with_the_meta_of_a_listed_page_count_for_nothing(site: Site) -> None:
    site.pages["/robots.txt"] = b"user-agent: *\ndisallow: /no\n" + sitemap_lines(
        site.url("/s.xml")
    )
    site.pages["/s.xml"] = xml(urlset("/page", "/old", "/no/page"))
    site.pages["/old"] = redirect("/new")
    crawler = await crawl(Copying, hosts=[site.url()])
    assert site.paths().count("/page") > 1
    assert {site.url("/other"), site.url("/new")} <= set(parsed(crawler))
    counted = sitemap_stats(crawler)
    assert (counted["entries"], counted["entries/crawled"]) == (3, 2)
    assert (counted["entries/forbidden"], counted.get("entries/duplicate", 0)) == (1, 0)


@in_reactor
async def test_last_change_reaches_the_callback_and_since_filters_by_it(site: Site) -> None:
    dates = ("2025-12-31", "2026-01-01", "2026", "soon", "")
    pages = [urlset(site.url(f"/{date}"), lastmod=date) for date in dates]
    names = [f"/{number}.xml" for number in range(len(pages))]
    site.pages |= dict(zip(names, map(xml, pages), strict=True))
    site.pages["/old.xml"] = xml(urlset(site.url("/in-an-old-sitemap")))
    site.pages["/s.xml"] = xml(index(*map(site.url, names)))
    site.pages["/o.xml"] = xml(index(site.url("/old.xml"), lastmod="2020-05-05"))
    site.pages["/robots.txt"] = sitemap_lines(site.url("/s.xml"), site.url("/o.xml"))
    crawler = await crawl(Hosts, hosts=[site.url()], sitemap_since="2026-01-01")
    listed = {url: page.meta["gbot_robots_listed"] for url, page in parsed(crawler).items()}
    assert listed == {
        site.url("/2026-01-01"): {"sitemap": site.url("/1.xml"), "lastmod": "2026-01-01"},
        site.url("/2026"): {"sitemap": site.url("/2.xml"), "lastmod": "2026"},
        site.url("/soon"): {"sitemap": site.url("/3.xml"), "lastmod": "soon"},
        site.url(): {"sitemap": site.url("/4.xml"), "lastmod": ""},
    }
    assert sitemap_stats(crawler)["entries/old"] == 2
    assert "/old.xml" not in site.paths()


@in_reactor
@pytest.mark.slow
async def test_pages_are_requested_and_the_reactor_runs_while_a_file_is_read(site: Site) -> None:
    class Looking(Hosts):
        most = known = at_first_page = 0
        is_open = True

        async def start(self) -> AsyncIterator[Any]:
            self.crawler.signals.connect(self.sent, signals.request_reached_downloader)
            self.look()
            async for request in super().start():
                yield request

        def look(self) -> None:
            assert self.crawler.stats is not None
            now = self.crawler.stats.get_value("scheduler/enqueued", 0)
            self.most, self.known = max(self.most, now - self.known), now
            if self.is_open:
                call_later(0, self.look)

        def sent(self, request: Request) -> None:
            if request.url == site.url("/page"):
                self.at_first_page = self.known

        def closed(self, reason: str) -> None:
            self.is_open = False

    locs = (site.url(f"/no/{number}?{'x' * 2000}") for number in range(2700))
    # over 5 MB: Scrapy would hold requests back
    site.pages["/s.xml"] = xml(urlset(site.url("/page"), *locs))
    spider = (await crawl(Looking, hosts=[site.url()])).spider
    assert isinstance(spider, Looking)
    assert 0 < spider.at_first_page < 2000 < spider.known
    assert spider.most < 50


@in_reactor
async def test_sitemap_that_unpacks_to_more_than_may_be_downloaded_is_read(site: Site) -> None:
    locs = [site.url(f"/no/{number}") for number in range(500)]
    body = gzip.compress(urlset(*locs))
    site.pages["/s.xml"] = xml(body)
    crawler = await crawl(Hosts, {"DOWNLOAD_MAXSIZE": len(body)}, hosts=[site.url()])
    assert sitemap_stats(crawler)["entries"] == len(locs)


@table(
    "limit, room",
    row("of-the-setting", 100, 100_000),
    row("of-the-spider", 100_000, 100),
    row("of-the-spider-alone", 0, 100),
)
@in_reactor
async def test_sitemap_over_the_least_limit_is_not_downloaded(
    limit: int, room: int, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_gbot_robots.sitemaps.spider.MOST_DOWNLOADED", room)
    crawler = await crawl(Hosts, {"DOWNLOAD_MAXSIZE": limit}, hosts=[site.url()])
    assert parsed(crawler) == {}
    assert sitemap_stats(crawler) == {"found": 1, "fed": 1, "failed": 1}
