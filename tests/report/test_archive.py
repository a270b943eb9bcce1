"""The archive of robots.txt files: what is in it, that it survives a kill, and that trouble with it costs no page."""

import gzip
import json
import logging
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from scrapy import Request
from scrapy.http import Headers, Response
from scrapy.utils.test import get_crawler
from warcio.archiveiterator import ArchiveIterator

from scrapy_gbot_robots.bulk.archive_reader import Reading
from scrapy_gbot_robots.core.urls import Origin
from scrapy_gbot_robots.obeying.answer import CachedAnswer
from scrapy_gbot_robots.policy.outages import Copy, Decision, Kind, State
from scrapy_gbot_robots.policy.outcome import Fetched, Unavailable
from scrapy_gbot_robots.report.archive import RobotsArchive
from scrapy_gbot_robots.report.archive_records import Exchange, Served, bytes_of
from scrapy_gbot_robots.settings import archive_named

from ..support.crawls import Pages, crawl, in_reactor, pages, stats
from ..support.systems import needs_posix
from ..support.until import block_until
from ..support.web import Reply, Site

RULES = b"user-agent: *\ndisallow: /no\n"
PROVENANCE = {"GBOT_ROBOTS_PROVENANCE": True}

# Crawls the URLs that it is given, in a process that may be killed, or that may write only a number of bytes.
CRAWL = """
import json, resource, sys
from scrapy.crawler import AsyncCrawlerProcess
from tests.support.crawls import ADDON, QUIET, Pages

urls, settings, most_bytes = json.loads(sys.argv[1])
if most_bytes:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
process = AsyncCrawlerProcess({**QUIET, **ADDON, **settings})
process.crawl(Pages, urls=urls)
process.start()
"""


def command(urls: list[str], settings: dict[str, Any], most_bytes: int = 0) -> list[str]:
    return [sys.executable, "-c", CRAWL, json.dumps([urls, settings, most_bytes])]


def records(path: Path) -> Iterator[tuple[Any, bytes]]:
    with path.open("rb") as file:
        for record in ArchiveIterator(file):
            yield record, record.raw_stream.read()


@in_reactor
async def test_warc_has_each_robots_txt_as_it_was_served_with_headers(tmp_path: Path) -> None:
    packed = Reply(200, gzip.compress(RULES), {"Content-Encoding": "gzip", "X-Of-Server": "yes"})
    with Site({"/robots.txt": packed, "*": b"ok"}) as site, Site({"/a": b"ok"}) as free:
        archive = {"GBOT_ROBOTS_ARCHIVE": str(tmp_path / "new" / "%(name)s-%(time)s.warc.gz")}
        crawler = await crawl(
            Pages, {**archive, **PROVENANCE}, urls=[site.url("/yes"), free.url("/a")]
        )
        (path,) = (tmp_path / "new").iterdir()
        assert path.name.startswith("pages-20")
        (info, about), *exchanges = records(path)
        exchanges.sort(
            key=lambda pair: pair[0].rec_headers["WARC-Target-URI"] != site.url("/robots.txt")
        )
        (response, body), (request, _), (missing, _), _ = exchanges
        assert (info.rec_type, info.rec_headers["WARC-Filename"]) == ("warcinfo", path.name)
        assert about == b"software: scrapy-gbot-robots\r\nformat: WARC File Format 1.1\r\n"
        assert (response.rec_type, response.rec_headers["WARC-Target-URI"]) == (
            "response",
            site.url("/robots.txt"),
        )
        assert response.rec_headers.protocol == "WARC/1.1"
        assert gzip.decompress(body) == RULES
        assert response.http_headers["X-Of-Server"] == "yes"
        assert response.http_headers["Content-Encoding"] == "gzip"
        assert response.rec_headers["WARC-IP-Address"] == "127.0.0.1"
        assert request.http_headers.protocol == "GET"
        assert "testbot" in request.http_headers["User-Agent"]
        proof = pages(crawler).crawled[site.url("/yes")].meta["gbot_robots"]
        assert (
            response.rec_headers["X-Robots-SHA256"] == proof["robots"] == sha256(RULES).hexdigest()
        )
        assert response.rec_headers["WARC-Date"].replace("Z", "+00:00") == proof["fetched"]
        assert missing.rec_headers["WARC-Target-URI"] == free.url("/robots.txt")
        assert missing.http_headers.get_statuscode() == "404"
        assert stats(crawler)["gbot_robots/archive/written"] == 2


