"""Which crawler a User-Agent header names, and what it heeds by Google's lists; browsers, look-alikes, hostile text."""

from typing import Any

import pytest

from scrapy_gbot_robots import RobotsTxt, UserAgent
from scrapy_gbot_robots.core.crawlers import cut_token, is_browser_like, product_token
from scrapy_gbot_robots.core.lines import MAX_LINE_BYTES

from ..support.examples import CHROME, GOOGLEBOT_SMARTPHONE
from ..support.rows import row, table

IGNORE_ROBOTS = """
    Google-Safety googleweblight GoogleMessages Google-GeminiNotebook Google-NotebookLM Google-Pinpoint google-speakr
"""


# The tokens stand in fall-back order.
@table(
    "user_agent, tokens, heeds_global",
    row("S11-googlebot", "Googlebot", ("Googlebot",), True),
    row("S11-googlebot-header", GOOGLEBOT_SMARTPHONE, ("Googlebot",), True),
    row("S11-image", "Googlebot-Image/1.0", ("Googlebot-Image", "Googlebot"), True),
    row("S11-image-lower-case", "googlebot-image", ("Googlebot-Image", "Googlebot"), True),
    row("S11-images-sic", "googlebot-images", ("Googlebot-Image", "Googlebot"), True),
    row("S11-video", "Googlebot-Video/1.0", ("Googlebot-Video", "Googlebot"), True),
    row("S11-news", "Googlebot-News", ("Googlebot-News", "Googlebot"), True),
    row("S11-storebot", "Storebot-Google/1.0", ("Storebot-Google",), True),
    row("S11-inspection", "Google-InspectionTool/1.0", ("Google-InspectionTool", "Googlebot"), True),
    row("S11-other", "GoogleOther", ("GoogleOther",), True),
    row("S11-other-image", "GoogleOther-Image/1.0", ("GoogleOther-Image", "GoogleOther"), True),
    row("S11-other-video", "GoogleOther-Video/1.0", ("GoogleOther-Video", "GoogleOther"), True),
    row("S11-vertex", "Google-CloudVertexBot", ("Google-CloudVertexBot", "Googlebot"), True),
    row("S11-extended", "Google-Extended", ("Google-Extended",), True),
    row("S11-apis", "APIs-Google", ("APIs-Google",), False),
    row("S11-adsbot-mobile", "AdsBot-Google-Mobile", ("AdsBot-Google-Mobile",), False),
    row("S11-adsbot", "AdsBot-Google (+http://www.google.com/adsbot.html)", ("AdsBot-Google",), False),
    row("S11-mediapartners", "Mediapartners-Google", ("Mediapartners-Google",), False),
    row("S11-mobile-apps", "AdsBot-Google-Mobile-Apps", ("AdsBot-Google-Mobile-Apps", "AdsBot-Google"), False),
    row("S11-duplex", "DuplexWeb-Google/1.0", ("DuplexWeb-Google",), True),
    row("S11-favicon", "Google Favicon", ("Googlebot-Image", "Googlebot"), True),
    row("S11-favicon-header", f"{CHROME} Google Favicon", ("Googlebot-Image", "Googlebot"), True),
    row("S11-cws", "Mozilla/5.0 (compatible; Google-CWS)", (), False),
    row("S11-feedfetcher", "FeedFetcher-Google; (+http://www.google.com/feedfetcher.html)", (), False),
    row("S11-agent", f"{CHROME} (compatible; Google-Agent; +https://x)", (), False),
    row("S11-producer", "GoogleProducer; (+http://goo.gl/7y4SX)", (), False),
    row("S11-read-aloud", f"{CHROME} (compatible; Google-Read-Aloud; +https://x)", (), False),
    row("S11-verification", "Mozilla/5.0 (compatible; Google-Site-Verification/1.0)", (), False),
    row("S11-anybody", "MyBot/1.0 (+https://e.com)", ("MyBot",), True),
    row("S11-nobody", "\0\xff", (), True),
    *(row(f"S11-{name}", name, (), False) for name in IGNORE_ROBOTS.split()),
)  # fmt: skip
def test_crawler_heeds(user_agent: str, tokens: tuple[str, ...], heeds_global: bool) -> None:
    crawler = UserAgent.of(user_agent)
    assert (crawler.tokens, crawler.heeds_global) == (tokens, heeds_global)
    assert UserAgent.of(user_agent.encode("latin-1", "replace")) == crawler


def test_plain_token_is_not_cut_however_long() -> None:
    token = "a" * 1_000 + "-b"
    body = f"user-agent: {token}\nallow: /\n\nuser-agent: *\ndisallow: /"
    robots = RobotsTxt.parse(body.encode())
    assert product_token(token) == token
    asked: list[str | bytes] = [token, token.upper().encode(), token[:-1], "a" * 1_000]
    assert [robots.allowed("/", each) for each in asked] == [True, True, False, False]


