"""The answers in memory: the least recently used go first, and neither number nor bytes grow beyond their bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_gbot_robots import Origin
from scrapy_gbot_robots.obeying.answer import CachedAnswer
from scrapy_gbot_robots.obeying.lookup import AnswerCache
from scrapy_gbot_robots.policy.outages import Decision, State

if TYPE_CHECKING:
    from collections.abc import Sequence


def answer(name: str, weight: int = 1000) -> CachedAnswer:
    found = CachedAnswer(Origin.of(f"http://{name}.example/"), Decision(State.FULL_ALLOW, "", False, 0.0, 0.0))
    found.weight = weight
    return found


def cached(cache: AnswerCache, names: Sequence[str]) -> str:
    return "".join(name for name in names if cache.get(Origin.of(f"http://{name}.example/")) is not None)


def test_answer_in_use_stays_and_a_mere_look_is_no_use() -> None:
    cache = AnswerCache(2)
    a, b = answer("a"), answer("b")
    cache.put(a)
    cache.put(b)
    cache.use(a.origin)
    assert cache.get(b.origin) is b
    cache.put(answer("c"))
    assert cached(cache, "abc") == "ac"


def test_new_answer_of_an_origin_takes_the_place_of_the_old_one() -> None:
    cache = AnswerCache(2)
    cache.put(answer("a"))
    cache.put(answer("b"))
    new = answer("a")
    cache.put(new)
    cache.put(answer("c"))
    assert cached(cache, "abc") == "ac"
    assert cache.get(new.origin) is new


@pytest.mark.parametrize(
    ("weights", "left"),
    [
        pytest.param([400, 300, 300], "abc", id="just-enough-room"),
        pytest.param([401, 300, 300], "bc", id="a-byte-too-many"),
        pytest.param([10, 990, 990], "c", id="two-go"),
        pytest.param([10, 5000], "b", id="newest-whatever-its-weight"),
        pytest.param([10, 5000, 10], "c", id="and-the-one-after-it"),
    ],
)
def test_bytes_are_bounded(weights: list[int], left: str) -> None:
    cache = AnswerCache(100, most_bytes=1000)
    names = "abc"[: len(weights)]
    for name, weight in zip(names, weights, strict=True):
        cache.put(answer(name, weight))
    assert cached(cache, names) == left


def test_weight_of_answers_that_have_gone_counts_no_longer() -> None:
    cache = AnswerCache(2, most_bytes=1000)
    for name in "abcdef":
        cache.put(answer(name, 400))
    for _ in range(5):
        cache.put(answer("f", 600))
    assert cached(cache, "abcdef") == "ef"
