"""The outcome of one answer, by its status code, or of one failure, and where a redirect leads."""

from collections.abc import Iterable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.policy.outcome import (
    REDIRECTS,
    Failure,
    Fetched,
    Outcome,
    Unavailable,
    Unreachable,
    after_redirect,
    by_ftp,
    failed,
    is_for_this_process,
    next_hop,
    outcome_of,
    proxy_failed,
)

from ..support.rows import row, table

URL = "https://example.com/robots.txt"
BODY = b"User-agent: *\nDisallow: /\n"
NOT_FOUND_PAGE = b"<title>Page not found</title>"
FOUR_DIGITS = "not an HTTP answer (a status code of more than three digits)"
OF_PROXY, MOVED = "the proxy failed (p.example:3128: HTTP 407)", "http://b.example/r.txt"
PROXY = "p.example:3128"
SAYS_NOT_FOUND = 'HTTP 500 with a "not found" page, as 404'
meant = partial(outcome_of, soft_404=True, proxy="", headers={})


@table(
    "statuses, outcome",
    row("S2.3-S2.27", range(200, 300), Fetched),
    row("S2.9-redirect-that-is-not-followed", {*range(300, 400)} - {304}, Unavailable),
    row("S2.11-407-without-a-proxy-too", {*range(400, 500)} - {429}, Unavailable),
    row("S2.12", [429], Unreachable),
    row("S2.14", range(500, 600), Unreachable),
    row("S2.26", [-404, *range(200), 304, *range(600, 1001), 2**64], Unreachable),
)
def test_status_code_decides(statuses: Iterable[int], outcome: type[Outcome]) -> None:
    assert {type(meant(status, URL, BODY)) for status in statuses} == {outcome}


@table(
    "outcome, expected",
    (meant(200, URL, BODY, cut=True, max_age=60.0), Fetched(200, URL, BODY, True, 60.0)),
    (meant(200, URL, b""), Fetched(200, URL, b"")),  # S2.27
    (meant(403, URL, BODY, max_age=60.0), Unavailable(403, URL, "HTTP 403", 60.0)),
    (meant(503, URL, BODY, retry_after=60.0), Unreachable("HTTP 503", 503, 60.0)),
    (meant(2**64, URL, BODY), Unreachable(FOUR_DIGITS, failure=Failure.INVALID)),
    (meant(500, URL, NOT_FOUND_PAGE), Unavailable(500, URL, SAYS_NOT_FOUND)),
    (meant(500, URL, NOT_FOUND_PAGE, soft_404=False), Unreachable("HTTP 500", 500)),
    # S2.11, S2.20
    (meant(407, URL, b"", proxy=PROXY), Unreachable(OF_PROXY, failure=Failure.PROXY)),
    (after_redirect(Unreachable("x", 503), MOVED), Unreachable("x", 503, redirected_to=MOVED)),
)
def test_outcome_carries_what_is_known_of_the_answer(outcome: Outcome, expected: Outcome) -> None:
    assert outcome == expected


@table("status", 401, 402, 403, 451, 404, 410, 200)
def test_refusal_may_be_a_proxys_only_where_one_can_answer(status: int) -> None:  # S2.11
    plain = URL.replace("https", "http")
    through = meant(status, plain, BODY, proxy=PROXY)
    refuses = status in {401, 402, 403, 451}
    assert is_for_this_process(through) is refuses
    if refuses:
        assert through == Unavailable(
            status, plain, f"HTTP {status} through the proxy {PROXY}", may_be_a_proxys=True
        )
    # The end of a tunnel is the site itself.
    for other in (meant(status, URL, BODY, proxy=PROXY), meant(status, plain, BODY)):
        assert not is_for_this_process(other)


def test_only_a_5xx_that_says_not_found_is_a_404() -> None:  # S2.19
    assert {type(meant(status, URL, NOT_FOUND_PAGE)) for status in range(500, 600)} == {Unavailable}
    for status in (200, 304, 429, 600):
        assert type(meant(status, URL, NOT_FOUND_PAGE)) is type(meant(status, URL, BODY))


@pytest.mark.parametrize("failure", [row(f"S2.20-{failure.name}", failure) for failure in Failure])
def test_every_failure_is_unreachable(failure: Failure) -> None:
    assert failed(failure) == Unreachable(failure.value, failure=failure)
    outcome = after_redirect(failed(failure, "its own words"), MOVED)
    why = f"{failure.value} (its own words), redirected to {MOVED}"
    assert outcome == Unreachable(why, failure=failure, redirected_to=MOVED)


def test_failure_carries_the_errors_own_words_on_one_short_printable_line() -> None:
    odd = failed(Failure.OTHER, "a\x1b[31m\x9b1m\u202eb\r\nc")
    assert odd.why == r"the fetch failed (a\x1b[31m\x9b1m\u202eb c)"
    outcome = failed(Failure.DNS, "no such\nhost: " + "x" * 10_000)
    assert outcome.why.startswith("the host name does not resolve (no such host: xxx")
    assert len(outcome.why) < 300


# Redirects


def hops(count: int) -> list[str]:
    return [URL, *(f"https://example.com/{hop}" for hop in range(1, count + 1))]


