"""What tests rely on when they fail."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from .support.processes import output, start

if TYPE_CHECKING:
    from pathlib import Path

HANGS = """
import sys, threading

def waits_without_end():
    print("what it wrote", file=sys.stderr)
    print("begun", flush=True)
    threading.Event().wait()

threading.Thread(target=waits_without_end).start()
"""


@pytest.mark.skipif(os.name != "posix", reason="only POSIX can make a process write its stacks")
def test_process_that_does_not_end_fails_its_test_with_its_output_and_stacks(tmp_path: Path) -> None:
    with start([sys.executable, "-c", HANGS], tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        with pytest.raises(AssertionError, match="has not ended within 0.1 s") as failure:
            output(process, 0.1)
    assert "what it wrote" in str(failure.value)
    assert "in waits_without_end" in str(failure.value)
