"""How the package's code is written: where it decides.

A decision is open where a statement shows it (`if`, `while`, `for`, `except`, `case`, with the
`and` and `or` of their tests), and hidden where it gives a value: `a if b else c`, `a and b`, and
in a comprehension each `if` and each `for` after the first. The linter counts open ones alone.
"""

import ast
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
OPEN = (ast.If, *LOOPS, ast.ExceptHandler, ast.Assert, ast.match_case)

MANY_DECISIONS = 15  # in one function


class Decisions(NamedTuple):
    """Numbers of decisions."""

    open: int = 0
    hidden: int = 0


@dataclass
class Writing:
    """How some modules are written."""

    code_lines: int = 0
    open: int = 0
    hidden: int = 0
    loops_in_one: int = 0  # comprehensions with several `for`
    nested: int = 0  # comprehensions with another one inside
    in_arguments: int = 0  # conditional expressions inside the arguments of a call
    many: list[str] = field(default_factory=list)  # functions with more than `MANY_DECISIONS`

    @property
    def hidden_percent(self) -> float:
        return 100 * self.hidden / max(1, self.open + self.hidden)

    def per_thousand_lines(self, number: int) -> float:
        return 1000 * number / max(1, self.code_lines)


def writing_of(paths: Iterable[Path]) -> Writing:
    """Measure the modules at `paths`."""
    writing = Writing()
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        tests = _tests_of_statements(tree)
        writing.code_lines += len(_lines_of_code(path, tree))
        for node in ast.walk(tree):
            _count(node, tests, writing)
            if isinstance(node, FUNCTIONS):
                number = 1 + sum(sum(_decisions(part, tests)) for part in _own_nodes(node))
                if number > MANY_DECISIONS:
                    writing.many.append(f"{path.name}: {node.name} decides {number} times")
    return writing


def _count(node: ast.AST, tests: set[ast.AST], writing: Writing) -> None:
    decisions = _decisions(node, tests)
    writing.open += decisions.open
    writing.hidden += decisions.hidden
    if isinstance(node, COMPREHENSIONS):
        writing.loops_in_one += len(node.generators) > 1
        inner = [part for part in ast.walk(node) if isinstance(part, COMPREHENSIONS)]
        writing.nested += len(inner) > 1
    if isinstance(node, ast.Call):
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            parts = ast.walk(argument)
            writing.in_arguments += sum(isinstance(part, ast.IfExp) for part in parts)


def _decisions(node: ast.AST, tests: set[ast.AST]) -> Decisions:
    if isinstance(node, OPEN):
        return Decisions(open=1)
    if isinstance(node, ast.IfExp):
        return Decisions(hidden=1)
    if isinstance(node, ast.BoolOp):
        number = len(node.values) - 1
        return Decisions(open=number) if node in tests else Decisions(hidden=number)
    if isinstance(node, COMPREHENSIONS):
        conditions = sum(len(generator.ifs) for generator in node.generators)
        return Decisions(hidden=len(node.generators) - 1 + conditions)
    return Decisions()


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


def _lines_of_code(path: Path, tree: ast.Module) -> set[int]:
    """The numbers of the lines with code on them: not of blank ones, comments and docstrings."""
    no_code = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    no_code |= {tokenize.ENCODING, tokenize.ENDMARKER}
    lines: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in no_code:
                lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node):
            docstring = node.body[0]
            lines.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return lines
