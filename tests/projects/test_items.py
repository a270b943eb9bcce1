"""Projects of the shapes that people write: each gives the same items with the add-on on as with Scrapy alone.

The shapes are those of real projects (stores by sitemap, meetings of cities, laws, gazettes by date, contracts by API, posts of
a social network, an old news crawler), in our own small words. tests/test_scrapy_redis.py has a fleet.
"""

# ruff: noqa: RUF012  the attributes are as people write them
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from itemadapter import ItemAdapter
from scrapy import FormRequest, Request, Spider
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import DropItem
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from scrapy.utils.asyncio import call_later

from ..support.crawls import in_reactor
from ..support.items import items
from ..support.sitemap_web import index, urlset, xml
from ..support.web import Reply, Site

pytestmark = pytest.mark.slow

HTML = {"Content-Type": "text/html"}
STOCK = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"


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
        "/api?page=1": json.dumps({"results": [1, 2], "next": "/api?page=2"}),
        "/api?page=2": json.dumps({"results": [3], "next": None}),
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


class NamesTheRobotsTxt(Structured):
    sitemap_urls = ["{0}robots.txt"]


class Rendered(NamesTheRobotsTxt):
    """Marks each request for a browser, as projects with a rendering download handler do."""

    def _parse_sitemap(self, response: Response) -> Iterator[Any]:
        for request in super()._parse_sitemap(response):
            yield request.replace(meta={**request.meta, "rendered": True})

    def post_process_item(self, item: dict[str, Any], response: Response) -> Iterator[Any]:
        yield {**item, "rendered": response.meta["rendered"]}


class StartsItself(Structured):
    start_urls = ["{0}sitemap_index.xml"]

    async def start(self) -> AsyncIterator[Any]:
        for url in self.start_urls:
            yield Request(url, self._parse_sitemap, headers={"X-Store": "1"})


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


@dataclass
class Law:
    title: str
    kind: str = "law"


class Laws(CrawlSpider):
    """Items are dataclasses; Scrapy's HTTP cache is on, as in development."""

    name = "laws"
    start_urls = ["{0}"]
    rules = (Rule(LinkExtractor(allow=r"/law/\d"), callback="parse_law"),)

    def parse_law(self, response: Response) -> Iterator[Law]:
        yield Law(response.css("h1::text").get(""))


class Gazettes(Spider):
    """By date: forms, `cb_kwargs`, files."""

    name = "gazettes"
    here = "{0}"
    start_date, end_date = 1, 2

    async def start(self) -> AsyncIterator[Any]:
        for day in range(self.start_date, self.end_date + 1):
            form = {"day": str(day)}
            yield FormRequest(f"{self.here}law/{day}", formdata=form, cb_kwargs={"day": day})

    def parse(self, response: Response, day: int) -> Iterator[Any]:
        yield {"day": day, "file_urls": [response.urljoin("/a.pdf")]}


class Contracts(Spider):
    """From an API, page by page; errors are items, too."""

    name = "contracts"
    here = "{0}"
    handle_httpstatus_list = [404]

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.here}api?{urlencode({'page': 1})}", meta={"file_name": "page-1"})
        yield Request(f"{self.here}nowhere", meta={"file_name": "nowhere"})

    def parse(self, response: Response) -> Iterator[Any]:
        if response.status != 200:
            yield {"errors": response.status, "file_name": response.meta["file_name"]}
            return
        found = response.json()  # type: ignore[attr-defined]
        yield {"data": found["results"], "file_name": response.meta["file_name"]}
        if found["next"]:
            yield response.follow(found["next"], meta={"file_name": "later"})


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


class Agreed(RobotsTxtMiddleware):
    """A project's own middleware in the place of Scrapy's: one page may be crawled by agreement."""

    async def process_request(self, request: Request, spider: Any = None) -> None:
        if not request.url.endswith("/private/store/1"):
            await super().process_request(request)


class WithAnAgreement(Laws):
    start_urls = ["{0}law/1", "{0}private/store/1", "{0}private/law"]
    rules = (Rule(LinkExtractor(), follow=True),)

    def parse_start_url(self, response: Response, **kwargs: Any) -> Any:
        return {"url": response.url}


def of(spider: type[Spider], site: Site) -> type[Spider]:
    """`spider` with the URL of `site` in its attributes."""
    filled: dict[str, Any] = {}
    for name in ("here", "start_urls", "sitemap_urls"):
        value = getattr(spider, name, None)
        if isinstance(value, str):
            filled[name] = value.format(site.url())
        elif isinstance(value, list):
            filled[name] = [each.format(site.url()) for each in value]
    return type(spider.__name__, (spider,), filled)


@pytest.mark.parametrize(
    ("spider", "most", "settings"),
    [
        (Rendered, 7, {}),
        (StartsItself, 6, {}),
        (Meetings, 2, {"ITEM_PIPELINES": {NoDraft: 100}}),
        (Laws, 2, {"HTTPCACHE_ENABLED": True}),
        (Gazettes, 2, {"ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1}}),
        (Contracts, 3, {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0}),
        (OldNews, 2, {"DEPTH_LIMIT": 5, "CONCURRENT_REQUESTS": 2}),
        (WithAnAgreement, 2, {"DOWNLOADER_MIDDLEWARES": {STOCK: None, Agreed: 100}}),
    ],
)
@in_reactor
async def test_project_gives_the_items_that_scrapy_alone_gives(
    spider: type[Spider],
    most: int,
    settings: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    crawled: list[list[str]] = []
    with Site({"/nowhere": Reply(404), "*": html("")}) as site:
        fill(site)
        for addon in (False, True):
            path: Path = tmp_path_factory.mktemp("project")
            own: dict[str, Any] = {
                "FILES_STORE": str(path / "files"),
                "HTTPCACHE_DIR": str(path / "cache"),
            }
            own |= {"ROBOTSTXT_OBEY": True, **settings}
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
