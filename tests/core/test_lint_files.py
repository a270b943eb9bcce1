"""What `lint` says of ten whole files, in its order: each is one that a site might have."""

import pytest

from scrapy_gbot_robots.core.lint import findings

A_BLANK_LINE_JOINS = b"""\
# robots.txt of the shop
User-agent: Googlebot
User-agent: Bingbot
Crawl-delay: 10

User-agent: GPTBot
Disallow: /

User-agent: *
Disallow: /cart/
Sitemap: https://www.shop.example/sitemap.xml
"""

A_SITEMAP_LINE_JOINS_ALL_CRAWLERS = b"""\
User-agent: *
Sitemap: https://www.example.com/sitemap_index.xml

User-agent: AhrefsBot
User-agent: SemrushBot
Disallow: /
"""

STAGING = b"""\
# Staging, closed until the launch
User-agent: *
Disallow: /
"""

ONE_LINE_FORGOTTEN = b"""\
User-agent: *
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php

# only Google, please
User-agent: Googlebot
Disallow: /
Noindex: /tag/
"""

NAMES = b"""\
User-agent: GPTBot, CCBot, ClaudeBot
Disallow: /

User-agent: Google Extended
Disallow: /

User-agent: ChatGPT
Disallow: /

User-agent: *
Disallow: /private
"""

MANY_SLIPS = b"""\
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
"""

OWN_GROUPS_FORGET = b"""\
User-agent: *
Disallow: /checkout
Disallow: /account

User-agent: Googlebot
Disallow: /search

User-agent: Bingbot
Crawl-delay: 5
"""

ERROR_PAGE = b"""\
<!DOCTYPE html>
<html>
<head><title>404 Not Found</title></head>
<body>
User-agent: *
Disallow: /
</body>
</html>
"""

ONLY_GOOGLEBOT_WAS_MEANT = b"""\
// robots for www.example.com
User-agent: Googlebot

User-agent: *
Disallow: /
"""

