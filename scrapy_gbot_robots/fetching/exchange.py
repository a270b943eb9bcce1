"""Send one request for a robots.txt, and turn its response or exception into an `Outcome`.

An `Outcome` (policy/outcome.py) is what a fetch means for the crawl: `Fetched` with the robots.txt,
`Unavailable` or `Unreachable`.

The table `_NAMES` assigns a `Failure`, such as `Failure.DNS`, to the exceptions that download
handlers usually raise. It contains the names of the exceptions, because the classes belong to
several libraries (Twisted, OpenSSL, aiohttp, httpx), and some of these may not be installed. The
table `_CODES` assigns a `Failure` to codes in the messages of exceptions. An exception that is in
neither table becomes `Failure.OTHER`. The tables do not contain `Failure.NO_FILES` (too many open
files), because exceptions of several classes report it. The function `_own_meanings` recognises it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import time
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from scrapy import Request, exceptions
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, Response
from twisted.internet import error as twisted_errors
from twisted.internet.defer import CancelledError
from twisted.python.failure import Failure as TwistedFailure
from twisted.python.reflect import safe_str

from ..concurrency import within
from ..core.urls import shown, without_login
from ..engine import Send
from ..policy import headers
from ..policy.decoding import DecodeError, as_served, decoded, is_decoded
from ..policy.outcome import (
    Failure,
    Outcome,
    Unreachable,
    by_ftp,
    failed,
    outcome_of,
    proxy_failed,
)
from ..policy.web_pages import HEADERS
from ..settings import GbotSettings

# Download handlers should end a download at its time-out (`download_timeout`). If a handler has not
# done so this many seconds after the time-out, the exchange cancels the download.
GRACE_SECS = 1.0

# The limit for the length of a response to a robots.txt request, in bytes. It is the value of
# Scrapy's meta key `download_maxsize`, which makes Scrapy raise an exception for a longer body.
#
# The limit is needed only if Scrapy does not send the signal `headers_received`. When the signal
# comes, the `Exchange` removes the limit. It stops the download after GBOT_ROBOTS_MAX_BYTES bytes.
#
# If the Content-Length exceeds the limit, a download handler may raise the exception before it
# sends the signal. The `Fetcher` then sends the request again without a limit, but only if the
# plugin will certainly get the signal.
MOST_DOWNLOADED = 16 * 2**20
# Scrapy's FTP handler returns a response with one of these statuses if the FTP server does not send
# the robots.txt. The status is 404 if the server's reply has the code 550, and 503 for all other
# codes.
_FTP_ERROR_STATUSES = (404, 503)
# If a body is longer than this number of bytes after decoding, it is decoded and examined in a
# thread, because this may take milliseconds (1.4 ms were measured for a web page of 32 KiB). For a
# shorter body, a thread would cost more time than it saves.
_LONG_BYTES = 32 * 2**10
# If an encoded body has more bytes than this number, the decoded body probably has more than
# `_LONG_BYTES` bytes.
_LONG_ENCODED_BYTES = 8 * 2**10
_LIMIT = "download_maxsize"  # Scrapy's meta key for the maximum length of a body
BODY_DECIDES = range(200, 300)  # The outcome depends on the body only for these statuses.
_WITHOUT_BODY = frozenset({204, 304})
# The values of `response.protocol` that mean HTTP/2. In HTTP/2, the frames mark the end of a body,
# so a response needs no header for that.
HTTP2 = frozenset({"h2", "HTTP/2"})

# A request for a robots.txt never contains a header in NEVER_SENT. While the request passes through
# the downloader middlewares, these headers are set to empty lists, because a middleware usually
# does not change a header that is set. If a middleware has set one of them all the same, the header
# is removed before the request is sent. The plugin sends a header in CREDENTIALS only to the host
# of the robots.txt or to HTTPAUTH_DOMAIN, and not if it comes from DEFAULT_REQUEST_HEADERS.
#
# The code uses the methods of `dict`, which are faster than those of `Headers`, but do not
# normalise names. So the names are written here in the normal form of Scrapy's `Headers`.
CREDENTIALS = (b"Authorization", b"Cookie")
NEVER_SENT = (
    b"If-Match",
    b"If-Modified-Since",
    b"If-None-Match",
    b"If-Unmodified-Since",
    b"Range",
    b"Referer",
)

PROXY_HEADER = "Proxy-Authorization"
# Scrapy's HttpProxyMiddleware stores a proxy under this meta key when it sets the
# Proxy-Authorization header for this proxy. If the request later has a different proxy, the
# middleware drops the header.
AUTHORISED = "_auth_proxy"

_NAMES = {
    Failure.DNS: "CannotResolveHostError DNSLookupError",
    Failure.REFUSED: "ConnectionRefusedError DownloadConnectionRefusedError ConnectError",
    # ServerDisconnectedError is an exception of aiohttp, and ReadError is an exception of httpx.
    # SSLEOFError and SSLZeroReturnError are from the module ssl. They are subclasses of SSLError.
    Failure.RESET: "ConnectionLost ConnectionDone ConnectionResetError ConnectionAbortedError "
    "BrokenPipeError ServerDisconnectedError ReadError SSLEOFError SSLZeroReturnError",
    Failure.TIMEOUT: "DownloadTimeoutError TimeoutError TCPTimedOutError UserTimeoutError",
    # InvalidBodyLengthError is an exception of the library h2.
    Failure.TRUNCATED: "ResponseDataLossError _DataLoss PotentialDataLoss InvalidBodyLengthError",
    Failure.CHUNKING: "_MalformedChunkedDataError",
    Failure.TLS: "SSLError VerificationError CertificateError OpenSSL.SSL.Error",
    Failure.NO_HTTP2: "InvalidNegotiatedProtocol",  # from Scrapy's HTTP/2 handler
    # ProtocolError is an exception of h2, BadHttpMessage of aiohttp, and RemoteProtocolError of
    # httpx.
    Failure.INVALID: "ParseError ProtocolError BadHttpMessage RemoteProtocolError",
    # ClientHttpProxyError is an exception of aiohttp, and ProxyError is an exception of httpx.
    Failure.PROXY: "TunnelError ClientHttpProxyError ProxyError",
    Failure.CANCELLED: "DownloadCancelledError CancelledError",
    Failure.NO_HANDLER: "NotSupported UnsupportedURLSchemeError",
}
# Download handlers that use libcurl or a browser, such as scrapy-impersonate and scrapy-playwright,
# raise exceptions of only a few classes. But the messages contain an error code. curl's codes are
# numbers (curl.se/libcurl/c/libcurl-errors.html). Chromium's codes begin with "net::ERR_"
# (net/base/net_error_list.h), and Firefox's codes with "NS_ERROR_" (xpcom/base/ErrorList.py).
_CODES = {
    Failure.DNS: ("curl: (6)", "net::ERR_NAME_NOT_RESOLVED", "NS_ERROR_UNKNOWN_HOST"),
    Failure.REFUSED: (
        "curl: (7)",
        "net::ERR_CONNECTION_REFUSED",
        "net::ERR_ADDRESS_UNREACHABLE",
        "NS_ERROR_CONNECTION_REFUSED",
    ),
    Failure.RESET: (
        "curl: (52)",
        "curl: (55)",
        "curl: (56)",
        "net::ERR_CONNECTION_CLOSED",
        "net::ERR_CONNECTION_RESET",
        "net::ERR_EMPTY_RESPONSE",
        "NS_ERROR_NET_INTERRUPT",
        "NS_ERROR_NET_RESET",
    ),
    Failure.TIMEOUT: (
        "curl: (28)",
        "net::ERR_CONNECTION_TIMED_OUT",
        "net::ERR_TIMED_OUT",
        "NS_ERROR_NET_TIMEOUT",
    ),
    Failure.TLS: ("curl: (35)", "curl: (60)", "net::ERR_CERT_", "net::ERR_SSL_"),
    Failure.PROXY: (
        "curl: (5)",
        "curl: (97)",
        "net::ERR_PROXY_CONNECTION_FAILED",
        "net::ERR_TUNNEL_CONNECTION_FAILED",
        "NS_ERROR_PROXY_CONNECTION_REFUSED",
        "NS_ERROR_UNKNOWN_PROXY_HOST",
    ),
}
_FAILURES: dict[str, Failure] = {}
for _failure, _names in _NAMES.items():
    _FAILURES.update(dict.fromkeys(_names.split(), _failure))
# The exceptions that Scrapy passes to the errback of a page if its download fails, by kind of
# failure. Up to Scrapy 2.14, they are exceptions of Twisted.
_SCRAPYS: dict[Failure, type[Exception]] = {
    Failure.DNS: getattr(exceptions, "CannotResolveHostError", twisted_errors.DNSLookupError),
    Failure.REFUSED: getattr(
        exceptions, "DownloadConnectionRefusedError", twisted_errors.ConnectionRefusedError
    ),
    Failure.TIMEOUT: getattr(exceptions, "DownloadTimeoutError", twisted_errors.TimeoutError),
}
# The names of exceptions whose messages need not be logged. These messages contain only the kind of
# failure and the URL, and the outcome of the fetch contains both anyway.
_REDUNDANT = {
    "ConnectionRefusedError",
    "DownloadConnectionRefusedError",
    "DownloadTimeoutError",
    "TCPTimedOutError",
    "TimeoutError",
}
# Advice for the case that a host such as "[2001:db8::1]" cannot be resolved. Scrapy's default
# resolver does not support IPv6 addresses.
_NO_IPV6 = (
    "for an IPv6 address, set TWISTED_DNS_RESOLVER, or DNS_RESOLVER in an older Scrapy, to "
    "'scrapy.resolver.CachingHostnameResolver'"
)
# The text of OpenSSL's error if the server supports none of the protocols that the client offers
# (RFC 7301 3.2). It comes only from Scrapy's HTTP/2 handler, because all other handlers also
# offer HTTP/1.1.
_NO_PROTOCOL = "no application protocol"
# The values of `errno` if a process (EMFILE) or the whole machine (ENFILE) has too many open files.
# Sockets count as files.
_TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)
_TOO_MANY_TEXTS = tuple(map(os.strerror, _TOO_MANY_FILES))
# The failures that happen before a connection is made. If a request with a proxy ends in one of
# them, the download handler could not connect to the proxy.
_OF_CONNECTING = {Failure.DNS, Failure.REFUSED}
_AFTER_ACCEPTING = {Failure.TLS, Failure.RESET}
_MOST_CAUSES = 10  # The maximum number of exceptions to examine in a `__cause__` chain.
_DETAIL_CHARS = 1000
# The reply codes of FTP servers that did not accept a login. RFC 959 4.2.2 defines only 530. Some
# servers send 430 for a wrong user or password.
_NOT_LOGGED_IN = ("530", "430")
# Matches the code at the beginning of an error reply of an FTP server (RFC 959 4.2.1).
_FTP_CODE = re.compile(r"[45][0-9]{2}(?![0-9])")


class Exchange:
    """One request for a robots.txt, and the response or exception of the download handler.

    The exchange keeps the response before any downloader middleware gets it. It stops the download
    when enough of the body has arrived. If a middleware sends the request again, the exchange keeps
    only the last response.

    Args:
        robots_request: the request.
        most_bytes: the download stops when the body has more bytes than this number. -1 means that
            it stops as soon as the headers have arrived.
        secs_left: the time in seconds that the download handler may spend on the request.
        limit: the value of `download_maxsize` when the request is sent; 0 for no limit.
    """

    def __init__(
        self,
        robots_request: Request,
        most_bytes: int,
        secs_left: float = 0.0,
        *,
        limit: int = MOST_DOWNLOADED,
    ) -> None:
        self.robots_request = robots_request  # the request as the fetcher made it
        # The request as the download handler received it, after the middlewares may have changed
        # it; None if no request has reached the handler.
        self.request: Request | None = None
        self.headers = Headers()  # the headers of the response, unchanged
        self.secs_left = secs_left
        self.error: BaseException | None = None  # the exception of the handler or of a middleware
        # A description of `error` if it comes from a bug in a middleware (`fault_in`); otherwise
        # "".
        self.fault = ""
        # True if the plugin is sure to get the signals `headers_received` and `bytes_received` of
        # this request. The method `goes_on` is called for each signal.
        self.gets_signals = False
        self._most_bytes = most_bytes
        self._limit = limit
        # The proxy of the request, and the credentials for it. The fetcher has copied both from the
        # request for a page.
        self._proxy = robots_request.meta.get("proxy")
        self._credentials = robots_request.headers.get(PROXY_HEADER)
        # Headers that are removed if they have these values. The values come from
        # DEFAULT_REQUEST_HEADERS, so they would be sent to every host.
        self.unwanted: Mapping[bytes, list[bytes]] = {}
        self._forget_response()

    def _forget_response(self) -> None:
        """Reset the attributes that describe the response, before the request is sent again."""
        self.headers_came = False
        # True if this exchange has stopped the download itself. The body is then cut on purpose.
        self.stopped = False
        # The response, without its header Content-Encoding (see `keep_response`).
        self.response: Response | None = None
        # The exception of the download handler, or None. Unlike `error`, this is never an exception
        # of a middleware.
        self._download_error: BaseException | None = None
        self._received = 0  # the number of bytes of the body

    async def sent(self, send: Send, request: Request) -> Response:
        """Send `request` to its download handler; keep the response, and return it.

        The download is cancelled after `secs_left` plus GRACE_SECS seconds, because some handlers
        ignore `download_timeout`. The time in the downloader's queue does not count.

        If the handler raises asyncio's CancelledError, this method raises Twisted's CancelledError
        instead. Scrapy catches only subclasses of `Exception`, and asyncio's CancelledError is not
        one of them. So Scrapy would otherwise wait for the request forever.

        Args:
            send: passes a request to its download handler.
            request: the request as the downloader middlewares have left it.

        Raises:
            TimeoutError: the handler took longer than the limit.
            Exception: any exception of the download handler.
        """
        self.request = request
        request.meta[_LIMIT] = self._limit
        self._forget_response()
        self._take_out_headers(request)
        began = time.monotonic()
        try:
            response = await within(max(0.0, self.secs_left) + GRACE_SECS, send(request))
        except asyncio.CancelledError as error:
            self._download_error = CancelledError("the download handler was cancelled")
            raise self._download_error from error
        except Exception as error:
            self._download_error = error
            raise
        finally:
            self.secs_left -= time.monotonic() - began
        self.keep_response(response)
        return response

    def _take_out_headers(self, request: Request) -> None:
        """Remove headers from `request` that the server or the proxy must not get.

        This method removes the headers in NEVER_SENT and in `unwanted`. It also removes the headers
        in CREDENTIALS that have no value, because some handlers would send them. It removes the
        credentials for a proxy if a middleware has chosen a different proxy.
        """
        for name in NEVER_SENT:
            dict.pop(request.headers, name, None)
        for name in CREDENTIALS:
            value = dict.get(request.headers, name)
            if not value or value == self.unwanted.get(name):
                dict.pop(request.headers, name, None)
        proxy = request.meta.get("proxy")
        is_for_this_proxy = proxy == request.meta.get(AUTHORISED, self._proxy)
        # If a middleware has changed the credentials for a proxy, it has probably also chosen the
        # proxy.
        is_of_a_middleware = request.headers.get(PROXY_HEADER) != self._credentials
        if not proxy or not (is_for_this_proxy or is_of_a_middleware):
            request.headers.pop(PROXY_HEADER, None)

    def goes_on(self, data: bytes) -> bool:
        """Count the bytes in `data`, and return whether the download should go on.

        The download should stop as soon as the body has more bytes than the parser reads.

        Args:
            data: the next piece of the body; b"" when the headers have arrived.
        """
        self.headers_came = True
        if self.request is not None:
            self.request.meta[_LIMIT] = 0
        self._received += len(data)
        self.stopped = self._received > self._most_bytes
        return not self.stopped

    def keep_response(self, response: Response) -> None:
        """Keep `response` and a copy of its headers.

        The header Content-Encoding is then removed from `response`, so that no middleware decodes
        the body. The copy of the headers still contains Content-Encoding.
        """
        self.response = response
        self.headers = response.headers.copy()
        response.headers.pop("Content-Encoding", None)

    def keep_response_of_middleware(self, response: Response) -> None:
        """Keep a response that a downloader middleware supplies instead of a download handler.

        The middleware may have taken the response from a cache, or downloaded the robots.txt with
        another library, such as requests or curl_cffi. These libraries decode the body, but leave
        Content-Encoding in the headers. So if the body is text, it is not decoded again.
        """
        self.response = response
        self.headers = response.headers
        if "Content-Encoding" in response.headers and is_decoded(response.body):
            self.headers = response.headers.copy()
            del self.headers["Content-Encoding"]

    def flag_unknown_length(self) -> None:
        """Add the flag "partial" to the response if no header marks the end of its body.

        The end is marked by Content-Length or by "Transfer-Encoding: chunked" (RFC 9112 6.3).

        Scrapy's default download handler adds the flag itself, and removes these headers from its
        responses. So do not call this method for its responses.
        """
        response = self.response
        if response is None or response.status in _WITHOUT_BODY or response.protocol in HTTP2:
            return
        is_chunked = "chunked" in _listed(self.headers, "Transfer-Encoding")
        if not is_chunked and "Content-Length" not in self.headers:
            response.flags.append("partial")

    @property
    def exceeds_limit(self) -> bool:
        """Whether the handler has cancelled the download because the body exceeds `limit`."""
        error = self._download_error
        if error is None or not self._limit or isinstance(error.__cause__, asyncio.CancelledError):
            return False
        return Failure.CANCELLED in _meanings(error)

    @property
    def has_proxy(self) -> bool:
        """Whether the request has a proxy, which the project or a middleware has chosen."""
        return bool(self.proxy)

    @property
    def proxy(self) -> str:
        """The host and the port of the proxy, such as "proxy.example:3128"; "" without a proxy."""
        request = self.request or self.robots_request
        proxy = safe_str(request.meta.get("proxy") or "")
        return proxy.rpartition("@")[2].rpartition("//")[2].rstrip("/")

    def proxy_failure(self, response: Response) -> Unreachable | None:
        """Return the outcome of the fetch if a proxy has failed, or None.

        A proxy reports its own failure in the header Proxy-Status of `response`, or in one of
        `headers.PROXY_ERRORS`.
        """
        errors = {name: response.headers.get(name) for name in headers.PROXY_ERRORS}
        fault = headers.proxy_fault(response.headers.getlist("Proxy-Status"), errors)
        if not fault:
            return None
        retry_after = headers.retry_after(response.headers.get("Retry-After"), time.time())
        return proxy_failed(self.proxy, response.status, fault, retry_after)

    @property
    def ftp_reply(self) -> str:
        """The error reply of an FTP server, such as "553 Not allowed"; "" in all other cases."""
        if not self.robots_request.url.startswith("ftp:"):
            return ""
        if self.error is not None:
            return _ftp_reply_in(safe_str(_ftp_cause(self.error))[:_DETAIL_CHARS])
        if self.response is not None and self.response.status in _FTP_ERROR_STATUSES:
            return _ftp_reply_in(self.response.body[:_DETAIL_CHARS].decode("latin-1"))
        return ""

    @property
    def denied_login(self) -> str:
        """The reply of an FTP server that did not accept the login; "" in all other cases."""
        reply = self.ftp_reply
        if reply.startswith(_NOT_LOGGED_IN):
            return reply
        return ""

    def ftp_outcome(self, url: str, settings: GbotSettings) -> Outcome:
        """Return the outcome of a fetch that ended with an error reply of an FTP server.

        Args:
            url: the URL of the robots.txt.
            settings: the settings of the crawl.
        """
        if self.denied_login:
            return failed(Failure.LOGIN, self.denied_login)
        # The server has answered, so the outcome has no `failure`.
        outcome: Outcome = Unreachable(self.ftp_reply)
        if self.response is not None:
            outcome = self.outcome(self.response, url, settings)
        return by_ftp(outcome, self.ftp_reply)

    def fault_in(self, error: BaseException) -> str:
        """Return a description of `error` if it comes from a bug in a middleware, or "".

        An exception is not a bug if the download handler has raised it. A middleware may also
        raise `IgnoreRequest` or a download error of Scrapy or Twisted on purpose. Any other
        exception of a middleware is a bug, even a TimeoutError or another built-in exception.
        """
        if error is self._download_error or isinstance(error, IgnoreRequest):
            return ""
        is_pythons_own = type(error).__module__ == "builtins"
        if not is_pythons_own and any(_meanings(error)):
            return ""
        return f"{type(error).__name__}: {safe_str(error)}"

    def outcome(self, response: Response, url: str, settings: GbotSettings) -> Outcome:
        """Return the outcome of a fetch that ended with `response`.

        If the status is 2xx, and the body is truncated or cannot be decoded, the fetch has failed.
        For any other status, the outcome does not depend on the body.

        Args:
            response: the response to the last request of the fetch. It is not a redirect.
            url: the URL of that request.
            settings: the settings of the crawl.
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
        if lost is not None and response.status in BODY_DECIDES:
            return lost
        # The headers by which `outcome_of` recognises a web page that a server has sent in place of
        # a robots.txt, for example the page of a bot wall.
        decisive = {
            name: (response.headers.get(name) or b"").decode("latin-1")
            for name in (*HEADERS, "content-type")
        }
        return outcome_of(
            response.status,
            url,
            body,
            soft_404=settings.soft_404,
            proxy=self.proxy,
            headers=decisive,
            cut=cut,
            max_age=headers.max_age(
                response.headers.getlist("Cache-Control"), response.headers.get("Age")
            ),
            retry_after=headers.retry_after(response.headers.get("Retry-After"), time.time()),
        )

    def is_long(self, response: Response) -> bool:
        """Whether it may take milliseconds to find the `outcome` of `response`.

        This is the case if the decoded body is long. A short encoded body is decoded up to
        `_LONG_BYTES` bytes to find this out, which takes a fraction of a millisecond. A body with
        two codings is always treated as long, because even its first bytes may take long to decode.
        """
        codings = _listed(self.headers, "Content-Encoding")
        if not codings:
            return len(response.body) > _LONG_BYTES
        if len(response.body) > _LONG_ENCODED_BYTES or "," in codings:
            return True
        with suppress(DecodeError, EOFError):  # `outcome` handles these exceptions.
            _, is_cut = self._body(response, _LONG_BYTES)
            return is_cut
        return False

    def _body(self, response: Response, max_bytes: int) -> tuple[bytes, bool]:
        """Return the decoded body, and whether it was cut at `max_bytes`.

        Raises:
            DecodeError: the body cannot be decoded.
            EOFError: a part of the body or the whole body is missing.
        """
        if "dataloss" in response.flags:
            raise EOFError
        if "download_stopped" in response.flags and not self.stopped:
            raise EOFError
        # A middleware may have changed the method of the request to HEAD. The response to such a
        # request has no body.
        if self.request is not None and self.request.method == "HEAD":
            raise EOFError
        if self._lacks_declared_body(response):
            raise EOFError
        # Some download handlers decode only the transfer coding "chunked". If the server has used a
        # different transfer coding, for example gzip, the body is still encoded.
        transfer = _listed(self.headers, "Transfer-Encoding")
        if {name.strip() for name in transfer.split(",")} - {"", "chunked", "identity"}:
            raise DecodeError(f"Transfer-Encoding {transfer[:80]!r} was not decoded")
        return decoded(
            as_served(response.body, response.flags),
            _listed(self.headers, "Content-Encoding"),
            max_bytes,
            whole=not self.stopped,
            # The flag "partial" means that no header marks the end of the body. So if the body is
            # empty, the connection may have broken before the first byte.
            may_be_empty="partial" not in response.flags,
        )

    def _lacks_declared_body(self, response: Response) -> bool:
        """Whether the body is empty, though its Content-Length is greater than 0.

        If a download handler has received the response over HTTP/1.1, the result is False, because
        the handler compares the length of the body with the Content-Length. Over HTTP/2, the
        library h2 does not compare them if no DATA frame arrives (RFC 9113 8.1.1). A response that
        a middleware supplies, for example from a cache, may have come over HTTP/2 earlier.
        """
        if response.body or self.stopped or response.status in _WITHOUT_BODY:
            return False
        if self.request is not None and response.protocol not in HTTP2:
            return False
        lengths = _listed(self.headers, "Content-Length").split(",")
        return any(length.strip().lstrip("0").isdecimal() for length in lengths)


