"""What `lint` finds in a robots.txt: each kind of finding, its line, and the order of findings."""

import random
import re
from pathlib import Path
from typing import Any

import pytest

from scrapy_gbot_robots import Origin, RobotsTxt
from scrapy_gbot_robots.core import lint
from scrapy_gbot_robots.core.remarks import KINDS, LEVELS, NOTE, Finding
from scrapy_gbot_robots.core.robots import lines_of
from scrapy_gbot_robots.experimental.preferences import on_preferences

from ..support.bounds import time_below
from ..support.rows import row, table

HEAD = b"user-agent: *\n"


def findings(body: bytes, **options: Any) -> list[Finding]:
    return lint.findings(body, more=on_preferences, **options)


def found(body: bytes, **options: Any) -> list[tuple[int, str]]:
    return [(finding.line, finding.kind) for finding in findings(body, **options)]


def body_of(text: str) -> bytes:
    r"""Return a text as UTF-8, with "|" for an LF. Escapes are as in Python, "\xe9" is one byte."""
    chars = text.replace("|", "\n").encode().decode("unicode_escape")
    return b"".join(char.encode("utf-8" if char > "\xff" else "latin-1") for char in chars)


def cells(line: str) -> tuple[str, ...]:
    """Return the three cells of a line, which two blanks or more part; those that lack are ""."""
    return (*re.split(r"\s{2,}", line.strip()), "", "")[:3]


def rows(table: str) -> list[tuple[str, ...]]:
    return [cells(line) for line in table.strip().splitlines()]


IN_ORDER = r"""
user-agent: Google-Agent|allow: /
user-agent: Google-Extended|user-agent: Bytespider|user-agent: Amzn-SearchBot|disallow: /
# nothing||  # but comments|
user-agent: *|disallow:|
user-agent: a|user-agent: b|# both|disallow: /x||user-agent: *|disallow: /x
user-agent: gptbot|allow: /x/y|disallow: /x|disallow: /
user-agent: googlebot-video|user-agent: somebot|disallow: /x|
sitemap: https://e.com/s.xml|
sitemap: https://e.com/i,j.xml|sitemap: https://e.com/?u=https://x,https://y
user-agent: MJ12bot|user-agent: mj12bot/1.4|disallow: /
user-agent: 360Spider|user-agent: AI2Bot|user-agent: Ai2Bot-Dolma|user-agent: img2dataset|user-agent: k2spider|disallow: /
user-agent: Googlebot/2.1 (+http://www.google.com/bot.html)|disallow: /x
user-agent: DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)|disallow: /x
user-agent: Twitterbot/1.1 (+http://www.twitter.com/#x)|disallow: /
user-agent: my-bot/3.0+b (Linux; x) (+mailto:me@my.example)|disallow: /
user-agent: LinkedInBot/1.0 (compatible; Mozilla/5.0; +http://l.example)|disallow: /
user-agent: Googlebot (+http://www.google.com/bot.html)|disallow: /x
user-agent: Baiduspider+(+http://www.baidu.com/search/spider.htm)|disallow: /x
user-agent: AhrefsBot/7.0; +http://ahrefs.com/robot/)|disallow: /
user-agent: CCBot 2.0|disallow: /
user-agent: Googlebot*|user-agent: Mediapartners-Google*|disallow: /x
user-agent: *|disallow: /x||user-agent: PetalBot|disallow: /
user-agent: allenbot|user-agent: bot|user-agent: spiderling|disallow: /
user-agent: seznambot|request-rate: 1/10s|visit-time: 0600-0845|disallow: /x
user-agent: *|disallow: /men%C3%BC # für alle|
license: https://e.com/l.xml|user-agent: *|disallow: /x
license: https://e.com/l.xml
# <html>|user-agent: *|disallow: /*.html$|
user-agent: *|disallow: /x # why|disallow: /y\t#why|disallow:#none
user-agent: baiduspider|crawl-delay: 1|user-agent: *|disallow: /x
user-agent: seznambot|request-rate: 1/10s|user-agent: *|disallow: /x
user-agent: yandex|disallow: /x|clean-param: s /|host: e.com||user-agent: *|disallow: /x
user-agent: *|disallow: /index.*|disallow: /*.js.*.gz|disallow: /.*|disallow: *.*$
user-agent: *|disallow: /a?f[a]=1|disallow: /(x)|disallow: /sky+|disallow: /a\\b
"""


LONG_NAME = "user-agent: " + "a" * 300 + "|disallow: /"


@pytest.mark.parametrize("text", ["", LONG_NAME, *IN_ORDER.strip().splitlines()])
def test_what_is_in_order_earns_no_finding(text: str) -> None:
    assert findings(body_of(text)) == []


