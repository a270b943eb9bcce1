"""One of several processes that share a SQLite file: `python -m tests.support.storage_worker PATH ORDER ARGUMENT`.

Orders: `share N` fetches N origins together with other workers, and prints the ones that it fetched itself. `write SEED` puts
entries without end, and prints a line now and then.
"""

# ruff: noqa: T201 - what it prints is what it reports

from __future__ import annotations

import random
import sys
import time
from typing import TYPE_CHECKING

from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from . import processes
from .entries import rules

if TYPE_CHECKING:
    import subprocess

    from scrapy_gbot_robots.storage.base import Storage


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start a worker with its output in a pipe."""
    return processes.start([sys.executable, "-m", "tests.support.storage_worker", *arguments])


def share(storage: Storage, origins: int) -> None:
    waiting = [f"https://host{number}.example:443" for number in range(origins)]
    random.shuffle(waiting)
    while waiting:
        origin = waiting.pop(0)
        if storage.get(origin):
            continue
        token = storage.lease(origin, 5)
        if token is None:
            waiting.append(origin)
            continue
        if storage.get(origin) is None:
            print(origin)
            time.sleep(0.001)
            storage.put(origin, rules(origin.encode()))
        storage.release(origin, token)


def write(storage: Storage, seed: int) -> None:
    numbers = random.Random(seed)
    while True:
        for _ in range(20):
            storage.put(
                f"https://host{numbers.randrange(500)}.example:443", rules(numbers.randbytes(numbers.randrange(20_000)))
            )
        print("written", flush=True)


if __name__ == "__main__":
    storage = SqliteStorage(sys.argv[1])
    match sys.argv[2:]:
        case ["share", origins]:
            share(storage, int(origins))
        case ["write", seed]:
            write(storage, int(seed))
    storage.close()
