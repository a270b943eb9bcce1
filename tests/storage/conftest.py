"""One redis-server for all the tests here that share one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.redis_server import RedisServer, redis_server

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def redis_url(shared_redis: RedisServer) -> str:
    """URL of an empty Redis."""
    import redis

    with redis.Redis.from_url(shared_redis.url) as client:
        client.flushall()
    return shared_redis.url
