"""What `lint` finds in a robots.txt: each kind of finding, its line, and the order of findings."""

import random
import re
import time
from pathlib import Path
from typing import Any

import pytest

from scrapy_gbot_robots import RobotsTxt
from scrapy_gbot_robots.core import lint
from scrapy_gbot_robots.core.known_crawlers import KNOWN_CRAWLERS, KnownCrawler, meant_by
from scrapy_gbot_robots.core.remarks import ERROR, KINDS, LEVELS, NOTE, WARNING, Finding
from scrapy_gbot_robots.core.robots import lines_of
from scrapy_gbot_robots.experimental.preferences import on_preferences

HEAD = b"user-agent: *\n"


def findings(body: bytes, **options: Any) -> list[Finding]:
    return lint.findings(body, more=on_preferences, **options)


def found(body: bytes, **options: Any) -> list[tuple[int, str]]:
    return [(finding.line, finding.kind) for finding in findings(body, **options)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"# nothing\n\n  # but comments\n",
        b"user-agent: *\ndisallow:\n",
        b"user-agent: a\nuser-agent: b\n# both\ndisallow: /x\n\nuser-agent: *\ndisallow: /x",
        b"user-agent: *\nallow: /x/y\ndisallow: /x\ndisallow: /",
        b"user-agent: googlebot-video\nuser-agent: somebot\ndisallow: /x\n",
        b"sitemap: https://example.com/s.xml\n",
        b"sitemap: https://e.com/i,j.xml\nsitemap: https://e.com/?u=https://x,https://y",
        b"user-agent: MJ12bot\nuser-agent: mj12bot/1.4\ndisallow: /",
        b"user-agent: AI2Bot\nuser-agent: Ai2Bot-Dolma\nuser-agent: img2dataset\nuser-agent: k2spider\ndisallow: /",
        b"user-agent: " + b"a" * 300 + b"\ndisallow: /",
        b"user-agent: Googlebot/2.1 (+http://www.google.com/bot.html)\ndisallow: /x",
        b"user-agent: DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)\ndisallow: /x",
        b"user-agent: facebookexternalhit/1.1 (+http://www.facebook.com/#x)\ndisallow: /",
        b"user-agent: my-bot/3.0+b (Linux; x) (+mailto:me@my.example)\ndisallow: /",
        b"user-agent: LinkedInBot/1.0 (compatible; Mozilla/5.0; +http://l.example)\ndisallow: /",
        b"user-agent: Googlebot (+http://www.google.com/bot.html)\ndisallow: /x",
        b"user-agent: Baiduspider+(+http://www.baidu.com/search/spider.htm)\ndisallow: /x",
        b"user-agent: AhrefsBot/7.0; +http://ahrefs.com/robot/)\ndisallow: /",
        b"user-agent: CCBot 2.0\ndisallow: /",
        b"user-agent: Googlebot*\nuser-agent: Mediapartners-Google*\ndisallow: /x",
        b"user-agent: *\ndisallow: /x\n\nuser-agent: PetalBot\ndisallow: /",
        b"user-agent: allenbot\nuser-agent: bot\nuser-agent: spiderling\ndisallow: /",
        b"user-agent: seznambot\nrequest-rate: 1/10s\nvisit-time: 0600-0845\ndisallow: /x",
        "user-agent: *\ndisallow: /men%C3%BC # für alle\n".encode(),
        b"license: https://e.com/l.xml\nuser-agent: *\ndisallow: /x",
        b"license: https://e.com/l.xml",
        b"# <html>\nuser-agent: *\ndisallow: /*.html$\n",
        b"user-agent: *\ndisallow: /x # why\ndisallow: /y\t#why\ndisallow:#none",
        b"user-agent: baiduspider\ncrawl-delay: 1\nuser-agent: *\ndisallow: /x",
        b"user-agent: seznambot\nrequest-rate: 1/10s\nuser-agent: *\ndisallow: /x",
        b"user-agent: yandex\ndisallow: /x\nclean-param: s /\nhost: e.com\n\nuser-agent: *\ndisallow: /x",
        b"user-agent: *\ndisallow: /index.*\ndisallow: /*.js.*.gz\ndisallow: /.*\ndisallow: *.*$",
        b"user-agent: *\ndisallow: /*?f[a]=1\ndisallow: /(x)\ndisallow: /sky+\ndisallow: /a\\b",
    ],
)
def test_what_is_in_order_earns_no_finding(body: bytes) -> None:
    assert findings(body) == []


