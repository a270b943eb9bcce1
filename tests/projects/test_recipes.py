"""What the pages put in the place of code that projects write by hand does what that code was for."""

import json
import re
import runpy
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import pytest
from scrapy import Request, signals
from scrapy.http import Response
from scrapy.pipelines.files import FilesPipeline

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.settings import mistakes
from scrapy_gbot_robots.signals import request_forbidden

from ..support.crawls import (
    Pages,
    as_scrapy_runs_it,
    begin,
    crawl,
    in_reactor,
    own_warnings,
    pages,
    together,
    waiting,
)
from ..support.documentation import HOME, blocks
from ..support.rows import row, table
from ..support.until import until
from ..support.visits import Gate
from ..support.web import Reply, Site, raw

RULES = b"user-agent: *\ndisallow: /no\ncrawl-delay: 0.01\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.chdir(tmp_path)
    page = Reply(200, b"<html></html>", {"Content-Type": "text/html"})
    with Site({"/robots.txt": RULES, "*": page}) as site:
        yield site


class Sees:
    """A downloader middleware that remembers the keys that requests have for their way."""

    seen: dict[str, set[str]] = {}  # noqa: RUF012  the class is the test's

    def process_request(self, request: Request) -> None:
        self.seen[request.url] = {"playwright", "proxy", "bindaddress"} & request.meta.keys()


@table(
    "settings, keys",
    ({}, {"proxy", "bindaddress"}),
    ({"GBOT_ROBOTS_META_KEYS": ["playwright"]}, {"playwright"}),
    ({"GBOT_ROBOTS_META_KEYS": ["proxy", "playwright"]}, {"proxy", "playwright"}),
)
@in_reactor
async def test_robots_txt_has_the_meta_keys_named(settings: Any, keys: Any, site: Site) -> None:
    meta = {"playwright": True, "proxy": site.url(""), "bindaddress": ("127.0.0.1", 0)}
    settings |= {"DOWNLOADER_MIDDLEWARES": {Sees: 999}}
    Sees.seen.clear()
    await crawl(Pages, settings, urls=[Request(site.url("/yes"), meta=meta)])
    assert Sees.seen == {site.url("/robots.txt"): keys, site.url("/yes"): {*meta}}


