"""Which URLs of robots.txt files and sitemaps are followed, and in what form they are requested."""

from collections import Counter

import pytest

from scrapy_gbot_robots import Origin, RobotsTxt
from scrapy_gbot_robots.sitemaps import urls
from scrapy_gbot_robots.sitemaps.urls import Refused, UrlCheck

CHECK = UrlCheck(frozenset({"http", "https"}), "any", 50)


def choose(
    body: str, hosts: str = "any", here: str = "https://www.example.com"
) -> tuple[list[str], Counter[str]]:
    check = CHECK._replace(hosts=hosts)
    sitemaps, counts, _ = check.choose(f"{here}/robots.txt", RobotsTxt.parse(body.encode()))
    return [sitemap.url for sitemap in sitemaps], counts


JAPANESE = "テスト-サイトマップ.xml"
ESCAPED = "%E3%83%86%E3%82%B9%E3%83%88-%E3%82%B5%E3%82%A4%E3%83%88%E3%83%9E%E3%83%83%E3%83%97.xml"


@pytest.mark.parametrize(
    ("text", "asked_for"),
    [
        pytest.param(f"https://ja.example.org/{JAPANESE}", f"https://ja.example.org/{ESCAPED}", id="E10-raw-non-ascii"),
        pytest.param("http://e/ümlat.php&q=name", "http://e/%C3%BCmlat.php&q=name", id="S10.24-row"),
        pytest.param("http://e/a b?q=<>|", "http://e/a%20b?q=%3C%3E%7C", id="S10.4-spaces-and-brackets"),
        pytest.param("HTTP://EXAMPLE.com/A?B=C", "http://example.com/A?B=C", id="S10.8-host-folds-path-does-not"),
        pytest.param("https://bücher.example/s", "https://xn--bcher-kva.example/s", id="idn"),
        pytest.param("http://user:secret@e/s", "http://e/s", id="user-info-is-left-out"),
        pytest.param("http://e:80/s", "http://e/s", id="default-port"),
        pytest.param("http://e:8080/s", "http://e:8080/s", id="other-port"),
        pytest.param("http://e?s", "http://e/?s", id="no-path"),
        pytest.param("http://[::1]:80/s", "http://[::1]/s", id="ipv6"),
        pytest.param("\t http://e/s \n", "http://e/s", id="white-space-around"),
        pytest.param(f"http://e/{'a' * (8_191 - 9)}", f"http://e/{'a' * (8_191 - 9)}", id="S10.23-the-longest"),
    ],
)  # fmt: skip
def test_url_is_requested_in_this_form(text: str, asked_for: str) -> None:
    assert CHECK.listed(text) == (text.strip(), asked_for, Origin.of(asked_for))
    assert CHECK.listed(asked_for) == (asked_for, asked_for, Origin.of(asked_for))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("/sitemap.xml", "malformed", id="S10.2-relative"),
        pytest.param("sitemap.xml", "malformed", id="S10.2-no-scheme"),
        pytest.param("//e/t.xml", "malformed", id="S10.11-trap"),
        pytest.param("", "malformed", id="empty"),
        pytest.param("http://", "malformed", id="no-host"),
        pytest.param("http://[", "malformed", id="bracket"),
        pytest.param("http:/e/s", "malformed", id="one-slash"),
        pytest.param("http://e:99999/s", "malformed", id="port-out-of-range"),
        pytest.param("http://a b/s", "malformed", id="space-in-host"),
        pytest.param("http://e/\x1b[31m", "malformed", id="escape-sequence"),
        pytest.param("http://e/a\nWARNING: b", "malformed", id="line-break"),
        pytest.param("http://e/\x00", "malformed", id="nul"),
        pytest.param("http://e/\x85a", "malformed", id="c1-control"),
        pytest.param("http://e/\u2028a", "malformed", id="line-separator"),
        pytest.param("http://e/\ufffd", "malformed", id="replacement-character"),
        pytest.param("http://e/" + "a" * (8_192 - 9), "malformed", id="S10.23-too-long"),
        pytest.param(f"http://{'ä' * 64}.de/s", "malformed", id="label-longer-than-dns-has"),
        pytest.param(f"http://{'ä.' * 126}de/s", "malformed", id="host-longer-than-dns-has"),
        pytest.param("file:///etc/passwd", "scheme", id="file"),
        pytest.param("javascript:alert(1)", "scheme", id="javascript"),
        pytest.param("s3://bucket/key", "scheme", id="s3"),
        pytest.param("ftp://e/s", "scheme", id="ftp-not-enabled"),
    ],
)
def test_url_is_refused_for_this_reason(text: str, reason: str) -> None:
    with pytest.raises(Refused) as refusal:
        CHECK.listed(text)
    assert refusal.value.reason == reason
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 400


def test_bad_line_costs_no_other() -> None:
    bad = "sitemap: http://[\nsitemap: file:///x\n"
    chosen, counts = choose(f"{bad}sitemap: http://e/1\nsitemap http://e/x\nsitemap: http://e/2")
    assert chosen == ["http://e/1", "http://e/2"]
    assert counts == {"found": 2, "refused/malformed": 2, "refused/scheme": 1}


def test_repetitions_are_counted_however_they_are_written() -> None:
    found = choose("sitemap: http://e/ü\nsitemap: HTTP://E:80/%C3%BC\nsitemap: http://e/ü")
    assert found == (["http://e/%C3%BC"], {"found": 1, "duplicate": 2})


@pytest.mark.parametrize(
    ("hosts", "here", "there", "allowed"),
    [
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
    ],
)
def test_sitemap_may_live_where_the_setting_says(
    hosts: str, here: str, there: str, *, allowed: bool
) -> None:
    chosen, counts = choose(f"sitemap: {there}/s", hosts, here)
    assert chosen == ([f"{there}/s"] if allowed else [])
    assert counts["refused/host"] == (not allowed)


PUBLIC, PRIVATE = "http://e.example/s", "http://127.0.0.1/s"


def test_public_sitemap_leads_to_no_private_address_if_the_setting_says_so() -> None:
    check = CHECK._replace(refuses_private=True)
    with pytest.raises(Refused, match="GBOT_ROBOTS_REFUSE_PRIVATE"):
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
