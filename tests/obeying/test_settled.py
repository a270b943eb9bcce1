"""Answers that serve the requests that waited for them: of which crawler, for how long, and how many are kept."""

from __future__ import annotations

import time

import pytest

from scrapy_gbot_robots.core.crawlers import Crawler
from scrapy_gbot_robots.core.urls import Origin
from scrapy_gbot_robots.obeying import settled
from scrapy_gbot_robots.obeying.answer import Answer
from scrapy_gbot_robots.obeying.settled import SERVED_SECS, SettledAnswers
from scrapy_gbot_robots.policy.outages import Decision, State

AGENT = Crawler.of("testbot")


def answer(number: int = 0, *, given: float = 0.0, good_for: float = 0.0, state: State = State.FULL_ALLOW) -> Answer:
    """An answer that was given `given` seconds from now and is good for `good_for` seconds."""
    now = time.time() + given
    until = now + good_for
    decision = Decision(state, "", state is State.FULL_DISALLOW, until, until)
    return Answer(Origin.of(f"http://host{number}.example/"), decision, None, now)


def test_answer_that_expires_soon_serves_its_mark_and_earlier_ones() -> None:
    answers = SettledAnswers()
    first, second = answer(given=-1.0), answer()
    mark = answers.keep(AGENT, first)
    assert mark is not None
    assert answers.get(first.origin, AGENT, mark) is first
    later = answers.keep(AGENT, second)
    assert later is not None
    assert answers.get(first.origin, AGENT, mark) is answers.get(first.origin, AGENT, later) is second
    assert answers.get(first.origin, AGENT, later + 1) is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(answer(good_for=SERVED_SECS), id="good-for-long"),
        pytest.param(answer(state=State.FULL_DISALLOW), id="unreachable"),
    ],
)
def test_answer_that_need_not_or_must_not_be_kept_gives_no_mark(given: Answer) -> None:
    assert SettledAnswers().keep(AGENT, given) is None


@pytest.mark.parametrize("given", [-SERVED_SECS - 1, SERVED_SECS + 1], ids=["too-old", "clock-set-back"])
def test_answer_serves_for_a_limited_time(given: float) -> None:
    answers, old = SettledAnswers(), answer(given=given)
    mark = answers.keep(AGENT, old)
    assert mark is not None
    assert answers.get(old.origin, AGENT, mark) is None


def test_answer_serves_only_the_crawler_that_it_was_looked_up_for() -> None:
    answers, given = SettledAnswers(), answer()
    mark = answers.keep(AGENT, given)
    assert mark is not None
    assert answers.get(given.origin, Crawler.of("otherbot"), mark) is None


@pytest.mark.parametrize(("most", "most_bytes"), [(2, 2**20), (100, 2500)], ids=["number", "bytes"])
def test_answers_are_bounded_and_the_oldest_go(most: int, most_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settled, "_MOST", most)
    monkeypatch.setattr(settled, "_MOST_BYTES", most_bytes)
    answers, given = SettledAnswers(), [answer(number) for number in (0, 1, 2, 1, 3)]
    marks = [answers.keep(AGENT, each) or 0.0 for each in given]
    found = [answers.get(each.origin, AGENT, mark) for each, mark in zip(given, marks, strict=True)]
    assert found == [None, given[3], None, given[3], given[4]]


def test_a_thousand_answers_without_rules_are_kept() -> None:
    answers, given = SettledAnswers(), [answer(number) for number in range(1001)]
    marks = [answers.keep(AGENT, each) or 0.0 for each in given]
    found = [answers.get(each.origin, AGENT, mark) for each, mark in zip(given, marks, strict=True)]
    assert found == [None, *given[1:]]
