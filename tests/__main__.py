"""`python -m tests`: every check of the project, in one go. Stops at the first that fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parent.parent
PYTHON = [sys.executable, "-m"]
PURE = ("tests/core", "tests/policy")  # their tests cover every branch of the rooms they are for
SIDE_BY_SIDE = ("-n", "4", "--dist", "worksteal")  # crawls mostly wait

CHECKS = (
    [*PYTHON, "ruff", "check"],
    [*PYTHON, "ruff", "format", "--check"],
    [*PYTHON, "mypy"],
    [*PYTHON, "coverage", "run", "-m", "pytest", *PURE],
    [*PYTHON, "coverage", "report"],
    [*PYTHON, "pytest", *SIDE_BY_SIDE, *(f"--ignore={room}" for room in PURE)],
)


def main() -> int:
    for check in CHECKS:
        print("$", " ".join(["python", *check[1:]]), flush=True)  # noqa: T201
        status = subprocess.run(check, cwd=HOME, env=os.environ, check=False).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
