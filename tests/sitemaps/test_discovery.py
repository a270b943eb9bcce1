"""Real crawls that feed spiders the sitemaps in robots.txt files, of a web with every oddity."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.linkextractors import LinkExtractor
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spiders import Rule
from scrapy.utils.request import request_from_dict

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.meta import SITEMAP
from scrapy_gbot_robots.signals import sitemap_found
from scrapy_gbot_robots.sitemaps.discovery import allowed_domains_of

from ..support.crawls import crawl, in_reactor, own_warnings, stats
from ..support.redis_server import redis_server
from ..support.sitemap_web import (
    Links,
    Remembers,
    Sitemaps,
    Web,
    found,
    index,
    listing,
    parsed,
    sitemap_stats,
    urlset,
    xml,
)
from ..support.web import Reply, Site, redirect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_gbot_robots.sitemaps.urls import FoundSitemap

CAPPED = {"GBOT_ROBOTS_SITEMAPS_MAX": 4}


@pytest.mark.parametrize("lists", ["nothing", "the-robots-txt"])
@in_reactor
async def test_sitemap_spider_is_fed_what_robots_txt_files_list(lists: str) -> None:
    with Web() as web:
        spider: dict[str, Any] = {
            "nothing": {"start_urls": web.given},
            "the-robots-txt": {"sitemap_urls": [f"{url}robots.txt" for url in web.given]},
        }[lists]
        settings = {**CAPPED, "GBOT_ROBOTS_SITEMAPS_MAX": 10}
        web.good |= {web.sites["big"].url(f"/{number}.xml") for number in (4, 5)}
        web.pages |= {web.sites["big"].url(f"/j{number}") for number in (4, 5)}
        crawler = await crawl(Sitemaps, settings, allowed_domains=["127.0.0.1"], **spider)
        assert set(parsed(crawler)) == web.pages
        assert web.asked() == sorted(web.good | web.pages)
        assert web.robots_txts_asked() == dict.fromkeys(web.sites, 1)
        assert sitemap_stats(crawler) == {
            "found": 16,  # 7 of news, 2 of shop, 6 of big, 1 of cdn, which is not fed
            "fed": 14,
            "duplicate": 2,  # one within news, one that shop shares with it
            "refused": 6,
            "refused/malformed": 2,
            "refused/scheme": 4,  # two lines, and what two sitemaps list
            "disallowed": 1,
            "failed": 1,
        }
        assert "spider_exceptions/count" not in stats(crawler)


@in_reactor
async def test_crawl_spider_only_collects() -> None:
    class Following(Links):
        rules = (Rule(LinkExtractor(allow="page"), callback="parse"),)

    with Web() as web:
        news = web.sites["news"]
        news.pages["/front"] = Reply(200, b'<a href="/page">page</a>', {"Content-Type": "text/html"})
        crawler = await crawl(Following, start_urls=[news.url("/front")])
        assert set(parsed(crawler)) == {news.url("/front"), news.url("/page")}
        assert web.asked() == [news.url("/front"), news.url("/page")]
        assert sitemap_stats(crawler)["found"] == 7
        assert "fed" not in sitemap_stats(crawler)
        assert found(crawler) == {
            news.url("/robots.txt"): [
                news.url("/plain.xml"),
                news.url("/gr%C3%B6%C3%9Fe%20karte"),
                web.sites["cdn"].url("/for-news.xml"),
                web.sites["shop"].url("/shared.xml"),
                web.sites["guarded"].url("/no/sitemap.xml"),
                news.url("/index.xml"),
                news.url("/gone.xml"),
            ]
        }


@pytest.mark.parametrize("mode", ["collect", "off"])
@in_reactor
async def test_spider_is_left_alone_unless_it_is_to_be_fed(mode: str) -> None:
    with Site({"*": b"ok"}) as site:
        site.pages["/robots.txt"] = f"Sitemap: {site.url('/listed.xml')}\nSitemap: /x.xml".encode()
        crawler = await crawl(Sitemaps, {"GBOT_ROBOTS_SITEMAPS": mode}, sitemap_urls=[site.url("/own.xml")])
        assert site.paths() == ["/robots.txt", "/own.xml"]
        assert sitemap_stats(crawler).get("found") == (1 if mode == "collect" else None)


@in_reactor
async def test_no_more_sitemaps_of_an_origin_are_fed_than_the_setting_says() -> None:
    with Web() as web:
        big = web.sites["big"]
        crawler = await crawl(Sitemaps, CAPPED, start_urls=[big.url()])
        assert set(parsed(crawler)) == {big.url(f"/j{number}") for number in range(4)}
        assert sitemap_stats(crawler) == {"found": 6, "fed": 4, "capped": 2}


@pytest.mark.parametrize(("hosts", "fed"), [("any", 2), ("same-site", 1), ("same-host", 1)])
@in_reactor
async def test_sitemaps_are_fed_from_where_they_may_live(hosts: str, fed: int) -> None:
    with Site({"*": b"ok"}) as site, Site({"*": b"ok"}, host="127.0.0.2") as other:
        listing(site)
        listing(other)
        site.pages["/robots.txt"] = f"Sitemap: {site.url('/s.xml')}\nSitemap: {other.url('/s.xml')}".encode()
        crawler = await crawl(Sitemaps, {"GBOT_ROBOTS_SITEMAPS_HOSTS": hosts}, sitemap_urls=[site.url("/robots.txt")])
        assert (site.paths().count("/s.xml"), other.paths().count("/s.xml")) == (1, fed - 1)
        assert sitemap_stats(crawler).get("refused/host", 0) == 2 - fed


@in_reactor
async def test_own_sitemaps_of_a_host_that_only_has_others_sitemaps_are_not_fed() -> None:
    class Slowly(Sitemaps):
        async def sitemap_found(self, sitemap: FoundSitemap, request: Request | None) -> None:
            await pause(0.1)

    with Web() as web:
        cdn = web.sites["cdn"]
        crawler = await crawl(Slowly, start_urls=[web.sites["shop"].url()])
        assert set(parsed(crawler)) == {
            web.sites["shop"].url("/e"),
            web.sites["shop"].url("/h"),
            web.sites["news"].url("/f"),
            *(url for url in web.pages if web.sites["news"].url() in url),  # news is met by a page: it lists more
        } | {cdn.url("/not-asked-for")}
        assert cdn.url("/own.xml") in web.asked()  # once the crawl has a page from that host
    with Web() as web:
        cdn, shop = web.sites["cdn"], web.sites["shop"]
        shop.pages["/robots.txt"] = f"Sitemap: {cdn.url('/for-shop.xml')}".encode()
        crawler = await crawl(Sitemaps, start_urls=[shop.url()])
        assert set(parsed(crawler)) == {shop.url("/h")}
        assert cdn.paths() == ["/robots.txt", "/for-shop.xml", "/for-shop-1.xml"]
        assert found(crawler)[cdn.url("/robots.txt")] == [cdn.url("/own.xml")]


@in_reactor
async def test_allowed_domains_decide_about_pages_and_not_about_sitemaps() -> None:
    with Web() as web:
        crawler = await crawl(Sitemaps, start_urls=[web.sites["news"].url()], allowed_domains=["127.0.0.1"])
        assert web.sites["news"].url("/g") in parsed(crawler)
        assert web.sites["cdn"].url("/not-asked-for") not in parsed(crawler)
        assert "/own.xml" not in web.sites["cdn"].paths()


@in_reactor
async def test_host_outside_allowed_domains_is_not_fed_from_even_if_the_crawl_gets_a_page_from_it() -> None:
    class Visiting(Sitemaps):
        other: Site

        def parse(self, response: Response, **kwargs: Any) -> Any:
            self.parsed[response.url] = response
            if response.url.endswith("/page"):
                yield Request(self.other.url("/visited"), meta={"allow_offsite": True})

    with Site({"*": b"ok"}) as site, Site({"*": b"ok"}, host="127.0.0.2") as other:
        listing(other)
        site.pages["/robots.txt"] = f"Sitemap: {other.url('/for-site.xml')}".encode()
        other.pages["/for-site.xml"] = xml(urlset(site.url("/page")))
        crawler = await crawl(Visiting, start_urls=[site.url()], allowed_domains=["127.0.0.1"], other=other)
        assert set(parsed(crawler)) == {site.url("/page"), other.url("/visited")}
        assert other.paths() == ["/robots.txt", "/for-site.xml", "/visited"]


@in_reactor
async def test_sitemap_follow_is_applied() -> None:
    with Web() as web:
        news = web.sites["news"]
        crawler = await crawl(Sitemaps, start_urls=[news.url()], sitemap_follow=["/plain", "/part"])
        assert set(parsed(crawler)) == {news.url("/a")}
        assert sitemap_stats(crawler)["refused/follow"] == 6


class Shown(Sitemaps):
    """Notes the sitemaps that it is shown. Subclasses override `say` to answer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.shown: list[tuple[FoundSitemap, Request | None]] = []
        self.fallback: dict[str, Any] = {}

    def sitemap_found(self, sitemap: FoundSitemap, request: Request | None) -> Any:
        self.shown.append((sitemap, request))
        return self.say(sitemap, request)

    def say(self, sitemap: FoundSitemap, request: Request | None) -> Any:
        return None


