"""What the pages put in the place of code that projects write by hand does what that code was for."""

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from scrapy import Request

from ..support.crawls import ADDON, QUIET, Pages, crawl, in_reactor, own_warnings, pages
from ..support.documentation import HOME
from ..support.web import Reply, Site

RULES = b"user-agent: *\ndisallow: /no\ncrawl-delay: 0.01\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.chdir(tmp_path)
    page = Reply(200, b"<html></html>", {"Content-Type": "text/html"})
    with Site({"/robots.txt": RULES, "*": page}) as site:
        yield site


class Sees:
    """A downloader middleware that remembers which requests have a key for a renderer."""

    seen: set[tuple[str, bool]] = set()  # noqa: RUF012  the class is the test's

    def process_request(self, request: Request) -> None:
        self.seen.add((request.url, "playwright" in request.meta))


@pytest.mark.parametrize("named", [False, True])
@in_reactor
async def test_a_key_for_a_renderer_stays_with_the_page_unless_it_is_named(
    named: bool, site: Site
) -> None:
    settings = {**ADDON, **QUIET}
    if named:
        settings["GBOT_ROBOTS_META_KEYS"] = ["proxy", "bindaddress", "playwright"]
    Sees.seen.clear()
    request = Request(site.url("/yes"), meta={"playwright": True})
    await crawl(
        Pages,
        {**settings, "DOWNLOADER_MIDDLEWARES": {Sees: 999}},
        addon=False,
        urls=[request],
    )
    assert Sees.seen == {(site.url("/robots.txt"), named), (site.url("/yes"), True)}


@in_reactor
async def test_a_named_file_serves_the_next_crawl_outside_a_project_too(site: Site) -> None:
    settings = {
        "ADDONS": ADDON["ADDONS"],
        **QUIET,
        "GBOT_ROBOTS_SQLITE_PATH": "robots.sqlite",
    }
    for _ in range(2):
        crawler = await crawl(Pages, settings, addon=False, urls=[site.url("/no")])
        assert set(pages(crawler).refused) == {site.url("/no")}
    assert site.paths() == ["/robots.txt"]


@in_reactor
async def test_the_allow_list_of_the_recipes_lets_robots_txt_through(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    page = (HOME / "docs" / "how-to.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n((?:(?!```).)*class OnlyListed.*?)```", page, re.DOTALL)
    file = tmp_path / "middleware.py"
    file.write_text(block)
    only_listed = runpy.run_path(str(file))["OnlyListed"]
    only_listed.LISTED = ("/yes", "/no")
    settings = {**ADDON, **QUIET, "DOWNLOADER_MIDDLEWARES": {only_listed: 50}}
    urls = [site.url("/yes"), site.url("/no"), site.url("/elsewhere")]
    crawler = await crawl(Pages, settings, addon=False, urls=urls)
    assert set(pages(crawler).crawled) == {site.url("/yes")}
    assert site.paths() == ["/robots.txt", "/yes"]
    assert own_warnings(caplog) == []
