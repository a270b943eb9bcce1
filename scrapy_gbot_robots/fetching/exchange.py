"""One request for a robots.txt, and how its response or exception becomes an `Outcome`.

A table gives each exception its meaning. It lists names of classes and not the classes, because
Twisted, OpenSSL, Scrapy's newer exceptions and the libraries behind other download handlers need
not be importable. An exception that the table does not list is a failed fetch as well.
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

# A download handler gets this much time after the time-out to end the download by itself.
GRACE_SECS = 1.0

# Bytes. This is the value of Scrapy's own limit on a body. It protects a crawl if Scrapy ever stops
# to signal headers and pieces of bodies. When the headers of a response are signalled, the limit
# is lifted, because the body is then cut at GBOT_ROBOTS_MAX_BYTES. Some handlers have read the
# limit before that. They drop a response with a longer Content-Length.
MOST_DOWNLOADED = 16 * 2**20
_FTP_FAILED = 503  # Scrapy's FTP handler turns most replies of a server into this status.
_LIMIT = "download_maxsize"  # a key of Scrapy's in request.meta
BODY_DECIDES = range(200, 300)  # The body is needed for these statuses alone.
_WITHOUT_BODY = frozenset({204, 304})
# The names that download handlers give to HTTP/2. Its frames mark the end of a body.
HTTP2 = frozenset({"h2", "HTTP/2"})

# The request for a robots.txt has these headers, but empty, so that no middleware fills them in.
# They are spelled like the keys of `Headers`, because its methods would normalise each name again
# for each request. The project's own credentials for the host are not emptied.
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
# HttpProxyMiddleware stores under this meta key the proxy that the header was made for. It drops
# the header if the request has another proxy.
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
# Scrapy's default resolver does not resolve an IPv6 address.
_NO_IPV6 = (
    "for an IPv6 address, set TWISTED_DNS_RESOLVER, or DNS_RESOLVER in an older Scrapy, to "
    "'scrapy.resolver.CachingHostnameResolver'"
)
# OpenSSL's name for the alert of a server that supports none of the protocols which the client
# offers (RFC 7301 3.2). Scrapy's HTTP/2 handler is the only one that does not offer HTTP/1.1.
_NO_PROTOCOL = "no application protocol"
# The connection was not made. If the request has a proxy, this was the connection to the proxy.
_OF_CONNECTING = {Failure.DNS, Failure.REFUSED}
_MOST_CAUSES = 10  # A longer chain of causes is not followed to its end.
_DETAIL_CHARS = 1000
# The reply of an FTP server that does not accept the login (RFC 959 4.2.2), as Twisted quotes it.
_NOT_LOGGED_IN = re.compile(r"530[ -][^'\"\]]*")
_USER_INFO = re.compile(r"(?<=//)[^/\s@]*@")


class Exchange:
    """One request for a robots.txt, and its response or exception before any middleware changed it.

    The exchange stops a download that is long enough. If a middleware sends the request again, the
    exchange starts again.

    Args:
        robots_request: the request.
        most_bytes: the download stops after more bytes of the body than this.
        secs_left: for how many seconds a download handler may work on the request.
    """

    def __init__(self, robots_request: Request, most_bytes: int, secs_left: float = 0.0) -> None:
        self.robots_request = robots_request  # the request as the fetcher made it
        # The request that the download handler got. It is None if no middleware let it pass.
        self.request: Request | None = None
        self.headers = Headers()  # all headers of the response
        # How many seconds are left for a download handler.
        self.secs_left = secs_left
        self.error: BaseException | None = None  # the reason why there is no response
        self.fault = ""  # If a middleware has failed, this is `error` in words.
        self._most_bytes = most_bytes
        # The proxy of the page that needs the robots.txt, and the credentials for that proxy.
        self._proxy = robots_request.meta.get("proxy")
        self._credentials = robots_request.headers.get(PROXY_HEADER)
        self._forget_response()

    def _forget_response(self) -> None:
        """Set all attributes that a response changes to their first values."""
        self.headers_came = False
        # Whether this exchange stopped the download. If so, a short body is not a truncated one.
        self.stopped = False
        # The response, without its Content-Encoding so that no middleware decodes the body.
        self.response: Response | None = None
        # The exception of the download handler.
        self._download_error: BaseException | None = None
        self._received = 0

    async def sent(self, send: Send, request: Request) -> Response:
        """Send `request` by a download handler, for no longer than `secs_left` and GRACE_SECS.

        Some handlers ignore `download_timeout`. If a handler ends with asyncio's CancelledError,
        which is not an `Exception`, Scrapy waits for ever. So this method raises Twisted's
        CancelledError in its place. The time that a request spends in the downloader's queue does
        not count.

        Raises:
            TimeoutError: the time is over.
            Exception: any exception of the download handler.
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
        """Remove empty headers, as some handlers send them, and credentials for another proxy."""
        for name in (*CREDENTIALS, *NEVER_SENT):
            if not dict.get(request.headers, name):
                dict.pop(request.headers, name, None)
        proxy = request.meta.get("proxy")
        is_for_this_proxy = proxy == request.meta.get(AUTHORISED, self._proxy)
        # If a middleware has chosen the proxy, it has also set the credentials for that proxy.
        is_of_a_middleware = request.headers.get(PROXY_HEADER) != self._credentials
        if not proxy or not (is_for_this_proxy or is_of_a_middleware):
            request.headers.pop(PROXY_HEADER, None)

    def goes_on(self, data: bytes) -> bool:
        """Note the headers (`data` is b"") or a piece of the body; return whether to go on.

        The download goes on until the body has one byte more than the parser reads.
        """
        self.headers_came = True
        if self.request is not None:
            self.request.meta[_LIMIT] = 0
        self._received += len(data)
        self.stopped = self._received > self._most_bytes
        return not self.stopped

    def keep_response(self, response: Response) -> None:
        """Keep the response of a download handler, and remove its Content-Encoding.

        Without that header no middleware decodes the body.
        """
        self.response = response
        self.headers = response.headers.copy()
        response.headers.pop("Content-Encoding", None)

    def flag_unknown_length(self) -> None:
        """Flag the response "partial" if no header marks the end of its body (RFC 9112 6.3).

        Scrapy's default download handler sets this flag itself. It removes the headers that mark
        the end, so this method is not for its responses.
        """
        response = self.response
        if response is None or response.status in _WITHOUT_BODY or response.protocol in HTTP2:
            return
        is_chunked = "chunked" in _codings(self.headers, "Transfer-Encoding")
        if not is_chunked and "Content-Length" not in self.headers:
            response.flags.append("partial")

    @property
    def has_proxy(self) -> bool:
        """Whether the request was sent to a proxy. Middlewares may have chosen that proxy."""
        return bool(self.proxy)

    @property
    def proxy(self) -> str:
        """Host and port of the proxy, without user and password; "" if there is no proxy."""
        request = self.request or self.robots_request
        proxy = safe_str(request.meta.get("proxy") or "")
        return proxy.rpartition("@")[2].rpartition("//")[2].rstrip("/")

    def proxy_failure(self, response: Response) -> Unreachable | None:
        """The outcome of `response` if its headers declare an error of a proxy; otherwise None."""
        of_squid = response.headers.get("X-Squid-Error")
        fault = headers.proxy_fault(response.headers.getlist("Proxy-Status"), of_squid)
        if not fault:
            return None
        retry_after = headers.retry_after(response.headers.get("Retry-After"), time.time())
        return proxy_failed(self.proxy, response.status, fault, retry_after)

    @property
    def denied_login(self) -> str:
        """The reply of an FTP server that does not accept the login; "" in any other case."""
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
        """Return the fault of a middleware in words, or "" if `error` is not such a fault.

        A failed download is not a fault, and neither is an `IgnoreRequest`. A middleware may also
        raise a download error of Scrapy or Twisted on purpose. But a built-in exception, such as
        TimeoutError, comes from a call that the middleware made itself, so it is a fault.
        """
        if error is self._download_error or isinstance(error, IgnoreRequest):
            return ""
        is_pythons_own = type(error).__module__ == "builtins"
        if not is_pythons_own and any(_meanings(error)):
            return ""
        return f"{type(error).__name__}: {safe_str(error)}"

    def outcome(self, response: Response, url: str, settings: GbotSettings) -> Outcome:
        """The meaning of the response to `url`.

        If the status is not 2xx, it decides alone, even if the body was lost.
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
        # These headers show who answered, and declare the charset.
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
            DecodeError: a coding cannot be undone.
            EOFError: the connection ended early.
        """
        if "dataloss" in response.flags:
            raise EOFError
        if "download_stopped" in response.flags and not self.stopped:
            raise EOFError
        # A middleware may have changed the method.
        if self.request is not None and self.request.method == "HEAD":
            raise EOFError
        # Some handlers undo "chunked" alone, and leave other codings in the body.
        transfer = _codings(self.headers, "Transfer-Encoding")
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