class Vetoing(Shown):
    def say(self, sitemap: FoundSitemap, request: Request | None) -> Any:
        return False


class Ignoring(Shown):
    def say(self, sitemap: FoundSitemap, request: Request | None) -> Any:
        raise IgnoreRequest


class Failing(Shown):
    def say(self, sitemap: FoundSitemap, request: Request | None) -> Any:
        raise KeyError("a bug of the spider's")


class Changing(Shown):
    def say(self, sitemap: FoundSitemap, request: Request | None) -> Any:
        assert request is not None
        return request.replace(url=request.url.replace("/s.xml", "/other.xml"))


class Waiting(Shown):
    async def say(self, sitemap: FoundSitemap, request: Request | None) -> Any:
        await pause(0.3)
        return False


@pytest.mark.parametrize(
    ("spider", "crawled"),
    [(Shown, "/page"), (Vetoing, None), (Ignoring, None), (Failing, None), (Changing, "/other"), (Waiting, None)],
)
@in_reactor
async def test_spider_is_shown_each_discovery_and_may_veto_or_change_it(
    spider: type[Shown], crawled: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with Site({"*": b"ok"}) as site:
        listing(site)
        crawler = await crawl(spider, start_urls=[site.url()])
        assert set(parsed(crawler)) == ({site.url(crawled)} if crawled else set())
        assert sitemap_stats(crawler).get("refused/vetoed", 0) == (0 if crawled else 1)
        assert isinstance(crawler.spider, Shown)
        [(sitemap, request)] = crawler.spider.shown
        assert sitemap == (site.url("/s.xml"), site.url("/robots.txt"), 2)
        assert request is not None
        assert request.url == site.url("/s.xml")
        errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
        assert errors == ([f"Failing.sitemap_found failed for {site.url('/s.xml')}"] if spider is Failing else [])


class Listening(Sitemaps):
    """Handles the signal."""

    answer: Any = None
    heard: list[Any]

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.heard = []
        crawler.signals.connect(spider.hear, sitemap_found)
        return spider

    async def hear(self, sitemap: FoundSitemap, request: Request | None, spider: Any) -> Any:
        await pause(0.1)
        self.heard.append((sitemap.url, request, spider))
        if self.answer is IgnoreRequest:
            raise IgnoreRequest
        return request.replace(url=self.answer) if isinstance(self.answer, str) and request else self.answer


@pytest.mark.parametrize(("answer", "crawled"), [(None, "/page"), (False, None), (IgnoreRequest, None), ("", "/other")])
@in_reactor
async def test_signal_is_sent_for_each_discovery_and_may_veto_or_change_it(answer: Any, crawled: str | None) -> None:
    with Site({"*": b"ok"}) as site:
        listing(site)
        crawler = await crawl(
            Listening, start_urls=[site.url()], answer=site.url("/other.xml") if answer == "" else answer
        )
        assert set(parsed(crawler)) == ({site.url(crawled)} if crawled else set())
        [(url, request, spider)] = crawler.spider.heard  # type: ignore[union-attr]
        assert (url, request.url, spider) == (site.url("/s.xml"), site.url("/s.xml"), crawler.spider)


@in_reactor
async def test_other_spiders_are_shown_discoveries_without_a_request() -> None:
    class Shows(Links):
        def sitemap_found(self, sitemap: FoundSitemap, request: Request | None) -> bool:
            self.parsed[sitemap.url] = request  # type: ignore[assignment]
            return False

    with Site({"*": b"ok"}) as site:
        listing(site)
        crawler = await crawl(Shows, start_urls=[site.url("/x")])
        assert parsed(crawler)[site.url("/s.xml")] is None
        assert "refused" not in sitemap_stats(crawler)


@in_reactor
async def test_request_for_a_sitemap_is_what_the_spider_itself_would_send() -> None:
    """Its values are plain and its callback has a name, so any queue can keep it and another process can run it."""
    with Site({"*": b"ok"}) as site:
        listing(site)
        crawler = await crawl(Shown, {"DEPTH_STATS_VERBOSE": True}, start_urls=[site.url()])
        spider = crawler.spider
        assert isinstance(spider, Shown)
        [(_, request)] = spider.shown
        assert request is not None
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
        crawler = await crawl(Sitemaps, settings, sitemap_urls=[site.url("/robots.txt")])
        assert set(parsed(crawler)) == ({site.url(crawled)} if crawled else set())
        assert sitemap_stats(crawler).get("refused/middleware", 0) == (crawled is None)
        assert stats(crawler)["downloader/request_count"] == 2 + (2 if crawled else 0)


@in_reactor
async def test_long_sitemap_url_is_refused_by_scrapys_own_limit() -> None:
    with Site({"*": b"ok"}) as site:
        site.pages["/robots.txt"] = f"Sitemap: {site.url('/' + 'x' * 2100)}".encode()
        crawler = await crawl(Sitemaps, sitemap_urls=[site.url("/robots.txt")])
        assert sitemap_stats(crawler) == {"found": 1, "refused": 1, "refused/middleware": 1}


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")  # scrapy-redis
@in_reactor
async def test_fleet_on_scrapy_redis_asks_for_each_sitemap_once() -> None:
    pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
    with redis_server() as redis, Site({"*": b"ok"}) as site, Site({"*": b"ok"}) as other:
        listing(site)
        other.pages["/robots.txt"] = f"Sitemap: {site.url('/s.xml')}".encode()
        settings = {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": True,
            "REDIS_URL": redis.url,
        }
        one = await crawl(Sitemaps, settings, start_urls=[site.url()])
        another = await crawl(Sitemaps, settings, start_urls=[other.url()])
        assert set(parsed(one)) == {site.url("/page")}
        assert sitemap_stats(another) == {"found": 1, "duplicate": 1}
        assert site.paths() == ["/robots.txt", "/s.xml", "/page"]


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


@in_reactor
async def test_sitemap_that_a_robots_txt_gains_during_the_crawl_is_fed() -> None:
    class Slow(Sitemaps):
        site: Site

        async def start(self) -> AsyncIterator[Request]:
            for number in range(6):
                await pause(0.2)
                if number == 2:
                    more = f"Sitemap: {self.site.url('/s.xml')}\nSitemap: {self.site.url('/other.xml')}"
                    self.site.pages["/robots.txt"] = more.encode()
                yield Request(self.site.url(f"/{number}"))

    with Site({"*": b"ok"}) as site:
        listing(site)
        settings = {"GBOT_ROBOTS_MAX_AGE_SECS": 0.3}
        crawler = await crawl(Slow, settings, site=site)
        assert {site.url("/page"), site.url("/other")} < set(parsed(crawler))
        assert sitemap_stats(crawler) == {"found": 2, "fed": 2}
        assert site.paths().count("/s.xml") == 1


@in_reactor
async def test_no_more_are_fed_however_often_a_robots_txt_changes() -> None:
    class Slow(Sitemaps):
        site: Site

        async def start(self) -> AsyncIterator[Request]:
            for number in range(8):
                self.site.pages["/robots.txt"] = f"Sitemap: {self.site.url(f'/s{number}.xml')}".encode()
                yield Request(self.site.url(f"/{number}"))
                await pause(0.15)

    with Site({"*": b"ok"}) as site:
        crawler = await crawl(Slow, {"GBOT_ROBOTS_MAX_AGE_SECS": 0.1, "GBOT_ROBOTS_SITEMAPS_MAX": 2}, site=site)
        assert sum(".xml" in path for path in site.paths()) == sitemap_stats(crawler)["fed"] == 2
        assert sitemap_stats(crawler)["capped"] == sitemap_stats(crawler)["found"] - 2 > 0


@pytest.mark.parametrize(("hosts", "read"), [("any", True), ("same-host", False)])
@in_reactor
async def test_redirects_and_indexes_lead_only_where_sitemaps_may_live(hosts: str, read: bool) -> None:
    with Site({"*": b"ok"}) as site, Site({"/robots.txt": Reply(404)}, host="127.0.0.2") as other:
        site.pages["/robots.txt"] = f"Sitemap: {site.url('/moved.xml')}\nSitemap: {site.url('/i.xml')}".encode()
        site.pages["/moved.xml"] = redirect(other.url("/moved.xml"))
        site.pages["/i.xml"] = xml(index(other.url("/part.xml")))
        other.pages["/moved.xml"] = xml(urlset(site.url("/1")))
        other.pages["/part.xml"] = xml(urlset(site.url("/2")))
        crawler = await crawl(Sitemaps, {"GBOT_ROBOTS_SITEMAPS_HOSTS": hosts}, start_urls=[site.url()])
        assert set(parsed(crawler)) == ({site.url("/1"), site.url("/2")} if read else set())
        assert sitemap_stats(crawler).get("refused/host", 0) == (0 if read else 2)
        assert "failed" not in sitemap_stats(crawler)


@in_reactor
async def test_sitemap_indexes_without_end_are_followed_only_so_far() -> None:
    with Site({"*": b"ok"}) as site:
        site.pages["/robots.txt"] = f"Sitemap: {site.url('/0.xml')}".encode()
        site.pages |= {f"/{n}.xml": xml(index(site.url(f"/{n + 1}.xml"), site.url(f"/{n}.xml"))) for n in range(20)}
        crawler = await crawl(Sitemaps, start_urls=[site.url()])
        assert site.paths() == ["/robots.txt", "/0.xml", "/1.xml", "/2.xml", "/3.xml"]
        assert sitemap_stats(crawler)["refused/depth"] == 2


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
        crawler = await crawl(Sitemaps, sitemap_urls=[site.url("/robots.txt")])
        assert set(parsed(crawler)) == {site.url("/page")}
        assert "spider_exceptions/count" not in stats(crawler)


@in_reactor
async def test_spider_with_domains_only_starts_from_their_robots_txt_files() -> None:
    crawler = await crawl(Sitemaps, allowed_domains=["127.0.0.9"])
    assert stats(crawler)["robotstxt/request_count"] == 1


def test_domain_given_as_a_string_is_one_domain_and_not_its_letters() -> None:
    assert allowed_domains_of(Sitemaps(allowed_domains="Shop.example")) == ["shop.example"]
    assert allowed_domains_of(Sitemaps(allowed_domains=["a.example", None])) == ["a.example"]
    assert allowed_domains_of(Sitemaps()) == []


@in_reactor
async def test_spider_with_nothing_to_start_from_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    await crawl(Sitemaps, start_urls=["nonsense"])
    assert own_warnings(caplog) == [
        "sitemaps cannot start from nonsense: no absolute URL with a host: nonsense",
        "sitemaps has nothing to start from: set sitemap_urls, start_urls or allowed_domains",
    ]


@in_reactor
async def test_ftp_sitemaps_are_fed_only_where_scrapy_has_a_handler() -> None:
    with Site({"/robots.txt": b"Sitemap: ftp://127.0.0.1:1/s.xml"}) as site:
        crawler = await crawl(Sitemaps, {"DOWNLOAD_HANDLERS": {"ftp": None}}, start_urls=[site.url()])
        assert sitemap_stats(crawler) == {"refused": 1, "refused/scheme": 1}
        crawler = await crawl(Sitemaps, start_urls=[site.url()])
        assert sitemap_stats(crawler)["fed"] == 1


@in_reactor
async def test_lines_that_are_not_used_are_logged_once_and_forge_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "scrapy_gbot_robots")
    with Site({"*": b"ok"}) as site:
        site.pages["/robots.txt"] = b"Sitemap: http://e/\x1b[31m\x85WARNING\nSitemap: /x\n" + b"Sitemap: /y\n" * 100
        await crawl(Sitemaps, start_urls=[site.url()], sitemap_urls=[site.url("/a"), site.url("/b")])
        [message] = [record.getMessage() for record in caplog.records if "not used" in record.getMessage()]
        assert message.isprintable()
        assert message.startswith(
            f"{site.url('/robots.txt')}: 102 sitemap lines are not used: line 1: not a URL: http://e/"
        )
        assert len(message) < 1000


