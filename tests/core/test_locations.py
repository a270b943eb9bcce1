"""Where a robots.txt lives and what it is valid for: Google's page, "Location and valid range"; RFC 9309 2.3."""

import pytest

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.core.urls import may_resolve, origin_of_robots_txt, prefix_of

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
        pytest.param(*schemes, *row, id=id)
        for ids, *row in VALID_RANGES
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


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://example.com/folder/robots.txt", id="T1-05"),
        pytest.param("http://example.com/folder/robots.txt", id="T1-06"),
        pytest.param("http://example.com/pages/robots.txt", id="T1-18"),
        pytest.param("https://example.com/Robots.txt", id="S1.7-case"),
        pytest.param("https://example.com/ROBOTS.TXT", id="S1.7-upper"),
        pytest.param("https://example.com/robots.txt2", id="S1.7-longer"),
        pytest.param("https://example.com//robots.txt", id="S1.12-double-slash"),
        pytest.param("https://example.com/robots.txt?x=1", id="query"),
        pytest.param("https://example.com/?u=/robots.txt", id="in-query"),
        pytest.param("https://example.com/robots%2Etxt", id="escaped"),
        pytest.param("data:/robots.txt", id="D1-scheme"),
        pytest.param("/robots.txt", id="relative"),
    ],
)
def test_no_other_url_is_a_robots_txt(url: str) -> None:
    assert origin_of_robots_txt(url) is None


def test_robots_txt_url_may_have_a_fragment_and_any_url_bytes_that_are_not_utf8() -> None:
    origin = Origin("https", "example.com", 443)
    assert origin_of_robots_txt("https://example.com/robots.txt#top") == origin
    assert Origin.of(b"http://example.com/caf\xe9") == Origin("http", "example.com", 80)


