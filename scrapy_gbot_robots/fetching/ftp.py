"""Scrapy's FTP handler with an end: of a robots.txt no more is received than is read of it.

Scrapy's own keeps a whole file in memory and sends no signals meanwhile, by which a download could be stopped. The
add-on puts this one in its place; other requests than those for a robots.txt are handled as ever.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scrapy.core.downloader.handlers.ftp import FTPDownloadHandler
from scrapy.http import Response
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.protocol import ClientCreator

if TYPE_CHECKING:
    from scrapy import Request
    from twisted.protocols.ftp import FTPClient

MOST_BYTES = "gbot_robots_most_bytes"  # request.meta key: how many bytes of a file are wanted at the most


class RobotsFtpHandler(FTPDownloadHandler):
    """Stops once it has more than a request's `MOST_BYTES`: the response then has the flag `download_stopped`."""

    async def download_request(self, request: Request) -> Response:
        """Download a file, as Scrapy's own handler does."""
        most = request.meta.get(MOST_BYTES)
        if most is None:
            return await super().download_request(request)
        from .ftp_client import CommandFailed, Received  # noqa: PLC0415  not before a reactor is installed

        client: Any = await self._connected(request)
        received = Received(most)
        client.retrieveFile(unquote(urlparse_cached(request).path), received).addCallbacks(received.end, received.fail)
        try:
            stopped = await maybe_deferred_to_future(received.over)
        except CommandFailed as error:
            message = str(error)
            code = re.search(r"\d+", message)
            status = self.CODE_MAPPING.get(code[0] if code else "", self.CODE_MAPPING["default"])
            return Response(request.url, status, body=message.encode())
        finally:
            received.hang_up()
            client.transport.loseConnection()
        return Response(request.url, 200, body=bytes(received.body), flags=["download_stopped"] if stopped else [])

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
