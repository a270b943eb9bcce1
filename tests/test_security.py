"""The promises of docs/security.md that take a whole crawl: hostile robots.txt files, responses, sitemaps and Redis values.

Nothing forged reaches the log, and no value in a shared Redis does more than the page says. The page names the tests of its
other promises.
"""

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Origin, RobotsSitemapSpider
from scrapy_gbot_robots.meta import PROBE
from scrapy_gbot_robots.policy.outages import Copy, Entry, Kind, Outage
from scrapy_gbot_robots.policy.outcome import Failure
from scrapy_gbot_robots.storage.codec import encode

from .support.command import project, run_here
from .support.crawls import Pages, crawl, in_reactor, pages, stats, warnings_and_worse
from .support.entries import with_body
from .support.processes import run
from .support.redis_server import NoRedis, redis_server
from .support.sitemap_web import Remembers, Sitemaps, index, urlset, xml
from .support.systems import needs_posix
from .support.web import Content, Reply, Site, free_port, raw, redirect

__all__ = ["project"]

# A line end and a forged line, colours, the C1 form of an escape sequence, a change of direction, other line ends, NUL.
FORGED = "\r\n2026-01-01 00:00:00 [forged] INFO: forged\x1b[31m\x9b31m\u202e\u2028\x0b\x07\x00"
AS_BYTES = FORGED.encode()
IN_A_HEADER = FORGED.replace("\r\n", "").encode()

