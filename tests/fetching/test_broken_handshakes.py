"""TLS handshakes that a server breaks off: each download handler reports them, and none of them means "refused"."""

import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest

from ..support.crawls import Pages, by_each_handler, crawl, in_reactor, own_warnings, pages
from ..support.rows import row, table
from ..support.web import Server

HANDSHAKE_FAILURE = b"\x15\x03\x03\x00\x02\x02\x28"


def close(connection: socket.socket) -> None:
    connection.recv(5_000)


def close_at_once(connection: socket.socket) -> None:
    """Close `connection` before the client has sent anything."""


def reset(connection: socket.socket) -> None:
    connection.recv(5_000)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def send_alert(connection: socket.socket) -> None:
    connection.recv(5_000)
    connection.sendall(HANDSHAKE_FAILURE)


def send_plain_text(connection: socket.socket) -> None:
    connection.recv(5_000)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


class Breaking(Server):
    """A server that breaks off each handshake in its own way."""

    def __init__(self, break_off: Callable[[socket.socket], None]) -> None:
        super().__init__("127.0.0.1")
        self._break_off = break_off

    def _serve(self, connection: socket.socket) -> None:
        self._break_off(connection)


@pytest.mark.parametrize("settings", by_each_handler())
@table(
    "break_off, failure",
    row("close", close, "connection lost"),
    row("close-at-once", close_at_once, "connection lost"),
    row("reset", reset, "connection lost"),
    row("alert", send_alert, "TLS failed"),
    row("plain-text", send_plain_text, "TLS failed"),
)
@in_reactor
async def test_handshake_that_is_broken_off_is_not_a_refused_connection(
    break_off: Callable[[socket.socket], None], failure: str, settings: dict[str, Any], log: Any
) -> None:
    with Breaking(break_off) as server:
        url = f"https://127.0.0.1:{server.port}/page"
        crawler = await crawl(Pages, settings, urls=[url])
    assert set(pages(crawler).refused) == {url}
    assert f"robots.txt ({failure}" in own_warnings(log)[0]
