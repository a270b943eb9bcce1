"""Odd servers, and what a crawl has to make of each.

Every server has the pages /page and /free. Where it has rules they are RULES, which forbid /page. So there are three
outcomes: everything is crawled (full allow), nothing is (full disallow), or /free alone (the rules decide).
"""

import gzip
import zlib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from socket import socket
from typing import Any

import brotli
from scrapy.crawler import Crawler

from ..support.crawls import Pages, crawl, handler_in_use, pages
from ..support.tls import tls_context
from ..support.web import Content, Reply, Site, raw, redirect

RULES = b"user-agent: *\ndisallow: /page\n"
ALLOW, DISALLOW, OBEY = "full allow", "full disallow", "rules"


@dataclass(frozen=True)
class Scenario:
    """One odd server. `id` carries the clause that says what is expected."""

    id: str
    expected: str
    robots: Content
    pages: Mapping[str, Content] = field(default_factory=dict)
    tls: bool = False
    asked_by: str = ""  # a scheme, where it is not the server's
    # what is expected with other download handlers
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @property
    def expected_here(self) -> str:
        """What is expected with the download handler that the tests use."""
        return self.elsewhere.get(handler_in_use(), self.expected)


def head(*lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


def answer(
    lines: str, *parts: bytes | float, status: str = "200 OK", reset: bool = False
) -> Content:
    """An answer with these lines of a head, then `parts` of a body; a number is a pause."""
    return raw(head(lines, status=status), *parts, reset=reset)


def endless(connection: socket) -> None:
    connection.sendall(head("Connection: close") + RULES)
    while True:
        connection.sendall(b"# and so on\n" * 5000)


def hops(count: int, last: Content = RULES, status: int = 302) -> dict[str, Content]:
    """Pages /1 to /count, each redirecting to the next, and `last` at the end."""
    return {f"/{n}": redirect(f"/{n + 1}", status) for n in range(1, count)} | {f"/{count}": last}


def coded(coding: str, body: bytes, status: int = 200) -> Reply:
    return Reply(status, body, {"Content-Encoding": coding})


ZIPPED = gzip.compress(RULES)
# a rule, and then a gigabyte of zeros: one megabyte over the wire
BOMB_MEMBERS = 1000


@cache
def bomb() -> bytes:
    return ZIPPED + gzip.compress(bytes(1_000_000)) * BOMB_MEMBERS


def _bomb(connection: socket) -> None:
    coded("gzip", bomb())(connection)


BIG = RULES + b"# padding\n" * 60_000
LATE = b"# padding\n" * 51_200 + RULES

# Of each robots.txt. All servers are asked at once, so a busy machine takes a second for some.
TIMEOUT_SECS = 6
HANGS = 1.5 * TIMEOUT_SECS
TRICKLING = (b"#", 0.1 * TIMEOUT_SECS) * 20
MORE_AND_MORE = (b"X: y\r\n", 0.05 * TIMEOUT_SECS) * 40

LENGTH = f"Content-Length: {len(RULES)}"
CLOSE, CHUNKED = "Connection: close", "Transfer-Encoding: chunked"
TOO_LONG = "Content-Length: 99"  # for what comes
ELSEWHERE = head(TOO_LONG, "Location: /1", status="301 Go")
NOT_FOUND = b"<title>Not found</title>"
ODD_CODING, IDENTITY = "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity"
SPACED = LENGTH.replace(":", " :")
LINE_FIRST = raw(b"\r\n", head(LENGTH), RULES)
READ_BY_AIOHTTP = {"aiohttp": OBEY}
CHUNK, LAST_CHUNK = b"1e\r\n" + RULES + b"\r\n", b"0\r\n\r\n"

SCENARIOS = [
    # 2xx
    Scenario("S2.3-200", OBEY, RULES),
    Scenario("S2.3-206", OBEY, Reply(206, RULES)),
    Scenario("S2.4-html-content-type", OBEY, Reply(200, RULES, {"Content-Type": "text/html"})),
    Scenario("S2.4-html-body-with-rules", OBEY, b"<html>\n" + RULES + b"</html>"),
    Scenario("S2.27-200-empty", ALLOW, b""),
    Scenario("S2.27-204", ALLOW, Reply(204)),
    Scenario(
        "S4.1-octet-stream", OBEY, Reply(200, RULES, {"Content-Type": "application/octet-stream"})
    ),
    Scenario("200-close-delimited", OBEY, answer(CLOSE, RULES)),
    Scenario("200-chunked", OBEY, answer(CHUNKED, CHUNK + LAST_CHUNK)),
    Scenario("200-slow-but-in-time", OBEY, answer(LENGTH, 0.2, RULES[:9], 0.2, RULES[9:])),
    Scenario("S2.26-100-then-200", OBEY, raw(head(status="100 Continue"), head(CLOSE), RULES)),
    # 3xx
    *(Scenario(f"S2.5-{n}", OBEY, redirect("/1", n), hops(1)) for n in (301, 302, 303, 307, 308)),
    Scenario("S2.5-five-hops", OBEY, redirect("/1"), hops(5)),
    Scenario("S2.5-six-hops", ALLOW, redirect("/1"), hops(6)),
    Scenario(
        "S2.5-redirects-share-the-time",
        DISALLOW,
        Reply(302, b"", {"Location": "/1"}, after_secs=0.6 * TIMEOUT_SECS),
        hops(1, Reply(200, RULES, after_secs=0.6 * TIMEOUT_SECS)),
    ),
    Scenario("S2.9-loop", ALLOW, redirect("/robots.txt")),
    Scenario("S2.9-no-location", ALLOW, Reply(302, RULES)),
    Scenario("S2.9-to-data", ALLOW, redirect("data:,user-agent:*%0adisallow:/")),
    Scenario("S2.6-via-disallowed-url", OBEY, redirect("/page"), {"/page": RULES}),
    Scenario(
        "S2.7-meta-refresh",
        ALLOW,
        Reply(
            200,
            b'<html><head><meta http-equiv="refresh" content="0; url=/1"></head></html>',
            {"Content-Type": "text/html"},
        ),
        hops(1),
    ),
    Scenario("S2.5-to-404", ALLOW, redirect("/1"), hops(1, Reply(404, RULES))),
    Scenario("S2.5-to-503", DISALLOW, redirect("/1"), hops(1, Reply(503))),
    Scenario("S2.26-304", DISALLOW, Reply(304)),
    Scenario("S2.9-300", ALLOW, Reply(300, RULES)),
    # 4xx
    *(
        Scenario(f"S2.11-{n}", ALLOW, Reply(n, RULES))
        for n in (400, 401, 403, 404, 410, 418, 451, 499)
    ),
    Scenario("S2.12-429", DISALLOW, Reply(429, RULES)),
    Scenario("S2.11-407-without-a-proxy", ALLOW, Reply(407, RULES)),
    # the status has said all: what becomes of the body plays no part
    Scenario("S2.11-404-short", ALLOW, answer(TOO_LONG, RULES, status="404 No")),
    Scenario("S2.11-404-reset", ALLOW, answer(TOO_LONG, RULES, 0.1, status="404 No", reset=True)),
    Scenario("S2.11-404-hanging", ALLOW, answer(TOO_LONG, HANGS, status="404 No")),
    Scenario("S2.5-301-short", OBEY, raw(ELSEWHERE, RULES), hops(1)),
    Scenario("S2.5-301-hanging", OBEY, raw(ELSEWHERE, HANGS), hops(1)),
    Scenario("S2.12-429-short", DISALLOW, answer(TOO_LONG, RULES, status="429 No")),
    Scenario("S2.19-500-half-a-title", DISALLOW, answer(TOO_LONG, NOT_FOUND, status="500 No")),
    # 5xx and codes nobody knows
    *(Scenario(f"S2.14-{n}", DISALLOW, Reply(n)) for n in (500, 502, 503, 504, 599)),
    *(Scenario(f"S2.26-{n}", DISALLOW, Reply(n, RULES)) for n in (600, 999)),
    Scenario(
        "S2.19-500-not-found-title", ALLOW, Reply(500, b"<title>404 - Page not found</title>")
    ),
    # no answer, or half of one
    Scenario("S2.20-closed-at-once", DISALLOW, raw()),
    Scenario("S2.20-reset", DISALLOW, raw(reset=True)),
    Scenario("S2.20-reset-in-the-body", DISALLOW, answer(TOO_LONG, RULES, 0.1, reset=True)),
    Scenario("S2.20-not-http", DISALLOW, raw(b"220 mail.example.com ESMTP\r\n", RULES)),
    Scenario("S2.20-no-answer-in-time", DISALLOW, raw(2 * TIMEOUT_SECS)),
    Scenario("S2.20-body-that-trickles", DISALLOW, answer(TOO_LONG, *TRICKLING)),
    Scenario("S2.20-headers-without-end", DISALLOW, raw(b"HTTP/1.1 200 OK\r\n", *MORE_AND_MORE)),
    Scenario("S2.21-body-too-short", DISALLOW, answer(TOO_LONG, RULES)),
    Scenario("S2.21-202-too-short", DISALLOW, answer(TOO_LONG, RULES, status="202 Wall")),
    Scenario("S2.21-bad-chunk", DISALLOW, answer(CHUNKED, b"zz\r\n" + RULES)),
    Scenario("S2.21-no-last-chunk", DISALLOW, answer(CHUNKED, CHUNK)),
    Scenario("S2.20-tls-on-a-plain-port", DISALLOW, RULES, asked_by="https"),
    # what browsers and curl read and Scrapy's default handler does not; a handler that reads it finds rules
    Scenario("odd-transfer-coding-gzip", DISALLOW, answer(ODD_CODING, CHUNK + LAST_CHUNK)),
    Scenario("S2.9-impossible-host", ALLOW, redirect("http://[fe80::1%25lo]/r")),
    Scenario("S2.5-backslash", OBEY, redirect(r"\r"), {"/r": RULES}),
    Scenario("odd-transfer-encoding-identity", DISALLOW, raw(head(IDENTITY, LENGTH), RULES)),
    Scenario(
        "odd-space-before-a-colon", DISALLOW, answer(SPACED, RULES), elsewhere=READ_BY_AIOHTTP
    ),
    Scenario("odd-empty-line-first", DISALLOW, LINE_FIRST, elsewhere=READ_BY_AIOHTTP),
    Scenario(
        "S2.20-reset-in-a-body-of-unsaid-length",
        OBEY,
        answer(CLOSE, RULES, 0.1, reset=True),
        elsewhere={"httpx": DISALLOW},
    ),
    # size and coding
    Scenario("S4.7-rules-before-500-KiB", OBEY, BIG),
    Scenario("S4.7-rules-after-500-KiB", ALLOW, LATE),
    Scenario("S4.7-endless", OBEY, endless),
    Scenario("S4.8-gzip", OBEY, coded("gzip", ZIPPED)),
    Scenario("S4.8-deflate", OBEY, coded("deflate", zlib.compress(RULES))),
    Scenario("S4.8-brotli-unasked", OBEY, coded("br", brotli.compress(BIG))),
    Scenario("S4.8-word-that-is-no-coding", OBEY, coded("utf-8", RULES)),
    Scenario("S2.20-odd-coding-of-no-text", DISALLOW, coded("x-odd", ZIPPED)),
    Scenario("S4.8-gzip-rules-after-500-KiB", ALLOW, coded("gzip", gzip.compress(LATE))),
    Scenario("S4.8-gzip-bomb", OBEY, _bomb),
    Scenario("S2.20-gzip-cut-short", DISALLOW, coded("gzip", ZIPPED[:-12])),
    Scenario("S2.20-gzip-that-is-none", DISALLOW, coded("gzip", RULES)),
    Scenario("S2.11-404-gzip-that-is-none", ALLOW, coded("gzip", RULES, 404)),
    # TLS
    Scenario("TLS-200", OBEY, RULES, tls=True),
    Scenario("TLS-redirect", OBEY, redirect("/1"), hops(1), tls=True),
]


def _site(scenario: Scenario) -> Site:
    pages = {"/page": b"ok", "/free": b"ok", **scenario.pages, "/robots.txt": scenario.robots}
    return Site(pages, tls=tls_context() if scenario.tls else None)


def _urls(scenario: Scenario, site: Site) -> list[str]:
    scheme = f"{scenario.asked_by or 'http'}:"
    return [site.url(path).replace("http:", scheme) for path in ("/page", "/free")]


def _outcome(scenario: Scenario, site: Site, crawler: Crawler) -> str:
    page, free = (url in pages(crawler).crawled for url in _urls(scenario, site))
    outcomes = {(True, True): ALLOW, (False, True): OBEY, (False, False): DISALLOW}
    return outcomes.get((page, free), "/page alone")


async def run_all(scenarios: list[Scenario], **settings: Any) -> dict[str, str]:
    """Crawl the servers of all `scenarios` in one crawl; what came of each, by its id."""
    timeouts = {"GBOT_ROBOTS_TIMEOUT_SECS": TIMEOUT_SECS, "DOWNLOAD_TIMEOUT": TIMEOUT_SECS}
    with ExitStack() as stack:
        sites = [(each, stack.enter_context(_site(each))) for each in scenarios]
        urls = [url for each, site in sites for url in _urls(each, site)]
        crawler = await crawl(Pages, {**timeouts, **settings}, urls=urls)
    return {each.id: _outcome(each, site, crawler) for each, site in sites}
