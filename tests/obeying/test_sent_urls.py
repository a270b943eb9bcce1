"""What is judged is what is sent: download handlers rewrite URLs, and get no disallowed path by that."""

from typing import Any

import pytest
from scrapy import Request

from scrapy_gbot_robots import GbotRobotParser
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt

from ..support.crawls import Pages, by_each_handler, crawl, in_reactor, pages
from ..support.web import Site

RULES = b"user-agent: *\ndisallow: /private\ndisallow: /secret$"
SPELLINGS = [
    "/%70rivate/1",
    "/x/../private/2",
    "/./private/3",
    "/x/%2e%2e/private/4",
    "/priv%61te?5",
    "/%2e/private/6",
    "/x/./../private/7",
    "/..//../private/8",
    "/secret;",
]


@pytest.mark.parametrize("settings", by_each_handler())
@in_reactor
async def test_no_spelling_of_a_disallowed_path_goes_out(
    settings: dict[str, Any], site: Site
) -> None:
    site.pages["/robots.txt"] = RULES
    open_ones = [site.url("/%70ublic"), site.url("/x/../open")]
    host = site.url("").removeprefix("http://")
    befores = " http://", "\thttp://", "ht\ntp://", "http://a;b@"
    odd = [f"{before}{host}/{path}" for before in befores for path in ("private", "pri\tvate")]
    verbatim = [Request(url, meta={"verbatim_url": True}, dont_filter=True) for url in odd]
    crawler = await crawl(Pages, settings, urls=[*map(site.url, SPELLINGS), *open_ones, *verbatim])
    assert len(pages(crawler).crawled) == len(open_ones)
    different = {request.url for request in verbatim}
    assert len(pages(crawler).refused) == len(SPELLINGS) + len(different)
    assert {type(error) for error in pages(crawler).refused.values()} == {ForbiddenByRobotsTxt}
    assert str(pages(crawler).refused[site.url("/x/../private/2")]).endswith(
        'disallowed by "Disallow: /private" (line 2, group "*"): '
        f"some download handlers send it as {site.url('/private/2')}"
    )
    others = {path for path in site.paths() if "ublic" not in path and "open" not in path}
    assert others == {"/robots.txt"}


@pytest.mark.parametrize("settings", by_each_handler())
@in_reactor
async def test_verbatim_url_with_a_host_that_clients_dispute_is_refused(
    settings: dict[str, Any],
) -> None:
    with (
        Site({"/robots.txt": b"", "*": b"ok"}) as allowed,
        Site({"/robots.txt": b"user-agent: *\ndisallow: /", "*": b"ok"}, host="127.0.0.2") as other,
    ):
        a, b = (site.url("").removeprefix("http://") for site in (allowed, other))
        odd = (rf"{a}\@{b}", rf"{b}\@{a}", rf"me@{a}\@{b}", f"{a}\\", f"\\{a}")
        urls = [f"http://{host}/private" for host in odd]
        requests = [Request(url, meta={"verbatim_url": True}, dont_filter=True) for url in urls]
        if [request.url for request in requests] != urls:
            pytest.skip("this Scrapy has no verbatim URLs: it writes another character")
        crawler = await crawl(Pages, settings, urls=requests)
        assert pages(crawler).refused.keys() == set(urls)
        assert {type(error) for error in pages(crawler).refused.values()} == {ForbiddenByRobotsTxt}
        assert not allowed.asked
        assert not other.asked


def test_parser_for_scrapys_own_middleware_judges_all_forms_too() -> None:
    parser = GbotRobotParser.from_crawler(None, RULES)  # type: ignore[arg-type]  # as Scrapy's own tests call it
    assert not parser.allowed("http://example.com/x/../private", "mybot")
    assert parser.allowed("http://example.com/x/../public", "mybot")
