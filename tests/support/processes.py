"""Processes that tests start. One that does not end in time says what it wrote and what each of its threads does."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .until import FAR_TOO_LONG_SECS

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "example_project"


def start(
    command: list[str],
    cwd: Path = ROOT,
    env: Mapping[str, str] = os.environ,
    stdin: int | None = None,
) -> subprocess.Popen[str]:
    pipes: Any = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # A Python process writes the stacks of its threads when it is aborted.
    told = {**env, "PYTHONFAULTHANDLER": "1"}
    return subprocess.Popen(command, cwd=cwd, env=told, encoding="utf-8", **pipes)


def output(process: subprocess.Popen[str], given: str | None = None) -> tuple[str, str]:
    """Wait for the end of a process, which reads `given`; return what it wrote to stdout and stderr."""
    try:
        return process.communicate(given, timeout=FAR_TOO_LONG_SECS)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT if os.name == "posix" else signal.SIGTERM)
    try:
        out, err = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:  # a process that it started has its pipes
        process.kill()
        raise
    late = f"{process.args!r} has not ended within {FAR_TOO_LONG_SECS} s"
    raise AssertionError(f"{late}\n{out}\n{err}")


def sleeps(process: subprocess.Popen[Any]) -> bool:
    """Whether a process has waited for a while. Python misses a signal that comes just before it begins to wait."""
    stat = Path(f"/proc/{process.pid}/stat")  # there is none on macOS
    for _ in range(10):
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "S":
            return False
        time.sleep(0.05)
    return True


def run(
    command: list[str], cwd: Path = ROOT, env: Mapping[str, str] = os.environ, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a process, which reads `given`, to its end, whatever its status is."""
    with start(command, cwd, env, subprocess.PIPE) as process:
        out, err = output(process, given)
    return subprocess.CompletedProcess(command, process.returncode, out, err)
