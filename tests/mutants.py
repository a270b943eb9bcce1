"""Which changes of the code the tests do not notice: `python -m tests.mutants WHERE [--sample N] [--seed S ...]`.

A mutant is the code with one small change: a number, a comparison, a `not`. A test that fails kills it; a mutant that
survives shows what no test checks, unless it means the same. cosmic-ray makes the mutants. A room has thousands, so a
sample is tried. The same seed draws the same mutants as long as their lines stay the same, whatever else changes.

A mutant has to cost little, so that many can be tried:

1. The room's tests run once, traced, to learn which test runs which line, and how long each test takes.
2. A mutant meets only the tests that run its line, the fastest first, and the first failure ends its run. A line of
   a module or a class runs on import: such a mutant meets all tests of the files that have one for that module.
3. Each run is a fork of this process, which has imported Scrapy and the other libraries once for all of them.

Mutants are written into copies of the project, never into the project itself. Needs `fork`, so it runs on POSIX alone.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import hashlib
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

HOME = Path(__file__).parent.parent
PACKAGE = "scrapy_gbot_robots"

# The tests that have to notice a room's mutants.
ROOMS = {
    "policy": "tests/policy",
    "fetching": "tests/fetching",
    "obeying": "tests/obeying",
    "storage": "tests/storage tests/obeying/test_entries.py tests/obeying/test_storage_faults.py",
    "sitemaps": "tests/sitemaps tests/spider",
}

# Imported once, before a run is forked. Nothing of the project, and nothing that installs a reactor.
_LIBRARIES = """hypothesis.stateful itemadapter lxml.etree redis redis.cluster redis.sentinel scrapy.cmdline scrapy.commands.crawl
scrapy.core.downloader.handlers.http11 scrapy.core.engine scrapy.crawler scrapy.shell scrapy.spiders.sitemap tldextract
twisted.internet.asyncioreactor twisted.web.client twisted.web.server"""

_LEFT_OUT = ("RemoveDecorator", "Mul_Pow")  # another program; a number that fills the memory


class Mutant(NamedTuple):
    """One changed line of one module."""

    module: str  # path in the project
    code: str
    line: int
    operator: str
    before: str
    after: str


class Tests(NamedTuple):
    """What the run without a mutant has shown."""

    secs: dict[str, float]  # by test
    running: dict[str, dict[int, list[str]]]  # the tests that run a line: by module, then line


def main() -> int:
    options = _options()
    for library in _LIBRARIES.split():
        with suppress(ImportError):
            importlib.import_module(library)
    directory = Path(tempfile.mkdtemp(prefix="mutants-"))  # TemporaryDirectory would remove it when a fork ends
    try:
        copies = [_copy(directory / str(number)) for number in range(options.jobs)]
        room = options.where[0].partition("/")[0]
        tests = _tests_of(copies[0], room, options.longest)
        sources = [path for where in options.where for path in _modules(where)]
        survived = False
        for seed in options.seed:
            mutants = _draw(sources, options.sample, seed)
            survived |= _try(mutants, tests, copies, f"{' '.join(options.where)}, seed {seed}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if survived else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("where", nargs="+", help=f"a room ({', '.join(ROOMS)}), or modules of one, as obeying/lookup")
    parser.add_argument("--sample", type=int, default=100, help="mutants to try (default: %(default)s)")
    parser.add_argument("--seed", nargs="+", default=["1"], help="another one draws another sample")
    parser.add_argument("--jobs", type=int, default=2, help="mutants tried at a time (default: %(default)s)")
    parser.add_argument("--longest", type=float, default=6, help="leave out tests that take more seconds alone")
    return parser.parse_args()


def _copy(to: Path) -> Path:
    shutil.copytree(HOME, to, ignore=shutil.ignore_patterns(".*", "*.sqlite", "__pycache__", "build"))
    return to


def _modules(where: str) -> list[Path]:
    path = HOME / PACKAGE / where
    found = sorted(path.glob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    return [module for module in found if module.name != "__init__.py"]


# Mutants


def _draw(sources: list[Path], sample: int, seed: str) -> list[Mutant]:
    """The first `sample` mutants in an order that the seed and each mutant's own line decide, and no other line."""
    candidates = []
    for source in sources:
        code = source.read_text("utf-8")
        seen: Counter[str] = Counter()
        for operator, occurrence, line, name in _changes(code):
            identity = f"{seed} {source.name} {name} {operator} {code.splitlines()[line - 1].strip()}"
            seen[identity] += 1
            key = hashlib.sha256(f"{identity} {seen[identity]}".encode()).digest()
            candidates.append((key, source, operator, occurrence, line))
    mutants: list[Mutant] = []
    for _, source, operator, occurrence, line in sorted(candidates):
        if len(mutants) == sample:
            break
        code = source.read_text("utf-8")
        mutated = mutate_code(code, get_operator(operator)(), occurrence)
        if mutated is None or not _means_something_else(code, mutated):
            continue
        before, after = code.splitlines(), mutated.splitlines()
        changed = next(number for number, old in enumerate(before) if number >= len(after) or old != after[number])
        mutants.append(
            Mutant(
                str(source.relative_to(HOME)), mutated, line, operator, before[changed].strip(), after[changed].strip()
            )
        )
    return sorted(mutants)


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
        return ast.dump(_AtRunTime().visit(ast.parse(code))) != ast.dump(_AtRunTime().visit(ast.parse(mutated)))
    return False


