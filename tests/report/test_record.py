"""The record of a crawl: its archive has what decided about each origin, fetched now or before, and `judge` agrees."""

import gzip
import json
import logging
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.bulk import judge
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.obeying.answer import CachedAnswer
from scrapy_gbot_robots.policy.outages import Copy, Decision, Entry, Kind, Outage, State
from scrapy_gbot_robots.report.archive import record_of
from scrapy_gbot_robots.storage.memory import MemoryStorage

from ..support.crawls import Pages, crawl, in_reactor, in_sqlite, pages, stats
from ..support.documentation import HOME, blocks
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

# What each origin serves for /robots.txt, and what the archive says of /yes and /no: 1 allowed, 0 disallowed, 2 unreachable.
ORIGINS: dict[str, tuple[bytes | Reply, int, int]] = {
    "rules": (RULES, 1, 0),
    "the same rules": (RULES, 1, 0),
    "rules that are not UTF-8": (b"# caf\xe9\n" + RULES, 1, 0),
    "missing": (Reply(404, b"gone"), 1, 1),
    "not found, as a server error": (NOT_FOUND, 1, 1),
    "a wall": (WALL, 1, 1),
    "down": (Reply(503, b""), 2, 2),
    "in a loop": (Reply(301, b"", {"Location": "/robots.txt"}), 1, 1),
    "moved": (Reply(301, b"", {"Location": "/rules.txt"}), 1, 0),
}
NAMES = ["r.jsonl", "r.jsonl.gz"]


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


