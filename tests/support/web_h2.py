"""A loopback web that speaks HTTP/2: a gateway that asks a `Site` by HTTP/1 and sends in frames what it answers.

A body that ends early ends the stream early, a reset resets the stream, and bytes that are no HTTP are passed on as they are.
"""

from __future__ import annotations

import contextlib
import threading
from http.client import BadStatusLine, HTTPConnection, HTTPException
from typing import TYPE_CHECKING

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived, StreamReset
from h2.exceptions import H2Error

from .web import Site

if TYPE_CHECKING:
    import socket
    import ssl
    from types import TracebackType

    from typing_extensions import Self

_OF_HTTP1 = {"connection", "transfer-encoding", "keep-alive"}


class H2Site(Site):
    """A `Site` with TLS and HTTP/2."""

    def __enter__(self) -> Self:
        self._behind = Site(self.pages)
        self._behind.pages, self._behind.asked = self.pages, self.asked
        self._behind.__enter__()
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._behind.__exit__(kind, error, trace)

    def _serve(self, connection: socket.socket) -> None:
        assert self._tls is not None
        self._tls.set_alpn_protocols(["h2"])
        with contextlib.suppress(OSError, H2Error), self._tls.wrap_socket(connection, server_side=True) as secure:
            _Session(secure, self._behind.port).serve()


class _Session:
    """One connection. Each of its streams has a thread of its own."""

    def __init__(self, connection: ssl.SSLSocket, port: int) -> None:
        self._connection = connection
        self._port = port
        self._http2 = H2Connection(
            H2Configuration(client_side=False, header_encoding="utf-8", validate_outbound_headers=False)
        )
        self._changed = threading.Condition()
        self._gone: set[int] = set()  # streams that the client has reset; 0 stands for all

    def serve(self) -> None:
        try:
            self._http2.initiate_connection()
            self._flush()
            while data := self._connection.recv(65_536):
                with self._changed:
                    for event in self._http2.receive_data(data):
                        if isinstance(event, RequestReceived):
                            threading.Thread(target=self._answer, args=(event,), daemon=True).start()
                        elif isinstance(event, StreamReset):
                            self._gone.add(event.stream_id)
                    self._flush()
                    self._changed.notify_all()
        finally:
            with self._changed:
                self._gone.add(0)
                self._changed.notify_all()

    def _flush(self) -> None:
        self._connection.sendall(self._http2.data_to_send())

    def _answer(self, request: RequestReceived) -> None:
        stream = request.stream_id
        headers = {str(name): str(value) for name, value in request.headers}
        own = {name: value for name, value in headers.items() if not name.startswith(":")}
        with contextlib.suppress(OSError, H2Error), contextlib.closing(HTTPConnection("127.0.0.1", self._port)) as site:
            try:
                site.request("GET", headers[":path"], headers=own)
                answer = site.getresponse()
                head = [(name.lower(), value) for name, value in answer.getheaders() if name.lower() not in _OF_HTTP1]
                with self._changed:
                    self._http2.send_headers(stream, [(":status", str(answer.status)), *head])
                    self._flush()
                while data := answer.read1(16_384):
                    self._send(stream, data)
                end = self._http2.end_stream
            except BadStatusLine as error:  # no HTTP; of a connection that was closed at once, two quotes
                self._connection.sendall(error.args[0].encode("latin-1"))
                self._connection.close()
                return
            except (HTTPException, ConnectionResetError):
                end = self._http2.reset_stream
            with self._changed:
                end(stream)
                self._flush()

    def _send(self, stream: int, data: bytes) -> None:
        while data:
            with self._changed:
                while not (room := self._http2.local_flow_control_window(stream)):
                    if {0, stream} & self._gone or not self._changed.wait(5):
                        raise TimeoutError
                if {0, stream} & self._gone:
                    raise BrokenPipeError
                size = min(room, self._http2.max_outbound_frame_size, len(data))
                self._http2.send_data(stream, data[:size])
                self._flush()
            data = data[size:]