@pytest.mark.parametrize(
    ("line", "kind", "said"),
    [
        (b"disallow: x", "no leading slash", ""),
        (
            b"disallow: https://www.example.com/private/",
            "no leading slash",
            "without scheme and host",
        ),
        (b"disallow: $", "no leading slash", ""),
        (b"disallow: /a /b", "space in a path", ""),
        (b"disallow: /a\t/b", "space in a path", ""),
        (b"disalllow: /x", "misspelt field", 'did you mean "disallow"?'),
        (b"alow: /x", "misspelt field", 'did you mean "allow"?'),
        (b"dissallow: /x", "typo", ""),
        (b"disallowed: /x", "typo", ""),
        (b"disallow" * 9 + b": /x", "typo", ""),
        (b"DisallowAITraining: /x", "another field read as a rule", 'reads it as "Disallow: /x"'),
        (b"disallow /x", "missing colon", ""),
        (b"crawl-delay: 3", "field of other crawlers", ""),
        (b"noindex: /x", "noindex", "use a robots meta tag or the header X-Robots-Tag"),
        (b"humans: all", "unknown field", ""),
        (b"x" * 99 + b": /x", "unknown field", ""),
        (b"// robots for shop", "ignored", "a comment, which begins with"),
        (b"// robots", "ignored", ""),
        (b"these are words", "ignored", ""),
        (b"caf\xe9 is a word # and this a comment", "ignored", ""),
        (b"disallow: /x#section", "comment within a path", 'the rule is "Disallow: /x"'),
        (b"disallow: /[a-z]+/", "regular expression", '"[a-z]+" is matched as it stands'),
        (b"disallow: /(a|b)/", "regular expression", ""),
        (b"disallow: /[^0-9]?", "regular expression", '"[^0-9]?" is'),
        (b"disallow: /[A-Za-z0-9_]x", "regular expression", '"[A-Za-z0-9_]" is'),
        (b"disallow: /a(.*)", "regular expression", '"(.*" is'),
        (b"disallow: /a(.+)", "regular expression", '"(.+" is'),
        (b"disallow: /(?:ab)", "regular expression", '"(?:" is'),
        (b"disallow: /(?!ab)", "regular expression", '"(?!" is'),
        (b"disallow: /\\w", "regular expression", ""),
        (b"disallow: /\\s1", "regular expression", ""),
        (b"disallow: /a.+/b", "regular expression", '".+" is'),
        (b"disallow: /a.+$", "regular expression", ""),
        (b"disallow: /search\\?", "regular expression", ""),
        (b"disallow: /p/\\d{8}/", "regular expression", ""),
        (b"disallow: /a.*b", "regular expression", ""),
        (b"disallow: /video/.*", "regular expression", ""),
        (b"disallow: /p$more", "dollar within a path", ""),
        (b"disallow: /caf\xe9", "not UTF-8", "is matched byte by byte; save the file as UTF-8"),
        (b"disallow: /a\0b", "not UTF-8", "the line ends at a NUL byte; save"),
        (
            b"sitemap: https://e.com/\xe9",
            "not UTF-8",
            "each byte past ASCII counts as % and its code",
        ),
        (b"host: \xe9", "not UTF-8", "programs may read it differently"),
        (b"user-agent: b\xf6t", "user agent cut", 'this is for "b"'),
        ("disallow: /a\ufffdb".encode(), "path not escaped", "/a%EF%BF%BDb"),
        (b"disallow: /" + b"a" * 20_000, "over-long", ""),
        ("disallow: /menü".encode(), "path not escaped", "/men%C3%BC"),
        (b"sitemap: /sitemap.xml", "bad sitemap", ""),
        (b"sitemap: https://a.example/1\thttps://a.example/2", "bad sitemap", "not one "),
        (b"sitemap: https://a.example/1,https://a.example/2", "bad sitemap", "not one "),
        (b"license: /l.xml", "bad license", ""),
        (b"llm-policy: x", "unknown field", ""),
        (b"user-agent: bot2000", "user agent cut", 'this is for "bot", not for "bot2000": '),
        (b"user-agent: Foo Bar", "user agent cut", ': a name ends where anything but letters, "-"'),
        (
            b"user-agent: GPTBot CCBot",
            "user agent cut",
            ": write one user-agent line for each name",
        ),
        (b"user-agent: GPTBot; CCBot", "user agent cut", ": write one user-agent line for each "),
        (b"user-agent: GPTBot|CCBot", "user agent cut", ": write one user-agent line for each "),
        (
            b"user-agent: GPTBot, 7",
            "user agent cut",
            ': a name ends where anything but letters, "-"',
        ),
        (
            b"user-agent: bot (a, b)",
            "user agent cut",
            ': a name ends where anything but letters, "-"',
        ),
        (b"user-agent: *bot", "no user agent", ""),
        (b"user-agent:", "no user agent", ""),
        (b"user-agent: *<br>Disallow: /a<br>", "no user agent", ": write one directive a line"),
        (b"user-agent: * Allow: / Sitemap: /s", "user agent cut", ": write one directive a line"),
        (b"user-agent: Google*", "user agent cut", ": a name ends where"),
        (b"user-agent: GPT-Bot", "name of no crawler", "; did you mean GPTBot?"),
        (
            b"user-agent: Google",
            "name of no crawler",
            "mean Googlebot or Googlebot-Image or Googlebot-News or Google-Extended?",
        ),
        (b"user-agent: ChatGPT", "name of no crawler", "; did you mean ChatGPT-User?"),
        (
            b"user-agent: claude",
            "name of no crawler",
            "mean Claude-SearchBot or ClaudeBot or Claude-User?",
        ),
        (b"user-agent: Bing", "name of no crawler", "; did you mean Bingbot?"),
        (b"user-agent: Googlebot_News", "name of no crawler", "; did you mean Googlebot-News?"),
        (b"crawl-delay: 10s", "unused field", "it is no number of seconds"),
        (b"request-rate: 1/5", "field of other crawlers", '"request-rate"; others do'),
        (b"request-rate: 500/1d 0800-1900", "field of other crawlers", ""),
        (b"request-rate: fast", "unused field", "it is no rate such as 1/10s"),
        (b"request-rate: 1/10x", "unused field", "it is no rate such as 1/10s"),
        (b"visit-time: 0600-0845", "field of other crawlers", ""),
        (b"visit-time: morning", "unused field", "it is no time such as 0600-0845"),
        (b"host:", "unused field", "it is empty"),
        (b"revisit-after: 7", "unused field", 'does not use the field "revisit-after"'),
        (b"user-agent: all", "name of no crawler", 'for a crawler "all" alone; write "*" for all'),
        (b"user-agent: Any", "name of no crawler", '"*" for all'),
        (b"user-agent: everyone", "name of no crawler", '"*" for all'),
        (b"user-agent: All-Robots", "name of no crawler", '"*" for all'),
        (b"user-agent: bots", "name of no crawler", '"*" for all'),
        (b"user-agent: crawler", "name of no crawler", '"*" for all'),
        (b"user-agent: Spiders", "name of no crawler", '"*" for all'),
        (b"user-agent: all bots", "user agent cut", '"*" for all'),
        (b"disallow: /assets/*.JS$", "style or script", '"Disallow: /assets/*.JS$" keeps'),
        (
            b"user-agent: Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
            "user agent cut",
            'write the name alone, "bingbot"',
        ),
        (
            b"user-agent: Mozilla/5.0 (X11; Linux x86_64)",
            "user agent cut",
            'write the name alone, "Mozilla"',
        ),
        (
            b"user-agent: MyBot/1.0 (compatible; Googlebot/2.1)",
            "user agent cut",
            'write the name alone, "Googlebot"',
        ),
        (b"user-agent: GPTBot/1 (+http://a) CCBot/2", "user agent cut", 'alone, "GPTBot"'),
        (b"user-agent: Googlebot (+http://x), CCBot", "user agent cut", "a name ends where"),
        ("us\u0435r-agent: x".encode(), "misspelt field", "(with U+0435), so the line is ignored"),
        ("user-agent: GPTB\u043et".encode(), "user agent cut", "(with U+043E): a name ends"),
        ("disallow: /\u0430dmin/".encode(), "odd character in a path", "(with U+0430): no URL"),
        ("disallow: /admi\u03bd".encode(), "odd character in a path", "(with U+03BD): no URL"),
        ("disallow: /tmp\u200b/".encode(), "odd character in a path", "(with U+200B): no URL"),
        ("disallow: /tmp\u200d/".encode(), "odd character in a path", "(with U+200D): no URL"),
        ("disallow: /tmp\u00a0".encode(), "odd character in a path", "(with U+00A0): no URL"),
        ("disallow: /a\u2215\uff0fb".encode(), "odd character in a path", "(with U+2215, U+FF0F)"),
        ("disallow: \u201c/x\u201d".encode(), "no leading slash", "(with U+201C, U+201D)"),
        ("disallow: /\u043a\u0430-a/".encode(), "path not escaped", "/%D0%BA%D0%B0-a/"),
        ("disallow: /\u0645\u06cc\u200c\u062e".encode(), "path not escaped", "%E2%80%8C"),
        ("user-agent:\u00a0*".encode(), "no user agent", "(with U+00A0) names no user agent"),
        # About preferences; of fields that are in order only the note says something
        (b"content-usage: train-ai=n, x=1", "field of other crawlers", ""),
        (b"content-usage: /a search=y", "field of other crawlers", ""),
        (b"content-signal: ai-train=no, search=yes, use=full", "field of other crawlers", ""),
        (b"content-usage: train-ai=yes", "preference that says nothing", "only y and n count"),
        (b"content-usage: Train-AI=n", "preference that says nothing", "keys are in lower case"),
        (b"content-usage: /x train-ai=n,", "preference that says nothing", "see RFC 9651"),
        (b"content-signal: ai-train=n", "preference that says nothing", "only yes and no count"),
        (
            b"content-signal: search=yes, Train-AI=no",
            "preference that says nothing",
            '"train-ai" says nothing in Content-Signal: its label is "ai-train"',
        ),
        (
            b"content-usage: search=y, ai-input=n",
            "preference that says nothing",
            '"ai-input" says nothing in Content-Usage: its label is "ai-use"',
        ),
        (
            b"content-usage: /x tdm=n",
            "preference that says nothing",
            "no label of Content-Usage is in this line: train-ai, search, ai-use",
        ),
        (
            b"content-signal: ai=no",
            "preference that says nothing",
            "no label of Content-Signal is in this line: ai-train, search, ai-input, use",
        ),
        (b"content-usage: /x", "field of other crawlers", ""),
        (b"content-signal:", "unused field", ""),
        (b"content-signal: /x ai-train=no", "preference that says nothing", "has no paths"),
        (
            b"content-signal: use=all",
            "preference that says nothing",
            "only immediate, reference, full count",
        ),
    ],
    ids=lambda value: value[:40].decode("latin-1") if isinstance(value, bytes) else "",
)
def test_a_line_earns_the_finding_of_its_kind_which_says_what_to_do(
    line: bytes, kind: str, said: str
) -> None:
    told = findings(HEAD + line + b"\ndisallow: /z\n")
    assert [finding.line for finding in told] == [2] * len(told)
    (finding,) = told
    assert finding.kind == kind
    assert said in finding.text