@pytest.mark.parametrize("name", NAMES)
@in_reactor
async def test_archive_of_either_crawl_gives_the_crawl_s_own_verdicts(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sites = [Site({"/robots.txt": reply, "/rules.txt": RULES}) for reply, _, _ in ORIGINS.values()]
    with ExitStack() as stack:
        for site in sites:
            stack.enter_context(site)
            site.pages["*"] = b"ok"
        urls = [site.url(path) for site in sites for path in ("/yes", "/no")]
        expected = [answer for _, *answers in ORIGINS.values() for answer in answers]
        for number, source in enumerate(["fetched", "from the storage"]):
            archive = tmp_path / f"{number}-{name}"
            caplog.clear()
            with caplog.at_level(logging.INFO):
                settings = {"GBOT_ROBOTS_ARCHIVE": archive.name, **in_sqlite(tmp_path / "r.sqlite")}
                crawler = await crawl(Pages, settings, urls=urls)
            assert verdicts(crawler) == dict(zip(urls, expected, strict=True))
            assert judged(archive, urls) == dict(zip(urls, expected, strict=True))
            assert stats(crawler, "gbot_robots/archive/") == {"gbot_robots/archive/written": 9}
            sources = Counter(row["source"] for row in records(archive) if not row["unreachable"])
            assert sources == {source: 8}
            (line,) = [text for text in caplog.messages if text.startswith("The record of this")]
            assert line == f"The record of this crawl is in {archive}: 9 robots.txt answers"


@in_reactor
async def test_what_was_stored_is_in_the_archive_with_its_own_date_and_hash_and_whether_it_was_cut(
    tmp_path: Path,
) -> None:
    with (
        Site({"/robots.txt": RULES, "*": b"ok"}) as site,
        Site({"/yes": b"ok"}) as free,
        Site({"/robots.txt": RULES + b"#" * 100, "*": b"ok"}) as cut,
    ):
        urls = [each.url("/yes") for each in (site, free, cut)]
        settings: dict[str, Any] = in_sqlite(tmp_path / "r.sqlite")
        settings |= {"GBOT_ROBOTS_PROVENANCE": True, "GBOT_ROBOTS_MAX_BYTES": 50}
        await crawl(Pages, settings, urls=urls)
        settings["GBOT_ROBOTS_ARCHIVE"] = str(tmp_path / "r.jsonl")
        crawler = await crawl(Pages, settings, urls=urls)
    by_url = {row["url"]: row for row in records(tmp_path / "r.jsonl")}
    rows = [by_url[each.url("/robots.txt")] for each in (site, free, cut)]
    proof = pages(crawler).crawled[site.url("/yes")].meta["gbot_robots"]
    assert (rows[0]["body"], rows[0]["source"]) == (RULES.decode(), "from the storage")
    assert rows[0]["robots"] == proof["robots"]
    assert rows[0]["fetched"].replace("Z", "+00:00") == proof["fetched"]
    facts = [rows[1][field] for field in ("state", "why", "status")]
    assert facts == ["full allow", "HTTP 404", 404]
    assert [row["cut"] for row in rows] == [False, False, True]


@in_reactor
async def test_what_the_ladder_allows_and_what_is_refused_are_in_the_archive(
    tmp_path: Path,
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
        settings["GBOT_ROBOTS_ARCHIVE"] = str(tmp_path / "r.jsonl")
        crawler = await crawl(Pages, settings, urls=urls)
    read = {row["url"]: row for row in records(tmp_path / "r.jsonl")}
    down_now, refused = (read[site.url("/robots.txt")] for site in (open_site, refusing))
    fields = ("state", "status", "unreachable", "why")
    assert [down_now[field] for field in fields] == [
        "full allow",
        503,
        True,
        "robots.txt unreachable: HTTP 503",
    ]
    assert [refused[field] for field in fields] == ["full disallow", 403, False, "HTTP 403"]
    expected = {open_site.url("/yes"): 1, refusing.url("/yes"): 0}
    assert verdicts(crawler) == expected
    assert judged(tmp_path / "r.jsonl", urls) == expected


class Absurd(MemoryStorage):
    """Knows of each origin a robots.txt from a date that is none, and an outage since."""

    def get(self, origin: str) -> Entry:
        copy = Copy(Kind.RULES, 200, f"{origin}/robots.txt", RULES, False, "HTTP 200", 1e300, 1e300)
        return Entry(copy, Outage(NOW, 3, 503, "HTTP 503", time.time() + 60))


@in_reactor
async def test_absurd_date_in_the_storage_costs_no_record_no_proof_and_no_report(
    tmp_path: Path,
) -> None:
    with Site({"*": b"ok", "/robots.txt": Reply(503, b"")}) as site:
        urls = [site.url("/yes"), site.url("/no")]
        settings = {
            "GBOT_ROBOTS_ARCHIVE": str(tmp_path / "r.jsonl"),
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
async def test_robots_txt_from_before_that_counts_as_a_fetch_fails_is_said_to_be_stored(
    tmp_path: Path,
) -> None:
    settings = {
        "GBOT_ROBOTS_ARCHIVE": str(tmp_path / "r.jsonl"),
        "GBOT_ROBOTS_STORAGE": "tests.report.test_record.Old",
        "GBOT_ROBOTS_UNREACHABLE": "google-2026",
    }
    with Site({"*": Reply(503, b"")}) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/no")])
        assert site.paths() == ["/robots.txt"]
    assert verdicts(crawler) == {site.url("/no"): 0}
    (row,) = records(tmp_path / "r.jsonl")
    fields = ("source", "unreachable", "state", "body")
    assert [row[field] for field in fields] == ["from the storage", False, "rules", RULES.decode()]


def test_reason_of_any_words_from_a_storage_is_written() -> None:
    why = "a\r\nstate: full disallow \ud800"
    origin = Origin("http", "a.example", 80)
    answer = CachedAnswer(origin, Decision(State.FULL_ALLOW, why, False, 0.0, 0.0), 7)
    record = json.loads(json.dumps(record_of(answer, None)))
    assert (record["state"], record["status"], record["why"]) == ("full allow", 7, why)


@in_reactor
async def test_empty_texts_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    off = {"GBOT_ROBOTS_REPORT": "", "GBOT_ROBOTS_ARCHIVE": ""}
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl(Pages, off, urls=[site.url("/yes"), site.url("/no")])
    assert verdicts(crawler) == {site.url("/yes"): 1, site.url("/no"): 0}
    assert list(tmp_path.iterdir()) == []


OVERRIDE = {"127.0.0.1": {"rules": "User-agent: *\nAllow: /", "reason": "agreed"}}


@pytest.mark.parametrize(
    ("settings", "meta"),
    [
        pytest.param({"GBOT_ROBOTS_OVERRIDES": OVERRIDE}, {}, id="override"),
        pytest.param({}, {"dont_obey_robotstxt": True}, id="dont_obey_robotstxt"),
        pytest.param({"ROBOTSTXT_OBEY": False}, {}, id="ROBOTSTXT_OBEY"),
    ],
)
@in_reactor
async def test_page_for_which_no_robots_txt_was_asked_is_not_in_the_record(
    settings: dict[str, Any], meta: dict[str, Any], tmp_path: Path
) -> None:
    archive = {"GBOT_ROBOTS_ARCHIVE": str(tmp_path / "r.jsonl")}
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        urls = [Request(site.url("/yes"), meta=meta)]
        crawler = await crawl(Pages, {**archive, **settings}, urls=urls)
    assert len(pages(crawler).crawled) == 1
    assert list(tmp_path.iterdir()) == []
