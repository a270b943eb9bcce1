"""Marks for tests that need a feature of some operating systems.

On other systems these tests are collected, but skipped.
"""

import os
from pathlib import Path

import pytest

# Such tests need signals, limits of a process, other users, fork, impossible paths, or error
# messages of POSIX.
needs_posix = pytest.mark.skipif(os.name != "posix", reason="this system is not POSIX")
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="this system has no /proc/self/status"
)
