"""What a crawl is for, against what a site says."""

from __future__ import annotations

import pytest

from scrapy_gbot_robots import Preferences
from scrapy_gbot_robots.experimental.purposes import PURPOSES, refusal, word_on

SAID = Preferences(train_ai=False, search=True, ai_use=None, lines=(3, 7))


@pytest.mark.parametrize(("purpose", "word"), [("train-ai", "refused"), ("search", "granted"), ("ai-use", "unsaid")])
def test_each_purpose_has_its_word(purpose: str, word: str) -> None:
    assert word_on(purpose, SAID) == word


@pytest.mark.parametrize("purposes", [(), ("search",), ("ai-use",), ("search", "ai-use")])
def test_what_is_granted_or_not_said_is_not_refused(purposes: tuple[str, ...]) -> None:
    assert refusal(purposes, SAID) is None


def test_refusal_names_what_is_refused_by_whom_and_where() -> None:
    verdict = refusal(PURPOSES, SAID)
    assert verdict is not None
    assert str(verdict) == "disallowed: the site refuses train-ai (line 3, 7)"
    by_header = refusal(PURPOSES, Preferences(search=False, ai_use=False), "a header")
    assert by_header is not None
    assert str(by_header) == "disallowed: a header refuses search, ai-use"
