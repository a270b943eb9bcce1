"""One redis-server for all the tests here that share one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.redis_server import RedisServer, redis_server
from tests.support.redis_topologies import Cluster, Sentinels, cluster, sentinels

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def redis_url(shared_redis: RedisServer) -> str:
    """URL of an empty Redis."""
    shared_redis.flush()
    return shared_redis.url


@pytest.fixture(scope="session")
def shared_sentinels() -> Iterator[Sentinels]:
    with sentinels() as servers:
        yield servers


@pytest.fixture(scope="session")
def shared_cluster() -> Iterator[Cluster]:
    with cluster() as servers:
        yield servers


@pytest.fixture
def sentinel_url(shared_sentinels: Sentinels) -> str:
    """URL of an empty Redis behind sentinels."""
    shared_sentinels.master.flush()
    return shared_sentinels.url


@pytest.fixture
def cluster_url(shared_cluster: Cluster) -> str:
    """URL of an empty cluster."""
    for master in shared_cluster.masters:
        master.flush()
    return shared_cluster.url
