"""How a found sitemap enters the crawl: handlers see it, then it is scheduled as a start request."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spiders import SitemapSpider
from scrapy.utils.request import request_from_dict

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.meta import SITEMAP
from scrapy_gbot_robots.signals import sitemap_found

from ..support.crawls import crawl, in_reactor, stats
from ..support.sitemap_web import Hosts, Links, Remembers, Sitemaps, index, listing, parsed, sitemap_stats, urlset, xml
from ..support.web import Site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_gbot_robots.sitemaps.urls import FoundSitemap


class Shown(Sitemaps):
    """Notes the sitemaps that it is shown, and gives its answer."""

    answer: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.shown: list[tuple[FoundSitemap, Request]] = []

    def sitemap_found(self, sitemap: FoundSitemap, request: Request) -> Any:
        self.shown.append((sitemap, request))
        if self.answer is KeyError:
            raise KeyError("a bug of the spider's")
        return request.replace(url=request.url.replace("/s.xml", self.answer)) if self.answer else self.answer


@pytest.mark.parametrize(
    ("answer", "crawled"), [(None, "/page"), (False, None), (KeyError, None), ("/other.xml", "/other")]
)
@in_reactor
async def test_spider_is_shown_each_discovery_and_may_veto_or_change_it(
    answer: Any, crawled: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with Site({"*": b"ok"}) as site:
        listing(site)
        crawler = await crawl(Shown, start_urls=[site.url()], answer=answer)
        assert set(parsed(crawler)) == ({site.url(crawled)} if crawled else set())
        assert sitemap_stats(crawler).get("refused/vetoed", 0) == (0 if crawled else 1)
        assert isinstance(crawler.spider, Shown)
        [(sitemap, request)] = crawler.spider.shown
        assert sitemap == (site.url("/s.xml"), site.url("/robots.txt"), 2)
        assert request.url == sitemap.url
        errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
        assert [error.partition(":")[0] for error in errors] == ["Error caught on signal handler"] * (
            answer is KeyError
        )


@in_reactor
async def test_handlers_of_the_signal_may_veto_each_discovery_and_take_their_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scrapy.core.engine.ExecutionEngine._SLOT_HEARTBEAT_INTERVAL", 3600.0)  # nothing else wakes it

    class Listening(Sitemaps):
        @classmethod
        def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Any:
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.hear, sitemap_found)
            return spider

        async def hear(self, sitemap: FoundSitemap, request: Request, spider: Any) -> None:
            await pause(0.3)
            assert spider is self
            self.parsed[sitemap.url] = request
            raise IgnoreRequest

    with Site({"*": b"ok"}) as site:
        listing(site)
        crawler = await crawl(Listening, {"CLOSESPIDER_TIMEOUT": 20}, start_urls=[site.url()])
        assert set(parsed(crawler)) == {site.url("/s.xml")}
        assert site.paths() == ["/robots.txt"]
        assert stats(crawler)["finish_reason"] == "finished"


@in_reactor
async def test_request_for_a_sitemap_is_what_the_spider_itself_would_send() -> None:
    """Its values are plain and its callback has a name, so any queue can keep it and another process can run it."""
    with Site({"*": b"ok"}) as site:
        listing(site)
        crawler = await crawl(Shown, {"DEPTH_STATS_VERBOSE": True}, start_urls=[site.url()])
        spider = crawler.spider
        assert isinstance(spider, Shown)
        [(_, request)] = spider.shown
        as_dict = request.to_dict(spider=spider)
        assert as_dict["callback"] == "_parse_sitemap"
        assert as_dict["errback"] is None
        assert not as_dict["dont_filter"]
        assert as_dict["meta"] == {
            "allow_offsite": True,
            "is_start_request": True,
            "depth": 0,
            "download_timeout": 180.0,
            "download_slot": "127.0.0.1",
            "download_latency": as_dict["meta"]["download_latency"],
            SITEMAP: {"robotstxt": site.url("/robots.txt"), "line": 2},
        }
        as_dict["body"] = as_dict["body"].decode()
        as_dict["headers"] = {}
        again = request_from_dict(json.loads(json.dumps(as_dict)), spider=spider)
        assert (again.url, again.callback, again.meta) == (request.url, request.callback, request.meta)
        assert parsed(crawler)[site.url("/page")].meta["depth"] == 1


class Making:
    """Has the hook of Scrapy's pull request 8175, which copies the meta of the file, as its documentation does."""

    def sitemap_request(self, loc: str, callback: Any, entry: Any, *, source: str, response: Response) -> Request:
        meta = {**response.meta, "made_from": [source, response.url, entry["loc"], entry.get("lastmod")]}
        return Request(loc, callback, meta=meta, priority=7)


class MakingSitemaps(Making, Shown):
    pass


class MakingHosts(Making, Hosts):
    pass


class NoHook(Sitemaps):
    def sitemap_request(self, url: str) -> None:
        raise AssertionError(url)