def _ftp_cause(error: BaseException) -> BaseException:
    """Return the exception whose message is the reply of an FTP server.

    This is usually `error` itself. But if the server does not accept the login, Twisted puts the
    exception with the reply into the `args` of `error`.
    """
    for _ in range(_MOST_CAUSES):
        inside = [arg.value for arg in error.args if isinstance(arg, TwistedFailure)]
        if not inside or inside[0] is None:
            break
        error = inside[0]
    return error


def _ftp_reply_in(text: str) -> str:
    """Return an FTP server's reply as one line; "" if `text` contains none.

    Args:
        text: the message of a Twisted exception. It is usually the `repr` of a list of lines, such
            as "['550-No such file', '550 Sorry']". Each line may begin with the code of the reply.
    """
    lines = [text.strip("[]'\"")]
    # `literal_eval` fails if the text was shortened, or comes from a user's own download handler.
    with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        lines = [*map(str, literal_eval(text))]
    if not lines:
        return ""
    code = _FTP_CODE.match(lines[-1])
    if code is None:
        return ""
    words = [line.removeprefix(code[0]).lstrip("- ") for line in lines]
    return shown(" ".join([code[0], *words]).strip())


def _listed(of: Headers, name: str) -> str:
    return b",".join(of.getlist(name)).decode("latin-1").lower()


