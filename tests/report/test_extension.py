"""The crawl's summary and its HTML page: what they say of a crawl, where they go, and that they stay small."""

from __future__ import annotations

import logging
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from scrapy import Request, Selector, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.asyncio import call_later
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Origin, Rule, Verdict
from scrapy_gbot_robots.answers.answer import CachedAnswer, Source
from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.counts import Tally
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.policy.outages import Copy, Decision, Kind, Outage, State
from scrapy_gbot_robots.report import summary as counters
from scrapy_gbot_robots.report.extension import RobotsReport, page
from scrapy_gbot_robots.report.summary import CrawlCounts, ForbiddingRule, summary

from ..support.browser import dom, violations
from ..support.crawls import (
    Pages,
    as_scrapy_runs_it,
    crawl,
    crawl_until,
    in_reactor,
    in_sqlite,
    own_warnings,
    stats,
    stop,
    under_way,
    waiting,
)
from ..support.rows import row, table
from ..support.schedulers import Fifo
from ..support.web import Content, Reply, Site, raw, redirect

RULES = b"user-agent: testbot\ndisallow: /no\ndisallow: /never\n"
PAGE = Request("https://a.example/page")


def summaries(caplog: pytest.LogCaptureFixture) -> list[str]:
    of_ours = (record for record in caplog.records if record.name == RobotsReport.__module__)
    return [record.getMessage() for record in of_ours]


def document(path: Path) -> Selector:
    return Selector(text=path.read_text(encoding="utf-8"))


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def unreachable(origin: Origin, why: str = "gone") -> CachedAnswer:
    outage = Outage(0.0, 1, None, why, 0.0)
    return CachedAnswer(origin, Decision(State.FULL_DISALLOW, why, True, 0, 0, outage=outage))


@in_reactor
async def test_summary_says_what_robots_txt_did(log: Any) -> None:
    with (
        Site({"/robots.txt": RULES, "*": b"ok"}) as ruled,
        Site({"/a": b"ok"}) as free,
        Site({"/robots.txt": Reply(503)}) as ill,
        Site({"/robots.txt": Reply(503)}) as worse,
    ):
        urls = [
            *(worse.url(path) for path in ("/a", "/b", "/c")),
            *(ruled.url(path) for path in ("/yes", "/no", "/no/1", "/no/2", "/never")),
            free.url("/a"),
            *(ill.url(path) for path in ("/a", "/b")),
        ]
        await crawl(Pages, urls=urls)
        (summary,) = summaries(log)
        states = "1 full allow, 2 full disallow, 1 with rules"
        assert summary.splitlines() == [
            f"robots.txt: 4 origins ({states}), 9 requests forbidden",
            f"  unreachable: {worse.url('/robots.txt')} (HTTP 503), 3 requests forbidden",
            f"  unreachable: {ill.url('/robots.txt')} (HTTP 503), 2 requests forbidden",
            f'  3 by "Disallow: /no" in {ruled.url("/robots.txt")} (line 2)',
            f'  1 by "Disallow: /never" in {ruled.url("/robots.txt")} (line 3)',
        ]


@in_reactor
async def test_summary_tells_refusals_and_other_files_from_none(tmp_path: Path, log: Any) -> None:
    path = tmp_path / "report.html"
    answers = [
        *(Reply(403), Reply(403), Reply(401), Reply(404), Reply(451)),
        Reply(200, b"<html>Please log in</html>"),
        Reply(403, b"no", headers={"cf-mitigated": "challenge"}),
    ]
    with ExitStack() as stack:
        sites = [stack.enter_context(Site({"/robots.txt": each, "*": b"ok"})) for each in answers]
        settings = {"GBOT_ROBOTS_REPORT": str(path), "CONCURRENT_REQUESTS": 1}
        await crawl(Pages, settings, urls=[site.url("/a") for site in sites])
    said = [
        "4 answers by HTTP 401, 402, 403, 451; GBOT_ROBOTS_ACCESS_DENIED decides what that means",
        "1 answer of bot walls, not of the sites; GBOT_ROBOTS_ACCESS_DENIED decides what that means",
        "1 answer with something else in place of a robots.txt, such as a web page, so no rules",
    ]
    assert summaries(log)[0].splitlines() == [
        "robots.txt: 7 origins (7 full allow), 0 requests forbidden",
        *(f"  {line}" for line in said),
    ]
    assert document(path).css(".summary li::text").getall()[1:] == said
    why = document(path).css("#origins tbody td:nth-child(5)::text").getall()
    assert "HTTP 200; no rules: it is a web page" in why


