"""The record of a crawl: its archive has what decided about each origin, fetched now or before, and `audit` agrees."""

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler
from warcio.archiveiterator import ArchiveIterator

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.bulk.archive_reader import Reading
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.obeying.answer import CachedAnswer
from scrapy_gbot_robots.policy.outages import Copy, Decision, Entry, Kind, Outage, State
from scrapy_gbot_robots.report.archive import RobotsArchive
from scrapy_gbot_robots.report.archive_records import Decided, bytes_of
from scrapy_gbot_robots.storage.memory import MemoryStorage

from ..support.command import run_here
from ..support.crawls import Pages, crawl, in_reactor, in_sqlite, pages, stats
from ..support.entries import NOW
from ..support.web import Reply, Site

RULES = b"user-agent: *\ndisallow: /no\n"
# "Page not found", which only the header's charset tells
NOT_FOUND = Reply(
    500,
    "<title>Страница не найдена</title>".encode("koi8-r"),
    {"Content-Type": "text/html; charset=KOI8-R"},
)
WALL = Reply(403, b"no", {"cf-mitigated": "challenge"})

# What each origin serves for /robots.txt, and what an audit says of /yes and /no: 1 allowed, 0 disallowed, 2 unreachable.
ORIGINS: dict[str, tuple[bytes | Reply, int, int]] = {
    "rules": (RULES, 1, 0),
    "the same rules": (RULES, 1, 0),
    "missing": (Reply(404, b"gone"), 1, 1),
    "not found, as a server error": (NOT_FOUND, 1, 1),
    "a wall": (WALL, 1, 1),
    "down": (Reply(503, b""), 2, 2),
    "in a loop": (Reply(301, b"", {"Location": "/robots.txt"}), 1, 1),
    "moved": (Reply(301, b"", {"Location": "/rules.txt"}), 1, 0),
}
NAMES = ["r.warc", "r.warc.gz", "r.jsonl", "r.jsonl.gz"]


def verdicts(crawler: Crawler) -> dict[str, int]:
    """What the crawl decided about its pages, in the words of an audit."""
    found = dict.fromkeys(pages(crawler).crawled, 1)
    for url, error in pages(crawler).refused.items():
        assert isinstance(error, ForbiddenByRobotsTxt), error
        found[url] = 2 if "unreachable" in error.verdict.reason else 0
    return found


def audited(archive: Path, urls: list[str], settings: str = "") -> dict[str, int]:
    pytest.importorskip("duckdb", reason="duckdb is not installed")
    home = archive.parent
    (home / "urls.txt").write_text("\n".join(urls))
    out = home / f"of-{archive.name}.out.jsonl"
    line = ["audit", f"--robots={archive}", "--urls=urls.txt", "--as=testbot", f"--output={out}"]
    ended = run_here(*line, *settings.split(), cwd=home)
    assert ended.status == 0, ended.err
    rows = map(json.loads, out.read_text().splitlines())
    return {row["url"]: row["testbot"] for row in rows}


def records(path: Path) -> list[tuple[Any, bytes]]:
    with path.open("rb") as file:
        return [(record, record.raw_stream.read()) for record in ArchiveIterator(file)]


