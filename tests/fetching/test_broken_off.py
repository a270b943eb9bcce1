"""A robots.txt answer that breaks off, at each of its bytes in turn: half an answer is no answer.

One crawl asks as many origins (addresses on loopback) as the answer has bytes, and each breaks off one byte later.
"""

from __future__ import annotations

import gzip
import struct
import time
from socket import SO_LINGER, SOL_SOCKET
from typing import TYPE_CHECKING

import pytest

from ..support.crawls import Pages, crawl, in_reactor, pages
from ..support.web import Site
from .scenarios import head

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

RULES = b"user-agent:*\ndisallow:/page"
ZIPPED = gzip.compress(RULES, mtime=0)
CHUNKS = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (RULES[:9], RULES[9:], b""))


def closed(connection: socket) -> None:
    """End the connection as after a whole answer."""


def reset(connection: socket) -> None:
    time.sleep(0.02)  # what was sent shall arrive, and a reset would overtake it
    connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))


async def crawled(answer: bytes, end: Callable[[socket], None], asked: tuple[str, ...]) -> list[set[str]]:
    """Which of the pages `asked` for are crawled if the answer breaks off after 0, 1, 2 ... bytes, and in the end not."""

    def break_off(connection: socket) -> None:
        offset = hosts.index(connection.getsockname()[0])
        connection.sendall(answer[:offset])
        if offset < len(answer):
            end(connection)

    hosts = [f"127.0.1.{1 + offset}" for offset in range(len(answer) + 1)]
    with Site({"/robots.txt": break_off, "/r": RULES, "*": b"ok"}, host="0.0.0.0") as site:
        urls = [f"http://{host}:{site.port}{path}" for host in hosts for path in asked]
        crawler = await crawl(Pages, {"CONCURRENT_REQUESTS": 64, "LOG_LEVEL": "ERROR"}, urls=urls)
        found = pages(crawler).crawled
        assert len(found) + len(pages(crawler).refused) == len(urls)
        return [{path for path in asked if f"http://{host}:{site.port}{path}" in found} for host in hosts]


LENGTH = head(f"Content-Length: {len(RULES)}") + RULES
CHUNKED = head("Transfer-Encoding: chunked") + CHUNKS


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        pytest.param(LENGTH, reset, id="S2.20-content-length-reset"),
        pytest.param(LENGTH, closed, id="S2.21-content-length-closed"),
        pytest.param(CHUNKED, reset, id="S2.20-chunked-reset"),
        pytest.param(CHUNKED, closed, id="S2.21-chunked-closed"),
        pytest.param(head(f"Content-Length: {len(ZIPPED)}", "Content-Encoding: gzip") + ZIPPED, reset, id="S2.20-gzip"),
        pytest.param(head("Content-Encoding: gzip") + ZIPPED, closed, id="S2.21-gzip-of-unsaid-length"),
    ],
)
@in_reactor
async def test_answer_that_breaks_off_opens_no_door(answer: bytes, end: Callable[[socket], None]) -> None:
    *broken_off, whole = await crawled(answer, end, ("/free",))
    assert broken_off == [set()] * len(answer)
    assert whole == {"/free"}


@pytest.mark.parametrize("end", [reset, closed])
@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(head("Content-Length: 9", status="404 No"), id="S2.11-404"),
        pytest.param(head("Transfer-Encoding: chunked", status="410 Gone"), id="S2.11-410-chunked"),
        pytest.param(head("Content-Length: 9", "Location: /r", status="301 Go"), id="S2.5-301"),
    ],
)
@in_reactor
async def test_status_decides_as_soon_as_it_is_there(headers: bytes, end: Callable[[socket], None]) -> None:
    found = await crawled(headers + b"12345", end, ("/free",))
    assert found[: len(headers)] == [set()] * len(headers)
    assert found[len(headers) :] == [{"/free"}] * 6


@in_reactor
async def test_file_of_unsaid_length_ends_with_the_connection() -> None:  # RFC 9112 8
    answer = head() + RULES
    found = await crawled(answer, closed, ("/page", "/free"))
    body, pattern = len(head()), answer.index(b"/page")
    assert found[:body] == [set()] * body
    assert found[body : pattern + 1] == [{"/page", "/free"}] * (pattern + 1 - body)
    assert found[pattern + 1] == set()  # disallow:/
    assert found[pattern + 2 :] == [{"/free"}] * 4