SIXTY_LINES = b"""\
# www.verlag.example: robots.txt, last changed by the agency
# Contact: webmaster@verlag.example

User-agent: *
Disallow: /suche
Disallow: /suche/erweitert
Disallow: /warenkorb/
Disallow: /konto/
Disallow: /intern #nur fuer Redaktion
Disallow: /druck/*.html$
Disallow: /*?sessionid=
Disallow: /*&sort=
Allow: /suche/hilfe
Crawl-delay: 5

# Bilder
User-agent: Googlebot-Image
Disallow: /bilder/archiv/
Allow: /bilder/

User-agent: Googlebot
User-agent: Bingbot
User-agent: DuckDuckBot
Request-rate: 1/5
Visit-time: 0600-0845

# KI
User-agent: GPTBot
User-agent: CCBot
User-agent: Google_Extended
Disallow: /

User-agent: ClaudeBot/1.0
Disallow: /

User-agent: bot2000
Disallow: /

# Werkzeuge
User-agent: AhrefsBot
Disallow: /

User-agent: SemrushBot
Disallow: /

User-agent: MJ12bot
Disalllow: /

User-agent: Screaming Frog SEO Spider
Disallow: /

User-agent: DotBot
Disallow: archiv/
Disallow: /archiv/

# Karten
Sitemap: https://www.verlag.example/sitemap.xml
Sitemap: /sitemap-news.xml
Host: www.verlag.example
Noindex: /alt/
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            A_BLANK_LINE_JOINS,
            [
                (
                    7,
                    "search engine shut out",
                    'Googlebot, Bingbot and Applebot may fetch nothing: "Disallow: /" is for them, too, as "User-agent: GPTBot" in line 6 begins no new group: no rule stands between it and line 3',
                ),
                (4, "field of other crawlers", ""),
            ],
            id="a-blank-line-joins",
        ),
        pytest.param(
            A_SITEMAP_LINE_JOINS_ALL_CRAWLERS,
            [
                (
                    6,
                    "search engine shut out",
                    "Googlebot, Bingbot, Applebot and 7 other crawlers may fetch nothing: ",
                )
            ],
            id="a-sitemap-line-joins-all-crawlers",
        ),
        pytest.param(STAGING, [(3, "whole site disallowed", "")], id="staging"),
        pytest.param(
            ONE_LINE_FORGOTTEN,
            [
                (
                    7,
                    "search engine shut out",
                    'Googlebot and Applebot may fetch nothing: "Disallow: /" keeps them away from the whole site',
                ),
                (8, "noindex", ""),
            ],
            id="one-line-forgotten",
        ),
        pytest.param(
            NAMES,
            [
                (
                    1,
                    "user agent cut",
                    'for "gptbot", not for "GPTBot, CCBot, ClaudeBot": write one user-agent line for each name',
                ),
                (
                    4,
                    "user agent cut",
                    'for "google", not for "Google Extended"; did you mean Google-Extended?',
                ),
                (7, "name of no crawler", "; did you mean ChatGPT-User?"),
            ],
            id="names",
        ),
        pytest.param(
            MANY_SLIPS,
            [
                (8, "comment within a path", 'the rule is "Disallow: /"'),
                (1, "rule before any group", ""),
                (5, "no leading slash", ""),
                (7, "space in a path", ""),
                (6, "regular expression", ""),
                (11, "bad sitemap", ""),
                (3, "typo", '"Disalow"'),
                (4, "typo", ""),
            ],
            id="many-slips",
        ),
        pytest.param(
            OWN_GROUPS_FORGET,
            [
                (5, "own group", "/checkout, /account"),
                (8, "group without rules", '"bingbot" may fetch everything'),
            ],
            id="own-groups-forget",
        ),
        pytest.param(ERROR_PAGE, [(1, "no robots file", "a web page")], id="error-page"),
        pytest.param(
            ONLY_GOOGLEBOT_WAS_MEANT,
            [
                (
                    5,
                    "search engine shut out",
                    'Googlebot and Applebot may fetch nothing: "Disallow: /" is for them, too, as "User-agent: *" in line 4',
                ),
                (1, "ignored", ""),
                (5, "whole site disallowed", ""),
            ],
            id="only-googlebot-was-meant",
        ),
        pytest.param(
            SIXTY_LINES,
            [
                (
                    31,
                    "search engine shut out",
                    "Googlebot, Bingbot, Applebot and DuckDuckBot may fetch nothing: ",
                ),
                (36, "user agent cut", '"bot2000"'),
                (49, "user agent cut", '"Screaming Frog SEO Spider"'),
                (47, "misspelt field", '"Disalllow"'),
                (53, "no leading slash", '"archiv/"'),
                (60, "noindex", ""),
                (58, "bad sitemap", ""),
                (49, "joined groups", "line 46"),
                (30, "name of no crawler", "did you mean Google-Extended?"),
                (17, "own group", '"googlebot-image"'),
                (52, "own group", '"dotbot"'),
                (14, "field of other crawlers", ""),
                (24, "field of other crawlers", ""),
                (25, "field of other crawlers", ""),
            ],
            id="sixty-lines",
        ),
    ],
)
def test_a_whole_file_has_these_findings_the_greatest_harm_first(
    body: bytes, expected: list[tuple[int, str, str]]
) -> None:
    told = findings(body)
    assert [(each.line, each.kind) for each in told] == [(line, kind) for line, kind, _ in expected]
    for finding, (_, _, text) in zip(told, expected, strict=True):
        assert text in finding.text


OPEN_TO_REST = b"\nuser-agent: *\ndisallow: /x\n"


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (b"user-agent: Baiduspider\ndisallow: /", "Baiduspider"),
        (b"user-agent: yandex\ndisallow: /*", "YandexBot"),
        (b"user-agent: a\n\nuser-agent: bingbot\ndisallow: *", "Bingbot"),
        (b"user-agent: bingbot\ncrawl-delay: 1\nuser-agent: a\ndisallow: /", "Bingbot"),
        (b"user-agent: bingbot\ndisallow: /\nuser-agent: bingbot\ndisallow: /x", "Bingbot"),
        (b"user-agent: bingbot\ndisallow: /\nuser-agent: bingbot\nallow: /x", None),
        (b"user-agent: bingbot\ndisallow: /\nallow: /$", None),
        (b"user-agent: bingbot\n# a comment\nuser-agent: a\ndisallow: /", "Bingbot"),
        (b"user-agent: Googlebot-Image\nuser-agent: Googlebot-News\ndisallow: /", None),
        (b"user-agent: AdsBot-Google\nuser-agent: GPTBot\ndisallow: /", None),
    ],
)
def test_a_search_engine_that_may_fetch_nothing_is_named(body: bytes, names: str | None) -> None:
    told = [each for each in findings(body + OPEN_TO_REST) if each.kind == "search engine shut out"]
    assert [each.text.partition(" may fetch nothing: ")[0] for each in told] == (
        [] if names is None else [names]
    )
    assert all(each.level == "error" for each in told)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            b"user-agent: *\nuser-agent: googlebot\ndisallow: /\n",
            [(3, "whole site disallowed")],
            id="meant-for-all",
        ),
        pytest.param(
            b"user-agent: bingbot\ndisallow: /\nuser-agent: *\ndisallow: /\n",
            [(4, "whole site disallowed")],
            id="all-are-closed",
        ),
        pytest.param(
            b"user-agent: *\n\nuser-agent: ccbot\ndisallow: /\n",
            [(4, "search engine shut out")],
            id="meant-for-one",
        ),
    ],
)
def test_one_thing_is_not_said_twice_of_a_site_that_is_closed_to_all(
    body: bytes, expected: list[tuple[int, str]]
) -> None:
    assert [(each.line, each.kind) for each in findings(body)] == expected
