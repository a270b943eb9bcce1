"""Which URLs of robots.txt files and sitemaps are followed, and in what form they are requested."""

from collections import Counter

import pytest
from w3lib.url import safe_url_string

from scrapy_gbot_robots import Origin, RobotsTxt
from scrapy_gbot_robots.sitemaps import urls
from scrapy_gbot_robots.sitemaps.urls import Skipped, UrlCheck

from ..support.rows import row, table

CHECK = UrlCheck(frozenset({"http", "https"}), "any", 50)


def choose(
    body: str, hosts: str = "any", here: str = "https://www.example.com"
) -> tuple[list[str], Counter[str]]:
    check = CHECK._replace(hosts=hosts)
    robotstxt = RobotsTxt.parse(body.encode("utf-8", "surrogateescape"))
    sitemaps, counts, _ = check.choose(f"{here}/robots.txt", robotstxt)
    return [sitemap.url for sitemap in sitemaps], counts


JAPANESE = "テスト-サイトマップ.xml"
ESCAPED = "%E3%83%86%E3%82%B9%E3%83%88-%E3%82%B5%E3%82%A4%E3%83%88%E3%83%9E%E3%83%83%E3%83%97.xml"


@table(
    "text, asked_for",
    row("E10-raw-non-ascii", f"https://ja.example.org/{JAPANESE}", f"https://ja.example.org/{ESCAPED}"),
    row("S10.24-row", "http://e/ümlat.php&q=name", "http://e/%C3%BCmlat.php&q=name"),
    row("S10.4-spaces-and-brackets", "http://e/a b?q=<>|", "http://e/a%20b?q=%3C%3E%7C"),
    row("S10.8-host-folds-path-does-not", "HTTP://EXAMPLE.com/A?B=C", "http://example.com/A?B=C"),
    row("idn", "https://bücher.example/s", "https://xn--bcher-kva.example/s"),
    row("user-info-is-left-out", "http://user:secret@e/s", "http://e/s"),
    row("default-port", "http://e:80/s", "http://e/s"),
    row("other-port", "http://e:8080/s", "http://e:8080/s"),
    row("no-path", "http://e?s", "http://e/?s"),
    row("ipv6", "http://[::1]:80/s", "http://[::1]/s"),
    row("white-space-around", "\t http://e/s \n", "http://e/s"),
    row("S10.23-the-longest", f"http://e/{'a' * (8_191 - 9)}", f"http://e/{'a' * (8_191 - 9)}"),
)  # fmt: skip
def test_url_is_requested_in_this_form(text: str, asked_for: str) -> None:
    assert CHECK.listed(text) == (text.strip(), asked_for, Origin.of(asked_for))
    assert CHECK.listed(asked_for) == (asked_for, asked_for, Origin.of(asked_for))


@table(
    "path",
    *("/a-b_c~d.html", "/%C3%BC", "/%zz%", "/a//b/../c", "/;a=b,c:d@e!$&()*+", "/?", "/?a", "/??a=b&c/d"),
    *("/'", "/?'", "/#", "/?#a", "/a#b?c", "/[a]", "/?[a]", "/a b", "/{a}", "/a|b", "/\\", "/^", "/ü", "/?ü"),
    *("", "?a", "/" + "x" * 2_000, "/" + "x" * 2_001, "/?" + "x" * 2_000, "/?" + "x" * 2_001),
)  # fmt: skip
@table(
    "site",
    "http://e.example",
    "https://e.example:8443",
    "http://e.example:80",
    "http://e.example:080",
    "http://E.example",
)
def test_ordinary_url_is_requested_as_any_other_would_be(site: str, path: str) -> None:
    """The expectation is w3lib's, of a URL whose host and port are in order."""
    url = f"{site}{path}"
    origin = Origin.of(url)
    whole, asked_for, listed_on = CHECK.listed(url)
    assert (whole, listed_on) == (url, origin)
    assert asked_for == safe_url_string(f"{origin}{url.removeprefix(site)}")


def test_ordinary_url_is_of_a_scheme_that_the_crawl_can_fetch_and_no_longer_than_others() -> None:
    with pytest.raises(Skipped, match="scheme"):
        CHECK._replace(schemes=frozenset({"https"})).listed("http://e/s")
    with pytest.raises(Skipped, match="GBOT_ROBOTS_DENY_PRIVATE"):
        CHECK._replace(denies_private=True).listed("http://127.0.0.1/s", "http://e.example/s")


