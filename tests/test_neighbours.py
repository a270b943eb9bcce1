"""Other Scrapy plugins and Scrapy's own commands: each works beside this plugin as its users expect.

scrapy-redis has a file of its own. Where a plugin needs a remote service, a server on loopback stands in for it.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from .support import processes
from .support.browser import CHROMIUM, QUIET
from .support.command import environment, project, run
from .support.crawls import Pages, crawl, in_reactor, pages, stats
from .support.documentation import HOME, blocks
from .support.rows import row, table
from .support.web import Reply, Site, redirect
from .support.zyte_api import RULES, ZyteApi

pytestmark = pytest.mark.slow

__all__ = ["project"]

ADDON = {"scrapy_gbot_robots.Addon": 500}
SCRAPY = [sys.executable, "-m", "scrapy"]


@pytest.fixture
def site() -> Iterator[Site]:
    page = Reply(200, b"<html><title>Yes</title></html>", {"Content-Type": "text/html"})
    with Site({"/robots.txt": RULES, "*": page}) as site:
        yield site


@pytest.fixture
def needs_asyncio(pytestconfig: pytest.Config) -> None:
    """Skip without asyncio, which both download handlers need."""
    if pytestconfig.getoption("--reactor") != "asyncio":
        pytest.skip("needs the asyncio reactor")


# scrapy-playwright: requests with `playwright` in their meta go through a browser


@pytest.mark.usefixtures("needs_asyncio")
@table(
    "meta_keys, rendered", row("plain-http", [], 1), row("through-the-browser", ["playwright"], 2)
)
@in_reactor
async def test_robots_txt_goes_by_plain_http_unless_the_browser_is_asked_for(
    meta_keys: list[str], rendered: int, site: Site
) -> None:
    pytest.importorskip("scrapy_playwright", reason="scrapy-playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    urls = [Request(site.url(path), meta={"playwright": True}) for path in ("/yes", "/no")]
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    settings = {
        "DOWNLOAD_HANDLERS": {"http": handler, "https": handler},
        "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": CHROMIUM, "args": QUIET},
        "GBOT_ROBOTS_META_KEYS": meta_keys,
    }
    crawler = await crawl(Pages, settings, urls=urls)
    assert set(pages(crawler).crawled) == {site.url("/yes")}
    assert set(pages(crawler).refused) == {site.url("/no")}
    assert stats(crawler)["playwright/request_count/navigation"] == rendered
    assert [path for path in site.paths() if path != "/favicon.ico"] == ["/robots.txt", "/yes"]
    for header in ("authorization", "cookie", "if-match", "if-none-match", "range", "referer"):
        assert header not in site.asked[0].headers


@pytest.mark.usefixtures("needs_asyncio")
@in_reactor
async def test_page_to_which_the_browser_was_redirected_has_no_proof(site: Site) -> None:
    pytest.importorskip("scrapy_playwright", reason="scrapy-playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    site.pages["/yes/moved"] = redirect("/no")
    urls = [
        Request(site.url(path), meta={"playwright": True}) for path in ("/yes/moved", "/yes#part")
    ]
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    settings = {
        "DOWNLOAD_HANDLERS": {"http": handler, "https": handler},
        "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": CHROMIUM, "args": QUIET},
        "GBOT_ROBOTS_PROVENANCE": True,
    }
    crawler = await crawl(Pages, settings, urls=urls)
    proofs = {url: page.meta["gbot_robots"] for url, page in pages(crawler).crawled.items()}
    assert proofs.pop(site.url("/no"))["judged"] is False
    (proof,) = proofs.values()
    assert proof["judged"] is True
    assert stats(crawler)["gbot_robots/responses/unjudged"] == 1


# scrapy-zyte-api: in transparent mode every request goes through an API


@pytest.mark.usefixtures("needs_asyncio")
@in_reactor
async def test_robots_txt_goes_through_the_api_like_all(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("scrapy_zyte_api", reason="scrapy-zyte-api is not installed")
    paths = ("a.example/yes", "a.example/no", "none.example/no", "ill.example/yes")
    urls = [f"http://{path}" for path in paths]
    with ZyteApi() as api:
        settings = {
            "ADDONS": {**ADDON, "scrapy_zyte_api.Addon": 500},
            "DOWNLOAD_HANDLERS": {},
            "ZYTE_API_KEY": "none",
            "ZYTE_API_URL": api.endpoint,
            "GBOT_ROBOTS_TIMEOUT_SECS": 6,
        }
        crawler = await crawl(Pages, settings, urls=urls)
    assert set(pages(crawler).crawled) == {"http://a.example/yes", "http://none.example/no"}
    assert set(pages(crawler).refused) == {"http://a.example/no", "http://ill.example/yes"}
    (robots,) = [each for each in api.wanted if each["url"] == "http://a.example/robots.txt"]
    assert robots["httpResponseBody"] is True
    names = {header["name"] for header in robots["customHttpRequestHeaders"]}
    assert names == {"User-Agent"}  # which the settings name
    assert "ban-sensitive header Accept-Encoding" not in caplog.text


# spidermon: monitors that read the stats

SUITE = """
from spidermon import MonitorSuite

