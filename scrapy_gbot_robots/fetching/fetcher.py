"""Fetch the robots.txt of an origin. The result is an `Outcome`, whatever the server does.

The request goes through Scrapy's engine and downloader middlewares like any other, so that proxies,
user agents, delays and other download handlers apply. The module `exchange` takes the response from
the download handler, before any middleware can redirect, decode, cache or drop the response. The
module `policy.outcome` decides what the response means.
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

# Pages wait for these requests, so they are urgent. Scrapy's own middleware uses the same priority.
PRIORITY = 1000

# MOST_UNDER_WAY is the greatest number of robots.txt requests at the same time, in addition to
# CONCURRENT_REQUESTS. Each request needs a socket. So the number is a quarter of the files that the
# process may have open, but not less than FEWEST_SOCKETS and not more than MOST_SOCKETS. Windows
# does not report its number of files, so there the number is FEWEST_SOCKETS.
FEWEST_SOCKETS = 256
MOST_SOCKETS = 2048
MOST_UNDER_WAY = min(
    MOST_SOCKETS, max(FEWEST_SOCKETS, getattr(os, "sysconf", lambda _: 0)("SC_OPEN_MAX") // 4)
)

# A longer body, measured before decoding, is read in a thread, because that may take milliseconds.
_READ_IN_THREAD_BYTES = 8 * 2**10

_ANONYMOUS = {"ftp_user": "anonymous", "ftp_password": "guest"}

# With these meta keys, Scrapy's own middlewares do not change, drop or store a robots.txt, and add
# nothing to the request for it.
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

# Only this many warnings of one kind are logged, because a broad crawl would log thousands. The
# stats count all cases.
MOST_WARNED = 10
_STATUS_ONLY = -1  # With this as `most_bytes`, the download stops when the headers have arrived.
logger = logging.getLogger(__name__)


class Fetcher:
    """Fetches robots.txt files through the engine of a crawl."""

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._places = DeferredSemaphore(MOST_UNDER_WAY)
        self._overhearing = Overhearing(crawler)
        self._connections = RobotsConnections(crawler, MOST_UNDER_WAY)
        # Whether all downloads of the crawl go through `_send_now`, which is not possible with some
        # downloaders; None until the first request for a robots.txt.
        self._sees_downloads: bool | None = None
        self._private_redirects = 0
        self._has_warned_of_limit = False
        # The classes of the exceptions of middlewares that were logged.
        self._logged_faults: set[type] = set()

    def make_robots_request(self, url: str, request: Request | None) -> Request:
        """Return the request for the robots.txt at `url`.

        Override this method if the crawl needs a different request, for example to fetch robots.txt
        files with the download handler of a browser.

        Args:
            url: the URL of a robots.txt, or the URL to which a robots.txt redirects.
            request: the request for a page that needs the robots.txt; None if there is none.
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
        # Scrapy's HttpProxyMiddleware moves user and password from the proxy's URL into a header.
        # If `page` is a redirect or a retry, this has already happened. Its `proxy` meta key alone
        # is then not enough, and the header must be copied as well.
        if robots_request.meta.get("proxy") and PROXY_HEADER in page.headers:
            robots_request.headers[PROXY_HEADER] = page.headers[PROXY_HEADER]
        return robots_request

    async def fetch(self, origin: Origin, request: Request | None = None) -> Outcome:
        """Fetch the robots.txt of `origin`, follow redirects, and return the outcome.

        A failed fetch does not raise; the outcome describes the failure.

        Args:
            origin: the origin of the robots.txt.
            request: the request for a page that needs the robots.txt; None if there is none. Its
                meta keys that `GBOT_ROBOTS_META_KEYS` names and its credentials for a proxy are
                copied to the request for the robots.txt.
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
        """Return the URL to which the robots.txt redirects, or the outcome of the fetch.

        Args:
            exchange: the finished exchange for the last URL of `trail`.
            trail: the URLs requested so far, from the robots.txt to the last redirect.
        """
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
        """Return the URL to fetch after a redirect, or the outcome if the redirect is not followed.

        With GBOT_ROBOTS_DENY_PRIVATE, the addresses of the new host are looked up, which takes at
        most `secs_left` seconds.
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
        """Request `url` for the robots.txt of `origin`, and return the finished exchange.

        In two cases, `url` is requested a second time:

        1. An FTP server denies the anonymous login. The second request uses the project's login.
        2. The headers arrive, but the body hangs or is reset, so that the download handler raises
           and does not report the status. The second request stops after the headers. If its status
           is not 2xx, the status is enough (Google's page, "HTTP status codes"). This request takes
           at most half of `secs_left`, so that a chain of redirects that hang comes to an end.
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
        """Send a request for `url` through Scrapy's engine, and return the finished exchange.

        Args:
            url: the URL of the robots.txt, or the URL to which it redirects.
            origin: the origin of the robots.txt.
            request: the request for a page that needs the robots.txt; None if there is none.
            secs_left: the download takes at most this many seconds.
            most_bytes: the download stops when the body has more bytes than this.
            ftp_login: the meta keys with the login for an FTP server.
        """
        robots_request = self.make_robots_request(url, request)
        exchange = Exchange(robots_request, most_bytes, secs_left)
        if not exchange.has_proxy and not may_resolve(Origin.of(url).host):
            # Twisted's resolver fails on such a name without ending the download, which would last
            # until its time-out.
            exchange.error = error_of(Failure.DNS, "DNS cannot have such a name")
            return exchange
        own_meta = {
            **_OWN_META,
            **ftp_login,
            "download_timeout": secs_left,
            LISTENER: exchange,
        }
        robots_request.meta.update(own_meta)
        if self._sees_downloads is None:  # There was no downloader yet when this object was made.
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
            # While the crawl closes, this coroutine itself was cancelled. At any other time, only
            # the download was cancelled, which is a failed fetch.
            if is_cancelled and is_closing(self._crawler):
                raise
            exchange.error = error
            if self._sees_downloads:
                exchange.fault = exchange.fault_in(error)
        finally:
            self._places.release()
            # The request may be kept for long, and the exchange contains the body of the response.
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
        """Return the FTP login of a page, as meta keys, or None if the login is anonymous."""
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
        """Set the credentials in the headers of a request for a robots.txt.

        If `at_home` is true, these are the credentials of Scrapy's HTTPAUTH settings and of the
        headers that the request has already. Headers that the request must not have are set to
        empty lists, so that no middleware adds them. The exchange removes the empty headers before
        it sends the request.

        Args:
            robots_request: the request; its headers are changed.
            at_home: whether the project's credentials may be sent to this URL (`is_at_home`).
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
        """Send any request of the crawl; use the exchange if the request is for a robots.txt."""
        exchange = request.meta.get(LISTENER)
        if not isinstance(exchange, Exchange):
            return await send(request)
        second = self._connections.second(request)
        if second is not None:
            send = second.download_request
        return await exchange.sent(send, request)


def is_at_home(url: str, origin: Origin) -> bool:
    """Whether credentials for `origin` may be sent to `url`.

    This is so if `url` has the same origin. Credentials for "http://example.com" may also be sent
    to "https://example.com", where both use the default port.
    """
    homes = [origin]
    if str(origin) == f"http://{origin.host}":
        homes.append(Origin.of(f"https://{origin.host}"))
    return Origin.of(url) in homes
