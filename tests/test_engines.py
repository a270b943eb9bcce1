"""The documentation's examples for data engines run as printed, each in a process of its own.

`nox -s engines` installs the engines and runs these tests. Elsewhere the example of an engine that is not installed is skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from .support.documentation import HOME, PAGES, Block, blocks

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = [(block.engine, block) for page in PAGES for block in blocks(page, "python") if block.engine]


def test_each_engine_has_its_example() -> None:
    assert sorted(name for name, _ in EXAMPLES) == ["dask", "duckdb", "polars", "pyspark"]


@pytest.mark.engine
@pytest.mark.parametrize(("name", "block"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_example_runs(name: str, block: Block, tmp_path: Path) -> None:
    needed = {"duckdb": "numpy"}.get(name, name)  # DuckDB's functions need numpy
    if find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed: it comes with the extra `engines`")
    (tmp_path / "example.py").write_text(block.text)
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HOME), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
