"""The record of what each robots.txt lists, and how a found sitemap enters the crawl."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.request import request_from_dict
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Origin, RobotsTxt
from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.core.robots import SitemapLine, sitemap_lines_of
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.signals import sitemap_found
from scrapy_gbot_robots.sitemaps import discovery as module
from scrapy_gbot_robots.sitemaps.discovery import SitemapFeed
from scrapy_gbot_robots.sitemaps.urls import FoundSitemap

from ..support import sitemap_web
from ..support.crawls import as_scrapy_runs_it, crawl, errors, in_reactor, stats
from ..support.rows import table
from ..support.sitemap_web import Sitemaps, parsed, sitemap_lines, sitemap_stats, urlset, xml
from ..support.web import Site


def feed_with(**settings: Any) -> SitemapFeed:
    crawler = get_crawler(Sitemaps, {"TELNETCONSOLE_ENABLED": False, **settings})
    return SitemapFeed(crawler, GbotSettings.of(crawler.settings))


async def read(feed: SitemapFeed, host: str, *numbers: int) -> list[FoundSitemap]:
    robots_txt = RobotsTxt.parse(sitemap_lines(*(f"https://e/{number}" for number in numbers)))
    return await feed.take(Origin.of(f"https://{host}"), robots_txt, is_fed=False)


@as_scrapy_runs_it
async def test_sitemap_is_new_once_however_often_its_robots_txt_is_read() -> None:
    feed = feed_with()
    news = [await read(feed, "e", *numbers) for numbers in ((1, 2), (1, 2), (2, 3), ())]
    assert [[int(sitemap.url[-1]) for sitemap in new] for new in news] == [[1, 2], [], [3], []]
    assert feed.chosen == {
        "https://e/robots.txt": tuple(f"https://e/{number}" for number in (1, 2, 3))
    }


@as_scrapy_runs_it
async def test_urls_of_all_sitemaps_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_CHARS", 3 * len("https://e/robots.txthttps://e/1"))
    feed = feed_with()
    for host in "abc":
        await read(feed, host, 1)
    assert list(feed.chosen) == [f"https://{host}/robots.txt" for host in "abc"]
    await read(feed, "d", 1, 2)
    assert list(feed.chosen) == ["https://c/robots.txt", "https://d/robots.txt"]
    for number in range(20):
        await read(feed, f"{number}", *())
    assert len(feed.chosen) < 6


@pytest.mark.parametrize("named", [False, True])
@in_reactor
async def test_many_lines_are_read_in_a_thread(named: bool, site: Site, monkeypatch: Any) -> None:
    threads = []

    def noting(robotstxt: RobotsTxt) -> list[SitemapLine]:
        threads.append(threading.current_thread())
        return sitemap_lines_of(robotstxt)

    for name in ("urls", "middlewares"):
        monkeypatch.setattr(f"scrapy_gbot_robots.sitemaps.{name}.sitemap_lines_of", noting)
    site.pages["/robots.txt"] = sitemap_lines(*[site.url("/s.xml")] * 500)
    names = [site.url("/robots.txt")]
    await crawl(Sitemaps, sitemap_urls=names if named else [], start_urls=names)
    assert len(threads) == 1 + named
    assert threading.current_thread() not in threads


@table(
    "urls, said",
    (["http://e/1", *["/1"] * 1000], "1000 (line 2 skipped by the form of its URL, which must be absolute: /1)"),
    (["http://e/1", "http://e/2"], None),
    (["http://e/1", "http://e/2", "http://e/3"], "1 (line 3 skipped by GBOT_ROBOTS_MAX_SITEMAPS: http://e/3)"),
)  # fmt: skip
@pytest.mark.parametrize("mode", ["collect", "auto"])
@as_scrapy_runs_it
async def test_lines_that_are_not_used_are_said_once_if_they_are_asked_for(
    mode: str, urls: list[str], said: str | None, log: Any
) -> None:
    feed = feed_with(GBOT_ROBOTS_SITEMAPS=mode, GBOT_ROBOTS_MAX_SITEMAPS=2)
    for _ in range(2):
        await feed.take(Origin.of("https://e"), RobotsTxt.parse(sitemap_lines(*urls)), is_fed=False)
    messages = [message for message in log.messages if "robots.txt" in message]
    is_said = said is not None and mode == "collect"
    assert messages == [f"https://e/robots.txt: sitemaps skipped: {said}"] * is_said


class Shown(Sitemaps):
    """Notes the sitemaps that it is shown, and gives its answer."""

    answer: Any = None
    shown: tuple[FoundSitemap, Request]

    def sitemap_found(self, sitemap: FoundSitemap, request: Request) -> Any:
        self.shown = (sitemap, request)
        if self.answer is KeyError:
            raise KeyError("a bug of the spider's")
        if not self.answer:
            return self.answer
        return request.replace(url=request.url.replace("/s.xml", self.answer))


@table(
    "answer, crawled", (None, "/page"), (False, None), (KeyError, None), ("/other.xml", "/other")
)
@in_reactor
async def test_spider_may_veto_or_alter(answer: Any, crawled: Any, site: Site, log: Any) -> None:
    crawler = await crawl(Shown, start_urls=[site.url()], answer=answer)
    assert set(parsed(crawler)) == ({site.url(crawled)} if crawled else set())
    assert sitemap_stats(crawler).get("skipped/vetoed", 0) == (0 if crawled else 1)
    assert isinstance(crawler.spider, Shown)
    sitemap, request = crawler.spider.shown
    assert sitemap == (site.url("/s.xml"), site.url("/robots.txt"), 3)
    assert request.url == sitemap.url
    assert log.text.count("Error caught on signal handler") == (answer is KeyError)


def with_handlers(*handlers: Callable[..., Any]) -> type[Sitemaps]:
    class Listening(Sitemaps):
        @classmethod
        def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Any:
            for handler in handlers:
                crawler.signals.connect(handler, sitemap_found, weak=False)
            return super().from_crawler(crawler, *args, **kwargs)

    return Listening


@in_reactor
async def test_handlers_of_the_signal_may_veto_each_discovery_and_take_their_time(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeat = "scrapy.core.engine.ExecutionEngine._SLOT_HEARTBEAT_INTERVAL"
    monkeypatch.setattr(heartbeat, 3600.0)  # nothing else wakes it

    async def hear(sitemap: FoundSitemap, request: Request, spider: Sitemaps) -> None:
        await pause(0.3)
        spider.parsed[sitemap.url] = Response(request.url)
        raise IgnoreRequest

    settings = {"CLOSESPIDER_TIMEOUT": 120}
    crawler = await crawl(with_handlers(hear), settings, start_urls=[site.url()])
    assert set(parsed(crawler)) == {site.url("/s.xml")}
    assert site.paths() == ["/robots.txt"]
    assert stats(crawler)["finish_reason"] == "finished"
    assert errors(caplog) == []


@pytest.mark.parametrize(("veto", "asked"), [(None, ["/s.xml?2"]), (False, [])])
@in_reactor
async def test_any_handler_may_veto_and_the_last_counts(veto: Any, asked: Any, site: Site) -> None:
    spider = with_handlers(
        lambda request: request.replace(url=site.url("/s.xml?1")),
        lambda: veto,
        lambda request: request.replace(url=site.url("/s.xml?2")),
    )
    await crawl(spider, start_urls=[site.url()])
    assert site.paths()[1:] == asked


@in_reactor
async def test_request_for_a_sitemap_is_what_the_spider_itself_would_send(site: Site) -> None:
    """Its values are plain and its callback has a name, so any queue can keep it and another process can run it."""
    crawler = await crawl(Shown, {"DEPTH_STATS_VERBOSE": True}, start_urls=[site.url()])
    spider = crawler.spider
    assert isinstance(spider, Shown)
    request = spider.shown[1]
    as_dict = request.to_dict(spider=spider)
    assert (as_dict["callback"], as_dict["errback"]) == ("_parse_sitemap", None)
    assert not as_dict["dont_filter"]
    source = {"robotstxt": site.url("/robots.txt"), "line": 3}
    of_ours = {"allow_offsite": True, "is_start_request": True, "gbot_robots_sitemap": source}
    assert {name: as_dict["meta"][name] for name in of_ours} == of_ours
    as_dict |= {"body": as_dict["body"].decode(), "headers": {}}
    again = request_from_dict(json.loads(json.dumps(as_dict)), spider=spider)
    assert (again.url, again.callback, again.meta) == (request.url, request.callback, request.meta)
    assert parsed(crawler)[site.url("/page")].meta["depth"] == 1


@in_reactor
async def test_copied_meta_of_a_file_opens_no_door(site: Site, other: Site) -> None:
    class Copies(Sitemaps):
        def _parse_sitemap(self, response: Response) -> Any:
            for request in super()._parse_sitemap(response):
                yield request.replace(meta={**response.meta, **request.meta})

    site.pages["/s.xml"] = xml(
        sitemap_web.index(*map(site.url, ("/0.xml", "/1.xml")), other.url("/s.xml"))
    )
    site.pages |= {
        f"/{n}.xml": xml(sitemap_web.index(site.url(f"/{n + 1}.xml"))) for n in range(1, 20)
    }
    site.pages["/0.xml"] = xml(urlset(site.url("/page"), other.url("/page")))
    crawler = await crawl(Copies, start_urls=[site.url()], allowed_domains=["127.0.0.1"])
    assert set(parsed(crawler)) == {site.url("/page")}
    assert other.paths() == []
    assert site.paths().count("/4.xml") == 0
    assert sitemap_stats(crawler)["skipped/depth"] == 1


@pytest.mark.parametrize("kind", [Sitemaps, sitemap_web.Links])
@in_reactor
async def test_handler_may_request_and_gets_none_where_none_is_fed(kind: Any, site: Site) -> None:
    class Asking(kind):  # type: ignore[misc]
        async def sitemap_found(self, sitemap: FoundSitemap, request: Request | None) -> None:
            assert (request is None) is (kind is sitemap_web.Links)
            terms = Request(f"{sitemap.url}?terms")
            self.parsed["terms"] = await self.crawler.engine.download_async(terms)

    crawler = await crawl(Asking, start_urls=[site.url("/x")])
    assert set(parsed(crawler)) == {"terms", site.url("/page" if kind is Sitemaps else "/x")}
    assert parsed(crawler)["terms"].status == 200
    fed = sitemap_stats(crawler).get("fed", 0)
    assert site.paths().count("/s.xml") == fed == (kind is Sitemaps)
    assert sitemap_web.found(crawler) == {site.url("/robots.txt"): [site.url("/s.xml")]}
    assert not any("skipped" in stat for stat in sitemap_stats(crawler))