@pytest.mark.parametrize("spider", [MakingSitemaps, MakingHosts])
@in_reactor
async def test_requests_are_made_by_the_spiders_own_hook(spider: Any) -> None:
    with Site({"*": b"ok"}) as site:
        listing(site)
        site.pages["/s.xml"] = xml(index(site.url("/part.xml")))
        site.pages["/part.xml"] = xml(urlset(site.url("/page"), lastmod="2026-01-02"))
        given: dict[str, Any] = {"hosts": [site.url()]} if spider is MakingHosts else {"start_urls": [site.url()]}
        made: dict[str, Request] = {}

        class Noting(spider):  # type: ignore[misc]
            def sitemap_request(self, loc: str, *args: Any, **kwargs: Any) -> Request:
                made[loc] = super().sitemap_request(loc, *args, **kwargs)
                return made[loc]

        crawler = await crawl(Noting, **given)
        of_line = made[site.url("/s.xml")]
        assert of_line.meta["made_from"] == ["robotstxt", site.url("/robots.txt"), site.url("/s.xml"), None]
        assert (of_line.priority, of_line.meta[SITEMAP]["line"]) == (7, 2)
        page = parsed(crawler)[site.url("/page")]
        if spider is MakingHosts or hasattr(SitemapSpider, "sitemap_request"):
            assert made[site.url("/part.xml")].meta["made_from"][0] == "sitemapindex"
            assert page.meta["made_from"] == ["urlset", site.url("/part.xml"), site.url("/page"), "2026-01-02"]
        assert SITEMAP not in page.meta
        assert "allow_offsite" not in page.meta


@in_reactor
async def test_copied_meta_of_a_file_opens_no_door() -> None:
    class Copies(Sitemaps):
        def _parse_sitemap(self, response: Response) -> Any:
            for request in super()._parse_sitemap(response):
                yield request.replace(meta={**response.meta, **request.meta})

    with Site({"*": b"ok"}) as site, Site({"*": b"ok"}, host="127.0.0.2") as other:
        listing(site)
        site.pages["/s.xml"] = xml(index(*(site.url(f"/{n}.xml") for n in range(2)), other.url("/s.xml")))
        site.pages |= {f"/{n}.xml": xml(index(site.url(f"/{n + 1}.xml"))) for n in range(1, 20)}
        site.pages["/0.xml"] = xml(urlset(site.url("/page"), other.url("/page")))
        crawler = await crawl(Copies, start_urls=[site.url()], allowed_domains=["127.0.0.1"])
        assert set(parsed(crawler)) == {site.url("/page")}
        assert other.paths() == []
        assert site.paths().count("/4.xml") == 0
        assert sitemap_stats(crawler)["refused/depth"] == 1


@in_reactor
async def test_method_with_the_name_of_the_hook_and_other_arguments_is_left_alone() -> None:
    with Site({"*": b"ok"}) as site:
        listing(site)
        crawler = await crawl(NoHook, start_urls=[site.url()])
        assert set(parsed(crawler)) == {site.url("/page")}


class EachRequest(BaseSpiderMiddleware):
    """Does with each start request what the settings say."""

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        what = self.crawler.settings["TEST_WHAT"]
        if response is not None or not request.url.endswith("/s.xml"):
            return request
        if what == "fail":
            raise KeyError(what)
        return None if what == "drop" else request.replace(url=request.url.replace("/s.xml", "/other.xml"))


class AllRequests:
    """Adds a start request."""

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        yield Request("data:,login", callback=NO_CALLBACK)
        async for given in start:
            yield given


@pytest.mark.parametrize(("what", "crawled"), [("drop", None), ("fail", None), ("change", "/other")])
@in_reactor
async def test_spider_middlewares_process_each_fed_sitemap_as_a_start_request(what: str, crawled: str | None) -> None:
    with Site({"*": b"ok"}) as site:
        listing(site)
        settings = {"TEST_WHAT": what, "SPIDER_MIDDLEWARES": {EachRequest: 100, AllRequests: 200}}
        crawler = await crawl(Sitemaps, settings, start_urls=[site.url()])
        assert set(parsed(crawler)) == ({site.url(crawled)} if crawled else set())
        assert sitemap_stats(crawler).get("refused/middleware", 0) == (crawled is None)
        assert stats(crawler)["downloader/request_count"] == 2 + (2 if crawled else 0)


@pytest.mark.parametrize("kind", [Sitemaps, Links])
@in_reactor
async def test_handler_may_make_a_request_to_the_same_origin_and_gets_none_for_other_spiders(
    kind: type[Remembers],
) -> None:
    class Asking(kind):  # type: ignore[valid-type,misc]
        async def sitemap_found(self, sitemap: FoundSitemap, request: Request | None) -> None:
            assert (request is None) is (kind is Links)
            response = await self.crawler.engine.download_async(Request(f"{sitemap.url}?terms"))
            self.parsed["terms"] = response

    with Site({"*": b"ok"}) as site:
        listing(site)
        crawler = await crawl(Asking, start_urls=[site.url("/x")])
        assert set(parsed(crawler)) == {"terms", site.url("/page" if kind is Sitemaps else "/x")}
        assert parsed(crawler)["terms"].body == b"ok"
        assert "refused" not in sitemap_stats(crawler)