@table(
    "location, target",
    row("S2.8-other-host", b"https://other.example/robots.txt", "https://other.example/robots.txt"),
    row("scheme-relative", b"//cdn.example/robots.txt", "https://cdn.example/robots.txt"),
    row("path-relative", b"/r.txt", "https://example.com/r.txt"),
    row("above-the-root", b"../../r.txt", "https://example.com/r.txt"),
    row("backslash", rb"\hop1", "https://example.com/hop1"),
    row("backslashes", rb"\\cdn.example\r", "https://cdn.example/r"),
    row("blanks-around", b"  /r.txt \t", "https://example.com/r.txt"),
    row("no-path", b"https://other.example", "https://other.example/"),
    row("user-info", b"https://u:p@other.example/r", "https://other.example/r"),
    row("two-at-signs", b"https://a@b@other.example/r", "https://other.example/r"),
    row("host-in-capitals", b"https://Other.EXAMPLE/R", "https://other.example/R"),
    row("fragment", b"/r.txt#top", "https://example.com/r.txt"),
    row("ipv6", b"https://[::1]:8080/r", "https://[::1]:8080/r"),
    row("utf-8", "https://www.exämple.com/é".encode(), "https://www.exämple.com/é"),
    row("latin-1", "/é".encode("latin-1"), "https://example.com/é"),
)
def test_redirect_is_followed(location: bytes, target: str) -> None:
    assert next_hop(301, location, [URL]) == target


def test_these_statuses_lead_elsewhere() -> None:
    assert {301, 302, 303, 307, 308} == REDIRECTS


@table(
    "location",
    row("missing", None),
    row("ftp", b"ftp://example.com/robots.txt"),
    row("file", b"file:///etc/passwd"),
    row("data", b"data:text/plain,User-agent:%20*"),
    row("javascript", b"javascript:alert(1)"),
    row("no-host", b"http://"),
    row("user-info-only", b"https://u@/r"),
    row("broken-ipv6", b"https://[::1/r"),
    row("ipv6-with-a-zone", b"http://[fe80::1%25lo]/"),
    row("nul-in-host", b"http://a%00b.example/"),
    row("slash-in-host", b"http://a%2fb.example/"),
    row("port-out-of-range", b"https://other.example:99999/r"),
    row("port-0", b"https://other.example:0/r"),
    row("blank-in-host", b"https://oth er.example/r"),
    row("nul", b"/a\x00b"),
    row("line-end", b"/a\r\nb"),
    row("too-long", b"/" + b"x" * 10_000),
)
def test_unfit_location_is_a_404(location: bytes | None) -> None:  # S2.9
    why = "HTTP 302 without a Location that can be followed, as 404"
    assert next_hop(302, location, [URL]) == Unavailable(302, URL, why)


@table("location", b"/1", b"HTTPS://EXAMPLE.com/robots.txt#again")
def test_loop_is_a_404(location: bytes) -> None:  # S2.9
    why = "HTTP 307 redirects in a loop, as 404"
    assert next_hop(307, location, hops(2)) == Unavailable(307, "https://example.com/2", why)


def test_sixth_hop_is_a_404() -> None:  # S2.5
    assert next_hop(301, b"/next", hops(4)) == "https://example.com/next"
    ended = next_hop(301, b"/next", hops(5))
    assert ended == Unavailable(301, "https://example.com/5", "HTTP 301 after 5 redirects, as 404")


@given(st.binary(max_size=60) | st.text(st.characters(codec="utf-8"), max_size=60).map(str.encode))
def test_no_location_raises_and_none_leaves_http(location: bytes) -> None:
    target = next_hop(302, location, [URL])
    assert isinstance(target, Unavailable) or target.startswith(("http://", "https://"))


def test_failure_of_a_proxy_names_it_if_it_is_known() -> None:
    assert proxy_failed("proxy.example:3128", 503).why.endswith("(proxy.example:3128: HTTP 503)")
    assert proxy_failed("", 503, "Proxy-Status: a; error=x").why.endswith(
        "(HTTP 503, Proxy-Status: a; error=x)"
    )


def test_request_that_was_not_sent_counts_for_this_process_alone() -> None:
    assert is_for_this_process(failed(Failure.DROPPED))
    assert is_for_this_process(failed(Failure.NO_FILES))
    assert not is_for_this_process(failed(Failure.DNS))


@table(
    "outcome, why",
    row("error", Unreachable("HTTP 503", 503), "FTP 421 Too many users"),
    row("no-such-file", Unavailable(404, URL, "HTTP 404"), "FTP 421 Too many users"),
)
def test_error_reply_of_an_ftp_server_is_named(
    outcome: Unreachable | Unavailable, why: str
) -> None:
    named = by_ftp(outcome, "421 Too many users")
    assert not isinstance(named, Fetched)
    assert (type(named), named.why, named.status) == (type(outcome), why, outcome.status)


def test_file_from_an_ftp_server_stays_as_it_is() -> None:
    fetched = Fetched(200, URL, BODY)
    assert by_ftp(fetched, "226 Done") is fetched
