"""Counts over time: exact, however long a crawl, in a bounded number of spans."""

from __future__ import annotations

from scrapy_gbot_robots.report.over_time import MOST_SPANS, OverTime


def test_each_second_has_its_count_at_first() -> None:
    over_time = OverTime(1000.0)
    for now in (1000.0, 1000.9, 1002.0):
        over_time.add(now)
    assert (over_time.span_secs, over_time.counts) == (1.0, [2, 0, 1])


def test_spans_double_so_that_there_are_never_too_many_and_none_is_lost() -> None:
    over_time = OverTime(0.0)
    for now in range(0, 1_000_000, 100):
        over_time.add(float(now))
        assert len(over_time.counts) <= MOST_SPANS
    assert sum(over_time.counts) == 10_000
    assert over_time.span_secs == 2.0**15
    assert over_time.counts[0] == 328  # of every 100 s in 32,768
    assert len(over_time.counts) == 31


def test_a_clock_that_is_set_back_loses_no_count() -> None:
    over_time = OverTime(1000.0)
    over_time.add(10.0)
    assert over_time.counts == [1]
