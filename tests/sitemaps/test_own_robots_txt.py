"""A spider that asks for a robots.txt itself gets what Scrapy alone would give it, but for what could hurt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scrapy import Request

from ..support.crawls import crawl, in_reactor, stats
from ..support.sitemap_web import Sitemaps, index, parsed, sitemap_stats, urlset, xml
from ..support.web import Site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def listing(site: Site, *lines: str) -> None:
    """Let the robots.txt of `site` have these sitemap lines, each of a sitemap with one page."""
    site.pages["/robots.txt"] = "".join(f"Sitemap: {line}\n" for line in lines).encode()
    for number, line in enumerate(lines):
        path = "/" + line.removeprefix(site.url())
        site.pages[path.replace("//", "/")] = xml(urlset(site.url(f"/page{number}")))


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
