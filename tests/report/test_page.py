"""The report's page: it escapes everything, needs nothing from elsewhere, and works in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from scrapy import Selector

from scrapy_gbot_robots.obeying.answer import Source
from scrapy_gbot_robots.policy.outages import State
from scrapy_gbot_robots.report.facts import OriginRow, OverrideRow, PreferenceRow, Report, RuleRow
from scrapy_gbot_robots.report.page import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

EVIL = '</td><script>document.title = "taken"</script><img src=x onerror=alert(1)> "\'& \x1b[31m \u202e'


def example_report() -> Report:
    rules = [
        RuleRow(blocked, f"https://{name}.example/robots.txt", 3, f"Disallow: /{name}", "*")
        for name, blocked in BLOCKED
    ]
    origins = [
        OriginRow(
            blocked,
            f"https://{name}.example/robots.txt",
            "rules",
            None if name == "b" else 200,
            EVIL,
            "fetched",
            1_000_000.0 + blocked,
        )
        for name, blocked in BLOCKED
    ]
    return Report(
        spider=EVIL,
        ended=3600,
        finish_reason=EVIL,
        blocked=1117,
        by_state={State.RULES: 900, State.FULL_ALLOW: 90, State.FULL_DISALLOW: 10},
        by_source={Source.FETCHED: 989, Source.STORED: 1},
        oldest_secs=7_200,
        unreachable=10,
        rules=[*rules, RuleRow(1, EVIL, 1, EVIL, EVIL)],
        rules_known=9,
        reasons=[(EVIL, 3)],
        origins=origins,
        overrides=[OverrideRow(3, 1, 1, EVIL, EVIL, EVIL, EVIL)],
        overrides_used=1,
        preferences=[PreferenceRow(EVIL, 1, 2, 3)],
    )


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


def test_page_says_where_the_answers_came_from_and_when() -> None:
    document = Selector(text=page(example_report()))
    said = "Answers: 989 fetched, 1 from the storage, none from 10 origins; the oldest was 2 h old."
    assert said in document.css("section p::text").getall()
    assert document.css("#origins tbody tr:first-child td::text").getall()[-2:] == [
        "fetched",
        "1970-01-12 14:03:20 UTC",
    ]
    assert "900 with rules" in document.css(".legend li::text").getall()


def test_page_of_a_crawl_that_ended_early_says_so() -> None:
    assert "<p>The crawl ended early (shutdown).</p>" in page(Report(finish_reason="shutdown"))
    assert "ended early" not in page(Report())


def test_page_of_a_crawl_that_met_nothing_says_so() -> None:
    html = page(Report(spider="s"))
    assert "The crawl met no origin." in html
    assert "No rule blocked a request." in html


def dom(path: Path, order: str, profile: Path, *more: str) -> str:
    """The page in Chromium after its script has run."""
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
    assert table.count("<button>") == 7
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
        "<script>const wide = document.querySelector('#origins').parentElement;"
        "const box = wide.previousElementSibling.querySelector('input'); box.value = 'A.EXAMPLE';"
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