HEADS = {
    "location": b"302 Found\r\nLocation: /x<forged>\r\n\r\n",
    "reason-phrase": b"503 Busy<forged>\r\nContent-Length: 0\r\n\r\n",
    "status-line": b"2x0<forged>\r\n\r\n",
    "header-name": b"200 OK\r\nX<forged>: 1\r\nContent-Length: 0\r\n\r\n",
    "content-length": b"200 OK\r\nContent-Length: 1<forged>\r\n\r\n",
    "content-encoding": b"200 OK\r\nContent-Encoding: gzip<forged>\r\n\r\nxx",
    "content-encoding-blank": b"200 OK\r\nContent-Encoding: gzip\x0b\x1f,\x0c gzip\r\n\r\nxx",
    "transfer-encoding": b"200 OK\r\nTransfer-Encoding: <forged>\r\n\r\nxx",
    "chunk": b"200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<forged>\r\n",
    "retry-after": b"503 Busy\r\nRetry-After: 9<forged>\r\nContent-Length: 0\r\n\r\n",
}
ROBOTS: dict[str, Content] = {
    "rules": b"user-agent: testbot%b\ndisallow: /no%b*\nsitemap: x%b"
    % (IN_A_HEADER, IN_A_HEADER[:-1], AS_BYTES),
    "sitemap-lines": b"".join(
        b"sitemap: %b%b\n" % (start, IN_A_HEADER)
        for start in b"http://a http://a\xff.example/ gopher:// http://[::1 \xe2\x80\xae http://%zz".split()
    ),
    "location-c1": redirect("/\x9b31m\u0085forged"),
    **{
        name: raw(b"HTTP/1.1 " + answer.replace(b"<forged>", IN_A_HEADER))
        for name, answer in HEADS.items()
    },
    "protocol": raw(b"HTP" + IN_A_HEADER + b" 200 OK\r\n\r\n"),
    "cache-control": Reply(200, b"", {"Cache-Control": "max-age=\x1b[31m"}),
    "soft-404": Reply(500, b"<title>Not found" + AS_BYTES),
    "too-long": AS_BYTES * 20_000,
    "crawl-delay": b"user-agent: *\ncrawl-delay: 9" + AS_BYTES,
}
PATHS = ["/no" + FORGED, "/\x1b[31m", "/\x9b31m\u202e", "/%0d%0aforged"]


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines that the plugin and its spiders have logged. The summary has several."""
    names = {"scrapy_gbot_robots", "forger"}
    ours = [record for record in caplog.records if record.name.split(".")[0] in names]
    return [line for record in ours for line in record.getMessage().split("\n")]


def assert_nothing_forged(lines: list[str]) -> None:
    assert lines
    for line in lines:
        assert line.isprintable(), ascii(line)
        assert not line.startswith("2026"), line


@pytest.fixture
def sites() -> Iterator[Callable[[Content], Site]]:
    """Makes a site with this robots.txt."""
    with ExitStack() as stack:
        yield lambda robots: stack.enter_context(
            Site({"*": b"user-agent: *\ndisallow: /x", "/robots.txt": robots})
        )


@in_reactor
async def test_no_forgery_reaches_the_log(sites: Callable[[Content], Site], caplog: Any) -> None:
    settings = {"GBOT_ROBOTS_CRAWL_DELAY": 0.01, "DOWNLOAD_TIMEOUT": 5}
    hostile = [sites(robots) for robots in ROBOTS.values()]
    urls: list[str | Request] = [site.url(path) for site in hostile for path in PATHS]
    verbatim = sites(b"user-agent: *\ndisallow: /no").url("/no/\x1b[31m\x9b\u202e\r\n2026")
    urls.append(Request(verbatim, meta={"verbatim_url": True}, dont_filter=True))
    with caplog.at_level("DEBUG"):
        crawler = await crawl(Pages, settings, urls=urls)
    assert_nothing_forged(messages(caplog))
    for site in hostile:
        assert any(f":{site.port}" in line for line in messages(caplog))
    refusals = [line for line in messages(caplog) if "Forbidden by robots.txt: <GET" in line]
    assert any("2026" in line for line in refusals)
    for error in pages(crawler).refused.values():
        assert_nothing_forged([str(error)])


class Forger(Remembers, RobotsSitemapSpider):
    name = "forger"


SITEMAP_FILES: dict[str, bytes] = {
    "urlset": urlset(
        "http://a" + FORGED[:-1], "gopher://x\x9b31m", "/\u202e", "http://\x85.example/"
    ),
    "index": index("http://a\x9b31m", "gopher:\u2028", "http://%ff/"),
    "broken": b"<urlset><url><loc>http://a/</loc></u\xe2\x80\xaerl\x1b[31m>" + AS_BYTES,
    "text": b"http://a" + AS_BYTES,
}


@pytest.mark.parametrize("spider", [Sitemaps, Forger])
@in_reactor
async def test_nothing_forged_in_a_sitemap_reaches_the_log(
    spider: Any, sites: Callable[[Content], Site], caplog: pytest.LogCaptureFixture
) -> None:
    hostile = [sites(b"") for _ in SITEMAP_FILES]
    for site, file in zip(hostile, SITEMAP_FILES.values(), strict=True):
        site.pages |= {
            "/s.xml": xml(file),
            "/robots.txt": f"sitemap: {site.url('/s.xml')}\nsitemap: {FORGED}",
        }
    urls = [site.url() for site in hostile]
    with caplog.at_level("DEBUG"):
        given = {"hosts": ",".join(urls)} if spider is Forger else {"start_urls": urls}
        await crawl(spider, **given)
    assert all("/s.xml" in site.paths() for site in hostile)
    assert_nothing_forged(messages(caplog))


# The shared Redis


@pytest.fixture
def redis_url() -> Iterator[str]:
    with redis_server() as server:
        yield server.url


@pytest.fixture
def store(redis_url: str) -> Iterator[Any]:
    """A client of the shared Redis."""
    redis = pytest.importorskip("redis", reason="the extra redis is not installed")
    with redis.Redis.from_url(redis_url) as client:
        yield client


def copied(
    fetched_at: float,
    fresh_until: float,
    url: str = "http://evil.example/robots.txt",
    body: bytes = b"",
) -> bytes:
    facts = (Kind.RULES, 200, url, body, False, "HTTP 200", fetched_at, fresh_until)
    return encode(Entry(Copy(*facts)))


NOW, YEAR_9999, FIRST = time.time(), 253_370_764_800.0, -1e308

POISON = {
    "garbage": b"\x00garbage\xff",
    "huge": b"x" * 5_000_000,
    "decompression-bomb": with_body(bytes(20_000_000)),
    "fetched-in-the-year-9999": copied(YEAR_9999, YEAR_9999 + 1),
    "fresh-until-the-year-9999": copied(NOW - 2 * 86_400, YEAR_9999),
    "forged-more-than-a-day-ago": copied(NOW - 86_500, YEAR_9999),
    "fetched-before-all-time": copied(FIRST, YEAR_9999),
    "largest-times": copied(math.nextafter(math.inf, 0), math.nextafter(math.inf, 0)),
    "most-failures": encode(Entry(None, Outage(NOW, 2**32 - 1, 503, "x", NOW - 1))),
    "not-to-be-asked-before-9999": encode(Entry(None, Outage(NOW - 9, 1, 503, FORGED, YEAR_9999))),
}


def key_of(site: Site) -> str:
    return f"gbot_robots:entry:{{{Origin.of(site.url())}}}"


def in_redis(url: str) -> dict[str, str]:
    return {"GBOT_ROBOTS_STORAGE": "redis", "GBOT_ROBOTS_REDIS_URL": url}


@in_reactor
async def test_poisoned_entry_is_a_miss_and_a_forged_one_rules_for_no_longer_than_a_day(
    redis_url: str, store: Any, sites: Callable[[Content], Site], caplog: pytest.LogCaptureFixture
) -> None:
    rules = b"user-agent: *\ndisallow: /no"
    poisoned = {key_of(site := sites(rules)): (site, value) for value in POISON.values()}
    forged = sites(rules)
    store.mset({key: value for key, (_, value) in poisoned.items()})
    store.set(key_of(forged), copied(NOW - 80_000, YEAR_9999))
    urls = {path: {site.url(path) for site, _ in poisoned.values()} for path in ("/yes", "/no")}
    asked = [*urls["/yes"], *urls["/no"], forged.url("/no")]
    crawler = await crawl(Pages, in_redis(redis_url), urls=asked)
    assert set(pages(crawler).crawled) == {*urls["/yes"], forged.url("/no")}
    assert "gbot_robots/storage/errors" not in stats(crawler)
    assert [key for key, (_, value) in poisoned.items() if store.get(key) == value] == []
    assert not warnings_and_worse(caplog)


@in_reactor
async def test_forged_reason_is_printable_in_log_error_and_summary(
    redis_url: str, store: Any, caplog: pytest.LogCaptureFixture
) -> None:
    now = time.time()
    with Site({}) as site, caplog.at_level("DEBUG"):
        outage = Outage(now - 9, 1, None, FORGED, now + 600, failure=Failure.TIMEOUT)
        store.set(key_of(site), encode(Entry(None, outage)))
        by_the_plugin = Request(site.url("/robots.txt"), meta={PROBE: True})
        crawler = await crawl(Pages, in_redis(redis_url), urls=[site.url("/a"), by_the_plugin])
    errors = [str(error) for error in pages(crawler).refused.values()]
    assert ["forged" in error for error in errors] == [True, True]
    assert any("forged" in line for line in messages(caplog))
    assert_nothing_forged([*errors, *messages(caplog)])


@in_reactor
async def test_server_that_is_no_redis_forges_no_lines(caplog: pytest.LogCaptureFixture) -> None:
    with (
        NoRedis(b"-ERR " + IN_A_HEADER + b"\r\n") as server,
        Site({"*": b"ok"}) as site,
        caplog.at_level("DEBUG"),
    ):
        settings = in_redis(f"redis://127.0.0.1:{server.port}")
        crawler = await crawl(Pages, settings, urls=[site.url("/a")])
        assert set(pages(crawler).crawled) == {site.url("/a")}
    assert stats(crawler)["gbot_robots/storage/errors"]
    assert any("forged" in line for line in messages(caplog))
    assert_nothing_forged(messages(caplog))


def test_command_shows_a_poisoned_storage_as_print(
    redis_url: str, store: Any, project: Path
) -> None:
    settings = ["-s", "GBOT_ROBOTS_STORAGE=redis", "-s", f"GBOT_ROBOTS_REDIS_URL={redis_url}"]
    store.set(b"gbot_robots:entry:{http://evil.example" + AS_BYTES + b"}", copied(NOW, NOW))
    alone = run_here("cache", "list", *settings, cwd=project)  # whatever comes before it in a list
    assert (alone.status, alone.err) == (0, "")
    assert "1 origin in " in alone.out
    outage = encode(Entry(None, Outage(NOW, 1, 503, FORGED, NOW)))
    store.set(b"gbot_robots:entry:{http://b.example}", outage)
    store.set(b"gbot_robots:entry:{http://c.example}", copied(NOW, NOW, FORGED, AS_BYTES))
    for line in ("list", "list --json", "show http://b.example", "show http://c.example"):
        asked = line.split()
        ended = run_here("cache", *asked, *settings, cwd=project)
        assert "forged" in ended.out
        assert_nothing_forged((ended.out + ended.err).split("\n"))


# Crawls, and prints where this process has connected to, or looked up, meanwhile.
LISTENING = """
import json, sys

