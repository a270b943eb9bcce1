"""A robots.txt answer that breaks off, at each of its bytes in turn: half an answer is no answer.

One crawl asks as many origins (addresses on loopback) as the answer has bytes, and each breaks off one byte later.
"""

import gzip
from socket import socket
from typing import Any

import pytest

from ..support.crawls import Pages, by_each_handler, crawl, in_reactor, pages
from ..support.rows import row, table
from ..support.web import Site, raw
from .scenarios import head

RULES = b"user-agent:*\ndisallow:/page"
ZIPPED = gzip.compress(RULES, mtime=0)
CHUNKS = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (RULES[:9], RULES[9:], b""))
# As in any crawl: a page may be sent into the connection that the robots.txt came from, and that the
# server is ending. No robots.txt is retried by this.
RETRIED = {"RETRY_ENABLED": True}


async def crawled(answer: bytes, *, reset: bool) -> list[bool]:
    """Whether a page is crawled if the answer breaks off after 0, 1, 2 ... bytes, and in the end not."""

    def break_off(connection: socket) -> None:
        offset = hosts.index(connection.getsockname()[0])
        # A reset would overtake what was sent, or what the handler has not yet read of it.
        arrives_first = 0.3
        raw(answer[:offset], arrives_first, reset=reset and offset < len(answer))(connection)

    hosts = [f"127.0.1.{1 + offset}" for offset in range(len(answer) + 1)]
    with Site({"/robots.txt": break_off, "/r": RULES, "*": b"ok"}, host="0.0.0.0") as site:
        urls = [f"http://{host}:{site.port}/free" for host in hosts]
        settings = {**RETRIED, "CONCURRENT_REQUESTS": 64, "LOG_LEVEL": "ERROR"}
        crawler = await crawl(Pages, settings, urls=urls)
        assert len(pages(crawler).crawled) + len(pages(crawler).refused) == len(urls)
        return [url in pages(crawler).crawled for url in urls]


LENGTH = head(f"Content-Length: {len(RULES)}") + RULES
CHUNKED = head("Transfer-Encoding: chunked") + CHUNKS
GZIP = head(f"Content-Length: {len(ZIPPED)}", "Content-Encoding: gzip") + ZIPPED


@table(
    "answer, reset",
    row("S2.20-content-length-reset", LENGTH, True),
    row("S2.21-content-length-closed", LENGTH, False),
    row("S2.21-chunked-closed", CHUNKED, False),
    row("S2.20-gzip", GZIP, True),
    row("S2.21-gzip-of-unsaid-length", head("Content-Encoding: gzip") + ZIPPED, False),
)
@in_reactor
async def test_answer_that_breaks_off_opens_no_door(answer: bytes, *, reset: bool) -> None:
    assert await crawled(answer, reset=reset) == [False] * len(answer) + [True]


ENDS = {  # robots.txt answers without a byte in the body, which a Content-Encoding says is compressed
    "127.0.1.1": raw(head("Content-Encoding: gzip")),
    "127.0.1.2": raw(head("Content-Encoding: gzip", "Connection: close")),
    "127.0.1.3": raw(head("Content-Encoding: gzip", "Content-Length: 0")),
    "127.0.1.4": raw(head("Content-Encoding: gzip", "Transfer-Encoding: chunked") + b"0\r\n\r\n"),
    "127.0.1.5": raw(head("Content-Encoding: gzip", status="204 No Content")),
}
BROKEN_OFF = {"127.0.1.1", "127.0.1.2"}  # perhaps: nothing says that the body ends here


@pytest.mark.parametrize("settings", by_each_handler())
@in_reactor
async def test_empty_gzip_body_is_good_only_if_its_end_is_said(settings: dict[str, Any]) -> None:
    def robots_txt(connection: socket) -> None:
        ENDS[connection.getsockname()[0]](connection)

    with Site({"/robots.txt": robots_txt, "*": b"ok"}, host="0.0.0.0") as site:
        urls = {host: f"http://{host}:{site.port}/free" for host in ENDS}
        crawler = await crawl(Pages, {**RETRIED, **settings}, urls=urls.values())
    crawled = {host for host, url in urls.items() if url in pages(crawler).crawled}
    assert crawled == ENDS.keys() - BROKEN_OFF
