"""A small run of the soak: random origins with random faults, and an oracle that knows what may be crawled."""

import sys

import pytest

from .support.processes import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(["--failures=1", "--dead=0", "--timeout=1", "--wait=60"], id="that-pass"),
        pytest.param(
            ["--failures=0", "--dead=0.3", "--no-silence", "--timeout=60", "--wait=0"],
            id="that-stay",
        ),
    ],
)
def test_crawl_among_faults_is_what_the_oracle_says(faults: list[str]) -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks.soak",
        "--requests=200",
        "--origins=40",
        "--seed=1",
        *faults,
    ]
    done = run(command)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "0 pages were crawled or refused wrongly, 0 errors were logged" in done.stdout
