"""Processes that tests start. One that does not end in time says what it wrote and what each of its threads does."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, AnyStr

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLE = Path(__file__).parents[2] / "example_project"


def start(
    command: list[str], cwd: Path, env: Mapping[str, str] = os.environ, stdin: int | None = None
) -> subprocess.Popen[str]:
    pipes: Any = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=cwd, env=telling(env), **pipes)


def telling(env: Mapping[str, str]) -> dict[str, str]:
    """`env`, with which a Python process writes the stacks of its threads when it is aborted."""
    return {**env, "PYTHONFAULTHANDLER": "1"}


def output(process: subprocess.Popen[AnyStr], secs: float = 60, given: AnyStr | None = None) -> tuple[AnyStr, AnyStr]:
    """Wait for the end of a process, which reads `given`; return what it wrote to stdout and stderr."""
    try:
        return process.communicate(given, timeout=secs)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT if os.name == "posix" else signal.SIGTERM)
    try:
        out, err = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:  # a process that it started has its pipes
        process.kill()
        raise
    raise AssertionError(f"{process.args!r} has not ended within {secs:g} s\n{out!s}\n{err!s}")


def run(command: list[str], cwd: Path, secs: float = 60) -> subprocess.CompletedProcess[str]:
    """Run a process to its end, whatever its status is."""
    with start(command, cwd) as process:
        out, err = output(process, secs)
    return subprocess.CompletedProcess(command, process.returncode, out, err)