OF_A_LINE = r"""
disallow: x    no leading slash
disallow: https://www.example.com/private/    no leading slash    without scheme and host
disallow: $    no leading slash
disallow: /a /b    space in a path
disallow: /a\t/b    space in a path
disallow: /a, /b    several paths    one rule on each line
disallow: /a,/b    several paths
disallow: /a/ ,/b/,/c/    several paths
disallow: /a%2520b/    encoded twice    "%2520" looks encoded twice
disallow: /a%252Fb/    encoded twice    "%252F"
disallow: /a%2f    escape in lower case    wget 1.21
disalllow: /x    misspelt field    did you mean "disallow"?
alow: /x    misspelt field    did you mean "allow"?
dissallow: /x    typo
disallowed: /x    typo
site-map: http://e.com/1    typo
sitemaps: http://e.com/2    typo
DisallowAITraining: /x    another field read as a rule    reads this field as the rule "Disallow: /x"
disallow /x    missing colon
crawl-delay: 3    field of other crawlers
noindex: /x    noindex    use a robots meta tag or the header X-Robots-Tag
humans: all    unknown field
xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: /x    unknown field
// robots for shop    ignored    a comment, which begins with
// robots    ignored
these are words    ignored
caf\xe9 is a word # and this a comment    ignored
disallow: /x#section    comment within a path    the rule is "Disallow: /x"
disallow: /[a-z]+/    regular expression    "[a-z]+" is matched literally
disallow: /[^0-9]?    regular expression    "[^0-9]?" is
disallow: /[A-Za-z0-9_]x    regular expression    "[A-Za-z0-9_]" is
disallow: /a(.*)    regular expression    "(.*" is
disallow: /a(.+)    regular expression    "(.+" is
disallow: /(?:ab)    regular expression    "(?:" is
disallow: /(?!ab)    regular expression    "(?!" is
disallow: /\\w    regular expression
disallow: /\\s1    regular expression
disallow: /a.+/b    regular expression    ".+" is
disallow: /a.+$    regular expression
disallow: /search\\?    regular expression
disallow: /p/\\d{8}/    regular expression
disallow: /a.*b    regular expression
disallow: /video/.*    regular expression
disallow: /p$more    dollar within a path
allow: /a/index.html    index page    also allows the directory "/a/"; other crawlers may not
disallow: /caf\xe9    not UTF-8    is matched byte by byte; save the file as UTF-8
\0disallow: /secret/    not UTF-8    the line ends at a NUL byte; save
disallow: /a\0b    not UTF-8    the line ends at a NUL byte; save
sitemap: https://e.com/\xe9    not UTF-8    each byte past ASCII is read as % and its code
user-agent: b\xf6t    name read in part    Google reads "b"
disallow: /a\ufffdb    path not escaped    /a%EF%BF%BDb
disallow: /menü    path not escaped    /men%C3%BC
sitemap: /sitemap.xml    bad sitemap
sitemap: https://a.example/1\thttps://a.example/2    bad sitemap    not one
sitemap: https://e.com/a.xml https://e.com/b.xml    bad sitemap    not one
sitemap: https://a.example/1,https://a.example/2    bad sitemap    not one
Sitemap https://a.example/1    bad sitemap    URL: //a.example/1, because there is no colon after "Sitemap"
sitemap\tftp://a.example/1    bad sitemap    there is no colon after "sitemap"
license: /l.xml    bad license
llm-policy: x    unknown field
user-agent: bot2000    name read in part    in "bot2000", Google reads "bot", because a name ends
user-agent: Foo Bar    name read in part    reads "foo", because a name ends before the first character that is not a letter, "-"
user-agent: Mail.RU_Bot    name read in part    in "Mail.RU_Bot", Google reads "mail"
user-agent: 008    name read in part    in "008", Google reads no name, because a name ends
user-agent: 200PleaseBot    name read in part    Google reads no name
user-agent: Spinn3r    name read in part    Google reads "spinn"
user-agent: Sogou web spider    name read in part    Google reads "sogou"
user-agent: archive.org_bot    name read in part    Google reads "archive"
user-agent: panscient.com    name read in part    Google reads "panscient"
user-agent: Crawl4AI    name read in part    the crawler itself may read the whole name
user-agent: KIT-Fireball/2.0 libwww/5.0a    name read in part    "kit-fireball"
user-agent: TurnitinBot*    name read in part    "turnitinbot"
user-agent: Yahoo! Slurp    user agent cut    this is for "yahoo", not for "Yahoo! Slurp"; write a line for "Slurp" alone
user-agent: AhrefsBot,SlySearch    user agent cut    this is for "ahrefsbot"
user-agent: SlySearch,AhrefsBot    user agent cut    write a line for "AhrefsBot" alone
user-agent: Google Extended    user agent cut    ; did you mean Google-Extended?
user-agent: Yandex Bot    user agent cut    ; did you mean YandexBot?
user-agent: Bingbot Mobile    user agent cut    this is for "bingbot"
user-agent: * x    user agent cut    this is for "*"
user-agent: undefined    value that a program lacked    a program wrote "undefined" instead of a name
user-agent: null    value that a program lacked
user-agent: None    value that a program lacked
user-agent: NaN    value that a program lacked
user-agent: [object Object]    value that a program lacked
user-agent: ${name}    value that a program lacked
user-agent: {{ crawler }}    value that a program lacked
user-agent: GPTBot CCBot    user agent cut    ; write one user-agent line for each name
user-agent: GPTBot; CCBot    user agent cut    ; write one user-agent line for each name
user-agent: GPTBot\x7cCCBot    user agent cut    ; write one user-agent line for each name
user-agent: GPTBot, 7    user agent cut    , because a name ends before the first character that is not a letter, "-"
user-agent: bot (a, b)    name read in part    , because a name ends before the first character that is not a letter, "-"
user-agent: Google*    name read in part    , because a name ends before
user-agent: Googlebot*, x    user agent cut    this is for "googlebot"
user-agent: * Allow: / Sitemap: /s    user agent cut    ; write one directive a line
user-agent: *<br>Disallow: /a<br>    no user agent    ; write one directive a line
user-agent: *bot    no user agent
user-agent:    no user agent
user-agent: GPT-Bot    name of no crawler    ; did you mean GPTBot?
user-agent: Google    name of no crawler    Googlebot or Googlebot-Image or Googlebot-News or Storebot-Google or Google-Ext
user-agent: ChatGPT    name of no crawler    ; did you mean ChatGPT-User?
user-agent: claude    name of no crawler    mean Claude-SearchBot or ClaudeBot or Claude-User?
user-agent: Bing    name of no crawler    ; did you mean Bingbot?
user-agent: Googlebot_News    name of no crawler    ; did you mean Googlebot-News?
crawl-delay: 10s    unused field    its value is not a number of seconds
request-rate: 1/5    field of other crawlers    "request-rate"; other crawlers use it
request-rate: 500/1d 0800-1900    field of other crawlers
visit-time: 0600-0845    field of other crawlers
host:    unused field    it is empty
revisit-after: 7    unused field    ignores the field "revisit-after"
user-agent: all    name of no crawler    only a crawler "all" follows this group; write "*" for all
user-agent: Any    name of no crawler    "*" for all
user-agent: everyone    name of no crawler    "*" for all
user-agent: All-Robots    name of no crawler    "*" for all
user-agent: bots    name of no crawler    "*" for all
user-agent: crawler    name of no crawler    "*" for all
user-agent: all bots    user agent cut    "*" for all
disallow: /assets/*.JS$    style or script    "Disallow: /assets/*.JS$" keeps
user-agent: Mozilla/5.0 (compatible; bingbot/2.0; +http://b.example)    user agent cut    User-Agent header, "bingbot"
user-agent: Mozilla/5.0 (X11; Linux x86_64)    name read in part    Google reads "mozilla", because a name ends
user-agent: Mozilla/4.0 (compatible; BullsEye; Windows 95)    name read in part    write only the name in the User-Agent header, "BullsEye"
user-agent: DoCoMo/2.0 (compatible; Googlebot/2.1)    user agent cut    write only the name in the User-Agent header, "Googlebot"
user-agent: Googlebot (+http://x), CCBot    user agent cut    write a line for "CCBot" alone
us\u0435r-agent: x    misspelt field    (with U+0435), so the line is ignored
user-agent: GPTB\u043et    user agent cut    (with U+043E), because a name ends
disallow: /admin/<br>    odd character in a path    (<br>); no URL
disallow: /\u0430dmin/    odd character in a path    (with U+0430); no URL
disallow: /admi\u03bd    odd character in a path    (with U+03BD); no URL
disallow: /tmp\u200b/    odd character in a path    (with U+200B); no URL
disallow: /tmp\u200d/    odd character in a path    (with U+200D); no URL
disallow: /tmp\xc2\xa0    odd character in a path    (with U+00A0); no URL
disallow: /a\u2215\uff0fb    odd character in a path    (with U+2215, U+FF0F)
disallow: \u201c/x\u201d    no leading slash    (with U+201C, U+201D)
disallow:\u200b/x    no leading slash    (with U+200B)
a\u200bb c d    ignored    (with U+200B)
disallow: /\u043a\u0430-a/    path not escaped    /%D0%BA%D0%B0-a/
disallow: /\u0645\u06cc\u200c\u062e    path not escaped    %E2%80%8C
user-agent:\u2003*    no user agent    (with U+2003) names no user agent
content-usage: train-ai=n, x=1    field of other crawlers
content-usage: /a search=y    field of other crawlers
content-usage: /x    field of other crawlers
content-signal: ai-train=no, search=yes, use=full    field of other crawlers
content-signal:    unused field
content-usage: train-ai=yes    preference that says nothing    train-ai=y|n, search=y|n
content-usage: Train-AI=n    preference that says nothing    write keys in lower case
content-usage: /x train-ai=n,    preference that says nothing    (RFC 9651, 3.2), so no preference is known for its path
content-usage: *.pdf train-ai=n    preference that says nothing    a path begins with "/", but "*.pdf" does not
content-usage: https://e.com/x train-ai=n    preference that says nothing    but "https://e.com/x" does not
content-usage: train-ai=n search=y    preference that says nothing    not a dictionary
content-usage train-ai=n    preference that says nothing    no colon after Content-Usage
Content-Signals: ai-train=no    unknown field    unknown field "Content-Signals"; did you mean "Content-Signal"?
Licence: https://e.com/l.xml    unknown field    ; did you mean "License"?
Content Usage: train-ai=n    unknown field    ; did you mean "Content-Usage"?
crawldelay: 3    unknown field    ; did you mean "Crawl-delay"?
user-agent: __usage_ai-training    policy token    this version does not act on it
content-signal: ai-train=n    preference that says nothing    ai-train=yes|no, search=yes|no
content-signal: search=yes, Train-AI=no    preference that says nothing    "train-ai" has no effect here; the labels of Content-Signal are ai-train=yes|no
content-usage: search=y, ai-input=n    preference that says nothing    "ai-input" has no effect here; the labels of Content-Usage are train-ai=y|n
content-usage: /x tdm=n    preference that says nothing    "tdm" has no effect here
content-signal: ai=no    preference that says nothing    "ai" has no effect here
content-signal: /x ai-train=no    preference that says nothing    "/x ai-train" has no effect here
content-signal: use=all    preference that says nothing    use=immediate|reference|full
"""