@in_reactor
async def test_memory_for_what_was_found_is_bounded() -> None:
    with Site({"*": b"ok"}) as site, Site({"*": b"ok"}) as other:
        for one in (site, other):
            listing(one)
        crawler = await crawl(Links, {"GBOT_ROBOTS_CACHE_SIZE": 1}, start_urls=[site.url("/x"), other.url("/x")])
        assert len(found(crawler)) == 1


@in_reactor
async def test_sitemaps_fed_besides_the_spiders_own_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "scrapy_gbot_robots.sitemaps")
    with Site({"*": b"ok"}) as site, Site({"*": b"ok"}) as other:
        for one in (site, other):
            listing(one)
            one.pages["/robots.txt"] = f"Sitemap: {one.url('/s.xml')}\nSitemap: {one.url('/other.xml')}".encode()
        listed = [site.url("/s.xml"), other.url("/robots.txt")]  # so the spider lists all sitemaps of `other`
        crawler = await crawl(Sitemaps, sitemap_urls=listed)
        assert sitemap_stats(crawler)["fed"] == 3
        assert [record.getMessage() for record in caplog.records if "feeding" in record.getMessage()] == [
            f"{site.url('/robots.txt')}: feeding the spider 1 sitemap that its sitemap_urls do not list: "
            f"{site.url('/other.xml')}. GBOT_ROBOTS_SITEMAPS = 'collect' stops this"
        ]
        caplog.clear()
        await crawl(Sitemaps, start_urls=[site.url()])
        assert not [record for record in caplog.records if "feeding" in record.getMessage()]


