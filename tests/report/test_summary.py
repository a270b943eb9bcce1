"""Numbers and lengths of time in words."""

from __future__ import annotations

import pytest

from scrapy_gbot_robots.report.summary import count, span


@pytest.mark.parametrize(
    ("number", "exact", "words"),
    [
        (0, True, "0 URLs"),
        (1, True, "1 URL"),
        (2, True, "2 URLs"),
        (12_000, True, "12,000 URLs"),
        (12_000, False, "more than 12,000 URLs"),
        (1, False, "more than 1 URLs"),
    ],
)
def test_number_goes_with_its_noun(number: int, exact: bool, words: str) -> None:
    assert count(number, "URL", exact=exact) == words


def test_noun_may_have_another_plural() -> None:
    assert [count(number, "process", "processes") for number in (1, 2)] == ["1 process", "2 processes"]


@pytest.mark.parametrize(
    ("secs", "words"), [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (7199, "1 h"), (86_400, "1 d"), (8e6, "92 d")]
)
def test_spans_are_put_into_words(secs: float, words: str) -> None:
    assert span(secs) == words
