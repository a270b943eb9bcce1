"""One request for a robots.txt, and what came of it: a response or an exception, as an `Outcome`.

What an exception means is a table of names, not of classes: Twisted, OpenSSL, Scrapy's newer
exceptions and the libraries behind other download handlers need not be importable. An exception
that is not in the table is a failed fetch, too.
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

GRACE_SECS = 1.0  # extra time for a download handler to observe the time-out by itself

# Bytes of a body, by Scrapy's own limit, which holds should Scrapy stop telling us of headers and
# bytes. It is lifted for a response whose headers we are told of: that is cut at
# GBOT_ROBOTS_MAX_BYTES. Some handlers have read it before, and drop a longer Content-Length.
MOST_DOWNLOADED = 16 * 2**20
_FTP_FAILED = 503  # which Scrapy's FTP handler makes of most replies
_LIMIT = "download_maxsize"  # Scrapy's request.meta key
BODY_DECIDES = range(200, 300)  # with any other status the body is not needed
_WITHOUT_BODY = frozenset({204, 304})
# HTTP/2, whose frames say where a body ends, as download handlers name it
HTTP2 = frozenset({"h2", "HTTP/2"})

# Present and empty, so that no middleware fills them in. Named as `Headers` has its keys: its own
# methods would work these names out again for each request.
CREDENTIALS = (b"Authorization", b"Cookie")  # but for what the project has set for the host
NEVER_SENT = (
    b"If-Match",
    b"If-Modified-Since",
    b"If-None-Match",
    b"If-Unmodified-Since",
    b"Range",
    b"Referer",
)

PROXY_HEADER = "Proxy-Authorization"
# HttpProxyMiddleware's meta key: the proxy of the header, which it drops for another proxy
AUTHORISED = "_auth_proxy"

_NAMES = {
    Failure.DNS: "CannotResolveHostError DNSLookupError",
    Failure.REFUSED: "ConnectionRefusedError DownloadConnectionRefusedError ConnectError",
    # the last two of aiohttp and httpx
    Failure.RESET: "ConnectionLost ConnectionDone ConnectionResetError "
    "ServerDisconnectedError ReadError",
    Failure.TIMEOUT: "DownloadTimeoutError TimeoutError TCPTimedOutError UserTimeoutError",
    # the last of h2
    Failure.TRUNCATED: "ResponseDataLossError _DataLoss PotentialDataLoss InvalidBodyLengthError",
    Failure.CHUNKING: "_MalformedChunkedDataError",
    Failure.TLS: "SSLError VerificationError CertificateError OpenSSL.SSL.Error",
    Failure.NO_HTTP2: "InvalidNegotiatedProtocol",  # of Scrapy's HTTP/2 handler
    # the last three of h2, aiohttp and httpx
    Failure.INVALID: "ParseError ProtocolError BadHttpMessage RemoteProtocolError",
    # the last two of aiohttp and httpx
    Failure.PROXY: "TunnelError ClientHttpProxyError ProxyError",
    Failure.CANCELLED: "DownloadCancelledError CancelledError",
    Failure.NO_HANDLER: "NotSupported UnsupportedURLSchemeError",
}
_FAILURES: dict[str, Failure] = {}
for _failure, _names in _NAMES.items():
    _FAILURES.update(dict.fromkeys(_names.split(), _failure))
# What Scrapy raises for a page; before Scrapy 2.15, Twisted's exceptions.
_SCRAPYS: dict[Failure, type[Exception]] = {
    Failure.DNS: getattr(exceptions, "CannotResolveHostError", twisted_errors.DNSLookupError),
    Failure.REFUSED: getattr(
        exceptions, "DownloadConnectionRefusedError", twisted_errors.ConnectionRefusedError
    ),
    Failure.TIMEOUT: getattr(exceptions, "DownloadTimeoutError", twisted_errors.TimeoutError),
}
_SAYS_NO_MORE = {  # exceptions whose message only repeats the failure and the URL
    "ConnectionRefusedError",
    "DownloadConnectionRefusedError",
    "DownloadTimeoutError",
    "TCPTimedOutError",
    "TimeoutError",
}
_NO_IPV6 = (  # of Scrapy's default resolver
    "for an IPv6 address, set TWISTED_DNS_RESOLVER, or DNS_RESOLVER in an older Scrapy, to "
    "'scrapy.resolver.CachingHostnameResolver'"
)
# OpenSSL's word for the alert of a server that speaks none of the protocols it is offered (RFC 7301
# 3.2). Of the handlers, only Scrapy's for HTTP/2 offers no HTTP/1.1.
_NO_PROTOCOL = "no application protocol"
# How a connection fails to begin. With a proxy, it is the connection to the proxy.
_OF_CONNECTING = {Failure.DNS, Failure.REFUSED}
_MOST_CAUSES = 10  # how far a chain of causes is followed
_DETAIL_CHARS = 1000
# The reply of an FTP server without a login that it takes (RFC 959 4.2.2), as Twisted quotes it.
_NOT_LOGGED_IN = re.compile(r"530[ -][^'\"\]]*")
_USER_INFO = re.compile(r"(?<=//)[^/\s@]*@")


class Exchange:
    """One request for a robots.txt, and what came of it before any middleware changed that.

    It stops a download that is long enough. If another middleware sends the request again, the
    exchange starts again.
    """

    def __init__(self, robots_request: Request, most_bytes: int, secs_left: float = 0.0) -> None:
        self.robots_request = robots_request  # the request as the fetcher made it
        # as the download handler got it; None if a middleware did not let it pass
        self.request: Request | None = None
        self.headers = Headers()  # all those of the response
        # for how many seconds a download handler may still have it
        self.secs_left = secs_left
        self.error: BaseException | None = None  # why there is no response
        self.fault = ""  # `error` in words, if a middleware has failed
        self._most_bytes = most_bytes
        self._proxy = robots_request.meta.get("proxy")  # of the request that needs the robots.txt
        self._credentials = robots_request.headers.get(PROXY_HEADER)  # for that proxy
        self._forget_response()

    def _forget_response(self) -> None:
        """Know nothing of a response."""
        self.headers_came = False
        # whether this exchange stopped the download: then a short body is not a lost one
        self.stopped = False
        # without Content-Encoding, so that no middleware decodes the body
        self.response: Response | None = None
        # what the download handler raised, if it did
        self._download_error: BaseException | None = None
        self._received = 0

    async def sent(self, send: Send, request: Request) -> Response:
        """Let a download handler have the request for no longer than its time.

        Some handlers ignore `download_timeout`. Of one that is cancelled, Scrapy waits for the end
        for ever: asyncio's CancelledError is no `Exception`, Twisted's is. The time that a request
        spends in the downloader's queue does not count.
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
        """Take out empty headers, which some handlers send, and credentials for another proxy."""
        for name in (*CREDENTIALS, *NEVER_SENT):
            if not dict.get(request.headers, name):
                dict.pop(request.headers, name, None)
        proxy = request.meta.get("proxy")
        is_for_this_proxy = proxy == request.meta.get(AUTHORISED, self._proxy)
        # A middleware that has chosen the proxy has given its credentials, too.
        is_of_a_middleware = request.headers.get(PROXY_HEADER) != self._credentials
        if not proxy or not (is_for_this_proxy or is_of_a_middleware):
            request.headers.pop(PROXY_HEADER, None)

    def goes_on(self, data: bytes) -> bool:
        """Note the headers, or a piece of the body.

        Return whether more is wanted: one byte more than the parser reads.
        """
        self.headers_came = True
        if self.request is not None:
            self.request.meta[_LIMIT] = 0
        self._received += len(data)
        self.stopped = self._received > self._most_bytes
        return not self.stopped

    def keep_response(self, response: Response) -> None:
        """Keep what a download handler has returned, without its Content-Encoding.

        So no middleware decodes the body.
        """
        self.response = response
        self.headers = response.headers.copy()
        response.headers.pop("Content-Encoding", None)

    def flag_unknown_length(self) -> None:
        """Flag the response "partial" if nothing says where its body ends (RFC 9112 6.3).

        Scrapy's default download handler does so itself, and returns no header that says it.
        """
        response = self.response
        if response is None or response.status in _WITHOUT_BODY or response.protocol in HTTP2:
            return
        is_chunked = "chunked" in _codings(self.headers, "Transfer-Encoding")
        if not is_chunked and "Content-Length" not in self.headers:
            response.flags.append("partial")

    @property
    def has_proxy(self) -> bool:
        """Whether the request went to a proxy, as it was sent in the end."""
        return bool(self.proxy)

    @property
    def proxy(self) -> str:
        """Host and port of that proxy, without a password; "" if there is none."""
        request = self.request or self.robots_request
        proxy = safe_str(request.meta.get("proxy") or "")
        return proxy.rpartition("@")[2].rpartition("//")[2].rstrip("/")

    def proxy_failure(self, response: Response) -> Unreachable | None:
        """The outcome of `response` if a proxy says that it is its own; None if none says so."""
        of_squid = response.headers.get("X-Squid-Error")
        fault = headers.proxy_fault(response.headers.getlist("Proxy-Status"), of_squid)
        if not fault:
            return None
        retry_after = headers.retry_after(response.headers.get("Retry-After"), time.time())
        return proxy_failed(self.proxy, response.status, fault, retry_after)

    @property
    def refused_login(self) -> str:
        """The reply of an FTP server that refuses the login; "" if it does not, or is none."""
        if not self.robots_request.url.startswith("ftp:"):
            return ""
        said = ""
        if self.error is not None:
            said = safe_str(self.error)
        elif self.response is not None and self.response.status == _FTP_FAILED:
            said = self.response.body[:_DETAIL_CHARS].decode("latin-1")
        reply = _NOT_LOGGED_IN.search(said)
        if reply is None:
            return ""
        return reply[0].strip()

    def fault_in(self, error: BaseException) -> str:
        """Return the fault of a middleware in words.

        It is an empty text if `error` is a failed download or an `IgnoreRequest`. A middleware may
        end a request with an error of Scrapy's or Twisted's downloads, which is no fault. An error
        of Python's own, such as TimeoutError, comes from a call that the middleware made itself.
        """
        if error is self._download_error or isinstance(error, IgnoreRequest):
            return ""
        is_pythons_own = type(error).__module__ == "builtins"
        if not is_pythons_own and any(_meanings(error)):
            return ""
        return f"{type(error).__name__}: {safe_str(error)}"

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
        if lost is not None and response.status in BODY_DECIDES:
            return lost
        # They say whose answer it is, and in which code page.
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
        """Return the body without its codings, and whether there was more.

        Raises:
            DecodeError: a coding cannot be undone.
            EOFError: the connection ended early.
        """
        if "dataloss" in response.flags:
            raise EOFError
        if "download_stopped" in response.flags and not self.stopped:
            raise EOFError
        if self.request is not None and self.request.method == "HEAD":  # by a middleware
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


