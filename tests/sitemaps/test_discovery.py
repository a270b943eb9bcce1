"""Real crawls that feed spiders the sitemaps in robots.txt files, of a web with every oddity."""

import time
from collections.abc import AsyncIterator
from socket import socket
from typing import Any

import pytest
from scrapy import Request

from scrapy_gbot_robots import SitemapDownloaderMiddleware, SitemapSpiderMiddleware
from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.sitemaps.discovery import allowed_domains_of

from ..support import sitemap_web
from ..support.crawls import Pages, crawl, in_reactor, own_warnings, stats
from ..support.rows import row, table
from ..support.sitemap_web import (
    Hosts,
    Sitemaps,
    parsed,
    sitemap_lines,
    sitemap_stats,
    urlset,
    xml,
)
from ..support.web import Reply, Site


@in_reactor
async def test_sitemap_spider_is_fed_what_robots_txt_files_list() -> None:
    with sitemap_web.Web() as web:
        crawler = await crawl(Sitemaps, allowed_domains=["127.0.0.1"], start_urls=web.given)
        assert set(parsed(crawler)) == web.pages
        assert web.asked() == sorted(web.good | web.pages)
        assert web.robots_txts_asked() == dict.fromkeys(web.sites, 1)
        assert sitemap_stats(crawler) == {
            "found": 10,  # 7 of news, 2 of shop, 1 of cdn, which is not fed
            "fed": 9,  # one of them twice: shop shares it with news
            "duplicate": 1,  # within news
            "skipped/origin": 1,  # the one of cdn, of which only a listed sitemap was requested
            "skipped/malformed": 2,
            "skipped/scheme": 3,  # two lines, and a sitemap that an index lists
            "entries/scheme": 1,  # a page that a sitemap lists
            "disallowed": 1,
            "failed": 1,
        }
        assert "spider_exceptions/count" not in stats(crawler)


@pytest.mark.parametrize("spider", [Sitemaps, sitemap_web.Links])
@in_reactor
async def test_summary_says_what_is_omitted(spider: Any, site: Site, other: Site, log: Any) -> None:
    urls = [other.url("/s.xml"), "file:///s.xml", "/s.xml"]
    site.pages["/robots.txt"] = sitemap_lines(*urls, *(site.url(f"/{n}.xml") for n in range(4)))
    settings = {"GBOT_ROBOTS_MAX_SITEMAPS": 3, "GBOT_ROBOTS_SITEMAPS_HOSTS": "same-host"}
    crawler = await crawl(spider, settings, start_urls=[site.url()], sitemap_follow=["[12].xml"])
    assert sitemap_stats(crawler).get("skipped/follow", 0) == (spider is Sitemaps)
    line = (
        "\n  sitemaps skipped: 1 by GBOT_ROBOTS_MAX_SITEMAPS, 1 by GBOT_ROBOTS_SITEMAPS_HOSTS, "
        "1 by the spider's sitemap_follow, 1 by the scheme of its URL, 1 by the form of its URL, "
        "which must be absolute\n"
    )
    assert log.text.count("\n  sitemaps skipped") == log.text.count(line) == (spider is Sitemaps)


class Begins(Sitemaps):
    """Begins with the page or file `first`, then as usual."""

    first = ""

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.first)
        async for request in super().start():
            yield request


class OneByOne:
    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for given in start:
            yield given
            await pause(0.5)


@pytest.mark.parametrize("given", [False, True])
@in_reactor
async def test_host_of_others_sitemaps_feeds_if_given(given: bool, site: Site, other: Site) -> None:
    sitemap_web.listing(other)
    site.pages["/robots.txt"] = sitemap_lines(other.url("/for-site.xml"))
    start_urls = [site.url(), *([other.url()] if given else ())]
    crawler = await crawl(Sitemaps, {"SPIDER_MIDDLEWARES": {OneByOne: 9}}, start_urls=start_urls)
    assert set(parsed(crawler)) == ({other.url("/page")} if given else set())
    assert sitemap_web.found(crawler)[other.url("/robots.txt")] == [other.url("/s.xml")]
    assert other.paths().count("/s.xml") == given


