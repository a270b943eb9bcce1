"""The servers that tests here share. Each test of one server runs with Redis and with Valkey."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import cache, partial
from typing import Any

import pytest

from tests.support.redis_server import KINDS, RedisServer, redis_server
from tests.support.redis_topologies import cluster, sentinels


@pytest.fixture(scope="session")
def emptied() -> Iterator[Callable[[str, str], Any]]:
    """Returns the servers of a topology and a kind, which hold nothing. They start when a test first needs them."""
    starts: Any = {"one": redis_server, "sentinels": sentinels, "cluster": cluster}
    with ExitStack() as stack:
        started = cache(lambda topology, kind: stack.enter_context(starts[topology](kind=kind)))

        def emptied(topology: str, kind: str) -> Any:
            servers = started(topology, kind)
            for server in getattr(servers, "masters", [servers]):
                server.flush()
            return servers

        yield emptied


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Whose server it is."""
    return str(request.param)


@pytest.fixture
def new_server(kind: str) -> Callable[..., AbstractContextManager[RedisServer]]:
    """`redis_server` of one kind."""
    return partial(redis_server, kind=kind)


@pytest.fixture
def redis_url(emptied: Callable[[str, str], Any], kind: str) -> str:
    """URL of an empty server."""
    return str(emptied("one", kind).url)