@in_reactor
async def test_meta_keys_without_effect_are_those_that_the_log_warns_of(site: Site) -> None:
    (text,) = re.findall(
        r"^Some keys have no effect in the list.*?(?=^####)",
        (HOME / "docs/settings.md").read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    useless = set(re.findall("`([a-z_]+)`", text))
    mark = 1_234_567
    seen: dict[str, Any] = {}

    class Watches:
        def process_request(self, request: Request) -> None:
            if request.url.endswith("/robots.txt"):
                seen.update(request.meta)

    keys = [*useless, "proxy_of_mine", "cookiejar"]
    settings = {"GBOT_ROBOTS_META_KEYS": keys, "DOWNLOADER_MIDDLEWARES": {Watches: 999}}
    meta = {**dict.fromkeys(keys, mark), "dont_obey_robotstxt": False}
    await crawl(Pages, settings, urls=[Request(site.url("/yes"), meta=meta)])
    assert {key for key in keys if seen[key] == mark} == {"proxy_of_mine", "cookiejar"}
    warned = {key for key in keys if [*mistakes({"GBOT_ROBOTS_META_KEYS": [key]})]}
    assert warned == useless


class WithFiles(Pages):
    """Its items have files on another host."""

    files: ClassVar[list[str]] = []

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield {"file_urls": self.files}


@in_reactor
async def test_media_is_judged_by_its_host(site: Site, tmp_path: Path, monkeypatch: Any) -> None:
    refused: list[str] = []
    items: list[Any] = []
    hears: dict[object, Any] = {
        request_forbidden: lambda request: refused.append(request.url),
        signals.item_scraped: lambda item: items.append([file["url"] for file in item["files"]]),
    }
    files = {"ITEM_PIPELINES": {FilesPipeline: 1}, "FILES_STORE": str(tmp_path)}
    with Site({"/robots.txt": b"user-agent: *\ndisallow: /yes", "*": b"ok"}) as other:
        monkeypatch.setattr(WithFiles, "files", [other.url("/no"), other.url("/yes")])
        await crawl(WithFiles, files, hears=hears, urls=[site.url("/yes")])
        assert (items, refused) == ([[other.url("/no")]], [other.url("/yes")])
        assert other.paths() == ["/robots.txt", "/no"]


def of_recipes(name: str, directory: Path, page: str = "how-to.md") -> Any:
    """A class of a page with recipes."""
    recipes = blocks(HOME / "docs" / page, "python")
    (block,) = (block for block in recipes if f"class {name}" in block.text)
    file = directory / "middleware.py"
    file.write_text(block.text)
    return runpy.run_path(str(file))[name]


@in_reactor
async def test_allow_list_lets_robots_txt_through(site: Site, tmp_path: Path, log: Any) -> None:
    only_listed = of_recipes("OnlyListed", tmp_path)
    only_listed.LISTED = ("/yes", "/no")
    settings = {"DOWNLOADER_MIDDLEWARES": {only_listed: 50}}
    urls = [site.url("/yes"), site.url("/no"), site.url("/elsewhere")]
    crawler = await crawl(Pages, settings, urls=urls)
    assert set(pages(crawler).crawled) == {site.url("/yes")}
    assert site.paths() == ["/robots.txt", "/yes"]
    assert own_warnings(log) == []


@in_reactor
async def test_spider_middleware_puts_the_proof_into_items(site: Site, tmp_path: Path) -> None:
    class Items(Pages):
        def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
            self.items: list[dict[str, Any]] = [{"url": response.url}]
            yield from self.items

    with_proof = of_recipes("WithProof", tmp_path)
    settings = {"GBOT_ROBOTS_PROVENANCE": True, "SPIDER_MIDDLEWARES": {with_proof: 0}}
    site.pages["/robots.txt"] = rules = b"user-agent: testbot\nallow: /yes\n"
    crawler = await crawl(Items, settings, urls=[site.url("/yes")])
    assert isinstance(crawler.spider, Items)
    (item,) = crawler.spider.items
    assert (item["robots"]["line"], item["robots"]["robots"]) == (2, sha256(rules).hexdigest())


class Listing:
    """Stands for a Redis, and keeps what is pushed."""

    def __init__(self) -> None:
        self.pushed: list[str] = []

    def rpush(self, _: str, text: str) -> None:
        self.pushed.append(text)


@pytest.fixture
def redis(monkeypatch: pytest.MonkeyPatch) -> Listing:
    connection = pytest.importorskip("scrapy_redis.connection")
    listing = Listing()
    monkeypatch.setattr(connection, "from_settings", lambda _: listing)
    return listing


CLOSED = {"127.0.0.1": {"rules": "disallow", "reason": "a test"}}
OF_A_RULE: dict[str, Any] = {"/robots.txt": b"user-agent: *\ndisallow: /page"}


@table(
    "of_site, settings, is_kept",
    row("unreachable", {"/robots.txt": Reply(503)}, {}, True),
    row("no-answer", {"/robots.txt": raw(b"")}, {}, True),
    row("rule", OF_A_RULE, {}, False),
    row("denied", {"/robots.txt": Reply(403)}, {"GBOT_ROBOTS_ACCESS_DENIED": "disallow"}, False),
    row("override", OF_A_RULE, {"GBOT_ROBOTS_OVERRIDES": CLOSED}, False),
)
@in_reactor
async def test_pages_that_an_outage_forbade_are_kept_for_later(
    of_site: Any, settings: Any, is_kept: bool, redis: Listing, tmp_path: Path
) -> None:
    keep = of_recipes("KeepForLater", tmp_path, "fleets.md")
    settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0, "EXTENSIONS": {keep: 0}, **settings}
    with Site({**of_site, "*": b"ok"}) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/page")])
        (error,) = pages(crawler).refused.values()
        assert isinstance(error, ForbiddenByRobotsTxt)
        assert error.unreachable == is_kept
        assert redis.pushed == [json.dumps({"url": site.url("/page")})] * is_kept


@as_scrapy_runs_it
async def test_lazy_spider_reads_a_url_only_if_fewer_than_most_queued_requests_wait(
    tmp_path: Path,
) -> None:
    lazy: Any = of_recipes("LazySpider", tmp_path, "waiting.md")
    read: list[str] = []
    sent: list[str] = []
    ahead: list[int] = []

    async def start(spider: Any) -> AsyncIterator[Request]:
        async for request in lazy.start(spider):
            read.append(request.url)
            ahead.append(len(read) - len(sent))
            yield request

    def reached(request: Request) -> None:
        if not request.url.endswith("/robots.txt"):
            sent.append(request.url)

    gate = Gate("")
    with Site({"/robots.txt": gate, "*": b"ok"}) as site:
        urls = [site.url(f"/{number}") for number in range(40)]
        own = {"start_urls": urls, "most_queued": 5, "start": start}
        hears: dict[object, Any] = {signals.request_reached_downloader: reached}
        crawler, ended = begin(type("Lazy", (lazy,), own), hears=hears)
        await until(lambda: crawler.engine and waiting(5)(crawler))
        await pause(0.5)  # Meanwhile, the engine asks the scheduler for requests several times.
        assert read == urls[:5]
        gate.open()
        await together(ended)
    assert sorted(sent) == sorted(urls)
    assert max(ahead) <= 5 + 16  # 16 more requests may be on the way through the middlewares.
