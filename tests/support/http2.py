"""A loopback server that speaks HTTP/2 over TLS. An answer may be odd, and may break off."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .tls import tls_context
from .web import Server


@dataclass(frozen=True)
class Reply2:
    """An answer. It ends with the stream (""), with a "reset" of this, or with the connection ("close")."""

    status: int = 200
    body: bytes = b""
    headers: Sequence[tuple[str, str]] = field(default_factory=list)
    end: str = ""


class Http2Site(Server):
    """Answers by `answer`, which gets the server's own address and the path that was requested."""

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
        """Send an answer; return whether the connection goes on."""
        names = {bytes(name): bytes(value).decode() for name, value in request.headers}
        reply = self._answer(connection.getsockname()[0], names[b":path"])
        headers = [(":status", str(reply.status)), *reply.headers]
        state.send_headers(request.stream_id, headers)
        for start in range(0, len(reply.body), 16_384):
            state.send_data(request.stream_id, reply.body[start : start + 16_384])
        if reply.end == "reset":
            state.reset_stream(request.stream_id)
        elif not reply.end:
            state.end_stream(request.stream_id)
        connection.sendall(state.data_to_send())
        return reply.end != "close"
