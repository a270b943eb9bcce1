"""The settings for each way in which Scrapy can run: with different reactors, or without one.

Each way needs a process of its own, because a process has only one reactor.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from scrapy.settings import default_settings

from .rows import row

# The reason of a skip that CI allows.
ALWAYS_HAS_A_REACTOR = "this Scrapy always has a reactor"

WAYS: dict[str, dict[str, Any]] = {
    "asyncio": {"TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor"},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    "reactorless": {"TWISTED_REACTOR_ENABLED": False},
}
_CAN_DO_WITHOUT = hasattr(default_settings, "TWISTED_REACTOR_ENABLED")  # Scrapy 2.15 and newer


def ways_to_run(*names: str) -> list[ParameterSet]:
    """Return parameters for a test: the settings of the ways `names`, or of all ways."""
    needs_no_reactor = pytest.mark.skipif(not _CAN_DO_WITHOUT, reason=ALWAYS_HAS_A_REACTOR)
    return [
        row(name, WAYS[name], marks=[needs_no_reactor] if name == "reactorless" else [])
        for name in names or WAYS
    ]


def as_arguments(settings: Mapping[str, object]) -> list[str]:
    """Return settings as arguments of the `scrapy` command."""
    return [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
