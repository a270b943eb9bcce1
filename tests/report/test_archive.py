"""The archive of robots.txt files: what is in it, that it survives a kill, and that trouble with it costs no page."""

import base64
import gzip
import json
import logging
import signal
import subprocess
import sys
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Headers, Response
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots.core.urls import Origin
from scrapy_gbot_robots.obeying.answer import CachedAnswer, Source
from scrapy_gbot_robots.policy.outages import Copy, Decision, Kind, State
from scrapy_gbot_robots.report.archive import RobotsArchive

from ..support.crawls import Pages, crawl, in_reactor, pages, stats
from ..support.systems import needs_posix
from ..support.until import block_until
from ..support.web import Reply, Site
from .test_record import records as lines_of

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


def records(path: Path) -> dict[str, dict[str, Any]]:
    """The lines of an archive by their URLs; of several the last one."""
    return {row["url"]: row for row in lines_of(path)}


@pytest.mark.parametrize("end", [".jsonl", ".jsonl.gz"])
@in_reactor
async def test_archive_has_what_decided_about_each_origin(tmp_path: Path, end: str) -> None:
    packed = Reply(200, gzip.compress(RULES), {"Content-Encoding": "gzip", "X-Of-Server": "yes"})
    with Site({"/robots.txt": packed, "*": b"ok"}) as site, Site({"/a": b"ok"}) as free:
        archive = {"GBOT_ROBOTS_ARCHIVE": str(tmp_path / "new" / f"%(name)s-%(time)s{end}")}
        crawler = await crawl(
            Pages, {**archive, **PROVENANCE}, urls=[site.url("/yes"), free.url("/a")]
        )
        (path,) = (tmp_path / "new").iterdir()
        assert path.name.startswith("pages-20")
        lines = records(path)
        served, missing = (lines[each.url("/robots.txt")] for each in (site, free))
        answer = [tuple(field) for field in served.pop("response_headers")]
        assert {("X-Of-Server", "yes"), ("Content-Encoding", "gzip")} <= set(answer)
        assert "testbot" in dict(served.pop("request_headers"))["User-Agent"]
        proof = pages(crawler).crawled[site.url("/yes")].meta["gbot_robots"]
        assert served == {
            "url": site.url("/robots.txt"),
            "fetched": proof["fetched"].replace("+00:00", "Z"),
            "source": "fetched",
            "state": "rules",
            "why": "HTTP 200",
            "unreachable": False,
            "status": 200,
            "location": None,
            "robots": proof["robots"],
            "cut": False,
            "ip": "127.0.0.1",
            "body": RULES.decode(),
        }
        assert proof["robots"] == sha256(RULES).hexdigest()
        assert (missing["status"], missing["state"], missing["robots"]) == (404, "full allow", None)
        assert stats(crawler)["gbot_robots/archive/written"] == 2


LONG = RULES + b"#" * 100_000
ELSEWHERE = "/r\u00e8gles?\u65e5"
# What an origin serves; of the line about it, status, whether it is cut, and the body.
ORIGINS: list[tuple[bytes | Reply, int, bool, bytes]] = [
    (RULES, 200, False, RULES),
    (RULES, 200, False, RULES),
    (RULES + b"\xff", 200, False, RULES + b"\xff"),
    (Reply(404, b"nothing here"), 404, False, b""),
    (Reply(403, b"no", {"cf-mitigated": "challenge"}), 403, False, b""),
    (LONG, 200, True, LONG[:500]),
    (Reply(200, gzip.compress(LONG), {"Content-Encoding": "gzip"}), 200, True, LONG[:500]),
    (Reply(301, b"", {"Location": ELSEWHERE.encode().decode("latin-1")}), 200, False, b"ok"),
]


@in_reactor
async def test_each_origin_has_one_line_with_what_it_served_and_whether_that_was_cut(
    tmp_path: Path,
) -> None:
    settings = {"GBOT_ROBOTS_ARCHIVE": str(tmp_path / "r.jsonl"), "GBOT_ROBOTS_MAX_BYTES": 500}
    with ExitStack() as stack:
        sites = [
            stack.enter_context(Site({"/robots.txt": reply, "*": b"ok"})) for reply, *_ in ORIGINS
        ]
        urls = [site.url(page) for site in sites for page in ("/a", "/b")]
        await crawl(Pages, settings, urls=urls)
    rows = [records(tmp_path / "r.jsonl")[site.url("/robots.txt")] for site in sites]
    assert len(lines_of(tmp_path / "r.jsonl")) == len(ORIGINS)
    for row, (_, status, is_cut, body) in zip(rows, ORIGINS, strict=True):
        kept = row.get("body", "").encode() or base64.b64decode(row.get("body_base64", ""))
        assert (row["status"], row["cut"], kept) == (status, is_cut, body)
    assert "Cloudflare" in rows[4]["why"]
    assert [row["location"] for row in rows] == [None] * 7 + [sites[7].url(ELSEWHERE)]


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
def test_archive_of_a_crawl_that_was_killed_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "robots.jsonl.gz"
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
                lambda: path.read_bytes().count(b"\x1f\x8b\x08") >= 2, despite=(FileNotFoundError,)
            )
            crawling.send_signal(signal.SIGKILL)
        assert crawling.returncode == -signal.SIGKILL
    bodies = {url: row["body"].encode() for url, row in records(path).items()}
    assert bodies == {one.url("/robots.txt"): RULES, other.url("/robots.txt"): RULES + b"#"}


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


