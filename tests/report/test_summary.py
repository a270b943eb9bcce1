"""Counting in bounded memory; numbers and lengths of time in words."""

import random

import pytest

from scrapy_gbot_robots.report.summary import Tally, count


def test_the_frequent_ones_survive_a_million_others() -> None:
    tally: Tally[str] = Tally(room=100)
    chance = random.Random(5)
    for number in range(50_000):
        tally.add(f"frequent {chance.randrange(3)}" if number % 10 == 0 else f"rare {number}")
    assert not tally.exact
    assert len(tally) <= 100
    top = tally.most_common(3)
    assert {name for name, _ in top} == {"frequent 0", "frequent 1", "frequent 2"}
    assert sum(count for _, count in top) == 5_000


def test_examples_are_few_and_go_with_their_keys() -> None:
    tally: Tally[str] = Tally(room=3)
    for number in range(5):
        tally.add("a", f"u{number}")
    assert tally.examples["a"] == ["u0", "u1"]
    for number in range(50):
        tally.add(f"rare {number}", "x")
    assert tally.examples["a"] == ["u0", "u1"]
    assert len(tally.examples) <= 3


@pytest.mark.parametrize(("number", "words"), [(1, "1 URL"), (12_000, "12,000 URLs")])
def test_number_goes_with_its_noun(number: int, words: str) -> None:
    assert count(number, "URL") == words
