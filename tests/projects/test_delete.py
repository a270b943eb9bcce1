"""What docs/delete.md puts in the place of code that projects write by hand does what that code was for."""

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from ..support.crawls import ADDON, QUIET, Pages, crawl, in_reactor, own_warnings, pages, stats
from ..support.documentation import HOME
from ..support.web import Reply, Site, redirect

RULES = b"user-agent: *\ndisallow: /no\ncrawl-delay: 0.01\n"


def settings_below(heading: str, tmp_path: Path) -> dict[str, Any]:
    """The settings that the page shows below a heading."""
    page = (HOME / "docs" / "delete.md").read_text(encoding="utf-8")
    part = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    block, *_ = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    file = tmp_path / "settings.py"
    file.write_text(block)
    settings = {name: value for name, value in runpy.run_path(str(file)).items() if name.isupper()}
    return {**QUIET, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0, **settings}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.chdir(tmp_path)
    page = Reply(200, b"<html></html>", {"Content-Type": "text/html"})
    with Site({"/robots.txt": RULES, "*": page}) as site:
        yield site


def old_code() -> list[str]:
    page = (HOME / "docs" / "delete.md").read_text(encoding="utf-8")
    return re.findall(r"```text\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize("code", old_code())
def test_the_code_to_delete_is_python(code: str) -> None:
    assert ast.parse(code).body


@in_reactor
async def test_missing_and_moved_files_need_no_code(site: Site, tmp_path: Path) -> None:
    settings = settings_below("A robots.txt that is missing, moved or an error page", tmp_path)
    with (
        Site({"/robots.txt": Reply(404, b"user-agent: *\ndisallow: /"), "*": b"page"}) as missing,
        Site({"/robots.txt": redirect(site.url("/robots.txt")), "*": b"page"}) as moved,
    ):
        urls = [missing.url("/no"), moved.url("/no"), moved.url("/yes")]
        crawler = await crawl(Pages, settings, addon=False, urls=urls)
        assert set(pages(crawler).crawled) == {missing.url("/no"), moved.url("/yes")}
        assert set(pages(crawler).refused) == {moved.url("/no")}


@in_reactor
async def test_a_site_that_does_not_answer_is_crawled_if_that_is_said(
    site: Site, tmp_path: Path
) -> None:
    allow = settings_below("A robots.txt that does not answer", tmp_path)
    refuse = {**allow, "GBOT_ROBOTS_UNREACHABLE": "google"}
    with Site({"/robots.txt": Reply(503), "*": b"page"}) as down:
        crawled = [
            set(pages(await crawl(Pages, settings, addon=False, urls=[down.url("/a")])).crawled)
            for settings in (allow, refuse)
        ]
        assert crawled == [{down.url("/a")}, set()]


@in_reactor
async def test_a_host_with_an_exception_is_not_refused(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_below("A bypass for some hosts", tmp_path)
    overrides = settings["GBOT_ROBOTS_OVERRIDES"]
    overrides["127.0.0.1"] = overrides.pop("partner.example")
    crawler = await crawl(Pages, settings, addon=False, urls=[site.url("/no")])
    assert set(pages(crawler).crawled) == {site.url("/no")}
    assert stats(crawler)["gbot_robots/override/ignored"] == 1


@in_reactor
async def test_paths_are_exempt_by_one_method(site: Site, tmp_path: Path) -> None:
    page = (HOME / "docs" / "delete.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n((?:(?!```).)*class OwnApiIsFree.*?)```", page, re.DOTALL)
    file = tmp_path / "middleware.py"
    file.write_text(block)
    cls = runpy.run_path(str(file))["OwnApiIsFree"]
    settings = {**ADDON, **QUIET, "DOWNLOADER_MIDDLEWARES": {cls: 100}}
    urls = [site.url("/no/api/1"), site.url("/no/2")]
    crawler = await crawl(Pages, settings, addon=False, urls=urls)
    assert set(pages(crawler).crawled) == {site.url("/no/api/1")}
    assert set(pages(crawler).refused) == {site.url("/no/2")}


@in_reactor
async def test_crawl_delay_is_applied(site: Site, tmp_path: Path) -> None:
    settings = settings_below("A crawl-delay", tmp_path)
    crawler = await crawl(Pages, settings, addon=False, urls=[site.url("/a"), site.url("/b")])
    assert stats(crawler)["gbot_robots/crawl_delay"] == 1


@in_reactor
async def test_bounds_of_what_is_kept_are_taken(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_below(
        "Parsers in a dict that grows, or that is emptied now and then", tmp_path
    )
    crawler = await crawl(Pages, settings, addon=False, urls=[site.url("/yes"), site.url("/no")])
    assert set(pages(crawler).refused) == {site.url("/no")}
    assert own_warnings(caplog) == []


@in_reactor
async def test_refusals_are_counted_and_written(site: Site, tmp_path: Path) -> None:
    settings = settings_below("Counting what was refused", tmp_path)
    crawler = await crawl(Pages, settings, addon=False, urls=[site.url("/no"), site.url("/no/2")])
    assert stats(crawler)["robotstxt/forbidden"] == 2
    assert "Disallow: /no" in (tmp_path / "robots-report.html").read_text(encoding="utf-8")


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
async def test_an_earlier_crawl_has_asked_already(site: Site, tmp_path: Path) -> None:
    settings = settings_below("Files of earlier crawls", tmp_path)
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
