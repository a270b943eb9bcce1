"""The archive of a crawl: what decided about each origin, so that `judge` agrees; kills and trouble cost no page."""

import base64
import gzip
import json
import signal
import time
from collections import Counter
from contextlib import ExitStack
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Headers, Response
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots.answers.answer import CachedAnswer, Source
from scrapy_gbot_robots.bulk import judge
from scrapy_gbot_robots.core.urls import Origin
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.policy.outages import Copy, Decision, Entry, Kind, Outage, State
from scrapy_gbot_robots.report.record import RobotsRecord
from scrapy_gbot_robots.storage.memory import MemoryStorage

from ..support.crawls import Pages, crawl, in_reactor, in_sqlite, pages, stats
from ..support.documentation import HOME, blocks
from ..support.entries import NOW
from ..support.fleet import Worker
from ..support.rows import row, table
from ..support.systems import needs_posix
from ..support.until import block_until
from ..support.web import Reply, Site

RULES = b"user-agent: *\ndisallow: /no\n"
LONG = RULES + b"#" * 100_000
# "Page not found", which only the header's charset tells
RUSSIAN = {"Content-Type": "text/html; charset=KOI8-R"}
NOT_FOUND = Reply(500, "<title>Страница не найдена</title>".encode("koi8-r"), RUSSIAN)
WALL = Reply(403, b"no", {"cf-mitigated": "challenge"})
ELSEWHERE = "/r\u00e8gles?\u65e5"
MOVED = Reply(301, b"", {"Location": ELSEWHERE.encode().decode("latin-1")})
PACKED = Reply(200, gzip.compress(LONG), {"Content-Encoding": "gzip"})

# What each origin serves for /robots.txt; what the archive says of /yes and /no: 1 allowed, 0 disallowed, 2 unreachable;
# and which status and how much of the body are in it.
ORIGINS: dict[str, tuple[bytes | Reply, int, int, int, bytes]] = {
    "rules": (RULES, 1, 0, 200, RULES),
    "the same rules": (RULES, 1, 0, 200, RULES),
    "rules that are not UTF-8": (b"# caf\xe9\n" + RULES, 1, 0, 200, b"# caf\xe9\n" + RULES),
    "too long": (LONG, 1, 0, 200, LONG[:500]),
    "too long, compressed": (PACKED, 1, 0, 200, LONG[:500]),
    "missing": (Reply(404, b"gone"), 1, 1, 404, b""),
    "not found, as a server error": (NOT_FOUND, 1, 1, 500, b""),
    "a wall": (WALL, 1, 1, 403, b""),
    "down": (Reply(503, b""), 2, 2, 503, b""),
    "in a loop": (Reply(301, b"", {"Location": "/robots.txt"}), 1, 1, 301, b""),
    "moved": (MOVED, 1, 0, 200, RULES),
}


def verdicts(crawler: Crawler) -> dict[str, int]:
    """What the crawl decided about its pages, in the numbers of `judge`."""
    found = dict.fromkeys(pages(crawler).crawled, 1)
    for url, error in pages(crawler).refused.items():
        assert isinstance(error, ForbiddenByRobotsTxt), error
        found[url] = 2 if "unreachable" in error.verdict.reason else 0
    return found


def json_lines(path: Path) -> bytes:
    text = path.read_bytes()
    if path.name.endswith(".gz"):
        return gzip.decompress(text)
    return text


def records(path: Path) -> list[dict[str, Any]]:
    return list(map(json.loads, json_lines(path).splitlines()))


def by_url(path: Path) -> dict[str, dict[str, Any]]:
    """The lines of an archive by their URLs; of several the last one."""
    return {row["url"]: row for row in records(path)}


