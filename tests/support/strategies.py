"""Hypothesis strategies for robots.txt files, product tokens, URLs and HTTP responses.

The values are likely, odd or hostile.
"""

import gzip
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from hypothesis import strategies as st
from scrapy.http import Response

from scrapy_gbot_robots.core.lines import BOM, MAX_LINE_BYTES

ANY_TEXT = st.text(st.characters(codec=None), max_size=40)


def _one_after_another(*parts: list[bytes]) -> st.SearchStrategy[bytes]:
    return st.tuples(*map(st.sampled_from, parts)).map(b"".join)


def _long(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return a strategy for texts that consist of one text many times, and then another text."""
    return st.builds(lambda text, times, end: text * times + end, texts, st.integers(1, 30), texts)


# Strategies for bodies, which are made of lines or of bytes.

KEYS = [
    b"User-agent", b"user-agent", b"USER-AGENT", b"useragent", b"user agent", b"User-agents", b"User-agent \t", b"user",
    b"Disallow", b"disallow", b"DISALLOW", b"disallowed", b"dissallow", b"Disalow", b"diasllow ", b"disallow x", b"dis",
    b"Allow", b"allow", b"aLLow", b"allowance", b"alow", b"Sitemap", b"site-map", b"Crawl-delay", b"crawl-DELAY",
    b"Content-Usage", b"content-signal", b"CONTENT-Usage ", b"content-usages", b"Noindex", b"foo", b"", b"\xa0Disallow", b"\x1cUser-agent", b"\0Disallow", b"#Disallow", b"<p>",
]  # fmt: skip
SEPARATORS = [b": ", b":", b" : ", b" ", b"\t", b"  \t", b":\v", b"", b"\f", b": :", b" # :"]
VALUES = [
    b"*", b"* x", b"*x", b"Googlebot", b"googlebot/2.1", b"a", b"A b", b"b#c", b"googlebot-image", b"", b"1", b"\xa0a",
    b"/", b"/*", b"/a", b"/a b", b"/a#b", b"/a*b$", b"/$", b"/%c3%a9", b"/\xc3\xa9", b"/a\x1c", b"/index.html", b"*.gif$",
    b"/d/index.htm*", b"0.5", b"x", b"/a\0b", b"/a\xa0", b"/" + b"a" * MAX_LINE_BYTES, b"http://e.com/s.xml",
    b"train-ai=n", b"/a train-ai=y, search=n", b"/a*\ttrain-ai=y#", b"ai-train=no,use=full", b"search=y,",
]  # fmt: skip
LEADS = [b"", b"", b"", b" ", b"\t", b"\v", BOM]
BOMS = [b"", b"", BOM[:1], BOM[:2], BOM, BOM * 2]
LINE_ENDS = [b"\n", b"\r", b"\r\n"]
TRAILS = [b"", b"", b" ", b"\t", b" # x", b"\v", b"\r"]

LINES = _one_after_another(LEADS, KEYS, SEPARATORS, VALUES, TRAILS)
_ENDED = st.tuples(LINES | st.binary(max_size=12), st.sampled_from([*LINE_ENDS, b""])).map(b"".join)
BODIES = st.tuples(st.sampled_from(BOMS), st.lists(_ENDED, max_size=12).map(b"".join)).map(b"".join)


# Strategies for files that consist of whole groups.

PIECES = [
    "/", "a", "b", "ab", "abc", "aaaaa", "abcde", "$", "?", "%c3%A9", "é", ".html", "index.htm", "x" * 7, "bcdeab", "%2f",
]  # fmt: skip
PATTERNS = st.lists(st.sampled_from(["*", "/", *PIECES]), max_size=7).map("".join)
LONG_PATTERNS = _long(PATTERNS)
TOKENS = st.sampled_from("* Googlebot googlebot-news Googlebot-Image a A foo_bot".split())


class WrittenGroup(NamedTuple):
    """A group of a robots.txt: its user agents and its rules.

    A rule is a pair: whether it is an allow rule, and its path.
    """

    user_agents: list[str]
    rules: list[tuple[bool, str]]

    def lines(self) -> list[str]:
        rules = (f"{'Allow' if allow else 'Disallow'}: {path}" for allow, path in self.rules)
        return [*(f"User-agent: {user_agent}" for user_agent in self.user_agents), *rules]


GROUPS = st.lists(
    st.builds(
        WrittenGroup,
        st.lists(TOKENS, min_size=1, max_size=3),
        st.lists(st.tuples(st.booleans(), PATTERNS), min_size=1, max_size=5),
    ),
    max_size=5,
)


def written(groups: Iterable[WrittenGroup]) -> bytes:
    return "\n".join(line for group in groups for line in group.lines()).encode()


# Strategies for user agents and URLs.

HEADERS = [
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "foo_bot/1.0 (+http://e.com)",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/49.0 Safari/537.36",
    "Googlebot-Image/1.0",
    "Google-Safety",
    "AdsBot-Google (+http://www.google.com/adsbot.html)",
]
_SHARDS_OF_HEADERS = [
    "Mozilla/5.0", "(", ")", ";", " ", "compatible", "Googlebot", "/2.1", "+http://", "\0", "é", "bot", "*",
]  # fmt: skip
USER_AGENTS = (
    TOKENS
    | st.sampled_from(HEADERS)
    | st.lists(st.sampled_from(_SHARDS_OF_HEADERS), max_size=9).map("".join)
    | ANY_TEXT
)

PATHS = st.lists(st.sampled_from(PIECES), max_size=9).map(lambda pieces: "/" + "".join(pieces))
LONG_PATHS = _long(PATHS)
_SHARDS_OF_URLS = [
    "http://", "HTTPS://", "ftp://", "//", "/", "?", "#", ";", ":", "@", "%", "%c3", "[", "]", "[::1]", ":80", ":99999",
    "\0", "\x1b", "\u202e", "\ud800", "ä", "ß", "。", "xn--", "e.com", "E.COM.", "u:p@", "*", "$", "\\", " ", "/robots.txt",
]  # fmt: skip
URLS = (
    PATHS.map("http://e.com{}".format)
    | st.lists(st.sampled_from(_SHARDS_OF_URLS), max_size=12).map("".join)
    | ANY_TEXT
)


# Strategies for HTTP responses.

_ODD_NUMBERS = ["0", "1", "60", "-1", "1e3", "+5", "0x10", "٣", "", "9" * 400]
NUMBERS = st.sampled_from(_ODD_NUMBERS) | st.integers().map(str)
_CACHE_WORDS = [
    "max-age=", "s-maxage=", "no-store", "no-cache", "public", 'no-cache="a"', ",", ";", "=", '"', "\\", " ",
]  # fmt: skip
_CACHE_PARTS = st.lists(st.sampled_from(_CACHE_WORDS) | NUMBERS, max_size=8)
CACHE_CONTROL = _CACHE_PARTS.map("".join).map(str.encode)
_DATE_WORDS = [
    "Sun,", "06", "Nov", "1994", "94", "08:49:37", "GMT", "-0000", "+9999", "Sunday,", "06-Nov-94", "9999", " ",
]  # fmt: skip
DATES = st.lists(st.sampled_from(_DATE_WORDS), max_size=7).map(" ".join).map(str.encode)
SECONDS_OR_DATE = NUMBERS.map(str.encode) | DATES | st.binary(max_size=40)
LOCATIONS = URLS.map(lambda url: url.encode("utf-8", "surrogatepass")) | st.binary(max_size=40)
_USUAL_STATUSES = [200, 204, 206, 301, 302, 304, 307, 401, 404, 410, 429, 500, 503, 599]
STATUSES = st.sampled_from(_USUAL_STATUSES) | st.integers(-1, 2**70)
_PAGE_WORDS = [
    "<title>", "</title>", "<h1", ">", "</h1>", "<", "<!--", "-->", "<script>", "Page not found", "404", "&#x110000;",
    "&amp", "Seite nicht gefunden", "\u0130", "ไม่พบหน้า", "server", "{", "\n", "e\u0301",
]  # fmt: skip
_CHARSETS = ["utf-8", "utf-16", "utf-8-sig", "cp1252", "gb18030", "koi8-r"]
PAGES = st.builds(
    lambda words, charset: "".join(words).encode(charset, "replace"),
    st.lists(st.sampled_from(_PAGE_WORDS), max_size=9),
    st.sampled_from(_CHARSETS),
)
_CODINGS = ["gzip", "x-gzip", "deflate", "br", "identity", "GZIP ", "", "zstd", "\xff"]
PACKED = st.recursive(
    st.binary(max_size=300),
    lambda packed: packed.map(gzip.compress) | packed.map(zlib.compress),
    max_leaves=3,
)
HEADERS_OF_ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        "Cache-Control": st.lists(CACHE_CONTROL, max_size=3),
        "Age": SECONDS_OR_DATE,
        "Retry-After": SECONDS_OR_DATE,
        "Location": LOCATIONS,
        "Content-Encoding": st.lists(st.sampled_from(_CODINGS), max_size=5).map(",".join),
    },
)
HTTP_ANSWERS = st.builds(
    Response,
    st.just("http://e.com/robots.txt"),
    STATUSES,
    HEADERS_OF_ANSWERS,
    BODIES | PAGES | PACKED,
)