def failure_of(error: BaseException, *, proxy: str = "", host: str = "") -> Unreachable:
    """Return the outcome of a fetch that ended in `error`.

    The reason contains the message of `error`, unless that only repeats the failure. Passwords in
    URLs are left out.

    Args:
        error: the exception of the download handler or of a middleware.
        proxy: host and port of the proxy to which the request was sent, or "". If the request has
            a proxy, a failed name look-up or a refused connection is a failure of the proxy.
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
    """Choose one of the `meanings` of an exception and its causes.

    There is at least one. The most specific comes first.
    """
    first = meanings[0]
    if Failure.PROXY in meanings:
        return Failure.PROXY
    # Some handlers raise the same exception for each connection that is not made, even if the
    # server has accepted it and sent a TLS alert.
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
    """Yield the meanings of an exception, the most specific first.

    The order is the exception's `reasons`, the exception itself, its cause. Twisted wraps the
    reasons why a response failed in another exception. Each reason is a Twisted `Failure`, whose
    value may be a text. A chain of more than `depth` exceptions is not followed to its end.
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
    # httpcore2 raises exceptions without a cause, so their context is read when they are themselves
    # a cause. The context of the first exception may have nothing to do with the failure.
    if cause is None and depth < _MOST_CAUSES:
        cause = getattr(error, "__context__", None)
    yield from _meanings(cause, depth - 1)