def test_character_that_the_limit_of_a_line_cuts_is_no_failure() -> None:
    for start in (b"disallow: /", b"disallow: /a"):
        told = found(HEAD + start + "\xfc".encode() * 20_000)
        assert told == [(2, "over-long"), (2, "path not escaped")]


def test_colon_that_is_none_is_named() -> None:
    typo, missing = findings(HEAD + "disallow\uff1a /x".encode())
    assert (typo.kind, missing.kind) == ("typo", "missing colon")
    assert "(with U+FF1A)" in missing.text


HOSTILE_RULES = b"".join(b"disallow: /*%s%d\n" % (b"a" * 60, n) for n in range(3_000))
LONG_RULES = b"".join(b"disallow: /*/%s/%d?sort=*&page=\n" % (b"x" * 40, n) for n in range(300))
MERGED = b"user-agent: a\nuser-agent: b\ndisallow: /x\n\nuser-agent: a\nallow: /x\n"


@pytest.mark.parametrize(
    ("body", "told", "said"),
    [
        (b"disallow: /\nuser-agent: *\ndisallow: /x", [(1, "rule before any group")], ""),
        (b"disalllow: /\nwords", [(1, "misspelt field"), (2, "ignored")], ""),
        (
            "user-agent: *\ndisallow: /\n".encode("utf-16"),
            [(1, "no robots file")],
            "; save it as UTF-8",
        ),
        (b"\0\n\0", [(1, "no robots file")], "this is no text"),
        (
            b"\x7fELF\0\0\1\2\nnothing: here\0",
            [(1, "no robots file")],
            "this is no text, not a robots.txt: 0 of",
        ),
        (
            b'{"error":"forbidden"}\n',
            [(1, "no robots file")],
            "this is JSON, not a robots.txt: 0 of its lines",
        ),
        (b"\xef\xbb\xbf [1,\n2]", [(1, "no robots file")], "this is JSON"),
        (
            b"\xfe\xff" + "user-agent: *\n".encode("utf-16-be"),
            [(1, "no robots file")],
            "; save it as UTF-8",
        ),
        (b"<head><title>x</title>\nx", [(1, "no robots file")], "a web page"),
        (b"<body>x", [(1, "no robots file")], "a web page"),
        (b"Forbidden", [(1, "no robots file")], "this is another text"),
        (
            b"# c\n\nerror: not found\nhumans: all",
            [(1, "no robots file")],
            "this is another text",
        ),
        (
            b"<!DOCTYPE html><body>\n" + b"<p>Not found</p>\n" * 500,
            [(1, "no robots file")],
            "a web page",
        ),
        (
            b"\xef\xbb\xbf\r\n <html lang=en>\n<p>x: y</p>",
            [(1, "no robots file")],
            "a web page",
        ),
        (
            b'<?xml version="1.0"?>\n<!-- a -->\n<!doctype   html>\n<a>',
            [(1, "no robots file")],
            "a web page",
        ),
        (
            b"<html><pre>\nuser-agent: *\ndisallow: /a\ndisallow: /b",
            [(1, "no robots file")],
            "not a robots.txt: 2 of",
        ),
        (
            b"user-agent: b\ndisallow: /\nuser-agent: a\n",
            [(3, "group without rules")],
            '"a" may fetch everything',
        ),
        (b"user-agent: 7\n", [(1, "no user agent")], ""),
        (
            b"user-agent: a\ncrawl-delay: 3\n\nuser-agent: b\nuser-agent: c\n# d\nuser-agent: d\ndisallow: /",
            [(4, "joined groups")],
            "in one group with line 1",
        ),
        (
            b"user-agent: a\ncrawl-delay: 9\n\nuser-agent: b\ncrawl-delay: 1\n",
            [(1, "group without rules"), (4, "group without rules")],
            "",
        ),
        (
            b"user-agent: a\nsitemap: https://a.example/s.xml\nuser-agent: b\ndisallow: /x",
            [(3, "joined groups")],
            "in one group with line 1",
        ),
        (MERGED, [(3, "shadowed rule")], 'for "a": "Allow: /x" in line 6 matches all of it'),
        (
            MERGED.replace(b"a\nallow", b"a\nuser-agent: b\nallow"),
            [(3, "shadowed rule")],
            'for "a" and others: ',
        ),
        (HEAD + b"disallow: /x\n" * 2, [(3, "duplicate rule")], "is already in line 2"),
        (HEAD + LONG_RULES + b"disallow: /y\nallow: /y", [(302, "shadowed rule")], "in line 303"),
        (HEAD + HOSTILE_RULES, [(1, "too many rules to compare")], ""),
    ],
)
def test_what_several_lines_come_to_is_found(
    body: bytes, told: list[tuple[int, str]], said: str
) -> None:
    assert found(body) == told
    assert said in findings(body)[0].text


