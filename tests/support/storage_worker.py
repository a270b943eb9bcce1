"""One of several processes that share a SQLite file: `python -m tests.support.storage_worker PATH NAME TIMES`.

It puts that many entries of hosts with its name, and prints a line when it is in the middle of it.
"""

# ruff: noqa: T201 - what it prints is what it reports

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING

from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from . import processes
from .entries import rules

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


def start(path: Path, name: str, times: int) -> subprocess.Popen[str]:
    return processes.start([sys.executable, "-m", "tests.support.storage_worker", str(path), name, str(times)])


def main(path: str, name: str, times: int) -> None:
    storage = SqliteStorage(path)
    for number in range(times):
        body = random.randbytes(random.randrange(20_000))
        storage.put(f"https://{name}-{number % 500}.example:443", rules(body))
        if number == 20:
            print("written", flush=True)
    storage.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
