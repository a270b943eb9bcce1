"""Download handlers of Scrapy's, for tests that run with each of them."""

from importlib.util import find_spec

import pytest
from _pytest.mark.structures import ParameterSet

from .crawls import DOWNLOAD_HANDLERS, QUIET

_NEEDS = {"aiohttp": ["aiohttp"], "httpx": ["httpx2", "httpx"]}


def by_each_handler() -> list[ParameterSet]:
    """Settings, for `parametrize`: of Scrapy's default handler, or `--download-handler`, and of each other."""
    cases = [pytest.param({}, id="default")]
    if "TWISTED_REACTOR" in QUIET:  # another reactor, without asyncio, which the others need
        return cases
    for name, needs in _NEEDS.items():
        handler = DOWNLOAD_HANDLERS[name]
        is_there = find_spec(handler.rpartition(".")[0]) and any(map(find_spec, needs))
        lacks = f"this Scrapy has no {name} handler, or it lacks {' or '.join(needs)}"
        settings = {"DOWNLOAD_HANDLERS": dict.fromkeys(("http", "https"), handler)}
        lacking = pytest.mark.skipif(not is_there, reason=lacks)
        cases.append(pytest.param(settings, id=name, marks=lacking))
    return cases