class Suite(MonitorSuite):
    monitors = [FewAreForbidden, NothingHasChanged, StorageWorks, FewAreUnreachable]
"""


@pytest.fixture
def monitored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings of a crawl that spidermon checks by the monitors of the page at its end."""
    pytest.importorskip("spidermon", reason="spidermon is not installed")
    texts = [block.text for block in blocks(HOME / "docs/other-plugins.md", "python")]
    documented = "".join(text for text in texts if "spidermon" in text)
    module = f"monitors_of_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(documented + SUITE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return {
        "SPIDERMON_ENABLED": True,
        "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
        "SPIDERMON_SPIDER_CLOSE_MONITORS": [f"{module}.Suite"],
        "MOST_FORBIDDEN": 0,
        "MOST_CHANGED": 0,
    }


def failed_monitors(log: Any) -> set[str]:
    """The names of the monitors that spidermon has logged as failed or broken."""
    found = (
        re.match(r"\[Spidermon\] (\w+)/.*\.\.\. (?:FAIL|ERROR)", each) for each in log.messages
    )
    return {match[1] for match in found if match}


# spidermon uses it
@pytest.mark.filterwarnings("ignore:Spider.log:scrapy.exceptions.ScrapyDeprecationWarning")
@pytest.mark.parametrize(("most", "outcome"), [(1, "OK"), (0, "FAIL")])
@in_reactor
async def test_monitors_read_the_stats(
    most: int, outcome: str, site: Site, monitored: dict[str, Any], log: Any
) -> None:
    settings = {**monitored, "MOST_FORBIDDEN": most}
    await crawl(Pages, settings, urls=[site.url("/yes"), site.url("/no")])
    assert f"[Spidermon] FewAreForbidden/test_stat_monitor... {outcome}" in log.messages
    assert "[Spidermon] StorageWorks/test_stat_monitor... OK" in log.messages
    # The other two monitors do not fail, though their stats are missing.
    assert failed_monitors(log) == ({"FewAreForbidden"} if outcome == "FAIL" else set())


# spidermon uses it
@pytest.mark.filterwarnings("ignore:Spider.log:scrapy.exceptions.ScrapyDeprecationWarning")
@in_reactor
async def test_monitor_fails_if_the_storage_fails(
    site: Site, tmp_path: Path, monitored: dict[str, Any], log: Any
) -> None:
    (tmp_path / "file").touch()
    settings = {
        **monitored,
        "GBOT_ROBOTS_STORAGE": "sqlite",
        "GBOT_ROBOTS_SQLITE_PATH": str(tmp_path / "file" / "robots.sqlite"),
    }
    await crawl(Pages, settings, urls=[site.url("/yes")])
    assert failed_monitors(log) == {"StorageWorks"}


