"""The parts of Scrapy's engine that the plugin uses: the engine may lack some, or be mocked."""

import logging
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.spiders import SitemapSpider
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import GbotRobotsTxtMiddleware, engine

from .support.crawls import ADDON, Pages, as_scrapy_runs_it, crawl, in_reactor
from .support.rows import row
from .support.web import Site


@as_scrapy_runs_it
async def test_middleware_works_with_a_mocked_engine() -> None:
    """As in Scrapy's own tests of its robots.txt middleware."""

    async def download(request: Request) -> Response:
        assert request.url == "http://site.local/robots.txt"
        return TextResponse(request.url, body=b"user-agent: *\ndisallow: /no", request=request)

    crawler = get_crawler(settings_dict={"ROBOTSTXT_OBEY": True, "GBOT_ROBOTS_STORAGE": "memory"})
    crawler.engine = MagicMock()
    crawler.engine.download_async.side_effect = download
    middleware = GbotRobotsTxtMiddleware.from_crawler(crawler)
    assert await middleware.process_request(Request("http://site.local/free")) is None
    with pytest.raises(IgnoreRequest):
        await middleware.process_request(Request("http://site.local/no"))


def test_engine_without_the_parts_is_not_changed() -> None:
    crawler: Any = get_crawler()
    crawler.engine = object()
    engine.pull_soon(crawler)
    assert not engine.is_closing(crawler)
    assert engine.DownloadSlots(crawler).key(Request("http://site.local/")) == "*"
    assert len(engine.DownloadSlots(crawler).of("").active) == 0


@in_reactor
async def test_nothing_is_replaced_at_run_time_but_what_the_module_lists() -> None:
    replaced: set[str] = set()

    def look(spider: Any) -> None:
        crawler = spider.crawler
        downloader = crawler.engine.downloader
        parts = {
            "signals": crawler.signals,
            "engine": crawler.engine,
            "scheduler": crawler.engine._slot.scheduler,
            "downloader": downloader,
            "downloader.handlers": downloader.handlers,
            "downloader.middleware": downloader.middleware,
            **{type(each).__name__: each for each in downloader.middleware.middlewares},
        }
        for name, part in parts.items():
            of_class = {each for each in vars(part) if callable(getattr(type(part), each, None))}
            replaced.update(f"{name}.{each}" for each in of_class)

    settings = {**ADDON, "GBOT_ROBOTS_PURPOSES": ["search"]}
    hears: dict[object, Any] = {signals.response_received: look}
    with Site({"*": b"ok"}) as site:
        await crawl(Pages, settings, hears=hears, urls=[site.url("/")])
    assert replaced == {
        "downloader.middleware.download_async",
        "signals.send_catch_log",
        "downloader.handlers.download_request_async",
    }
    listed = re.findall(r"^\* `([\w.]+)`", engine.__doc__ or "", re.MULTILINE)
    assert replaced == set(listed)


def test_method_that_sends_signals_is_replaced_again_if_an_older_one_was_put_back() -> None:
    crawler: Any = get_crawler()
    heard: list[bytes] = []
    request = Request("http://a.x/", meta={engine.LISTENER: 7})
    overhearing = engine.Overhearing(crawler, {7: SimpleNamespace(goes_on=heard.append)})
    older = crawler.signals.send_catch_log
    with overhearing.listening():
        crawler.signals.send_catch_log = older
        with overhearing.listening():
            crawler.signals.send_catch_log(signals.bytes_received, data=b"x", request=request)
    assert heard == [b"x"]


def test_code_that_replaces_the_method_that_sends_signals_keeps_its_place() -> None:
    crawler: Any = get_crawler()
    sent: list[object] = []

    def replace() -> None:
        send = crawler.signals.send_catch_log

        def log(signal: object, **named: Any) -> Any:
            sent.append(signal)
            return send(signal, **named)

        crawler.signals.send_catch_log = log

    overhearing = engine.Overhearing(crawler, {})
    replace()  # before a robots.txt is under way, while one is, and after that
    with overhearing.listening():
        replace()
    replace()
    with overhearing.listening():
        crawler.signals.send_catch_log("a signal")
    crawler.signals.send_catch_log("another")
    assert sent == ["a signal"] * 3 + ["another"] * 3


