"""What an exception of a download means: a table of their names, with a `Failure` for each.

The table has names, not classes: Twisted, OpenSSL, Scrapy's newer exceptions and the libraries
behind other download handlers need not be importable. An exception that is not in the table is a
failed fetch, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapy import exceptions
from scrapy.exceptions import IgnoreRequest
from twisted.internet import error as twisted_errors
from twisted.python.reflect import safe_str

from ..policy.outcome import Failure, Unreachable, failed

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
    # `Error` is OpenSSL's; the last comes from Scrapy's HTTP/2 handler, of a server without HTTP/2
    Failure.TLS: "SSLError VerificationError CertificateError Error InvalidNegotiatedProtocol",
    # the last three of h2, aiohttp and httpx
    Failure.INVALID: "ParseError ProtocolError BadHttpMessage RemoteProtocolError",
    # the last two of aiohttp and httpx
    Failure.PROXY: "TunnelError ClientHttpProxyError ProxyError",
    Failure.CANCELLED: "DownloadCancelledError CancelledError",
    Failure.NOT_CACHED: "NotCachedError",
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
# How a connection fails to begin. With a proxy, it is the connection to the proxy.
_OF_CONNECTING = {Failure.DNS, Failure.REFUSED}
_MOST_CAUSES = 10  # how far a chain of causes is followed
_DETAIL_CHARS = 1000
_USER_INFO = re.compile(r"(?<=//)[^/\s@]*@")
# of OpenSSL: library, function and reason
_OPENSSL_REASON = re.compile(r"\[\('[^']*', '[^']*', '([^']*)'\)\]")
_TWISTED_FAILURE = re.compile(r"<twisted\.python\.failure\.Failure (?:\w+\.)*(\w+): ?")


class NotCachedError(Exception):
    """`HTTPCACHE_IGNORE_MISSING` is on, and Scrapy's HTTP cache does not have this robots.txt."""


def failure_of(
    error: BaseException, redirected_to: str = "", *, proxied: bool = False
) -> Unreachable:
    """Return the outcome of a fetch that ended in `error`.

    The reason contains the message of `error` if that says more than the failure. Passwords in its
    URLs are left out.

    Args:
        error: what the download handler, or a middleware, raised.
        redirected_to: the URL that failed, if a redirect led there.
        proxied: whether the request went to a proxy: then it was the proxy that was not found, or
            that refused the connection.
    """
    detail = _USER_INFO.sub("", safe_str(error)[:_DETAIL_CHARS])
    detail = _OPENSSL_REASON.sub(r"\1", _TWISTED_FAILURE.sub(r"<\1: ", detail))
    if isinstance(error, IgnoreRequest):
        return failed(Failure.DROPPED, detail, redirected_to)
    kinds = list(_kinds(error, _MOST_CAUSES))
    if type(error).__name__ in _SAYS_NO_MORE:
        detail = ""
    failure = Failure.OTHER
    if Failure.PROXY in kinds:
        failure = Failure.PROXY
    elif kinds:
        failure = kinds[0]
    if proxied and failure in _OF_CONNECTING:
        detail = f"{failure.value}: {detail}".removesuffix(": ")
        failure = Failure.PROXY
    return failed(failure, detail, redirected_to)


def error_of(failure: Failure | None, why: str) -> Exception | None:
    """Return what Scrapy raises for a page whose download ends in `failure`; None if nothing."""
    if failure not in _SCRAPYS:
        return None
    return _SCRAPYS[failure](why)


def _kinds(error: object, depth: int) -> Iterator[Failure]:
    """Yield what an exception means, the most specific first.

    First come Twisted's reasons, then the exception itself, then its cause. Twisted wraps the
    reasons of a failed response, as its own `Failure`s, in another exception. Their values may be
    texts.
    """
    if error is None or not depth:
        return
    for reason in getattr(error, "reasons", None) or ():
        value = getattr(reason, "value", reason)
        yield from _kinds(value, depth - 1)
        if isinstance(
            value, (KeyError, ValueError)
        ):  # what Twisted's HTTP client raises at what it cannot read
            yield Failure.INVALID
    yield from (_FAILURES[cls.__name__] for cls in type(error).__mro__ if cls.__name__ in _FAILURES)
    yield from _kinds(getattr(error, "__cause__", None), depth - 1)