def failure_of(error: BaseException, *, proxy: str = "", host: str = "") -> Unreachable:
    """Return the outcome of a fetch that ended in `error`.

    The reason in the outcome contains the message of `error`, without passwords in URLs. Messages
    that only repeat the kind of failure are left out.

    Args:
        error: the exception of the download handler or of a middleware.
        proxy: the host and the port of the proxy to which the request was sent; "" without a proxy.
            With a proxy, a failed look-up of a host name or a refused connection becomes
            `Failure.PROXY`.
        host: the host of the robots.txt, in the form of `Origin.host`.
    """
    cause = _ftp_cause(error)
    detail = without_login(safe_str(cause)[:_DETAIL_CHARS])
    if isinstance(error, IgnoreRequest):
        return failed(Failure.DROPPED, detail)
    if cause is not error and not any(_meanings(cause)):
        # The FTP client has ended the connection, because it could not parse a reply.
        return failed(Failure.OTHER, f"the FTP client cannot read a reply: {detail}")
    failure = _failure_in([*_meanings(error), Failure.OTHER])
    if failure is Failure.TLS and _NO_PROTOCOL in detail:
        failure = Failure.NO_HTTP2
    is_redundant = type(error).__name__ in _REDUNDANT and failure in _SCRAPYS
    if is_redundant or failure is Failure.NO_HTTP2:
        detail = ""
    if failure is Failure.DNS and host.startswith("["):
        detail = _NO_IPV6
    if proxy and failure in _OF_CONNECTING:
        detail = f"{failure.value}: {detail}".removesuffix(": ")
        failure = Failure.PROXY
    if failure is Failure.PROXY and proxy not in detail:
        detail = f"{proxy}: {detail}"
    return failed(failure, detail)