@pytest.mark.parametrize(
    ("domain", "may"),
    [("127.0.0.2", True), ("0.0.2", True), ("27.0.0.2", False), ("", False)],
    ids=["host", "domain-above-it", "end-of-its-name", "none"],
)
@in_reactor
async def test_allowed_domain_may_feed(domain: str, may: bool, site: Site, other: Site) -> None:
    sitemap_web.listing(other)
    site.pages["/robots.txt"] = sitemap_lines(other.url("/for-site.xml"))
    other.pages["/for-site.xml"] = xml(urlset(site.url("/page")))
    crawler = await crawl(Sitemaps, start_urls=[site.url()], allowed_domains=[site.host, domain])
    assert set(parsed(crawler)) == {site.url("/page"), *([other.url("/page")] if may else ())}


def test_text_is_one_allowed_domain_and_not_its_letters() -> None:
    for domains in ("shop.example", ["shop.example", None]):
        assert allowed_domains_of(Sitemaps(allowed_domains=domains)) == ["shop.example"]


@in_reactor
async def test_sitemaps_that_a_robots_txt_gains_later_are_fed_up_to_the_bound(site: Site) -> None:
    class Slow(Sitemaps):
        async def start(self) -> AsyncIterator[Request]:
            for number in range(8):
                yield Request(site.url(f"/{number}"))
                await pause(0.15)
                site.pages["/robots.txt"] = sitemap_lines(site.url(f"/s{number}.xml"))

    crawler = await crawl(Slow, {"GBOT_ROBOTS_MAX_AGE_SECS": 0.1, "GBOT_ROBOTS_MAX_SITEMAPS": 2})
    assert sum(".xml" in path for path in site.paths()) == sitemap_stats(crawler)["fed"] == 2
    assert sitemap_stats(crawler)["capped"] == sitemap_stats(crawler)["found"] - 2 > 0


@in_reactor
async def test_sitemap_that_a_robots_txt_gains_is_fed_if_only_sitemaps_lead_on(site: Site) -> None:
    def gains(connection: socket) -> None:
        site.pages["/robots.txt"] = sitemap_lines(site.url("/s.xml"), site.url("/other.xml"))
        time.sleep(0.3)
        xml(sitemap_web.index(site.url("/part.xml")))(connection)

    site.pages |= {"/s.xml": gains, "/part.xml": xml(urlset(site.url("/page")))}
    crawler = await crawl(Begins, {"GBOT_ROBOTS_MAX_AGE_SECS": 0.2}, first=site.url("/x"))
    assert set(parsed(crawler)) == set(map(site.url, ("/x", "/page", "/other")))


@in_reactor
async def test_robots_txt_that_the_spider_asks_for_as_a_page_is_fed_from(site: Site) -> None:
    crawler = await crawl(Begins, first=site.url("/robots.txt"))
    assert set(parsed(crawler)) == {site.url("/robots.txt"), site.url("/page")}


@in_reactor
async def test_ftp_sitemaps_are_fed_only_where_scrapy_has_a_handler(site: Site) -> None:
    site.pages["/robots.txt"] = b"Sitemap: ftp://127.0.0.1:1/s.xml"
    crawler = await crawl(Sitemaps, {"DOWNLOAD_HANDLERS": {"ftp": None}}, start_urls=[site.url()])
    assert sitemap_stats(crawler) == {"skipped/scheme": 1}


@table(
    "mode, names, counted, crawled",
    row("auto-file", "auto", ["/s.xml"], {"found": 2, "not_fed": 1}, {"/page"}),
    row("auto-both", "auto", ["/s.xml", "/robots.txt"], {"found": 2}, {"/page", "/other"}),
    row("auto-robots-txt", "auto", ["/robots.txt"], {"found": 2}, {"/page", "/other"}),
    row("auto-nothing", "auto", [], {"found": 2, "fed": 2}, {"/page", "/other"}),
    row("feed-file", "feed", ["/s.xml"], {"found": 2, "fed": 2}, {"/page", "/other"}),
    row("feed-robots-txt", "feed", ["/robots.txt"], {"found": 2}, {"/page", "/other"}),
    row("collect", "collect", ["/s.xml"], {"found": 2}, {"/page"}),
    row("off", "OFF".lower(), ["/s.xml"], {}, {"/page"}),  # no literal's object
)  # fmt: skip
@in_reactor
async def test_spider_that_names_sitemap_files_is_fed_others_only_on_demand(
    mode: str, names: list[str], counted: dict[str, int], crawled: set[str], site: Site
) -> None:
    site.pages["/robots.txt"] = sitemap_lines(site.url("/s.xml"), site.url("/other.xml"))
    named = list(map(site.url, names))
    start: dict[str, Any] = {"sitemap_urls": named, "start_urls": [site.url()]}
    crawler = await crawl(Sitemaps, {"GBOT_ROBOTS_SITEMAPS": mode}, **start)
    assert set(parsed(crawler)) == set(map(site.url, crawled))
    assert sitemap_stats(crawler) == counted


