"""How the package is written. Each limit may only fall: lower it when you have made code clearer."""

from pathlib import Path

import pytest

import scrapy_gbot_robots

from .support.house import Writing, writing_of

PACKAGE = Path(scrapy_gbot_robots.__file__).parent

MOST_HIDDEN_PERCENT = 12.0  # of all decisions
MOST_FUNCTIONS_THAT_DECIDE_OFTEN = 2
MOST_COMPREHENSIONS_WITH_SEVERAL_LOOPS = 0.1  # this and the next two per 1,000 lines of code
MOST_NESTED_COMPREHENSIONS = 0.1
MOST_CONDITIONS_IN_ARGUMENTS = 1.2

SAMPLE = '''
"""A docstring is no code."""


def shown(numbers):
    """Six decisions: that of `def`, two loops, a test of two parts, an except."""
    for number in numbers:
        while number and number > 1:
            number -= 1
    try:
        pass
    except ValueError:
        pass


def hides(a, b):
    return print(a if b else [x for y in a for x in y if x and [z for z in x]])
'''


@pytest.fixture(scope="module")
def package() -> Writing:
    return writing_of(sorted(PACKAGE.rglob("*.py")))


def test_decisions_are_seen(package: Writing) -> None:
    assert package.hidden_percent <= MOST_HIDDEN_PERCENT


def test_functions_decide_seldom(package: Writing) -> None:
    assert len(package.many) <= MOST_FUNCTIONS_THAT_DECIDE_OFTEN, package.many


def test_comprehensions_are_plain(package: Writing) -> None:
    several = package.per_thousand_lines(package.loops_in_one)
    assert several <= MOST_COMPREHENSIONS_WITH_SEVERAL_LOOPS
    assert package.per_thousand_lines(package.nested) <= MOST_NESTED_COMPREHENSIONS


def test_arguments_hold_no_decisions(package: Writing) -> None:
    conditions = package.per_thousand_lines(package.in_arguments)
    assert conditions <= MOST_CONDITIONS_IN_ARGUMENTS


def test_measures_count_what_they_say(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(SAMPLE)
    writing = writing_of([sample])
    assert (writing.open, writing.hidden) == (4, 4)
    assert (writing.loops_in_one, writing.nested, writing.in_arguments) == (1, 1, 1)
    assert writing.code_lines == 10
    assert writing.many == []
