"""What makes `python -m tests` and CI red: a check that fails, and one that a signal ends. What the tool for mutants finds."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.mutants.rooms import HOME, ROOMS, modules

from .__main__ import COVERAGE, LANES, SERVERS, SLOW, chosen, main
from .support.documentation import text_of
from .support.processes import run
from .support.rows import table
from .support.systems import needs_posix

# This test is about the project itself, so it runs in the slow lane.
pytestmark = pytest.mark.slow

FINE = (sys.executable, "-c", "pass")
FAILS = (sys.executable, "-c", "raise SystemExit(3)")
KILLED = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
SKIPS = "import pytest\n\ndef test_it():\n    pytest.skip('no such thing here')\n"


def test_run_without_a_failure_is_green() -> None:
    assert main([[FINE], [FINE, FINE]]) == 0


@table(
    "check, how",
    (FAILS, "raise SystemExit(3) (exit status 3)"),
    pytest.param(KILLED, "(ended by signal 9)", marks=needs_posix),
)
def test_failed_check_is_named_and_red(check: Any, how: str, capsys: Any) -> None:
    assert main([[FINE], [check]]) == 1
    assert how in capsys.readouterr().out


def test_option_names_the_lanes() -> None:
    lanes = {"": LANES, "--slow": SLOW, "--servers": SERVERS, "--coverage": COVERAGE}
    assert {option: chosen(option.split()) for option in lanes} == lanes


@pytest.mark.parametrize(("line", "status"), [("--help", 0), ("--slwo", 2), ("--slow -k x", 2)])
def test_help_and_a_wrong_option_run_nothing(line: str, status: int) -> None:
    with pytest.raises(SystemExit) as ended:
        chosen(line.split())
    assert ended.value.code == status


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("1", 1), ("False", 0), (None, 0)])
def test_skipped_test_fails_in_ci_alone(tmp_path: Path, ci: str | None, status: int) -> None:
    (tmp_path / "test_it.py").write_text(SKIPS)
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    if ci is not None:
        environment["CI"] = ci
    plain = ["-p", "tests.conftest", "--rootdir", str(tmp_path), "-c", os.devnull]
    command = [sys.executable, "-m", "pytest", "-q", *plain, "--reactor=asyncio", str(tmp_path)]
    ended = run(command, env=environment)
    assert ended.returncode == status, ended.stdout + ended.stderr


@needs_posix
def test_ci_runs_all_its_lanes_and_names_each_that_is_red(tmp_path: Path) -> None:
    functions = text_of(".ci/run").partition("# Lanes.\n")[2].partition("# What runs.\n")[0]
    script = tmp_path / "run"
    lanes = "lane first false\nlane second true\nlane third sh -c 'kill -9 $$'\nfinish\n"
    script.write_text(f"set -uo pipefail\n{functions}{lanes}")
    ended = run(["bash", str(script)], tmp_path)
    assert ended.returncode == 1
    assert "RED: first third" in ended.stdout


# Mutants: a rename would leave a room without tests.


@pytest.mark.parametrize("room", ROOMS)
def test_room_has_modules_and_every_path_of_its_tests_exists(room: str) -> None:
    assert modules(room)
    assert [path for path in ROOMS[room].split() if not (HOME / path).exists()] == []
