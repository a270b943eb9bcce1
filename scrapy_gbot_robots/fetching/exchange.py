"""One request for a robots.txt, and the download handler's response to it before any middleware changes that."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .proxies import leave_credentials

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Headers, Response

# Present and empty, so that no middleware fills them in: the request has no credentials and is not conditional.
NEVER_SENT = (
    "Authorization",
    "Cookie",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "If-Unmodified-Since",
    "Range",
    "Referer",
)


class Exchange:
    """An `engine.Listener`: it notes what happens to its request, and stops a download that is long enough.

    If another middleware sends the request again, the exchange starts again.

    Attributes:
        own: the request as the fetcher made it.
        request: the request as it reached the downloader; None if a middleware did not let it pass.
        headers_at: when the response's headers came, in seconds on the monotonic clock.
        stopped: whether this exchange stopped the download: then a short body is not a lost one.
        response: what the download handler returned. Its headers lack Content-Encoding, so that no middleware decodes the
            body; `headers` has them all.
        secs: how long the server took, in seconds, without the downloader's queue and other middlewares.
        error: why there is no response.
        recalled: whether it comes from Scrapy's HTTP cache: no server was asked now, or none answered.
    """

    def __init__(self, most_bytes: int, *, status_only: bool = False) -> None:
        self._most_bytes = most_bytes
        self._status_only = status_only
        self._received = 0
        self.own: Request | None = None
        self.request: Request | None = None
        self.headers_at: float | None = None
        self.stopped = False
        self.response: Response | None = None
        self.headers: Headers | None = None
        self.secs = 0.0
        self.error: BaseException | None = None
        self.recalled = False

    def reached_downloader(self, request: Request) -> None:
        """Start again, and take out empty headers: some download handlers would send them."""
        self.request = request
        self.headers_at, self.stopped, self.response, self._received = None, False, None, 0
        for name in NEVER_SENT:
            if not request.headers.getlist(name):
                request.headers.pop(name, None)
        leave_credentials(request)

    def headers_received(self) -> bool:
        """Go on, unless only the status is wanted."""
        self.headers_at = time.monotonic()
        self.stopped = self._status_only
        return not self.stopped

    def bytes_received(self, data: bytes) -> bool:
        """Go on until more bytes are there than the parser reads."""
        self._received += len(data)
        self.stopped = self.stopped or self._received > self._most_bytes
        return not self.stopped

    def response_downloaded(self, response: Response) -> None:
        """Keep the response."""
        self.response, self.headers = response, response.headers.copy()
        response.headers.pop("Content-Encoding", None)
        latency = self.latency
        if latency is not None and self.headers_at is not None:
            self.secs = latency + time.monotonic() - self.headers_at

    @property
    def latency(self) -> float | None:
        """Seconds from sending the request to the response's headers; None if no headers came, and over FTP."""
        latency = None if self.request is None else self.request.meta.get("download_latency")
        return None if latency is None else float(latency)
