"""A spider's own request for a robots.txt: answered by the file that is known, else by the server, with the spider's headers."""

import gzip
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from scrapy_gbot_robots.meta import ANSWERED, PROBE
from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind, Outage
from scrapy_gbot_robots.storage.memory import MemoryStorage

from ..support.crawls import Pages, crawl, in_reactor, own_warnings, pages, stats
from ..support.rows import row, table
from ..support.sitemap_web import Sitemaps, parsed, sitemap_lines, urlset
from ..support.web import Content, Reply, Site, redirect

RULES = b"\xef\xbb\xbfUser-agent: *\nDisallow: /no\nSitemap: /not-absolute\n\xff"


def asking(url: str) -> Request:
    """A request for a robots.txt whose answer is shown to the spider whatever its status."""
    return Request(url, dont_filter=True, meta={"handle_httpstatus_all": True})


@table(
    "served",
    row("plain", RULES),
    row("gzip", Reply(200, gzip.compress(RULES), {"Content-Encoding": "gzip"})),
    row("behind-a-redirect", redirect("/elsewhere")),
)
@in_reactor
async def test_known_robots_txt_comes_decoded_is_not_fetched_again_and_not_kept_by_the_http_cache(
    served: Content, site: Site, tmp_path: Path
) -> None:
    site.pages |= {"/robots.txt": served, "/elsewhere": RULES}
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    urls = [site.url("/yes"), *[asking(site.url("/robots.txt"))] * 3, site.url("/no")]
    crawler = await crawl(Pages, settings, urls=urls)
    response = pages(crawler).crawled[site.url("/robots.txt")]
    assert (response.status, response.body) == (200, RULES)
    assert response.flags == ["gbot_robots", "rules"]
    assert site.paths().count("/robots.txt") == 1
    assert set(pages(crawler).refused) == {site.url("/no")}
    assert [path.read_bytes() for path in tmp_path.rglob("response_body")] == [b"ok"]


@pytest.mark.parametrize("charset", ["utf-8", "latin-1"])
@in_reactor
async def test_text_of_a_known_robots_txt_is_read_in_its_charset(site: Site, charset: str) -> None:
    text = "allow: /é"  # of which Scrapy alone takes the Latin-1 for Urdu
    site.pages["/robots.txt"] = text.encode(charset)
    crawler = await crawl(Pages, urls=[site.url("/yes"), site.url("/robots.txt")])
    response = pages(crawler).crawled[site.url("/robots.txt")]
    assert response.headers["Content-Type"] == b"text/plain"
    assert (response.text, response.flags[0]) == (text, ANSWERED)


@pytest.mark.parametrize("ours", [False, True])
@in_reactor
async def test_whole_file_comes_from_the_server_if_only_its_beginning_is_known(
    ours: bool, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "scrapy_gbot_robots")
    request = Request(site.url("/robots.txt"), meta={PROBE: False} if ours else {})
    crawler = await crawl(Pages, {"GBOT_ROBOTS_MAX_BYTES": 20}, urls=[request])
    response = pages(crawler).crawled[request.url]
    assert response.body == (RULES[:20] if ours else RULES)
    assert (ANSWERED in response.flags) is ours
    assert site.paths().count("/robots.txt") == (1 if ours else 2)
    said = f"{site.url('/robots.txt')} is longer than 20 bytes; the rest of the file is ignored"
    assert caplog.messages.count(said) == 1


@pytest.mark.parametrize("status", [404, 403, 410, 401, 503, 500, 429])
@pytest.mark.parametrize("ours", [False, True])
@in_reactor
async def test_where_no_file_is_known_only_the_plugins_request_gets_the_status(
    ours: bool, status: int
) -> None:
    with Site({"/robots.txt": Reply(status, b"no")}) as site:
        request = asking(site.url("/robots.txt"))
        request.meta.update({PROBE: False} if ours else {})
        settings = {"RETRY_ENABLED": ours, "RETRY_TIMES": 5}
        crawler = await crawl(Pages, settings, urls=[request])
    response = pages(crawler).crawled[request.url]
    assert (response.status, response.body) == (status, b"" if ours else b"no")
    assert (ANSWERED in response.flags) is ours
    assert site.paths() == ["/robots.txt"] * (1 if ours else 2)
    assert stats(crawler)[f"robotstxt/response_status_count/{status}"] == 1
    assert "retry/count" not in stats(crawler)


class Members(Site):
    """Gives its robots.txt to members alone."""

    def _content(self, path: str, headers: Mapping[str, str]) -> Content:
        names = ("x-api-key", "authorization", "cookie", "user-agent")
        who = {headers.get(name) for name in names}
        if path == "/robots.txt" and who.isdisjoint({"key", "Bearer token", "member=1", "Ours/1"}):
            return self.pages["refusal"]
        return super()._content(path, headers)


