"""A spider's own request for a robots.txt: answered from what the plugin knows, so that the file is fetched once."""

import gzip
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.exceptions import UnreachableRobotsTxt
from scrapy_gbot_robots.meta import ANSWERED, PROBE
from scrapy_gbot_robots.storage.memory import MemoryStorage

from ..support.crawls import Pages, crawl, in_reactor, own_warnings, pages, stats
from ..support.web import Reply, Site, redirect

RULES = b"\xef\xbb\xbfUser-agent: *\nDisallow: /no\nSitemap: /not-absolute\n\xff"


def asking(url: str, *, times: int = 1) -> list[Request]:
    """Requests for a robots.txt whose answer is shown to the spider whatever its status."""
    return [
        Request(url, dont_filter=True, meta={"handle_httpstatus_all": True}) for _ in range(times)
    ]


@in_reactor
async def test_robots_txt_that_is_known_is_not_fetched_again(site: Site) -> None:
    urls = [site.url("/yes"), *asking(site.url("/robots.txt"), times=3), site.url("/no")]
    crawler = await crawl(Pages, urls=urls)
    response = pages(crawler).crawled[site.url("/robots.txt")]
    assert (response.status, response.body) == (200, RULES)
    assert ANSWERED in response.flags
    assert site.paths().count("/robots.txt") == 1
    assert set(pages(crawler).refused) == {site.url("/no")}


@in_reactor
async def test_decoded_and_cut_body_is_what_the_spider_gets_and_what_the_http_cache_does_not_keep(
    site: Site, tmp_path: Path
) -> None:
    zipped = gzip.compress(b"Disallow: /no\n" * 100)
    site.pages["/robots.txt"] = Reply(200, zipped, {"Content-Encoding": "gzip"})
    settings = {
        "GBOT_ROBOTS_MAX_BYTES": 20,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_DIR": str(tmp_path),
    }
    crawler = await crawl(Pages, settings, urls=[site.url("/robots.txt"), site.url("/yes")])
    assert pages(crawler).crawled[site.url("/robots.txt")].body == b"Disallow: /no\nDisall"
    assert [path.read_bytes() for path in tmp_path.rglob("response_body")] == [b"ok"]


@in_reactor
async def test_status_of_the_answer_is_what_the_spider_sees() -> None:
    with ExitStack() as stack:
        statuses = (404, 403, 410, 401, 503, 500, 429)
        sites = {
            status: stack.enter_context(Site({"/robots.txt": Reply(status, RULES)}))
            for status in statuses
        }
        urls = [request for site in sites.values() for request in asking(site.url("/robots.txt"))]
        crawler = await crawl(Pages, {"RETRY_ENABLED": True, "RETRY_TIMES": 5}, urls=urls)
        for status, site in sites.items():
            response = pages(crawler).crawled[site.url("/robots.txt")]
            assert (response.status, response.body) == (status, b"")
            assert site.paths() == ["/robots.txt"]
            assert stats(crawler)[f"robotstxt/response_status_count/{status}"] == 1
        assert "retry/count" not in stats(crawler)


@in_reactor
async def test_redirected_robots_txt_comes_under_the_url_that_was_asked_for() -> None:
    with Site({"/robots.txt": redirect("/elsewhere"), "/elsewhere": RULES}) as site:
        crawler = await crawl(Pages, urls=[site.url("/robots.txt")])
        assert pages(crawler).crawled[site.url("/robots.txt")].body == RULES
        assert site.paths() == ["/robots.txt", "/elsewhere"]


@in_reactor
async def test_no_answer_is_an_ignored_request_that_says_why_and_for_which_no_probe_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Site({}) as site:
        url = site.url("/robots.txt")
    crawler = await crawl(
        Pages, {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60}, urls=[Request(url, meta={PROBE: True})]
    )
    refusal = pages(crawler).refused[url]
    assert isinstance(refusal, UnreachableRobotsTxt)
    assert isinstance(refusal, IgnoreRequest)
    assert refusal.origin == Origin.of(url)
    assert "connection refused" in refusal.why
    assert stats(crawler)["robotstxt/request_count"] == 1
    (warning,) = own_warnings(caplog)
    assert warning.endswith("this means full disallow for now")  # not: requests wait


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"meta": {"dont_obey_robotstxt": True}}, id="dont_obey_robotstxt"),
        pytest.param({"method": "POST"}, id="not-GET"),
    ],
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
    crawler = await crawl(
        Pages, {"GBOT_ROBOTS_STORAGE": f"{__name__}.Forgetful"}, urls=[site.url("/robots.txt")]
    )
    response = pages(crawler).crawled[site.url("/robots.txt")]
    assert response.body == RULES
    assert ANSWERED not in response.flags