def test_file_that_a_limit_or_the_server_cut_off_is_an_error() -> None:
    assert found(HEAD + b"disallow: /x\n" * 10, max_bytes=26) == [(2, "cut")]
    assert found(HEAD + b"disallow: /x", truncated=True) == [(2, "cut")]


STYLE_OR_SCRIPT = "style or script"
CLOSED, SHADOWED, OWN_GROUP = "whole site disallowed", "shadowed rule", "own group"
NOT_REPEATED = "preferences not repeated"
DROPS = "disallow: /cart|disallow: /admin/*|disallow: /c|disallow: /d|user-agent: "


@pytest.mark.parametrize(
    ("rules", "kind", "line"),
    [
        ("disallow: /", CLOSED, 2),
        ("disallow: *", CLOSED, 2),
        ("disallow: /*", CLOSED, 2),
        ("allow:|disallow: /", CLOSED, 3),
        ("disallow: /|user-agent: b|disallow: /", CLOSED, 2),
        ("disallow: /$", CLOSED, None),
        ("disallow: /|allow: /open/", CLOSED, None),
        ("disallow: /|user-agent: a|disallow:", CLOSED, 2),
        ("disallow: /|user-agent: gptbot|disallow: /x", CLOSED, 2),
        ("disallow: /|user-agent: bingbot|disallow: /x", CLOSED, None),
        ("disallow: /|user-agent: *|allow: /x", CLOSED, None),
        ("disallow: /x|user-agent: *", "group without rules", None),
        ("disallow: /x|user-agent: a", "group without rules", 3),
        ("allow: /|user-agent: a|disallow: /", CLOSED, None),
        ("disallow: /a|allow: /a", SHADOWED, 2),
        ("allow: /a|disallow: /a", SHADOWED, 3),
        ("disallow: /a/|allow: /a/*", SHADOWED, 2),
        ("allow: /a|disallow: /a*", SHADOWED, 2),
        ("disallow: /xab|allow: /*ab", SHADOWED, 2),
        ("disallow: /a*b$|allow: /*a*b$", SHADOWED, 2),
        ("disallow: /d/$|allow: /d/index.html", SHADOWED, 2),
        ("allow: /xab|disallow: /*ab", SHADOWED, None),
        ("disallow: /abc|allow: /a*", SHADOWED, None),
        ("disallow: /a|allow: /a/b", SHADOWED, None),
        ("disallow: /a|allow: /a*$x", SHADOWED, None),
        ("disallow: /a*$|allow: /a*b", SHADOWED, None),
        ("disallow: /a|disallow: /a*", SHADOWED, None),
        (DROPS + "Googlebot|disallow:", OWN_GROUP, None),
        (DROPS + "Googlebot|allow: /|disallow: /x", OWN_GROUP, None),
        (DROPS + "badbot|disallow: /", OWN_GROUP, None),
        (DROPS + "Googlebot|allow: /cart|allow: /admin|allow: /d|disallow: /c", OWN_GROUP, None),
        (DROPS + "AdsBot-Google|disallow: /x", OWN_GROUP, None),
        (DROPS + "*|disallow: /x", OWN_GROUP, None),
        ("disallow: /|user-agent: Googlebot|disallow: /x", OWN_GROUP, None),
        ("content-usage: train-ai=n|allow: /|user-agent: own|allow: /", NOT_REPEATED, 4),
        ("content-signal: ai-train=no|allow: /|user-agent: own|allow: /", NOT_REPEATED, 4),
    ],
)
def test_groups_and_rules_are_compared_with_each_other(
    rules: str, kind: str, line: int | None
) -> None:
    told = found(HEAD + rules.replace("|", "\n").encode())
    assert [at for at, name in told if name == kind] == ([] if line is None else [line])


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ("disallow: /css/", 2),
        ("disallow: /js/", 2),
        ("disallow: /JS", 2),
        ("disallow: /js*", 2),
        ("disallow: /static/js/", 2),
        ("disallow: /assets/css", 2),
        ("disallow: */css/*", 2),
        ("disallow: /js/vendor/", 2),
        ("disallow: /javascripts/", 2),
        ("disallow: /stylesheets/", 2),
        ("disallow: *.mjs$", 2),
        ("disallow: /*.cjs", 2),
        ("disallow: /*.js?v=", 2),
        ("disallow: /*.css*", 2),
        ("disallow: /js/|allow: /js/public/|allow: /*.css", 2),
        ("disallow: /_next/", 2),
        ("disallow: /_next/static/", 2),
        ("disallow: */_nuxt/*", 2),
        ("disallow: /WP-Includes", 2),
        ("disallow: /_next/data/", None),
        ("disallow: /wp-includes/certificates/", None),
        ("disallow: /_next/|allow: /_next/static/", None),
        ("disallow: /wp-includes/|allow: /wp-includes/js/", None),
        ("disallow: /css/|allow: /*.js", 2),
        ("disallow: /*.js?|allow: /*.js$", 2),
        ("disallow: /js/|user-agent: bingbot|allow: /js/", 2),
        ("disallow: /js/|user-agent: bingbot|disallow: /", 2),
        ("disallow: /x|user-agent: googlebot|disallow: /js/", 4),
        ("allow: /|disallow: /js/|disallow: /*.pdf$", 3),
        ("disallow: /jsonfeed/", None),
        ("disallow: /csstricks/", None),
        ("disallow: /nodejs/", None),
        ("disallow: /js-guide/", None),
        ("disallow: /js.php", None),
        ("disallow: /js$", None),
        ("disallow: /js?", None),
        ("disallow: /js/*.pdf$", None),
        ("disallow: /js/guide", None),
        ("disallow: /*.json$", None),
        ("disallow: /js/|allow: /js/", None),
        ("disallow: /js/|allow: /js/*.js$", None),
        ("disallow: /js/|allow: /*.js$", None),
        ("disallow: */js/|allow: /*/js/*.js", None),
        ("disallow: /js/vendor/|allow: /js/vendor/*.js", None),
        ("disallow: /css|allow: /css/", None),
        ("disallow: *.css$|allow: /*.css$", None),
        ("disallow: /*.mjs|allow: /*.mjs$", None),
        ("disallow: /|disallow: /js/", None),
        ("disallow: /x|user-agent: bingbot|disallow: /js/", None),
        ("disallow: /x|user-agent: googlebot|disallow: /js/|disallow: /", None),
    ],
)
def test_rules_that_block_styles_or_scripts_are_noted(rules: str, line: int | None) -> None:
    told = found(HEAD + rules.replace("|", "\n").encode())
    assert [at for at, name in told if name == STYLE_OR_SCRIPT] == ([] if line is None else [line])


