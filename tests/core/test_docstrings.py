"""The examples in docstrings of public classes and functions give the results that they show."""

from __future__ import annotations

import doctest
from types import ModuleType

from scrapy_gbot_robots.bulk import judging
from scrapy_gbot_robots.core import crawlers, robots, urls

from ..support.rows import table


@table(
    "module, names",
    (crawlers, {"UserAgent", "UserAgent.of"}),
    (
        robots,
        {
            "RobotsTxt",
            "RobotsTxt.allowed",
            "RobotsTxt.parse",
            "RobotsTxt.rules_for",
            "RobotsTxt.sitemaps",
            "RobotsTxt.verdict",
        },
    ),
    (urls, {"Origin", "Origin.of"}),
    (judging, {"judge"}),
)
def test_examples_in_docstrings(module: ModuleType, names: set[str]) -> None:
    runner = doctest.DocTestRunner()
    tests = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    for test in tests:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
    assert {test.name.removeprefix(f"{module.__name__}.") for test in tests} == names
