"""What `lint` says of whole files, in its order: each is one that a site might have."""

import pytest

from scrapy_gbot_robots.core.lint import findings
from scrapy_gbot_robots.core.remarks import NOTE
from scrapy_gbot_robots.experimental.preferences import on_preferences

from ..support.rows import table

# By their names: files, and below the dashes the findings, each with its line, its kind and a part of its text.
FILES = {
    "a-blank-line-joins": """\
# robots.txt of the shop
User-agent: Googlebot
User-agent: Bingbot
Crawl-delay: 10

User-agent: GPTBot
Disallow: /

User-agent: *
Disallow: /cart/
Sitemap: https://www.shop.example/sitemap.xml
-----
7 search engine shut out: Googlebot, Bingbot, Applebot may fetch nothing: "Disallow: /" also applies to them, because line 6 does not begin a new group
4 field of other crawlers:
""",
    "many-slips": """\
Disallow: /tmp/
User-agent: *
Disalow: /internal/
Dissallow: /admin/
Disallow: https://www.example.com/drafts/
Disallow: /search?q=[a-z]+
Disallow: /a /b
Disallow: /#comments
Allow: /blog/
Disallow: /blog/*.pdf
Sitemap: sitemap.xml
-----
8 comment within a path: the rule is "Disallow: /"
1 rule before any group:
5 no leading slash:
7 space in a path:
6 regular expression:
11 bad sitemap:
3 typo: "Disalow"
4 typo:
8 home page disallowed: Bingbot, Googlebot may not fetch
""",
    "only-googlebot-was-meant": """\
// robots for www.example.com
User-agent: Googlebot

User-agent: *
Disallow: /
-----
5 search engine shut out: Googlebot, Applebot may fetch nothing: "Disallow: /" also applies to them, because line 4 does not begin
1 ignored:
5 whole site disallowed:
""",
}


@pytest.mark.parametrize("name", FILES)
def test_a_whole_file_has_these_findings_the_greatest_harm_first(name: str) -> None:
    body, _, expected = FILES[name].partition("-----\n")
    told = findings(body.encode())
    rows = [line.partition(":") for line in expected.splitlines()]
    assert [f"{each.line} {each.kind}" for each in told] == [row[0] for row in rows]
    for finding, (_, _, text) in zip(told, rows, strict=True):
        assert text.strip() in finding.text


# What large hosts serve by default, shortened.
DEFAULTS = {
    "shopify": """\
User-agent: *
Disallow: /a/downloads/-/*
Disallow: /collections/*%2B*
Disallow: /collections/*%2b*
Disallow: /*/*?*ls%3D*%3Fls%3D*
Disallow: /cdn/wpm/*.js
Sitemap: https://x.example/sitemap.xml

# Google adsbot ignores robots.txt unless specifically named!
User-agent: adsbot-google
Disallow: /checkouts/

User-agent: AhrefsBot
Crawl-delay: 10
Disallow: /a/downloads/-/*

User-agent: Pinterest
Crawl-delay: 1
""",
    "cloudflare": """\
# BEGIN Cloudflare Managed content
User-agent: *
Content-Signal: search=yes,ai-train=no
Allow: /

User-agent: CloudflareBrowserRenderingCrawler
Disallow: /

User-agent: Google-Extended
Disallow: /
# END Cloudflare Managed Content

User-agent: *
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php
""",
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_default_file_of_a_large_host_is_no_cause_for_alarm(name: str) -> None:
    told = findings(DEFAULTS[name].encode(), more=on_preferences)
    assert [each for each in told if each.level != NOTE] == []


@table(
    "body, names",
    ("user-agent: googlebot\ndisallow: /", "Googlebot, Applebot"),
    ("user-agent: yandex\nuser-agent: bingbot\ndisallow: /*", "Bingbot, YandexBot"),
    ("user-agent: yandex\ncrawl-delay: 1\n\nuser-agent: x\ndisallow: /*", "YandexBot"),
    ("user-agent: a\n\nuser-agent: bingbot\ndisallow: *", "Bingbot"),
    ("user-agent: bingbot\ncrawl-delay: 1\nuser-agent: a\ndisallow: /", "Bingbot"),
    ("user-agent: bingbot\ndisallow: /\nuser-agent: bingbot\ndisallow: /x", "Bingbot"),
    ("user-agent: bingbot\n# a comment\nuser-agent: a\ndisallow: /", "Bingbot"),
    ("user-agent: bingbot\ndisallow: /\nuser-agent: bingbot\nallow: /x", ""),
    ("user-agent: bingbot\ndisallow: /\nallow: /$", ""),
    ("user-agent: bingbot\ndisallow: /*\nallow: /", "Bingbot"),
    ("user-agent: bingbot\ndisallow: /\nallow: /ads.txt", ""),
    ("user-agent: Googlebot-Image\nuser-agent: Googlebot-News\ndisallow: /", ""),
    ("user-agent: AdsBot-Google\nuser-agent: GPTBot\ndisallow: /", ""),
)
def test_a_search_engine_that_may_fetch_nothing_is_named(body: str, names: str) -> None:
    told = findings(f"{body}\nuser-agent: *\ndisallow: /x\n".encode())
    told = [each for each in told if each.kind == "search engine shut out"]
    assert "".join(each.text.partition(" may fetch nothing: ")[0] for each in told) == names
    assert all(each.level == "error" for each in told)


@table(
    "body, names",
    ("user-agent: Baiduspider\ndisallow: /", "Baiduspider"),
    ("user-agent: yandex\nuser-agent: Slurp\ndisallow: /*", "YandexBot, Slurp"),
    ("user-agent: bingbot\nuser-agent: Slurp\ndisallow: /", ""),
    ("user-agent: Googlebot\ndisallow: /", ""),
)
def test_a_smaller_search_engine_that_may_fetch_nothing_is_noted(body: str, names: str) -> None:
    told = findings(f"{body}\nuser-agent: *\ndisallow: /x\n".encode())
    told = [each for each in told if each.kind == "other search engine shut out"]
    assert "".join(each.text.partition(" may fetch nothing: ")[0] for each in told) == names
    assert all(each.level == NOTE for each in told)


@table(
    "body, expected",
    ("user-agent: *\nuser-agent: googlebot\ndisallow: /", (3, "whole site disallowed")),
    ("user-agent: bingbot\ndisallow: /\nuser-agent: *\ndisallow: /", (4, "whole site disallowed")),
    ("user-agent: *\n\nuser-agent: ccbot\ndisallow: /", (4, "search engine shut out")),
    (
        "user-agent: bingbot\ncrawl-delay: 9\nuser-agent: *\ndisallow: /",
        (4, "whole site disallowed"),
    ),
)
def test_site_closed_to_all_is_told_once(body: str, expected: tuple[int, str]) -> None:
    assert [(each.line, each.kind) for each in findings(body.encode())] == [expected]