@pytest.mark.parametrize("known", KNOWN_CRAWLERS, ids=lambda known: known.tokens[0])
def test_a_known_crawler_is_one_by_each_of_its_names(known: KnownCrawler) -> None:
    assert known.crawler.name == known.tokens[0]
    assert [meant_by(name) for name in known.tokens] == [[]] * len(known.tokens)


SHARED = b"user-agent: *\ndisallow: /cart\ndisallow: /admin/*\ndisallow: /c\ndisallow: /d\n"


@pytest.mark.parametrize(
    ("own", "opened"),
    [
        (b"disallow: /search", "/cart, /admin/*, /c, /d;"),
        (b"disallow: /cart\ndisallow: /admin\ndisallow: /c", "/d;"),
    ],
)
def test_a_group_of_its_own_that_drops_rules_of_all_names_what_it_opens(
    own: bytes, opened: str
) -> None:
    (finding,) = [
        each
        for each in findings(SHARED + b"user-agent: Googlebot\nuser-agent: a\n" + own)
        if each.line == 6
    ]
    assert (finding.level, finding.kind) == (NOTE, "own group")
    assert f'is not for "googlebot" and others, so this is open there: {opened}' in finding.text


def test_each_kind_has_an_id_and_a_section_of_its_page_under_its_level() -> None:
    page = (Path(__file__).parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")
    headings = re.findall(r"^##+ (.*)$", page, re.MULTILINE)
    expected = [
        [
            f"{level.capitalize()}s",
            *(kind.id for kind in KINDS.values() if kind.level == level),
        ]
        for level in LEVELS
    ]
    assert headings == [heading for level in expected for heading in level]
    assert all(re.fullmatch("[a-z0-9-]+", kind.id) for kind in KINDS.values())


def test_shadowed_rules_never_decide_any_url() -> None:
    """Random rules of two letters: no rule that is called shadowed decides about any path of up to six letters."""
    chance = random.Random(11)
    paths = [
        "/" + "".join(chance.choice("ab") for _ in range(chance.randrange(6))) for _ in range(150)
    ]
    called = 0
    for _ in range(300):
        patterns = [
            "/" + "".join(chance.choice("aabb*") for _ in range(chance.randrange(4)))
            for _ in range(6)
        ]
        rules = [
            f"{chance.choice(['allow', 'disallow'])}: {pattern}{chance.choice(['', '', '$'])}"
            for pattern in patterns
        ]
        body = "\n".join(["user-agent: *", *rules]).encode()
        shadowed = {finding.line for finding in findings(body) if finding.kind == "shadowed rule"}
        called += len(shadowed)
        robotstxt = RobotsTxt.parse(body)
        decided = {
            rule.line for path in paths if (rule := robotstxt.verdict(path, "any").rule) is not None
        }
        assert not shadowed & decided, body
    assert called > 100


def test_the_worst_comes_first() -> None:
    body = b"user-agent: *\nuser-agent: b1\nnoindex: /\ndissalow: /\nallow: x\nallow: x\nsitemap: s\nword\n"
    levels = [finding.level for finding in findings(body)]
    assert levels == sorted(levels, key=[ERROR, WARNING, NOTE].index)
    assert set(levels) == {ERROR, WARNING, NOTE}


def test_all_texts_are_printable_whatever_the_bytes() -> None:
    chance = random.Random(7)
    for _ in range(200):
        body = HEAD + bytes(chance.randrange(256) for _ in range(200)).replace(b"\0", b":")
        for finding in findings(body):
            assert finding.text.isprintable()
            assert 1 <= finding.line <= len(lines_of(RobotsTxt.parse(body)))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            b"".join(
                b"user-agent: %s\nuser-agent: b\ndisallow: /%d\n" % (b"a" * n, n)
                for n in range(900)
            ),
            id="merging",
        ),
        pytest.param(
            b"".join(b"user-agent: %s\n" % (b"a" * n) for n in range(1, 300))
            + b"disallow: /\n" * 5000
            + b"".join(b"user-agent: %s\nallow: /x\n" % (b"a" * n) for n in range(1, 300)),
            id="shared-rules",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_hostile_files_take_seconds_at_the_most(body: bytes) -> None:
    began = time.process_time()
    findings(body)
    assert time.process_time() - began < 120


def test_closed_groups_need_no_preferences_and_fields_that_count_are_notes() -> None:
    body = (
        b"user-agent: *\ncontent-signal: search=yes\nallow: /\n\nuser-agent: ccbot\ndisallow: /\n"
    )
    assert found(body) == [(2, "field of other crawlers")]
    assert found(body + b"allow: /y\n")[0] == (5, "preferences not repeated")
    assert KINDS["field of other crawlers"].level == NOTE


@pytest.mark.parametrize("field", ["\ufeffuser-agent", "user\u2011agent", "usr-agent"])
def test_site_that_a_misspelt_line_closes_to_everybody_stands_first(field: str) -> None:
    body = f"user-agent: *\ndisalow: /tmp\n{field}: badbot\ndisallow: /\nfoo".encode()
    first = findings(body)[0]
    assert (first.line, first.kind) == (4, "search engine shut out")
    assert "Googlebot, Bingbot, Applebot and 7 other crawlers" in first.text
    assert first.text.endswith("as line 3 is no user-agent line")
    own = f"user-agent: *\ndisallow: /\n{field}: badbot\ndisallow: /x".encode()
    assert [one.kind for one in findings(own)][:1] == ["misspelt field"]


def test_two_urls_in_a_sitemap_line_are_none_for_lint_and_for_a_crawl() -> None:
    body = b"sitemap: https://e.com/a.xml https://e.com/b.xml"
    assert found(body) == [(1, "bad sitemap")]
    assert RobotsTxt.parse(body).sitemaps == ()


@pytest.mark.parametrize(
    ("line", "kind", "points"),
    [("disallow:\u200b/x", "no leading slash", "U+200B"), ("a\u00a0b c d", "ignored", "U+00A0")],
)
def test_characters_that_nobody_sees_are_named(line: str, kind: str, points: str) -> None:
    first = findings(HEAD + line.encode())[0]
    assert (first.line, first.kind) == (2, kind)
    assert f"(with {points})" in first.text
