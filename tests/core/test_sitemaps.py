"""Sitemap lines: Google's page, "sitemap"; sitemaps.org; Google's parser for what such a line is."""

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core.robots import may_list_sitemaps, sitemap_lines_of

from ..support.examples import EXAMPLES
from ..support.rows import row, table

E10B = "Sitemap: https://example.com/sitemap.xml\nSitemap: http://www.example.com/sitemap.xml\n"


@table(
    "body, sitemaps",
    row("E5", EXAMPLES["E5"], ["https://example.com/sitemap.xml"]),
    row("E6.3", EXAMPLES["E6.3"], ["https://example.com/sitemap.xml"]),
    row("E6.4", EXAMPLES["E6.4"], ["http://www.example.com/sitemap.xml"]),
    row("E10", EXAMPLES["E10"], ["https://example.com/sitemap.xml", "https://cdn.example.org/other-sitemap.xml",
                                 "https://ja.example.org/テスト-サイトマップ.xml"]),
    row("E10b", E10B, ["https://example.com/sitemap.xml", "http://www.example.com/sitemap.xml"]),
    row("S10.8-value-case", "SITEMAP: HTTPS://E.com/S.xml", ["HTTPS://E.com/S.xml"]),
    row("S10.11", "site-map: http://e.com/1\nsitemaps: http://e.com/2\nsitemap: http://e.com/3", ["http://e.com/1", "http://e.com/2", "http://e.com/3"]),
    row("S10.11-no-colon-after-the-key", "sitemap https://e.com/t.xml", []),
    row("S10.11-comment", "sitemap: http://e.com/a#b", ["http://e.com/a"]),
    row("S10.4-not-encoded", "sitemap: http://e.com/a b", ["http://e.com/a b"]),
    row("ftp", "sitemap: ftp://e.com/s.xml", ["ftp://e.com/s.xml"]),
    row("each-once", "sitemap: http://e.com/\nsitemap: http://e.com/", ["http://e.com/"]),
    row("S10.2-not-absolute", "sitemap:\nsitemap: /s\nsitemap: //e.com/s\nsitemap: e.com/s", []),
    row("two-urls", "sitemap: https://e.com/a.xml https://e.com/b.xml", []),
    row("no-host", "sitemap: data:,x\nsitemap: file:///s\nsitemap: http://\nsitemap: http:///s", []),
)  # fmt: skip
def test_sitemaps_are_listed_in_file_order(body: str, sitemaps: list[str]) -> None:
    assert RobotsTxt.parse(body.encode()).sitemaps == tuple(sitemaps)


@table(
    "raw, url",
    (b"http://e.com/caf\xe9.xml", "http://e.com/caf%E9.xml"),
    (b"http://e.com/caf\xc3\xa9.xml", "http://e.com/caf\u00e9.xml"),
    (b"http://\xe9.com/", None),
    (b"http://e.com/\xed\xa0\x80", "http://e.com/%ED%A0%80"),
    (b"http://e.com:99999/", None),
    (b"http://[::1/", None),
)
def test_odd_bytes_of_a_sitemap_line_do_no_harm(raw: bytes, url: str | None) -> None:
    assert sitemap_lines_of(RobotsTxt.parse(b"\n\r\nsitemap: " + raw)) == [(3, url, raw)]


@table(
    "body, may",
    (b"Sitemap: http://e/", True),
    (b"User-agent: *\rSITE-MAP http://e/", True),
    (b"Disallow: /site", True),  # it may; reading it tells
    (b"User-agent: *\nDisallow: /", False),
    (b"", False),
)
def test_file_without_the_word_is_known_to_list_no_sitemap(body: bytes, *, may: bool) -> None:
    robotstxt = RobotsTxt.parse(body)
    assert may_list_sitemaps(robotstxt) is may
    assert may_list_sitemaps(robotstxt) or not sitemap_lines_of(robotstxt)
