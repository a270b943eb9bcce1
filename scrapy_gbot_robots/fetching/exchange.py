"""One request for a robots.txt and what the download handler made of it, before any middleware touches that."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .proxies import leave_credentials

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Headers, Response

# Present and empty, so that nothing fills them in: a robots.txt is asked for without credentials and unconditionally.
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

    Another middleware may send the request anew, which begins the exchange anew.

    Attributes:
        own: the request as the fetcher made it.
        request: as it reached the downloader; None if no middleware has let it pass.
        headers_at: when the response's headers came; seconds on the monotonic clock.
        stopped: whether the download was stopped here: then a short body is no lost one.
        response: what the download handler returned. Its headers lack Content-Encoding, to spare it the middlewares'
            decoding; `headers` has them all.
        secs: what the server took; neither the downloader's queue nor other middlewares count.
        error: why there is no response.
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

    def reached_downloader(self, request: Request) -> None:
        """Begin anew, and take out the headers that are not to be sent: not every download handler leaves out empty ones."""
        self.request = request
        self.headers_at, self.stopped, self.response, self._received = None, False, None, 0
        for name in NEVER_SENT:
            if not request.headers.getlist(name):
                request.headers.pop(name, None)
        leave_credentials(request)

    def headers_received(self) -> bool:
        """Go on, unless the status is all that is asked for."""
        self.headers_at = time.monotonic()
        self.stopped = self._status_only
        return not self.stopped

    def bytes_received(self, data: bytes) -> bool:
        """Go on until there is more than is read."""
        self._received += len(data)
        self.stopped = self.stopped or self._received > self._most_bytes
        return not self.stopped

    def response_downloaded(self, response: Response) -> None:
        """Take the response."""
        self.response, self.headers = response, response.headers.copy()
        response.headers.pop("Content-Encoding", None)
        latency = self.latency
        if latency is not None and self.headers_at is not None:
            self.secs = latency + time.monotonic() - self.headers_at

    @property
    def latency(self) -> float | None:
        """Seconds from sending the request to the response's headers; None if these have not come, or over FTP."""
        latency = None if self.request is None else self.request.meta.get("download_latency")
        return None if latency is None else float(latency)
