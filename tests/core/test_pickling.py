"""Pickles hold the rules or the bytes, and nothing that can be built again from them."""

from __future__ import annotations

import copy
import pickle

import pytest

from scrapy_gbot_robots import RobotsTxt, Rules
from scrapy_gbot_robots.core.robots import lines_of
from scrapy_gbot_robots.core.rules import preferences_of, weight_of

ROBOTS = b"user-agent: *\ncrawl-delay: 2\ndisallow: /no\nallow: /no/index.html\ndisalow: /typo\ndisallow: /*.php$\ncontent-usage: /typo search=n\n"
URLS = ["/", "/no", "/no/", "/no/x", "/typo", "/a.php", "/a.php?x"] * 200


@pytest.mark.parametrize("body", [ROBOTS, ROBOTS.replace(b"*\n", b"other\n"), b"\n" * 300 + ROBOTS])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("asked", [False, True], ids=["never asked", "with an index"])
def test_rules_say_the_same_after_a_journey(body: bytes, strict: bool, asked: bool) -> None:
    rules = RobotsTxt.parse(body, strict=strict).rules_for("a")
    if asked:
        _ = [rules.verdict(url) for url in URLS]
    for again in (pickle.loads(pickle.dumps(rules)), copy.deepcopy(rules)):  # noqa: S301
        assert isinstance(again, Rules)
        assert [again.verdict(url) for url in URLS] == [rules.verdict(url) for url in URLS]
        assert [again.allowed(url) for url in URLS] == [rules.allowed(url) for url in URLS]
        assert [preferences_of(again, url) for url in URLS] == [preferences_of(rules, url) for url in URLS]
        assert (again.crawl_delay, weight_of(again)) == (rules.crawl_delay, weight_of(rules))


def test_robots_txt_says_the_same_after_a_journey() -> None:
    robots = RobotsTxt.parse(ROBOTS, strict=True, max_bytes=60)
    again = pickle.loads(pickle.dumps(robots))  # noqa: S301
    assert (lines_of(again), again.remarks) == (lines_of(robots), robots.remarks)
    assert "cut" in {remark.kind for remark in again.remarks}
    assert [again.verdict(url, "a") for url in URLS] == [robots.verdict(url, "a") for url in URLS]


def test_pickle_is_small_however_much_was_asked() -> None:
    lines = b"".join(b"disallow: /%d/*/x\n" % number for number in range(1_000))
    robots = RobotsTxt.parse(b"user-agent: *\n" + lines)
    rules = robots.rules_for("a")
    _ = [rules.verdict(url) for url in URLS]
    assert len(pickle.dumps(rules)) < 1.2 * len(lines)
    assert len(pickle.dumps(robots)) < 1.2 * len(lines)
