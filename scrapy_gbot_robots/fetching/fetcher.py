"""Getting one robots.txt: a request of our own making in, an `Outcome` out, whatever the server or the settings do.

The request goes through Scrapy's engine and downloader middlewares like any other, so that proxies, user agents, delays
and other download handlers apply. The answer is taken as the download handler gave it, by the `response_downloaded`
signal, before any middleware can redirect, decode, cache or drop it. What the answer means is `policy.outcome`'s to say
(Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.1).
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError

from ..concurrency import Places, within
from ..core.urls import shown
from ..engine import is_queued, uncounted
from ..policy import headers
from ..policy.outcome import Failure, Fetched, Outcome, Unavailable, failed, outcome_of
from ..policy.redirect import REDIRECTS, next_hop, to_private_address
from ..policy.rendered import as_served
from ..policy.served import ACCEPTED, DecodeError, decoded
from ..signals import robotstxt_served
from .ftp import MOST_BYTES
from .private_addresses import leads_inside

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response

    from ..core.origin import Origin
    from ..settings import GbotSettings

PRIORITY = 1000  # as Scrapy's own middleware has it: pages wait for it

MOST_UNDER_WAY = 256  # robots.txt requests at a time, beside CONCURRENT_REQUESTS: each is a socket

_EXCHANGE = "gbot_robots_exchange"  # request.meta key

# Keeps Scrapy's own middlewares from changing, dropping or storing a robots.txt, or from adding to its request.
_OWN_META = {
    "allow_offsite": True,
    "dont_cache": True,
    "dont_merge_cookies": True,
    "dont_obey_robotstxt": True,
    "dont_redirect": True,
    "dont_retry": True,
    "download_fail_on_dataloss": True,
    "download_maxsize": 0,  # the body is cut at our own limit, not thrown away at Scrapy's
    "download_warnsize": 0,
    "ftp_password": "guest",
    "ftp_user": "anonymous",  # whatever FTP_USER says: no credentials (Google's page, "File location")
    "handle_httpstatus_all": True,
}

# Present and empty, so that nothing fills them in: a robots.txt is asked for without credentials and unconditionally.
_NEVER_SENT = (
    "Authorization",
    "Cookie",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "If-Unmodified-Since",
    "Range",
    "Referer",
)

# Exceptions by the names of their classes, Twisted's (Scrapy 2.14) and Scrapy's own (newer); the most specific decides.
_FAILURES = {
    "CannotResolveHostError": Failure.DNS,
    "DNSLookupError": Failure.DNS,
    "ConnectionRefusedError": Failure.REFUSED,
    "DownloadConnectionRefusedError": Failure.REFUSED,
    "ConnectError": Failure.REFUSED,
    "ConnectionLost": Failure.RESET,
    "ConnectionDone": Failure.RESET,
    "ConnectionResetError": Failure.RESET,
    "DownloadTimeoutError": Failure.TIMEOUT,
    "TimeoutError": Failure.TIMEOUT,
    "TCPTimedOutError": Failure.TIMEOUT,
    "UserTimeoutError": Failure.TIMEOUT,
    "ResponseDataLossError": Failure.TRUNCATED,
    "_DataLoss": Failure.TRUNCATED,
    "PotentialDataLoss": Failure.TRUNCATED,
    "_MalformedChunkedDataError": Failure.CHUNKING,
    "SSLError": Failure.TLS,
    "VerificationError": Failure.TLS,
    "CertificateError": Failure.TLS,
    "Error": Failure.TLS,  # OpenSSL.SSL.Error
    "ParseError": Failure.INVALID,
    "DownloadCancelledError": Failure.CANCELLED,
    "CancelledError": Failure.CANCELLED,
    "NotSupported": Failure.NO_HANDLER,
    "UnsupportedURLSchemeError": Failure.NO_HANDLER,
}

logger = logging.getLogger(__name__)


class Exchange:
    """One request for a robots.txt on its way, and what the download handler made of it."""

    __slots__ = ("content_encoding", "headers_at", "received", "response", "secs")

    def __init__(self) -> None:
        self.received = 0  # bytes
        self.headers_at: float | None = None  # on the monotonic clock
        self.secs: float | None = None  # that the server took; not those spent in the downloader's queue
        self.content_encoding = ""
        self.response: Response | None = None


class Fetcher:
    """Fetches robots.txt files through the engine of a crawl."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._places = Places(MOST_UNDER_WAY)
        crawler.signals.connect(self._reached_downloader, signals.request_reached_downloader)
        crawler.signals.connect(self._headers_received, signals.headers_received)
        crawler.signals.connect(self._bytes_received, signals.bytes_received)
        crawler.signals.connect(self._response_downloaded, signals.response_downloaded)

    def robots_request(self, url: str, request: Request | None) -> Request:
        """Return the request for the robots.txt at `url`, which `request` made the crawl ask for.

        To be overridden by who needs another one, such as for a browser's download handler.
        """
        inherited = (
            {} if request is None else {k: request.meta[k] for k in self._settings.meta_keys if k in request.meta}
        )
        return Request(
            url,
            callback=NO_CALLBACK,
            dont_filter=True,
            priority=PRIORITY,
            headers={"Accept-Encoding": ACCEPTED},
            meta=inherited,
        )

    async def fetch(self, origin: Origin, request: Request | None = None) -> Outcome:
        """Ask for the robots.txt of `origin`, follow redirects, and say what came of it. Only cancellation raises.

        Args:
            origin: whose robots.txt.
            request: the request that made the crawl ask; the meta keys of `GBOT_ROBOTS_META_KEYS` are taken from it.
        """
        left = self._settings.timeout_secs
        asked = [origin.robots_url]
        while True:
            asked_at = time.monotonic()
            exchange = Exchange()
            own = self._own_request(asked[-1], request, exchange, left)
            async with self._places:
                answer = await self._ask(own, exchange)
            if isinstance(answer, Exception):
                return self._failed(answer)
            if answer.status not in REDIRECTS:
                return self._told(self._outcome(answer, asked[-1], exchange), own, answer, exchange)
            left -= time.monotonic() - asked_at if exchange.secs is None else exchange.secs
            looking_at = time.monotonic()
            hop = await self._next_hop(answer, asked, left)
            if not isinstance(hop, str):
                return hop
            left -= time.monotonic() - looking_at
            if left <= 0:
                return failed(Failure.TIMEOUT, "redirects")
            asked.append(hop)

    async def _next_hop(self, answer: Response, asked: list[str], left: float) -> str | Outcome:
        """The URL to ask after a redirect, or what came of the fetch if there is none; `left` is the time in seconds."""
        hop = next_hop(answer.status, answer.headers.get("Location"), asked, self._settings.max_redirects)
        if isinstance(hop, Unavailable):
            return hop
        if not _is_url_for_scrapy(hop):
            return Unavailable(answer.status, asked[-1], "unfit Location")
        if not self._settings.refuse_private:
            return hop
        try:
            inside = await within(max(0.0, left), leads_inside(hop, asked[-1]))
        except TimeoutError:
            return failed(Failure.TIMEOUT, "the address of a redirect's target")
        if not inside:
            return hop
        self._tell_refused(asked[0], hop)
        return to_private_address(answer.status, asked[-1])

    def _own_request(self, url: str, request: Request | None, exchange: Exchange, left: float) -> Request:
        own = self.robots_request(url, request)
        own.meta.update(_OWN_META, download_timeout=left)
        own.meta[MOST_BYTES] = self._settings.max_bytes
        own.meta[_EXCHANGE] = exchange
        for name in _NEVER_SENT:
            own.headers.setlist(name, [])
        return own

    async def _ask(self, own: Request, exchange: Exchange) -> Response | Exception:
        """Send `own`; the download handler's response, or what went wrong."""
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101  for the type checker: there is one while there are requests
        download = deferred_from_coro(engine.download_async(own))
        watch = _Watch(self._crawler, own, download)
        try:
            with uncounted(self._crawler, own):
                response = await maybe_deferred_to_future(download)
        except (asyncio.CancelledError, CancelledError):
            if watch.gave_up:
                return TimeoutError("the download handler let the time-out pass")
            raise
        except Exception as error:
            return exchange.response or error
        finally:
            watch.end()
            own.meta.pop(_EXCHANGE, None)  # so that nothing keeps the body alive
        return exchange.response or response

    def _reached_downloader(self, request: Request) -> None:
        """Take out what kept middlewares from filling in headers: not every download handler leaves out empty ones."""
        if _exchange(request):
            for name in _NEVER_SENT:
                if not request.headers.getlist(name):
                    request.headers.pop(name, None)

    def _headers_received(self, request: Request) -> None:
        if exchange := _exchange(request):
            exchange.headers_at = time.monotonic()
            exchange.received = 0  # another middleware may have sent the request anew

    def _bytes_received(self, data: bytes, request: Request) -> None:
        if exchange := _exchange(request):
            exchange.received += len(data)
            if exchange.received > self._settings.max_bytes:
                raise StopDownload(fail=False)

    def _response_downloaded(self, response: Response, request: Request) -> None:
        """Take the response before any middleware does, and spare it their decoding."""
        if exchange := _exchange(request):
            exchange.content_encoding = b",".join(response.headers.getlist("Content-Encoding")).decode("latin-1")
            response.headers.pop("Content-Encoding", None)
            exchange.response = response
            latency = request.meta.get("download_latency")
            if latency is not None and exchange.headers_at is not None:
                exchange.secs = float(latency) + time.monotonic() - exchange.headers_at

    def _outcome(self, response: Response, url: str, exchange: Exchange) -> Outcome:
        if "dataloss" in response.flags:
            return failed(Failure.TRUNCATED)
        whole = "download_stopped" not in response.flags
        may_be_empty = "partial" not in response.flags  # else it ended with the connection: maybe before it began
        broken = ""
        try:
            served = as_served(response.body, response.flags)
            limit, coding = self._settings.max_bytes, exchange.content_encoding
            body, cut = decoded(served, coding, limit, whole=whole, may_be_empty=may_be_empty)
        except DecodeError as error:
            body, cut, broken = b"", False, str(error)
        outcome = outcome_of(
            response.status,
            url,
            body,
            cut=cut,
            max_age=_max_age(response.headers),
            retry_after=headers.retry_after(response.headers.get("Retry-After"), time.time()),
            soft_404=self._settings.soft_404,
        )
        if broken and isinstance(outcome, Fetched):  # of any other answer the status says all
            return failed(Failure.BAD_CONTENT, broken)
        return outcome

    def _told(self, outcome: Outcome, own: Request, response: Response, exchange: Exchange) -> Outcome:
        """Tell what was served, and return what it came to."""
        headers = response.headers.copy()
        if exchange.content_encoding:
            headers["Content-Encoding"] = exchange.content_encoding
        send = self._crawler.signals.send_catch_log
        send(robotstxt_served, outcome=outcome, request=own, response=response, headers=headers)
        return outcome

    def _tell_refused(self, robots_url: str, target: str) -> None:
        self._crawler.stats.inc_value("gbot_robots/refused_private")
        logger.warning(
            "%s is redirected to a private address, which GBOT_ROBOTS_REFUSE_PRIVATE refuses: %s",
            robots_url,
            shown(target),
        )

    def _failed(self, error: Exception) -> Outcome:
        self._crawler.stats.inc_value(f"robotstxt/exception_count/{type(error)}")
        if isinstance(error, IgnoreRequest):
            return failed(Failure.OTHER, f"another middleware dropped the request: {error}")
        return failed(_failure(error), str(error))