@pytest.mark.parametrize("robots_txt", [Reply(503), raw(20.0)], ids=["unreachable", "slow"])
@in_reactor
async def test_what_waited_as_the_crawl_ended_is_counted(robots_txt: Content, log: Any) -> None:
    with Site({"/robots.txt": robots_txt}) as site:
        urls = [site.url(f"/{n}") for n in range(3)]
        settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60, "CLOSESPIDER_TIMEOUT": 1}
        await crawl(Pages, settings, urls=urls)
    end = "  the crawl ended while 3 requests still waited for a robots.txt"
    assert end in summaries(log)[0].splitlines()


@as_scrapy_runs_it
async def test_what_went_back_to_a_queue_is_counted(log: Any) -> None:
    with Site({"/robots.txt": Reply(503)}) as site:
        settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60, "SCHEDULER": Fifo}
        urls = [site.url(f"/{n}") for n in range(3)]
        crawler = await crawl_until(waiting(3), stop, Pages, settings, urls=urls)
    assert len(Fifo.left) == 3
    assert stats(crawler)["gbot_robots/requests/given_back"] == 3
    end = "  3 requests that the crawl had taken went back to the scheduler's queue"
    assert end in summaries(log)[0].splitlines()


@table(
    "settings, end",
    row("waited", {}, "the crawl ended while 3 requests still waited for a robots.txt"),
    row(
        "went-back",
        {"SCHEDULER": Fifo},
        "3 requests that the crawl had taken went back to the scheduler's queue",
    ),
)
@in_reactor
async def test_numbers_in_the_log_are_right_in_a_crawl_without_stats(
    settings: dict[str, Any], end: str, log: Any, tmp_path: Path
) -> None:
    settings = {
        **settings,
        # Scrapy's pages recommend this class for broad crawls.
        "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60,
        "GBOT_ROBOTS_RECORD": str(tmp_path / "record.jsonl"),
        "CLOSESPIDER_TIMEOUT": 1,
    }
    with Site({"/robots.txt": Reply(503)}) as site:
        crawler = await crawl(Pages, settings, urls=[site.url(f"/{n}") for n in range(3)])
    assert stats(crawler) == {}
    assert f"  {end}" in summaries(log)[0].splitlines()
    (record,) = [line for line in log.messages if line.startswith("The record of this crawl")]
    assert record.endswith(": 1 robots.txt answer")


@as_scrapy_runs_it
async def test_what_cannot_be_written_to_a_queue_on_disk_does_not_count_as_given_back(
    log: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Site({"/robots.txt": Reply(503)}) as site:
        settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60, "JOBDIR": str(tmp_path / "job")}
        urls = [site.url(f"/{n}") for n in range(13)]
        odd = [Request(site.url(f"/odd/{n}"), meta={"any": lambda: None}) for n in range(2)]
        crawler = await crawl_until(waiting(15), stop, Pages, settings, urls=[*urls, *odd])
    assert stats(crawler)["scheduler/unserializable"] >= 2
    assert stats(crawler)["gbot_robots/requests/given_back"] == 13
    end = "  13 requests that the crawl had taken went back to the scheduler's queue"
    assert end in summaries(log)[0].splitlines()
    (lost,) = [each for each in own_warnings(caplog) if "are lost" in each]
    assert lost.startswith("2 requests that waited for their robots.txt are lost")


class Listening(Pages):
    """Notes each response after the plugin's own handlers, which were connected before."""

    came: list[str]

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Listening:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.came = []
        crawler.signals.connect(spider.listen, signals.spider_opened)
        return spider

    def listen(self) -> None:
        self.crawler.signals.connect(self.came_in, signals.response_received)

    def came_in(self, response: Response) -> None:
        self.came.append(response.url)


@in_reactor
async def test_other_handlers_of_responses_miss_none() -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        urls = [site.url(f"/{n}") for n in range(3)]
        crawler = await crawl(Listening, urls=urls)
    spider = crawler.spider
    assert isinstance(spider, Listening)
    assert sorted(spider.came) == sorted([*urls, site.url("/robots.txt")])


