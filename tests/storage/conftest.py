"""The servers that tests here share. Each test of one server runs with Redis and with Valkey."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.redis_server import KINDS, redis_server
from tests.support.redis_topologies import cluster, sentinels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from tests.support.redis_server import RedisServer
    from tests.support.redis_topologies import Topology


class Servers:
    """Starts servers when a test first needs them; `stack` ends them. Each method returns the settings of an empty one."""

    def __init__(self, stack: ExitStack) -> None:
        self._one: Callable[[str], Any] = cache(lambda kind: stack.enter_context(redis_server(kind=kind)))
        self._sentinels: Callable[[str], Any] = cache(lambda kind: stack.enter_context(sentinels(kind)))
        self._cluster: Callable[[str], Any] = cache(lambda kind: stack.enter_context(cluster(kind)))

    def one(self, kind: str) -> dict[str, object]:
        server: RedisServer = self._one(kind)
        server.flush()
        return {"GBOT_ROBOTS_STORAGE": "redis", "GBOT_ROBOTS_REDIS_URL": server.url}

    def sentinels(self, kind: str) -> dict[str, object]:
        return _emptied(self._sentinels(kind))

    def cluster(self, kind: str) -> dict[str, object]:
        return _emptied(self._cluster(kind))


def _emptied(servers: Topology) -> dict[str, object]:
    for master in servers.masters:
        master.flush()
    return servers.settings


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(stack)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Whose server it is."""
    return str(request.param)


@pytest.fixture
def new_server(kind: str) -> Callable[..., AbstractContextManager[RedisServer]]:
    """`redis_server` of one kind."""
    return partial(redis_server, kind=kind)


@pytest.fixture
def redis_url(servers: Servers, kind: str) -> str:
    """URL of an empty server."""
    return str(servers.one(kind)["GBOT_ROBOTS_REDIS_URL"])
