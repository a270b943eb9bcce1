"""One request for a robots.txt, and how its response or exception becomes an `Outcome`.

The table `_NAMES` maps exceptions to kinds of failure. It lists exceptions by the names of their
classes, because not every installation has all the libraries (Twisted, OpenSSL, aiohttp, httpx) and
versions of Scrapy that define these classes. A fetch that ends in an exception which is not in the
table has failed, too.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Sequence

from scrapy import Request, exceptions
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, Response
from twisted.internet import error as twisted_errors
from twisted.internet.defer import CancelledError
from twisted.python.reflect import safe_str

from ..concurrency import within
from ..engine import Send
from ..policy import headers
from ..policy.decoding import DecodeError, as_served, decoded
from ..policy.outcome import Failure, Outcome, Unreachable, failed, outcome_of, proxy_failed
from ..policy.web_pages import HEADERS
from ..settings import GbotSettings

# After the time-out, a download handler has this much time to end the download by itself.
GRACE_SECS = 1.0

# Scrapy's own limit (`download_maxsize`) on the body of a robots.txt, in bytes. When Scrapy signals
# the headers of the response, this limit is removed, because the download then stops at
# GBOT_ROBOTS_MAX_BYTES. The limit remains in force if a future Scrapy does not send this signal,
# and in the few download handlers that read the limit before the headers arrive.
MOST_DOWNLOADED = 16 * 2**20
_FTP_FAILED = 503  # Scrapy's FTP handler reports most error replies of a server as this status.
_LIMIT = "download_maxsize"  # a key of Scrapy's in request.meta
BODY_DECIDES = range(200, 300)  # For all other statuses, the body does not matter.
_WITHOUT_BODY = frozenset({204, 304})
# Download handlers use these names for HTTP/2, whose frames mark the end of a body.
HTTP2 = frozenset({"h2", "HTTP/2"})

# A request for a robots.txt passes the middlewares with these headers set to empty lists, so that
# no middleware fills them in. Only the credentials that the project has for the host of the
# robots.txt are kept. The names are spelled like the keys of `Headers`, so that its methods need
# not normalise each name for each request.
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
# Under this meta key, Scrapy's HttpProxyMiddleware stores the proxy for which it made the
# Proxy-Authorization header. It drops the header if the request has a different proxy.
AUTHORISED = "_auth_proxy"

_NAMES = {
    Failure.DNS: "CannotResolveHostError DNSLookupError",
    Failure.REFUSED: "ConnectionRefusedError DownloadConnectionRefusedError ConnectError",
    # The last two names are from aiohttp and httpx.
    Failure.RESET: "ConnectionLost ConnectionDone ConnectionResetError "
    "ServerDisconnectedError ReadError",
    Failure.TIMEOUT: "DownloadTimeoutError TimeoutError TCPTimedOutError UserTimeoutError",
    # The last name is from h2.
    Failure.TRUNCATED: "ResponseDataLossError _DataLoss PotentialDataLoss InvalidBodyLengthError",
    Failure.CHUNKING: "_MalformedChunkedDataError",
    Failure.TLS: "SSLError VerificationError CertificateError OpenSSL.SSL.Error",
    Failure.NO_HTTP2: "InvalidNegotiatedProtocol",  # This name is from Scrapy's HTTP/2 handler.
    # The last three names are from h2, aiohttp and httpx.
    Failure.INVALID: "ParseError ProtocolError BadHttpMessage RemoteProtocolError",
    # The last two names are from aiohttp and httpx.
    Failure.PROXY: "TunnelError ClientHttpProxyError ProxyError",
    Failure.CANCELLED: "DownloadCancelledError CancelledError",
    Failure.NO_HANDLER: "NotSupported UnsupportedURLSchemeError",
}
_FAILURES: dict[str, Failure] = {}
for _failure, _names in _NAMES.items():
    _FAILURES.update(dict.fromkeys(_names.split(), _failure))
# The exceptions that Scrapy raises for pages. Before Scrapy 2.15, these are Twisted's.
_SCRAPYS: dict[Failure, type[Exception]] = {
    Failure.DNS: getattr(exceptions, "CannotResolveHostError", twisted_errors.DNSLookupError),
    Failure.REFUSED: getattr(
        exceptions, "DownloadConnectionRefusedError", twisted_errors.ConnectionRefusedError
    ),
    Failure.TIMEOUT: getattr(exceptions, "DownloadTimeoutError", twisted_errors.TimeoutError),
}
# The messages of these exceptions repeat the failure and the URL, and add nothing.
_REDUNDANT = {
    "ConnectionRefusedError",
    "DownloadConnectionRefusedError",
    "DownloadTimeoutError",
    "TCPTimedOutError",
    "TimeoutError",
}
# This advice is logged because Scrapy's default resolver does not support IPv6 addresses.
_NO_IPV6 = (
    "for an IPv6 address, set TWISTED_DNS_RESOLVER, or DNS_RESOLVER in an older Scrapy, to "
    "'scrapy.resolver.CachingHostnameResolver'"
)
# The text of OpenSSL's error if the server supports none of the protocols that the client offers
# (RFC 7301 3.2). Only Scrapy's HTTP/2 handler can cause it, because all others offer HTTP/1.1.
_NO_PROTOCOL = "no application protocol"
# In these failures no connection was made. If the request has a proxy, the proxy is the host to
# which the handler failed to connect.
_OF_CONNECTING = {Failure.DNS, Failure.REFUSED}
_MOST_CAUSES = 10  # At most this many exceptions of a chain of causes are examined.
_DETAIL_CHARS = 1000
# The reply of an FTP server that does not accept the login (RFC 959 4.2.2), as Twisted quotes it.
_NOT_LOGGED_IN = re.compile(r"530[ -][^'\"\]]*")
_USER_INFO = re.compile(r"(?<=//)[^/\s@]*@")


class Exchange:
    """One request for a robots.txt, and its response or exception as the download handler gave it.

    Middlewares see the response only after the exchange has kept it. The exchange stops the
    download when it has enough of the body. If a middleware sends the request again, the exchange
    keeps only the response to the last attempt.

    Args:
        robots_request: the request.
        most_bytes: the download stops when the body has more bytes than this.
        secs_left: the time in seconds that a download handler may spend on the request.
    """

    def __init__(self, robots_request: Request, most_bytes: int, secs_left: float = 0.0) -> None:
        self.robots_request = robots_request  # the request as the fetcher made it
        # The request that the download handler received; None if none has reached the handler.
        self.request: Request | None = None
        self.headers = Headers()  # all headers of the response
        self.secs_left = secs_left
        self.error: BaseException | None = None  # the exception in which the request ended
        self.fault = ""  # the text of `error` if it is a fault of a middleware (`fault_in`)
        self._most_bytes = most_bytes
        # The proxy of the page that needs the robots.txt, and the credentials for that proxy.
        self._proxy = robots_request.meta.get("proxy")
        self._credentials = robots_request.headers.get(PROXY_HEADER)
        self._forget_response()

    def _forget_response(self) -> None:
        """Reset the attributes that describe the response, before the request is sent again."""
        self.headers_came = False
        # Whether this exchange stopped the download. If so, the body is incomplete on purpose.
        self.stopped = False
        # The Content-Encoding of this response is removed, so that no middleware decodes the body.
        self.response: Response | None = None
        # The exception of the download handler.
        self._download_error: BaseException | None = None
        self._received = 0

    async def sent(self, send: Send, request: Request) -> Response:
        """Call `send`, which passes `request` to a download handler; return and keep the response.

        The call is cancelled after `secs_left` plus GRACE_SECS, because some handlers ignore
        `download_timeout`. The time that the request has spent in the downloader's queue is not
        part of this limit.

        A handler may raise asyncio's CancelledError, which is not an `Exception`. Scrapy would then
        wait for ever, so this method raises Twisted's CancelledError instead.

        Raises:
            TimeoutError: the time limit was reached.
            Exception: the download handler raised this exception.
        """
        self.request = request
        request.meta[_LIMIT] = MOST_DOWNLOADED
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
        """Remove two kinds of headers from `request` before a download handler gets it.

        These are headers without a value, because some handlers would send them, and the
        credentials for a proxy if the request now goes to a different proxy.
        """
        for name in (*CREDENTIALS, *NEVER_SENT):
            if not dict.get(request.headers, name):
                dict.pop(request.headers, name, None)
        proxy = request.meta.get("proxy")
        is_for_this_proxy = proxy == request.meta.get(AUTHORISED, self._proxy)
        # A middleware that chooses a proxy also sets the credentials for that proxy.
        is_of_a_middleware = request.headers.get(PROXY_HEADER) != self._credentials
        if not proxy or not (is_for_this_proxy or is_of_a_middleware):
            request.headers.pop(PROXY_HEADER, None)

    def goes_on(self, data: bytes) -> bool:
        """Return whether the download should go on after another piece of the response.

        It goes on until the body has one byte more than the parser reads.

        Args:
            data: the piece of the body; b"" when the headers have arrived.
        """
        self.headers_came = True
        if self.request is not None:
            self.request.meta[_LIMIT] = 0
        self._received += len(data)
        self.stopped = self._received > self._most_bytes
        return not self.stopped

    def keep_response(self, response: Response) -> None:
        """Keep `response`, and remove its Content-Encoding, so that no middleware decodes it."""
        self.response = response
        self.headers = response.headers.copy()
        response.headers.pop("Content-Encoding", None)

    def flag_unknown_length(self) -> None:
        """Flag the response as "partial" if no header marks the end of its body (RFC 9112 6.3).

        Do not call this method for a response of Scrapy's default download handler. That handler
        sets the flag itself, and removes the headers that mark the end of a body.
        """
        response = self.response
        if response is None or response.status in _WITHOUT_BODY or response.protocol in HTTP2:
            return
        is_chunked = "chunked" in _codings(self.headers, "Transfer-Encoding")
        if not is_chunked and "Content-Length" not in self.headers:
            response.flags.append("partial")

    @property
    def has_proxy(self) -> bool:
        """Whether the request was sent to a proxy, chosen by the project or by a middleware."""
        return bool(self.proxy)

    @property
    def proxy(self) -> str:
        """Host and port of the proxy, without user and password; "" if there is no proxy."""
        request = self.request or self.robots_request
        proxy = safe_str(request.meta.get("proxy") or "")
        return proxy.rpartition("@")[2].rpartition("//")[2].rstrip("/")

    def proxy_failure(self, response: Response) -> Unreachable | None:
        """Return the outcome if the headers of `response` report a failure of a proxy, or None."""
        of_squid = response.headers.get("X-Squid-Error")
        fault = headers.proxy_fault(response.headers.getlist("Proxy-Status"), of_squid)
        if not fault:
            return None
        retry_after = headers.retry_after(response.headers.get("Retry-After"), time.time())
        return proxy_failed(self.proxy, response.status, fault, retry_after)

    @property
    def denied_login(self) -> str:
        """The reply of an FTP server that denied the login; "" if no login was denied."""
        if not self.robots_request.url.startswith("ftp:"):
            return ""
        text = ""
        if self.error is not None:
            text = safe_str(self.error)
        elif self.response is not None and self.response.status == _FTP_FAILED:
            text = self.response.body[:_DETAIL_CHARS].decode("latin-1")
        reply = _NOT_LOGGED_IN.search(text)
        if reply is None:
            return ""
        return reply[0].strip()

    def fault_in(self, error: BaseException) -> str:
        """Return a description of `error` if a middleware raised it unintentionally, or "".

        The result is "" for an exception of the download handler, for an `IgnoreRequest`, and for a
        download error of Scrapy or Twisted, which a middleware may raise on purpose. A built-in
        exception, such as TimeoutError, counts as a fault of the middleware, because it comes from
        a call that the middleware made itself.
        """
        if error is self._download_error or isinstance(error, IgnoreRequest):
            return ""
        is_pythons_own = type(error).__module__ == "builtins"
        if not is_pythons_own and any(_meanings(error)):
            return ""
        return f"{type(error).__name__}: {safe_str(error)}"

    def outcome(self, response: Response, url: str, settings: GbotSettings) -> Outcome:
        """Return what `response`, received for `url`, means for the crawl.

        If the status is not 2xx, the body does not matter, so it may be truncated or undecodable.
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
        # These headers show which server or proxy has sent the response, and declare its charset.
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

    def _body(self, response: Response, max_bytes: int) -> tuple[bytes, bool]:
        """Return the decoded body, and whether it was cut at `max_bytes`.

        Raises:
            DecodeError: the body cannot be decoded.
            EOFError: the body is incomplete or missing.
        """
        if "dataloss" in response.flags:
            raise EOFError
        if "download_stopped" in response.flags and not self.stopped:
            raise EOFError
        # A middleware has changed the method, so the response has no body.
        if self.request is not None and self.request.method == "HEAD":
            raise EOFError
        # Some handlers decode "chunked" but no other transfer coding.
        transfer = _codings(self.headers, "Transfer-Encoding")
        if {name.strip() for name in transfer.split(",")} - {"", "chunked", "identity"}:
            raise DecodeError(f"Transfer-Encoding {transfer[:80]!r} was not undone")
        return decoded(
            as_served(response.body, response.flags),
            _codings(self.headers, "Content-Encoding"),
            max_bytes,
            whole=not self.stopped,
            # An empty "partial" body may mean that the connection broke before the first byte.
            may_be_empty="partial" not in response.flags,
        )


