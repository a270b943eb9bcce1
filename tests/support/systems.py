"""Marks for tests of what only some systems have. Elsewhere they are skipped, so that all tests can be collected."""

import os
from pathlib import Path

import pytest

# signals, limits of a process, other users, fork, paths that cannot be made, messages of the system
needs_posix = pytest.mark.skipif(os.name != "posix", reason="this system is not POSIX")
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="this system has no /proc/self/status"
)