# spidermon uses it
@pytest.mark.filterwarnings("ignore:Spider.log:scrapy.exceptions.ScrapyDeprecationWarning")
@table("down, of, outcome", row("one-of-twenty", 1, 20, "OK"), row("two-of-twenty", 2, 20, "FAIL"))
@in_reactor
async def test_monitor_fails_if_much_is_unreachable(
    down: int, of: int, outcome: str, monitored: dict[str, Any], log: Any
) -> None:
    settings = {**monitored, "MOST_FORBIDDEN": of, "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0}
    page = Reply(200, b"<html></html>", {"Content-Type": "text/html"})
    with Site({"/robots.txt": RULES, "*": page}) as up, Site({"*": Reply(503)}) as ill:
        urls = [up.url(f"/yes/{number}") for number in range(of - down - 2)]  # and two robots.txt
        urls += [ill.url(f"/{number}") for number in range(down)]
        crawler = await crawl(Pages, settings, urls=urls)
    asked = stats(crawler)["downloader/request_count"] + stats(crawler)["robotstxt/forbidden"]
    assert (stats(crawler)["gbot_robots/forbidden/unreachable"], asked) == (down, of)
    assert f"[Spidermon] FewAreUnreachable/test_stat_monitor... {outcome}" in log.messages


# Scrapy's own commands


@pytest.fixture
def crawling(project: Path) -> Path:
    """A project with a spider."""
    spiders = project / "shop" / "spiders"
    spiders.mkdir()
    (spiders / "__init__.py").touch()
    (spiders / "titles.py").write_text(
        "from scrapy import Spider\n\nclass Titles(Spider):\n    name = 'titles'\n\n"
        "    def parse(self, response):\n        return [{'title': response.css('title::text').get()}]\n"
    )
    settings = project / "shop" / "settings.py"
    settings.write_text(settings.read_text() + 'SPIDER_MODULES = ["shop.spiders"]\n')
    return project


SHELL = "shell {0}yes -c [response.status,fetch('{0}no'),response]"
BLOCKED = 'Forbidden by robots.txt: <GET {0}no>: disallowed by "Disallow: /no" (line 2, group "*")'


@table(
    "line, out, err",
    row("fetch", "fetch --nolog {0}yes", "<title>Yes</title>", ""),
    row("fetch-what-is-disallowed", "fetch {0}no", "", BLOCKED),
    row("fetch-a-robots.txt", "fetch --nolog {0}robots.txt", RULES, ""),
    row("parse", "parse --spider=titles {0}yes", "{{'title': 'Yes'}}", ""),
    row("shell", SHELL, "[200, None, None]", BLOCKED),
)
def test_command_of_scrapy_shows_what_may_be_fetched_and_says_why_not(
    line: str, out: str, err: str, site: Site, crawling: Path
) -> None:
    ended = run(*line.format(site.url()).split(), cwd=crawling, command=SCRAPY)
    assert out.format(site.url()) in ended.out
    assert err.format(site.url()) in ended.err
    assert "/no" not in site.paths()


@table(
    "command, more",
    row("shell", "shell", ("-c", "print(response)")),
    row("fetch", "fetch", ()),
    row("view", "view", ()),
    row("parse", "parse", ("--spider=titles",)),
    row("check", "check", ("titles", "--loglevel", "INFO")),
)
def test_command_for_one_page_waits_for_none(command: str, more: Any, crawling: Path) -> None:
    with Site({"/robots.txt": Reply(503), "*": b"ok"}) as ill:
        spider = crawling / "shop" / "spiders" / "titles.py"
        contract = f'    def parse(self, response):\n        """@url {ill.url("/")}"""\n'
        spider.write_text(spider.read_text().replace("    def parse(self, response):\n", contract))
        url = [] if command == "check" else [ill.url("/")]
        arguments = [*SCRAPY, command, *url, *more]
        ended = processes.run(arguments, crawling, environment())  # `check` prints a traceback
        assert "/robots.txt (HTTP 503): for now, no page of this site is crawled" in ended.stderr
        assert "requests wait" not in ended.stderr  # a crawl waits a minute
        assert ill.paths() == ["/robots.txt"]
