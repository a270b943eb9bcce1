"""RobotsSitemapSpider: the hosts that it is given, and real crawls of the pages that their sitemaps list."""

import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from socket import socket
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import CrawlerRunner
from scrapy.http import Response
from scrapy.utils.asyncio import call_later

from scrapy_gbot_robots import Origin, SitemapDiscovery
from scrapy_gbot_robots.sitemaps.urls import covers, given_in, origins_of, scope_of

from ..support import sitemap_web
from ..support.crawls import crawl, errors, in_reactor, own_warnings, stats, under_way
from ..support.processes import EXAMPLE, output, run, start
from ..support.reactors import as_arguments, ways_to_run
from ..support.rows import row, table
from ..support.sitemap_web import (
    Hosts,
    host_stats,
    index,
    parsed,
    sitemap_lines,
    urlset,
    without,
    xml,
)
from ..support.systems import needs_posix
from ..support.tls import tls_context
from ..support.until import block_until
from ..support.web import Reply, Site, free_port, free_port_like_tls, redirect


@table(
    "text, origins",
    ("example.org", ["https://example.org", "http://example.org"]),
    ("EXAMPLE.org/a?b", ["https://example.org", "http://example.org"]),
    ("bücher.example", ["https://xn--bcher-kva.example", "http://xn--bcher-kva.example"]),
    ("example.org:8080", ["http://example.org:8080", "https://example.org:8080"]),
    ("example.org:80", ["http://example.org", "https://example.org:80"]),
    ("example.org:8443", ["https://example.org:8443", "http://example.org:8443"]),
    ("[::1]", ["https://[::1]", "http://[::1]"]),
    ("http://example.org/path?q", ["http://example.org"]),
    ("https://user:pw@example.org:443", ["https://example.org"]),
    ("ftp://example.org", ["ftp://example.org"]),
)
def test_host_has_these_origins(text: str, origins: list[str]) -> None:
    assert [str(origin) for origin in origins_of(text)] == origins


@pytest.mark.parametrize("text", ["a b", "example.org:99999", "file:///etc/hosts", "#", "http://"])
def test_what_is_no_host_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        origins_of(text)


@table(
    "given",
    "a.com,b.com",
    " a.com , b.com,",
    "a.com b.com",
    ["a.com", " b.com "],
    ("a.com", "", "b.com"),
)
def test_list_of_hosts_is_read(given: str | list[str]) -> None:
    assert list(given_in(given)) == ["a.com", "b.com"]


def test_file_of_hosts_is_read_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    text = "\ufeff# mine\na.com  # comment\r\n\n  https://b.com/x\nü.com\n"
    path.write_bytes(text.encode() + b"\xff.com\nc.com")
    assert list(given_in((), path)) == ["a.com", "https://b.com/x", "ü.com", "\ufffd.com", "c.com"]


@table(
    "url, covered",
    ("https://example.org/", True),
    ("http://example.org/", True),
    ("https://www.example.org/", True),
    ("https://notexample.org/", False),
    ("https://example.org.evil.net/", False),
    ("https://example.org:8443/", False),
    ("https://net.example/", True),  # given as www.net.example
    ("https://shop.net.example/", True),
    ("http://127.0.0.1:8000/", True),
    ("http://127.0.0.1:9000/", False),
)
def test_scope_is_hosts_with_and_without_www_and_their_subdomains(url: str, covered: bool) -> None:
    scope = scope_of(["example.org", "https://www.net.example", "no host", "127.0.0.1:8000"])
    assert covers(scope, Origin.of(url)) is covered


@pytest.mark.parametrize("host", ["www.gov.uk", "www.com", "www.github.io", "www.za.com"])
def test_scope_of_a_host_is_no_public_suffix(host: str) -> None:
    scope = scope_of([host])
    urls = (f"https://{host}/", f"https://shop.{host}/", f"https://other.{host[4:]}/")
    assert [covers(scope, Origin.of(url)) for url in urls] == [True, True, False]