@pytest.mark.parametrize("status", [403, 401, 404, 429, 503])
@table(
    "own",
    row("header", {"headers": {"X-Api-Key": "key"}}),
    row("credentials", {"headers": {"Authorization": "Bearer token"}}),
    row("user-agent", {"headers": {"User-Agent": "Ours/1"}}),
    row("cookie", {"cookies": {"member": "1"}}),
)
@in_reactor
async def test_spider_gets_the_robots_txt_that_it_asks_for_with_headers_of_its_own(
    own: dict[str, Any], status: int
) -> None:
    with Members({"/robots.txt": RULES, "refusal": Reply(status), "*": b"ok"}) as site:
        url = site.url("/robots.txt")
        crawler = await crawl(Pages, urls=[site.url("/yes"), Request(url, **own)])
        assert pages(crawler).crawled[url].body == RULES
        assert site.paths().count("/robots.txt") == 2  # the plugin has none of these headers


class HasCredentials(Sitemaps):
    """Has the credentials for the sitemap file that it names."""

    async def start(self) -> AsyncIterator[Any]:
        async for request in super().start():
            yield request.replace(headers={"Authorization": "Bearer token"})


@in_reactor
async def test_sitemap_spider_that_names_a_robots_txt_reads_it_with_its_own_headers() -> None:
    with Members({"refusal": Reply(403), "*": b"ok"}) as site:
        site.pages["/robots.txt"] = sitemap_lines(site.url("/s.xml"))
        site.pages["/s.xml"] = urlset(site.url("/page"))
        crawler = await crawl(HasCredentials, sitemap_urls=[site.url("/robots.txt")])
        assert [*parsed(crawler)] == [site.url("/page")]


@in_reactor
async def test_no_answer_is_an_ignored_request_that_says_why_and_for_which_no_probe_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Site({}) as site:
        url = site.url("/robots.txt")
    plain = pages(await crawl(Pages, urls=[url]))
    assert not isinstance(plain.refused[url], IgnoreRequest)  # the spider's own request
    caplog.clear()
    settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60}
    crawler = await crawl(Pages, settings, urls=[Request(url, meta={PROBE: True})])
    refusal = pages(crawler).refused[url]
    assert type(refusal) is IgnoreRequest
    assert str(refusal).startswith(f"{url}: robots.txt unreachable: connection refused")
    assert stats(crawler)["robotstxt/request_count"] == 1
    (warning,) = own_warnings(caplog)
    assert warning.endswith("(GBOT_ROBOTS_UNREACHABLE = 'google')")  # not: requests wait


@table(
    "request_",
    row("dont_obey_robotstxt", {"meta": {"dont_obey_robotstxt": True}}),
    row("not-GET", {"method": "POST"}),
)
@in_reactor
async def test_other_requests_go_to_the_server(request_: dict[str, Any], site: Site) -> None:
    crawler = await crawl(Pages, urls=[Request(site.url("/robots.txt"), **request_)])
    assert ANSWERED not in pages(crawler).crawled[site.url("/robots.txt")].flags
    assert site.paths() == ["/robots.txt"]


class Forgetful(MemoryStorage):
    """Keeps nothing, like a storage in trouble."""

    def put(self, origin: str, entry: object) -> None: ...


@in_reactor
async def test_robots_txt_that_the_storage_lost_is_fetched_for_the_request(site: Site) -> None:
    settings = {"GBOT_ROBOTS_STORAGE": f"{__name__}.Forgetful"}
    crawler = await crawl(Pages, settings, urls=[site.url("/robots.txt")])
    response = pages(crawler).crawled[site.url("/robots.txt")]
    assert response.body == RULES
    assert ANSWERED not in response.flags


class Missing(MemoryStorage):
    """Knows of each origin that it has no robots.txt, and that asking again has failed since."""

    def get(self, origin: str) -> Entry:
        now = time.time()
        copy = Copy(Kind.NONE, 404, f"{origin}/robots.txt", b"", False, "HTTP 404", now, now + 9e4)
        return Entry(copy, Outage(now, 1, 503, "HTTP 503", now + 60))


@in_reactor
async def test_status_is_that_of_the_answer_that_counts_though_it_failed_again(site: Site) -> None:
    request = asking(site.url("/robots.txt"))
    request.meta[PROBE] = False
    settings = {"GBOT_ROBOTS_STORAGE": f"{__name__}.Missing"}
    crawler = await crawl(Pages, settings, urls=[request, site.url("/no")])
    statuses = {url: page.status for url, page in pages(crawler).crawled.items()}
    assert statuses == {site.url("/robots.txt"): 404, site.url("/no"): 200}


@table("meta", row("none", {}), row("own", {"dont_retry": False, "own": 1}))
@in_reactor
async def test_meta_of_the_response_is_that_of_the_request(
    meta: dict[str, Any], site: Site
) -> None:
    request = Request(site.url("/robots.txt"), meta=meta)
    crawler = await crawl(
        Pages, {"GBOT_ROBOTS_CRAWL_DELAY": True}, urls=[site.url("/yes"), request]
    )
    response = pages(crawler).crawled[request.url]
    assert ANSWERED in response.flags
    of_scrapy = ("depth", "is_start_request")
    assert {key: response.meta[key] for key in response.meta if key not in of_scrapy} == meta
    page = pages(crawler).crawled[site.url("/yes")]
    assert not any("gbot" in key for key in page.meta)
