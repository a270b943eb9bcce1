"""Projects of the shapes that people write: each gives the same items with the add-on on as with Scrapy alone.

The shapes are those of real projects, in our own small words. tests/test_scrapy_redis.py has a fleet.
"""

import gzip
import re
from collections.abc import Iterator
from typing import Any

import pytest
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from scrapy.utils.asyncio import call_later

from ..support.crawls import in_reactor, items
from ..support.rows import row, table
from ..support.sitemap_web import index, urlset, xml
from ..support.web import Content, Reply, Site

pytestmark = pytest.mark.slow


def html(body: str) -> Reply:
    page = f"<html><head><title>x</title></head><body>{body}</body></html>"
    return Reply(200, page.encode(), {"Content-Type": "text/html"})


NEWS: dict[str, Content] = {
    "/robots.txt": "User-agent: *\nDisallow: /private\n",
    "/": html('<a href="/law/1">x</a><a href="/news/2018/1">x</a><a href="/tag/all">x</a>'),
    "/news/2018/1": html('<h1>News</h1><a href="/news/2018/2">next</a>'),
    "/news/2018/2": html("<h1>More news</h1>"),
    "/tag/all": html('<a href="/news/2018/2">x</a>'),
}


class OldNews(CrawlSpider):
    """Of 2018: rules that follow tags, and a page that several links name."""

    name = "news"
    rules = (
        Rule(LinkExtractor(allow=r"/news/\d+/"), callback="parse_item", follow=True),
        Rule(LinkExtractor(allow="/tag/")),
    )

    def parse_item(self, response: Response) -> Iterator[Any]:
        yield {"headline": response.css("h1::text").get()}


async def crawled(site: Site, settings: dict[str, Any], *, addon: bool) -> list[str]:
    """The items of `OldNews`, as text."""
    spider = type("OfThisSite", (OldNews,), {"start_urls": [site.url()]})
    return [*map(repr, await items(spider, settings, addon=addon))]


@in_reactor
async def test_project_gives_the_items_that_scrapy_alone_gives() -> None:
    settings = {"ROBOTSTXT_OBEY": True, "DEPTH_LIMIT": 5, "CONCURRENT_REQUESTS": 2}
    with Site(NEWS) as site:
        alone = await crawled(site, settings, addon=False)
        asked = sorted(site.paths())
        site.asked.clear()
        assert await crawled(site, settings, addon=True) == alone
        assert sorted(site.paths()) == asked
    assert len(alone) == 2


@in_reactor
async def test_news_of_a_site_that_is_down_for_a_moment_are_crawled_with_the_add_on_only() -> None:
    """The difference: Scrapy alone takes the outage for a robots.txt without rules, asks at once, and gets nothing."""
    numbers = []
    for addon in (False, True):
        with Site({"*": Reply(503)}) as site:
            call_later(1, setattr, site, "pages", NEWS)
            settings = {"ROBOTSTXT_OBEY": True, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 30}
            numbers.append(len(await crawled(site, settings, addon=addon)))
    assert numbers == [0, 2]


# What Scrapy's documentation and tests promise of a SitemapSpider. The rows are our own.

PAGES = ("/en/1", "/en/2", "/de/1", "/other")
ALTERNATES = '<x:link xmlns:x="x" rel="alternate" hreflang="de" href="{0}de/1"/><x:link xmlns:x="x" rel="alternate" hreflang="it"/>'


def web(site: Site) -> None:
    """Fill a site with a sitemap of each kind."""
    here = site.url()
    english = urlset(f"{here}en/1", f"{here}en/2", lastmod="2024-05-05")
    alternates = ALTERNATES.format(here).encode()
    bilingual = urlset(f"{here}en/1").replace(b"</url>", alternates + b"</url>")
    lines = (f"{here}en.xml".encode(), b"/de.xml", b"/\xff.xml", b"/gone.xml")
    robots = b"".join(b"Sitemap: %s\n" % line for line in lines)
    compressed = {"Content-Type": "text/xml", "Content-Encoding": "gzip"}
    site.pages |= {
        "/robots.txt": b"User-agent: *\nDisallow: /private\n" + robots,
        "/en.xml": xml(english),
        "/de.xml": xml(urlset(f"{here}de/1", lastmod="2004-01-01")),
        "/both.xml": xml(bilingual),
        "/index.xml": xml(index(f"{here}en.xml", f"{here}de.xml")),
        "/en.xml.gz": Reply(200, gzip.compress(english), {"Content-Type": "application/gzip"}),
        "/compressed": Reply(200, gzip.compress(english), compressed),
        "/holes.xml": xml(urlset(f"{here}other", f"{here}private/1")),
        "/no.xml": xml(b"<some><tag>text</tag></some>"),
        "/empty.xml": xml(b""),
        "/page.html": Reply(200, english, {"Content-Type": "text/html"}),
        "/gone.xml": Reply(404),
    }


