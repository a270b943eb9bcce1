"""The FTP client of `ftp`, from Twisted's. Importing this module installs a reactor if there is none, as Twisted's does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol
from twisted.protocols.ftp import CommandFailed, FTPClient

if TYPE_CHECKING:
    from twisted.python.failure import Failure

__all__ = ["CommandFailed", "Received", "TerseClient"]

_MOST_CHATTER = 65_536  # bytes of replies on the control connection; a usual download has some hundred


class TerseClient(FTPClient):
    """Hangs up on a server that replies without end."""

    _chatter = 0

    def lineReceived(self, line: bytes) -> None:  # noqa: N802  Twisted's name
        """Take a line of a reply."""
        self._chatter += len(line)
        if self._chatter > _MOST_CHATTER:
            self.transport.abortConnection()  # type: ignore[union-attr]  # it is connected
        else:
            super().lineReceived(line)  # type: ignore[no-untyped-call]


class Received(Protocol):
    """Keeps the first `most` + 1 bytes of a file; `over` fires with whether the file is longer than `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.body = bytearray()
        self.over: Deferred[bool] = Deferred()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Take a piece of the file."""
        self.body += data[: self._most + 1 - len(self.body)]
        if len(self.body) > self._most:
            self._fire(stopped=True)

    def hang_up(self) -> None:
        """Receive no more."""
        if self.transport is not None:
            self.transport.abortConnection()

    def end(self, _: object) -> None:
        """The whole file has arrived."""
        self._fire(stopped=False)

    def fail(self, failure: Failure) -> None:
        """The transfer failed. That is an error, unless enough of the file has arrived."""
        if not self.over.called:
            self.over.errback(failure)

    def _fire(self, *, stopped: bool) -> None:
        if not self.over.called:
            self.over.callback(stopped)
