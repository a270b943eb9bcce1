"""Fetching one robots.txt: an origin in, an `Outcome` out, whatever the server or the settings do.

The request goes through Scrapy's engine and downloader middlewares like any other, so that proxies, user agents, delays
and other download handlers apply. The response is taken from the download handler (`Exchange`), before any middleware can
redirect, decode, cache or drop it. `policy.outcome` decides what the response means.
Source: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.1.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from functools import cached_property, partial

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, Response
from scrapy.http.request import NO_CALLBACK
from twisted.internet.defer import CancelledError

from ..concurrency import Places, run_in_thread, within
from ..core.urls import Origin, shown
from ..engine import LISTENER, Overhearing, Send, around_sending, is_closing, uncounted
from ..policy import headers
from ..policy.decoding import ACCEPTED, DecodeError, as_served, decoded
from ..policy.outcome import (
    REDIRECTS,
    Failure,
    Outcome,
    Unavailable,
    Unreachable,
    failed,
    next_hop,
    outcome_of,
    recalled,
)
from ..policy.walls import HEADERS
from ..settings import GbotSettings
from ..signals import robotstxt_served
from .failures import NotCachedError, failure_of
from .host_lookup import leads_inside
from .http_cache import HttpCache

PRIORITY = 1000  # as in Scrapy's own middleware: pages wait for it

# Robots.txt requests at a time, beside CONCURRENT_REQUESTS. Each is a socket: at most a quarter of the open files that the
# process may have. Windows tells no such limit.
FEWEST_SOCKETS, MOST_SOCKETS = 256, 2048
MOST_UNDER_WAY = min(MOST_SOCKETS, max(FEWEST_SOCKETS, getattr(os, "sysconf", lambda _: 0)("SC_OPEN_MAX") // 4))

GRACE_SECS = 1.0  # extra time for a download handler to observe the time-out by itself

_BODY_DECIDES = range(200, 300)  # with any other status the body is not needed
_STATUS_SECS = 2.0  # for a second request, for the status alone; plus the time that the first one's headers took
_READ_IN_THREAD_BYTES = 8 * 2**10  # as served; a longer body may take milliseconds to read

# Keeps Scrapy's own middlewares from changing, dropping or storing a robots.txt, or from adding to its request.
_OWN_META = {
    "allow_offsite": True,
    "dont_cache": True,
    "dont_merge_cookies": True,
    "dont_obey_robotstxt": True,
    "dont_redirect": True,
    "dont_retry": True,
    "download_fail_on_dataloss": False,  # a response that lost data then comes with its status and a flag
    "download_maxsize": 0,  # the body is cut at our own limit, not dropped at Scrapy's
    "download_warnsize": 0,
    "ftp_password": "guest",
    "ftp_user": "anonymous",  # whatever FTP_USER says: no credentials (Google's page, "File location")
    "handle_httpstatus_all": True,
}

# Present and empty, so that no middleware fills them in: the request has no credentials and is not conditional. Named as
# `Headers` has its keys: its own methods would work these names out again for each request.
NEVER_SENT = (
    b"Authorization",
    b"Cookie",
    b"If-Match",
    b"If-Modified-Since",
    b"If-None-Match",
    b"If-Unmodified-Since",
    b"Range",
    b"Referer",
)

_PROXY_HEADER = "Proxy-Authorization"
_AUTHORISED = "_auth_proxy"  # HttpProxyMiddleware's meta key: the proxy of the header, which it drops for another proxy
_CARRIED = "_gbot_robots_proxy_credentials"  # request.meta key: the value of the header that was copied, and its proxy

logger = logging.getLogger(__name__)


class Exchange:
    """One request for a robots.txt, and what came of it before any middleware changed that: `engine` tells it.

    It stops a download that is long enough. If another middleware sends the request again, the exchange starts again.

    Attributes:
        own: the request as the fetcher made it.
        left: for how many seconds a download handler may have it.
        request: the request as it reached the downloader; None if a middleware did not let it pass.
        sent_at: when the download handler got the request, in seconds on the monotonic clock.
        headers_at: when the response's headers came, on the same clock.
        stopped: whether this exchange stopped the download: then a short body is not a lost one.
        response: what the download handler returned. Its headers lack Content-Encoding, so that no middleware decodes the
            body; `headers` has them all.
        secs: how long the download handler took, in seconds: without the downloader's queue and other middlewares.
        error: why there is no response.
        recalled: whether it comes from Scrapy's HTTP cache: no server was asked now, or none answered.
    """

    def __init__(self, own: Request, most_bytes: int, left: float = 0.0, *, status_only: bool = False) -> None:
        self.own = own
        self.left = left
        self._most_bytes = most_bytes
        self._status_only = status_only
        self._received = 0
        self.request: Request | None = None
        self.sent_at = 0.0
        self.headers_at: float | None = None
        self.stopped = False
        self.response: Response | None = None
        self.headers = Headers()
        self.secs = 0.0
        self.error: BaseException | None = None
        self.recalled = False

    def reached_downloader(self, request: Request) -> None:
        """Start again, and take out empty headers: some download handlers would send them."""
        self.request = request
        self.headers_at, self.stopped, self.response, self._received = None, False, None, 0
        for name in NEVER_SENT:
            if not dict.get(request.headers, name):
                dict.pop(request.headers, name, None)
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

    def recall(self, response: Response) -> None:
        """Keep a response from Scrapy's HTTP cache, which does not say whether its download was stopped."""
        self.response_downloaded(response)
        self.recalled, self.stopped = True, len(response.body) > self._most_bytes

    @property
    def is_answered(self) -> bool:
        """Whether a server has answered, or a middleware has dropped the request: no stored response counts then."""
        return self.response is not None or self.headers_at is not None or isinstance(self.error, IgnoreRequest)

    def coding(self, header: str) -> str:
        """The codings that a header of the response names, even if it was taken out; "" if it has none."""
        return b",".join(self.headers.getlist(header)).decode("latin-1").lower()

    @property
    def takes_long(self) -> bool:
        """Whether `outcome` may take milliseconds: it decodes a long body, or looks for lines in what may be a page."""
        body = b"" if self.response is None else self.response.body
        is_work = self.coding("Content-Encoding") or b"<" in body[:_READ_IN_THREAD_BYTES]
        return len(body) > _READ_IN_THREAD_BYTES and bool(is_work)

    def outcome(self, url: str, settings: GbotSettings) -> Outcome:
        """What the response to `url` means. The status decides unless it is a 2xx, whatever happened to the body."""
        response = self.response
        assert response is not None  # noqa: S101  for the type checker
        stopped = "download_stopped" in response.flags
        transfer = self.coding("Transfer-Encoding")  # which Scrapy's handler for aiohttp, say, leaves in the body
        lost, broken, body, cut = None, "", b"", False
        if "dataloss" in response.flags:
            lost = Failure.TRUNCATED
        elif stopped and not self.stopped:
            lost = Failure.STOPPED
        elif {name.strip() for name in transfer.split(",")} - {"", "chunked", "identity"}:
            lost, broken = Failure.BAD_CONTENT, f"Transfer-Encoding {transfer[:80]!r} was not undone"
        else:
            try:
                body, cut = decoded(
                    as_served(response.body, response.flags),
                    self.coding("Content-Encoding"),
                    settings.max_bytes,
                    whole=not (stopped or self.stopped),
                    # A partial body may be empty because the connection ended.
                    may_be_empty="partial" not in response.flags,
                )
            except DecodeError as error:
                lost, broken = Failure.BAD_CONTENT, str(error)
        outcome = outcome_of(
            response.status,
            url,
            body,
            soft_404=settings.soft_404,
            proxied=bool((self.request or self.own).meta.get("proxy")),
            headers={name: value.decode("latin-1") for name in HEADERS if (value := response.headers.get(name))},
            cut=cut,
            max_age=headers.max_age(response.headers.getlist("Cache-Control"), response.headers.get("Age")),
            retry_after=headers.retry_after(response.headers.get("Retry-After"), time.time()),
        )
        return failed(lost, broken) if lost is not None and response.status in _BODY_DECIDES else outcome