def failure_of(error: BaseException, *, proxy: str = "", host: str = "") -> Unreachable:
    """Return the outcome of a fetch that ended in `error`.

    The reason contains the message of `error` if that says more than the failure. Passwords in its
    URLs are left out.

    Args:
        error: what the download handler, or a middleware, raised.
        proxy: host and port of the proxy that the request went to: it was the proxy that was not
            found, or that refused the connection. "" if there was none.
        host: whose robots.txt was asked for, in the form of `Origin.host`.
    """
    detail = _USER_INFO.sub("", safe_str(error)[:_DETAIL_CHARS])
    if isinstance(error, IgnoreRequest):
        return failed(Failure.DROPPED, detail)
    failure = _failure_in([*_meanings(error), Failure.OTHER])
    if failure is Failure.TLS and _NO_PROTOCOL in detail:
        failure = Failure.NO_HTTP2
    says_no_more = type(error).__name__ in _SAYS_NO_MORE and failure in _SCRAPYS
    if says_no_more or failure is Failure.NO_HTTP2:
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
    """Choose of what an exception and its causes mean, the most specific first."""
    first = meanings[0]
    if Failure.PROXY in meanings:
        return Failure.PROXY
    # Some handlers say "refused" of each connection that is not made, also of one whose server has
    # answered by a TLS alert.
    if first is Failure.REFUSED and Failure.TLS in meanings:
        return Failure.TLS
    return first


