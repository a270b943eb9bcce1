"""Which tests run which lines: what decides the tests that a mutant meets.

A line of a module or a class runs on import, before any test, and a line of a cached function in one of many tests. So a
mutant there meets all tests of the files that have one for that module. A mutant in a line that no test runs in this process
meets all tests of the room: they start other processes.
"""

from __future__ import annotations

import ast
import json
import sys
import threading
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from .rooms import HOME, PACKAGE, ROOMS

if TYPE_CHECKING:
    from types import FrameType

    from .drawing import Mutant

QUIETLY = ("-q", "-p", "no:cacheprovider", "-W", "ignore")  # arguments of pytest


class Tests(NamedTuple):
    """What a run without a mutant has shown."""

    secs: dict[str, float]  # by test
    running: dict[str, dict[int, list[str]]]  # the tests that run a line: by module, then line
    left_out: list[str]  # tests that fail without a mutant, or take too long


class _Watch:
    """A pytest plugin: which test runs which line, how long it takes, and whether it fails.

    coverage.py could tell the lines, too, but not with greenlets, between which pytest-twisted switches: it keeps a stack
    of calls. A set of lines needs none.
    """

    def __init__(self, traced: Path) -> None:
        self._traced = str(traced)
        self._seen: set[tuple[str, int]] = set()
        self.secs: defaultdict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self.running: dict[str, dict[int, list[str]]] = {}

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:
        """The trace function of Python: of all functions that are called, those of the room are looked at."""
        return self._line if frame.f_code.co_filename.startswith(self._traced) else None

    def _line(self, frame: FrameType, event: str, arg: object) -> Any:
        self._seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> None:
        self._seen = set()
        # again for each test: Python stops to trace after a RecursionError
        sys.settrace(self.trace)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        for path, line in self._seen:
            self.running.setdefault(path, {}).setdefault(line, []).append(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.secs[report.nodeid] += report.duration if report.when == "call" else 0
        if report.failed:
            self.failed.add(report.nodeid)


def run_traced(copy: Path, room: str, result: Path) -> int:
    """In a fork: run the tests of `room`, and write to `result` what they have shown."""
    watch = _Watch(copy / PACKAGE / room)
    threading.settrace(watch.trace)
    sys.dont_write_bytecode = False  # what stays the same is compiled once
    status = int(pytest.main([*QUIETLY, *ROOMS[room].split()], plugins=[watch]))
    running = {str(Path(path).relative_to(copy)): lines for path, lines in watch.running.items()}
    result.write_text(json.dumps([watch.secs, running, sorted(watch.failed)]))
    return status


def tests_of(result: Path, longest: float) -> Tests:
    """Read what `run_traced` has written. Tests of more than `longest` seconds are left out."""
    secs, running, failed = json.loads(result.read_text())
    left_out = {*failed, *(test for test, taken in secs.items() if taken > longest)}
    return Tests(
        {test: taken for test, taken in secs.items() if test not in left_out},
        {
            module: {
                int(line): [test for test in tests if test not in left_out]
                for line, tests in lines.items()
            }
            for module, lines in running.items()
        },
        sorted(left_out),
    )


def noticing(mutant: Mutant, tests: Tests) -> list[str]:
    """The tests that may notice a mutant, the fastest first."""
    running = tests.running.get(mutant.module, {})
    lines = _statement(ast.parse((HOME / mutant.module).read_text("utf-8")), mutant.line)
    found = {test for line in lines or running for test in running.get(line, ())}
    if lines is None:
        files = {file_of(test) for test in found}
        found = {test for test in tests.secs if file_of(test) in files or not files}
    if not found:  # what runs in other processes is not traced
        found = {*tests.secs}
    return sorted(found, key=lambda test: tests.secs[test])


def file_of(test: str) -> str:
    """The file of a test."""
    return test.partition("::")[0]


def _statement(tree: ast.Module, line: int) -> range | None:
    """The lines of the statement in a function that has this line, without a block's; None outside of functions.

    None, too, in a function whose result is cached: of all the tests that need it, only the first runs its lines.
    """
    found: ast.stmt | None = None
    inside = False
    for node in ast.walk(tree):  # from the outer to the inner
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or line):
            continue
        inside |= isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.FunctionDef) and any(
            "cache" in ast.dump(each) for each in node.decorator_list
        ):
            return None
        found = node
    if (
        not inside
        or found is None
        or isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ):
        return None
    body = getattr(found, "body", None)
    last = body[0].lineno - 1 if body else found.end_lineno
    return range(found.lineno, max(found.lineno, last or 0) + 1)