ALL = "robots.txt forbade all start requests"
OFF_SITE = "http://off-site.example/"


@table(
    "paths, said",
    row("each", ["/no", "/never/1"], f"{ALL} (2). The first was "),
    row("one-of-two", ["/no", "/yes"], ""),
    row("a-redirect-to-it", ["/moved"], f"{ALL} (1). The first was "),
    row("one-of-them-twice", ["/no", "/never/1", "/no"], f"{ALL} (2). The first was "),
    row("a-page-twice", ["/no", "/yes", "/yes"], ""),
    row("one-of-two-fails", ["/no", "/broken"], ""),
    row("a-redirect-to-a-page", ["/no", "/moved-to-a-page"], ""),
    row("one-of-two-off-site", ["/no", OFF_SITE], f"{ALL} (1). The first was "),
    row("a-page-and-one-off-site", ["/no", "/yes", OFF_SITE], ""),
    row("all-off-site", [OFF_SITE], ""),
    row("a-redirect-off-site", ["/no", "/moved-off-site"], ""),
)
@in_reactor
async def test_crawl_whose_start_requests_were_all_forbidden_ends_with_a_warning(
    paths: list[str], said: str, log: Any
) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok", "/broken": raw(b"")}) as site:
        site.pages |= {"/moved": redirect("/no"), "/moved-to-a-page": redirect("/yes")}
        site.pages["/moved-off-site"] = redirect(OFF_SITE)
        # Scrapy drops the second request for the same URL, and requests for other hosts.
        requests = [Request(urljoin(site.url(), path)) for path in paths]
        await crawl(Pages, urls=requests, allowed_domains=["127.0.0.1"])
        start, forbidden = site.url(paths[0]), site.url("/no")
    told = [text for text in summaries(log) if text.startswith(ALL)]
    assert len(told) == bool(said)
    for text in told:
        assert text.startswith(said)
        assert 'disallowed by "Disallow: /no"' in text
        if start != forbidden:
            start = f"{start}, redirected to {forbidden}"
        assert f"The first was {start}: " in text


