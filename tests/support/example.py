"""The example project, run as a user runs it: as a process, in its directory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .processes import run

if TYPE_CHECKING:
    import subprocess

PROJECT = Path(__file__).parents[2] / "example_project"


def scrapy(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "scrapy", *arguments], PROJECT)