class _Watch:
    """Ends a download whose handler does not keep to `download_timeout`, once it has left the downloader's queue."""

    _GRACE_SECS = 1.0

    def __init__(self, crawler: Crawler, request: Request, download: object) -> None:
        self._crawler = crawler
        self._request = request
        self._download = download
        self._secs = float(request.meta["download_timeout"]) + self._GRACE_SECS
        self._timer = call_later(self._secs, self._look)
        self.gave_up = False

    def _look(self) -> None:
        if is_queued(self._crawler, self._request):
            self._timer = call_later(self._secs, self._look)
            return
        self.gave_up = True
        self._download.cancel()  # type: ignore[attr-defined]

    def end(self) -> None:
        self._timer.cancel()


def _is_url_for_scrapy(url: str) -> bool:
    """Whether Scrapy makes a request of `url`; it is pickier than we are."""
    try:
        Request(url)
    except ValueError:
        return False
    return True


def _exchange(request: Request) -> Exchange | None:
    exchange = request.meta.get(_EXCHANGE)
    return exchange if isinstance(exchange, Exchange) else None


def _max_age(found: Headers) -> float | None:
    return headers.max_age(found.getlist("Cache-Control"), found.get("Age"))


def _failure(error: BaseException) -> Failure:
    """Say which failure an exception is; Twisted wraps the reasons of a failed response in another exception."""
    for reason in getattr(error, "reasons", None) or ():
        if (kind := _failure(reason.value)) is not Failure.OTHER:
            return kind
    for cls in type(error).__mro__:
        if cls.__name__ in _FAILURES:
            return _FAILURES[cls.__name__]
    return _failure(error.__cause__) if error.__cause__ is not None else Failure.OTHER
