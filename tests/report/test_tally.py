"""Counting in bounded memory: exact while there is room, and the frequent ones kept when there is not."""

from __future__ import annotations

import random

from scrapy_gbot_robots.report.tally import Tally


def test_counts_are_exact_while_there_is_room() -> None:
    tally: Tally[str] = Tally(room=3)
    tally.update(["a", "b", "a"])
    tally.add("a")
    assert tally.top(2) == [("a", 3), ("b", 1)]
    assert (tally.total, len(tally), tally.exact) == (4, 2, True)


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