@in_reactor
async def test_login_in_the_url_of_a_page_is_neither_in_the_log_nor_on_the_page(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    report = tmp_path / "report.html"
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        url = site.url("/no/1")
        secret = url.replace("//", "//me:S3c@ret@")
        site.pages["/moved"] = redirect(secret)
        for start in (secret, site.url("/moved")):
            await crawl(Pages, {"GBOT_ROBOTS_REPORT": str(report)}, urls=[start])
    assert "S3c" not in caplog.text
    assert "ret@" not in caplog.text
    assert f"The first was {url}: " in caplog.text
    assert f"The first was {site.url('/moved')}, redirected to {url}: " in caplog.text
    text = report.read_text()
    assert "ret@" not in text
    assert url in text


@pytest.mark.parametrize("exempt", [{"dont_filter": True}, {"meta": {"allow_offsite": True}}])
@in_reactor
async def test_start_request_that_may_leave_the_allowed_domains_counts(
    exempt: dict[str, Any], log: Any
) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        url = site.url("/no").replace("127.0.0.1", "localhost")
        await crawl(Pages, urls=[Request(url, **exempt)], allowed_domains=["127.0.0.1"])
    (text,) = [text for text in summaries(log) if text.startswith(ALL)]
    assert text.startswith(f"{ALL} (1). The first was {url}")


@in_reactor
async def test_unreachable_target_of_a_redirect_is_named(log: Any) -> None:
    with Site({"*": raw(reset=True)}) as target, Site({"*": redirect(target.url("/r"))}) as site:
        await crawl(Pages, {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0}, urls=[site.url("/a")])
    lines = "\n".join(summaries(log)).splitlines()
    (line,) = [line.strip() for line in lines if line.strip().startswith("unreachable: ")]
    assert line.startswith(f"unreachable: {site.url('/robots.txt')} (")
    assert line.endswith(f"; redirected to {target.url('/r')}), 1 request forbidden")


class Tidies:
    """A middleware of a project: it replaces each URL that has a query by the URL without it."""

    def process_request(self, request: Request, spider: Any = None) -> Request | None:
        url, question_mark, _ = request.url.partition("?")
        return request.replace(url=url) if question_mark else None


@table(
    "paths, forbidden",
    row("each", ["/no?1", "/no/2?2", "/never/1?3"], 3),
    row("to-one-page", ["/no?1", "/no?2"], 1),  # Scrapy drops the second request as a duplicate.
    row("one-of-two", ["/no?1", "/yes?2"], 0),
    row("one-of-two-fails", ["/no?1", "/broken?2"], 0),
)
@in_reactor
async def test_start_request_that_a_middleware_replaces_counts_once(
    paths: list[str], forbidden: int, log: Any
) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok", "/broken": raw(b"")}) as site:
        requests = [Request(site.url(path)) for path in paths]
        await crawl(Pages, {"DOWNLOADER_MIDDLEWARES": {Tidies: 50}}, urls=requests)
    told = [text for text in summaries(log) if text.startswith(ALL)]
    assert len(told) == bool(forbidden)
    for text in told:
        assert text.startswith(f"{ALL} ({forbidden}). The first was {site.url('/no')}")


@in_reactor
async def test_origin_that_only_an_override_blocks_is_not_counted(tmp_path: Path, log: Any) -> None:
    path = tmp_path / "report.html"
    override = {"rules": "user-agent: *\ndisallow: /", "reason": "asked us to stop"}
    settings = {"GBOT_ROBOTS_OVERRIDES": {"127.0.0.1": override}, "GBOT_ROBOTS_REPORT": str(path)}
    with Site({"*": RULES}) as site:
        await crawl(Pages, settings, urls=[site.url("/a")])
    assert summaries(log)[0] == "robots.txt: 0 origins, 1 request forbidden"
    assert len(document(path).css("#origins tbody tr")) == 0


@in_reactor
async def test_robots_txt_that_answers_is_no_more_unreachable(log: Any) -> None:
    with Site({"/robots.txt": Reply(503), "*": b"ok"}) as site:
        call_later(0.5, site.pages.update, {"/robots.txt": RULES})
        urls = [site.url("/yes"), site.url("/no")]
        await crawl(Pages, {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 20}, urls=urls)
    (summary,) = summaries(log)
    assert summary.startswith("robots.txt: 1 origin (1 with rules), 1 request forbidden\n")
    assert "unreachable" not in summary


@pytest.mark.parametrize("obey", [True, False])
@in_reactor
async def test_crawl_that_asks_no_robots_txt_has_no_summary_and_its_page_says_if_it_does_not_obey(
    obey: bool, tmp_path: Path, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "report.html"
    settings = {"GBOT_ROBOTS_REPORT": path.name, "ROBOTSTXT_OBEY": obey}
    await crawl(Pages, settings, urls=["data:,x"])
    assert summaries(log) == [f"What robots.txt did to this crawl is shown in {path}"]
    large = [] if obey else ["This crawl did not obey robots.txt: ROBOTSTXT_OBEY is False"]
    assert document(path).css("p.off::text").getall() == large


OF_A_USER = "it exists and is not a page of this plugin, so it is not overwritten"


@table(
    "name, why",
    ("directory.html", "it is not a file"),
    ("file/report.html", "Not a directory"),
    ("mine.html", OF_A_USER),
    ("index.html", OF_A_USER),
    ("loop.html", "Too many levels of symbolic links"),
    (f"{'r' * 300}.html", "File name too long"),
)
@in_reactor
async def test_unwritable_page_stops_the_crawl(name: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "directory.html").mkdir()
    (tmp_path / "mine.html").write_text("{% extends 'base.html' %}")
    (tmp_path / "index.html").write_text("<!DOCTYPE html><title>My site</title>")
    (tmp_path / "loop.html").symlink_to("loop.html")
    rule = "^GBOT_ROBOTS_REPORT must be the path of a file that can be"
    with Site({"*": b"ok"}) as site:
        with pytest.raises(ValueError, match=rule) as error:
            await crawl(Pages, {"GBOT_ROBOTS_REPORT": str(tmp_path / name)}, urls=[site.url("/a")])
        assert f"got {str(tmp_path / name)!r}: " in str(error.value)
        assert why in str(error.value)
        assert site.paths() == []
    assert (tmp_path / "mine.html").read_text() == "{% extends 'base.html' %}"
    assert (tmp_path / "index.html").read_text() == "<!DOCTYPE html><title>My site</title>"
    assert names(tmp_path) == ["directory.html", "file", "index.html", "loop.html", "mine.html"]


@table(
    "name, why",
    ("place/r.html", "Not a directory"),
    ("r.html", "not a page of this plugin, so it is not over"),
)
@in_reactor
async def test_page_that_cannot_be_written_in_the_end_is_said_and_costs_nothing_else(
    name: str, why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / name.partition("/")[0]

    def write_notes(connection: Any) -> None:
        if in_the_way.is_dir():
            in_the_way.rmdir()
        in_the_way.write_text("<title>my notes</title>")
        Reply(200, b"ok")(connection)

    with Site({"/a": write_notes}) as site:
        settings = {"GBOT_ROBOTS_REPORT": str(tmp_path / name)}
        crawler = await crawl(Pages, settings, urls=[site.url("/a")])
    (error,) = [text for text in summaries(caplog) if "GBOT_ROBOTS_REPORT" in text]
    assert error.startswith("GBOT_ROBOTS_REPORT cannot be written: ")
    assert why in error
    assert in_the_way.read_text() == "<title>my notes</title>"
    assert stats(crawler)["finish_reason"] == "finished"


@table("before", "<!DOCTYPE html>\n<title>robots.txt in the crawl of before</title>", "")
@in_reactor
async def test_earlier_page_stays_until_one_is_whole(before: str, tmp_path: Path) -> None:
    path, link = tmp_path / "page.html", tmp_path / "link.html"
    path.write_text(before)
    link.symlink_to(path)
    seen = []

    def looked_at(connection: Any) -> None:
        seen.append((path.read_text(), names(tmp_path)))
        Reply(200, b"ok")(connection)

    with Site({"/a": looked_at}) as site:
        await crawl(Pages, {"GBOT_ROBOTS_REPORT": str(link)}, urls=[site.url("/a")])
    assert seen == [(before, ["link.html", "page.html"])]
    after = path.read_text()
    assert "of before" not in after
    assert "<title>robots.txt in the crawl of " in after[:1_024]  # so a later crawl may replace it
    assert link.is_symlink()
    assert names(tmp_path) == ["link.html", "page.html"]


def refuse(counts: CrawlCounts, number: int, *, unreachable: bool = False) -> None:
    """Count a request that a rule of an origin blocks."""
    verdict = Verdict(False, Rule(False, "/", 2), group="*")
    origin = Origin.of(f"https://host{number}.example")
    error = ForbiddenByRobotsTxt(verdict, origin, State.RULES, unreachable=unreachable)
    counts.count_forbidden(PAGE, error)


INCOMPLETE = "there were more origins or rules than are counted, so numbers may be too low"


def test_summary_and_page_stay_short_and_memory_bounded_over_many_origins_and_rules() -> None:
    counts = CrawlCounts(get_crawler())
    for number in range(12_000):
        answer = unreachable(Origin.of(f"https://host{number}.example"), "a\nb")
        if number % 3:
            rules = Decision(State.RULES, "HTTP 200", False, 0, 0)
            answer = CachedAnswer(answer.origin, rules, 200)
        counts.count_answer(answer, None)
        # For host8997, the rules of a stored copy forbid the requests.
        for _ in range({8_997: 3, 9_000: 2, 9_001: 3}.get(number, 1)):
            refuse(counts, number, unreachable=number % 3 == 0 and number != 8_997)
    said = summary(counts)
    states = "12,000 origins (4,000 full disallow, 8,000 with rules)"
    assert said.startswith(f"robots.txt: {states}, 12,005 requests forbidden\n")
    assert '  3 by "Disallow: /" in https://host9001.example/robots.txt (line 2)\n' in said
    assert said.count("\n") < 15
    assert len(counts.rules) <= 10_000
    assert f"  {INCOMPLETE}\n" in said
    most, second = re.findall(r"^  unreachable: (.* forbidden)$", said, re.MULTILINE)[:2]
    why = r"(a\nb; from the storage)"
    assert most == f"https://host9000.example/robots.txt {why}, 2 requests forbidden"
    assert second == f"https://host0.example/robots.txt {why}, 1 request forbidden"
    assert "  unreachable: 3,995 more" in said
    html = Selector(text=page(counts, Spider("x")))
    assert len(html.css("#rules tbody tr")) == len(html.css("#origins tbody tr")) == 1_000


def test_more_origins_than_are_counted_are_said_to_be_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert counters.MOST_ORIGINS == 50_000
    monkeypatch.setattr(counters, "MOST_ORIGINS", 30)
    counts = CrawlCounts(get_crawler())
    for number in [*range(30), *range(30)]:  # each is met twice and counted once
        counts.count_answer(unreachable(Origin.of(f"https://host{number}.example")), None)
    assert INCOMPLETE not in summary(counts)
    counts.count_answer(unreachable(Origin.of("https://host30.example")), None)
    refuse(counts, 30)  # the forbidden requests of late origins count, too
    assert summary(counts).splitlines()[:2] == [
        "robots.txt: 30 origins (30 full disallow), 1 request forbidden",
        f"  {INCOMPLETE}",
    ]
    assert f"<li>{INCOMPLETE}</li>" in page(counts, Spider("x"))


@in_reactor
async def test_request_that_a_stored_rule_forbids_is_not_counted_as_unreachable(
    tmp_path: Path, log: Any
) -> None:
    kept = {**in_sqlite(tmp_path / "robots.sqlite"), "GBOT_ROBOTS_UNREACHABLE": "allow"}
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        await crawl(Pages, kept, urls=[site.url("/yes")])
        site.pages["/robots.txt"] = Reply(503)
        await under_way(pause(1.1))
        again = {**kept, "GBOT_ROBOTS_MAX_AGE_SECS": 1}
        await crawl(Pages, again, urls=[site.url("/yes"), site.url("/no")])
    lines = summaries(log)[-1].splitlines()
    assert f"  unreachable: {site.url('/robots.txt')} (HTTP 503), 0 requests forbidden" in lines
    assert f'  1 by "Disallow: /no" in {site.url("/robots.txt")} (line 2)' in lines


def test_refusal_without_an_origin_is_counted() -> None:
    counts = CrawlCounts(get_crawler())
    counts.count_forbidden(PAGE, ForbiddenByRobotsTxt(Verdict(False)))
    assert summary(counts) == "robots.txt: 0 origins, 1 request forbidden"


@in_reactor
async def test_page_shows_rules_sites_examples_and_redirects(tmp_path: Path, log: Any) -> None:
    path = tmp_path / "new" / "report.html"
    with Site({"*": RULES}) as there, Site({"*": b"ok"}, host="127.0.0.2") as here:
        here.pages["/robots.txt"] = redirect(there.url("/robots.txt"))
        urls = [here.url(page) for page in ("/no", "/no/1", "/no/2")]
        await crawl(Pages, {"GBOT_ROBOTS_REPORT": str(path)}, urls=urls)
    assert f"What robots.txt did to this crawl is shown in {path}" in summaries(log)
    (rule,) = document(path).css("#rules tbody tr")
    (origin,) = document(path).css("#origins tbody tr")
    for shown in (rule, origin):
        assert here.url("/robots.txt") in shown.css("td::text").getall()
        examples = shown.css("td:last-child::text").get("").split()
        assert len(examples) == 2
        assert set(examples) < set(urls)
    assert "Disallow: /no" in rule.css("td::text").getall()
    why = origin.css("td:nth-child(5)::text").get("")
    assert why.endswith(f"; redirected to {there.url('/robots.txt')}")
    bars = document(path).css(".bars span::text").getall()
    assert bars == ["by a rule of the robots.txt"]


# The page: it escapes everything, needs nothing from elsewhere, and works in a real browser

EVIL = '</td><script>document.title = "taken"</script><img src=x onerror=alert(1)> "\'& \x1b[31m \u202e'


def example_counts() -> CrawlCounts:
    counts = CrawlCounts(get_crawler())
    counts.forbidden = 1117
    for name, blocked in BLOCKED:
        origin = Origin.of(f"https://{name}.example")
        fetched_at = 1_000_000.0 + blocked
        copy = Copy(Kind.RULES, 200, origin.robots_url, b"", False, EVIL, fetched_at, 0.0)
        decision = Decision(State.RULES, EVIL, False, 0, 0, copy)
        answer = CachedAnswer(origin, decision, None if name == "b" else 200, Source.FETCHED)
        counts.count_answer(answer, copy)
        rule = ForbiddingRule(origin, Rule(False, f"/{name}", 3), "*")
        for _ in range(blocked):
            counts.forbidding.add(origin, EVIL)
            counts.rules.add(rule)
    counts.rules.add(ForbiddingRule(origin, Rule(False, EVIL, 1), EVIL), EVIL)
    for reason, blocked in (("a fault", 1000), ("another", 70), (EVIL, 3)):
        for _ in range(blocked):
            counts.reasons.add(reason)
    decision = Decision(State.FULL_DISALLOW, EVIL, True, 0, 0)
    counts.count_answer(CachedAnswer(Origin.of("https://z.example"), decision), None)
    return counts


BLOCKED = [("b", 1000), ("a", 90), ("d", 20), ("c", 7)]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(page(example_counts(), Spider(EVIL)), encoding="utf-8")
    return path


def test_page_needs_nothing_from_elsewhere_and_escapes_everything() -> None:
    html = page(example_counts(), Spider(EVIL))
    nodes = Selector(text=html).xpath
    foreign = "//@src | //@href | //@style | //@*[starts-with(name(), 'on')] | //img | //link"
    assert not nodes(foreign)
    assert len(nodes("//script")) == len(nodes("//style")) == 1
    assert not re.search(r"url\(|@import", nodes("string(//style)").get(""))
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert nodes("//table[@id='rules']//td[contains(., 'onerror=alert(1)')]")
    assert "default-src 'none'" in html


@pytest.mark.slow
@table(
    "order, rows, arrow",
    row("by-number", "origins.forbidden", ["z", "c", "d", "a", "b"], "ascending"),
    row("by-text", "origins.-robots-txt", ["z", "d", "c", "b", "a"], "descending"),
    row("unknown-order", "nonsense.forbidden", ["b", "a", "d", "c", "z"], None),
)
def test_browser_sorts_tables(order: str, rows: list[str], arrow: Any, example: Path) -> None:
    shown = dom(example, order, example.parent)
    table = shown.partition('<table id="origins">')[2].partition("</table>")[0]
    assert re.findall(r"https://(\w)\.example", table) == rows
    assert re.findall(r'aria-sort="(\w+)"', table) == ([arrow] if arrow else [])
    assert table.count("<button>") == 6
    assert "<title>taken</title>" not in shown
    chart = shown.partition("Why requests were forbidden")[2].partition("</section>")[0]
    widths = re.findall(r'<rect width="([\d.]+)"', chart)
    assert widths == ["100.00", "7.00", "0.30"]


def test_a_click_on_a_title_sorts_and_typing_narrows_a_table(example: Path) -> None:
    do_it = (
        "<script>document.querySelector('#origins th:nth-child(2) button').click();"
        "const wide = document.querySelector('#origins').parentElement;"
        "const box = wide.previousElementSibling.querySelector('input'); box.value = 'A.EXAMPLE';"
        "box.dispatchEvent(new Event('input'))</script></body>"
    )
    html = example.read_text(encoding="utf-8").replace("</body>", do_it)
    policy = "<meta http-equiv[^>]*>"  # it would not let our click through
    example.write_text(re.sub(policy, "", html), encoding="utf-8")
    shown = dom(example, "", example.parent)
    table = shown.partition('<table id="origins">')[2].partition("</table>")[0]
    assert re.findall(r"https://(\w)\.example", table) == ["a", "b", "c", "d", "z"]
    assert re.findall(r'aria-sort="(\w+)"', table) == ["ascending"]
    assert re.findall(r"<tr>.*?https://(\w)\.example", table) == ["a"]
    assert table.count("<tr hidden") == 4
    assert "<tr hidden" not in shown.partition('<table id="rules">')[2].partition("</table>")[0]


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_for_a_keyboard_or_a_screen_reader(dark: bool, example: Path) -> None:
    assert violations(example, example.parent, dark=dark) == ""


# Counting


def test_examples_are_few_and_go_with_their_keys() -> None:
    tally: Tally[str] = Tally(most=3)
    for number in range(5):
        tally.add("a", f"u{number}")
    assert tally.examples["a"] == ["u0", "u1"]
    for number in range(50):
        tally.add(f"rare {number}", "x")
    assert tally.examples["a"] == ["u0", "u1"]
    assert len(tally.examples) <= 3
