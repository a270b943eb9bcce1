"""The two middlewares around a SitemapSpider: where it starts, where sitemaps may lie, and what is counted."""

from __future__ import annotations

from typing import Any

import pytest

from ..support.crawls import crawl, in_reactor, own_warnings, stats
from ..support.sitemap_web import Hosts, Remembers, Sitemaps, index, listing, parsed, sitemap_stats, urlset, xml
from ..support.web import Reply, Site, redirect


def given(spider: type[Remembers], site: Site) -> dict[str, Any]:
    """What lets the spider begin with the site."""
    return {"hosts" if spider is Hosts else "start_urls": [site.url()]}


@in_reactor
async def test_errors_of_the_spider_are_counted() -> None:
    class Broken(Sitemaps):
        def sitemap_filter(self, entries: Any) -> Any:
            raise RuntimeError("a bug of the spider's")

    with Site({"*": b"ok"}) as site:
        listing(site)
        crawler = await crawl(Broken, start_urls=[site.url()])
        assert stats(crawler)["spider_exceptions/RuntimeError"] == 1
        assert sitemap_stats(crawler) == {"found": 1, "fed": 1, "failed": 1}


@in_reactor
async def test_sitemap_that_cannot_be_fetched_is_counted_once() -> None:
    with Site({}) as gone:
        url = gone.url("/s.xml")
    with Site({}) as site:
        site.pages["/robots.txt"] = f"Sitemap: {url}\nSitemap: {site.url('/500.xml')}".encode()
        site.pages["/500.xml"] = Reply(500)
        crawler = await crawl(Sitemaps, {"RETRY_ENABLED": True, "RETRY_TIMES": 2}, start_urls=[site.url()])
        assert site.paths().count("/500.xml") == 3
        assert sitemap_stats(crawler) == {"found": 2, "fed": 2, "failed": 1, "disallowed": 1}


@pytest.mark.parametrize("spider", [Sitemaps, Hosts])
@pytest.mark.parametrize(("hosts", "read"), [("any", True), ("same-host", False)])
@in_reactor
async def test_redirects_and_indexes_lead_only_where_sitemaps_may_live(
    hosts: str, read: bool, spider: type[Remembers]
) -> None:
    with Site({"*": b"ok"}) as site, Site({"/robots.txt": Reply(404)}, host="127.0.0.2") as other:
        site.pages["/robots.txt"] = f"Sitemap: {site.url('/moved.xml')}\nSitemap: {site.url('/i.xml')}".encode()
        site.pages["/moved.xml"] = redirect(other.url("/moved.xml"))
        site.pages["/i.xml"] = xml(index(other.url("/part.xml")))
        other.pages["/moved.xml"] = xml(urlset(site.url("/1")))
        other.pages["/part.xml"] = xml(urlset(site.url("/2")))
        crawler = await crawl(spider, {"GBOT_ROBOTS_SITEMAPS_HOSTS": hosts}, **given(spider, site))
        assert set(parsed(crawler)) == ({site.url("/1"), site.url("/2")} if read else set())
        of_index = "entries/host" if spider is Hosts else "refused/host"
        assert sitemap_stats(crawler).get(of_index, 0) == (0 if read else 1 + (spider is Sitemaps))
        assert "failed" not in sitemap_stats(crawler)


@pytest.mark.parametrize(("spider", "stat"), [(Sitemaps, "refused/depth"), (Hosts, "entries/depth")])
@in_reactor
async def test_sitemap_indexes_without_end_are_followed_only_so_far(spider: type[Remembers], stat: str) -> None:
    with Site({"*": b"ok"}) as site:
        site.pages["/robots.txt"] = f"Sitemap: {site.url('/0.xml')}".encode()
        site.pages |= {f"/{n}.xml": xml(index(site.url(f"/{n + 1}.xml"), site.url(f"/{n}.xml"))) for n in range(20)}
        crawler = await crawl(spider, **given(spider, site))
        assert site.paths() == ["/robots.txt", "/0.xml", "/1.xml", "/2.xml", "/3.xml"]
        assert sitemap_stats(crawler)[stat] == 2


@in_reactor
async def test_spider_may_list_local_files_itself(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("sitemaps") / "sitemap.xml"
    with Site({"*": b"ok"}) as site:
        listed = path.with_name("listed.xml")
        listed.write_bytes(urlset(site.url("/page")))
        path.write_bytes(index(listed.as_uri()))
        crawler = await crawl(Sitemaps, sitemap_urls=[path.as_uri()])
        assert set(parsed(crawler)) == {site.url("/page")}


@in_reactor
async def test_robots_txt_on_which_scrapys_own_code_fails_is_no_error() -> None:
    with Site({"*": b"ok"}) as site:
        listing(site)
        site.pages["/robots.txt"] = f"Sitemap: http://[\nSitemap: {site.url('/s.xml')}\n\xff".encode("latin-1")
        crawler = await crawl(Sitemaps, start_urls=[site.url()])
        assert set(parsed(crawler)) == {site.url("/page")}
        assert "spider_exceptions/count" not in stats(crawler)


@in_reactor
async def test_spider_with_domains_only_starts_from_their_robots_txt_files() -> None:
    crawler = await crawl(Sitemaps, allowed_domains=["127.0.0.9"])
    assert stats(crawler)["robotstxt/request_count"] == 1


@in_reactor
async def test_spider_with_nothing_to_start_from_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    await crawl(Sitemaps, start_urls=["nonsense"])
    assert own_warnings(caplog) == [
        "sitemaps cannot start from nonsense: no absolute URL with a host: nonsense",
        "sitemaps has nothing to start from: set sitemap_urls, start_urls or allowed_domains",
    ]
