"""Where a redirected robots.txt is asked next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_gbot_robots.policy.outcome import REDIRECTS, Unavailable, next_hop

HERE = "https://example.com/robots.txt"


def hops(count: int) -> list[str]:
    return [HERE, *(f"https://example.com/{hop}" for hop in range(1, count + 1))]


@pytest.mark.parametrize(
    ("location", "target"),
    [
        pytest.param(
            b"https://other.example/robots.txt",
            "https://other.example/robots.txt",
            id="S2.8-other-host",
        ),
        pytest.param(
            b"//cdn.example/robots.txt", "https://cdn.example/robots.txt", id="scheme-relative"
        ),
        pytest.param(b"/r.txt", "https://example.com/r.txt", id="path-relative"),
        pytest.param(b"../../r.txt", "https://example.com/r.txt", id="above-the-root"),
        pytest.param(rb"\hop1", "https://example.com/hop1", id="backslash"),
        pytest.param(rb"\\cdn.example\r", "https://cdn.example/r", id="backslashes"),
        pytest.param(b"  /r.txt \t", "https://example.com/r.txt", id="blanks-around"),
        pytest.param(b"https://other.example", "https://other.example/", id="no-path"),
        pytest.param(b"https://u:p@other.example/r", "https://other.example/r", id="user-info"),
        pytest.param(b"https://a@b@other.example/r", "https://other.example/r", id="two-at-signs"),
        pytest.param(b"https://Other.EXAMPLE/R", "https://other.example/R", id="host-in-capitals"),
        pytest.param(b"/r.txt#top", "https://example.com/r.txt", id="fragment"),
        pytest.param(b"https://[::1]:8080/r", "https://[::1]:8080/r", id="ipv6"),
        pytest.param("https://www.exämple.com/é".encode(), "https://www.exämple.com/é", id="utf-8"),
        pytest.param("/é".encode("latin-1"), "https://example.com/é", id="latin-1"),
    ],
)
def test_redirect_is_followed(location: bytes, target: str) -> None:
    assert next_hop(301, location, [HERE]) == target


@pytest.mark.parametrize("status", [*range(300, 400)])
def test_these_statuses_lead_elsewhere(status: int) -> None:
    assert (status in REDIRECTS) == (status in {301, 302, 303, 307, 308})


@pytest.mark.parametrize(
    "location",
    [
        pytest.param(None, id="missing"),
        pytest.param(b"ftp://example.com/robots.txt", id="ftp"),
        pytest.param(b"file:///etc/passwd", id="file"),
        pytest.param(b"data:text/plain,User-agent:%20*", id="data"),
        pytest.param(b"javascript:alert(1)", id="javascript"),
        pytest.param(b"http://", id="no-host"),
        pytest.param(b"https://u@/r", id="user-info-only"),
        pytest.param(b"https://[::1/r", id="broken-ipv6"),
        pytest.param(b"http://[fe80::1%25lo]/", id="ipv6-with-a-zone"),
        pytest.param(b"http://a%00b.example/", id="nul-in-host"),
        pytest.param(b"http://a%2fb.example/", id="slash-in-host"),
        pytest.param(b"https://other.example:99999/r", id="port-out-of-range"),
        pytest.param(b"https://other.example:0/r", id="port-0"),
        pytest.param(b"https://oth er.example/r", id="blank-in-host"),
        pytest.param(b"/a\x00b", id="nul"),
        pytest.param(b"/a\r\nb", id="line-end"),
        pytest.param(b"/" + b"x" * 10_000, id="too-long"),
    ],
)
def test_unfit_location_is_a_404(location: bytes | None) -> None:  # S2.9
    why = "HTTP 302 without a Location that can be followed, as 404"
    assert next_hop(302, location, [HERE]) == Unavailable(302, HERE, why)


@pytest.mark.parametrize(
    ("location", "asked"),
    [
        pytest.param(b"/1", hops(2), id="one-before"),
        pytest.param(b"HTTPS://EXAMPLE.com/robots.txt#again", hops(2), id="written-otherwise"),
    ],
)
def test_loop_is_a_404(location: bytes, asked: list[str]) -> None:  # S2.9
    assert next_hop(307, location, asked) == Unavailable(
        307, asked[-1], "HTTP 307 redirects in a loop, as 404"
    )


def test_sixth_hop_is_a_404() -> None:  # S2.5
    assert next_hop(301, b"/next", hops(4)) == "https://example.com/next"
    ended = next_hop(301, b"/next", hops(5))
    assert ended == Unavailable(301, "https://example.com/5", "HTTP 301 after 5 redirects, as 404")


@given(
    st.one_of(
        st.binary(max_size=60), st.text(st.characters(codec="utf-8"), max_size=60).map(str.encode)
    )
)
def test_no_location_raises_and_none_leaves_http(location: bytes) -> None:
    target = next_hop(302, location, [HERE])
    assert isinstance(target, Unavailable) or target.startswith(("http://", "https://"))
