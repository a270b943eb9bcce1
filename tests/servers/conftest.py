"""The lane, once for all tests of this folder: the servers are started, asked once by hand, and then crawled with each handler."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ..support import processes
from ..support.crawls import ADDON, QUIET, by_each_handler
from . import applications
from .configurations import Row, every_row
from .lane import Lane
from .wire import Arrived, ask

H2 = "scrapy.core.downloader.handlers.http2.H2DownloadHandler"
HANDLERS = ("default", "aiohttp", "httpx", "h2")
# Enough for a server on loopback, even where the machine has ten times the work that it can do.
TIMEOUT_SECS = 40


def software_of(name: str, row: Row) -> set[str]:
    """What has to be installed for a row."""
    software = {row.behind or name.partition(":")[0], name.partition(":")[0]}
    if row.proxy:
        proxy = row.proxy.rpartition("@")[2]
        software = {"squid" if proxy.startswith("squid") else proxy}
        software |= {row.behind} - {""}
    return software


def settings_of(handler: str) -> dict[str, Any]:
    """The settings by which a crawl uses one of `HANDLERS`.

    Skips the test if Scrapy has none, or lacks what it needs.
    """
    if handler == "h2":  # which is for https alone
        return {"DOWNLOAD_HANDLERS": {"https": H2}}
    cases = {str(case.id): case for case in by_each_handler()}
    if handler not in cases:
        pytest.skip("needs the asyncio reactor")
    case = cases[handler]
    for mark in case.marks:
        if isinstance(mark, (pytest.Mark, pytest.MarkDecorator)) and any(mark.args):
            pytest.skip(str(mark.kwargs["reason"]))
    (settings,) = case.values
    assert isinstance(settings, dict)
    return settings


@dataclass
class Seen:
    """All that the tests look at."""

    lane: Lane
    arrived: dict[str, Arrived]  # by rows
    crawled: dict[str, dict[str, Any]]  # by handlers: what the crawl made of each row
    logs: dict[str, str]  # by handlers


@pytest.fixture(scope="session")
def seen() -> Iterator[Seen]:
    with ExitStack() as stack:
        lane = Lane(stack)
        shutil.copy(Path(applications.__file__), lane.place)
        lane.start_all(dict(every_row()))
        lacking = {*lane.missing, *lane.broken}
        here = {
            name: row for name, row in every_row() if software_of(name, row).isdisjoint(lacking)
        }
        with ThreadPoolExecutor(16) as pool:
            answers = pool.map(lambda each: arrive(lane, *each), here.items())
            arrived = dict(zip(here, answers, strict=True))
        crawled, logs = crawl_all(lane, here)
        yield Seen(lane, arrived, crawled, logs)


def address(lane: Lane, name: str, row: Row) -> str:
    """Scheme, host and port of the origin of a row."""
    where = lane.filled_in(row.target or "127.0.0.1:@port@", name)
    return f"{row.scheme}://{where}"


def is_on_the_wire(row: Row) -> bool:
    """Whether what arrives is looked at by hand: over plain HTTP or TLS, without a login."""
    return row.scheme != "ftp" and not (row.proxy and (row.scheme == "https" or "@" in row.proxy))


def arrive(lane: Lane, name: str, row: Row) -> Arrived:
    """Ask the server of a row by hand, as often as the row says."""
    if not is_on_the_wire(row):
        return Arrived()
    last = Arrived()
    for _ in range(row.times):
        if row.proxy:
            url = f"{address(lane, name, row)}/robots.txt"
            last = ask("127.0.0.1", lane.port(row.proxy), tls=False, path=url)
        else:
            last = ask("127.0.0.1", lane.port(name), tls=row.scheme == "https")
    return last


def crawl_all(lane: Lane, rows: dict[str, Row]) -> tuple[dict[str, Any], dict[str, str]]:
    """Crawl all rows by each handler that is there, all at once."""
    begun = {}
    for handler in handlers_here(HANDLERS):
        targets = []
        for name, row in rows.items():
            if not is_for(handler, row):
                continue
            meta = dict(row.meta)
            if row.proxy:
                login, at, proxy = row.proxy.rpartition("@")
                meta["proxy"] = f"http://{login}{at}127.0.0.1:{lane.port(proxy)}"
            targets.append({"id": name, "base": address(lane, name, row), "meta": meta})
        begun[handler] = begin(lane, handler, targets)
    return end(begun)


def handlers_here(handlers: Iterable[str]) -> Iterator[str]:
    """Those of `handlers` that are there."""
    for handler in handlers:
        with suppress(pytest.skip.Exception):
            settings_of(handler)
            yield handler


def begin(
    lane: Lane, handler: str, targets: list[dict[str, Any]], **more: Any
) -> subprocess.Popen[str]:
    """Begin a crawl of `targets` in a process of its own, with `more` settings."""
    settings = {
        **QUIET,
        **ADDON,
        "GBOT_ROBOTS_TIMEOUT_SECS": TIMEOUT_SECS,
        "DOWNLOAD_TIMEOUT": TIMEOUT_SECS,
        "CONCURRENT_REQUESTS": 300,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 300,
        "LOG_LEVEL": "DEBUG",
        **settings_of(handler),
        **more,
    }
    order = lane.file(f"{handler}.json", json.dumps({"settings": settings, "targets": targets}))
    with order.open() as file:
        command = [sys.executable, "-m", "tests.servers.crawling"]
        return processes.start(command, stdin=file.fileno())


def end(begun: dict[str, subprocess.Popen[str]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Wait for the ends of crawls; return what they made of their targets, and their logs."""
    crawled, logs = {}, {}
    with ThreadPoolExecutor(len(begun)) as pool:
        ended = pool.map(processes.output, begun.values())
    for (handler, process), (out, err) in zip(begun.items(), ended, strict=True):
        assert process.returncode == 0, err
        crawled[handler] = json.loads(out)
        logs[handler] = err
    return crawled, logs


def is_for(handler: str, row: Row) -> bool:
    """Whether a row is tried with a handler: FTP has one handler, and the one for HTTP/2 is for https."""
    if row.scheme == "ftp":
        return handler == "default"
    return handler != "h2" or (row.scheme == "https" and not row.proxy)
