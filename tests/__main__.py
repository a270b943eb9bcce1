"""`python -m tests`: every check of the project, in one go. Stops at the first that fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parent.parent
PYTHON = [sys.executable, "-m"]
COVERED_WHOLLY = "scrapy_gbot_robots/core/*,scrapy_gbot_robots/policy/*"

CHECKS = (
    [*PYTHON, "ruff", "check"],
    [*PYTHON, "ruff", "format", "--check"],
    [*PYTHON, "mypy"],
    [*PYTHON, "coverage", "erase"],
    [*PYTHON, "coverage", "run", "-m", "pytest", *sys.argv[1:]],
    [*PYTHON, "coverage", "combine", "--quiet"],
    [*PYTHON, "coverage", "report"],
    [*PYTHON, "coverage", "report", f"--include={COVERED_WHOLLY}", "--fail-under=100"],
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