KHTML = "AppleWebKit/537.36 (KHTML, like Gecko)"
NEXUS = "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P)"
ANDROID = f"Mozilla/5.0 (Linux; Android 6.0) {KHTML} Chrome/1"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1"
GOOGLEBOT_DESKTOP = f"{KHTML[:-1]}; compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


@table(
    "header, token",
    row("token", "Googlebot", "Googlebot"),
    row("lower-case-token", "my_bot-x", "my_bot-x"),
    row("version", "Googlebot-Image/1.0", "Googlebot-Image"),
    row("url", "Scrapy/2.19 (+https://scrapy.org)", "Scrapy"),
    row("no-version", "my_bot (+https://example.com)", "my_bot"),
    row("two-words", "Foo Bar", "Foo"),
    row("digits", "bot2000", "bot"),
    row("white-space", "  Bot/1.0", "Bot"),
    row("compatible", "Mozilla/5.0 (compatible; Bot/2.1; +http://e.com)", "Bot"),
    row("compatible-no-version", "Mozilla/5.0 (compatible; Bytespider; x@bytedance.com)", "Bytespider"),
    row("googlebot-smartphone", GOOGLEBOT_SMARTPHONE, "Googlebot"),
    row("googlebot-desktop", f"Mozilla/5.0 {GOOGLEBOT_DESKTOP} Chrome/W.X.Y.Z Safari/537.36", "Googlebot"),
    row("googleother", f"{NEXUS} {KHTML} Chrome/1 Mobile Safari/537.36 (compatible; GoogleOther)", "GoogleOther"),
    row("storebot", f"Mozilla/5.0 (X11; Linux x86_64; Storebot-Google/1.0) {KHTML} Chrome/79.0 Safari/537.36",
        "Storebot-Google"),
    row("adsbot-mobile", f"{ANDROID} Mobile Safari/537.36 (compatible; AdsBot-Google-Mobile; +http://x)",
        "AdsBot-Google-Mobile"),
    row("inspection", f"{CHROME} (compatible; Google-InspectionTool/1.0;)", "Google-InspectionTool"),
    row("applebot", f"{MAC} Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)", "Applebot"),
    row("feature-phone", "SAMSUNG-SGH-E250/1.0 UP.Browser/6.2 (GUI) MMP/2.0 (compatible; Googlebot-Mobile/2.1; +http://x)", "Googlebot-Mobile"),
    row("phones", "(Various mobile device types) (compatible; Mediapartners-Google/2.1; +http://x)", "Mediapartners-Google"),
    row("after-the-browser", f"{CHROME} MyScraper/1.0 (+http://e.com)", "MyScraper"),
    row("weblight", f"{NEXUS} AppleWebKit/535.19 (KHTML, like Gecko; googleweblight) Chrome/38.0 Mobile Safari/535.19", "googleweblight"),
    row("comment-with-a-version", "Mozilla/5.0 (X11; Linux; Fetcher/1.0) Chrome/1", "Fetcher"),
    row("comment-with-a-word", "Mozilla/5.0 (X11; Wayland) Fetcher/1.0", "Fetcher"),
    row("compatible-url-only", "Bot/1.0 (compatible; +http://e.com)", "Bot"),
    row("comment-without-a-version", "Mozilla (compatible; Bot)", "Bot"),
    row("name-and-address", "Mozilla/5.0 (X11; rv:1.0) Gecko Firefox/1 (Mybot +http://a.x/)", "Mybot"),
    row("name-version-and-address", "Mozilla/5.0 (Fetcher/1.0 https://a.x/) Chrome/1", "Fetcher"),
    row("address-alone", "Mozilla/5.0 (X11; +https://bot.x/) Chrome/1", "Mozilla"),
    row("dash-after-compatible", "Mozilla/5.0 (compatible - Fetcher/1.0)", "Fetcher"),
    row("app-of-google", "Mozilla/5.0 (iPhone) AppleWebKit/1 GSA/15 Mobile/1 Safari/1", "Mozilla"),
    row("quoted-close", r"Mozilla/5.0 (a \) compatible; Other/1) Fetcher/1.0", "Fetcher"),
    row("quoted-close-at-the-beginning", r"(a \) Other/1) Fetcher/1.0", "Fetcher"),
    row("quoted-open", r"Mozilla/5.0 (a \( Other/1) Fetcher/1.0", "Fetcher"),
    row("quoted-backslash", r"(C:\\) Fetcher/1.0 (x; Otherbot/1)", "Fetcher"),
    row("quoted-backslash-and-close", r"(C:\\\) Other/1) Fetcher/1.0", "Fetcher"),
    row("quoted-letter", r"Mozilla/5.0 (compatible; Fet\cher/1.0)", "Fetcher"),
    row("quoted-semicolon", r"Mozilla/5.0 (compatible; Fetcher/1.0\; x)", "Fetcher"),
    row("backslash-at-the-end", "Mozilla/5.0 (compatible; Fetcher/1.0)\\", "Fetcher"),
    row("version-without-a-comment", "Mozilla/5.0 Bot", "Bot"),
    row("browser", CHROME, "Mozilla"),
    row("old-browser", "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0)", "Mozilla"),
    row("bare-browser", "Mozilla/5.0", "Mozilla"),
    row("mozilla", "Mozilla", "Mozilla"),
    row("no-letters", "360/1.0", ""),
    row("empty", "", ""),
    row("non-ascii", "é", ""),
    row("nul", "\0bot", ""),
    row("surrogate", "\ud800bot", ""),
    row("star", "*", ""),
)  # fmt: skip
def test_product_token_of_header(header: str, token: str) -> None:
    for written in (header, header.encode("utf-8", "surrogatepass")):
        assert product_token(written) == token
        assert is_browser_like(written) == (token == "Mozilla")