@in_reactor
async def test_naming_a_robots_txt_leaves_other_hosts_to_be_fed(site: Site, other: Site) -> None:
    sitemap_web.listing(other)
    site.pages["/s.xml"] = xml(urlset(other.url("/x")))
    crawler = await crawl(Sitemaps, sitemap_urls=[site.url("/robots.txt")])
    assert set(parsed(crawler)) == {other.url("/x"), other.url("/page")}


@in_reactor
async def test_robots_txt_named_in_another_form_is_the_spiders_own_to_read(site: Site) -> None:
    start: dict[str, Any] = {"first": site.url("/x")}
    start["sitemap_urls"] = [site.url("/robots.txt").replace("http:", "HTTP:")]
    crawler = await crawl(Begins, {"CONCURRENT_REQUESTS": 1}, **start)
    assert set(parsed(crawler)) == {site.url("/x"), site.url("/page")}
    assert sitemap_stats(crawler) == {"found": 1}


NOT_FED = "by GBOT_ROBOTS_SITEMAPS, since the spider finds its pages in another way"


class Both(sitemap_web.Links, Sitemaps):
    """Finds its pages by links, as search engines for documentation do."""

    name = "both"

    async def start(self) -> AsyncIterator[Request]:
        for url in self.start_urls:
            yield Request(url)


@table(
    "mode, named, crawled",
    ("auto", [], {"/"}),
    ("feed", [], {"/", "/page"}),
    ("auto", ["/robots.txt"], {"/"}),
)
@in_reactor
async def test_crawl_spider_that_is_a_sitemap_spider_too_is_fed_only_on_demand_and_that_is_said(
    mode: str, named: list[str], crawled: set[str], site: Site, log: Any
) -> None:
    start: dict[str, Any] = {"start_urls": [site.url()], "sitemap_urls": list(map(site.url, named))}
    crawler = await crawl(Both, {"GBOT_ROBOTS_SITEMAPS": mode}, **start)
    assert set(parsed(crawler)) == set(map(site.url, crawled))
    is_told = f"  sitemaps skipped: 1 {NOT_FED}\n" in log.text
    assert is_told is (mode == "auto" and not named)
    assert sitemap_stats(crawler).get("not_fed", 0) == is_told


class Strays(Both):
    """Begins on a host outside of its `allowed_domains`."""

    name = "strays"
    allowed_domains = ("shop.example",)

    async def start(self) -> AsyncIterator[Request]:
        for url in self.start_urls:
            yield Request(url, meta={"allow_offsite": True})


@table("mode, skipped", ("auto", 0), ("feed", 1))
@in_reactor
async def test_sitemaps_of_another_host_count_as_skipped_only_if_the_spider_is_fed(
    mode: str, skipped: int, site: Site
) -> None:
    crawler = await crawl(Strays, {"GBOT_ROBOTS_SITEMAPS": mode}, start_urls=[site.url()])
    counted = sitemap_stats(crawler)
    assert (counted["found"], counted.get("skipped/origin", 0)) == (1, skipped)
    assert set(parsed(crawler)) == {site.url()}


class Silent(Both):
    async def start(self) -> AsyncIterator[Request]:
        for request in list[Request]():
            yield request


@table("spider, mode", (Silent, "auto"), (Sitemaps, "collect"), (Sitemaps, "off"))
@in_reactor
async def test_spider_fed_none_never_starts(spider: Any, mode: str, site: Site, log: Any) -> None:
    await crawl(spider, {"GBOT_ROBOTS_SITEMAPS": mode}, start_urls=[site.url()])
    assert (site.paths(), own_warnings(log)) == ([], [])


