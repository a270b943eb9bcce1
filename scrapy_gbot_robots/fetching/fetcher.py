"""Fetch the robots.txt of an origin. The result is an `Outcome`, even if the fetch fails.

The request for a robots.txt goes through Scrapy's downloader middlewares like any other request, so
the proxies, user agents, delays and download handlers of the project apply. An `Exchange`
(exchange.py) keeps the response of the download handler before a middleware can redirect, decode,
cache or drop it. Then policy/outcome.py decides what the response means.
Source: Google's page, "Handling of errors and HTTP status codes"; RFC 9309 2.3.1.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterable, Mapping
from functools import partial
from http import HTTPStatus
from itertools import count
from typing import Any, TypeAlias
from urllib.parse import unquote

from scrapy import Request, version_info
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpauth import HttpAuthMiddleware
from scrapy.downloadermiddlewares.httpcompression import ACCEPTED_ENCODINGS
from scrapy.http import Headers, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.url import url_is_from_any_domain
from twisted.internet.defer import CancelledError, DeferredSemaphore
from twisted.python.reflect import safe_str
from w3lib.http import basic_auth_header

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
from ..policy.overrides import Action, read_overrides
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

# The priority of a request for a robots.txt. It is high because requests for pages wait for it.
# Scrapy's own robots.txt middleware uses the same priority.
PRIORITY = 1000

# At most MOST_UNDER_WAY robots.txt files are fetched at the same time. They do not count against
# CONCURRENT_REQUESTS. Each fetch needs a socket. Because the operating system limits the number of
# files and sockets of a process (`ulimit -n`), `most_under_way` calculates MOST_UNDER_WAY from this
# limit.
FEWEST_SOCKETS = 8
MOST_SOCKETS = 2048
_USUAL_SOCKETS = 256


def most_under_way(open_files: int) -> int:
    """Return how many robots.txt files may be fetched at the same time.

    The result is a quarter of `open_files`, but at least FEWEST_SOCKETS and at most MOST_SOCKETS.
    The other three quarters are for pages and files. For example, the result is 64 with the limit
    of macOS, which is 256, and 1,024 with a limit of 4,096.

    Args:
        open_files: the number of files and sockets that the process may open; 0 or -1 if it is not
            known, as on Windows. The result is then _USUAL_SOCKETS.
    """
    if open_files <= 0:
        return _USUAL_SOCKETS
    return min(MOST_SOCKETS, max(FEWEST_SOCKETS, open_files // 4))


MOST_UNDER_WAY = most_under_way(getattr(os, "sysconf", lambda _: 0)("SC_OPEN_MAX"))

# The meta keys with the anonymous login for an FTP server (Google's page, "File location"). If the
# server does not accept the anonymous login, the login of the project (FTP_USER) is used.
_ANONYMOUS = {"ftp_user": "anonymous", "ftp_password": "guest"}

# The meta keys of a request for a robots.txt. They make Scrapy's own middlewares leave the request
# and its response alone: the middlewares do not redirect, retry, cache or drop them.
_OWN_META = {
    "allow_offsite": True,
    "dont_cache": True,
    "dont_merge_cookies": True,
    "dont_obey_robotstxt": True,
    "dont_redirect": True,
    "dont_retry": True,
    # With the value False, Scrapy raises no exception for a truncated response, but returns the
    # response with the flag "dataloss".
    "download_fail_on_dataloss": False,
    "download_maxsize": MOST_DOWNLOADED,
    "download_warnsize": 0,
    **_ANONYMOUS,
    "handle_httpstatus_all": True,
}

# The headers that the plugin sets. Before Scrapy 2.18, the plugin cannot decode the coding zstd. So
# if Scrapy's Accept-Encoding header contains zstd, the plugin sets its own Accept-Encoding header.
# It sets no header without need, because scrapy-zyte-api logs a warning about each header.
_HEADERS: dict[str, bytes] = {}
if version_info < (2, 18) and b"zstd" in ACCEPTED_ENCODINGS:
    _HEADERS["Accept-Encoding"] = b"gzip, deflate"

# Scrapy's HttpProxyMiddleware sets this meta key if it has taken the proxy from the environment.
_SCHEME_PROXY = "_scheme_proxy"

# At most this many warnings of one kind are logged, because a broad crawl would log thousands. The
# stats count all cases.
MOST_WARNED = 10
# The values that determine how a robots.txt is requested, such as the proxy (see `way_of`).
Way: TypeAlias = "tuple[str, ...]"
_STATUS_ONLY = -1  # With this `most_bytes`, a download stops as soon as the headers have arrived.
logger = logging.getLogger(__name__)


class Fetcher:
    """Fetches robots.txt files through the engine of a crawl.

    Args:
        crawler: the crawl.
        settings: the settings of the crawl.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._overrides = read_overrides(settings.overrides, settings.parse)
        self._places = DeferredSemaphore(MOST_UNDER_WAY)
        # The exchanges that are under way, by number. The number is in the meta of the request.
        self._exchanges: dict[int, Exchange] = {}
        self._numbers = count(1)
        self._overhearing = Overhearing(crawler, self._exchanges)
        self._connections = RobotsConnections(crawler, MOST_UNDER_WAY)
        # True if all downloads of the crawl go through the method `_send_now`; False if a user's
        # own downloader does not support that; None before the first request for a robots.txt.
        self._sees_downloads: bool | None = None
        self._private_redirects = 0
        self._has_warned_of_limit = False
        # If middlewares raise exceptions, only the first one of each class is logged. This set
        # contains the classes of the logged exceptions.
        self._logged_faults: set[type] = set()
        # The values of the headers in CREDENTIALS that DEFAULT_REQUEST_HEADERS contains. Requests
        # for robots.txt files must not contain these values, because they would go to every host.
        defaults = Headers(crawler.settings.getdict("DEFAULT_REQUEST_HEADERS"))
        self._default_credentials = {name: defaults.getlist(name) for name in CREDENTIALS}

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
        # If HttpProxyMiddleware has taken the proxy from the environment variable `http_proxy` or
        # `https_proxy`, this proxy is only for URLs with the scheme of the page. For any other
        # scheme, the middleware chooses the proxy again.
        if (
            _SCHEME_PROXY in page.meta
            and urlparse_cached(page).scheme != urlparse_cached(robots_request).scheme
        ):
            for key in ("proxy", AUTHORISED):
                robots_request.meta.pop(key, None)
        # Scrapy's HttpProxyMiddleware moves user and password from the meta key `proxy` into a
        # header. If `page` is a redirect or a retry, the middleware has already done so, and the
        # request for the robots.txt needs a copy of the header.
        if robots_request.meta.get("proxy") and PROXY_HEADER in page.headers:
            robots_request.headers[PROXY_HEADER] = page.headers[PROXY_HEADER]
        return robots_request

    async def fetch(self, origin: Origin, request: Request | None = None) -> Outcome:
        """Fetch the robots.txt of `origin`, follow redirects, and return the outcome.

        If the fetch fails, this method does not raise an exception. It returns an `Unreachable`
        that describes the failure.

        Args:
            origin: the origin of the robots.txt.
            request: the request for a page that needs the robots.txt; None if there is none. Its
                meta keys in `GBOT_ROBOTS_META_KEYS` (for example "proxy") and its credentials for a
                proxy are copied to the request for the robots.txt.
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
            exchange: the finished `Exchange` for the last URL of `trail`.
            trail: the URLs that were requested so far: the URL of the robots.txt, then the target
                of each redirect.
        """
        answer = exchange.response
        error = exchange.error
        if answer is None and error is not None:
            self._crawler.stats.inc_value(f"robotstxt/exception_count/{type(error)}")
        if exchange.ftp_reply:
            return exchange.ftp_outcome(trail[-1], self._settings)
        if answer is None:
            if error is None:
                return failed(Failure.REPLACED)
            if exchange.fault:
                return failed(Failure.MIDDLEWARE, exchange.fault)
            return failure_of(error, proxy=exchange.proxy, host=Origin.of(trail[-1]).host)
        proxy_failure = exchange.proxy_failure(answer)
        if proxy_failure is not None:
            return proxy_failure
        if answer.status in REDIRECTS:
            return await self._next_hop(answer, trail, exchange.secs_left)
        read = partial(exchange.outcome, answer, trail[-1], self._settings)
        if exchange.is_long(answer):
            return await run_in_thread(read)
        return read()

    async def _next_hop(
        self, answer: Response, trail: list[str], secs_left: float
    ) -> str | Outcome:
        """Return the target of a redirect, or the outcome if the redirect must not be followed.

        If an override disallows the site of the target, this site gets no request.

        With GBOT_ROBOTS_DENY_PRIVATE, the IP addresses of the target's host are looked up, which
        takes at most `secs_left` seconds. A redirect to a private address is not followed.

        Args:
            answer: the response with the redirect.
            trail: the URLs that were requested so far.
            secs_left: the time that is left for the fetch, in seconds.
        """
        hop = next_hop(answer.status, answer.headers.get("Location"), trail)
        if not isinstance(hop, str):
            return hop
        override = self._overrides.of(Origin.of(hop), time.time())
        if override is not None and override.action is Action.DISALLOW:
            return failed(Failure.OVERRIDE, hop)
        if not self._settings.deny_private:
            return hop
        try:
            inside = await within(max(0.0, secs_left), leads_inside(hop, trail[-1]))
        except TimeoutError:
            return failed(Failure.TIMEOUT, f"the address of {hop} was not found in time")
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
        """Request `url` for the robots.txt of `origin`, and return the finished `Exchange`.

        In four cases, `url` is requested a second time:

        1. An FTP server does not accept the anonymous login. The second request uses the login of
           the project.
        2. The headers arrive, but the body does not arrive completely. Then the download handler
           raises an exception that does not contain the status. The second request is only for the
           status, and stops as soon as the headers have arrived. If the status is not 2xx, the body
           is not needed (Google's page, "HTTP status codes"). The second request takes at most half
           of `secs_left`, so that a chain of redirects with incomplete bodies comes to an end.
        3. The Content-Length is greater than MOST_DOWNLOADED, and the download handler has
           cancelled the download. The second request has no limit, because the `Exchange` itself
           stops the download when it gets the signals of the download. If the plugin might not get
           these signals, the second request is not sent.
        4. The server of `origin` answers with status 401, and the URL or the meta of the page
           contains a login. The second request uses this login. The first request does not,
           because the URL may come from a link on another site and contain a wrong login. A server
           may reject a request with a wrong login, although it would answer one without a login.
        """
        send = partial(self._send, url, origin, request)
        exchange = await send(secs_left, self._settings.max_bytes)
        answer = exchange.response
        if answer is not None and answer.status == HTTPStatus.UNAUTHORIZED:
            authorization = _login_of(request)
            if authorization and is_at_home(url, origin):
                send = partial(send, authorization=authorization)
                exchange = await send(exchange.secs_left, self._settings.max_bytes)
        if exchange.denied_login:
            ftp_login = self._ftp_login(request)
            if ftp_login is not None:
                return await send(exchange.secs_left, self._settings.max_bytes, ftp_login)
        if exchange.exceeds_limit and (exchange.headers_came or exchange.gets_signals):
            return await send(exchange.secs_left, self._settings.max_bytes, limit=0)
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
        *,
        authorization: bytes | None = None,
        limit: int = MOST_DOWNLOADED,
    ) -> Exchange:
        """Send a request for `url` through Scrapy's engine, and return its `Exchange`.

        When this method returns, the exchange contains either the response or the exception that
        the request has caused.

        Args:
            url: the URL of the robots.txt, or the URL to which it redirects.
            origin: the origin of the robots.txt.
            request: the request for a page that needs the robots.txt; None if there is none.
            secs_left: the download takes at most this many seconds.
            most_bytes: the download stops when the body has more bytes than this number.
            ftp_login: the meta keys with the login for an FTP server.
            authorization: the value of the Authorization header for `origin`, which replaces the
                project's credentials; None if there is none.
            limit: the value of `download_maxsize`, in bytes; 0 for no limit.
        """
        robots_request = self.make_robots_request(url, request)
        exchange = Exchange(robots_request, most_bytes, secs_left, limit=limit)
        if not exchange.has_proxy and not may_resolve(Origin.of(url).host):
            # Twisted's resolver raises an exception for an invalid name, but does not end the
            # download, which would then last until its time-out.
            exchange.error = error_of(Failure.DNS, "this host name is not valid in DNS")
            return exchange
        number = next(self._numbers)
        own_meta = {**_OWN_META, **ftp_login, "download_timeout": secs_left, LISTENER: number}
        robots_request.meta.update(own_meta)
        # `around_sending` needs the downloader, which does not exist yet when `__init__` runs.
        if self._sees_downloads is None:
            self._sees_downloads = around_sending(self._crawler, self._send_now)
        await maybe_deferred_to_future(self._places.acquire())
        self._exchanges[number] = exchange
        try:
            self._set_credentials(robots_request, authorization, at_home=is_at_home(url, origin))
            # If the request does not contain these headers, Scrapy adds them, and the exchange
            # removes them again.
            exchange.unwanted = {
                name: value
                for name, value in self._default_credentials.items()
                if name not in robots_request.headers
            }
            with self._overhearing.listening():
                response = await send_beside_limits(
                    self._crawler, robots_request, self._settings.timeout_secs, own_meta
                )
            if exchange.request is None:
                # No download handler got the request.
                exchange.keep_response_of_middleware(response)
            else:
                self._expect_headers(exchange)
                if self._connections.second(exchange.request) is not None:
                    exchange.flag_unknown_length()
        except (Exception, asyncio.CancelledError) as error:
            is_cancelled = isinstance(error, (CancelledError, asyncio.CancelledError))
            # While the crawl closes, the plugin cancels its fetches on purpose. At any other time,
            # a cancelled download is a failed fetch.
            if is_cancelled and is_closing(self._crawler):
                raise
            exchange.error = error
            if self._sees_downloads:
                exchange.fault = exchange.fault_in(error)
        finally:
            self._places.release()
            del self._exchanges[number]
            robots_request.meta.pop(LISTENER, None)
            # Handlers of the signal `robotstxt_served` get this request, and may write it to a
            # file. So it must not contain passwords.
            robots_request.meta.update(_ANONYMOUS)
            for name in (PROXY_HEADER, *CREDENTIALS):
                robots_request.headers.pop(name, None)
        self._log_fault(exchange, url)
        return exchange

    def _log_fault(self, exchange: Exchange, url: str) -> None:
        """Log the exception of a downloader middleware.

        If an exception of the same class was logged before, do nothing.
        """
        kind = type(exchange.error)
        if exchange.fault and kind not in self._logged_faults:
            self._logged_faults.add(kind)
            sentence = "A downloader middleware failed on the request for %s: %s"
            logger.error(sentence, shown(url), shown(exchange.fault), exc_info=exchange.error)

    def _ftp_login(self, request: Request | None) -> dict[str, Any] | None:
        """Return the meta keys with the project's FTP login, or None if the login is anonymous.

        The login in the meta of `request`, which is a request for a page, takes precedence over the
        settings FTP_USER and FTP_PASSWORD.
        """
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
        """Log a warning if Scrapy has not sent the signal `headers_received` for a response.

        Only Scrapy's own HTTP handlers are expected to send the signal. This warning is logged
        at most once in a crawl.
        """
        request = exchange.request
        # If there is no response, a middleware has replaced an exception with its own response.
        is_answered = exchange.response is not None
        if request is None or exchange.headers_came or not is_answered or self._has_warned_of_limit:
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

    def _set_credentials(
        self, robots_request: Request, authorization: bytes | None, *, at_home: bool
    ) -> None:
        """Set the credentials in the headers of a request for a robots.txt.

        If `at_home` is true, the request gets `authorization`. If `authorization` is None, the
        request keeps its own credentials. If it has none, it gets the credentials of Scrapy's
        HTTPAUTH settings. If `at_home` is false, the request loses its credentials, but gets those
        of the HTTPAUTH settings if its host belongs to HTTPAUTH_DOMAIN.

        All headers in NEVER_SENT are set to empty lists, so that no middleware adds them. If
        `at_home` is false, the headers in CREDENTIALS that have no value are also set to empty
        lists. The `Exchange` removes the empty headers before the request is sent.

        Args:
            robots_request: the request. Its headers are changed.
            authorization: the value of the Authorization header, or None.
            at_home: whether the project's credentials may be sent to this URL (`is_at_home`).
        """
        headers = robots_request.headers
        dict.update(headers, {name: [] for name in NEVER_SENT})
        middleware = downloader_middleware(self._crawler, HttpAuthMiddleware)
        if at_home:
            if authorization is not None:
                headers[b"Authorization"] = authorization
            if middleware is not None:
                middleware.process_request(robots_request)
        else:
            for name in CREDENTIALS:
                dict.pop(headers, name, None)
            # Credentials without a domain would go to every host.
            if middleware is not None and self._has_domain_of_credentials():
                bare = Request(robots_request.url)  # It has no credentials in its meta.
                middleware.process_request(bare)
                headers.update(bare.headers)
            for name in CREDENTIALS:
                dict.setdefault(headers, name, [])

    def _has_domain_of_credentials(self) -> bool:
        """Whether Scrapy's HttpAuthMiddleware sends its credentials only to the hosts of a domain.

        The spider's attributes, which older versions of Scrapy use, take precedence over the
        settings.
        """
        spider = self._crawler.spider
        if getattr(spider, "http_user", "") or getattr(spider, "http_pass", ""):
            return bool(getattr(spider, "http_auth_domain", None))
        return bool(self._crawler.settings.get("HTTPAUTH_DOMAIN"))

    async def _send_now(self, send: Send, request: Request) -> Response:
        """Send a request of the crawl to its download handler, and return the response.

        The downloader calls this method for all requests. If a request is for a robots.txt, its
        `Exchange` sends it.
        """
        exchange = self._exchanges.get(request.meta.get(LISTENER, 0))
        if exchange is None:
            return await send(request)
        second = self._connections.second(request)
        if second is not None:
            send = second.download_request
            # The second handler sends the signals of a download. The plugin gets them unless other
            # code has replaced the method `_overhear` (`is_on_top`).
            exchange.gets_signals = self._overhearing.is_on_top
        return await exchange.sent(send, request)


