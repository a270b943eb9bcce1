"""Random crawls that have to hold, some of them. `python -m tests.support.random_crawls` runs as many as one likes."""

import pytest

from .support.random_crawls import problems_of
from .support.random_worlds import SCHEDULERS, World
from .support.rows import table
from .support.systems import needs_posix

pytestmark = needs_posix

QUICK = (2017, 2008)  # one with Scrapy's scheduler, one with another
SLOW = range(3000, 3000 + 2 * len(SCHEDULERS))  # each way to schedule twice


@table("seed", *QUICK, *(pytest.param(seed, marks=pytest.mark.slow) for seed in SLOW))
def test_random_crawl_holds(seed: int) -> None:
    assert problems_in(World.of(seed)) == []


@table("seed", 8001, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8002, 8006)))
def test_random_crawl_holds_by_any_handler(seed: int) -> None:
    for extra in ("aiohttp", "httpx2"):
        pytest.importorskip(extra, reason=f"{extra} is not installed")
    handlers = "scrapy.core.downloader.handlers"
    pytest.importorskip(f"{handlers}._httpx", reason="this Scrapy has no httpx handler")
    assert problems_in(World.by_any_handler(seed)) == []


def problems_in(world: World) -> list[str]:
    if world.uses_redis:
        pytest.importorskip("scrapy_redis", reason="scrapy-redis is not installed")
    return problems_of(world)