@table(
    "spider, mode, settings, useless",
    row("off", Sitemaps, "off", {"MAX_SITEMAPS": 5}, ["MAX_SITEMAPS"]),
    row("no-sitemap-spider", Pages, "off", {"SITEMAPS_HOSTS": "same-site"}, ["SITEMAPS_HOSTS"]),
    row("defaults", Sitemaps, "off", {"MAX_SITEMAPS": 50, "SITEMAPS_HOSTS": "any"}, []),
    row("collected", Sitemaps, "collect", {"MAX_SITEMAPS": 5}, []),
    row("of-hosts", Hosts, "off", {"MAX_SITEMAPS": 5, "SITEMAPS_HOSTS": "same-site"}, []),
)
@in_reactor
async def test_settings_of_sitemaps_without_effect_are_named(
    spider: Any, mode: str, settings: dict[str, Any], useless: list[str], site: Site, log: Any
) -> None:
    named = {f"GBOT_ROBOTS_{name}": value for name, value in settings.items()}
    await crawl(
        spider,
        {"GBOT_ROBOTS_SITEMAPS": mode, **named},
        urls=[site.url("/1")],
        start_urls=[site.url()],
        hosts=[site.url()],
    )
    rest = "with GBOT_ROBOTS_SITEMAPS = 'off'. Remove it, or set GBOT_ROBOTS_SITEMAPS = \"auto\""
    said = [warning for warning in own_warnings(log) if "no effect" in warning]
    assert said == [f"GBOT_ROBOTS_{name} has no effect {rest}" for name in useless]


@in_reactor
async def test_requests_of_another_spider_pass_no_middleware_for_sitemaps(site: Site) -> None:
    crawler = await crawl(Pages, urls=[site.url("/1")])
    assert crawler.get_spider_middleware(SitemapSpiderMiddleware) is None
    assert crawler.get_downloader_middleware(SitemapDownloaderMiddleware) is None
    of_sitemaps = await crawl(Sitemaps, start_urls=[site.url()])
    assert of_sitemaps.get_spider_middleware(SitemapSpiderMiddleware) is not None


class PageFirst(Sitemaps):
    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.start_urls[0]}/page")


NO_SITEMAP = sitemap_lines("/relative.xml")


@table(
    "spider, start, robots_txt, is_told",
    row("no-line", Sitemaps, {}, b"", True),
    row("none", Sitemaps, {}, Reply(404), True),
    row("no-line-that-can-be-used", Sitemaps, {}, NO_SITEMAP, True),
    row("named", Sitemaps, {"sitemap_urls": ["~/robots.txt"]}, b"", True),
    row("vetoed", type("No", (Sitemaps,), {"sitemap_found": lambda *_, **__: False}), {}, None, True),
    row("fed", Sitemaps, {}, None, False),
    row("named-with-a-line", Sitemaps, {"sitemap_urls": ["~/robots.txt"]}, None, False),
    row("named-sitemap", Sitemaps, {"sitemap_urls": ["~/other.xml"]}, b"", False),
    row("page-of-its-own", PageFirst, {"start_urls": ["~"]}, b"", False),
    row("no-fed-spider", Hosts, {"hosts": ["~"]}, b"", False),
)  # fmt: skip
@in_reactor
async def test_spider_that_had_nothing_to_read_is_told_what_helps(
    spider: Any, start: dict[str, list[str]], robots_txt: Any, is_told: bool, site: Site, log: Any
) -> None:
    if robots_txt is not None:
        site.pages["/robots.txt"] = robots_txt
    start = start or {"start_urls": ["~"]}
    arguments = {
        key: [url.replace("~", site.url("")) for url in urls] for key, urls in start.items()
    }
    await crawl(spider, **arguments)
    told = [line for line in log.messages if line.startswith("No robots.txt led this spider to")]
    assert len(told) == is_told
    assert all("sitemap_urls" in line and "sitemap_guess" in line for line in told)


@in_reactor
async def test_warning_of_a_host_that_only_a_sitemap_line_led_to_names_who_lists_it(
    site: Site, other: Site, log: Any
) -> None:
    other.pages["/robots.txt"] = Reply(503)
    site.pages["/robots.txt"] = sitemap_lines(other.url("/s.xml"))
    await crawl(Sitemaps, start_urls=[site.url()])
    (warning,) = own_warnings(log)
    assert warning.startswith(f"Could not fetch {other.url('/robots.txt')} (HTTP 503): for now, ")
    assert f"needs it because {site.url('/robots.txt')} lists a sitemap there" in warning
    log.clear()
    await crawl(Sitemaps, start_urls=[other.url()])
    (warning,) = own_warnings(log)
    assert "lists a sitemap" not in warning