@pytest.mark.parametrize("addon", [True, False], ids=["with-the-add-on", "without"])
@in_reactor
async def test_pages_that_the_hosts_sitemaps_list_are_crawled(addon: bool) -> None:
    with sitemap_web.Web() as web:
        crawler = await crawl(Hosts, addon=addon, hosts=web.given)
        bare, ill, guarded = (web.sites[name] for name in ("bare", "ill", "guarded"))
        if addon:
            assert web.robots_txts_asked() == dict.fromkeys(web.sites, 1)
        else:  # then the crawl obeys no robots.txt
            web.pages.add(web.sites["news"].url("/no/b"))
            web.good.add(guarded.url("/no/sitemap.xml"))
        assert set(parsed(crawler)) == web.pages
        assert web.asked() == sorted(web.good | web.pages)
        assert host_stats(crawler) == {"listed": 2, "without": 1, "unreachable": 1}
        assert without(crawler) == {
            bare.url(): "its robots.txt has status 404",
            ill.url(): "its robots.txt has status 503: unreachable",
        }
        counted = sitemap_web.sitemap_stats(crawler)
        assert (counted["found"], counted["fed"], counted["duplicate"]) == (9, 9, 1)
        assert (counted["skipped/malformed"], counted["skipped/scheme"]) == (2, 2)
        assert (counted["entries/scheme"], counted["entries/host"]) == (2, 1)
        assert counted.get("disallowed", 0) == addon


WITHOUT_ADD_ON = [
    row("none", {"ADDONS": {}}),
    row("off", {"GBOT_ROBOTS_ENABLED": "0"}),
    row("off-with-parts", {"GBOT_ROBOTS_ENABLED": False, "EXTENSIONS": {SitemapDiscovery: 0}}),
]


@table("without", *WITHOUT_ADD_ON, row("but-with-it", {}))
@in_reactor
async def test_wrong_setting_ends_the_crawl_before_it_starts(
    without: dict[str, Any], site: Site, log: Any
) -> None:
    settings = {**without, "GBOT_ROBOTS_MAX_SITEMAPS": "many"}
    with pytest.raises(ValueError, match="^GBOT_ROBOTS_MAX_SITEMAPS must be a whole number >= 0"):
        await crawl(Hosts, settings, hosts=[site.url()])
    assert site.asked == []
    assert errors(log) == []


@table(
    "without", *WITHOUT_ADD_ON, row("but-with-it", {}), row("not-obeyed", {"ROBOTSTXT_OBEY": False})
)
@in_reactor
async def test_probable_mistake_in_a_setting_is_warned_of_once(
    without: dict[str, Any], site: Site, log: Any
) -> None:
    sitemap_web.listing(site)
    settings = {**without, "GBOT_ROBOTS_MAX_SITEMAP": 1}
    crawler = await crawl(Hosts, settings, hosts=[site.url()])
    assert set(parsed(crawler)) == {site.url("/page")}
    said = [text for text in own_warnings(log) if "ROBOTSTXT_OBEY" not in text]
    assert said == [
        "unknown setting GBOT_ROBOTS_MAX_SITEMAP: ignored. Did you mean GBOT_ROBOTS_MAX_SITEMAPS?"
    ]


@table(
    "guess, crawled",
    *(("1", ["/i"]), (True, ["/i"]), ("true", ["/i"]), ("Yes", ["/i"])),
    *(("0", []), (False, []), (None, []), ([], []), ("", []), ("no", []), ("False", [])),
)
@pytest.mark.parametrize("answer", [Reply(404), Reply(500, b"<title>Page not found</title>")])
@in_reactor
async def test_sitemap_is_guessed_where_none_is_listed_if_that_is_on(
    guess: Any, crawled: list[str], answer: Reply, site: Site
) -> None:
    site.pages |= {
        "/robots.txt": answer,
        "/sitemap.xml": xml(index("/part.xml", "/no-sitemap.xml")),
        "/part.xml": xml(urlset(site.url("/i"))),
    }
    crawler = await crawl(Hosts, hosts=f"{site.host}:{site.port}", sitemap_guess=guess)
    assert set(parsed(crawler)) == set(map(site.url, crawled))
    assert host_stats(crawler) == {"guessed" if crawled else "without": 1}
    assert len(site.paths()) == (5 if crawled else 1)