def _codings(of: Headers, name: str) -> str:
    return b",".join(of.getlist(name)).decode("latin-1").lower()


def failure_of(error: BaseException, *, proxy: str = "", host: str = "") -> Unreachable:
    """Return the outcome of a fetch that ended in `error`.

    The reason in the outcome contains the message of `error`, without passwords in URLs. Messages
    that only repeat the kind of failure are left out.

    Args:
        error: the exception of the download handler or of a middleware.
        proxy: host and port of the proxy to which the request was sent; "" without a proxy. With a
            proxy, a failed name look-up or a refused connection is a failure of the proxy.
        host: the host of the robots.txt, in the form of `Origin.host`.
    """
    detail = _USER_INFO.sub("", safe_str(error)[:_DETAIL_CHARS])
    if isinstance(error, IgnoreRequest):
        return failed(Failure.DROPPED, detail)
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
        meanings: the failures that the exception and its causes stand for, the most specific
            first; not empty.
    """
    first = meanings[0]
    if Failure.PROXY in meanings:
        return Failure.PROXY
    # Some handlers raise the exception for a refused connection also if the server has accepted the
    # connection and has then sent a TLS alert.
    if first is Failure.REFUSED and Failure.TLS in meanings:
        return Failure.TLS
    return first


def error_of(failure: Failure | None, why: str) -> Exception | None:
    """Return the exception that Scrapy raises for a page whose download ends in `failure`.

    Return None if Scrapy has no exception for it.
    """
    if failure not in _SCRAPYS:
        return None
    return _SCRAPYS[failure](why)


def _meanings(error: object, depth: int = _MOST_CAUSES) -> Iterator[Failure]:
    """Yield the failures that an exception and its causes stand for, the most specific first.

    The exceptions in its `reasons` come first, then the exception itself, then its cause. Twisted
    puts the exceptions that ended a response into the list `reasons` of a new exception. Each item
    is a Twisted `Failure`, whose value may also be a text.

    Args:
        error: the exception; a text or None has no failures.
        depth: how many exceptions of a chain of causes are examined.
    """
    if error is None or not depth:
        return
    for reason in getattr(error, "reasons", None) or ():
        value = getattr(reason, "value", reason)
        yield from _meanings(value, depth - 1)
        # Twisted's HTTP client raises these for a response that it cannot parse.
        if isinstance(value, (KeyError, ValueError)):
            yield Failure.INVALID
    for cls in type(error).__mro__:
        for name in (cls.__name__, f"{cls.__module__}.{cls.__name__}"):
            if name in _FAILURES:
                yield _FAILURES[name]
    cause = getattr(error, "__cause__", None)
    # httpcore2 raises exceptions without a cause, so the `__context__` of an exception in the chain
    # is followed as well. The context of the first exception is not followed, because that
    # exception may have been raised while an unrelated exception was handled.
    if cause is None and depth < _MOST_CAUSES:
        cause = getattr(error, "__context__", None)
    yield from _meanings(cause, depth - 1)