# Each name is what a person would say by RFC 9110 10.1.5: the first product is the sender, brackets hold comments, and a
# browser's product that stands first is a disguise.
OWN_NAMES = f"""
readerbot    | readerbot/3 (compatible; OtherBot/1.0)
mybot        | mybot/1.0 (compatible; Googlebot/2.1; +https://e.org)
mybot        | mybot (compatible; Scrapy 2.19)
bot          | bot (compatible; OtherBot/1.0)
LinkedInBot  | LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)
facebookexternalhit | facebookexternalhit/1.1 (+http://www.facebook.com/x.php) Facebot Twitterbot/1.0
Arquivo-web-crawler | Arquivo-web-crawler (compatible; heritrix/3.4.0-20200304 +https://arquivo.pt/faq-crawling)
python-requests | python-requests/2.32 mybot/1.0
mybot        | mybot/1.0 python-requests/2.32
Scrapy       | Scrapy/2.19 (compatible; mybot/1.0)
DuckDuckBot  | DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)
mybot        | mybot (spiderlib/2.0; OtherBot/1.0; +https://e.org)
mybot        | mybot/1.0 (Mozilla/5.0 (compatible; OtherBot/2.0))
Twitterbot   | Twitterbot/1.0 Mozilla/5.0 (Macintosh) {KHTML}
             | 360bot/1.0 (compatible; OtherBot/1.0)
mybot        | mybot/1.0 (not Google Favicon)
mybot        | User-Agent: mybot/1.0 (compatible; OtherBot/1.0)
mybot        | https://e.org/bot mybot/1.0
mybot        | "Mozilla/5.0 (compatible; mybot/1.0)"
MyBot        | Mozilla/5.0 (Compatible; MyBot/1.0)
mybot        | Mozilla/5.0 (compatible, mybot/1.0)
trendictionbot | Mozilla/5.0 (Windows NT 10.0; Win64; x64; trendictionbot0.5.0; trendiction search; http://www.trendiction.de/bot; please let us know of any problems; web at trendiction.com) Gecko/20071127 Firefox/3.0.0.11
mybot        | Mozilla/5.0 (X11; Linux x86_64; mybot2) Gecko/20100101 Firefox/120.0
My-Crawler   | Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) My-Crawler2.0/x Safari/537.36
mybot        | Mozilla/5.0 (X11; OtherBot2; mybot/1.0)
Mozilla      | Mozilla/5.0 (Linux; Android 9; robot2go) Gecko/20100101 Firefox/120.0
Mozilla      | Mozilla/5.0 (Linux; Android 9; sdk_google_atv_x86; Win64; x64; rv:109.0) Gecko/20100101 Firefox/120.0
mybot        | Mozilla/5.0 (compatible mybot/1.0; +https://e.org)
reader       | Mozilla/5.0 (compatible; https://e.org/; reader/1.0)
mybot        | Mozilla/5.0 (compatible; mybot (+https://e.org/bot); contact)
mybot        | Mozilla/5.0 (compatible; mybot/1.0; +https://e.org/bo
Slurp        | Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)
Reader       | Mozilla/5.0 (X11; Linux x86_64) {KHTML} Reader/2.0 (Scrapy/2.11)
mybot        | Mozilla/5.0 (compatible; mybot/1.0) OtherBot/1.0
SurveyBot    | Mozilla/5.0 (Windows; U; en; rv:1.9) Gecko/20090 Firefox/3.5.2 (.NET CLR 3.5) SurveyBot/2.3 (DomainTools)
Opera        | Opera/9.80 (Windows NT 6.1; U; en) Presto/2.12 Version/12.16
mybot        | Opera/9.80 (compatible; mybot/1.0)
Mozilla      | Mozilla/5.0 (compatible; U; MSIE 9.0; Windows NT 6.1; Trident/5.0)
bingbot      | Mozilla/5.0 {KHTML[:-1]}; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0
ChatGPT-User | Mozilla/5.0 {KHTML}; compatible; ChatGPT-User/1.0; +https://openai.com/bot
PetalBot     | {ANDROID} Mobile Safari/537.36 (compatible;PetalBot;+https://webmaster.petalsearch.com/site/petalbot)
bot          | Mozilla/5.0+(compatible;+bot/1.0)
bingbot      | Mozilla/5.0+(compatible;+bingbot/2.0;++http://www.bing.com/bingbot.htm)
mybot        | Mozilla/5.0+(X11;+Linux)+AppleWebKit/537.36+(KHTML,+like+Gecko)+mybot/1.0+Safari/537.36
Mozilla      | Mozilla/5.0+(compatible;++www.mybot.example/about)
Mozilla      | Mozilla/5.0+(compatible;+MSIE+9.0;+Windows+NT+6.1;+Trident/5.0)
UptimeRobot  | Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)
Mozilla      | Mozilla/5.0(compatible;me+bot@mybot.example)
Mozilla      | Mozilla/5.0+(compatible; me+bot@mybot.example)
Googlebot-Mobile | DoCoMo/2.0 N905i(c100;TB;W24H16) (compatible; Googlebot-Mobile/2.1; +http://www.google.com/bot.html)
"""