PATHS = ["/none.xml", "/empty.xml", "/none.xml", "/home.xml", "/last.xml", "/after.xml"]


@pytest.mark.parametrize("guess", [PATHS, ",".join(PATHS)])
@in_reactor
async def test_guesses_are_tried_in_order_until_one_lists_anything(guess: Any, site: Site) -> None:
    site.pages |= {
        "/robots.txt": Reply(404),
        "/none.xml": Reply(404),
        "/empty.xml": xml(urlset()),
        "/home.xml": b"<!DOCTYPE html><title>home</title>",
        "/last.xml": xml(urlset("/page")),
    }
    crawler = await crawl(Hosts, hosts=[site.url()], sitemap_guess=guess)
    asked = [path for path in site.paths() if path.endswith(".xml")]
    assert asked == ["/none.xml", "/empty.xml", "/home.xml", "/last.xml"]
    assert set(parsed(crawler)) == {site.url("/page")}
    assert (host_stats(crawler), without(crawler)) == ({"guessed": 1}, {})
    assert "failed" not in sitemap_web.sitemap_stats(crawler)  # a guessed sitemap need not exist


@in_reactor
async def test_host_is_told_with_all_guesses(site: Site, log: Any) -> None:
    site.pages = {"*": Reply(404), "/2.xml": xml(urlset()), "/home": b"<title>home</title>"}
    site.pages |= dict.fromkeys(("/3.xml", "/4.xml"), redirect("/home"))
    host = f"127.0.0.1:{site.port}"
    crawler = await crawl(Hosts, hosts=host, sitemap_guess="/1.xml,/2.xml,/3.xml,/4.xml")
    assert host_stats(crawler) == {"guessed": 1, "without": 1}
    assert [message for message in log.messages if "has no usable sitemap" in message] == [
        f"{host} has no usable sitemap: its robots.txt has status 404; "
        f"{site.url('/1.xml')} could not be fetched: Ignoring non-200 response; "
        f"{site.url('/2.xml')} lists nothing; "
        f"{site.url('/3.xml')} lists nothing; {site.url('/4.xml')} lists nothing"
    ]


@table(
    "body, own",
    row("old-pages", urlset("/page", lastmod="2020"), {"sitemap_since": "2026"}),
    row("old-sitemaps", index("/next.xml", lastmod="2020"), {"sitemap_since": "2026"}),
    row("pages-of-another-host", urlset("http://127.0.0.2:1/"), {}),
    row("other-schemes", urlset("mailto:a@b"), {}),
    row("sitemaps-not-followed", index("/next.xml"), {"sitemap_follow": ["no"]}),
    row("filtered", urlset("/page"), {"sitemap_filter": lambda _, them: [*them][:0]}),
)  # fmt: skip
@in_reactor
async def test_guess_that_lists_what_is_left_out_counts(body: bytes, own: Any, site: Site) -> None:
    spider = type("Choosy", (Hosts,), own)
    site.pages = {"*": Reply(404), "/1.xml": xml(body)}
    crawler = await crawl(spider, hosts=[site.url()], sitemap_guess="/1.xml,/2.xml")
    assert host_stats(crawler) == {"guessed": 1}
    assert site.paths() == ["/robots.txt", "/1.xml"]


@in_reactor
async def test_guesses_go_on_after_a_restart(site: Site, tmp_path: Path) -> None:
    class Stopping(Hosts):
        async def _parse_robots_txt(self, *args: Any, **kwargs: Any) -> AsyncIterator[Request]:
            async for request in super()._parse_robots_txt(*args, **kwargs):
                under_way(self.crawler.stop_async())
                yield request

    site.pages = {"*": Reply(404), "/2.xml": xml(urlset(site.url("/page")))}
    site.pages["/page"] = b"ok"
    settings, guess = {"JOBDIR": str(tmp_path)}, ["/1.xml", "/2.xml"]
    await crawl(Stopping, settings, hosts=[site.url()], sitemap_guess=guess)
    assert site.paths() == ["/robots.txt"]
    crawler = await crawl(Hosts, settings, hosts=[site.url()], sitemap_guess=guess)
    assert set(parsed(crawler)) == {site.url("/page")}