@pytest.mark.parametrize(("line", "kind", "said"), rows(OF_A_LINE))
def test_a_line_earns_its_finding_which_says_what_to_do(line: str, kind: str, said: str) -> None:
    (finding,) = findings(HEAD + body_of(line) + b"\ndisallow: /z\n")
    assert (finding.line, finding.kind) == (2, kind)
    assert said in finding.text


def test_over_long_line_is_told_and_a_character_that_its_limit_cuts_is_no_failure() -> None:
    told = found(HEAD + b"disallow: /" + b"a" * 20_000)
    assert told == [(2, "over-long"), (2, "long group")]
    for start in (b"disallow: /", b"disallow: /a"):
        told = found(HEAD + start + "\xfc".encode() * 20_000)
        assert told == [(2, "over-long"), (2, "path not escaped"), (2, "long group")]


def test_colon_that_is_none_is_named() -> None:
    typo, missing = findings(HEAD + "disallow\uff1a /x".encode())
    assert (typo.kind, missing.kind) == ("typo", "missing colon")
    assert "(with U+FF1A)" in missing.text


OF_SEVERAL = r"""
user-agent: a|disallow: /|user-agent: Google-Agent|disallow: /|user-agent: ChatGPT-User|disallow: /x    3 crawler that may ignore it    as their operators state: Google-Agent, ChatGPT-User
user-agent: google-geminiNotebook|disallow: /    1 crawler that may ignore it    Google-GeminiNotebook
user-agent: FeedFetcher-Google|disallow: /    1 crawler that may ignore it    FeedFetcher-Google
content-usage: train-ai=n|user-agent: *|allow: /    1 rule before any group    a Content-Usage line before the first user-agent line is ignored
content-signal: ai-train=no|user-agent: *|allow: /    1 field of other crawlers
user-agent: *|content-signal: ai-train=no|allow: /||user-agent: __usage_ai-training|disallow: /|allow: /open/    5 policy token, 2 field of other crawlers    "__usage_ai-training" is a policy token
user-agent: *|disallow: /x|user-agent: __usage_ai-training|disallow: /y    3 policy token    of 2026-10-30
user-agent: GPTBot|content-usage: train-ai=y||user-agent: *|content-usage: train-ai=n|allow: /    4 joined groups, 5 field of other crawlers
disallow: /|user-agent: *|disallow: /x    1 rule before any group    is ignored
disalllow: /|words    1 misspelt field, 2 ignored    did you mean
\xff\xfeu\0s\0e\0r\0:\0*\0    1 no robots file    this is UTF-16 or UTF-32 (
\0u\0s\0e\0r\0:\0*    1 no robots file    this is UTF-16 or UTF-32 (
u\0s\0e\0r\0:\0*\0    1 no robots file    this is UTF-16 or UTF-32 (
\0\0\0u\0\0\0s    1 no robots file    this is UTF-16 or UTF-32 (
\0\0\xfe\xff\0\0\0u    1 no robots file    this is UTF-16 or UTF-32 (
u\0\0\0s\0\0\0    1 no robots file    this is UTF-16 or UTF-32 (
\0\0\0\0    1 no robots file    this is another text
\0disallow: /    1 no robots file    this is another text
\xfe\xff\0u\0s\0e\0r\0:\0*    1 no robots file    ; save it as UTF-8
\x7fELF\0\0\1\2|nothing: here\0    1 no robots file    this is another text, not a robots.txt; crawlers find no rule in it
{"error":"forbidden"}|    1 no robots file    another text, not a robots.txt; crawlers find no rule in it
{"User-agent": "*",|"Disallow": "/"}    1 no robots file    this is another text
\xef\xbb\xbf [1,|2]    1 no robots file    this is another text
<head><title>x</title>|x    1 web page    a web page
<body>x    1 web page    let the server answer 404
<html><pre>User-agent: *<br>Disallow : /</pre>    1 no robots file    a web page
<html><pre>disallow|</pre>    1 web page    a web page
<html>|user-agent: *    1 no robots file    crawlers find no rule in it
<html>|sitemap: https://a.example/s.xml    1 no robots file    crawlers find no rule in it
Forbidden    1 no robots file    this is another text
# c||error: not found|humans: all    1 no robots file    this is another text
\xef\xbb\xbf\r| <html lang=en>|<p>x: y</p>    1 web page    a web page
<?xml version="1.0"?>|<!-- a -->|<!doctype\thtml>|<a>    1 web page    a web page
<html><pre>|user-agent: *|disallow: /a|disallow: /b    1 no robots file    but crawlers obey 2 rules in it
user-agent: b|disallow: /|user-agent: a|    3 group without rules    "a" may fetch everything
user-agent: *7|    1 no user agent    "*7" names
user-agent: *|disallow: /b|user-agent: MJ12bot|disallow: /x    3 own group    do not apply to MJ12bot, which
user-agent: MJ12bot|    1 group without rules    no rules follow, so "MJ12bot" may
user-agent: a|crawl-delay: 3||user-agent: b|user-agent: c|# d|user-agent: d|disallow: /    4 joined groups    all have
user-agent: a|sitemap: https://a.example/s.xml|user-agent: b|disallow: /x    3 joined groups    no rule stands
user-agent: a|crawl-delay: 9||user-agent: b|crawl-delay: 1    1 group without rules, 4 group without rules    "a" may
user-agent: a|user-agent: b|disallow: /x||user-agent: a|allow: /x|    3 shadowed rule, 5 group in parts    for a, because "Allow: /x" in line 6 matches
user-agent: a|user-agent: b|disallow: /x||user-agent: a|user-agent: b|allow: /x    3 shadowed rule, 5 group in parts    for a, b, because "
user-agent: *|disallow: /x|disallow: /x    3 duplicate rule    is already in line 2
user-agent: *|allow: /ads.txt|disallow: /    3 home page disallowed    Bingbot, Googlebot may not fetch the home page: "Disallow: /" disallows it
"""
MANY_RULES = b"".join(b"disallow: /*/%s/%d?sort=*&page=\n" % (b"x" * 40, n) for n in range(300))