@table(
    "text, reason",
    row("S10.2-relative", "/sitemap.xml", "malformed"),
    row("S10.2-no-scheme", "sitemap.xml", "malformed"),
    row("S10.11-trap", "//e/t.xml", "malformed"),
    row("empty", "", "malformed"),
    row("no-host", "http://", "malformed"),
    row("bracket", "http://[", "malformed"),
    row("one-slash", "http:/e/s", "malformed"),
    row("port-out-of-range", "http://e:99999/s", "malformed"),
    row("space-in-host", "http://a b/s", "malformed"),
    row("escape-sequence", "http://e/\x1b[31m", "malformed"),
    row("line-break", "http://e/a\nWARNING: b", "malformed"),
    row("nul", "http://e/\x00", "malformed"),
    row("c1-control", "http://e/\x85a", "malformed"),
    row("line-separator", "http://e/\u2028a", "malformed"),
    row("replacement-character", "http://e/\ufffd", "malformed"),
    row("S10.23-too-long", "http://e/" + "a" * (8_192 - 9), "malformed"),
    row("label-longer-than-dns-has", f"http://{'ä' * 64}.de/s", "malformed"),
    row("host-longer-than-dns-has", f"http://{'ä.' * 126}de/s", "malformed"),
    row("file", "file:///etc/passwd", "scheme"),
    row("javascript", "javascript:alert(1)", "scheme"),
    row("s3", "s3://bucket/key", "scheme"),
    row("ftp-not-enabled", "ftp://e/s", "scheme"),
)
def test_url_is_refused_for_this_reason(text: str, reason: str) -> None:
    with pytest.raises(Skipped) as refusal:
        CHECK.listed(text)
    assert refusal.value.reason == reason
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 400


def test_repetitions_are_counted_however_they_are_written() -> None:
    found = choose("sitemap: http://e/ü\nsitemap: HTTP://E:80/%C3%BC\nsitemap: http://e/ü")
    assert found == (["http://e/%C3%BC"], {"found": 1, "duplicate": 2})
    latin_1 = choose("sitemap: http://e/\udcfc\nsitemap: http://e/%FC")
    assert latin_1 == (["http://e/%FC"], {"found": 1, "duplicate": 1})


@table(
    "hosts, here, there, may",
    ("any", "https://www.example.com", "http://other.net", True),
    ("same-site", "https://www.example.com", "http://cdn.example.com", True),
    ("same-site", "https://www.example.com", "https://example.com:8443", True),
    ("same-site", "https://www.example.com", "http://example.com.evil.net", False),
    ("same-site", "https://www.example.com", "http://notexample.com", False),
    ("same-site", "https://www.example.com", "http://93.184.215.14", False),
    ("same-site", "https://a.co.uk", "https://b.co.uk", False),
    ("same-site", "https://www.a.co.uk", "https://cdn.a.co.uk", True),
    ("same-site", "https://a.github.io", "https://b.github.io", False),
    ("same-site", "http://127.0.0.1:8000", "http://127.0.0.1:9000", True),
    ("same-site", "http://127.0.0.1", "http://127.0.0.2", False),
    ("same-site", "http://[::1]", "http://[::2]", False),
    ("same-site", "https://example.com.", "https://cdn.example.com", True),
    ("same-host", "https://www.example.com", "http://www.example.com:8080", True),
    ("same-host", "https://www.example.com", "https://example.com", False),
    ("same-host", "https://www.example.com", "https://cdn.www.example.com", False),
)
def test_sitemap_may_lie_where_a_setting_says(hosts: str, here: str, there: str, may: bool) -> None:
    chosen, counts = choose(f"sitemap: {there}/s", hosts, here)
    assert chosen == ([f"{there}/s"] if may else [])
    assert counts["skipped/host"] == (not may)


PUBLIC, PRIVATE = "http://e.example/s", "http://127.0.0.1/s"


def test_public_sitemap_leads_to_no_private_address_if_the_setting_says_so() -> None:
    check = CHECK._replace(denies_private=True)
    with pytest.raises(Skipped, match="GBOT_ROBOTS_DENY_PRIVATE"):
        check.listed(PRIVATE, PUBLIC)
    assert check.listed(PRIVATE, PRIVATE)[1] == PRIVATE
    assert CHECK.listed(PRIVATE, PUBLIC)[1] == PRIVATE


def test_suffix_list_is_not_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask_the_net(*_: object) -> None:
        raise AssertionError("the net is asked")

    urls._SUFFIX_LIST._extractor = None  # as before it is read
    monkeypatch.setattr("socket.socket.connect", ask_the_net)
    monkeypatch.setattr("socket.getaddrinfo", ask_the_net)
    CHECK._replace(hosts="same-site").check_host("https://a.b.co.uk/", "https://b.co.uk/")
