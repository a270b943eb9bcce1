"""Counting in bounded memory, over keys and over time; numbers and lengths of time in words."""

import random

import pytest

from scrapy_gbot_robots.report.counters import MOST_SPANS, OverTime, Tally
from scrapy_gbot_robots.report.summary import count, span


def test_the_frequent_ones_survive_a_million_others() -> None:
    tally: Tally[str] = Tally(room=100)
    chance = random.Random(5)
    for number in range(50_000):
        tally.add(f"frequent {chance.randrange(3)}" if number % 10 == 0 else f"rare {number}")
    assert not tally.exact
    assert len(tally) <= 100
    assert tally.total == 50_000
    top = tally.top(3)
    assert {name for name, _ in top} == {"frequent 0", "frequent 1", "frequent 2"}
    assert sum(count for _, count in top) == 5_000


def test_examples_are_few_and_go_with_their_keys() -> None:
    tally: Tally[str] = Tally(room=3)
    for number in range(5):
        tally.add("a", f"u{number}")
    assert tally.examples("a") == ["u0", "u1"]
    for number in range(50):
        tally.add(f"rare {number}", "x")
    assert tally.examples("a") == ["u0", "u1"]
    assert len(tally._examples) <= 3


def test_each_second_has_its_count_at_first_and_a_clock_that_is_set_back_loses_none() -> None:
    over_time = OverTime(1000.0)
    for now in (1000.0, 1000.9, 1002.0, 10.0):
        over_time.add(now)
    assert (over_time.span_secs, over_time.counts) == (1.0, [3, 0, 1])


def test_spans_double_so_that_there_are_never_too_many_and_none_is_lost() -> None:
    over_time = OverTime(0.0)
    for now in range(0, 1_000_000, 100):
        over_time.add(float(now))
        assert len(over_time.counts) <= MOST_SPANS
    assert sum(over_time.counts) == 10_000
    assert over_time.span_secs == 2.0**15
    assert over_time.counts[0] == 328  # of every 100 s in 32,768
    assert len(over_time.counts) == 31


@pytest.mark.parametrize(
    ("number", "exact", "words"),
    [(1, True, "1 process"), (12_000, True, "12,000 processes"), (1, False, "more than 1 processes")],
)
def test_number_goes_with_its_noun(number: int, exact: bool, words: str) -> None:
    assert count(number, "process", "processes", exact=exact) == words


@pytest.mark.parametrize(
    ("secs", "words"), [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (7199, "1 h"), (86_400, "1 d"), (8e6, "92 d")]
)
def test_spans_are_put_into_words(secs: float, words: str) -> None:
    assert span(secs) == words