@pytest.mark.parametrize(("text", "kinds", "said"), rows(OF_SEVERAL))
def test_what_several_lines_come_to_is_found(text: str, kinds: str, said: str) -> None:
    told = findings(body_of(text))
    assert ", ".join(f"{one.line} {one.kind}" for one in told) == kinds
    assert said in told[0].text


def test_many_rules_are_compared_but_no_hostile_number_of_them() -> None:
    told = found(HEAD + MANY_RULES + b"disallow: /y\nallow: /y")
    assert told == [(302, "shadowed rule"), (70, "long group")]
    hostile = b"".join(b"disallow: /*%s%d\n" % (b"a" * 60, n) for n in range(3_000))
    assert found(HEAD + hostile * 2) == [(65, "long group")]


def test_file_that_a_limit_or_the_server_cut_off_is_an_error() -> None:
    assert found(HEAD + b"disallow: /x\n" * 10, max_bytes=26) == [(2, "cut")]
    assert found(HEAD + b"disallow: /x", cut=True) == [(2, "cut")]


# The lines after "user-agent: *", a kind of finding, and the line that such a finding is about.
COMPARED = r"""
disallow: /x|noindex: /x    noindex of a disallowed path    3
noindex: /x/y|disallow: /x    noindex of a disallowed path    2
user-agent: *|disallow: /*.js|user-agent: a|noindex: /x|disallow: /    noindex of a disallowed path    5
disallow: /x|noindex: /x    noindex
disallow: /x/|noindex: /x    noindex    3
disallow: /x|allow: /x/y|noindex: /x/y    noindex    4
disallow: /x|noindex:    noindex    3
disallow: /x|noindex: /y|noindex: /x    noindex    3
disallow: /y|user-agent: a|disallow: /x|noindex: /y    noindex    5
disallow: /a%25    encoded twice
disallow: /a%25zz    encoded twice
disallow: /a?b=c,/d    several paths
disallow: /a,b/    several paths
disallow: /*?sort=    first parameter    2
disallow: /a|disallow: *?sort=up*    first parameter    3
disallow: /a|allow: /*?sort=up    first parameter    3
disallow: /*?sort=|disallow: /*&sort=    first parameter
disallow: /*?sort=|disallow: /*sort=    first parameter
disallow: /*?utm_    first parameter    2
disallow: /*?utm_*    first parameter    2
disallow: /*?print    first parameter    2
disallow: /*?utm_|disallow: /*?print    first parameter    2
disallow: /*?utm_|disallow: /*&utm_    first parameter
disallow: /*?print|disallow: /*&print=    first parameter
disallow: /*?    first parameter
disallow: /*?*    first parameter
disallow: /a?print    first parameter
disallow: /*?*sort=    first parameter
disallow: /search?q=    first parameter
disallow: /*?sort=|user-agent: a|disallow: /*&sort=    first parameter    2
disallow: /x|sitemap: http://localhost/sitemap.xml    sitemap on no public host    3
disallow: /x|sitemap: http://dev.localhost:3000/sitemap.xml    sitemap on no public host    3
disallow: /x|sitemap: http://127.0.0.1:22500/sitemap.xml    sitemap on no public host    3
disallow: /x|sitemap: http://[::1]/sitemap.xml    sitemap on no public host    3
disallow: /x|sitemap: http://example.com/sitemap.xml    sitemap on no public host    3
disallow: /x|sitemap: https://www.example.org/sitemap.xml    sitemap on no public host    3
disallow: /x|sitemap: https://undefined/sitemap.xml    sitemap on no public host    3
disallow: /x|sitemap: https://www.your-domain.com/sitemap.xml    sitemap on no public host    3
disallow: /x|sitemap: https://YOURDOMAIN.com/sitemap.xml    sitemap on no public host    3
disallow: /x|sitemap: https://myexample.com/sitemap.xml    sitemap on no public host
disallow: /x|sitemap: https://localhosting.com/sitemap.xml    sitemap on no public host
disallow: /x|sitemap: https://1.127.0.1/sitemap.xml    sitemap on no public host
disallow: /m|sitemap: https://e.com/m.xml    sitemap disallowed    3
sitemap: https://e.com/m.xml|disallow: /*.xml$    sitemap disallowed    2
disallow: /m|sitemap: https://e.com/m.xml|sitemap: https://e.com/m/2.xml    sitemap disallowed    3
disallow: /m|allow: /m.xml|sitemap: https://e.com/m.xml    sitemap disallowed
disallow: /m|sitemap: https://e.com/m.xml|sitemap: https://cdn.e.com/s.xml    sitemap disallowed
disallow: /|sitemap: https://e.com/m.xml    sitemap disallowed
disallow: /|sitemap: https://e.com/m.xml|user-agent: bingbot|disallow: /m    sitemap disallowed    3
disallow: /m|user-agent: googlebot|disallow: /x|sitemap: https://e.com/m.xml    sitemap disallowed    5
disallow: /x|user-agent: baiduspider|disallow: /m|sitemap: https://e.com/m.xml    sitemap disallowed
disallow: /    whole site disallowed    2
disallow: *    whole site disallowed    2
disallow: /*    whole site disallowed    2
allow:|disallow: /    whole site disallowed    3
disallow: /|user-agent: b|disallow: /    whole site disallowed    2
disallow: /|user-agent: a|disallow:    whole site disallowed    2
disallow: /|user-agent: gptbot|disallow: /x    whole site disallowed    2
disallow: /*|allow: /    whole site disallowed    2
disallow: /|disallow: /*|allow: /    whole site disallowed    3
disallow: /|allow: products/|allow: $    whole site disallowed    2
disallow: /|allow: /robots.txt    whole site disallowed    2
disallow: /|allow: /robots.txt$    whole site disallowed    2
disallow: /*|disallow: /|allow: /|allow: /ads.txt    whole site disallowed
disallow: /*|allow: /|user-agent: bingbot|disallow: /*|allow: /*    whole site disallowed
disallow: /*|allow: /$    whole site disallowed
disallow: /|allow: /$    only the home page allowed    2
allow: /$|disallow: /*|allow: /robots.txt    only the home page allowed    3
disallow: /|allow: /$|user-agent: *|disallow: /x    only the home page allowed    2
disallow: /|allow: /$|allow: /x    only the home page allowed
disallow: /|allow: /    only the home page allowed
disallow: /|allow: /$|user-agent: googlebot|disallow: /x    only the home page allowed
disallow: /    only the home page allowed
disallow: /wp-admin/|allow: /wp-admin/admin-ajax.php|disallow: /    home page disallowed    4
disallow: /|allow: /humans.txt|allow: /ads.txt    home page disallowed    2
disallow: /|user-agent: bingbot|disallow: /cart/    home page disallowed    2
disallow: /cart/|user-agent: bingbot|disallow: /x|user-agent: *|disallow: /    home page disallowed    6
disallow: /|user-agent: mojeekbot|disallow:    home page disallowed    2
disallow: /|user-agent: googlebot|disallow: /cart/    home page disallowed    2
disallow: /|user-agent: googlebot|disallow:|user-agent: msnbot|disallow: /    home page disallowed    2
disallow: /|user-agent: googlebot|disallow: /|allow: /x    home page disallowed    24
disallow: /x|user-agent: bingbot|disallow: /|allow: /x    home page disallowed    4
sitemap: https://e.com/s.xml|user-agent: b|disallow: /|user-agent: googlebot|disallow: /    home page disallowed    6
disallow: /$    home page disallowed    2
disallow: /    home page disallowed
disallow: /$|disallow: /    home page disallowed
disallow: /|user-agent: googlebot|disallow: /    home page disallowed
disallow: /x|user-agent: googlebot|disallow: /    home page disallowed
disallow: /x|user-agent: bingbot|sitemap: https://e.com/s.xml|user-agent: b|disallow: /    home page disallowed
disallow: /x|user-agent: duckduckbot|disallow: /    home page disallowed
disallow: /|user-agent: googlebot|user-agent: bingbot|disallow: /x    home page disallowed
disallow: /|user-agent: googlebot|disallow:|user-agent: msnbot|disallow: /x    home page disallowed
disallow: /x|user-agent: msnbot|disallow: /    home page disallowed
disallow: /|allow: /    home page disallowed
disallow: /|allow: /$    home page disallowed
disallow: /|allow: /index.html    home page disallowed
disallow: /$    whole site disallowed
disallow: /|allow: /open/    whole site disallowed
disallow: /|user-agent: bingbot|disallow: /x    whole site disallowed
disallow: /|user-agent: *|allow: /x    whole site disallowed
allow: /|user-agent: a|disallow: /    whole site disallowed
disallow: /x|user-agent: a    group without rules    3
disallow: /x|user-agent: *    group without rules
disallow: /a|allow: /a    shadowed rule    2
allow: /a|disallow: /a    shadowed rule    3
disallow: /a/|allow: /a/*    shadowed rule    2
allow: /a|disallow: /a*    shadowed rule    2
disallow: /xab|allow: /*ab    shadowed rule    2
disallow: /a*b$|allow: /*a*b$    shadowed rule    2
disallow: /d/$|allow: /d/index.html    shadowed rule    2
allow: /xab|disallow: /*ab    shadowed rule
disallow: /abc|allow: /a*    shadowed rule
disallow: /a|allow: /a/b    shadowed rule
disallow: /a|allow: /a*$x    shadowed rule
disallow: /a*$|allow: /a*b    shadowed rule
disallow: /a|disallow: /a*    shadowed rule
disallow: /a|disallow: /b|user-agent: Googlebot|disallow: /b    own group    4
disallow: /a|disallow: /b|user-agent: AdsBot-Google|disallow: /x    own group    4
disallow: /a|disallow: /b|user-agent: Googlebot|disallow:    own group
disallow: /a|disallow: /b|user-agent: Googlebot|allow: /|disallow: /x    own group
disallow: /a|disallow: /b|user-agent: badbot|disallow: /    own group
disallow: /a|disallow: /b|user-agent: Googlebot|allow: /a|disallow: /b    own group
disallow: /a|disallow: /b|user-agent: *|disallow: /x    own group
disallow: /|user-agent: Googlebot|disallow: /x    own group
content-usage: train-ai=n|allow: /|user-agent: own|allow: /    preferences not repeated    4
content-signal: ai-train=no|allow: /|user-agent: own|allow: /    preferences not repeated    4
content-signal: ai-train=no|allow: /|user-agent: own|disallow: /    preferences not repeated
disallow: /css/    style or script    2
disallow: /js/    style or script    2
disallow: /JS    style or script    2
disallow: /js*    style or script    2
disallow: /static/js/    style or script    2
disallow: /assets/css    style or script    2
disallow: */css/*    style or script    2
disallow: /js/vendor/    style or script    2
disallow: /javascripts/    style or script    2
disallow: /stylesheets/    style or script    2
disallow: *.mjs$    style or script    2
disallow: /*.cjs    style or script    2
disallow: /*.js?v=    style or script    2
disallow: /*.css*    style or script    2
disallow: /_next/    style or script    2
disallow: /_next/static/    style or script    2
disallow: */_nuxt/*    style or script    2
disallow: /WP-Includes    style or script    2
disallow: /wp-content/    style or script    2
disallow: /wp-content/themes/    style or script    2
disallow: /wp-content/plugins/    style or script    2
disallow: /js/|allow: /js/public/|allow: /*.css    style or script    2
disallow: /css/|allow: /*.js    style or script    2
disallow: /*.js?|allow: /*.js$    style or script    2
disallow: /js/|user-agent: bingbot|allow: /js/    style or script    2
disallow: /js/|user-agent: bingbot|disallow: /    style or script    2
disallow: /x|user-agent: googlebot|disallow: /js/    style or script    4
allow: /|disallow: /js/|disallow: /*.pdf$    style or script    3
disallow: /_next/data/    style or script
disallow: /wp-includes/certificates/    style or script
disallow: /_next/|allow: /_next/static/    style or script
disallow: /wp-includes/|allow: /wp-includes/js/    style or script
disallow: /wp-content/|allow: /wp-content/themes/    style or script
disallow: /wp-content/uploads/    style or script
disallow: /jsonfeed/    style or script
disallow: /csstricks/    style or script
disallow: /nodejs/    style or script
disallow: /js-guide/    style or script
disallow: /js.php    style or script
disallow: /js$    style or script
disallow: /js?    style or script
disallow: /js/*.pdf$    style or script
disallow: /js/guide    style or script
disallow: /*.json$    style or script
allow: /js/    style or script
disallow: /js/|allow: /js/    style or script
disallow: /js/|allow: /js/*.js$    style or script
disallow: /js/|allow: /*.js$    style or script
disallow: */js/|allow: /*/js/*.js    style or script
disallow: /js/vendor/|allow: /js/vendor/*.js    style or script
disallow: /css|allow: /css/    style or script
disallow: *.css$|allow: /*.css$    style or script
disallow: /*.mjs|allow: /*.mjs$    style or script
disallow: /|disallow: /js/    style or script
disallow: /x|user-agent: bingbot|disallow: /js/    style or script
disallow: /x|user-agent: googlebot|disallow: /js/|disallow: /    style or script
"""


