"""Where a robots.txt lives and what it is valid for: Google's page, "Location and valid range"; RFC 9309 2.3."""

import pytest

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.core.urls import may_resolve, origin_of_robots_txt, prefix_of, without_login

from ..support.rows import row, table

# (row, or a row by https and one by http; the site whose robots.txt it is; valid for; not valid for)
VALID_RANGES = [
    ("T1-01 T1-02", "{}://example.com", ["{}://example.com/", "{}://example.com/folder/file"],
     ["{}://other.example.com/", "{other}://example.com/", "{}://example.com:8181/"]),
    ("T1-03 T1-04", "{}://www.example.com", ["{}://www.example.com/"],
     ["{}://example.com/", "{}://shop.www.example.com/", "{}://www.shop.example.com/"]),
    ("T1-07", "{}://www.exämple.com", ["{}://www.exämple.com/", "{}://www.xn--exmple-cua.com/"], ["{}://www.example.com/"]),
    ("- T1-08", "{}://www.müller.eu", ["{}://www.müller.eu/", "{}://www.xn--mller-kva.eu/"], ["{}://www.muller.eu/"]),
    ("T1-09 T1-10", "ftp://example.com", ["ftp://example.com/"], ["{}://example.com/"]),
    ("T1-11 T1-12", "{}://212.96.82.21", ["{}://212.96.82.21/"], ["{}://example.com/"]),
    ("T1-13", "{}://example.com:443", ["{}://example.com:443/", "{}://example.com/"], ["{}://example.com:444/"]),
    ("- T1-14", "{}://example.com:80", ["{}://example.com:80/", "{}://example.com/"], ["{}://example.com:81/"]),
    ("T1-15 T1-16", "{}://example.com:8181", ["{}://example.com:8181/"], ["{}://example.com/"]),
    ("- T1-17", "{}://www.example.com", ["{}://www.example.com/", "{}://www.example.com/a/b?c"], []),
    ("- T1-19-host", "{}://website.example.com", ["{}://website.example.com/x"], ["{}://example.com/x"]),
    ("- T1-19-port", "{}://example.com:8181", ["{}://example.com:8181/x"], ["{}://example.com/x"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("scheme", "other", "site", "valid", "invalid"),
    [
        row(id, *schemes, *values)
        for ids, *values in VALID_RANGES
        for id, schemes in zip(ids.split(), [("https", "http"), ("http", "https")], strict=False)
        if id != "-"
    ],
)
def test_robots_txt_is_valid_for_its_own_origin_only(
    scheme: str, other: str, site: str, valid: list[str], invalid: list[str]
) -> None:
    origin = origin_of_robots_txt(f"{site.format(scheme)}/robots.txt")
    assert origin is not None
    assert {Origin.of(url.format(scheme)) for url in valid} == {origin}
    assert origin not in {Origin.of(url.format(scheme, other=other)) for url in invalid}


@table(
    "url",
    row("T1-05", "https://example.com/folder/robots.txt"),
    row("T1-06", "http://example.com/folder/robots.txt"),
    row("T1-18", "http://example.com/pages/robots.txt"),
    row("S1.7-case", "https://example.com/Robots.txt"),
    row("S1.7-upper", "https://example.com/ROBOTS.TXT"),
    row("S1.7-longer", "https://example.com/robots.txt2"),
    row("S1.12-double-slash", "https://example.com//robots.txt"),
    row("query", "https://example.com/robots.txt?x=1"),
    row("in-query", "https://example.com/?u=/robots.txt"),
    row("escaped", "https://example.com/robots%2Etxt"),
    row("D1-scheme", "data:/robots.txt"),
    row("relative", "/robots.txt"),
)
def test_no_other_url_is_a_robots_txt(url: str) -> None:
    assert origin_of_robots_txt(url) is None


def test_robots_txt_url_may_have_a_fragment_and_any_url_bytes_that_are_not_utf8() -> None:
    origin = Origin("https", "example.com", 443)
    assert origin_of_robots_txt("https://example.com/robots.txt#top") == origin
    assert Origin.of(b"http://example.com/caf\xe9") == Origin("http", "example.com", 80)


@table(
    "url, origin, text",
    row("no-path", "https://example.com", ("https", "example.com", 443), "https://example.com"),
    row("query-only", "https://example.com?q", ("https", "example.com", 443), "https://example.com"),
    row("fragment-only", "https://example.com#f", ("https", "example.com", 443), "https://example.com"),
    row("S1.21-case", "HTTPS://EXAMPLE.Com/", ("https", "example.com", 443), "https://example.com"),
    row("S1.21-user-info", "http://u:p@ex.com/", ("http", "ex.com", 80), "http://ex.com"),
    row("two-at-signs", "http://a@b@ex.com/", ("http", "ex.com", 80), "http://ex.com"),
    row("port-leading-zeros", "http://e.com:0080/", ("http", "e.com", 80), "http://e.com"),
    row("port-empty", "http://e.com:/", ("http", "e.com", 80), "http://e.com"),
    row("port-last-of-an-odd-url", "http://E.com:65535/", ("http", "e.com", 65535), "http://e.com:65535"),
    row("port-first-of-an-odd-url", "http://E.com:1/", ("http", "e.com", 1), "http://e.com:1"),
    row("port-last", "http://e.com:65535/", ("http", "e.com", 65535), "http://e.com:65535"),
    row("S1.15-ftp", "ftp://e.com:21/", ("ftp", "e.com", 21), "ftp://e.com"),
    row("port-of-http", "https://e.com:80/", ("https", "e.com", 80), "https://e.com:80"),
    row("ipv6", "http://[::1]/", ("http", "[::1]", 80), "http://[::1]"),
    row("ipv6-long", "http://[0:0::1]:80/", ("http", "[::1]", 80), "http://[::1]"),
    row("ipv6-case", "http://[2001:DB8::A]:81/", ("http", "[2001:db8::a]", 81), "http://[2001:db8::a]:81"),
    row("ipv4-short", "http://127.1/", ("http", "127.1", 80), "http://127.1"),
    row("underscore", "http://a_b.example.com/", ("http", "a_b.example.com", 80), "http://a_b.example.com"),
    row("label-64", "http://" + "a" * 64 + ".de/", ("http", "a" * 64 + ".de", 80), "http://" + "a" * 64 + ".de"),
    row("final-dot", "http://example.com./", ("http", "example.com.", 80), "http://example.com."),
    row("S1.13-escaped", "http://ex%C3%A4mple.com/", ("http", "xn--exmple-cua.com", 80), "http://xn--exmple-cua.com"),
    row("escaped-ascii", "http://%65xample.com/", ("http", "example.com", 80), "http://example.com"),
    row("S1.13-mapped", "http://EXÄMPLE。com/", ("http", "xn--exmple-cua.com", 80), "http://xn--exmple-cua.com"),
    row("full-width", "http://ｅｘ.com/", ("http", "ex.com", 80), "http://ex.com"),
    row("sharp-s", "http://straße.de/", ("http", "xn--strae-oqa.de", 80), "http://xn--strae-oqa.de"),
    row("emoji", "http://💩.la/", ("http", "xn--ls8h.la", 80), "http://xn--ls8h.la"),
    row("idn-underscore", "http://ä_b.de/", ("http", "xn--_b-uia.de", 80), "http://xn--_b-uia.de"),
    row("punycode-case", "http://XN--EXMPLE-CUA.com/", ("http", "xn--exmple-cua.com", 80), "http://xn--exmple-cua.com"),
)  # fmt: skip
def test_origin_of_url(url: str, origin: tuple[str, str, int], text: str) -> None:
    found = Origin.of(url)
    assert (found.scheme, found.host, found.port) == origin
    assert str(found) == text
    assert found.robots_url == text + "/robots.txt"
    assert Origin.of(url.encode()) == found
    assert Origin.of(found.robots_url) == found
    assert hash(found) == hash(Origin(*origin))


NO_SCHEME = ["", "example.com/", "data:text/plain,x", "mailto:a@b", "\thttp://example.com/"]
NO_HOST = ["http:/example.com/", "http://", "http://:80/", "http://./", "http://\u200b/"]
BAD_PORTS = ["0", "65536", "9" * 5000, "80a", "８0"]
BAD_IN_A_HOST = [" ", "\\", "%00", "%2F", "／", "%FF", "\ud800"]
BAD_HOSTS = [
    *("a:b:80", "a.example\\@b.example", "[::1", "[::g]", "[fe80::1%25eth0]"),
    *("a" * 1001, "ä" * 1001, "ä" * 64 + ".de", "%C3%A4" * 64 + ".de", "ä." * 126 + "de"),
]


@table(
    "url",
    *NO_SCHEME,
    *NO_HOST,
    *(f"http://e.com:{port}/" for port in BAD_PORTS),
    *(f"http://ex{bad}ample.com/" for bad in BAD_IN_A_HOST),
    *(f"http://{host}/" for host in BAD_HOSTS),
    "http://xn--\ud800.com",
)
def test_url_without_an_origin_is_refused_with_a_clear_message(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|host|port") as caught:
        Origin.of(url)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("url", [None, 3, ["http://e.com"]])
def test_only_text_is_a_url(url: object) -> None:
    with pytest.raises(TypeError):
        Origin.of(url)  # type: ignore[arg-type]


@table(
    "url, prefix",
    ("https://e.com/a/b", "https://e.com/"),
    ("https://e.com:8443/?q=/", "https://e.com:8443/"),
    ("https://e.com?q=/", ""),
    ("e.com/a", ""),
    ("", ""),
)
def test_url_begins_with_its_site_and_a_slash(url: str, prefix: str) -> None:
    assert prefix_of(url) == prefix


@table(
    "host, may",
    ("example.com", True),
    ("example.com.", True),
    ("[::1]", True),
    ("a" * 63 + ".example", True),
    ("a" * 64 + ".example", False),
    ("www..example.com", False),
    (".example.com", False),
    ("example.com..", False),
    (".".join(["a" * 49] * 5) + ".abc", True),
    (".".join(["a" * 49] * 5) + ".abcd", False),
)
def test_dns_has_no_empty_label_no_long_label_and_no_name_over_253(host: str, may: bool) -> None:
    assert may_resolve(host) is may


@table(
    "text, rest",
    row("no-login", "no answer from http://a.example/@me?a=b@c", None),
    row("user", "http://me@a.example/", "http://a.example/"),
    row("password", "ftp://me:p%40ss@a.example failed", "ftp://a.example failed"),
    row("at-sign-in-password", "http://me:p@ss@a.example/@x", "http://a.example/@x"),
    row("two", "http://a@b/ http://c:d@e/", "http://b/ http://e/"),
)
def test_without_login_keeps_all_but_user_and_password(text: str, rest: str | None) -> None:
    assert without_login(text) == (text if rest is None else rest)