@in_reactor
async def test_each_origin_s_robots_txt_is_kept_once(tmp_path: Path) -> None:
    archive = {"GBOT_ROBOTS_ARCHIVE": str(tmp_path / "robots.jsonl")}
    other = b"user-agent: *\ndisallow: /other\n\xff"
    with (
        Site({"/robots.txt": RULES}) as one,
        Site({"/robots.txt": RULES}) as alike,
        Site({"*": other}) as another,
        Site({"/robots.txt": Reply(404, b"nothing here")}) as missing,
    ):
        sites = (one, alike, another, missing)
        await crawl(Pages, archive, urls=[*(site.url("/a") for site in sites), one.url("/b")])
    rows = [json.loads(line) for line in (tmp_path / "robots.jsonl").read_text().splitlines()]
    urls = sorted(site.url("/robots.txt") for site in sites)
    assert sorted(row["url"] for row in rows) == urls
    by_hash = {row["robots"]: row for row in rows}
    assert by_hash[sha256(RULES).hexdigest()]["body"] == RULES.decode()
    assert by_hash[sha256(other).hexdigest()]["body_base64"]
    assert by_hash[sha256(b"nothing here").hexdigest()]["body"] == "nothing here"


@pytest.mark.parametrize("name", ["robots.warc", "robots.jsonl"])
@in_reactor
async def test_audit_reads_from_it_what_was_cut_and_what_a_wall_answered_in_place_of_a_site(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    long = RULES + b"#" * 100_000
    packed = Reply(200, gzip.compress(long), {"Content-Encoding": "gzip"})
    wall = Reply(403, b"no", {"cf-mitigated": "challenge"})
    with (
        Site({"/robots.txt": long, "*": b"ok"}) as site,
        Site({"/robots.txt": packed, "*": b"ok"}) as small,
        Site({"/robots.txt": wall, "*": b"ok"}) as walled,
        Site({"/robots.txt": Reply(404, b"#" * 1_000_000), "*": b"ok"}) as missing,
    ):
        settings = {"GBOT_ROBOTS_ARCHIVE": str(path), "GBOT_ROBOTS_MAX_BYTES": 500}
        sites = (site, small, walled, missing)
        await crawl(Pages, settings, urls=[each.url("/a") for each in sites])
    if name == "robots.warc":
        heads = [record.rec_headers for record, _ in records(path) if record.rec_type == "response"]
        truncated = {head["WARC-Target-URI"]: head["WARC-Truncated"] for head in heads}
        assert truncated.pop(walled.url("/robots.txt")) is None
        assert list(truncated.values()) == ["length"] * 3
    captures = {capture.url: capture for capture in Reading(str(path), 500).captures()}
    for each in (site, small):
        cut = captures[each.url("/robots.txt")]
        assert (cut.status, cut.body, cut.cut) == (200, long[:500], True)
    gone = captures[missing.url("/robots.txt")]
    assert (gone.status, gone.cut) == (404, True)
    assert "Cloudflare" in captures[walled.url("/robots.txt")].wall


@pytest.mark.parametrize("name", ["robots.warc", "robots.jsonl"])
@pytest.mark.parametrize("coding", ["identity", "gzip", "unknown"])
@in_reactor
async def test_error_page_is_kept_with_all_that_says_what_it_means(
    tmp_path: Path, coding: str, name: str
) -> None:
    page = b"<meta name=robots content=none>\n" * 100 + b"<title>Page not found</title>"
    missing = Reply(
        503, gzip.compress(page) if coding == "gzip" else page, {"Content-Encoding": coding}
    )
    with Site({"/robots.txt": missing, "*": b"ok"}) as site:
        archive = {"GBOT_ROBOTS_ARCHIVE": str(tmp_path / name)}
        await crawl(Pages, archive, urls=[site.url("/a")])
    served, *_ = Reading(str(tmp_path / name), 500_000).captures()
    assert (served.status, served.body) == (503, page)


@in_reactor
async def test_file_of_another_crawl_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "robots.jsonl.gz"
    path.write_bytes(b"of another crawl")
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        for _ in range(2):
            await crawl(Pages, {"GBOT_ROBOTS_ARCHIVE": str(path)}, urls=[site.url("/a")])
    assert path.read_bytes() == b"of another crawl"
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == ["robots-2.jsonl.gz", "robots-3.jsonl.gz", "robots.jsonl.gz"]
    assert json.loads(gzip.decompress((tmp_path / names[0]).read_bytes()))["body"] == RULES.decode()


@needs_posix
def test_archive_of_a_crawl_that_was_killed_is_read_by_warcio(tmp_path: Path) -> None:
    path = tmp_path / "robots.warc.gz"
    slow = Reply(after_secs=60)
    with (
        Site({"/robots.txt": RULES, "*": slow}) as one,
        Site({"/robots.txt": RULES + b"#", "*": slow}) as other,
    ):
        urls = [one.url("/a"), other.url("/a")]
        with subprocess.Popen(
            command(urls, {"GBOT_ROBOTS_ARCHIVE": str(path)}), stderr=subprocess.PIPE
        ) as crawling:
            block_until(
                lambda: path.read_bytes().count(b"\x1f\x8b\x08") >= 5, despite=(FileNotFoundError,)
            )
            crawling.send_signal(signal.SIGKILL)
        assert crawling.returncode == -signal.SIGKILL
    found = {record.rec_headers["WARC-Target-URI"]: body for record, body in records(path)
             if record.rec_type == "response"}  # fmt: skip
    assert found == {one.url("/robots.txt"): RULES, other.url("/robots.txt"): RULES + b"#"}


@needs_posix
@pytest.mark.slow
def test_full_disk_is_said_once_and_costs_no_page(tmp_path: Path) -> None:
    path = tmp_path / "robots.jsonl"
    with Site({"*": b"ok"}) as site, Site({"/robots.txt": RULES, "*": b"ok"}) as small:
        site.pages["/robots.txt"] = RULES + b"#" * 50_000
        with Site({"/robots.txt": RULES + b"#" * 60_000, "*": b"ok"}) as large:
            urls = [site.url("/a"), large.url("/a"), small.url("/a")]
            settings = {"GBOT_ROBOTS_ARCHIVE": str(path), "CONCURRENT_REQUESTS": 1}
            ended = subprocess.run(
                command(urls, settings, 10_000),
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            )
            assert all("/a" in each.paths() for each in (site, large, small))
    assert ended.stderr.count("GBOT_ROBOTS_ARCHIVE cannot be written") == 1
    assert "'gbot_robots/archive/errors': 2" in ended.stderr
    (row,) = map(
        json.loads, path.read_text().splitlines()
    )  # nothing is left of those that did not fit
    assert row["url"] == small.url("/robots.txt")


@pytest.mark.parametrize(
    "error", [None, UnicodeEncodeError("latin-1", "\u65e5", 0, 1, "ordinal not in range")]
)
@in_reactor
async def test_what_cannot_be_written_is_said_once_tried_again_and_costs_no_page(
    error: Exception | None,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / ("place" if error else "file") / "robots.jsonl.gz"
    if error:
        monkeypatch.setattr("scrapy_gbot_robots.report.archive.bytes_of", Mock(side_effect=error))
    with (
        Site({"/robots.txt": RULES, "*": b"ok"}) as one,
        Site({"*": b"ok"}) as alike,
        caplog.at_level(logging.ERROR),
    ):
        alike.pages["/robots.txt"] = Reply(200, RULES, after_secs=0.5)
        crawler = await crawl(
            Pages, {"GBOT_ROBOTS_ARCHIVE": str(path)}, urls=[one.url("/a"), alike.url("/a")]
        )
        assert set(pages(crawler).crawled) == {one.url("/a"), alike.url("/a")}
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(
        "GBOT_ROBOTS_ARCHIVE cannot be written; the crawl goes on, the archive lacks records: "
    )
    assert stats(crawler)["gbot_robots/archive/errors"] == 2


@in_reactor
async def test_archive_that_cannot_be_written_is_not_called_empty(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / f"{'x' * 300}.warc.gz"  # longer than a name may be, also for root
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site, caplog.at_level(logging.INFO):
        await crawl(Pages, {"GBOT_ROBOTS_ARCHIVE": str(path)}, urls=[site.url("/a")])
    lines = [record.getMessage() for record in caplog.records]
    error, last = [line for line in lines if "GBOT_ROBOTS_ARCHIVE" in line]
    assert f"File name too long: '{path}'" in error
    assert last == "GBOT_ROBOTS_ARCHIVE lacks records: 1 write failed, see the error above"


@pytest.mark.parametrize("name", ["r.warc", "r.warc.gz", "\u65e5.warc", "r.jsonl"])
@in_reactor
async def test_robots_txt_behind_a_redirect_to_any_url_is_archived(
    tmp_path: Path, name: str
) -> None:
    with Site({"*": RULES}) as site:
        site.pages["/robots.txt"] = Reply(
            301, b"", {"Location": "/r\u00e8gles?\u65e5".encode().decode("latin-1")}
        )
        crawler = await crawl(
            Pages, {"GBOT_ROBOTS_ARCHIVE": str(tmp_path / name)}, urls=[site.url("/a")]
        )
        assert stats(crawler)["gbot_robots/archive/written"] == 1
        end = site.url("/r%C3%A8gles?%E6%97%A5")
        if "warc" in name:
            *_, (last, _) = records(tmp_path / name)
            assert last.rec_headers["X-Robots-Location"] == end
            captures = list(Reading(str(tmp_path / name), 500).captures())
            assert [(capture.url, capture.body) for capture in captures] == [
                (end, RULES),
                (site.url("/robots.txt"), RULES),
            ]
            assert [record.rec_type for record, _ in records(tmp_path / name)] == [
                "warcinfo",
                "response",
                "request",
                "resource",
            ]
        else:
            *_, row = map(json.loads, (tmp_path / name).read_text().splitlines())
            assert row["location"] == site.url("/r\u00e8gles?\u65e5")


@pytest.mark.parametrize(
    ("spider", "name"),
    [
        ("a:b\\c", "a-b-c.warc"),
        ("../up", "--up.warc"),
        ("..", "-.warc"),
        ("shop.example", "shop.example.warc"),
    ],
)
def test_spider_s_name_leads_to_no_other_directory(spider: str, name: str) -> None:
    assert (
        archive_named(Path("at/%(name)s.warc"), spider, datetime.now(timezone.utc))
        == Path("at") / name
    )


def exchange(url: str, headers: dict[str, str]) -> Exchange:
    request, response = Request(url, headers=headers), Response(url, body=RULES)
    return Exchange(Fetched(200, url, RULES), request, response, Headers())


@pytest.mark.parametrize(
    ("changed", "led"),
    [
        ({"body": bytes(bytearray(RULES))}, True),
        ({"url": "http://b/"}, False),
        ({"status": 206}, False),
        ({"body": b"x"}, False),
    ],
)
def test_response_is_archived_only_for_what_it_led_to(changed: dict[str, Any], led: bool) -> None:
    copy = Copy(Kind.RULES, 200, "http://a/robots.txt", RULES, False, "HTTP 200", 0.0, 0.0)
    assert exchange("http://a/robots.txt", {}).led_to(replace(copy, **changed)) is led


def in_warc(home: Path, served: Served) -> list[Any]:
    """The records of a response and of its request, as warcio reads them."""
    (home / "r.warc").write_bytes(bytes_of(served, "r.warc", is_first=False))
    return [record for record, _ in records(home / "r.warc")]


def answered(status: int = 200, headers: dict[str, Any] | None = None, **named: Any) -> Served:
    url = "http://a.example/robots.txt?x"
    response = Response(url, status, body=RULES, **named)
    return Served.of(
        Exchange(Fetched(status, url, RULES), Request(url), response, Headers(headers)), 0.0
    )


@pytest.mark.parametrize(
    ("protocol", "status", "line", "version"),
    [
        (None, 200, "200 OK", "HTTP/1.1"),
        ("HTTP/1.0", 299, "299 Unknown", "HTTP/1.0"),
        ("h2", 200, "200 OK", "HTTP/2.0"),
        ("HTTP/2", 200, "200 OK", "HTTP/2.0"),
    ],
)
def test_exchange_names_its_protocol_status_url_and_its_two_records_one_another(
    tmp_path: Path, protocol: str | None, status: int, line: str, version: str
) -> None:
    response, request = in_warc(tmp_path, answered(status, protocol=protocol))
    assert (response.http_headers.protocol, response.http_headers.statusline) == (version, line)
    assert request.http_headers.statusline == f"/robots.txt?x {version}"
    assert request.rec_headers["WARC-Concurrent-To"] == response.rec_headers["WARC-Record-ID"]
    assert request.rec_headers["WARC-Target-URI"] == "http://a.example/robots.txt?x"
    assert request.rec_headers["WARC-Date"] == "1970-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("flags", "headers", "length"),
    [
        ([], {}, "28"),
        ([], {"Content-Length": "99"}, "28"),
        (["partial"], {}, None),
        (["partial"], {"Content-Length": "99"}, "99"),
        (["partial"], {"Content-Length": "99", "Transfer-Encoding": "chunked"}, None),
    ],
)
def test_exchange_has_the_length_that_fits_its_body_and_nothing_about_the_transfer(
    tmp_path: Path, flags: list[str], headers: dict[str, str], length: str | None
) -> None:
    more = {"Connection": "close", "X-Odd": ["a\r\n b", "c"]}
    response, _ = in_warc(tmp_path, answered(flags=flags, headers={**headers, **more}))
    assert response.http_headers["Content-Length"] == length
    assert response.http_headers["Transfer-Encoding"] is None
    assert response.http_headers["Connection"] is None
    odd = [value for name, value in response.http_headers.headers if name == "X-Odd"]
    assert odd == ["a  b", "c"]


PAGE = b"<title>Page not found</title>" + b"#" * 1_000


@pytest.mark.parametrize(
    ("codings", "sent", "kept"),
    [
        ([], PAGE, PAGE),
        (["GZIP"], gzip.compress(PAGE), PAGE),
        (["gzip", "gzip"], gzip.compress(gzip.compress(PAGE)), PAGE),
        (["gzip"], gzip.compress(PAGE)[:-8], PAGE),  # its end is missing
        (["gzip"], PAGE, PAGE),
        ([], b"#" * 65_537, b"#" * 65_536),
        (["gzip"], gzip.compress(b"#" * 65_537), b"#" * 65_536),
        (["gzip"], b"#" * 65_537, b"#" * 65_536),
    ],
    ids=range(8),  # what is compressed has the time in it
)
def test_of_an_error_page_the_beginning_is_kept_decoded_if_it_can_be(
    codings: list[str], sent: bytes, kept: bytes
) -> None:
    url = "http://a.example/robots.txt"
    outcome, response = Unavailable(404, url, "HTTP 404"), Response(url, 404, body=sent)
    headers = Headers({"Content-Encoding": codings})
    assert Served.of(Exchange(outcome, Request(url), response, headers), 0.0).body == kept


@in_reactor
async def test_chunked_answer_has_its_length_in_the_archive(tmp_path: Path) -> None:
    chunked = {"Transfer-Encoding": "chunked", "Content-Length": ""}
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(RULES), RULES)
    with Site({"/robots.txt": Reply(200, body, chunked), "*": b"ok"}) as site:
        settings = {"GBOT_ROBOTS_ARCHIVE": str(tmp_path / "r.warc")}
        await crawl(Pages, settings, urls=[site.url("/a")])
    ((response, text),) = [
        pair for pair in records(tmp_path / "r.warc") if pair[0].rec_type == "response"
    ]
    assert text == RULES
    assert response.http_headers["Content-Length"] == str(len(RULES))
    assert response.http_headers["Transfer-Encoding"] is None


def test_credentials_are_not_archived() -> None:
    sent = {
        "Proxy-Authorization": "Basic c2VjcmV0",
        "Authorization": "x",
        "Cookie": "y",
        "User-Agent": "testbot",
    }
    served = Served.of(exchange("http://a.example/robots.txt", sent), 0.0)
    assert served.request_headers == [("User-Agent", "testbot")]


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_gbot_robots.report.archive._MOST_ORIGINS", 3)
    monkeypatch.setattr("scrapy_gbot_robots.report.archive._MOST_EXCHANGES", 3)
    monkeypatch.setattr(
        "scrapy_gbot_robots.report.archive.Background.start", lambda self, work: work.close()
    )
    archive = RobotsArchive(get_crawler(), tmp_path / "r.jsonl")
    origins = [Origin("http", f"{number}.example", 80) for number in range(10)]
    for origin in origins:
        archive._served(origin, *exchange(origin.robots_url, {}))
    assert list(archive._exchanges) == origins[-3:]
    ftp = Origin("ftp", "a.example", 21)
    archive._served(ftp, *exchange(ftp.robots_url, {}))
    assert ftp not in archive._exchanges, "WARC has no response record for FTP"
    copy = Copy(Kind.RULES, 200, "", RULES, False, "HTTP 200", 0.0, 0.0)
    decision = Decision(State.RULES, "HTTP 200", False, 0.0, 0.0, copy)
    for origin in origins:
        archive._decided(CachedAnswer(origin, decision), copy)
    assert list(archive._kept) == origins[-3:]
    assert not archive._exchanges
