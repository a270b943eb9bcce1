"""Where a redirected robots.txt is asked next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.policy.outcome import REDIRECTS, Unavailable, next_hop

from ..support.rows import row, table

HERE = "https://example.com/robots.txt"


def hops(count: int) -> list[str]:
    return [HERE, *(f"https://example.com/{hop}" for hop in range(1, count + 1))]


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
    assert next_hop(301, location, [HERE]) == target


@pytest.mark.parametrize("status", [*range(300, 400)])
def test_these_statuses_lead_elsewhere(status: int) -> None:
    assert (status in REDIRECTS) == (status in {301, 302, 303, 307, 308})


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
    assert next_hop(302, location, [HERE]) == Unavailable(302, HERE, why)


@table(
    "location, asked",
    row("one-before", b"/1", hops(2)),
    row("written-otherwise", b"HTTPS://EXAMPLE.com/robots.txt#again", hops(2)),
)
def test_loop_is_a_404(location: bytes, asked: list[str]) -> None:  # S2.9
    why = "HTTP 307 redirects in a loop, as 404"
    assert next_hop(307, location, asked) == Unavailable(307, asked[-1], why)


def test_sixth_hop_is_a_404() -> None:  # S2.5
    assert next_hop(301, b"/next", hops(4)) == "https://example.com/next"
    ended = next_hop(301, b"/next", hops(5))
    assert ended == Unavailable(301, "https://example.com/5", "HTTP 301 after 5 redirects, as 404")


@given(st.binary(max_size=60) | st.text(st.characters(codec="utf-8"), max_size=60).map(str.encode))
def test_no_location_raises_and_none_leaves_http(location: bytes) -> None:
    target = next_hop(302, location, [HERE])
    assert isinstance(target, Unavailable) or target.startswith(("http://", "https://"))
