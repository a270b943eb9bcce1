"""The crawl's summary and its HTML page: what they say, that they stay small, and how a real browser shows the page."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from scrapy import Selector
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Origin, RobotsTxt, Rule, Verdict
from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.obeying.answer import Answer
from scrapy_gbot_robots.policy.ladder import Decision, State
from scrapy_gbot_robots.policy.overrides import Overrides
from scrapy_gbot_robots.report.extension import RobotsReport
from scrapy_gbot_robots.report.over_time import MOST_SPANS
from scrapy_gbot_robots.report.page import OriginRow, Report, RuleRow, page
from scrapy_gbot_robots.signals import override_used, request_forbidden, robotstxt_known, robotstxt_unreachable

from ..support.crawls import Pages, crawl, in_reactor
from ..support.web import Reply, Site

RULES = b"user-agent: testbot\ndisallow: /no\ndisallow: /never\n"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def summaries(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == RobotsReport.__module__]


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@in_reactor
async def test_summary_says_what_robots_txt_did(caplog: pytest.LogCaptureFixture) -> None:
    with (
        Site({"/robots.txt": RULES, "*": b"ok"}) as ruled,
        Site({"/a": b"ok"}) as free,
        Site({"/robots.txt": Reply(503)}) as ill,
        caplog.at_level(logging.INFO),
    ):
        urls = [
            *(ruled.url(path) for path in ("/yes", "/no", "/no/1", "/no/2", "/never")),
            free.url("/a"),
            *(ill.url(path) for path in ("/a", "/b")),
        ]
        await crawl(Pages, urls=urls)
        (summary,) = summaries(caplog)
        first, *others = summary.splitlines()
        assert first == "robots.txt: 3 origins (1 full allow, 1 full disallow, 1 rules), 6 requests blocked"
        assert others == [
            f'  3 by "Disallow: /no" in {ruled.url("/robots.txt")} (line 2)',
            f'  1 by "Disallow: /never" in {ruled.url("/robots.txt")} (line 3)',
            f"  unreachable: {ill.url('/robots.txt')} (robots.txt unreachable: HTTP 503), 2 requests blocked",
        ]


@in_reactor
async def test_overrides_stand_in_the_summary_and_on_the_page(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        Site({"/robots.txt": RULES, "*": b"ok"}) as partner,
        Site({"/robots.txt": RULES, "*": b"ok"}, host="127.0.0.2") as never,
        caplog.at_level(logging.INFO),
    ):
        settings = {
            "GBOT_ROBOTS_OVERRIDES": {
                partner.url(): {"rules": "ignore", "reason": "contract <17>", "until": "2999-03-31"},
                "127.0.0.2": {"rules": "user-agent: *\ndisallow: /", "reason": "asked us to stop"},
            },
            "GBOT_ROBOTS_REPORT": str(tmp_path / "report.html"),
        }
        urls = [*(partner.url(path) for path in ("/yes", "/no", "/no/1")), never.url("/a")]
        await crawl(Pages, settings, urls=urls)
        summary, _ = summaries(caplog)
        assert summary.splitlines()[1:] == [
            f"  override for {partner.url()} (ignore, contract <17>): 3 requests, 2 against robots.txt",
            "  override for 127.0.0.2 (own rules, asked us to stop): 1 request, 1 blocked",
        ]
        rows = Selector(text=(tmp_path / "report.html").read_text(encoding="utf-8")).css("#overrides tbody tr")
        assert [row.css("td::text").getall() for row in rows] == [
            ["3", "0", "2", partner.url(), "ignore", "contract <17>", "2999-03-31"],
            ["1", "1", "0", "127.0.0.2", "own rules", "asked us to stop"],
        ]


def test_many_overrides_are_added_up() -> None:
    crawler = get_crawler()
    extension = RobotsReport.from_crawler(crawler)
    value = {f"h{number}.example": {"rules": "ignore", "reason": "x"} for number in range(2_000)}
    for override in Overrides.read(value, lambda path: b""):
        crawler.signals.send_catch_log(override_used, override=override, refusal=None, against_robotstxt=False)
    assert extension.summary().splitlines()[-1] == "  overrides: 1,995 more"
    assert "The 1,000 with most requests, of 2,000." in page(extension._report(Pages(urls=[])))


@in_reactor
async def test_a_robots_txt_that_answers_in_the_end_is_no_longer_unreachable(caplog: pytest.LogCaptureFixture) -> None:
    replies = iter([Reply(503)])

    def recovering(connection: Any) -> None:
        next(replies, Reply(200, RULES))(connection)

    with Site({"/robots.txt": recovering, "*": b"ok"}) as site, caplog.at_level(logging.INFO):
        await crawl(Pages, {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 20}, urls=[site.url("/yes"), site.url("/no")])
    (summary,) = summaries(caplog)
    assert summary.startswith("robots.txt: 1 origin (1 rules), 1 request blocked\n")
    assert "unreachable" not in summary


@in_reactor
async def test_a_crawl_that_asks_no_robots_txt_has_no_summary(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        await crawl(Pages, urls=["data:,x"])
        await crawl(Pages, {"ROBOTSTXT_OBEY": False}, urls=["data:,x"])
    assert summaries(caplog) == []


@in_reactor
async def test_page_is_written_where_the_setting_says(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "new" / "report.html"
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site, caplog.at_level(logging.INFO):
        await crawl(Pages, {"GBOT_ROBOTS_REPORT": str(path)}, urls=[site.url("/no")])
        html = path.read_text(encoding="utf-8")
        assert f"<td>{site.url('/robots.txt')}</td>" in html
        assert "<td>Disallow: /no</td>" in html
        why = html.partition("Why requests were blocked")[2]
        assert '<span class="rule">by a rule of the robots.txt</span>' in why.partition("</section>")[0]
        assert "; the highest is 1." in html.partition("Blocked over time")[2].partition("</section>")[0]
        assert site.url("/robots.txt") in html.partition("Sites that blocked most")[2].partition("</section>")[0]
    assert f"What robots.txt did to this crawl is shown in {path}" in summaries(caplog)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("directory.html", "it is not a file", id="directory"),
        pytest.param("file/report.html", "File exists: '{place}/file'", id="below-a-file"),
        pytest.param("mine.html", "there is a file that is no page", id="a-user's-file"),
        pytest.param(f"{'r' * 300}.html", "File name too long", id="name"),
    ],
)
@in_reactor
async def test_page_that_could_not_be_written_stops_the_crawl_at_its_start(name: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "directory.html").mkdir()
    (tmp_path / "mine.html").write_text("{% extends 'base.html' %}")
    with Site({"*": b"ok"}) as site:
        with pytest.raises(ValueError, match="^GBOT_ROBOTS_REPORT must be the path of a file that can be") as error:
            await crawl(Pages, {"GBOT_ROBOTS_REPORT": str(tmp_path / name)}, urls=[site.url("/a")])
        assert f"got {str(tmp_path / name)!r}: " in str(error.value)
        assert why.format(place=tmp_path) in str(error.value)
        assert site.paths() == []
    assert (tmp_path / "mine.html").read_text() == "{% extends 'base.html' %}"
    assert names(tmp_path) == ["directory.html", "file", "mine.html"]


@pytest.mark.parametrize("name", ["r.pdf", "settings.py", "report"])
@in_reactor
async def test_report_of_a_format_that_is_not_written_stops_the_crawl_at_its_start(name: str, tmp_path: Path) -> None:
    with Site({"*": b"ok"}) as site:
        with pytest.raises(ValueError, match="^GBOT_ROBOTS_REPORT must be the path of a .html or .htm file, got "):
            await crawl(Pages, {"GBOT_ROBOTS_REPORT": str(tmp_path / name)}, urls=[site.url("/a")])
        assert site.paths() == []


@in_reactor
async def test_page_that_cannot_be_written_in_the_end_is_said_and_costs_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "place"

    def in_the_way(connection: Any) -> None:
        place.rmdir()
        place.touch()
        Reply(200, b"ok")(connection)

    with Site({"/a": in_the_way}) as site:
        crawler = await crawl(Pages, {"GBOT_ROBOTS_REPORT": str(place / "r.html")}, urls=[site.url("/a")])
    assert any("GBOT_ROBOTS_REPORT cannot be written" in text for text in summaries(caplog))
    assert crawler.stats is not None
    assert crawler.stats.get_value("finish_reason") == "finished"


@in_reactor
async def test_page_of_an_earlier_crawl_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path, link = tmp_path / "page.html", tmp_path / "link.html"
    path.write_text("<!DOCTYPE html>of before")
    link.symlink_to(path)
    seen = []

    def looked_at(connection: Any) -> None:
        seen.append((path.read_text(), names(tmp_path)))
        Reply(200, b"ok")(connection)

    with Site({"/a": looked_at}) as site:
        await crawl(Pages, {"GBOT_ROBOTS_REPORT": str(link)}, urls=[site.url("/a")])
    assert seen == [("<!DOCTYPE html>of before", ["link.html", "page.html"])]
    assert "of before" not in path.read_text()
    assert link.is_symlink()
    assert names(tmp_path) == ["link.html", "page.html"]


@in_reactor
async def test_page_of_a_crawl_without_robots_txt_says_so_in_large_letters(tmp_path: Path) -> None:
    for obey in (True, False):
        path = tmp_path / f"{obey}.html"
        with Site({"*": b"ok"}) as site:
            await crawl(Pages, {"GBOT_ROBOTS_REPORT": str(path), "ROBOTSTXT_OBEY": obey}, urls=[site.url("/a")])
        large = Selector(text=path.read_text(encoding="utf-8")).css("p.off::text").getall()
        off = "This crawl did not obey robots.txt: ROBOTSTXT_OBEY is False"
        assert large == ([] if obey else [off])


def test_summary_stays_short_and_memory_bounded_over_many_origins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_gbot_robots.report.extension.MOST_ORIGINS", 100)
    crawler = get_crawler()
    extension = RobotsReport.from_crawler(crawler)
    send = crawler.signals.send_catch_log
    for number in range(30_000):
        origin = Origin.of(f"https://host{number}.example")
        state = State.RULES if number % 3 else State.FULL_DISALLOW
        decision = Decision(state, "HTTP 200" if number % 3 else "gone", not number % 3, 0, 0)
        signal = robotstxt_known if number % 3 else robotstxt_unreachable
        send(signal, origin=origin, robotstxt=RobotsTxt.parse(b""), answer=Answer(origin, decision, 200, 0))
        verdict = Verdict(False, Rule(False, "/", 2), group="*")
        for _ in range(3 if number == 5 else 1):
            send(request_forbidden, error=ForbiddenByRobotsTxt(verdict, origin, state))
    summary = extension.summary()
    assert summary.startswith(
        "robots.txt: 30,000 origins (10,000 full disallow, 20,000 rules), 30,002 requests blocked\n"
    )
    assert '  3 by "Disallow: /" in https://host5.example/robots.txt (line 2)\n' in summary
    assert summary.count("\n") < 15
    assert len(extension._origins) == 100
    assert len(extension._rules) <= 10_000
    assert len(extension._over_time.counts) <= MOST_SPANS
    assert "  the rest by more than " in summary
    assert "  unreachable: 9,995 more" in summary


def test_more_origins_than_are_counted_are_said_to_be_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_gbot_robots.report.extension.MOST_ORIGINS", 10)
    monkeypatch.setattr("scrapy_gbot_robots.report.extension.MOST_OTHERS", 20)
    crawler = get_crawler()
    extension = RobotsReport.from_crawler(crawler)
    decision = Decision(State.FULL_DISALLOW, "gone", True, 0, 0)

    def meet(number: int) -> None:
        origin = Origin.of(f"https://host{number}.example")
        crawler.signals.send_catch_log(robotstxt_unreachable, origin=origin, answer=Answer(origin, decision, None, 0))

    for number in [*range(30), *range(30)]:  # each is met twice and counted once
        meet(number)
    assert extension.summary().startswith("robots.txt: 30 origins (30 full disallow), 0 requests blocked\n")
    assert extension.summary().endswith("  unreachable: 25 more")
    meet(30)
    assert extension.summary().startswith("robots.txt: more than 30 origins (30 full disallow), 0 requests blocked\n")
    assert extension.summary().endswith("  unreachable: more than 25 more")
    html = page(extension._report(Pages(urls=[])))
    assert "<dd>more than 30</dd>" in html


def test_refusal_without_an_origin_is_counted() -> None:
    crawler = get_crawler()
    extension = RobotsReport.from_crawler(crawler)
    crawler.signals.send_catch_log(request_forbidden, error=ForbiddenByRobotsTxt(Verdict(False)))
    assert extension.summary() == "robots.txt: 0 origins (), 1 request blocked"


EVIL = '</td><script>document.title = "taken"</script><img src=x onerror=alert(1)> "\'& \x1b[31m \u202e'


def example_report() -> Report:
    rules = [
        RuleRow(blocked, f"https://{name}.example/robots.txt", 3, f"Disallow: /{name}", "*")
        for name, blocked in BLOCKED
    ]
    origins = [
        OriginRow(blocked, f"https://{name}.example/robots.txt", "rules", None if name == "b" else 200, EVIL)
        for name, blocked in BLOCKED
    ]
    states = {"rules": 900, "full allow": 90, "full disallow": 10}
    return Report(EVIL, 0, 3600, 1117, states, 10, [*rules, RuleRow(1, EVIL, 1, EVIL, EVIL)], 9, origins)


BLOCKED = [("b", 1000), ("a", 90), ("d", 20), ("c", 7)]


def test_page_needs_nothing_from_elsewhere_and_escapes_everything() -> None:
    html = page(example_report())
    document = Selector(text=html)
    assert not document.xpath("//@src | //@href | //@style | //@*[starts-with(name(), 'on')] | //img | //link")
    assert len(document.xpath("//script")) == len(document.xpath("//style")) == 1
    assert not re.search(r"url\(|@import", document.xpath("string(//style)").get(""))
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert document.xpath("//table[@id='rules']//td[contains(., 'onerror=alert(1)')]")
    assert "default-src 'none'" in html
    assert "The 5 with most blocked requests, of 9." in html
    assert "The 4 with most blocked requests, of 1,000." in html


def test_page_of_a_crawl_that_met_nothing_says_so() -> None:
    html = page(Report("s", 0, 1, 0, {}, 0, [], 0, []))
    assert "None was met." in html
    assert "No rule blocked a request." in html


def dom(path: Path, order: str, profile: Path, *more: str) -> str:
    """The page as Chromium has it after its script has run."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    done = subprocess.run(
        [
            CHROMIUM,
            *flags.split(),
            *more,
            "--virtual-time-budget=20000",
            f"--user-data-dir={profile}",
            "--dump-dom",
            f"{path.as_uri()}#{order}",
        ],
        capture_output=True,
        timeout=60,
        check=True,
    )
    return done.stdout.decode()


