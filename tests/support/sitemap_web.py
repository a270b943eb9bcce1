"""Hosts on loopback with odd robots.txt files and sitemaps, and spiders that crawl them."""

import gzip
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.spiders import CrawlSpider, SitemapSpider

from scrapy_gbot_robots import RobotsSitemapSpider, SitemapDiscovery

from .crawls import stats
from .web import Reply, Site


def _entries(kind: str, locs: tuple[str, ...], lastmod: str) -> str:
    changed = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return "".join(f"<{kind}><loc>{loc}</loc>{changed}</{kind}>\n" for loc in locs)


def urlset(*locs: str, lastmod: str = "") -> bytes:
    entries = _entries("url", locs, lastmod)
    namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<urlset xmlns="{namespace}">{entries}</urlset>'.encode()


def index(*locs: str, lastmod: str = "") -> bytes:
    return f"<sitemapindex>{_entries('sitemap', locs, lastmod)}</sitemapindex>".encode()


def sitemap_lines(*urls: str) -> bytes:
    """Return the lines of a robots.txt that list the sitemaps `urls`."""
    return "".join(f"Sitemap: {url}\n" for url in urls).encode()


def xml(body: bytes) -> Reply:
    return Reply(200, body, {"Content-Type": "application/xml"})


class Web(ExitStack):
    """Six hosts, with the sitemaps and pages that a crawl has to request.

    Attributes:
        sites: the hosts by name. `news` lists nearly all sitemaps. `shop` shares a sitemap with
            `news`. `cdn` has sitemaps of other hosts. `guarded` forbids its own sitemaps. `bare`
            has no robots.txt, but has a /sitemap.xml. `ill` answers with a 503.
        good: the sitemaps that a crawl has to request, each of them once.
        pages: the pages that sitemaps list and robots.txt files allow.
    """

    def __init__(self) -> None:
        super().__init__()
        hosts = {"cdn": "127.0.0.2", "guarded": "127.0.0.3"}
        self.sites = {}
        for name in ("news", "shop", "cdn", "guarded", "bare", "ill"):
            site = Site({"*": b"<title>page</title>"}, host=hosts.get(name, "127.0.0.1"))
            self.sites[name] = self.enter_context(site)
        news, shop, cdn, guarded, bare, ill = self.sites.values()
        local, big = "file:///etc/hostname", "/gr%C3%B6%C3%9Fe%20karte"
        lines = [
            news.url("/plain.xml"),
            news.url("/plain.xml"),  # It is listed a second time.
            "/relative.xml",
            local,
            "http://[",
            # This URL is not encoded, and its name does not look like the name of a sitemap.
            news.url("/größe karte"),
            cdn.url("/for-news.xml"),
            shop.url("/shared.xml"),
            guarded.url("/no/sitemap.xml"),
            news.url("/index.xml"),
            news.url("/gone.xml"),
            "javascript:alert(1)",
        ]
        news.pages |= {
            "/robots.txt": b"User-agent: *\nDisallow: /no\n" + sitemap_lines(*lines),
            "/plain.xml": xml(urlset(news.url("/a"), news.url("/no/b"))),
            big: gzip.compress(urlset(news.url("/c"), local)),
            "/index.xml": xml(index(news.url("/part.xml"), news.url("/index.xml"), local)),
            "/part.xml": xml(urlset(news.url("/d"))),
            "/gone.xml": Reply(404),
        }
        shop.pages |= {
            "/robots.txt": sitemap_lines(shop.url("/shared.xml"), cdn.url("/for-shop.xml")),
            "/shared.xml": xml(urlset(shop.url("/e"), news.url("/f"))),
        }
        cdn.pages |= {
            "/robots.txt": sitemap_lines(cdn.url("/own.xml")),
            "/for-news.xml": xml(urlset(news.url("/g"), cdn.url("/not-asked-for"))),
            "/for-shop.xml": xml(index(cdn.url("/for-shop-1.xml"))),
            "/for-shop-1.xml": xml(urlset(shop.url("/h"))),
        }
        guarded.pages |= {"/robots.txt": b"User-agent: *\nDisallow: /no/"}
        bare.pages |= {"/robots.txt": Reply(404), "/sitemap.xml": xml(urlset(bare.url("/i")))}
        ill.pages |= {"/robots.txt": Reply(503)}
        self.good = {
            *map(news.url, ("/plain.xml", big, "/index.xml", "/part.xml", "/gone.xml")),
            *map(cdn.url, ("/for-news.xml", "/for-shop.xml", "/for-shop-1.xml")),
            shop.url("/shared.xml"),
        }
        self.pages = {*map(news.url, ("/a", "/c", "/d", "/f", "/g")), *map(shop.url, ("/e", "/h"))}

    @property
    def given(self) -> list[str]:
        """Return the URLs of the hosts with which a crawl begins.

        It finds the other hosts itself.
        """
        return [self.sites[name].url() for name in ("news", "shop", "bare", "ill")]

    def asked(self) -> list[str]:
        """Return all URLs that were requested, except robots.txt files, in sorted order."""
        return sorted(
            site.url(path)
            for site in self.sites.values()
            for path in site.paths()
            if not path.endswith("/robots.txt")
        )

    def robots_txts_asked(self) -> dict[str, int]:
        """Return how often the robots.txt of each host was requested."""
        return {name: site.paths().count("/robots.txt") for name, site in self.sites.items()}


class Remembers(Spider):
    """A spider that keeps the responses that it parses."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parsed: dict[str, Response] = {}

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request] | None:
        self.parsed[response.url] = response
        return None


class Sitemaps(Remembers, SitemapSpider):
    name = "sitemaps"


class Links(Remembers, CrawlSpider):
    name = "links"

    def parse_start_url(self, response: Response, **kwargs: Any) -> Iterable[Any]:
        self.parsed[response.url] = response
        return ()


class Hosts(Remembers, RobotsSitemapSpider):
    """A spider that also keeps the hosts without a sitemap."""

    name = "hosts"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.without: dict[str, str] = {}

    def on_host_without_sitemap(self, host: str, why: str) -> None:
        super().on_host_without_sitemap(host, why)
        self.without[host] = why


def given(spider: type[Spider], site: Site) -> dict[str, Any]:
    """Return the arguments with which a spider begins its crawl at `site`."""
    return {"hosts" if issubclass(spider, Hosts) else "start_urls": [site.url()]}


def listing(site: Site) -> None:
    """Let the robots.txt of `site` list the sitemap /s.xml, which lists /page.

    The site also has the sitemap /other.xml, which lists /other. The robots.txt does not list it.
    """
    site.pages |= {
        "/robots.txt": b"User-agent: *\nDisallow: /no\n" + sitemap_lines(site.url("/s.xml")),
        "/s.xml": xml(urlset(site.url("/page"))),
        "/other.xml": xml(urlset(site.url("/other"))),
    }


def parsed(crawler: Crawler) -> dict[str, Response]:
    assert isinstance(crawler.spider, Remembers)
    return crawler.spider.parsed


def sitemap_stats(crawler: Crawler) -> dict[str, int]:
    return stats(crawler, "gbot_robots/sitemaps/")


def found(crawler: Crawler) -> dict[str, list[str]]:
    discovery = crawler.get_extension(SitemapDiscovery)
    assert discovery is not None
    return dict(discovery.found)


def without(crawler: Crawler) -> dict[str, str]:
    assert isinstance(crawler.spider, Hosts)
    return crawler.spider.without


def host_stats(crawler: Crawler) -> dict[str, int]:
    return stats(crawler, "gbot_robots/hosts/")