class Fetcher:
    """Fetches robots.txt files through the engine of a crawl."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._places = Places(MOST_UNDER_WAY)
        self._overhearing = Overhearing(crawler)
        self._is_bounding = False

    def robots_request(self, url: str, request: Request | None) -> Request:
        """Return the request for the robots.txt at `url`. `request` is the request that needs it, or None.

        Override this method if the crawl needs another request, such as one for a browser's download handler.
        """
        given = {} if request is None else request.meta
        own = Request(
            url,
            callback=NO_CALLBACK,
            dont_filter=True,
            priority=PRIORITY,
            headers={"Accept-Encoding": ACCEPTED},
            meta={key: given[key] for key in self._settings.meta_keys if key in given},
        )
        if request is not None:
            carry_credentials(own, request)
        return own

    async def fetch(self, origin: Origin, request: Request | None = None) -> Outcome:
        """Fetch the robots.txt of `origin`, follow redirects, and return the outcome. Only cancellation raises.

        Args:
            origin: the origin of the robots.txt.
            request: the request that needs the robots.txt. The fetch takes the meta keys of `GBOT_ROBOTS_META_KEYS` from
                it, and the credentials for its proxy.
        """
        exchanges: list[Exchange] = []
        outcome = await self._followed(origin, request, exchanges)
        if any(exchange.recalled for exchange in exchanges):
            return recalled(outcome)
        if self._http_cache is not None and not isinstance(outcome, Unreachable):
            for exchange in exchanges:
                if exchange.response is not None and exchange.request is not None:
                    self._http_cache.store(exchange.own, exchange.response, exchange.headers)
        return outcome

    async def _followed(self, origin: Origin, request: Request | None, exchanges: list[Exchange]) -> Outcome:
        """Fetch, follow redirects, and return the outcome; each exchange is added to `exchanges`."""
        left = self._settings.timeout_secs
        asked = [origin.robots_url]
        while True:
            exchange = await self._ask_or_recall(asked[-1], request, left)
            exchanges.append(exchange)
            answer = exchange.response
            if answer is None:
                if exchange.error is None:
                    return failed(Failure.REPLACED)
                self._crawler.stats.inc_value(f"robotstxt/exception_count/{type(exchange.error)}")
                return failure_of(exchange.error, asked[-1] if len(asked) > 1 else "")
            if answer.status not in REDIRECTS:
                read = partial(exchange.outcome, asked[-1], self._settings)
                outcome = await run_in_thread(read) if exchange.takes_long else read()
                if not exchange.recalled:
                    self._crawler.signals.send_catch_log(
                        robotstxt_served,
                        origin=origin,
                        outcome=outcome,
                        request=exchange.own,
                        response=answer,
                        headers=exchange.headers,
                    )
                return outcome
            left -= exchange.secs
            looking_at = time.monotonic()
            hop = await self._next_hop(answer, asked, left)
            if not isinstance(hop, str):
                return hop
            left -= time.monotonic() - looking_at
            if left <= 0:
                return failed(Failure.TIMEOUT, f"redirected to {hop}")
            asked.append(hop)

    async def _next_hop(self, answer: Response, asked: list[str], left: float) -> str | Outcome:
        """Return the URL to fetch after a redirect, or the outcome if there is none; `left` seconds are left."""
        hop = next_hop(answer.status, answer.headers.get("Location"), asked, self._settings.max_redirects)
        if isinstance(hop, Unavailable) or not self._settings.refuse_private:
            return hop
        try:
            inside = await within(max(0.0, left), leads_inside(hop, asked[-1]))
        except TimeoutError:
            return failed(Failure.TIMEOUT, f"redirected to {hop}: its address was not found")
        if not inside:
            return hop
        self._crawler.stats.inc_value("gbot_robots/refused_private")
        logger.warning(
            "%s redirects to a private address, which GBOT_ROBOTS_REFUSE_PRIVATE refuses; it counts as a 404: %s",
            asked[0],
            shown(hop),
        )
        return Unavailable(answer.status, asked[-1], f"HTTP {answer.status} to a private address, as 404")

    async def _ask_or_recall(self, url: str, request: Request | None, left: float) -> Exchange:
        """Request `url`, or recall its response from Scrapy's HTTP cache, if the settings say so or no server answers."""
        cache = self._http_cache
        if cache is None:
            return await self._ask(url, request, left)
        exchange = Exchange(self.robots_request(url, request), self._settings.max_bytes)
        if not cache.replays(exchange.own):
            asked = await self._ask(url, request, left)
            if asked.is_answered:
                return asked
            exchange.error = asked.error
        stored = cache.stored(exchange.own)
        if stored is not None:
            self._crawler.stats.inc_value("gbot_robots/http_cache/recalled")
            exchange.recall(stored)
        elif exchange.error is None:
            exchange.error = NotCachedError()
        return exchange

    @cached_property
    def _http_cache(self) -> HttpCache | None:
        """Scrapy's HTTP cache, if the crawl has one."""
        if not self._crawler.settings.getbool("HTTPCACHE_ENABLED"):
            return None
        from .http_cache import HttpCache  # noqa: PLC0415  most crawls have none

        return HttpCache(self._crawler)

    async def _ask(self, url: str, request: Request | None, left: float) -> Exchange:
        """Request `url`. If the response breaks off after its headers, request it again for the status alone.

        Most statuses decide without the body (Google's page, "HTTP status codes"). But no download handler tells the status
        of a response whose body hangs or is reset.
        """
        exchange = await self._send(url, request, left)
        if exchange.response is None and exchange.headers_at is not None:
            again_secs = min(left, _STATUS_SECS + 2 * (exchange.headers_at - exchange.sent_at))
            again = await self._send(url, request, again_secs, status_only=True)
            if again.response is not None and again.response.status not in _BODY_DECIDES:
                return again
        return exchange

    async def _send(self, url: str, request: Request | None, left: float, *, status_only: bool = False) -> Exchange:
        """Send a request for `url` through Scrapy's engine, and return what came within `left` seconds."""
        own = self.robots_request(url, request)
        exchange = Exchange(own, self._settings.max_bytes, left, status_only=status_only)
        own.meta.update(_OWN_META, download_timeout=left)
        own.meta[LISTENER] = exchange
        dict.update(own.headers, {name: [] for name in NEVER_SENT})
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101  for the type checker: there is one while there are requests
        if not self._is_bounding:
            self._is_bounding = True
            around_sending(self._crawler, _send_within)
        async with self._places:
            with self._overhearing.listening(), uncounted(self._crawler, own):
                try:
                    response = await engine.download_async(own)
                    if exchange.request is None:
                        # It is from a middleware that answers by itself, such as a cache.
                        exchange.response, exchange.headers = response, response.headers
                except (Exception, asyncio.CancelledError) as error:
                    is_cancelled = isinstance(error, (CancelledError, asyncio.CancelledError))
                    if is_cancelled and is_closing(self._crawler):  # this look-up; otherwise it is the download
                        raise
                    exchange.error = error
                finally:
                    own.meta.pop(LISTENER, None)  # otherwise it would keep the body in memory
                    own.headers.pop(_PROXY_HEADER, None)  # otherwise an archive would contain it
        return exchange