@pytest.mark.parametrize(
    ("order", "rows", "arrow"),
    [
        pytest.param("origins.blocked", ["c", "d", "a", "b"], "ascending", id="by-number"),
        pytest.param("origins.-robots-txt", ["d", "c", "b", "a"], "descending", id="by-text"),
        pytest.param("nonsense.blocked", ["b", "a", "d", "c"], None, id="unknown-order"),
    ],
)
def test_a_real_browser_sorts_the_tables(tmp_path: Path, order: str, rows: list[str], arrow: str | None) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(example_report()), encoding="utf-8")
    shown = dom(path, order, tmp_path / "profile")
    table = shown.partition('<table id="origins">')[2].partition("</table>")[0]
    assert re.findall(r"https://(\w)\.example", table) == rows
    assert re.findall(r'aria-sort="(\w+)"', table) == ([arrow] if arrow else [])
    assert table.count("<button>") == 5
    assert "<title>taken</title>" not in shown
    chart = shown.partition("Rules that blocked most")[2].partition("</section>")[0]
    assert re.findall(r'<rect width="([\d.]+)"', chart) == ["100.00", "9.00", "2.00", "0.70", "0.10"]


def test_a_click_on_a_title_sorts(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    click = "<script>document.querySelector('#origins th:nth-child(2) button').click()</script></body>"
    without_policy = re.sub("<meta http-equiv[^>]*>", "", page(example_report()))  # it would not let our click through
    path.write_text(without_policy.replace("</body>", click), encoding="utf-8")
    table = dom(path, "", tmp_path / "profile").partition('<table id="origins">')[2].partition("</table>")[0]
    assert re.findall(r"https://(\w)\.example", table) == ["a", "b", "c", "d"]
    assert re.findall(r'aria-sort="(\w+)"', table) == ["ascending"]


def test_a_table_can_be_narrowed_by_typing(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    type_it = (
        "<script>const box = document.querySelectorAll('.filter input')[1]; box.value = 'A.EXAMPLE';"
        "box.dispatchEvent(new Event('input'))</script></body>"
    )
    without_policy = re.sub("<meta http-equiv[^>]*>", "", page(example_report()))
    path.write_text(without_policy.replace("</body>", type_it), encoding="utf-8")
    shown = dom(path, "", tmp_path / "profile")
    table = shown.partition('<table id="origins">')[2].partition("</table>")[0]
    assert re.findall(r"<tr>.*?https://(\w)\.example", table) == ["a"]
    assert table.count("<tr hidden") == 3
    assert "<tr hidden" not in shown.partition('<table id="rules">')[2].partition("</table>")[0]


@pytest.mark.skipif("GBOT_ROBOTS_AXE" not in os.environ, reason="GBOT_ROBOTS_AXE names axe.min.js of axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_for_people_who_use_a_keyboard_or_a_screen_reader(scheme: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    axe = Path(os.environ["GBOT_ROBOTS_AXE"]).read_text(encoding="utf-8").replace("</script", "<\\/script")
    ask = (
        f"<script>{axe}</script><script>axe.run().then(({{ violations, passes }}) => {{"
        "document.title = `passed ${passes.length}; violated ${violations.map((each) => each.id)}.`; })</script></body>"
    )
    without_policy = re.sub("<meta http-equiv[^>]*>", "", page(example_report()))
    dark = "<style>:root { color-scheme: dark }</style>" if scheme == "dark" else ""
    path.write_text(without_policy.replace("</body>", dark + ask), encoding="utf-8")
    more = ("--blink-settings=preferredColorScheme=0",) if scheme == "dark" else ()
    found = re.search(r"<title>passed (\d+); violated ([^<]*)\.</title>", dom(path, "", tmp_path / "profile", *more))
    assert found is not None
    assert int(found[1]) > 20
    assert found[2] == ""
