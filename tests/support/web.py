"""Run web servers on loopback. Each `Site` has its own port, so it is an origin of its own.

A page of a site is bytes (sent with a 200), a `Reply`, or a function. The function gets the open
connection, and may send anything.
"""

import contextlib
import socketserver
import ssl
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from random import SystemRandom
from socket import SO_LINGER, SOL_SOCKET, socket
from typing import TypeAlias

from typing_extensions import Self


@dataclass(frozen=True)
class Reply:
    """An ordinary HTTP response."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    after_secs: float = 0

    def __call__(self, connection: socket) -> None:
        time.sleep(self.after_secs)
        is_usual = self.status in HTTPStatus._value2member_map_
        phrase = HTTPStatus(self.status).phrase if is_usual else "Odd"
        headers = {"Content-Length": str(len(self.body)), "Connection": "close", **self.headers}
        fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value)
        head = f"HTTP/1.1 {self.status} {phrase}\r\n{fields}\r\n"
        connection.sendall(head.encode("latin-1") + self.body)


def redirect(to: str, status: int = 302) -> Reply:
    return Reply(status, headers={"Location": to})


def raw(*parts: bytes | float, reset: bool = False) -> Callable[[socket], None]:
    """Return a page that sends `parts` as they are. A number among them is a pause in seconds."""

    def send(connection: socket) -> None:
        for part in parts:
            if isinstance(part, bytes):
                connection.sendall(part)
            else:
                time.sleep(part)
        if reset:
            connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))

    return send


@dataclass(frozen=True)
class Asked:
    """A request that a server received. Header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    at: float
    body: bytes = b""
    host: str = ""  # the address to which the client connected


def free_port() -> int:
    """Return a port of loopback on which no program listens.

    The port is below those that the system gives to connections (on Linux 32768 and above). So no connection of another
    test takes it before the caller does.
    """
    for port in SystemRandom().sample(range(21_000, 32_000), 100):
        with contextlib.suppress(OSError), socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


def free_port_like_tls() -> int:
    """Return a port of loopback on which no program listens, and which ends in 443.

    Clients expect TLS on such a port.
    """
    for port in range(20443, 60443, 1000):
        with contextlib.suppress(OSError), socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no such port is free")


Content: TypeAlias = bytes | str | Reply | Callable[[socket], None]


class Server:
    """A server on loopback, with a thread for each connection.

    If the server chooses its port itself, the port never ends in 443. On a port that ends in 443,
    RobotsSitemapSpider tries https first. A server without TLS would read the beginning of TLS as a
    request, and wait for its rest until the fetch of the robots.txt has timed out.
    """

    def __init__(self, host: str, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.host = host
        self._tls = tls
        site = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError), site._secured(self.request) as connection:
                    site._serve(connection)

        class Threads(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 128
            block_on_close = False

        self._server = Threads((host, port), Handler)
        while not port and str(self._server.server_address[1]).endswith("443"):
            self._server.server_close()
            self._server = Threads((host, port), Handler)
        self.port: int = self._server.server_address[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str = "/") -> str:
        return f"{'https' if self._tls else 'http'}://{self.host}:{self.port}{path}"

    def _secured(self, connection: socket) -> socket:
        if self._tls is None:
            return connection
        return self._tls.wrap_socket(connection, server_side=True)

    def _serve(self, connection: socket) -> None:
        """Answer one client, until the connection ends."""
        raise NotImplementedError


class Site(Server):
    """A web server.

    Attributes:
        pages: the page for each path. It may be changed while the server runs. The path "*" stands
            for all other paths.
        asked: the requests to the server, in order.
    """

    def __init__(
        self,
        pages: Mapping[str, Content],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(host, port, tls)
        self.pages = dict(pages)
        self.asked: list[Asked] = []

    def paths(self) -> list[str]:
        """Return the paths that were requested, in order."""
        return [asked.path for asked in self.asked]

    def _serve(self, connection: socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            got = connection.recv(65536)
            if not got:
                return
            head += got
        start, *lines = head.split(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        path = start.split(" ")[1]
        fields = [line.partition(":") for line in lines]
        headers = {name.lower(): value.strip() for name, _, value in fields}
        at = time.monotonic()
        body = head.partition(b"\r\n\r\n")[2]
        # If a connection with unread bytes is closed, it is reset. The reset may overtake the
        # response, so the whole body of the request is read.
        while len(body) < int(headers.get("content-length", 0)):
            got = connection.recv(65536)
            if not got:
                return
            body += got
        asked = Asked(path, headers, at, body, connection.getsockname()[0])
        self.asked.append(asked)
        content = self._answer(asked)
        if isinstance(content, str):
            content = content.encode()
        if isinstance(content, bytes):
            content = Reply(200, content)
        content(connection)

    def _answer(self, asked: Asked) -> Content:
        return self._content(asked.path, asked.headers)

    def _content(self, path: str, headers: Mapping[str, str]) -> Content:
        """Return the page to send. Subclasses may override this method."""
        return self.pages.get(path, self.pages.get("*", Reply(404, b"no such page")))