@in_reactor
async def test_attributes_of_a_sitemap_spider_work(site: Site) -> None:
    class Choosy(Hosts):
        sitemap_rules = (("/shoes/", "parse_shoe"), ("/hats/", "parse"))
        sitemap_follow = ("/s.xml", "/part")
        sitemap_alternate_links = True

        def parse_shoe(self, response: Any) -> None:
            self.parsed["shoe"] = response

        def sitemap_filter(self, entries: Any) -> Any:
            for entry in entries:
                if "secret" not in entry["loc"]:
                    yield entry

    links = f'<x:link xmlns:x="x" rel="alternate" hreflang="de" href="{site.url("/hats/de")}"/>'
    entry = f"<url><loc>{site.url('/shoes/1')}</loc>{links}</url>"
    site.pages["/s.xml"] = xml(index(site.url("/part.xml"), site.url("/other.xml")))
    listed = urlset(site.url("/hats/secret"), site.url("/x"))
    site.pages["/part.xml"] = listed.replace(b"</urlset>", entry.encode())
    crawler = await crawl(Choosy, hosts=[site.url()])
    assert set(parsed(crawler)) == {"shoe", site.url("/hats/de")}
    assert site.paths().count("/other.xml") == 0


@in_reactor
async def test_sitemap_urls_are_crawled_beside_hosts(site: Site, other: Site) -> None:
    other.pages["/mine"] = xml(urlset(other.url("/2")))
    crawler = await crawl(Hosts, sitemap_urls=[other.url("/mine"), site.url("/robots.txt")])
    assert set(parsed(crawler)) == {site.url("/page"), other.url("/2")}
    assert host_stats(crawler) == {"listed": 1}