def error_of(failure: Failure | None, why: str) -> Exception | None:
    """Return what Scrapy raises for a page whose download ends in `failure`; None if nothing."""
    if failure not in _SCRAPYS:
        return None
    return _SCRAPYS[failure](why)


def _meanings(error: object, depth: int = _MOST_CAUSES) -> Iterator[Failure]:
    """Yield what an exception means, the most specific first.

    First come Twisted's reasons, then the exception itself, then its cause. Twisted wraps the
    reasons of a failed response, as its own `Failure`s, in another exception. Their values may be
    texts.
    """
    if error is None or not depth:
        return
    for reason in getattr(error, "reasons", None) or ():
        value = getattr(reason, "value", reason)
        yield from _meanings(value, depth - 1)
        # Twisted's HTTP client raises these at what it cannot read.
        if isinstance(value, (KeyError, ValueError)):
            yield Failure.INVALID
    for cls in type(error).__mro__:
        for name in (cls.__name__, f"{cls.__module__}.{cls.__name__}"):
            if name in _FAILURES:
                yield _FAILURES[name]
    cause = getattr(error, "__cause__", None)
    # httpcore2 does not name the cause of what it raises. The context of an exception that is no
    # cause itself may be anything that its raiser was busy with.
    if cause is None and depth < _MOST_CAUSES:
        cause = getattr(error, "__context__", None)
    yield from _meanings(cause, depth - 1)
