"""A loopback server for HTTP/2 over TLS. Its responses may be odd, or end too early."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .tls import tls_context
from .web import Server


@dataclass(frozen=True)
class Reply2:
    """A response.

    `end` is "" if the stream ends as usual. It is "headers" if the frame with the headers ends the
    stream, "reset" if the server resets the stream, and "close" if the server closes the
    connection.
    """

    status: int = 200
    body: bytes = b""
    headers: Sequence[tuple[str, str]] = field(default_factory=list)
    end: str = ""


class Http2Site(Server):
    """A server. `answer` returns the response for the server's own address and a path."""

    def __init__(self, answer: Callable[[str, str], Reply2], host: str = "127.0.0.1") -> None:
        super().__init__(host, tls=tls_context("h2"))
        self._answer = answer

    def _serve(self, connection: Any) -> None:
        from h2.config import H2Configuration
        from h2.connection import H2Connection
        from h2.events import RequestReceived

        config = H2Configuration(
            client_side=False, validate_outbound_headers=False, normalize_outbound_headers=False
        )
        state = H2Connection(config)
        state.initiate_connection()
        connection.sendall(state.data_to_send())
        while data := connection.recv(65_536):
            for event in state.receive_data(data):
                if isinstance(event, RequestReceived) and not self._send(state, event, connection):
                    return
            connection.sendall(state.data_to_send())

    def _send(self, state: Any, request: Any, connection: Any) -> bool:
        """Send a response. Return whether the connection stays open."""
        names = {bytes(name): bytes(value).decode() for name, value in request.headers}
        reply = self._answer(connection.getsockname()[0], names[b":path"])
        headers = [(":status", str(reply.status)), *reply.headers]
        ends_here = reply.end == "headers"
        state.send_headers(request.stream_id, headers, end_stream=ends_here)
        for start in range(0, len(reply.body), 16_384):
            state.send_data(request.stream_id, reply.body[start : start + 16_384])
        if reply.end == "reset":
            state.reset_stream(request.stream_id)
        elif not reply.end:
            state.end_stream(request.stream_id)
        connection.sendall(state.data_to_send())
        return reply.end != "close"