@pytest.mark.parametrize("kind", [Sitemaps, Links])
@in_reactor
async def test_handler_of_sitemap_found_may_make_a_request_to_the_same_origin(
    kind: type[Remembers],
) -> None:
    class Asking(kind):  # type: ignore[valid-type,misc]
        async def sitemap_found(self, sitemap: FoundSitemap, request: Request | None) -> None:
            response = await self.crawler.engine.download_async(Request(f"{sitemap.url}?terms"))
            self.parsed["terms"] = response

    with Site({"*": b"ok"}) as site:
        listing(site)
        crawler = await crawl(Asking, start_urls=[site.url("/x")])
        assert set(parsed(crawler)) == {"terms", site.url("/page" if kind is Sitemaps else "/x")}
        assert parsed(crawler)["terms"].body == b"ok"


@in_reactor
async def test_crawl_that_waits_for_a_handler_ends_when_the_handler_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy.core.engine.ExecutionEngine._SLOT_HEARTBEAT_INTERVAL", 3600.0)  # nothing else wakes it

    class Slowly(Sitemaps):
        async def sitemap_found(self, sitemap: FoundSitemap, request: Request) -> bool:
            await pause(0.3)
            return False

    with Site({"/robots.txt": b"", "/": b"ok"}) as site:
        site.pages["/robots.txt"] = f"sitemap: {site.url('/s.xml')}"
        crawler = await crawl(Slowly, {"CLOSESPIDER_TIMEOUT": 20}, start_urls=[site.url()])
    assert stats(crawler)["finish_reason"] == "finished"