@pytest.mark.parametrize("name", NAMES)
@in_reactor
async def test_audit_by_the_archive_of_either_crawl_gives_the_crawl_s_own_verdicts(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sites = [Site({"/robots.txt": reply, "/rules.txt": RULES}) for reply, _, _ in ORIGINS.values()]
    with sites[0], sites[1], sites[2], sites[3], sites[4], sites[5], sites[6], sites[7]:
        for site in sites:
            site.pages["*"] = b"ok"
        urls = [site.url(path) for site in sites for path in ("/yes", "/no")]
        expected = [answer for _, *answers in ORIGINS.values() for answer in answers]
        for number, (fetched, stored) in enumerate([(7, 0), (0, 7)]):
            archive = tmp_path / f"{number}-{name}"
            caplog.clear()
            with caplog.at_level(logging.INFO):
                settings = {"GBOT_ROBOTS_ARCHIVE": archive.name, **in_sqlite(tmp_path / "r.sqlite")}
                crawler = await crawl(Pages, settings, urls=urls)
            assert verdicts(crawler) == dict(zip(urls, expected, strict=True))
            assert audited(archive, urls) == dict(zip(urls, expected, strict=True))
            counted = stats(crawler, "gbot_robots/archive/")
            assert counted.pop("gbot_robots/archive/written") == 8
            assert counted.pop("gbot_robots/archive/unreachable") == 1
            assert counted == {
                f"gbot_robots/archive/{what}": count
                for what, count in (("fetched", fetched), ("stored", stored))
                if count
            }
            (line,) = [text for text in caplog.messages if text.startswith("The record of this")]
            assert line == (
                f"The record of this crawl is in {archive}: 8 robots.txt answers, {fetched} fetched by it, "
                f"{stored} from the storage, 1 unreachable"
            )


@in_reactor
async def test_what_was_stored_is_in_the_archive_with_its_own_date_and_hash(tmp_path: Path) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site, Site({"/yes": b"ok"}) as free:
        urls = [site.url("/yes"), free.url("/yes")]
        settings: dict[str, Any] = in_sqlite(tmp_path / "r.sqlite")
        await crawl(Pages, settings, urls=urls)
        settings["GBOT_ROBOTS_PROVENANCE"] = True
        crawler = await crawl(
            Pages, {**settings, "GBOT_ROBOTS_ARCHIVE": str(tmp_path / "r.warc")}, urls=urls
        )
    info, *rest = records(tmp_path / "r.warc")
    assert info[0].rec_type == "warcinfo"
    ids = {str(record.rec_headers["WARC-Record-ID"]) for record, _ in (info, *rest)}
    assert (len(ids), {text[:10] for text in ids}) == (3, {"<urn:uuid:"})
    by_url = {record.rec_headers["WARC-Target-URI"]: (record, body) for record, body in rest}
    record, body = by_url[site.url("/robots.txt")]
    proof = pages(crawler).crawled[site.url("/yes")].meta["gbot_robots"]
    assert (record.rec_type, record.rec_headers["Content-Type"]) == ("resource", "text/plain")
    assert body == RULES
    assert record.rec_headers["X-Robots-SHA256"] == proof["robots"]
    assert record.rec_headers["WARC-Date"].replace("Z", "+00:00") == proof["fetched"]
    assert record.rec_headers["X-Robots-Source"] == "from the storage"
    record, body = by_url[free.url("/robots.txt")]
    assert (record.rec_type, record.rec_headers["Content-Type"]) == (
        "metadata",
        "application/warc-fields",
    )
    assert body == b"robots-state: full allow\r\nrobots-why: HTTP 404\r\nrobots-status: 404\r\n"


@in_reactor
async def test_archive_says_of_a_stored_robots_txt_whether_it_was_cut(tmp_path: Path) -> None:
    with (
        Site({"/robots.txt": RULES, "*": b"ok"}) as whole,
        Site({"/robots.txt": RULES + b"#" * 100, "*": b"ok"}) as cut,
    ):
        urls = [whole.url("/yes"), cut.url("/yes")]
        settings: dict[str, Any] = in_sqlite(tmp_path / "r.sqlite")
        settings["GBOT_ROBOTS_MAX_BYTES"] = 50
        await crawl(Pages, settings, urls=urls)
        settings["GBOT_ROBOTS_ARCHIVE"] = str(tmp_path / "r.warc")
        await crawl(Pages, settings, urls=urls)
    _, *stored = [record.rec_headers for record, _ in records(tmp_path / "r.warc")]
    truncated = {head["WARC-Target-URI"]: head["WARC-Truncated"] for head in stored}
    assert truncated == {whole.url("/robots.txt"): None, cut.url("/robots.txt"): "length"}
    read = {each.url: each.cut for each in Reading(str(tmp_path / "r.warc"), 500_000).captures()}
    assert read == {whole.url("/robots.txt"): False, cut.url("/robots.txt"): True}


@pytest.mark.parametrize("name", ["r.warc", "r.jsonl"])
@in_reactor
async def test_what_the_ladder_allows_and_what_is_refused_are_in_the_archive(
    name: str, tmp_path: Path
) -> None:
    down, closed = Reply(503, b""), Reply(403, b"")
    with (
        Site({"/robots.txt": down, "*": b"ok"}) as open_site,
        Site({"/robots.txt": closed, "*": b"ok"}) as refusing,
    ):
        urls = [open_site.url("/yes"), refusing.url("/yes")]
        storage = in_sqlite(tmp_path / "r.sqlite")
        settings = {
            **storage,
            "GBOT_ROBOTS_UNREACHABLE": "allow",
            "GBOT_ROBOTS_REFUSED": "disallow",
        }
        await crawl(Pages, settings, urls=urls)
        settings["GBOT_ROBOTS_ARCHIVE"] = str(tmp_path / name)
        crawler = await crawl(Pages, settings, urls=urls)
    read = {each.url: each for each in Reading(str(tmp_path / name), 500_000).captures()}
    down_now, refused = (read[site.url("/robots.txt")] for site in (open_site, refusing))
    assert (down_now.state, down_now.status, down_now.temporary) == ("full allow", 503, True)
    assert (refused.state, refused.status, refused.temporary) == ("full disallow", 403, False)
    assert (down_now.why, refused.why) == ("robots.txt unreachable: HTTP 503", "HTTP 403")
    expected = {open_site.url("/yes"): 1, refusing.url("/yes"): 0}
    assert verdicts(crawler) == expected
    assert audited(tmp_path / name, urls) == expected


class Absurd(MemoryStorage):
    """Knows of each origin a robots.txt from a date that is none, and an outage since."""

    def get(self, origin: str) -> Entry:
        copy = Copy(Kind.RULES, 200, f"{origin}/robots.txt", RULES, False, "HTTP 200", 1e300, 1e300)
        return Entry(copy, Outage(NOW, 3, 503, "HTTP 503", time.time() + 60))


@pytest.mark.parametrize("name", ["r.warc", "r.jsonl"])
@in_reactor
async def test_absurd_date_in_the_storage_costs_no_record_no_proof_and_no_report(
    name: str, tmp_path: Path
) -> None:
    with Site({"*": b"ok", "/robots.txt": Reply(503, b"")}) as site:
        urls = [site.url("/yes"), site.url("/no")]
        settings = {
            "GBOT_ROBOTS_ARCHIVE": str(tmp_path / name),
            "GBOT_ROBOTS_STORAGE": "tests.report.test_record.Absurd",
            "GBOT_ROBOTS_UNREACHABLE": "allow",
            "GBOT_ROBOTS_PROVENANCE": True,
            "GBOT_ROBOTS_REPORT": str(tmp_path / "r.html"),
        }
        crawler = await crawl(Pages, settings, urls=urls)
    assert verdicts(crawler) == {urls[0]: 1, urls[1]: 0}
    assert audited(tmp_path / name, urls) == verdicts(crawler)
    assert "disallow: /no" in (tmp_path / "r.html").read_text().lower()
    proof = pages(crawler).crawled[urls[0]].meta["gbot_robots"]
    assert (proof["fetched"], proof["line"]) == (None, None)


class Old(MemoryStorage):
    """Knows of each origin a robots.txt of three days ago, and an outage since."""

    def get(self, origin: str) -> Entry:
        then = time.time() - 3 * 86_400
        copy = Copy(Kind.RULES, 200, f"{origin}/robots.txt", RULES, False, "HTTP 200", then, then)
        return Entry(copy, Outage(then, 3, 503, "HTTP 503", then))


@pytest.mark.parametrize("name", ["r.warc", "r.jsonl"])
@in_reactor
async def test_robots_txt_from_before_that_counts_as_a_fetch_fails_is_said_to_be_stored(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {
        "GBOT_ROBOTS_ARCHIVE": str(tmp_path / name),
        "GBOT_ROBOTS_STORAGE": "tests.report.test_record.Old",
        "GBOT_ROBOTS_UNREACHABLE": "google-2026",
    }
    with Site({"*": Reply(503, b"")}) as site, caplog.at_level(logging.INFO):
        crawler = await crawl(Pages, settings, urls=[site.url("/no")])
        assert site.paths() == ["/robots.txt"]
    assert verdicts(crawler) == {site.url("/no"): 0}
    if name == "r.warc":
        _, (stored, body) = records(tmp_path / name)
        assert (stored.rec_headers["X-Robots-Source"], body) == ("from the storage", RULES)
    else:
        row = json.loads((tmp_path / name).read_text())
        assert (row["source"], row["unreachable"], row["state"]) == (
            "from the storage",
            False,
            "rules",
        )
    assert stats(crawler, "gbot_robots/archive/") == {
        "gbot_robots/archive/written": 1,
        "gbot_robots/archive/stored": 1,
    }
    assert "answers: 1 from the storage; the oldest was 3 d old" in caplog.text


def decision(origin: Origin, copy: Copy | None) -> CachedAnswer:
    state = State.FULL_DISALLOW if copy is None else State.RULES
    return CachedAnswer(origin, Decision(state, "HTTP 503", copy is None, 0.0, 0.0, copy))


def test_what_decides_is_kept_when_it_changes_and_an_outage_only_if_nothing_decided_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[tuple[Origin, str]] = []

    def keep(archive: RobotsArchive, origin: Origin, records: Any, name: str) -> None:
        kept.append((origin, name))

    monkeypatch.setattr(RobotsArchive, "_keep", keep)
    monkeypatch.setattr("scrapy_gbot_robots.concurrency.Background.start", lambda self, work: None)
    archive = RobotsArchive(get_crawler(), tmp_path / "r.jsonl")
    a, b = Origin("http", "a.example", 80), Origin("http", "b.example", 80)
    old, new = (
        Copy(Kind.RULES, 200, a.robots_url, body, False, "HTTP 200", NOW, NOW)
        for body in (RULES, RULES + b"#")
    )
    for origin, copy in ((a, old), (a, None), (a, old), (a, new), (b, None), (b, None), (b, new)):
        archive._decided(decision(origin, copy), copy)
    assert kept == [(a, "stored"), (a, "stored"), (b, "unreachable"), (b, "stored")]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("r.warc", "a robots-state: full disallow ?"),
        ("r.jsonl", "a\r\nrobots-state: full disallow ?"),
    ],
)
def test_reason_of_any_words_from_a_storage_changes_no_decision(
    name: str, told: str, tmp_path: Path
) -> None:
    why = "a\r\nrobots-state: full disallow \ud800"
    origin = Origin("http", "a.example", 80)
    answer = CachedAnswer(origin, Decision(State.FULL_ALLOW, why, False, 0.0, 0.0), 7)
    (tmp_path / name).write_bytes(bytes_of(Decided.of(answer, None), name, is_first=False))
    (capture,) = Reading(str(tmp_path / name), 500).captures()
    assert (capture.state, capture.status, capture.why) == ("full allow", 7, told)


@pytest.mark.parametrize("name", ["r.warc", "r.jsonl"])
def test_of_what_decided_within_one_second_the_later_counts(name: str, tmp_path: Path) -> None:
    origin = Origin("http", "a.example", 80)
    copy = Copy(Kind.NONE, 404, origin.robots_url, b"", False, "HTTP 404", NOW, NOW)
    allowed = CachedAnswer(origin, Decision(State.FULL_ALLOW, "HTTP 404", False, 0.0, 0.0, copy))
    outage = decision(origin, None)
    outage.given_at = NOW
    for number, both in enumerate([(outage, allowed), (allowed, outage)]):
        records = [Decided.of(answer, copy if answer is allowed else None) for answer in both]
        path = tmp_path / f"{number}-{name}"
        texts = [bytes_of(record, name, is_first=False) for record in records]
        path.write_bytes(b"".join(texts))
        assert audited(path, ["http://a.example/"]) == {"http://a.example/": 2 if number else 1}