@table("line", *OWN_NAMES.strip().splitlines())
def test_first_product_is_the_crawler_unless_it_is_a_browser(line: str) -> None:
    name, header = map(str.strip, line.split("|"))
    assert product_token(header) == name


def test_group_of_another_name_in_a_comment_does_not_count() -> None:
    robots = RobotsTxt.parse(
        b"user-agent: otherbot\nallow: /\n\nuser-agent: readerbot\ndisallow: /own"
    )
    assert not robots.allowed("/own", UserAgent.of("readerbot/3 (compatible; OtherBot/1.0)"))
    assert not robots.allowed("/own", "readerbot/3 (compatible; OtherBot/1.0)")


@table(
    "user_agent, cut",
    row("a-token", "mybot", None),
    row("a-product", "mybot/1.0 (+https://mybot.example/)", None),
    row("a-digit-ends-it", "bot2000/1.0", "bot"),
    row("two-words", "my bot", "my"),
    row("a-browser-s", "Mozilla/5.0 (compatible; mybot/1.0)", None),
    row("plus-signs", "Mozilla/5.0+(compatible;+mybot/1.0)", None),
    row("empty", "", None),
)
def test_token_that_only_begins_a_name_is_told(user_agent: str, cut: str | None) -> None:
    assert cut_token(user_agent) == cut


@table(
    "header",
    "(" * 100_000,
    "(compatible;" * 100_000,
    "a" * 1_000_000,
    "Mozilla/ " * 100_000,
    "Mozilla (x" + " " * 100_000,
    "Mozilla (x" + " http://" * 100_000,
)
def test_hostile_header_has_an_answer(header: str) -> None:
    assert len(product_token(header)) <= MAX_LINE_BYTES
    UserAgent.of(header.encode())


# Several names of a crawler

BODY = (
    b"user-agent: googlebot\ndisallow: /google\ncrawl-delay: 2\n\n"
    b"user-agent: mybot\ndisallow: /mine\ncrawl-delay: 5\n\n"
    b"user-agent: *\ndisallow: /all\n"
)
ROBOTS = RobotsTxt.parse(BODY)


@table(
    "names, group",
    row("first-named", ["mybot", "googlebot"], "mybot"),
    row("second-named", ["nobot", "googlebot"], "googlebot"),
    row("none-named", ["nobot", "otherbot"], "*"),
    row("google's-fall-back", ["nobot", "Googlebot-Image"], "googlebot"),
    row("headers", [b"Mozilla/5.0 (compatible; mybot/1; +url)", "googlebot"], "mybot"),
    row("one-of-them-heeds-star", ["AdsBot-Google", "nobot"], "*"),
    row("none-heeds-star", ["AdsBot-Google"], None),
)  # fmt: skip
def test_first_name_with_a_group_is_followed(names: list[str | bytes], group: str | None) -> None:
    assert ROBOTS.verdict("/x", UserAgent.of(names)).group == group


def test_several_names_are_a_value_that_can_be_a_key() -> None:
    assert UserAgent.of(["Googlebot-News"]) == UserAgent.of("Googlebot-News")
    assert UserAgent.of(("a", "b", "a")) == UserAgent("a, b", ("a", "b"))


@table("names, error, text", ([], ValueError, "no crawler is named"), (7, TypeError, "not int"))
def test_no_name_or_what_is_none_is_refused(names: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        UserAgent.of(names)
