"""The report's page: it escapes everything, needs nothing from elsewhere, and works in a real browser."""

import re
from pathlib import Path

import pytest
from scrapy import Selector, Spider
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Origin, Rule
from scrapy_gbot_robots.obeying.answer import CachedAnswer, Source
from scrapy_gbot_robots.policy.outages import Copy, Decision, Kind, State
from scrapy_gbot_robots.report.extension import page
from scrapy_gbot_robots.report.summary import BlockingRule, CrawlCounts

from ..support.browser import dom, violations

EVIL = '</td><script>document.title = "taken"</script><img src=x onerror=alert(1)> "\'& \x1b[31m \u202e'


def example_counts() -> CrawlCounts:
    counts = CrawlCounts(get_crawler())
    counts.blocked = 1117
    for name, blocked in BLOCKED:
        origin = Origin.of(f"https://{name}.example")
        copy = Copy(
            Kind.RULES, 200, origin.robots_url, b"", False, EVIL, 1_000_000.0 + blocked, 0.0
        )
        decision = Decision(State.RULES, EVIL, False, 0, 0, copy)
        answer = CachedAnswer(origin, decision, None if name == "b" else 200, Source.FETCHED)
        counts.count_answer(answer, copy)
        rule = BlockingRule(origin, Rule(False, f"/{name}", 3), "*")
        for _ in range(blocked):
            counts.blocking.add(origin, EVIL)
            counts.rules.add(rule)
    counts.rules.add(BlockingRule(origin, Rule(False, EVIL, 1), EVIL), EVIL)
    for _ in range(3):
        counts.reasons.add(EVIL)
    silent = CachedAnswer(
        Origin.of("https://z.example"), Decision(State.FULL_DISALLOW, EVIL, True, 0, 0)
    )
    counts.count_answer(silent, None)
    return counts


BLOCKED = [("b", 1000), ("a", 90), ("d", 20), ("c", 7)]


def test_page_needs_nothing_from_elsewhere_and_escapes_everything() -> None:
    html = page(example_counts(), Spider(EVIL))
    document = Selector(text=html)
    assert not document.xpath(
        "//@src | //@href | //@style | //@*[starts-with(name(), 'on')] | //img | //link"
    )
    assert len(document.xpath("//script")) == len(document.xpath("//style")) == 1
    assert not re.search(r"url\(|@import", document.xpath("string(//style)").get(""))
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert document.xpath("//table[@id='rules']//td[contains(., 'onerror=alert(1)')]")
    assert "default-src 'none'" in html


@pytest.mark.parametrize(
    ("order", "rows", "arrow"),
    [
        pytest.param("origins.blocked", ["z", "c", "d", "a", "b"], "ascending", id="by-number"),
        pytest.param("origins.-robots-txt", ["z", "d", "c", "b", "a"], "descending", id="by-text"),
        pytest.param("nonsense.blocked", ["b", "a", "d", "c", "z"], None, id="unknown-order"),
    ],
)
def test_a_real_browser_sorts_the_tables(
    tmp_path: Path, order: str, rows: list[str], arrow: str | None
) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(example_counts(), Spider(EVIL)), encoding="utf-8")
    shown = dom(path, order, tmp_path)
    table = shown.partition('<table id="origins">')[2].partition("</table>")[0]
    assert re.findall(r"https://(\w)\.example", table) == rows
    assert re.findall(r'aria-sort="(\w+)"', table) == ([arrow] if arrow else [])
    assert table.count("<button>") == 6
    assert "<title>taken</title>" not in shown
    chart = shown.partition("Rules that blocked most")[2].partition("</section>")[0]
    assert re.findall(r'<rect width="([\d.]+)"', chart) == [
        "100.00",
        "9.00",
        "2.00",
        "0.70",
        "0.10",
    ]


def test_a_click_on_a_title_sorts_and_typing_narrows_a_table(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    do_it = (
        "<script>document.querySelector('#origins th:nth-child(2) button').click();"
        "const wide = document.querySelector('#origins').parentElement;"
        "const box = wide.previousElementSibling.querySelector('input'); box.value = 'A.EXAMPLE';"
        "box.dispatchEvent(new Event('input'))</script></body>"
    )
    without_policy = re.sub(
        "<meta http-equiv[^>]*>", "", page(example_counts(), Spider(EVIL))
    )  # it would not let our click through
    path.write_text(without_policy.replace("</body>", do_it), encoding="utf-8")
    shown = dom(path, "", tmp_path)
    table = shown.partition('<table id="origins">')[2].partition("</table>")[0]
    assert re.findall(r"https://(\w)\.example", table) == ["a", "b", "c", "d", "z"]
    assert re.findall(r'aria-sort="(\w+)"', table) == ["ascending"]
    assert re.findall(r"<tr>.*?https://(\w)\.example", table) == ["a"]
    assert table.count("<tr hidden") == 4
    assert "<tr hidden" not in shown.partition('<table id="rules">')[2].partition("</table>")[0]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_for_people_who_use_a_keyboard_or_a_screen_reader(
    dark: bool, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(page(example_counts(), Spider(EVIL)), encoding="utf-8")
    assert violations(path, tmp_path, dark=dark) == ""
