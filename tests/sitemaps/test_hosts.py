"""Which hosts of a RobotsSitemapSpider lead to a sitemap: one of the listed ones has to be read, else guesses are tried."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, signals

from ..support.crawls import as_scrapy_runs_it, crawl, in_reactor, stop, together
from ..support.rows import row, table
from ..support.sitemap_web import (
    Hosts,
    host_stats,
    index,
    parsed,
    sitemap_lines,
    sitemap_stats,
    urlset,
    without,
    xml,
)
from ..support.web import Content, Reply, Site, free_port, redirect

PAGE = "/page"
READ, DEAD = xml(urlset(PAGE)), Reply(404)
HTML = b"<title>home</title>"


def serve(site: Site, lines: str, files: Mapping[str, Content]) -> None:
    """Let the robots.txt of `site` have `lines`, in which "~" is the site."""
    text = lines.replace("~", site.url("")).replace("|", "\n")
    site.pages = {"*": Reply(404), PAGE: b"page", "/robots.txt": text.encode(), **files}


ONE, TWO = "Sitemap: ~/1.xml", "Sitemap: ~/1.xml|Sitemap: ~/2.xml"
GUESSED = {"/sitemap.xml": READ}


@table(
    "lines, files, fates",
    row("not-there", ONE, GUESSED, {"guessed": 1}),
    row("error", ONE, {"/1.xml": Reply(500), **GUESSED}, {"guessed": 1}),
    row("two-not-there", TWO, GUESSED, {"guessed": 1}),
    row("empty", ONE, {"/1.xml": xml(urlset()), **GUESSED}, {"guessed": 1}),
    row("web-page", ONE, {"/1.xml": HTML, **GUESSED}, {"guessed": 1}),
    row("forbidden", f"User-agent: *|Disallow: /1|{ONE}", GUESSED, {"guessed": 1}),
    row("no-server", f"Sitemap: http://127.0.0.9:{free_port()}/1.xml", GUESSED, {"guessed": 1}),
    row("circle", ONE, {"/1.xml": redirect("/1.xml"), **GUESSED}, {"guessed": 1}),
    row("read", ONE, {"/1.xml": READ, "/sitemap.xml": DEAD}, {"listed": 1}),
    row("one-of-two", TWO, {"/2.xml": READ, "/sitemap.xml": DEAD}, {"listed": 1}),
    row("first-of-two", TWO, {"/1.xml": READ, "/sitemap.xml": DEAD}, {"listed": 1}),
    row("redirected", ONE, {"/1.xml": redirect("/to.xml"), "/to.xml": READ}, {"listed": 1}),
    row("index", ONE, {"/1.xml": xml(index("/2.xml")), "/2.xml": READ}, {"listed": 1}),
    row("relative-line", "Sitemap: /sitemap.xml", GUESSED, {"guessed": 1}),
)
@in_reactor
async def test_host_leads_to_its_pages_by_a_listed_sitemap_or_by_a_guess(
    lines: str, files: dict[str, Content], fates: dict[str, int], site: Site
) -> None:
    serve(site, lines, files)
    crawler = await crawl(Hosts, hosts=[site.url()], sitemap_guess=True)
    assert set(parsed(crawler)) == {site.url(PAGE)}
    assert (host_stats(crawler), without(crawler)) == (fates, {})
    assert ("/sitemap.xml" in site.paths()) == ("guessed" in fates)


@table(
    "guessed, found",
    row("there", xml(urlset("/other")), {PAGE, "/other"}),
    row("not-there", Reply(404), {PAGE}),
)
@in_reactor
async def test_guesses_are_tried_beside_listed_sitemaps_if_a_line_is_no_whole_url(
    guessed: Content, found: set[str], site: Site
) -> None:
    serve(site, f"{ONE}|Sitemap: /sitemap.xml", {"/1.xml": READ, "/sitemap.xml": guessed})
    site.pages["/other"] = b"other"
    crawler = await crawl(Hosts, hosts=[site.url()], sitemap_guess=True)
    assert set(parsed(crawler)) == set(map(site.url, found))
    assert (host_stats(crawler), without(crawler)) == ({"listed": 1, "guessed": 1}, {})


class Choosy(Hosts):
    def sitemap_found(self, sitemap: Any, request: Request) -> bool:
        return False


class Own(Hosts):
    """Reads what it finds by a request of its own."""

    def sitemap_found(self, sitemap: Any, request: Request) -> Request:
        return Request(sitemap.url, self.read)

    def read(self, response: Any) -> Iterator[Request]:
        yield Request(response.urljoin(PAGE))


COULD_NOT = "could not be fetched: Ignoring non-200 response"


@table(
    "spider, lines, files, why",
    row("one", Hosts, ONE, {}, f"lists only ~/1.xml, which {COULD_NOT}"),
    row("two", Hosts, TWO, {"/2.xml": HTML}, "~/2.xml, which lists nothing"),
    row("vetoed", Choosy, ONE, {}, "~/1.xml, which is skipped by a handler of sitemap_found"),
    row("follow", type("No", (Hosts,), {"sitemap_follow": ["no"]}), ONE, {}, "sitemap_follow"),
    row("guessed", Hosts, ONE, {}, f"~/1.xml, which {COULD_NOT}; ~/g.xml {COULD_NOT}"),
    row("many", Hosts, "|".join(f"Sitemap: ~/{n}.xml" for n in range(9)), {}, "and 6 more"),
)
@pytest.mark.parametrize("guess", [False, True])
@in_reactor
async def test_host_whose_listed_sitemaps_cannot_be_read_is_told(
    spider: Any, lines: str, files: Any, why: str, guess: bool, site: Site, log: Any
) -> None:
    if not guess and "g.xml" in why:
        return
    serve(site, lines, files)
    # a guess that the robots.txt lists, too, is not tried again
    guesses = ["/1.xml", "/g.xml"] if guess else []
    crawler = await crawl(spider, hosts=[site.url()], sitemap_guess=guesses)
    assert host_stats(crawler) == {"without": 1, **({"guessed": 1} if guess else {})}
    assert why.replace("~", site.url("")) in without(crawler)[site.url()]
    assert site.paths().count("/1.xml") == (spider is Hosts)
    (last,) = (line for line in log.messages if line.startswith("hosts: "))
    assert last.startswith(f"hosts: 1 without a sitemap ({site.url()}: its robots.txt lists only ")


@in_reactor
async def test_sitemap_that_a_handler_requests_itself_counts_as_listed(site: Site) -> None:
    serve(site, ONE, {"/1.xml": READ})
    crawler = await crawl(Own, hosts=[site.url()], sitemap_guess=True)
    assert set(parsed(crawler)) == {site.url(PAGE)}
    assert host_stats(crawler) == {"listed": 1}


@in_reactor
async def test_sitemap_that_two_hosts_list_counts_for_both(site: Site, other: Site) -> None:
    serve(site, ONE, {"/1.xml": READ})
    other.pages = {"*": Reply(404), "/robots.txt": sitemap_lines(site.url("/1.xml"))}
    crawler = await crawl(Hosts, hosts=[site.url(), other.url()], sitemap_guess=True)
    assert host_stats(crawler) == {"listed": 2}


@in_reactor
async def test_common_places_are_tried(site: Site) -> None:
    site.pages = {"*": Reply(404), "/sitemap.txt": site.url(PAGE), PAGE: b"page"}
    crawler = await crawl(Hosts, hosts=[site.url()], sitemap_guess="common")
    assert set(parsed(crawler)) == {site.url(PAGE)}
    assert site.paths() == [
        "/robots.txt",
        *("/sitemap.xml", "/sitemap_index.xml", "/sitemap-index.xml", "/wp-sitemap.xml"),
        *("/sitemap/sitemap-index.xml", "/sitemap.xml.gz", "/sitemap.txt"),
        PAGE,
    ]


@as_scrapy_runs_it
async def test_fates_of_listed_sitemaps_outlast_a_restart(site: Site, tmp_path: Path) -> None:
    serve(site, TWO, GUESSED)
    settings = {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}

    def stop_after_first(response: Any, spider: Any) -> None:
        if response.url.endswith("1.xml"):
            stop(spider.crawler)

    arguments: dict[str, Any] = {"hosts": [site.url()], "sitemap_guess": True}
    hears = {signals.response_received: stop_after_first}
    (first,) = await together(crawl(Hosts, settings, hears=hears, **arguments))
    assert (site.paths()[-1], host_stats(first)) == ("/1.xml", {})
    (second,) = await together(crawl(Hosts, settings, **arguments))
    assert set(parsed(second)) == {site.url(PAGE)}
    assert host_stats(second) == {"guessed": 1}
    assert site.paths().count("/1.xml") == site.paths().count("/2.xml") == 1


@in_reactor
async def test_host_counts_as_listed_though_the_crawl_closes_while_its_sitemap_is_read(
    site: Site,
) -> None:
    serve(site, ONE, {"/1.xml": xml(urlset(*(f"/{n}" for n in range(500)))), "*": b"page"})
    settings = {"CLOSESPIDER_PAGECOUNT": 10, "GBOT_ROBOTS_SITEMAPS_AHEAD": 5}
    crawler = await crawl(Hosts, settings, hosts=[site.url()])
    assert sitemap_stats(crawler)["entries"] < 500
    assert host_stats(crawler) == {"listed": 1}
