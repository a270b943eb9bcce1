"""The benchmarks that the documentation names run."""

from __future__ import annotations

import pytest

from benchmarks.crawl import KINDS, Case, measure, report

pytestmark = pytest.mark.slow


@pytest.mark.crawl
@pytest.mark.parametrize("linked", [False, True], ids=["start-urls", "links"])
def test_crawl_benchmark_crawls_all_pages_in_all_ways(linked: bool, capsys: pytest.CaptureFixture[str]) -> None:
    taken = measure(Case(2, 3, linked=linked), 1)
    report("tiny", taken)
    assert [runs[0]["crawled"] for kind, runs in taken.items()] == [6] * len(KINDS)
    assert "plugin/Scrapy alone" in capsys.readouterr().out