contacted = set()

def hear(event, arguments):
    if event == "socket.connect":
        contacted.add(str(arguments[1]))
    elif event.startswith(("socket.getaddrinfo", "socket.gethostby")):
        contacted.add(f"name {arguments[0]}")

sys.addaudithook(hear)

from scrapy import Request
from scrapy.crawler import CrawlerProcess
from scrapy.spiders import SitemapSpider

class Pages(SitemapSpider):
    name = "pages"

    async def start(self):
        for url in sys.argv[2:]:
            yield Request(url)

    def parse(self, response):
        pass

process = CrawlerProcess(json.loads(sys.argv[1]))
process.crawl(Pages)
process.start()
print(json.dumps(sorted(contacted)))
"""


@needs_posix
def test_crawl_contacts_no_server_but_those_that_its_pages_name(
    tmp_path: Path, redis_url: str
) -> None:
    with Site({"*": b"user-agent: *\ndisallow: /no"}) as far, Site({"*": b"ok"}) as near:
        near.pages["/robots.txt"] = redirect(far.url("/rules"))
        down = f"http://127.0.0.1:{free_port()}"
        settings = {
            "ADDONS": {"scrapy_gbot_robots.Addon": 500},
            "USER_AGENT": "testbot",
            "TELNETCONSOLE_ENABLED": False,
            "RETRY_ENABLED": False,
            "GBOT_ROBOTS_STORAGE": "redis",
            "GBOT_ROBOTS_REDIS_URL": redis_url,
            "GBOT_ROBOTS_REPORT": str(tmp_path / "report.html"),
            "GBOT_ROBOTS_RECORD": str(tmp_path / "robots.jsonl.gz"),
            "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0,
        }
        urls = [near.url("/free"), near.url("/no"), f"{down}/page"]
        ended = run([sys.executable, "-c", LISTENING, json.dumps(settings), *urls])
        assert near.paths() == ["/robots.txt", "/free"]
        ports = {near.port, far.port, int(down.rpartition(":")[2])}
    contacted = json.loads(ended.stdout.splitlines()[-1])
    unix_socket = redis_url.partition("://")[2].partition("?")[0]
    servers = {unix_socket, *(str(("127.0.0.1", port)) for port in ports)}
    assert servers <= set(contacted) <= {*servers, "name 127.0.0.1"}


# What is left to others


def test_scrapy_looks_at_its_memory_once_a_minute() -> None:
    assert get_crawler().settings.getfloat("MEMUSAGE_CHECK_INTERVAL_SECONDS") == 60