class Maps(SitemapSpider):
    name = "maps"

    def parse(self, response: Response) -> Iterator[dict[str, str]]:
        yield {"path": response.url.partition("/")[2].partition("/")[2].partition("/")[2]}


def marked(response: Response) -> Iterator[dict[str, str]]:
    yield {"marked": response.url[-4:]}


class Recent(Maps):
    def sitemap_filter(self, entries: Any) -> Any:
        return (entry for entry in entries if entry.get("lastmod", "") > "2010")


class German(Maps):
    def sitemap_filter(self, entries: Any) -> Any:
        for entry in entries:
            for link in entry.get("alternate", ()):
                yield {**entry, "loc": link}


def paths(*names: str) -> list[dict[str, str]]:
    return [{"path": name} for name in names]


@table(
    "spider, name, own, expected",
    row("file", Maps, "/en.xml", {}, paths("en/1", "en/2")),
    row("index", Maps, "/index.xml", {}, paths("de/1", "en/1", "en/2")),
    row("robots-txt-with-relative-lines-and-odd-bytes", Maps, "/robots.txt", {}, paths("de/1", "en/1", "en/2")),
    row("follow-is-for-indexes", Maps, "/robots.txt", {"sitemap_follow": ["no"]}, paths("de/1", "en/1", "en/2")),
    row("follow", Maps, "/index.xml", {"sitemap_follow": [re.compile("en.xml$")]}, paths("en/1", "en/2")),
    row("follow-nothing", Maps, "/index.xml", {"sitemap_follow": ["nowhere"]}, []),
    row("rule", Maps, "/en.xml", {"sitemap_rules": [("2$", "parse")]}, paths("en/2")),
    row("callable", Maps, "/en.xml", {"sitemap_rules": [("", marked)]}, [{"marked": "en/1"}, {"marked": "en/2"}]),
    row("without-alternates", Maps, "/both.xml", {}, paths("en/1")),
    row("alternates", Maps, "/both.xml", {"sitemap_alternate_links": True}, paths("de/1", "en/1")),
    row("filter-of-alternates", German, "/both.xml", {}, paths("de/1")),
    row("filter", Recent, "/robots.txt", {}, paths("en/1", "en/2")),
    row("gzip", Maps, "/en.xml.gz", {}, paths("en/1", "en/2")),
    row("content-encoding", Maps, "/compressed", {}, paths("en/1", "en/2")),
    row("no-sitemap", Maps, "/no.xml", {}, []),
    row("empty-file", Maps, "/empty.xml", {}, []),
    row("html", Maps, "/page.html", {}, []),
)  # fmt: skip
@in_reactor
async def test_items_are_those_of_scrapy(spider: Any, name: str, own: Any, expected: Any) -> None:
    with Site(dict.fromkeys(PAGES, b"ok")) as site:
        web(site)
        kind = type("Kind", (spider,), {"sitemap_urls": [site.url(name)], **own})
        plain, added = [await items(kind, {}, addon=addon) for addon in (False, True)]
        assert plain == added == expected


@in_reactor
async def test_page_that_robots_txt_forbids_is_the_only_difference() -> None:
    with Site({"*": b"ok"}) as site:
        web(site)
        kind = type("Kind", (Maps,), {"sitemap_urls": [site.url("/holes.xml")]})
        assert await items(kind, {}, addon=False) == paths("other", "private/1")
        assert await items(kind, {}, addon=True) == paths("other")
        assert await items(kind, {"ROBOTSTXT_OBEY": True}, addon=False) == paths("other")