@in_reactor
async def test_hosts_come_no_faster_than_they_answer(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("scrapy_gbot_robots.sitemaps.spider._MOST_ASKED", 2)
    with contextlib.ExitStack() as stack:
        sites = [stack.enter_context(Site({"*": b"ok"})) for _ in range(6)]
        for site in sites:
            sitemap_web.listing(site)
            lines = sitemap_lines(site.url("/s.xml"))
            site.pages["/robots.txt"] = Reply(200, lines, after_secs=0.2)
        path = tmp_path / "hosts.txt"
        hosts = [f"127.0.0.1:{site.port}  # a comment" for site in sites]
        path.write_text("\n".join(["# six", *hosts, "", "no host", sites[0].url()]))
        crawler = await crawl(Hosts, hosts_file=str(path))
        assert set(parsed(crawler)) == {site.url("/page") for site in sites}
        assert host_stats(crawler) == {"listed": 6, "invalid": 1}
        assert list(without(crawler)) == ["no host"]
        asked = sorted(site.asked[0].at for site in sites)
        assert all(later - earlier > 0.15 for earlier, later in zip(asked, asked[2:], strict=False))


@in_reactor
async def test_slow_host_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_gbot_robots.sitemaps.spider._MOST_ASKED", 2)
    with contextlib.ExitStack() as stack:
        slow, *others = [stack.enter_context(Site({"*": b"ok"})) for _ in range(6)]
        for site in (slow, *others):
            sitemap_web.listing(site)
        rules = Reply(200, sitemap_lines(slow.url("/s.xml")))

        def after_all_others(connection: socket) -> None:
            block_until(lambda: all(site.asked for site in others))
            rules(connection)

        slow.pages["/robots.txt"] = after_all_others
        crawler = await crawl(Hosts, hosts=[site.url() for site in (slow, *others)])
        assert host_stats(crawler) == {"listed": 6}


class DropsSome:
    """Drops the request for the robots.txt of each host but the last."""

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        yield [request async for request in start][-1]


@in_reactor
async def test_dropped_hosts_hold_up_no_other(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_gbot_robots.sitemaps.spider._MOST_ASKED", 2)
    hosts = [*(f"http://127.0.0.1:{number}" for number in range(1, 5)), site.url()]
    settings = {"SPIDER_MIDDLEWARES": {DropsSome: 100}, "CLOSESPIDER_TIMEOUT": 120}
    crawler = await crawl(Hosts, settings, hosts=hosts)
    assert set(parsed(crawler)) == {site.url("/page")}
    assert stats(crawler)["finish_reason"] == "finished"


@in_reactor
async def test_allowed_domains_decide_about_pages_not_hosts(site: Site, other: Site) -> None:
    site.pages["/s.xml"] = xml(urlset(site.url("/page"), other.url("/page")))
    crawler = await crawl(
        Hosts, hosts=site.url(), sitemap_scope="any", allowed_domains=["127.0.0.2"]
    )
    assert set(parsed(crawler)) == {other.url("/page")}


@table(
    "server",
    row("tls-on-another-port", lambda: {"tls": tls_context()}),
    row("no-tls-on-a-port-like-it", lambda: {"port": free_port_like_tls()}),
)
@in_reactor
async def test_server_is_found_by_the_scheme_that_it_speaks(server: Any) -> None:
    settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60, "GBOT_ROBOTS_TIMEOUT_SECS": 4}
    with Site({"*": b"ok"}, **server()) as site:
        sitemap_web.listing(site)
        crawler = await crawl(Hosts, settings, hosts=f"127.0.0.1:{site.port}")
        assert set(parsed(crawler)) == {site.url("/page")}
        assert stats(crawler)["robotstxt/request_count"] == 2


@table(
    "answer, fate, why",
    row("no-server", None, "unreachable", "connection refused"),  # it is not waited for
    row("429", Reply(429), "unreachable", "its robots.txt has status 429: unreachable"),
    row("999", Reply(999), "unreachable", "its robots.txt has status 999: unreachable"),
    row("403", Reply(403), "denied", "its robots.txt has status 403: denied"),
    row("bad", b"Sitemap: /s.xml", "without", "its robots.txt lists no usable sitemap"),
)
@in_reactor
async def test_host_without_sitemap_is_told(answer: Any, fate: str, why: str, site: Site) -> None:
    site.pages["/robots.txt"] = answer or b""
    host = f"127.0.0.1:{site.port if answer else free_port()}"
    settings: dict[str, Any] = {"GBOT_ROBOTS_ACCESS_DENIED": "disallow"}
    if answer is None:
        settings["GBOT_ROBOTS_UNREACHABLE_WAIT_SECS"] = 60
    crawler = await crawl(Hosts, settings, hosts=host)
    assert host_stats(crawler) == {fate: 1}
    assert why in without(crawler)[host]


@in_reactor
async def test_host_that_is_unreachable_for_a_moment_is_waited_for(site: Site) -> None:
    call_later(0.5, site.pages.update, {"/robots.txt": site.pages["/robots.txt"]})
    site.pages["/robots.txt"] = Reply(503)
    settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60}
    crawler = await crawl(Hosts, settings, hosts=f"127.0.0.1:{site.port}")
    assert set(parsed(crawler)) == {site.url("/page")}


