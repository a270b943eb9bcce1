"""The parts of Scrapy's engine that the plugin uses: the engine may lack some, or be mocked."""

import re
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import GbotRobotsTxtMiddleware, engine

from .support.crawls import ADDON, Pages, as_scrapy_runs_it, crawl, in_reactor
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
    assert replaced == {"signals.send_catch_log", "downloader.handlers.download_request_async"}
    listed = re.findall(r"^\* `([\w.]+)`", engine.__doc__ or "", re.MULTILINE)
    assert replaced == set(listed)


def test_method_that_sends_signals_is_replaced_again_if_an_older_one_was_put_back() -> None:
    crawler: Any = get_crawler()
    heard: list[bytes] = []
    request = Request("http://a.x/", meta={engine.LISTENER: SimpleNamespace(goes_on=heard.append)})
    overhearing = engine.Overhearing(crawler)
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

    overhearing = engine.Overhearing(crawler)
    replace()  # before a robots.txt is under way, while one is, and after that
    with overhearing.listening():
        replace()
    replace()
    with overhearing.listening():
        crawler.signals.send_catch_log("a signal")
    crawler.signals.send_catch_log("another")
    assert sent == ["a signal"] * 3 + ["another"] * 3
