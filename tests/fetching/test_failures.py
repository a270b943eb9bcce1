"""What an exception of a download means: by its name, its reasons and its causes, whoever raised it."""

import pytest
from OpenSSL import SSL
from scrapy.exceptions import IgnoreRequest, NotSupported
from twisted.internet import error as twisted
from twisted.python.failure import Failure as TwistedFailure
from twisted.web.client import ResponseFailed

from scrapy_gbot_robots.fetching.exchange import failure_of
from scrapy_gbot_robots.policy.outcome import Failure


def named(
    name: str, *bases: type[BaseException], module: str = "other.library"
) -> type[BaseException]:
    """An exception class of a library that need not be installed."""
    return type(name, bases or (Exception,), {"__module__": module})


def with_cause(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def with_reasons(*reasons: BaseException) -> BaseException:
    return ResponseFailed([TwistedFailure(reason) for reason in reasons])  # type: ignore[no-untyped-call]


def of_itself(error: BaseException) -> BaseException:
    """An error that names itself as its reason and as its cause."""
    error.reasons = [error]  # type: ignore[attr-defined]
    return with_cause(error, error)


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        pytest.param(twisted.DNSLookupError(), Failure.DNS, id="S2.20-dns"),
        pytest.param(twisted.ConnectionRefusedError(), Failure.REFUSED, id="S2.20-refused"),  # type: ignore[no-untyped-call]
        pytest.param(twisted.ConnectionLost(), Failure.RESET, id="S2.20-lost"),
        pytest.param(BrokenPipeError(), Failure.OTHER, id="in-no-table"),
        pytest.param(ConnectionResetError(), Failure.RESET, id="S2.20-reset"),
        pytest.param(TimeoutError(), Failure.TIMEOUT, id="S2.20-time-out"),
        pytest.param(twisted.TCPTimedOutError(), Failure.TIMEOUT, id="S2.20-time-out-of-tcp"),  # type: ignore[no-untyped-call]
        pytest.param(named("InvalidBodyLengthError")(), Failure.TRUNCATED, id="S2.21-h2"),
        pytest.param(named("_MalformedChunkedDataError")(), Failure.CHUNKING, id="S2.21-chunks"),
        pytest.param(named("Error", module="OpenSSL.SSL")(), Failure.TLS, id="S2.22-openssl"),
        pytest.param(named("RemoteProtocolError")(), Failure.INVALID, id="no-http"),
        pytest.param(named("TunnelError")(), Failure.PROXY, id="proxy"),
        pytest.param(NotSupported(), Failure.NO_HANDLER, id="no-handler"),
        pytest.param(with_reasons(twisted.DNSLookupError()), Failure.DNS, id="reason"),
        pytest.param(
            with_reasons(KeyError(b"gzip, chunked")), Failure.INVALID, id="unknown-transfer-coding"
        ),
        pytest.param(
            with_reasons(ValueError("Invalid response")), Failure.INVALID, id="two-lengths"
        ),
        pytest.param(with_cause(named("Odd")(), TimeoutError()), Failure.TIMEOUT, id="cause"),
        pytest.param(
            with_cause(twisted.ConnectionLost(), TimeoutError()),
            Failure.RESET,
            id="itself-before-its-cause",
        ),
        pytest.param(
            with_cause(TimeoutError(), named("ProxyError")()), Failure.PROXY, id="proxy-before-all"
        ),
        pytest.param(of_itself(named("ConnectionLost")()), Failure.RESET, id="without-an-end"),
    ],
)
def test_exception_has_its_meaning(error: BaseException, failure: Failure) -> None:
    outcome = failure_of(error)
    assert outcome.failure is failure
    assert outcome.why.startswith(failure.value)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        pytest.param(
            named("TunnelError")("Could not open CONNECT tunnel: connection refused"),
            "the proxy failed (Could not open CONNECT tunnel: connection refused)",
            id="tunnel",
        ),
        pytest.param(
            twisted.ConnectionRefusedError(111, "Connection refused"),  # type: ignore[no-untyped-call]
            "the proxy failed (connection refused)",
            id="refused",
        ),
        pytest.param(
            twisted.DNSLookupError("no results for proxy.example"),
            "the proxy failed (the host name does not resolve: DNS lookup failed: no results for "
            "proxy.example.)",
            id="not-found",
        ),
    ],
)
def test_failure_to_reach_a_proxy_is_the_proxys(error: BaseException, why: str) -> None:
    outcome = failure_of(error, proxied=True)
    assert (outcome.failure, outcome.why) == (Failure.PROXY, why)


