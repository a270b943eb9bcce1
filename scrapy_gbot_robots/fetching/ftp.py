"""Scrapy's FTP handler with a bound on the size of a file.

Scrapy's own handler keeps a whole file in memory, however long, and sends no signals that could stop a download. The add-on
replaces it. This handler receives only the part of a robots.txt that the plugin reads. Any other file has the same bound as
with HTTP, `DOWNLOAD_MAXSIZE` or the meta key `download_maxsize`: a longer file fails.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scrapy.core.downloader.handlers.ftp import FTPDownloadHandler
from scrapy.http import Response
from scrapy.responsetypes import responsetypes
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.protocol import ClientCreator

try:
    from scrapy.exceptions import DownloadCancelledError
except ImportError:  # before Scrapy 2.15, which has Twisted's for that
    from twisted.internet.defer import CancelledError as DownloadCancelledError  # type: ignore[assignment]

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from twisted.protocols.ftp import FTPClient

MOST_BYTES = "gbot_robots_most_bytes"  # request.meta key: how much of a file to read, and one byte more
CUT = "gbot_robots_cut"  # flag of a response whose file is longer than that

_NO_BOUND = 2**63


class RobotsFtpHandler(FTPDownloadHandler):
    """A bounded handler for FTP. A file that goes to disk (`ftp_local_filename`) is left to Scrapy's handler."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._most_bytes = crawler.settings.getint("DOWNLOAD_MAXSIZE")

    async def download_request(self, request: Request) -> Response:
        """Download a file.

        Raises:
            DownloadCancelledError: the file is longer than `DOWNLOAD_MAXSIZE` or the meta key `download_maxsize` allows.
        """
        if request.meta.get("ftp_local_filename"):
            return await super().download_request(request)
        most = request.meta.get(MOST_BYTES)
        if most is not None:
            return await self._received(request, most)
        most = request.meta.get("download_maxsize", self._most_bytes) or _NO_BOUND
        response = await self._received(request, most)
        if CUT in response.flags:
            raise DownloadCancelledError(f"{request} is longer than the {most} bytes that may be downloaded")
        return response

    async def _received(self, request: Request, most: int) -> Response:
        """Return the file; if it is longer than `most` bytes, its first `most` + 1 bytes with the flag `CUT`."""
        from .ftp_client import CommandFailed, Received  # noqa: PLC0415  not before a reactor is installed

        client: Any = await self._connected(request)
        received = Received(most)
        client.retrieveFile(unquote(urlparse_cached(request).path), received).addCallbacks(received.end, received.fail)
        try:
            cut = await maybe_deferred_to_future(received.over)
        except CommandFailed as error:
            message = str(error)
            code = re.search(r"\d+", message)
            status = self.CODE_MAPPING.get(code[0] if code else "", self.CODE_MAPPING["default"])
            return Response(request.url, status, body=message.encode())
        finally:
            received.hang_up()
            client.transport.loseConnection()
        body = bytes(received.body)
        headers = {"local filename": b"", "size": str(len(body))}  # as Scrapy's own handler gives them
        kind = responsetypes.from_args(url=request.url, body=body)
        return kind(request.url, 200, headers, body, ["download_stopped", CUT] if cut else [])

    async def _connected(self, request: Request) -> FTPClient:
        from twisted.internet import reactor  # noqa: PLC0415  as above

        from .ftp_client import TerseClient  # noqa: PLC0415

        url, meta = urlparse_cached(request), request.meta
        user, password = meta.get("ftp_user", self.default_user), meta.get("ftp_password", self.default_password)
        passive = int(bool(meta.get("ftp_passive", self.passive_mode)))
        untyped: Any = ClientCreator
        creator = untyped(reactor, TerseClient, user, password, passive=passive)
        client: FTPClient = await maybe_deferred_to_future(creator.connectTCP(url.hostname, url.port or 21))
        return client