@pytest.mark.parametrize(
    ("url", "origin", "text"),
    [
        pytest.param("https://example.com", ("https", "example.com", 443), "https://example.com", id="no-path"),
        pytest.param("https://example.com?q", ("https", "example.com", 443), "https://example.com", id="query-only"),
        pytest.param("https://example.com#f", ("https", "example.com", 443), "https://example.com", id="fragment-only"),
        pytest.param("HTTPS://EXAMPLE.Com/", ("https", "example.com", 443), "https://example.com", id="S1.21-case"),
        pytest.param("http://u:p@ex.com/", ("http", "ex.com", 80), "http://ex.com", id="S1.21-user-info"),
        pytest.param("http://a@b@ex.com/", ("http", "ex.com", 80), "http://ex.com", id="two-at-signs"),
        pytest.param("http://e.com:0080/", ("http", "e.com", 80), "http://e.com", id="port-leading-zeros"),
        pytest.param("http://e.com:/", ("http", "e.com", 80), "http://e.com", id="port-empty"),
        pytest.param("http://E.com:65535/", ("http", "e.com", 65535), "http://e.com:65535", id="port-last-of-an-odd-url"),
        pytest.param("http://E.com:1/", ("http", "e.com", 1), "http://e.com:1", id="port-first-of-an-odd-url"),
        pytest.param("http://e.com:65535/", ("http", "e.com", 65535), "http://e.com:65535", id="port-last"),
        pytest.param("ftp://e.com:21/", ("ftp", "e.com", 21), "ftp://e.com", id="S1.15-ftp"),
        pytest.param("https://e.com:80/", ("https", "e.com", 80), "https://e.com:80", id="port-of-http"),
        pytest.param("http://[::1]/", ("http", "[::1]", 80), "http://[::1]", id="ipv6"),
        pytest.param("http://[0:0::1]:80/", ("http", "[::1]", 80), "http://[::1]", id="ipv6-long"),
        pytest.param("http://[2001:DB8::A]:81/", ("http", "[2001:db8::a]", 81), "http://[2001:db8::a]:81", id="ipv6-case"),
        pytest.param("http://127.1/", ("http", "127.1", 80), "http://127.1", id="ipv4-short"),
        pytest.param("http://a_b.example.com/", ("http", "a_b.example.com", 80), "http://a_b.example.com", id="underscore"),
        pytest.param("http://" + "a" * 64 + ".de/", ("http", "a" * 64 + ".de", 80), "http://" + "a" * 64 + ".de", id="label-64"),
        pytest.param("http://example.com./", ("http", "example.com.", 80), "http://example.com.", id="final-dot"),
        pytest.param("http://ex%C3%A4mple.com/", ("http", "xn--exmple-cua.com", 80), "http://xn--exmple-cua.com", id="S1.13-escaped"),
        pytest.param("http://%65xample.com/", ("http", "example.com", 80), "http://example.com", id="escaped-ascii"),
        pytest.param("http://EXÄMPLE。com/", ("http", "xn--exmple-cua.com", 80), "http://xn--exmple-cua.com", id="S1.13-mapped"),
        pytest.param("http://ｅｘ.com/", ("http", "ex.com", 80), "http://ex.com", id="full-width"),
        pytest.param("http://straße.de/", ("http", "xn--strae-oqa.de", 80), "http://xn--strae-oqa.de", id="sharp-s"),
        pytest.param("http://💩.la/", ("http", "xn--ls8h.la", 80), "http://xn--ls8h.la", id="emoji"),
        pytest.param("http://ä_b.de/", ("http", "xn--_b-uia.de", 80), "http://xn--_b-uia.de", id="idn-underscore"),
        pytest.param("http://XN--EXMPLE-CUA.com/", ("http", "xn--exmple-cua.com", 80), "http://xn--exmple-cua.com", id="punycode-case"),
    ],
)  # fmt: skip
def test_origin_of_url(url: str, origin: tuple[str, str, int], text: str) -> None:
    found = Origin.of(url)
    assert (found.scheme, found.host, found.port) == origin
    assert str(found) == text
    assert found.robots_url == text + "/robots.txt"
    assert Origin.of(url.encode()) == found
    assert Origin.of(found.robots_url) == found
    assert hash(found) == hash(Origin(*origin))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com/",
        "data:text/plain,x",
        "mailto:a@b",
        "http:/example.com/",
        "http://",
        "http://:80/",
        "http://./",
        "http://e.com:0/",
        "http://e.com:65536/",
        "http://e.com:" + "9" * 5000 + "/",
        "http://e.com:80a/",
        "http://e.com:８0/",
        "http://a:b:80/",
        "http://ex ample.com/",
        "http://ex\\ample.com/",
        "http://a.example\\@b.example/",
        "http://ex%00ample.com/",
        "http://ex%2Fample.com/",
        "http://ex／ample.com/",
        "http://ex%FFample.com/",
        "http://ex\ud800ample.com/",
        "http://\u200b/",
        "http://[::1/",
        "http://[::g]/",
        "http://[fe80::1%25eth0]/",
        "http://" + "a" * 1001 + "/",
        "http://" + "ä" * 1001 + "/",
        "http://" + "ä" * 64 + ".de/",
        "http://" + "%C3%A4" * 64 + ".de/",
        "http://" + "ä." * 126 + "de/",
        "\thttp://example.com/",
        "http://xn--\ud800.com",
    ],
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


@pytest.mark.parametrize(
    ("url", "prefix"),
    [
        ("https://e.com/a/b", "https://e.com/"),
        ("https://e.com:8443/?q=/", "https://e.com:8443/"),
        ("https://e.com?q=/", ""),
        ("e.com/a", ""),
        ("", ""),
    ],
)
def test_url_begins_with_its_site_and_a_slash(url: str, prefix: str) -> None:
    assert prefix_of(url) == prefix


@pytest.mark.parametrize(
    ("host", "may"),
    [
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
    ],
)
def test_dns_has_no_empty_label_none_over_63_characters_and_no_name_over_253(
    host: str, may: bool
) -> None:
    assert may_resolve(host) is may
