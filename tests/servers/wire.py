"""What a server sends, read from the wire: no HTTP client of the crawl has a part in it."""

import io
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any

ENOUGH_SECS = (
    8  # for a server on loopback to send all that it means to; HAProxy tries a dead one for three
)


@dataclass(frozen=True)
class Arrived:
    """What came for one request. A server that sends no HTTP answer has the status None."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""  # without chunks, with its content coding
    whole: bool = False  # by its length, or its last chunk
    interim: tuple[int, ...] = ()  # the statuses of 1xx responses before


def ask(host: str, port: int, *, tls: bool, path: str = "/robots.txt") -> Arrived:
    """Ask a server for a file as Scrapy does, and read until the server closes."""
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {host}:{port}",
        "User-Agent: testbot (+https://example.com)",
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
        "Accept-Language: en",
        "Accept-Encoding: gzip, deflate, br",
        "Connection: close",
    ]
    request = "\r\n".join([*lines, "", ""]).encode()
    try:
        return _read(_exchange(host, port, request, tls=tls))
    except OSError:
        return Arrived()


def _exchange(host: str, port: int, request: bytes, *, tls: bool) -> bytes:
    """Send `request`; return all that comes."""
    ends = time.monotonic() + ENOUGH_SECS
    received = b""
    with socket.create_connection((host, port), ENOUGH_SECS) as plain:
        connection = plain
        if tls:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            connection = context.wrap_socket(plain, server_hostname=host)
        with suppress(OSError), connection:
            connection.sendall(request)
            while time.monotonic() < ends:
                connection.settimeout(max(0.1, ends - time.monotonic()))
                if not (data := connection.recv(65536)):
                    break
                received += data
    return received


def _read(received: bytes) -> Arrived:
    """Read an answer: the standard library's client knows lengths and chunks."""
    interim = []
    while received.startswith((b"HTTP/1.1 10", b"HTTP/1.0 10")):
        interim.append(int(received[9:12]))
        received = received.partition(b"\r\n\r\n")[2]
    if not received.startswith(b"HTTP/") or b"\r\n\r\n" not in received:
        return Arrived(interim=tuple(interim))
    response = HTTPResponse(_Bytes(received), method="GET")  # type: ignore[arg-type]
    whole = True
    try:
        response.begin()
        body = response.read()
    except IncompleteRead as error:
        whole = False
        body = error.partial
    except HTTPException:
        return Arrived(interim=tuple(interim))
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Arrived(response.status, headers, body, whole, tuple(interim))


class _Bytes:
    """A socket from which bytes can be read that have come."""

    def __init__(self, received: bytes) -> None:
        self._received = received

    def makefile(self, *_: Any) -> io.BytesIO:
        return io.BytesIO(self._received)
