"""`python -m tests`: every check of the project but the slow ones; the lanes side by side, since most tests wait.

Each lane stops at a failure. `python -m tests --slow` runs what takes long: whole fleets, the site, what is released.

`python -m tests --coverage` runs all tests and measures the branches of the whole package that they cover. It takes twice the
CPU, so it is a run of its own.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HOME = Path(__file__).parent.parent
PYTHON = [sys.executable, "-m"]
PURE = ("tests/core", "tests/policy")  # their tests cover every branch of the rooms they are for
SIDE_BY_SIDE = ("-n", "3", "--dist", "worksteal")  # crawls mostly wait

LANES = (
    (
        [*PYTHON, "ruff", "check"],
        [*PYTHON, "ruff", "format", "--check"],
        [*PYTHON, "mypy"],
        [
            *PYTHON,
            "coverage",
            "run",
            "-m",
            "pytest",
            "-q",
            "-m",
            "not hypothesis",
            *PURE,
        ],  # by no lucky example
        [*PYTHON, "coverage", "report"],
        [*PYTHON, "pytest", "-q", "-m", "hypothesis", *PURE],
    ),
    (
        [
            *PYTHON,
            "pytest",
            "-q",
            "-m",
            "not slow",
            *SIDE_BY_SIDE,
            *(f"--ignore={room}" for room in PURE),
        ],
    ),
)
SLOW = (([*PYTHON, "pytest", "-q", "-m", "slow", *SIDE_BY_SIDE],),)

# Tests start hundreds of processes. Each compiles all that it imports unless compiled modules may be kept.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
ENVIRONMENT["PYTHONPYCACHEPREFIX"] = str(HOME / ".pycache")

WHOLE = "--rcfile=tests/coverage.ini"
COVERAGE = (
    (
        [*PYTHON, "coverage", "erase", WHOLE],
        [*PYTHON, "coverage", "run", WHOLE, "-m", "pytest", "-q", *SIDE_BY_SIDE],
        [*PYTHON, "coverage", "combine", "-q", WHOLE],
        [*PYTHON, "coverage", "report", WHOLE],  # fails below the floor that the file sets
    ),
)


def main() -> int:
    lanes_to_run = {"--coverage": COVERAGE, "--slow": SLOW}.get(" ".join(sys.argv[1:]), LANES)
    with ThreadPoolExecutor() as lanes:
        return max(lanes.map(run, lanes_to_run))


def run(checks: tuple[list[str], ...]) -> int:
    """Run one check after the other, each with its output in one piece."""
    for check in checks:
        done = subprocess.run(
            check, cwd=HOME, env=ENVIRONMENT, check=False, capture_output=True, text=True
        )
        print("$", " ".join(["python", *check[1:]]), done.stdout, done.stderr, sep="\n", flush=True)  # noqa: T201
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