# Tests


def _tests_of(copy: Path, room: str, longest: float) -> Tests:
    """Run the tests without a mutant, and note for each line the tests that run it."""
    result = copy / "tests.json"
    began = time.monotonic()
    _wait(_fork(copy, lambda: _run_traced(copy, room, result)), secs=1800)
    secs, running, failed = json.loads(result.read_text()) if result.exists() else ({}, {}, [])
    if not secs:
        raise SystemExit((copy / "output").read_text())
    long = {test for test, taken in secs.items() if taken > longest}
    for test in sorted({*failed, *long}):
        print(f"left out, {'it fails without a mutant' if test in failed else 'it takes long'}: {test}")
    left_out = {*failed, *long}
    print(f"{len(secs) - len(left_out)} tests, {time.monotonic() - began:.0f} s", flush=True)
    return Tests(
        {test: taken for test, taken in secs.items() if test not in left_out},
        {
            module: {int(line): [test for test in tests if test not in left_out] for line, tests in lines.items()}
            for module, lines in running.items()
        },
    )


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

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        for path, line in self._seen:
            self.running.setdefault(path, {}).setdefault(line, []).append(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.secs[report.nodeid] += report.duration if report.when == "call" else 0
        if report.failed:
            self.failed.add(report.nodeid)


def _run_traced(copy: Path, room: str, result: Path) -> int:
    watch = _Watch(copy / PACKAGE / room)
    threading.settrace(watch.trace)
    sys.settrace(watch.trace)
    sys.dont_write_bytecode = False  # what stays the same is compiled once
    paths = ROOMS[room].split()
    status = int(
        pytest.main(["-q", "-p", "no:cacheprovider", "-W", "ignore", "-m", "not slow", *paths], plugins=[watch])
    )
    running = {str(Path(path).relative_to(copy)): lines for path, lines in watch.running.items()}
    result.write_text(json.dumps([watch.secs, running, sorted(watch.failed)]))
    return status


def _noticing(mutant: Mutant, tests: Tests) -> list[str]:
    """The tests that may notice a mutant, the fastest first."""
    running = tests.running.get(mutant.module, {})
    lines = _statement(ast.parse((HOME / mutant.module).read_text("utf-8")), mutant.line)
    found = {test for line in lines or running for test in running.get(line, ())}
    if lines is None:
        files = {_file(test) for test in found}
        found = {test for test in tests.secs if _file(test) in files or not files}
    return sorted(found, key=lambda test: tests.secs[test])


def _file(test: str) -> str:
    return test.partition("::")[0]


def _statement(tree: ast.Module, line: int) -> range | None:
    """The lines of the statement in a function that has this line, without a block's; None outside of functions."""
    found: ast.stmt | None = None
    inside = False
    for node in ast.walk(tree):  # from the outer to the inner
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or line):
            continue
        inside |= isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef)
        found = node
    if not inside or found is None or isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return None
    body = getattr(found, "body", None)
    last = body[0].lineno - 1 if body else found.end_lineno
    return range(found.lineno, max(found.lineno, last or 0) + 1)


class _FastestFirst:
    """A pytest plugin: the tests of a mutant, in their order."""

    def __init__(self, tests: list[str]) -> None:
        self._order = {test: number for number, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self._order), key=lambda i: self._order[i.nodeid])