def judged(archive: Path, urls: list[str]) -> dict[str, int | None]:
    """What `judge` says by an archive, which is read by the function on docs/record.md."""
    (block,) = [each for each in blocks(HOME / "docs/record.md") if "# by_record.py" in each.text]
    page: dict[str, Any] = {}
    exec(block.text.partition("\nif ")[0], page)  # noqa: S102 - ours
    compressed = archive.with_name("compressed.gz")
    compressed.write_bytes(gzip.compress(json_lines(archive)))
    robots = page["robots_of"](compressed)
    compressed.unlink()
    return dict(zip(urls, judge(urls, robots, "testbot")["testbot"], strict=True))


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz"])
@in_reactor
async def test_archive_of_either_crawl_has_what_was_served_and_gives_the_crawl_s_own_verdicts(
    name: str, tmp_path: Path, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        served = [{"/robots.txt": reply, "*": RULES} for reply, *_ in ORIGINS.values()]
        sites = [stack.enter_context(Site(pages)) for pages in served]
        urls = [site.url(path) for site in sites for path in ("/yes", "/no")]
        expected = [answer for _, *answers in ORIGINS.values() for answer in answers[:2]]
        for number, source in enumerate(["fetched", "from the storage"]):
            archive = tmp_path / f"{number}-{name}"
            settings = in_sqlite(tmp_path / "r.sqlite")
            settings |= {"GBOT_ROBOTS_PROVENANCE": True, "GBOT_ROBOTS_MAX_BYTES": 500}
            settings |= {"GBOT_ROBOTS_RECORD": archive.name}
            log.clear()
            crawler = await crawl(Pages, settings, urls=urls)
            assert verdicts(crawler) == dict(zip(urls, expected, strict=True))
            assert judged(archive, urls) == dict(zip(urls, expected, strict=True))
            assert stats(crawler, "gbot_robots/record/") == {"written": 11}
            (line,) = [text for text in log.messages if text.startswith("The record of this")]
            assert line == f"The record of this crawl is in {archive}: 11 robots.txt answers"
            rows = [by_url(archive)[site.url("/robots.txt")] for site in sites]
            assert len(records(archive)) == len(rows)
            assert Counter(row["source"] for row in rows if not row["unreachable"]) == {source: 10}
            for row, (_, *_, status, body) in zip(rows, ORIGINS.values(), strict=True):
                kept = row.get("body", "").encode() or base64.b64decode(row.get("body_base64", ""))
                assert (row["status"], row["cut"], kept) == (status, len(body) == 500, body)
            assert [row["location"] for row in rows] == [None] * 10 + [sites[10].url(ELSEWHERE)]
            assert "Cloudflare" in rows[7]["why"]
            proof = pages(crawler).crawled[urls[0]].meta["gbot_robots"]
            assert rows[0]["robots"] == proof["robots"] == sha256(RULES).hexdigest()
            assert rows[0]["fetched"].replace("Z", "+00:00") == proof["fetched"]


@in_reactor
async def test_line_of_a_fetch_has_its_headers(tmp_path: Path) -> None:
    packed = Reply(200, gzip.compress(RULES), {"Content-Encoding": "gzip", "X-Of-Server": "yes"})
    archive = {"GBOT_ROBOTS_RECORD": str(tmp_path / "new" / "%(name)s-%(time)s.jsonl")}
    with Site({"/robots.txt": packed, "*": b"ok"}) as site:
        await crawl(Pages, archive, urls=[site.url("/yes")])
    (path,) = (tmp_path / "new").iterdir()
    assert path.name.startswith("pages-20")
    (row,) = records(path)
    answer = [tuple(field) for field in row.pop("response_headers")]
    assert {("X-Of-Server", "yes"), ("Content-Encoding", "gzip")} <= set(answer)
    assert "testbot" in dict(row.pop("request_headers"))["User-Agent"]
    assert row == {
        "url": site.url("/robots.txt"),
        "fetched": row["fetched"],
        "source": "fetched",
        "state": "rules",
        "why": "HTTP 200",
        "unreachable": False,
        "status": 200,
        "location": None,
        "robots": sha256(RULES).hexdigest(),
        "cut": False,
        "ip": "127.0.0.1",
        "body": RULES.decode(),
    }


@in_reactor
async def test_file_of_another_crawl_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "robots.jsonl.gz"
    path.write_bytes(b"of another crawl")
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        for _ in range(2):
            await crawl(Pages, {"GBOT_ROBOTS_RECORD": str(path)}, urls=[site.url("/a")])
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
        worker = Worker([one.url("/a"), other.url("/a")], {"GBOT_ROBOTS_RECORD": str(path)})
        gzip_head = b"\x1f\x8b\x08"
        block_until(lambda: path.exists() and path.read_bytes().count(gzip_head) >= 2)
        worker.kill()
        assert worker.process.returncode == -signal.SIGKILL
    bodies = {url: row["body"].encode() for url, row in by_url(path).items()}
    assert bodies == {one.url("/robots.txt"): RULES, other.url("/robots.txt"): RULES + b"#"}


@needs_posix
@pytest.mark.slow
def test_full_disk_is_said_once_and_costs_no_page(tmp_path: Path) -> None:
    path = tmp_path / "robots.jsonl"
    with Site({"*": b"ok"}) as site, Site({"/robots.txt": RULES, "*": b"ok"}) as small:
        site.pages["/robots.txt"] = RULES + b"#" * 50_000
        with Site({"/robots.txt": RULES + b"#" * 60_000, "*": b"ok"}) as large:
            urls = [site.url("/a"), large.url("/a"), small.url("/a")]
            settings = {"GBOT_ROBOTS_RECORD": str(path), "CONCURRENT_REQUESTS": 1}
            worker = Worker(urls, settings, most_bytes=10_000)
            counted = worker.report()["stats"]
            assert all("/a" in each.paths() for each in (site, large, small))
    assert worker.log.count("GBOT_ROBOTS_RECORD cannot be written") == 1
    assert counted["gbot_robots/record/errors"] == 2
    (row,) = records(path)  # nothing is left of those that did not fit
    assert row["url"] == small.url("/robots.txt")


@pytest.mark.parametrize("name", ["file/r.jsonl.gz", f"{'x' * 300}.jsonl", "r\0.jsonl"])
@in_reactor
async def test_what_cannot_be_written_is_said_once_tried_again_and_costs_no_page(
    name: str, tmp_path: Path, log: Any
) -> None:
    (tmp_path / "file").touch()
    with Site({"*": b"ok"}) as one, Site({"*": b"ok"}) as alike:
        alike.pages["/robots.txt"] = Reply(200, RULES, after_secs=0.5)
        archive = {"GBOT_ROBOTS_RECORD": str(tmp_path / name)}
        crawler = await crawl(Pages, archive, urls=[one.url("/a"), alike.url("/a")])
        assert set(pages(crawler).crawled) == {one.url("/a"), alike.url("/a")}
    (said,) = [text for text in log.messages if "GBOT_ROBOTS_RECORD" in text]
    goes_on = "cannot be written; the crawl goes on, but the record lacks lines: "
    assert said.startswith(f"GBOT_ROBOTS_RECORD {goes_on}")
    assert stats(crawler)["gbot_robots/record/errors"] == 2


@in_reactor
async def test_what_the_ladder_allows_and_refusals_are_in_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    settings: dict[str, Any] = in_sqlite(tmp_path / "r.sqlite")
    settings |= {"GBOT_ROBOTS_UNREACHABLE": "allow", "GBOT_ROBOTS_ACCESS_DENIED": "disallow"}
    with (
        Site({"/robots.txt": Reply(503, b""), "*": b"ok"}) as down,
        Site({"/robots.txt": Reply(403, b""), "*": b"ok"}) as refusing,
    ):
        urls = [down.url("/yes"), refusing.url("/yes")]
        await crawl(Pages, settings, urls=urls)
        crawler = await crawl(Pages, {**settings, "GBOT_ROBOTS_RECORD": str(path)}, urls=urls)
    facts = itemgetter("state", "status", "unreachable", "why")
    assert [facts(by_url(path)[site.url("/robots.txt")]) for site in (down, refusing)] == [
        ("full allow", 503, True, "robots.txt unreachable: HTTP 503"),
        ("full disallow", 403, False, "HTTP 403"),
    ]
    assert verdicts(crawler) == judged(path, urls) == {urls[0]: 1, urls[1]: 0}


class Absurd(MemoryStorage):
    """Knows of each origin a robots.txt from a date that is none, and an outage since."""

    def get(self, origin: str) -> Entry:
        copy = Copy(Kind.RULES, 200, f"{origin}/robots.txt", RULES, False, "HTTP 200", 1e300, 1e300)
        return Entry(copy, Outage(NOW, 3, 503, "HTTP 503", time.time() + 60))


@in_reactor
async def test_absurd_date_in_the_storage_costs_no_record_proof_or_report(tmp_path: Path) -> None:
    with Site({"*": b"ok", "/robots.txt": Reply(503, b"")}) as site:
        urls = [site.url("/yes"), site.url("/no")]
        settings = {
            "GBOT_ROBOTS_RECORD": str(tmp_path / "r.jsonl"),
            "GBOT_ROBOTS_STORAGE": "tests.report.test_record.Absurd",
            "GBOT_ROBOTS_UNREACHABLE": "allow",
            "GBOT_ROBOTS_PROVENANCE": True,
            "GBOT_ROBOTS_REPORT": str(tmp_path / "r.html"),
        }
        crawler = await crawl(Pages, settings, urls=urls)
    assert verdicts(crawler) == {urls[0]: 1, urls[1]: 0}
    assert judged(tmp_path / "r.jsonl", urls) == verdicts(crawler)
    assert "disallow: /no" in (tmp_path / "r.html").read_text().lower()
    proof = pages(crawler).crawled[urls[0]].meta["gbot_robots"]
    assert (proof["fetched"], proof["line"]) == (None, None)


class Old(MemoryStorage):
    """Knows of each origin a robots.txt of three days ago, and an outage since."""

    def get(self, origin: str) -> Entry:
        then = time.time() - 3 * 86_400
        copy = Copy(Kind.RULES, 200, f"{origin}/robots.txt", RULES, False, "HTTP 200", then, then)
        return Entry(copy, Outage(then, 3, 503, "HTTP 503", then))


@in_reactor
async def test_robots_txt_that_counts_as_a_fetch_fails_is_said_to_be_stored(tmp_path: Path) -> None:
    settings = {
        "GBOT_ROBOTS_RECORD": str(tmp_path / "r.jsonl"),
        "GBOT_ROBOTS_STORAGE": "tests.report.test_record.Old",
        "GBOT_ROBOTS_UNREACHABLE": "google-2026",
    }
    with Site({"*": Reply(503, b"")}) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/no")])
        assert site.paths() == ["/robots.txt"]
    assert verdicts(crawler) == {site.url("/no"): 0}
    (row,) = records(tmp_path / "r.jsonl")
    facts = itemgetter("source", "unreachable", "state", "body")
    assert facts(row) == ("from the storage", False, "rules", RULES.decode())


OVERRIDE = {"127.0.0.1": {"rules": "User-agent: *\nAllow: /", "reason": "agreed"}}


@table(
    "settings, meta",
    row("override", {"GBOT_ROBOTS_OVERRIDES": OVERRIDE}, {}),
    row("dont_obey_robotstxt", {}, {"dont_obey_robotstxt": True}),
    row("ROBOTSTXT_OBEY", {"ROBOTSTXT_OBEY": False}, {}),
)
@in_reactor
async def test_record_lacks_what_was_not_asked(settings: Any, meta: Any, tmp_path: Path) -> None:
    archive = {"GBOT_ROBOTS_RECORD": str(tmp_path / "r.jsonl")}
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        urls = [Request(site.url("/yes"), meta=meta)]
        crawler = await crawl(Pages, {**archive, **settings}, urls=urls)
    assert len(pages(crawler).crawled) == 1
    assert list(tmp_path.iterdir()) == []


# Without a crawl


class Deciding:
    """An archive that writes nothing; the lines that it would write are in `kept`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kept: list[dict[str, Any]] = []
        monkeypatch.setattr(RobotsRecord, "_keep", lambda _, origin, row: self.kept.append(row))
        monkeypatch.setattr("scrapy_gbot_robots.report.record.Background.start", lambda *_: None)
        monkeypatch.setattr("scrapy_gbot_robots.report.record._MOST_ORIGINS", 3)
        monkeypatch.setattr("scrapy_gbot_robots.report.record._MOST_WAITING", 3)
        self.archive = RobotsRecord(get_crawler(), Path("r.jsonl"))

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


def test_headers_are_kept_without_secrets_and_of_a_fetch_that_decides(deciding: Deciding) -> None:
    for number, source in enumerate([Source.FETCHED, Source.ANOTHER, Source.STORED]):
        deciding.serve(f"{number}.example")
        deciding.decide(f"{number}.example", source=source)
    sent = [row.get("request_headers") for row in deciding.kept]
    assert sent == [[("X-Mine", "d")], None, None]


def test_what_decides_is_kept_as_it_changes_an_outage_only_at_first(deciding: Deciding) -> None:
    for is_out, body in ((False, RULES), (True, b""), (False, RULES), (False, RULES + b"#")):
        deciding.decide("a.example", body=body, is_out=is_out)
    for is_out in (True, True, False):
        deciding.decide("b.example", is_out=is_out)
    for status in (404, 404, 410, 410, 404):
        deciding.decide("c.example", status)
    assert [(row["url"][7], row["unreachable"], row["status"]) for row in deciding.kept] == [
        *(("a", False, 200), ("a", False, 200)),
        *(("b", True, 200), ("b", False, 200)),
        *(("c", False, 404), ("c", False, 410), ("c", False, 404)),
    ]
