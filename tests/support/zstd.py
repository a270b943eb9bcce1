"""The module for zstd: the one of Python 3.14, or its backport, which Scrapy 2.18 and newer bring."""

from __future__ import annotations

import sys
from typing import Any

import pytest

ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def zstd_module() -> Any:
    """The module; skips the test if there is none."""
    return pytest.importorskip(ZSTD, reason="backports.zstd comes with Scrapy 2.18 and newer")
