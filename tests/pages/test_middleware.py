"""A site of pages with every kind of directive, crawled with tags off, with tags on, and by a CrawlSpider."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar

import pytest
from scrapy import Request, Spider, signals
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from ..support.crawls import crawl, handler_in_use, in_reactor, own_warnings, stats
from ..support.rows import row, table
from ..support.web import Reply, Site

ON = {"GBOT_ROBOTS_PAGE_RULES": True}


def html(head: str = "", body: str = "", **headers: str) -> Reply:
    kept = {name.replace("_", "-"): value for name, value in headers.items()}
    page = f"<html><head><title>x</title>{head}</head><body>{body}</body></html>".encode()
    return Reply(200, page, {"Content-Type": "text/html", **kept})


def link(path: str, rel: str = "") -> str:
    return f'<a href="{path}"' + (f' rel="{rel}"' if rel else "") + ">x</a>"


FOR_ANOTHER, FREE = "otherbot: nofollow, noindex", link("/from-rel-free")
SITE: dict[str, Reply | bytes] = {
    "/robots.txt": b"",
    "/free": html(body=link("/from-free")),
    "/header": html(body=link("/from-header"), X_Robots_Tag="noindex, nofollow"),
    "/header-other": html(body=link("/from-header-other"), X_Robots_Tag=FOR_ANOTHER),
    "/meta": html("<meta name=robots content=nofollow>", link("/from-meta")),
    "/meta-own": html("<meta name=TestBot content='noarchive, nofollow'>", link("/from-meta-own")),
    "/none": html("<meta name=robots content=none>", "<map><area href='/from-none#part'></map>"),
    "/rel": html(body="<a name=top></a>" + link("/from-rel", "noopener NoFollow") + FREE),
    "/rel-query": html(body=link("/from-query?b=2&a=%7e", "nofollow")),
    "/rel-ugc": html(body=link("/from-ugc", "ugc") + link("/from-sponsored", "Sponsored")),
    "/rel-list": html(body=link("/from-comma", "noopener,ugc") + link("/from-word", "ugcs")),
    "/both": html(body=link("/from-both", "nofollow") + link("/from-both#again")),
    "/based": html("<base href='/sub/'><meta name=robots content=nofollow>", link("from-based")),
    "/file": Reply(
        200, b"text", {"Content-Type": "text/plain", "X-Robots-Tag": "noindex, made-up"}
    ),
    "/late": html(X_Robots_Tag="unavailable_after: 25 Jun 2010 15:00:00 PST"),
    "*": html(),
}
SITE["/"] = html(body="".join(map(link, SITE.keys() - {"/robots.txt", "*"})))
LEFT = {
    *("/from-header", "/from-meta", "/from-meta-own", "/from-none", "/from-rel"),
    *("/from-query?b=2&a=%7e", "/sub/from-based", "/from-ugc", "/from-sponsored", "/from-comma"),
}
FOLLOWED = {"/from-free", "/from-header-other", "/from-rel-free", "/from-both", "/from-word"}


class Follows(Spider):
    """Follows every link, and remembers each page's directives."""

    name = "follows"

    def __init__(self, url: str, meta: dict[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.url, self.meta = url, meta
        self.said: dict[str, Any] = {}

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.url)

    def parse(self, response: Response) -> Iterator[Any]:
        path = "/" + response.url.split("/", 3)[3]
        self.said[path] = response.meta.get("gbot_robots_page_rules")
        yield {"path": path}
        if b"<html" in response.body:
            links = response.xpath("//a/@href | //area/@href").getall()
            yield from response.follow_all(links, meta=self.meta)


def followed(site: Site) -> set[str]:
    paths = {path for path in site.paths() if "from-" in path}
    if handler_in_use() == "aiohttp":  # it sends a tilde, however a link writes it
        paths = {path.replace("~", "%7e") for path in paths}
    return paths


@table(
    "settings, meta, left",
    row("off", {}, None, set()),
    row("meta-key", ON, {"gbot_robots_follow": True}, set()),
)
@in_reactor
async def test_links_are_left_as_setting_and_meta_say(settings: Any, meta: Any, left: Any) -> None:
    with Site(SITE) as site:
        crawler = await crawl(Follows, settings, url=site.url(), meta=meta)
        assert followed(site) == (LEFT | FOLLOWED) - left
        if not settings:
            assert set(crawler.spider.said.values()) == {None}  # type: ignore[union-attr]
            assert not stats(crawler, "gbot_robots/tags")


@in_reactor
async def test_pages_directives_are_in_meta_and_links_not_to_follow_are_left() -> None:
    with Site(SITE) as site:
        crawler = await crawl(Follows, ON, url=site.url())
        assert followed(site) == FOLLOWED
        # strangers may make up any number of names, so "made-up" is not counted
        assert stats(crawler, "gbot_robots/page_rules/") == {
            "links_left": len(LEFT),
            "noarchive": 1,
            "nofollow": 5,
            "noindex": 4,
            "unavailable_after": 1,
        }
        said = crawler.spider.said  # type: ignore[union-attr]
        assert said["/free"] == said["/header-other"] == {}
        assert said["/header"] == said["/none"] == {"noindex": True, "nofollow": True}
        assert said["/meta-own"] == {"noarchive": True, "nofollow": True}
        assert said["/file"] == {"noindex": True, "made-up": True}
        assert said["/late"] == {"noindex": True, "unavailable_after": "2010-06-25T23:00:00+00:00"}


@in_reactor
async def test_pages_are_asked_for_the_same_crawlers_as_robots_txt() -> None:
    settings = {**ON, "GBOT_ROBOTS_USER_AGENTS": ["thirdbot/1.0", "OtherBot"]}
    with Site(SITE) as site:
        crawler = await crawl(Follows, settings, url=site.url())
        said = crawler.spider.said  # type: ignore[union-attr]
        assert said["/header-other"] == {"noindex": True, "nofollow": True}
        assert said["/meta-own"] == {}
        assert said["/meta"] == {"nofollow": True}


@in_reactor
async def test_request_that_is_no_link_of_the_page_goes_on() -> None:
    class Posts(Follows):
        def parse(self, response: Response) -> Iterator[Any]:
            if response.url.endswith("/meta"):
                yield response.follow("/from-elsewhere")
                yield response.follow("/from-meta", method="POST")
                yield response.follow("/from-meta", method="HEAD")

    with Site(SITE) as site:
        crawler = await crawl(Posts, ON, url=site.url("/meta"))
        assert followed(site) == {"/from-elsewhere", "/from-meta"}
        assert stats(crawler)["gbot_robots/page_rules/links_left"] == 1


class Keeps:
    """A pipeline that remembers the items that it sees."""

    seen: ClassVar[set[str]] = set()

    def process_item(self, item: Any, spider: Any = None) -> Any:
        self.seen.add(item["path"])
        return item


@in_reactor
async def test_items_are_dropped_by_directive_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    dropped: list[Any] = []

    def item_dropped(item: Any, exception: Exception) -> None:
        dropped.append((item["path"], str(exception)))

    with Site(SITE) as site:
        settings = {**ON, "GBOT_ROBOTS_PAGE_RULES_DROP": ["NoIndex", "noai", "noindx"]}
        settings["ITEM_PIPELINES"] = {Keeps: 0}
        crawler = await crawl(
            Follows, settings, hears={signals.item_dropped: item_dropped}, url=site.url()
        )
        assert {path for path, _ in dropped} == {"/header", "/none", "/file", "/late"}
        assert Keeps.seen == {*site.paths()} - {path for path, _ in dropped} - {"/robots.txt"}
        assert all("GBOT_ROBOTS_PAGE_RULES_DROP" in why for _, why in dropped)
        found = stats(crawler)
        assert (
            found["gbot_robots/page_rules/items_dropped/noindex"]
            == found["item_dropped_count"]
            == 4
        )
        assert found["item_scraped_count"] == len(set(site.paths()) - {"/robots.txt"}) - 4
    said = "GBOT_ROBOTS_PAGE_RULES_DROP has 'noindx', which is not a known directive; is it spelt right?"
    assert own_warnings(caplog) == [said]


@table(
    "extractor, settings, left",
    row("stock", LinkExtractor(), {}, set()),
    row("middleware", LinkExtractor(), ON, LEFT),
    row("canonical-urls", LinkExtractor(canonicalize=True), ON, LEFT),
)
@in_reactor
async def test_crawl_spider_leaves_these_links(extractor: Any, settings: Any, left: Any) -> None:
    class Crawls(CrawlSpider):
        name = "crawls"
        rules = (Rule(extractor, follow=True),)

    with Site(SITE) as site:
        await crawl(Crawls, settings, start_urls=[site.url()])
        assert followed(site) == (LEFT | FOLLOWED) - left
