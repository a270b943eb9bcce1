"""A loopback web that speaks HTTP/2. It sends in frames what a `Site` sends in HTTP/1.

A page that writes to its connection writes HTTP/1: the head becomes a HEADERS frame, the body DATA frames. A body that ends
early ends the stream early, a reset resets the stream, and bytes that are no HTTP are written as they are.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived, StreamReset
from h2.exceptions import H2Error

from .web import Asked, Reply, Site

if TYPE_CHECKING:
    import socket
    import ssl

_OF_HTTP1 = {"connection", "transfer-encoding", "keep-alive"}


class H2Site(Site):
    """A `Site` with TLS and HTTP/2."""

    def _serve(self, connection: socket.socket) -> None:
        assert self._tls is not None
        self._tls.set_alpn_protocols(["h2"])
        session = _Session(self, self._tls.wrap_socket(connection, server_side=True))
        with contextlib.suppress(OSError, H2Error):
            session.serve()
        session.close()

    def _answer(self, path: str, headers: dict[str, str]) -> Any:
        self.asked.append(Asked(path, headers, time.monotonic()))
        content = self._content(path, headers)
        content = content.encode() if isinstance(content, str) else content
        return Reply(200, content) if isinstance(content, bytes) else content


class _Session:
    """One connection. Each of its streams has a thread of its own."""

    def __init__(self, site: H2Site, connection: ssl.SSLSocket) -> None:
        self.site = site
        self.connection = connection
        self.http2 = H2Connection(
            H2Configuration(client_side=False, header_encoding="utf-8", validate_outbound_headers=False)
        )
        self.changed = threading.Condition()
        self.gone: set[int] = set()

    def serve(self) -> None:
        with self.changed:
            self.http2.initiate_connection()
            self.flush()
        while data := self.connection.recv(65_536):
            with self.changed:
                for event in self.http2.receive_data(data):
                    if isinstance(event, RequestReceived):
                        headers = {str(name): str(value) for name, value in event.headers}
                        threading.Thread(target=self.answer, args=(event.stream_id, headers), daemon=True).start()
                    elif isinstance(event, StreamReset):
                        self.gone.add(event.stream_id)
                self.flush()
                self.changed.notify_all()

    def flush(self) -> None:
        self.connection.sendall(self.http2.data_to_send())

    def answer(self, stream_id: int, headers: dict[str, str]) -> None:
        stream = _Stream(self, stream_id)
        with contextlib.suppress(OSError, H2Error):
            self.site._answer(headers[":path"], headers)(stream)
            stream.end()

    def close(self) -> None:
        with self.changed:
            self.gone.add(0)
            self.changed.notify_all()
        with contextlib.suppress(OSError):
            self.connection.close()


class _Stream:
    """Takes HTTP/1 as a socket does, and sends it as the frames of one stream."""

    def __init__(self, session: _Session, stream_id: int) -> None:
        self._session = session
        self._id = stream_id
        self._head = b""
        self._begun = self._chunked = self._reset = False
        self._chunks = b""

    def setsockopt(self, *_: Any) -> None:
        """Pages set one option only: the one that makes closing a reset."""
        self._reset = True

    def sendall(self, data: bytes) -> None:
        if not self._begun:
            self._head += data
            if not b"HTTP/1.1 100 Continue".startswith(self._head[:5]):
                self._session.connection.sendall(self._head)  # no HTTP at all
                raise OSError
            while not self._begun and b"\r\n\r\n" in self._head:
                head, _, self._head = self._head.partition(b"\r\n\r\n")
                self._send_head(head)
            data, self._head = (self._head, b"") if self._begun else (b"", self._head)
        if self._chunked:
            data = self._unchunked(data)
        while data:
            data = self._send_some(data)

    def end(self) -> None:
        with self._session.changed:
            if not self._begun and not self._reset:
                self._session.connection.close()
                return
            if self._reset or (self._chunked and self._chunks != b"end"):
                self._session.http2.reset_stream(self._id)
            else:
                self._session.http2.end_stream(self._id)
            self._session.flush()

    def _send_head(self, head: bytes) -> None:
        start, *lines = head.decode("latin-1").split("\r\n")
        status = start.split(" ")[1]
        fields = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        self._begun = not status.startswith("1")
        self._chunked = ("transfer-encoding", "chunked") in fields
        with self._session.changed:
            sent = [(":status", status), *(field for field in fields if field[0] not in _OF_HTTP1)]
            self._session.http2.send_headers(self._id, sent)
            self._session.flush()

    def _send_some(self, data: bytes) -> bytes:
        with self._session.changed:
            while not (room := self._session.http2.local_flow_control_window(self._id)):
                if {0, self._id} & self._session.gone or not self._session.changed.wait(5):
                    raise OSError
            if {0, self._id} & self._session.gone:
                raise OSError
            size = min(room, self._session.http2.max_outbound_frame_size, len(data))
            self._session.http2.send_data(self._id, data[:size])
            self._session.flush()
            return data[size:]

    def _unchunked(self, data: bytes) -> bytes:
        """Take the chunks apart. Bytes that are no chunk stay, so that the stream is reset at its end."""
        body = b""
        self._chunks += data
        while b"\r\n" in self._chunks:
            size, _, rest = self._chunks.partition(b"\r\n")
            try:
                length = int(size, 16)
            except ValueError:
                break
            if len(rest) < length + 2:
                break
            body, self._chunks = body + rest[:length], rest[length + 2 :] if length else b"end"
        return body