def test_ipv6_address_that_a_resolver_does_not_take_names_the_setting() -> None:
    error = twisted.DNSLookupError("no results for hostname lookup: ::1")
    outcome = failure_of(error, host="[::1]")
    assert outcome.failure is Failure.DNS
    assert outcome.why == (
        "the host name does not resolve (for an IPv6 address, set TWISTED_DNS_RESOLVER, or DNS_RESOLVER in an older "
        "Scrapy, to 'scrapy.resolver.CachingHostnameResolver')"
    )
    assert "DNS_RESOLVER" not in failure_of(error, host="a.example").why
    assert "DNS_RESOLVER" not in failure_of(TimeoutError(), host="[::1]").why


def test_failure_behind_a_proxy_is_what_it_is() -> None:
    assert failure_of(TimeoutError(), proxied=True).failure is Failure.TIMEOUT


def test_causes_that_go_in_a_circle_end() -> None:
    first, second = named("Odd")(), named("Odder")()
    assert failure_of(with_cause(first, with_cause(second, first))).failure is Failure.OTHER
    late: BaseException = TimeoutError()
    for _ in range(5):
        late = with_cause(named("Odd")(), late)
    assert failure_of(late).failure is Failure.TIMEOUT


def test_message_is_kept_without_passwords_and_at_no_length() -> None:
    told = failure_of(
        twisted.ConnectionLost(
            "http://user:secret@proxy.example/ and https://me@other.example/x failed"
        )
    ).why
    assert "http://proxy.example/ and https://other.example/x failed" in told
    assert "secret" not in told
    assert len(failure_of(ValueError("x" * 100_000)).why) < 300


@pytest.mark.parametrize(
    ("error", "why"),
    [
        pytest.param(
            TimeoutError("Getting http://a.example/robots.txt took longer than 30.0 seconds."),
            "no answer in time",
            id="time-out",
        ),
        pytest.param(
            twisted.ConnectionRefusedError(111, "Connection refused"),  # type: ignore[no-untyped-call]
            "connection refused",
            id="refused",
        ),
        pytest.param(
            twisted.ConnectError(101, "Network is unreachable"),  # type: ignore[no-untyped-call]
            "connection refused (An error occurred while connecting: 101: Network is unreachable.)",
            id="no-route",
        ),
        pytest.param(
            IgnoreRequest("not on my list"),
            "another middleware dropped the request (not on my list)",
            id="dropped-request",
        ),
    ],
)
def test_reason_has_what_the_message_adds_to_the_failure(error: BaseException, why: str) -> None:
    assert failure_of(error).why == why


def test_exception_that_cannot_be_shown_is_named() -> None:
    assert "UnspeakableError" in failure_of(UnspeakableError()).why


def test_reasons_of_twisted_are_told_without_their_wrapping() -> None:
    why = failure_of(with_reasons(KeyError(b"gzip, chunked"), twisted.ConnectionLost("cut"))).why
    assert why.startswith(
        "not an HTTP answer ([<KeyError: b'gzip, chunked'>, <ConnectionLost: Connection to the other side"
    )


def test_reason_of_openssl_is_told_in_words() -> None:
    error = SSL.Error([("SSL routines", "", "wrong version number")])
    assert failure_of(with_reasons(error)).why == "TLS failed ([<Error: wrong version number>])"


def test_url_that_a_redirect_led_to_is_named() -> None:
    slow = TimeoutError("Getting http://b.example/r.txt took longer than 9.5 seconds.")
    assert (
        failure_of(slow, "http://b.example/r.txt").why
        == "no answer in time (redirected to http://b.example/r.txt)"
    )
    cut = twisted.ConnectionLost("cut off")
    assert failure_of(cut, "http://b.example/r.txt").why == (
        "connection lost (redirected to http://b.example/r.txt: Connection to the other side was lost in a non-clean "
        "fashion: cut off.)"
    )