def _failure_in(meanings: Sequence[Failure]) -> Failure:
    """Return the failure that describes an exception best.

    Args:
        meanings: the result of `_meanings` for the exception: a list of failures, the most specific
            failure first. It is not empty.
    """
    first = meanings[0]
    for decisive in (Failure.NO_FILES, Failure.PROXY):
        if decisive in meanings:
            return decisive
    # Some handlers raise the same exception in two cases: a server refuses the connection, or it
    # accepts the connection, but then closes it or sends a TLS alert. In the second case, the
    # `__cause__` of the exception means RESET or TLS.
    if first is Failure.REFUSED:
        return next(filter(_AFTER_ACCEPTING.__contains__, meanings), first)
    return first


def error_of(failure: Failure | None, why: str) -> Exception | None:
    """Return the exception that Scrapy raises for a page whose download ends in `failure`.

    Return None if Scrapy has no exception of its own for this failure.

    Args:
        failure: the failure, or None.
        why: the text of the exception.
    """
    if failure not in _SCRAPYS:
        return None
    return _SCRAPYS[failure](why)


def _meanings(error: object, depth: int = _MOST_CAUSES) -> Iterator[Failure]:
    """Yield the failures that describe an exception and its causes.

    The most specific failure comes first. The order is:

    1. The failures for the exceptions inside `error`. They are in its list `reasons`, if `error` is
       a Twisted exception such as `ResponseFailed`, or in its tuple `exceptions`, if `error` is an
       `ExceptionGroup`.
    2. The failures for `error` itself.
    3. The failures for the cause of `error`.

    Args:
        error: the exception. Twisted may pass a string in place of an exception, and the cause of
            an exception may be None. For a string or None, nothing is yielded.
        depth: the maximum number of exceptions to examine in the chain of causes. The first one is
            `error`.
    """
    if error is None or not depth:
        return
    for reason in getattr(error, "reasons", None) or ():
        value = getattr(reason, "value", reason)
        yield from _meanings(value, depth - 1)
        # Twisted's HTTP client raises a KeyError or ValueError if it cannot parse a response.
        if isinstance(value, (KeyError, ValueError)):
            yield Failure.INVALID
    group = getattr(error, "exceptions", None)
    if isinstance(group, tuple):
        for value in group:
            yield from _meanings(value, depth - 1)
    yield from _own_meanings(error)
    cause = getattr(error, "__cause__", None)
    # The exceptions of httpcore2 have their cause in `__context__` and not in `__cause__`. But at
    # the beginning of the chain, the `__context__` is ignored, because it may be an unrelated
    # exception.
    if cause is None and depth < _MOST_CAUSES:
        cause = getattr(error, "__context__", None)
    yield from _meanings(cause, depth - 1)


def _own_meanings(error: object) -> Iterator[Failure]:
    """Yield the failures that describe the exception `error` itself, and not its causes."""
    # Twisted's ConnectError is not an OSError. Its errno is in the attribute `osError`.
    if any(getattr(error, name, None) in _TOO_MANY_FILES for name in ("errno", "osError")):
        yield Failure.NO_FILES
    # Twisted's DNSLookupError contains the error of the operating system only in its message.
    if isinstance(error, twisted_errors.DNSLookupError):
        message = safe_str(error)
        if any(text in message for text in _TOO_MANY_TEXTS):
            yield Failure.NO_FILES
    for cls in type(error).__mro__:
        for name in (cls.__name__, f"{cls.__module__}.{cls.__name__}"):
            if name in _FAILURES:
                yield _FAILURES[name]
    text = safe_str(error)[:_DETAIL_CHARS]
    for failure, codes in _CODES.items():
        if any(code in text for code in codes):
            yield failure
