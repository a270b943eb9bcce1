"""The benchmarks that the documentation names run."""

from __future__ import annotations

import pytest

from benchmarks import queued
from benchmarks.crawl import KINDS, Case, measure, report

pytestmark = pytest.mark.slow


@pytest.mark.crawl
@pytest.mark.parametrize("linked", [False, True], ids=["start-urls", "links"])
def test_crawl_benchmark_crawls_all_pages_in_all_ways(linked: bool, capsys: pytest.CaptureFixture[str]) -> None:
    taken = measure(Case(2, 3, linked=linked), 1)
    report("tiny", taken)
    assert [runs[0]["crawled"] for kind, runs in taken.items()] == [6] * len(KINDS)
    assert "plugin/Scrapy alone" in capsys.readouterr().out


@pytest.mark.crawl
def test_benchmark_of_queued_hosts_crawls_each_page_once_in_all_ways(capsys: pytest.CaptureFixture[str]) -> None:
    queued.main(["--hosts", "5", "--pages", "2", "--times", "1"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [(row[1], row[2], row[-1]) for row in rows] == [(way, "10", "11") for way in queued.WAYS]