class Starts(SitemapSpider):
    """A SitemapSpider with start requests of its own."""

    name = "starts"

    def __init__(self, urls: list[str]) -> None:
        self.sitemap_rules = [("", "parse")]
        super().__init__()
        self.urls = urls
        self.crawled: list[str] = []
        self.refused: list[str] = []

    async def start(self) -> Any:
        for url in self.urls:
            yield Request(url, self.parse, errback=self.failed)

    def parse(self, response: Response) -> None:
        self.crawled.append(response.url)

    def failed(self, failure: Any) -> None:
        self.refused.append(failure.request.url)


def parts(owner: str = "") -> list[Any]:
    return [
        row("/".join((part.owner, *part.names)), part)
        for part in engine.PARTS
        if part.owner.startswith(owner)
    ]


def settings_for(part: engine.Part, folder: Path) -> dict[str, Any]:
    """Settings with which the crawl has the owner of a part."""
    queue = "scrapy.pqueues.DownloaderAwarePriorityQueue"
    settings = {**ADDON, "SCHEDULER_PRIORITY_QUEUE": queue, "GBOT_ROBOTS_CRAWL_DELAY": True}
    if ".dqs" in part.owner:
        settings["JOBDIR"] = str(folder)
    return settings


@pytest.mark.parametrize("part", parts())
@in_reactor
async def test_scrapy_has_every_part_that_the_table_names(
    part: engine.Part, tmp_path: Path
) -> None:
    """In a crawl without the plugin: its objects are all Scrapy's own."""
    owners: list[Any] = []

    def look(spider: Any) -> None:
        owner: Any = spider.crawler
        for name in part.owner.split("."):
            owner = next(iter(owner.values())) if name == "*" else getattr(owner, name)
        owners.append(owner)

    settings = {**settings_for(part, tmp_path), "ADDONS": {}}
    with Site({"*": b"ok"}) as site:
        hears: dict[object, Any] = {signals.response_received: look}
        await crawl(Starts, settings, hears=hears, urls=[site.url("/")])
    assert part.kind in {f"{cls.__module__}.{cls.__qualname__}" for cls in type(owners[0]).__mro__}
    assert any(hasattr(owners[0], name) for name in part.names)


def hide(monkeypatch: pytest.MonkeyPatch, part: engine.Part) -> None:
    """Let the plugin find no such part; Scrapy's own code still has it."""
    module, _, name = part.kind.rpartition(".")
    kind = getattr(import_module(module), name)

    def look_up(self: Any, name: str) -> Any:
        asker = sys._getframe(1).f_globals.get("__name__", "")
        if name in part.names and asker.startswith("scrapy_gbot_robots"):
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    monkeypatch.setattr(kind, "__getattribute__", look_up)
    if part.names == ("_parse_sitemap",):
        monkeypatch.delattr(kind, "_parse_sitemap")


@pytest.mark.parametrize("part", parts())
@in_reactor
async def test_crawl_goes_on_without_a_part_and_warns_once(
    part: engine.Part,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    rules = b"user-agent: *\ndisallow: /no\ncrawl-delay: 0.01\n"
    with (
        Site({"/robots.txt": rules, "*": b"ok"}) as site,
        Site({"/robots.txt": rules, "*": b"ok"}, host="127.0.0.2") as other,
    ):
        open_ones = [each.url(f"/{number}") for each in (site, other) for number in range(5)]
        shut = [each.url("/no") for each in (site, other)]
        hide(monkeypatch, part)
        crawler = await crawl(Starts, settings_for(part, tmp_path), urls=[*open_ones, *shut])
        monkeypatch.undo()
    spider: Any = crawler.spider
    assert sorted(spider.crawled) == sorted(open_ones)
    assert sorted(spider.refused) == sorted(shut)
    warnings = [
        record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING
    ]
    names = f"{part.owner}.{' or '.join(part.names)} (", f"({part.names[0]})"
    told = [text for text in warnings if any(name in text for name in names)]
    assert len(told) == 1, warnings
    assert not any("Error caught" in text for text in warnings), caplog.text


def test_nothing_private_is_touched_at_import() -> None:
    """Each module can be imported by a Scrapy whose classes have none of the parts."""
    script = f"""if True:
        import pkgutil
        from importlib import import_module

        for kind, names in {[(part.kind, part.names) for part in engine.PARTS]!r}:
            module, _, name = kind.rpartition(".")
            for part in set(names) & set(vars(getattr(import_module(module), name, object))):
                delattr(getattr(import_module(module), name), part)
            if name in ("Slot", "_Slot", "DownloaderInterface") and hasattr(import_module(module), name):
                delattr(import_module(module), name)
        import scrapy_gbot_robots

        for module in pkgutil.walk_packages(scrapy_gbot_robots.__path__, "scrapy_gbot_robots."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    """
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
