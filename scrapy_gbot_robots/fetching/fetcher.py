"""Fetching one robots.txt: an origin in, an `Outcome` out, whatever the server or the settings do.

The request goes through Scrapy's engine and downloader middlewares like any other, so that proxies,
user agents, delays and other download handlers apply. The response is taken from the download
handler (`Exchange`), before any middleware can redirect, decode, cache or drop it. `policy.outcome`
decides what the response means.
Source: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.1.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, Response
from scrapy.http.request import NO_CALLBACK
from twisted.internet.defer import CancelledError

from ..concurrency import Places, run_in_thread, within
from ..core.urls import Origin, shown
from ..engine import (
    LISTENER,
    Overhearing,
    Send,
    around_sending,
    downloader_middleware,
    is_closing,
    send_beside_limits,
)
from ..policy import headers
from ..policy.decoding import ACCEPTED, DecodeError, as_served, decoded
from ..policy.outcome import (
    REDIRECTS,
    Failure,
    Outcome,
    Unreachable,
    dead_end,
    failed,
    next_hop,
    outcome_of,
    recalled,
)
from ..policy.walls import HEADERS
from ..settings import GbotSettings
from ..signals import robotstxt_served
from .failures import NotCachedError, failure_of
from .private_hosts import leads_inside

PRIORITY = 1000  # as in Scrapy's own middleware: pages wait for it

# Robots.txt requests at a time, beside CONCURRENT_REQUESTS. Each is a socket: at most a quarter of
# the open files that the process may have. Windows tells no such limit.
FEWEST_SOCKETS = 256
MOST_SOCKETS = 2048
MOST_UNDER_WAY = min(
    MOST_SOCKETS, max(FEWEST_SOCKETS, getattr(os, "sysconf", lambda _: 0)("SC_OPEN_MAX") // 4)
)

GRACE_SECS = 1.0  # extra time for a download handler to observe the time-out by itself

_BODY_DECIDES = range(200, 300)  # with any other status the body is not needed
# for a second request, for the status alone; plus the time that the first one's headers took
_STATUS_SECS = 2.0
_READ_IN_THREAD_BYTES = 8 * 2**10  # as served; a longer body may take milliseconds to read

# Keeps Scrapy's own middlewares from changing, dropping or storing a robots.txt, or from adding to
# its request.
_OWN_META = {
    "allow_offsite": True,
    "dont_cache": True,
    "dont_merge_cookies": True,
    "dont_obey_robotstxt": True,
    "dont_redirect": True,
    "dont_retry": True,
    # a response that lost data then comes with its status and a flag
    "download_fail_on_dataloss": False,
    "download_maxsize": 0,  # the body is cut at our own limit, not dropped at Scrapy's
    "download_warnsize": 0,
    "ftp_password": "guest",
    # whatever FTP_USER says: no credentials (Google's page, "File location")
    "ftp_user": "anonymous",
    "handle_httpstatus_all": True,
}

# Present and empty, so that no middleware fills them in: the request has no credentials and is not
# conditional. Named as `Headers` has its keys: its own methods would work these names out again for
# each request.
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

_STATUS_ONLY = -1  # bytes: the download stops as soon as the headers are there
_PROXY_HEADER = "Proxy-Authorization"
# HttpProxyMiddleware's meta key: the proxy of the header, which it drops for another proxy
_AUTHORISED = "_auth_proxy"

logger = logging.getLogger(__name__)


class Exchange:
    """One request for a robots.txt, and what came of it before any middleware changed that.

    It stops a download that is long enough. If another middleware sends the request again, the
    exchange starts again.
    """

    def __init__(self, robots_request: Request, most_bytes: int, secs_left: float = 0.0) -> None:
        self.robots_request = robots_request  # the request as the fetcher made it
        # as the download handler got it; None if a middleware did not let it pass
        self.request: Request | None = None
        # how long the response's headers took; None if they never came
        self.headers_secs: float | None = None
        # whether this exchange stopped the download: then a short body is not a lost one
        self.stopped = False
        # without Content-Encoding, so that no middleware decodes the body
        self.response: Response | None = None
        self.headers = Headers()  # all those of the response
        # how long the download handler took: without the downloader's queue and other middlewares
        self.secs = 0.0
        self.error: BaseException | None = None  # why there is no response
        # whether it comes from Scrapy's HTTP cache: no server was asked now, or none answered
        self.recalled = False
        self._most_bytes = most_bytes
        self._received = 0
        self._secs_left = secs_left  # for how many seconds a download handler may have it
        self._sent_at = 0.0  # on the monotonic clock
        self._proxy = robots_request.meta.get("proxy")  # of the request that needs the robots.txt
        self._credentials = robots_request.headers.get(_PROXY_HEADER)  # for that proxy

    async def sent(self, send: Send, request: Request) -> Response:
        """Let a download handler have the request for no longer than its time.

        Some handlers ignore `download_timeout`. Of one that is cancelled, Scrapy waits for the end
        for ever: asyncio's CancelledError is no `Exception`, Twisted's is. The time that a request
        spends in the downloader's queue does not count.
        """
        self.request = request
        self.headers_secs = None
        self.stopped = False
        self.response = None
        self._received = 0
        self._take_out_headers(request)
        self._sent_at = time.monotonic()
        try:
            response = await within(self._secs_left + GRACE_SECS, send(request))
        except asyncio.CancelledError as error:
            raise CancelledError("the download handler was cancelled") from error
        finally:
            self.secs = time.monotonic() - self._sent_at
        self.keep(response)
        return response

    def _take_out_headers(self, request: Request) -> None:
        """Take out empty headers, which some handlers send, and credentials for another proxy."""
        for name in NEVER_SENT:
            if not dict.get(request.headers, name):
                dict.pop(request.headers, name, None)
        proxy = request.meta.get("proxy")
        is_of_a_middleware = is_for_this_proxy = False
        if proxy:
            # A middleware that has chosen the proxy has given its credentials, too.
            is_of_a_middleware = request.headers.get(_PROXY_HEADER) != self._credentials
            is_for_this_proxy = proxy == request.meta.get(_AUTHORISED, self._proxy)
        if not (is_of_a_middleware or is_for_this_proxy):
            request.headers.pop(_PROXY_HEADER, None)

    def goes_on(self, data: bytes) -> bool:
        """Note the headers, or a piece of the body.

        Return whether more is wanted: one byte more than the parser reads.
        """
        if self.headers_secs is None:
            self.headers_secs = time.monotonic() - self._sent_at
        self._received += len(data)
        self.stopped = self._received > self._most_bytes
        return not self.stopped

    def keep(self, response: Response) -> None:
        """Keep what a download handler has returned."""
        self.response = response
        self.headers = response.headers.copy()
        response.headers.pop("Content-Encoding", None)

    @property
    def has_proxy(self) -> bool:
        """Whether the request went to a proxy, as it was sent in the end."""
        return bool((self.request or self.robots_request).meta.get("proxy"))

    @property
    def is_answered(self) -> bool:
        """Whether a server has answered, or a middleware has dropped the request.

        If so, no stored response counts.
        """
        if self.response is not None or self.headers_secs is not None:
            return True
        return isinstance(self.error, IgnoreRequest)

    def outcome(self, response: Response, url: str, settings: GbotSettings) -> Outcome:
        """What the response to `url` means.

        The status decides unless it is a 2xx, whatever happened to the body.
        """
        lost = None
        body = b""
        cut = False
        try:
            body, cut = self._body(response, settings.max_bytes)
        except DecodeError as error:
            lost = failed(Failure.BAD_CONTENT, str(error))
        except EOFError:
            lost = failed(Failure.TRUNCATED)
        if lost is not None and response.status in _BODY_DECIDES:
            return lost
        decisive: dict[str, str] = {}  # they say whose answer it is, and in which code page
        for name in (*HEADERS, "content-type"):
            value = response.headers.get(name)
            if value:
                decisive[name] = value.decode("latin-1")
        return outcome_of(
            response.status,
            url,
            body,
            soft_404=settings.soft_404,
            proxied=self.has_proxy,
            headers=decisive,
            cut=cut,
            max_age=headers.max_age(
                response.headers.getlist("Cache-Control"), response.headers.get("Age")
            ),
            retry_after=headers.retry_after(response.headers.get("Retry-After"), time.time()),
        )

    def _body(self, response: Response, max_bytes: int) -> tuple[bytes, bool]:
        """Return the body without its codings, and whether there was more.

        Raises:
            DecodeError: a coding cannot be undone.
            EOFError: the connection ended early.
        """
        if "dataloss" in response.flags:
            raise EOFError
        if "download_stopped" in response.flags and not self.stopped:
            raise EOFError
        transfer = _codings(self.headers, "Transfer-Encoding")  # some handlers leave them in
        if {name.strip() for name in transfer.split(",")} - {"", "chunked", "identity"}:
            raise DecodeError(f"Transfer-Encoding {transfer[:80]!r} was not undone")
        return decoded(
            as_served(response.body, response.flags),
            _codings(self.headers, "Content-Encoding"),
            max_bytes,
            whole=not self.stopped,
            # A partial body may be empty because the connection ended.
            may_be_empty="partial" not in response.flags,
        )


def _codings(of: Headers, name: str) -> str:
    return b",".join(of.getlist(name)).decode("latin-1").lower()


class HttpCache:
    """Scrapy's HTTP cache, with which a crawl can be replayed when its servers are gone.

    Each robots.txt that a server sends is stored, with its redirects, if `HTTPCACHE_POLICY` agrees.
    It is recalled only if no server answers: a live crawl never obeys an old one. With
    `HTTPCACHE_IGNORE_MISSING`, Scrapy asks no server, so it is recalled at once. If the cache's
    storage or policy fails, the log says so once, and the cache counts as empty.
    """

    def __init__(self, crawler: Crawler, middleware: HttpCacheMiddleware) -> None:
        self._crawler = crawler
        self._middleware = middleware
        self._has_failed = False

    def replays(self, request: Request) -> bool:
        """Whether no server is to be asked for `request`."""
        with self._failing_safely(request):
            return bool(
                self._middleware.ignore_missing
                and self._middleware.policy.should_cache_request(request)
            )
        return False  # after a suppressed error

    def stored(self, request: Request) -> Response | None:
        """The stored response for `request`; None if there is none."""
        with self._failing_safely(request):
            response: Response | None = self._middleware.storage.retrieve_response(
                self._crawler.spider, request
            )
            return response
        return None  # after a suppressed error

    def store(self, request: Request, response: Response) -> None:
        """Store what a server has sent for `request`, if the policy agrees."""
        policy = self._middleware.policy
        with self._failing_safely(request):
            if policy.should_cache_request(request) and policy.should_cache_response(
                response, request
            ):
                self._middleware.storage.store_response(self._crawler.spider, request, response)
                self._crawler.stats.inc_value("gbot_robots/http_cache/stored")

    @contextmanager
    def _failing_safely(self, request: Request) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # of a policy or storage of the user's
            self._crawler.stats.inc_value("gbot_robots/http_cache/errors")
            if not self._has_failed:
                logger.warning(
                    "Scrapy's HTTP cache failed for %s: %r", request.url, error, exc_info=error
                )
            self._has_failed = True


class Fetcher:
    """Fetches robots.txt files through the engine of a crawl."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._places = Places(MOST_UNDER_WAY)
        self._overhearing = Overhearing(crawler)
        self._has_wrapped_handler = False

    def robots_request(self, url: str, request: Request | None) -> Request:
        """Return the request for the robots.txt at `url`.

        `request` is the request that needs it, or None.

        Override this method if the crawl needs another request, such as one for a browser's
        download handler.
        """
        meta: dict[str, object] = {}
        if request is not None:
            for key in (*self._settings.meta_keys, _AUTHORISED):
                if key in request.meta:
                    meta[key] = request.meta[key]
        robots_request = Request(
            url,
            callback=NO_CALLBACK,
            dont_filter=True,
            priority=PRIORITY,
            headers={"Accept-Encoding": ACCEPTED},
            meta=meta,
        )
        # Scrapy's HttpProxyMiddleware takes user and password out of the proxy's URL and puts them
        # into a header. A request that is redirected or tried again has been through it: its
        # `proxy` meta key is not enough any more.
        if (
            request is not None
            and robots_request.meta.get("proxy")
            and _PROXY_HEADER in request.headers
        ):
            robots_request.headers[_PROXY_HEADER] = request.headers[_PROXY_HEADER]
        return robots_request

    async def fetch(self, origin: Origin, request: Request | None = None) -> Outcome:
        """Fetch the robots.txt of `origin`, follow redirects, and return the outcome.

        Only cancellation raises.

        Args:
            origin: the origin of the robots.txt.
            request: the request that needs the robots.txt. The fetch takes the meta keys of
                `GBOT_ROBOTS_META_KEYS` from it, and the credentials for its proxy.
        """
        exchanges: list[Exchange] = []
        outcome = await self._followed(origin, request, exchanges)
        if any(exchange.recalled for exchange in exchanges):
            return recalled(outcome)
        if self._http_cache is not None and not isinstance(outcome, Unreachable):
            for exchange in exchanges:
                if exchange.response is not None and exchange.request is not None:
                    self._http_cache.store(
                        exchange.robots_request, exchange.response.replace(headers=exchange.headers)
                    )
        return outcome

    async def _followed(
        self, origin: Origin, request: Request | None, exchanges: list[Exchange]
    ) -> Outcome:
        """Fetch, follow redirects, and return the outcome.

        Each exchange is added to `exchanges`.
        """
        secs_left = self._settings.timeout_secs
        trail = [origin.robots_url]
        while True:
            exchange = await self._ask_or_recall(trail[-1], request, secs_left)
            exchanges.append(exchange)
            answer = exchange.response
            redirected_to = ""
            if len(trail) > 1:
                redirected_to = trail[-1]
            if answer is None:
                if exchange.error is None:
                    return failed(Failure.REPLACED, redirected_to=redirected_to)
                self._crawler.stats.inc_value(f"robotstxt/exception_count/{type(exchange.error)}")
                return failure_of(exchange.error, redirected_to, proxied=exchange.has_proxy)
            if answer.status not in REDIRECTS:
                outcome = await self._read(exchange, answer, trail[-1])
                if isinstance(outcome, Unreachable):
                    outcome = replace(outcome, redirected_to=redirected_to)
                if not exchange.recalled:
                    self._crawler.signals.send_catch_log(
                        robotstxt_served,
                        origin=origin,
                        outcome=outcome,
                        request=exchange.robots_request,
                        response=answer,
                        headers=exchange.headers,
                    )
                return outcome
            secs_left -= exchange.secs
            looking_at = time.monotonic()
            hop = await self._next_hop(answer, trail, secs_left)
            if not isinstance(hop, str):
                return hop
            secs_left -= time.monotonic() - looking_at
            if secs_left <= 0:
                return failed(Failure.TIMEOUT, redirected_to=hop)
            trail.append(hop)

    async def _read(self, exchange: Exchange, answer: Response, url: str) -> Outcome:
        """Return what `answer` means, which may take a thread."""
        read = partial(exchange.outcome, answer, url, self._settings)
        if len(answer.body) > _READ_IN_THREAD_BYTES:
            return await run_in_thread(read)
        return read()

    async def _next_hop(
        self, answer: Response, trail: list[str], secs_left: float
    ) -> str | Outcome:
        """Return the URL to fetch after a redirect, or the outcome if there is none.

        It takes at most `secs_left` seconds.
        """
        hop = next_hop(
            answer.status, answer.headers.get("Location"), trail, self._settings.max_redirects
        )
        if not isinstance(hop, str) or not self._settings.refuse_private:
            return hop
        try:
            inside = await within(max(0.0, secs_left), leads_inside(hop, trail[-1]))
        except TimeoutError:
            return failed(Failure.TIMEOUT, "its address was not found", hop)
        if not inside:
            return hop
        self._crawler.stats.inc_value("gbot_robots/refused_private")
        logger.warning(
            "%s redirects to a private address, which GBOT_ROBOTS_REFUSE_PRIVATE refuses; "
            "it counts as a 404: %s",
            trail[0],
            shown(hop),
        )
        return dead_end(answer.status, trail[-1], "to a private address")

    async def _ask_or_recall(self, url: str, request: Request | None, secs_left: float) -> Exchange:
        """Request `url`, or recall its response from Scrapy's HTTP cache.

        It is recalled if the settings say so, or no server answers.
        """
        cache = self._http_cache
        if cache is None:
            return await self._ask(url, request, secs_left)
        exchange = Exchange(self.robots_request(url, request), self._settings.max_bytes)
        if not cache.replays(exchange.robots_request):
            exchange = await self._ask(url, request, secs_left)
        if not exchange.is_answered:
            stored = cache.stored(exchange.robots_request)
            if stored is not None:
                self._crawler.stats.inc_value("gbot_robots/http_cache/recalled")
                # The cache does not say whether the download was stopped.
                exchange.keep(stored)
                exchange.recalled = True
                exchange.stopped = len(stored.body) > self._settings.max_bytes
            if exchange.error is None:
                exchange.error = NotCachedError()
        return exchange

    @cached_property
    def _http_cache(self) -> HttpCache | None:
        """Scrapy's HTTP cache; None if the crawl has none, or one of the user's own."""
        middleware = downloader_middleware(self._crawler, HttpCacheMiddleware)
        if middleware is None:
            return None
        return HttpCache(self._crawler, middleware)

    async def _ask(self, url: str, request: Request | None, secs_left: float) -> Exchange:
        """Request `url`.

        If the response breaks off after its headers, request it again for the status alone.

        Most statuses decide without the body (Google's page, "HTTP status codes"). But no download
        handler tells the status of a response whose body hangs or is reset.
        """
        exchange = await self._send(url, request, secs_left, self._settings.max_bytes)
        if exchange.response is None and exchange.headers_secs is not None:
            again = await self._send(
                url, request, min(secs_left, _STATUS_SECS + 2 * exchange.headers_secs), _STATUS_ONLY
            )
            if again.response is not None and again.response.status not in _BODY_DECIDES:
                return again
        return exchange

    async def _send(
        self, url: str, request: Request | None, secs_left: float, most_bytes: int
    ) -> Exchange:
        """Send a request for `url` through Scrapy's engine; return what came in `secs_left`."""
        robots_request = self.robots_request(url, request)
        exchange = Exchange(robots_request, most_bytes, secs_left)
        robots_request.meta.update(_OWN_META, download_timeout=secs_left)
        robots_request.meta[LISTENER] = exchange
        # Offered empty; the exchange takes them out before it sends. The update of `Headers` itself
        # would work the names out again for each request.
        dict.update(robots_request.headers, {name: [] for name in NEVER_SENT})
        if not self._has_wrapped_handler:
            self._has_wrapped_handler = True
            around_sending(self._crawler, _send_of_exchange)
        async with self._places:
            with self._overhearing.listening():
                try:
                    response = await send_beside_limits(self._crawler, robots_request)
                    if exchange.request is None:
                        # It is from a middleware that answers by itself, such as a cache.
                        exchange.response = response
                        exchange.headers = response.headers
                except (Exception, asyncio.CancelledError) as error:
                    is_cancelled = isinstance(error, (CancelledError, asyncio.CancelledError))
                    # this look-up; otherwise it is the download
                    if is_cancelled and is_closing(self._crawler):
                        raise
                    exchange.error = error
                finally:
                    robots_request.meta.pop(
                        LISTENER, None
                    )  # otherwise it would keep the body in memory
                    robots_request.headers.pop(
                        _PROXY_HEADER, None
                    )  # otherwise an archive would contain it
        return exchange


async def _send_of_exchange(send: Send, request: Request) -> Response:
    exchange = request.meta.get(LISTENER)
    if isinstance(exchange, Exchange):
        return await exchange.sent(send, request)
    return await send(request)
