"""Fetch one robots.txt: an origin goes in, and an `Outcome` comes out, whatever the server does.

The request goes through Scrapy's engine and downloader middlewares like any other, so that proxies,
user agents, delays and other download handlers apply. The response is taken from the download
handler (`exchange`), before any middleware can redirect, decode, cache or drop it. `policy.outcome`
decides what the response means.
Source: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.1.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from scrapy import Request, version_info
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpauth import HttpAuthMiddleware
from scrapy.downloadermiddlewares.httpcompression import ACCEPTED_ENCODINGS
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import CancelledError, DeferredSemaphore

from ..concurrency import run_in_thread, within
from ..core.urls import Origin, may_resolve, shown
from ..engine import (
    LISTENER,
    Overhearing,
    RobotsConnections,
    Send,
    around_sending,
    downloader_middleware,
    is_closing,
    is_http_of_scrapy,
    send_beside_limits,
)
from ..policy.outcome import (
    REDIRECTS,
    Failure,
    Outcome,
    Unreachable,
    after_redirect,
    dead_end,
    failed,
    next_hop,
)
from ..settings import GbotSettings
from ..signals import robotstxt_served
from .exchange import (
    AUTHORISED,
    BODY_DECIDES,
    CREDENTIALS,
    MOST_DOWNLOADED,
    NEVER_SENT,
    PROXY_HEADER,
    Exchange,
    error_of,
    failure_of,
)
from .private_hosts import leads_inside

# Scrapy's own middleware uses the same priority, because pages wait for a robots.txt.
PRIORITY = 1000

# How many robots.txt requests may be sent at the same time, in addition to CONCURRENT_REQUESTS.
# Each needs a socket, so they take at most a quarter of the files that the process may have open,
# within these two bounds. Windows does not report how many files that is.
FEWEST_SOCKETS = 256
MOST_SOCKETS = 2048
MOST_UNDER_WAY = min(
    MOST_SOCKETS, max(FEWEST_SOCKETS, getattr(os, "sysconf", lambda _: 0)("SC_OPEN_MAX") // 4)
)

# A thread reads longer bodies, because that may take milliseconds. The length is before decoding.
_READ_IN_THREAD_BYTES = 8 * 2**10

_ANONYMOUS = {"ftp_user": "anonymous", "ftp_password": "guest"}

# These meta keys keep Scrapy's own middlewares from changing, dropping or storing a robots.txt, and
# from adding to its request.
_OWN_META = {
    "allow_offsite": True,
    "dont_cache": True,
    "dont_merge_cookies": True,
    "dont_obey_robotstxt": True,
    "dont_redirect": True,
    "dont_retry": True,
    # With this, a truncated response is returned with its status and a flag.
    "download_fail_on_dataloss": False,
    "download_maxsize": MOST_DOWNLOADED,
    "download_warnsize": 0,
    # FTP_USER is used only if the server does not accept an anonymous login (Google's page, "File
    # location").
    **_ANONYMOUS,
    "handle_httpstatus_all": True,
}

# Accept-Encoding is left to Scrapy, because scrapy-zyte-api warns of any other value. But Scrapy
# before 2.18 may offer zstd, which this plugin cannot decode there.
_HEADERS: dict[str, bytes] = {}
if version_info < (2, 18) and b"zstd" in ACCEPTED_ENCODINGS:
    _HEADERS["Accept-Encoding"] = b"gzip, deflate"

# This many warnings of one kind are logged. A broad crawl has thousands; the stats count them all.
MOST_WARNED = 10
_STATUS_ONLY = -1  # With this many bytes, the download stops as soon as the headers have come.
logger = logging.getLogger(__name__)


class Fetcher:
    """Fetches robots.txt files through the engine of a crawl."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._places = DeferredSemaphore(MOST_UNDER_WAY)
        self._overhearing = Overhearing(crawler)
        self._connections = RobotsConnections(crawler, MOST_UNDER_WAY)
        # Whether each download goes through `_send_now`; None until the first robots.txt request.
        self._sees_downloads: bool | None = None
        self._private_redirects = 0
        self._has_warned_of_limit = False
        self._logged_faults: set[type] = set()  # classes of middlewares' exceptions

    def make_robots_request(self, url: str, request: Request | None) -> Request:
        """Return the request for the robots.txt at `url`.

        Override this method if the crawl needs another request, for example one for a browser's
        download handler.

        Args:
            url: the URL of a robots.txt, or the URL to which a robots.txt redirects.
            request: the request of the page that needs the robots.txt, or None.
        """
        page = request or Request(url)
        keys = (*self._settings.meta_keys, AUTHORISED)
        robots_request = Request(
            url,
            callback=NO_CALLBACK,
            dont_filter=True,
            priority=PRIORITY,
            headers=_HEADERS,
            meta={key: page.meta[key] for key in keys if key in page.meta},
        )
        # Scrapy's HttpProxyMiddleware takes user and password out of the proxy's URL and puts them
        # into a header. It has processed a request that is redirected or sent again, so in such a
        # request the `proxy` meta key alone is not enough.
        if robots_request.meta.get("proxy") and PROXY_HEADER in page.headers:
            robots_request.headers[PROXY_HEADER] = page.headers[PROXY_HEADER]
        return robots_request

    async def fetch(self, origin: Origin, request: Request | None = None) -> Outcome:
        """Fetch the robots.txt of `origin`, follow redirects, and return the outcome.

        A failure is returned as an outcome and not raised.

        Args:
            origin: the origin of the robots.txt.
            request: the request that needs the robots.txt. The request for the robots.txt copies
                the meta keys of `GBOT_ROBOTS_META_KEYS` and the credentials for the proxy from it.
        """
        secs_left = self._settings.timeout_secs
        trail = [origin.robots_url]
        while True:
            exchange = await self._ask(trail[-1], origin, request, secs_left)
            looking_at = time.monotonic()
            outcome = await self._hop_or_outcome(exchange, trail)
            if not isinstance(outcome, str):
                break
            trail.append(outcome)
            secs_left = exchange.secs_left - (time.monotonic() - looking_at)
            if secs_left <= 0:
                outcome = failed(Failure.TIMEOUT)
                break
        if isinstance(outcome, Unreachable) and len(trail) > 1:
            outcome = after_redirect(outcome, trail[-1])
        answer = exchange.response
        if answer is not None and answer.status not in REDIRECTS:
            self._crawler.signals.send_catch_log(
                robotstxt_served,
                origin=origin,
                outcome=outcome,
                request=exchange.robots_request,
                response=answer,
                headers=exchange.headers,
            )
        return outcome

    async def _hop_or_outcome(self, exchange: Exchange, trail: list[str]) -> str | Outcome:
        """Return the URL to which the last URL of `trail` redirects, or the outcome."""
        answer = exchange.response
        if answer is None:
            error = exchange.error
            if error is None:
                return failed(Failure.REPLACED)
            self._crawler.stats.inc_value(f"robotstxt/exception_count/{type(error)}")
            if exchange.denied_login:
                return failed(Failure.LOGIN, exchange.denied_login)
            if exchange.fault:
                return failed(Failure.MIDDLEWARE, exchange.fault)
            return failure_of(error, proxy=exchange.proxy, host=Origin.of(trail[-1]).host)
        if exchange.denied_login:
            return failed(Failure.LOGIN, exchange.denied_login)
        proxy_failure = exchange.proxy_failure(answer)
        if proxy_failure is not None:
            return proxy_failure
        if answer.status in REDIRECTS:
            return await self._next_hop(answer, trail, exchange.secs_left)
        read = partial(exchange.outcome, answer, trail[-1], self._settings)
        if len(answer.body) > _READ_IN_THREAD_BYTES:
            return await run_in_thread(read)
        return read()

    async def _next_hop(
        self, answer: Response, trail: list[str], secs_left: float
    ) -> str | Outcome:
        """Return the URL to fetch after a redirect, or the outcome if there is none.

        The look-up of the new host takes at most `secs_left` seconds.
        """
        hop = next_hop(answer.status, answer.headers.get("Location"), trail)
        if not isinstance(hop, str) or not self._settings.deny_private:
            return hop
        try:
            inside = await within(max(0.0, secs_left), leads_inside(hop, trail[-1]))
        except TimeoutError:
            return failed(Failure.TIMEOUT, f"no address was found in time for {hop}")
        if not inside:
            return hop
        self._crawler.stats.inc_value("gbot_robots/redirects/denied")
        self._private_redirects += 1
        if self._private_redirects <= MOST_WARNED:
            logger.warning(
                "%s redirects to a private address, which GBOT_ROBOTS_DENY_PRIVATE does not "
                "allow, so it counts as a 404: %s",
                trail[0],
                shown(hop),
            )
        return dead_end(answer.status, trail[-1], "to a private address")

    async def _ask(
        self, url: str, origin: Origin, request: Request | None, secs_left: float
    ) -> Exchange:
        """Request `url`, for the robots.txt of `origin`. In two cases, request it a second time.

        If an FTP server does not accept the anonymous login, the second request has the login of
        the page.

        If the response breaks off after its headers, the second request is for the status alone.
        Most statuses decide without the body (Google's page, "HTTP status codes"). But if a body
        hangs or is reset, no download handler returns the status. The second request takes half of
        `secs_left` at most, so that a chain of redirects that hang comes to an end.
        """
        send = partial(self._send, url, origin, request)
        exchange = await send(secs_left, self._settings.max_bytes)
        if exchange.denied_login:
            login = self._ftp_login(request)
            if login is not None:
                return await send(exchange.secs_left, self._settings.max_bytes, login)
        if exchange.response is None and exchange.headers_came:
            again = await send(secs_left / 2, _STATUS_ONLY)
            if again.response is not None and again.response.status not in BODY_DECIDES:
                return again
        return exchange

    async def _send(
        self,
        url: str,
        origin: Origin,
        request: Request | None,
        secs_left: float,
        most_bytes: int,
        ftp_login: Mapping[str, Any] = _ANONYMOUS,
    ) -> Exchange:
        """Send a request for `url` through Scrapy's engine; return its exchange after it has ended.

        The download takes no longer than `secs_left` seconds.
        """
        robots_request = self.make_robots_request(url, request)
        exchange = Exchange(robots_request, most_bytes, secs_left)
        if not exchange.has_proxy and not may_resolve(Origin.of(url).host):
            # Twisted's resolver fails on such a name, and the download lasts until its time-out.
            exchange.error = error_of(Failure.DNS, "DNS cannot have such a name")
            return exchange
        own_meta = {
            **_OWN_META,
            **ftp_login,
            "download_timeout": secs_left,
            LISTENER: exchange,
        }
        robots_request.meta.update(own_meta)
        if self._sees_downloads is None:  # The crawl has a downloader only after it has begun.
            self._sees_downloads = around_sending(self._crawler, self._send_now)
        await maybe_deferred_to_future(self._places.acquire())
        try:
            self._set_credentials(robots_request, at_home=is_at_home(url, origin))
            with self._overhearing.listening():
                response = await send_beside_limits(
                    self._crawler, robots_request, self._settings.timeout_secs, own_meta
                )
            if exchange.request is None:
                # The response is from a middleware, for example a cache.
                exchange.response = response
                exchange.headers = response.headers
            else:
                self._expect_headers(exchange)
                if self._connections.second(exchange.request) is not None:
                    exchange.flag_unknown_length()
        except (Exception, asyncio.CancelledError) as error:
            is_cancelled = isinstance(error, (CancelledError, asyncio.CancelledError))
            # When the crawl closes, this look-up was cancelled; at other times, the download was.
            if is_cancelled and is_closing(self._crawler):
                raise
            exchange.error = error
            if self._sees_downloads:
                exchange.fault = exchange.fault_in(error)
        finally:
            self._places.release()
            # The exchange has the body, so the request would keep that in memory.
            robots_request.meta.pop(LISTENER, None)
            robots_request.meta.update(_ANONYMOUS)
            # A record of the crawl must not contain passwords.
            for name in (PROXY_HEADER, *CREDENTIALS):
                robots_request.headers.pop(name, None)
        kind = type(exchange.error)
        if exchange.fault and kind not in self._logged_faults:
            self._logged_faults.add(kind)
            sentence = "A downloader middleware failed on the request for %s: %s"
            logger.error(sentence, shown(url), shown(exchange.fault), exc_info=exchange.error)
        return exchange

    def _ftp_login(self, request: Request | None) -> dict[str, Any] | None:
        """The login with which Scrapy requests the page by FTP; None if that is anonymous."""
        settings = self._crawler.settings
        page_meta = {} if request is None else request.meta
        user = page_meta.get("ftp_user", settings["FTP_USER"])
        if not user or user == _ANONYMOUS["ftp_user"]:
            return None
        return {
            "ftp_user": user,
            "ftp_password": page_meta.get("ftp_password", settings["FTP_PASSWORD"]),
        }

    def _expect_headers(self, exchange: Exchange) -> None:
        """Warn once if Scrapy's own HTTP handler has not signalled the headers of a response."""
        request = exchange.request
        if request is None or exchange.headers_came or self._has_warned_of_limit:
            return
        if is_http_of_scrapy(self._crawler, request):
            self._has_warned_of_limit = True
            logger.warning(
                "Scrapy has not signalled the headers of %s. So the download of a robots.txt does "
                "not stop at GBOT_ROBOTS_MAX_BYTES, and fails above %d MiB. Please report this, "
                "with your version of Scrapy",
                shown(request.url),
                MOST_DOWNLOADED // 2**20,
            )

    def _set_credentials(self, robots_request: Request, *, at_home: bool) -> None:
        """Set the credentials that the project has for the host of a request, and no others.

        They come from Scrapy's HTTPAUTH settings and from the headers of `robots_request`. The
        headers that the request must not have are set to empty lists, so that no middleware adds
        them. The exchange removes these before it sends the request.

        Args:
            robots_request: the request; its headers are changed.
            at_home: whether the credentials may be sent to its URL, see `is_at_home`.
        """
        headers = robots_request.headers
        dict.update(headers, {name: [] for name in NEVER_SENT})
        if not at_home:
            dict.update(headers, {name: [] for name in CREDENTIALS})
            return
        middleware = downloader_middleware(self._crawler, HttpAuthMiddleware)
        if middleware is not None:
            middleware.process_request(robots_request)
        for name in CREDENTIALS:
            dict.setdefault(headers, name, [])

    async def _send_now(self, send: Send, request: Request) -> Response:
        """Send a request of the crawl. A request for a robots.txt is sent by its exchange."""
        exchange = request.meta.get(LISTENER)
        if not isinstance(exchange, Exchange):
            return await send(request)
        second = self._connections.second(request)
        if second is not None:
            send = second.download_request
        return await exchange.sent(send, request)


def is_at_home(url: str, origin: Origin) -> bool:
    """Whether credentials for `origin` may be sent to `url`.

    They may if `url` has this origin. Credentials for http on the default port may also be sent to
    https on the default port of the same host.
    """
    homes = [origin]
    if str(origin) == f"http://{origin.host}":
        homes.append(Origin.of(f"https://{origin.host}"))
    return Origin.of(url) in homes
