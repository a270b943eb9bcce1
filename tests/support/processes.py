"""Run processes in tests.

If a process does not end in time, the test fails with the text that the process wrote, and with the
stacks of its threads.
"""

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
    except subprocess.TimeoutExpired:  # A process that it started still has the pipes open.
        process.kill()
        raise
    late = f"{process.args!r} has not ended within {FAR_TOO_LONG_SECS} s"
    raise AssertionError(f"{late}\n{out}\n{err}")


def sleeps(process: subprocess.Popen[Any]) -> bool:
    """Return whether a process has been waiting for a while.

    Python may miss a signal that arrives just before it begins to wait.
    """
    stat = Path(f"/proc/{process.pid}/stat")  # macOS does not have this file.
    for _ in range(10):
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "S":
            return False
        time.sleep(0.05)
    return True


def run(
    command: list[str], cwd: Path = ROOT, env: Mapping[str, str] = os.environ, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a process, which reads `given`, to its end. Any exit status is accepted."""
    with start(command, cwd, env, subprocess.PIPE) as process:
        out, err = output(process, given)
    return subprocess.CompletedProcess(command, process.returncode, out, err)
