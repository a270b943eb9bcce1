"""Verdicts by the thousand: arranged rules say what rules tried one by one say, whatever the rules and the paths."""

from __future__ import annotations

import random
import time

import pytest

from scrapy_gbot_robots import RobotsTxt, Verdict
from scrapy_gbot_robots.core import rules as module
from scrapy_gbot_robots.core.deciders import Deciders

ALPHABETS = [
    pytest.param("ab", id="two-letters"),
    pytest.param("abc/.?%é", id="url-like"),
    pytest.param("aaa*$", id="special"),
]


@pytest.mark.parametrize("alphabet", ALPHABETS)
@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
def test_later_verdicts_are_the_same_as_the_first(alphabet: str, strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(len(alphabet))

    def text(longest: int, extra: str = "") -> str:
        return "".join(chance.choice(alphabet + extra) for _ in range(chance.randrange(longest)))

    decided = set()
    for _ in range(60):
        ends = ("", "", "$", "*", "/index.html")
        rules = [f"{chance.choice(('allow', 'disallow'))}: /{text(7, '*')}{chance.choice(ends)}" for _ in range(40)]
        robotstxt = RobotsTxt.parse("\n".join(["user-agent: *", "allow:", *rules]).encode(), strict=strict)
        paths = ["/" + text(12) + chance.choice(("", "/", "/index.html")) for _ in range(40)]
        monkeypatch.setattr(module, "_FEW_VERDICTS", 10_000)
        first = [robotstxt.rules_for("a").verdict(path) for path in paths]
        monkeypatch.setattr(module, "_FEW_VERDICTS", 0)
        later = RobotsTxt.parse("\n".join(["user-agent: *", "allow:", *rules]).encode(), strict=strict).rules_for("b")
        later.verdict("/")
        assert [later.verdict(path) for path in paths] == first
        assert [later.allowed(path) for path in paths] == [verdict.allowed for verdict in first]
        decided |= {(verdict.allowed, verdict.reason) for verdict in first}
    assert {(True, module.MOST_SPECIFIC), (False, module.MOST_SPECIFIC)} <= decided
    assert strict or (True, module.INDEX_OF_DIRECTORY) in decided


def test_rules_are_arranged_once_they_are_asked_often() -> None:
    rules = RobotsTxt.parse(b"user-agent: *\ndisallow: /a\n").rules_for("x")
    answers = {rules.verdict("/ab") for _ in range(2000)}
    assert answers == {Verdict(False, module.Rule(False, "/a", 2), module.MOST_SPECIFIC, "*")}


def test_without_patterns_the_other_is_said() -> None:
    assert Deciders([], "nothing").of("/x") == "nothing"


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        pytest.param("/*aaa{}", "/" + "a" * 2_000, id="one-gram-everywhere"),
        pytest.param("/" + "a" * 30 + "{}*b*c*d", "/" + "a" * 2_000, id="many-stars"),
        pytest.param("/{}*", "/" + "123456789" * 220, id="many-beginnings"),
    ],
)
def test_hostile_rules_and_paths_take_no_longer_than_trying_all(pattern: str, path: str) -> None:
    patterns = [(number, pattern.format(number), number) for number in range(500_000 // 20)]
    deciders = Deciders(patterns, -1)
    began = time.perf_counter()
    for _ in range(3):
        deciders.of(path)
    assert time.perf_counter() - began < 60