def way_of(request: Request, meta_keys: Iterable[str]) -> Way:
    """Return the *way* in which the crawl would request a robots.txt for `request`.

    A way consists of the proxy, the credentials for the proxy, and the values of the other meta
    keys that are copied from `request` to its robots.txt request.

    Args:
        request: the request for a page.
        meta_keys: the meta keys in `GBOT_ROBOTS_META_KEYS`.
    """
    # The `repr` is used, because some values cannot be hashed.
    keys = filter(request.meta.__contains__, meta_keys)
    way = [f"{key}={request.meta[key]!r}" for key in keys]
    if PROXY_HEADER in request.headers:
        way.append(safe_str(request.headers[PROXY_HEADER]))
    return tuple(way)


def is_at_home(url: str, origin: Origin) -> bool:
    """Whether credentials for `origin` may be sent to `url`.

    They may be sent to URLs of the same origin. Credentials for "http://example.com" may also be
    sent to "https://example.com", but only if both use their default ports.
    """
    homes = [origin]
    if str(origin) == f"http://{origin.host}":
        homes.append(Origin.of(f"https://{origin.host}"))
    return Origin.of(url) in homes


def _login_of(page: Request | None) -> bytes | None:
    """Return the Authorization header for the login that `page` contains; None if there is none.

    The login is in the meta keys `http_user` and `http_pass`, which Scrapy 2.19 reads, or in the
    URL. Some download handlers, such as those for aiohttp and httpx, send the login in the URL.
    """
    if page is None:
        return None
    user = page.meta.get("http_user", "")
    password = page.meta.get("http_pass", "")
    domain = page.meta.get("http_auth_domain")
    is_for_page = not domain or url_is_from_any_domain(page.url, [domain])
    if is_for_page and (user or password):
        return basic_auth_header(user, password)
    login, at, _ = urlparse_cached(page).netloc.rpartition("@")
    if not at:
        return None
    user, _, password = login.partition(":")
    # In Latin-1, each byte is one character, so the bytes in the header are those in the URL.
    return basic_auth_header(unquote(user, "latin-1"), unquote(password, "latin-1"))
