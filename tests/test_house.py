"""How the package is written: where it decides. Each limit may only fall: lower it when you have made code clearer.

A decision is open where a statement shows it (`if`, `while`, `for`, `except`, `case`, with the
`and` and `or` of their tests), and hidden where it gives a value: `a if b else c`, `a and b`, and
in a comprehension each `if` and each `for` after the first. The linter counts open ones alone.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import scrapy_gbot_robots

# This test is about the project itself, so it runs in the slow lane.
pytestmark = pytest.mark.slow

PACKAGE = Path(scrapy_gbot_robots.__file__).parent
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
OPEN = (ast.If, *LOOPS, ast.ExceptHandler, ast.Assert, ast.match_case)

MOST_HIDDEN_PERCENT = 11.4  # of all decisions
MOST = {
    "functions that decide more than 15 times": 2,
    "comprehensions with several loops": 1,
    "comprehensions in comprehensions": 1,
    "conditions in arguments": 13,
}


SAMPLE = """
def shown(numbers):
    'Six decisions: that of `def`, two loops, a test of two parts, an except.'
    for number in numbers:
        while number and number > 1:
            number -= 1
    try:
        pass
    except ValueError:
        pass


def hides(a, b):
    return print(a if b else [x for y in a for x in y if x and [z for z in x]])
"""


def writing_of(texts: Iterable[str]) -> Counter[str]:
    """Numbers of decisions, open and hidden, and of what `MOST` bounds."""
    writing: Counter[str] = Counter()
    for text in texts:
        tree = ast.parse(text)
        tests = _tests_of_statements(tree)
        for node in ast.walk(tree):
            writing.update(_decisions(node, tests))
            if isinstance(node, COMPREHENSIONS):
                inner = [part for part in ast.walk(node) if isinstance(part, COMPREHENSIONS)]
                writing["comprehensions with several loops"] += len(node.generators) > 1
                writing["comprehensions in comprehensions"] += len(inner) > 1
            elif isinstance(node, ast.Call):
                for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                    parts = ast.walk(argument)
                    writing["conditions in arguments"] += sum(
                        isinstance(part, ast.IfExp) for part in parts
                    )
            elif isinstance(node, FUNCTIONS):
                number = 1 + sum(_decisions(part, tests).total() for part in _own_nodes(node))
                writing["functions that decide more than 15 times"] += number > 15
    return writing


def _decisions(node: ast.AST, tests: set[ast.AST]) -> Counter[str]:
    if isinstance(node, OPEN):
        return Counter(open=1)
    if isinstance(node, ast.IfExp):
        return Counter(hidden=1)
    if isinstance(node, ast.BoolOp):
        return Counter({"open" if node in tests else "hidden": len(node.values) - 1})
    if isinstance(node, COMPREHENSIONS):
        conditions = sum(len(generator.ifs) for generator in node.generators)
        return Counter(hidden=len(node.generators) - 1 + conditions)
    return Counter()


def _tests_of_statements(tree: ast.AST) -> set[ast.AST]:
    """All nodes inside the tests of `if`, `while` and `assert`."""
    nodes: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.While, ast.Assert)):
            nodes.update(ast.walk(node.test))
    return nodes


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions and classes that it defines."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield child
            yield from _own_nodes(child)


def test_decisions_are_seen_and_few_in_a_function() -> None:
    writing = writing_of(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    percent = 100 * writing["hidden"] / (writing["open"] + writing["hidden"])
    assert percent <= MOST_HIDDEN_PERCENT
    assert {name: writing[name] for name, most in MOST.items() if writing[name] > most} == {}


def test_measures_count_what_they_say() -> None:
    writing = writing_of([SAMPLE])
    assert (writing["open"], writing["hidden"]) == (4, 4)
    assert [writing[name] for name in MOST] == [0, 1, 1, 1]
    often = "def f(a):\n" + "    if a: pass\n" * 15
    assert writing_of([often])["functions that decide more than 15 times"] == 1