async def _send_within(send: Send, request: Request) -> Response:
    """Let a download handler have a request for a robots.txt for no longer than its time, and end it in an exception.

    Some handlers ignore `download_timeout`. Of one that is cancelled, Scrapy waits for the end for ever: asyncio's
    CancelledError is no `Exception`, Twisted's is. The time that a request spends in the downloader's queue does not count.
    """
    exchange = request.meta.get(LISTENER)
    if not isinstance(exchange, Exchange):
        return await send(request)
    exchange.sent_at = time.monotonic()
    try:
        return await within(exchange.left + GRACE_SECS, send(request))
    except asyncio.CancelledError as error:
        raise CancelledError("the download handler was cancelled") from error
    finally:
        exchange.secs = time.monotonic() - exchange.sent_at


def carry_credentials(own: Request, request: Request) -> None:
    """Copy the proxy credentials of `request` to `own`, if both go through the same proxy.

    Scrapy's HttpProxyMiddleware takes user and password out of the proxy's URL and puts them into a header. After a redirect
    or a retry, a request has been through that middleware: its `proxy` meta key alone is not enough for the proxy any more.
    """
    proxy = own.meta.get("proxy")
    header = request.headers.get(_PROXY_HEADER)
    if not proxy or header is None or proxy != request.meta.get("proxy"):
        return
    if request.meta.get(_AUTHORISED, proxy) == proxy:
        own.headers[_PROXY_HEADER] = header
        own.meta[_AUTHORISED] = proxy
        own.meta[_CARRIED] = (header, proxy)


def leave_credentials(own: Request) -> None:
    """Remove proxy credentials from a request in the downloader, unless it goes through the proxy that they are for."""
    proxy = own.meta.get("proxy")
    header, carried_for = own.meta.get(_CARRIED, (None, None))
    if not proxy or (own.headers.get(_PROXY_HEADER) == header and proxy != carried_for):
        own.headers.pop(_PROXY_HEADER, None)
