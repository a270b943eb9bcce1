"""Run every check of the project but the slow ones; the lanes side by side, since most tests wait.

Each lane stops at a failure. `python -m tests --slow` runs what takes long: whole fleets, the site,
what is released. `python -m tests --servers` crawls real servers and proxies, those that are
installed.

`python -m tests --coverage` runs the same checks, and measures which branches the tests cover: of
the pure rooms by their own tests, of the other rooms by all other tests. CI runs it so.
"""

import os
import subprocess
import sys
from argparse import ArgumentParser
from argparse import RawDescriptionHelpFormatter as RawText
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

Check: TypeAlias = Sequence[str]
Lane: TypeAlias = Sequence[Check]

HOME = Path(__file__).parent.parent
PYTHON = (sys.executable, "-m")
PURE = ("tests/core", "tests/policy")  # their tests cover every branch of the rooms they are for
# Crawls mostly wait. Each process takes seconds to import and collect the tests, so there are few.
SIDE_BY_SIDE = ("-n", "3", "--dist", "worksteal")
NOT_PURE = tuple(f"--ignore={room}" for room in PURE)
FAST = "not slow and not servers"
LUCK = f"{FAST} and hypothesis"  # a branch that a lucky example reaches is not covered
NO_LUCK = f"{FAST} and not hypothesis"
NOT_SLOW = ("pytest", "-q", "-m", FAST, *SIDE_BY_SIDE)

STATIC: Lane = (
    (*PYTHON, "ruff", "check"),
    (*PYTHON, "ruff", "format", "--check"),
    (*PYTHON, "mypy"),
)
LANES: tuple[Lane, ...] = (STATIC, ((*PYTHON, *NOT_SLOW),))
SLOW: tuple[Lane, ...] = (((*PYTHON, "pytest", "-q", "-m", "slow", *SIDE_BY_SIDE),),)
# In one process, for all these tests look at the same crawls.
SERVERS: tuple[Lane, ...] = (((*PYTHON, "pytest", "-q", "-m", "servers"),),)

WHOLE = "--rcfile=tests/coverage.ini"
COVERAGE: tuple[Lane, ...] = (
    STATIC,
    (
        (*PYTHON, "coverage", "run", "-m", "pytest", "-q", "-m", NO_LUCK, *PURE),
        (*PYTHON, "coverage", "report"),
        (*PYTHON, "pytest", "-q", "-m", LUCK, *PURE),
    ),
    (
        (*PYTHON, "coverage", "erase", WHOLE),
        (*PYTHON, "coverage", "run", WHOLE, "-m", *NOT_SLOW, *NOT_PURE),
        (*PYTHON, "coverage", "combine", "-q", WHOLE),
        (*PYTHON, "coverage", "report", WHOLE),  # fails below the floor that the file sets
    ),
)

# Tests start hundreds of processes. Each compiles all that it imports unless compiled modules may
# be kept, beside the modules: there pip has put those of the packages that it has installed.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}


def main(lanes: Sequence[Lane]) -> int:
    """Run the lanes, and name the checks that have failed at the end. Returns the exit status."""
    with ThreadPoolExecutor() as pool:
        failures = [failure for failure in pool.map(run, lanes) if failure is not None]
    for failure in failures:
        print("FAILED:", failure, flush=True)  # noqa: T201
    return 1 if failures else 0


def run(lane: Lane) -> str | None:
    """Run one check after the other, each with its output in one piece, until one fails.

    Returns how that one ended; None if none failed.
    """
    for check in lane:
        ended = subprocess.run(
            check, cwd=HOME, env=ENVIRONMENT, check=False, capture_output=True, text=True
        )
        shown = " ".join(["python", *check[1:]])
        print("$", shown, ended.stdout, ended.stderr, sep="\n", flush=True)  # noqa: T201
        if ended.returncode < 0:  # the lane is red, though the number is less than that of success
            return f"{shown} (ended by signal {-ended.returncode})"
        if ended.returncode:
            return f"{shown} (exit status {ended.returncode})"
    return None


def chosen(arguments: Sequence[str]) -> Sequence[Lane]:
    """The lanes that the command line names. Help, and an option that there is not, run none."""
    parser = ArgumentParser("python -m tests", description=__doc__, formatter_class=RawText)
    one = parser.add_mutually_exclusive_group()
    one.add_argument("--slow", action="store_true", help="run the slow tests alone")
    one.add_argument("--servers", action="store_true", help="crawl real servers and proxies")
    one.add_argument("--coverage", action="store_true", help="measure branches, too")
    options = parser.parse_args(arguments)
    if options.slow:
        return SLOW
    if options.servers:
        return SERVERS
    if options.coverage:
        return COVERAGE
    return LANES


if __name__ == "__main__":
    sys.exit(main(chosen(sys.argv[1:])))