@pytest.mark.parametrize(("text", "kind", "line"), rows(COMPARED))
def test_groups_and_rules_are_compared_with_each_other(text: str, kind: str, line: str) -> None:
    assert kind in KINDS
    told = found(HEAD + body_of(text))
    assert "".join(str(at) for at, name in told if name == kind) == line


def test_a_group_of_its_own_that_drops_rules_of_all_names_what_it_opens() -> None:
    shared = "disallow: /cart|disallow: /admin/*|disallow: /c|disallow: /d|"
    own = "user-agent: Googlebot|user-agent: a|disallow: /cart|disallow: /admin"
    (finding,) = findings(HEAD + body_of(shared + own))
    assert (finding.level, finding.kind, finding.line) == (NOTE, "own group", 6)
    assert "do not apply to googlebot, a, which may fetch /c, /d;" in finding.text


def test_each_kind_has_an_id_and_a_section_of_its_page_under_its_level() -> None:
    page = (Path(__file__).parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")
    headings = re.findall(r"^##+ (.*)$", page, re.MULTILINE)
    expected = []
    for level in LEVELS:
        expected += [f"{level.capitalize()}s"]
        expected += [kind.id for kind in KINDS.values() if kind.level == level]
    assert headings == [*expected, "What other parsers read otherwise"]
    assert all(re.fullmatch("[a-z0-9-]+", kind.id) for kind in KINDS.values())


def test_shadowed_rules_never_decide_any_url() -> None:
    """Random rules of two letters: no rule that is called shadowed decides about any path of up to six letters."""
    chance = random.Random(11)
    paths = ["/" + "".join(chance.choices("ab", k=chance.randrange(6))) for _ in range(150)]
    called = 0
    for _ in range(300):
        rules = []
        for _ in range(6):
            pattern = "".join(chance.choices("aabb*", k=chance.randrange(4)))
            end = chance.choice(["", "", "$"])
            rules.append(f"{chance.choice(['allow', 'disallow'])}: /{pattern}{end}")
        body = "\n".join(["user-agent: *", *rules]).encode()
        shadowed = {finding.line for finding in findings(body) if finding.kind == "shadowed rule"}
        called += len(shadowed)
        robotstxt = RobotsTxt.parse(body)
        deciding = [robotstxt.verdict(path, "any").rule for path in paths]
        assert not shadowed & {rule.line for rule in deciding if rule is not None}, body
    assert called > 100


def test_all_texts_are_printable_whatever_the_bytes() -> None:
    chance = random.Random(7)
    for _ in range(200):
        body = HEAD + chance.randbytes(200).replace(b"\0", b":")
        for finding in findings(body):
            assert finding.text.isprintable()
            assert 1 <= finding.line <= len(lines_of(RobotsTxt.parse(body)))


AGENTS = [b"user-agent: %s\n" % (b"a" * n) for n in range(1, 900)]
MERGED = [
    b"%suser-agent: b\ndisallow: /%d\n" % (user_agent, len(user_agent)) for user_agent in AGENTS
]


@table(
    "body",
    row("merging", b"".join(MERGED)),
    row("noindex", HEAD + b"disallow: /*a*b*c\nnoindex: /abab\n" * 14_000),
    row(
        "forbidden-sitemaps",
        HEAD + b"disallow: /*a*b*c*d*e\n" * 9_000 + b"sitemap: http://e.com/abcdabcd\n" * 9_000,
    ),
    row("preferences-that-say-nothing", HEAD + b"content-usage: X\n" * 29_000),
    row(
        "shared-rules",
        b"%bdisallow: /\n%b" % (b"".join(AGENTS[:300]), b"disallow: /\n" * 5000)
        + b"".join(b"%ballow: /x\n" % user_agent for user_agent in AGENTS[:300]),
    ),
)
@pytest.mark.slow
def test_hostile_files_take_seconds_at_the_most(body: bytes) -> None:
    with time_below(120):
        findings(body)


def test_a_sitemap_is_judged_by_the_rules_of_the_site_that_the_file_came_from() -> None:
    body = HEAD + b"disallow: /m\nsitemap: https://cdn.e.com/m.xml\nsitemap: http://e.com/m.xml"
    (finding,) = findings(body, site=Origin.of("https://e.com/"))
    assert (finding.line, finding.kind) == (4, "sitemap disallowed")
    expected = '*, Bingbot, Googlebot may not fetch this sitemap, because "Disallow: /m" in line 2 disallows it'
    assert finding.text == expected
    (other,) = findings(HEAD + b"disallow: /m\nsitemap: https://e.com/m.xml")
    assert other.text == f"{expected}, if this is the robots.txt of e.com"
    own = HEAD + b"disallow: /m\nsitemap: http://localhost:8000/s.xml"
    assert findings(own, site=Origin.of("http://localhost:8000/")) == []
    assert found(own, site=Origin.of("http://e.com")) == [(3, "sitemap on no public host")]


@pytest.mark.parametrize("field", ["\ufeffuser-agent", "user\u2011agent", "usr-agent"])
def test_site_that_a_misspelt_line_closes_to_everybody_stands_first(field: str) -> None:
    body = f"user-agent: *\ndisalow: /tmp\n{field}: badbot\ndisallow: /\nfoo".encode()
    first = findings(body)[0]
    assert (first.line, first.kind) == (4, "search engine shut out")
    assert first.text.startswith("Googlebot, Bingbot, Applebot, DuckDuckBot, ")
    assert first.text.endswith("because line 3 is not a user-agent line")
    own = f"user-agent: *\ndisallow: /\n{field}: badbot\ndisallow: /x".encode()
    assert [one.kind for one in findings(own)][:1] == ["misspelt field"]


def test_noindex_lines_are_compared_with_rules_within_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = b"user-agent: *\ndisallow: /a\nnoindex: /a/b\n"
    kinds = [finding.kind for finding in lint.findings(body)]
    assert kinds == ["noindex of a disallowed path"]
    monkeypatch.setattr(lint, "_MOST_WORK", 0)
    assert [finding.kind for finding in lint.findings(body)] == ["noindex"]
