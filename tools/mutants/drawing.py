"""The mutants of some modules, as cosmic-ray makes them, and a sample of them.

The same seed draws the same mutants as long as their lines stay the same, whatever else changes.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from .rooms import HOME

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LEFT_OUT = ("RemoveDecorator", "Mul_Pow")  # another program; a number that fills the memory


class Mutant(NamedTuple):
    """One changed line of one module."""

    module: str  # path in the project
    code: str  # of the whole module
    line: int
    operator: str
    before: str
    after: str

    @property
    def room(self) -> str:
        """The room that the module is in, or is."""
        return PurePosixPath(self.module).with_suffix("").parts[1]


def draw(sources: list[Path], sample: int, seed: str) -> list[Mutant]:
    """The first `sample` mutants in an order that the seed and each mutant's own line decide, and no other line."""
    candidates = [candidate for source in sources for candidate in _candidates(source, seed)]
    mutants: list[Mutant] = []
    for _, source, operator, occurrence, line in sorted(candidates):
        if len(mutants) == sample:
            break
        code = source.read_text("utf-8")
        try:
            mutated = mutate_code(code, get_operator(operator)(), occurrence)
        except AttributeError:  # cosmic-ray cannot replace the exception in `except module.Error`
            continue
        if mutated is not None and _means_something_else(code, mutated):
            before, after = _difference(code, mutated)
            name = operator.removeprefix("core/")
            mutants.append(
                Mutant(str(source.relative_to(HOME)), mutated, line, name, before, after)
            )
    return sorted(mutants)


def _candidates(source: Path, seed: str) -> Iterator[tuple[bytes, Path, str, int, int]]:
    code = source.read_text("utf-8")
    lines = code.splitlines()
    seen: Counter[str] = Counter()
    for operator, occurrence, line, function in _changes(code):
        identity = f"{seed} {source.name} {function} {operator} {lines[line - 1].strip()}"
        seen[identity] += 1
        key = hashlib.sha256(f"{identity} {seen[identity]}".encode()).digest()
        yield key, source, operator, occurrence, line


def _difference(code: str, mutated: str) -> tuple[str, str]:
    """The first line in which two modules differ."""
    before, after = code.splitlines(), [*mutated.splitlines(), ""]
    number = next(
        number for number, old in enumerate(before) if old != after[min(number, len(after) - 1)]
    )
    return before[number].strip(), after[min(number, len(after) - 1)].strip()


def _changes(code: str) -> Iterator[tuple[str, int, int, str | None]]:
    """Operator, occurrence, line, and the function it is in, of each change that cosmic-ray can make."""
    nodes = list(ast_nodes(get_ast(code)))
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments() or any(word in name for word in _LEFT_OUT):
            continue
        positions = [(node, at) for node in nodes for at, _ in operator().mutation_positions(node)]
        for occurrence, (node, at) in enumerate(positions):
            yield name, occurrence, at[0], _function(node)


def _function(node: Any) -> str | None:
    while node is not None and node.type not in ("funcdef", "classdef"):
        node = node.parent
    return node.name.value if node else None


class _AtRunTime(ast.NodeTransformer):
    """Takes away what means nothing at run time: annotations, imports for types, `is None` beside `== None`."""

    def visit_If(self, node: ast.If) -> Any:
        return None if "TYPE_CHECKING" in ast.dump(node.test) else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> Any:
        node.annotation = None
        return node

    def visit_arguments(self, node: ast.arguments) -> Any:
        node.args = [*node.posonlyargs, *node.args, *node.kwonlyargs]
        node.defaults = [*node.defaults, *(value for value in node.kw_defaults if value)]
        node.posonlyargs, node.kwonlyargs, node.kw_defaults = [], [], []
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        node.returns = None
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        same: dict[type, Any] = {ast.Eq: ast.Is(), ast.NotEq: ast.IsNot()}
        if isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None:
            node.ops = [same.get(type(op), op) for op in node.ops]
        return self.generic_visit(node)


def _means_something_else(code: str, mutated: str) -> bool:
    with suppress(SyntaxError):
        return ast.dump(_AtRunTime().visit(ast.parse(code))) != ast.dump(
            _AtRunTime().visit(ast.parse(mutated))
        )
    return False
