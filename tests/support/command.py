"""Run the plugin's command, in a process of its own or in this process, with or without a terminal.

In a Scrapy project, `scrapy robots` is run. Elsewhere, `python -m scrapy_gbot_robots` is run.
"""

import contextlib
import io
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scrapy.settings import Settings

from scrapy_gbot_robots.commands.command import main
from scrapy_gbot_robots.commands.project_crawl import world_of

from . import processes
from .forks import FORKS, can_fork

COMMAND = [sys.executable, "-m", "scrapy_gbot_robots"]
IN_PROJECT = [sys.executable, "-m", "scrapy", "robots"]
SETTINGS = 'BOT_NAME = "test"\nUSER_AGENT = "testbot/1.0 (+https://example.com/bot)"\n'

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Run(NamedTuple):
    """The exit status of a run, and the texts that it wrote to stdout and stderr."""

    status: int
    out: str
    err: str


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that finds the package, but no user's Scrapy project."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
    return {**kept, "PYTHONPATH": str(processes.ROOT), "COLUMNS": "120", **more}


def run(
    *arguments: str,
    cwd: Path,
    stdin: bytes = b"",
    command: list[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Run:
    """Run the command in a process to its end. A traceback in its output fails the test.

    The process is a fork where a fork can do it (see forks.py).
    """
    own = COMMAND
    if (cwd / "scrapy.cfg").exists():
        own = IN_PROJECT
    whole = [*(command or own), *arguments]
    whole_env = environment(**(env or {}))
    if (command or own) in (COMMAND, IN_PROJECT) and can_fork(whole_env):
        ended = Run(*FORKS.run(whole[2], whole[3:], cwd, whole_env, stdin.decode()))
    else:
        done = processes.run(whole, cwd, whole_env, stdin.decode())
        ended = Run(done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in ended.out + ended.err, ended.err
    return ended


def run_here(*arguments: str, cwd: Path, stdin: bytes = b"") -> Run:
    """Run the command in this process, which is faster.

    Use this only for runs that fetch nothing, because a process has only one reactor.
    """
    door: dict[str, Any] = {}
    if (cwd / "scrapy.cfg").exists():
        module = runpy.run_path(str(cwd / "shop" / "settings.py"))
        settings = Settings({name: module[name] for name in module if name.isupper()})
        door = {"prog": "scrapy robots", "world_of": partial(world_of, settings)}
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    home, old_stdin = Path.cwd(), sys.stdin
    os.chdir(cwd)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(list(arguments), **door)
    except SystemExit as ended:
        status = int(ended.code or 0)
    finally:
        os.chdir(home)
        sys.stdin = old_stdin
    written = []
    for stream in (out, err):
        stream.seek(0)
        written.append(stream.read())
    return Run(status, *written)


def run_on_terminal(*arguments: str, cwd: Path, command: list[str] | None = None) -> Run:
    """Run the command on a terminal of 120 columns. `err` is empty, because the terminal shows both streams."""
    pty = pytest.importorskip("pty")  # Windows does not have this module.
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*(command or COMMAND), *arguments],
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(TERM="xterm"),
    ) as process:
        os.close(theirs)
        written = b""
        # Linux raises OSError when the other side has closed the terminal.
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 65536):
                written += piece
        process.wait(timeout=60)
    os.close(ours)
    return Run(process.returncode, written.decode().replace("\r\n", "\n"), "")


def jsonl(text: str) -> list[dict[str, Any]]:
    """Return the objects in a text with one JSON object on each line."""
    return [json.loads(line) for line in text.splitlines()]


def without_colour(text: str) -> str:
    return _COLOUR.sub("", text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a Scrapy project that stores robots.txt files in SQLite, and return its directory."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "settings.py").write_text(SETTINGS + 'ADDONS = {"scrapy_gbot_robots.Addon": 500}\n')
    return tmp_path
