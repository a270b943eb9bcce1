"""A spider that asks for a robots.txt itself gets what Scrapy alone would give it, but for what could hurt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request

from ..support.crawls import crawl, in_reactor, stats
from ..support.sitemap_web import Sitemaps, index, parsed, sitemap_stats, urlset, xml
from ..support.web import Site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response


def listing(site: Site, *lines: str) -> None:
    """Let the robots.txt of `site` have these sitemap lines, each of a sitemap with one page."""
    site.pages["/robots.txt"] = "".join(f"Sitemap: {line}\n" for line in lines).encode()
    for number, line in enumerate(lines):
        path = "/" + line.removeprefix(site.url())
        site.pages[path.replace("//", "/")] = xml(urlset(site.url(f"/page{number}")))


class Follows(Sitemaps):
    sitemap_follow = ("storelocator",)


class ByStart(Sitemaps):
    async def start(self) -> AsyncIterator[Request]:
        for url in self.start_urls:
            yield Request(url, self._parse_sitemap)


@pytest.mark.parametrize("spider", [Sitemaps, ByStart])
@pytest.mark.parametrize("addon", [True, False], ids=["with-the-add-on", "without"])
@in_reactor
async def test_bounds_on_what_is_fed_do_not_apply(addon: bool, spider: type[Sitemaps]) -> None:
    settings = {"GBOT_ROBOTS_SITEMAPS_MAX": 2, "GBOT_ROBOTS_SITEMAPS_HOSTS": "same-host"}
    with Site({"*": b"ok"}) as site, Site({"*": b"ok"}, host="127.0.0.2") as other:
        listing(site, *(site.url(f"/{number}.xml") for number in range(80)), "/relative.xml", other.url("/s.xml"))
        other.pages["/s.xml"] = xml(urlset(site.url("/other")))
        robots_txt = {"sitemap_urls" if spider is Sitemaps else "start_urls": [site.url("/robots.txt")]}
        crawler = await crawl(spider, settings, addon=addon, **robots_txt)
        assert set(parsed(crawler)) == {site.url("/other"), *(site.url(f"/page{number}") for number in range(81))}
        assert "spider_exceptions/count" not in stats(crawler)
        assert sitemap_stats(crawler) == ({"found": 81} if addon else {})  # a relative line is of Scrapy's alone


@pytest.mark.parametrize("addon", [True, False], ids=["with-the-add-on", "without"])
@in_reactor
async def test_sitemap_follow_applies_to_sitemap_indexes_alone(addon: bool) -> None:
    with Site({"*": b"ok"}) as site:
        listing(site, site.url("/sitemap_index.xml"))
        site.pages["/sitemap_index.xml"] = xml(index(site.url("/storelocator.xml"), site.url("/products.xml")))
        site.pages["/storelocator.xml"] = xml(urlset(*(site.url(f"/store{number}") for number in range(5))))
        crawler = await crawl(Follows, addon=addon, sitemap_urls=[site.url("/robots.txt")])
        assert len(parsed(crawler)) == 5
        assert site.paths().count("/products.xml") == 0


@in_reactor
async def test_meta_that_the_spider_gives_its_sitemaps_reaches_the_pages() -> None:
    class Rendered(Sitemaps):
        def _parse_sitemap(self, response: Response) -> Iterator[Any]:
            for request in super()._parse_sitemap(response):
                request.meta["rendered_by"] = {"wait": 1}
                yield request

    with Site({"*": b"ok"}) as site:
        listing(site, site.url("/s.xml"))
        crawler = await crawl(Rendered, sitemap_urls=[site.url("/robots.txt")])
        assert [response.meta["rendered_by"] for response in parsed(crawler).values()] == [{"wait": 1}]


@in_reactor
async def test_allowed_domains_decide_as_in_scrapy() -> None:
    with Site({"*": b"ok"}) as site, Site({"*": b"ok"}, host="127.0.0.2") as other:
        listing(site, other.url("/s.xml"))
        await crawl(Sitemaps, sitemap_urls=[site.url("/robots.txt")], allowed_domains=["127.0.0.1"])
        assert other.paths() == []


@in_reactor
async def test_other_schemes_are_refused() -> None:
    with Site({"*": b"ok"}) as site:
        listing(site, "file:///etc/hostname", "data:,x", site.url("/s.xml"))
        crawler = await crawl(Sitemaps, sitemap_urls=[site.url("/robots.txt")])
        assert set(parsed(crawler)) == {site.url("/page2")}
        assert sitemap_stats(crawler) == {"found": 1, "refused": 2, "refused/scheme": 2}


@pytest.mark.parametrize("lists", ["/robots.txt", "/index.xml"])
@in_reactor
async def test_private_hosts_are_refused_where_the_setting_says_so(lists: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """127.0.0.1 plays the public host; `inside.localhost` resolves to 127.0.0.2, which stays private."""
    for module in ("sitemaps.urls", "fetching.host_lookup"):
        monkeypatch.setattr(
            f"scrapy_gbot_robots.{module}.is_private", lambda host: False if host == "127.0.0.1" else None
        )
    monkeypatch.setattr("scrapy_gbot_robots.fetching.host_lookup.is_private_address", lambda address: True)
    with Site({"*": b"ok"}) as site:
        inside = f"http://localhost:{site.port}/s.xml"
        listing(site, inside, site.url("/s.xml"))
        site.pages["/index.xml"] = xml(index(inside, site.url("/s.xml")))
        crawler = await crawl(Sitemaps, {"GBOT_ROBOTS_REFUSE_PRIVATE": True}, sitemap_urls=[site.url(lists)])
        assert sitemap_stats(crawler)["refused/private"] == 1
        assert site.paths().count("/s.xml") == 1