@pytest.mark.parametrize("name", ["file/r.jsonl.gz", f"{'x' * 300}.jsonl", "r\0.jsonl"])
@in_reactor
async def test_what_cannot_be_written_is_said_once_tried_again_and_costs_no_page(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    with Site({"*": b"ok"}) as one, Site({"*": b"ok"}) as alike, caplog.at_level(logging.INFO):
        alike.pages["/robots.txt"] = Reply(200, RULES, after_secs=0.5)
        archive = {"GBOT_ROBOTS_ARCHIVE": str(tmp_path / name)}
        crawler = await crawl(Pages, archive, urls=[one.url("/a"), alike.url("/a")])
        assert set(pages(crawler).crawled) == {one.url("/a"), alike.url("/a")}
    (said,) = [text for text in caplog.messages if "GBOT_ROBOTS_ARCHIVE" in text]
    assert said.startswith(
        "GBOT_ROBOTS_ARCHIVE cannot be written; the crawl goes on, the archive lacks records: "
    )
    assert stats(crawler)["gbot_robots/archive/errors"] == 2


# Without a crawl


class Deciding:
    """An archive that writes nothing; the lines that it would write are in `kept`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kept: list[dict[str, Any]] = []
        monkeypatch.setattr(RobotsArchive, "_keep", lambda _, origin, row: self.kept.append(row))
        monkeypatch.setattr("scrapy_gbot_robots.report.archive.Background.start", lambda *_: None)
        monkeypatch.setattr("scrapy_gbot_robots.report.archive._MOST_ORIGINS", 3)
        monkeypatch.setattr("scrapy_gbot_robots.report.archive._MOST_WAITING", 3)
        self.archive = RobotsArchive(get_crawler(), Path("r.jsonl"))

    def serve(self, name: str) -> None:
        url = f"http://{name}/robots.txt"
        sent = {"Authorization": "a", "Proxy-Authorization": "b", "Cookie": "c", "X-Mine": "d"}
        request = Request(url, headers=sent)
        self.archive._served(Origin("http", name, 80), request, Response(url), Headers())

    def decide(
        self,
        name: str,
        status: int = 200,
        body: bytes = RULES,
        source: Source = Source.FETCHED,
        *,
        is_out: bool = False,
    ) -> None:
        origin = Origin("http", name, 80)
        copy = None
        state = State.FULL_DISALLOW
        if not is_out:
            kind = Kind.RULES if status == 200 else Kind.NONE
            state = State.RULES if status == 200 else State.FULL_ALLOW
            copy = Copy(kind, status, origin.robots_url, body, False, "HTTP 200", 0.0, 0.0)
        decision = Decision(state, "HTTP 503", is_out, 0.0, 0.0, copy)
        self.archive._decided(CachedAnswer(origin, decision, status, source), copy)


@pytest.fixture
def deciding(monkeypatch: pytest.MonkeyPatch) -> Deciding:
    return Deciding(monkeypatch)


def test_what_is_remembered_is_bounded(deciding: Deciding) -> None:
    names = [f"{number}.example" for number in range(10)]
    for name in names:
        deciding.serve(name)
    assert [origin.host for origin in deciding.archive._headers] == names[-3:]
    for name in names:
        deciding.decide(name)
    assert [origin.host for origin in deciding.archive._kept] == names[-3:]
    assert not deciding.archive._headers


def test_headers_are_kept_without_secrets_and_only_of_a_fetch_that_has_decided(
    deciding: Deciding,
) -> None:
    for number, source in enumerate([Source.FETCHED, Source.ANOTHER, Source.STORED]):
        deciding.serve(f"{number}.example")
        deciding.decide(f"{number}.example", source=source)
    sent = [row.get("request_headers") for row in deciding.kept]
    assert sent == [[("X-Mine", "d")], None, None]


def test_another_status_is_another_line_and_the_same_one_is_none(deciding: Deciding) -> None:
    for status in (404, 404, 410, 410, 404):
        deciding.decide("a.example", status)
    assert [row["status"] for row in deciding.kept] == [404, 410, 404]


def test_what_decides_is_kept_when_it_changes_and_an_outage_only_if_nothing_decided_before(
    deciding: Deciding,
) -> None:
    for is_out, body in ((False, RULES), (True, b""), (False, RULES), (False, RULES + b"#")):
        deciding.decide("a.example", body=body, is_out=is_out)
    for is_out in (True, True, False):
        deciding.decide("b.example", is_out=is_out)
    assert [(row["url"][7], row["unreachable"]) for row in deciding.kept] == [
        *(("a", False), ("a", False), ("b", True)),
        ("b", False),
    ]
