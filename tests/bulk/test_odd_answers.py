"""Odd answers mean the same wherever they are judged: in a crawl, by its record, by `audit` and by `check`."""

import json
from pathlib import Path
from random import Random
from socket import socket
from typing import Any

import pytest
import scrapy

from scrapy_gbot_robots import Origin

from ..report.test_record import judged
from ..support.command import run
from ..support.crawls import DOWNLOAD_HANDLERS, Pages, crawl, in_reactor, pages
from ..support.http2 import Http2Site, Reply2
from ..support.odd_answers import ELSEWHERE, FREE, PAGE, odd_answer, odd_reply2
from ..support.rows import table
from ..support.web import Site, raw

RULES = b"user-agent: *\ndisallow: /page\n"
HANDLERS = {**DOWNLOAD_HANDLERS, "h2": "scrapy.core.downloader.handlers.http2.H2DownloadHandler"}


class OddWeb:
    """As many origins as there are answers: addresses on loopback. Each has two pages, and two files that are not odd."""

    def __init__(self, seed: int, count: int, *, is_http2: bool) -> None:
        chance = Random(seed)
        hosts = [f"127.0.{2 + n // 250}.{1 + n % 250}" for n in range(count)]
        answer: Any = odd_reply2 if is_http2 else odd_answer
        self._answers = {host: answer(chance, number) for number, host in enumerate(hosts)}
        if is_http2:
            self.site: Any = Http2Site(self._reply, host="0.0.0.0")
        else:
            plain = {ELSEWHERE: RULES, PAGE: b"ok", FREE: b"ok"}
            self.site = Site({"/robots.txt": self._send, **plain}, host="0.0.0.0")
        scheme = "https" if is_http2 else "http"
        self.origins = {host: Origin(scheme, host, self.site.port) for host in hosts}
        self.urls = [f"{origin}{path}" for origin in self.origins.values() for path in (PAGE, FREE)]

    def _send(self, connection: socket) -> None:
        raw(self._answers[connection.getsockname()[0]])(connection)

    def _reply(self, host: str, path: str) -> Reply2:
        plain = {ELSEWHERE: Reply2(200, RULES), PAGE: Reply2(200, b"ok"), FREE: Reply2(200, b"ok")}
        return self._answers[host] if path == "/robots.txt" else plain.get(path, Reply2(404))

    def redirected(self) -> set[str]:
        """The URLs of origins whose robots.txt is a redirect."""
        hosts = [host for host, wire in self._answers.items() if b"Location: " in wire]
        return {f"{self.origins[host]}{path}" for host in hosts for path in (PAGE, FREE)}


def by_command(name: str, directory: Path, urls: list[str]) -> list[dict[str, bool]]:
    """The answers of `audit` by host, and of `check`."""
    handlers = json.dumps(dict.fromkeys(("http", "https"), HANDLERS[name]))
    settings = ["-s", f"DOWNLOAD_HANDLERS={handlers}", "-s", "CONCURRENT_REQUESTS=16"]
    settings += ["-s", "LOG_LEVEL=CRITICAL"]
    listed = "\n".join(urls).encode()
    audit = ("audit", "--urls", "-", "--as", "testbot", "--format", "jsonl", *settings)
    audited = run(*audit, cwd=directory, stdin=listed).out.splitlines()
    check = ("check", *urls, "--as", "testbot", "--json", *settings)
    checked = run(*check, cwd=directory).out.splitlines()
    return [
        {row["url"]: row["testbot"] == 1 for row in map(json.loads, audited)},
        {row["url"]: row["allowed"] for row in map(json.loads, checked)},
    ]


@table(
    "name, seed, count",
    ("http11", 1, 80),
    pytest.param("h2", 1, 40, marks=pytest.mark.slow),
    pytest.param("http11", 2, 300, marks=pytest.mark.slow),
    pytest.param("aiohttp", 2, 100, marks=pytest.mark.slow),
    pytest.param("httpx", 2, 100, marks=pytest.mark.slow),
)
@in_reactor
async def test_odd_answer_means_the_same_everywhere(
    tmp_path: Path, name: str, seed: int, count: int, request: pytest.FixtureRequest
) -> None:
    if name != "http11" and request.config.getoption("--reactor") != "asyncio":
        pytest.skip("this handler needs asyncio")
    if scrapy.version_info < (2, 18) and (name, count) != ("http11", 80):
        pytest.skip("the handlers of Scrapy 2.14 read some odd answers in another way")
    if name == "h2":
        pytest.importorskip("h2", reason="h2 is not installed")
        pytest.importorskip("priority", reason="priority is not installed")
    web = OddWeb(seed, count, is_http2=name == "h2")
    own = tmp_path / "own.jsonl"
    settings = {
        "GBOT_ROBOTS_RECORD": str(own),
        "DOWNLOAD_HANDLERS": dict.fromkeys(("http", "https"), HANDLERS[name]),
        "CONCURRENT_REQUESTS": 16,
        "LOG_LEVEL": "CRITICAL",
        # A page may be sent into the connection that its robots.txt came from, and that the server
        # is ending. No robots.txt is retried by this.
        "RETRY_ENABLED": True,
    }
    with web.site:
        crawled = pages(await crawl(Pages, settings, urls=web.urls)).crawled
        in_crawl = {url: url in crawled for url in web.urls}
        everywhere = by_command(name, tmp_path, web.urls) if count >= 100 else []
    outcomes = {(in_crawl[f"{o}{PAGE}"], in_crawl[f"{o}{FREE}"]) for o in web.origins.values()}
    assert outcomes == {(True, True), (False, True), (False, False)}, "the generator is of use"
    everywhere.append({url: answer == 1 for url, answer in judged(own, web.urls).items()})
    by_chance: set[str] = set()
    if name in {"aiohttp", "httpx"}:
        # They may follow a redirect on a connection that the server is closing, and ask once: a
        # crawl tries again.
        by_chance = web.redirected()
    for answers in everywhere:
        certain = {url: answer for url, answer in answers.items() if url not in by_chance}
        assert certain == {url: in_crawl[url] for url in certain}
        # Whether such a redirect was followed or not, nobody is allowed what the rules forbid.
        forbidden = {url for url in by_chance if url.endswith(PAGE) and not in_crawl[url]}
        assert not {url for url in forbidden if answers.get(url)}