def _run(tests: list[str], killer: Path) -> int:
    class First:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed and not killer.exists():
                killer.write_text(report.nodeid)

    files = sorted({_file(test) for test in tests})
    options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore"]
    return int(pytest.main([*options, *files], plugins=[_FastestFirst(tests), First()]))


# Runs


def _try(mutants: list[Mutant], tests: Tests, copies: list[Path], title: str) -> bool:
    """Try mutants, as many at a time as there are copies. True where one has survived."""
    print(f"\n{title}: {len(mutants)} mutants", flush=True)
    waiting, free = list(mutants), list(copies)
    runs: dict[int, tuple[Mutant, Path, float]] = {}
    killed: dict[Mutant, bool] = {}
    while waiting or runs:
        while waiting and free:
            mutant = waiting.pop()
            noticing = _noticing(mutant, tests)
            if not noticing:
                killed[mutant] = _tell(mutant, "")
                continue
            copy = free.pop()
            _write(copy, mutant)
            (copy / "killer").unlink(missing_ok=True)
            # A machine that does other things as well is slow, and a mutant that only was slow is not killed.
            secs = 90 + 10 * sum(tests.secs[test] for test in noticing)
            pid = _fork(copy, lambda copy=copy, noticing=noticing: _run(noticing, copy / "killer"))  # type: ignore[misc]
            runs[pid] = mutant, copy, time.monotonic() + secs
        for pid, (mutant, copy, until) in list(runs.items()):
            status = _ended(pid, until)
            if status is None:
                continue
            killer = copy / "killer"
            by = (
                killer.read_text() if killer.exists() else "" if status == 0 else "time-out" if status < 0 else "import"
            )
            killed[mutant] = _tell(mutant, by, tests=len(_noticing(mutant, tests)))
            shutil.copy2(HOME / mutant.module, copy / mutant.module)
            free.append(copy)
            del runs[pid]
        time.sleep(0.05)
    return _report(killed)


def _write(copy: Path, mutant: Mutant) -> None:
    """Write a mutant. Its time is one that no compiled file has."""
    path = copy / mutant.module
    path.write_text(mutant.code, "utf-8")
    os.utime(path, (time.time() + 1000, int(hashlib.sha256(mutant.code.encode()).hexdigest()[:7], 16)))


def _fork(copy: Path, run: Callable[[], int]) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 3
    try:
        os.setsid()
        os.chdir(copy)
        for name in [name for name in sys.modules if name.partition(".")[0] in (PACKAGE, "tests")]:
            del sys.modules[name]
        sys.path[:] = [str(copy), *(path for path in sys.path if path not in ("", str(HOME)))]
        os.environ.update(PYTHONPATH=str(copy), PYTHONDONTWRITEBYTECODE="1")
        sys.dont_write_bytecode = True
        with (copy / "output").open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            status = run()
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        os._exit(status)


def _ended(pid: int, until: float) -> int | None:
    """How a run ended: 0 if all tests passed; less if its time was over; None if it goes on."""
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        return os.waitstatus_to_exitcode(status) & 0xFF
    if time.monotonic() < until:
        return None
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1


def _wait(pid: int, secs: float) -> None:
    until = time.monotonic() + secs
    while _ended(pid, until) is None:
        time.sleep(0.1)


# Report


def _tell(mutant: Mutant, by: str, tests: int = 0) -> bool:
    if by:
        print(f"killed {mutant.module}:{mutant.line} {mutant.operator.removeprefix('core/')} by {by}", flush=True)
    else:
        print(
            f"SURVIVED {mutant.module}:{mutant.line} {mutant.operator.removeprefix('core/')} ({tests} tests)\n"
            f"    - {mutant.before}\n    + {mutant.after}",
            flush=True,
        )
    return bool(by)


def _report(killed: dict[Mutant, bool]) -> bool:
    tried = Counter(mutant.module for mutant in killed)
    dead = Counter(mutant.module for mutant, is_killed in killed.items() if is_killed)
    for module in sorted(tried):
        print(f"{module}: {dead[module]} of {tried[module]} killed")
    print(f"{dead.total()} of {tried.total()} killed", flush=True)
    return dead.total() < tried.total()


if __name__ == "__main__":
    sys.exit(main())
