"""Projects of the shapes that people write: each gives the same items with the add-on on as with Scrapy alone.

The shapes are those of real projects (stores by sitemap, meetings of cities, gazettes by date, an old news crawler), in our
own small words. tests/test_scrapy_redis.py has a fleet.
"""

# ruff: noqa: RUF012  the attributes are as people write them
import gzip
import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from itemadapter import ItemAdapter
from scrapy import FormRequest, Spider
from scrapy.exceptions import DropItem
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from scrapy.utils.asyncio import call_later

from ..support.crawls import in_reactor, items
from ..support.rows import row, table
from ..support.sitemap_web import index, urlset, xml
from ..support.web import Reply, Site

pytestmark = pytest.mark.slow

HTML = {"Content-Type": "text/html"}


def html(body: str) -> Reply:
    page = f"<html><head><title>x</title></head><body>{body}</body></html>"
    return Reply(200, page.encode(), HTML)


def store(name: str) -> Reply:
    item = json.dumps({"@type": "Store", "name": name})
    return html(f'<script type="application/ld+json">{item}</script>')


def fill(site: Site) -> None:
    here = site.url()
    links = ["law/1", "law/2", "news/2018/1", "tag/all"]
    stores = [f"{land}/store/{n}" for land in ("us", "ca") for n in range(3)]
    sitemaps = f"Sitemap: {here}sitemap_index.xml\nSitemap: /more.xml\n"
    site.pages |= {
        "/robots.txt": f"User-agent: *\nDisallow: /private\n{sitemaps}",
        "/sitemap_index.xml": xml(index(f"{here}stores.xml", f"{here}products.xml")),
        "/stores.xml": xml(urlset(*(here + path for path in stores))),
        "/products.xml": xml(urlset(f"{here}product/1")),
        "/more.xml": xml(urlset(f"{here}us/store/9", f"{here}private/store/1")),
        "/": html("".join(f'<a href="/{path}">x</a>' for path in links)),
        "/news/2018/1": html('<h1>News</h1><a href="/news/2018/2">next</a>'),
        "/news/2018/2": html("<h1>More news</h1>"),
        "/tag/all": html('<a href="/news/2018/2">x</a>'),
        "/a.pdf": b"%PDF",
        **{f"/law/{n}": html(f"<h1>Law {n}</h1>") for n in (1, 2)},
        **{f"/{path}": store(path) for path in [*stores, "us/store/9", "product/1"]},
    }


class Structured(SitemapSpider):
    """A base class that reads JSON-LD, as hundreds of spiders share."""

    name = "structured"
    custom_settings = {"ROBOTSTXT_OBEY": True}
    wanted = ("Store",)
    sitemap_rules = [(r"/store/\d+$", "parse_sd")]

    def parse_sd(self, response: Response) -> Iterator[Any]:
        for script in response.css('script[type="application/ld+json"]::text').getall():
            found = json.loads(script)
            if found["@type"] in self.wanted:
                yield from self.post_process_item({"ref": response.url, **found}, response)

    def post_process_item(self, item: dict[str, Any], response: Response) -> Iterator[Any]:
        yield item


class Rendered(Structured):
    """Names a robots.txt, and marks each request for a browser, as projects with a rendering download handler do."""

    sitemap_urls = ["{0}robots.txt"]

    def _parse_sitemap(self, response: Response) -> Iterator[Any]:
        for request in super()._parse_sitemap(response):
            yield request.replace(meta={**request.meta, "rendered": True})

    def post_process_item(self, item: dict[str, Any], response: Response) -> Iterator[Any]:
        yield {**item, "rendered": response.meta["rendered"]}


class Meetings(Spider):
    """Of a city: several start URLs, ROBOTSTXT_OBEY off in the spider, a pipeline that drops."""

    name = "meetings"
    custom_settings = {"ROBOTSTXT_OBEY": False}

    start_urls = ["{0}law/1", "{0}law/2", "{0}private/law"]

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"title": response.css("h1::text").get("none"), "url": response.url}


class NoDraft:
    def process_item(self, item: Any, spider: Any = None) -> Any:
        if ItemAdapter(item).get("title") == "none":
            raise DropItem("a draft")
        return item


class Gazettes(Spider):
    """By date: forms, `cb_kwargs`, files."""

    name = "gazettes"
    here: str
    start_date, end_date = 1, 2

    async def start(self) -> AsyncIterator[Any]:
        for day in range(self.start_date, self.end_date + 1):
            form = {"day": str(day)}
            yield FormRequest(f"{self.here}law/{day}", formdata=form, cb_kwargs={"day": day})

    def parse(self, response: Response, day: int) -> Iterator[Any]:
        yield {"day": day, "file_urls": [response.urljoin("/a.pdf")]}


class OldNews(CrawlSpider):
    """Of 2018: rules that follow tags, and a page that several links name."""

    name = "news"
    start_urls = ["{0}"]
    rules = (
        Rule(LinkExtractor(allow=r"/news/\d+/"), callback="parse_item", follow=True),
        Rule(LinkExtractor(allow="/tag/")),
    )

    def parse_item(self, response: Response) -> Iterator[Any]:
        yield {"headline": response.css("h1::text").get()}


def of(spider: type[Spider], site: Site) -> type[Spider]:
    """`spider` with the URL of `site` in its attributes."""
    filled: dict[str, Any] = {"here": site.url()}
    for name in ("start_urls", "sitemap_urls"):
        filled[name] = [url.format(site.url()) for url in getattr(spider, name, ())]
    return type(spider.__name__, (spider,), filled)


@table(
    "spider, most, settings",
    (Rendered, 7, {}),
    (Meetings, 2, {"ITEM_PIPELINES": {NoDraft: 100}}),
    (Gazettes, 2, {"ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1}}),
    (OldNews, 2, {"DEPTH_LIMIT": 5, "CONCURRENT_REQUESTS": 2}),
)
@in_reactor
async def test_project_gives_the_items_that_scrapy_alone_gives(
    spider: type[Spider], most: int, settings: dict[str, Any], tmp_path: Path
) -> None:
    crawled: list[list[str]] = []
    with Site({"/nowhere": Reply(404), "*": html("")}) as site:
        fill(site)
        for addon in (False, True):
            own = {"ROBOTSTXT_OBEY": True, **settings, "FILES_STORE": str(tmp_path / str(addon))}
            site.asked.clear()
            crawled.append([*map(repr, await items(of(spider, site), own, addon=addon))])
            crawled.append(sorted({path for path in site.paths() if path != "/robots.txt"}))
    assert crawled[:2] == crawled[2:]
    assert len(crawled[0]) == most


@in_reactor
async def test_news_of_a_site_that_is_down_for_a_moment_are_crawled_with_the_add_on_only() -> None:
    """The difference: Scrapy alone takes the outage for a robots.txt without rules, asks at once, and gets nothing."""
    crawled = []
    for addon in (False, True):
        with Site({"*": html("")}) as site:
            fill(site)
            up, site.pages = site.pages, {"*": Reply(503)}
            call_later(1, setattr, site, "pages", up)
            settings = {"ROBOTSTXT_OBEY": True, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 30}
            crawled.append(await items(of(OldNews, site), settings, addon=addon))
    assert [len(each) for each in crawled] == [0, 2]


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
    "spider, name, attributes, expected",
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
async def test_items_are_those_without_the_add_on(
    spider: type[Maps], name: str, attributes: dict[str, Any], expected: list[Any]
) -> None:
    with Site(dict.fromkeys(PAGES, b"ok")) as site:
        web(site)
        kind = type("Kind", (spider,), {"sitemap_urls": [site.url(name)], **attributes})
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