def test_large_sitemaps_may_be_parsed_unless_the_user_sets_a_limit() -> None:
    for settings, limit in (({}, 104_857_600), ({"SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1}, 1)):
        crawler = CrawlerRunner(settings).create_crawler(Hosts)
        assert crawler.settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE") == limit


@pytest.mark.slow
@pytest.mark.parametrize("way", ways_to_run("select", "reactorless"))
def test_hosts_are_crawled_under_another_reactor_and_without_one(way: Any, site: Site) -> None:
    site.pages["/s.xml"] = xml(urlset(*(site.url(f"/{number}") for number in range(20))))
    settings = {**way, "GBOT_ROBOTS_STORAGE": "memory", "DOWNLOAD_DELAY": "0"}
    settings["GBOT_ROBOTS_SITEMAPS_AHEAD"] = "3"  # so that the file is not read in one go
    hosts = f"hosts=127.0.0.1:{site.port}"
    command = [sys.executable, "-m", "scrapy", "crawl", "discover", "-a", hosts]
    done = run([*command, *as_arguments(settings)], EXAMPLE)
    assert len(site.paths()) == len({*site.paths()}) == 22
    assert "Traceback" not in done.stderr
    assert "URLs 20 found, 20 crawled" in done.stderr


@table(
    "arguments, message",
    ({}, "No hosts are given"),
    ({"hosts": ""}, "No hosts are given"),
    ({"hosts_file": "nowhere.txt"}, "hosts_file must be a file, got 'nowhere.txt'"),
    ({"hosts_file": "."}, "hosts_file must be a file, got '.'"),
    ({"hosts": "a.com", "sitemap_since": "yesterday"}, "sitemap_since must be a date"),
    ({"hosts": "a.com", "sitemap_since": "2026-01-31T10:00"}, "sitemap_since must be a date"),
    ({"hosts": "a.com", "sitemap_since": "2026-02-30"}, "sitemap_since must be a date"),
    ({"hosts": "a.com", "sitemap_guess": "maybe"}, "sitemap_guess must be True or paths"),
    ({"hosts": "a.com", "sitemap_guess": ["/a.xml", "http://b.com/c.xml"]}, "sitemap_guess must be True or paths"),
    ({"hosts": "a.com", "sitemap_guess": "//b.com/c.xml"}, "sitemap_guess must be True or paths"),
    ({"hosts": "a.com", "sitemap_scope": "all"}, "sitemap_scope must be one of hosts, any, got 'all'"),
)  # fmt: skip
def test_wrong_argument_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CrawlerRunner().create_crawler(Hosts)._create_spider(**arguments)


@in_reactor
async def test_last_line_names_what_became_of_each_url(site: Site, other: Site, log: Any) -> None:
    class Fussy(Hosts):
        sitemap_rules = (("/(page|no|gone)", "parse"),)

    with Site({}) as closed:
        gone = closed.url("/gone")
    old = urlset(site.url("/page/old"), lastmod="2020").replace(b"</urlset>", b"")
    here = map(site.url, ("/page/1", "/page/1", "/no/2", "/unwanted"))
    kept = urlset(*here, other.url("/page"), "mailto:a", gone)
    site.pages["/s.xml"] = xml(index(site.url("/part.xml")))
    site.pages["/part.xml"] = xml(old + kept.partition(b">")[2])
    await crawl(Fussy, hosts=[site.url(), gone], sitemap_since="2026")
    last = [message for message in log.messages if message.startswith("hosts: ")][-1]
    assert last == (
        "hosts: 0 without a sitemap, 1 unreachable; sitemaps 2, URLs 9 found, 1 crawled, "
        "2 forbidden, 1 sitemaps, 1 older than sitemap_since, 1 on other hosts than sitemap_scope = 'hosts' allows, "
        "1 in no sitemap_rules, 1 of other schemes, 1 seen before"
    )


@in_reactor
async def test_last_line_names_hosts_that_are_denied_or_invalid(site: Site, log: Any) -> None:
    site.pages["/robots.txt"] = Reply(403)
    settings = {"GBOT_ROBOTS_ACCESS_DENIED": "disallow"}
    await crawl(Hosts, settings, hosts=[site.url(), "no host", "a b"])
    (last,) = (message for message in log.messages if message.startswith("hosts: "))
    assert last.startswith("hosts: 0 without a sitemap, 0 unreachable, 1 denied, 2 invalid; ")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_list_of_hosts_in_utf_16_is_refused(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_bytes("\ufeffexample.com\n".encode(codec))
    with pytest.raises(ValueError, match="is UTF-16; save it as UTF-8"):
        CrawlerRunner().create_crawler(Hosts)._create_spider(hosts_file=str(path))


@in_reactor
async def test_last_line_names_no_numbers_that_are_not_known(site: Site, log: Any) -> None:
    site.pages["/s.xml"] = xml(urlset(site.url("/page")))
    no_stats = {"STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector"}
    crawler = await crawl(Hosts, no_stats, hosts=[site.url()])
    assert stats(crawler) == {}
    assert "/page" in site.paths()
    assert not [message for message in log.messages if message.startswith("hosts: ")]
    said = "this crawl keeps no stats (STATS_CLASS), so its hosts and URLs are not counted"
    assert said in log.messages


@in_reactor
async def test_last_line_tells_of_listed_urls_alone(site: Site, other: Site, log: Any) -> None:
    class Follows(Hosts):
        def parse(self, response: Response, **_: Any) -> Iterator[Request]:
            for number in range(3):
                yield Request(response.urljoin(f"/no/{number}"))

    site.pages["/s.xml"] = xml(urlset(*map(site.url, ("/page", "/no/listed", "/cut"))))
    site.pages["/cut"] = lambda connection: None
    other.pages["/robots.txt"] = b"User-agent: *\nDisallow: /sitemap"
    crawler = await crawl(Follows, hosts=[site.url(), other.url()], sitemap_guess=True)
    assert stats(crawler)["robotstxt/forbidden"] == 5
    last = [message for message in log.messages if message.startswith("hosts: ")][-1]
    assert last.endswith("URLs 3 found, 1 crawled, 1 forbidden, 1 not fetched")
    assert without(crawler)[other.url()] == (
        f"its robots.txt lists no usable sitemap; {other.url('/sitemap.xml')} could not be "
        'fetched: Forbidden by robots.txt: disallowed by "Disallow: /sitemap" (line 2, group "*")'
    )


STOCK = """
from scrapy.spiders import SitemapSpider

class Stock(SitemapSpider):
    name = "stock"
    custom_settings = {"ADDONS": {"scrapy_gbot_robots.Addon": 500}}

    def __init__(self, site, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [site]

    def parse(self, response):
        yield {"url": response.url}
"""


@needs_posix
@pytest.mark.slow
@pytest.mark.parametrize(("spider", "asked"), [("discover", 1), ("discover", 20), ("stock", 10)])
def test_resumed_crawl_ends_with_the_same_pages(spider: str, asked: int, tmp_path: Path) -> None:
    """SIGINT, as Ctrl-C sends it, to a real process; then the same command again."""
    with Site({"*": Reply(200, b"<title>page</title>", after_secs=0.05)}) as site:
        site.pages["/robots.txt"] = Reply(200, sitemap_lines(site.url("/s.xml")), after_secs=0.3)
        site.pages["/s.xml"] = xml(index(*(site.url(f"/s{number}.xml") for number in range(3))))
        for number in range(3):
            locs = (site.url(f"/{page}") for page in range(20 * number, 20 * number + 20))
            of_xml = {"Content-Type": "text/xml"}
            site.pages[f"/s{number}.xml"] = Reply(200, urlset(*locs), of_xml, after_secs=0.1)
        (tmp_path / "stock.py").write_text(STOCK)
        own = {
            "discover": ["crawl", "discover", "-a", f"hosts=127.0.0.1:{site.port}"],
            "stock": ["runspider", str(tmp_path / "stock.py"), "-a", f"site={site.url()}"],
        }[spider]
        settings = {"JOBDIR": str(tmp_path / "job"), "GBOT_ROBOTS_STORAGE": "memory"}
        settings |= {"DOWNLOAD_DELAY": "0", "CONCURRENT_REQUESTS_PER_DOMAIN": "4"}
        command = [sys.executable, "-m", "scrapy", *own, "-o", str(tmp_path / "items.jl")]
        command += as_arguments(settings)
        process = start(command, EXAMPLE)
        block_until(lambda: len(site.asked) >= asked)
        process.send_signal(signal.SIGINT)
        _, first = output(process)
        assert "Closing spider (shutdown)" in first
        assert len(site.asked) < 60
        again = run(command, EXAMPLE)
        assert again.returncode == 0, again.stderr
        lines = (tmp_path / "items.jl").read_text().splitlines()
        items = [json.loads(line)["url"] for line in lines]
        assert sorted(items) == sorted(site.url(f"/{page}") for page in range(60))
        paths = [path for path in site.paths() if path != "/robots.txt"]
        assert len(paths) == len(set(paths)) == 64
        assert "Traceback" not in first + again.stderr
