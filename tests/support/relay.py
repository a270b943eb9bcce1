"""A TCP port in front of a real Redis. It passes everything on: at once, late, or a byte at a time."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .redis_server import RedisServer


class SlowRelay:
    """Passes data on after `late_secs`, both ways. With `trickles`, each byte of a response takes that many seconds."""

    def __init__(self, behind: RedisServer, *, late_secs: float = 0.0) -> None:
        self.late_secs = late_secs
        self.trickles: float | None = None
        self._behind = behind.url.removeprefix("unix://").partition("?")[0]
        self._sockets: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listening.getsockname()[1]}/0"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listening.accept()
                here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                there = socket.socket(socket.AF_UNIX)
                self._sockets += [here, there]
                there.connect(self._behind)
                for source, target in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=(source, target, source is there), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        """Read at once; another thread sends each piece when it is due, so pieces do not wait for each other."""
        pieces: SimpleQueue[tuple[float, bytes] | None] = SimpleQueue()
        sending = threading.Thread(target=self._send, args=(target, pieces, is_answer), daemon=True)
        sending.start()
        with suppress(OSError):
            while data := source.recv(65536):
                pieces.put((time.monotonic() + self.late_secs, data))
        pieces.put(None)
        sending.join()
        for each in (source, target):
            _end(each)

    def _send(self, target: socket.socket, pieces: SimpleQueue[tuple[float, bytes] | None], is_answer: bool) -> None:
        with suppress(OSError):
            while (piece := pieces.get()) is not None:
                due, data = piece
                time.sleep(max(0.0, due - time.monotonic()))
                if is_answer and self.trickles is not None:
                    for byte in data:
                        time.sleep(self.trickles)
                        target.sendall(bytes([byte]))
                else:
                    target.sendall(data)

    def close(self) -> None:
        for each in (self._listening, *self._sockets):
            _end(each)
            each.close()


def _end(connection: socket.socket) -> None:
    """Wake the thread that waits for data of `connection`."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def slow_relay(behind: RedisServer, *, late_secs: float = 0.0) -> Iterator[SlowRelay]:
    """Run a relay for a while."""
    relay = SlowRelay(behind, late_secs=late_secs)
    try:
        yield relay
    finally:
        relay.close()
