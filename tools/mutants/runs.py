"""Runs of tests in copies of the project, each in a fork of this process."""

from __future__ import annotations

import atexit
import hashlib
import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .rooms import HOME, PACKAGE
from .tracing import QUIETLY, Tests, file_of, noticing, run_traced, tests_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .drawing import Mutant

# Imported once, before a run is forked. Nothing of the project, and nothing that installs a reactor.
_LIBRARIES = """hypothesis.stateful itemadapter lxml.etree redis redis.cluster redis.sentinel scrapy.cmdline scrapy.commands.crawl
scrapy.core.downloader.handlers.http11 scrapy.core.engine scrapy.crawler scrapy.shell scrapy.spiders.sitemap tldextract
twisted.internet.asyncioreactor twisted.web.client twisted.web.server"""

_KILLER = "killer"  # file in a copy: the test that failed


@contextmanager
def copies_of_the_project(number: int) -> Iterator[list[Path]]:
    """Directories with a copy of the project each."""
    for library in _LIBRARIES.split():
        with suppress(ImportError):
            importlib.import_module(library)
    # TemporaryDirectory would remove it when a fork ends
    directory = Path(tempfile.mkdtemp(prefix="mutants-"))
    ignored = shutil.ignore_patterns(".*", "*.sqlite", "__pycache__", "build")
    try:
        yield [
            Path(shutil.copytree(HOME, directory / str(one), ignore=ignored))
            for one in range(number)
        ]
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def without_a_mutant(copy: Path, room: str, longest: float) -> Tests:
    """Run the tests of a room as they are. Raises SystemExit if they do not run at all."""
    result = copy / "tests.json"
    pid = _fork(copy, lambda: run_traced(copy, room, result))
    os.waitpid(pid, 0)
    if not result.exists():
        raise SystemExit((copy / "output").read_text())
    return tests_of(result, longest)


def killers(
    mutants: list[Mutant], tests: Tests, copies: list[Path]
) -> Iterator[tuple[Mutant, str, int]]:
    """Try mutants, as many at a time as there are copies.

    Yields each mutant, what killed it ("" if nothing did), and the number of tests that it met.
    """
    waiting, free = list(mutants), list(copies)
    runs: dict[int, tuple[Mutant, Path, int]] = {}
    while waiting or runs:
        while waiting and free:
            mutant = waiting.pop()
            met = noticing(mutant, tests)
            if not met:
                yield mutant, "", 0
                continue
            copy = free.pop()
            _write(copy, mutant)
            runs[_fork(copy, _meeting(met, tests, copy / _KILLER))] = mutant, copy, len(met)
        for pid, (mutant, copy, number) in list(runs.items()):
            if (status := _ended(pid)) is not None:
                del runs[pid]
                yield mutant, _killer(status, copy / _KILLER), number
                shutil.copy2(HOME / mutant.module, copy / mutant.module)
                free.append(copy)
        time.sleep(0.05)


def _write(copy: Path, mutant: Mutant) -> None:
    """Write a mutant. Its time is one that no compiled file has."""
    path = copy / mutant.module
    path.write_text(mutant.code, "utf-8")
    os.utime(path, (time.time(), int(hashlib.sha256(mutant.code.encode()).hexdigest()[:7], 16)))


class _Meeting:
    """A pytest plugin: runs `tests` in their order, and notes the first that fails. A test that hangs ends the run."""

    def __init__(self, tests: list[str], secs: dict[str, float], killer: Path) -> None:
        self._order = {test: number for number, test in enumerate(tests)}
        self._secs = secs
        self._killer = killer

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order),
            key=lambda i: self._order[i.nodeid],
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        # a test that is only slow, on a busy machine, kills nothing
        signal.alarm(int(45 + 15 * self._secs[item.nodeid]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self._killer.exists():
            self._killer.write_text(report.nodeid)


def _meeting(met: list[str], tests: Tests, killer: Path) -> Callable[[], int]:
    killer.unlink(missing_ok=True)
    files = sorted({file_of(test) for test in met})
    return lambda: int(
        pytest.main(["-x", *QUIETLY, *files], plugins=[_Meeting(met, tests.secs, killer)])
    )


def _killer(status: int, killer: Path) -> str:
    if killer.exists():
        return killer.read_text()
    if status == -signal.SIGALRM:
        return "a test that hangs"
    return "" if status == 0 else "an import that fails"


def _fork(copy: Path, run: Callable[[], int]) -> int:
    """Call `run` in a fork of this process, in which `copy` is the project; return its process id."""
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
        signal.alarm(0)
        atexit._run_exitfuncs()
        os._exit(status)


def _ended(pid: int) -> int | None:
    """How a run ended: its exit status, or less than 0 for the signal that ended it; None if it goes on."""
    done, status = os.waitpid(pid, os.WNOHANG)
    if not done:
        return None
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # servers that its tests have left
    return os.waitstatus_to_exitcode(status)
