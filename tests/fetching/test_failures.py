"""What an exception of a download means: by its name, its reasons and its causes, whoever raised it."""

import errno
import os
import ssl
from typing import Any

import pytest
from OpenSSL import SSL
from scrapy.exceptions import IgnoreRequest, NotSupported
from twisted.internet import error as twisted
from twisted.python.failure import Failure as TwistedFailure
from twisted.web.client import ResponseFailed

from scrapy_gbot_robots.fetching.exchange import failure_of
from scrapy_gbot_robots.policy.outcome import Failure

from ..support.rows import row, table


def named(
    name: str, *bases: type[BaseException], module: str = "other.library"
) -> type[BaseException]:
    """An exception class of a library that need not be installed."""
    return type(name, bases or (Exception,), {"__module__": module})


def with_cause(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def in_context(error: BaseException, context: BaseException) -> BaseException:
    error.__context__ = context
    return error


def with_reasons(*reasons: BaseException) -> BaseException:
    return ResponseFailed([TwistedFailure(reason) for reason in reasons])  # type: ignore[no-untyped-call]


def of_itself(error: BaseException) -> BaseException:
    """An error that names itself as its reason and as its cause."""
    error.reasons = [error]  # type: ignore[attr-defined]
    return with_cause(error, error)


def group_of(*errors: BaseException) -> BaseException:
    """A group of exceptions, as Python 3.11 and the package exceptiongroup know it."""
    group = named("ExceptionGroup")()
    group.exceptions = errors  # type: ignore[attr-defined]
    return group


def of_curl(name: str, code: int, text: str) -> BaseException:
    """An error of curl_cffi, whose cause is an error of the same text."""
    text = f"Failed to perform, curl: ({code}) {text}. See https://curl.se/libcurl/c/"
    base = named("CurlError", module="curl_cffi.curl")
    error = named(name, base, OSError, module="curl_cffi.requests.exceptions")
    return with_cause(error(text), base(text))


def of_browser(code: str) -> BaseException:
    """An error of Playwright."""
    error = named("Error", module="playwright._impl._errors")
    return error(f"Page.goto: {code} at http://a.example/robots.txt\nCall log:\n  - navigating")


REFUSED_BY_NEWER = named("DownloadConnectionRefusedError")


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError


@table(
    "error, failure",
    row("S2.20-dns", twisted.DNSLookupError(), Failure.DNS),
    row("S2.20-refused", twisted.ConnectionRefusedError(), Failure.REFUSED),  # type: ignore[no-untyped-call]
    row("S2.20-lost", twisted.ConnectionLost(), Failure.RESET),
    row("in-no-table", ArithmeticError(), Failure.OTHER),
    row("S2.20-broken-pipe", BrokenPipeError(), Failure.RESET),
    row("S2.20-aborted", ConnectionAbortedError(), Failure.RESET),
    row(
        "reset-called-refused",
        with_cause(named("DownloadConnectionRefusedError")(), BrokenPipeError()),
        Failure.RESET,
    ),
    row(
        "really-refused",
        with_cause(named("DownloadConnectionRefusedError")(), ConnectionRefusedError()),
        Failure.REFUSED,
    ),
    row("S2.22-end-in-a-handshake", ssl.SSLEOFError(), Failure.RESET),
    row("S2.20-reset", ConnectionResetError(), Failure.RESET),
    row("S2.20-time-out", TimeoutError(), Failure.TIMEOUT),
    row("S2.20-time-out-of-tcp", twisted.TCPTimedOutError(), Failure.TIMEOUT),  # type: ignore[no-untyped-call]
    row("S2.21-h2", named("InvalidBodyLengthError")(), Failure.TRUNCATED),
    row("S2.21-chunks", named("_MalformedChunkedDataError")(), Failure.CHUNKING),
    row("S2.22-openssl", named("Error", module="OpenSSL.SSL")(), Failure.TLS),
    row("no-http", named("RemoteProtocolError")(), Failure.INVALID),
    row("proxy", named("TunnelError")(), Failure.PROXY),
    row("no-handler", NotSupported(), Failure.NO_HANDLER),
    row("reason", with_reasons(twisted.DNSLookupError()), Failure.DNS),
    row("unknown-transfer-coding", with_reasons(KeyError(b"gzip, chunked")), Failure.INVALID),
    row("two-lengths", with_reasons(ValueError("Invalid response")), Failure.INVALID),
    row("cause", with_cause(named("Odd")(), TimeoutError()), Failure.TIMEOUT),
    row(
        "itself-before-its-cause",
        with_cause(twisted.ConnectionLost(), TimeoutError()),
        Failure.RESET,
    ),
    row("proxy-before-all", with_cause(TimeoutError(), named("ProxyError")()), Failure.PROXY),
    row("context-is-no-cause", in_context(named("Odd")(), TimeoutError()), Failure.OTHER),
    row("no-files", twisted.ConnectBindError(errno.EMFILE, "x"), Failure.NO_FILES),  # type: ignore[no-untyped-call]
    row("no-files-of-machine", twisted.ConnectError(errno.ENFILE, "x"), Failure.NO_FILES),  # type: ignore[no-untyped-call]
    row(
        "no-files-of-aiohttp",
        with_cause(REFUSED_BY_NEWER("x"), named("ClientConnectorError", OSError)(errno.EMFILE, "")),
        Failure.NO_FILES,
    ),
    row(
        "no-files-of-httpx",
        with_cause(
            REFUSED_BY_NEWER("All connection attempts failed"),
            with_cause(named("ConnectError")(), group_of(OSError(errno.EMFILE, "x"))),
        ),
        Failure.NO_FILES,
    ),
    row(
        "no-files-for-names",
        twisted.DNSLookupError(f"not found: {OSError(errno.EMFILE, os.strerror(errno.EMFILE))}"),
        Failure.NO_FILES,
    ),
    # what scrapy-impersonate raises
    row("dns-of-curl", of_curl("DNSError", 6, "Could not resolve host: a.example"), Failure.DNS),
    row("refused-of-curl", of_curl("ConnectionError", 7, "Failed to connect"), Failure.REFUSED),
    row("silence-of-curl", of_curl("ConnectionError", 52, "Empty reply"), Failure.RESET),
    row("time-out-of-curl", of_curl("Timeout", 28, "Operation timed out"), Failure.TIMEOUT),
    row("tls-of-curl", of_curl("SSLError", 35, "handshake failure"), Failure.TLS),
    row("proxy-of-curl", of_curl("ProxyError", 5, "Could not resolve proxy"), Failure.PROXY),
    row("without-an-end", of_itself(named("ConnectionLost")()), Failure.RESET),
)
def test_exception_has_its_meaning(error: BaseException, failure: Failure) -> None:
    outcome = failure_of(error)
    assert outcome.failure is failure
    assert outcome.why.startswith(failure.value)


@table(
    "codes, failure",
    row("dns", "6 net::ERR_NAME_NOT_RESOLVED NS_ERROR_UNKNOWN_HOST", Failure.DNS),
    row(
        "refused",
        "7 net::ERR_CONNECTION_REFUSED net::ERR_ADDRESS_UNREACHABLE NS_ERROR_CONNECTION_REFUSED",
        Failure.REFUSED,
    ),
    row(
        "reset",
        "52 55 56 net::ERR_CONNECTION_CLOSED net::ERR_CONNECTION_RESET net::ERR_EMPTY_RESPONSE "
        "NS_ERROR_NET_INTERRUPT NS_ERROR_NET_RESET",
        Failure.RESET,
    ),
    row(
        "time-out",
        "28 net::ERR_CONNECTION_TIMED_OUT net::ERR_TIMED_OUT NS_ERROR_NET_TIMEOUT",
        Failure.TIMEOUT,
    ),
    row("tls", "35 60 net::ERR_CERT_DATE_INVALID net::ERR_SSL_PROTOCOL_ERROR", Failure.TLS),
    row(
        "proxy",
        "5 97 net::ERR_PROXY_CONNECTION_FAILED net::ERR_TUNNEL_CONNECTION_FAILED "
        "NS_ERROR_PROXY_CONNECTION_REFUSED NS_ERROR_UNKNOWN_PROXY_HOST",
        Failure.PROXY,
    ),
    row("another", "61 net::ERR_ABORTED NS_ERROR_FAILURE", Failure.OTHER),
)
def test_code_in_a_message_of_curl_or_a_browser_has_its_meaning(
    codes: str, failure: Failure
) -> None:
    for code in codes.split():
        if code.isdigit():
            error = of_curl("RequestsError", int(code), "a message")
        else:
            error = of_browser(code)
        assert failure_of(error).failure is failure, code


NO_HOST = twisted.DNSLookupError("no results for proxy.example")
LOOKUP = "DNS lookup failed: no results for proxy.example."
NO_PROXY = f"the proxy failed (p.example:3128: the host name does not resolve: {LOOKUP})"
REFUSED = twisted.ConnectionRefusedError(111, "Connection refused")  # type: ignore[no-untyped-call]
NO_TUNNEL = "Could not open CONNECT tunnel: connection refused"
BEHIND = {"proxy": "p.example:3128"}
NO_HTTP2 = "the server has no HTTP/2, and this download handler has no other way"
NO_TUNNEL_OF_HTTPX = named("DownloadConnectionRefusedError")("403 Forbidden")
SLOW = TimeoutError("Getting http://a.example/robots.txt took longer than 30.0 seconds.")


@table(
    "error, more, why",
    # what the message adds to the failure
    row("time-out", SLOW, {}, "no answer in time"),
    row("refused", REFUSED, {}, "connection refused"),
    pytest.param(
        twisted.ConnectError(101, "Network is unreachable"),  # type: ignore[no-untyped-call]
        {},
        "connection refused (An error occurred while connecting: 101: Network is unreachable.)",
        id="no-route",
    ),
    pytest.param(
        twisted.ConnectBindError(24, "Too many open files"),  # type: ignore[no-untyped-call]
        BEHIND,
        "this process cannot open more files (Couldn't bind: 24: Too many open files.)",
        id="no-files-for-a-proxy",
    ),
    row(
        "dropped-request",
        IgnoreRequest("not on my list"),
        {},
        "another middleware dropped the request (not on my list)",
    ),
    row(
        "openssl",
        with_reasons(SSL.Error([("SSL routines", "", "wrong version number")])),
        {},
        "TLS failed ([<twisted.python.failure.Failure OpenSSL.SSL.Error: [('SSL routines', '', "
        "'wrong version number')]>])",
    ),
    # the proxy was not reached, or the site behind it was not
    row(
        "tunnel",
        named("TunnelError")(NO_TUNNEL),
        BEHIND,
        f"the proxy failed (p.example:3128: {NO_TUNNEL})",
    ),
    row("proxy-refuses", REFUSED, BEHIND, "the proxy failed (p.example:3128: connection refused)"),
    row("no-such-proxy", NO_HOST, BEHIND, NO_PROXY),
    row("slow-behind-a-proxy", SLOW, BEHIND, "no answer in time"),
    # what the handlers for aiohttp and httpx call a refused connection
    row(
        "tls-alert",
        with_cause(REFUSED_BY_NEWER("Cannot connect"), ssl.SSLError("unrecognized name")),
        {},
        "TLS failed (Cannot connect)",
    ),
    row(
        "tls-alert-twice-removed",
        with_cause(
            REFUSED_BY_NEWER("Cannot connect"),
            in_context(named("ConnectError")("x"), ssl.SSLError("unrecognized name")),
        ),
        {},
        "TLS failed (Cannot connect)",
    ),
    row(
        "refused-tunnel",
        with_cause(NO_TUNNEL_OF_HTTPX, named("ProxyError")("403 Forbidden")),
        BEHIND,
        "the proxy failed (p.example:3128: 403 Forbidden)",
    ),
    row("no-http2", with_reasons(named("InvalidNegotiatedProtocol")("x")), {}, NO_HTTP2),
    row(
        "no-http2-by-an-alert",
        with_reasons(SSL.Error([("", "", "tlsv1 alert no application protocol")])),
        {},
        NO_HTTP2,
    ),
    # a resolver that takes no IPv6 address
    row(
        "ipv6",
        NO_HOST,
        {"host": "[::1]"},
        "the host name does not resolve (for an IPv6 address, set TWISTED_DNS_RESOLVER, or "
        "DNS_RESOLVER in an older Scrapy, to 'scrapy.resolver.CachingHostnameResolver')",
    ),
    row("name", NO_HOST, {"host": "a.example"}, f"the host name does not resolve ({LOOKUP})"),
)
def test_reason_is_told_for_people(error: BaseException, more: dict[str, Any], why: str) -> None:
    assert failure_of(error, **more).why == why


def test_causes_that_go_in_a_circle_end() -> None:
    first, second = named("Odd")(), named("Odder")()
    assert failure_of(with_cause(first, with_cause(second, first))).failure is Failure.OTHER
    late: BaseException = TimeoutError()
    for _ in range(5):
        late = with_cause(named("Odd")(), late)
    assert failure_of(late).failure is Failure.TIMEOUT


def test_message_is_kept_without_passwords_and_at_no_length() -> None:
    said = "http://user:secret@proxy.example/ and https://me@other.example/x failed"
    told = failure_of(twisted.ConnectionLost(said)).why
    assert "http://proxy.example/ and https://other.example/x failed" in told
    assert "secret" not in told
    assert len(failure_of(ValueError("x" * 100_000)).why) < 300


def test_exception_that_cannot_be_shown_is_named() -> None:
    assert "UnspeakableError" in failure_of(UnspeakableError()).why
